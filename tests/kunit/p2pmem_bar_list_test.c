// SPDX-License-Identifier: GPL-2.0
/*
 * p2pmem_bar's parameter 'bars': what it says, and what is no sentence of its
 * language.
 */
#include <kunit/test.h>
#include <linux/sizes.h>

#include "../../drivers/p2pmem/donors/bar_list.c"
#include "rng.h"

#define ROUNDS	100000
#define TEXT	2048

struct good_row {
	const char *text;
	unsigned int n;
	struct bar_entry last;
};

#define AT(_domain, _bus, _dev, _fn, _bar) \
	.domain = _domain, .bus = _bus, .devfn = PCI_DEVFN(_dev, _fn), .bar = _bar

static const struct good_row good_rows[] = {
	{ "", 0 },
	{ "0000:04:00.0:2", 1, { AT(0, 4, 0, 0, 2) } },
	{ "04:00.0:2", 1, { AT(0, 4, 0, 0, 2) } },
	{ "10000:e1:1f.7:5", 1, { AT(0x10000, 0xe1, 0x1f, 7, 5) } },
	{ "0:FF:1F.0:0:persistent", 1, { AT(0, 0xff, 0x1f, 0, 0), .persistent = true } },
	{ "1:2:3.4:4@0x200000", 1, { AT(1, 2, 3, 4, 4), .offset = SZ_2M } },
	{ "1:2:3.4:4@2M+4M", 1, { AT(1, 2, 3, 4, 4), .offset = SZ_2M, .length = SZ_4M } },
	{ "1:2:3.4:4@0+2097152:persistent", 1,
		{ AT(1, 2, 3, 4, 4), .length = SZ_2M, .persistent = true } },
	{ "1:2:3.4:4@1k+3g", 1, { AT(1, 2, 3, 4, 4), .offset = SZ_1K, .length = 3ULL << 30 } },
	{ "04:00.0:2@0+2M,04:00.0:2@2M+2M,04:00.0:4", 3, { AT(0, 4, 0, 0, 4) } },
	{ "04:00.0:2@4M,04:00.0:2@0+4M:persistent", 2,
		{ AT(0, 4, 0, 0, 2), .length = SZ_4M, .persistent = true } },
	{ "04:00.0:2,04:00.1:2,04:01.0:2,05:00.0:2,1:04:00.0:2", 5, { AT(1, 4, 0, 0, 2) } },
	{ "1:2:3.4:4@0xffffffffffffffff", 1, { AT(1, 2, 3, 4, 4), .offset = U64_MAX } },
	{ "1:2:3.4:4@0+18446744073709551615", 1, { AT(1, 2, 3, 4, 4), .length = U64_MAX } },
};

static void good(struct kunit *test)
{
	struct bar_list *list = kunit_kzalloc(test, sizeof(*list), GFP_KERNEL);
	struct bar_mistake mistake;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, list);
	for (i = 0; i < ARRAY_SIZE(good_rows); i++) {
		const struct good_row *row = &good_rows[i];

		KUNIT_ASSERT_EQ_MSG(test, p2pmem_bar_list_parse(row->text, list, &mistake), 0,
				    "%s", row->text);
		KUNIT_ASSERT_EQ_MSG(test, list->n, row->n, "%s", row->text);
		if (row->n)
			KUNIT_EXPECT_MEMEQ_MSG(test, &list->entry[row->n - 1], &row->last,
					       sizeof(row->last), "%s", row->text);
	}
}

struct bad_row {
	const char *text;
	const char *entry;
	const char *what;
};

static const struct bad_row bad_rows[] = {
	{ ",", "", "PCI address" },
	{ "04:00.0:2,", "", "PCI address" },
	{ "2", "2", "PCI address" },
	{ "eth0", "eth0", "PCI address" },
	{ "04:00:2", "04:00:2", "PCI address" },
	{ "1:2:3:4.5:2", "1:2:3:4.5:2", "PCI address" },
	{ "04:00.8:2", "04:00.8:2", "PCI address" },
	{ "04:20.0:2", "04:20.0:2", "PCI address" },
	{ "100:00.0:2", "100:00.0:2", "PCI address" },
	{ "80000000:04:00.0:2", "80000000:04:00.0:2", "PCI address" },
	{ "100000004:00.0:2", "100000004:00.0:2", "PCI address" },
	{ " 04:00.0:2", " 04:00.0:2", "PCI address" },
	{ "-4:00.0:2", "-4:00.0:2", "PCI address" },
	{ "04:00.0", "04:00.0", "number of a BAR" },
	{ "04:00.0:", "04:00.0:", "number of a BAR" },
	{ "04:00.0:6", "04:00.0:6", "number of a BAR" },
	{ "04:00.0:-1", "04:00.0:-1", "number of a BAR" },
	{ "04:00.0:persistent", "04:00.0:persistent", "number of a BAR" },
	{ "04:00.0:2@", "04:00.0:2@", "offset" },
	{ "04:00.0:2@0x", "04:00.0:2@0x", "offset" },
	{ "04:00.0:2@M", "04:00.0:2@M", "offset" },
	{ "04:00.0:2@-1", "04:00.0:2@-1", "offset" },
	{ "04:00.0:2@0x10000000000000000", "04:00.0:2@0x10000000000000000", "offset" },
	{ "04:00.0:2@18446744073709551616", "04:00.0:2@18446744073709551616", "offset" },
	{ "04:00.0:2@0x4000000000000000K", "04:00.0:2@0x4000000000000000K", "offset" },
	{ "04:00.0:2@2M+", "04:00.0:2@2M+", "length" },
	{ "04:00.0:2@2M+0", "04:00.0:2@2M+0", "length" },
	{ "04:00.0:2@2M+all", "04:00.0:2@2M+all", "length" },
	{ "04:00.0:2@0xffffffffffffffff+1", "04:00.0:2@0xffffffffffffffff+1", "64 bits" },
	{ "04:00.0:2:volatile", "04:00.0:2:volatile", "persistent" },
	{ "04:00.0:2:", "04:00.0:2:", "persistent" },
	{ "04:00.0:2:persistently", "04:00.0:2:persistently", "BDF:BAR" },
	{ "04:00.0:2+2M", "04:00.0:2+2M", "BDF:BAR" },
	{ "04:00.0:2@2M+2MB", "04:00.0:2@2M+2MB", "BDF:BAR" },
	{ "04:00.0:2 ,05:00.0:2", "04:00.0:2 ", "BDF:BAR" },
	{ "04:00.0:22", "04:00.0:22", "number of a BAR" },
	{ "04:00.0:2,04:00.0:2", "04:00.0:2", "in common" },
	{ "04:00.0:2@0+4M,0000:04:00.0:2@3M+1M", "0000:04:00.0:2@3M+1M", "in common" },
	{ "04:00.0:2@8M,04:00.0:2@16M+1M", "04:00.0:2@16M+1M", "in common" },
	{ "05:00.0:2,nonsense,06:00.0:2", "nonsense", "PCI address" },
};

static void bad(struct kunit *test)
{
	struct bar_list *list = kunit_kzalloc(test, sizeof(*list), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, list);
	for (i = 0; i < ARRAY_SIZE(bad_rows); i++) {
		const struct bad_row *row = &bad_rows[i];
		struct bar_mistake mistake = { };

		KUNIT_ASSERT_EQ_MSG(test, p2pmem_bar_list_parse(row->text, list, &mistake),
				    -EINVAL, "%s", row->text);
		KUNIT_EXPECT_EQ_MSG(test, mistake.len, strlen(row->entry), "%s", row->text);
		KUNIT_EXPECT_MEMEQ_MSG(test, mistake.entry, row->entry, strlen(row->entry),
				       "%s", row->text);
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(mistake.what, row->what),
					  "%s: %s", row->text, mistake.what);
	}
}

static void how_many(struct kunit *test)
{
	struct bar_list *list = kunit_kzalloc(test, sizeof(*list), GFP_KERNEL);
	char *text = kunit_kzalloc(test, TEXT, GFP_KERNEL);
	struct bar_mistake mistake = { };
	int i, at = 0;

	KUNIT_ASSERT_TRUE(test, list && text);
	for (i = 0; i < BAR_LIST_MAX; i++)
		at += scnprintf(text + at, TEXT - at, "%s%x:00.0:2", i ? "," : "", i);
	KUNIT_ASSERT_EQ(test, p2pmem_bar_list_parse(text, list, &mistake), 0);
	KUNIT_EXPECT_EQ(test, list->n, BAR_LIST_MAX);

	scnprintf(text + at, TEXT - at, ",ff:00.0:2");
	KUNIT_ASSERT_EQ(test, p2pmem_bar_list_parse(text, list, &mistake), -EINVAL);
	KUNIT_EXPECT_STREQ(test, mistake.what, "more than 32 entries");
	KUNIT_EXPECT_STREQ(test, mistake.entry, "ff:00.0:2");
}

/* the longest list that there is can be printed into a page */
static void longest(struct kunit *test)
{
	struct bar_list *list = kunit_kzalloc(test, sizeof(*list), GFP_KERNEL);
	char *text = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	int i;

	KUNIT_ASSERT_TRUE(test, list && text);
	list->n = BAR_LIST_MAX;
	for (i = 0; i < BAR_LIST_MAX; i++)
		list->entry[i] = (struct bar_entry) {
			AT(INT_MAX, 0xff, 0x1f, 7, 5), .persistent = true,
			.offset = U64_MAX >> 1, .length = U64_MAX >> 1,
		};
	KUNIT_EXPECT_LT(test, p2pmem_bar_list_print(list, text, PAGE_SIZE), PAGE_SIZE - 2);
}

static bool one_byte_twice(const struct bar_list *list)
{
	unsigned int i, k;

	for (i = 0; i < list->n; i++) {
		for (k = 0; k < i; k++) {
			const struct bar_entry *a = &list->entry[i], *b = &list->entry[k];
			bool apart;

			if (a->domain != b->domain || a->bus != b->bus ||
			    a->devfn != b->devfn || a->bar != b->bar)
				continue;
			apart = (a->length && a->offset + a->length <= b->offset) ||
				(b->length && b->offset + b->length <= a->offset);
			if (!apart)
				return true;
		}
	}
	return false;
}

/* mostly what belongs there, in one of ten cases anything */
static const char *piece(struct rnd_state *rng, const char * const *right, u32 n)
{
	static const char * const anything[] = {
		"", "04:00.0", ":", ":2", "@", "@2M", "+", "+4M", ":persistent", ",", "7", "x",
	};

	if (!rng_below(rng, 10))
		return anything[rng_below(rng, ARRAY_SIZE(anything))];
	return right[rng_below(rng, n)];
}

static void make_text(struct rnd_state *rng, char *text)
{
	static const char * const addresses[] = { "04:00.0", "0000:04:00.0", "1:04:00.1" };
	static const char * const bars[] = { ":0", ":2" };
	static const char * const offsets[] = { "", "@0", "@2M", "@0x400000", "@1G" };
	static const char * const lengths[] = { "+2M", "+4M", "+0x100000", "" };
	static const char * const words[] = { "", ":persistent" };
	int n = 1 + rng_below(rng, 4), at = 0, i;

	for (i = 0; i < n; i++) {
		const char *offset = piece(rng, offsets, ARRAY_SIZE(offsets));

		at += scnprintf(text + at, TEXT - at, "%s%s%s%s%s%s", i ? "," : "",
				piece(rng, addresses, ARRAY_SIZE(addresses)),
				piece(rng, bars, ARRAY_SIZE(bars)), offset,
				*offset ? piece(rng, lengths, ARRAY_SIZE(lengths)) : "",
				piece(rng, words, ARRAY_SIZE(words)));
	}
}

/*
 * What is accepted says the same when it is printed and read again, and no
 * byte twice.
 */
static void random_texts(struct kunit *test)
{
	struct bar_list *list = kunit_kzalloc(test, sizeof(*list), GFP_KERNEL);
	struct bar_list *again = kunit_kzalloc(test, sizeof(*list), GFP_KERNEL);
	char *text = kunit_kzalloc(test, TEXT, GFP_KERNEL);
	int i, taken = 0, several = 0;
	struct bar_mistake mistake;
	struct rnd_state rng;

	KUNIT_ASSERT_TRUE(test, list && again && text);
	prandom_seed_state(&rng, 42);
	for (i = 0; i < ROUNDS; i++) {
		make_text(&rng, text);
		if (p2pmem_bar_list_parse(text, list, &mistake))
			continue;
		taken++;
		several += list->n > 1;
		KUNIT_ASSERT_FALSE_MSG(test, one_byte_twice(list), "%s", text);

		p2pmem_bar_list_print(list, text, TEXT);
		KUNIT_ASSERT_EQ_MSG(test, p2pmem_bar_list_parse(text, again, &mistake), 0,
				    "%s", text);
		KUNIT_ASSERT_EQ_MSG(test, again->n, list->n, "%s", text);
		KUNIT_ASSERT_MEMEQ_MSG(test, again->entry, list->entry,
				       list->n * sizeof(list->entry[0]), "%s", text);
	}
	KUNIT_EXPECT_GT(test, several, ROUNDS / 20);
	KUNIT_EXPECT_GT(test, taken, several);
	KUNIT_EXPECT_LT(test, taken, ROUNDS / 2);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(good),
	KUNIT_CASE(bad),
	KUNIT_CASE(how_many),
	KUNIT_CASE(longest),
	KUNIT_CASE(random_texts),
	{ }
};

static struct kunit_suite suite = {
	.name = "p2pmem_bar_list",
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("tests of the parameter bars of p2pmem_bar");
MODULE_LICENSE("GPL");

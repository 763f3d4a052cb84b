// SPDX-License-Identifier: GPL-2.0
/* PSN arithmetic and the payload cursor. */
#include <kunit/test.h>

#include "../../drivers/srnic/psn.h"
#include "../../drivers/srnic/seg.h"
#include "rng.h"

static void psn_add_wraps(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, srnic_psn_add(0, 1), 1);
	KUNIT_EXPECT_EQ(test, srnic_psn_add(0xffffff, 1), 0);
	KUNIT_EXPECT_EQ(test, srnic_psn_add(0xfffffe, 5), 3);
	KUNIT_EXPECT_EQ(test, srnic_psn_add(5, 0xffffff), 4);
	KUNIT_EXPECT_EQ(test, srnic_psn_add(0x123456, 0x1000000), 0x123456);
	KUNIT_EXPECT_EQ(test, srnic_psn_add(0, -1), 0xffffff);
}

static void psn_diff_table(struct kunit *test)
{
	static const struct {
		u32 a;
		u32 b;
		s32 diff;
	} rows[] = {
		{ 0, 0, 0 },
		{ 0xffffff, 0xffffff, 0 },
		{ 1, 0, 1 },
		{ 0, 1, -1 },
		{ 0, 0xffffff, 1 },
		{ 0xffffff, 0, -1 },
		{ 0x7fffff, 0, 0x7fffff },
		{ 0x800000, 0, -0x800000 },
		{ 0x800001, 0, -0x7fffff },
		{ 0, 0x800000, -0x800000 },
		{ 0x000010, 0xfffff0, 0x20 },
		{ 0xfffff0, 0x000010, -0x20 },
		{ 0x400000, 0xc00000, -0x800000 },
		{ 0x3fffff, 0xc00000, 0x7fffff },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_EXPECT_EQ_MSG(test, srnic_psn_diff(rows[i].a, rows[i].b),
				    rows[i].diff, "%06x - %06x", rows[i].a,
				    rows[i].b);
}

/* diff undoes add, for every distance that serial arithmetic knows. */
static void psn_diff_inverts_add(struct kunit *test)
{
	struct rnd_state rng;
	u32 bad = 0;
	int i;

	prandom_seed_state(&rng, 1);
	for (i = 0; i < 500000; i++) {
		u32 psn = rng_u32(&rng) & 0xffffff;
		s32 n = (s32)rng_below(&rng, 1 << 24) - (1 << 23);
		u32 sum = srnic_psn_add(psn, n);

		if (sum > 0xffffff || srnic_psn_diff(sum, psn) != n)
			bad++;
	}
	KUNIT_EXPECT_EQ(test, bad, 0);
}

static void cursor_gathers(struct kunit *test)
{
	char text[] = "abcdefghij";
	struct kvec seg[] = {
		{ text, 0 }, { text, 3 }, { text + 3, 0 }, { text + 3, 0 },
		{ text + 3, 1 }, { text + 4, 6 },
	};
	size_t step;

	for (step = 1; step <= 11; step++) {
		struct srnic_cursor c = { .seg = seg };
		char out[10];
		size_t done = 0;

		while (done < sizeof(out)) {
			size_t want = min(step, sizeof(out) - done);
			const void *p;
			size_t n = srnic_cursor_take(&c, want, &p);

			KUNIT_ASSERT_GT(test, n, 0);
			KUNIT_ASSERT_LE(test, n, want);
			memcpy(out + done, p, n);
			done += n;
		}
		KUNIT_EXPECT_MEMEQ(test, out, text, sizeof(out));
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(psn_add_wraps),
	KUNIT_CASE(psn_diff_table),
	KUNIT_CASE(psn_diff_inverts_add),
	KUNIT_CASE(cursor_gathers),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_psn",
	.test_cases = cases,
};

kunit_test_suite(suite);

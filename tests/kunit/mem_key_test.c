// SPDX-License-Identifier: GPL-2.0
/*
 * The key codec: a bijection, for every order; and keys that don't tell the
 * next ones. The secrets are drawn anew in each run, so limits of the statistics
 * stand where a good codec fails less often than once in 10^9 runs.
 */
#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/random.h>
#include <linux/vmalloc.h>

#include "../../drivers/srnic/key.h"
#include "rng.h"

/* The whole code book where a test may take seconds of a real CPU. */
#define WHOLE	IS_ENABLED(CONFIG_UML)

static void free_codec(void *kc)
{
	srnic_key_codec_free(kc);
}

static struct srnic_key_codec *new_codec(struct kunit *test, unsigned int order)
{
	struct srnic_key_codec *kc = srnic_key_codec_alloc(order);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, kc);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, free_codec, kc), 0);
	return kc;
}

static unsigned long *new_bitmap(struct kunit *test, size_t bits)
{
	unsigned long *map = vzalloc(BITS_TO_LONGS(bits) * sizeof(long));

	KUNIT_ASSERT_NOT_NULL(test, map);
	return map;
}

static void key_orders(struct kunit *test)
{
	unsigned int order;

	for (order = 0; order < 40; order++) {
		struct srnic_key_codec *kc = srnic_key_codec_alloc(order);
		bool good = order >= SRNIC_KEY_MIN_ORDER &&
			    order <= SRNIC_KEY_MAX_ORDER;

		KUNIT_EXPECT_EQ_MSG(test, !IS_ERR(kc), good, "order %u", order);
		if (!IS_ERR(kc))
			srnic_key_codec_free(kc);
	}
}

/* Slot and generation come back, so no two pairs have the same key. */
static void round_trips(struct kunit *test, unsigned int order,
			struct rnd_state *rng, int n)
{
	struct srnic_key_codec *kc = new_codec(test, order);
	u32 slots = 1u << order;
	u32 gens = 1ull << (32 - order);
	u32 bad = 0;

	while (n--) {
		u32 slot = rng_below(rng, slots);
		u32 gen = rng_u32(rng) & (gens - 1);
		u32 key = srnic_key_encode(kc, slot, gen);

		if (srnic_key_slot(kc, key) != slot ||
		    srnic_key_gen(kc, key) != gen ||
		    srnic_key_encode(kc, slot, gen + gens) != key)
			bad++;
		/* and the other way round: every number is somebody's key */
		key = rng_u32(rng);
		slot = srnic_key_slot(kc, key);
		gen = srnic_key_gen(kc, key);
		if (slot >= slots || gen >= gens ||
		    srnic_key_encode(kc, slot, gen) != key)
			bad++;
	}
	KUNIT_EXPECT_EQ_MSG(test, bad, 0, "order %u", order);
}

static void key_bijection(struct kunit *test)
{
	struct rnd_state rng;
	unsigned int order;

	prandom_seed_state(&rng, 5);
	for (order = SRNIC_KEY_MIN_ORDER; order <= SRNIC_KEY_MAX_ORDER; order++)
		round_trips(test, order, &rng, WHOLE ? 4000 : 150);
}

/*
 * A whole small table: every slot through as many lives as there are handles.
 * No handle comes twice, and none is left over.
 */
static void key_handles_unique(struct kunit *test)
{
	u32 lives = 1u << (24 - SRNIC_KEY_MIN_ORDER);
	u32 slots = 1u << SRNIC_KEY_MIN_ORDER;
	struct srnic_key_codec *kc = new_codec(test, SRNIC_KEY_MIN_ORDER);
	unsigned long *seen = new_bitmap(test, 1 << 24);
	u32 start = 12345;
	u32 slot, gen, twice = 0, handles = 0;

	if (!WHOLE)
		lives = 512;
	for (gen = 0; gen < lives; gen++) {
		for (slot = 0; slot < slots; slot++) {
			u32 key = srnic_key_encode(kc, slot, start + gen);

			if (test_and_set_bit(key >> 8, seen))
				twice++;
			handles++;
		}
		cond_resched();
	}
	KUNIT_EXPECT_EQ(test, twice, 0);
	KUNIT_EXPECT_EQ(test, bitmap_weight(seen, 1 << 24), handles);
	vfree(seen);
}

/* The stated distance, at its shortest: one slot, life after life. */
static void key_reuse_distance(struct kunit *test)
{
	unsigned int order = SRNIC_KEY_MAX_ORDER;
	u32 lives = 1u << (32 - order);
	struct srnic_key_codec *kc = new_codec(test, order);
	u32 *keys = kunit_kcalloc(test, lives, sizeof(*keys), GFP_KERNEL);
	u32 slot = get_random_u32() & ((1u << order) - 1);
	u32 i, j, same = 0;

	KUNIT_ASSERT_NOT_NULL(test, keys);
	for (i = 0; i < lives; i++) {
		keys[i] = srnic_key_encode(kc, slot, i);
		for (j = 0; j < i; j++)
			same += keys[i] == keys[j];
	}
	KUNIT_EXPECT_EQ(test, same, 0);
	for (i = 0; i < lives; i++)
		KUNIT_EXPECT_EQ(test, srnic_key_encode(kc, slot, lives + i),
				keys[i]);
}

/* When handles repeat, the low byte takes each of its values once. */
static void key_low_byte(struct kunit *test)
{
	unsigned int order = 16;
	struct srnic_key_codec *kc = new_codec(test, order);
	int n;

	for (n = 0; n < 8; n++) {
		u32 slot = get_random_u32() >> (32 - order);
		u32 low_gen = get_random_u32() >> (32 - (24 - order));
		u32 first = srnic_key_encode(kc, slot, low_gen);
		DECLARE_BITMAP(seen, 256);
		u32 i;

		bitmap_zero(seen, 256);
		for (i = 0; i < 256; i++) {
			u32 gen = low_gen + (i << (24 - order));
			u32 key = srnic_key_encode(kc, slot, gen);

			KUNIT_ASSERT_EQ(test, key >> 8, first >> 8);
			KUNIT_ASSERT_FALSE(test, test_and_set_bit(key & 255, seen));
		}
		KUNIT_EXPECT_TRUE(test, bitmap_full(seen, 256));
	}
}

/*
 * Counts of 256 values, n in all: is that a fair die? Chi squared has 255
 * degrees of freedom, so mean 255 and deviation 22.6: 450 is 8.6 deviations
 * above, and below 110 a sequence is too even to be random.
 */
static void expect_fair(struct kunit *test, const u32 *count, u32 n,
			const char *what)
{
	u32 missing = 0;
	u64 sum = 0;
	u32 chi;
	int i;

	for (i = 0; i < 256; i++) {
		sum += (u64)count[i] * count[i];
		missing += !count[i];
	}
	KUNIT_EXPECT_EQ_MSG(test, missing, 0, "%s", what);
	chi = div_u64(sum * 256, n) - n;
	KUNIT_EXPECT_LT_MSG(test, chi, 450, "%s", what);
	KUNIT_EXPECT_GT_MSG(test, chi, 110, "%s", what);
}

/* The difference, and the xor, of each key with the one before it. */
static void key_steps(struct kunit *test, bool same_slot)
{
	unsigned int order = same_slot ? 8 : 16;
	struct srnic_key_codec *kc = new_codec(test, order);
	u32 (*count)[256] = kunit_kzalloc(test, 8 * sizeof(*count), GFP_KERNEL);
	u32 n = WHOLE ? 60000 : 20000;
	u32 i, byte, last = 0;
	char what[40];

	KUNIT_ASSERT_NOT_NULL(test, count);
	for (i = 0; i <= n; i++) {
		u32 key = same_slot ? srnic_key_encode(kc, 77, i) :
				      srnic_key_encode(kc, i, 0);

		for (byte = 0; byte < 4 && i; byte++) {
			count[byte][(key - last) >> 8 * byte & 255]++;
			count[4 + byte][(key ^ last) >> 8 * byte & 255]++;
		}
		last = key;
	}
	for (byte = 0; byte < 8; byte++) {
		snprintf(what, sizeof(what), "%s, byte %u of the %s",
			 same_slot ? "lives" : "slots", byte % 4,
			 byte < 4 ? "difference" : "xor");
		expect_fair(test, count[byte], n, what);
	}
}

static void key_steps_of_lives(struct kunit *test)
{
	key_steps(test, true);
}

static void key_steps_of_slots(struct kunit *test)
{
	key_steps(test, false);
}

/*
 * One bit of slot or generation changed: each bit of the handle changes in half
 * of all cases (7.5 deviations allowed).
 */
static void key_avalanche(struct kunit *test)
{
	unsigned int order = 12;
	struct srnic_key_codec *kc = new_codec(test, order);
	u32 n = WHOLE ? 4096 : 1024;
	u32 slack = int_sqrt(n) * 15 / 4;
	u32 in, out, i;

	for (in = 0; in < 24; in++) {
		u32 flips[24] = {};

		for (i = 0; i < n; i++) {
			u32 x = get_random_u32() & 0xffffff;
			u32 y = x ^ 1u << in;
			u32 a = srnic_key_encode(kc, x & 4095, x >> 12);
			u32 b = srnic_key_encode(kc, y & 4095, y >> 12);

			for (out = 0; out < 24; out++)
				flips[out] += ((a ^ b) >> 8 >> out) & 1;
		}
		for (out = 0; out < 24; out++) {
			KUNIT_EXPECT_GT_MSG(test, flips[out], n / 2 - slack,
					    "bit %u by bit %u", out, in);
			KUNIT_EXPECT_LT_MSG(test, flips[out], n / 2 + slack,
					    "bit %u by bit %u", out, in);
		}
	}
}

/* The low byte of a handle's first life: any. */
static void key_low_byte_fair(struct kunit *test)
{
	struct srnic_key_codec *kc = new_codec(test, 16);
	u32 *count = kunit_kzalloc(test, 256 * sizeof(*count), GFP_KERNEL);
	u32 n = WHOLE ? 60000 : 20000;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, count);
	for (i = 0; i < n; i++)
		count[srnic_key_encode(kc, i, 0) & 255]++;
	expect_fair(test, count, n, "low byte");
}

/*
 * The low byte of a handle's second life, for someone who knows the first
 * one's: any of the other 255, whatever the first one was.
 */
static void key_low_byte_moves(struct kunit *test)
{
	unsigned int order = 8;
	struct srnic_key_codec *kc = new_codec(test, order);
	u32 *count = kunit_kzalloc(test, 256 * sizeof(*count), GFP_KERNEL);
	u32 n = WHOLE ? 60000 : 20000;
	u32 i, chi, missing = 0;
	u64 sum = 0;

	KUNIT_ASSERT_NOT_NULL(test, count);
	for (i = 0; i < n; i++) {
		u32 a = srnic_key_encode(kc, i & 255, i >> 8);
		u32 b = srnic_key_encode(kc, i & 255, (i >> 8) + (1 << 16));

		count[(b - a) & 255]++;
	}
	KUNIT_EXPECT_EQ(test, count[0], 0);
	for (i = 1; i < 256; i++) {
		sum += (u64)count[i] * count[i];
		missing += !count[i];
	}
	KUNIT_EXPECT_EQ(test, missing, 0);
	chi = div_u64(sum * 255, n) - n;
	KUNIT_EXPECT_LT(test, chi, 450);
	KUNIT_EXPECT_GT(test, chi, 110);
}

/* Two devices have nothing in common. */
static void key_secrets_differ(struct kunit *test)
{
	struct srnic_key_codec *a = new_codec(test, 16);
	struct srnic_key_codec *b = new_codec(test, 16);
	u32 i, same = 0;

	for (i = 0; i < 1000; i++)
		same += srnic_key_encode(a, i, 0) >> 8 ==
			srnic_key_encode(b, i, 0) >> 8;
	KUNIT_EXPECT_LT(test, same, 5);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(key_orders),
	KUNIT_CASE(key_bijection),
	KUNIT_CASE_SLOW(key_handles_unique),
	KUNIT_CASE(key_reuse_distance),
	KUNIT_CASE(key_low_byte),
	KUNIT_CASE(key_steps_of_lives),
	KUNIT_CASE(key_steps_of_slots),
	KUNIT_CASE(key_avalanche),
	KUNIT_CASE(key_low_byte_fair),
	KUNIT_CASE(key_low_byte_moves),
	KUNIT_CASE(key_secrets_differ),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_key",
	.test_cases = cases,
};

kunit_test_suite(suite);

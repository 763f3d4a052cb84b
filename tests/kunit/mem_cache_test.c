// SPDX-License-Identifier: GPL-2.0
/*
 * The key cache: the same answers at any size, and what it counts.
 */
#include <kunit/test.h>
#include <linux/bottom_half.h>
#include <linux/err.h>
#include <rdma/ib_verbs.h>

#include "../../drivers/srnic/key.h"
#include "../../drivers/srnic/key_cache.h"
#include "../../drivers/srnic/mpt.h"
#include "../../drivers/srnic/stats.h"
#include "rng.h"

#define ORDER	8
#define LIVE	32
#define SEEN	512

static const unsigned int sizes[] = { 0, 1, 2, 64, SRNIC_KEY_CACHE_MAX };

/**
 * struct table - one of several that live through the same
 * @mpt: it
 * @stats: of its cache
 * @live: keys that work
 */
struct table {
	struct srnic_mpt *mpt;
	struct srnic_stats __percpu *stats;
	struct srnic_mpt_entry *live[LIVE];
};

static struct rnd_state secret;

/* The same keys for all tables. */
static void same_secret(void *buf, size_t len)
{
	prandom_bytes_state(&secret, buf, len);
}

static void new_table(struct kunit *test, struct table *t, unsigned int lines)
{
	prandom_seed_state(&secret, 31);
	t->mpt = srnic_mpt_create_with(ORDER, srnic_key_codec_alloc_from(ORDER, same_secret));
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->mpt);
	t->stats = alloc_percpu(struct srnic_stats);
	KUNIT_ASSERT_TRUE(test, !!t->stats);
	KUNIT_ASSERT_EQ(test, srnic_mpt_use_cache(t->mpt, lines, t->stats), 0);
}

static u64 count(const struct table *t, enum srnic_stat which)
{
	u64 n = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		n += per_cpu_ptr(t->stats, cpu)->v[which];
	return n;
}

static enum srnic_key_reason present(struct table *t, u32 key)
{
	struct srnic_mpt_req rq = { .key = key, .pdn = 1, .len = 1 };
	const struct srnic_mpt_entry *e;
	enum srnic_key_reason why;

	local_bh_disable();
	why = srnic_mpt_enter(t->mpt, &rq, &e);
	if (why == SRNIC_KEY_OK)
		srnic_mpt_leave(t->mpt);
	local_bh_enable();
	return why;
}

static u32 be_born(struct kunit *test, struct table *t, u32 at)
{
	struct srnic_mpt_entry *e = srnic_mpt_alloc(t->mpt);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, e);
	e->pdn = 1;
	e->length = 1;
	srnic_mpt_publish(e);
	t->live[at] = e;
	return e->key;
}

static void die(struct table *t, u32 at)
{
	srnic_mpt_kill(t->mpt, t->live[at], SRNIC_MPT_INVALID);
	srnic_mpt_free(t->mpt, t->live[at]);
	t->live[at] = NULL;
}

static void end_table(struct table *t)
{
	u32 i;

	for (i = 0; i < LIVE; i++)
		if (t->live[i])
			die(t, i);
	srnic_mpt_destroy(t->mpt);
	free_percpu(t->stats);
}

/* Keys that work, keys that did, keys of nobody. */
static void cache_any_size(struct kunit *test)
{
	struct table *t = kunit_kcalloc(test, ARRAY_SIZE(sizes), sizeof(*t),
					GFP_KERNEL);
	u32 *seen = kunit_kcalloc(test, SEEN, sizeof(*seen), GFP_KERNEL);
	u32 step, i, bad = 0, asked = 0, let_in = 0;
	struct rnd_state rng;

	KUNIT_ASSERT_NOT_NULL(test, t);
	KUNIT_ASSERT_NOT_NULL(test, seen);
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		new_table(test, &t[i], sizes[i]);
	prandom_seed_state(&rng, 32);
	for (step = 0; step < 40000; step++) {
		u32 at = rng_below(&rng, LIVE);
		u32 key = rng_below(&rng, 16) ? seen[rng_below(&rng, SEEN)] :
						rng_u32(&rng);
		enum srnic_key_reason want;

		if (!rng_below(&rng, 20)) {
			u32 old = rng_below(&rng, SEEN);

			for (i = 0; i < ARRAY_SIZE(sizes); i++) {
				if (t[i].live[at])
					die(&t[i], at);
				else
					seen[old] = be_born(test, &t[i], at);
			}
		}
		want = present(&t[0], key);
		for (i = 1; i < ARRAY_SIZE(sizes); i++)
			bad += present(&t[i], key) != want;
		asked++;
		let_in += want == SRNIC_KEY_OK;
	}
	KUNIT_EXPECT_EQ(test, bad, 0);
	KUNIT_EXPECT_GT(test, let_in, 1000);
	KUNIT_EXPECT_EQ(test, count(&t[0], SRNIC_STAT_CACHE_HITS), 0);
	KUNIT_EXPECT_EQ(test, count(&t[0], SRNIC_STAT_CACHE_MISSES), 0);
	for (i = 1; i < ARRAY_SIZE(sizes); i++) {
		u64 hits = count(&t[i], SRNIC_STAT_CACHE_HITS);

		KUNIT_EXPECT_EQ(test, hits + count(&t[i], SRNIC_STAT_CACHE_MISSES),
				asked);
		/* the larger, the better */
		KUNIT_EXPECT_GE(test, hits, count(&t[i - 1], SRNIC_STAT_CACHE_HITS));
		KUNIT_EXPECT_GT(test, hits, 0);
	}
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		end_table(&t[i]);
}

/* What fills it, what empties it. */
static void cache_counts(struct kunit *test)
{
	struct table *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	u32 key, i;

	KUNIT_ASSERT_NOT_NULL(test, t);
	new_table(test, t, 16);
	key = be_born(test, t, 0);
	/* a wrong key isn't remembered, a right one is */
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, present(t, key ^ 2), SRNIC_KEY_STALE);
	KUNIT_EXPECT_EQ(test, count(t, SRNIC_STAT_CACHE_HITS), 0);
	KUNIT_EXPECT_EQ(test, count(t, SRNIC_STAT_CACHE_MISSES), 3);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, present(t, key), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, count(t, SRNIC_STAT_CACHE_HITS), 4);
	KUNIT_EXPECT_EQ(test, count(t, SRNIC_STAT_CACHE_MISSES), 4);
	/* dead: found, thrown out, not found */
	die(t, 0);
	KUNIT_EXPECT_EQ(test, count(t, SRNIC_STAT_CACHE_INVALIDATIONS), 0);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, present(t, key), SRNIC_KEY_STALE);
	KUNIT_EXPECT_EQ(test, count(t, SRNIC_STAT_CACHE_INVALIDATIONS), 1);
	KUNIT_EXPECT_EQ(test, count(t, SRNIC_STAT_CACHE_HITS), 5);
	KUNIT_EXPECT_EQ(test, count(t, SRNIC_STAT_CACHE_MISSES), 6);
	/* no key, which is what an empty line has */
	KUNIT_EXPECT_NE(test, present(t, 0), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, count(t, SRNIC_STAT_CACHE_HITS), 5);
	end_table(t);
}

static void cache_sizes(struct kunit *test)
{
	struct srnic_key_cache c;

	KUNIT_EXPECT_EQ(test, srnic_key_cache_init(&c, SRNIC_KEY_CACHE_MAX + 1),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, srnic_key_cache_init(&c, 3), 0);
	KUNIT_EXPECT_EQ(test, c.bits, 2);
	srnic_key_cache_exit(&c);
	KUNIT_EXPECT_EQ(test, srnic_key_cache_init(&c, 0), 0);
	KUNIT_EXPECT_NULL(test, (void __force *)c.line);
	srnic_key_cache_exit(&c);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(cache_any_size),
	KUNIT_CASE(cache_counts),
	KUNIT_CASE(cache_sizes),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_key_cache",
	.test_cases = cases,
};

kunit_test_suite(suite);

// SPDX-License-Identifier: GPL-2.0
/*
 * The pool against a naive allocator: an array of owners, searched page by
 * page. Whatever the pool answers must be what the array answers.
 */
#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/prandom.h>

#include "../../drivers/p2pmem/pool.c"

#define PAGES		193	/* not a multiple of a word's bits */
#define ROUNDS		20000
#define PIECES		64

/**
 * struct naive - the oracle
 * @users: how many own each page
 */
struct naive {
	unsigned int users[PAGES];
};

struct piece {
	unsigned long first, npages;
};

static unsigned long naive_free_pages(const struct naive *n)
{
	unsigned long i, free = 0;

	for (i = 0; i < PAGES; i++)
		free += !n->users[i];
	return free;
}

/* number of the first page of the lowest gap that is large enough */
static long naive_find(const struct naive *n, unsigned long npages)
{
	unsigned long i, run = 0;

	for (i = 0; i < PAGES; i++) {
		run = n->users[i] ? 0 : run + 1;
		if (run == npages)
			return i + 1 - npages;
	}
	return -1;
}

static void naive_add(struct naive *n, const struct piece *p, int change)
{
	unsigned long i;

	for (i = 0; i < p->npages; i++)
		n->users[p->first + i] += change;
}

static void expect_same(struct kunit *test, const struct p2pmem_pool *pool,
			const struct naive *n)
{
	unsigned long i;

	KUNIT_ASSERT_EQ(test, p2pmem_pool_available(pool), naive_free_pages(n));
	for (i = 0; i < PAGES; i++) {
		KUNIT_ASSERT_EQ(test, test_bit(i, pool->map), !!n->users[i]);
		KUNIT_ASSERT_EQ(test, p2pmem_pool_shared(pool, i),
				n->users[i] > 1);
	}
}

static void pool_init_refuses(struct kunit *test)
{
	struct p2pmem_pool pool;

	KUNIT_EXPECT_EQ(test, p2pmem_pool_init(&pool, 0, false), -EINVAL);
	KUNIT_EXPECT_EQ(test, p2pmem_pool_init(&pool, (unsigned long)INT_MAX + 1,
					       false), -EINVAL);
}

static void pool_alloc_edges(struct kunit *test)
{
	struct p2pmem_pool pool;
	unsigned long first = 77, second;

	KUNIT_ASSERT_EQ(test, p2pmem_pool_init(&pool, PAGES, false), 0);
	KUNIT_EXPECT_EQ(test, p2pmem_pool_alloc(&pool, 0, &first), -EINVAL);
	KUNIT_EXPECT_EQ(test, p2pmem_pool_alloc(&pool, PAGES + 1, &first),
			-ENOMEM);
	KUNIT_EXPECT_EQ(test, p2pmem_pool_alloc(&pool, ULONG_MAX, &first),
			-ENOMEM);
	KUNIT_EXPECT_EQ(test, first, 77);

	KUNIT_EXPECT_EQ(test, p2pmem_pool_alloc(&pool, PAGES, &first), 0);
	KUNIT_EXPECT_EQ(test, first, 0);
	KUNIT_EXPECT_EQ(test, p2pmem_pool_available(&pool), 0);
	KUNIT_EXPECT_EQ(test, p2pmem_pool_alloc(&pool, 1, &second), -ENOMEM);

	p2pmem_pool_free(&pool, 0, PAGES);
	KUNIT_EXPECT_EQ(test, p2pmem_pool_available(&pool), PAGES);
	KUNIT_EXPECT_EQ(test, p2pmem_pool_alloc(&pool, 1, &second), 0);
	KUNIT_EXPECT_EQ(test, second, 0);
	p2pmem_pool_destroy(&pool);
}

/* enough pages in all, but not in one piece */
static void pool_fragmented(struct kunit *test)
{
	struct p2pmem_pool pool;
	unsigned long i, first;

	KUNIT_ASSERT_EQ(test, p2pmem_pool_init(&pool, PAGES, false), 0);
	for (i = 0; i < PAGES; i++)
		KUNIT_ASSERT_EQ(test, p2pmem_pool_alloc(&pool, 1, &first), 0);
	for (i = 0; i < PAGES; i += 2)
		p2pmem_pool_free(&pool, i, 1);

	KUNIT_EXPECT_EQ(test, p2pmem_pool_available(&pool), (PAGES + 1) / 2);
	KUNIT_EXPECT_EQ(test, p2pmem_pool_alloc(&pool, 2, &first), -ENOMEM);
	KUNIT_EXPECT_EQ(test, p2pmem_pool_alloc(&pool, 1, &first), 0);
	p2pmem_pool_destroy(&pool);
}

/* What a piece that isn't in use does next. */
typedef void take_fn(struct kunit *test, struct p2pmem_pool *pool,
		     struct naive *n, struct piece *piece,
		     struct rnd_state *rnd);

static void play(struct kunit *test, bool claims, u64 seed, take_fn *take)
{
	struct piece *pieces;
	struct rnd_state rnd;
	struct p2pmem_pool pool;
	struct naive *n;
	int round;

	pieces = kunit_kcalloc(test, PIECES, sizeof(*pieces), GFP_KERNEL);
	n = kunit_kzalloc(test, sizeof(*n), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pieces);
	KUNIT_ASSERT_NOT_NULL(test, n);
	KUNIT_ASSERT_EQ(test, p2pmem_pool_init(&pool, PAGES, claims), 0);
	prandom_seed_state(&rnd, seed);

	for (round = 0; round < ROUNDS; round++) {
		struct piece *piece = &pieces[prandom_u32_state(&rnd) % PIECES];

		if (!piece->npages) {
			take(test, &pool, n, piece, &rnd);
		} else {
			p2pmem_pool_free(&pool, piece->first, piece->npages);
			naive_add(n, piece, -1);
			piece->npages = 0;
		}
		expect_same(test, &pool, n);
	}
	p2pmem_pool_destroy(&pool);
}

static void alloc_one(struct kunit *test, struct p2pmem_pool *pool,
		      struct naive *n, struct piece *piece,
		      struct rnd_state *rnd)
{
	unsigned long npages = 1 + prandom_u32_state(rnd) % 12;
	long want = naive_find(n, npages);
	unsigned long first;
	int ret;

	ret = p2pmem_pool_alloc(pool, npages, &first);
	KUNIT_ASSERT_EQ(test, ret, want < 0 ? -ENOMEM : 0);
	if (ret)
		return;
	KUNIT_ASSERT_EQ(test, first, want);
	*piece = (struct piece) { first, npages };
	naive_add(n, piece, 1);
}

static void pool_random_allocs(struct kunit *test)
{
	play(test, false, 1, alloc_one);
}

/* What isn't wholly within the pool, and nothing, can't be had. */
static void beyond(struct kunit *test, struct p2pmem_pool *pool,
		   int (*take)(struct p2pmem_pool *pool, unsigned long first,
			       unsigned long npages))
{
	KUNIT_EXPECT_EQ(test, take(pool, 0, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, take(pool, PAGES, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, take(pool, PAGES - 1, 2), -EINVAL);
	KUNIT_EXPECT_EQ(test, take(pool, 1, ULONG_MAX), -EINVAL);
	KUNIT_EXPECT_EQ(test, take(pool, ULONG_MAX, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, p2pmem_pool_available(pool), PAGES);
}

static void pool_mark_edges(struct kunit *test)
{
	struct p2pmem_pool pool;

	KUNIT_ASSERT_EQ(test, p2pmem_pool_init(&pool, PAGES, false), 0);
	beyond(test, &pool, p2pmem_pool_mark);
	KUNIT_EXPECT_EQ(test, p2pmem_pool_mark(&pool, PAGES - 1, 1), 0);
	KUNIT_EXPECT_EQ(test, p2pmem_pool_available(&pool), PAGES - 1);
	p2pmem_pool_destroy(&pool);
}

/* somewhere, perhaps where there is something already */
static void mark_one(struct kunit *test, struct p2pmem_pool *pool,
		     struct naive *n, struct piece *piece,
		     struct rnd_state *rnd)
{
	unsigned long first = prandom_u32_state(rnd) % PAGES;
	unsigned long npages = 1 + prandom_u32_state(rnd) % min(12UL, PAGES - first);
	bool busy = false;
	unsigned long i;

	for (i = first; i < first + npages; i++)
		busy |= n->users[i];
	KUNIT_ASSERT_EQ(test, p2pmem_pool_mark(pool, first, npages), busy ? -EBUSY : 0);
	if (busy)
		return;
	*piece = (struct piece) { first, npages };
	naive_add(n, piece, 1);
}

static void pool_random_marks(struct kunit *test)
{
	play(test, false, 3, mark_one);
}

static void pool_claim_edges(struct kunit *test)
{
	struct p2pmem_pool pool;

	KUNIT_ASSERT_EQ(test, p2pmem_pool_init(&pool, PAGES, true), 0);
	beyond(test, &pool, p2pmem_pool_claim);

	/* a full counter refuses the whole claim, not a part of it */
	pool.claims[5] = U32_MAX;
	KUNIT_EXPECT_EQ(test, p2pmem_pool_claim(&pool, 3, 4), -EUSERS);
	KUNIT_EXPECT_EQ(test, pool.claims[3], 0);
	KUNIT_EXPECT_EQ(test, pool.claims[5], U32_MAX);
	p2pmem_pool_destroy(&pool);
}

static void claim_one(struct kunit *test, struct p2pmem_pool *pool,
		      struct naive *n, struct piece *piece,
		      struct rnd_state *rnd)
{
	piece->first = prandom_u32_state(rnd) % PAGES;
	piece->npages = 1 + prandom_u32_state(rnd) % (PAGES - piece->first);
	KUNIT_ASSERT_EQ(test, p2pmem_pool_claim(pool, piece->first,
						piece->npages), 0);
	naive_add(n, piece, 1);
}

static void pool_random_claims(struct kunit *test)
{
	play(test, true, 2, claim_one);
}

static struct kunit_case p2pmem_pool_cases[] = {
	KUNIT_CASE(pool_init_refuses),
	KUNIT_CASE(pool_alloc_edges),
	KUNIT_CASE(pool_fragmented),
	KUNIT_CASE(pool_random_allocs),
	KUNIT_CASE(pool_mark_edges),
	KUNIT_CASE(pool_random_marks),
	KUNIT_CASE(pool_claim_edges),
	KUNIT_CASE(pool_random_claims),
	{}
};

static struct kunit_suite p2pmem_pool_suite = {
	.name = "p2pmem_pool",
	.test_cases = p2pmem_pool_cases,
};

kunit_test_suite(p2pmem_pool_suite);

MODULE_DESCRIPTION("KUnit tests of the p2pmem pool");
MODULE_LICENSE("GPL");

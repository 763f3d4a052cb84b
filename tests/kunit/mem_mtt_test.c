// SPDX-License-Identifier: GPL-2.0
/*
 * Runs against a map that knows the address of each single byte of a region.
 */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/scatterlist.h>

#include "../../drivers/srnic/mtt.h"
#include "rng.h"

#define MAX_SG		12
#define MAX_BYTES	(64 << 10)
#define PIECES		7

/**
 * struct region - a scatterlist and the oracle for it
 * @rng: where its shape comes from
 * @sgl: the list
 * @nents: entries
 * @page: allocations behind the list
 * @order: their orders
 * @npages: how many
 * @byte: address of each byte of the list
 * @len: bytes of the list
 */
struct region {
	struct rnd_state rng;
	struct scatterlist sgl[MAX_SG];
	unsigned int nents;
	struct page *page[MAX_SG];
	unsigned int order[MAX_SG];
	unsigned int npages;
	u8 *byte[MAX_BYTES];
	u32 len;
};

static struct region *new_region(struct kunit *test, u64 seed)
{
	struct region *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, r);
	rng_start(&r->rng, seed);
	return r;
}

static void free_pages_of(struct region *r)
{
	while (r->npages) {
		r->npages--;
		__free_pages(r->page[r->npages], r->order[r->npages]);
	}
}

static void add_entry(struct region *r, struct page *page, u32 off, u32 len)
{
	u8 *addr = page_address(page);
	u32 i;

	sg_set_page(&r->sgl[r->nents++], page, len, off);
	for (i = 0; i < len; i++)
		r->byte[r->len++] = addr + off + i;
}

/*
 * Entries of whole pages (or of any bytes), some of which go on where the one
 * before them ended.
 */
static void fill_region(struct kunit *test, struct region *r, bool whole)
{
	unsigned int n = 1 + rng_below(&r->rng, MAX_SG);

	r->nents = 0;
	r->len = 0;
	sg_init_table(r->sgl, n);
	while (r->nents < n) {
		unsigned int order = rng_below(&r->rng, 2);
		u32 size = PAGE_SIZE << order;
		struct page *page = alloc_pages(GFP_KERNEL, order);
		u32 off = 0, len = size;

		KUNIT_ASSERT_NOT_NULL(test, page);
		r->page[r->npages] = page;
		r->order[r->npages++] = order;
		memset(page_address(page), 0, size);
		if (!whole) {
			off = rng_below(&r->rng, 300);
			len = 1 + rng_below(&r->rng, 700);
		}
		if (r->len + 2 * size > MAX_BYTES)
			len = 1;
		if (len > 1 && r->nents + 1 < n && rng_below(&r->rng, 2)) {
			u32 part = 1 + rng_below(&r->rng, len - 1);

			add_entry(r, page, off, part);
			add_entry(r, page + (off + part) / PAGE_SIZE,
				  (off + part) % PAGE_SIZE, len - part);
		} else {
			add_entry(r, page, off, len);
		}
	}
}

/* How many pieces of contiguous bytes there are. */
static u32 oracle_runs(const struct region *r, u32 first, u32 len)
{
	u32 i, n = 0;

	for (i = first; i < first + len; i++) {
		if (i == first || r->byte[i] != r->byte[i - 1] + 1)
			n++;
	}
	return n;
}

static void check_runs(struct kunit *test, const struct srnic_mtt *mtt,
		       const struct region *r, u32 first, u32 len)
{
	u32 i, bad = 0;
	u64 off = 0;

	KUNIT_ASSERT_EQ(test, mtt->len, len);
	KUNIT_ASSERT_EQ(test, mtt->nruns, oracle_runs(r, first, len));
	KUNIT_EXPECT_EQ(test, mtt->max, mtt->nruns);
	for (i = 0; i < mtt->nruns; i++) {
		KUNIT_ASSERT_EQ(test, mtt->run[i].off, off);
		KUNIT_ASSERT_TRUE(test, mtt->run[i].len != 0);
		KUNIT_ASSERT_FALSE(test, mtt->run[i].io);
		off += mtt->run[i].len;
	}
	KUNIT_ASSERT_EQ(test, off, len);
	for (i = 0; i < len; i++) {
		const struct srnic_run *run = srnic_mtt_find(mtt, i);

		if (i < run->off || i - run->off >= run->len ||
		    srnic_run_ram(run, i) != r->byte[first + i])
			bad++;
	}
	KUNIT_EXPECT_EQ(test, bad, 0);
}

/* Write through the table what the oracle then finds, and the other way. */
static void check_copies(struct kunit *test, const struct srnic_mtt *mtt,
			 struct region *r, u32 first, u32 len, u8 *buf)
{
	u32 off = rng_below(&r->rng, len);
	u32 n = rng_below(&r->rng, len - off + 1);
	struct kvec seg[PIECES];
	struct srnic_cursor src = { .seg = seg };
	u32 i, done, bad = 0;

	prandom_bytes_state(&r->rng, buf, n);
	for (i = 0, done = 0; i < PIECES; i++) {
		u32 part = i == PIECES - 1 ? n - done :
					     rng_below(&r->rng, n - done + 1);

		seg[i].iov_base = buf + done;
		seg[i].iov_len = part;
		done += part;
	}
	srnic_mtt_put(mtt, off, n, &src);
	for (i = 0; i < n; i++)
		bad += *r->byte[first + off + i] != buf[i];
	KUNIT_EXPECT_EQ(test, bad, 0);

	for (i = 0; i < n; i++)
		*r->byte[first + off + i] ^= 0x5a;
	memset(buf + n, 0xcc, 8);
	srnic_mtt_get(mtt, off, n, buf);
	for (i = 0; i < n; i++)
		bad += *r->byte[first + off + i] != buf[i];
	KUNIT_EXPECT_EQ(test, bad, 0);
	KUNIT_EXPECT_EQ(test, buf[n], 0xcc);
}

/* Nothing but the region is written: all bytes around it are still 0. */
static void check_around(struct kunit *test, struct region *r, u32 first, u32 len)
{
	u32 i, bad = 0;

	for (i = 0; i < r->len; i++) {
		if (i < first || i >= first + len)
			bad += *r->byte[i] != 0;
	}
	KUNIT_EXPECT_EQ(test, bad, 0);
}

static void one_region(struct kunit *test, struct region *r, bool whole, u8 *buf)
{
	struct srnic_mtt *mtt;
	u32 first, len;
	int i;

	fill_region(test, r, whole);
	first = rng_below(&r->rng, min(r->len, 5000u));
	len = 1 + rng_below(&r->rng, r->len - first);
	mtt = srnic_mtt_from_sgl(r->sgl, r->nents, first, len);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mtt);
	check_runs(test, mtt, r, first, len);
	for (i = 0; i < 5; i++)
		check_copies(test, mtt, r, first, len, buf);
	check_around(test, r, first, len);
	srnic_mtt_free(mtt);
	free_pages_of(r);
}

static void some_regions(struct kunit *test, u64 seed, bool pages, int count)
{
	struct region *r = new_region(test, seed);
	u8 *buf = kunit_kmalloc(test, MAX_BYTES + 8, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, buf);
	while (count--)
		one_region(test, r, pages, buf);
}

static void mtt_pages(struct kunit *test)
{
	some_regions(test, 7, true, 20);
}

static void mtt_odd_pieces(struct kunit *test)
{
	some_regions(test, 8, false, 60);
}

static void mtt_list_too_short(struct kunit *test)
{
	struct region *r = new_region(test, 9);
	struct srnic_mtt *mtt;

	fill_region(test, r, true);
	mtt = srnic_mtt_from_sgl(r->sgl, r->nents, 0, (u64)r->len + 1);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(mtt), -EINVAL);
	mtt = srnic_mtt_from_sgl(r->sgl, r->nents, 1, r->len);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(mtt), -EINVAL);
	mtt = srnic_mtt_from_sgl(r->sgl, r->nents, U64_MAX, 1);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(mtt), -EINVAL);
	mtt = srnic_mtt_from_sgl(r->sgl, r->nents, r->len - 1, 1);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mtt);
	KUNIT_EXPECT_EQ(test, mtt->nruns, 1);
	srnic_mtt_free(mtt);
	free_pages_of(r);
}

/* Addresses that nothing stands behind: only arithmetic is tested. */
static void mtt_add_merges(struct kunit *test)
{
	struct srnic_mtt *mtt = srnic_mtt_alloc(3);

	KUNIT_ASSERT_NOT_NULL(test, mtt);
	KUNIT_EXPECT_EQ(test, srnic_mtt_add(mtt, 0x1000, 0, false), 0);
	KUNIT_EXPECT_EQ(test, mtt->nruns, 0);
	KUNIT_EXPECT_EQ(test, srnic_mtt_add(mtt, 0x1000, 0x10, false), 0);
	KUNIT_EXPECT_EQ(test, srnic_mtt_add(mtt, 0x1010, 0x10, false), 0);
	KUNIT_EXPECT_EQ(test, mtt->nruns, 1);
	KUNIT_EXPECT_TRUE(test, mtt->run[0].len == 0x20);
	/* adjacent, but another kind of memory */
	KUNIT_EXPECT_EQ(test, srnic_mtt_add(mtt, 0x1020, 0x10, true), 0);
	KUNIT_EXPECT_EQ(test, mtt->nruns, 2);
	/* before it, not behind */
	KUNIT_EXPECT_EQ(test, srnic_mtt_add(mtt, 0x1010, 0x10, true), 0);
	KUNIT_EXPECT_EQ(test, mtt->nruns, 3);
	KUNIT_EXPECT_EQ(test, srnic_mtt_add(mtt, 0x5000, 0x10, true), -ENOSPC);
	/* full, but this one is no run more */
	KUNIT_EXPECT_EQ(test, srnic_mtt_add(mtt, 0x1020, 0x10, true), 0);
	KUNIT_EXPECT_EQ(test, mtt->len, 0x50);
	srnic_mtt_free(mtt);
}

static void mtt_add_overflows(struct kunit *test)
{
	struct srnic_mtt *mtt = srnic_mtt_alloc(3);

	KUNIT_ASSERT_NOT_NULL(test, mtt);
	KUNIT_EXPECT_EQ(test, srnic_mtt_add(mtt, ULONG_MAX, 2, false), -EOVERFLOW);
	KUNIT_EXPECT_EQ(test, srnic_mtt_add(mtt, 1, U64_MAX, false), -EOVERFLOW);
	KUNIT_EXPECT_EQ(test, srnic_mtt_add(mtt, 0, S64_MAX, false), 0);
	KUNIT_EXPECT_EQ(test, srnic_mtt_add(mtt, 0, 1, false), -EOVERFLOW);
	KUNIT_EXPECT_EQ(test, mtt->len, S64_MAX);
	KUNIT_EXPECT_EQ(test, mtt->nruns, 1);
	srnic_mtt_free(mtt);
}

static void mtt_find_many(struct kunit *test)
{
	u32 n = 1001, i, bad = 0;
	struct srnic_mtt *mtt = srnic_mtt_alloc(n);
	u64 off;

	KUNIT_ASSERT_NOT_NULL(test, mtt);
	for (i = 0; i < n; i++)
		KUNIT_ASSERT_EQ(test, srnic_mtt_add(mtt, i * 0x10000ul,
						    1 + i % 9, false), 0);
	for (i = 0, off = 0; i < n; i++) {
		bad += srnic_mtt_find(mtt, off) != &mtt->run[i];
		off += 1 + i % 9;
		bad += srnic_mtt_find(mtt, off - 1) != &mtt->run[i];
	}
	KUNIT_EXPECT_EQ(test, bad, 0);
	KUNIT_EXPECT_EQ(test, mtt->len, off);
	srnic_mtt_free(mtt);
}

static void mtt_too_many_runs(struct kunit *test)
{
	/* more than one allocation holds: no splat, no memory */
	KUNIT_EXPECT_NULL(test, srnic_mtt_alloc(U32_MAX));
	srnic_mtt_free(NULL);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(mtt_add_merges),
	KUNIT_CASE(mtt_add_overflows),
	KUNIT_CASE(mtt_find_many),
	KUNIT_CASE(mtt_too_many_runs),
	KUNIT_CASE(mtt_pages),
	KUNIT_CASE(mtt_odd_pieces),
	KUNIT_CASE(mtt_list_too_short),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_mtt",
	.test_cases = cases,
};

kunit_test_suite(suite);

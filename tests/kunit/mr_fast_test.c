// SPDX-License-Identifier: GPL-2.0
/*
 * Fast-register regions: pages by scatterlist, registered, invalidated, again with
 * another key byte; what is refused.
 */
#include <linux/bottom_half.h>
#include <linux/err.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "../../drivers/srnic/frmr.h"
#include "../../drivers/srnic/mtt.h"
#include "mr_fixture.h"
#include "mr_moment.h"
#include "rng.h"

#define MAX_SG	8

/**
 * struct fast - a region, and kernel pages for it
 * @f: as all tests have it
 * @mr: the region
 * @sg: the pages, in no order
 * @page: where each of @sg is
 * @key: present key
 * @buf: a page
 * @moments: times that the key had just begun to work
 * @wrong: of these, how often it didn't name the pages it had been registered for
 */
struct fast {
	struct fixture *f;
	struct srnic_mr *mr;
	struct scatterlist sg[MAX_SG];
	u8 *page[MAX_SG];
	u32 key;
	u8 *buf;
	u32 moments;
	u32 wrong;
};

static struct fast *new_fast(struct kunit *test)
{
	struct fast *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	u8 *mem = kunit_kmalloc(test, (2 * MAX_SG + 1) * PAGE_SIZE, GFP_KERNEL);
	struct rnd_state rng;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, t);
	KUNIT_ASSERT_NOT_NULL(test, mem);
	mem = PTR_ALIGN(mem, PAGE_SIZE);
	prandom_seed_state(&rng, 15);
	prandom_bytes_state(&rng, mem, 2 * MAX_SG * PAGE_SIZE);
	t->f = new_fixture(test, 0);
	t->mr = srnic_frmr_alloc(t->f->mpt, t->f->ibdev, PDN, MAX_SG);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->mr);
	t->mr->ibmr.page_size = PAGE_SIZE;
	sg_init_table(t->sg, MAX_SG);
	for (i = 0; i < MAX_SG; i++) {
		/* backwards, with a gap between: no two are neighbours */
		t->page[i] = mem + 2 * (MAX_SG - 1 - i) * PAGE_SIZE;
		sg_set_buf(&t->sg[i], t->page[i], PAGE_SIZE);
		/* virtual DMA: the address is the kernel's */
		sg_dma_address(&t->sg[i]) = (unsigned long)t->page[i];
		sg_dma_len(&t->sg[i]) = PAGE_SIZE;
	}
	return t;
}

static void end_fast(struct kunit *test, struct fast *t)
{
	KUNIT_EXPECT_EQ(test, srnic_mr_destroy(t->mr), 0);
	end_fixture(test, t->f);
}

static int map(struct fast *t, int n, unsigned int off)
{
	return srnic_frmr_map(t->mr, t->sg, n, off ? &off : NULL);
}

static enum srnic_key_reason registers(struct fast *t, u32 pdn, u32 key,
				       int access)
{
	enum srnic_key_reason why;

	local_bh_disable();
	why = srnic_frmr_register(t->mr, pdn, key, access);
	local_bh_enable();
	return why;
}

static enum srnic_key_reason invalidate(struct fast *t, u32 key)
{
	struct srnic_mpt_req rq = { .key = key, .pdn = PDN, .qpn = 1 };
	enum srnic_key_reason why;

	local_bh_disable();
	why = srnic_mws_invalidate(&t->f->mws, &rq);
	local_bh_enable();
	return why;
}

/* All bytes of n pages from off on are there, and not one more. */
static void expect_pages(struct kunit *test, struct fast *t, u32 key, int n,
			 u32 off)
{
	u8 *buf = kunit_kmalloc(test, MAX_SG * PAGE_SIZE, GFP_KERNEL);
	u64 at = t->mr->ibmr.iova;
	u64 len = n * PAGE_SIZE - off;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	KUNIT_EXPECT_TRUE(test, t->mr->ibmr.length == len);
	KUNIT_ASSERT_EQ(test, get_as(t->f, PDN, 0, key, at, len, buf + off),
			SRNIC_KEY_OK);
	for (i = 0; i < n; i++) {
		u32 skip = i ? 0 : off;

		KUNIT_EXPECT_MEMEQ(test, buf + i * PAGE_SIZE + skip,
				   t->page[i] + skip, PAGE_SIZE - skip);
	}
	KUNIT_EXPECT_EQ(test, get_as(t->f, PDN, 0, key, at - 1, 1, buf),
			SRNIC_KEY_BOUNDS);
	KUNIT_EXPECT_EQ(test, get_as(t->f, PDN, 0, key, at + len, 1, buf),
			SRNIC_KEY_BOUNDS);
}

static void fast_rounds(struct kunit *test)
{
	struct fast *t = new_fast(test);
	u32 key = t->mr->ibmr.rkey, i;
	u8 byte;

	KUNIT_EXPECT_EQ(test, get_as(t->f, PDN, 0, key, 0, 1, &byte),
			SRNIC_KEY_STATE);
	for (i = 0; i < 300; i++) {
		int n = 1 + i % MAX_SG;
		u32 off = i % 3 ? 0 : 8 * i;

		/* the pages are named while the last registration lives */
		KUNIT_ASSERT_EQ(test, map(t, n, off), n);
		if (i)
			KUNIT_ASSERT_EQ(test, invalidate(t, key), SRNIC_KEY_OK);
		KUNIT_EXPECT_EQ(test, get_as(t->f, PDN, 0, key, t->mr->ibmr.iova,
					     1, &byte), SRNIC_KEY_STATE);
		key = (key & ~0xffu) | ((key + 1) & 0xff);
		KUNIT_ASSERT_EQ(test, registers(t, PDN, key, RW), SRNIC_KEY_OK);
		expect_pages(test, t, key, n, off);
	}
	end_fast(test, t);
}

/* What is registered again without new pages is the same ones. */
static void fast_same_again(struct kunit *test)
{
	struct fast *t = new_fast(test);
	u32 key = t->mr->ibmr.rkey, i, n;

	for (n = MAX_SG; n > MAX_SG - 3; n--) {
		/* longer ones before, so that their pages would be there */
		KUNIT_ASSERT_EQ(test, map(t, n, 0), n);
		for (i = 0; i < 4; i++) {
			KUNIT_ASSERT_EQ(test, registers(t, PDN, key, RW),
					SRNIC_KEY_OK);
			expect_pages(test, t, key, n, 0);
			KUNIT_ASSERT_EQ(test, invalidate(t, key), SRNIC_KEY_OK);
			key = (key & ~0xffu) | ((key + 1) & 0xff);
		}
	}
	end_fast(test, t);
}

/* It names that page and no other. */
static bool names(struct fast *t, u64 iova, u32 page)
{
	return get_as(t->f, PDN, 0, t->key, iova, PAGE_SIZE, t->buf) == SRNIC_KEY_OK &&
	       !memcmp(t->buf, t->page[page], PAGE_SIZE);
}

/* The consumer has heard that the key works, and is at its next pages. */
static void name_next(void *arg)
{
	struct fast *t = arg;
	u64 iova = t->mr->ibmr.iova;
	u32 page = t->moments++ % 2;

	if (srnic_frmr_map(t->mr, &t->sg[!page], 1, NULL) != 1 || !names(t, iova, page))
		t->wrong++;
}

static void fast_next_at_once(struct kunit *test)
{
	struct fast *t = new_fast(test);
	u32 i;

	t->buf = kunit_kmalloc(test, PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t->buf);
	t->key = t->mr->ibmr.rkey;
	KUNIT_ASSERT_EQ(test, map(t, 1, 0), 1);
	mr_moment = (struct mr_moment) { .key_works = name_next, .arg = t };
	for (i = 0; i < 4; i++) {
		u64 iova = t->mr->ibmr.iova;

		KUNIT_EXPECT_EQ(test, registers(t, PDN, t->key, RW), SRNIC_KEY_OK);
		KUNIT_EXPECT_TRUE(test, names(t, iova, i % 2));
		KUNIT_EXPECT_EQ(test, invalidate(t, t->key), SRNIC_KEY_OK);
		t->key = (t->key & ~0xffu) | ((t->key + 1) & 0xff);
	}
	KUNIT_EXPECT_EQ(test, t->moments, 4);
	KUNIT_EXPECT_EQ(test, t->wrong, 0);
	end_fast(test, t);
}

/* As many pages as the device says (max_fast_reg_page_list_len), and all of them. */
static void fast_most_pages(struct kunit *test)
{
	const u32 n = SRNIC_MAX_FRMR_PAGES;
	struct fast *t = new_fast(test);
	u8 *mem = kvmalloc_array(n, PAGE_SIZE, GFP_KERNEL);
	struct sg_table sgt;
	struct scatterlist *sg;
	u32 i, bad = 0;

	KUNIT_ASSERT_NOT_NULL(test, mem);
	KUNIT_ASSERT_EQ(test, sg_alloc_table(&sgt, n, GFP_KERNEL), 0);
	KUNIT_ASSERT_EQ(test, srnic_mr_destroy(t->mr), 0);
	t->mr = srnic_frmr_alloc(t->f->mpt, t->f->ibdev, PDN, n);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->mr);
	t->mr->ibmr.page_size = PAGE_SIZE;
	/* backwards: no two are neighbours, so that each has a run of its own */
	for_each_sgtable_sg(&sgt, sg, i) {
		u8 *page = mem + (size_t)(n - 1 - i) * PAGE_SIZE;

		*(u32 *)page = i;
		*(u32 *)(page + PAGE_SIZE - sizeof(u32)) = ~i;
		sg_dma_address(sg) = (unsigned long)page;
		sg_dma_len(sg) = PAGE_SIZE;
	}
	KUNIT_ASSERT_EQ(test, srnic_frmr_map(t->mr, sgt.sgl, n, NULL), n);
	KUNIT_EXPECT_TRUE(test, t->mr->ibmr.length == (u64)n * PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, registers(t, PDN, t->mr->ibmr.rkey, RW), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, t->mr->mtt->nruns, n);
	for (i = 0; i < n; i++) {
		u64 at = t->mr->ibmr.iova + (u64)i * PAGE_SIZE;
		u32 first = 0, last = 0;

		bad += get_as(t->f, PDN, 0, t->mr->ibmr.rkey, at, 4, &first) != SRNIC_KEY_OK;
		bad += get_as(t->f, PDN, 0, t->mr->ibmr.rkey, at + PAGE_SIZE - 4, 4,
			      &last) != SRNIC_KEY_OK;
		bad += first != i || last != ~i;
	}
	KUNIT_EXPECT_EQ(test, bad, 0);
	KUNIT_EXPECT_EQ(test, get_as(t->f, PDN, 0, t->mr->ibmr.rkey, t->mr->ibmr.iova +
				     (u64)n * PAGE_SIZE - 1, 2, &i), SRNIC_KEY_BOUNDS);
	end_fast(test, t);
	sg_free_table(&sgt);
	kvfree(mem);
}

static void fast_refused(struct kunit *test)
{
	struct fast *t = new_fast(test);
	u32 key = t->mr->ibmr.rkey;

	/* nothing has been mapped */
	t->mr->ibmr.length = 1;
	KUNIT_EXPECT_EQ(test, registers(t, PDN, key, RW), SRNIC_KEY_BOUNDS);
	KUNIT_ASSERT_EQ(test, map(t, 2, 0), 2);
	KUNIT_EXPECT_EQ(test, registers(t, PDN + 1, key, RW), SRNIC_KEY_PD);
	KUNIT_EXPECT_EQ(test, registers(t, PDN, key, IB_ACCESS_REMOTE_WRITE),
			SRNIC_KEY_ACCESS);
	KUNIT_EXPECT_EQ(test, registers(t, PDN, key, IB_ACCESS_ON_DEMAND),
			SRNIC_KEY_ACCESS);
	KUNIT_EXPECT_EQ(test, registers(t, PDN, key, RW), SRNIC_KEY_OK);
	KUNIT_ASSERT_EQ(test, map(t, 1, 0), 1);
	KUNIT_EXPECT_EQ(test, registers(t, PDN, key, RW), SRNIC_KEY_STATE);
	KUNIT_EXPECT_TRUE(test, srnic_frmr_key_fits(t->mr, key ^ 0xff));
	KUNIT_EXPECT_FALSE(test, srnic_frmr_key_fits(t->mr, key ^ 0x100));
	end_fast(test, t);
}

static void fast_sizes(struct kunit *test)
{
	struct fast *t = new_fast(test);
	struct srnic_mr *mr;

	mr = srnic_frmr_alloc(t->f->mpt, t->f->ibdev, PDN, 0);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(mr), -EINVAL);
	mr = srnic_frmr_alloc(t->f->mpt, t->f->ibdev, PDN,
			      SRNIC_MAX_FRMR_PAGES + 1);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(mr), -EINVAL);
	mr = srnic_frmr_alloc(t->f->mpt, t->f->ibdev, PDN, SRNIC_MAX_FRMR_PAGES);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_EXPECT_EQ(test, srnic_mr_destroy(mr), 0);
	/* one that has room for three pages takes three */
	mr = srnic_frmr_alloc(t->f->mpt, t->f->ibdev, PDN, 3);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	mr->ibmr.page_size = PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, srnic_frmr_map(mr, t->sg, 4, NULL), 3);
	KUNIT_EXPECT_EQ(test, srnic_frmr_map(mr, t->sg, 3, NULL), 3);
	KUNIT_EXPECT_EQ(test, srnic_mr_destroy(mr), 0);
	end_fast(test, t);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(fast_rounds),
	KUNIT_CASE(fast_same_again),
	KUNIT_CASE(fast_next_at_once),
	KUNIT_CASE(fast_most_pages),
	KUNIT_CASE(fast_refused),
	KUNIT_CASE(fast_sizes),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_frmr",
	.test_cases = cases,
};

kunit_test_suite(suite);

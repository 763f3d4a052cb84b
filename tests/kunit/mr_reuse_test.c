// SPDX-License-Identifier: GPL-2.0
/*
 * Keys whose low byte is their user's: what stays away is the handle, for as many
 * lives of the slot as there are handles for it, whatever low bytes were chosen.
 */
#include <linux/bitmap.h>
#include <linux/bottom_half.h>
#include <linux/err.h>
#include <linux/scatterlist.h>
#include <linux/sched.h>

#include "../../drivers/srnic/access.h"
#include "../../drivers/srnic/frmr.h"
#include "mem_lives.h"
#include "mr_fixture.h"
#include "rng.h"

/**
 * struct handles - one slot's lives, all others being taken
 * @test: context
 * @mpt: the table
 * @mws: windows in it
 * @qp: the QP that binds them
 * @ibdev: for regions
 * @region: what windows are bound to
 * @window: they are windows; or fast-register regions
 * @mr: the present life, of a region
 * @mw: the present life, of a window
 * @page: memory of fast registrations
 * @seen: handles of the slot's lives so far
 * @rng: chooses low bytes, and dead keys
 * @dead: keys that worked once, one of each life
 * @ndead: how many
 * @hits: times that a dead key worked: none
 */
struct handles {
	struct kunit *test;
	struct srnic_mpt *mpt;
	struct srnic_mws mws;
	struct srnic_mw_list qp;
	struct ib_device *ibdev;
	struct srnic_mr *region;
	bool window;
	struct srnic_mr *mr;
	struct srnic_mw mw;
	u8 *page;
	unsigned long *seen;
	struct rnd_state rng;
	u32 *dead;
	u32 ndead;
	u32 hits;
};

static bool works(struct handles *h, u32 key)
{
	struct srnic_mpt_req rq = {
		.key = key, .pdn = PDN, .qpn = 1, .access = IB_ACCESS_REMOTE_READ,
		.addr = IOVA, .len = 1,
	};
	enum srnic_key_reason why;

	local_bh_disable();
	why = srnic_access_probe(h->mpt, &rq);
	local_bh_enable();
	return why == SRNIC_KEY_OK;
}

static enum srnic_key_reason register_fast(struct handles *h, u32 key)
{
	struct scatterlist sg;

	sg_init_table(&sg, 1);
	sg.length = PAGE_SIZE;
	/* virtual DMA: the address is the kernel's */
	sg_dma_address(&sg) = (unsigned long)h->page;
	sg_dma_len(&sg) = PAGE_SIZE;
	h->mr->ibmr.page_size = PAGE_SIZE;
	if (srnic_frmr_map(h->mr, &sg, 1, NULL) != 1)
		return SRNIC_KEY_UNKNOWN;
	h->mr->ibmr.iova = IOVA & PAGE_MASK;
	return srnic_frmr_register(h->mr, PDN, key, IB_ACCESS_REMOTE_READ);
}

static enum srnic_key_reason bind_window(struct handles *h, u32 key)
{
	struct srnic_mw_bind bind = {
		.key = key, .lkey = h->region->ibmr.lkey, .addr = IOVA, .length = 1,
		.access = IB_ACCESS_REMOTE_READ, .pdn = PDN, .qpn = 1,
		.bound = &h->qp,
	};

	return srnic_mw_bind(&h->mws, &bind);
}

/* The key with a low byte that its user likes works. */
static void grant(struct handles *h, u32 key)
{
	enum srnic_key_reason why;

	local_bh_disable();
	why = h->window ? bind_window(h, key) : register_fast(h, key);
	local_bh_enable();
	if (why != SRNIC_KEY_OK || !works(h, key))
		KUNIT_FAIL_AND_ABORT(h->test, "key %08x: %s", key,
				     srnic_key_reason_name(why));
}

static void invalidate(struct handles *h, u32 key)
{
	struct srnic_mpt_req rq = { .key = key, .pdn = PDN, .qpn = 1 };
	enum srnic_key_reason why;

	local_bh_disable();
	why = srnic_mws_invalidate(&h->mws, &rq);
	local_bh_enable();
	KUNIT_ASSERT_EQ(h->test, why, SRNIC_KEY_OK);
}

/* The slot's next life; its handle. */
static u32 begin_life(struct handles *h)
{
	if (h->window) {
		KUNIT_ASSERT_EQ(h->test, srnic_mw_alloc(&h->mws, &h->mw, PDN,
							IB_MW_TYPE_2), 0);
		return h->mw.ibmw.rkey >> 8;
	}
	h->mr = srnic_frmr_alloc(h->mpt, h->ibdev, PDN, 1);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(h->test, h->mr);
	return h->mr->ibmr.rkey >> 8;
}

static void end_life_of(struct handles *h)
{
	if (h->window)
		srnic_mw_dealloc(&h->mws, &h->mw);
	else
		KUNIT_ASSERT_EQ(h->test, srnic_mr_destroy(h->mr), 0);
}

/* Under two low bytes, the second time until its end; then it is dead. */
static void live(struct handles *h, u32 handle)
{
	u32 key = handle << 8 | rng_below(&h->rng, 256);

	grant(h, key);
	invalidate(h, key);
	key = handle << 8 | rng_below(&h->rng, 256);
	grant(h, key);
	/* while it works, those of before don't */
	if (h->ndead) {
		h->hits += works(h, h->dead[h->ndead - 1]);
		h->hits += works(h, h->dead[rng_below(&h->rng, h->ndead)]);
		h->hits += works(h, h->dead[0]);
	}
	end_life_of(h);
	h->dead[h->ndead++] = key;
}

/* Lives until a handle comes again, which is the first one's. */
static u32 lives_to_recurrence(struct handles *h)
{
	u32 first = begin_life(h), handle = first;

	do {
		__set_bit(handle, h->seen);
		live(h, handle);
		handle = begin_life(h);
		if (h->ndead % 1024 == 0)
			cond_resched();
	} while (!test_bit(handle, h->seen));
	KUNIT_EXPECT_EQ(h->test, handle, first);
	/* so the peer would have been let in */
	grant(h, h->dead[0]);
	return h->ndead;
}

static struct handles *new_handles(struct kunit *test, unsigned int order, bool window,
				   u32 lives)
{
	struct handles *h = new_array(test, 1, sizeof(*h));

	memset(&fake, 0, sizeof(fake));
	h->test = test;
	h->window = window;
	h->ibdev = new_array(test, 1, sizeof(*h->ibdev));
	h->page = new_array(test, 1, PAGE_SIZE);
	h->seen = new_array(test, BITS_TO_LONGS(HANDLES), sizeof(long));
	h->dead = new_array(test, lives + 1, sizeof(u32));
	h->mpt = new_mpt(test, order);
	srnic_mws_init(&h->mws, h->ibdev, h->mpt, false);
	srnic_mw_list_init(&h->qp);
	prandom_seed_state(&h->rng, 51);
	return h;
}

/* In a slot that is free, for windows; nothing is behind it. */
static void register_region(struct handles *h)
{
	fake.claim = true;
	h->region = srnic_mr_reg_user(h->mpt, h->ibdev, PDN, NULL, 0x1000, PAGE_SIZE,
				      IOVA, IB_ACCESS_MW_BIND);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(h->test, h->region);
}

/* All slots but one are taken, and that one lives again and again. */
static void walk(struct kunit *test, unsigned int order, bool window, bool of_handle_0)
{
	/* handle 0 is never given out */
	u32 want = (HANDLES >> order) - of_handle_0, slots, slot, i;
	struct handles *h = new_handles(test, order, window, want);
	struct srnic_mpt_entry **other;

	slots = srnic_mpt_slots(h->mpt);
	slot = (srnic_mpt_slot_of(h->mpt, 0) + !of_handle_0) % slots;
	other = new_array(test, slots, sizeof(*other));
	for (i = 0; i < slots; i++) {
		struct srnic_mpt_entry *e = new_entry(test, h->mpt);

		other[e->slot] = e;
	}
	if (window) {
		i = (slot + 1) % slots;
		end_life(h->mpt, other[i]);
		other[i] = NULL;
		register_region(h);
	}
	end_life(h->mpt, other[slot]);
	other[slot] = NULL;

	KUNIT_EXPECT_EQ(test, lives_to_recurrence(h), want);
	KUNIT_EXPECT_EQ(test, bitmap_weight(h->seen, HANDLES), want);
	KUNIT_EXPECT_EQ(test, h->hits, 0);
	kunit_info(test, "order %u: %u lives", order, h->ndead);
	end_life_of(h);
	for (i = 0; i < slots; i++)
		if (other[i])
			end_life(h->mpt, other[i]);
	if (h->region)
		KUNIT_EXPECT_EQ(test, srnic_mr_destroy(h->region), 0);
	KUNIT_EXPECT_EQ(test, srnic_mpt_live(h->mpt), 0);
	srnic_mws_exit(&h->mws);
	srnic_mpt_destroy(h->mpt);
}

/* 2^16 lives of a slot; 2^12 where they take long. */
#define WALK_ORDER	(WHOLE ? 8 : 12)

static void handle_of_fast(struct kunit *test)
{
	walk(test, WALK_ORDER, false, false);
}

static void handle_of_fast_at_0(struct kunit *test)
{
	walk(test, 12, false, true);
}

static void handle_of_window(struct kunit *test)
{
	walk(test, WALK_ORDER, true, false);
}

static void handle_of_window_at_0(struct kunit *test)
{
	walk(test, 12, true, true);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_SLOW(handle_of_fast),
	KUNIT_CASE_SLOW(handle_of_fast_at_0),
	KUNIT_CASE_SLOW(handle_of_window),
	KUNIT_CASE_SLOW(handle_of_window_at_0),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_handle_reuse",
	.test_cases = cases,
};

kunit_test_suite(suite);

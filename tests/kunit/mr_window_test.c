// SPDX-License-Identifier: GPL-2.0
/*
 * Memory windows: what they can be bound to, for whom and how far they reach, and
 * everything that ends them.
 */
#include <linux/bottom_half.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/mman.h>

#include "../../drivers/srnic/access.h"
#include "mr_fixture.h"
#include "mr_moment.h"

#define QPN	77
#define OFF	1000	/* of the window in the region */
#define LEN	300
#define ALL	(RW | IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_MW_BIND)

/**
 * struct win - a region and a window, and the QP that binds it
 * @f: as all tests have it
 * @mr: the region, at IOVA
 * @mw: the window
 * @qp: the QP's list
 * @bind: a good request; for tests to change
 */
struct win {
	struct fixture *f;
	struct srnic_mr *mr;
	struct srnic_mw mw;
	struct srnic_mw_list qp;
	struct srnic_mw_bind bind;
};

static struct win *new_win(struct kunit *test, enum ib_mw_type type, int access)
{
	struct win *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, w);
	w->f = new_fixture(test, PROT_READ | PROT_WRITE);
	w->mr = reg(w->f, 0, sizeof(w->f->shadow), access);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, w->mr);
	KUNIT_ASSERT_EQ(test, srnic_mw_alloc(&w->f->mws, &w->mw, PDN, type), 0);
	srnic_mw_list_init(&w->qp);
	w->bind = (struct srnic_mw_bind) {
		.key = (w->mw.ibmw.rkey & ~0xffu) |
		       ((w->mw.ibmw.rkey + 1) & 0xff),
		.lkey = w->mr->ibmr.lkey,
		.addr = IOVA + OFF,
		.length = LEN,
		.access = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE,
		.pdn = PDN,
		.qpn = QPN,
		.bound = &w->qp,
	};
	return w;
}

static void end_win(struct kunit *test, struct win *w)
{
	srnic_mw_dealloc(&w->f->mws, &w->mw);
	KUNIT_EXPECT_TRUE(test, list_empty(&w->qp.windows));
	if (w->mr)
		KUNIT_EXPECT_EQ(test, srnic_mr_destroy(w->mr), 0);
	end_fixture(test, w->f);
}

static enum srnic_key_reason bind(struct win *w)
{
	enum srnic_key_reason why;

	local_bh_disable();
	why = srnic_mw_bind(&w->f->mws, &w->bind);
	local_bh_enable();
	return why;
}

static enum srnic_key_reason invalidate(struct win *w, u32 key, u32 pdn, u32 qpn)
{
	struct srnic_mpt_req rq = { .key = key, .pdn = pdn, .qpn = qpn };
	enum srnic_key_reason why;

	local_bh_disable();
	why = srnic_mws_invalidate(&w->f->mws, &rq);
	local_bh_enable();
	return why;
}

/* A peer of QP qpn reads len bytes at addr through the window. */
static enum srnic_key_reason look(struct win *w, u32 qpn, u64 addr, u64 len)
{
	u8 buf[LEN + 2];

	return get_as(w->f, PDN, qpn, w->bind.key, addr, len, buf);
}

static void window_bounds(struct kunit *test)
{
	static const enum ib_mw_type types[] = { IB_MW_TYPE_1, IB_MW_TYPE_2 };
	int i, zero;

	for (i = 0; i < 4; i++) {
		struct win *w = new_win(test, types[i & 1], ALL);
		u8 buf[LEN];
		u64 at;

		zero = i & 2;
		if (zero)
			w->bind.access |= IB_ZERO_BASED;
		at = zero ? 0 : IOVA + OFF;
		KUNIT_EXPECT_EQ(test, look(w, QPN, at, 1), SRNIC_KEY_STALE);
		KUNIT_ASSERT_EQ(test, bind(w), SRNIC_KEY_OK);
		KUNIT_EXPECT_EQ(test, look(w, QPN, at, LEN), SRNIC_KEY_OK);
		KUNIT_EXPECT_EQ(test, look(w, QPN, at, LEN + 1), SRNIC_KEY_BOUNDS);
		KUNIT_EXPECT_EQ(test, look(w, QPN, at - 1, 1), SRNIC_KEY_BOUNDS);
		KUNIT_EXPECT_EQ(test, look(w, QPN, at - 1, 2), SRNIC_KEY_BOUNDS);
		KUNIT_EXPECT_EQ(test, look(w, QPN, at + LEN, 1), SRNIC_KEY_BOUNDS);
		KUNIT_EXPECT_EQ(test, look(w, QPN, at + LEN - 1, 1), SRNIC_KEY_OK);
		KUNIT_EXPECT_EQ(test, look(w, QPN, at + LEN - 1, 2),
				SRNIC_KEY_BOUNDS);
		KUNIT_EXPECT_EQ(test, look(w, QPN, at + 1, U64_MAX),
				SRNIC_KEY_BOUNDS);
		/* the bytes are the region's */
		KUNIT_EXPECT_EQ(test, get_as(w->f, PDN, QPN, w->bind.key, at, LEN,
					     buf), SRNIC_KEY_OK);
		KUNIT_EXPECT_MEMEQ(test, buf, w->f->shadow + OFF, LEN);
		memset(buf, 0x5a, 5);
		KUNIT_EXPECT_EQ(test, put_as(w->f, PDN, QPN, w->bind.key, at + 3,
					     5, buf), SRNIC_KEY_OK);
		KUNIT_EXPECT_EQ(test, get(w->f, w->mr->ibmr.rkey, OFF + 3, 5,
					  buf + 5), SRNIC_KEY_OK);
		KUNIT_EXPECT_MEMEQ(test, buf, buf + 5, 5);
		end_win(test, w);
	}
}

/* Who may use it: type 1 the PD, type 2B the QP and the PD, type 2A the QP. */
static void window_users(struct kunit *test)
{
	static const struct {
		enum ib_mw_type type;
		bool type_2a;
		enum srnic_key_reason other_qp;
		enum srnic_key_reason other_pd;
	} rows[] = {
		{ IB_MW_TYPE_1, false, SRNIC_KEY_OK, SRNIC_KEY_PD },
		{ IB_MW_TYPE_2, false, SRNIC_KEY_QP, SRNIC_KEY_PD },
		{ IB_MW_TYPE_2, true, SRNIC_KEY_QP, SRNIC_KEY_OK },
	};
	size_t i;
	u8 byte;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct win *w = new_win(test, rows[i].type, ALL);

		w->f->mws.type_2a = rows[i].type_2a;
		KUNIT_ASSERT_EQ(test, bind(w), SRNIC_KEY_OK);
		KUNIT_EXPECT_EQ(test, look(w, QPN, IOVA + OFF, 1), SRNIC_KEY_OK);
		KUNIT_EXPECT_EQ(test, look(w, QPN + 1, IOVA + OFF, 1),
				rows[i].other_qp);
		KUNIT_EXPECT_EQ(test, get_as(w->f, PDN + 1, QPN, w->bind.key,
					     IOVA + OFF, 1, &byte),
				rows[i].other_pd);
		end_win(test, w);
	}
}

/* Each right alone: it is there, and no other one. */
static void window_rights(struct kunit *test)
{
	static const int right[] = {
		IB_ACCESS_REMOTE_READ, IB_ACCESS_REMOTE_WRITE,
		IB_ACCESS_REMOTE_ATOMIC,
	};
	struct win *w = new_win(test, IB_MW_TYPE_1, ALL);
	struct srnic_mpt_req rq = { .pdn = PDN, .addr = IOVA + OFF, .len = 8 };
	const struct srnic_mpt_entry *e;
	enum srnic_key_reason why;
	u32 given, asked;

	for (given = 0; given < 8; given++) {
		w->bind.access = 0;
		for (asked = 0; asked < 3; asked++)
			w->bind.access |= given >> asked & 1 ? right[asked] : 0;
		KUNIT_ASSERT_EQ(test, bind(w), SRNIC_KEY_OK);
		for (asked = 0; asked < 3; asked++) {
			rq.key = w->bind.key;
			rq.access = right[asked];
			local_bh_disable();
			why = srnic_mpt_enter(w->f->mpt, &rq, &e);
			if (!why)
				srnic_mpt_leave(w->f->mpt);
			local_bh_enable();
			KUNIT_EXPECT_EQ(test, why, given >> asked & 1 ?
					SRNIC_KEY_OK : SRNIC_KEY_ACCESS);
		}
	}
	end_win(test, w);
}

static void window_bind_refused(struct kunit *test)
{
	const struct {
		int mr_access;
		u32 lkey;	/* bits of it that are wrong */
		u32 key;
		u64 addr;
		u64 length;
		u32 access;
		u32 pdn;
		enum srnic_key_reason want;
	} rows[] = {
		{ ALL, 0, 0, IOVA, sizeof_field(struct fixture, shadow),
		  IB_ACCESS_REMOTE_WRITE, PDN, SRNIC_KEY_OK },
		{ ALL, 0, 0, IOVA, 1, IB_ACCESS_LOCAL_WRITE, PDN, SRNIC_KEY_OK },
		{ ALL, 0, 0, IOVA, sizeof_field(struct fixture, shadow) + 1, 0,
		  PDN, SRNIC_KEY_BOUNDS },
		{ ALL, 0, 0, IOVA - 1, 1, 0, PDN, SRNIC_KEY_BOUNDS },
		{ ALL, 0, 0, IOVA + 1, U64_MAX, 0, PDN, SRNIC_KEY_BOUNDS },
		{ ALL, 0, 0, IOVA, 0, 0, PDN, SRNIC_KEY_BOUNDS },
		{ ALL, 1, 0, IOVA, 1, 0, PDN, SRNIC_KEY_STALE },
		{ ALL, 0, 0x100, IOVA, 1, 0, PDN, SRNIC_KEY_STALE },
		{ ALL, 0, 0, IOVA, 1, 0, PDN + 1, SRNIC_KEY_PD },
		{ ALL, 0, 0, IOVA, 1, IB_ACCESS_MW_BIND, PDN, SRNIC_KEY_ACCESS },
		{ ALL, 0, 0, IOVA, 1, IB_ACCESS_ON_DEMAND, PDN,
		  SRNIC_KEY_ACCESS },
		{ RW, 0, 0, IOVA, 1, IB_ACCESS_REMOTE_READ, PDN,
		  SRNIC_KEY_ACCESS },
		{ IB_ACCESS_MW_BIND, 0, 0, IOVA, 1, IB_ACCESS_REMOTE_READ, PDN,
		  SRNIC_KEY_OK },
		{ IB_ACCESS_MW_BIND, 0, 0, IOVA, 1, IB_ACCESS_REMOTE_WRITE, PDN,
		  SRNIC_KEY_ACCESS },
		{ IB_ACCESS_MW_BIND, 0, 0, IOVA, 1, IB_ACCESS_REMOTE_ATOMIC, PDN,
		  SRNIC_KEY_ACCESS },
		{ IB_ACCESS_MW_BIND | IB_ACCESS_LOCAL_WRITE, 0, 0, IOVA, 1,
		  IB_ACCESS_REMOTE_WRITE, PDN, SRNIC_KEY_OK },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct win *w = new_win(test, IB_MW_TYPE_2, rows[i].mr_access);
		u32 key = w->bind.key;

		w->bind.lkey ^= rows[i].lkey;
		w->bind.key ^= rows[i].key;
		w->bind.addr = rows[i].addr;
		w->bind.length = rows[i].length;
		w->bind.access = rows[i].access;
		w->bind.pdn = rows[i].pdn;
		KUNIT_EXPECT_EQ_MSG(test, bind(w), rows[i].want, "row %zu", i);
		w->bind.key = key;
		if (rows[i].want != SRNIC_KEY_OK)
			KUNIT_EXPECT_EQ_MSG(test, look(w, QPN, IOVA, 1),
					    SRNIC_KEY_STALE, "row %zu", i);
		end_win(test, w);
	}
}

/* A program of this host takes the window for a region. */
static enum srnic_key_reason use_as_lkey(struct win *w)
{
	struct srnic_mpt_req rq = {
		.key = w->bind.key, .pdn = PDN, .qpn = QPN, .addr = IOVA + OFF, .len = 1,
	};
	enum srnic_key_reason why;

	local_bh_disable();
	why = srnic_access_probe(w->f->mpt, &rq);
	local_bh_enable();
	return why;
}

/* Window and QP are of one PD, the region is of another. */
static void window_on_other_pd(struct kunit *test)
{
	static const enum ib_mw_type types[] = { IB_MW_TYPE_1, IB_MW_TYPE_2 };
	int i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct win *w = new_win(test, types[i], ALL);

		w->mr->user.e->pdn = PDN + 1;
		KUNIT_EXPECT_EQ(test, bind(w), SRNIC_KEY_PD);
		KUNIT_EXPECT_EQ(test, w->bind.blamed, w->bind.lkey);
		KUNIT_EXPECT_NE(test, look(w, QPN, IOVA + OFF, 1), SRNIC_KEY_OK);
		w->mr->user.e->pdn = PDN;
		KUNIT_EXPECT_EQ(test, bind(w), SRNIC_KEY_OK);
		/* nothing local is done by a window */
		KUNIT_EXPECT_EQ(test, use_as_lkey(w), SRNIC_KEY_ACCESS);
		end_win(test, w);
	}
}

/* Regions that have no place for a window. */
static void window_on_others(struct kunit *test)
{
	struct win *w = new_win(test, IB_MW_TYPE_1, ALL);
	struct srnic_mr *dma = srnic_mr_reg_dma(w->f->mpt, w->f->ibdev, PDN, ALL);
	struct srnic_mr *empty = reg(w->f, 0, 0, ALL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dma);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, empty);
	w->bind.lkey = dma->ibmr.lkey;
	KUNIT_EXPECT_EQ(test, bind(w), SRNIC_KEY_ACCESS);
	w->bind.lkey = empty->ibmr.lkey;
	KUNIT_EXPECT_EQ(test, bind(w), SRNIC_KEY_BOUNDS);
	/* a window is no region */
	w->bind.lkey = w->mw.ibmw.rkey;
	KUNIT_EXPECT_EQ(test, bind(w), SRNIC_KEY_STATE);
	srnic_mr_destroy(dma);
	srnic_mr_destroy(empty);
	end_win(test, w);
}

static void window_type_1_again(struct kunit *test)
{
	struct win *w = new_win(test, IB_MW_TYPE_1, ALL);
	struct srnic_mr *other = reg(w->f, PAGE_SIZE, PAGE_SIZE, ALL);
	u32 old;
	u8 byte;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, other);
	KUNIT_ASSERT_EQ(test, bind(w), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, invalidate(w, w->bind.key, PDN, QPN),
			SRNIC_KEY_ACCESS);
	old = w->bind.key;
	w->bind.key = (old & ~0xffu) | ((old + 1) & 0xff);
	w->bind.lkey = other->ibmr.lkey;
	w->bind.addr = IOVA + 10;
	KUNIT_ASSERT_EQ(test, bind(w), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, get_as(w->f, PDN, QPN, old, IOVA + OFF, 1, &byte),
			SRNIC_KEY_STALE);
	KUNIT_EXPECT_EQ(test, get_as(w->f, PDN, QPN, w->bind.key, IOVA + 10, 1,
				     &byte), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, byte, w->f->shadow[PAGE_SIZE + 10]);
	/* it has left the first one, and holds the second */
	KUNIT_EXPECT_EQ(test, srnic_mr_destroy(w->mr), 0);
	w->mr = other;
	KUNIT_EXPECT_EQ(test, srnic_mr_destroy(other), -EBUSY);
	/* of nothing: not bound */
	w->bind.length = 0;
	KUNIT_ASSERT_EQ(test, bind(w), SRNIC_KEY_OK);
	KUNIT_EXPECT_NE(test, look(w, QPN, IOVA + 10, 1), SRNIC_KEY_OK);
	end_win(test, w);
}

/* A peer of any QP reads through that key. */
static enum srnic_key_reason look_by(struct win *w, u32 key, u64 addr)
{
	u8 byte;

	return get_as(w->f, PDN, QPN, key, addr, 1, &byte);
}

/* What a refused bind of a bound window must not touch: its key, and its region. */
static void expect_bound(struct kunit *test, struct win *w, u32 key, const char *what)
{
	u8 buf[LEN];

	KUNIT_EXPECT_EQ_MSG(test, get_as(w->f, PDN, QPN, key, IOVA + OFF, LEN, buf),
			    SRNIC_KEY_OK, "%s", what);
	KUNIT_EXPECT_MEMEQ_MSG(test, buf, w->f->shadow + OFF, LEN, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, look_by(w, key, IOVA + OFF + LEN), SRNIC_KEY_BOUNDS,
			    "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, look_by(w, w->bind.key, w->bind.addr),
			    SRNIC_KEY_STALE, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, srnic_mr_destroy(w->mr), -EBUSY, "%s", what);
}

static void window_type_1_refused(struct kunit *test)
{
	enum { OURS, NONE, PLAIN, GONE, ITSELF, REGIONS };
	static const struct {
		const char *what;
		u32 region;
		u64 addr;
		u32 access;
		u32 pdn;
		enum srnic_key_reason want;
	} rows[] = {
		{ "no such region", NONE, IOVA, 0, PDN, SRNIC_KEY_STALE },
		{ "outside", OURS, IOVA - 1, 0, PDN, SRNIC_KEY_BOUNDS },
		{ "no right", OURS, IOVA, IB_ACCESS_MW_BIND, PDN, SRNIC_KEY_ACCESS },
		{ "another PD", OURS, IOVA, 0, PDN + 1, SRNIC_KEY_PD },
		{ "no windows", PLAIN, IOVA, 0, PDN, SRNIC_KEY_ACCESS },
		{ "revoked", GONE, IOVA, 0, PDN, SRNIC_KEY_REVOKED },
		{ "itself", ITSELF, IOVA + OFF, 0, PDN, SRNIC_KEY_ACCESS },
	};
	struct win *w = new_win(test, IB_MW_TYPE_1, ALL);
	const struct srnic_mw_bind good = w->bind;
	struct srnic_mr *plain = reg(w->f, 0, PAGE_SIZE, RW), *gone;
	u32 lkey[REGIONS] = { good.lkey, good.lkey ^ 1 }, i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, plain);
	fake.claim = true;
	gone = reg(w->f, 0, PAGE_SIZE, ALL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, gone);
	fake.peer[fake.last].revoke(fake.peer[fake.last].ctx);
	lkey[PLAIN] = plain->ibmr.lkey;
	lkey[GONE] = gone->ibmr.lkey;
	lkey[ITSELF] = good.key;
	KUNIT_ASSERT_EQ(test, bind(w), SRNIC_KEY_OK);
	w->bind.key ^= 2;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		w->bind.lkey = lkey[rows[i].region];
		w->bind.addr = rows[i].addr;
		w->bind.access = rows[i].access;
		w->bind.pdn = rows[i].pdn;
		KUNIT_EXPECT_EQ_MSG(test, bind(w), rows[i].want, "%s", rows[i].what);
		expect_bound(test, w, good.key, rows[i].what);
	}
	/* and a good one is as if nothing had been */
	w->bind = good;
	w->bind.addr++;
	KUNIT_EXPECT_EQ(test, bind(w), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, look_by(w, good.key, IOVA + OFF), SRNIC_KEY_BOUNDS);
	KUNIT_EXPECT_EQ(test, srnic_mr_destroy(plain), 0);
	KUNIT_EXPECT_EQ(test, srnic_mr_destroy(gone), 0);
	end_win(test, w);
}

static void revoke_last(void *arg)
{
	fake.peer[fake.last].revoke(fake.peer[fake.last].ctx);
}

static void forbid_windows(void *arg)
{
	const struct srnic_mr_rereg to = { .flags = IB_MR_REREG_ACCESS, .access = RW };

	srnic_mr_rereg(arg, &to);
}

/* The region has been found good, and is another one when the window is to be bound. */
static void window_type_1_late(struct kunit *test)
{
	static const struct {
		void (*meanwhile)(void *arg);
		enum srnic_key_reason want;
	} rows[] = {
		{ revoke_last, SRNIC_KEY_REVOKED },
		{ forbid_windows, SRNIC_KEY_ACCESS },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct win *w = new_win(test, IB_MW_TYPE_1, ALL);
		const u32 key = w->bind.key;
		struct srnic_mr *other;

		fake.claim = true;
		other = reg(w->f, 0, PAGE_SIZE, ALL);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, other);
		KUNIT_ASSERT_EQ(test, bind(w), SRNIC_KEY_OK);
		mr_moment.region_found = rows[i].meanwhile;
		mr_moment.arg = other;
		w->bind.key ^= 2;
		w->bind.lkey = other->ibmr.lkey;
		KUNIT_EXPECT_EQ_MSG(test, bind(w), rows[i].want, "row %u", i);
		expect_bound(test, w, key, i ? "forbidden" : "revoked");
		KUNIT_EXPECT_EQ(test, srnic_mr_destroy(other), 0);
		end_win(test, w);
	}
}

/* To and fro, so that each of the two regions has been the lower address. */
static void window_type_1_moves(struct kunit *test)
{
	struct win *w = new_win(test, IB_MW_TYPE_1, ALL);
	struct srnic_mr *mr[2] = { w->mr, reg(w->f, PAGE_SIZE, PAGE_SIZE, ALL) };
	u32 i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr[1]);
	for (i = 0; i < 7; i++) {
		u32 at = i & 1, old = w->bind.key;
		u8 byte;

		w->bind.key = (old & ~0xffu) | ((old + 1) & 0xff);
		w->bind.lkey = mr[at]->ibmr.lkey;
		KUNIT_ASSERT_EQ(test, bind(w), SRNIC_KEY_OK);
		KUNIT_EXPECT_EQ(test, look_by(w, old, IOVA + OFF), SRNIC_KEY_STALE);
		KUNIT_ASSERT_EQ(test, get_as(w->f, PDN, QPN, w->bind.key, IOVA + OFF, 1,
					     &byte), SRNIC_KEY_OK);
		KUNIT_EXPECT_EQ(test, byte, w->f->shadow[at * PAGE_SIZE + OFF]);
		KUNIT_EXPECT_EQ(test, mr[at]->b->nusers, 2);
		KUNIT_EXPECT_EQ(test, mr[!at]->b->nusers, 1);
	}
	KUNIT_EXPECT_EQ(test, srnic_mr_destroy(mr[1]), 0);
	end_win(test, w);
}

static void window_type_2_again(struct kunit *test)
{
	struct win *w = new_win(test, IB_MW_TYPE_2, ALL);
	u32 old = w->bind.key;

	KUNIT_ASSERT_EQ(test, bind(w), SRNIC_KEY_OK);
	/* it is bound, and stays what it is */
	w->bind.key ^= 2;
	w->bind.length = 1;
	KUNIT_EXPECT_EQ(test, bind(w), SRNIC_KEY_STATE);
	w->bind.key = old;
	KUNIT_EXPECT_EQ(test, look(w, QPN, IOVA + OFF, LEN), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, srnic_mr_destroy(w->mr), -EBUSY);
	KUNIT_EXPECT_EQ(test, look(w, QPN, IOVA + OFF, LEN), SRNIC_KEY_OK);

	KUNIT_EXPECT_EQ(test, invalidate(w, old, PDN, QPN + 1), SRNIC_KEY_QP);
	KUNIT_EXPECT_EQ(test, invalidate(w, old, PDN + 1, QPN), SRNIC_KEY_PD);
	KUNIT_EXPECT_EQ(test, invalidate(w, old ^ 1, PDN, QPN), SRNIC_KEY_STALE);
	KUNIT_EXPECT_EQ(test, look(w, QPN, IOVA + OFF, LEN), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, invalidate(w, old, PDN, QPN), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, look(w, QPN, IOVA + OFF, 1), SRNIC_KEY_STATE);
	KUNIT_EXPECT_EQ(test, invalidate(w, old, PDN, QPN), SRNIC_KEY_STATE);
	KUNIT_EXPECT_TRUE(test, list_empty(&w->qp.windows));
	/* the same key again: the consumer's choice */
	KUNIT_EXPECT_EQ(test, bind(w), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, look(w, QPN, IOVA + OFF, 1), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, look(w, QPN, IOVA + OFF, 2), SRNIC_KEY_BOUNDS);
	KUNIT_EXPECT_EQ(test, invalidate(w, old, PDN, QPN), SRNIC_KEY_OK);
	/* nothing holds the region any more */
	KUNIT_EXPECT_EQ(test, srnic_mr_destroy(w->mr), 0);
	w->mr = NULL;
	end_win(test, w);
}

static void window_blocks_rereg(struct kunit *test)
{
	struct win *w = new_win(test, IB_MW_TYPE_2, ALL);
	struct srnic_mr_rereg to = {
		.flags = IB_MR_REREG_ACCESS, .access = IB_ACCESS_REMOTE_READ,
		.start = w->f->user, .length = 10, .iova = IOVA,
	};

	KUNIT_ASSERT_EQ(test, bind(w), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, srnic_mr_rereg(w->mr, &to), -EBUSY);
	to.flags = IB_MR_REREG_TRANS;
	KUNIT_EXPECT_EQ(test, srnic_mr_rereg(w->mr, &to), -EBUSY);
	KUNIT_EXPECT_EQ(test, look(w, QPN, IOVA + OFF, LEN), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, invalidate(w, w->bind.key, PDN, QPN), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, srnic_mr_rereg(w->mr, &to), 0);
	/* where the region is now */
	KUNIT_EXPECT_EQ(test, bind(w), SRNIC_KEY_BOUNDS);
	w->bind.addr = IOVA + 9;
	w->bind.length = 1;
	KUNIT_EXPECT_EQ(test, bind(w), SRNIC_KEY_OK);
	end_win(test, w);
}

static void window_qp_goes(struct kunit *test)
{
	struct win *w = new_win(test, IB_MW_TYPE_2, ALL);

	KUNIT_ASSERT_EQ(test, bind(w), SRNIC_KEY_OK);
	srnic_mw_list_invalidate(&w->f->mws, &w->qp);
	KUNIT_EXPECT_TRUE(test, list_empty(&w->qp.windows));
	/* a QP that gets the number later gets no window with it */
	KUNIT_EXPECT_EQ(test, look(w, QPN, IOVA + OFF, 1), SRNIC_KEY_STATE);
	KUNIT_EXPECT_EQ(test, srnic_mr_destroy(w->mr), 0);
	w->mr = NULL;
	end_win(test, w);
}

static void window_dealloc(struct kunit *test)
{
	struct win *w = new_win(test, IB_MW_TYPE_2, ALL);
	u8 byte;

	KUNIT_ASSERT_EQ(test, bind(w), SRNIC_KEY_OK);
	srnic_mw_dealloc(&w->f->mws, &w->mw);
	KUNIT_EXPECT_EQ(test, get_as(w->f, PDN, QPN, w->bind.key, IOVA + OFF, 1,
				     &byte), SRNIC_KEY_STALE);
	KUNIT_EXPECT_EQ(test, bind(w), SRNIC_KEY_STALE);
	KUNIT_EXPECT_EQ(test, invalidate(w, w->bind.key, PDN, QPN),
			SRNIC_KEY_STALE);
	KUNIT_ASSERT_EQ(test, srnic_mw_alloc(&w->f->mws, &w->mw, PDN,
					     IB_MW_TYPE_1), 0);
	end_win(test, w);
}

static void window_revoked(struct kunit *test)
{
	struct win *w = new_win(test, IB_MW_TYPE_2, ALL);
	struct srnic_mr *mr;

	fake.claim = true;
	mr = reg(w->f, 0, 5000, ALL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	w->bind.lkey = mr->ibmr.lkey;
	KUNIT_ASSERT_EQ(test, bind(w), SRNIC_KEY_OK);
	fake.peer[fake.last].revoke(fake.peer[fake.last].ctx);
	KUNIT_EXPECT_EQ(test, look(w, QPN, IOVA + OFF, 1), SRNIC_KEY_REVOKED);
	KUNIT_EXPECT_EQ(test, invalidate(w, w->bind.key, PDN, QPN),
			SRNIC_KEY_REVOKED);
	KUNIT_EXPECT_EQ(test, srnic_mr_destroy(mr), -EBUSY);
	srnic_mw_dealloc(&w->f->mws, &w->mw);
	KUNIT_EXPECT_EQ(test, srnic_mr_destroy(mr), 0);
	KUNIT_EXPECT_EQ(test, fake.puts, 1);

	KUNIT_ASSERT_EQ(test, srnic_mw_alloc(&w->f->mws, &w->mw, PDN,
					     IB_MW_TYPE_2), 0);
	end_win(test, w);
}

/* More of them than die at a time; some of them go before the region's donor does. */
static void window_revoked_many(struct kunit *test)
{
	struct win *w = new_win(test, IB_MW_TYPE_1, ALL);
	u32 n = srnic_mpt_slots(w->f->mpt) - 10, i;
	struct srnic_mw *mw = kunit_kcalloc(test, n, sizeof(*mw), GFP_KERNEL);
	struct srnic_mr *mr;
	u8 byte;

	KUNIT_ASSERT_NOT_NULL(test, mw);
	KUNIT_ASSERT_GT(test, n, 150);
	fake.claim = true;
	mr = reg(w->f, 0, 5000, ALL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	w->bind.lkey = mr->ibmr.lkey;
	for (i = 0; i < n; i++) {
		KUNIT_ASSERT_EQ(test, srnic_mw_alloc(&w->f->mws, &mw[i], PDN,
						     IB_MW_TYPE_1), 0);
		w->bind.key = (mw[i].ibmw.rkey & ~0xffu) | ((mw[i].ibmw.rkey + 1) & 0xff);
		KUNIT_ASSERT_EQ(test, bind(w), SRNIC_KEY_OK);
		mw[i].ibmw.rkey = w->bind.key;
	}
	for (i = 0; i < n; i += 7)
		srnic_mw_dealloc(&w->f->mws, &mw[i]);
	fake.peer[fake.last].revoke(fake.peer[fake.last].ctx);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ(test, get_as(w->f, PDN, QPN, mw[i].ibmw.rkey, IOVA + OFF, 1,
					     &byte), i % 7 ? SRNIC_KEY_REVOKED : SRNIC_KEY_STALE);
	KUNIT_EXPECT_EQ(test, srnic_mr_destroy(mr), -EBUSY);
	for (i = 0; i < n; i++)
		if (i % 7)
			srnic_mw_dealloc(&w->f->mws, &mw[i]);
	KUNIT_EXPECT_EQ(test, srnic_mr_destroy(mr), 0);
	end_win(test, w);
}

static void window_table_full(struct kunit *test)
{
	struct fixture *f = new_fixture(test, 0);
	u32 n = srnic_mpt_slots(f->mpt), i;
	struct srnic_mw *mw = kunit_kcalloc(test, n, sizeof(*mw), GFP_KERNEL);
	struct srnic_mw more;

	KUNIT_ASSERT_NOT_NULL(test, mw);
	KUNIT_EXPECT_EQ(test, srnic_mw_alloc(&f->mws, &more, PDN, 0), -EINVAL);
	for (i = 0; i < n; i++)
		KUNIT_ASSERT_EQ(test, srnic_mw_alloc(&f->mws, &mw[i], PDN,
						     IB_MW_TYPE_1), 0);
	KUNIT_EXPECT_EQ(test, srnic_mw_alloc(&f->mws, &more, PDN, IB_MW_TYPE_1),
			-ENOMEM);
	for (i = 0; i < n; i++)
		srnic_mw_dealloc(&f->mws, &mw[i]);
	end_fixture(test, f);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(window_bounds),
	KUNIT_CASE(window_users),
	KUNIT_CASE(window_rights),
	KUNIT_CASE(window_bind_refused),
	KUNIT_CASE(window_on_other_pd),
	KUNIT_CASE(window_on_others),
	KUNIT_CASE(window_type_1_again),
	KUNIT_CASE(window_type_1_refused),
	KUNIT_CASE(window_type_1_late),
	KUNIT_CASE(window_type_1_moves),
	KUNIT_CASE(window_type_2_again),
	KUNIT_CASE(window_blocks_rereg),
	KUNIT_CASE(window_qp_goes),
	KUNIT_CASE(window_dealloc),
	KUNIT_CASE(window_revoked),
	KUNIT_CASE(window_revoked_many),
	KUNIT_CASE(window_table_full),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_mw",
	.test_cases = cases,
};

kunit_test_suite(suite);

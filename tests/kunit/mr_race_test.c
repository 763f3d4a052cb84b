// SPDX-License-Identifier: GPL-2.0
/*
 * Windows are bound to a region, used and given up by others while its memory is
 * revoked, or while it is registered anew: none lives on there, none is born behind
 * it, no byte of what the region has left is touched, nothing stays behind.
 */
#include <linux/bottom_half.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/mman.h>
#include <linux/uaccess.h>

#include "dmabuf_exporter.h"
#include "mr_fixture.h"
#include "rng.h"

#define BINDERS		3
#define ROUNDS		(IS_ENABLED(CONFIG_UML) ? 300 : 100)
#define ALL		(RW | IB_ACCESS_MW_BIND)
#define WINDOW		1024	/* bytes: a copy takes long enough to be met */
#define DEAD		0xdd	/* what stands where nobody may be */
#define PATIENCE	(120 * HZ)

/**
 * struct race - a region, and others that bind windows to it
 * @f: as all tests have it
 * @lkey: of the region
 * @iova: where the region is, one of two
 * @byte: what stands there
 * @binds: windows that were bound
 * @uses: times that they were read or written through
 * @bad: times that bytes were read that were none of the region's: none
 * @odd: results that can't be: none
 * @task: those who bind
 */
struct race {
	struct fixture *f;
	u32 lkey;
	u64 iova[2];
	u8 byte[2];
	atomic_t binds;
	atomic_t uses;
	atomic_t bad;
	atomic_t odd;
	struct task_struct *task[BINDERS];
};

/**
 * struct binder - one of them
 * @r: the race
 * @mw: its window
 * @type: of that
 * @key: the window's key, the low byte of the last bind
 * @qpn: its QP
 * @list: of that QP
 * @rng: chooses
 * @buf: what is read or written
 */
struct binder {
	struct race *r;
	struct srnic_mw mw;
	enum ib_mw_type type;
	u32 key;
	u32 qpn;
	struct srnic_mw_list list;
	struct rnd_state rng;
	u8 buf[WINDOW];
};

static enum srnic_key_reason bind(struct binder *b, u64 addr, u64 length)
{
	struct srnic_mw_bind bind = {
		.key = b->key, .lkey = READ_ONCE(b->r->lkey), .addr = addr,
		.length = length, .pdn = PDN, .qpn = b->qpn, .bound = &b->list,
		.access = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE,
	};
	enum srnic_key_reason why;

	local_bh_disable();
	why = srnic_mw_bind(&b->r->f->mws, &bind);
	local_bh_enable();
	return why;
}

static void unbind(struct binder *b)
{
	struct srnic_mpt_req rq = { .key = b->key, .pdn = PDN, .qpn = b->qpn };
	enum srnic_key_reason why;

	if (b->type == IB_MW_TYPE_1) {
		why = bind(b, 0, 0);
	} else {
		local_bh_disable();
		why = srnic_mws_invalidate(&b->r->f->mws, &rq);
		local_bh_enable();
	}
	if (why != SRNIC_KEY_OK && why != SRNIC_KEY_REVOKED)
		atomic_inc(&b->r->odd);
}

/* A peer reads and writes what the region has there, part of the window or all of it. */
static void use(struct binder *b, u32 place, u64 addr)
{
	u32 n = 1 + rng_below(&b->rng, WINDOW), off = rng_below(&b->rng, WINDOW - n + 1);
	struct race *r = b->r;
	enum srnic_key_reason why;

	memset(b->buf, r->byte[place], n);
	if (rng_below(&b->rng, 2))
		why = get_as(r->f, PDN, b->qpn, b->key, addr + off, n, b->buf);
	else
		why = put_as(r->f, PDN, b->qpn, b->key, addr + off, n, b->buf);
	if (why == SRNIC_KEY_OK)
		atomic_inc(&r->uses);
	else if (why != SRNIC_KEY_REVOKED)
		atomic_inc(&r->odd);
	if (memchr_inv(b->buf, r->byte[place], n))
		atomic_inc(&r->bad);
}

static void bind_and_use(struct binder *b)
{
	u32 place = rng_below(&b->rng, 2), i;
	u64 addr = b->r->iova[place] + rng_below(&b->rng, PAGE_SIZE - WINDOW);

	b->key = (b->key & ~0xffu) | rng_below(&b->rng, 256);
	if (bind(b, addr, WINDOW) != SRNIC_KEY_OK)
		return;
	atomic_inc(&b->r->binds);
	for (i = rng_below(&b->rng, 4); i; i--) {
		use(b, place, addr);
		if (!rng_below(&b->rng, 8))
			cond_resched();
	}
	/* or by its end */
	if (rng_below(&b->rng, 8))
		unbind(b);
}

static int binder(void *data)
{
	struct binder *b = data;

	while (!kthread_should_stop()) {
		u32 i;

		b->type = rng_below(&b->rng, 2) ? IB_MW_TYPE_1 : IB_MW_TYPE_2;
		if (srnic_mw_alloc(&b->r->f->mws, &b->mw, PDN, b->type)) {
			atomic_inc(&b->r->odd);
			msleep(20);
			continue;
		}
		b->key = b->mw.ibmw.rkey;
		for (i = rng_below(&b->rng, 6); i; i--)
			bind_and_use(b);
		srnic_mw_dealloc(&b->r->f->mws, &b->mw);
		/* so that there are moments without any */
		if (rng_below(&b->rng, 2))
			usleep_range(20, 100);
		cond_resched();
	}
	return list_empty(&b->list.windows) ? 0 : -EBUSY;
}

static struct race *new_race(struct kunit *test)
{
	struct race *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, r);
	r->f = new_fixture(test, PROT_READ | PROT_WRITE);
	return r;
}

static void start(struct kunit *test, struct race *r)
{
	struct binder *b = kunit_kcalloc(test, BINDERS, sizeof(*b), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, b);
	for (i = 0; i < BINDERS; i++) {
		b[i].r = r;
		b[i].qpn = 100 + i;
		srnic_mw_list_init(&b[i].list);
		prandom_seed_state(&b[i].rng, 41 + i);
		r->task[i] = kthread_run(binder, &b[i], "srnic_binder/%u", i);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, r->task[i]);
	}
}

static void finish(struct kunit *test, struct race *r)
{
	u32 i;

	for (i = 0; i < BINDERS; i++)
		KUNIT_EXPECT_EQ(test, kthread_stop(r->task[i]), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->bad), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->odd), 0);
	KUNIT_EXPECT_GT(test, atomic_read(&r->binds), ROUNDS);
	KUNIT_EXPECT_GT(test, atomic_read(&r->uses), 0);
}

/* Windows that work and begin in a page of addresses; U64_MAX: anywhere. */
static u32 windows_at(struct race *r, u64 iova)
{
	struct srnic_mpt_view view;
	u32 i, n = 0;

	for (i = 0; i < srnic_mpt_slots(r->f->mpt); i++)
		if (srnic_mpt_view(r->f->mpt, i, &view))
			n += view.state == SRNIC_MPT_VALID &&
			     (view.kind == SRNIC_MPT_MW1 ||
			      view.kind == SRNIC_MPT_MW2) &&
			     (iova == U64_MAX || view.iova - iova < PAGE_SIZE);
	return n;
}

/* So many windows more; false: none come. */
static bool wait_for_binds(struct race *r, u32 n)
{
	int until = atomic_read(&r->binds) + n;
	unsigned long end = jiffies + PATIENCE;

	while (atomic_read(&r->binds) - until < 0) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(10, 30);
	}
	return true;
}

/* Windows that are dead, or were never born, may still be there for a moment. */
static int destroy(struct srnic_mr *mr)
{
	unsigned long end = jiffies + PATIENCE;
	int err;

	while ((err = srnic_mr_destroy(mr)) == -EBUSY && time_before(jiffies, end))
		usleep_range(20, 50);
	return err;
}

/* What is checked while all are at it can't end the test at once. */
static bool revoke_round(struct kunit *test, struct race *r, struct exporter *x, u32 round)
{
	struct srnic_mr *mr;
	bool good;

	memset(x->mem, r->byte[0], x->size);
	mr = srnic_mr_reg_dmabuf(r->f->mpt, r->f->ibdev, PDN, &r->f->ibdev->dev, x->fd,
				 0, x->size, IOVA, ALL);
	if (IS_ERR(mr))
		return false;
	WRITE_ONCE(r->lkey, mr->ibmr.lkey);
	good = wait_for_binds(r, round % 4);
	udelay(round % 50);
	exporter_revoke(x);
	good &= !windows_at(r, U64_MAX);
	memset(x->mem, DEAD, x->size);
	usleep_range(50, 200);
	good &= !windows_at(r, U64_MAX);
	good &= !destroy(mr);
	good &= !memchr_inv(x->mem, DEAD, x->size);
	KUNIT_EXPECT_TRUE_MSG(test, good, "round %u", round);
	return good;
}

static void binds_meet_revoke(struct kunit *test)
{
	struct race *r = new_race(test);
	struct exporter *x = exporter_new(test, PAGE_SIZE);
	u32 round;

	r->iova[0] = IOVA;
	r->iova[1] = IOVA;
	r->byte[0] = 0xa1;
	r->byte[1] = 0xa1;
	start(test, r);
	for (round = 0; round < ROUNDS; round++)
		if (!revoke_round(test, r, x, round))
			break;
	finish(test, r);
	KUNIT_EXPECT_EQ(test, round, ROUNDS);
	kunit_info(test, "%u revokes, %d windows, %d uses", round,
		   atomic_read(&r->binds), atomic_read(&r->uses));
	exporter_end(test, x);
	end_fixture(test, r->f);
}

static unsigned long page_of(struct race *r, u32 place)
{
	return r->f->user + 2 * place * PAGE_SIZE;
}

static bool fill_page(struct race *r, u32 place, u8 byte)
{
	u8 *buf = r->f->shadow;

	memset(buf, byte, PAGE_SIZE);
	return !copy_to_user((void __user *)page_of(r, place), buf, PAGE_SIZE);
}

static bool page_is(struct race *r, u32 place, u8 byte)
{
	u8 *buf = r->f->shadow;

	return !copy_from_user(buf, (void __user *)page_of(r, place), PAGE_SIZE) &&
	       !memchr_inv(buf, byte, PAGE_SIZE);
}

/* Until there is a moment without windows; *busy counts the others. */
static int rereg(struct srnic_mr *mr, const struct srnic_mr_rereg *to, u32 *busy)
{
	unsigned long end = jiffies + PATIENCE;
	int err;

	while ((err = srnic_mr_rereg(mr, to)) == -EBUSY && time_before(jiffies, end)) {
		++*busy;
		udelay(*busy % 30);
		if (!(*busy % 8))
			usleep_range(10, 50);
		cond_resched();
	}
	return err;
}

/* From one place to the other, which nobody has touched since it was left. */
static bool move_round(struct race *r, struct srnic_mr *mr, u32 from, u32 *busy)
{
	const struct srnic_mr_rereg to = {
		.flags = IB_MR_REREG_TRANS, .start = page_of(r, !from),
		.length = PAGE_SIZE, .iova = r->iova[!from],
	};

	if (!page_is(r, !from, DEAD) || !fill_page(r, !from, r->byte[!from]) ||
	    rereg(mr, &to, busy) || windows_at(r, r->iova[from]))
		return false;
	/* who comes for the old place is too late */
	return fill_page(r, from, DEAD);
}

/* Then none can be bound, nor has any been left. */
static bool forbid_round(struct race *r, struct srnic_mr *mr, u32 round, u32 *busy)
{
	const int flags = round & 1 ? IB_MR_REREG_ACCESS : IB_MR_REREG_PD;
	struct srnic_mr_rereg to = { .flags = flags, .access = RW, .pdn = PDN + 1 };

	if (rereg(mr, &to, busy) || windows_at(r, U64_MAX))
		return false;
	usleep_range(50, 200);
	if (windows_at(r, U64_MAX))
		return false;
	to.access = ALL;
	to.pdn = PDN;
	return !rereg(mr, &to, busy);
}

static void binds_meet_rereg(struct kunit *test)
{
	struct race *r = new_race(test);
	struct srnic_mr *mr;
	u32 round, busy = 0;

	r->iova[0] = IOVA;
	r->iova[1] = IOVA + 16 * PAGE_SIZE;
	r->byte[0] = 0xa1;
	r->byte[1] = 0xb2;
	KUNIT_ASSERT_TRUE(test, fill_page(r, 0, r->byte[0]));
	KUNIT_ASSERT_TRUE(test, fill_page(r, 1, DEAD));
	mr = reg(r->f, 0, PAGE_SIZE, ALL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	r->lkey = mr->ibmr.lkey;
	start(test, r);
	for (round = 0; round < ROUNDS; round++) {
		if (!wait_for_binds(r, round % 4) || !move_round(r, mr, round & 1, &busy))
			break;
		if (round % 4 < 2 && !forbid_round(r, mr, round, &busy))
			break;
	}
	finish(test, r);
	KUNIT_EXPECT_EQ(test, round, ROUNDS);
	kunit_info(test, "%u moves, %u put off, %d windows, %d uses", round, busy,
		   atomic_read(&r->binds), atomic_read(&r->uses));
	KUNIT_EXPECT_EQ(test, srnic_mr_destroy(mr), 0);
	end_fixture(test, r->f);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_SLOW(binds_meet_revoke),
	KUNIT_CASE_SLOW(binds_meet_rereg),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_mr_race",
	.test_cases = cases,
};

kunit_test_suite(suite);

// SPDX-License-Identifier: GPL-2.0
/*
 * Another grant for the same key, and the end of one: what is refused, what readers
 * see while it happens, and that the old one isn't used any more afterwards.
 */
#include <kunit/test.h>
#include <linux/bottom_half.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <rdma/ib_verbs.h>

#include "../../drivers/srnic/mpt.h"
#include "rng.h"

#define PDN	3

static const struct srnic_mpt_grant first = {
	.access = IB_ACCESS_REMOTE_READ, .pdn = PDN, .qpn = SRNIC_MPT_ANY_QP,
	.iova = 0x1000, .length = 0x100, .mtt_off = 0,
};

static const struct srnic_mpt_grant second = {
	.access = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE, .pdn = PDN,
	.qpn = SRNIC_MPT_ANY_QP, .iova = 0x8000, .length = 0x200, .mtt_off = 1,
};

static struct srnic_mpt *new_mpt(struct kunit *test)
{
	struct srnic_mpt *mpt = srnic_mpt_create(8);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mpt);
	return mpt;
}

/* A key that allows what the grant says; it is the entry's own. */
static struct srnic_mpt_entry *new_key(struct kunit *test, struct srnic_mpt *mpt,
				       u8 kind, const struct srnic_mpt_grant *g)
{
	struct srnic_mpt_entry *e = srnic_mpt_alloc(mpt);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, e);
	e->kind = kind;
	e->access = g->access;
	e->pdn = g->pdn;
	e->qpn = g->qpn;
	e->iova = g->iova;
	e->length = g->length;
	e->mtt_off = g->mtt_off;
	srnic_mpt_publish(e);
	return e;
}

static void end_key(struct srnic_mpt *mpt, struct srnic_mpt_entry *e)
{
	srnic_mpt_kill(mpt, e, SRNIC_MPT_INVALID);
	srnic_mpt_free(mpt, e);
}

/* The first byte of a grant, with its rights. */
static struct srnic_mpt_req first_byte(const struct srnic_mpt_grant *g, u32 key)
{
	return (struct srnic_mpt_req) {
		.key = key, .pdn = g->pdn, .qpn = 1, .access = g->access,
		.addr = g->iova, .len = 1,
	};
}

static enum srnic_key_reason ask(struct srnic_mpt *mpt,
				 const struct srnic_mpt_grant *g, u32 key)
{
	struct srnic_mpt_req rq = first_byte(g, key);
	const struct srnic_mpt_entry *e;
	enum srnic_key_reason why;

	local_bh_disable();
	why = srnic_mpt_enter(mpt, &rq, &e);
	if (why == SRNIC_KEY_OK)
		srnic_mpt_leave(mpt);
	local_bh_enable();
	return why;
}

static enum srnic_key_reason change(struct srnic_mpt *mpt,
				    struct srnic_mpt_entry *e, bool fresh,
				    const struct srnic_mpt_grant *to, u32 key)
{
	struct srnic_mpt_grant g = *to;
	enum srnic_key_reason why;

	g.key = key;
	local_bh_disable();
	why = srnic_mpt_change(mpt, e, fresh, &g);
	local_bh_enable();
	return why;
}

/* access: of these rights one is needed, as for a peer's; 0: for our own */
static enum srnic_key_reason invalidate_as(struct srnic_mpt *mpt, u8 kind,
					   u32 key, u32 pdn, u32 qpn,
					   u32 access)
{
	struct srnic_mpt_req rq = {
		.key = key, .pdn = pdn, .qpn = qpn, .access = access,
	};
	enum srnic_key_reason why;

	local_bh_disable();
	why = srnic_mpt_invalidate(mpt, kind, &rq);
	local_bh_enable();
	return why;
}

static enum srnic_key_reason invalidate(struct srnic_mpt *mpt, u32 key, u32 pdn,
					u32 qpn)
{
	return invalidate_as(mpt, SRNIC_MPT_FRMR, key, pdn, qpn, 0);
}

static void change_whole(struct kunit *test)
{
	struct srnic_mpt *mpt = new_mpt(test);
	struct srnic_mpt_entry *e = new_key(test, mpt, SRNIC_MPT_MR, &first);
	u32 key = e->key;

	KUNIT_EXPECT_EQ(test, ask(mpt, &first, key), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, ask(mpt, &second, key), SRNIC_KEY_ACCESS);
	KUNIT_EXPECT_EQ(test, change(mpt, e, false, &second, key), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, ask(mpt, &first, key), SRNIC_KEY_BOUNDS);
	KUNIT_EXPECT_EQ(test, ask(mpt, &second, key), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, e->mtt_off, 1);
	end_key(mpt, e);
	srnic_mpt_destroy(mpt);
}

/* The low byte is the consumer's; the key of before is stale at once. */
static void change_low_byte(struct kunit *test)
{
	struct srnic_mpt *mpt = new_mpt(test);
	struct srnic_mpt_entry *e = new_key(test, mpt, SRNIC_MPT_MW1, &first);
	u32 old = e->key, bad = 0, i;

	for (i = 1; i <= 256; i++) {
		u32 key = (old & ~0xffu) | ((old + i) & 0xff);
		u32 before = e->key;

		bad += change(mpt, e, false, &first, key) != SRNIC_KEY_OK;
		bad += ask(mpt, &first, key) != SRNIC_KEY_OK;
		bad += ask(mpt, &first, before) != SRNIC_KEY_STALE;
	}
	KUNIT_EXPECT_EQ(test, bad, 0);
	KUNIT_EXPECT_EQ(test, e->key, old);
	end_key(mpt, e);
	srnic_mpt_destroy(mpt);
}

static void change_in_each_state(struct kunit *test)
{
	struct srnic_mpt *mpt = new_mpt(test);
	struct srnic_mpt_entry *e = srnic_mpt_alloc(mpt);
	u32 key;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, e);
	key = e->key;
	KUNIT_EXPECT_EQ(test, change(mpt, e, false, &first, key), SRNIC_KEY_STALE);
	KUNIT_EXPECT_EQ(test, e->state, SRNIC_MPT_RESERVED);
	srnic_mpt_kill(mpt, e, SRNIC_MPT_INVALID);
	KUNIT_EXPECT_EQ(test, change(mpt, e, true, &first, key), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, change(mpt, e, true, &second, key), SRNIC_KEY_STATE);
	KUNIT_EXPECT_EQ(test, ask(mpt, &first, key), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, change(mpt, e, false, &second, key), SRNIC_KEY_OK);
	srnic_mpt_kill(mpt, e, SRNIC_MPT_REVOKED);
	KUNIT_EXPECT_EQ(test, change(mpt, e, false, &first, key),
			SRNIC_KEY_REVOKED);
	KUNIT_EXPECT_EQ(test, ask(mpt, &second, key), SRNIC_KEY_REVOKED);
	srnic_mpt_free(mpt, e);
	KUNIT_EXPECT_EQ(test, change(mpt, e, false, &first, key), SRNIC_KEY_STALE);
	KUNIT_EXPECT_EQ(test, e->state, SRNIC_MPT_FREE);
	srnic_mpt_destroy(mpt);
}

/* Each kind, each wrong thing; only what may be invalidated is. */
static void invalidate_table(struct kunit *test)
{
	enum { FRMR = SRNIC_MPT_FRMR, MW2 = SRNIC_MPT_MW2, MW1 = SRNIC_MPT_MW1,
	       ANY = SRNIC_MPT_ANY_QP };
	static const struct {
		u8 kind;
		u8 as;		/* what it is taken for */
		u32 qpn;	/* of the entry */
		u32 flip;	/* bits of the key that are wrong */
		u32 pdn;	/* who asks */
		u32 by;
		u32 access;
		enum srnic_key_reason want;
	} rows[] = {
		{ FRMR, FRMR, ANY, 0, PDN, 1, 0, SRNIC_KEY_OK },
		{ FRMR, FRMR, ANY, 1, PDN, 1, 0, SRNIC_KEY_STALE },
		{ FRMR, FRMR, ANY, 0x80, PDN, 1, 0, SRNIC_KEY_STALE },
		{ FRMR, FRMR, ANY, 0, PDN + 1, 1, 0, SRNIC_KEY_PD },
		{ FRMR, FRMR, ANY, 0, PDN, 1, IB_ACCESS_REMOTE_READ |
		  IB_ACCESS_REMOTE_WRITE, SRNIC_KEY_OK },
		/* nothing that a peer may do with it */
		{ FRMR, FRMR, ANY, 0, PDN, 1, IB_ACCESS_REMOTE_WRITE,
		  SRNIC_KEY_ACCESS },
		{ FRMR, MW2, ANY, 0, PDN, 1, 0, SRNIC_KEY_ACCESS },
		{ MW2, MW2, 1, 0, PDN, 1, 0, SRNIC_KEY_OK },
		{ MW2, MW2, 1, 0, PDN, 2, 0, SRNIC_KEY_QP },
		{ MW2, MW2, 1, 0, PDN + 1, 1, 0, SRNIC_KEY_PD },
		/* by someone who doesn't know its window */
		{ MW2, FRMR, 1, 0, PDN, 1, 0, SRNIC_KEY_ACCESS },
		{ MW1, MW2, ANY, 0, PDN, 1, 0, SRNIC_KEY_ACCESS },
		{ SRNIC_MPT_MR, FRMR, ANY, 0, PDN, 1, 0, SRNIC_KEY_ACCESS },
		{ SRNIC_MPT_DMA, FRMR, ANY, 0, PDN, 1, 0, SRNIC_KEY_ACCESS },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct srnic_mpt *mpt = new_mpt(test);
		struct srnic_mpt_grant g = first;
		struct srnic_mpt_entry *e;
		bool done = rows[i].want == SRNIC_KEY_OK;

		g.qpn = rows[i].qpn;
		e = new_key(test, mpt, rows[i].kind, &g);
		KUNIT_EXPECT_EQ_MSG(test, invalidate_as(mpt, rows[i].as,
							e->key ^ rows[i].flip,
							rows[i].pdn, rows[i].by,
							rows[i].access),
				    rows[i].want, "row %zu", i);
		KUNIT_EXPECT_EQ_MSG(test, ask(mpt, &g, e->key),
				    done ? SRNIC_KEY_STATE : SRNIC_KEY_OK,
				    "row %zu", i);
		/* a second time: there is nothing to be ended */
		if (done)
			KUNIT_EXPECT_EQ(test, invalidate_as(mpt, rows[i].as,
							    e->key, PDN, 1, 0),
					SRNIC_KEY_STATE);
		end_key(mpt, e);
		srnic_mpt_destroy(mpt);
	}
}

static void invalidate_the_dead(struct kunit *test)
{
	struct srnic_mpt *mpt = new_mpt(test);
	struct srnic_mpt_entry *e;
	u32 key;

	KUNIT_EXPECT_EQ(test, invalidate(mpt, 0x1234, PDN, 1), SRNIC_KEY_UNKNOWN);
	e = new_key(test, mpt, SRNIC_MPT_FRMR, &first);
	key = e->key;
	srnic_mpt_kill(mpt, e, SRNIC_MPT_REVOKED);
	KUNIT_EXPECT_EQ(test, invalidate(mpt, key, PDN, 1), SRNIC_KEY_REVOKED);
	srnic_mpt_free(mpt, e);
	KUNIT_EXPECT_EQ(test, invalidate(mpt, key, PDN, 1), SRNIC_KEY_STALE);
	srnic_mpt_destroy(mpt);
}

#define READERS	3

/**
 * struct race - readers while the key changes between two grants
 * @mpt: table
 * @key: the key
 * @alive: which grants' memory is there
 * @readers: how many have begun
 * @used: times that a reader was inside, for each grant
 * @dead: times that it was inside memory that was not there: none
 * @mixed: times that it saw a grant that never was: none
 * @odd: times that it was refused for another reason than that the key allows the
 *	other grant now: none
 */
struct race {
	struct srnic_mpt *mpt;
	u32 key;
	bool alive[2];
	atomic_t readers;
	atomic_t used[2];
	atomic_t dead;
	atomic_t mixed;
	atomic_t odd;
};

static bool is_grant(const struct srnic_mpt_entry *e,
		     const struct srnic_mpt_grant *g)
{
	return e->access == g->access && e->iova == g->iova &&
	       e->length == g->length && e->mtt_off == g->mtt_off;
}

static void inside(struct race *r, const struct srnic_mpt_entry *e, u32 which,
		   u32 loops)
{
	if (!is_grant(e, which ? &second : &first))
		atomic_inc(&r->mixed);
	while (loops--)
		cpu_relax();
	if (!READ_ONCE(r->alive[which]))
		atomic_inc(&r->dead);
	atomic_inc(&r->used[which]);
}

static int reader(void *data)
{
	const struct srnic_mpt_entry *e;
	enum srnic_key_reason why;
	struct race *r = data;
	struct rnd_state rng;

	rng_start(&rng, atomic_inc_return(&r->readers));
	while (!kthread_should_stop()) {
		int burst = 50;

		while (burst--) {
			u32 which = rng_below(&rng, 2);
			struct srnic_mpt_req rq =
				first_byte(which ? &second : &first, r->key);

			local_bh_disable();
			why = srnic_mpt_enter(r->mpt, &rq, &e);
			if (why == SRNIC_KEY_OK) {
				inside(r, e, which, rng_below(&rng, 100));
				srnic_mpt_leave(r->mpt);
			} else if (why != (which ? SRNIC_KEY_ACCESS :
						   SRNIC_KEY_BOUNDS)) {
				atomic_inc(&r->odd);
			}
			local_bh_enable();
		}
		cond_resched();
	}
	return 0;
}

static void change_is_a_barrier(struct kunit *test)
{
	struct race *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	struct task_struct *task[READERS];
	unsigned long end = jiffies + 2 * HZ;
	struct srnic_mpt_entry *e;
	u32 round = 0, i;

	KUNIT_ASSERT_NOT_NULL(test, r);
	r->mpt = new_mpt(test);
	e = new_key(test, r->mpt, SRNIC_MPT_MR, &first);
	r->key = e->key;
	r->alive[0] = true;
	for (i = 0; i < READERS; i++) {
		task[i] = kthread_run(reader, r, "srnic_reader/%u", i);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task[i]);
	}
	while (time_before(jiffies, end)) {
		u32 to = ++round & 1;

		WRITE_ONCE(r->alive[to], true);
		KUNIT_ASSERT_EQ(test, change(r->mpt, e, false,
					     to ? &second : &first, r->key),
				SRNIC_KEY_OK);
		WRITE_ONCE(r->alive[!to], false);
		udelay(round % 20);
		/* odd: with one CPU readers run here only, and see both grants */
		if (!(round % 63))
			usleep_range(100, 200);
		cond_resched();
	}
	for (i = 0; i < READERS; i++)
		kthread_stop(task[i]);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->dead), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->mixed), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->odd), 0);
	KUNIT_EXPECT_GT(test, round, 20);
	KUNIT_EXPECT_GT(test, atomic_read(&r->used[0]), 0);
	KUNIT_EXPECT_GT(test, atomic_read(&r->used[1]), 0);
	kunit_info(test, "%u changes, %d and %d uses", round,
		   atomic_read(&r->used[0]), atomic_read(&r->used[1]));
	end_key(r->mpt, e);
	srnic_mpt_destroy(r->mpt);
}

/**
 * struct shown - what another thread is given to work on
 * @mpt: table
 * @e: an entry, or NULL
 */
struct shown {
	struct srnic_mpt *mpt;
	struct srnic_mpt_entry *e;
};

/* Changes the key until it has gone. */
static int changer(void *data)
{
	struct shown *shown = data;
	u32 done = 0;

	while (!kthread_should_stop()) {
		struct srnic_mpt_entry *e = READ_ONCE(shown->e);

		if (e && change(shown->mpt, e, false, done & 1 ? &first : &second,
				READ_ONCE(e->key)) == SRNIC_KEY_OK)
			done++;
		cond_resched();
	}
	return done;
}

/*
 * For a second, another thread works on what each round shows it. A round says
 * how often it saw what must not be.
 */
static void race(struct kunit *test, int (*other)(void *),
		 u32 (*round)(struct kunit *test, struct shown *shown, u32 n))
{
	struct srnic_mpt *mpt = new_mpt(test);
	struct shown shown = { .mpt = mpt };
	unsigned long end = jiffies + HZ;
	struct task_struct *task;
	u32 bad = 0, rounds = 0;

	task = kthread_run(other, &shown, "srnic_race");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	while (time_before(jiffies, end))
		bad += round(test, &shown, rounds++);
	KUNIT_EXPECT_GT(test, kthread_stop(task), 0);
	KUNIT_EXPECT_EQ(test, bad, 0);
	KUNIT_EXPECT_GT(test, rounds, 10);
	srnic_mpt_destroy(mpt);
}

static u32 revoke_round(struct kunit *test, struct shown *shown, u32 n)
{
	struct srnic_mpt_entry *e = new_key(test, shown->mpt, SRNIC_MPT_MR, &first);
	u32 bad;

	WRITE_ONCE(shown->e, e);
	if (n % 4)
		udelay(n % 40);
	else
		usleep_range(50, 100);
	srnic_mpt_kill(shown->mpt, e, SRNIC_MPT_REVOKED);
	bad = READ_ONCE(e->state) != SRNIC_MPT_REVOKED;
	cond_resched();
	bad += READ_ONCE(e->state) != SRNIC_MPT_REVOKED;
	WRITE_ONCE(shown->e, NULL);
	usleep_range(50, 100);
	srnic_mpt_free(shown->mpt, e);
	return bad;
}

/* A revoke isn't undone by a change that comes at the same time. */
static void revoke_meets_change(struct kunit *test)
{
	race(test, changer, revoke_round);
}

/* Invalidates the key that is shown, whether it lives or not. */
static int invalidator(void *data)
{
	struct shown *shown = data;
	u32 asked = 0;

	while (!kthread_should_stop()) {
		struct srnic_mpt_entry *e = READ_ONCE(shown->e);
		int burst = 100;

		while (e && burst--) {
			invalidate_as(shown->mpt, SRNIC_MPT_FRMR,
				      READ_ONCE(e->key), PDN, 1, 0);
			asked++;
		}
		cond_resched();
	}
	return asked;
}

static u32 free_round(struct kunit *test, struct shown *shown, u32 n)
{
	struct srnic_mpt_entry *e = new_key(test, shown->mpt, SRNIC_MPT_MR, &first);
	u32 i, bad = 0;

	WRITE_ONCE(shown->e, e);
	if (!(n % 16))
		usleep_range(20, 50);
	srnic_mpt_kill(shown->mpt, e, SRNIC_MPT_INVALID);
	for (i = 0; i < n % 64; i++)
		cpu_relax();
	srnic_mpt_free(shown->mpt, e);
	for (i = 0; i < 200; i++)
		bad += READ_ONCE(e->state) != SRNIC_MPT_FREE;
	cond_resched();
	bad += READ_ONCE(e->state) != SRNIC_MPT_FREE;
	return bad;
}

/* A slot that is given back is free, whatever is asked of its key then. */
static void free_meets_invalidate(struct kunit *test)
{
	race(test, invalidator, free_round);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(change_whole),
	KUNIT_CASE(change_low_byte),
	KUNIT_CASE(change_in_each_state),
	KUNIT_CASE(invalidate_table),
	KUNIT_CASE(invalidate_the_dead),
	KUNIT_CASE_SLOW(change_is_a_barrier),
	KUNIT_CASE_SLOW(revoke_meets_change),
	KUNIT_CASE_SLOW(free_meets_invalidate),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_mpt_change",
	.test_cases = cases,
};

kunit_test_suite(suite);

// SPDX-License-Identifier: GPL-2.0
/*
 * The life of MPT entries: allocation to the last slot, order of reuse, what
 * readers are told in each state, and the barrier against concurrent readers.
 */
#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/bottom_half.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/sort.h>
#include <rdma/ib_verbs.h>

#include "../../drivers/srnic/key.h"
#include "../../drivers/srnic/mpt.h"
#include "rng.h"

#define ORDER	8
#define SLOTS	BIT(ORDER)

static struct srnic_mpt *new_mpt(struct kunit *test, unsigned int order)
{
	struct srnic_mpt *mpt = srnic_mpt_create(order);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mpt);
	return mpt;
}

static struct srnic_mpt_entry *new_entry(struct kunit *test,
					 struct srnic_mpt *mpt)
{
	struct srnic_mpt_entry *e = srnic_mpt_alloc(mpt);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, e);
	return e;
}

static void *new_array(struct kunit *test, size_t n, size_t size)
{
	void *p = kunit_kcalloc(test, n, size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	return p;
}

static void fill(struct srnic_mpt_entry *e)
{
	e->pdn = 3;
	e->access = IB_ACCESS_REMOTE_READ;
	e->iova = 0x1000;
	e->length = 0x1000;
}

static struct srnic_mpt_req req(u32 key)
{
	return (struct srnic_mpt_req) {
		.key = key, .pdn = 3, .qpn = 1, .access = IB_ACCESS_REMOTE_READ,
		.addr = 0x1800, .len = 0x100,
	};
}

/* Enter and leave; the entry must be the expected one. */
static enum srnic_key_reason try_key(struct kunit *test, struct srnic_mpt *mpt,
				     u32 key, const struct srnic_mpt_entry *want)
{
	struct srnic_mpt_req rq = req(key);
	const struct srnic_mpt_entry *e = NULL;
	enum srnic_key_reason why;

	local_bh_disable();
	why = srnic_mpt_enter(mpt, &rq, &e);
	if (why == SRNIC_KEY_OK)
		srnic_mpt_leave(mpt);
	local_bh_enable();
	if (why == SRNIC_KEY_OK)
		KUNIT_EXPECT_PTR_EQ(test, e, want);
	else
		KUNIT_EXPECT_NULL(test, e);
	return why;
}

static void mpt_states(struct kunit *test)
{
	struct srnic_mpt *mpt = new_mpt(test, ORDER);
	struct srnic_mpt_entry *e = new_entry(test, mpt);
	u32 key = e->key;

	fill(e);
	KUNIT_EXPECT_EQ(test, e->state, SRNIC_MPT_RESERVED);
	KUNIT_EXPECT_EQ(test, srnic_mpt_live(mpt), 1);
	KUNIT_EXPECT_EQ(test, try_key(test, mpt, key, e), SRNIC_KEY_STALE);
	srnic_mpt_publish(e);
	KUNIT_EXPECT_EQ(test, try_key(test, mpt, key, e), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, try_key(test, mpt, key ^ 1, e), SRNIC_KEY_STALE);
	KUNIT_EXPECT_EQ(test, try_key(test, mpt, key ^ 0x80, e), SRNIC_KEY_STALE);
	srnic_mpt_kill(mpt, e, SRNIC_MPT_INVALID);
	KUNIT_EXPECT_EQ(test, try_key(test, mpt, key, e), SRNIC_KEY_STATE);
	KUNIT_EXPECT_EQ(test, try_key(test, mpt, key ^ 1, e), SRNIC_KEY_STALE);
	srnic_mpt_kill(mpt, e, SRNIC_MPT_REVOKED);
	KUNIT_EXPECT_EQ(test, try_key(test, mpt, key, e), SRNIC_KEY_REVOKED);
	/* the first reason to be dead stays the reason */
	srnic_mpt_kill(mpt, e, SRNIC_MPT_INVALID);
	KUNIT_EXPECT_EQ(test, try_key(test, mpt, key, e), SRNIC_KEY_REVOKED);
	srnic_mpt_free(mpt, e);
	KUNIT_EXPECT_EQ(test, try_key(test, mpt, key, e), SRNIC_KEY_STALE);
	KUNIT_EXPECT_EQ(test, srnic_mpt_live(mpt), 0);
	srnic_mpt_destroy(mpt);
}

/* A donor's revoke between reservation and publishing. */
static void mpt_killed_before_publish(struct kunit *test)
{
	struct srnic_mpt *mpt = new_mpt(test, ORDER);
	struct srnic_mpt_entry *e = new_entry(test, mpt);

	fill(e);
	srnic_mpt_kill(mpt, e, SRNIC_MPT_REVOKED);
	srnic_mpt_publish(e);
	KUNIT_EXPECT_EQ(test, e->state, SRNIC_MPT_REVOKED);
	KUNIT_EXPECT_EQ(test, try_key(test, mpt, e->key, e), SRNIC_KEY_REVOKED);
	srnic_mpt_free(mpt, e);
	srnic_mpt_destroy(mpt);
}

/* Every refusal lets go of the guard: kill would hang otherwise. */
static void mpt_refusal_leaves(struct kunit *test)
{
	struct srnic_mpt *mpt = new_mpt(test, ORDER);
	struct srnic_mpt_entry *e = new_entry(test, mpt);
	const struct srnic_mpt_entry *got;
	struct srnic_mpt_req rq = req(e->key);

	fill(e);
	srnic_mpt_publish(e);
	rq.len = 0x1000;
	local_bh_disable();
	KUNIT_EXPECT_EQ(test, srnic_mpt_enter(mpt, &rq, &got), SRNIC_KEY_BOUNDS);
	local_bh_enable();
	srnic_mpt_kill(mpt, e, SRNIC_MPT_INVALID);
	srnic_mpt_free(mpt, e);
	srnic_mpt_destroy(mpt);
}

static void mpt_unknown(struct kunit *test)
{
	struct srnic_mpt *mpt = new_mpt(test, 20);
	struct srnic_mpt_entry *e;
	struct rnd_state rng;
	u32 i, unknown = 0, other = 0;

	prandom_seed_state(&rng, 10);
	/* no chunk is open */
	for (i = 0; i < 1000; i++)
		other += try_key(test, mpt, rng_u32(&rng), NULL) !=
			 SRNIC_KEY_UNKNOWN;
	KUNIT_EXPECT_EQ(test, try_key(test, mpt, 0, NULL), SRNIC_KEY_UNKNOWN);
	KUNIT_EXPECT_EQ(test, other, 0);

	/* one is, and most of its slots were never used */
	e = new_entry(test, mpt);
	for (i = 0; i < 20000; i++)
		unknown += try_key(test, mpt, rng_u32(&rng), NULL) ==
			   SRNIC_KEY_UNKNOWN;
	KUNIT_EXPECT_GT(test, unknown, 19900);
	srnic_mpt_free(mpt, e);
	srnic_mpt_destroy(mpt);
}

/* To the last slot of a table of several chunks, each key another one. */
static void mpt_full(struct kunit *test)
{
	u32 slots = 1 << 14;
	struct srnic_mpt *mpt = new_mpt(test, 14);
	struct srnic_mpt_entry **e = new_array(test, slots, sizeof(*e));
	u32 i, bad = 0;

	KUNIT_EXPECT_EQ(test, srnic_mpt_slots(mpt), slots);
	for (i = 0; i < slots; i++) {
		e[i] = new_entry(test, mpt);
		fill(e[i]);
		srnic_mpt_publish(e[i]);
	}
	KUNIT_EXPECT_EQ(test, srnic_mpt_live(mpt), slots);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(srnic_mpt_alloc(mpt)), -ENOMEM);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(srnic_mpt_alloc(mpt)), -ENOMEM);
	/* each key leads to its own entry, so no two are the same */
	for (i = 0; i < slots; i++)
		bad += try_key(test, mpt, e[i]->key, e[i]) != SRNIC_KEY_OK;
	KUNIT_EXPECT_EQ(test, bad, 0);

	srnic_mpt_kill(mpt, e[77], SRNIC_MPT_INVALID);
	srnic_mpt_free(mpt, e[77]);
	KUNIT_EXPECT_PTR_EQ(test, srnic_mpt_alloc(mpt), e[77]);
	for (i = 0; i < slots; i++) {
		srnic_mpt_kill(mpt, e[i], SRNIC_MPT_INVALID);
		srnic_mpt_free(mpt, e[i]);
	}
	KUNIT_EXPECT_EQ(test, srnic_mpt_live(mpt), 0);
	srnic_mpt_destroy(mpt);
}

/*
 * A model of the free list: a queue of slots. Random allocations and frees
 * must follow it, generation by generation.
 */
static void mpt_reuse_is_fifo(struct kunit *test)
{
	struct srnic_mpt *mpt = new_mpt(test, ORDER);
	struct srnic_mpt_entry **live = new_array(test, SLOTS, sizeof(*live));
	u32 *queue = new_array(test, SLOTS, sizeof(*queue));
	u32 *lives = new_array(test, SLOTS, sizeof(*lives));
	u32 head = 0, nfree = SLOTS, nlive = 0;
	struct rnd_state rng;
	u32 i, bad = 0;

	prandom_seed_state(&rng, 11);
	for (i = 0; i < SLOTS; i++)
		queue[i] = i;
	for (i = 0; i < 20000; i++) {
		if (nfree && (!nlive || rng_below(&rng, 2))) {
			struct srnic_mpt_entry *e = new_entry(test, mpt);
			u32 slot = queue[head];

			head = (head + 1) % SLOTS;
			nfree--;
			bad += e->slot != slot || e->gen != lives[slot];
			lives[slot]++;
			live[nlive++] = e;
		} else {
			u32 at = rng_below(&rng, nlive);

			queue[(head + nfree) % SLOTS] = live[at]->slot;
			nfree++;
			srnic_mpt_free(mpt, live[at]);
			live[at] = live[--nlive];
		}
	}
	KUNIT_EXPECT_EQ(test, bad, 0);
	while (nlive)
		srnic_mpt_free(mpt, live[--nlive]);
	srnic_mpt_destroy(mpt);
}

static int cmp_u32(const void *a, const void *b)
{
	u32 x = *(u32 *)a, y = *(u32 *)b;

	return x < y ? -1 : x > y;
}

/* The worst case: all slots but one live, that one used again and again. */
static void mpt_keys_differ(struct kunit *test)
{
	struct srnic_mpt *mpt = new_mpt(test, ORDER);
	struct srnic_mpt_entry **live = new_array(test, SLOTS, sizeof(*live));
	u32 n = 30000, i, same = 0;
	u32 *keys = new_array(test, n, sizeof(*keys));

	KUNIT_EXPECT_GE(test, srnic_mpt_reuse_distance(mpt), n);
	for (i = 0; i < SLOTS - 1; i++)
		live[i] = new_entry(test, mpt);
	for (i = 0; i < n; i++) {
		struct srnic_mpt_entry *e = new_entry(test, mpt);

		keys[i] = e->key;
		srnic_mpt_free(mpt, e);
	}
	sort(keys, n, sizeof(*keys), cmp_u32, NULL);
	for (i = 1; i < n; i++)
		same += keys[i] == keys[i - 1];
	KUNIT_EXPECT_EQ(test, same, 0);
	for (i = 0; i < SLOTS - 1; i++)
		srnic_mpt_free(mpt, live[i]);
	srnic_mpt_destroy(mpt);
}

/* What the table states is what the codec does, at each order. */
static void mpt_reuse_distance(struct kunit *test)
{
	static const u32 want[] = {
		[8] = (1 << 24) - 256, [16] = 65280, [20] = 3840, [23] = 256,
	};
	unsigned int order;

	for (order = 0; order < ARRAY_SIZE(want); order++) {
		struct srnic_mpt *mpt;

		if (!want[order])
			continue;
		mpt = new_mpt(test, order);
		KUNIT_EXPECT_EQ(test, srnic_mpt_reuse_distance(mpt), want[order]);
		srnic_mpt_destroy(mpt);
	}
}

/*
 * A slot that was just freed rests for 4096 registrations, however many others
 * are live, as long as the table can grow.
 */
static void mpt_slots_rest(struct kunit *test)
{
	struct srnic_mpt *mpt = new_mpt(test, 16);
	u32 nlive = 4090, first, n = 0;
	struct srnic_mpt_entry **live = new_array(test, nlive, sizeof(*live));
	struct srnic_mpt_entry *e;

	for (n = 0; n < nlive; n++)
		live[n] = new_entry(test, mpt);
	e = new_entry(test, mpt);
	first = e->slot;
	n = 0;
	do {
		srnic_mpt_free(mpt, e);
		e = new_entry(test, mpt);
		n++;
	} while (e->slot != first);
	KUNIT_EXPECT_GE(test, n, 4096);
	srnic_mpt_free(mpt, e);
	while (nlive)
		srnic_mpt_free(mpt, live[--nlive]);
	srnic_mpt_destroy(mpt);
}

static u16 weak_seed;

/* No secret but a small one for the low byte. */
static void weak_random(void *buf, size_t len)
{
	memset(buf, 0, len);
	if (len <= 16)
		memcpy(buf, &weak_seed, sizeof(weak_seed));
}

/*
 * Without secret tables the handle of slot 0's first life is 0; one in 256 low
 * byte shuffles then begins with 0.
 */
static struct srnic_key_codec *codec_with_key_0(struct kunit *test)
{
	struct srnic_key_codec *kc;

	for (weak_seed = 0; weak_seed < 10000; weak_seed++) {
		kc = srnic_key_codec_alloc_from(ORDER, weak_random);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, kc);
		if (srnic_key_encode(kc, 0, 0) == 0)
			return kc;
		srnic_key_codec_free(kc);
	}
	return NULL;
}

static void mpt_skips_key_0(struct kunit *test)
{
	struct srnic_key_codec *kc = codec_with_key_0(test);
	struct srnic_mpt_entry *e;
	struct srnic_mpt *mpt;

	KUNIT_ASSERT_NOT_NULL(test, kc);
	mpt = srnic_mpt_create_with(ORDER, kc);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mpt);
	e = new_entry(test, mpt);
	KUNIT_EXPECT_EQ(test, e->slot, 0);
	KUNIT_EXPECT_EQ(test, e->gen, 1);
	KUNIT_EXPECT_NE(test, e->key, 0);
	KUNIT_EXPECT_EQ(test, try_key(test, mpt, 0, NULL), SRNIC_KEY_STALE);
	srnic_mpt_free(mpt, e);
	srnic_mpt_destroy(mpt);
}

static void mpt_create_fails(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(srnic_mpt_create(7)), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(srnic_mpt_create(24)), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(srnic_mpt_create_with(8,
								    ERR_PTR(-ENOMEM))),
			-ENOMEM);
}

#define MAX_READERS	4

/**
 * struct race - readers against the barrier
 * @mpt: table
 * @work: how long readers stay inside at the most; 0: as shortly as can be, and
 *	the writer kills soon, which is when a missing barrier shows
 * @end: what ends a key
 * @key: what readers present
 * @alive: from before publish until @end returned
 * @readers: how many have begun
 * @inside: times that a reader was inside
 * @refused: times that it was not let in
 * @dead: times that a reader was inside memory that was not alive: none
 */
struct race {
	struct srnic_mpt *mpt;
	u32 work;
	void (*end)(struct srnic_mpt *mpt, struct srnic_mpt_entry *e, u32 round);
	u32 key;
	bool alive;
	atomic_t readers;
	atomic_t inside;
	atomic_t refused;
	atomic_t dead;
};

/* What a reader does between enter and leave: look, take its time, look. */
static void use_memory(struct race *r, u32 loops)
{
	if (!READ_ONCE(r->alive))
		atomic_inc(&r->dead);
	while (loops--)
		cpu_relax();
	if (!READ_ONCE(r->alive))
		atomic_inc(&r->dead);
	atomic_inc(&r->inside);
}

static int reader(void *data)
{
	const struct srnic_mpt_entry *e;
	struct race *r = data;
	struct rnd_state rng;

	rng_start(&rng, atomic_inc_return(&r->readers));
	while (!kthread_should_stop()) {
		int burst = 50;

		while (burst--) {
			struct srnic_mpt_req rq = req(READ_ONCE(r->key));

			local_bh_disable();
			if (srnic_mpt_enter(r->mpt, &rq, &e) == SRNIC_KEY_OK) {
				use_memory(r, r->work ? rng_below(&rng, r->work) : 0);
				srnic_mpt_leave(r->mpt);
			} else {
				atomic_inc(&r->refused);
			}
			local_bh_enable();
		}
		cond_resched();
	}
	return 0;
}

static void kill(struct srnic_mpt *mpt, struct srnic_mpt_entry *e, u32 round)
{
	srnic_mpt_kill(mpt, e, round & 1 ? SRNIC_MPT_INVALID : SRNIC_MPT_REVOKED);
}

static void kill_and_wait(struct srnic_mpt *mpt, struct srnic_mpt_entry *e, u32 round)
{
	srnic_mpt_kill_no_wait(e, round & 1 ? SRNIC_MPT_INVALID : SRNIC_MPT_REVOKED);
	srnic_mpt_wait_for_dead(mpt);
}

static void invalidate(struct srnic_mpt *mpt, struct srnic_mpt_entry *e, u32 round)
{
	struct srnic_mpt_req rq = req(e->key);

	rq.access = 0;
	rq.len = 0;
	local_bh_disable();
	srnic_mpt_invalidate(mpt, SRNIC_MPT_FRMR, &rq);
	local_bh_enable();
}

/* One registration: published, used for a moment, ended, slot given back. */
static void live_and_die(struct kunit *test, struct race *r, u32 round)
{
	struct srnic_mpt_entry *e = new_entry(test, r->mpt);
	u32 i;

	fill(e);
	/* a kind that can be invalidated */
	e->kind = SRNIC_MPT_FRMR;
	WRITE_ONCE(r->alive, true);
	WRITE_ONCE(r->key, e->key);
	srnic_mpt_publish(e);
	/* with one CPU readers run here only */
	if (round % 32 == 1)
		usleep_range(20, 50);
	else if (r->work && round % 3)
		udelay(round % 50);
	for (i = 0; i < round % 64; i++)
		cpu_relax();
	r->end(r->mpt, e, round);
	WRITE_ONCE(r->alive, false);
	if (r->work && round % 5 == 0)
		udelay(5);
	srnic_mpt_free(r->mpt, e);
}

static void race_readers(struct kunit *test, u32 readers, u32 work,
			 void (*end_key)(struct srnic_mpt *mpt, struct srnic_mpt_entry *e,
					 u32 round))
{
	struct task_struct *task[MAX_READERS];
	unsigned long end = jiffies + 2 * HZ;
	struct race *r;
	u32 round = 0;
	u32 i;

	r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, r);
	r->work = work;
	r->end = end_key;
	r->mpt = new_mpt(test, ORDER);
	for (i = 0; i < readers; i++) {
		task[i] = kthread_run(reader, r, "srnic_reader/%u", i);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task[i]);
	}
	while (time_before(jiffies, end)) {
		live_and_die(test, r, round++);
		cond_resched();
		if (work && round % 64 == 0)
			usleep_range(100, 200);
	}
	for (i = 0; i < readers; i++)
		kthread_stop(task[i]);
	KUNIT_EXPECT_EQ(test, atomic_read(&r->dead), 0);
	KUNIT_EXPECT_GT(test, round, 20);
	KUNIT_EXPECT_GT(test, atomic_read(&r->inside), 0);
	KUNIT_EXPECT_GT(test, atomic_read(&r->refused), 0);
	kunit_info(test, "%u lives, %d uses, %d refusals", round,
		   atomic_read(&r->inside), atomic_read(&r->refused));
	srnic_mpt_destroy(r->mpt);
}

static void mpt_kill_waits(struct kunit *test)
{
	race_readers(test, MAX_READERS, 200, kill);
}

static void mpt_wait_for_dead_waits(struct kunit *test)
{
	race_readers(test, MAX_READERS, 200, kill_and_wait);
}

static void mpt_invalidate_waits(struct kunit *test)
{
	race_readers(test, MAX_READERS, 200, invalidate);
}

static void mpt_kill_is_a_barrier(struct kunit *test)
{
	race_readers(test, 1, 0, kill);
}

#define WRITERS		4
#define OWNED		70	/* WRITERS * OWNED is more than there are slots */

/**
 * struct writer - one of several that allocate and free
 * @mpt: table of all
 * @id: marks its entries
 * @taken: entries it got
 * @full: times that there was none left
 * @stolen: entries of its own that somebody else changed: none
 */
struct writer {
	struct srnic_mpt *mpt;
	u32 id;
	u32 taken;
	u32 full;
	u32 stolen;
};

static void take_one(struct writer *w, struct srnic_mpt_entry **slot)
{
	struct srnic_mpt_entry *e = srnic_mpt_alloc(w->mpt);

	if (IS_ERR(e)) {
		w->full++;
		return;
	}
	w->taken++;
	e->pdn = w->id;
	e->iova = e->key;
	srnic_mpt_publish(e);
	*slot = e;
}

static void give_one(struct writer *w, struct srnic_mpt_entry **slot)
{
	struct srnic_mpt_entry *e = *slot;

	w->stolen += e->pdn != w->id || e->iova != e->key ||
		     e->state != SRNIC_MPT_VALID;
	srnic_mpt_kill(w->mpt, e, SRNIC_MPT_INVALID);
	srnic_mpt_free(w->mpt, e);
	*slot = NULL;
}

static int writer(void *data)
{
	struct srnic_mpt_entry *own[OWNED] = {};
	struct writer *w = data;
	struct rnd_state rng;
	u32 i;

	prandom_seed_state(&rng, w->id);
	while (!kthread_should_stop()) {
		for (i = 0; i < 100; i++) {
			u32 at = rng_below(&rng, OWNED);

			if (own[at])
				give_one(w, &own[at]);
			else
				take_one(w, &own[at]);
		}
		cond_resched();
	}
	for (i = 0; i < OWNED; i++) {
		if (own[i])
			give_one(w, &own[i]);
	}
	return 0;
}

static void mpt_many_writers(struct kunit *test)
{
	struct writer *w = new_array(test, WRITERS, sizeof(*w));
	struct srnic_mpt *mpt = new_mpt(test, ORDER);
	struct task_struct *task[WRITERS];
	u32 i;

	for (i = 0; i < WRITERS; i++) {
		w[i].mpt = mpt;
		w[i].id = i + 1;
		task[i] = kthread_run(writer, &w[i], "srnic_writer/%u", i);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task[i]);
	}
	msleep(1000);
	for (i = 0; i < WRITERS; i++) {
		kthread_stop(task[i]);
		KUNIT_EXPECT_EQ(test, w[i].stolen, 0);
		KUNIT_EXPECT_GT(test, w[i].taken, OWNED);
	}
	KUNIT_EXPECT_EQ(test, srnic_mpt_live(mpt), 0);
	srnic_mpt_destroy(mpt);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(mpt_states),
	KUNIT_CASE(mpt_killed_before_publish),
	KUNIT_CASE(mpt_refusal_leaves),
	KUNIT_CASE(mpt_unknown),
	KUNIT_CASE(mpt_full),
	KUNIT_CASE(mpt_reuse_is_fifo),
	KUNIT_CASE(mpt_keys_differ),
	KUNIT_CASE(mpt_reuse_distance),
	KUNIT_CASE(mpt_slots_rest),
	KUNIT_CASE(mpt_skips_key_0),
	KUNIT_CASE(mpt_create_fails),
	KUNIT_CASE_SLOW(mpt_many_writers),
	KUNIT_CASE_SLOW(mpt_kill_waits),
	KUNIT_CASE_SLOW(mpt_wait_for_dead_waits),
	KUNIT_CASE_SLOW(mpt_invalidate_waits),
	KUNIT_CASE_SLOW(mpt_kill_is_a_barrier),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_mpt",
	.test_cases = cases,
};

kunit_test_suite(suite);

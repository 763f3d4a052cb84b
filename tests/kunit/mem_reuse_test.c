// SPDX-License-Identifier: GPL-2.0
/*
 * Someone who keeps dead keys and presents them: none comes alive before the
 * stated distance.
 */
#include <linux/bitmap.h>
#include <linux/bottom_half.h>
#include <linux/jhash.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "../../drivers/srnic/key.h"
#include "mem_lives.h"
#include "rng.h"

/* Lives of a slot at order 8, of 2^24, that are not skipped. */
#define WALK_FIRST	BIT(20)
#define WALK_LAST	BIT(19)

/*
 * Asks for no more than every entry here allows: only the key can be wrong.
 * Bottom halves are disabled.
 */
static bool enters(struct srnic_mpt *mpt, u32 key)
{
	struct srnic_mpt_req rq = {
		.key = key, .pdn = 3, .qpn = 1, .access = IB_ACCESS_REMOTE_READ,
		.addr = 0x1800, .len = 0x100,
	};
	const struct srnic_mpt_entry *e;
	enum srnic_key_reason why;

	why = srnic_mpt_enter(mpt, &rq, &e);
	if (why == SRNIC_KEY_OK)
		srnic_mpt_leave(mpt);
	return why == SRNIC_KEY_OK;
}

static bool let_in(struct srnic_mpt *mpt, u32 key)
{
	bool in;

	local_bh_disable();
	in = enters(mpt, key);
	local_bh_enable();
	return in;
}

/**
 * struct peer - keeps dead keys and presents them
 * @mpt: table
 * @dead: all keys it has seen die, in that order
 * @ndead: how many
 * @sweep: which of them is next when it presents one after the other
 * @rng: chooses others
 * @tries: dead keys presented
 * @hits: of these, let in: none
 */
struct peer {
	struct srnic_mpt *mpt;
	u32 *dead;
	u32 ndead;
	u32 sweep;
	struct rnd_state rng;
	u64 tries;
	u32 hits;
};

static void peer_tries(struct peer *p, u32 key)
{
	p->tries++;
	p->hits += enters(p->mpt, key);
}

/* A given one, any, the latest, and the next in a walk through all. */
static void peer_tries_some(struct peer *p, u32 key)
{
	local_bh_disable();
	peer_tries(p, key);
	if (p->ndead) {
		peer_tries(p, p->dead[rng_below(&p->rng, p->ndead)]);
		peer_tries(p, p->dead[p->ndead - 1]);
		peer_tries(p, p->dead[p->sweep]);
		p->sweep = (p->sweep + 1) % p->ndead;
	}
	local_bh_enable();
}

static void peer_tries_all(struct peer *p)
{
	u32 i;

	for (i = 0; i < p->ndead; i++) {
		local_bh_disable();
		peer_tries(p, p->dead[i]);
		local_bh_enable();
		if (i % 4096 == 0)
			cond_resched();
	}
}

static void tell_peer(struct kunit *test, const struct peer *p, ktime_t start)
{
	kunit_info(test, "%u dead keys, presented %llu times: %u hits; %lld ms",
		   p->ndead, p->tries, p->hits,
		   ktime_ms_delta(ktime_get(), start));
}

/**
 * struct crowd - keys that live at the same time, and who is to die next
 * @live: entries
 * @before: of each slot: the key of its last life
 * @handles: those given out so far
 * @twice: registrations whose handle was in @handles: none
 * @locked_out: times that a live key was refused: none
 */
struct crowd {
	struct srnic_mpt_entry *live[64];
	u32 before[SLOTS];
	unsigned long *handles;
	u32 twice;
	u32 locked_out;
};

/* One of the crowd goes, at random; a new one comes. */
static void one_round(struct kunit *test, struct peer *p, struct crowd *c)
{
	u32 at = rng_below(&p->rng, ARRAY_SIZE(c->live));
	struct srnic_mpt_entry *e = c->live[at];

	if (e) {
		u32 key = e->key;

		end_life(p->mpt, e);
		p->dead[p->ndead++] = key;
		c->before[e->slot] = key;
	}
	e = new_entry(test, p->mpt);
	c->live[at] = e;
	c->twice += __test_and_set_bit(e->key >> 8, c->handles);
	c->locked_out += !let_in(p->mpt, e->key);
	/* the slot's last life: leads to the live entry, and must not get in */
	peer_tries_some(p, c->before[e->slot]);
}

/*
 * A slot has 2^16 handles at this order and gets through 10^7 / 256 lives, so
 * not even a handle may come twice. That is stricter than what is stated for
 * keys, and takes 2^24 bits to check and not 2^32.
 */
static void reuse_never_hits(struct kunit *test)
{
	u32 rounds = WHOLE ? 10000000 : 100000;
	struct crowd *c = new_array(test, 1, sizeof(*c));
	ktime_t start = ktime_get();
	struct peer p = {};
	u32 i;

	p.mpt = new_mpt(test, ORDER);
	p.dead = new_array(test, rounds, sizeof(*p.dead));
	prandom_seed_state(&p.rng, 31);
	c->handles = new_array(test, BITS_TO_LONGS(HANDLES), sizeof(long));
	for (i = 0; i < rounds; i++) {
		one_round(test, &p, c);
		if (i % 4096 == 0)
			cond_resched();
	}
	peer_tries_all(&p);
	KUNIT_EXPECT_EQ(test, p.hits, 0);
	KUNIT_EXPECT_EQ(test, c->twice, 0);
	KUNIT_EXPECT_EQ(test, bitmap_weight(c->handles, HANDLES), rounds);
	KUNIT_EXPECT_EQ(test, c->locked_out, 0);
	tell_peer(test, &p, start);
	for (i = 0; i < ARRAY_SIZE(c->live); i++) {
		if (c->live[i])
			end_life(p.mpt, c->live[i]);
	}
	srnic_mpt_destroy(p.mpt);
}

/**
 * struct values - keys of one slot that were seen; all 2^32 would be too many
 * @number: of each handle: the how manieth it was; 0: not seen
 * @handles: how many were seen
 * @max: how many the slot has
 * @seen: low bytes, 256 bits for each handle that was seen
 */
struct values {
	u32 *number;
	u32 handles;
	u32 max;
	unsigned long *seen;
};

static struct values new_values(struct kunit *test, unsigned int order)
{
	struct values v = { .max = HANDLES >> order };

	v.number = new_array(test, HANDLES, sizeof(*v.number));
	v.seen = new_array(test, BITS_TO_LONGS(v.max << 8), sizeof(long));
	return v;
}

/* Has the key been here before? From now on it has. */
static bool recurs(struct kunit *test, struct values *v, u32 key)
{
	u32 *number = &v->number[key >> 8];

	if (!*number)
		*number = ++v->handles;
	if (*number > v->max)
		KUNIT_FAIL_AND_ABORT(test, "a slot with too many handles");
	return __test_and_set_bit((*number - 1) << 8 | (key & 255), v->seen);
}

/* All slots live; returns the one that is to live again and again. */
static struct srnic_mpt_entry *fill_table(struct kunit *test,
					  struct srnic_mpt *mpt,
					  struct srnic_mpt_entry **live,
					  u32 slot)
{
	struct srnic_mpt_entry *lonely = NULL;
	u32 i;

	for (i = 0; i < srnic_mpt_slots(mpt); i++) {
		live[i] = new_entry(test, mpt);
		if (live[i]->slot == slot)
			lonely = live[i];
	}
	KUNIT_ASSERT_NOT_NULL(test, lonely);
	return lonely;
}

/**
 * struct walk - one slot's lives until the first key comes again
 * @test: context
 * @peer: presents the dead ones
 * @v: all keys of the walk
 * @skip_at: after so many lives
 * @skip: so many generations are passed over
 * @skipped: lives that would have been in them
 * @first_0: the slot's first generation with handle 0, which is no life
 * @period: such a generation comes again after so many; 0: none comes
 */
struct walk {
	struct kunit *test;
	struct peer peer;
	struct values v;
	u32 skip_at;
	u32 skip;
	u32 skipped;
	u32 first_0;
	u32 period;
};

/* Generations up to this one that are no lives. */
static u32 without_life(const struct walk *w, u32 gen)
{
	if (!w->period || gen < w->first_0)
		return 0;
	return (gen - w->first_0) / w->period + 1;
}

static void pass_over(struct walk *w, struct srnic_mpt_entry *e)
{
	w->skipped = w->skip - (without_life(w, e->gen + w->skip) -
				without_life(w, e->gen));
	e->gen += w->skip;
}

/* Registrations until a key comes again; those skipped don't count. */
static u32 rounds_to_recurrence(struct walk *w, struct srnic_mpt_entry *e)
{
	struct peer *p = &w->peer;
	u32 first = e->key;

	recurs(w->test, &w->v, first);
	do {
		p->dead[p->ndead++] = e->key;
		end_life(p->mpt, e);
		if (p->ndead == w->skip_at)
			pass_over(w, e);
		e = new_entry(w->test, p->mpt);
		/* the one that will come again: not a round too early */
		if (e->key != first)
			peer_tries_some(p, first);
		if (p->ndead % 4096 == 0)
			cond_resched();
	} while (!recurs(w->test, &w->v, e->key));
	return p->ndead;
}

/* From there on all come in the order in which they came. */
static void expect_same_again(struct walk *w, struct srnic_mpt_entry *e)
{
	u32 i, other = 0;

	for (i = 1; i < 1000; i++) {
		end_life(w->peer.mpt, e);
		e = new_entry(w->test, w->peer.mpt);
		other += e->key != w->peer.dead[i];
	}
	KUNIT_EXPECT_EQ(w->test, other, 0);
}

/*
 * The worst case: all slots but one live, and that one again and again. The
 * distance is exact: the first key comes again, after as many registrations as
 * were stated, and no other one does before. The slot of handle 0 has the stated
 * distance, all others 256 more.
 */
static void walk_slot(struct kunit *test, unsigned int order, bool of_handle_0,
		      u32 skip_at, u32 skip)
{
	struct srnic_key_codec *kc = srnic_key_codec_alloc(order);
	struct srnic_mpt *mpt = srnic_mpt_create_with(order, kc);
	struct walk w = { .test = test, .skip_at = skip_at, .skip = skip };
	ktime_t start = ktime_get();
	struct srnic_mpt_entry **live, *e;
	u32 i, slots, want, rounds;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mpt);
	slots = srnic_mpt_slots(mpt);
	want = srnic_mpt_reuse_distance(mpt) + (of_handle_0 ? 0 : 256);
	if (of_handle_0) {
		w.period = BIT(24) >> order;
		w.first_0 = srnic_key_gen(kc, 0) % w.period;
	}
	live = new_array(test, slots, sizeof(*live));
	w.v = new_values(test, order);
	w.peer.mpt = mpt;
	w.peer.dead = new_array(test, want - skip + 257, sizeof(u32));
	prandom_seed_state(&w.peer.rng, 32);

	e = fill_table(test, mpt, live,
		       (srnic_mpt_slot_of(mpt, 0) + !of_handle_0) % slots);
	rounds = rounds_to_recurrence(&w, e);
	KUNIT_EXPECT_EQ(test, rounds + w.skipped, want);
	KUNIT_EXPECT_EQ(test, e->key, w.peer.dead[0]);
	KUNIT_EXPECT_EQ(test, w.peer.hits, 0);
	/* so the peer would have been let in */
	KUNIT_EXPECT_TRUE(test, let_in(mpt, w.peer.dead[0]));
	kunit_info(test, "order %u: distance %u, of which %u skipped", order,
		   rounds + w.skipped, w.skipped);
	tell_peer(test, &w.peer, start);
	expect_same_again(&w, e);
	for (i = 0; i < slots; i++)
		end_life(mpt, live[i]);
	srnic_mpt_destroy(mpt);
}

static void reuse_distance_of_others(struct kunit *test)
{
	walk_slot(test, 16, false, 0, 0);
}

static void reuse_distance_of_handle_0(struct kunit *test)
{
	walk_slot(test, 16, true, 0, 0);
}

static void reuse_distance_at_order_12(struct kunit *test)
{
	if (!WHOLE)
		kunit_skip(test, "2^20 lives; user mode Linux runs them");
	walk_slot(test, 12, true, 0, 0);
}

/*
 * All 2^24 lives would take a minute, since a slot's late ones cost up to 256
 * draws each (key.c). So the first 2^20 and the last 2^19 are lived and what is
 * between them is skipped: the distance is exact all the same, but that none of
 * the skipped values is one of the others is left to key_bijection.
 */
static void reuse_distance_at_order_8(struct kunit *test)
{
	if (!WHOLE)
		kunit_skip(test, "2^24 lives; user mode Linux runs them");
	walk_slot(test, ORDER, true, WALK_FIRST,
		  BIT(24) - WALK_FIRST - WALK_LAST);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_SLOW(reuse_never_hits),
	KUNIT_CASE_SLOW(reuse_distance_of_handle_0),
	KUNIT_CASE_SLOW(reuse_distance_of_others),
	KUNIT_CASE_SLOW(reuse_distance_at_order_12),
	KUNIT_CASE_SLOW(reuse_distance_at_order_8),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_key_reuse",
	.test_cases = cases,
};

kunit_test_suite(suite);

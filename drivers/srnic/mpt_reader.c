// SPDX-License-Identifier: GPL-2.0
/*
 * Those who present keys: packets and work requests, and people. How they and those
 * who change keys see each other is explained in mpt.c.
 */
#include "mpt.h"

#include <linux/bug.h>
#include <linux/lockdep.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>

#include "key.h"
#include "mpt_table.h"
#include "mtt.h"
#include "stats.h"

/*
 * What can be said of an entry whose fields may be changing: only the key, read
 * behind the state, each once.
 */
static enum srnic_key_reason look(const struct srnic_mpt_entry *e, u8 state,
				  u32 wanted)
{
	u32 key = READ_ONCE(e->key);

	if (!key)
		return SRNIC_KEY_UNKNOWN;
	if (key != wanted)
		return SRNIC_KEY_STALE;
	return srnic_mpt_state_reason(state);
}

/* Readers: the slot of a key; *line is where the cache has it, or may have it. */
static u32 find_slot(struct srnic_mpt *mpt, u32 key,
		     struct srnic_key_line **line)
{
	*line = NULL;
	if (mpt->cache.line) {
		*line = srnic_key_cache_line(&mpt->cache, key);
		if ((*line)->key == key && key) {
			srnic_count(mpt->stats, SRNIC_STAT_CACHE_HITS);
			return (*line)->slot;
		}
		srnic_count(mpt->stats, SRNIC_STAT_CACHE_MISSES);
	}
	return srnic_key_slot(mpt->codec, key);
}

/* What became of a key: the cache has keys that work. */
static void remember(struct srnic_mpt *mpt, struct srnic_key_line *line,
		     u32 key, u32 slot, enum srnic_key_reason why)
{
	if (!line)
		return;
	if (why == SRNIC_KEY_OK) {
		line->key = key;
		line->slot = slot;
	} else if (why == SRNIC_KEY_STALE && line->key == key) {
		line->key = 0;
		srnic_count(mpt->stats, SRNIC_STAT_CACHE_INVALIDATIONS);
	}
}

/* The rest of srnic_mpt_enter(), for the entry that the key may belong to. */
static enum srnic_key_reason enter_entry(struct srnic_mpt *mpt,
					 const struct srnic_mpt_entry *entry,
					 const struct srnic_mpt_req *rq)
{
	const struct srnic_mpt_entry **guard = this_cpu_ptr(mpt->guard);
	enum srnic_key_reason why;
	u8 state;

	if (IS_ENABLED(CONFIG_PROVE_LOCKING))
		WARN_ON_ONCE(*guard);
again:
	why = look(entry, srnic_mpt_settled(entry), rq->key);
	if (why != SRNIC_KEY_OK)
		return why;

	WRITE_ONCE(*guard, entry);
	/* the guard before the state: pairs with wait_for_readers() */
	smp_mb();
	/* pairs with publish: behind VALID the fields are those of this life */
	state = smp_load_acquire(&entry->state);
	if (unlikely(state == SRNIC_MPT_CHANGING)) {
		/* it may be waiting for us */
		smp_store_release(guard, NULL);
		goto again;
	}
	why = look(entry, state, rq->key);
	/* from here on a change waits, and VALID may become CHANGING */
	if (why == SRNIC_KEY_OK)
		why = srnic_mpt_check(entry, rq);
	if (why != SRNIC_KEY_OK) {
		/* what the check read before: pairs with wait_for_readers() */
		smp_store_release(guard, NULL);
	}
	return why;
}

/**
 * srnic_mpt_enter() - may this key do this? If so, hold on to it
 * @mpt: table
 * @rq: what is wanted
 * @e: the entry, to be used until srnic_mpt_leave(); set only on success
 *
 * Context: bottom halves disabled, until srnic_mpt_leave() in the same
 * context on success. No second entry in between.
 * Return: SRNIC_KEY_OK or why not.
 */
enum srnic_key_reason srnic_mpt_enter(struct srnic_mpt *mpt,
				      const struct srnic_mpt_req *rq,
				      const struct srnic_mpt_entry **e)
{
	const struct srnic_mpt_entry *entry;
	struct srnic_key_line *line;
	enum srnic_key_reason why;
	u32 slot;

	lockdep_assert_in_softirq();

	slot = find_slot(mpt, rq->key, &line);
	entry = srnic_mpt_at(mpt, slot);
	if (!entry)
		return SRNIC_KEY_UNKNOWN;
	why = enter_entry(mpt, entry, rq);
	remember(mpt, line, rq->key, slot, why);
	if (why == SRNIC_KEY_OK)
		*e = entry;
	return why;
}

/**
 * srnic_mpt_leave() - let go of what srnic_mpt_enter() gave
 * @mpt: table
 *
 * Context: that of srnic_mpt_enter().
 */
void srnic_mpt_leave(struct srnic_mpt *mpt)
{
	lockdep_assert_in_softirq();
	/* all accesses to the memory before: pairs with the acquire in kill */
	smp_store_release(this_cpu_ptr(mpt->guard), NULL);
}

/**
 * srnic_mpt_next_used() - skip slots that have never lived
 * @mpt: table
 * @slot: where to begin
 *
 * Context: process.
 * Return: the first slot from @slot on in a chunk that is open and that is not
 * free at this moment; srnic_mpt_slots() if there is none.
 */
u32 srnic_mpt_next_used(struct srnic_mpt *mpt, u32 slot)
{
	/* a hint: srnic_mpt_at() sees for itself which chunks are there */
	u32 end = READ_ONCE(mpt->open) << mpt->chunk_order;

	for (; slot < end; slot++) {
		const struct srnic_mpt_entry *e = srnic_mpt_at(mpt, slot);

		if (e && READ_ONCE(e->state) != SRNIC_MPT_FREE)
			return slot;
		if (!(slot % 4096))
			cond_resched();
	}
	return srnic_mpt_slots(mpt);
}

/* CPUs that use the entry; those that are looking at it for people as well. */
static u32 count_users(struct srnic_mpt *mpt, const struct srnic_mpt_entry *e)
{
	u32 n = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		n += READ_ONCE(*per_cpu_ptr(mpt->guard, cpu)) == e;
	return n;
}

/**
 * srnic_mpt_view() - tell of an entry
 * @mpt: table
 * @slot: its number
 * @to: filled
 *
 * Taken as by a packet: what is told of a VALID entry is one grant of one life.
 * Of another it may be a mixture of this one and the next.
 *
 * Context: process.
 * Return: false when the slot is free or was never used.
 */
bool srnic_mpt_view(struct srnic_mpt *mpt, u32 slot, struct srnic_mpt_view *to)
{
	const struct srnic_mpt_entry *e = srnic_mpt_at(mpt, slot);
	const struct srnic_mpt_entry **guard;
	const struct srnic_mtt *mtt;

	if (!e)
		return false;
	to->users = count_users(mpt, e);
	local_bh_disable();
	guard = this_cpu_ptr(mpt->guard);
	WRITE_ONCE(*guard, e);
	/* the guard before the state: pairs with the barrier in kill */
	smp_mb();
	/* the state before the fields: pairs with publish */
	to->state = smp_load_acquire(&e->state);
	to->kind = READ_ONCE(e->kind);
	to->key = READ_ONCE(e->key);
	to->access = READ_ONCE(e->access);
	to->pdn = READ_ONCE(e->pdn);
	to->qpn = READ_ONCE(e->qpn);
	to->gen = READ_ONCE(e->gen);
	to->iova = READ_ONCE(e->iova);
	to->length = READ_ONCE(e->length);
	to->age = (u32)ktime_get_seconds() - READ_ONCE(e->born);
	mtt = READ_ONCE(e->mtt);
	to->runs = 0;
	to->table = 0;
	if (to->state == SRNIC_MPT_VALID && mtt) {
		to->runs = mtt->nruns;
		to->table = struct_size(mtt, run, mtt->max);
	}
	/* all of the above before: pairs with the acquire in kill */
	smp_store_release(guard, NULL);
	local_bh_enable();
	return to->state != SRNIC_MPT_FREE;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * What may happen to a key in its life: it begins to work, is given another grant,
 * and ends. States, barrier and locks are explained in mpt.c.
 */
#include "mpt.h"

#include <linux/bottom_half.h>
#include <linux/bug.h>
#include <linux/lockdep.h>
#include <linux/processor.h>

#include "key.h"
#include "mpt_table.h"

/**
 * srnic_mpt_publish() - from now on the key works
 * @e: entry from srnic_mpt_alloc(), filled in
 *
 * Unless it has been killed in the meantime (a donor's revoke): then it stays
 * dead.
 *
 * Return: whether it works.
 */
bool srnic_mpt_publish(struct srnic_mpt_entry *e)
{
	u8 old = SRNIC_MPT_RESERVED;

	/* full barrier: the fields before the state; see look() */
	if (try_cmpxchg(&e->state, &old, SRNIC_MPT_VALID))
		return true;
	WARN_ON_ONCE(old != SRNIC_MPT_INVALID && old != SRNIC_MPT_REVOKED);
	return false;
}

/* VALID, INVALID or RESERVED -> state; REVOKED stays. Was it VALID? */
static bool leave_valid(struct srnic_mpt_entry *e, enum srnic_mpt_state state)
{
	u8 old;

	local_bh_disable();
	do {
		old = srnic_mpt_settled(e);
		if (WARN_ON_ONCE(old == SRNIC_MPT_FREE) ||
		    old == SRNIC_MPT_REVOKED)
			break;
	} while (!try_cmpxchg(&e->state, &old, (u8)state));
	local_bh_enable();
	return old == SRNIC_MPT_VALID;
}

/*
 * Until no reader uses the entry; its state keeps others from beginning to. With
 * bottom halves disabled none of them is on this CPU.
 *
 * The upper bound: one section between enter and leave, for all CPUs together, since
 * each of them is in its own at the same time, and one load of a guard for each CPU.
 * Who comes later finds the state and lets go at once. The longest section finds its
 * place in the MTT, log2(runs) steps, and copies the payload of one packet, which is
 * 4096 bytes at the most (IB_MTU_4096), or does one atomic. On a CPU of 2 GHz:
 *
 *   RAM               1 us, some more where the caches have nothing of it
 *   a BAR, written    1 us, as posted writes
 *   a BAR, read       1 ms: 1024 reads of 4 bytes that take 1 us each, slow ones
 *   a BAR, atomic     3 us, two reads of 4 bytes and a write, and as much again for each
 *                     other CPU that is before it at the same lock (io_atomic())
 *
 * What interrupts that CPU, or a hypervisor that doesn't run it, takes comes on top.
 * How many keys, QPs and regions there are has no part in it, nor has any peer. What
 * the callers wait for besides, locks and guests, is in backing.c.
 */
static void wait_for_readers(struct srnic_mpt *mpt,
			     const struct srnic_mpt_entry *e)
{
	int cpu;

	local_bh_disable();
	/* the state before the guards: pairs with the barrier in enter */
	smp_mb();
	for_each_possible_cpu(cpu) {
		/* acquire: the reader's accesses before what the caller does */
		while (smp_load_acquire(per_cpu_ptr(mpt->guard, cpu)) == e)
			cpu_relax();
	}
	local_bh_enable();
}

/**
 * srnic_mpt_kill() - the key stops working
 * @mpt: table
 * @e: entry, not free
 * @state: SRNIC_MPT_INVALID or SRNIC_MPT_REVOKED: what its holders are told
 *
 * On return no reader uses the entry, so what its MTT names may be given back,
 * and none will. Any number of callers at the same time; each gets the promise.
 *
 * Context: process or softirq, not between srnic_mpt_enter() and
 * srnic_mpt_leave(). Spins for one packet's copy at the most.
 * Return: true for the one call that ended the key's life.
 */
bool srnic_mpt_kill(struct srnic_mpt *mpt, struct srnic_mpt_entry *e,
		    enum srnic_mpt_state state)
{
	bool lived = leave_valid(e, state);

	wait_for_readers(mpt, e);
	return lived;
}

/**
 * srnic_mpt_kill_no_wait() - the key stops working, soon
 * @e: as in srnic_mpt_kill()
 * @state: as there
 *
 * Readers may still use the entry until srnic_mpt_wait_for_dead() returns.
 *
 * Context: process or softirq.
 * Return: as srnic_mpt_kill().
 */
bool srnic_mpt_kill_no_wait(struct srnic_mpt_entry *e,
			    enum srnic_mpt_state state)
{
	return leave_valid(e, state);
}

/**
 * srnic_mpt_wait_for_dead() - the barrier for all that has been killed
 * @mpt: table
 *
 * On return no reader uses an entry that was dead before.
 *
 * Context: as srnic_mpt_kill().
 */
void srnic_mpt_wait_for_dead(struct srnic_mpt *mpt)
{
	int cpu;

	local_bh_disable();
	/* the states before the guards: pairs with the barrier in enter */
	smp_mb();
	for_each_possible_cpu(cpu) {
		const struct srnic_mpt_entry **guard = per_cpu_ptr(mpt->guard, cpu);
		const struct srnic_mpt_entry *e;

		/* acquire: its state, as it is now that it is there */
		e = smp_load_acquire(guard);
		if (!e || READ_ONCE(e->state) == SRNIC_MPT_VALID)
			continue;
		/* acquire: the reader's accesses before what the caller does */
		while (smp_load_acquire(guard) == e)
			cpu_relax();
	}
	local_bh_enable();
}

/* VALID or INVALID -> CHANGING, which the caller ends. Which was it? */
static u8 begin_change(struct srnic_mpt *mpt, struct srnic_mpt_entry *e)
{
	u8 old;

	lockdep_assert_in_softirq();
	do {
		old = srnic_mpt_settled(e);
		if (old != SRNIC_MPT_VALID && old != SRNIC_MPT_INVALID)
			return old;
	} while (!try_cmpxchg(&e->state, &old, (u8)SRNIC_MPT_CHANGING));
	return old;
}

static void end_change(struct srnic_mpt_entry *e, enum srnic_mpt_state state)
{
	/* the fields before the state: pairs with the acquires of readers */
	smp_store_release(&e->state, (u8)state);
}

/**
 * srnic_mpt_granted() - what an entry allows
 * @e: entry that its owner keeps anybody from changing
 *
 * Return: a copy.
 */
struct srnic_mpt_grant srnic_mpt_granted(const struct srnic_mpt_entry *e)
{
	return (struct srnic_mpt_grant) {
		.key = e->key,
		.access = e->access,
		.pdn = e->pdn,
		.qpn = e->qpn,
		.iova = e->iova,
		.length = e->length,
		.mtt = e->mtt,
		.mtt_off = e->mtt_off,
	};
}

static void set_grant(struct srnic_mpt_entry *e,
		      const struct srnic_mpt_grant *to)
{
	WRITE_ONCE(e->key, to->key);
	e->access = to->access;
	e->pdn = to->pdn;
	e->qpn = to->qpn;
	e->iova = to->iova;
	e->length = to->length;
	e->mtt = to->mtt;
	e->mtt_off = to->mtt_off;
}

/**
 * srnic_mpt_change() - from now on the key allows something else
 * @mpt: table
 * @e: entry
 * @fresh: only if it is invalid now
 * @to: what it allows then; a key of the same slot
 *
 * Each packet sees the old grant or the new one as a whole, and none is refused
 * because of the change: one that comes while it goes on waits. On return no
 * reader uses the old one, so what its MTT names may be given back.
 *
 * Context: bottom halves disabled, not between srnic_mpt_enter() and
 * srnic_mpt_leave() of the same entry. Spins for one packet's copy at the most.
 * Return: SRNIC_KEY_OK; SRNIC_KEY_STATE: it is valid, and @fresh was asked for;
 * SRNIC_KEY_REVOKED; SRNIC_KEY_STALE: it has no life, or not yet. Nothing has
 * changed then.
 */
enum srnic_key_reason srnic_mpt_change(struct srnic_mpt *mpt,
				       struct srnic_mpt_entry *e, bool fresh,
				       const struct srnic_mpt_grant *to)
{
	enum srnic_key_reason why = srnic_mpt_change_begin(mpt, e, fresh);

	if (why == SRNIC_KEY_OK)
		srnic_mpt_change_finish(e, to);
	return why;
}

/**
 * srnic_mpt_change_begin() - the first half of srnic_mpt_change()
 * @mpt: as there
 * @e: as there
 * @fresh: as there
 *
 * From now on nobody uses the key, and all who would, or would end it, wait for
 * srnic_mpt_change_finish(): for those who have more to change than the grant.
 *
 * Context: bottom halves disabled until srnic_mpt_change_finish(), which comes soon.
 * Return: as there.
 */
enum srnic_key_reason srnic_mpt_change_begin(struct srnic_mpt *mpt,
					     struct srnic_mpt_entry *e, bool fresh)
{
	u8 old = begin_change(mpt, e);

	if (old != SRNIC_MPT_VALID && old != SRNIC_MPT_INVALID)
		return srnic_mpt_state_reason(old);
	if (fresh && old == SRNIC_MPT_VALID) {
		end_change(e, old);
		return SRNIC_KEY_STATE;
	}
	wait_for_readers(mpt, e);
	return SRNIC_KEY_OK;
}

/**
 * srnic_mpt_change_finish() - the second half: the key works
 * @e: entry that srnic_mpt_change_begin() has said yes to
 * @to: as in srnic_mpt_change()
 */
void srnic_mpt_change_finish(struct srnic_mpt_entry *e,
			     const struct srnic_mpt_grant *to)
{
	lockdep_assert_in_softirq();
	set_grant(e, to);
	end_change(e, SRNIC_MPT_VALID);
}

/* May @rq's owner invalidate it? The caller keeps it from changing from @state. */
static enum srnic_key_reason may_invalidate(const struct srnic_mpt_entry *e,
					    u8 state, enum srnic_mpt_kind kind,
					    const struct srnic_mpt_req *rq)
{
	struct srnic_mpt_req plain = *rq;
	struct srnic_mpt_entry copy = *e;
	enum srnic_key_reason why;

	copy.state = state;
	/* it isn't used: of what kind it is doesn't matter to that */
	copy.kind = SRNIC_MPT_MR;
	plain.access = 0;
	plain.len = 0;
	why = srnic_mpt_check(&copy, &plain);
	if (why != SRNIC_KEY_OK)
		return why;
	if (e->kind != kind || (rq->access && !(copy.access & rq->access)))
		return SRNIC_KEY_ACCESS;
	return SRNIC_KEY_OK;
}

/**
 * srnic_mpt_invalidate() - a key stops working until it is granted anew
 * @mpt: table
 * @kind: what the caller knows it to be; others can't be invalidated
 * @rq: the key, and who wants it (PD and QP); the length is 0. @rq->access: of
 *	these rights it must have one, if any is given
 *
 * Fast-register regions and windows of type 2 that are valid can be invalidated,
 * by whoever could use them (IBTA 10.6.7.2.5). The barrier of srnic_mpt_kill().
 *
 * Context: bottom halves disabled, not between srnic_mpt_enter() and
 * srnic_mpt_leave().
 * Return: SRNIC_KEY_OK or why not; SRNIC_KEY_ACCESS: a key of another kind, or
 * none of those rights.
 */
enum srnic_key_reason srnic_mpt_invalidate(struct srnic_mpt *mpt,
					   enum srnic_mpt_kind kind,
					   const struct srnic_mpt_req *rq)
{
	struct srnic_mpt_entry *e;
	enum srnic_key_reason why;
	u8 old;

	e = srnic_mpt_at(mpt, srnic_mpt_slot_of(mpt, rq->key));
	if (!e || !READ_ONCE(e->key))
		return SRNIC_KEY_UNKNOWN;
	if (READ_ONCE(e->key) != rq->key)
		return SRNIC_KEY_STALE;
	old = begin_change(mpt, e);
	if (old != SRNIC_MPT_VALID && old != SRNIC_MPT_INVALID)
		return srnic_mpt_state_reason(old);
	why = may_invalidate(e, old, kind, rq);
	if (why != SRNIC_KEY_OK) {
		end_change(e, old);
		return why;
	}
	wait_for_readers(mpt, e);
	end_change(e, SRNIC_MPT_INVALID);
	return SRNIC_KEY_OK;
}

/**
 * srnic_mpt_slot_of() - which slot a key names
 * @mpt: table
 * @key: any number
 *
 * Return: the slot.
 */
u32 srnic_mpt_slot_of(const struct srnic_mpt *mpt, u32 key)
{
	return srnic_key_slot(mpt->codec, key);
}

/**
 * srnic_mpt_free() - end of a life
 * @mpt: table
 * @e: entry that is not VALID and that nobody will kill any more
 *
 * Somebody may be asking for its invalidation, in vain, at this moment.
 *
 * Context: process.
 */
void srnic_mpt_free(struct srnic_mpt *mpt, struct srnic_mpt_entry *e)
{
	u8 old;

	local_bh_disable();
	do {
		old = srnic_mpt_settled(e);
		if (WARN_ON_ONCE(old == SRNIC_MPT_FREE))
			goto enable;
	} while (!try_cmpxchg(&e->state, &old, (u8)SRNIC_MPT_FREE));
	if (WARN_ON_ONCE(old == SRNIC_MPT_VALID))
		wait_for_readers(mpt, e);
	srnic_mpt_give_back(mpt, e);
enable:
	local_bh_enable();
}

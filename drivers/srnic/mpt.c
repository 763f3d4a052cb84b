// SPDX-License-Identifier: GPL-2.0
/*
 * The memory protection table.
 *
 * Objects
 *   table    2^order slots, in chunks of up to 4096 that are allocated when
 *            they are needed and stay until the table goes. So a slot's address
 *            never changes and looking at one is always safe.
 *   slot     struct srnic_mpt_entry, one cache line; lives many times.
 *   life     from srnic_mpt_alloc() to srnic_mpt_free(); has one key.
 *   guard    one pointer per CPU: the entry that this CPU's reader is using.
 *
 * States of a slot
 *
 *      FREE --alloc--> RESERVED --publish--> VALID <--change--> CHANGING
 *                          |                   |                  |
 *                          +-------kill--------+                change
 *                          |                                      |
 *                          +--> REVOKED or INVALID <--------------+
 *      FREE <--free-- RESERVED, INVALID, REVOKED
 *
 *   REVOKED stays until the slot is freed. A kill that comes before publish
 *   wins: publish then leaves the entry dead.
 *
 *   CHANGING is a lock on the entry that its state word is: whoever has brought
 *   it about (from VALID or INVALID) owns the fields and soon ends it. All others
 *   wait for that, spinning, readers without a guard: the owner waits for nothing
 *   but the guards of readers that were there before.
 *
 * Invariants
 *   - Fields other than state and next change only in RESERVED and CHANGING (and
 *     key, gen in alloc). Whoever has seen VALID under a guard may read them
 *     until it leaves, because kill and change wait.
 *   - Free slots are reused oldest first, and a chunk is opened while fewer than
 *     4096 slots are free. The same slot comes again only after every slot that
 *     was free before it.
 *   - The next life has the next generation, so (key.c) one value of a slot
 *     comes again after 2^(32 - order) lives of that slot: at the least after as
 *     many registrations, when all other slots are live, and after 4096 times as
 *     many as long as a chunk remains unopened. Key 0 is never given out: the
 *     one slot that it belongs to has one life less before it repeats, which
 *     srnic_mpt_reuse_distance() accounts for.
 *
 * Readers and the barrier
 *   A reader writes the entry into its CPU's guard, then (full barrier) reads
 *   the state. kill() writes the state, then (full barrier) reads all guards.
 *   One of the two sees the other: either the reader is refused or kill() waits
 *   for it. A reader looks at the state before it takes the guard as well, so
 *   that once a CPU has seen the new state it doesn't take this guard again, and
 *   a flood of packets for a dying key can't hold kill() up. The wait is
 *   bounded by what readers do between enter and leave: the copy of one packet,
 *   on each CPU at the same time. No peer has a part in it. change() does the
 *   same with CHANGING in the place of the dead state: when the fields are
 *   written, no reader is left who has seen the old ones.
 *
 *   Readers run with bottom halves disabled, so on a CPU there is one at a time
 *   and nothing sleeps under a guard. On PREEMPT_RT bottom halves are preempted,
 *   though serialized per CPU and not migrated, so that the guard itself is
 *   sound; but a spinning kill() of higher priority than a reader that it has
 *   preempted on its own CPU would spin for ever. There it sleeps between two
 *   looks where it may, and must not be called where it may not.
 *
 * Locks
 *   grow_lock (mutex) > lock (spinlock). Readers take none; while a key is being
 *   changed, those who present that key wait for as long as kill() may.
 */
#include "mpt.h"

#include <linux/bits.h>
#include <linux/bug.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/processor.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>

#include "key.h"
#include "mtt.h"

#define CHUNK_ORDER	12
#define CHUNK_SLOTS	BIT(CHUNK_ORDER)

/* End of the free list; no slot has this number (SRNIC_KEY_MAX_ORDER). */
#define NO_SLOT		0xffffffffu

/**
 * struct srnic_mpt - the table
 * @order: 2^order slots
 * @chunk_order: 2^chunk_order of them in a chunk
 * @nchunks: length of @chunk
 * @codec: which slot a key names
 * @guard: what each CPU's reader is using, or NULL
 * @grow_lock: opening of chunks; held over their allocation
 * @open: chunks that are open, 0 to @open - 1; written under both locks
 * @lock: the free list: @head, @tail, @nfree and the next of the entries in it
 * @head: the slot that has been free longest
 * @tail: the slot freed last
 * @nfree: length of the list
 * @chunk: chunks; published with release, never taken back
 *
 * What stands above @grow_lock is constant.
 */
struct srnic_mpt {
	unsigned int order;
	unsigned int chunk_order;
	u32 nchunks;
	struct srnic_key_codec *codec;
	const struct srnic_mpt_entry * __percpu *guard;

	/* opening of chunks */
	struct mutex grow_lock;
	u32 open;

	/* the free list */
	spinlock_t lock;
	u32 head;
	u32 tail;
	u32 nfree;

	struct srnic_mpt_entry *chunk[] __counted_by(nchunks);
};

static_assert(sizeof(struct srnic_mpt_entry) == 64);

/* The slot's entry, or NULL as long as its chunk isn't open. */
static struct srnic_mpt_entry *lookup(struct srnic_mpt *mpt, u32 slot)
{
	struct srnic_mpt_entry *chunk;

	/* pairs with the release in open_chunk() */
	chunk = smp_load_acquire(&mpt->chunk[slot >> mpt->chunk_order]);
	if (!chunk)
		return NULL;
	return &chunk[slot & ((1u << mpt->chunk_order) - 1)];
}

/**
 * srnic_mpt_create_with() - a table with a given key codec
 * @order: 2^order slots
 * @codec: codec of that order, or an ERR_PTR, which is returned; belongs to the
 *	table from now on, also when this fails
 *
 * Return: the table or an ERR_PTR.
 */
struct srnic_mpt *srnic_mpt_create_with(unsigned int order,
					struct srnic_key_codec *codec)
{
	unsigned int chunk_order = min_t(unsigned int, order, CHUNK_ORDER);
	struct srnic_mpt *mpt;
	u32 nchunks;

	if (IS_ERR(codec))
		return ERR_CAST(codec);

	nchunks = 1u << (order - chunk_order);
	mpt = kvzalloc(struct_size(mpt, chunk, nchunks), GFP_KERNEL);
	if (!mpt)
		goto free_codec;
	mpt->nchunks = nchunks;
	mpt->order = order;
	mpt->chunk_order = chunk_order;
	mpt->codec = codec;
	mpt->guard = alloc_percpu(const struct srnic_mpt_entry *);
	if (!mpt->guard)
		goto free_mpt;
	mutex_init(&mpt->grow_lock);
	spin_lock_init(&mpt->lock);
	mpt->head = NO_SLOT;
	mpt->tail = NO_SLOT;
	return mpt;

free_mpt:
	kvfree(mpt);
free_codec:
	srnic_key_codec_free(codec);
	return ERR_PTR(-ENOMEM);
}

/**
 * srnic_mpt_create() - an empty table
 * @order: 2^order slots, SRNIC_KEY_MIN_ORDER to SRNIC_KEY_MAX_ORDER
 *
 * Return: the table or an ERR_PTR.
 */
struct srnic_mpt *srnic_mpt_create(unsigned int order)
{
	return srnic_mpt_create_with(order, srnic_key_codec_alloc(order));
}

/**
 * srnic_mpt_destroy() - the end of a table
 * @mpt: table without live entries and readers
 */
void srnic_mpt_destroy(struct srnic_mpt *mpt)
{
	u32 i;

	WARN_ON(srnic_mpt_live(mpt));
	for (i = 0; i < mpt->open; i++)
		kvfree(mpt->chunk[i]);
	free_percpu(mpt->guard);
	srnic_key_codec_free(mpt->codec);
	kvfree(mpt);
}

/**
 * srnic_mpt_slots() - how many entries can live at the same time
 * @mpt: table
 *
 * Return: 2^order.
 */
u32 srnic_mpt_slots(const struct srnic_mpt *mpt)
{
	return 1u << mpt->order;
}

/**
 * srnic_mpt_live() - how many entries are taken now
 * @mpt: table
 *
 * Return: entries between srnic_mpt_alloc() and srnic_mpt_free().
 */
u32 srnic_mpt_live(struct srnic_mpt *mpt)
{
	u32 live;

	spin_lock(&mpt->lock);
	live = (mpt->open << mpt->chunk_order) - mpt->nfree;
	spin_unlock(&mpt->lock);
	return live;
}

/**
 * srnic_mpt_reuse_distance() - how long a dead key stays dead at the least
 * @mpt: table
 *
 * Return: after a registration returned some key, that many or more further
 * ones are needed for one of them to return it again, in the worst case (all
 * other slots live all the time, and the slot that key 0 belongs to).
 */
u32 srnic_mpt_reuse_distance(const struct srnic_mpt *mpt)
{
	return (u32)(1ull << (32 - mpt->order)) - 1;
}

static void push_free(struct srnic_mpt *mpt, u32 first, u32 last, u32 n)
{
	lockdep_assert_held(&mpt->lock);

	if (mpt->tail == NO_SLOT)
		mpt->head = first;
	else
		lookup(mpt, mpt->tail)->next = first;
	mpt->tail = last;
	mpt->nfree += n;
}

static struct srnic_mpt_entry *pop_free(struct srnic_mpt *mpt)
{
	struct srnic_mpt_entry *e;

	lockdep_assert_held(&mpt->lock);

	if (mpt->head == NO_SLOT)
		return NULL;
	e = lookup(mpt, mpt->head);
	mpt->head = e->next;
	if (mpt->head == NO_SLOT)
		mpt->tail = NO_SLOT;
	mpt->nfree--;
	return e;
}

/* A chunk is wanted; without either lock the answer is a hint. */
static bool wants_chunk(const struct srnic_mpt *mpt)
{
	return READ_ONCE(mpt->open) < mpt->nchunks &&
	       READ_ONCE(mpt->nfree) < CHUNK_SLOTS;
}

static struct srnic_mpt_entry *alloc_chunk(const struct srnic_mpt *mpt, u32 base)
{
	u32 n = 1u << mpt->chunk_order;
	struct srnic_mpt_entry *e;
	u32 i;

	e = kvcalloc(n, sizeof(*e), GFP_KERNEL);
	if (!e)
		return NULL;
	for (i = 0; i < n; i++) {
		e[i].slot = base + i;
		e[i].next = base + i + 1;
	}
	e[n - 1].next = NO_SLOT;
	return e;
}

/* More free slots. Failure is none as long as there are others. */
static void open_chunk(struct srnic_mpt *mpt)
{
	u32 n = 1u << mpt->chunk_order;
	struct srnic_mpt_entry *e;
	u32 base;

	mutex_lock(&mpt->grow_lock);
	if (!wants_chunk(mpt))
		goto unlock;
	base = mpt->open << mpt->chunk_order;
	e = alloc_chunk(mpt, base);
	if (!e)
		goto unlock;
	/* pairs with the acquire in lookup() */
	smp_store_release(&mpt->chunk[mpt->open], e);
	spin_lock(&mpt->lock);
	WRITE_ONCE(mpt->open, mpt->open + 1);
	push_free(mpt, base, base + n - 1, n);
	spin_unlock(&mpt->lock);
unlock:
	mutex_unlock(&mpt->grow_lock);
}

/* The next life of a free slot: everything fresh. */
static void begin_life(struct srnic_mpt *mpt, struct srnic_mpt_entry *e)
{
	u32 key;

	if (e->key)
		e->gen++;
	key = srnic_key_encode(mpt->codec, e->slot, e->gen);
	if (!key)
		key = srnic_key_encode(mpt->codec, e->slot, ++e->gen);
	e->kind = SRNIC_MPT_MR;
	e->access = 0;
	e->pdn = 0;
	e->qpn = SRNIC_MPT_ANY_QP;
	e->iova = 0;
	e->length = 0;
	e->mtt = NULL;
	e->mtt_off = 0;
	e->born = ktime_get_seconds();
	/* readers may be comparing it, and refuse whatever they find */
	WRITE_ONCE(e->key, key);
	WRITE_ONCE(e->state, SRNIC_MPT_RESERVED);
}

/**
 * srnic_mpt_alloc() - take a slot and choose its key
 * @mpt: table
 *
 * The entry is the caller's to fill in, then to publish or to free. No reader
 * gets past its state before it is published.
 *
 * Context: process, may sleep.
 * Return: the entry, or ERR_PTR(-ENOMEM) when all slots are taken or there is
 * no memory for more.
 */
struct srnic_mpt_entry *srnic_mpt_alloc(struct srnic_mpt *mpt)
{
	struct srnic_mpt_entry *e;

	might_sleep();
	if (wants_chunk(mpt))
		open_chunk(mpt);

	spin_lock(&mpt->lock);
	e = pop_free(mpt);
	spin_unlock(&mpt->lock);
	if (!e)
		return ERR_PTR(-ENOMEM);
	begin_life(mpt, e);
	return e;
}

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

static void relax(void)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && preemptible())
		usleep_range(10, 50);
	else
		cpu_relax();
}

/* The state, when nobody is changing the entry. */
static u8 settled_state(const struct srnic_mpt_entry *e)
{
	u8 state;

	/* acquire: what the change wrote */
	while ((state = smp_load_acquire(&e->state)) == SRNIC_MPT_CHANGING)
		relax();
	return state;
}

/* VALID, INVALID or RESERVED -> state; REVOKED stays. Was it VALID? */
static bool leave_valid(struct srnic_mpt_entry *e, enum srnic_mpt_state state)
{
	u8 old;

	do {
		old = settled_state(e);
		if (WARN_ON_ONCE(old == SRNIC_MPT_FREE) ||
		    old == SRNIC_MPT_REVOKED)
			return false;
	} while (!try_cmpxchg(&e->state, &old, (u8)state));
	return old == SRNIC_MPT_VALID;
}

/* Until no reader uses the entry; its state keeps others from beginning to. */
static void wait_for_readers(struct srnic_mpt *mpt,
			     const struct srnic_mpt_entry *e)
{
	int cpu;

	/* the state before the guards: pairs with the barrier in enter */
	smp_mb();
	for_each_possible_cpu(cpu) {
		/* acquire: the reader's accesses before what the caller does */
		while (smp_load_acquire(per_cpu_ptr(mpt->guard, cpu)) == e)
			relax();
	}
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

/* VALID or INVALID -> CHANGING, which the caller ends. Which was it? */
static u8 begin_change(struct srnic_mpt *mpt, struct srnic_mpt_entry *e)
{
	u8 old;

	lockdep_assert_in_softirq();
	do {
		old = settled_state(e);
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
	u8 old = begin_change(mpt, e);

	if (old != SRNIC_MPT_VALID && old != SRNIC_MPT_INVALID)
		return srnic_mpt_state_reason(old);
	if (fresh && old == SRNIC_MPT_VALID) {
		end_change(e, old);
		return SRNIC_KEY_STATE;
	}
	wait_for_readers(mpt, e);
	set_grant(e, to);
	end_change(e, SRNIC_MPT_VALID);
	return SRNIC_KEY_OK;
}

/* May @rq's owner invalidate it? The caller keeps it from changing. */
static enum srnic_key_reason may_invalidate(const struct srnic_mpt_entry *e,
					    const struct srnic_mpt_req *rq)
{
	struct srnic_mpt_entry copy = *e;
	enum srnic_key_reason why;

	copy.state = SRNIC_MPT_VALID;
	why = srnic_mpt_check(&copy, rq);
	if (why == SRNIC_KEY_OK && copy.kind != SRNIC_MPT_FRMR &&
	    copy.kind != SRNIC_MPT_MW2)
		return SRNIC_KEY_ACCESS;
	return why;
}

/**
 * srnic_mpt_invalidate() - a key stops working until it is granted anew
 * @mpt: table
 * @rq: the key, and who wants it (PD and QP); access and length 0
 *
 * Fast-register regions and windows of type 2 that are valid can be invalidated,
 * by whoever could use them (IBTA 10.6.7.2.5). The barrier of srnic_mpt_kill().
 *
 * Context: bottom halves disabled, not between srnic_mpt_enter() and
 * srnic_mpt_leave().
 * Return: SRNIC_KEY_OK or why not; SRNIC_KEY_ACCESS: a key of another kind.
 */
enum srnic_key_reason srnic_mpt_invalidate(struct srnic_mpt *mpt,
					   const struct srnic_mpt_req *rq)
{
	struct srnic_mpt_entry *e;
	enum srnic_key_reason why;
	u8 old;

	e = lookup(mpt, srnic_mpt_slot_of(mpt, rq->key));
	if (!e || !READ_ONCE(e->key))
		return SRNIC_KEY_UNKNOWN;
	if (READ_ONCE(e->key) != rq->key)
		return SRNIC_KEY_STALE;
	old = begin_change(mpt, e);
	if (old != SRNIC_MPT_VALID && old != SRNIC_MPT_INVALID)
		return srnic_mpt_state_reason(old);
	why = may_invalidate(e, rq);
	if (why == SRNIC_KEY_OK)
		why = srnic_mpt_state_reason(old);
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
 */
void srnic_mpt_free(struct srnic_mpt *mpt, struct srnic_mpt_entry *e)
{
	if (WARN_ON_ONCE(e->state == SRNIC_MPT_FREE))
		return;
	if (WARN_ON_ONCE(e->state == SRNIC_MPT_VALID))
		srnic_mpt_kill(mpt, e, SRNIC_MPT_INVALID);

	WRITE_ONCE(e->state, SRNIC_MPT_FREE);
	spin_lock(&mpt->lock);
	e->next = NO_SLOT;
	push_free(mpt, e->slot, e->slot, 1);
	spin_unlock(&mpt->lock);
}

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
	const struct srnic_mpt_entry **guard;
	const struct srnic_mpt_entry *entry;
	enum srnic_key_reason why;
	u8 state;

	lockdep_assert_in_softirq();

	entry = lookup(mpt, srnic_key_slot(mpt->codec, rq->key));
	if (!entry)
		return SRNIC_KEY_UNKNOWN;
	guard = this_cpu_ptr(mpt->guard);
	if (IS_ENABLED(CONFIG_PROVE_LOCKING))
		WARN_ON_ONCE(*guard);
again:
	why = look(entry, settled_state(entry), rq->key);
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
		/* what the check read before: pairs with the acquire in kill */
		smp_store_release(guard, NULL);
		return why;
	}
	*e = entry;
	return SRNIC_KEY_OK;
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
	/* a hint: lookup() sees for itself which chunks are there */
	u32 end = READ_ONCE(mpt->open) << mpt->chunk_order;

	for (; slot < end; slot++) {
		const struct srnic_mpt_entry *e = lookup(mpt, slot);

		if (e && READ_ONCE(e->state) != SRNIC_MPT_FREE)
			return slot;
		if (!(slot % CHUNK_SLOTS))
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
	const struct srnic_mpt_entry *e = lookup(mpt, slot);
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
	to->runs = to->state == SRNIC_MPT_VALID && mtt ? mtt->nruns : 0;
	/* all of the above before: pairs with the acquire in kill */
	smp_store_release(guard, NULL);
	local_bh_enable();
	return to->state != SRNIC_MPT_FREE;
}

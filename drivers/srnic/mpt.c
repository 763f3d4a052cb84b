// SPDX-License-Identifier: GPL-2.0
/*
 * The memory protection table: its slots, and their lives. What may happen to a key
 * in its life is in mpt_state.c, what those do who present one in mpt_reader.c; what
 * follows here is about all three.
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
 *     many as long as a chunk remains unopened. No key below 256 is given out
 *     (handle 0), so that no low byte makes it 0, which means none: the one slot
 *     that they belong to has 256 lives less before it repeats, which
 *     srnic_mpt_reuse_distance() accounts for.
 *   - Of windows and fast-register regions consumers choose the low byte, and may
 *     have used any. Their keys come again with the handle: after 2^(24 - order)
 *     lives of the slot (one less in that of handle 0), which waits its turn as all
 *     others do. So may the key of a region that had the handle before, which is
 *     then one of the 256 that the consumer can choose.
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
 *   and nothing sleeps under a guard. Whoever waits for them, or for the end of
 *   CHANGING, has bottom halves disabled as well: on PREEMPT_RT, where bottom
 *   halves are preempted but serialized per CPU, it would otherwise spin for ever
 *   for a reader that it has itself preempted.
 *
 * Locks
 *   grow_lock (mutex) > lock (spinlock). Readers take none; while a key is being
 *   changed, those who present that key wait for as long as kill() may.
 */
#include "mpt.h"

#include <linux/bits.h>
#include <linux/bug.h>
#include <linux/err.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "key.h"
#include "mpt_table.h"

#define CHUNK_ORDER	12
#define CHUNK_SLOTS	BIT(CHUNK_ORDER)

/* End of the free list; no slot has this number (SRNIC_KEY_MAX_ORDER). */
#define NO_SLOT		0xffffffffu

static_assert(sizeof(struct srnic_mpt_entry) == 64);

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
	srnic_key_cache_exit(&mpt->cache);
	free_percpu(mpt->guard);
	srnic_key_codec_free(mpt->codec);
	kvfree(mpt);
}

/**
 * srnic_mpt_use_cache() - remember the slots of keys
 * @mpt: new table
 * @lines: keys that each CPU remembers, up to SRNIC_KEY_CACHE_MAX; 0: none
 * @stats: where hits and misses are counted
 *
 * What is let in and what isn't is the same with any number.
 *
 * Return: 0, -EINVAL, -ENOMEM.
 */
int srnic_mpt_use_cache(struct srnic_mpt *mpt, unsigned int lines,
			struct srnic_stats __percpu *stats)
{
	mpt->stats = stats;
	return srnic_key_cache_init(&mpt->cache, lines);
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
 * other slots live all the time, and the slot that handle 0 belongs to).
 */
u32 srnic_mpt_reuse_distance(const struct srnic_mpt *mpt)
{
	return (u32)(1ull << (32 - mpt->order)) - 256;
}

static void push_free(struct srnic_mpt *mpt, u32 first, u32 last, u32 n)
{
	lockdep_assert_held(&mpt->lock);

	if (mpt->tail == NO_SLOT)
		mpt->head = first;
	else
		srnic_mpt_at(mpt, mpt->tail)->next = first;
	mpt->tail = last;
	mpt->nfree += n;
}

static struct srnic_mpt_entry *pop_free(struct srnic_mpt *mpt)
{
	struct srnic_mpt_entry *e;

	lockdep_assert_held(&mpt->lock);

	if (mpt->head == NO_SLOT)
		return NULL;
	e = srnic_mpt_at(mpt, mpt->head);
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

	e = kvcalloc(n, sizeof(*e), GFP_KERNEL_ACCOUNT);
	if (!e)
		return NULL;
	for (i = 0; i < n; i++) {
		e[i].slot = base + i;
		e[i].next = base + i + 1;
	}
	e[n - 1].next = NO_SLOT;
	return e;
}

/*
 * More free slots. Failure is none as long as there are others. The memory is charged
 * to who made the table grow, though others will use it later: else one program could
 * have the kernel fill it in nobody's name.
 */
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
	/* pairs with the acquire in srnic_mpt_at() */
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
	/* another generation, another handle */
	if (!(key >> 8))
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
 * srnic_mpt_give_back() - a slot is free
 * @mpt: table
 * @e: its entry, FREE
 */
void srnic_mpt_give_back(struct srnic_mpt *mpt, struct srnic_mpt_entry *e)
{
	spin_lock(&mpt->lock);
	e->next = NO_SLOT;
	push_free(mpt, e->slot, e->slot, 1);
	spin_unlock(&mpt->lock);
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table itself, for the files that the MPT is made of: mpt.c (slots),
 * mpt_state.c (what may happen to a key in its life), mpt_reader.c (those who
 * present keys). Nobody else looks inside.
 */
#ifndef SRNIC_MPT_TABLE_H
#define SRNIC_MPT_TABLE_H

#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/processor.h>
#include <linux/spinlock.h>

#include "key_cache.h"
#include "mpt.h"

/**
 * struct srnic_mpt - the table
 * @order: 2^order slots
 * @chunk_order: 2^chunk_order of them in a chunk
 * @nchunks: length of @chunk
 * @codec: which slot a key names
 * @guard: what each CPU's reader is using, or NULL
 * @cache: slots of keys that were used last
 * @stats: where its hits are counted
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
	struct srnic_key_cache cache;
	struct srnic_stats __percpu *stats;

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

/* The slot's entry, or NULL as long as its chunk isn't open. */
static inline struct srnic_mpt_entry *srnic_mpt_at(struct srnic_mpt *mpt, u32 slot)
{
	struct srnic_mpt_entry *chunk;

	/* pairs with the release in open_chunk() */
	chunk = smp_load_acquire(&mpt->chunk[slot >> mpt->chunk_order]);
	if (!chunk)
		return NULL;
	return &chunk[slot & ((1u << mpt->chunk_order) - 1)];
}

/*
 * The state, when nobody is changing the entry. Bottom halves are disabled, here
 * and where it is being changed: so that isn't on this CPU, whoever is preempted.
 */
static inline u8 srnic_mpt_settled(const struct srnic_mpt_entry *e)
{
	u8 state;

	/* acquire: what the change wrote */
	while ((state = smp_load_acquire(&e->state)) == SRNIC_MPT_CHANGING)
		cpu_relax();
	return state;
}

void srnic_mpt_give_back(struct srnic_mpt *mpt, struct srnic_mpt_entry *e);

#endif /* SRNIC_MPT_TABLE_H */

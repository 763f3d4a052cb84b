/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRNIC_RING_H
#define SRNIC_RING_H

#include <rdma/ib_verbs.h>
#include <rdma/srnic-abi.h>

/**
 * struct srnic_ring - the kernel's view of a ring shared with a program
 * @hdr: the shared head, NULL when there is no ring
 * @entries: the shared entries
 * @depth: number of entries, a power of two
 * @stride: bytes from one to the next
 * @idx: the kernel's own index: next to consume (SQ, RQ) or to produce (CQ).
 *	What the program is told of it is information for the program only.
 * @mmap: how a program gets at it; NULL for kernel users
 */
struct srnic_ring {
	struct srnic_ring_hdr *hdr;
	void *entries;
	u32 depth;
	u32 stride;
	u32 idx;
	struct rdma_user_mmap_entry *mmap;
};

/*
 * depth is rounded up to a power of two. uctx NULL: a ring of the kernel's own.
 * info (may be NULL) is filled with what the program needs. Process context.
 */
int srnic_ring_alloc(struct srnic_ring *ring, struct ib_ucontext *uctx,
		     u32 depth, u32 stride, struct srnic_ring_info *info);
void srnic_ring_free(struct srnic_ring *ring);

static inline void *srnic_ring_at(const struct srnic_ring *ring, u32 idx)
{
	return ring->entries + (size_t)(idx & (ring->depth - 1)) * ring->stride;
}

/* Entries that a program has produced and the kernel not yet consumed; 0 when
 * the program's index is impossible.
 */
u32 srnic_ring_pending(const struct srnic_ring *ring);

/*
 * Of the entries consumed, all but the last 'open' are done: their places are
 * the program's again.
 */
static inline void srnic_ring_done(struct srnic_ring *ring, u32 open)
{
	/* pairs with the program's acquire: read before it is free */
	smp_store_release(&ring->hdr->cons, ring->idx - open);
}

int srnic_ring_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma);
void srnic_ring_mmap_free(struct rdma_user_mmap_entry *entry);

#endif /* SRNIC_RING_H */

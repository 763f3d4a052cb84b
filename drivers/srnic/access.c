// SPDX-License-Identifier: GPL-2.0
/*
 * Bytes through a key: enter, translate, copy, leave. The key is checked for
 * the very bytes of this packet and held for as long as the copy takes and no
 * longer, so no transfer, however long or stuck, holds memory back.
 *
 * Regions of kind DMA have no table: their addresses are kernel addresses, as
 * kernel users put them into work requests without a DMA device (virtual DMA).
 * The kernel's own work requests are trusted; a peer that has been given such a
 * key (IB_PD_UNSAFE_GLOBAL_RKEY) may have any address written into a packet, so
 * its addresses must at least be memory.
 *
 * Atomics on RAM are the CPU's, in its byte order, and so atomic against every
 * program on the host. I/O memory has no such operations: there they are a read
 * and a write under one of a few locks, chosen by the address so that different
 * words seldom wait for each other, and atomic against all srnic devices only.
 */
#include "access.h"

#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/hash.h>
#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/mm.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

#include "mtt.h"
#include "peer.h"

#define IO_LOCK_BITS	4

/* Each: no other srnic between the read and the write of a word it covers. */
static spinlock_t io_lock[1 << IO_LOCK_BITS] = {
	[0 ... (1 << IO_LOCK_BITS) - 1] = __SPIN_LOCK_UNLOCKED(io_lock),
};

/* Every page of it is RAM; @len is not 0 and the range doesn't wrap. */
static bool is_ram(u64 addr, u64 len)
{
	u64 last = (addr + len - 1) >> PAGE_SHIFT;
	u64 page;

	for (page = addr >> PAGE_SHIFT; page <= last; page++) {
		if (!virt_addr_valid((void *)(unsigned long)(page << PAGE_SHIFT)))
			return false;
	}
	return true;
}

/*
 * srnic_mpt_enter(), and what only kernel addresses need: of the @len bytes that are
 * touched now, a packet's at the most, since whoever ends the key waits for it.
 */
static enum srnic_key_reason enter(struct srnic_mpt *mpt,
				   const struct srnic_mpt_req *rq, u64 len,
				   const struct srnic_mpt_entry **e)
{
	enum srnic_key_reason why = srnic_mpt_enter(mpt, rq, e);

	if (why != SRNIC_KEY_OK)
		return why;
	if ((*e)->kind == SRNIC_MPT_DMA && rq->access & SRNIC_REMOTE_RIGHTS &&
	    len && !is_ram(rq->addr, len)) {
		srnic_mpt_leave(mpt);
		return SRNIC_KEY_BOUNDS;
	}
	return SRNIC_KEY_OK;
}

/* A donor knows only what it is told of. */
static void account(const struct srnic_mtt *mtt, u64 in, u64 out)
{
	if (mtt->peer)
		srnic_peer_account(mtt->peer, in, out);
}

/* Where the request starts in the entry's MTT. */
static u64 mtt_offset(const struct srnic_mpt_entry *e,
		      const struct srnic_mpt_req *rq)
{
	return e->mtt_off + (rq->addr - e->iova);
}

static void put_kernel(u64 addr, u64 len, struct srnic_cursor *src)
{
	void *dst = (void *)(unsigned long)addr;
	const void *p;
	size_t n;

	while (len) {
		n = srnic_cursor_take(src, len, &p);
		memcpy(dst, p, n);
		dst += n;
		len -= n;
	}
}

/**
 * srnic_access_put() - bytes into a region
 * @mpt: table
 * @rq: the key and where; @rq->access says which right is needed
 * @n: bytes to write, not more than @rq->len: the rest is only checked
 * @src: @n bytes, moved on by as many on success
 *
 * Context: bottom halves disabled.
 * Return: SRNIC_KEY_OK, or why nothing was written.
 */
enum srnic_key_reason srnic_access_put(struct srnic_mpt *mpt,
				       const struct srnic_mpt_req *rq, u64 n,
				       struct srnic_cursor *src)
{
	const struct srnic_mpt_entry *e;
	enum srnic_key_reason why = enter(mpt, rq, n, &e);

	if (why != SRNIC_KEY_OK)
		return why;
	if (e->kind == SRNIC_MPT_DMA) {
		put_kernel(rq->addr, n, src);
	} else if (n) {
		srnic_mtt_put(e->mtt, mtt_offset(e, rq), n, src);
		account(e->mtt, n, 0);
	}
	srnic_mpt_leave(mpt);
	return SRNIC_KEY_OK;
}

/**
 * srnic_access_get() - bytes out of a region
 * @mpt: table
 * @rq: the key and where; @rq->access says which right is needed
 * @dst: room for @rq->len bytes
 *
 * Context: bottom halves disabled.
 * Return: SRNIC_KEY_OK, or why nothing was read.
 */
enum srnic_key_reason srnic_access_get(struct srnic_mpt *mpt,
				       const struct srnic_mpt_req *rq, void *dst)
{
	const struct srnic_mpt_entry *e;
	enum srnic_key_reason why = enter(mpt, rq, rq->len, &e);

	if (why != SRNIC_KEY_OK)
		return why;
	if (e->kind == SRNIC_MPT_DMA) {
		memcpy(dst, (void *)(unsigned long)rq->addr, rq->len);
	} else if (rq->len) {
		srnic_mtt_get(e->mtt, mtt_offset(e, rq), rq->len, dst);
		account(e->mtt, 0, rq->len);
	}
	srnic_mpt_leave(mpt);
	return SRNIC_KEY_OK;
}

/**
 * srnic_access_probe() - only the check
 * @mpt: table
 * @rq: what would be wanted. Whether all of a kernel address range is memory is
 *	left to who touches it.
 *
 * Context: bottom halves disabled.
 * Return: SRNIC_KEY_OK or why not; true at this moment, no longer.
 */
enum srnic_key_reason srnic_access_probe(struct srnic_mpt *mpt,
					 const struct srnic_mpt_req *rq)
{
	const struct srnic_mpt_entry *e;
	enum srnic_key_reason why = enter(mpt, rq, 0, &e);

	if (why == SRNIC_KEY_OK)
		srnic_mpt_leave(mpt);
	return why;
}

static u64 ram_atomic(atomic64_t *word, enum srnic_atomic_op op, u64 compare,
		      u64 swap_add)
{
	if (op == SRNIC_ATOMIC_CMP_SWAP)
		return atomic64_cmpxchg(word, compare, swap_add);
	return atomic64_fetch_add(swap_add, word);
}

static u64 io_atomic(void __iomem *word, enum srnic_atomic_op op, u64 compare,
		     u64 swap_add)
{
	spinlock_t *lock = &io_lock[hash_ptr((__force void *)word, IO_LOCK_BITS)];
	u64 old;

	spin_lock(lock);
	old = readq(word);
	if (op == SRNIC_ATOMIC_FETCH_ADD)
		writeq(old + swap_add, word);
	else if (old == compare)
		writeq(swap_add, word);
	/* out of the write-combining buffer before the next one reads the device */
	wmb();
	spin_unlock(lock);
	return old;
}

/* The word that the request names, or NULL where no atomic can be done. */
static const struct srnic_run *atomic_run(const struct srnic_mpt_entry *e,
					  const struct srnic_mpt_req *rq,
					  u64 *off)
{
	const struct srnic_run *run;

	*off = mtt_offset(e, rq);
	run = srnic_mtt_find(e->mtt, *off);
	if (!IS_ALIGNED(run->addr + (*off - run->off), sizeof(u64)) ||
	    run->len - (*off - run->off) < sizeof(u64))
		return NULL;
	return run;
}

/**
 * srnic_access_atomic() - 8 bytes, changed atomically
 * @mpt: table
 * @rq: the key and where; @rq->len is 8
 * @op: what to do
 * @compare: with this (compare and swap)
 * @swap_add: write this, or add it
 * @orig: the value before, where the answer is 0 and *@why SRNIC_KEY_OK
 * @why: the key's verdict
 *
 * Context: bottom halves disabled.
 * Return: 0; -EINVAL: the address, or the memory that it names, is not aligned
 * to 8 bytes, and nothing was done.
 */
int srnic_access_atomic(struct srnic_mpt *mpt, const struct srnic_mpt_req *rq,
			enum srnic_atomic_op op, u64 compare, u64 swap_add,
			u64 *orig, enum srnic_key_reason *why)
{
	const struct srnic_mpt_entry *e;
	const struct srnic_run *run;
	int err = 0;
	u64 off;

	if (rq->len != sizeof(u64) || !IS_ALIGNED(rq->addr, sizeof(u64)))
		return -EINVAL;
	*why = enter(mpt, rq, rq->len, &e);
	if (*why != SRNIC_KEY_OK)
		return 0;

	if (e->kind == SRNIC_MPT_DMA) {
		*orig = ram_atomic((atomic64_t *)(unsigned long)rq->addr, op,
				   compare, swap_add);
		goto leave;
	}
	run = atomic_run(e, rq, &off);
	if (!run)
		err = -EINVAL;
	else if (run->io)
		*orig = io_atomic(srnic_run_io(run, off), op, compare, swap_add);
	else
		*orig = ram_atomic(srnic_run_ram(run, off), op, compare,
				   swap_add);
	if (!err)
		account(e->mtt, op == SRNIC_ATOMIC_FETCH_ADD || *orig == compare ?
					sizeof(u64) : 0, sizeof(u64));
leave:
	srnic_mpt_leave(mpt);
	return err;
}

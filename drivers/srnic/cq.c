// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues. The kernel writes struct srnic_cqe into a ring; a program
 * reads them there without a system call, a kernel user through
 * srnic_cq_poll().
 *
 * Notification: arming and pushing meet under cq->lock, so an event is neither
 * lost nor given twice. The handler is never called under a lock: who pushes
 * learns that it is due and calls srnic_cq_wake() when it has dropped its own.
 *
 * A kernel user may poll and arm in a hard interrupt: so its cq->lock is taken
 * with interrupts off, everywhere.
 */
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "cq.h"

/* An entry of a kernel user's ring: it needs the QP's address as well. */
struct kernel_cqe {
	struct srnic_cqe c;
	struct ib_qp *qp;
};

/* The lock of programs' CQs. */
static struct lock_class_key user_lock;

/**
 * srnic_cq_create() - fill in a CQ
 * @cq: zeroed by the core
 * @uctx: the program, or NULL
 * @depth: entries wanted
 * @info: for the program
 *
 * Return: 0, -EINVAL, -ENOMEM.
 */
int srnic_cq_create(struct srnic_cq *cq, struct ib_ucontext *uctx, u32 depth,
		    struct srnic_ring_info *info)
{
	u32 stride = uctx ? sizeof(struct srnic_cqe) : sizeof(struct kernel_cqe);
	int err;

	if (!depth || depth > SRNIC_MAX_CQE)
		return -EINVAL;
	spin_lock_init(&cq->lock);
	/* it isn't taken in hard interrupts: see srnic_cq_resize() */
	if (uctx)
		lockdep_set_class(&cq->lock, &user_lock);
	cq->user = uctx;
	err = srnic_ring_alloc(&cq->ring, uctx, depth, stride, info);
	if (!err)
		cq->ibcq.cqe = cq->ring.depth;
	return err;
}

/**
 * srnic_cq_destroy() - free what srnic_cq_create() made
 * @cq: without QPs
 */
void srnic_cq_destroy(struct srnic_cq *cq)
{
	srnic_ring_free(&cq->ring);
}

static u32 cq_used(const struct srnic_cq *cq)
{
	/* pairs with the program's release: it has read before it freed */
	u32 cons = cq->user ? smp_load_acquire(&cq->ring.hdr->cons) : cq->cons;

	return cq->ring.idx - cons;
}

/* The new ring takes over, with what waits; @old: the old one, or again @new. */
static int take_over(struct srnic_cq *cq, struct srnic_ring *new,
		     struct srnic_ring *old)
{
	u32 i, used = cq_used(cq);

	lockdep_assert_held(&cq->lock);
	*old = *new;
	if (used > new->depth || used > cq->ring.depth)
		return -EINVAL;
	new->idx = cq->ring.idx;
	for (i = cq->ring.idx - used; i != new->idx; i++)
		memcpy(srnic_ring_at(new, i), srnic_ring_at(&cq->ring, i),
		       new->stride);
	new->hdr->flags = cq->ring.hdr->flags;
	new->hdr->cons = new->idx - used;
	new->hdr->prod = new->idx;
	*old = cq->ring;
	cq->ring = *new;
	cq->ibcq.cqe = new->depth;
	return 0;
}

/**
 * srnic_cq_resize() - another depth, nothing lost
 * @cq: CQ
 * @uctx: the program, or NULL
 * @depth: entries wanted
 * @info: of the new ring, for the program
 *
 * The entries that wait are copied to the same indices of the new ring.
 *
 * Return: 0, -EINVAL when more entries wait than the new ring holds or the
 * program's index can't be, -ENOMEM.
 */
int srnic_cq_resize(struct srnic_cq *cq, struct ib_ucontext *uctx, u32 depth,
		    struct srnic_ring_info *info)
{
	struct srnic_ring new = {}, old;
	unsigned long flags;
	int err;

	if (!depth || depth > SRNIC_MAX_CQE)
		return -EINVAL;
	err = srnic_ring_alloc(&new, uctx, depth, cq->ring.stride, info);
	if (err)
		return err;

	/*
	 * That many entries aren't copied with interrupts off where a program
	 * says how many. Nobody polls or arms its CQ in a hard interrupt.
	 */
	if (cq->user) {
		spin_lock_bh(&cq->lock);
		err = take_over(cq, &new, &old);
		spin_unlock_bh(&cq->lock);
	} else {
		spin_lock_irqsave(&cq->lock, flags);
		err = take_over(cq, &new, &old);
		spin_unlock_irqrestore(&cq->lock, flags);
	}
	srnic_ring_free(&old);
	return err;
}

/**
 * srnic_cq_push() - add a completion
 * @cq: CQ
 * @cqe: the completion; the time stamp is added here
 * @qp: whose it is, for kernel users
 * @solicited: an event armed for solicited completions counts
 *
 * When the ring is full the entry is lost, the CQ is in error for good and
 * IB_EVENT_CQ_ERR is due with the wake-up (IBTA 11.6.3.2). The caller sees by
 * srnic_cq_has_lost() that its QP can't report any more.
 *
 * Context: softirq or process context; the QP's lock held.
 * Return: whether srnic_cq_wake() must be called, without locks.
 */
bool srnic_cq_push(struct srnic_cq *cq, const struct srnic_cqe *cqe,
		   struct ib_qp *qp, bool solicited)
{
	struct srnic_cqe *slot;
	unsigned long flags;
	bool wake = false;

	spin_lock_irqsave(&cq->lock, flags);
	if (cq->overrun) {
		/* lost, as all since the first that found no room */
	} else if (cq_used(cq) >= cq->ring.depth) {
		WRITE_ONCE(cq->overrun, true);
		WRITE_ONCE(cq->error_due, true);
		WRITE_ONCE(cq->ring.hdr->flags, SRNIC_RING_OVERRUN);
		wake = true;
	} else {
		slot = srnic_ring_at(&cq->ring, cq->ring.idx);
		*slot = *cqe;
		slot->timestamp = ktime_get_raw_ns();
		if (!cq->user)
			container_of(slot, struct kernel_cqe, c)->qp = qp;
		cq->ring.idx++;
		/* pairs with the program's acquire: the entry before the index */
		smp_store_release(&cq->ring.hdr->prod, cq->ring.idx);

		if (cq->notify & IB_CQ_NEXT_COMP ||
		    (cq->notify & IB_CQ_SOLICITED &&
		     (solicited || cqe->status != IB_WC_SUCCESS))) {
			cq->notify = 0;
			wake = true;
		}
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return wake;
}

/* The first to ask is to tell of the overrun. */
static bool take_error(struct srnic_cq *cq)
{
	unsigned long flags;
	bool due;

	spin_lock_irqsave(&cq->lock, flags);
	due = cq->error_due;
	WRITE_ONCE(cq->error_due, false);
	spin_unlock_irqrestore(&cq->lock, flags);
	return due;
}

/**
 * srnic_cq_wake() - call the completion handler, and once after an overrun the
 * event handler before it
 * @cq: CQ
 *
 * Who waits for completions that will never come is woken by an overrun too.
 *
 * Context: softirq or process context, no lock held.
 */
void srnic_cq_wake(struct srnic_cq *cq)
{
	struct ib_event ev = {
		.device = cq->ibcq.device,
		.element.cq = &cq->ibcq,
		.event = IB_EVENT_CQ_ERR,
	};

	if (unlikely(READ_ONCE(cq->error_due)) && take_error(cq) &&
	    cq->ibcq.event_handler)
		cq->ibcq.event_handler(&ev, cq->ibcq.cq_context);
	if (cq->ibcq.comp_handler)
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
}

static void cqe_to_wc(const struct kernel_cqe *k, struct ib_wc *wc)
{
	const struct srnic_cqe *c = &k->c;

	*wc = (struct ib_wc) {
		.wr_id = c->wr_id,
		.status = c->status,
		.opcode = c->opcode,
		.vendor_err = c->vendor_err,
		.byte_len = c->byte_len,
		.qp = k->qp,
		.src_qp = c->src_qp,
		.wc_flags = c->wc_flags & (IB_WC_GRH | IB_WC_WITH_IMM),
		.pkey_index = c->pkey_index,
		.sl = c->sl,
		.network_hdr_type = c->network_hdr_type,
		.port_num = 1,
	};
	/* programs and the kernel have other numbers for it */
	if (c->wc_flags & SRNIC_WC_WITH_INV) {
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = c->imm_data;
	} else {
		wc->ex.imm_data = (__force __be32)c->imm_data;
	}
	if (c->network_hdr_type)
		wc->wc_flags |= IB_WC_WITH_NETWORK_HDR_TYPE;
}

/**
 * srnic_cq_poll() - take completions, for kernel users
 * @cq: CQ
 * @n: how many at most
 * @wc: filled
 *
 * Context: any.
 * Return: how many there were, or -EINVAL for a program's CQ.
 */
int srnic_cq_poll(struct srnic_cq *cq, int n, struct ib_wc *wc)
{
	unsigned long flags;
	int i;

	if (cq->user)
		return -EINVAL;
	spin_lock_irqsave(&cq->lock, flags);
	for (i = 0; i < n && cq->cons != cq->ring.idx; i++)
		cqe_to_wc(srnic_ring_at(&cq->ring, cq->cons++), &wc[i]);
	spin_unlock_irqrestore(&cq->lock, flags);
	return i;
}

static struct kernel_cqe *kernel_cqe_at(struct srnic_cq *cq, u32 idx)
{
	return container_of(srnic_ring_at(&cq->ring, idx), struct kernel_cqe, c);
}

/**
 * srnic_cq_clean() - forget what a QP has completed, as it goes or is reset
 * @cq: CQ; a program's is left alone, its provider does the same there
 * @qp: QP that completes nothing any more, or whose locks are held
 *
 * Otherwise the user would get work completions that point to a QP that isn't
 * there, or that belong to its former life. The order of the others is kept.
 */
void srnic_cq_clean(struct srnic_cq *cq, const struct ib_qp *qp)
{
	unsigned long flags;
	u32 from, to;

	if (cq->user)
		return;
	spin_lock_irqsave(&cq->lock, flags);
	for (from = to = cq->ring.idx; from != cq->cons; ) {
		const struct kernel_cqe *k = kernel_cqe_at(cq, --from);

		if (k->qp != qp)
			*kernel_cqe_at(cq, --to) = *k;
	}
	cq->cons = to;
	spin_unlock_irqrestore(&cq->lock, flags);
}

/**
 * srnic_cq_arm() - ask for one event
 * @cq: CQ
 * @flags: for which completions, and whether to tell of missed ones
 *
 * Context: any.
 * Return: 1 when IB_CQ_REPORT_MISSED_EVENTS is set and completions wait,
 * otherwise 0.
 */
int srnic_cq_arm(struct srnic_cq *cq, enum ib_cq_notify_flags flags)
{
	unsigned long irq;
	int missed = 0;

	spin_lock_irqsave(&cq->lock, irq);
	/* 'next' outranks 'solicited' when both were asked for */
	if (cq->notify != IB_CQ_NEXT_COMP)
		cq->notify = flags & IB_CQ_SOLICITED_MASK;
	if (flags & IB_CQ_REPORT_MISSED_EVENTS)
		missed = cq_used(cq) != 0;
	spin_unlock_irqrestore(&cq->lock, irq);
	return missed;
}

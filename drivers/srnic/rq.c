// SPDX-License-Identifier: GPL-2.0
/*
 * The receive queue: a ring that a program (or, by srnic_rq_post(), a kernel
 * user) fills without our help. The responder takes one receive at a time, as a
 * private copy, when a message needs it. Its place in the ring is free again
 * when it is completed. srnic_rq_post() may be called in a hard interrupt: it
 * doesn't take rq.lock, under which packets are sent, but rq.post_lock.
 */
#include "rq.h"

#include <linux/log2.h>
#include <linux/slab.h>

static_assert(sizeof(struct srnic_recv_wqe) == SRNIC_RECV_WQE_HDR_SIZE);
static_assert(offsetof(struct srnic_sge, length) == offsetof(struct ib_sge, length));
static_assert(offsetof(struct srnic_sge, lkey) == offsetof(struct ib_sge, lkey));

/**
 * srnic_rq_create() - make the receive half of a new QP
 * @qp: QP
 * @cap: what was asked for; changed to what there is
 * @uctx: the program, or NULL
 * @info: for the program
 *
 * Return: 0, -EINVAL beyond the device's limits, -ENOMEM.
 */
int srnic_rq_create(struct srnic_qp *qp, struct ib_qp_cap *cap,
		    struct ib_ucontext *uctx, struct srnic_ring_info *info)
{
	struct srnic_rq *rq = &qp->rq;
	int err;

	if (cap->max_recv_wr > SRNIC_MAX_QP_WR ||
	    cap->max_recv_sge > SRNIC_MAX_SGE)
		return -EINVAL;
	cap->max_recv_wr = roundup_pow_of_two(max(cap->max_recv_wr, 1U));
	cap->max_recv_sge = max(cap->max_recv_sge, 1U);

	spin_lock_init(&rq->lock);
	spin_lock_init(&rq->post_lock);
	rq->max_sge = cap->max_recv_sge;
	rq->res = kcalloc(SRNIC_MAX_RD_ATOMIC, sizeof(*rq->res),
			  GFP_KERNEL_ACCOUNT);
	rq->jobs = kcalloc(SRNIC_MAX_JOBS, sizeof(*rq->jobs),
			   GFP_KERNEL_ACCOUNT);
	if (!rq->res || !rq->jobs) {
		err = -ENOMEM;
		goto free_jobs;
	}
	err = srnic_ring_alloc(&rq->ring, uctx, cap->max_recv_wr,
			       SRNIC_RECV_WQE_HDR_SIZE +
			       rq->max_sge * sizeof(struct srnic_sge), info);
	if (err)
		goto free_jobs;
	return 0;

free_jobs:
	kfree(rq->jobs);
	kfree(rq->res);
	return err;
}

/**
 * srnic_rq_destroy() - free what srnic_rq_create() made
 * @qp: QP on which nothing runs any more
 */
void srnic_rq_destroy(struct srnic_qp *qp)
{
	srnic_ring_free(&qp->rq.ring);
	kfree(qp->rq.jobs);
	kfree(qp->rq.res);
}

/**
 * srnic_rq_reset() - forget all work
 * @qp: QP in RESET, rq.lock held
 */
void srnic_rq_reset(struct srnic_qp *qp)
{
	struct srnic_rq *rq = &qp->rq;
	unsigned long flags;

	lockdep_assert_held(&rq->lock);
	rq->waiting = false;
	rq->nak_sent = false;
	rq->comm_est = false;
	rq->ack_due = false;
	rq->nak_due = false;
	rq->repeat_told = false;
	rq->fatal = false;
	rq->msg = SRNIC_OP_NONE;
	rq->msn = 0;
	rq->recv.valid = false;
	rq->res_next = 0;
	memset(rq->res, 0, SRNIC_MAX_RD_ATOMIC * sizeof(*rq->res));
	rq->job_head = 0;
	rq->job_tail = 0;
	/* who posts sees the state under this lock */
	spin_lock_irqsave(&rq->post_lock, flags);
	rq->ring.idx = 0;
	rq->ring.hdr->prod = 0;
	rq->ring.hdr->cons = 0;
	rq->ring.hdr->flags = 0;
	spin_unlock_irqrestore(&rq->post_lock, flags);
}

/**
 * srnic_rq_unlock() - drop rq.lock, then wake who waits for completions
 * @qp: QP
 */
void srnic_rq_unlock(struct srnic_qp *qp) __releases(&qp->rq.lock)
{
	bool wake = qp->rq.wake;

	qp->rq.wake = false;
	spin_unlock_bh(&qp->rq.lock);
	if (wake)
		srnic_cq_wake(to_srnic_cq(qp->ibqp.recv_cq));
}

/**
 * srnic_rq_post() - append a kernel user's receive
 * @qp: QP, rq.post_lock held
 * @wr: the request
 *
 * Context: any.
 * Return: 0, -ENOMEM when the queue is full, -EINVAL.
 */
int srnic_rq_post(struct srnic_qp *qp, const struct ib_recv_wr *wr)
{
	struct srnic_ring *ring = &qp->rq.ring;
	u32 prod = ring->hdr->prod;	/* this ring is shared with nobody */
	struct srnic_recv_wqe *w = srnic_ring_at(ring, prod);

	lockdep_assert_held(&qp->rq.post_lock);
	if (wr->num_sge < 0 || wr->num_sge > qp->rq.max_sge)
		return -EINVAL;
	/* pairs with srnic_ring_done(): read before it is free */
	if (prod - smp_load_acquire(&ring->hdr->cons) >= ring->depth)
		return -ENOMEM;
	w->wr_id = wr->wr_id;
	w->num_sge = wr->num_sge;
	memcpy(w->sge, wr->sg_list, wr->num_sge * sizeof(*w->sge));
	/* pairs with srnic_ring_pending(): the entry before the index */
	smp_store_release(&ring->hdr->prod, prod + 1);
	return 0;
}

/**
 * srnic_rq_take() - have a receive at hand in rq.recv
 * @qp: QP, rq.lock held
 *
 * Return: false when none is posted.
 */
bool srnic_rq_take(struct srnic_qp *qp)
{
	struct srnic_rq *rq = &qp->rq;
	struct srnic_recv *r = &rq->recv;
	const struct srnic_recv_wqe *w;
	u32 i;

	lockdep_assert_held(&rq->lock);
	if (r->valid)
		return true;
	if (!srnic_ring_pending(&rq->ring))
		return false;
	w = srnic_ring_at(&rq->ring, rq->ring.idx);
	r->wr_id = READ_ONCE(w->wr_id);
	r->nsge = READ_ONCE(w->num_sge);
	r->bad = r->nsge > rq->max_sge;
	if (r->bad)
		r->nsge = 0;
	memcpy(r->sge, w->sge, r->nsge * sizeof(*r->sge));
	for (i = 0, r->length = 0; i < r->nsge; i++)
		r->length += r->sge[i].length;
	r->valid = true;
	rq->ring.idx++;
	return true;
}

/**
 * srnic_rq_complete() - the taken receive is done
 * @qp: QP, rq.lock held
 * @cqe: what to say; wr_id and qp_num are filled in here
 * @solicited: the peer asked for an event
 */
void srnic_rq_complete(struct srnic_qp *qp, struct srnic_cqe *cqe,
		       bool solicited)
{
	struct srnic_cq *cq = to_srnic_cq(qp->ibqp.recv_cq);
	struct srnic_rq *rq = &qp->rq;

	lockdep_assert_held(&rq->lock);
	cqe->wr_id = rq->recv.wr_id;
	cqe->qp_num = qp->qpn;
	rq->recv.valid = false;
	/* before the completion: who sees that and posts again finds room */
	srnic_ring_done(&rq->ring, 0);
	rq->wake |= srnic_cq_push(cq, cqe, &qp->ibqp, solicited);
	if (unlikely(srnic_cq_has_lost(cq)))
		srnic_qp_lost_completion(qp);
	if (cqe->status == IB_WC_SUCCESS)
		srnic_count(qp->tp->stats, SRNIC_STAT_RDMA_RECVS);
}

/**
 * srnic_rq_flush() - complete all receives with 'flushed'
 * @qp: QP in ERR, rq.lock held
 *
 * From the first call on, the program rings the doorbell for each receive that
 * it posts: the flag is set before the ring is looked at, and the program posts
 * before it looks at the flag.
 */
void srnic_rq_flush(struct srnic_qp *qp)
{
	struct srnic_rq *rq = &qp->rq;
	u32 budget = 2 * rq->ring.depth;

	lockdep_assert_held(&rq->lock);
	WRITE_ONCE(rq->ring.hdr->flags, SRNIC_RING_NEED_DOORBELL);
	/* pairs with the program's, and with srnic_qp_post_recv(): they post,
	 * then look
	 */
	smp_mb();
	while (srnic_rq_take(qp)) {
		struct srnic_cqe cqe = {
			.status = IB_WC_WR_FLUSH_ERR,
			.opcode = IB_WC_RECV,
		};

		srnic_rq_complete(qp, &cqe, false);
		/* a program that posts all the time must not hold us here */
		if (!budget--) {
			queue_work(system_bh_wq, &qp->work);
			break;
		}
	}
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The send queue: how work requests come in, and how they are completed.
 *
 * A program writes struct srnic_send_wqe into a ring that it can change at any
 * time. Each entry is copied once, into struct srnic_swqe, and checked there;
 * the requester works on nothing else. A WQE that makes no sense is accepted
 * with a status: it fails when its turn comes, after those before it.
 *
 * An entry of the ring is the program's again when its WQE is completed, not
 * when it has been copied: so no more than the depth is ever outstanding, which
 * is what the program has made its CQ for.
 *
 * A kernel user's request is written into its struct srnic_swqe at once, by
 * srnic_sq_post(), which may be called in a hard interrupt and so can't take
 * sq.lock: under it packets are sent. It has a lock of its own, sq.post_lock.
 * srnic_sq_pull() takes over from there, as it does from a program's ring.
 *
 * Invariant: cons <= next <= prod <= posted <= cons + depth, modulo 2^32.
 */
#include "sq.h"

#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "frmr.h"
#include "psn.h"

#define PULL_MAX	64	/* WQEs copied in one go */

#define USER_SIGNALED_FLAGS	(SRNIC_SEND_FENCE | SRNIC_SEND_SIGNALED | \
				 SRNIC_SEND_SOLICITED | SRNIC_SEND_INLINE)

static_assert(SRNIC_SEND_FENCE == IB_SEND_FENCE);
static_assert(SRNIC_SEND_SIGNALED == IB_SEND_SIGNALED);
static_assert(SRNIC_SEND_SOLICITED == IB_SEND_SOLICITED);
static_assert(SRNIC_SEND_INLINE == IB_SEND_INLINE);
static_assert(sizeof(struct srnic_sge) == sizeof(struct ib_sge));
static_assert(sizeof(struct srnic_send_wqe) == SRNIC_SEND_WQE_HDR_SIZE);

enum wr_who {
	WR_ANYBODY,
	WR_PROGRAMS,
	WR_KERNEL,
};

/* One row per work request opcode. */
static const struct wr_row {
	u8 kind;
	u8 qpt;
	u8 who;
} wr_rows[] = {
	[IB_WR_RDMA_WRITE]		= { SRNIC_OP_WRITE, SRNIC_QPT_RC },
	[IB_WR_RDMA_WRITE_WITH_IMM]	= { SRNIC_OP_WRITE, SRNIC_QPT_RC },
	[IB_WR_SEND]			= { SRNIC_OP_SEND, SRNIC_QPT_RC | SRNIC_QPT_UD },
	[IB_WR_SEND_WITH_IMM]		= { SRNIC_OP_SEND, SRNIC_QPT_RC | SRNIC_QPT_UD },
	[IB_WR_SEND_WITH_INV]		= { SRNIC_OP_SEND, SRNIC_QPT_RC },
	[IB_WR_RDMA_READ]		= { SRNIC_OP_READ, SRNIC_QPT_RC },
	[IB_WR_ATOMIC_CMP_AND_SWP]	= { SRNIC_OP_CMP_SWAP, SRNIC_QPT_RC },
	[IB_WR_ATOMIC_FETCH_AND_ADD]	= { SRNIC_OP_FETCH_ADD, SRNIC_QPT_RC },
	[IB_WR_RDMA_READ_WITH_INV]	= { SRNIC_OP_READ, SRNIC_QPT_RC, WR_KERNEL },
	[IB_WR_LOCAL_INV]		= { SRNIC_OP_LOCAL, SRNIC_QPT_RC },
	[IB_WR_REG_MR]			= { SRNIC_OP_LOCAL, SRNIC_QPT_RC, WR_KERNEL },
	[IB_WR_BIND_MW]			= { SRNIC_OP_LOCAL, SRNIC_QPT_RC, WR_PROGRAMS },
};

static u8 wr_kind(const struct srnic_qp *qp, u32 opcode)
{
	const struct wr_row *row;

	if (opcode >= ARRAY_SIZE(wr_rows))
		return SRNIC_OP_NONE;
	row = &wr_rows[opcode];
	if (!(row->qpt & qp->type) ||
	    row->who == (qp->user ? WR_KERNEL : WR_PROGRAMS))
		return SRNIC_OP_NONE;
	return row->kind;
}

/**
 * srnic_sq_create() - make the send half of a new QP
 * @qp: QP
 * @cap: what was asked for; changed to what there is
 * @uctx: the program, or NULL
 * @info: for the program
 *
 * Return: 0, -EINVAL beyond the device's limits, -ENOMEM.
 */
int srnic_sq_create(struct srnic_qp *qp, struct ib_qp_cap *cap,
		    struct ib_ucontext *uctx, struct srnic_ring_info *info)
{
	struct srnic_sq *sq = &qp->sq;
	u32 room;
	int err;

	if (cap->max_send_wr > SRNIC_MAX_QP_WR ||
	    cap->max_send_sge > SRNIC_MAX_SGE ||
	    cap->max_inline_data > SRNIC_MAX_INLINE)
		return -EINVAL;
	cap->max_send_wr = roundup_pow_of_two(max(cap->max_send_wr, 1U));
	cap->max_send_sge = max(cap->max_send_sge, 1U);
	room = max(cap->max_send_sge * (u32)sizeof(struct ib_sge),
		   cap->max_inline_data);
	room = ALIGN(room, 64);
	cap->max_inline_data = room;

	spin_lock_init(&sq->lock);
	spin_lock_init(&sq->post_lock);
	sq->depth = cap->max_send_wr;
	sq->max_sge = cap->max_send_sge;
	sq->max_inline = room;
	sq->stride = ALIGN(sizeof(struct srnic_swqe) + room, 64);
	/* large, and a program's choice: see ring.c */
	sq->wqes = kvzalloc(array_size(sq->depth, sq->stride),
			    GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL |
			    __GFP_NOWARN);
	if (!sq->wqes)
		return -ENOMEM;
	sq->rd_end = kcalloc(SRNIC_MAX_RD_ATOMIC, sizeof(*sq->rd_end),
			     GFP_KERNEL_ACCOUNT);
	if (!sq->rd_end) {
		err = -ENOMEM;
		goto free_wqes;
	}
	if (uctx) {
		err = srnic_ring_alloc(&sq->ring, uctx, sq->depth,
				       SRNIC_SEND_WQE_HDR_SIZE + room, info);
		if (err)
			goto free_rd_end;
	}
	return 0;

free_rd_end:
	kfree(sq->rd_end);
free_wqes:
	kvfree(sq->wqes);
	return err;
}

static void swqe_release(struct srnic_qp *qp, struct srnic_swqe *wqe)
{
	if (qp->type == SRNIC_QPT_UD && wqe->av) {
		srnic_av_put(wqe->av);
		wqe->av = NULL;
	}
}

static void release_all(struct srnic_qp *qp)
{
	struct srnic_sq *sq = &qp->sq;

	for (; sq->cons != sq->posted; sq->cons++)
		swqe_release(qp, srnic_sq_at(sq, sq->cons));
}

/**
 * srnic_sq_destroy() - free what srnic_sq_create() made
 * @qp: QP on which nothing runs any more
 */
void srnic_sq_destroy(struct srnic_qp *qp)
{
	struct srnic_sq *sq = &qp->sq;

	release_all(qp);
	srnic_ring_free(&sq->ring);
	kfree(sq->rd_end);
	kvfree(sq->wqes);
}

/**
 * srnic_sq_reset() - forget all work
 * @qp: QP in RESET, sq.lock held
 */
void srnic_sq_reset(struct srnic_qp *qp)
{
	struct srnic_sq *sq = &qp->sq;
	unsigned long flags;

	lockdep_assert_held(&sq->lock);
	/* who posts looks at the state under this lock: so nobody does any more */
	spin_lock_irqsave(&sq->post_lock, flags);
	spin_unlock_irqrestore(&sq->post_lock, flags);
	release_all(qp);
	sq->posted = 0;
	sq->prod = 0;
	sq->next = 0;
	sq->cons = 0;
	sq->rd_head = 0;
	sq->rd_tail = 0;
	sq->cwnd = SRNIC_SQ_START;
	sq->ssthresh = SRNIC_SQ_WINDOW;
	sq->acked = 0;
	sq->since_ackreq = 0;
	sq->backoff = 0;
	sq->rtt_on = false;
	sq->timed_out = false;
	sq->rtt = 0;
	sq->waiting = false;
	sq->rnr = false;
	sq->implied_nak = false;
	sq->probed = false;
	sq->draining = false;
	if (sq->ring.hdr) {
		sq->ring.idx = 0;
		sq->ring.hdr->prod = 0;
		sq->ring.hdr->cons = 0;
		sq->ring.hdr->flags = SRNIC_RING_NEED_DOORBELL;
	}
}

/**
 * srnic_sq_unlock() - drop sq.lock, then wake who waits for completions
 * @qp: QP
 */
void srnic_sq_unlock(struct srnic_qp *qp) __releases(&qp->sq.lock)
{
	bool wake = qp->sq.wake;

	qp->sq.wake = false;
	spin_unlock_bh(&qp->sq.lock);
	if (wake)
		srnic_cq_wake(to_srnic_cq(qp->ibqp.send_cq));
}

/* The largest datagram: what fits in one packet on this netdev. */
static u32 ud_mtu(const struct srnic_qp *qp)
{
	int mtu = srnic_net_mtu(READ_ONCE(qp->tp->port.ndev->mtu));

	return mtu ? ib_mtu_enum_to_int(mtu) : 0;
}

static bool sge_sum(const struct ib_sge *sge, u32 nsge, u32 *sum)
{
	u64 n = 0;
	u32 i;

	for (i = 0; i < nsge; i++)
		n += sge[i].length;
	*sum = n;
	return n <= SRNIC_MAX_MSG;
}

/* On the private copy: does the request make sense? */
static u8 swqe_check(const struct srnic_qp *qp, struct srnic_swqe *wqe)
{
	if (wqe->kind == SRNIC_OP_NONE)
		return IB_WC_LOC_QP_OP_ERR;
	if (!(wqe->flags & IB_SEND_INLINE) &&
	    !sge_sum(wqe->sge, wqe->nsge, &wqe->length))
		return IB_WC_LOC_LEN_ERR;

	switch (wqe->kind) {
	case SRNIC_OP_CMP_SWAP:
	case SRNIC_OP_FETCH_ADD:
		if (wqe->length != sizeof(u64))
			return IB_WC_LOC_LEN_ERR;
		fallthrough;
	case SRNIC_OP_READ:
		if (wqe->flags & IB_SEND_INLINE || !qp->sq.max_rd)
			return IB_WC_LOC_QP_OP_ERR;
		break;
	case SRNIC_OP_LOCAL:
		if (wqe->flags & IB_SEND_INLINE || wqe->nsge)
			return IB_WC_LOC_QP_OP_ERR;
		break;
	case SRNIC_OP_SEND:
		if (qp->type == SRNIC_QPT_UD && !wqe->av)
			return IB_WC_LOC_QP_OP_ERR;
		if (qp->type == SRNIC_QPT_UD && wqe->length > ud_mtu(qp))
			return IB_WC_LOC_LEN_ERR;
		break;
	}
	return IB_WC_SUCCESS;
}

/* The address vector behind a program's AH handle, with a reference. */
static struct srnic_av *ah_lookup(const struct srnic_qp *qp, u32 handle)
{
	struct srnic_av *av;

	rcu_read_lock();
	av = xa_load(&qp->tp->ahs, handle);
	if (av && (av->pdn != qp->pdn || !refcount_inc_not_zero(&av->ref)))
		av = NULL;
	rcu_read_unlock();
	return av;
}

static void swqe_from_user(struct srnic_qp *qp, struct srnic_swqe *wqe,
			   const struct srnic_send_wqe *u)
{
	const struct srnic_sq *sq = &qp->sq;
	struct srnic_send_wqe c;
	bool fits;

	memcpy(&c, u, SRNIC_SEND_WQE_HDR_SIZE);
	barrier();	/* from here on the copy counts, whatever the program does */
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = c.wr_id;
	wqe->opcode = min_t(u32, c.opcode, U8_MAX);
	wqe->kind = wr_kind(qp, c.opcode);
	wqe->flags = c.flags & USER_SIGNALED_FLAGS;
	wqe->imm = (__force __be32)c.imm_data;
	wqe->inv_rkey = c.imm_data;

	if (wqe->flags & IB_SEND_INLINE) {
		fits = c.inline_len <= sq->max_inline;
		if (fits) {
			wqe->length = c.inline_len;
			memcpy(wqe->data, u->inline_data, c.inline_len);
		}
	} else {
		fits = c.num_sge <= sq->max_sge;
		if (fits) {
			wqe->nsge = c.num_sge;
			memcpy(wqe->sge, u->sge, c.num_sge * sizeof(*wqe->sge));
		}
	}

	if (qp->type == SRNIC_QPT_UD) {
		wqe->av = ah_lookup(qp, c.ud.ah);
		wqe->ud_qpn = c.ud.remote_qpn & SRNIC_PSN_MASK;
		wqe->ud_qkey = c.ud.remote_qkey;
	} else if (wqe->kind == SRNIC_OP_CMP_SWAP ||
		   wqe->kind == SRNIC_OP_FETCH_ADD) {
		wqe->raddr = c.atomic.remote_addr;
		wqe->rkey = c.atomic.rkey;
		wqe->compare_add = c.atomic.compare_add;
		wqe->swap = c.atomic.swap;
	} else if (c.opcode == IB_WR_BIND_MW) {
		wqe->raddr = c.bind.addr;
		wqe->bind_length = c.bind.length;
		wqe->bind_lkey = c.bind.mr_lkey;
		wqe->rkey = c.bind.rkey;
		wqe->access = c.bind.access;
	} else if (wqe->kind != SRNIC_OP_LOCAL) {
		wqe->raddr = c.rdma.remote_addr;
		wqe->rkey = c.rdma.rkey;
	}
	wqe->status = fits ? swqe_check(qp, wqe) : IB_WC_LOC_QP_OP_ERR;
}

static u32 pull_posted(struct srnic_sq *sq)
{
	/* pairs with srnic_sq_post(): the WQE before the index */
	u32 n = smp_load_acquire(&sq->posted) - sq->prod;

	sq->prod += n;
	return n;
}

/**
 * srnic_sq_pull() - take what a program has put into its ring, or a kernel user
 * has posted
 * @qp: QP, sq.lock held
 *
 * Return: how many WQEs were taken; 0: there are none, or there is no room.
 */
u32 srnic_sq_pull(struct srnic_qp *qp)
{
	struct srnic_sq *sq = &qp->sq;
	u32 i, n;

	lockdep_assert_held(&sq->lock);
	if (!sq->ring.hdr)
		return pull_posted(sq);
	n = min3(srnic_ring_pending(&sq->ring),
		 sq->depth - (sq->prod - sq->cons), (u32)PULL_MAX);
	for (i = 0; i < n; i++)
		swqe_from_user(qp, srnic_sq_at(sq, sq->prod + i),
			       srnic_ring_at(&sq->ring, sq->ring.idx + i));
	sq->prod += n;
	sq->posted = sq->prod;
	sq->ring.idx += n;
	return n;
}

static bool inline_from_kernel(struct srnic_sq *sq, struct srnic_swqe *wqe,
			       const struct ib_send_wr *wr)
{
	u32 len;
	int i;

	if (!sge_sum(wr->sg_list, wr->num_sge, &len) || len > sq->max_inline)
		return false;
	wqe->length = len;
	for (i = 0, len = 0; i < wr->num_sge; i++) {
		memcpy(wqe->data + len, (void *)(uintptr_t)wr->sg_list[i].addr,
		       wr->sg_list[i].length);
		len += wr->sg_list[i].length;
	}
	return true;
}

/**
 * srnic_sq_post() - append a kernel user's work request
 * @qp: QP, sq.post_lock held
 * @wr: the request
 *
 * Context: any.
 * Return: 0, -ENOMEM when the queue is full, -EINVAL for a request that makes
 * no sense.
 */
int srnic_sq_post(struct srnic_qp *qp, const struct ib_send_wr *wr)
{
	struct srnic_sq *sq = &qp->sq;
	struct srnic_swqe *wqe;

	lockdep_assert_held(&sq->post_lock);
	/* pairs with srnic_sq_complete(): it has read the WQE */
	if (sq->posted - smp_load_acquire(&sq->cons) >= sq->depth)
		return -ENOMEM;
	if (wr->num_sge < 0 || wr->num_sge > sq->max_sge)
		return -EINVAL;

	wqe = srnic_sq_at(sq, sq->posted);
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = wr->wr_id;
	wqe->kind = wr_kind(qp, wr->opcode);
	if (wqe->kind == SRNIC_OP_NONE)
		return -EINVAL;
	wqe->opcode = wr->opcode;
	wqe->flags = wr->send_flags & USER_SIGNALED_FLAGS;
	wqe->imm = wr->ex.imm_data;
	wqe->inv_rkey = wr->ex.invalidate_rkey;
	if (wqe->flags & IB_SEND_INLINE) {
		if (!inline_from_kernel(sq, wqe, wr))
			return -EINVAL;
	} else {
		wqe->nsge = wr->num_sge;
		memcpy(wqe->sge, wr->sg_list, wr->num_sge * sizeof(*wqe->sge));
	}

	if (qp->type == SRNIC_QPT_UD) {
		const struct ib_ud_wr *ud = ud_wr(wr);

		wqe->av = srnic_av_get(to_srnic_ah(ud->ah)->av);
		wqe->ud_qpn = ud->remote_qpn;
		wqe->ud_qkey = ud->remote_qkey;
	} else if (wqe->kind == SRNIC_OP_CMP_SWAP ||
		   wqe->kind == SRNIC_OP_FETCH_ADD) {
		const struct ib_atomic_wr *at = atomic_wr(wr);

		wqe->raddr = at->remote_addr;
		wqe->rkey = at->rkey;
		wqe->compare_add = at->compare_add;
		wqe->swap = at->swap;
	} else if (wr->opcode == IB_WR_REG_MR) {
		const struct ib_reg_wr *reg = reg_wr(wr);

		wqe->mr = to_srnic_mr(reg->mr);
		wqe->rkey = reg->key;
		wqe->access = reg->access;
		if (!srnic_frmr_key_fits(wqe->mr, reg->key))
			return -EINVAL;
	} else if (wqe->kind != SRNIC_OP_SEND && wqe->kind != SRNIC_OP_LOCAL) {
		wqe->raddr = rdma_wr(wr)->remote_addr;
		wqe->rkey = rdma_wr(wr)->rkey;
	}
	wqe->status = swqe_check(qp, wqe);
	/* pairs with pull_posted(): the WQE before the index */
	smp_store_release(&sq->posted, sq->posted + 1);
	return 0;
}

static u32 wc_opcode(const struct srnic_swqe *wqe)
{
	switch (wqe->kind) {
	case SRNIC_OP_LOCAL:
		return wqe->opcode == IB_WR_LOCAL_INV ? IB_WC_LOCAL_INV :
		       wqe->opcode == IB_WR_REG_MR ? IB_WC_REG_MR :
						     IB_WC_BIND_MW;
	case SRNIC_OP_WRITE:
		return IB_WC_RDMA_WRITE;
	case SRNIC_OP_READ:
		return IB_WC_RDMA_READ;
	case SRNIC_OP_CMP_SWAP:
		return IB_WC_COMP_SWAP;
	case SRNIC_OP_FETCH_ADD:
		return IB_WC_FETCH_ADD;
	default:
		return IB_WC_SEND;
	}
}

/**
 * srnic_sq_complete() - the oldest WQE is done, well or badly
 * @qp: QP, sq.lock held
 * @wqe: the WQE at sq.cons; gone afterwards
 */
void srnic_sq_complete(struct srnic_qp *qp, struct srnic_swqe *wqe)
{
	struct srnic_cq *cq = to_srnic_cq(qp->ibqp.send_cq);
	struct srnic_sq *sq = &qp->sq;
	struct srnic_cqe cqe = {
		.wr_id = wqe->wr_id,
		.status = wqe->status,
		.opcode = wc_opcode(wqe),
		.vendor_err = wqe->why,
		.byte_len = wqe->length,
		.qp_num = qp->qpn,
	};
	bool tell = wqe->status != IB_WC_SUCCESS || sq->all_signaled ||
		    wqe->flags & IB_SEND_SIGNALED;

	lockdep_assert_held(&sq->lock);
	swqe_release(qp, wqe);
	if (wqe->status == IB_WC_SUCCESS && wqe->kind == SRNIC_OP_SEND)
		srnic_count(qp->tp->stats, SRNIC_STAT_RDMA_SENDS);
	if (sq->next == sq->cons)
		sq->next++;
	/* pairs with srnic_sq_post(): from here on the WQE may be another */
	smp_store_release(&sq->cons, sq->cons + 1);
	/* before the completion: who sees that and posts again finds room */
	if (sq->ring.hdr)
		srnic_ring_done(&sq->ring, sq->prod - sq->cons);
	if (tell) {
		sq->wake |= srnic_cq_push(cq, &cqe, &qp->ibqp, false);
		if (unlikely(srnic_cq_has_lost(cq)))
			srnic_qp_lost_completion(qp);
	}
}

/**
 * srnic_sq_fail() - the oldest WQE fails, and the QP with it
 * @qp: QP, sq.lock held
 * @wqe: the WQE at sq.cons
 * @status: enum ib_wc_status
 * @why: reason of a key refusal, or 0
 */
void srnic_sq_fail(struct srnic_qp *qp, struct srnic_swqe *wqe, u8 status,
		   u8 why)
{
	wqe->status = status;
	wqe->why = why;
	srnic_sq_complete(qp, wqe);
	/* a datagram's error concerns the send queue only (IBTA 10.3.1) */
	if (qp->type == SRNIC_QPT_UD)
		srnic_qp_send_error(qp);
	else
		srnic_qp_error(qp);
	srnic_sq_flush(qp);
}

/**
 * srnic_sq_flush() - complete all work with 'flushed'
 * @qp: QP in ERR or SQE, sq.lock held
 */
void srnic_sq_flush(struct srnic_qp *qp)
{
	struct srnic_sq *sq = &qp->sq;
	/* a program that posts all the time must not hold us here */
	u32 budget = 2 * sq->depth;

	lockdep_assert_held(&sq->lock);
	while (sq->cons != sq->prod || srnic_sq_pull(qp)) {
		struct srnic_swqe *wqe = srnic_sq_at(sq, sq->cons);

		if (!budget--) {
			queue_work(system_bh_wq, &qp->work);
			break;
		}
		wqe->status = IB_WC_WR_FLUSH_ERR;
		wqe->why = 0;
		srnic_sq_complete(qp, wqe);
	}
	sq->next = sq->cons;
	sq->una = sq->max_psn;
	sq->psn = sq->max_psn;
	sq->rd_head = sq->rd_tail;
}

/**
 * srnic_sq_rewind() - send again from a PSN on
 * @sq: send queue, locked
 * @psn: not before sq.una, not behind sq.max_psn
 */
void srnic_sq_rewind(struct srnic_sq *sq, u32 psn)
{
	lockdep_assert_held(&sq->lock);
	for (sq->next = sq->cons; sq->next != sq->prod; sq->next++) {
		const struct srnic_swqe *wqe = srnic_sq_at(sq, sq->next);

		if (!wqe->started || srnic_psn_diff(wqe->last_psn, psn) >= 0)
			break;
	}
	sq->psn = psn;
	sq->rtt_on = false;
	sq->timed_out = false;
	/* READs from there on aren't outstanding any more */
	while (sq->rd_tail != sq->rd_head &&
	       srnic_psn_diff(sq->rd_end[(sq->rd_tail - 1) %
					 SRNIC_MAX_RD_ATOMIC], psn) >= 0)
		sq->rd_tail--;
}

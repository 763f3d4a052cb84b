// SPDX-License-Identifier: GPL-2.0
/*
 * The requester: turns WQEs into packets.
 *
 * It runs where the work comes from: in the call that posts, in the softirq
 * that brings an acknowledge, in a timer. What it may send is bounded by a
 * window of unacknowledged PSNs, which the acknowledges move, so neither a long
 * queue of work nor a large READ floods the network or starves the CPU. A loss
 * halves the window, and it grows again as TCP's does (RFC 5681): our own host's
 * queue (fq_codel by default) drops without a word what has waited too long.
 *
 * An RDMA READ goes out in requests of READ_CHUNK responses: on the wire a
 * number of smaller READs, each with a RETH of its own, so that the window holds
 * for the data that comes back as well. A repeated request asks for the rest of
 * one such chunk: responders ignore one that exceeds what was asked for before.
 *
 * A timeout is not yet a loss: with many busy QPs a round trip is mostly
 * queueing. So the clock follows the round trips seen, within what IBTA
 * 9.7.6.1.3 allows; after a timeout one packet is sent, and the window grows
 * with what is acknowledged; and when more is acknowledged than was sent again,
 * the first transmission is known to have arrived, and sending goes on behind it.
 *
 * Acknowledges are asked for (AckReq) when a message ends that is signaled or
 * the last one there is, and at least every ACK_EVERY packets.
 */
#include "requester.h"

#include <linux/ktime.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_pack.h>

#include "local.h"
#include "psn.h"
#include "sge.h"
#include "sq.h"

#define MIN_WINDOW	4	/* after a loss */
#define READ_CHUNK	16	/* responses to one READ request */
#define ACK_EVERY	32
#define BUDGET		256	/* packets in one turn */
#define FULL_QUEUE_NS	(200 * NSEC_PER_USEC)	/* the netdev's queue drains */

static u32 swqe_npsn(const struct srnic_qp *qp, const struct srnic_swqe *wqe)
{
	if (wqe->kind == SRNIC_OP_CMP_SWAP || wqe->kind == SRNIC_OP_FETCH_ADD)
		return 1;
	return max(DIV_ROUND_UP(wqe->length, qp->mtu), 1U);
}

/* Between T and 4 T (IBTA 9.7.6.1.3), which is at least a tick. */
static unsigned long retransmit_ticks(const struct srnic_sq *sq)
{
	unsigned long t = nsecs_to_jiffies(4096ull << sq->timeout) + 1;

	return min(max(t, 2 * sq->rtt) << sq->backoff, 4 * t);
}

/*
 * Start or go on with the retransmission clock. A pending timer is never moved
 * to a later time: it looks at the deadline when it fires.
 */
static void clock_start(struct srnic_qp *qp)
{
	struct srnic_sq *sq = &qp->sq;

	if (!sq->timeout)
		return;
	sq->deadline = jiffies + retransmit_ticks(sq) + 1;
	if (!timer_pending(&sq->timer) ||
	    time_before(sq->deadline, sq->timer.expires))
		mod_timer(&sq->timer, sq->deadline);
}

/**
 * srnic_requester_new_timeout() - sq.timeout has been changed
 * @qp: QP, sq.lock held
 */
void srnic_requester_new_timeout(struct srnic_qp *qp)
{
	lockdep_assert_held(&qp->sq.lock);
	if (qp->sq.una != qp->sq.max_psn)
		clock_start(qp);
}

/* The timeout was early. What was outstanding before it is so again. */
static void undo_timeout(struct srnic_sq *sq)
{
	srnic_sq_rewind(sq, sq->max_psn);
	/* chunks are the same whenever they are asked for, so are their ends */
	sq->rd_tail = sq->rd_undo;
	sq->ssthresh = min(2 * sq->ssthresh, (u32)SRNIC_SQ_WINDOW);
	sq->cwnd = sq->ssthresh;
}

static void window_grow(struct srnic_sq *sq, u32 npsn)
{
	if (sq->cwnd < sq->ssthresh) {
		sq->cwnd = min(sq->cwnd + npsn, sq->ssthresh);
		return;
	}
	sq->acked += npsn;
	if (sq->acked >= sq->cwnd) {
		sq->acked = 0;
		sq->cwnd = min(sq->cwnd + 1, (u32)SRNIC_SQ_WINDOW);
	}
}

static void window_shrink(struct srnic_sq *sq)
{
	u32 outstanding = srnic_psn_diff(sq->psn, sq->una);

	sq->ssthresh = max(min(outstanding, sq->cwnd) / 2, (u32)MIN_WINDOW);
	sq->cwnd = sq->ssthresh;
	sq->acked = 0;
}

static void measure(struct srnic_sq *sq)
{
	unsigned long rtt = jiffies - sq->rtt_start;

	if (!sq->rtt_on || srnic_psn_diff(sq->una, sq->rtt_psn) <= 0)
		return;
	/* up at once, down slowly */
	sq->rtt = max(rtt, (3 * sq->rtt + rtt) / 4);
	sq->rtt_on = false;
	sq->backoff = 0;
}

/**
 * srnic_requester_progress() - the peer has acknowledged something
 * @qp: QP, sq.lock held, sq.una moved
 * @npsn: how far
 */
void srnic_requester_progress(struct srnic_qp *qp, u32 npsn)
{
	struct srnic_sq *sq = &qp->sq;

	sq->retries = sq->retry_cnt;
	sq->rnr_retries = sq->rnr_retry;
	sq->implied_nak = false;
	window_grow(sq, npsn);
	if (srnic_psn_diff(sq->psn, sq->una) < 0) {
		if (sq->timed_out)
			undo_timeout(sq);
		else
			sq->psn = sq->una;
	}
	measure(sq);
	while (sq->rd_head != sq->rd_tail &&
	       srnic_psn_diff(sq->rd_end[sq->rd_head % SRNIC_MAX_RD_ATOMIC],
			      sq->una) < 0)
		sq->rd_head++;
	clock_start(qp);
}

/**
 * srnic_requester_pause() - send nothing for some time
 * @qp: QP, sq.lock held
 * @ns: how long
 */
void srnic_requester_pause(struct srnic_qp *qp, u64 ns)
{
	lockdep_assert_held(&qp->sq.lock);
	qp->sq.waiting = true;
	hrtimer_start(&qp->sq.wait, ns_to_ktime(ns), HRTIMER_MODE_REL_SOFT);
}

/**
 * srnic_requester_retry() - go back to the oldest unacknowledged PSN
 * @qp: QP, sq.lock held
 *
 * The QP fails when that has been tried as often as it may.
 */
void srnic_requester_retry(struct srnic_qp *qp)
{
	struct srnic_sq *sq = &qp->sq;

	lockdep_assert_held(&sq->lock);
	if (sq->cons == sq->prod)
		return;
	if (!sq->retries) {
		srnic_count(qp->tp->stats, SRNIC_STAT_RETRY_EXCEEDED_ERR);
		srnic_sq_fail(qp, srnic_sq_at(sq, sq->cons),
			      IB_WC_RETRY_EXC_ERR, 0);
		return;
	}
	sq->retries--;
	srnic_count(qp->tp->stats, SRNIC_STAT_COMPLETER_RETRY_ERR);
	window_shrink(sq);
	srnic_sq_rewind(sq, sq->una);
	clock_start(qp);
}

/*
 * true: go on. The netdev's full queue is a pause, other errors are losses. One
 * that stays full is like a peer that doesn't answer: the clock runs, even where
 * nothing has been sent.
 */
static bool sent(struct srnic_qp *qp, int err)
{
	if (!err) {
		srnic_count(qp->tp->stats, SRNIC_STAT_SENT_PKTS);
		return true;
	}
	if (err == -ENOBUFS) {
		if (!timer_pending(&qp->sq.timer))
			clock_start(qp);
		srnic_requester_pause(qp, FULL_QUEUE_NS);
		return false;
	}
	srnic_count(qp->tp->stats, SRNIC_STAT_SEND_ERR);
	return true;
}

/*
 * Headers from out, payload from the WQE. Where a local key was refused,
 * the WQE says so.
 */
static int requester_xmit(struct srnic_qp *qp, struct srnic_swqe *wqe,
			  struct srnic_av *av, const struct srnic_pkt_out *out,
			  u32 off)
{
	u32 hdr = srnic_opcodes[out->opcode].hdr_len;
	u32 pad = srnic_pkt_pad(out->len);
	struct srnic_sgl sgl = {
		.sge = wqe->sge,
		.nsge = wqe->nsge,
		.pdn = qp->pdn,
		.qpn = qp->qpn,
	};
	struct sk_buff *skb;
	u8 *payload;

	skb = srnic_net_alloc(av, hdr + out->len + pad);
	if (!skb)
		return -ENOBUFS;
	srnic_pkt_build(skb->data, out);
	payload = skb->data + hdr;
	if (wqe->flags & IB_SEND_INLINE)
		memcpy(payload, wqe->data + off, out->len);
	else if (out->len)
		wqe->why = srnic_sgl_get(qp->tp->mpt, &sgl, off, out->len, payload);
	if (wqe->why) {
		union ib_gid peer;

		srnic_av_gid(av, &peer);
		srnic_qp_refused(qp, wqe->why, &sgl.rq, out->opcode, out->psn,
				 &peer);
		wqe->status = IB_WC_LOC_PROT_ERR;
		kfree_skb(skb);
		return -EACCES;
	}
	memset(payload + out->len, 0, pad);
	return srnic_net_xmit(&qp->tp->port, av, skb);
}

static bool wqe_has_imm(const struct srnic_swqe *wqe)
{
	return wqe->opcode == IB_WR_SEND_WITH_IMM ||
	       wqe->opcode == IB_WR_RDMA_WRITE_WITH_IMM;
}

static u8 data_opcode(const struct srnic_swqe *wqe, u8 pos)
{
	static const u8 send[] = {
		[0] = IB_OPCODE_RC_SEND_MIDDLE,
		[SRNIC_OP_FIRST] = IB_OPCODE_RC_SEND_FIRST,
		[SRNIC_OP_LAST] = IB_OPCODE_RC_SEND_LAST,
		[SRNIC_OP_ONLY] = IB_OPCODE_RC_SEND_ONLY,
	};
	static const u8 write[] = {
		[0] = IB_OPCODE_RC_RDMA_WRITE_MIDDLE,
		[SRNIC_OP_FIRST] = IB_OPCODE_RC_RDMA_WRITE_FIRST,
		[SRNIC_OP_LAST] = IB_OPCODE_RC_RDMA_WRITE_LAST,
		[SRNIC_OP_ONLY] = IB_OPCODE_RC_RDMA_WRITE_ONLY,
	};
	bool first = pos & SRNIC_OP_FIRST;

	if (!(pos & SRNIC_OP_LAST))
		return wqe->kind == SRNIC_OP_SEND ? send[pos] : write[pos];
	switch (wqe->opcode) {
	case IB_WR_SEND_WITH_IMM:
		return first ? IB_OPCODE_RC_SEND_ONLY_WITH_IMMEDIATE :
			       IB_OPCODE_RC_SEND_LAST_WITH_IMMEDIATE;
	case IB_WR_SEND_WITH_INV:
		return first ? IB_OPCODE_RC_SEND_ONLY_WITH_INVALIDATE :
			       IB_OPCODE_RC_SEND_LAST_WITH_INVALIDATE;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return first ? IB_OPCODE_RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE :
			       IB_OPCODE_RC_RDMA_WRITE_LAST_WITH_IMMEDIATE;
	default:
		return wqe->kind == SRNIC_OP_SEND ? send[pos] : write[pos];
	}
}

/*
 * Is there a WQE behind the one at next that will ask for an acknowledge? A READ
 * does it by its response, but it may have to wait for the window, that is, for
 * an acknowledge of what is before it. While the queue drains nothing follows.
 */
static bool more_to_send(struct srnic_qp *qp)
{
	struct srnic_sq *sq = &qp->sq;
	const struct srnic_swqe *wqe;
	u32 at = sq->next;

	if (qp->state == IB_QPS_SQD)
		return false;
	do {
		if (++at == sq->prod && !srnic_sq_pull(qp))
			return false;
		wqe = srnic_sq_at(sq, at);
		if (wqe->status != IB_WC_SUCCESS)
			return false;
	} while (srnic_swqe_is_local(wqe) && !srnic_local_waits(wqe));
	return !srnic_swqe_is_local(wqe) && !srnic_swqe_is_read(wqe) &&
	       !(wqe->flags & IB_SEND_FENCE);
}

/* npsn PSNs are on their way; asks: an answer will come. */
static void advance(struct srnic_qp *qp, const struct srnic_swqe *wqe, u32 npsn,
		    bool asks)
{
	struct srnic_sq *sq = &qp->sq;

	if (asks && !sq->rtt_on && sq->psn == sq->max_psn) {
		sq->rtt_on = true;
		sq->rtt_psn = sq->psn;
		sq->rtt_start = jiffies;
	}
	if (sq->una == sq->max_psn)
		clock_start(qp);
	sq->psn = srnic_psn_add(sq->psn, npsn);
	if (srnic_psn_diff(sq->psn, sq->max_psn) > 0)
		sq->max_psn = sq->psn;
	if (sq->psn == sq->max_psn)
		sq->timed_out = false;
	if (srnic_psn_diff(sq->psn, wqe->last_psn) > 0)
		sq->next++;
}

static bool send_data(struct srnic_qp *qp, struct srnic_swqe *wqe)
{
	struct srnic_sq *sq = &qp->sq;
	u32 off = srnic_psn_diff(sq->psn, wqe->first_psn) * qp->mtu;
	u32 len = min(qp->mtu, wqe->length - off);
	bool last = sq->psn == wqe->last_psn;
	struct srnic_pkt_out out = {
		.pkey = IB_DEFAULT_PKEY_FULL,
		.qpn = qp->dest_qpn,
		.psn = sq->psn,
		.va = wqe->raddr,
		.rkey = wqe->rkey,
		.dmalen = wqe->length,
		.imm = wqe->imm,
		.inv_rkey = wqe->inv_rkey,
		.len = len,
	};
	bool signaled = sq->all_signaled || wqe->flags & IB_SEND_SIGNALED;
	u32 ahead = srnic_psn_diff(sq->psn, sq->una);
	int err;

	if (ahead >= sq->cwnd)
		return false;
	out.opcode = data_opcode(wqe, (off ? 0 : SRNIC_OP_FIRST) |
				      (last ? SRNIC_OP_LAST : 0));
	/* SE counts where a receive is consumed (IBTA 9.2.3) */
	out.solicited = last && wqe->flags & IB_SEND_SOLICITED &&
			(wqe->kind == SRNIC_OP_SEND || wqe_has_imm(wqe));
	out.ackreq = sq->since_ackreq + 1 >= ACK_EVERY ||
		     ahead + 1 == sq->cwnd ||
		     (last && (signaled || !more_to_send(qp)));
	err = requester_xmit(qp, wqe, srnic_qp_av(qp), &out, off);
	if (wqe->status != IB_WC_SUCCESS)
		return true;	/* a key was refused: it is looked at next */
	if (!sent(qp, err))
		return false;
	sq->since_ackreq = out.ackreq ? 0 : sq->since_ackreq + 1;
	advance(qp, wqe, 1, out.ackreq);
	return true;
}

/* A READ request for the next chunk, or an atomic request. */
static bool send_read(struct srnic_qp *qp, struct srnic_swqe *wqe)
{
	struct srnic_sq *sq = &qp->sq;
	u32 left = srnic_psn_diff(wqe->last_psn, sq->psn) + 1;
	u32 ahead = srnic_psn_diff(sq->psn, sq->una);
	u32 done = srnic_psn_diff(sq->psn, wqe->first_psn);
	u32 n = min(left, READ_CHUNK - done % READ_CHUNK);
	u32 off = done * qp->mtu;
	struct srnic_pkt_out out = {
		.pkey = IB_DEFAULT_PKEY_FULL,
		.qpn = qp->dest_qpn,
		.psn = sq->psn,
		.va = wqe->raddr + off,
		.rkey = wqe->rkey,
		.dmalen = min(n * qp->mtu, wqe->length - off),
		.compare = wqe->compare_add,
		.swap_add = wqe->swap,
	};

	if (sq->rd_tail - sq->rd_head >= sq->max_rd)
		return false;
	if (ahead && ahead + n > sq->cwnd)
		return false;
	switch (wqe->kind) {
	case SRNIC_OP_READ:
		out.opcode = IB_OPCODE_RC_RDMA_READ_REQUEST;
		break;
	case SRNIC_OP_CMP_SWAP:
		out.opcode = IB_OPCODE_RC_COMPARE_SWAP;
		break;
	default:
		out.opcode = IB_OPCODE_RC_FETCH_ADD;
		out.swap_add = wqe->compare_add;
		out.compare = 0;
	}
	if (!sent(qp, requester_xmit(qp, wqe, srnic_qp_av(qp), &out, 0)))
		return false;
	sq->since_ackreq = 0;	/* the response acknowledges */
	sq->rd_end[sq->rd_tail++ % SRNIC_MAX_RD_ATOMIC] =
		srnic_psn_add(sq->psn, n - 1);
	advance(qp, wqe, n, true);
	return true;
}

/* A datagram is done when it is sent, or lost on the way to the netdev. */
static bool send_ud(struct srnic_qp *qp, struct srnic_swqe *wqe)
{
	struct srnic_sq *sq = &qp->sq;
	bool imm = wqe_has_imm(wqe);
	struct srnic_pkt_out out = {
		.opcode = imm ? IB_OPCODE_UD_SEND_ONLY_WITH_IMMEDIATE :
				IB_OPCODE_UD_SEND_ONLY,
		.solicited = wqe->flags & IB_SEND_SOLICITED,
		.pkey = IB_DEFAULT_PKEY_FULL,
		.qpn = wqe->ud_qpn,
		.psn = sq->psn,
		/* a Q_Key with the top bit set means the QP's (IBTA 10.2.5) */
		.qkey = wqe->ud_qkey & BIT(31) ? qp->qkey : wqe->ud_qkey,
		.src_qpn = qp->qpn,
		.imm = wqe->imm,
		.len = wqe->length,
	};
	int err = requester_xmit(qp, wqe, wqe->av, &out, 0);

	if (wqe->status != IB_WC_SUCCESS)
		return true;
	srnic_count(qp->tp->stats,
		    err ? SRNIC_STAT_SEND_ERR : SRNIC_STAT_SENT_PKTS);
	sq->psn = srnic_psn_add(sq->psn, 1);
	sq->max_psn = sq->psn;
	sq->una = sq->psn;
	srnic_sq_complete(qp, wqe);
	return true;
}

/* false: the WQE at next has to wait. */
static bool may_start(const struct srnic_qp *qp, const struct srnic_swqe *wqe)
{
	if (qp->state == IB_QPS_SQD)
		return false;
	return !(wqe->flags & IB_SEND_FENCE) ||
	       qp->sq.rd_head == qp->sq.rd_tail;
}

/*
 * The WQE at next waits until all before it are done. The last of those may have
 * gone out without AckReq, in the belief that more would follow: then it is sent
 * once more, with it. A READ needs none.
 */
static bool probe(struct srnic_qp *qp, const struct srnic_swqe *wqe)
{
	struct srnic_sq *sq = &qp->sq;
	u32 end = wqe->started ? wqe->first_psn : sq->max_psn;

	if (sq->probed || end == sq->una || !sq->since_ackreq)
		return false;
	sq->probed = true;
	srnic_sq_rewind(sq, srnic_psn_add(end, -1));
	return true;
}

/* The WQE at next can't be sent. It fails when all before it are done. */
static bool stall(struct srnic_qp *qp, struct srnic_swqe *wqe)
{
	struct srnic_sq *sq = &qp->sq;

	if (sq->next != sq->cons)
		return probe(qp, wqe);
	srnic_sq_fail(qp, wqe, wqe->status, wqe->why);
	return false;
}

/*
 * It has no PSN of its own, and is passed by when others are sent again. It
 * completes with what is before it.
 */
static bool run_local(struct srnic_qp *qp, struct srnic_swqe *wqe)
{
	struct srnic_sq *sq = &qp->sq;

	if (!wqe->done) {
		if (!may_start(qp, wqe))
			return false;
		if (srnic_local_waits(wqe) && sq->next != sq->cons)
			return probe(qp, wqe);
		srnic_local_execute(qp, wqe);
		if (wqe->status != IB_WC_SUCCESS)
			return true;	/* it is looked at next */
		wqe->first_psn = sq->max_psn;
		wqe->last_psn = srnic_psn_add(sq->max_psn, -1);
		wqe->started = true;
	}
	if (sq->next == sq->cons)
		srnic_sq_complete(qp, wqe);
	else
		sq->next++;
	return true;
}

static bool start(struct srnic_qp *qp, struct srnic_swqe *wqe)
{
	struct srnic_sq *sq = &qp->sq;

	if (!may_start(qp, wqe))
		return false;
	wqe->first_psn = sq->max_psn;
	wqe->last_psn = srnic_psn_add(sq->max_psn, swqe_npsn(qp, wqe) - 1);
	wqe->started = true;
	return true;
}

/* One packet. false: nothing can be sent now. */
static bool requester_step(struct srnic_qp *qp)
{
	struct srnic_sq *sq = &qp->sq;
	struct srnic_swqe *wqe;

	if (sq->next == sq->prod && !srnic_sq_pull(qp))
		return false;
	wqe = srnic_sq_at(sq, sq->next);
	/* in SQD nothing begins, so nothing fails that hasn't begun */
	if (wqe->status != IB_WC_SUCCESS &&
	    (wqe->started || qp->state != IB_QPS_SQD))
		return stall(qp, wqe);
	if (srnic_swqe_is_local(wqe))
		return run_local(qp, wqe);
	if (!wqe->started && !start(qp, wqe))
		return false;
	if (qp->type == SRNIC_QPT_UD)
		return send_ud(qp, wqe);
	if (srnic_swqe_is_read(wqe))
		return send_read(qp, wqe);
	return send_data(qp, wqe);
}

/**
 * srnic_requester_drained() - has all that was begun been completed?
 * @qp: QP in SQD, sq.lock held
 *
 * Return: whether it has.
 */
bool srnic_requester_drained(const struct srnic_qp *qp)
{
	const struct srnic_sq *sq = &qp->sq;

	lockdep_assert_held(&sq->lock);
	return sq->cons == sq->prod || !srnic_sq_at(sq, sq->cons)->started;
}

static void check_drained(struct srnic_qp *qp)
{
	struct srnic_sq *sq = &qp->sq;

	if (sq->draining && srnic_requester_drained(qp)) {
		sq->draining = false;
		srnic_qp_event(qp, IB_EVENT_SQ_DRAINED);
	}
}

/**
 * srnic_requester_run() - send what may be sent
 * @qp: QP, sq.lock held
 *
 * After BUDGET packets the rest is left to the work item.
 */
void srnic_requester_run(struct srnic_qp *qp)
{
	int budget = BUDGET;

	lockdep_assert_held(&qp->sq.lock);
	while (qp->state == IB_QPS_RTS || qp->state == IB_QPS_SQD) {
		if (qp->sq.waiting)
			return;
		if (!budget--) {
			queue_work(system_bh_wq, &qp->work);
			return;
		}
		if (!requester_step(qp))
			break;
	}
	if (qp->state == IB_QPS_ERR || qp->state == IB_QPS_SQE)
		srnic_sq_flush(qp);
	else if (qp->state == IB_QPS_SQD)
		check_drained(qp);
}

static void timed_out(struct srnic_qp *qp)
{
	struct srnic_sq *sq = &qp->sq;
	u32 rd_tail = sq->timed_out ? sq->rd_undo : sq->rd_tail;
	/* else a gap was being filled: that loss was real */
	bool early = sq->timed_out || sq->psn == sq->max_psn;

	srnic_count(qp->tp->stats, SRNIC_STAT_TIMEOUTS);
	/* four times the interval is as long as it gets */
	sq->backoff = min(sq->backoff + 1, 2);
	srnic_requester_retry(qp);
	sq->timed_out = early;
	sq->rd_undo = rd_tail;
	sq->cwnd = 1;
	srnic_requester_run(qp);
}

static void retransmit_timer(struct timer_list *t)
{
	struct srnic_qp *qp = container_of(t, struct srnic_qp, sq.timer);
	struct srnic_sq *sq = &qp->sq;

	srnic_sq_lock(qp);
	if ((qp->state == IB_QPS_RTS || qp->state == IB_QPS_SQD) &&
	    (sq->una != sq->max_psn || sq->waiting) && sq->timeout) {
		if (sq->rnr)
			clock_start(qp);
		else if (time_before(jiffies, sq->deadline))
			mod_timer(&sq->timer, sq->deadline);
		else
			timed_out(qp);
	}
	srnic_sq_unlock(qp);
}

static enum hrtimer_restart wait_timer(struct hrtimer *t)
{
	struct srnic_qp *qp = container_of(t, struct srnic_qp, sq.wait);

	srnic_sq_lock(qp);
	qp->sq.waiting = false;
	qp->sq.rnr = false;
	srnic_requester_run(qp);
	srnic_sq_unlock(qp);
	return HRTIMER_NORESTART;
}

/**
 * srnic_requester_init() - timers of a new QP
 * @qp: QP
 */
void srnic_requester_init(struct srnic_qp *qp)
{
	timer_setup(&qp->sq.timer, retransmit_timer, 0);
	hrtimer_init(&qp->sq.wait, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	qp->sq.wait.function = wait_timer;
}

/**
 * srnic_requester_reset() - no timer of this life fires in the next
 * @qp: QP in RESET, sq.lock held
 *
 * One that is firing waits for the lock, and finds nothing to do.
 */
void srnic_requester_reset(struct srnic_qp *qp)
{
	lockdep_assert_held(&qp->sq.lock);
	timer_delete(&qp->sq.timer);
	hrtimer_try_to_cancel(&qp->sq.wait);
}

/**
 * srnic_requester_stop() - no timer runs any more, nor will
 * @qp: QP in RESET, for good
 */
void srnic_requester_stop(struct srnic_qp *qp)
{
	timer_shutdown_sync(&qp->sq.timer);
	hrtimer_cancel(&qp->sq.wait);
}

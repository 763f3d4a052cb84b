// SPDX-License-Identifier: GPL-2.0
/*
 * What the responder sends: READ data, results of atomics, ACKs and NAKs.
 *
 * Responses leave in the order of their PSNs. READ data and atomic results wait
 * as jobs in a FIFO, as does what refuses to repeat one; any other ACK or NAK is a
 * flag, sent when no job is before it, and says what is true at that moment: several
 * ACKs become one.
 *
 * Each READ packet's data is looked up through its key when it is sent, so a
 * key that dies in the middle of a READ ends it with a NAK.
 *
 * A NAK that ends the QP leaves behind all answers that are due before it, but
 * it doesn't wait for a netdev for ever: after FATAL_TICKS the QP is in error,
 * and if the NAK is lost the peer finds out by its own clock.
 */
#include "response.h"

#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_pack.h>

#include "access.h"
#include "aeth.h"
#include "psn.h"
#include "rq.h"

#define BUDGET		64	/* packets in one turn */
#define FULL_QUEUE_NS	(200 * NSEC_PER_USEC)
#define FATAL_TICKS	HZ	/* for a NAK that ends the QP */

/**
 * srnic_response_room() - may another READ or atomic be taken?
 * @rq: receive half, locked
 *
 * Return: false when the peer has more outstanding than it may.
 */
bool srnic_response_room(const struct srnic_rq *rq)
{
	return rq->job_tail - rq->job_head < SRNIC_MAX_JOBS;
}

static struct srnic_job *job_add(struct srnic_rq *rq)
{
	lockdep_assert_held(&rq->lock);
	return &rq->jobs[rq->job_tail++ % SRNIC_MAX_JOBS];
}

/**
 * srnic_response_read() - READ data is to be sent
 * @rq: receive half, locked, with room
 * @psn: of the first packet
 * @va: remote address
 * @rkey: key
 * @len: bytes
 * @repeat: it has been sent before
 *
 * It says that all messages have been executed that have been by now.
 */
void srnic_response_read(struct srnic_rq *rq, u32 psn, u64 va, u32 rkey, u32 len,
			 bool repeat)
{
	*job_add(rq) = (struct srnic_job) {
		.kind = SRNIC_OP_READ,
		.fresh = true,
		.repeat = repeat,
		.psn = psn,
		.msn = rq->msn,
		.va = va,
		.rkey = rkey,
		.left = len,
	};
}

/**
 * srnic_response_waits() - is this READ data still to be sent?
 * @qp: QP, rq.lock held
 * @psn: of its first packet
 * @len: bytes
 *
 * Return: true when all of it is part of one job.
 */
bool srnic_response_waits(const struct srnic_qp *qp, u32 psn, u32 len)
{
	const struct srnic_rq *rq = &qp->rq;
	u32 i;

	lockdep_assert_held(&rq->lock);
	for (i = rq->job_head; i != rq->job_tail; i++) {
		const struct srnic_job *job = &rq->jobs[i % SRNIC_MAX_JOBS];
		s32 skip = srnic_psn_diff(psn, job->psn);

		/* a READ of nothing has a packet of its own as well */
		if (job->kind == SRNIC_OP_READ && skip >= 0 &&
		    (u64)skip * qp->mtu + max(len, 1U) <= max(job->left, 1U))
			return true;
	}
	return false;
}

/**
 * srnic_response_atomic() - the result of an atomic is to be sent
 * @rq: receive half, locked, with room
 * @psn: of the request
 * @orig: value before
 * @kind: SRNIC_OP_CMP_SWAP or SRNIC_OP_FETCH_ADD
 */
void srnic_response_atomic(struct srnic_rq *rq, u32 psn, u64 orig, u8 kind)
{
	*job_add(rq) = (struct srnic_job) {
		.kind = kind,
		.psn = psn,
		.msn = rq->msn,
		.orig = orig,
	};
}

/**
 * srnic_response_nak_repeat() - a repeated request is refused: REM_ACCESS
 * @rq: receive half, locked, with room
 * @psn: of the request
 *
 * In its turn, as the answer would come. There may be a NAK or an ACK to send for the
 * requests that are to come: it is neither of them, nor instead of one.
 */
void srnic_response_nak_repeat(struct srnic_rq *rq, u32 psn)
{
	*job_add(rq) = (struct srnic_job) {
		.kind = SRNIC_OP_ACK,
		.psn = psn,
		.msn = rq->msn,
	};
}

/**
 * srnic_response_ack() - all that has come is to be acknowledged
 * @rq: receive half, locked
 */
void srnic_response_ack(struct srnic_rq *rq)
{
	lockdep_assert_held(&rq->lock);
	rq->ack_due = true;
}

/**
 * srnic_response_nak() - a NAK is to be sent
 * @rq: receive half, locked
 * @psn: of the request it concerns, the next one that is expected: it says as well
 *	that all before has come
 * @syndrome: AETH syndrome
 * @fatal: the QP is in error afterwards
 */
void srnic_response_nak(struct srnic_rq *rq, u32 psn, u8 syndrome, bool fatal)
{
	lockdep_assert_held(&rq->lock);
	rq->nak_due = true;
	rq->nak_psn = psn;
	rq->nak_syndrome = syndrome;
	if (fatal && !rq->fatal) {
		rq->fatal = true;
		rq->fatal_by = jiffies + FATAL_TICKS;
	}
}

static struct sk_buff *response_alloc(struct srnic_qp *qp,
				      const struct srnic_pkt_out *out)
{
	u32 hdr = srnic_opcodes[out->opcode].hdr_len;
	u32 pad = srnic_pkt_pad(out->len);
	struct sk_buff *skb;

	skb = srnic_net_alloc(srnic_qp_av(qp), hdr + out->len + pad);
	if (!skb)
		return NULL;
	srnic_pkt_build(skb->data, out);
	memset(skb->data + hdr + out->len, 0, pad);
	return skb;
}

/* true: sent, or lost as a packet may be; false: wait for the netdev */
static bool response_xmit(struct srnic_qp *qp, struct sk_buff *skb)
{
	int err = -ENOBUFS;

	if (skb)
		err = srnic_net_xmit(&qp->tp->port, srnic_qp_av(qp), skb);
	if (!err) {
		srnic_count(qp->tp->stats, SRNIC_STAT_SENT_PKTS);
		return true;
	}
	if (err != -ENOBUFS) {
		srnic_count(qp->tp->stats, SRNIC_STAT_SEND_ERR);
		return true;
	}
	qp->rq.waiting = true;
	hrtimer_start(&qp->rq.wait, ns_to_ktime(FULL_QUEUE_NS),
		      HRTIMER_MODE_REL_SOFT);
	return false;
}

static u8 read_opcode(bool first, bool last)
{
	if (first)
		return last ? IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY :
			      IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST;
	return last ? IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST :
		      IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE;
}

/* One packet of READ data. false: wait for the netdev. */
static bool send_read_data(struct srnic_qp *qp, struct srnic_job *job)
{
	struct srnic_rq *rq = &qp->rq;
	u32 len = min(job->left, qp->mtu);
	struct srnic_pkt_out out = {
		.opcode = read_opcode(job->fresh, len == job->left),
		.pkey = IB_DEFAULT_PKEY_FULL,
		.qpn = qp->dest_qpn,
		.psn = job->psn,
		.syndrome = SRNIC_AETH_ACK | SRNIC_AETH_NO_CREDITS,
		.msn = job->msn,
		.len = len,
	};
	struct srnic_mpt_req req = {
		.key = job->rkey,
		.pdn = qp->pdn,
		.qpn = qp->qpn,
		.access = IB_ACCESS_REMOTE_READ,
		.addr = job->va,
		.len = len,
	};
	enum srnic_key_reason why = SRNIC_KEY_OK;
	struct sk_buff *skb;

	skb = response_alloc(qp, &out);
	if (skb && len)
		why = srnic_access_get(qp->tp->mpt, &req, skb->data +
				       srnic_opcodes[out.opcode].hdr_len);
	if (why) {
		kfree_skb(skb);
		if (job->repeat) {
			srnic_qp_refused_repeat(qp, why, &req, out.opcode, job->psn);
			job->kind = SRNIC_OP_ACK;
			return true;
		}
		srnic_qp_refused(qp, why, &req, out.opcode, job->psn, NULL);
		srnic_response_nak(rq, job->psn, SRNIC_AETH_NAK |
				   SRNIC_NAK_REM_ACCESS, true);
		rq->job_head = rq->job_tail;
		return true;
	}
	if (!response_xmit(qp, skb))
		return false;
	job->fresh = false;
	job->psn = srnic_psn_add(job->psn, 1);
	job->va += len;
	job->left -= len;
	if (!job->left)
		rq->job_head++;
	return true;
}

static bool send_atomic_ack(struct srnic_qp *qp, struct srnic_job *job)
{
	struct srnic_pkt_out out = {
		.opcode = IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE,
		.pkey = IB_DEFAULT_PKEY_FULL,
		.qpn = qp->dest_qpn,
		.psn = job->psn,
		.syndrome = SRNIC_AETH_ACK | SRNIC_AETH_NO_CREDITS,
		.msn = job->msn,
		.orig = job->orig,
	};

	if (!response_xmit(qp, response_alloc(qp, &out)))
		return false;
	qp->rq.job_head++;
	return true;
}

static bool send_aeth(struct srnic_qp *qp, u32 psn, u32 msn, u8 syndrome)
{
	struct srnic_pkt_out out = {
		.opcode = IB_OPCODE_RC_ACKNOWLEDGE,
		.pkey = IB_DEFAULT_PKEY_FULL,
		.qpn = qp->dest_qpn,
		.psn = psn,
		.syndrome = syndrome,
		.msn = msn,
	};

	return response_xmit(qp, response_alloc(qp, &out));
}

static bool send_nak(struct srnic_qp *qp)
{
	return send_aeth(qp, qp->rq.nak_psn, qp->rq.msn, qp->rq.nak_syndrome);
}

/* A repeated request is refused, which changes nothing for those to come. */
static bool send_repeat_nak(struct srnic_qp *qp, const struct srnic_job *job)
{
	if (!send_aeth(qp, job->psn, job->msn,
		       SRNIC_AETH_NAK | SRNIC_NAK_REM_ACCESS))
		return false;
	qp->rq.job_head++;
	return true;
}

/* After a fatal NAK (IBTA table 59: the responder's class C errors). */
static void fail(struct srnic_qp *qp)
{
	u8 code = qp->rq.nak_syndrome & SRNIC_AETH_VALUE_MASK;

	if (code == SRNIC_NAK_REM_ACCESS)
		srnic_qp_event(qp, IB_EVENT_QP_ACCESS_ERR);
	else if (code == SRNIC_NAK_INV_REQ)
		srnic_qp_event(qp, IB_EVENT_QP_REQ_ERR);
	else
		srnic_qp_event(qp, IB_EVENT_QP_FATAL);
	srnic_qp_error(qp);
}

/* The time is over: the NAK, if the netdev takes it at last, and the end. */
static bool give_up(struct srnic_qp *qp)
{
	struct srnic_rq *rq = &qp->rq;

	rq->job_head = rq->job_tail;
	send_nak(qp);
	rq->nak_due = false;
	fail(qp);
	return false;
}

static bool response_step(struct srnic_qp *qp)
{
	struct srnic_rq *rq = &qp->rq;
	struct srnic_job *job;

	if (rq->fatal && time_after_eq(jiffies, rq->fatal_by))
		return give_up(qp);
	if (rq->job_head != rq->job_tail) {
		job = &rq->jobs[rq->job_head % SRNIC_MAX_JOBS];
		if (job->kind == SRNIC_OP_READ)
			return send_read_data(qp, job);
		if (job->kind == SRNIC_OP_ACK)
			return send_repeat_nak(qp, job);
		return send_atomic_ack(qp, job);
	}
	if (rq->nak_due) {
		if (!send_nak(qp))
			return false;
		rq->nak_due = false;
		rq->ack_due = false;
		if (rq->fatal)
			fail(qp);
		return true;
	}
	if (rq->ack_due) {
		if (!send_aeth(qp, srnic_psn_add(rq->epsn, -1), rq->msn,
			       SRNIC_AETH_ACK | SRNIC_AETH_NO_CREDITS))
			return false;
		rq->ack_due = false;
		return true;
	}
	return false;
}

/**
 * srnic_response_run() - send what waits
 * @qp: QP, rq.lock held
 *
 * After BUDGET packets the rest is left to the work item.
 */
void srnic_response_run(struct srnic_qp *qp)
{
	int budget = BUDGET;

	lockdep_assert_held(&qp->rq.lock);
	while ((qp->state == IB_QPS_RTR || qp->state == IB_QPS_RTS ||
		qp->state == IB_QPS_SQD) && !qp->rq.waiting) {
		if (!budget--) {
			srnic_count(qp->tp->stats, SRNIC_STAT_ACK_DEFERRED);
			queue_work(system_bh_wq, &qp->work);
			return;
		}
		if (!response_step(qp))
			return;
	}
}

static enum hrtimer_restart wait_timer(struct hrtimer *t)
{
	struct srnic_qp *qp = container_of(t, struct srnic_qp, rq.wait);

	srnic_rq_lock(qp);
	qp->rq.waiting = false;
	srnic_response_run(qp);
	srnic_rq_unlock(qp);
	return HRTIMER_NORESTART;
}

/**
 * srnic_response_init() - timer of a new QP
 * @qp: QP
 */
void srnic_response_init(struct srnic_qp *qp)
{
	hrtimer_init(&qp->rq.wait, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	qp->rq.wait.function = wait_timer;
}

/**
 * srnic_response_reset() - the timer of this life doesn't fire in the next
 * @qp: QP in RESET, rq.lock held
 */
void srnic_response_reset(struct srnic_qp *qp)
{
	lockdep_assert_held(&qp->rq.lock);
	hrtimer_try_to_cancel(&qp->rq.wait);
}

/**
 * srnic_response_stop() - the timer doesn't run any more, nor will
 * @qp: QP in RESET, for good
 */
void srnic_response_stop(struct srnic_qp *qp)
{
	hrtimer_cancel(&qp->rq.wait);
}

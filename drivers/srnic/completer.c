// SPDX-License-Identifier: GPL-2.0
/*
 * The completer: responses in, completions out (IBTA 9.7.5 to 9.7.8).
 *
 * sq.una is the oldest PSN without a response. A response for PSN p says that
 * the peer has executed everything before p; for a READ or an atomic that isn't
 * enough, its own response must come. If that one is missing while a later one
 * arrives, it was lost: an 'implied NAK', answered by going back to una, once
 * for each gap.
 *
 * WQEs complete in order. All functions here hold sq.lock.
 */
#include "completer.h"

#include "aeth.h"
#include "local.h"
#include "psn.h"
#include "requester.h"
#include "sge.h"
#include "sq.h"

/* The oldest WQE that has been sent, at least in part. */
static struct srnic_swqe *oldest(struct srnic_sq *sq)
{
	struct srnic_swqe *wqe;

	if (sq->cons == sq->prod)
		return NULL;
	wqe = srnic_sq_at(sq, sq->cons);
	return wqe->started ? wqe : NULL;
}

static void move_una(struct srnic_qp *qp, u32 psn)
{
	s32 npsn = srnic_psn_diff(psn, qp->sq.una);

	if (npsn > 0) {
		qp->sq.una = psn;
		srnic_requester_progress(qp, npsn);
	}
}

/*
 * Everything before PSN end is executed. Completes what that completes; stops
 * at a READ or an atomic without its response, which is returned when it lies
 * before end.
 */
static struct srnic_swqe *ack_before(struct srnic_qp *qp, u32 end)
{
	struct srnic_sq *sq = &qp->sq;
	struct srnic_swqe *wqe;

	while ((wqe = oldest(sq))) {
		if (srnic_swqe_is_read(wqe) && !wqe->done)
			return srnic_psn_diff(wqe->last_psn, end) < 0 ? wqe : NULL;
		if (srnic_psn_diff(wqe->last_psn, end) >= 0) {
			if (srnic_psn_diff(end, wqe->first_psn) > 0)
				move_una(qp, end);
			return NULL;
		}
		move_una(qp, srnic_psn_add(wqe->last_psn, 1));
		if (wqe->status != IB_WC_SUCCESS) {
			/* a local key was refused when it was sent again */
			srnic_sq_fail(qp, wqe, wqe->status, wqe->why);
			return NULL;
		}
		srnic_sq_complete(qp, wqe);
	}
	return NULL;
}

static void implied_nak(struct srnic_qp *qp)
{
	if (qp->sq.implied_nak)
		return;
	srnic_count(qp->tp->stats, SRNIC_STAT_IMPLIED_NAK);
	srnic_requester_retry(qp);
	qp->sq.implied_nak = true;
}

static void fail_oldest(struct srnic_qp *qp, u8 status, u8 why)
{
	struct srnic_swqe *wqe = oldest(&qp->sq);

	if (wqe)
		srnic_sq_fail(qp, wqe, status, why);
}

static void got_ack(struct srnic_qp *qp, u32 psn)
{
	if (ack_before(qp, srnic_psn_add(psn, 1)))
		implied_nak(qp);
}

static void got_rnr_nak(struct srnic_qp *qp, u32 psn, u8 code)
{
	struct srnic_sq *sq = &qp->sq;

	srnic_count(qp->tp->stats, SRNIC_STAT_RCVD_RNR_ERR);
	if (ack_before(qp, psn)) {
		implied_nak(qp);
		return;
	}
	if (psn != sq->una || sq->rnr)
		return;
	if (!sq->rnr_retries) {
		srnic_count(qp->tp->stats, SRNIC_STAT_RETRY_RNR_EXCEEDED_ERR);
		fail_oldest(qp, IB_WC_RNR_RETRY_EXC_ERR, 0);
		return;
	}
	if (sq->rnr_retries != 7)	/* 7: for ever (IBTA 9.7.5.2.8) */
		sq->rnr_retries--;
	/* the peer lives: what was lost before doesn't add up with what will be */
	sq->retries = sq->retry_cnt;
	srnic_sq_rewind(sq, sq->una);
	srnic_requester_pause(qp, srnic_rnr_ns(code));
	sq->rnr = true;
}

static void got_nak(struct srnic_qp *qp, u32 psn, u8 code)
{
	static const u8 status[] = {
		[SRNIC_NAK_INV_REQ] = IB_WC_REM_INV_REQ_ERR,
		[SRNIC_NAK_REM_ACCESS] = IB_WC_REM_ACCESS_ERR,
		[SRNIC_NAK_REM_OP] = IB_WC_REM_OP_ERR,
	};
	struct srnic_swqe *missing = ack_before(qp, psn);

	if (code == SRNIC_NAK_PSN_SEQ) {
		srnic_count(qp->tp->stats, SRNIC_STAT_RCVD_SEQ_ERR);
		if (missing)
			implied_nak(qp);
		else if (psn == qp->sq.una)
			srnic_requester_retry(qp);
		return;
	}
	if (code >= ARRAY_SIZE(status))
		return;		/* reserved: as if it had not come */
	/*
	 * The peer's QP has failed. A READ before it whose data was lost can't
	 * be asked for again: the error is then its own.
	 */
	fail_oldest(qp, status[code], 0);
}

/* What has come for a READ or an atomic goes where the WQE says. */
static bool scatter(struct srnic_qp *qp, struct srnic_swqe *wqe,
		    const struct srnic_pkt *pkt, u32 off, u32 len,
		    struct srnic_cursor *src)
{
	struct srnic_sgl sgl = {
		.sge = wqe->sge,
		.nsge = wqe->nsge,
		.pdn = qp->pdn,
		.qpn = qp->qpn,
	};
	enum srnic_key_reason why = srnic_sgl_put(qp->tp->mpt, &sgl, off, len,
						  src);

	if (!why)
		return true;
	srnic_qp_refused(qp, why, &sgl.rq, pkt->opcode, pkt->psn, NULL);
	srnic_sq_fail(qp, wqe, IB_WC_LOC_PROT_ERR, why);
	return false;
}

/* What the READ has been put into isn't needed any more. */
static void end_read_key(struct srnic_qp *qp, struct srnic_swqe *wqe)
{
	enum srnic_key_reason why;

	why = srnic_local_invalidate(qp, wqe->inv_rkey, SRNIC_OPCODE_LOCAL,
				     wqe->last_psn);
	if (why)
		srnic_sq_fail(qp, wqe, IB_WC_MW_BIND_ERR, why);
}

static void got_read_data(struct srnic_qp *qp, struct srnic_swqe *wqe,
			  const struct srnic_pkt *pkt)
{
	u32 off = srnic_psn_diff(pkt->psn, wqe->first_psn) * qp->mtu;
	u32 len = min(qp->mtu, wqe->length - off);
	struct srnic_cursor cur = { .seg = pkt->seg };

	if (pkt->op->kind != SRNIC_OP_READ_RESP || pkt->len != len) {
		srnic_sq_fail(qp, wqe, IB_WC_BAD_RESP_ERR, 0);
		return;
	}
	if (!scatter(qp, wqe, pkt, off, len, &cur))
		return;
	move_una(qp, srnic_psn_add(pkt->psn, 1));
	if (pkt->psn != wqe->last_psn)
		return;
	wqe->done = true;
	if (wqe->opcode == IB_WR_RDMA_READ_WITH_INV)
		end_read_key(qp, wqe);
}

static void got_atomic_ack(struct srnic_qp *qp, struct srnic_swqe *wqe,
			   const struct srnic_pkt *pkt)
{
	struct kvec v = {
		.iov_base = (void *)&pkt->orig,
		.iov_len = sizeof(pkt->orig),
	};
	struct srnic_cursor cur = { .seg = &v };

	if (pkt->op->kind != SRNIC_OP_ATOMIC_ACK) {
		srnic_sq_fail(qp, wqe, IB_WC_BAD_RESP_ERR, 0);
		return;
	}
	if (!scatter(qp, wqe, pkt, 0, sizeof(pkt->orig), &cur))
		return;
	wqe->done = true;
	move_una(qp, srnic_psn_add(pkt->psn, 1));
}

/* READ data or an atomic's result. */
static void got_data(struct srnic_qp *qp, const struct srnic_pkt *pkt)
{
	struct srnic_sq *sq = &qp->sq;
	struct srnic_swqe *wqe;

	if (ack_before(qp, pkt->psn)) {
		implied_nak(qp);
		return;
	}
	wqe = oldest(sq);
	if (!wqe || !srnic_swqe_is_read(wqe))
		return;		/* answers nothing that was asked */
	if (pkt->psn != sq->una) {
		if (srnic_psn_diff(pkt->psn, sq->una) > 0)
			implied_nak(qp);
		return;
	}
	if (wqe->kind == SRNIC_OP_READ)
		got_read_data(qp, wqe, pkt);
	else
		got_atomic_ack(qp, wqe, pkt);
	/* and local requests that have been executed behind it */
	while ((wqe = oldest(sq)) && wqe->done)
		srnic_sq_complete(qp, wqe);
}

static void got_aeth(struct srnic_qp *qp, const struct srnic_pkt *pkt)
{
	u8 value = pkt->syndrome & SRNIC_AETH_VALUE_MASK;

	switch (pkt->syndrome & SRNIC_AETH_TYPE_MASK) {
	case SRNIC_AETH_ACK:
		got_ack(qp, pkt->psn);
		break;
	case SRNIC_AETH_RNR_NAK:
		got_rnr_nak(qp, pkt->psn, value);
		break;
	case SRNIC_AETH_NAK:
		got_nak(qp, pkt->psn, value);
		break;
	}
}

/**
 * srnic_completer_receive() - a response has come
 * @qp: QP, RC
 * @rx: the packet
 *
 * Context: softirq, RCU.
 */
void srnic_completer_receive(struct srnic_qp *qp, const struct srnic_rx *rx)
{
	const struct srnic_pkt *pkt = &rx->pkt;
	struct srnic_sq *sq = &qp->sq;

	srnic_sq_lock(qp);
	if (qp->state != IB_QPS_RTS && qp->state != IB_QPS_SQD)
		goto unlock;
	if (!srnic_qp_is_peer(qp, rx)) {
		srnic_count(qp->tp->stats, SRNIC_STAT_BAD_SOURCE);
		goto unlock;
	}
	/* only what was sent and is not acknowledged can be answered */
	if (srnic_psn_diff(pkt->psn, sq->una) < 0 ||
	    srnic_psn_diff(pkt->psn, sq->max_psn) >= 0)
		goto unlock;

	if (pkt->op->kind == SRNIC_OP_ACK)
		got_aeth(qp, pkt);
	else
		got_data(qp, pkt);
	srnic_requester_run(qp);
unlock:
	srnic_sq_unlock(qp);
}

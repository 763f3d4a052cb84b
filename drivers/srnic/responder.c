// SPDX-License-Identifier: GPL-2.0
/*
 * The responder: requests in, effects and answers out (IBTA 9.7.4, 9.7.5).
 *
 * A request packet is judged in a straight line: is it the next one, does it fit
 * the message in progress, may this QP do it, does its length agree, is there a
 * receive for it, does the key allow it. The first no is a verdict; one table
 * says what each verdict does. Only then is anything written.
 *
 * READs and atomics leave a resource (struct srnic_res) behind, from which a
 * repeated request is answered: a READ by reading again, key check included; an
 * atomic by the value it returned, so it is executed once.
 */
#include "responder.h"

#include <rdma/ib_pack.h>

#include "access.h"
#include "aeth.h"
#include "local.h"
#include "psn.h"
#include "response.h"
#include "rq.h"
#include "sge.h"

enum verdict {
	FINE,
	DROP,		/* as if it had not come */
	NO_RECV,	/* receiver not ready */
	BAD_REQUEST,	/* contradicts the protocol, or isn't allowed on this QP */
	BAD_KEY,	/* the remote key doesn't allow it */
	BAD_RECV,	/* our own receive can't take it */
};

/* What the peer is told. */
static const struct {
	u8 syndrome;
	bool fatal;
} answers[] = {
	[NO_RECV]	= { SRNIC_AETH_RNR_NAK, false },
	[BAD_REQUEST]	= { SRNIC_AETH_NAK | SRNIC_NAK_INV_REQ, true },
	[BAD_KEY]	= { SRNIC_AETH_NAK | SRNIC_NAK_REM_ACCESS, true },
	[BAD_RECV]	= { SRNIC_AETH_NAK | SRNIC_NAK_REM_OP, true },
};

/* May this QP be asked for it? */
static bool allowed(const struct srnic_qp *qp, u8 kind)
{
	switch (kind) {
	case SRNIC_OP_SEND:
		return true;
	case SRNIC_OP_WRITE:
		return qp->access & IB_ACCESS_REMOTE_WRITE;
	case SRNIC_OP_READ:
		return qp->access & IB_ACCESS_REMOTE_READ && qp->rq.max_rd;
	case SRNIC_OP_CMP_SWAP:
	case SRNIC_OP_FETCH_ADD:
		return qp->access & IB_ACCESS_REMOTE_ATOMIC && qp->rq.max_rd;
	default:
		return false;
	}
}

/* Does the packet stand where its message is? (IBTA 9.7.4.1.2) */
static bool in_sequence(const struct srnic_rq *rq, const struct srnic_opcode *op)
{
	if (op->pos & SRNIC_OP_FIRST)
		return rq->msg == SRNIC_OP_NONE;
	return rq->msg == op->kind;
}

/* All but the last packet of a message are full, the last isn't empty. */
static bool length_fits(const struct srnic_qp *qp, const struct srnic_pkt *pkt)
{
	if (!(pkt->op->has & SRNIC_HAS_PAYLOAD))
		return true;
	if (!(pkt->op->pos & SRNIC_OP_LAST))
		return pkt->len == qp->mtu;
	return pkt->len <= qp->mtu &&
	       (pkt->len || pkt->op->pos & SRNIC_OP_FIRST);
}

static enum verdict refuse(struct srnic_qp *qp, enum srnic_key_reason why,
			   const struct srnic_mpt_req *req,
			   const struct srnic_pkt *pkt)
{
	srnic_qp_refused(qp, why, req, pkt->opcode, pkt->psn, NULL);
	return BAD_KEY;
}

/* The receive at hand ends in an error of ours. */
static enum verdict fail_recv(struct srnic_qp *qp, u8 status, u8 why,
			      enum verdict v)
{
	struct srnic_cqe cqe = {
		.status = status,
		.opcode = IB_WC_RECV,
		.vendor_err = why,
	};

	srnic_rq_complete(qp, &cqe, false);
	return v;
}

static void complete_recv(struct srnic_qp *qp, const struct srnic_pkt *pkt,
			  u32 opcode, u32 len)
{
	struct srnic_cqe cqe = {
		.status = IB_WC_SUCCESS,
		.opcode = opcode,
		.byte_len = len,
	};

	if (pkt->op->has & SRNIC_HAS_IMM) {
		cqe.wc_flags |= SRNIC_WC_WITH_IMM;
		cqe.imm_data = (__force u32)pkt->imm;
	} else if (pkt->op->has & SRNIC_HAS_IETH) {
		cqe.wc_flags |= SRNIC_WC_WITH_INV;
		cqe.imm_data = pkt->inv_rkey;
	}
	srnic_rq_complete(qp, &cqe, pkt->solicited);
}

/* A message has come to its end: it counts, and is acknowledged if asked. */
static void end_message(struct srnic_rq *rq, const struct srnic_pkt *pkt)
{
	if (pkt->op->pos & SRNIC_OP_LAST) {
		rq->msg = SRNIC_OP_NONE;
		rq->msn = (rq->msn + 1) & SRNIC_PSN_MASK;
	} else {
		rq->msg = pkt->op->kind;
	}
	rq->epsn = srnic_psn_add(rq->epsn, 1);
	if (pkt->ackreq)
		srnic_response_ack(rq);
}

static enum verdict do_send(struct srnic_qp *qp, const struct srnic_pkt *pkt)
{
	struct srnic_rq *rq = &qp->rq;
	struct srnic_recv *r = &rq->recv;
	struct srnic_sgl sgl = {
		.sge = r->sge,
		.pdn = qp->pdn,
		.qpn = qp->qpn,
	};
	struct srnic_cursor cur = { .seg = pkt->seg };
	enum srnic_key_reason why = SRNIC_KEY_OK;

	if (pkt->op->pos & SRNIC_OP_FIRST)
		rq->msg_len = 0;
	if (!srnic_rq_take(qp))
		return NO_RECV;
	if (r->bad)
		return fail_recv(qp, IB_WC_LOC_QP_OP_ERR, 0, BAD_RECV);
	if (pkt->len > min_t(u64, r->length, SRNIC_MAX_MSG) - rq->msg_len)
		return fail_recv(qp, IB_WC_LOC_LEN_ERR, 0, BAD_REQUEST);
	sgl.nsge = r->nsge;
	if (pkt->len)
		why = srnic_sgl_put(qp->tp->mpt, &sgl, rq->msg_len, pkt->len,
				    &cur);
	if (why) {
		srnic_qp_refused(qp, why, &sgl.rq, pkt->opcode, pkt->psn, NULL);
		return fail_recv(qp, IB_WC_LOC_PROT_ERR, why, BAD_RECV);
	}
	if (pkt->op->has & SRNIC_HAS_IETH)
		why = srnic_local_invalidate(qp, pkt->inv_rkey, pkt->opcode,
					     pkt->psn);
	if (why)
		return fail_recv(qp, IB_WC_LOC_PROT_ERR, why, BAD_KEY);
	rq->msg_len += pkt->len;
	if (pkt->op->pos & SRNIC_OP_LAST)
		complete_recv(qp, pkt, IB_WC_RECV, rq->msg_len);
	end_message(rq, pkt);
	return FINE;
}

/* The RETH's length against what has come (IBTA 9.7.4.1.7). */
static bool write_length_fits(const struct srnic_rq *rq,
			      const struct srnic_pkt *pkt)
{
	u64 len = (u64)rq->msg_len + pkt->len;

	if (rq->dmalen > SRNIC_MAX_MSG)
		return false;
	if (pkt->op->pos & SRNIC_OP_LAST)
		return len == rq->dmalen;
	return len < rq->dmalen;
}

static enum verdict do_write(struct srnic_qp *qp, const struct srnic_pkt *pkt)
{
	bool recv = pkt->op->has & SRNIC_HAS_IMM;
	struct srnic_rq *rq = &qp->rq;
	struct srnic_cursor cur = { .seg = pkt->seg };
	struct srnic_mpt_req req = {
		.pdn = qp->pdn,
		.qpn = qp->qpn,
		.access = IB_ACCESS_REMOTE_WRITE,
	};
	enum srnic_key_reason why = SRNIC_KEY_OK;

	if (pkt->op->pos & SRNIC_OP_FIRST) {
		rq->va = pkt->va;
		rq->rkey = pkt->rkey;
		rq->dmalen = pkt->dmalen;
		rq->msg_len = 0;
	}
	if (!write_length_fits(rq, pkt))
		return BAD_REQUEST;
	if (recv && !srnic_rq_take(qp))
		return NO_RECV;

	req.key = rq->rkey;
	req.addr = rq->va + rq->msg_len;
	/* nothing of a message is written that doesn't fit as a whole */
	req.len = pkt->op->pos == SRNIC_OP_FIRST ? rq->dmalen : pkt->len;
	if (pkt->len)
		why = srnic_access_put(qp->tp->mpt, &req, pkt->len, &cur);
	if (why)
		return refuse(qp, why, &req, pkt);
	rq->msg_len += pkt->len;
	if (recv)
		complete_recv(qp, pkt, IB_WC_RECV_RDMA_WITH_IMM, rq->dmalen);
	end_message(rq, pkt);
	return FINE;
}

static struct srnic_res *new_resource(struct srnic_rq *rq,
				      const struct srnic_pkt *pkt, u32 npsn)
{
	/* max_rd may have become less */
	u32 slot = rq->res_next % rq->max_rd;
	struct srnic_res *res = &rq->res[slot];

	rq->res_next = (slot + 1) % rq->max_rd;
	*res = (struct srnic_res) {
		.kind = pkt->op->kind,
		.first_psn = rq->epsn,
		.last_psn = srnic_psn_add(rq->epsn, npsn - 1),
		.va = pkt->va,
		.rkey = pkt->rkey,
	};
	rq->epsn = srnic_psn_add(rq->epsn, npsn);
	rq->msn = (rq->msn + 1) & SRNIC_PSN_MASK;
	/* the response acknowledges all before it */
	rq->ack_due = false;
	return res;
}

static struct srnic_mpt_req read_req(const struct srnic_qp *qp,
				     const struct srnic_pkt *pkt)
{
	return (struct srnic_mpt_req) {
		.key = pkt->rkey,
		.pdn = qp->pdn,
		.qpn = qp->qpn,
		.access = IB_ACCESS_REMOTE_READ,
		.addr = pkt->va,
		.len = pkt->dmalen,
	};
}

static enum verdict do_read(struct srnic_qp *qp, const struct srnic_pkt *pkt)
{
	struct srnic_rq *rq = &qp->rq;
	struct srnic_mpt_req req = read_req(qp, pkt);
	enum srnic_key_reason why = SRNIC_KEY_OK;
	struct srnic_res *res;

	if (pkt->dmalen > SRNIC_MAX_MSG)
		return BAD_REQUEST;
	if (!srnic_response_room(rq))
		return DROP;
	/* a READ of nothing needs no key (IBTA 9.7.4.1.6) */
	if (pkt->dmalen)
		why = srnic_access_probe(qp->tp->mpt, &req);
	if (why)
		return refuse(qp, why, &req, pkt);

	res = new_resource(rq, pkt, max(DIV_ROUND_UP(pkt->dmalen, qp->mtu), 1U));
	res->len = pkt->dmalen;
	srnic_response_read(rq, pkt->psn, pkt->va, pkt->rkey, pkt->dmalen,
			    false);
	return FINE;
}

static struct srnic_mpt_req atomic_req(const struct srnic_qp *qp,
				       const struct srnic_pkt *pkt)
{
	return (struct srnic_mpt_req) {
		.key = pkt->rkey,
		.pdn = qp->pdn,
		.qpn = qp->qpn,
		.access = IB_ACCESS_REMOTE_ATOMIC,
		.addr = pkt->va,
		.len = sizeof(u64),
	};
}

static enum verdict do_atomic(struct srnic_qp *qp, const struct srnic_pkt *pkt)
{
	bool cas = pkt->op->kind == SRNIC_OP_CMP_SWAP;
	struct srnic_rq *rq = &qp->rq;
	struct srnic_mpt_req req = atomic_req(qp, pkt);
	enum srnic_key_reason why = SRNIC_KEY_OK;
	u64 orig = 0;

	if (!srnic_response_room(rq))
		return DROP;
	if (srnic_access_atomic(qp->tp->mpt, &req,
				cas ? SRNIC_ATOMIC_CMP_SWAP :
				      SRNIC_ATOMIC_FETCH_ADD,
				pkt->compare, pkt->swap_add, &orig, &why))
		return BAD_REQUEST;
	if (why)
		return refuse(qp, why, &req, pkt);

	new_resource(rq, pkt, 1)->orig = orig;
	srnic_response_atomic(rq, pkt->psn, orig, pkt->op->kind);
	return FINE;
}

static enum verdict execute(struct srnic_qp *qp, const struct srnic_pkt *pkt)
{
	if (!in_sequence(&qp->rq, pkt->op) || !allowed(qp, pkt->op->kind) ||
	    !length_fits(qp, pkt))
		return BAD_REQUEST;

	switch (pkt->op->kind) {
	case SRNIC_OP_SEND:
		return do_send(qp, pkt);
	case SRNIC_OP_WRITE:
		return do_write(qp, pkt);
	case SRNIC_OP_READ:
		return do_read(qp, pkt);
	default:
		return do_atomic(qp, pkt);
	}
}

/* The newest comes first: one of 2^24 PSNs ago may still be there. */
static struct srnic_res *find_resource(struct srnic_rq *rq, u8 kind, u32 psn)
{
	u32 i;

	for (i = 1; i <= rq->max_rd; i++) {
		u32 slot = (rq->res_next + rq->max_rd - i) % rq->max_rd;
		struct srnic_res *res = &rq->res[slot];

		if (res->kind == kind &&
		    srnic_psn_diff(psn, res->first_psn) >= 0 &&
		    srnic_psn_diff(res->last_psn, psn) >= 0)
			return res;
	}
	return NULL;
}

/*
 * The key must still allow it, and be the one that the request came with: any other
 * is refused, even one that works, since the request wasn't allowed by it. This QP
 * goes on all the same: a peer that waits for the answer fails by the NAK, and one
 * that has had it long ago (this one was late) isn't harmed.
 */
static bool repeat_allowed(struct srnic_qp *qp, const struct srnic_pkt *pkt,
			   const struct srnic_res *res,
			   const struct srnic_mpt_req *req)
{
	enum srnic_key_reason why = srnic_access_probe(qp->tp->mpt, req);

	if (!why && pkt->rkey != res->rkey)
		why = SRNIC_KEY_ACCESS;
	if (!why)
		return true;
	srnic_qp_refused_repeat(qp, why, req, pkt->opcode, pkt->psn);
	srnic_response_nak_repeat(&qp->rq, pkt->psn);
	return false;
}

/* A repeated READ may ask for a later part of what it asked for at first. */
static void repeat_read(struct srnic_qp *qp, const struct srnic_pkt *pkt)
{
	struct srnic_res *res = find_resource(&qp->rq, SRNIC_OP_READ, pkt->psn);
	struct srnic_mpt_req req = read_req(qp, pkt);
	u64 off;

	if (!res)
		return;
	off = (u64)srnic_psn_diff(pkt->psn, res->first_psn) * qp->mtu;
	if (pkt->va != res->va + off || off > res->len ||
	    pkt->dmalen > res->len - off)
		return;
	/* a READ of nothing needs no key; the right one is asked when data is sent */
	if (pkt->dmalen && pkt->rkey != res->rkey &&
	    !repeat_allowed(qp, pkt, res, &req))
		return;
	/* a peer in a hurry: it would get it twice */
	if (srnic_response_waits(qp, pkt->psn, pkt->dmalen))
		return;
	srnic_response_read(&qp->rq, pkt->psn, pkt->va, pkt->rkey, pkt->dmalen,
			    true);
}

/* Not executed again. */
static void repeat_atomic(struct srnic_qp *qp, const struct srnic_pkt *pkt)
{
	struct srnic_res *res = find_resource(&qp->rq, pkt->op->kind, pkt->psn);
	struct srnic_mpt_req req = atomic_req(qp, pkt);

	if (res && pkt->va == res->va && repeat_allowed(qp, pkt, res, &req))
		srnic_response_atomic(&qp->rq, pkt->psn, res->orig, res->kind);
}

/* A request that has been executed already (IBTA 9.7.5.1.2). */
static void duplicate(struct srnic_qp *qp, const struct srnic_pkt *pkt)
{
	struct srnic_rq *rq = &qp->rq;

	srnic_count(qp->tp->stats, SRNIC_STAT_DUPLICATE_REQUEST);
	switch (pkt->op->kind) {
	case SRNIC_OP_SEND:
	case SRNIC_OP_WRITE:
		if (pkt->ackreq || pkt->op->pos & SRNIC_OP_LAST)
			srnic_response_ack(rq);
		break;
	case SRNIC_OP_READ:
		if (srnic_response_room(rq))
			repeat_read(qp, pkt);
		break;
	default:
		if (srnic_response_room(rq))
			repeat_atomic(qp, pkt);
	}
}

static void rc_receive(struct srnic_qp *qp, const struct srnic_pkt *pkt)
{
	struct srnic_rq *rq = &qp->rq;
	s32 ahead = srnic_psn_diff(pkt->psn, rq->epsn);
	u8 syndrome;
	enum verdict v;

	if (ahead < 0) {
		duplicate(qp, pkt);
		return;
	}
	if (ahead > 0) {
		srnic_count(qp->tp->stats, SRNIC_STAT_OUT_OF_SEQ_REQUEST);
		if (!rq->nak_sent)
			srnic_response_nak(rq, rq->epsn, SRNIC_AETH_NAK |
					   SRNIC_NAK_PSN_SEQ, false);
		rq->nak_sent = true;
		return;
	}

	v = execute(qp, pkt);
	if (v == DROP)
		return;
	/* what follows a request that isn't executed is no news to the peer */
	rq->nak_sent = v != FINE;
	if (v == FINE) {
		/* one that waits behind a job, or for the netdev, is about this packet */
		rq->nak_due = false;
		return;
	}
	syndrome = answers[v].syndrome;
	if (v == NO_RECV) {
		srnic_count(qp->tp->stats, SRNIC_STAT_SEND_RNR_ERR);
		syndrome |= rq->min_rnr_timer;
	}
	srnic_response_nak(rq, rq->epsn, syndrome, answers[v].fatal);
}

/* The 40 bytes before a datagram (IBTA annex 17, A17.4.5.1). */
static void make_grh(const struct srnic_rx *rx, u8 grh[40])
{
	if (rx->ipv6) {
		memcpy(grh, rx->ip6, 40);
	} else {
		memset(grh, 0, 20);
		memcpy(grh + 20, rx->ip4, 20);
	}
}

/* Into the receive at hand; sgl: for what was refused. */
static enum srnic_key_reason put_datagram(struct srnic_qp *qp,
					  const struct srnic_rx *rx,
					  struct srnic_sgl *sgl)
{
	u8 grh[40];
	struct kvec v[1 + SRNIC_PKT_MAX_SEGS];
	struct srnic_cursor cur = { .seg = v };

	make_grh(rx, grh);
	v[0] = (struct kvec) { .iov_base = grh, .iov_len = sizeof(grh) };
	memcpy(&v[1], rx->pkt.seg, rx->pkt.nseg * sizeof(v[0]));
	/* at once: a region that changes in between would have a part of each */
	return srnic_sgl_put(qp->tp->mpt, sgl, 0, sizeof(grh) + rx->pkt.len, &cur);
}

static void ud_receive(struct srnic_qp *qp, const struct srnic_rx *rx)
{
	const struct srnic_pkt *pkt = &rx->pkt;
	struct srnic_recv *r = &qp->rq.recv;
	struct srnic_sgl sgl = {
		.sge = r->sge,
		.pdn = qp->pdn,
		.qpn = qp->qpn,
	};
	struct srnic_cqe cqe = {
		.status = IB_WC_SUCCESS,
		.opcode = IB_WC_RECV,
		.byte_len = pkt->len + 40,
		.src_qp = pkt->src_qpn,
		.wc_flags = SRNIC_WC_GRH,
		.network_hdr_type = rx->ipv6 ? RDMA_NETWORK_IPV6 :
					       RDMA_NETWORK_IPV4,
	};
	enum srnic_key_reason why;

	if (pkt->qkey != qp->qkey) {
		srnic_count(qp->tp->stats, SRNIC_STAT_BAD_QKEY);
		return;
	}
	if (!srnic_rq_take(qp)) {
		srnic_count(qp->tp->stats, SRNIC_STAT_NO_RECV_WQE);
		return;
	}
	if (r->bad) {
		fail_recv(qp, IB_WC_LOC_QP_OP_ERR, 0, DROP);
		return;
	}
	sgl.nsge = r->nsge;
	/* the sender's fault must not cost us the receive, or the QP */
	if (cqe.byte_len > r->length) {
		srnic_count(qp->tp->stats, SRNIC_STAT_MALFORMED_PKTS);
		return;
	}
	why = put_datagram(qp, rx, &sgl);
	if (why) {
		union ib_gid peer;

		srnic_rx_gid(rx, &peer);
		srnic_qp_refused(qp, why, &sgl.rq, pkt->opcode, pkt->psn, &peer);
		fail_recv(qp, IB_WC_LOC_PROT_ERR, why, DROP);
		return;
	}
	if (pkt->op->has & SRNIC_HAS_IMM) {
		cqe.wc_flags |= SRNIC_WC_WITH_IMM;
		cqe.imm_data = (__force u32)pkt->imm;
	}
	srnic_rq_complete(qp, &cqe, pkt->solicited);
}

static bool may_receive(const struct srnic_qp *qp)
{
	return qp->state == IB_QPS_RTR || qp->state == IB_QPS_RTS ||
	       qp->state == IB_QPS_SQD || qp->state == IB_QPS_SQE;
}

/**
 * srnic_responder_receive() - a request has come
 * @qp: QP
 * @rx: the packet
 *
 * Context: softirq, RCU.
 */
void srnic_responder_receive(struct srnic_qp *qp, const struct srnic_rx *rx)
{
	struct srnic_rq *rq = &qp->rq;

	srnic_rq_lock(qp);
	if (!may_receive(qp) || rq->fatal)
		goto unlock;
	if (qp->type == SRNIC_QPT_UD) {
		ud_receive(qp, rx);
		goto unlock;
	}
	if (!srnic_qp_is_peer(qp, rx)) {
		srnic_count(qp->tp->stats, SRNIC_STAT_BAD_SOURCE);
		goto unlock;
	}
	if (!rq->comm_est) {
		rq->comm_est = true;
		if (qp->state == IB_QPS_RTR)
			srnic_qp_event(qp, IB_EVENT_COMM_EST);
	}
	rc_receive(qp, &rx->pkt);
	srnic_response_run(qp);
unlock:
	srnic_rq_unlock(qp);
}

/**
 * srnic_responder_run() - go on with what waits
 * @qp: QP, rq.lock held
 */
void srnic_responder_run(struct srnic_qp *qp)
{
	lockdep_assert_held(&qp->rq.lock);
	if (qp->state == IB_QPS_ERR)
		srnic_rq_flush(qp);
	else
		srnic_response_run(qp);
}

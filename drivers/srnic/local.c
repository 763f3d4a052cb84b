// SPDX-License-Identifier: GPL-2.0
/*
 * Work requests that send nothing: LOCAL_INV, REG_MR, BIND_MW.
 *
 * They are executed in the order of the queue. Registering and binding change
 * nothing for what is before them, so that they don't wait for it to be
 * acknowledged. An invalidation does: the key may be needed once more, for what
 * has to be sent again (IBTA 10.8.3.3).
 */
#include "local.h"

#include "frmr.h"
#include "opcode.h"

/* Without rights of peers: an L_Key. */
static void refused(struct srnic_qp *qp, enum srnic_key_reason why, u32 key,
		    int access, u64 addr, u64 length)
{
	const struct srnic_mpt_req rq = {
		.key = key,
		.access = access,
		.addr = addr,
		.len = length,
	};

	srnic_qp_refused(qp, why, &rq, SRNIC_OPCODE_LOCAL, qp->sq.psn, NULL);
}

static enum srnic_key_reason bind(struct srnic_qp *qp,
				  const struct srnic_swqe *wqe)
{
	enum srnic_key_reason why;
	struct srnic_mw_bind b = {
		.key = wqe->rkey,
		.lkey = wqe->bind_lkey,
		.addr = wqe->raddr,
		.length = wqe->bind_length,
		.access = wqe->access,
		.pdn = qp->pdn,
		.qpn = qp->qpn,
		.bound = &qp->bound,
	};

	why = srnic_mw_bind(&qp->tp->mws, &b);
	if (why)
		refused(qp, why, b.blamed, b.blamed == b.lkey ? 0 : SRNIC_REMOTE_RIGHTS,
			b.addr, b.length);
	return why;
}

/**
 * srnic_local_execute() - do what the request says
 * @qp: QP, sq.lock held
 * @wqe: the request, SRNIC_OP_LOCAL
 *
 * Its status is IB_WC_SUCCESS and it is done, or the status says what is wrong.
 */
void srnic_local_execute(struct srnic_qp *qp, struct srnic_swqe *wqe)
{
	enum srnic_key_reason why;

	lockdep_assert_held(&qp->sq.lock);
	switch (wqe->opcode) {
	case IB_WR_LOCAL_INV:
		why = srnic_local_invalidate(qp, wqe->inv_rkey,
					     SRNIC_OPCODE_LOCAL, qp->sq.psn);
		break;
	case IB_WR_REG_MR:
		why = srnic_frmr_register(wqe->mr, qp->pdn, wqe->rkey,
					  wqe->access);
		if (why)
			refused(qp, why, wqe->rkey, SRNIC_REMOTE_RIGHTS, 0, 0);
		break;
	default:
		why = bind(qp, wqe);
	}
	if (why) {
		wqe->status = IB_WC_MW_BIND_ERR;
		wqe->why = why;
	} else {
		wqe->done = true;
	}
}

/**
 * srnic_local_invalidate() - a key stops working
 * @qp: on behalf of this one; one of its locks is held
 * @key: of a fast-register region or of a window of type 2
 * @opcode: of the packet that says so, or SRNIC_OPCODE_LOCAL
 * @psn: its PSN
 *
 * Return: SRNIC_KEY_OK; or why not, which has been counted.
 */
enum srnic_key_reason srnic_local_invalidate(struct srnic_qp *qp, u32 key,
					     u8 opcode, u32 psn)
{
	struct srnic_mpt_req rq = {
		.key = key,
		.pdn = qp->pdn,
		.qpn = qp->qpn,
	};
	enum srnic_key_reason why;

	/* a key that allows peers nothing isn't theirs to end */
	if (opcode != SRNIC_OPCODE_LOCAL)
		rq.access = SRNIC_REMOTE_RIGHTS;
	why = srnic_mws_invalidate(&qp->tp->mws, &rq);
	if (why) {
		/* an R_Key, whoever names it */
		rq.access = SRNIC_REMOTE_RIGHTS;
		srnic_qp_refused(qp, why, &rq, opcode, psn, NULL);
	}
	return why;
}

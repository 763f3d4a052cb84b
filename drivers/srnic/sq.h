/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRNIC_SQ_H
#define SRNIC_SQ_H

#include "qp.h"

#define SRNIC_SQ_WINDOW	128	/* PSNs that may be unacknowledged, at most */
#define SRNIC_SQ_START	32	/* that many of a new QP; many QPs start at once */

int srnic_sq_create(struct srnic_qp *qp, struct ib_qp_cap *cap,
		    struct ib_ucontext *uctx, struct srnic_ring_info *info);
void srnic_sq_destroy(struct srnic_qp *qp);
/* To the state of a new QP; the QP is in RESET and nothing runs. */
void srnic_sq_reset(struct srnic_qp *qp);

static inline void srnic_sq_lock(struct srnic_qp *qp)
	__acquires(&qp->sq.lock)
{
	spin_lock_bh(&qp->sq.lock);
}

/* Calls the completion handler when one is due. */
void srnic_sq_unlock(struct srnic_qp *qp) __releases(&qp->sq.lock);

/* sq.post_lock held */
int srnic_sq_post(struct srnic_qp *qp, const struct ib_send_wr *wr);

/* All below: sq.lock held. */
u32 srnic_sq_pull(struct srnic_qp *qp);
void srnic_sq_complete(struct srnic_qp *qp, struct srnic_swqe *wqe);
void srnic_sq_fail(struct srnic_qp *qp, struct srnic_swqe *wqe, u8 status,
		   u8 why);
void srnic_sq_flush(struct srnic_qp *qp);
void srnic_sq_rewind(struct srnic_sq *sq, u32 psn);

static inline bool srnic_swqe_is_read(const struct srnic_swqe *wqe)
{
	return wqe->kind == SRNIC_OP_READ || wqe->kind == SRNIC_OP_CMP_SWAP ||
	       wqe->kind == SRNIC_OP_FETCH_ADD;
}

#endif /* SRNIC_SQ_H */

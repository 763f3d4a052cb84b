/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRNIC_RQ_H
#define SRNIC_RQ_H

#include "qp.h"

int srnic_rq_create(struct srnic_qp *qp, struct ib_qp_cap *cap,
		    struct ib_ucontext *uctx, struct srnic_ring_info *info);
void srnic_rq_destroy(struct srnic_qp *qp);
void srnic_rq_reset(struct srnic_qp *qp);

static inline void srnic_rq_lock(struct srnic_qp *qp)
	__acquires(&qp->rq.lock)
{
	spin_lock_bh(&qp->rq.lock);
}

void srnic_rq_unlock(struct srnic_qp *qp) __releases(&qp->rq.lock);

/* rq.post_lock held */
int srnic_rq_post(struct srnic_qp *qp, const struct ib_recv_wr *wr);

/* All below: rq.lock held. */
bool srnic_rq_take(struct srnic_qp *qp);
/* Complete the taken receive; cqe without wr_id and qp_num. */
void srnic_rq_complete(struct srnic_qp *qp, struct srnic_cqe *cqe,
		       bool solicited);
void srnic_rq_flush(struct srnic_qp *qp);

#endif /* SRNIC_RQ_H */

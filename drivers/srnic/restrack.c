// SPDX-License-Identifier: GPL-2.0
/*
 * Details for 'rdma -d resource show'.
 *
 * The core asks for an object until its memory is freed, which is after its
 * destroy operation: so nothing here follows a pointer that those let go of,
 * but for regions, which the core hides before it deregisters them.
 */
#include "restrack.h"

#include <rdma/restrack.h>

#include "mr.h"
#include "qp.h"

struct detail {
	const char *name;
	u64 value;
	bool wide;	/* shown with 64 bits */
};

static int put_details(struct sk_buff *msg, const struct detail *d, size_t n,
		       const char *name, const char *text)
{
	struct nlattr *nest = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	size_t i;

	if (!nest)
		return -EMSGSIZE;
	if (name && rdma_nl_put_driver_string(msg, name, text))
		goto cancel;
	for (i = 0; i < n; i++)
		if (d[i].wide ? rdma_nl_put_driver_u64(msg, d[i].name, d[i].value) :
		    rdma_nl_put_driver_u32(msg, d[i].name, d[i].value))
			goto cancel;
	nla_nest_end(msg, nest);
	return 0;

cancel:
	nla_nest_cancel(msg, nest);
	return -EMSGSIZE;
}

/**
 * srnic_fill_res_mr_entry() - where a region's memory is, and its key's life
 * @msg: to add to
 * @ibmr: the region
 *
 * Return: 0, -EMSGSIZE.
 */
int srnic_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr)
{
	const struct srnic_mr *mr = to_srnic_mr(ibmr);
	struct srnic_mpt_view e = {};
	struct detail d[4];

	/* it may be registered anew meanwhile */
	srnic_mpt_view(mr->mpt, mr->user.e->slot, &e);
	d[0] = (struct detail){ "runs", e.runs };
	d[1] = (struct detail){ "table_bytes", e.table, .wide = true };
	d[2] = (struct detail){ "generation", e.gen };
	d[3] = (struct detail){ "revoked", e.state == SRNIC_MPT_REVOKED };
	return put_details(msg, d, ARRAY_SIZE(d), "memory",
			   e.kind == SRNIC_MPT_DMA ? "any" :
			   READ_ONCE(mr->memory) ?: "ram");
}

/**
 * srnic_fill_res_cq_entry() - where a CQ stands
 * @msg: to add to
 * @ibcq: the CQ
 *
 * Return: 0, -EMSGSIZE.
 */
int srnic_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct srnic_cq *cq = to_srnic_cq(ibcq);
	unsigned long flags;
	struct detail d[3];

	spin_lock_irqsave(&cq->lock, flags);
	d[0] = (struct detail){ "prod", cq->ring.idx };
	d[1] = (struct detail){ "armed", cq->notify };
	d[2] = (struct detail){ "overrun", cq->overrun };
	spin_unlock_irqrestore(&cq->lock, flags);
	return put_details(msg, d, ARRAY_SIZE(d), NULL, NULL);
}

/**
 * srnic_fill_res_qp_entry() - where both halves of a QP stand
 * @msg: to add to
 * @ibqp: the QP
 *
 * Return: 0, -EMSGSIZE.
 */
int srnic_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	struct detail d[8];

	spin_lock_bh(&qp->sq.lock);
	d[0] = (struct detail){ "sq_prod", qp->sq.prod };
	d[1] = (struct detail){ "sq_cons", qp->sq.cons };
	d[2] = (struct detail){ "sq_una_psn", qp->sq.una };
	d[3] = (struct detail){ "sq_next_psn", qp->sq.psn };
	d[4] = (struct detail){ "sq_retries_left", qp->sq.retries };
	spin_unlock_bh(&qp->sq.lock);

	spin_lock_bh(&qp->rq.lock);
	d[5] = (struct detail){ "rq_expected_psn", qp->rq.epsn };
	d[6] = (struct detail){ "rq_msn", qp->rq.msn };
	d[7] = (struct detail){ "rq_jobs", qp->rq.job_tail - qp->rq.job_head };
	spin_unlock_bh(&qp->rq.lock);
	return put_details(msg, d, ARRAY_SIZE(d), NULL, NULL);
}

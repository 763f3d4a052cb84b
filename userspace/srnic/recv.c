// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Receive work requests, of a QP or a shared receive queue.
 *
 * Posting needs no system call: the driver looks at the ring when a message
 * arrives. It asks for a doorbell (NEED_DOORBELL) only where new entries must
 * be acted upon without one, as in the error state.
 */
#include "srnic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int post_one(struct srnic_rq *rq, const struct ibv_recv_wr *wr,
		    uint32_t index)
{
	struct srnic_recv_wqe *wqe;

	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > rq->max_sge)
		return EINVAL;
	if (!srnic_ring_has_room(&rq->ring, index))
		return ENOMEM;
	wqe = srnic_ring_entry(&rq->ring, index);
	wqe->wr_id = wr->wr_id;
	wqe->num_sge = wr->num_sge;
	wqe->rsvd = 0;
	memcpy(wqe->sge, wr->sg_list, wr->num_sge * sizeof(wqe->sge[0]));
	return 0;
}

/* What there is of a list is published together, with one doorbell at most. */
static int post_list(struct srnic_rq *rq, struct ibv_context *context,
		     enum ib_uverbs_write_cmds command, uint32_t handle,
		     struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct ibv_recv_wr *first = wr;
	bool doorbell = false;
	uint32_t next;
	int ret = 0;

	srnic_lock(&rq->lock);
	next = rq->ring.mine;
	for (; wr; wr = wr->next) {
		ret = post_one(rq, wr, next);
		if (ret) {
			*bad_wr = wr;
			break;
		}
		next++;
	}
	if (next != rq->ring.mine)
		doorbell = srnic_ring_publish(&rq->ring, next);
	srnic_unlock(&rq->lock);

	if (doorbell) {
		int err = srnic_doorbell(context, command, handle);

		if (err && !ret) {
			*bad_wr = first;
			ret = err;
		}
	}
	return ret;
}

int srnic_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad_wr)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);

	/* IBTA C10-97.2.1: not in Reset; and not where an SRQ serves. */
	if (!qp->rq.ring.hdr || ibqp->state == IBV_QPS_RESET) {
		*bad_wr = wr;
		return EINVAL;
	}
	return post_list(&qp->rq, ibqp->context, IB_USER_VERBS_CMD_POST_RECV,
			 ibqp->handle, wr, bad_wr);
}

int srnic_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad_wr)
{
	return post_list(&to_srnic_srq(ibsrq)->rq, ibsrq->context,
			 IB_USER_VERBS_CMD_POST_SRQ_RECV, ibsrq->handle, wr,
			 bad_wr);
}

static int map_srq(struct srnic_srq *srq, int fd,
		   const struct srnic_create_srq_resp *resp, uint32_t max_sge)
{
	uint32_t room;
	int ret;

	ret = srnic_ring_map(&srq->rq.ring, fd, &resp->rq,
			     SRNIC_RECV_WQE_HDR_SIZE);
	if (ret)
		return ret;
	room = (resp->rq.stride - SRNIC_RECV_WQE_HDR_SIZE) /
	       sizeof(struct srnic_sge);
	srq->rq.max_sge = max_sge < room ? max_sge : room;
	srq->verbs.srq_num = resp->srq_num;
	return 0;
}

static struct srnic_srq *srq_alloc(struct ibv_pd *pd)
{
	struct srnic_srq *srq;
	int ret;

	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return NULL;
	/* QPs of several threads share it, so its PD's thread domain is moot. */
	(void)pd;
	ret = srnic_lock_init(&srq->rq.lock, true);
	if (ret) {
		free(srq);
		errno = ret;
		return NULL;
	}
	return srq;
}

static void srq_free(struct srnic_srq *srq)
{
	srnic_ring_unmap(&srq->rq.ring);
	srnic_lock_destroy(&srq->rq.lock);
	free(srq);
}

struct ibv_srq *srnic_create_srq_ex(struct ibv_context *context,
				    struct ibv_srq_init_attr_ex *attr)
{
	struct srnic_u_create_srq_ex_resp resp = {};
	struct ibv_create_xsrq cmd;
	struct srnic_srq *srq;
	int ret;

	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE &&
	    attr->srq_type != IBV_SRQT_BASIC) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	srq = srq_alloc(attr->pd);
	if (!srq)
		return NULL;
	ret = ibv_cmd_create_srq_ex(context, &srq->verbs, attr, &cmd,
				    sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (ret)
		goto free;
	ret = map_srq(srq, context->cmd_fd, &resp.drv_payload,
		      attr->attr.max_sge);
	if (ret)
		goto destroy;
	return &srq->verbs.srq;

destroy:
	ibv_cmd_destroy_srq(&srq->verbs.srq);
free:
	srq_free(srq);
	errno = ret;
	return NULL;
}

struct ibv_srq *srnic_create_srq(struct ibv_pd *pd,
				 struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex ex = {
		.srq_context = attr->srq_context,
		.attr = attr->attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_BASIC,
		.pd = pd,
	};
	struct ibv_srq *srq;

	srq = srnic_create_srq_ex(pd->context, &ex);
	if (srq)
		attr->attr = ex.attr;
	return srq;
}

int srnic_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
		     int attr_mask)
{
	struct ibv_modify_srq cmd;

	/* The ring has the size it was made with; the limit can change. */
	if (attr_mask & IBV_SRQ_MAX_WR)
		return EOPNOTSUPP;
	return ibv_cmd_modify_srq(ibsrq, attr, attr_mask, &cmd, sizeof(cmd));
}

int srnic_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr)
{
	struct ibv_query_srq cmd;

	return ibv_cmd_query_srq(ibsrq, attr, &cmd, sizeof(cmd));
}

int srnic_get_srq_num(struct ibv_srq *ibsrq, uint32_t *srq_num)
{
	*srq_num = to_srnic_srq(ibsrq)->verbs.srq_num;
	return 0;
}

int srnic_destroy_srq(struct ibv_srq *ibsrq)
{
	int ret;

	ret = ibv_cmd_destroy_srq(ibsrq);
	if (!ret)
		srq_free(to_srnic_srq(ibsrq));
	return ret;
}

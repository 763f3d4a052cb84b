// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queue pairs: life cycle. What goes through them is in send.c and recv.c.
 */
#include "srnic.h"

#include <errno.h>
#include <stdlib.h>

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static int map_sq(struct srnic_qp *qp, int fd,
		  const struct srnic_ring_info *info,
		  const struct ibv_qp_cap *cap)
{
	uint32_t room;
	int ret;

	ret = srnic_ring_map(&qp->sq.ring, fd, info, SRNIC_SEND_WQE_HDR_SIZE);
	if (ret)
		return ret;
	/* Whatever was promised: never write past the end of an entry. */
	room = info->stride - SRNIC_SEND_WQE_HDR_SIZE;
	qp->sq.max_sge = min_u32(cap->max_send_sge,
				 room / sizeof(struct srnic_sge));
	qp->sq.max_inline = min_u32(cap->max_inline_data, room);
	return 0;
}

static int map_rq(struct srnic_qp *qp, int fd,
		  const struct srnic_ring_info *info,
		  const struct ibv_qp_cap *cap)
{
	int ret;

	if (!info->size)
		return 0;	/* the QP has an SRQ */
	ret = srnic_ring_map(&qp->rq.ring, fd, info, SRNIC_RECV_WQE_HDR_SIZE);
	if (ret)
		return ret;
	qp->rq.max_sge = min_u32(cap->max_recv_sge,
				 (info->stride - SRNIC_RECV_WQE_HDR_SIZE) /
				 sizeof(struct srnic_sge));
	return 0;
}

static int map_rings(struct srnic_qp *qp, int fd,
		     const struct srnic_create_qp_resp *resp,
		     const struct ibv_qp_cap *cap)
{
	int ret;

	ret = map_sq(qp, fd, &resp->sq, cap);
	if (ret)
		return ret;
	ret = map_rq(qp, fd, &resp->rq, cap);
	if (ret)
		srnic_ring_unmap(&qp->sq.ring);
	return ret;
}

/* A QP in a thread domain needs no locks of its own. */
static struct srnic_qp *qp_alloc(struct ibv_pd *pd)
{
	bool locked = !(pd && to_srnic_pd(pd)->td);
	struct srnic_qp *qp;
	int ret;

	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;
	ret = srnic_lock_init(&qp->sq.lock, locked);
	if (ret)
		goto free;
	ret = srnic_lock_init(&qp->rq.lock, locked);
	if (ret)
		goto destroy_lock;
	qp->parent = srnic_parent_get(pd);
	return qp;

destroy_lock:
	srnic_lock_destroy(&qp->sq.lock);
free:
	free(qp);
	errno = ret;
	return NULL;
}

static void qp_free(struct srnic_qp *qp)
{
	srnic_ring_unmap(&qp->sq.ring);
	srnic_ring_unmap(&qp->rq.ring);
	srnic_lock_destroy(&qp->sq.lock);
	srnic_lock_destroy(&qp->rq.lock);
	srnic_parent_put(qp->parent);
	free(qp);
}

struct ibv_qp *srnic_create_qp_ex(struct ibv_context *context,
				  struct ibv_qp_init_attr_ex *attr)
{
	struct srnic_u_create_qp_ex_resp resp = {};
	struct ibv_create_qp_ex cmd = {};
	struct srnic_qp *qp;
	int ret;

	if (!check_comp_mask(attr->comp_mask, IBV_QP_INIT_ATTR_PD |
					      IBV_QP_INIT_ATTR_CREATE_FLAGS |
					      IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd) {
		errno = EINVAL;
		return NULL;
	}
	qp = qp_alloc(attr->pd);
	if (!qp)
		return NULL;
	ret = srnic_set_send_ops(qp, attr);
	if (ret)
		goto free;
	ret = ibv_cmd_create_qp_ex2(context, &qp->verbs, attr, &cmd,
				    sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (ret)
		goto free;
	ret = map_rings(qp, context->cmd_fd, &resp.drv_payload, &attr->cap);
	if (ret)
		goto destroy;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		qp->verbs.comp_mask |= VERBS_QP_EX;
	return &qp->verbs.qp;

destroy:
	ibv_cmd_destroy_qp(&qp->verbs.qp);
free:
	qp_free(qp);
	errno = ret;
	return NULL;
}

struct ibv_qp *srnic_create_qp(struct ibv_pd *pd,
			       struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct ibv_qp *qp;

	qp = srnic_create_qp_ex(pd->context, &ex);
	if (qp)
		attr->cap = ex.cap;
	return qp;
}

int srnic_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
		   int attr_mask, struct ibv_qp_init_attr *init_attr)
{
	struct ibv_query_qp cmd;

	return ibv_cmd_query_qp(ibqp, attr, attr_mask, init_attr, &cmd,
				sizeof(cmd));
}

/* The driver has emptied the ring and says in its header where it starts. */
static void restart_ring(struct srnic_lock *lock, struct srnic_ring *ring)
{
	if (!ring->hdr)
		return;
	srnic_lock(lock);
	ring->mine = __atomic_load_n(&ring->hdr->prod, __ATOMIC_ACQUIRE);
	ring->peer = __atomic_load_n(&ring->hdr->cons, __ATOMIC_ACQUIRE);
	srnic_unlock(lock);
}

/* Nothing of it comes any more: what has come is forgotten. */
static void clean_cqs(const struct ibv_qp *ibqp)
{
	srnic_cq_clean(ibqp->recv_cq, ibqp->qp_num);
	if (ibqp->send_cq != ibqp->recv_cq)
		srnic_cq_clean(ibqp->send_cq, ibqp->qp_num);
}

int srnic_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
		    int attr_mask)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	struct ibv_modify_qp cmd = {};
	int ret;

	ret = ibv_cmd_modify_qp(ibqp, attr, attr_mask, &cmd, sizeof(cmd));
	if (!ret && attr_mask & IBV_QP_STATE &&
	    attr->qp_state == IBV_QPS_RESET) {
		clean_cqs(ibqp);
		restart_ring(&qp->sq.lock, &qp->sq.ring);
		restart_ring(&qp->rq.lock, &qp->rq.ring);
	}
	return ret;
}

int srnic_destroy_qp(struct ibv_qp *ibqp)
{
	int ret;

	ret = ibv_cmd_destroy_qp(ibqp);
	if (ret)
		return ret;
	clean_cqs(ibqp);
	qp_free(to_srnic_qp(ibqp));
	return 0;
}

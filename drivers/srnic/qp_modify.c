// SPDX-License-Identifier: GPL-2.0
/*
 * The state machine of a QP (IBTA 10.3.1): what modify and query do.
 *
 * A change is prepared (everything that can fail: checks, the address vector),
 * then applied in one go under both locks, so neither half sees a part of it.
 */

#include "psn.h"
#include "qp.h"
#include "requester.h"
#include "response.h"
#include "rq.h"
#include "sq.h"

static void lock_both(struct srnic_qp *qp)
	__acquires(&qp->sq.lock) __acquires(&qp->rq.lock)
{
	spin_lock_bh(&qp->sq.lock);
	spin_lock(&qp->rq.lock);
}

static void unlock_both(struct srnic_qp *qp)
	__releases(&qp->rq.lock) __releases(&qp->sq.lock)
{
	spin_unlock(&qp->rq.lock);
	spin_unlock_bh(&qp->sq.lock);
}

static int check_path_mtu(const struct srnic_qp *qp, enum ib_mtu mtu)
{
	int ndev_mtu = READ_ONCE(qp->tp->port.ndev->mtu);

	if (mtu < IB_MTU_256 || mtu > IB_MTU_4096)
		return -EINVAL;
	if (mtu > srnic_net_mtu(ndev_mtu)) {
		ibdev_dbg(qp->ibqp.device, "path MTU %d doesn't fit in the netdev's %d\n",
			  ib_mtu_enum_to_int(mtu), ndev_mtu);
		return -EINVAL;
	}
	return 0;
}

/* What the core's table of transitions doesn't check. */
static int check_values(const struct srnic_qp *qp,
			const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_PORT && attr->port_num != 1)
		return -EINVAL;
	if (mask & IB_QP_PKEY_INDEX && attr->pkey_index)
		return -EINVAL;
	if (mask & IB_QP_ALT_PATH)
		return -EOPNOTSUPP;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC &&
	    attr->max_rd_atomic > SRNIC_MAX_RD_ATOMIC)
		return -EINVAL;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC &&
	    attr->max_dest_rd_atomic > SRNIC_MAX_RD_ATOMIC)
		return -EINVAL;
	if (mask & IB_QP_TIMEOUT && attr->timeout > 31)
		return -EINVAL;
	if (mask & IB_QP_RETRY_CNT && attr->retry_cnt > 7)
		return -EINVAL;
	if (mask & IB_QP_RNR_RETRY && attr->rnr_retry > 7)
		return -EINVAL;
	if (mask & IB_QP_MIN_RNR_TIMER && attr->min_rnr_timer > 31)
		return -EINVAL;
	if (mask & IB_QP_PATH_MTU)
		return check_path_mtu(qp, attr->path_mtu);
	return 0;
}

/* Values of the requester; remembered in qp->attr for query. */
static void apply_send(struct srnic_qp *qp, const struct ib_qp_attr *a, int mask)
{
	struct srnic_sq *sq = &qp->sq;

	lockdep_assert_held(&sq->lock);
	if (mask & IB_QP_SQ_PSN) {
		qp->attr.sq_psn = a->sq_psn & SRNIC_PSN_MASK;
		sq->psn = qp->attr.sq_psn;
		sq->max_psn = sq->psn;
		sq->una = sq->psn;
	}
	if (mask & IB_QP_TIMEOUT) {
		qp->attr.timeout = a->timeout;
		sq->timeout = a->timeout;
		srnic_requester_new_timeout(qp);
	}
	if (mask & IB_QP_RETRY_CNT) {
		qp->attr.retry_cnt = a->retry_cnt;
		sq->retry_cnt = a->retry_cnt;
		sq->retries = a->retry_cnt;
	}
	if (mask & IB_QP_RNR_RETRY) {
		qp->attr.rnr_retry = a->rnr_retry;
		sq->rnr_retry = a->rnr_retry;
		sq->rnr_retries = a->rnr_retry;
	}
	if (mask & IB_QP_MAX_QP_RD_ATOMIC) {
		qp->attr.max_rd_atomic = a->max_rd_atomic;
		sq->max_rd = a->max_rd_atomic;
	}
}

static void apply_recv(struct srnic_qp *qp, const struct ib_qp_attr *a, int mask)
{
	struct srnic_rq *rq = &qp->rq;

	lockdep_assert_held(&rq->lock);
	if (mask & IB_QP_RQ_PSN) {
		qp->attr.rq_psn = a->rq_psn & SRNIC_PSN_MASK;
		rq->epsn = qp->attr.rq_psn;
	}
	if (mask & IB_QP_MIN_RNR_TIMER) {
		qp->attr.min_rnr_timer = a->min_rnr_timer;
		rq->min_rnr_timer = a->min_rnr_timer;
	}
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC) {
		qp->attr.max_dest_rd_atomic = a->max_dest_rd_atomic;
		rq->max_rd = a->max_dest_rd_atomic;
	}
}

static void apply_common(struct srnic_qp *qp, const struct ib_qp_attr *a,
			 int mask)
{
	if (mask & IB_QP_ACCESS_FLAGS) {
		qp->attr.qp_access_flags = a->qp_access_flags;
		qp->access = a->qp_access_flags;
	}
	if (mask & IB_QP_QKEY) {
		qp->attr.qkey = a->qkey;
		qp->qkey = a->qkey;
	}
	if (mask & IB_QP_DEST_QPN) {
		qp->attr.dest_qp_num = a->dest_qp_num & SRNIC_PSN_MASK;
		qp->dest_qpn = qp->attr.dest_qp_num;
	}
	if (mask & IB_QP_PATH_MTU) {
		qp->attr.path_mtu = a->path_mtu;
		qp->mtu = ib_mtu_enum_to_int(a->path_mtu);
	}
	if (mask & IB_QP_AV) {
		qp->attr.ah_attr = a->ah_attr;
		qp->attr.ah_attr.grh.sgid_attr = NULL;
	}
}

static void enter_state(struct srnic_qp *qp, enum ib_qp_state state,
			const struct ib_qp_attr *a, int mask)
{
	WRITE_ONCE(qp->state, state);
	if (state == IB_QPS_RESET) {
		srnic_requester_reset(qp);
		srnic_response_reset(qp);
		srnic_sq_reset(qp);
		srnic_rq_reset(qp);
		srnic_cq_clean(to_srnic_cq(qp->ibqp.send_cq), &qp->ibqp);
		srnic_cq_clean(to_srnic_cq(qp->ibqp.recv_cq), &qp->ibqp);
	}
	if (state == IB_QPS_SQD)
		qp->sq.draining = mask & IB_QP_EN_SQD_ASYNC_NOTIFY &&
				  a->en_sqd_async_notify;
}

static int apply(struct srnic_qp *qp, struct ib_qp_attr *a, int mask)
{
	enum ib_qp_state cur, next;
	struct srnic_av *av = NULL, *old = NULL;

	if (mask & IB_QP_AV) {
		u32 peer = mask & IB_QP_DEST_QPN ? a->dest_qp_num : qp->dest_qpn;

		av = srnic_av_create(&qp->tp->port, &a->ah_attr,
				     qp->qpn ^ peer, GFP_KERNEL);
		if (IS_ERR(av))
			return PTR_ERR(av);
	}

	lock_both(qp);
	cur = qp->state;
	next = mask & IB_QP_STATE ? a->qp_state : cur;
	/* the state may have become ERR since the caller looked */
	if ((mask & IB_QP_CUR_STATE && a->cur_qp_state != cur) ||
	    !ib_modify_qp_is_ok(cur, next, qp->ibqp.qp_type, mask)) {
		unlock_both(qp);
		srnic_av_put(av);
		return -EINVAL;
	}
	apply_common(qp, a, mask);
	apply_send(qp, a, mask);
	apply_recv(qp, a, mask);
	if (av) {
		old = rcu_dereference_protected(qp->av,
						lockdep_is_held(&qp->sq.lock));
		rcu_assign_pointer(qp->av, av);
	}
	if (mask & IB_QP_STATE)
		enter_state(qp, next, a, mask);
	unlock_both(qp);

	srnic_av_put(old);
	return 0;
}

/**
 * srnic_qp_modify() - change attributes or the state
 * @qp: QP
 * @attr: new values
 * @mask: IB_QP_* of those that count
 *
 * Context: process context.
 * Return: 0, -EINVAL for a transition or a value that can't be, -EOPNOTSUPP for
 * an alternate path, or why there is no way to the peer.
 */
int srnic_qp_modify(struct srnic_qp *qp, struct ib_qp_attr *attr, int mask)
{
	int err;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	err = check_values(qp, attr, mask);
	if (err)
		return err;

	mutex_lock(&qp->modify);
	err = apply(qp, attr, mask);
	mutex_unlock(&qp->modify);
	if (err)
		return err;

	/* flush, or go on with work that was posted meanwhile */
	srnic_qp_run(qp);
	return 0;
}

/**
 * srnic_qp_query() - tell attributes and state
 * @qp: QP
 * @attr: filled
 * @mask: what is asked for; everything is told
 * @init: filled
 *
 * Return: 0.
 */
int srnic_qp_query(struct srnic_qp *qp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init)
{
	mutex_lock(&qp->modify);
	*attr = qp->attr;
	attr->qp_state = READ_ONCE(qp->state);
	attr->cur_qp_state = attr->qp_state;
	attr->path_mig_state = IB_MIG_MIGRATED;
	attr->port_num = 1;
	srnic_sq_lock(qp);
	attr->sq_psn = qp->sq.psn;
	attr->sq_draining = qp->state == IB_QPS_SQD &&
			    !srnic_requester_drained(qp);
	srnic_sq_unlock(qp);
	srnic_rq_lock(qp);
	attr->rq_psn = qp->rq.epsn;
	srnic_rq_unlock(qp);
	attr->cap = (struct ib_qp_cap) {
		.max_send_wr = qp->sq.depth,
		.max_recv_wr = qp->rq.ring.depth,
		.max_send_sge = qp->sq.max_sge,
		.max_recv_sge = qp->rq.max_sge,
		.max_inline_data = qp->sq.max_inline,
	};
	mutex_unlock(&qp->modify);

	*init = (struct ib_qp_init_attr) {
		.event_handler = qp->ibqp.event_handler,
		.qp_context = qp->ibqp.qp_context,
		.send_cq = qp->ibqp.send_cq,
		.recv_cq = qp->ibqp.recv_cq,
		.cap = attr->cap,
		.sq_sig_type = qp->sq.all_signaled ? IB_SIGNAL_ALL_WR :
						     IB_SIGNAL_REQ_WR,
		.qp_type = qp->ibqp.qp_type,
	};
	return 0;
}

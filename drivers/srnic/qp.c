// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs: birth, death, and what comes in from outside.
 *
 * Lifetime: a QP is published in tp->qps when it is complete. srnic_qp_destroy()
 * puts it into RESET under both locks (nothing is sent or received from then
 * on), takes it out of the table, waits for an RCU grace period (no softirq
 * holds a pointer any more), then stops timers and the work item, in this
 * order: nothing that has been stopped can be started by what still runs.
 */
#include "qp.h"

#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/ib_mad.h>
#include <rdma/uverbs_ioctl.h>

#include "completer.h"
#include "requester.h"
#include "responder.h"
#include "response.h"
#include "rq.h"
#include "sq.h"
#include "trace.h"

/**
 * srnic_tp_init() - make the transport of a device
 * @tp: filled
 * @ibdev: the device
 * @mpt: its key table
 * @mw_2a: its windows of type 2 are of type 2A
 * @stats: its counters
 *
 * Return: 0, -ENOMEM.
 */
int srnic_tp_init(struct srnic_tp *tp, struct ib_device *ibdev,
		  struct srnic_mpt *mpt, bool mw_2a,
		  struct srnic_stats __percpu *stats)
{
	tp->ledger = srnic_ledger_create();
	if (!tp->ledger)
		return -ENOMEM;
	tp->ibdev = ibdev;
	tp->mpt = mpt;
	srnic_mws_init(&tp->mws, ibdev, mpt, mw_2a);
	tp->stats = stats;
	atomic_set(&tp->nqps, 0);
	xa_init(&tp->qps);
	xa_init_flags(&tp->ahs, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH);
	return 0;
}

/**
 * srnic_tp_exit() - the device goes; it has no QP and no AH
 * @tp: transport
 */
void srnic_tp_exit(struct srnic_tp *tp)
{
	WARN_ON(!xa_empty(&tp->qps));
	WARN_ON(!xa_empty(&tp->ahs));
	srnic_mws_exit(&tp->mws);
	xa_destroy(&tp->qps);
	xa_destroy(&tp->ahs);
	srnic_ledger_destroy(tp->ledger);
}

/**
 * srnic_tp_receive() - a packet for one of the QPs
 * @port: our end of the netdev
 * @rx: the packet
 *
 * Context: softirq, RCU.
 */
void srnic_tp_receive(struct srnic_port *port, const struct srnic_rx *rx)
{
	struct srnic_tp *tp = container_of(port, struct srnic_tp, port);
	const struct srnic_pkt *pkt = &rx->pkt;
	struct srnic_qp *qp = xa_load(&tp->qps, pkt->qpn);

	if (!qp || !(pkt->op->qpt & qp->type)) {
		srnic_count(tp->stats, SRNIC_STAT_UNKNOWN_QP);
		return;
	}
	/* all members of the default partition may talk to us (IBTA 10.9.3) */
	if ((pkt->pkey & 0x7fff) != (IB_DEFAULT_PKEY_FULL & 0x7fff)) {
		srnic_count(tp->stats, SRNIC_STAT_BAD_PKEY);
		return;
	}
	if (pkt->op->response)
		srnic_completer_receive(qp, rx);
	else
		srnic_responder_receive(qp, rx);
}

static void refused(struct srnic_qp *qp, enum srnic_key_reason why,
		    const struct srnic_mpt_req *rq, u8 opcode, u32 psn,
		    const union ib_gid *peer, bool write_down)
{
	const struct srnic_av *av = srnic_qp_av(qp);
	struct srnic_refusal r = {
		.when = ktime_get_real_ns(),
		.why = why,
		.opcode = opcode,
		.qpn = qp->qpn,
		.psn = psn,
		.rq = *rq,
	};

	if (peer)
		r.peer = *peer;
	else if (av)
		srnic_av_gid(av, &r.peer);
	srnic_count(qp->tp->stats,
		    SRNIC_STAT_KEY_UNKNOWN + why - SRNIC_KEY_UNKNOWN);
	if (write_down)
		srnic_ledger_add(qp->tp->ledger, &r);
	trace_key_refused(qp->tp->ibdev->name,
			  srnic_key_reason_name(why), rq->key, rq->addr,
			  rq->len, qp->qpn, psn, opcode, r.peer.raw);
}

/**
 * srnic_qp_refused() - a key was refused
 * @qp: by whom; one of its locks is held
 * @why: the reason, not SRNIC_KEY_OK
 * @rq: what was wanted
 * @opcode: of the packet that asked for it, or wasn't sent for it
 * @psn: its PSN
 * @peer: where it came from or would have gone to; NULL: the QP's peer
 *
 * The caller ends the connection, or a receive.
 */
void srnic_qp_refused(struct srnic_qp *qp, enum srnic_key_reason why,
		      const struct srnic_mpt_req *rq, u8 opcode, u32 psn,
		      const union ib_gid *peer)
{
	refused(qp, why, rq, opcode, psn, peer, true);
}

/**
 * srnic_qp_refused_repeat() - the same of what has been executed already
 * @qp: by whom; rq.lock held
 * @why: as above
 * @rq: as above
 * @opcode: as above
 * @psn: as above
 *
 * It doesn't end the connection, so a peer may have it as often as it likes: each is
 * counted, and the first one of a connection is written down.
 */
void srnic_qp_refused_repeat(struct srnic_qp *qp, enum srnic_key_reason why,
			     const struct srnic_mpt_req *rq, u8 opcode, u32 psn)
{
	lockdep_assert_held(&qp->rq.lock);
	refused(qp, why, rq, opcode, psn, NULL, !qp->rq.repeat_told);
	qp->rq.repeat_told = true;
}

/**
 * srnic_qp_event() - have an affiliated event reported
 * @qp: QP
 * @event: IB_EVENT_*, below BITS_PER_LONG
 *
 * Context: any. The handler is called from the work item, without locks.
 */
void srnic_qp_event(struct srnic_qp *qp, enum ib_event_type event)
{
	set_bit(event, &qp->events);
	queue_work(system_bh_wq, &qp->work);
}

/**
 * srnic_qp_error() - the QP has failed
 * @qp: QP; sq.lock or rq.lock is held
 *
 * The half that calls flushes itself; the work item sees to the other.
 */
void srnic_qp_error(struct srnic_qp *qp)
{
	if (qp->state == IB_QPS_RESET)
		return;
	WRITE_ONCE(qp->state, IB_QPS_ERR);
	queue_work(system_bh_wq, &qp->work);
}

static void report_events(struct srnic_qp *qp)
{
	struct ib_event ev = {
		.device = qp->ibqp.device,
		.element.qp = &qp->ibqp,
	};
	unsigned long events = xchg(&qp->events, 0);
	unsigned int bit;

	if (!qp->ibqp.event_handler)
		return;
	for_each_set_bit(bit, &events, BITS_PER_LONG) {
		ev.event = bit;
		qp->ibqp.event_handler(&ev, qp->ibqp.qp_context);
	}
}

/**
 * srnic_qp_run() - both halves go on with what waits, or flush it
 * @qp: QP
 *
 * Context: process context; takes the lock of the SQ, then that of the RQ.
 */
void srnic_qp_run(struct srnic_qp *qp)
{
	srnic_sq_lock(qp);
	srnic_requester_run(qp);
	srnic_sq_unlock(qp);

	srnic_rq_lock(qp);
	srnic_responder_run(qp);
	srnic_rq_unlock(qp);
}

static void qp_work(struct work_struct *work)
{
	struct srnic_qp *qp = container_of(work, struct srnic_qp, work);

	srnic_qp_run(qp);
	if (READ_ONCE(qp->events))
		report_events(qp);
}

/*
 * A free number that says nothing about the next: random, with as many tries as
 * a quarter full table needs to fail once in 2^64.
 */
static int qp_publish(struct srnic_qp *qp)
{
	struct srnic_tp *tp = qp->tp;
	int tries, err;

	if (qp->ibqp.qp_type == IB_QPT_GSI) {
		qp->qpn = 1;
		qp->ibqp.qp_num = 1;
		return xa_insert(&tp->qps, 1, qp, GFP_KERNEL);
	}
	for (tries = 0; tries < 32; tries++) {
		/* 0 and 1 are special, 0xffffff means multicast */
		qp->qpn = get_random_u32_inclusive(2, 0xfffffe);
		qp->ibqp.qp_num = qp->qpn;
		err = xa_insert(&tp->qps, qp->qpn, qp, GFP_KERNEL);
		if (err != -EBUSY)
			return err;
	}
	return -ENOMEM;
}

static int qp_halves(struct srnic_qp *qp, struct ib_qp_init_attr *init,
		     struct ib_udata *udata)
{
	struct srnic_create_qp_resp resp = {};
	struct ib_ucontext *uctx = NULL;
	int err;

	if (udata) {
		if (udata->outlen < sizeof(resp))
			return -EINVAL;
		uctx = rdma_udata_to_uverbs_attr_bundle(udata)->context;
	}
	err = srnic_sq_create(qp, &init->cap, uctx, &resp.sq);
	if (err)
		return err;
	err = srnic_rq_create(qp, &init->cap, uctx, &resp.rq);
	if (err)
		goto destroy_sq;
	if (udata) {
		err = ib_copy_to_udata(udata, &resp, sizeof(resp));
		if (err)
			goto destroy_rq;
	}
	return 0;

destroy_rq:
	srnic_rq_destroy(qp);
destroy_sq:
	srnic_sq_destroy(qp);
	return err;
}

/**
 * srnic_qp_create() - make a QP
 * @tp: the device's transport
 * @qp: zeroed by the core, which has filled in the PD, CQs and handlers
 * @init: what is asked for; cap is changed to what there is
 * @udata: NULL for kernel users
 *
 * Return: 0, -EOPNOTSUPP for another type or flag, -EINVAL beyond the limits,
 * -ENOMEM.
 */
int srnic_qp_create(struct srnic_tp *tp, struct srnic_qp *qp,
		    struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	int err;

	switch (init->qp_type) {
	case IB_QPT_RC:
		qp->type = SRNIC_QPT_RC;
		break;
	case IB_QPT_UD:
	case IB_QPT_GSI:
		qp->type = SRNIC_QPT_UD;
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (init->create_flags || init->srq)
		return -EOPNOTSUPP;
	if (!init->send_cq || !init->recv_cq)
		return -EINVAL;

	qp->tp = tp;
	qp->pdn = to_srnic_pd(qp->ibqp.pd)->pdn;
	qp->user = udata;
	qp->state = IB_QPS_RESET;
	qp->mtu = 256;
	qp->ibqp.qp_type = init->qp_type;
	qp->sq.all_signaled = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	mutex_init(&qp->modify);
	srnic_mw_list_init(&qp->bound);
	INIT_WORK(&qp->work, qp_work);
	srnic_requester_init(qp);
	srnic_response_init(qp);

	if (atomic_inc_return(&tp->nqps) > SRNIC_MAX_QP) {
		err = -ENOMEM;
		goto uncount;
	}
	err = qp_halves(qp, init, udata);
	if (err)
		goto uncount;
	srnic_sq_lock(qp);
	srnic_sq_reset(qp);
	srnic_sq_unlock(qp);
	srnic_rq_lock(qp);
	srnic_rq_reset(qp);
	srnic_rq_unlock(qp);
	err = qp_publish(qp);
	if (err)
		goto destroy_halves;
	return 0;

destroy_halves:
	srnic_rq_destroy(qp);
	srnic_sq_destroy(qp);
uncount:
	atomic_dec(&tp->nqps);
	return err;
}

/**
 * srnic_qp_destroy() - end a QP
 * @qp: QP; the core frees it afterwards
 *
 * Context: process context. Bounded: waits for one grace period and for what
 * is running, never for the peer.
 * Return: 0.
 */
int srnic_qp_destroy(struct srnic_qp *qp)
{
	struct srnic_tp *tp = qp->tp;

	srnic_sq_lock(qp);
	spin_lock(&qp->rq.lock);
	WRITE_ONCE(qp->state, IB_QPS_RESET);
	spin_unlock(&qp->rq.lock);
	srnic_sq_unlock(qp);

	/* before another QP can have the number; this one binds no more */
	srnic_mw_list_invalidate(&tp->mws, &qp->bound);
	xa_erase(&tp->qps, qp->qpn);
	synchronize_rcu_expedited();
	srnic_requester_stop(qp);
	srnic_response_stop(qp);
	cancel_work_sync(&qp->work);

	srnic_cq_clean(to_srnic_cq(qp->ibqp.send_cq), &qp->ibqp);
	srnic_cq_clean(to_srnic_cq(qp->ibqp.recv_cq), &qp->ibqp);
	if (rcu_access_pointer(qp->av))
		srnic_av_put(rcu_dereference_protected(qp->av, 1));
	srnic_rq_destroy(qp);
	srnic_sq_destroy(qp);
	atomic_dec(&tp->nqps);
	return 0;
}

/*
 * Send in the posting call. Where bottom halves can't run here and now, the
 * work item does it. It also calls a kernel user's completion handler: the user
 * may hold a lock of its own while it posts that the handler wants.
 */
static void kick_send(struct srnic_qp *qp)
{
	bool later = irqs_disabled();

	if (!later) {
		srnic_sq_lock(qp);
		srnic_requester_run(qp);
		if (qp->user) {
			srnic_sq_unlock(qp);
		} else {
			later = qp->sq.wake;
			spin_unlock_bh(&qp->sq.lock);
		}
	}
	if (later)
		queue_work(system_bh_wq, &qp->work);
}

/**
 * srnic_qp_post_send() - post send work, or ring a program's doorbell
 * @qp: QP
 * @wr: requests of a kernel user; of a program: NULL, its ring holds them
 * @bad: the request that wasn't taken
 *
 * Context: any, a hard interrupt as well.
 * Return: 0, -EINVAL in a state or for a request that makes no sense, -ENOMEM
 * when the queue is full.
 */
int srnic_qp_post_send(struct srnic_qp *qp, const struct ib_send_wr *wr,
		       const struct ib_send_wr **bad)
{
	unsigned long flags;
	int err = 0;

	if (qp->user) {
		kick_send(qp);
		return 0;
	}
	spin_lock_irqsave(&qp->sq.post_lock, flags);
	for (; wr; wr = wr->next) {
		err = READ_ONCE(qp->state) < IB_QPS_RTS ? -EINVAL : srnic_sq_post(qp, wr);
		if (err)
			break;
	}
	spin_unlock_irqrestore(&qp->sq.post_lock, flags);
	if (err && bad)
		*bad = wr;
	kick_send(qp);
	return err;
}

/**
 * srnic_qp_post_recv() - post receives, or ring a program's doorbell
 * @qp: QP
 * @wr: requests of a kernel user; of a program: NULL, its ring holds them
 * @bad: the request that wasn't taken
 *
 * Context: any, a hard interrupt as well.
 * Return: as srnic_qp_post_send().
 */
int srnic_qp_post_recv(struct srnic_qp *qp, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad)
{
	unsigned long flags;
	int err = 0;

	if (!qp->user) {
		spin_lock_irqsave(&qp->rq.post_lock, flags);
		for (; wr; wr = wr->next) {
			err = READ_ONCE(qp->state) == IB_QPS_RESET ?
				      -EINVAL : srnic_rq_post(qp, wr);
			if (err)
				break;
		}
		spin_unlock_irqrestore(&qp->rq.post_lock, flags);
		if (err && bad)
			*bad = wr;
	}
	/* pairs with srnic_rq_flush(): the state, or the receive, is seen */
	smp_mb();
	/* in the error state they are flushed at once */
	if (READ_ONCE(qp->state) == IB_QPS_ERR)
		queue_work(system_bh_wq, &qp->work);
	return err;
}

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRNIC_QP_H
#define SRNIC_QP_H

#include <linux/hrtimer.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "cq.h"
#include "ledger.h"
#include "mpt.h"
#include "mw.h"
#include "net.h"

/**
 * struct srnic_tp - the transport of one device: all that QPs share
 * @ibdev: the device
 * @port: its end of the netdev
 * @mpt: its key table
 * @mws: its memory windows
 * @stats: its counters
 * @ledger: its last refusals
 * @qps: QPN -> struct srnic_qp. Readers: RCU. A QP leaves it, and a grace
 *	period passes, before it is freed. The GSI QP is number 1.
 * @ahs: handle -> struct srnic_av, of programs' AHs. Readers: RCU.
 * @nqps: number of QPs
 */
struct srnic_tp {
	struct ib_device *ibdev;
	struct srnic_port port;
	struct srnic_mpt *mpt;
	struct srnic_mws mws;
	struct srnic_stats __percpu *stats;
	struct srnic_ledger *ledger;
	struct xarray qps;
	struct xarray ahs;
	atomic_t nqps;
};

/* What the device promises (ib_device_attr), and what QPs may ask for. */
#define SRNIC_MAX_QP		BIT(16)
#define SRNIC_MAX_QP_WR		16384
#define SRNIC_MAX_SGE		32
#define SRNIC_MAX_INLINE	1024
#define SRNIC_MAX_RD_ATOMIC	128
#define SRNIC_MAX_MSG		BIT(31)
#define SRNIC_MAX_AH		BIT(20)

int srnic_tp_init(struct srnic_tp *tp, struct ib_device *ibdev,
		  struct srnic_mpt *mpt, bool mw_2a,
		  struct srnic_stats __percpu *stats);
void srnic_tp_exit(struct srnic_tp *tp);
/* srnic_port's handler */
void srnic_tp_receive(struct srnic_port *port, const struct srnic_rx *rx);

struct srnic_pd {
	struct ib_pd ibpd;
	u32 pdn;
};

static inline struct srnic_pd *to_srnic_pd(struct ib_pd *ibpd)
{
	return container_of(ibpd, struct srnic_pd, ibpd);
}

struct srnic_ah {
	struct ib_ah ibah;
	struct srnic_av *av;
	u32 handle;	/* of a program's AH in tp->ahs */
};

static inline struct srnic_ah *to_srnic_ah(struct ib_ah *ibah)
{
	return container_of(ibah, struct srnic_ah, ibah);
}

#include "qp_types.h"

/* Verbs on QPs (qp.c, qp_modify.c); the verbs layer only wraps them. */
int srnic_qp_create(struct srnic_tp *tp, struct srnic_qp *qp,
		    struct ib_qp_init_attr *init, struct ib_udata *udata);
int srnic_qp_destroy(struct srnic_qp *qp);
int srnic_qp_modify(struct srnic_qp *qp, struct ib_qp_attr *attr, int mask);
int srnic_qp_query(struct srnic_qp *qp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init);
/*
 * The QP has failed: flush both halves, soon. One of its locks is held.
 */
void srnic_qp_run(struct srnic_qp *qp);
void srnic_qp_error(struct srnic_qp *qp);
/*
 * A key was refused: count why, and write it down. opcode, psn: of the packet;
 * peer: NULL: the QP's, one of its locks is held.
 */
void srnic_qp_refused_repeat(struct srnic_qp *qp, enum srnic_key_reason why,
			     const struct srnic_mpt_req *rq, u8 opcode, u32 psn);
void srnic_qp_refused(struct srnic_qp *qp, enum srnic_key_reason why,
		      const struct srnic_mpt_req *rq, u8 opcode, u32 psn,
		      const union ib_gid *peer);
/* Have the work item report IB_EVENT_* . Any context. */
void srnic_qp_event(struct srnic_qp *qp, enum ib_event_type event);

/* A completion was lost: nothing on this QP can be reported any more. */
static inline void srnic_qp_lost_completion(struct srnic_qp *qp)
{
	if (qp->state == IB_QPS_ERR || qp->state == IB_QPS_RESET)
		return;
	/* the event for what 'prevents reporting of completions' (IBTA 11.6.3.2) */
	srnic_qp_event(qp, IB_EVENT_QP_FATAL);
	srnic_qp_error(qp);
}

/* A datagram has failed: the send half stops, unless the whole QP has failed. */
static inline void srnic_qp_send_error(struct srnic_qp *qp)
{
	u8 state = READ_ONCE(qp->state);

	/* the other half may find an error at this moment: that outranks ours */
	if (state != IB_QPS_ERR)
		cmpxchg(&qp->state, state, IB_QPS_SQE);
}

int srnic_qp_post_send(struct srnic_qp *qp, const struct ib_send_wr *wr,
		       const struct ib_send_wr **bad);
int srnic_qp_post_recv(struct srnic_qp *qp, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad);

#endif /* SRNIC_QP_H */

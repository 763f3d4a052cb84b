/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRNIC_CQ_H
#define SRNIC_CQ_H

#include "ring.h"

struct srnic_cq {
	struct ib_cq ibcq;
	/* Protects everything below. Taken under a QP's sq.lock or rq.lock;
	 * nothing is taken under it and no handler is called under it.
	 */
	spinlock_t lock;
	struct srnic_ring ring;
	bool user;
	bool overrun;		/* never reset */
	bool error_due;		/* the event handler is to be told of it */
	u8 notify;		/* enum ib_cq_notify_flags that are armed */
	u32 cons;		/* kernel users: next to poll */
};

static inline struct srnic_cq *to_srnic_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct srnic_cq, ibcq);
}

#define SRNIC_MAX_CQE	BIT(20)

int srnic_cq_create(struct srnic_cq *cq, struct ib_ucontext *uctx, u32 depth,
		    struct srnic_ring_info *info);
void srnic_cq_destroy(struct srnic_cq *cq);
int srnic_cq_resize(struct srnic_cq *cq, struct ib_ucontext *uctx, u32 depth,
		    struct srnic_ring_info *info);
/*
 * true: the caller must call srnic_cq_wake() once it has dropped its locks.
 * qp: for kernel users' work completions.
 */
bool srnic_cq_push(struct srnic_cq *cq, const struct srnic_cqe *cqe,
		   struct ib_qp *qp, bool solicited);
void srnic_cq_wake(struct srnic_cq *cq);

/*
 * An entry found no room, and no later one will: whoever has just pushed one
 * must take it for lost.
 */
static inline bool srnic_cq_has_lost(const struct srnic_cq *cq)
{
	return READ_ONCE(cq->overrun);
}

/* Kernel users: forget what this QP has completed. A program does it itself. */
void srnic_cq_clean(struct srnic_cq *cq, const struct ib_qp *qp);
int srnic_cq_poll(struct srnic_cq *cq, int n, struct ib_wc *wc);
int srnic_cq_arm(struct srnic_cq *cq, enum ib_cq_notify_flags flags);

#endif /* SRNIC_CQ_H */

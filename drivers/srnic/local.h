/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Work requests that are about a key of our own and send nothing. See local.c.
 */
#ifndef SRNIC_LOCAL_H
#define SRNIC_LOCAL_H

#include "qp.h"

/* In the place of a packet's opcode, in the ledger; a number of no packet. */
#define SRNIC_OPCODE_LOCAL	0xff

static inline bool srnic_swqe_is_local(const struct srnic_swqe *wqe)
{
	return wqe->kind == SRNIC_OP_LOCAL;
}

/* Must all before it be completed when it is executed? */
static inline bool srnic_local_waits(const struct srnic_swqe *wqe)
{
	return wqe->opcode == IB_WR_LOCAL_INV;
}

/* sq.lock held. Fills in status and why, or done. */
void srnic_local_execute(struct srnic_qp *qp, struct srnic_swqe *wqe);

/* One of the QP's locks held: whoever has it wants that key dead. */
enum srnic_key_reason srnic_local_invalidate(struct srnic_qp *qp, u32 key,
					     u8 opcode, u32 psn);

#endif /* SRNIC_LOCAL_H */

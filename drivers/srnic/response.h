/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRNIC_RESPONSE_H
#define SRNIC_RESPONSE_H

#include "qp.h"

/* All: rq.lock held. */
bool srnic_response_room(const struct srnic_rq *rq);
bool srnic_response_waits(const struct srnic_qp *qp, u32 psn, u32 len);
void srnic_response_read(struct srnic_rq *rq, u32 psn, u64 va, u32 rkey, u32 len,
			 bool repeat);
void srnic_response_atomic(struct srnic_rq *rq, u32 psn, u64 orig, u8 kind);
void srnic_response_ack(struct srnic_rq *rq);
void srnic_response_nak_repeat(struct srnic_rq *rq, u32 psn);
void srnic_response_nak(struct srnic_rq *rq, u32 psn, u8 syndrome, bool fatal);
void srnic_response_run(struct srnic_qp *qp);

void srnic_response_init(struct srnic_qp *qp);
void srnic_response_reset(struct srnic_qp *qp);
void srnic_response_stop(struct srnic_qp *qp);

#endif /* SRNIC_RESPONSE_H */

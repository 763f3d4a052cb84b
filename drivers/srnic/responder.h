/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRNIC_RESPONDER_H
#define SRNIC_RESPONDER_H

#include "qp.h"

/* A request has come. Softirq, RCU. */
void srnic_responder_receive(struct srnic_qp *qp, const struct srnic_rx *rx);
/* rq.lock held: send the responses that wait, or flush. */
void srnic_responder_run(struct srnic_qp *qp);

#endif /* SRNIC_RESPONDER_H */

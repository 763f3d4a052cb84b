/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRNIC_REQUESTER_H
#define SRNIC_REQUESTER_H

#include "qp.h"

/* sq.lock held: send what may be sent, within a budget. */
void srnic_requester_run(struct srnic_qp *qp);
/* sq.lock held: go back to sq.una, unless the retries are used up. */
void srnic_requester_retry(struct srnic_qp *qp);
/* sq.lock held: sq.timeout has been changed */
void srnic_requester_new_timeout(struct srnic_qp *qp);
/* sq.lock held, SQD: nothing is on its way any more */
bool srnic_requester_drained(const struct srnic_qp *qp);
/* sq.lock held: send nothing for so long */
void srnic_requester_pause(struct srnic_qp *qp, u64 ns);
/* sq.lock held: the peer has acknowledged something */
void srnic_requester_progress(struct srnic_qp *qp, u32 npsn);

void srnic_requester_init(struct srnic_qp *qp);
/* sq.lock held, RESET: no timer of this life fires in the next. */
void srnic_requester_reset(struct srnic_qp *qp);
/* Timers are off for good. */
void srnic_requester_stop(struct srnic_qp *qp);

#endif /* SRNIC_REQUESTER_H */

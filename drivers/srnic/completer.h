/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRNIC_COMPLETER_H
#define SRNIC_COMPLETER_H

#include "qp.h"

/* A response has come. Softirq, RCU. */
void srnic_completer_receive(struct srnic_qp *qp, const struct srnic_rx *rx);

#endif /* SRNIC_COMPLETER_H */

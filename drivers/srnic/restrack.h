/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRNIC_RESTRACK_H
#define SRNIC_RESTRACK_H

#include <rdma/ib_verbs.h>

/* What 'rdma resource show -d' tells of an object beyond what the core knows. */
int srnic_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr);
int srnic_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq);
int srnic_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp);

#endif /* SRNIC_RESTRACK_H */

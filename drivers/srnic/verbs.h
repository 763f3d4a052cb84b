/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRNIC_VERBS_H
#define SRNIC_VERBS_H

#include <rdma/ib_verbs.h>

/* What the RDMA core may ask of a device; the essay is in verbs.c. */
extern const struct ib_device_ops srnic_dev_ops;

#endif /* SRNIC_VERBS_H */

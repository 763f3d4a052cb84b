/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRNIC_COUNTERS_H
#define SRNIC_COUNTERS_H

#include <rdma/ib_verbs.h>

#include "stats.h"

/* A counter's value, over all CPUs. */
u64 srnic_stat_sum(const struct srnic_stats __percpu *stats,
		   enum srnic_stat which);

struct rdma_hw_stats *srnic_alloc_hw_port_stats(struct ib_device *ibdev,
						u32 port);
int srnic_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		       u32 port, int index);

#endif /* SRNIC_COUNTERS_H */

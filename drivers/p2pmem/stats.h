/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What has happened to a donation: one array for each CPU, raised without a
 * shared cache line, summed when somebody looks.
 */
#ifndef _P2PMEM_STATS_H
#define _P2PMEM_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>

#include "donation.h"

enum p2pmem_stat {
	P2PMEM_STAT_BYTES_IN,
	P2PMEM_STAT_BYTES_OUT,
	P2PMEM_STAT_ALLOCATIONS,
	P2PMEM_STAT_FULL,
	P2PMEM_STAT_HOLDS,
	P2PMEM_STAT_PINS,
	P2PMEM_STAT_FLUSHES,
	P2PMEM_STAT_REVOKES,
	P2PMEM_STAT_REFUSALS,
	P2PMEM_STATS,
};

struct p2pmem_stats {
	u64 v[P2PMEM_STATS];
};

/** p2pmem_count() - @n more of it; any context */
static inline void p2pmem_count(const struct p2pmem *p, enum p2pmem_stat what,
				u64 n)
{
	this_cpu_add(p->stats->v[what], n);
}

extern const struct attribute_group p2pmem_stats_group;

#endif /* _P2PMEM_STATS_H */

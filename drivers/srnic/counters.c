// SPDX-License-Identifier: GPL-2.0
/*
 * The names of the counters, and their values for 'rdma statistic' and
 * /sys/class/infiniband/DEV/ports/1/hw_counters.
 */
#include "counters.h"

#include "device.h"
#include "mpt.h"

static const struct rdma_stat_desc descs[] = {
	[SRNIC_STAT_SENT_PKTS].name = "sent_pkts",
	[SRNIC_STAT_RCVD_PKTS].name = "rcvd_pkts",
	[SRNIC_STAT_DUPLICATE_REQUEST].name = "duplicate_request",
	[SRNIC_STAT_OUT_OF_SEQ_REQUEST].name = "out_of_seq_request",
	[SRNIC_STAT_RCVD_RNR_ERR].name = "rcvd_rnr_err",
	[SRNIC_STAT_SEND_RNR_ERR].name = "send_rnr_err",
	[SRNIC_STAT_RCVD_SEQ_ERR].name = "rcvd_seq_err",
	[SRNIC_STAT_ACK_DEFERRED].name = "ack_deferred",
	[SRNIC_STAT_RETRY_EXCEEDED_ERR].name = "retry_exceeded_err",
	[SRNIC_STAT_RETRY_RNR_EXCEEDED_ERR].name = "retry_rnr_exceeded_err",
	[SRNIC_STAT_COMPLETER_RETRY_ERR].name = "completer_retry_err",
	[SRNIC_STAT_SEND_ERR].name = "send_err",
	[SRNIC_STAT_LINK_DOWNED].name = "link_downed",
	[SRNIC_STAT_RDMA_SENDS].name = "rdma_sends",
	[SRNIC_STAT_RDMA_RECVS].name = "rdma_recvs",
	[SRNIC_STAT_ICRC_ERR].name = "icrc_err",
	[SRNIC_STAT_MALFORMED_PKTS].name = "malformed_pkts",
	[SRNIC_STAT_UNKNOWN_QP].name = "unknown_qp",
	[SRNIC_STAT_BAD_PKEY].name = "bad_pkey",
	[SRNIC_STAT_BAD_QKEY].name = "bad_qkey",
	[SRNIC_STAT_BAD_SOURCE].name = "bad_source",
	[SRNIC_STAT_NO_RECV_WQE].name = "no_recv_wqe",
	[SRNIC_STAT_IMPLIED_NAK].name = "implied_nak",
	[SRNIC_STAT_TIMEOUTS].name = "timeouts",
	[SRNIC_STAT_LOCAL_DROPS].name = "local_drops",
	[SRNIC_STAT_KEY_UNKNOWN].name = "key_unknown",
	[SRNIC_STAT_KEY_STALE].name = "key_stale",
	[SRNIC_STAT_KEY_PD].name = "key_pd",
	[SRNIC_STAT_KEY_ACCESS].name = "key_access",
	[SRNIC_STAT_KEY_BOUNDS].name = "key_bounds",
	[SRNIC_STAT_KEY_STATE].name = "key_state",
	[SRNIC_STAT_KEY_REVOKED].name = "key_revoked",
	[SRNIC_STAT_KEY_QP].name = "key_qp",
	[SRNIC_STAT_CACHE_HITS].name = "cache_hits",
	[SRNIC_STAT_CACHE_MISSES].name = "cache_misses",
	[SRNIC_STAT_CACHE_INVALIDATIONS].name = "cache_invalidations",
};

static_assert(ARRAY_SIZE(descs) == SRNIC_STATS);
/* Refusals are counted at SRNIC_STAT_KEY_UNKNOWN + reason - SRNIC_KEY_UNKNOWN. */
static_assert(SRNIC_STAT_KEY_QP - SRNIC_STAT_KEY_UNKNOWN ==
	      SRNIC_KEY_QP - SRNIC_KEY_UNKNOWN);
static_assert(SRNIC_KEY_QP + 1 == SRNIC_KEY_REASONS);

/**
 * srnic_stat_sum() - a counter's value
 * @stats: counters of a device
 * @which: one of them
 *
 * Return: its sum over all CPUs, not at one instant.
 */
u64 srnic_stat_sum(const struct srnic_stats __percpu *stats,
		   enum srnic_stat which)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu_ptr(stats, cpu)->v[which];
	return sum;
}

/**
 * srnic_alloc_hw_port_stats() - the names of the counters, for the core
 * @ibdev: a device
 * @port: its port
 *
 * Return: what the core will free, NULL when out of memory.
 */
struct rdma_hw_stats *srnic_alloc_hw_port_stats(struct ib_device *ibdev,
						u32 port)
{
	return rdma_alloc_hw_stats_struct(descs, ARRAY_SIZE(descs),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/**
 * srnic_get_hw_stats() - the values of the counters, for the core
 * @ibdev: a device
 * @stats: from srnic_alloc_hw_port_stats(); filled
 * @port: 0: the device, which has none; or the port
 * @index: which one is wanted; all are given
 *
 * Return: how many.
 */
int srnic_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		       u32 port, int index)
{
	const struct srnic_dev *dev = to_srnic_dev(ibdev);
	unsigned int i;

	if (!port || !stats)
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(descs); i++)
		stats->value[i] = srnic_stat_sum(dev->tp.stats, i);
	return ARRAY_SIZE(descs);
}

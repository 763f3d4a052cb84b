/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Event counters: one array per CPU, raised without a shared cache line,
 * summed when 'rdma statistic' asks (counters.c, where each has its name).
 */
#ifndef SRNIC_STATS_H
#define SRNIC_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>

enum srnic_stat {
	/* the same events under the same names as in rdma_rxe */
	SRNIC_STAT_SENT_PKTS,
	SRNIC_STAT_RCVD_PKTS,
	SRNIC_STAT_DUPLICATE_REQUEST,
	SRNIC_STAT_OUT_OF_SEQ_REQUEST,
	SRNIC_STAT_RCVD_RNR_ERR,
	SRNIC_STAT_SEND_RNR_ERR,
	SRNIC_STAT_RCVD_SEQ_ERR,
	SRNIC_STAT_ACK_DEFERRED,
	SRNIC_STAT_RETRY_EXCEEDED_ERR,
	SRNIC_STAT_RETRY_RNR_EXCEEDED_ERR,
	SRNIC_STAT_COMPLETER_RETRY_ERR,
	SRNIC_STAT_SEND_ERR,
	SRNIC_STAT_LINK_DOWNED,
	SRNIC_STAT_RDMA_SENDS,
	SRNIC_STAT_RDMA_RECVS,
	/* ours */
	SRNIC_STAT_ICRC_ERR,		/* packets with a wrong ICRC */
	SRNIC_STAT_MALFORMED_PKTS,	/* packets that contradict themselves */
	SRNIC_STAT_UNKNOWN_QP,		/* packets to a QPN that isn't there */
	SRNIC_STAT_BAD_PKEY,
	SRNIC_STAT_BAD_QKEY,
	SRNIC_STAT_BAD_SOURCE,		/* packets from another address than the QP's peer */
	SRNIC_STAT_NO_RECV_WQE,		/* datagrams without a receive to put them in */
	SRNIC_STAT_IMPLIED_NAK,
	SRNIC_STAT_TIMEOUTS,
	SRNIC_STAT_LOCAL_DROPS,		/* the netdev's queue refused a packet */
	/* key refusals, in the order of enum srnic_key_reason from _UNKNOWN on */
	SRNIC_STAT_KEY_UNKNOWN,
	SRNIC_STAT_KEY_STALE,
	SRNIC_STAT_KEY_PD,
	SRNIC_STAT_KEY_ACCESS,
	SRNIC_STAT_KEY_BOUNDS,
	SRNIC_STAT_KEY_STATE,
	SRNIC_STAT_KEY_REVOKED,
	SRNIC_STAT_KEY_QP,
	/* of the key cache: found, not found, found and dead */
	SRNIC_STAT_CACHE_HITS,
	SRNIC_STAT_CACHE_MISSES,
	SRNIC_STAT_CACHE_INVALIDATIONS,
	SRNIC_STATS,
};

struct srnic_stats {
	u64 v[SRNIC_STATS];
};

static inline void srnic_count(struct srnic_stats __percpu *stats,
			       enum srnic_stat which)
{
	this_cpu_inc(stats->v[which]);
}

#endif /* SRNIC_STATS_H */

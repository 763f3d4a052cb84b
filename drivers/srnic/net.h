/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RoCEv2 over the kernel's network stack: UDP port 4791 (IBTA annex 17).
 *
 *   net.c     ports, and the UDP sockets of each network namespace
 *   net_rx.c  from an skb to a checked packet and its port
 *   net_tx.c  from a packet to the netdev
 *   av.c      address vectors: peers and the way to them
 *
 * Nothing here knows queue pairs, memory or GID tables.
 */
#ifndef SRNIC_NET_H
#define SRNIC_NET_H

#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/refcount.h>
#include <linux/skbuff.h>
#include <net/dst_cache.h>
#include <net/ipv6.h>
#include <rdma/ib_verbs.h>

#include "pkt.h"
#include "stats.h"

struct srnic_netns;
struct srnic_port;

/**
 * struct srnic_rx - a packet as it came from the network
 * @pkt: taken apart; valid while the handler runs
 * @ipv6: the address family
 * @ip4: its IPv4 header, or
 * @ip6: its IPv6 header
 * @ce: congestion experienced (IP ECN field)
 */
struct srnic_rx {
	struct srnic_pkt pkt;
	bool ipv6;
	bool ce;
	union {
		const struct iphdr *ip4;
		const struct ipv6hdr *ip6;
	};
};

/*
 * Called in a softirq under rcu_read_lock(), for packets with a right ICRC.
 */
typedef void (*srnic_rx_fn)(struct srnic_port *port, const struct srnic_rx *rx);

/**
 * struct srnic_port - our end of a netdev
 * @ndev: the netdev; held from srnic_port_init() to srnic_port_exit()
 * @rx: takes received packets
 * @stats: where events are counted
 * @tracker: of the reference on @ndev
 * @ns: the namespace it receives in; NULL once that is gone (net.c)
 * @ifindex: under which @ns knows it
 */
struct srnic_port {
	struct net_device *ndev;
	srnic_rx_fn rx;
	struct srnic_stats __percpu *stats;
	netdevice_tracker tracker;
	struct srnic_netns *ns;
	int ifindex;
};

/* Process context. After srnic_port_exit() no handler runs any more. */
int srnic_port_init(struct srnic_port *port, struct net_device *ndev,
		    srnic_rx_fn rx, struct srnic_stats __percpu *stats);
void srnic_port_exit(struct srnic_port *port);
/* The netdev has left, or is about to leave, where the port listens. RTNL. */
bool srnic_port_stale(const struct srnic_port *port);

/* Bytes of a netdev's MTU that headers may take. The most have IPv6 (40), UDP (8) and
 * a WRITE ONLY with immediate: BTH (12), RETH (16), immediate data (4), ICRC (4).
 */
#define SRNIC_NET_OVERHEAD	84
#define SRNIC_NET_MIN_MTU	(256 + SRNIC_NET_OVERHEAD)

/* The largest IB MTU that fits; 0: none does. */
int srnic_net_mtu(unsigned int netdev_mtu);

/**
 * struct srnic_av - an address vector: a peer and the way to it
 *
 * Immutable after srnic_av_create() but for the route cache, so that it may be
 * used by anyone who holds a reference. Knows no device and no GID entry.
 * (For a packet's source check: srnic_av_is_peer().)
 *
 * @ref: 1 from srnic_av_create()
 * @ipv6: the address family
 * @tos: type of service or traffic class
 * @ttl: TTL or hop limit
 * @sport: UDP source port
 * @oif: interface to leave by, its number
 * @flow_label: of IPv6
 * @hash: stands for the flow in queue disciplines and queue selection
 * @pdn: who may use it: a number of its maker's, meaningless here
 * @s4: our IPv4 address, or
 * @s6: our IPv6 address
 * @d4: the peer's IPv4 address, or
 * @d6: the peer's IPv6 address
 * @dst: the route of IPv4, per CPU; nothing in it belongs to a namespace, as the
 *	AV may outlive that
 * @rcu: readers find AVs under RCU
 */
struct srnic_av {
	refcount_t ref;
	bool ipv6;
	u8 tos;
	u8 ttl;
	__be16 sport;
	int oif;
	u32 flow_label;
	u32 hash;
	u32 pdn;
	union {
		__be32 s4;
		struct in6_addr s6;
	};
	union {
		__be32 d4;
		struct in6_addr d6;
	};
	struct dst_cache dst;
	struct rcu_head rcu;
};

/*
 * sgid_attr: where attr is sent from (attr->grh.sgid_attr). qpn: entropy for
 * the UDP source port. Doesn't sleep when gfp doesn't.
 */
struct srnic_av *srnic_av_create(struct srnic_port *port,
				 const struct rdma_ah_attr *attr, u32 qpn,
				 gfp_t gfp);
struct srnic_av *srnic_av_get(struct srnic_av *av);	/* NULL: too late */
void srnic_av_put(struct srnic_av *av);	/* any context */
bool srnic_av_is_peer(const struct srnic_av *av, const struct srnic_rx *rx);

/* The peer's address, and a sender's, as a GID. */
static inline void srnic_av_gid(const struct srnic_av *av, union ib_gid *gid)
{
	if (av->ipv6)
		memcpy(gid->raw, &av->d6, sizeof(gid->raw));
	else
		ipv6_addr_set_v4mapped(av->d4, (struct in6_addr *)gid->raw);
}

static inline void srnic_rx_gid(const struct srnic_rx *rx, union ib_gid *gid)
{
	if (rx->ipv6)
		memcpy(gid->raw, &rx->ip6->saddr, sizeof(gid->raw));
	else
		ipv6_addr_set_v4mapped(rx->ip4->saddr, (struct in6_addr *)gid->raw);
}

/*
 * An skb with room for all headers below, and len bytes (BTH to pad, skb_put()
 * done, uninitialised) plus the ICRC behind. NULL when out of memory.
 */
struct sk_buff *srnic_net_alloc(const struct srnic_av *av, u32 len);
/*
 * Finishes (ICRC, UDP, IP) and sends; consumes the skb. Bottom halves disabled.
 * 0, -ENOBUFS when the netdev's queue refused it, or the route's error.
 */
int srnic_net_xmit(struct srnic_port *port, struct srnic_av *av,
		   struct sk_buff *skb);

int srnic_net_init(void);
void srnic_net_exit(void);

/* Between the files of this layer. */
struct srnic_port *srnic_port_find(const struct net_device *dev);
int srnic_net_rcv(struct sock *sk, struct sk_buff *skb);

#endif /* SRNIC_NET_H */

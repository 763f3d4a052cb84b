// SPDX-License-Identifier: GPL-2.0
/*
 * Transmit: UDP and IP headers, ICRC, route, out.
 *
 * A packet is one linear skb of its own: it refers to nothing of ours, so
 * nothing has to wait for packets in flight. The other side of that coin is
 * that a queue which is full says so at once (-ENOBUFS), and the caller has to
 * pace itself; there is no call-back from the netdev.
 *
 * Callers hold a QP's lock. That is safe because the way out never comes back
 * into srnic_net_rcv(): what a host sends to itself goes through a backlog.
 */
#include "net.h"

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/ipv6_stubs.h>
#include <net/route.h>

#include "hdr.h"
#include "icrc.h"

/**
 * srnic_net_alloc() - an skb to build a packet in
 * @av: where it will go
 * @len: bytes from the BTH to the pad bytes
 *
 * Return: an skb with room for all headers below, @len bytes of data
 * (uninitialised), and room for the ICRC; NULL when out of memory.
 */
struct sk_buff *srnic_net_alloc(const struct srnic_av *av, u32 len)
{
	unsigned int l3 = av->ipv6 ? sizeof(struct ipv6hdr) :
				     sizeof(struct iphdr);
	/* MAX_HEADER: link layer, VLAN tags and a tunnel; devices that need
	 * still more get a bigger head from the IP layer.
	 */
	unsigned int room = MAX_HEADER + l3 + sizeof(struct udphdr);
	struct sk_buff *skb;

	skb = alloc_skb(room + len + SRNIC_ICRC_SIZE,
			GFP_ATOMIC | __GFP_NOWARN);
	if (unlikely(!skb))
		return NULL;
	skb_reserve(skb, room);
	skb_put(skb, len);
	return skb;
}

/* Headers are final and all data is there: put the ICRC behind it. */
static void append_icrc(struct sk_buff *skb, bool ipv6)
{
	const unsigned int done = sizeof(struct udphdr) +
				  sizeof(struct srnic_bth);
	const void *udp = skb_transport_header(skb);
	__le32 icrc;
	u32 crc;

	crc = srnic_icrc_start(skb_network_header(skb), ipv6, udp);
	crc = srnic_crc32(crc, udp + done, skb_tail_pointer(skb) -
					   (unsigned char *)udp - done);
	icrc = srnic_icrc_end(crc);
	skb_put_data(skb, &icrc, sizeof(icrc));
}

static void push_udp(struct sk_buff *skb, const struct srnic_av *av)
{
	struct udphdr *udp = __skb_push(skb, sizeof(*udp));

	skb_reset_transport_header(skb);
	udp->source = av->sport;
	udp->dest = htons(ROCE_V2_UDP_DPORT);
	udp->len = htons(skb->len + SRNIC_ICRC_SIZE);
	/* None: annex A17.3.2 recommends 0, over IPv6 as well. */
	udp->check = 0;
}

static struct rtable *route4(struct net *net, struct srnic_av *av)
{
	struct flowi4 fl = {};
	struct rtable *rt;
	__be32 saddr;

	rt = dst_cache_get_ip4(&av->dst, &saddr);
	if (likely(rt))
		return rt;
	flowi4_init_output(&fl, av->oif, 0, RT_TOS(av->tos), RT_SCOPE_UNIVERSE,
			   IPPROTO_UDP, 0, av->d4, av->s4,
			   htons(ROCE_V2_UDP_DPORT), av->sport, GLOBAL_ROOT_UID);
	rt = ip_route_output_key(net, &fl);
	/* One through IPsec belongs to its namespace: see route6(). */
	if (!IS_ERR(rt) && !dst_xfrm(&rt->dst))
		dst_cache_set_ip4(&av->dst, &rt->dst, av->s4);
	return rt;
}

static int xmit4(struct net *net, struct srnic_av *av, struct sk_buff *skb)
{
	struct rtable *rt = route4(net, av);
	struct iphdr *ip;

	if (IS_ERR(rt)) {
		kfree_skb(skb);
		return PTR_ERR(rt);
	}
	skb_dst_set(skb, &rt->dst);

	push_udp(skb, av);
	ip = __skb_push(skb, sizeof(*ip));
	skb_reset_network_header(skb);
	ip->version = IPVERSION;
	ip->ihl = sizeof(*ip) / 4;
	ip->tos = av->tos;
	ip->tot_len = htons(skb->len + SRNIC_ICRC_SIZE);
	/* Never fragmented, so it needs no number; the ICRC covers it. */
	ip->id = 0;
	ip->frag_off = htons(IP_DF);
	ip->ttl = av->ttl;
	ip->protocol = IPPROTO_UDP;
	ip->check = 0;
	ip->saddr = av->s4;
	ip->daddr = av->d4;
	append_icrc(skb, false);

	skb->protocol = htons(ETH_P_IP);
	skb->priority = rt_tos2priority(av->tos);
	memset(IPCB(skb), 0, sizeof(*IPCB(skb)));
	return ip_local_out(net, NULL, skb);
}

#if IS_ENABLED(CONFIG_IPV6)

static struct dst_entry *route6(struct net *net, struct srnic_av *av)
{
	struct flowi6 fl = {};

	/* Not cached: an IPv6 route lives in its namespace, which may end
	 * before the AV does.
	 */
	fl.flowi6_oif = av->oif;
	fl.flowi6_proto = IPPROTO_UDP;
	fl.flowlabel = ip6_make_flowinfo(av->tos, htonl(av->flow_label));
	fl.daddr = av->d6;
	fl.saddr = av->s6;
	fl.fl6_dport = htons(ROCE_V2_UDP_DPORT);
	fl.fl6_sport = av->sport;
	/* A socket's work; NULL: none whose settings would count. */
	return ipv6_stub->ipv6_dst_lookup_flow(net, NULL, &fl, NULL);
}

static int xmit6(struct net *net, struct srnic_av *av, struct sk_buff *skb)
{
	struct dst_entry *dst = route6(net, av);
	struct ipv6hdr *ip;

	if (IS_ERR(dst)) {
		kfree_skb(skb);
		return PTR_ERR(dst);
	}
	skb_dst_set(skb, dst);

	push_udp(skb, av);
	ip = __skb_push(skb, sizeof(*ip));
	skb_reset_network_header(skb);
	ip6_flow_hdr(ip, av->tos, htonl(av->flow_label));
	ip->payload_len = htons(skb->len - sizeof(*ip) + SRNIC_ICRC_SIZE);
	ip->nexthdr = IPPROTO_UDP;
	ip->hop_limit = av->ttl;
	ip->saddr = av->s6;
	ip->daddr = av->d6;
	append_icrc(skb, true);

	skb->protocol = htons(ETH_P_IPV6);
	skb->priority = rt_tos2priority(av->tos);
	memset(IP6CB(skb), 0, sizeof(*IP6CB(skb)));
	return ip6_local_out(net, NULL, skb);
}

#else

static int xmit6(struct net *net, struct srnic_av *av, struct sk_buff *skb)
{
	kfree_skb(skb);
	return -EAFNOSUPPORT;
}

#endif

/**
 * srnic_net_xmit() - send a packet
 * @port: from where
 * @av: where to
 * @skb: from srnic_net_alloc() with this @av, filled; is consumed
 *
 * Counts local drops; whether a packet or a message was sent is the caller's to
 * count. Where 0 is returned the packet may still be lost, as any may. Where it isn't,
 * the packet has not been sent, but for -ENOBUFS, which a queue may also say
 * that has taken this packet and dropped another one.
 *
 * Context: bottom halves disabled.
 * Return: 0; -ENOBUFS: the netdev's queue is full, try later; -EMSGSIZE: longer
 * than the netdev's MTU; or the route's error.
 */
int srnic_net_xmit(struct srnic_port *port, struct srnic_av *av,
		   struct sk_buff *skb)
{
	struct net *net;
	int err;

	skb->ip_summed = CHECKSUM_NONE;
	__skb_set_sw_hash(skb, av->hash, true);

	rcu_read_lock();
	net = dev_net(port->ndev);
	err = av->ipv6 ? xmit6(net, av, skb) : xmit4(net, av, skb);
	rcu_read_unlock();

	/* NET_XMIT_DROP and _CN */
	if (unlikely(err > 0 || err == -ENOBUFS)) {
		srnic_count(port->stats, SRNIC_STAT_LOCAL_DROPS);
		return -ENOBUFS;
	}
	return err;
}

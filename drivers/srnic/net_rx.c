// SPDX-License-Identifier: GPL-2.0
/*
 * Receive: from an skb of a UDP socket to a packet whose bytes are known to be
 * those that were sent (ICRC) and that agrees with itself (srnic_pkt_parse()).
 *
 * The skb may be shared and is only read, apart from pulling headers together.
 * The payload stays where the netdev put it; what the handler gets are its
 * pieces, each byte of which has gone through the CRC once.
 *
 * GRO: our sockets don't ask for it, and what a netdev has merged all the same
 * (fraglist GRO) UDP takes apart again before it gets here.
 */
#include "net.h"

#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/addrconf.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>

#include "hdr.h"
#include "icrc.h"

#define UDP_HLEN	sizeof(struct udphdr)

/* Where in this host the destination address of @skb lives. */
static struct net_device *dst_owner(const struct sk_buff *skb)
{
	struct net *net = dev_net(skb->dev);

	if (skb->protocol == htons(ETH_P_IP))
		return __ip_dev_find(net, ip_hdr(skb)->daddr, false);
#if IS_ENABLED(CONFIG_IPV6)
	return ipv6_dev_find(net, &ipv6_hdr(skb)->daddr, NULL);
#else
	return NULL;
#endif
}

/*
 * What a host sends to itself arrives through the loopback device, whatever
 * netdev its address belongs to.
 */
static struct srnic_port *find_port(const struct sk_buff *skb)
{
	const struct net_device *dev = skb->dev;

	if (unlikely(dev->flags & IFF_LOOPBACK)) {
		dev = dst_owner(skb);
		if (!dev)
			return NULL;
	}
	return srnic_port_find(dev);
}

/* IP headers that the ICRC covers as they are: no options, no extensions. */
static bool fill_l3(struct srnic_rx *rx, const struct sk_buff *skb)
{
	if (skb->protocol == htons(ETH_P_IP)) {
		rx->ipv6 = false;
		rx->ip4 = ip_hdr(skb);
		rx->ce = INET_ECN_is_ce(rx->ip4->tos);
		return rx->ip4->ihl == sizeof(struct iphdr) / 4;
	}
	rx->ipv6 = true;
	rx->ip6 = ipv6_hdr(skb);
	rx->ce = INET_ECN_is_ce(ipv6_get_dsfield(rx->ip6));
	return rx->ip6->nexthdr == IPPROTO_UDP;
}

/*
 * Bytes of the packet from the BTH to the end of the ICRC; 0 when UDP's length
 * and the skb disagree or the packet can't be one. Makes the headers one piece.
 */
static unsigned int prepare(struct sk_buff *skb)
{
	unsigned int len;

	if (unlikely(!skb_frags_readable(skb)))
		return 0;
	if (!pskb_may_pull(skb, UDP_HLEN + sizeof(struct srnic_bth)))
		return 0;
	len = ntohs(udp_hdr(skb)->len);
	if (len > skb->len ||
	    len < UDP_HLEN + sizeof(struct srnic_bth) + SRNIC_ICRC_SIZE)
		return 0;
	if (!pskb_may_pull(skb, min_t(unsigned int, len,
				      UDP_HLEN + SRNIC_PKT_MAX_HDR)))
		return 0;
	/* left behind by IP reassembly */
	if (unlikely(skb_has_frag_list(skb)) && skb_linearize(skb))
		return 0;
	return len - UDP_HLEN;
}

/*
 * The pieces of an skb from the BTH on: what is in the linear part, where all
 * headers are, then the fragments.
 */
static unsigned int gather(const struct sk_buff *skb, struct kvec *seg)
{
	const struct skb_shared_info *sh = skb_shinfo(skb);
	unsigned int i;

	seg[0].iov_base = skb->data + UDP_HLEN;
	seg[0].iov_len = skb_headlen(skb) - UDP_HLEN;
	for (i = 0; i < sh->nr_frags; i++) {
		/* RDMA core: no virtual DMA with CONFIG_HIGHMEM */
		seg[i + 1].iov_base = skb_frag_address(&sh->frags[i]);
		seg[i + 1].iov_len = skb_frag_size(&sh->frags[i]);
	}
	return i + 1;
}

static bool icrc_right(const struct srnic_rx *rx, const struct sk_buff *skb,
		       unsigned int total)
{
	unsigned int left = total - SRNIC_ICRC_SIZE - sizeof(struct srnic_bth);
	const void *l3 = rx->ipv6 ? (void *)rx->ip6 : (void *)rx->ip4;
	struct srnic_cursor c = {
		.seg = rx->pkt.seg,
		.off = sizeof(struct srnic_bth),
	};
	const void *p;
	__le32 icrc;
	size_t n;
	u32 crc;

	crc = srnic_icrc_start(l3, rx->ipv6, skb->data);
	for (; left; left -= n) {
		n = srnic_cursor_take(&c, left, &p);
		crc = srnic_crc32(crc, p, n);
	}
	if (skb_copy_bits(skb, UDP_HLEN + total - SRNIC_ICRC_SIZE, &icrc,
			  sizeof(icrc)))
		return false;
	return icrc == srnic_icrc_end(crc);
}

/* Leaves of the pieces the payload only. */
static void trim_to_payload(struct srnic_pkt *pkt)
{
	struct kvec *seg = pkt->seg;
	u32 left = pkt->len;

	/* prepare() has put all headers into the first one */
	seg->iov_base += pkt->op->hdr_len;
	seg->iov_len -= pkt->op->hdr_len;
	for (; left; left -= seg++->iov_len)
		seg->iov_len = min_t(size_t, seg->iov_len, left);
	pkt->nseg = seg - pkt->seg;
}

static enum skb_drop_reason receive(struct srnic_port *port,
				    struct sk_buff *skb)
{
	struct srnic_rx rx;
	unsigned int total;

	total = prepare(skb);
	if (unlikely(!total || !fill_l3(&rx, skb))) {
		srnic_count(port->stats, SRNIC_STAT_MALFORMED_PKTS);
		return SKB_DROP_REASON_PKT_TOO_SMALL;
	}
	gather(skb, rx.pkt.seg);
	if (unlikely(!icrc_right(&rx, skb, total))) {
		srnic_count(port->stats, SRNIC_STAT_ICRC_ERR);
		return SKB_DROP_REASON_SKB_CSUM;
	}
	if (unlikely(srnic_pkt_parse(&rx.pkt, rx.pkt.seg[0].iov_base,
				     rx.pkt.seg[0].iov_len, total))) {
		srnic_count(port->stats, SRNIC_STAT_MALFORMED_PKTS);
		return SKB_DROP_REASON_HDR_TRUNC;
	}
	trim_to_payload(&rx.pkt);
	srnic_count(port->stats, SRNIC_STAT_RCVD_PKTS);
	port->rx(port, &rx);
	return SKB_CONSUMED;
}

/**
 * srnic_net_rcv() - a packet for UDP port 4791
 * @sk: our socket
 * @skb: the packet, from the UDP header on; is consumed
 *
 * Context: softirq, rcu_read_lock() held.
 * Return: 0, UDP has nothing left to do.
 */
int srnic_net_rcv(struct sock *sk, struct sk_buff *skb)
{
	struct srnic_port *port = find_port(skb);
	enum skb_drop_reason reason = SKB_DROP_REASON_DEV_READY;

	if (likely(port))
		reason = receive(port, skb);
	if (likely(reason == SKB_CONSUMED))
		consume_skb(skb);
	else
		kfree_skb_reason(skb, reason);
	return 0;
}

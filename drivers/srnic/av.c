// SPDX-License-Identifier: GPL-2.0
/*
 * Address vectors.
 *
 * Made of an ib address (GIDs), after which only IP addresses count. An AV
 * refers to no netdev and no GID entry, so it can outlive both: then its route
 * can't be found any more, and that is all.
 *
 * Life: srnic_av_create() gives the first reference, the last srnic_av_put()
 * frees it after a grace period, so that a reader who has found it under RCU
 * may use it, or try for a reference, as long as it stays in there.
 */
#include "net.h"

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>

#define DEFAULT_TTL	64

/*
 * The interface that the GID's address belongs to: the port's netdev or, e.g.,
 * a VLAN on it. The core lists addresses of VLANs that have been moved into
 * other network namespaces too; a packet can't get there from here.
 */
static int gid_oif(const struct srnic_port *port,
		   const struct ib_gid_attr *sgid)
{
	struct net_device *ndev;
	int oif;

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(sgid);
	if (IS_ERR(ndev))
		oif = PTR_ERR(ndev);
	else if (!net_eq(dev_net(ndev), dev_net(port->ndev)))
		oif = -ENETUNREACH;
	else
		oif = ndev->ifindex;
	rcu_read_unlock();
	return oif;
}

static __be32 gid_ip4(const union ib_gid *gid)
{
	return ((const struct in6_addr *)gid->raw)->s6_addr32[3];
}

/* Both ends' addresses; both have to be of the GID type's family. */
static int fill_addrs(struct srnic_av *av, const struct ib_global_route *grh)
{
	const union ib_gid *sgid = &grh->sgid_attr->gid;
	const union ib_gid *dgid = &grh->dgid;
	bool mapped = ipv6_addr_v4mapped((const struct in6_addr *)dgid->raw);

	switch (rdma_gid_attr_network_type(grh->sgid_attr)) {
	case RDMA_NETWORK_IPV4:
		if (!mapped)
			return -EINVAL;
		av->s4 = gid_ip4(sgid);
		av->d4 = gid_ip4(dgid);
		return 0;
	case RDMA_NETWORK_IPV6:
		if (mapped)
			return -EINVAL;
		av->ipv6 = true;
		memcpy(&av->s6, sgid->raw, sizeof(av->s6));
		memcpy(&av->d6, dgid->raw, sizeof(av->d6));
		return 0;
	default:
		return -EINVAL;
	}
}

/**
 * srnic_av_create() - make an address vector
 * @port: where packets will leave
 * @attr: the address; its GRH and the GRH's sgid_attr are needed
 * @qpn: entropy for the UDP source port where @attr has no flow label; 0: none
 * @gfp: doesn't sleep when this doesn't
 *
 * Return: an AV with one reference; ERR_PTR: -EINVAL: no RoCE v2 address, or
 * families that don't fit; -ENODEV, -ENETUNREACH: the source address can't be
 * used from here; -ENOMEM.
 */
struct srnic_av *srnic_av_create(struct srnic_port *port,
				 const struct rdma_ah_attr *attr, u32 qpn,
				 gfp_t gfp)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	struct srnic_av *av;
	int err, oif;

	if (!(rdma_ah_get_ah_flags(attr) & IB_AH_GRH) || !grh->sgid_attr ||
	    grh->sgid_attr->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP)
		return ERR_PTR(-EINVAL);
	oif = gid_oif(port, grh->sgid_attr);
	if (oif < 0)
		return ERR_PTR(oif);

	av = kzalloc(sizeof(*av), gfp);
	if (!av)
		return ERR_PTR(-ENOMEM);
	refcount_set(&av->ref, 1);
	av->oif = oif;
	av->tos = grh->traffic_class;
	av->ttl = grh->hop_limit ?: DEFAULT_TTL;
	av->flow_label = grh->flow_label & IB_GRH_FLOWLABEL_MASK;
	av->hash = get_random_u32();
	if (!qpn)
		qpn = av->hash;
	av->sport = htons(rdma_get_udp_sport(av->flow_label, qpn, qpn));
	err = fill_addrs(av, grh);
	if (!err)
		err = dst_cache_init(&av->dst, gfp);
	if (err) {
		kfree(av);
		return ERR_PTR(err);
	}
	return av;
}

/**
 * srnic_av_get() - one more reference
 * @av: of which the caller has one, or which it has found under RCU
 *
 * Return: @av; NULL when the last reference has just been given back, which
 * only happens to those who haven't one.
 */
struct srnic_av *srnic_av_get(struct srnic_av *av)
{
	return refcount_inc_not_zero(&av->ref) ? av : NULL;
}

static void av_free(struct rcu_head *rcu)
{
	struct srnic_av *av = container_of(rcu, struct srnic_av, rcu);

	dst_cache_destroy(&av->dst);
	kfree(av);
}

/**
 * srnic_av_put() - give a reference back
 * @av: may be NULL
 *
 * Context: any.
 */
void srnic_av_put(struct srnic_av *av)
{
	if (av && refcount_dec_and_test(&av->ref))
		call_rcu(&av->rcu, av_free);
}

/**
 * srnic_av_is_peer() - does a packet come from where we send to?
 * @av: the peer
 * @rx: the packet
 *
 * Return: true when it was sent by @av's destination to @av's source address
 * (IBTA 9.6.1.2.3, annex A17.4.3).
 */
bool srnic_av_is_peer(const struct srnic_av *av, const struct srnic_rx *rx)
{
	if (rx->ipv6 != av->ipv6)
		return false;
	if (av->ipv6)
		return ipv6_addr_equal(&rx->ip6->saddr, &av->d6) &&
		       ipv6_addr_equal(&rx->ip6->daddr, &av->s6);
	return rx->ip4->saddr == av->d4 && rx->ip4->daddr == av->s4;
}

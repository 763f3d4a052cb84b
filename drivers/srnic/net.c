// SPDX-License-Identifier: GPL-2.0
/*
 * Ports and their network namespaces.
 *
 * Objects
 *   port         one netdev that carries an srnic device
 *   struct srnic_netns  what we have in a network namespace: the two UDP
 *                sockets (port 4791, one for each address family) and the
 *                ports that live there, by interface number. The sockets
 *                are opened with the first port and closed with the last:
 *                a namespace without an srnic leaves 4791 to others.
 *
 * A port is tied to the namespace in which its netdev was when the port was
 * made. Netdevs move and namespaces end without asking us: the layer above
 * hears of it (NETDEV_UNREGISTER) and takes the port down some time later. In
 * between the port is deaf, and sends nothing either, as its source addresses
 * don't exist where its netdev went. Where the namespace ends first, it lets go
 * of its ports (port->ns = NULL), so neither has to wait for the other.
 *
 * Locks: ports_lock (mutex) protects port->ns and everything of struct
 * srnic_netns; the table of ports is read under RCU by receivers. Nothing of
 * ours is taken under it; socket and RCU waits happen under it.
 */
#include "net.h"

#include <linux/mutex.h>
#include <linux/rtnetlink.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/udp_tunnel.h>

struct srnic_netns {
	struct socket *sk4;
	struct socket *sk6;	/* NULL where there is no IPv6 */
	struct xarray ports;
	unsigned int nports;
};

static DEFINE_MUTEX(ports_lock);
static unsigned int netns_id;

static struct socket *open_socket(struct net *net, sa_family_t family)
{
	struct udp_tunnel_sock_cfg tunnel = {
		.encap_type = 1,	/* anything but 0 and the kernel's own */
		.encap_rcv = srnic_net_rcv,
	};
	/* All zero otherwise: any address; no checksum wanted over IPv6
	 * (annex A17.3.2: the ICRC stands in for it).
	 */
	struct udp_port_cfg cfg = {
		.family = family,
		.local_udp_port = htons(ROCE_V2_UDP_DPORT),
		.ipv6_v6only = family == AF_INET6,
	};
	struct socket *sock;
	int err;

	err = udp_sock_create(net, &cfg, &sock);
	if (err)
		return ERR_PTR(err);
	setup_udp_tunnel_sock(net, sock, &tunnel);
	return sock;
}

static void close_sockets(struct srnic_netns *ns)
{
	lockdep_assert_held(&ports_lock);

	if (ns->sk6)
		udp_tunnel_sock_release(ns->sk6);
	if (ns->sk4)
		udp_tunnel_sock_release(ns->sk4);
	ns->sk6 = NULL;
	ns->sk4 = NULL;
}

static int open_sockets(struct srnic_netns *ns, struct net *net)
{
	struct socket *sock;

	lockdep_assert_held(&ports_lock);

	sock = open_socket(net, AF_INET);
	if (IS_ERR(sock))
		return PTR_ERR(sock);
	ns->sk4 = sock;

	sock = open_socket(net, AF_INET6);
	if (PTR_ERR(sock) == -EAFNOSUPPORT || PTR_ERR(sock) == -EPFNOSUPPORT)
		return 0;
	if (IS_ERR(sock)) {
		close_sockets(ns);
		return PTR_ERR(sock);
	}
	ns->sk6 = sock;
	return 0;
}

static int ns_add_port(struct srnic_netns *ns, struct net *net,
		       struct srnic_port *port)
{
	int err;

	lockdep_assert_held(&ports_lock);

	if (!ns->nports) {
		err = open_sockets(ns, net);
		if (err)
			return err;
	}
	err = xa_insert(&ns->ports, port->ifindex, port, GFP_KERNEL);
	if (err) {
		if (!ns->nports)
			close_sockets(ns);
		return err == -EBUSY ? -EEXIST : err;
	}
	ns->nports++;
	port->ns = ns;
	return 0;
}

static void explain(const struct net_device *ndev, int err)
{
	switch (err) {
	case -EADDRINUSE:
		netdev_err(ndev, "UDP port %d is taken in this network namespace, most likely by rdma_rxe: unload that, or give the netdev a namespace of its own\n",
			   ROCE_V2_UDP_DPORT);
		break;
	case -EEXIST:
		netdev_err(ndev, "carries an srnic device already\n");
		break;
	default:
		netdev_err(ndev, "cannot receive RoCE packets: error %d\n", err);
	}
}

/**
 * srnic_port_init() - begin to receive from a netdev
 * @port: zeroed
 * @ndev: the netdev; the caller has a reference
 * @rx: takes the packets; may be called before this returns
 * @stats: where events are counted
 *
 * Tells the administrator in one line where it fails.
 *
 * Context: process context, without RTNL.
 * Return: 0; -EADDRINUSE: UDP port 4791 is someone else's; -EEXIST: the netdev
 * has a port; -ENODEV: its namespace is ending; -ENOMEM and what sockets give.
 */
int srnic_port_init(struct srnic_port *port, struct net_device *ndev,
		    srnic_rx_fn rx, struct srnic_stats __percpu *stats)
{
	struct net *net;
	int err;

	rcu_read_lock();
	net = maybe_get_net(dev_net(ndev));
	rcu_read_unlock();
	if (!net)
		return -ENODEV;

	port->ndev = ndev;
	port->rx = rx;
	port->stats = stats;
	port->ifindex = ndev->ifindex;

	mutex_lock(&ports_lock);
	err = ns_add_port(net_generic(net, netns_id), net, port);
	mutex_unlock(&ports_lock);
	put_net(net);
	if (err) {
		explain(ndev, err);
		return err;
	}
	netdev_hold(ndev, &port->tracker, GFP_KERNEL);
	return 0;
}

/* The last port of a namespace takes the sockets along. */
static void ns_del_port(struct srnic_netns *ns, struct srnic_port *port)
{
	lockdep_assert_held(&ports_lock);

	xa_erase(&ns->ports, port->ifindex);
	WRITE_ONCE(port->ns, NULL);
	if (!--ns->nports)
		close_sockets(ns);
}

/**
 * srnic_port_exit() - stop to receive, let the netdev go
 * @port: after srnic_port_init() has succeeded
 *
 * On return no handler runs and none will.
 *
 * Context: process context, without RTNL.
 */
void srnic_port_exit(struct srnic_port *port)
{
	mutex_lock(&ports_lock);
	if (port->ns)
		ns_del_port(port->ns, port);
	mutex_unlock(&ports_lock);

	synchronize_net();
	netdev_put(port->ndev, &port->tracker);
	port->ndev = NULL;
}

/**
 * srnic_port_stale() - has the netdev left the port behind?
 * @port: a port
 *
 * Context: process context, RTNL held, so that the answer holds.
 * Return: true when the netdev is being unregistered or has moved to another
 * network namespace: a NETDEV_UNREGISTER for it has been sent already.
 */
bool srnic_port_stale(const struct srnic_port *port)
{
	struct net_device *ndev = port->ndev;

	ASSERT_RTNL();

	/* Not ports_lock: its holder may wait long. Pointers are compared. */
	return ndev->reg_state != NETREG_REGISTERED ||
	       READ_ONCE(port->ns) != net_generic(dev_net(ndev), netns_id);
}

static struct srnic_port *ns_find(struct srnic_netns *ns,
				  const struct net_device *dev)
{
	struct srnic_port *port = xa_load(&ns->ports, dev->ifindex);

	/* An interface number may be another netdev's by now. */
	return port && port->ndev == dev ? port : NULL;
}

/**
 * srnic_port_find() - the port that a received packet belongs to
 * @dev: the netdev that the packet has come through at last
 *
 * That is the port's netdev itself or something that stands on it, as a VLAN
 * or a macvlan: the same netdevs whose addresses the RDMA core makes GIDs of.
 *
 * Context: rcu_read_lock() held.
 * Return: the port, NULL when @dev has none.
 */
struct srnic_port *srnic_port_find(const struct net_device *dev)
{
	struct srnic_netns *ns = net_generic(dev_net(dev), netns_id);
	struct srnic_port *port = ns_find(ns, dev);
	unsigned long i;

	if (likely(port))
		return port;
	xa_for_each(&ns->ports, i, port)
		if (netdev_has_upper_dev_all_rcu(port->ndev,
						 (struct net_device *)dev))
			return port;
	return NULL;
}

/**
 * srnic_net_mtu() - the largest IB MTU that fits into packets of a netdev
 * @netdev_mtu: the netdev's MTU
 *
 * Return: enum ib_mtu, or 0 when not even the smallest fits.
 */
int srnic_net_mtu(unsigned int netdev_mtu)
{
	enum ib_mtu mtu;

	for (mtu = IB_MTU_4096; mtu >= IB_MTU_256; mtu--)
		if (netdev_mtu >= ib_mtu_enum_to_int(mtu) + SRNIC_NET_OVERHEAD)
			return mtu;
	return 0;
}

static int __net_init ns_init(struct net *net)
{
	struct srnic_netns *ns = net_generic(net, netns_id);

	xa_init(&ns->ports);
	return 0;
}

/* The namespace ends before its ports do: it lets go of them. */
static void __net_exit ns_exit(struct net *net)
{
	struct srnic_netns *ns = net_generic(net, netns_id);
	struct srnic_port *port;
	unsigned long i;

	mutex_lock(&ports_lock);
	xa_for_each(&ns->ports, i, port)
		ns_del_port(ns, port);
	mutex_unlock(&ports_lock);
	xa_destroy(&ns->ports);
}

static struct pernet_operations netns_ops = {
	.init = ns_init,
	.exit = ns_exit,
	.id = &netns_id,
	.size = sizeof(struct srnic_netns),
};

/**
 * srnic_net_init() - make the network layer ready
 *
 * Return: 0 or -errno.
 */
int srnic_net_init(void)
{
	/*
	 * "device", not "subsys": so that ns_exit() runs while the namespace
	 * still has its protocols.
	 */
	return register_pernet_device(&netns_ops);
}

/** srnic_net_exit() - undo srnic_net_init(); there are no ports any more */
void srnic_net_exit(void)
{
	unregister_pernet_device(&netns_ops);
	/* AVs are freed after a grace period, by our code. */
	rcu_barrier();
}

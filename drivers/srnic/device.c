// SPDX-License-Identifier: GPL-2.0
/*
 * The life of a device, from 'rdma link add' to its end.
 *
 * There are four ways for a device to end, and any of them may meet any other
 * halfway:
 *   - 'rdma link del';
 *   - its netdev goes: unregistered, moved to another network namespace, or
 *     the namespace ends. All of these say NETDEV_UNREGISTER;
 *   - the module is unloaded;
 *   - 'rdma link add' itself finds out, when the device stands, that the netdev
 *     has gone meanwhile (settle()).
 * All of them call the core's unregistration, which lets one caller through and
 * makes the others wait; it ends in srnic_dealloc(). The notifier can't wait
 * (it holds RTNL, which unregistration takes), so it queues.
 *
 * Programs that have the device open don't hold anything up: the core destroys
 * their objects and leaves them with an empty shell (disassociate_ucontext).
 *
 * Whoever looks a device up from outside of its own operations gets it from
 * ib_device_get_by_netdev(), with a reference that keeps it registered.
 */
#include "device.h"

#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <rdma/rdma_netlink.h>
#include <rdma/srnic-abi.h>

#include "debugfs.h"
#include "key.h"
#include "key_cache.h"
#include "verbs.h"

static unsigned int mpt_order = 20;

static int mpt_order_set(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, SRNIC_KEY_MIN_ORDER,
				     SRNIC_KEY_MAX_ORDER);
}

static const struct kernel_param_ops mpt_order_ops = {
	.set = mpt_order_set,
	.get = param_get_uint,
};
module_param_cb(mpt_order, &mpt_order_ops, &mpt_order, 0644);
MODULE_PARM_DESC(mpt_order,
		 "Key table of links added from now on: log2 of its slots, 8 to 23 (default 20)");

static unsigned int key_cache = 256;

static int key_cache_set(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 0, SRNIC_KEY_CACHE_MAX);
}

static const struct kernel_param_ops key_cache_ops = {
	.set = key_cache_set,
	.get = param_get_uint,
};
module_param_cb(key_cache, &key_cache_ops, &key_cache, 0644);
MODULE_PARM_DESC(key_cache,
		 "Keys that each CPU remembers, of links added from now on: 0 to 4096, 0: off (default 256)");

static bool mw_type_2a;
module_param(mw_type_2a, bool, 0644);
MODULE_PARM_DESC(mw_type_2a,
		 "Memory windows of type 2 of links added from now on: Y: type 2A, N: type 2B (default N)");

/* One clear line for everything that can't carry an srnic. */
static int check_netdev(struct net_device *ndev)
{
	struct net_device *master;
	int err = 0;

	if (is_vlan_dev(ndev)) {
		netdev_err(ndev, "is a VLAN: add the link to %s instead, the VLAN's addresses become GIDs of that by themselves\n",
			   netdev_name(vlan_dev_real_dev(ndev)));
		return -EINVAL;
	}
	if (ndev->flags & IFF_LOOPBACK || ndev->type != ARPHRD_ETHER) {
		netdev_err(ndev, "is not an Ethernet device: RoCE needs one\n");
		return -EINVAL;
	}
	if (ndev->mtu < SRNIC_NET_MIN_MTU) {
		netdev_err(ndev, "has an MTU of %u: RoCE needs %d at least\n",
			   ndev->mtu, SRNIC_NET_MIN_MTU);
		return -EINVAL;
	}
	rcu_read_lock();
	master = netdev_master_upper_dev_get_rcu(ndev);
	if (master) {
		netdev_err(ndev, "belongs to %s, which receives its packets: add the link to that instead\n",
			   netdev_name(master));
		err = -EBUSY;
	}
	rcu_read_unlock();
	return err;
}

/* The PCI function behind a netdev, which may be a virtio device in between. */
static struct device *pci_parent(const struct net_device *ndev)
{
	struct device *d;

	for (d = ndev->dev.parent; d; d = d->parent)
		if (dev_is_pci(d))
			return d;
	return NULL;
}

/*
 * Everything of ours; undone by srnic_dealloc(), or here. The port comes last
 * as packets may come from then on.
 */
static int dev_init(struct srnic_dev *dev, struct net_device *ndev)
{
	struct srnic_stats __percpu *stats;
	struct srnic_mpt *mpt;
	int err;

	stats = alloc_percpu(struct srnic_stats);
	if (!stats)
		return -ENOMEM;
	mpt = srnic_mpt_create(READ_ONCE(mpt_order));
	if (IS_ERR(mpt)) {
		err = PTR_ERR(mpt);
		goto free_stats;
	}
	err = srnic_mpt_use_cache(mpt, READ_ONCE(key_cache), stats);
	if (err)
		goto destroy_mpt;
	err = srnic_tp_init(&dev->tp, &dev->ibdev, mpt, READ_ONCE(mw_type_2a),
			    stats);
	if (err)
		goto destroy_mpt;
	err = srnic_port_init(&dev->tp.port, ndev, srnic_tp_receive, stats);
	if (err)
		goto exit_tp;

	ida_init(&dev->pdns);
	dev->client = pci_parent(ndev) ?: &dev->ibdev.dev;
	dev->active = srnic_device_active(dev);
	return 0;

exit_tp:
	srnic_tp_exit(&dev->tp);
destroy_mpt:
	srnic_mpt_destroy(mpt);
free_stats:
	free_percpu(stats);
	return err;
}

/* dealloc_driver: all objects are destroyed, all clients have gone. */
static void srnic_dealloc(struct ib_device *ibdev)
{
	struct srnic_dev *dev = to_srnic_dev(ibdev);

	srnic_debugfs_del(dev);
	srnic_port_exit(&dev->tp.port);
	srnic_tp_exit(&dev->tp);
	srnic_mpt_destroy(dev->tp.mpt);
	free_percpu(dev->tp.stats);
	ida_destroy(&dev->pdns);
}

/* It has its name now, which nobody else has. */
static int srnic_enable(struct ib_device *ibdev)
{
	srnic_debugfs_add(to_srnic_dev(ibdev), dev_name(&ibdev->dev));
	return 0;
}

static const struct ib_device_ops life_ops = {
	.owner = THIS_MODULE,
	.driver_id = (enum rdma_driver_id)SRNIC_DRIVER_ID,
	.uverbs_abi_ver = SRNIC_UVERBS_ABI_VERSION,
	.enable_driver = srnic_enable,
	.dealloc_driver = srnic_dealloc,
};

static void set_identity(struct ib_device *ibdev, const struct net_device *ndev)
{
	strscpy(ibdev->node_desc, "srnic", sizeof(ibdev->node_desc));
	ibdev->node_type = RDMA_NODE_IB_CA;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = num_possible_cpus();
	addrconf_addr_eui48((u8 *)&ibdev->node_guid, ndev->dev_addr);
	/* Doorbells and arming: the others are the core's default. */
	ibdev->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) |
				  BIT_ULL(IB_USER_VERBS_CMD_POST_RECV) |
				  BIT_ULL(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ);
	ib_mark_name_assigned_by_user(ibdev);
}

/* The port's state as the netdev has it now, told to those who asked for it. */
static void update_port(struct srnic_dev *dev)
{
	bool active = srnic_device_active(dev);
	struct ib_event event = {
		.device = &dev->ibdev,
		.element.port_num = 1,
		.event = active ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR,
	};

	ASSERT_RTNL();

	if (active == dev->active)
		return;
	dev->active = active;
	if (!active)
		srnic_count(dev->tp.stats, SRNIC_STAT_LINK_DOWNED);
	ib_dispatch_event(&event);
}

static struct srnic_dev *get_by_netdev(struct net_device *ndev)
{
	struct ib_device *ibdev;

	ibdev = ib_device_get_by_netdev(ndev,
					(enum rdma_driver_id)SRNIC_DRIVER_ID);
	return ibdev ? to_srnic_dev(ibdev) : NULL;
}

/*
 * The notifier doesn't see a device before it is registered. Catch up with what
 * the netdev may have done until then. The device is looked up again, as
 * someone may have deleted it already.
 */
static void settle(struct net_device *ndev)
{
	struct srnic_dev *dev;

	rtnl_lock();
	dev = get_by_netdev(ndev);
	if (dev) {
		if (srnic_port_stale(&dev->tp.port))
			ib_unregister_device_queued(&dev->ibdev);
		else
			update_port(dev);
		ib_device_put(&dev->ibdev);
	}
	rtnl_unlock();
}

/* 'rdma link add NAME type srnic netdev NDEV' */
static int srnic_newlink(const char *name, struct net_device *ndev)
{
	struct srnic_dev *dev;
	int err;

	err = check_netdev(ndev);
	if (err)
		return err;
	dev = ib_alloc_device(srnic_dev, ibdev);
	if (!dev)
		return -ENOMEM;
	err = dev_init(dev, ndev);
	if (err)
		goto dealloc;

	/* From here on ib_dealloc_device() calls srnic_dealloc(). */
	ib_set_device_ops(&dev->ibdev, &life_ops);
	ib_set_device_ops(&dev->ibdev, &srnic_dev_ops);
	set_identity(&dev->ibdev, ndev);
	err = ib_device_set_netdev(&dev->ibdev, ndev, 1);
	if (err)
		goto dealloc;
	err = ib_register_device(&dev->ibdev, name, NULL);
	if (err) {
		netdev_err(ndev, "the RDMA core refuses a device %s: error %d\n",
			   name, err);
		goto dealloc;
	}
	/* dev may be gone already */
	settle(ndev);
	return 0;

dealloc:
	ib_dealloc_device(&dev->ibdev);
	return err;
}

static struct rdma_link_ops link_ops = {
	.type = "srnic",
	.newlink = srnic_newlink,
};
MODULE_ALIAS_RDMA_LINK("srnic");

static void mtu_changed(const struct net_device *ndev)
{
	if (ndev->mtu < SRNIC_NET_MIN_MTU)
		netdev_warn(ndev, "has an MTU of %u now: RoCE needs %d at least\n",
			    ndev->mtu, SRNIC_NET_MIN_MTU);
}

static int netdev_event(struct notifier_block *nb, unsigned long event,
			void *ptr)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(ptr);
	struct srnic_dev *dev;

	switch (event) {
	case NETDEV_UNREGISTER:
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEMTU:
		break;
	default:
		return NOTIFY_DONE;
	}
	dev = get_by_netdev(ndev);
	if (!dev)
		return NOTIFY_DONE;
	if (event == NETDEV_UNREGISTER)
		ib_unregister_device_queued(&dev->ibdev);
	else
		update_port(dev);
	if (event == NETDEV_CHANGEMTU)
		mtu_changed(ndev);
	ib_device_put(&dev->ibdev);
	return NOTIFY_DONE;
}

static struct notifier_block netdev_notifier = {
	.notifier_call = netdev_event,
};

/**
 * srnic_device_init() - offer the link type
 *
 * Return: 0 or -errno.
 */
int srnic_device_init(void)
{
	int err;

	err = register_netdevice_notifier(&netdev_notifier);
	if (err)
		return err;
	srnic_debugfs_init();
	rdma_link_register(&link_ops);
	return 0;
}

/** srnic_device_exit() - no new devices, then no devices */
void srnic_device_exit(void)
{
	/* waits for 'rdma link add' in progress */
	rdma_link_unregister(&link_ops);
	/* waits for every unregistration in progress, queued ones too */
	ib_unregister_driver((enum rdma_driver_id)SRNIC_DRIVER_ID);
	unregister_netdevice_notifier(&netdev_notifier);
	srnic_debugfs_exit();
}

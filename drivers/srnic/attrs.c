// SPDX-License-Identifier: GPL-2.0
/*
 * What a device says of itself. Limits that are promised here are kept by those
 * who make the objects; what isn't there is 0.
 */
#include "device.h"

#include <linux/rtnetlink.h>
#include <rdma/ib_mad.h>

#include "counters.h"
#include "frmr.h"

/* IBTA A3.3.1: nobody's number */
#define VENDOR_ID	0xffffff

/* 4.096 us * 2^15 = 134 ms: what rdma_rxe tells its peers as well */
#define CA_ACK_DELAY	15

/**
 * srnic_query_device() - the query_device operation
 * @ibdev: a device
 * @attr: filled; zeroed by the caller
 * @udata: nothing is expected in it
 *
 * Return: 0, -EINVAL.
 */
int srnic_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
		       struct ib_udata *udata)
{
	const struct srnic_dev *dev = to_srnic_dev(ibdev);

	if (udata->inlen || udata->outlen)
		return -EINVAL;

	*attr = (struct ib_device_attr) {
		.fw_ver = 1,
		.sys_image_guid = ibdev->node_guid,
		.vendor_id = VENDOR_ID,
		.max_mr_size = SRNIC_MAX_MR_SIZE,
		.page_size_cap = PAGE_MASK & U32_MAX,
		.device_cap_flags = IB_DEVICE_BAD_PKEY_CNTR |
				    IB_DEVICE_BAD_QKEY_CNTR |
				    IB_DEVICE_PORT_ACTIVE_EVENT |
				    IB_DEVICE_SYS_IMAGE_GUID |
				    IB_DEVICE_RC_RNR_NAK_GEN |
				    IB_DEVICE_MEM_MGT_EXTENSIONS |
				    IB_DEVICE_MEM_WINDOW |
				    (dev->tp.mws.type_2a ?
				     IB_DEVICE_MEM_WINDOW_TYPE_2A :
				     IB_DEVICE_MEM_WINDOW_TYPE_2B),
		.kernel_cap_flags = IBK_ALLOW_USER_UNREG,
		.max_qp = SRNIC_MAX_QP,
		.max_qp_wr = SRNIC_MAX_QP_WR,
		.max_send_sge = SRNIC_MAX_SGE,
		.max_recv_sge = SRNIC_MAX_SGE,
		.max_sge_rd = SRNIC_MAX_SGE,
		.max_cq = SRNIC_MAX_CQ,
		.max_cqe = SRNIC_MAX_CQE,
		/* of one table: the sum of both is that number */
		.max_mr = srnic_mpt_slots(dev->tp.mpt),
		.max_mw = srnic_mpt_slots(dev->tp.mpt),
		.max_fast_reg_page_list_len = SRNIC_MAX_FRMR_PAGES,
		.max_pd = SRNIC_MAX_PD,
		.max_ah = SRNIC_MAX_AH,
		.max_qp_rd_atom = SRNIC_MAX_RD_ATOMIC,
		.max_qp_init_rd_atom = SRNIC_MAX_RD_ATOMIC,
		.max_res_rd_atom = SRNIC_MAX_QP * SRNIC_MAX_RD_ATOMIC,
		/* against other QPs; memory of a donor has no lock for the CPU */
		.atomic_cap = IB_ATOMIC_HCA,
		.max_pkeys = 1,
		.local_ca_ack_delay = CA_ACK_DELAY,
		/* of completions: nanoseconds of CLOCK_MONOTONIC_RAW */
		.timestamp_mask = U64_MAX,
		.hca_core_clock = USEC_PER_SEC,	/* in kHz */
	};
	return 0;
}

/**
 * srnic_modify_device() - the modify_device operation
 * @ibdev: a device
 * @mask: IB_DEVICE_MODIFY_*: the description only
 * @attr: new values
 *
 * Return: 0, -EOPNOTSUPP.
 */
int srnic_modify_device(struct ib_device *ibdev, int mask,
			struct ib_device_modify *attr)
{
	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	if (mask & IB_DEVICE_MODIFY_NODE_DESC)
		memcpy(ibdev->node_desc, attr->node_desc,
		       sizeof(ibdev->node_desc));
	return 0;
}

/**
 * srnic_get_dev_fw_str() - the get_dev_fw_str operation
 * @ibdev: a device
 * @str: IB_FW_VERSION_NAME_MAX bytes
 */
void srnic_get_dev_fw_str(struct ib_device *ibdev, char *str)
{
	strscpy(str, "1", IB_FW_VERSION_NAME_MAX);
}

/**
 * srnic_device_active() - can the netdev send and receive?
 * @dev: a device
 *
 * Return: true when it is up, has a carrier, and an MTU that RoCE can do with.
 */
bool srnic_device_active(const struct srnic_dev *dev)
{
	const struct net_device *ndev = dev->tp.port.ndev;

	return netif_running(ndev) && netif_carrier_ok(ndev) &&
	       READ_ONCE(ndev->mtu) >= SRNIC_NET_MIN_MTU;
}

/**
 * srnic_query_port() - the query_port operation
 * @ibdev: a device
 * @port: 1, as the core has checked
 * @attr: filled; zeroed by the caller
 *
 * Context: process context, without RTNL.
 * Return: 0.
 */
int srnic_query_port(struct ib_device *ibdev, u32 port,
		     struct ib_port_attr *attr)
{
	struct srnic_dev *dev = to_srnic_dev(ibdev);
	const struct net_device *ndev = dev->tp.port.ndev;
	bool active = srnic_device_active(dev);

	attr->state = active ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	if (active)
		attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	else if (netif_running(ndev))
		attr->phys_state = IB_PORT_PHYS_STATE_POLLING;
	else
		attr->phys_state = IB_PORT_PHYS_STATE_DISABLED;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = srnic_net_mtu(READ_ONCE(ndev->mtu)) ?: IB_MTU_256;
	attr->gid_tbl_len = SRNIC_GID_TBL_LEN;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->max_msg_sz = SRNIC_MAX_MSG;
	attr->bad_pkey_cntr = srnic_stat_sum(dev->tp.stats,
					     SRNIC_STAT_BAD_PKEY);
	attr->qkey_viol_cntr = srnic_stat_sum(dev->tp.stats,
					      SRNIC_STAT_BAD_QKEY);
	attr->pkey_tbl_len = 1;
	attr->max_vl_num = 1;
	/* Nobody sends through a netdev that is going, so any speed will do. */
	if (ib_get_eth_speed(ibdev, port, &attr->active_speed,
			     &attr->active_width)) {
		attr->active_speed = IB_SPEED_SDR;
		attr->active_width = IB_WIDTH_1X;
	}
	return 0;
}

/**
 * srnic_get_port_immutable() - the get_port_immutable operation
 * @ibdev: a device
 * @port: 1
 * @immutable: filled
 *
 * Return: 0.
 */
int srnic_get_port_immutable(struct ib_device *ibdev, u32 port,
			     struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	immutable->pkey_tbl_len = 1;
	immutable->gid_tbl_len = SRNIC_GID_TBL_LEN;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

/**
 * srnic_get_link_layer() - the get_link_layer operation
 * @ibdev: a device
 * @port: 1
 *
 * Return: Ethernet.
 */
enum rdma_link_layer srnic_get_link_layer(struct ib_device *ibdev, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

/**
 * srnic_query_pkey() - the query_pkey operation
 * @ibdev: a device
 * @port: 1
 * @index: 0: there is but one, the default (annex A17.4.7)
 * @pkey: filled
 *
 * Return: 0, -EINVAL.
 */
int srnic_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	if (index)
		return -EINVAL;
	*pkey = IB_DEFAULT_PKEY_FULL;
	return 0;
}

static ssize_t hca_type_show(struct device *device,
			     struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "srnic\n");
}
static DEVICE_ATTR_RO(hca_type);

static ssize_t parent_show(struct device *device,
			   struct device_attribute *attr, char *buf)
{
	struct srnic_dev *dev =
		rdma_device_to_drv_device(device, struct srnic_dev, ibdev);

	return sysfs_emit(buf, "%s\n", netdev_name(dev->tp.port.ndev));
}
static DEVICE_ATTR_RO(parent);

static struct attribute *attrs[] = {
	&dev_attr_hca_type.attr,
	&dev_attr_parent.attr,
	NULL
};

const struct attribute_group srnic_attr_group = {
	.attrs = attrs,
};

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRNIC_DEVICE_H
#define SRNIC_DEVICE_H

#include <linux/idr.h>
#include <rdma/ib_verbs.h>

#include "qp.h"

/* Promised by srnic_query_device(), kept by verbs.c. */
#define SRNIC_MAX_PD		BIT(20)
#define SRNIC_MAX_CQ		BIT(16)

#define SRNIC_GID_TBL_LEN	256

/**
 * struct srnic_dev - one "rdma link"
 * @ibdev: the core's part
 * @tp: what its QPs share: port, key table, counters
 * @client: on whose behalf memory of donors is used: the PCI function behind
 *	the netdev, or @ibdev's own device where there is none. The function's
 *	driver waits for the netdev, which @tp.port holds, before it lets go.
 * @pdns: protection domain numbers in use
 * @cqs: number of CQs
 * @debugfs: its directory
 * @active: what the last port event said; RTNL
 */
struct srnic_dev {
	struct ib_device ibdev;
	struct srnic_tp tp;
	struct device *client;
	struct ida pdns;
	atomic_t cqs;
	struct dentry *debugfs;
	bool active;
};

static inline struct srnic_dev *to_srnic_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct srnic_dev, ibdev);
}

/* Both ends of the module's life. */
int srnic_device_init(void);
void srnic_device_exit(void);

/* Is the netdev able to send and receive? */
bool srnic_device_active(const struct srnic_dev *dev);

/* attrs.c: what a device says of itself */
int srnic_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
		       struct ib_udata *udata);
int srnic_modify_device(struct ib_device *ibdev, int mask,
			struct ib_device_modify *attr);
void srnic_get_dev_fw_str(struct ib_device *ibdev, char *str);
int srnic_query_port(struct ib_device *ibdev, u32 port,
		     struct ib_port_attr *attr);
int srnic_get_port_immutable(struct ib_device *ibdev, u32 port,
			     struct ib_port_immutable *immutable);
enum rdma_link_layer srnic_get_link_layer(struct ib_device *ibdev, u32 port);
int srnic_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey);
extern const struct attribute_group srnic_attr_group;

#endif /* SRNIC_DEVICE_H */

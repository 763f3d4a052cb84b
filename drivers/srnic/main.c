// SPDX-License-Identifier: GPL-2.0
/*
 * srnic: a software RDMA NIC (RoCEv2).
 */
#include <linux/module.h>

#include "device.h"
#include "icrc.h"
#include "net.h"

static int __init srnic_init(void)
{
	int err;

	err = srnic_icrc_init();
	if (err)
		return err;
	err = srnic_net_init();
	if (err)
		goto exit_icrc;
	err = srnic_device_init();
	if (err)
		goto exit_net;
	return 0;

exit_net:
	srnic_net_exit();
exit_icrc:
	srnic_icrc_exit();
	return err;
}
module_init(srnic_init);

static void __exit srnic_exit(void)
{
	srnic_device_exit();
	srnic_net_exit();
	srnic_icrc_exit();
}
module_exit(srnic_exit);

MODULE_DESCRIPTION("Software RDMA NIC (RoCEv2)");
MODULE_LICENSE("GPL");

// SPDX-License-Identifier: GPL-2.0
/*
 * p2pmem_example: the examples of <linux/p2pmem.h>, letter by letter (see Kbuild), in
 * a module with what they leave to their reader.
 */
#include <linux/io.h>
#include <linux/module.h>
#include <linux/p2pmem.h>
#include <linux/pci.h>
#include <linux/sizes.h>

struct mine {
	void __iomem *regs;
};

#define MINE_STATUS		0x10
#define MINE_WRITES_LOST	0x01

#include "p2pmem_example_donor.gen.h"

static const struct p2pmem_donor_ops mine_ops __used = { .persist = mine_persist };

static void my_revoke(void *ctx)
{
}

static const struct p2pmem_hold_ops my_hold_ops = { .revoke = my_revoke };

static int __used take(struct device *const *clients, size_t size, void *me)
{
	struct p2pmem_hold *h;
	struct p2pmem *p;

#include "p2pmem_example_taker.gen.h"
	return 0;
}

/* by driver_override only */
static const struct pci_device_id ids[] = { { } };

static const struct pci_error_handlers example_errors = {
	.reset_prepare	= mine_reset_prepare,
	.reset_done	= mine_reset_done,
};

static struct pci_driver example_driver = {
	.name		= KBUILD_MODNAME,
	.id_table	= ids,
	.probe		= mine_probe,
	.remove		= mine_remove,
	.err_handler	= &example_errors,
};
module_pci_driver(example_driver);

MODULE_DESCRIPTION("the examples of p2pmem's header");
MODULE_LICENSE("GPL");

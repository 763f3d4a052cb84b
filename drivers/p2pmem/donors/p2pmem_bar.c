// SPDX-License-Identifier: GPL-2.0
/*
 * p2pmem_bar: donates a BAR of any PCI function.
 *
 * It claims no device by itself, since no id says whether memory is to spare
 * behind a BAR. The administrator says so:
 *
 *	echo p2pmem_bar > /sys/bus/pci/devices/BDF/driver_override
 *	echo BDF > /sys/bus/pci/drivers/p2pmem_bar/bind
 *
 * or 'echo VENDOR DEVICE > .../p2pmem_bar/new_id' for all of a kind.
 */
#include <linux/module.h>
#include <linux/p2pmem.h>
#include <linux/pci.h>

static int bar = -1;

static int bar_set(const char *val, const struct kernel_param *kp)
{
	int n, err = kstrtoint(val, 0, &n);

	if (err)
		return err;
	if (n < -1 || n >= PCI_STD_NUM_BARS)
		return -EINVAL;
	return param_set_int(val, kp);
}

static const struct kernel_param_ops bar_ops = {
	.set = bar_set,
	.get = param_get_int,
};
module_param_cb(bar, &bar_ops, &bar, 0644);
MODULE_PARM_DESC(bar, "BAR to donate by devices bound from now on (default -1: the largest memory BAR)");

static bool persistent;
module_param(persistent, bool, 0644);
MODULE_PARM_DESC(persistent, "the memory behind the BAR of devices bound from now on keeps its content (default 0)");

static bool is_memory(struct pci_dev *pdev, int i)
{
	return (pci_resource_flags(pdev, i) & IORESOURCE_MEM) &&
	       pci_resource_len(pdev, i);
}

static int largest_bar(struct pci_dev *pdev)
{
	int i, best = -1;

	for (i = 0; i < PCI_STD_NUM_BARS; i++)
		if (is_memory(pdev, i) &&
		    (best < 0 ||
		     pci_resource_len(pdev, i) > pci_resource_len(pdev, best)))
			best = i;
	return best;
}

static int choose_bar(struct pci_dev *pdev)
{
	int told = READ_ONCE(bar), best;

	if (told >= 0) {
		if (told < PCI_STD_NUM_BARS && is_memory(pdev, told))
			return told;
		pci_err(pdev, "BAR %d, as the parameter 'bar' says, is no memory BAR of this function\n",
			told);
		return -ENODEV;
	}

	best = largest_bar(pdev);
	if (best < 0) {
		pci_err(pdev, "no memory BAR to donate\n");
		return -ENODEV;
	}
	return best;
}

static int bar_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct p2pmem_donation d = {
		.pdev = pdev,
		.kind = P2PMEM_KIND_BAR,
		.persistent = READ_ONCE(persistent),
		.owner = THIS_MODULE,
	};
	struct p2pmem *p;
	int ret;

	d.bar = choose_bar(pdev);
	if (d.bar < 0)
		return d.bar;

	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;
	ret = pcim_request_region(pdev, d.bar, KBUILD_MODNAME);
	if (ret)
		return ret;

	p = p2pmem_donate(&d);
	if (IS_ERR(p))
		return PTR_ERR(p);
	pci_set_drvdata(pdev, p);
	pci_info(pdev, "donates BAR %d (%s)\n", d.bar,
		 READ_ONCE(bar) < 0 ? "its largest memory BAR" :
				      "as the parameter 'bar' says");
	return 0;
}

static void bar_remove(struct pci_dev *pdev)
{
	p2pmem_withdraw(pci_get_drvdata(pdev));
}

static struct pci_driver bar_driver = {
	.name	= KBUILD_MODNAME,
	.probe	= bar_probe,
	.remove	= bar_remove,
};
module_pci_driver(bar_driver);

MODULE_DESCRIPTION("donates a BAR of any PCI function to p2pmem");
MODULE_LICENSE("GPL");

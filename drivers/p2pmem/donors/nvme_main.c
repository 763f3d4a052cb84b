// SPDX-License-Identifier: GPL-2.0
/*
 * p2pmem_nvme: donates an NVMe controller's Controller Memory Buffer and
 * Persistent Memory Region.
 *
 * It claims no device by itself: whoever has a driver for the namespaces wants
 * that one. The administrator says which controller is for its memory:
 *
 *	echo p2pmem_nvme > /sys/bus/pci/devices/BDF/driver_override
 *	echo BDF > /sys/bus/pci/drivers/p2pmem_nvme/bind
 *
 * The controller need not have namespaces and is never enabled (CC.EN): both
 * kinds of memory are there without.
 */
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/module.h>
#include <linux/pm.h>

#include "nvme_donor.h"
#include "slot_reset.h"

static int claim(struct pci_dev *pdev, int bar)
{
	int ret = pcim_request_region(pdev, bar, KBUILD_MODNAME);

	if (ret)
		pci_err(pdev, "BAR %d is in use by something else (error %d), see /proc/iomem\n",
			bar, ret);
	return ret;
}

/**
 * p2pmem_nvme_claim() - have a BAR for ourselves
 * @n: the controller
 * @bar: which; BAR 0 has been claimed for its registers
 *
 * Return: 0, or an error after a line that says why.
 */
int p2pmem_nvme_claim(struct p2pmem_nvme *n, int bar)
{
	return bar ? claim(n->pdev, bar) : 0;
}

static int map_registers(struct p2pmem_nvme *n)
{
	struct pci_dev *pdev = n->pdev;
	int ret, i;

	for (i = 0; i < PCI_STD_NUM_BARS; i++)
		if (pci_resource_flags(pdev, i) & IORESOURCE_MEM)
			n->bars.len[i] = pci_resource_len(pdev, i);
	if (n->bars.len[0] < NVME_REGS_SIZE) {
		pci_err(pdev, "no NVMe controller: no registers in BAR 0 (%llu bytes)\n",
			n->bars.len[0]);
		return -ENODEV;
	}

	ret = claim(pdev, 0);
	if (ret)
		return ret;
	n->regs = pcim_iomap(pdev, 0, NVME_REGS_SIZE);
	if (!n->regs) {
		pci_err(pdev, "can't map the registers in BAR 0\n");
		return -ENOMEM;
	}

	n->cap = lo_hi_readq(n->regs + NVME_CAP);
	n->vs = readl(n->regs + NVME_VS);
	if (n->vs == U32_MAX) {
		pci_err(pdev, "the controller does not answer\n");
		return -ENODEV;
	}
	return 0;
}

/*
 * Each kind of memory that the controller has is donated if it can be: one
 * that can't serve is no reason to do without the other. But registers that
 * contradict each other are believed in nothing.
 */
static int offer(struct p2pmem_nvme *n)
{
	int cmb = p2pmem_nvme_cmb_find(n);
	int pmr = p2pmem_nvme_pmr_find(n);

	if (cmb == -ENOENT && pmr == -ENOENT) {
		pci_err(n->pdev, "nothing to donate: the controller has neither a Controller Memory Buffer nor a Persistent Memory Region\n");
		return -ENODEV;
	}
	if (!cmb && !pmr && n->cmb.bar == n->pmr.bar) {
		pci_err(n->pdev, "refused: %s (%d)\n",
			p2pmem_nvme_why(P2PMEM_NVME_SAME_BAR), n->cmb.bar);
		p2pmem_nvme_cmb_disable(n);
		return -ENODEV;
	}

	if (!cmb)
		cmb = p2pmem_nvme_cmb_add(n);
	if (!pmr)
		pmr = p2pmem_nvme_pmr_add(n);
	if (!cmb || !pmr)
		return 0;
	return pmr != -ENOENT ? pmr : cmb;
}

static int nvme_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct p2pmem_nvme *n;
	int ret;

	n = devm_kzalloc(&pdev->dev, sizeof(*n), GFP_KERNEL);
	if (!n)
		return -ENOMEM;
	n->pdev = pdev;
	pci_set_drvdata(pdev, n);

	ret = pcim_enable_device(pdev);
	if (ret)
		pci_err(pdev, "the function can't be enabled (error %d)\n", ret);
	if (!ret)
		ret = map_registers(n);
	if (!ret)
		ret = offer(n);
	/* for after an error */
	if (!ret)
		pci_save_state(pdev);
	return ret;
}

static void nvme_remove(struct pci_dev *pdev)
{
	struct p2pmem_nvme *n = pci_get_drvdata(pdev);

	p2pmem_nvme_pmr_remove(n);
	p2pmem_nvme_cmb_remove(n);
}

static void nvme_reset_prepare(struct pci_dev *pdev)
{
	struct p2pmem_nvme *n = pci_get_drvdata(pdev);

	p2pmem_nvme_away(n);
}

static void nvme_reset_done(struct pci_dev *pdev)
{
	struct p2pmem_nvme *n = pci_get_drvdata(pdev);

	/* what was saved for the reset has been used up */
	pci_save_state(pdev);
	p2pmem_nvme_back(n);
}

static pci_ers_result_t nvme_error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	struct p2pmem_nvme *n = pci_get_drvdata(pdev);

	switch (state) {
	case pci_channel_io_normal:
		p2pmem_nvme_doubt(n);
		return PCI_ERS_RESULT_CAN_RECOVER;
	case pci_channel_io_frozen:
		p2pmem_nvme_away(n);
		return PCI_ERS_RESULT_NEED_RESET;
	default:
		p2pmem_nvme_lost(n);
		return PCI_ERS_RESULT_DISCONNECT;
	}
}

/* also where it wasn't away */
static void nvme_recovered(struct pci_dev *pdev)
{
	p2pmem_nvme_back(pci_get_drvdata(pdev));
}

static const struct pci_error_handlers nvme_err_handlers = {
	.error_detected	= nvme_error_detected,
	.slot_reset	= p2pmem_slot_reset,
	.resume		= nvme_recovered,
	.reset_prepare	= nvme_reset_prepare,
	.reset_done	= nvme_reset_done,
};

static int nvme_suspend(struct device *dev)
{
	p2pmem_nvme_away(dev_get_drvdata(dev));
	return 0;
}

static int nvme_resume(struct device *dev)
{
	pci_save_state(to_pci_dev(dev));
	p2pmem_nvme_back(dev_get_drvdata(dev));
	return 0;
}

static DEFINE_SIMPLE_DEV_PM_OPS(nvme_pm_ops, nvme_suspend, nvme_resume);

static struct pci_driver nvme_driver = {
	.name		= KBUILD_MODNAME,
	.probe		= nvme_probe,
	.remove		= nvme_remove,
	.err_handler	= &nvme_err_handlers,
	.dev_groups	= p2pmem_nvme_groups,
	.driver.pm	= pm_sleep_ptr(&nvme_pm_ops),
};
module_pci_driver(nvme_driver);

MODULE_DESCRIPTION("donates the memory of an NVMe controller (CMB, PMR) to p2pmem");
MODULE_LICENSE("GPL");

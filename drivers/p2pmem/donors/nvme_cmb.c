// SPDX-License-Identifier: GPL-2.0
/*
 * The Controller Memory Buffer: NVMe Base Specification 2.0, 8.5.
 *
 * From 1.4 on (CAP.CMBS) a host has to ask for it: CMBLOC and CMBSZ are 0 until
 * CMBMSC.CRE is set, and CMBMSC.CBA says where the buffer is for the
 * controller, valid when CMSE is set. The controller is told the address that
 * the PCI bus knows it by. A controller of 1.2 or 1.3 has no such switch: its
 * buffer is always there.
 */
#include <linux/io-64-nonatomic-hi-lo.h>
#include <linux/module.h>

#include "nvme_donor.h"

static bool has_switch(const struct p2pmem_nvme *n)
{
	return n->cap & NVME_CAP_CMBS;
}

static void set_msc(struct p2pmem_nvme *n, u64 value)
{
	/* upper half first: the lower one has the switches */
	hi_lo_writeq(value, n->regs + NVME_CMBMSC);
}

/** p2pmem_nvme_cmb_disable() - switch the buffer off, where that can be done */
void p2pmem_nvme_cmb_disable(struct p2pmem_nvme *n)
{
	if (has_switch(n))
		set_msc(n, 0);
}

/**
 * p2pmem_nvme_cmb_find() - has the controller a buffer that can serve?
 * @n: the controller
 *
 * Return: 0, with n->cmb filled in; -ENOENT when it has none; -ENODEV when it
 * has one that can't serve, after a line that says why.
 */
int p2pmem_nvme_cmb_find(struct p2pmem_nvme *n)
{
	enum p2pmem_nvme_reason reason;
	u32 cmbloc, cmbsz;

	/* before 1.2 the registers are reserved */
	if (!has_switch(n) && n->vs < NVME_VS_1_2)
		return -ENOENT;

	if (has_switch(n))
		set_msc(n, NVME_CMBMSC_CRE);
	cmbloc = readl(n->regs + NVME_CMBLOC);
	cmbsz = readl(n->regs + NVME_CMBSZ);
	if (!cmbsz && !has_switch(n))
		return -ENOENT;

	reason = p2pmem_nvme_cmb_decode(cmbloc, cmbsz, &n->bars, &n->cmb);
	if (!reason)
		return 0;
	pci_err(n->pdev, "Controller Memory Buffer refused: %s (CMBLOC %#x, CMBSZ %#x)\n",
		p2pmem_nvme_why(reason), cmbloc, cmbsz);
	p2pmem_nvme_cmb_disable(n);
	return -ENODEV;
}

/** p2pmem_nvme_cmb_enable() - switch the buffer on, after a reset as well */
void p2pmem_nvme_cmb_enable(struct p2pmem_nvme *n)
{
	u64 cba;

	if (!has_switch(n))
		return;

	cba = pci_bus_address(n->pdev, n->cmb.bar) + n->cmb.offset;
	set_msc(n, (cba & NVME_CMBMSC_CBA) | NVME_CMBMSC_CRE | NVME_CMBMSC_CMSE);
	/* the host, and peers, reach it by the BAR nevertheless */
	if (readl(n->regs + NVME_CMBSTS) & NVME_CMBSTS_CBAI)
		pci_warn(n->pdev, "the controller itself will not use its buffer at %#llx (CMBSTS.CBAI)\n",
			 cba);
}

/**
 * p2pmem_nvme_cmb_add() - donate the buffer that was found
 * @n: the controller
 *
 * Return: 0, or an error after a line that says why.
 */
int p2pmem_nvme_cmb_add(struct p2pmem_nvme *n)
{
	struct p2pmem_donation d = {
		.pdev = n->pdev,
		.bar = n->cmb.bar,
		.offset = n->cmb.offset,
		.size = n->cmb.size,
		.kind = P2PMEM_KIND_CMB,
		.owner = THIS_MODULE,
	};
	struct p2pmem *p;
	int ret;

	if (n->cmb.size < n->cmb.claimed)
		pci_warn(n->pdev, "Controller Memory Buffer: %llu bytes claimed, BAR %d has %llu of them\n",
			 n->cmb.claimed, n->cmb.bar, n->cmb.size);
	if (!n->cmb.rds || !n->cmb.wds)
		pci_info(n->pdev, "Controller Memory Buffer: for the controller's own commands it can only %s data\n",
			 n->cmb.rds ? "receive" : "supply");

	ret = p2pmem_nvme_claim(n, n->cmb.bar);
	if (ret)
		goto disable;
	p2pmem_nvme_cmb_enable(n);
	p = p2pmem_donate(&d);
	if (IS_ERR(p)) {
		ret = PTR_ERR(p);
		goto disable;
	}
	n->cmb_donation = p;
	return 0;

disable:
	p2pmem_nvme_cmb_disable(n);
	return ret;
}

/** p2pmem_nvme_cmb_remove() - take the buffer back, if it was donated */
void p2pmem_nvme_cmb_remove(struct p2pmem_nvme *n)
{
	if (!n->cmb_donation)
		return;
	p2pmem_withdraw(n->cmb_donation);
	p2pmem_nvme_cmb_disable(n);
}

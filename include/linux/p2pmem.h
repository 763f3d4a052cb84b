/* SPDX-License-Identifier: GPL-2.0 */
/*
 * p2pmem: PCIe BAR memory as a resource. Drivers donate it, others take it.
 */
#ifndef _LINUX_P2PMEM_H
#define _LINUX_P2PMEM_H

#include <linux/types.h>

struct device;
struct module;
struct p2pmem;
struct p2pmem_hold;
struct pci_dev;

/** enum p2pmem_kind - what the memory is (sysfs attribute 'kind') */
enum p2pmem_kind {
	P2PMEM_KIND_BAR,
	P2PMEM_KIND_CMB,
	P2PMEM_KIND_PMR,
};

/**
 * struct p2pmem_donor_ops - what only the donor knows
 * @persist: make durable what was written into @len bytes at @offset (bytes
 *	from the start of the donation). Called where it must not sleep. NULL
 *	where the memory is not persistent.
 */
struct p2pmem_donor_ops {
	int (*persist)(void *priv, u64 offset, u64 len);
};

/** struct p2pmem_donation - a range on offer, see p2pmem_donate() */
struct p2pmem_donation {
	struct pci_dev *pdev;
	int bar;
	u64 offset;
	u64 size;
	enum p2pmem_kind kind;
	bool persistent;
	const struct p2pmem_donor_ops *ops;
	void *priv;
	struct module *owner;
};

struct p2pmem *p2pmem_donate(const struct p2pmem_donation *d);
void p2pmem_withdraw(struct p2pmem *p);

/**
 * struct p2pmem_hold_ops - callbacks to the holder of a range
 * @revoke: the donor goes. When it returns, the holder must not touch the
 *	memory any more. Process context, may sleep, must not call
 *	p2pmem_hold_put(). Called at most once.
 */
struct p2pmem_hold_ops {
	void (*revoke)(void *ctx);
};

struct p2pmem_hold *p2pmem_hold_user_range(struct device *client,
					   unsigned long start, size_t length,
					   bool writable,
					   const struct p2pmem_hold_ops *ops,
					   void *ctx);
void p2pmem_hold_put(struct p2pmem_hold *h);
void __iomem *p2pmem_hold_addr(const struct p2pmem_hold *h);
int p2pmem_hold_persist(struct p2pmem_hold *h, u64 offset, u64 len);

#endif /* _LINUX_P2PMEM_H */

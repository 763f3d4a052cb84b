/* SPDX-License-Identifier: GPL-2.0 */
/*
 * p2pmem: PCIe BAR memory as a resource. Drivers donate it, others take it.
 *
 * A donor calls p2pmem_donate() when it binds and p2pmem_withdraw() when it
 * unbinds. A taker that was given a user's address calls
 * p2pmem_hold_user_range() on it: when the range is p2pmem memory the taker
 * gets a hold, which keeps the memory allocated without pinning a page, and
 * which the donor's departure revokes. A taker that wants memory of its own
 * asks p2pmem_find() for the best donor for its devices, and p2pmem_alloc()
 * for a hold on a new piece of that one:
 *
 *	p = p2pmem_find(clients, 2, size);
 *	if (!p)
 *		return -ENODEV;
 *	h = p2pmem_alloc(p, clients, 2, size, &my_hold_ops, me);
 *	p2pmem_put(p);
 *	if (IS_ERR(h))
 *		return PTR_ERR(h);
 *	...
 *	p2pmem_hold_put(h);
 */
#ifndef _LINUX_P2PMEM_H
#define _LINUX_P2PMEM_H

#include <linux/types.h>

/**
 * DOC: a donor
 *
 * A driver that has memory to spare in a BAR donates it when it binds::
 *
 *	static int mine_probe(struct pci_dev *pdev, const struct pci_device_id *id)
 *	{
 *		struct p2pmem_donation d = {
 *			.pdev = pdev,
 *			.bar = 2,
 *			.offset = SZ_4M,
 *			.kind = P2PMEM_KIND_BAR,
 *			.owner = THIS_MODULE,
 *		};
 *		struct p2pmem *p;
 *		int ret;
 *
 *		ret = pcim_enable_device(pdev);
 *		if (!ret)
 *			ret = pcim_request_region(pdev, d.bar, KBUILD_MODNAME);
 *		if (ret)
 *			return ret;
 *
 *		p = p2pmem_donate(&d);
 *		if (IS_ERR(p))
 *			return PTR_ERR(p);
 *		pci_set_drvdata(pdev, p);
 *		return 0;
 *	}
 *
 *	static void mine_remove(struct pci_dev *pdev)
 *	{
 *		p2pmem_withdraw(pci_get_drvdata(pdev));
 *	}
 *
 * That is all: when it unbinds, p2pmem_withdraw() takes the memory away from
 * whoever has it. That the memory stops working for a while, in a reset or in
 * suspend, is to be said as well::
 *
 *	static void mine_reset_prepare(struct pci_dev *pdev)
 *	{
 *		p2pmem_outage_begin(pci_get_drvdata(pdev));
 *	}
 *
 *	static void mine_reset_done(struct pci_dev *pdev)
 *	{
 *		p2pmem_outage_end(pci_get_drvdata(pdev));
 *	}
 *
 * An error on the bus that freezes the function is such a time as well; if it is not to
 * come back, p2pmem_take_away() is what its driver may do at once.
 *
 * A driver with more than one range donates each. One whose memory is persistent
 * sets @persistent and, unless a read of the memory is all that makes writes durable,
 * an op for it::
 *
 *	static int mine_persist(void *priv, u64 offset, u64 len)
 *	{
 *		struct mine *m = priv;
 *
 *		return readl(m->regs + MINE_STATUS) & MINE_WRITES_LOST ? -EIO : 0;
 *	}
 *
 * drivers/p2pmem/donors has donors in use.
 *
 * Memory that a driver has published by pci_p2pmem_publish() is a donation without
 * its doing (drivers/p2pmem/adopt.c), which it goes on sharing.
 */

struct device;
struct dma_buf;
struct module;
struct p2pmem;
struct p2pmem_hold;
struct page;
struct pci_dev;
struct sg_table;

/**
 * enum p2pmem_kind - what the memory is (sysfs attribute 'kind')
 * @P2PMEM_KIND_BAR: a plain PCI BAR
 * @P2PMEM_KIND_CMB: an NVMe Controller Memory Buffer
 * @P2PMEM_KIND_PMR: an NVMe Persistent Memory Region
 */
enum p2pmem_kind {
	P2PMEM_KIND_BAR,
	P2PMEM_KIND_CMB,
	P2PMEM_KIND_PMR,
};

/**
 * struct p2pmem_donor_ops - what only the donor knows
 * @persist: make durable what was written into @len bytes at @offset (bytes
 *	from the start of the donation). Called where it must not sleep. NULL
 *	where the memory is not persistent, or where a read from it is all that
 *	it takes. Not called any more once p2pmem_withdraw() has returned.
 */
struct p2pmem_donor_ops {
	int (*persist)(void *priv, u64 offset, u64 len);
};

/**
 * struct p2pmem_donation - a range on offer, see p2pmem_donate()
 * @pdev: the PCI function whose memory it is; enabled, bound to the donor
 * @bar: number of the BAR, which the donor has requested for itself
 * @offset: first byte within the BAR
 * @size: number of bytes, 0 for all that follows @offset
 * @kind: what to call it
 * @persistent: the content outlives power: never zeroed, and a user chooses
 *	the place by mmap()'s offset
 * @ops: the donor's callbacks, may be NULL
 * @priv: handed to @ops
 * @owner: the donor's module, named in messages. No reference is taken on it:
 *	a donor module can be removed at any time, which withdraws.
 */
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
void p2pmem_take_away(struct p2pmem *p);
void p2pmem_withdraw(struct p2pmem *p);
void p2pmem_notify_health(struct p2pmem *p, const char *text);
void p2pmem_notify_outage(struct p2pmem *p);
void p2pmem_outage_begin(struct p2pmem *p);
int p2pmem_outage_end(struct p2pmem *p);

/**
 * struct p2pmem_hold_ops - callbacks to the holder of a range
 * @revoke: the donor goes, or has lost what was in its volatile memory, or its level
 *	refuses the client from now on. When it returns, the holder must not touch
 *	the memory any more. Process context, may sleep, must not call
 *	p2pmem_hold_put(). Called at most once, possibly before
 *	p2pmem_hold_user_range() or p2pmem_alloc() has returned the hold.
 * @settle: for a holder that has handed the memory on to others and can't make them
 *	let go of it at once; else NULL. Called some time after @revoke, when all
 *	others have been revoked. When it returns, those others don't touch the
 *	memory any more; if @goes isn't set, it is only the level that refuses the
 *	client, and it needn't wait for what has no bound. If the donor goes after
 *	that, or meanwhile, it is called once more; no program has the memory mapped any more
 *	then. The same rules as for @revoke. Not called if the hold is put before.
 */
struct p2pmem_hold_ops {
	void (*revoke)(void *ctx);
	void (*settle)(void *ctx, bool goes);
};

struct p2pmem_hold *p2pmem_hold_user_range(struct device *client,
					   unsigned long start, size_t length,
					   bool writable,
					   const struct p2pmem_hold_ops *ops,
					   void *ctx);
struct p2pmem *p2pmem_find(struct device *const *clients, unsigned int n,
			   u64 size);
struct p2pmem *p2pmem_get(struct p2pmem *p);
void p2pmem_put(struct p2pmem *p);
const char *p2pmem_name(const struct p2pmem *p);
struct p2pmem_hold *p2pmem_alloc(struct p2pmem *p,
				 struct device *const *clients, unsigned int n,
				 size_t size, const struct p2pmem_hold_ops *ops,
				 void *ctx);

void p2pmem_hold_put(struct p2pmem_hold *h);
void __iomem *p2pmem_hold_addr(const struct p2pmem_hold *h);
bool p2pmem_has_page(const struct page *page);
int p2pmem_hold_persist(struct p2pmem_hold *h, u64 offset, u64 len);
void p2pmem_hold_account(const struct p2pmem_hold *h, u64 in, u64 out);
const struct p2pmem_hold *p2pmem_hold_of_dmabuf(const struct dma_buf *buf);
int p2pmem_hold_sgt(const struct p2pmem_hold *h, struct sg_table *sgt);

#endif /* _LINUX_P2PMEM_H */

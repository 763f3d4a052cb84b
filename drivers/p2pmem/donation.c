// SPDX-License-Identifier: GPL-2.0
/*
 * Donations: from a donor's offer to its departure.
 *
 * How a donor goes, in this order (p2pmem_withdraw()):
 *  1. the device node and sysfs: nobody finds the donation any more
 *  2. the gate closes: no new mapping, no fault, no new hold
 *  3. every hold is revoked: kernel code that took memory lets it alone
 *  4. every mapping is emptied: the next access of a program gives SIGBUS
 *  5. pins that the kernel has taken on pages are waited for. That is the one
 *     step whose length others decide; holds exist so that nobody who holds
 *     memory for long needs a pin.
 *  6. so are DMA mappings that importers of dma-bufs were promised to keep
 *     (dmabuf.c)
 *  7. the pages go, then the kernel's mapping
 * The first four take as long as our own code takes, and may be had alone
 * (p2pmem_take_away()): where a failed device is told of, or where the memory is
 * another driver's (adopt.c), nobody must be kept waiting by the rest.
 * What remains is bookkeeping: open files, VMAs and revoked holds keep the
 * struct, not the memory, and nothing of the donor's module.
 */
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/memremap.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "backing.h"
#include "debugfs.h"
#include "hold.h"
#include "limits.h"
#include "pins.h"
#include "region.h"
#include "rules.h"
#include "stats.h"

#define DRAIN_POLL_MS		2
#define DRAIN_POLL_MAX_MS	50
#define DRAIN_WARN		(10 * HZ)

/**
 * p2pmem_enter() - begin something that makes mappings or holds
 * @p: the donation, of which the caller has a reference
 *
 * Return: 0, after which the donation stays until p2pmem_leave(); -ENODEV
 * when the donor goes or has gone; -EIO during an outage of volatile memory.
 */
int p2pmem_enter(struct p2pmem *p)
{
	int ret = 0;

	down_read(&p->gate);
	if (p->dead)
		ret = -ENODEV;
	else if (p->out && !p->d.persistent)
		ret = -EIO;
	if (ret)
		up_read(&p->gate);
	return ret;
}

/** p2pmem_leave() - end what p2pmem_enter() began */
void p2pmem_leave(struct p2pmem *p)
{
	up_read(&p->gate);
}

static int write_barrier(struct p2pmem *p, u64 offset, u64 len)
{
	if (p->d.ops && p->d.ops->persist)
		return p->d.ops->persist(p->d.priv, offset, len);

	/*
	 * PCI lets no read pass a write: when the answer is here, everything
	 * written before has reached the device. That the CPU doesn't read a
	 * write-combining mapping too soon takes a full barrier.
	 */
	mb();
	readl(p->io + ALIGN_DOWN(offset, sizeof(u32)));
	return 0;
}

/**
 * p2pmem_persist() - make written data durable
 * @p: the donation, entered or under an unrevoked hold
 * @offset: first byte within the donation
 * @len: number of bytes
 *
 * Return: 0, also for memory that isn't persistent, where there is nothing to
 * do but to let the writes leave this CPU; -EIO during an outage; or the donor's
 * error. Of an outage that is over the caller finds out itself, afterwards:
 * p2pmem_outage_check().
 */
int p2pmem_persist(struct p2pmem *p, u64 offset, u64 len)
{
	int ret;

	/* what this CPU has written leaves its write-combining buffers */
	wmb();
	if (!p->d.persistent || !len)
		return 0;
	p2pmem_count(p, P2PMEM_STAT_FLUSHES, 1);
	if (READ_ONCE(p->out))
		return -EIO;
	ret = write_barrier(p, offset, len);
	/* it may have begun before the barrier; if it is over its report is seen */
	if (!ret && smp_load_acquire(&p->out))
		ret = -EIO;
	return ret;
}

static int check_range(struct p2pmem *p)
{
	struct pci_dev *pdev = p->d.pdev;
	u64 len = pci_resource_len(pdev, p->d.bar);
	u64 align = memremap_compat_align();

	if (!(pci_resource_flags(pdev, p->d.bar) & IORESOURCE_MEM) || !len) {
		dev_err(&pdev->dev, "p2pmem: BAR %d refused: it is no memory BAR\n",
			p->d.bar);
		return -ENODEV;
	}
	if (!p->d.size && p->d.offset < len)
		p->d.size = len - p->d.offset;
	if (!p->d.size || p->d.offset > len || p->d.size > len - p->d.offset) {
		dev_err(&pdev->dev,
			"p2pmem: BAR %d refused: %llu bytes at %#llx are not within its %llu\n",
			p->d.bar, p->d.size, p->d.offset, len);
		return -ENODEV;
	}

	p->phys = pci_resource_start(pdev, p->d.bar) + p->d.offset;
	if (!IS_ALIGNED(p->phys | p->d.size, align)) {
		dev_err(&pdev->dev,
			"p2pmem: BAR %d refused: %llu bytes at %pa, must be a multiple of %llu MiB in size and place\n",
			p->d.bar, p->d.size, &p->phys, align >> 20);
		return -ENODEV;
	}
	return 0;
}

/*
 * A BAR must never be mapped cacheable: nobody would keep the caches coherent
 * with writes that a peer makes behind the CPU's back. Prefetchable means
 * that reads have no side effects and writes may be merged, which is what
 * write-combining does, at many times the speed of uncached stores. Where a
 * device doesn't say that, each access is left as it is.
 *
 * This mapping is made before the pages and stays until they are gone: on x86
 * it decides the memory type of every other mapping of the range. Where another
 * driver has made the pages it comes too late for that, and does as that one
 * does: the PCI layer makes them uncached.
 */
static int map_io(struct p2pmem *p)
{
	p->write_combine = !p2pmem_backing_shared(p->backing) &&
			   pci_resource_flags(p->d.pdev, p->d.bar) & IORESOURCE_PREFETCH;
	if (p->write_combine)
		p->io = ioremap_wc(p->phys, p->d.size);
	else
		p->io = ioremap(p->phys, p->d.size);
	if (p->io)
		return 0;

	dev_err(&p->d.pdev->dev, "p2pmem: BAR %d refused: can't map %pa\n",
		p->d.bar, &p->phys);
	return -ENOMEM;
}

static struct p2pmem *new(const struct p2pmem_donation *d,
			  const struct p2pmem_backing *backing)
{
	struct p2pmem *p = kzalloc(sizeof(*p), GFP_KERNEL);

	if (!p)
		return NULL;
	p->stats = alloc_percpu(struct p2pmem_stats);
	if (!p->stats) {
		kfree(p);
		return NULL;
	}

	p->d = *d;
	p->level = p2pmem_rules_default();
	p2pmem_clients_init(&p->clients);
	strscpy(p->health, "ok", sizeof(p->health));
	mutex_init(&p->rule_lock);
	init_rwsem(&p->gate);
	p->dead = true;
	mutex_init(&p->lock);
	INIT_LIST_HEAD(&p->regions);
	INIT_LIST_HEAD(&p->leaving);
	INIT_LIST_HEAD(&p->holds);
	INIT_LIST_HEAD(&p->unsettled);
	p2pmem_limits_init(p);
	init_waitqueue_head(&p->revoked);
	INIT_DELAYED_WORK(&p->reaper, p2pmem_reap);
	p->backing = backing;

	p->dev.class = &p2pmem_class;
	set_dev_node(&p->dev, dev_to_node(&d->pdev->dev));
	device_initialize(&p->dev);
	return p;
}

/*
 * The PCI function is not the parent device: the directory for devices of
 * our class would be called p2pmem, and with CONFIG_PCI_P2PDMA the PCI layer
 * has one of that name there already. So the link that a parent gives is made
 * by hand, before user space is told.
 */
static int add_device(struct p2pmem *p)
{
	int ret;

	dev_set_uevent_suppress(&p->dev, true);
	ret = cdev_device_add(&p->cdev, &p->dev);
	if (ret)
		return ret;

	ret = sysfs_create_link(&p->dev.kobj, &p->d.pdev->dev.kobj, "device");
	if (ret) {
		cdev_device_del(&p->cdev, &p->dev);
		return ret;
	}
	/* from now on there is no way back but p2pmem_withdraw() */
	down_write(&p->gate);
	p->dead = false;
	up_write(&p->gate);
	dev_set_uevent_suppress(&p->dev, false);
	kobject_uevent(&p->dev.kobj, KOBJ_ADD);
	return 0;
}

static int publish(struct p2pmem *p)
{
	int ret;

	ret = p2pmem_devt_get(&p->dev.devt);
	if (ret)
		return ret;

	cdev_init(&p->cdev, &p2pmem_fops);
	p->cdev.owner = THIS_MODULE;
	ret = dev_set_name(&p->dev, "p2pmem%d", MINOR(p->dev.devt));
	if (!ret)
		ret = add_device(p);
	if (ret)
		p2pmem_devt_put(p->dev.devt);
	return ret;
}

static int no_donation(const struct p2pmem_donation *d, const char *why, int err)
{
	dev_err(&d->pdev->dev, "p2pmem: BAR %d refused: %s (error %d)\n",
		d->bar, why, err);
	return err;
}

static int set_up(struct p2pmem *p)
{
	int ret;

	p->inode = p2pmem_inode_new();
	if (IS_ERR(p->inode)) {
		ret = PTR_ERR(p->inode);
		p->inode = NULL;
		return no_donation(&p->d, "no inode for its mappings", ret);
	}

	ret = p2pmem_pool_init(&p->pool, p->d.size >> PAGE_SHIFT,
			       p->d.persistent);
	if (ret)
		return no_donation(&p->d, "no pool can be made of it", ret);

	ret = map_io(p);
	if (ret)
		return ret;

	/* what others use is not to be written to, and works for them */
	if (!p2pmem_backing_shared(p->backing))
		ret = p2pmem_selftest(p, NULL, "refused");
	if (ret)
		goto unmap_io;

	ret = p->backing->add(p);
	if (ret)
		goto unmap_io;

	ret = publish(p);
	if (ret) {
		no_donation(&p->d, "no device can be made of it", ret);
		goto remove_pages;
	}
	return 0;

remove_pages:
	p->backing->remove(p);
unmap_io:
	iounmap(p->io);
	return ret;
}

/* who is named in messages: an adopted donation has no donor module */
static const char *donor_name(const struct p2pmem *p)
{
	return p->d.owner ? module_name(p->d.owner) :
			    dev_driver_string(&p->d.pdev->dev);
}

/**
 * p2pmem_donate_with() - p2pmem_donate(), with pages from a place of one's choice
 * @d: as for p2pmem_donate(); @d->owner is NULL where the driver of @d->pdev knows
 *	nothing of it
 * @backing: where the pages come from
 *
 * Context: process context, may sleep; the driver of @d->pdev stays bound meanwhile.
 * Return: as p2pmem_donate().
 */
struct p2pmem *p2pmem_donate_with(const struct p2pmem_donation *d,
				  const struct p2pmem_backing *backing)
{
	struct p2pmem *p;
	int ret;

	p = new(d, backing);
	if (!p)
		return ERR_PTR(no_donation(d, "out of memory", -ENOMEM));

	ret = check_range(p);
	if (!ret)
		ret = set_up(p);
	if (ret) {
		put_device(&p->dev);
		return ERR_PTR(ret);
	}

	p2pmem_debugfs_add(p);
	dev_info(&p->dev,
		 "%llu MiB from BAR %d of %s: %s, %s, %s, %s pages, donor %s\n",
		 p->d.size >> 20, p->d.bar, pci_name(p->d.pdev),
		 p2pmem_kind_name(p->d.kind),
		 p->d.persistent ? "persistent" : "volatile",
		 p->write_combine ? "write-combining" : "uncached",
		 p->backing->name, donor_name(p));
	return p;
}

/**
 * p2pmem_donate() - offer memory to all takers
 * @d: what, copied; @d->pdev must be bound to the donor until the memory has
 *	been withdrawn
 *
 * The range is tested first, and its content is left as it was. From then on
 * it is /dev/p2pmemN. If the answer is no, one line in the kernel log says
 * why.
 *
 * Context: process context, may sleep; from the donor's probe().
 * Return: the donation, for p2pmem_withdraw(); -ENODEV when the range can't
 * serve, another error when the kernel lacks something.
 */
struct p2pmem *p2pmem_donate(const struct p2pmem_donation *d)
{
	return p2pmem_donate_with(d, &p2pmem_page_backing);
}
EXPORT_SYMBOL_GPL(p2pmem_donate);

static void close_gate(struct p2pmem *p)
{
	down_write(&p->gate);
	p->dead = true;
	up_write(&p->gate);
}

static void drain_note(struct p2pmem *p, unsigned long pages,
		       unsigned long *next)
{
	if (time_before(jiffies, *next))
		return;
	dev_warn(&p->dev,
		 "%lu pages are still pinned, by a driver or by I/O in flight: the donor has to wait\n",
		 pages);
	p2pmem_pins_name(p);
	*next = jiffies + 6 * DRAIN_WARN;
}

/*
 * Unmapping has to be repeated: a mmap() that got through the gate before it
 * closed has its pages in a VMA that the inode may not know yet.
 */
static void drain(struct p2pmem *p)
{
	unsigned long pages, next = jiffies + DRAIN_WARN;
	unsigned int ms = DRAIN_POLL_MS;

	for (;;) {
		unmap_mapping_range(p->inode->i_mapping, 0, 0, 1);
		/*
		 * Lockless page table walks (gup_fast) that saw a page before
		 * it was unmapped have taken their reference or given up.
		 */
		synchronize_rcu();
		pages = p2pmem_regions_busy(p);
		if (!pages)
			return;

		drain_note(p, pages, &next);
		msleep(ms);
		ms = min(2 * ms, DRAIN_POLL_MAX_MS);
	}
}

/**
 * p2pmem_take_away() - the part of a withdrawal that nobody can delay
 * @p: what p2pmem_donate() returned, not yet withdrawn
 *
 * When this returns the device is gone, holds are revoked, programs get SIGBUS. Who
 * has pages pinned, or was promised to keep them, has them still. p2pmem_withdraw()
 * must follow, until which nothing else that is said of the donation counts. A second
 * call does nothing.
 *
 * For a donor whose memory has failed, and who must not wait.
 *
 * Context: process context, sleeps; serialised by the caller with all else that the
 * donor says of the donation. Takes as long as the slowest revoke callback.
 */
void p2pmem_take_away(struct p2pmem *p)
{
	if (p->dying)
		return;
	/* whoever zeroes gigabytes behind the gate, or waits in an attribute, stops now */
	WRITE_ONCE(p->dying, true);
	cdev_device_del(&p->cdev, &p->dev);
	p2pmem_debugfs_remove(p);
	close_gate(p);
	p2pmem_holds_revoke(p, true);
	unmap_mapping_range(p->inode->i_mapping, 0, 0, 1);
}
EXPORT_SYMBOL_GPL(p2pmem_take_away);

/**
 * p2pmem_withdraw() - take a donation back
 * @p: what p2pmem_donate() returned, not to be used afterwards
 *
 * When this returns nobody can touch the memory any more: holds are revoked,
 * programs get SIGBUS, no page is pinned. The pages themselves are gone too,
 * or go when the donor's driver has unbound (CONFIG_PCI_P2PDMA).
 *
 * Context: process context, sleeps; from the donor's remove(). Takes as long
 * as the slowest revoke callback and the longest pin.
 */
void p2pmem_withdraw(struct p2pmem *p)
{
	p2pmem_take_away(p);
	drain(p);
	p2pmem_holds_settle(p, true);
	p2pmem_regions_gone(p);
	p->backing->remove(p);
	iounmap(p->io);
	dev_info(&p->dev, "withdrawn\n");
	p2pmem_devt_put(p->dev.devt);
	put_device(&p->dev);
}
EXPORT_SYMBOL_GPL(p2pmem_withdraw);

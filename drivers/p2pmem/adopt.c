// SPDX-License-Identifier: GPL-2.0
/*
 * Adoption: memory that another driver has published through the PCI layer
 * (pci_p2pmem_publish(); the kernel's nvme driver does that with a Controller
 * Memory Buffer) becomes a donation, of which that driver knows nothing.
 *
 * The publisher goes on using the memory, and so does everybody else whom the
 * PCI layer gives some of it: a region is taken from the common pool when it is
 * made, and given back at its end (backing_p2pdma.c). Our own donors' memory is
 * never published, so it isn't adopted.
 *
 * An adoption lasts from when the publisher's driver has bound until just before it
 * unbinds. The PCI bus tells both, with the function's device lock held, which is
 * what keeps the driver bound while we look. Who publishes memory when it is bound
 * already tells nobody; writing to the parameter looks again.
 *
 * How it ends, in this order:
 *  1. With the device lock held, what no one can delay (p2pmem_take_away()): nobody
 *     finds it, holds are revoked, programs get SIGBUS.
 *  2. A work item waits for those who have pages pinned, or were promised a dma-buf,
 *     and gives each region back to the PCI layer. Nobody waits for it here. So a pin
 *     that lasts keeps nobody from the function's device lock, and not the driver from
 *     its own remove(), which goes on beside it: that one may be what ends the pin, if
 *     it is a request to that very driver.
 *  3. After its remove() the driver core frees what the function's driver had managed
 *     by it. The PCI layer's pages are among that, and go when the last reference on
 *     their pagemap has: each piece that is taken from the pool has one, also one of
 *     ours, until it is given back. So that is where a pin is waited for, by the kernel
 *     itself and for as long as by any other user of such memory.
 *  4. Then the pool goes, and the driver's module may.
 * Thus a page is there as long as it is marked in our pool, and after the last one
 * was given back none may be looked at, nor may the pool. The function's struct, for
 * its name, stays by the reference of the adoption; our own code since unloading waits
 * for the work items. A new adoption of the function need not wait for the end of the
 * last one: what that still has is taken from the common pool.
 *
 * Locks: a function's device lock, then adopt_lock, then p2pmem's others. The work
 * items take neither of these two.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/device.h>
#include <linux/list.h>
#include <linux/memremap.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/pci-p2pdma.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <linux/workqueue.h>

#include "adopt.h"
#include "donation.h"

#define TRIES		20
#define TRY_EVERY	50	/* ms */

/**
 * struct adoption - an adopted donation
 * @node: in adoptions
 * @pdev: the function, of which this holds a reference
 * @p: the donation
 * @settle: step 2 of its end, after which it is freed
 */
struct adoption {
	struct list_head node;
	struct pci_dev *pdev;
	struct p2pmem *p;
	struct work_struct settle;
};

static struct workqueue_struct *settling;	/* since the module's start; step 2 */

static DEFINE_MUTEX(adopt_lock);	/* protects all below */
static LIST_HEAD(adoptions);
static bool adopt = true;
static bool running;

static struct adoption *find(const struct pci_dev *pdev)
{
	struct adoption *a;

	lockdep_assert_held(&adopt_lock);

	list_for_each_entry(a, &adoptions, node)
		if (a->pdev == pdev)
			return a;
	return NULL;
}

static struct dev_pagemap *pagemap_at(phys_addr_t phys)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
	return get_dev_pagemap(PHYS_PFN(phys), NULL);
#else
	return get_dev_pagemap(PHYS_PFN(phys));
#endif
}

/*
 * Which part of a BAR has P2PDMA pages? The PCI layer keeps that to itself, but the
 * pages know. They come in whole steps. Returns how many such parts the BAR has, and
 * the last one in @d.
 */
static unsigned int find_parts(struct pci_dev *pdev, int bar, struct p2pmem_donation *d)
{
	phys_addr_t start = pci_resource_start(pdev, bar), at, next;
	phys_addr_t end = start + pci_resource_len(pdev, bar);
	u64 step = memremap_compat_align();
	struct dev_pagemap *pgmap;
	unsigned int n = 0;

	for (at = ALIGN(start, step); at < end; at = next) {
		next = at + step;
		pgmap = pagemap_at(at);
		if (!pgmap)
			continue;
		if (pgmap->type == MEMORY_DEVICE_PCI_P2PDMA) {
			d->bar = bar;
			d->offset = pgmap->range.start - start;
			d->size = range_len(&pgmap->range);
			n++;
		}
		next = max(next, (phys_addr_t)pgmap->range.end + 1);
		put_dev_pagemap(pgmap);
		cond_resched();
	}
	return n;
}

/* A pool of several parts gives memory of any: what we call one device is one part. */
static int find_memory(struct pci_dev *pdev, struct p2pmem_donation *d)
{
	unsigned int n = 0;
	int bar;

	for (bar = 0; bar < PCI_STD_NUM_BARS; bar++)
		if (pci_resource_flags(pdev, bar) & IORESOURCE_MEM &&
		    pci_resource_len(pdev, bar))
			n += find_parts(pdev, bar, d);
	if (n == 1)
		return 0;
	pci_err(pdev, "p2pmem: not adopted: the memory that %s has published is in %u pieces, must be in one\n",
		dev_driver_string(&pdev->dev), n);
	return -ENODEV;
}

static struct p2pmem *donate(struct pci_dev *pdev)
{
	struct p2pmem_donation d = {
		.pdev = pdev,
		.kind = pdev->class == PCI_CLASS_STORAGE_EXPRESS ?
			P2PMEM_KIND_CMB : P2PMEM_KIND_BAR,
	};
	int ret;

	ret = find_memory(pdev, &d);
	return ret ? ERR_PTR(ret) :
		     p2pmem_donate_with(&d, &p2pmem_shared_backing);
}

static void settle(struct work_struct *work)
{
	struct adoption *a = container_of(work, struct adoption, settle);

	p2pmem_withdraw(a->p);
	pci_dev_put(a->pdev);
	kfree(a);
}

static void begin(struct pci_dev *pdev)
{
	struct adoption *a;

	lockdep_assert_held(&adopt_lock);

	a = kzalloc(sizeof(*a), GFP_KERNEL);
	if (!a)
		return;
	a->p = donate(pdev);
	if (IS_ERR(a->p)) {
		kfree(a);
		return;
	}
	a->pdev = pci_dev_get(pdev);
	INIT_WORK(&a->settle, settle);
	list_add_tail(&a->node, &adoptions);
}

/* A function's driver has bound, or somebody wants to know. */
static void look(struct pci_dev *pdev)
{
	device_lock_assert(&pdev->dev);

	mutex_lock(&adopt_lock);
	if (running && adopt && pdev->dev.driver && pci_has_p2pmem(pdev) &&
	    !find(pdev))
		begin(pdev);
	mutex_unlock(&adopt_lock);
}

/* Its driver is about to unbind, or we don't want it any more. */
static void end(struct pci_dev *pdev)
{
	struct adoption *a;

	device_lock_assert(&pdev->dev);

	mutex_lock(&adopt_lock);
	a = find(pdev);
	mutex_unlock(&adopt_lock);
	if (!a)
		return;

	/* in the list until it is queued: p2pmem_adopt_stop() has to know of it */
	p2pmem_take_away(a->p);
	mutex_lock(&adopt_lock);
	list_del(&a->node);
	queue_work(settling, &a->settle);
	mutex_unlock(&adopt_lock);
}

static int notified(struct notifier_block *nb, unsigned long action, void *data)
{
	struct pci_dev *pdev = to_pci_dev(data);

	if (action == BUS_NOTIFY_BOUND_DRIVER)
		look(pdev);
	else if (action == BUS_NOTIFY_UNBIND_DRIVER)
		end(pdev);
	return NOTIFY_DONE;
}

static struct notifier_block notifier = {
	.notifier_call = notified,
};

/*
 * Whose driver is being bound or unbound may be locked for as long as others like: for
 * all that have its memory pinned. Who binds is noticed anyway (notified()), so such a
 * one need not be waited for.
 */
static bool try_lock(struct pci_dev *pdev)
{
	int i;

	for (i = 0; i < TRIES; i++) {
		if (device_trylock(&pdev->dev))
			return true;
		msleep(TRY_EVERY);
	}
	pci_info(pdev, "p2pmem: busy, not looked at: if its driver is being bound it will be\n");
	return false;
}

static void look_at_all(void)
{
	struct pci_dev *pdev = NULL;

	for_each_pci_dev(pdev) {
		/* who publishes only now tells us when it has bound */
		if (!pci_has_p2pmem(pdev))
			continue;
		if (!try_lock(pdev))
			continue;
		look(pdev);
		device_unlock(&pdev->dev);
	}
}

static struct pci_dev *first(void)
{
	struct adoption *a;
	struct pci_dev *pdev;

	mutex_lock(&adopt_lock);
	a = list_first_entry_or_null(&adoptions, struct adoption, node);
	pdev = a ? pci_dev_get(a->pdev) : NULL;
	mutex_unlock(&adopt_lock);
	return pdev;
}

/* No new ones begin. Steps 1 are over when it returns. */
static void end_all(void)
{
	struct pci_dev *pdev;

	while ((pdev = first())) {
		device_lock(&pdev->dev);
		end(pdev);
		device_unlock(&pdev->dev);
		pci_dev_put(pdev);
	}
}

static int adopt_set(const char *val, const struct kernel_param *kp)
{
	bool value, now;

	if (kstrtobool(val, &value)) {
		pr_err("parameter adopt: must be 0 or 1\n");
		return -EINVAL;
	}
	mutex_lock(&adopt_lock);
	adopt = value;
	now = running;
	mutex_unlock(&adopt_lock);
	if (!now)
		return 0;
	if (value)
		look_at_all();
	else
		end_all();
	return 0;
}

static const struct kernel_param_ops adopt_ops = {
	.set = adopt_set,
	.get = param_get_bool,
};
module_param_cb(adopt, &adopt_ops, &adopt, 0644);
MODULE_PARM_DESC(adopt, "Adopt memory that other drivers publish for P2PDMA; 1 looks again, 0 withdraws it (default 1)");

static void set_running(bool value)
{
	mutex_lock(&adopt_lock);
	running = value;
	mutex_unlock(&adopt_lock);
}

/**
 * p2pmem_adopt_start() - adopt what is there and what comes
 *
 * Return: 0, or an error.
 */
int p2pmem_adopt_start(void)
{
	int ret;

	/* each may wait for as long as others like, so none waits for another one */
	settling = alloc_workqueue("p2pmem_adopt", WQ_UNBOUND, 0);
	if (!settling)
		return -ENOMEM;
	ret = bus_register_notifier(&pci_bus_type, &notifier);
	if (ret) {
		destroy_workqueue(settling);
		return ret;
	}
	set_running(true);
	look_at_all();
	return 0;
}

/**
 * p2pmem_adopt_stop() - withdraw all that is adopted
 *
 * Waits for pins, as any donor whose module is unloaded. The parameter can still be
 * written to, but nothing comes of it.
 */
void p2pmem_adopt_stop(void)
{
	set_running(false);
	end_all();
	/* waits for who ends one: there is no more to settle after that */
	bus_unregister_notifier(&pci_bus_type, &notifier);
	destroy_workqueue(settling);
}

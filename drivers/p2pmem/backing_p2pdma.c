// SPDX-License-Identifier: GPL-2.0
/*
 * Pages of type PCI_P2PDMA, for kernels with CONFIG_PCI_P2PDMA.
 *
 * Only the PCI layer may make them. It puts them into a pool of its own, of
 * which we take everything at once and hand it out ourselves. It takes them
 * away only when the donor's driver unbinds, after the driver's remove(). Until
 * then what was donated and withdrawn, or failed after its pages were made, has
 * them still: they can't be made a second time, so we know which there are.
 *
 * That pool may also be another driver's, who uses it itself, and offers it to
 * others by publishing it (adopt.c). Then each region is taken from it when it
 * is made, and given back when its last user and its last pin have gone.
 */
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/pci-p2pdma.h>
#include <linux/pci.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/version.h>

#include "adopt.h"
#include "backing.h"
#include "donation.h"

/**
 * struct p2pdma_backing - what to give back
 * @addr: the allocation in the PCI layer's pool
 */
struct p2pdma_backing {
	void *addr;
};

/* Linux 6.15 and later hand pages out without a base reference: it's for us to give. */
static const bool pages_are_bare = LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0);

/*
 * Before, a page that somebody else has just freed is in the pool again a moment
 * before it has that reference again.
 */
static void give_base_reference(struct page *pages, unsigned long n)
{
	unsigned long i;

	for (i = 0; i < n; i++) {
		if (pages_are_bare)
			set_page_count(pages + i, 1);
		while (!page_ref_count(pages + i))
			cpu_relax();
		if (!(i % 1024))
			cond_resched();
	}
}

/* Who walks page tables without a lock may have one more of them, for a moment. */
static void take_base_reference(struct page *pages, unsigned long n)
{
	unsigned long i;

	if (!pages_are_bare)
		return;
	for (i = 0; i < n; i++) {
		while (!page_ref_freeze(pages + i, 1))
			cpu_relax();
		if (!(i % 1024))
			cond_resched();
	}
}

/**
 * struct made - a range that has pages
 * @node: in ranges
 * @start: its first byte
 * @size: bytes
 */
struct made {
	struct list_head node;
	phys_addr_t start;
	u64 size;
};

static LIST_HEAD(ranges);
static DEFINE_MUTEX(ranges_lock);	/* protects ranges; nothing is taken under it */

/* Its driver unbinds, and the pages have just gone. */
static void forget(void *data)
{
	struct made *m = data;

	mutex_lock(&ranges_lock);
	list_del(&m->node);
	mutex_unlock(&ranges_lock);
	kfree(m);
}

/* Has all of the donation's range pages already? -EBUSY: a part of it has. */
static int already_made(const struct p2pmem *p)
{
	phys_addr_t end = p->phys + p->d.size;
	const struct made *m;
	int ret = 0;

	mutex_lock(&ranges_lock);
	list_for_each_entry(m, &ranges, node) {
		if (m->start >= end || p->phys >= m->start + m->size)
			continue;
		ret = m->start <= p->phys && end <= m->start + m->size ? 1 : -EBUSY;
		break;
	}
	mutex_unlock(&ranges_lock);
	return ret;
}

static int make(struct p2pmem *p)
{
	struct pci_dev *pdev = p->d.pdev;
	struct made *m = kzalloc(sizeof(*m), GFP_KERNEL);
	int ret;

	if (!m)
		return -ENOMEM;
	m->start = p->phys;
	m->size = p->d.size;
	mutex_lock(&ranges_lock);
	list_add(&m->node, &ranges);
	mutex_unlock(&ranges_lock);

	/* before the pages are made, so that it is undone after they have gone */
	ret = devm_add_action_or_reset(&pdev->dev, forget, m);
	if (ret)
		return ret;
	ret = pci_p2pdma_add_resource(pdev, p->d.bar, p->d.size, p->d.offset);
	if (ret)
		devm_release_action(&pdev->dev, forget, m);
	return ret;
}

/**
 * struct other - memory of the same function that the pool gave us instead
 * @next: the next one
 * @addr: it
 */
struct other {
	struct other *next;
	void *addr;
};

static bool is_within(const struct p2pmem *p, void *addr, size_t size)
{
	phys_addr_t phys = page_to_phys(virt_to_page(addr));

	return phys >= p->phys && phys + size <= p->phys + p->d.size;
}

/*
 * The pool can't be asked for a place. What it gives besides this donation's, of one
 * that is no more, or that its owner has added since, is kept until ours comes: else
 * it would be given again.
 */
static void *take_within(struct p2pmem *p, size_t size)
{
	struct pci_dev *pdev = p->d.pdev;
	struct other *others = NULL, *o;
	void *addr;

	while ((addr = pci_alloc_p2pmem(pdev, size))) {
		if (is_within(p, addr, size))
			break;
		o = kzalloc(sizeof(*o), GFP_KERNEL);
		if (!o) {
			pci_free_p2pmem(pdev, addr, size);
			addr = NULL;
			break;
		}
		o->addr = addr;
		o->next = others;
		others = o;
	}
	while ((o = others)) {
		others = o->next;
		pci_free_p2pmem(pdev, o->addr, size);
		kfree(o);
	}
	return addr;
}

static int take_all(struct p2pmem *p, struct p2pdma_backing *b)
{
	b->addr = take_within(p, p->d.size);
	if (!b->addr)
		return -EBUSY;

	p->pages = virt_to_page(b->addr);
	give_base_reference(p->pages, p->d.size >> PAGE_SHIFT);
	return 0;
}

static int p2pdma_add(struct p2pmem *p)
{
	struct p2pdma_backing *b;
	int ret;

	b = kzalloc(sizeof(*b), GFP_KERNEL);
	if (!b)
		return -ENOMEM;

	ret = already_made(p);
	if (!ret)
		ret = make(p);
	if (ret >= 0)
		ret = take_all(p, b);
	if (ret) {
		dev_err(&p->d.pdev->dev,
			"p2pmem: BAR %d refused: the PCI layer has no P2PDMA pages for it (error %d%s)\n",
			p->d.bar, ret, ret == -EBUSY ?
			": earlier ones are kept until the driver is unbound" : "");
		kfree(b);
		return ret;
	}
	p->backing_priv = b;
	return 0;
}

static void p2pdma_remove(struct p2pmem *p)
{
	struct p2pdma_backing *b = p->backing_priv;

	take_base_reference(p->pages, p->d.size >> PAGE_SHIFT);
	pci_free_p2pmem(p->d.pdev, b->addr, p->d.size);
	kfree(b);
}

static void fill(struct p2pmem *p, struct sg_table *sgt, u64 offset, u64 size)
{
	struct scatterlist *sg;
	unsigned int i, len;

	for_each_sgtable_sg(sgt, sg, i) {
		len = min(size, P2PMEM_PIECE);
		sg_set_page(sg, p->pages + (offset >> PAGE_SHIFT), len, 0);
		offset += len;
		size -= len;
	}
}

/*
 * The DMA layer knows P2PDMA pages, and refuses (EREMOTEIO) where the two devices
 * can't reach each other.
 */
static int p2pdma_map(struct p2pmem *p, struct device *dev, struct sg_table *sgt,
		      u64 offset, u64 size, enum dma_data_direction dir)
{
	fill(p, sgt, offset, size);
	return dma_map_sgtable(dev, sgt, dir, DMA_ATTR_SKIP_CPU_SYNC);
}

static void p2pdma_unmap(struct device *dev, struct sg_table *sgt,
			 enum dma_data_direction dir)
{
	dma_unmap_sgtable(dev, sgt, dir, DMA_ATTR_SKIP_CPU_SYNC);
}

/* Somebody else's P2PDMA pages are taken for ours: a taker can't use them either. */
static bool p2pdma_has(const struct page *page)
{
	return is_pci_p2pdma_page(page);
}

const struct p2pmem_backing p2pmem_page_backing = {
	.name	= "p2pdma",
	.add	= p2pdma_add,
	.remove	= p2pdma_remove,
	.map	= p2pdma_map,
	.unmap	= p2pdma_unmap,
	.has	= p2pdma_has,
};

/**
 * struct shared_backing - a pool that is another driver's
 * @available: the PCI layer's attribute of the function, which says what is free of
 *	that pool. No call does. NULL: we know of our own part only.
 */
struct shared_backing {
	struct device_attribute *available;
};

/*
 * It is looked up once, as that takes locks that we mustn't want under mmap_lock. It
 * is a constant of the kernel's, and does its work as long as the driver is bound.
 */
static struct device_attribute *find_attribute(struct pci_dev *pdev, const char *name)
{
	struct device_attribute *found = NULL;
	struct kernfs_node *dir, *file;

	dir = sysfs_get_dirent(pdev->dev.kobj.sd, "p2pmem");
	file = dir ? sysfs_get_dirent(dir, name) : NULL;
	if (file)
		found = container_of(file->priv, struct device_attribute, attr);
	sysfs_put(file);
	sysfs_put(dir);
	return found;
}

static int shared_add(struct p2pmem *p)
{
	struct shared_backing *b = kzalloc(sizeof(*b), GFP_KERNEL);

	if (!b)
		return -ENOMEM;
	b->available = find_attribute(p->d.pdev, "available");
	p->pages = pfn_to_page(PHYS_PFN(p->phys));
	p->backing_priv = b;
	return 0;
}

/* Of the pages nothing is ours any more: each region's were given back. */
static void shared_remove(struct p2pmem *p)
{
	kfree(p->backing_priv);
}

static int shared_take(struct p2pmem *p, unsigned long npages, unsigned long *first)
{
	void *addr;

	if (!pci_has_p2pmem(p->d.pdev))
		return -ENODEV;
	/* it counts in bytes */
	if (!npages || npages > p->pool.npages)
		return -ENOMEM;
	addr = take_within(p, npages << PAGE_SHIFT);
	if (!addr)
		return -ENOMEM;
	*first = virt_to_page(addr) - p->pages;
	if (p2pmem_pool_mark(&p->pool, *first, npages)) {
		pci_free_p2pmem(p->d.pdev, addr, npages << PAGE_SHIFT);
		return -ENOMEM;
	}
	give_base_reference(p->pages + *first, npages);
	return 0;
}

static void shared_give(struct p2pmem *p, unsigned long first, unsigned long npages)
{
	struct page *pages = p->pages + first;

	take_base_reference(pages, npages);
	pci_free_p2pmem(p->d.pdev, page_to_virt(pages), npages << PAGE_SHIFT);
}

static u64 shared_available(struct p2pmem *p)
{
	const struct shared_backing *b = p->backing_priv;
	struct device_attribute *attr = b->available;
	char *text = (char *)get_zeroed_page(GFP_KERNEL);
	u64 bytes;

	/* without that: what is not our own */
	if (!text || !attr || attr->show(&p->d.pdev->dev, attr, text) <= 0 ||
	    kstrtou64(text, 10, &bytes)) {
		mutex_lock(&p->lock);
		bytes = (u64)p2pmem_pool_available(&p->pool) << PAGE_SHIFT;
		mutex_unlock(&p->lock);
	}
	free_page((unsigned long)text);
	return min(bytes, p->d.size);
}

const struct p2pmem_backing p2pmem_shared_backing = {
	.name		= "shared p2pdma",
	.add		= shared_add,
	.remove		= shared_remove,
	.map		= p2pdma_map,
	.unmap		= p2pdma_unmap,
	.has		= p2pdma_has,
	.take		= shared_take,
	.give		= shared_give,
	.available	= shared_available,
};

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the struct pages of a donation come from.
 */
#ifndef _P2PMEM_BACKING_H
#define _P2PMEM_BACKING_H

#include <linux/dma-direction.h>
#include <linux/sizes.h>
#include <linux/types.h>

struct device;
struct p2pmem;
struct sg_table;
struct page;

/* bytes of one entry of a table: its length is an unsigned int */
#define P2PMEM_PIECE	((u64)SZ_1G)

/**
 * struct p2pmem_backing - one way to give pages to BAR memory
 * @name: for messages
 * @add: make pages for @p->phys, @p->d.size and store the first in @p->pages.
 *	Each page comes with exactly one reference, the base reference, which
 *	stays for the whole donation (region.c says why).
 * @remove: take the pages away. Every page has its base reference and no
 *	other, and nobody can get at them any more.
 * @map: make @size bytes at @offset reachable for @dev, which does DMA, in the way
 *	that this kernel has for memory of another device; an error where it has none
 *	for the two. The table has an entry for each P2PMEM_PIECE. For dma-bufs: the
 *	table's pages are nobody's business.
 * @unmap: undo @map. The donation may have been withdrawn in between.
 * @has: is this one of the pages that @add has made, for any donation?
 *
 * Where another driver has made the pages, who goes on using its part of them
 * (adopt.c), there are three more; else they are NULL.
 * @take: take @npages contiguous pages from the pool of their owner, mark them in
 *	@p->pool, store the number of the first; -ENOMEM when there is no such piece,
 *	-ENODEV when the owner offers none any more. @p->lock is held.
 * @give: give them back, in the pieces in which they were taken: each page is idle,
 *	and not in @p->pool any more. @p->lock is held.
 * @available: bytes that nobody uses, the owner included. The donation is entered,
 *	or its attributes are there.
 */
struct p2pmem_backing {
	const char *name;
	int (*add)(struct p2pmem *p);
	void (*remove)(struct p2pmem *p);
	int (*map)(struct p2pmem *p, struct device *dev, struct sg_table *sgt,
		   u64 offset, u64 size, enum dma_data_direction dir);
	void (*unmap)(struct device *dev, struct sg_table *sgt,
		      enum dma_data_direction dir);
	bool (*has)(const struct page *page);
	int (*take)(struct p2pmem *p, unsigned long npages, unsigned long *first);
	void (*give)(struct p2pmem *p, unsigned long first, unsigned long npages);
	u64 (*available)(struct p2pmem *p);
};

/** p2pmem_backing_shared() - is the memory another driver's, who uses it as well? */
static inline bool p2pmem_backing_shared(const struct p2pmem_backing *backing)
{
	return backing->take;
}

/* the one that this kernel's configuration asks for, see Kbuild */
extern const struct p2pmem_backing p2pmem_page_backing;

#endif /* _P2PMEM_BACKING_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * Pages of type GENERIC, for kernels without CONFIG_PCI_P2PDMA.
 *
 * The pages live in the kernel's linear map as well. memremap_pages() asks
 * for a cacheable mapping there, which would be wrong for a BAR: on x86 it is
 * given the memory type that the range already has, which is the one of the
 * donation's own io mapping (made first, see donation.c). Elsewhere nothing
 * corrects it, so elsewhere this backing refuses.
 */
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/kconfig.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/pci.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/version.h>

#include "backing.h"
#include "donation.h"

static int generic_add(struct p2pmem *p)
{
	struct dev_pagemap *pgmap;
	void *addr;

	if (!IS_ENABLED(CONFIG_X86)) {
		dev_err(&p->d.pdev->dev,
			"p2pmem: BAR %d refused: this architecture needs a kernel with CONFIG_PCI_P2PDMA\n",
			p->d.bar);
		return -ENODEV;
	}

	pgmap = kzalloc(sizeof(*pgmap), GFP_KERNEL);
	if (!pgmap)
		return -ENOMEM;

	/*
	 * No callback for freed pages: the base reference is never dropped,
	 * so none is ever freed.
	 */
	pgmap->type = MEMORY_DEVICE_GENERIC;
	pgmap->range.start = p->phys;
	pgmap->range.end = p->phys + p->d.size - 1;
	pgmap->nr_range = 1;
	pgmap->owner = (void *)&p2pmem_page_backing;

	addr = memremap_pages(pgmap, dev_to_node(&p->d.pdev->dev));
	if (IS_ERR(addr)) {
		dev_err(&p->d.pdev->dev,
			"p2pmem: BAR %d refused: no struct pages for %pa (error %ld; an address out of reach needs nokaslr)\n",
			p->d.bar, &p->phys, PTR_ERR(addr));
		kfree(pgmap);
		return PTR_ERR(addr);
	}

	p->pages = pfn_to_page(PHYS_PFN(p->phys));
	p->backing_priv = pgmap;
	return 0;
}

static void generic_remove(struct p2pmem *p)
{
	memunmap_pages(p->backing_priv);
	kfree(p->backing_priv);
}

static void unmap_entries(struct device *dev, struct sg_table *sgt,
			  unsigned int n, enum dma_data_direction dir)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sg(sgt->sgl, sg, n, i)
		dma_unmap_resource(dev, sg_dma_address(sg), sg_dma_len(sg), dir,
				   DMA_ATTR_SKIP_CPU_SYNC);
}

static int map_entries(struct device *dev, struct sg_table *sgt,
		       phys_addr_t phys, u64 size, enum dma_data_direction dir)
{
	struct scatterlist *sg;
	unsigned int i, len;
	dma_addr_t addr;

	for_each_sgtable_sg(sgt, sg, i) {
		len = min(size, P2PMEM_PIECE);
		addr = dma_map_resource(dev, phys, len, dir,
					DMA_ATTR_SKIP_CPU_SYNC);
		if (dma_mapping_error(dev, addr)) {
			unmap_entries(dev, sgt, i, dir);
			return -EIO;
		}
		sg_set_page(sg, NULL, len, 0);
		sg_dma_address(sg) = addr;
		sg_dma_len(sg) = len;
		phys += len;
		size -= len;
	}
	return 0;
}

/*
 * The DMA layer would refuse it as well, with a warning about its caller. Where an
 * IOMMU translates, the device sees another address, which is that layer's business.
 */
static bool can_reach(struct device *dev, phys_addr_t phys, u64 size)
{
	const struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	if (domain && domain->type != IOMMU_DOMAIN_IDENTITY)
		return true;
	return phys + size - 1 <= min_not_zero(dma_get_mask(dev), dev->bus_dma_limit);
}

/* No page of it is given away: to this kernel it is an address, not memory. */
static int generic_map(struct p2pmem *p, struct device *dev, struct sg_table *sgt,
		       u64 offset, u64 size, enum dma_data_direction dir)
{
	if (!can_reach(dev, p->phys + offset, size)) {
		dev_info_ratelimited(&p->dev,
				     "no DMA mapping for %s: %pa is beyond its mask %#llx\n",
				     dev_name(dev), &p->phys, dma_get_mask(dev));
		return -EREMOTEIO;
	}
	return map_entries(dev, sgt, p->phys + offset, size, dir);
}

static void generic_unmap(struct device *dev, struct sg_table *sgt,
			  enum dma_data_direction dir)
{
	unmap_entries(dev, sgt, sgt->nents, dir);
}

static bool generic_has(const struct page *page)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
	return is_zone_device_page(page) &&
	       page->pgmap->owner == &p2pmem_page_backing;
#else
	return is_zone_device_page(page) &&
	       page_pgmap(page)->owner == &p2pmem_page_backing;
#endif
}

const struct p2pmem_backing p2pmem_page_backing = {
	.name	= "generic",
	.add	= generic_add,
	.remove	= generic_remove,
	.map	= generic_map,
	.unmap	= generic_unmap,
	.has	= generic_has,
};

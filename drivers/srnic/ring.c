// SPDX-License-Identifier: GPL-2.0
/*
 * Rings shared with programs. The layout is told in srnic-abi.h.
 *
 * A ring is one area of kernel addresses over pages of its own. The program's
 * mapping holds references on the pages, not on the ring: after
 * srnic_ring_free() a mapping that is still there shows memory that nobody else
 * uses. The area itself lives until the last mmap() in progress has dropped its
 * reference on the mmap entry.
 *
 * The pages are charged to the memory cgroup of who asks for the ring: programs
 * choose the size.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "ring.h"

struct srnic_mmap {
	struct rdma_user_mmap_entry entry;
	void *area;
	size_t size;
};

/*
 * __GFP_RETRY_MAYFAIL: a program whose cgroup has no room for its ring gets
 * -ENOMEM, and not the attention of the OOM killer.
 */
#define RING_GFP	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/*
 * Zeroed memory that remap_vmalloc_range() accepts: what vmalloc_user() gives,
 * but charged. vfree() frees it, the pages included.
 */
static void *area_alloc(size_t size)
{
	unsigned int i, n = size >> PAGE_SHIFT;
	struct page **pages;
	void *area;

	pages = kvmalloc_array(n, sizeof(*pages), RING_GFP);
	if (!pages)
		return NULL;
	for (i = 0; i < n; i++) {
		pages[i] = alloc_page(RING_GFP | __GFP_ZERO);
		if (!pages[i])
			goto free_pages;
		cond_resched();
	}
	/* pages and their array are the area's from here on */
	area = vmap(pages, n, VM_MAP | VM_MAP_PUT_PAGES | VM_USERMAP,
		    PAGE_KERNEL);
	if (area)
		return area;

free_pages:
	while (i--)
		__free_page(pages[i]);
	kvfree(pages);
	return NULL;
}

static int ring_publish(struct srnic_ring *ring, struct ib_ucontext *uctx,
			size_t size, struct srnic_ring_info *info)
{
	struct srnic_mmap *m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	int err;

	if (!m)
		return -ENOMEM;
	m->area = ring->hdr;
	m->size = size;
	err = rdma_user_mmap_entry_insert(uctx, &m->entry, size);
	if (err) {
		kfree(m);
		return err;
	}
	ring->mmap = &m->entry;
	*info = (struct srnic_ring_info) {
		.offset = rdma_user_mmap_get_offset(&m->entry),
		.size = size,
		.depth = ring->depth,
		.stride = ring->stride,
	};
	return 0;
}

/**
 * srnic_ring_alloc() - make a ring
 * @ring: filled
 * @uctx: the program it is shared with, or NULL
 * @depth: entries wanted, at least 1; rounded up to a power of two
 * @stride: bytes of an entry
 * @info: for the program; may be NULL without @uctx
 *
 * Context: process context.
 * Return: 0, -EINVAL for an impossible size, -ENOMEM.
 */
int srnic_ring_alloc(struct srnic_ring *ring, struct ib_ucontext *uctx,
		     u32 depth, u32 stride, struct srnic_ring_info *info)
{
	size_t size;
	int err;

	if (!depth || depth > BIT(30) || !stride)
		return -EINVAL;
	depth = roundup_pow_of_two(depth);
	if (check_mul_overflow((size_t)depth, (size_t)stride, &size) ||
	    check_add_overflow(size, (size_t)SRNIC_RING_HDR_SIZE, &size) ||
	    size > INT_MAX)
		return -EINVAL;
	size = PAGE_ALIGN(size);

	ring->hdr = area_alloc(size);
	if (!ring->hdr)
		return -ENOMEM;
	ring->entries = (void *)ring->hdr + SRNIC_RING_HDR_SIZE;
	ring->depth = depth;
	ring->stride = stride;
	ring->idx = 0;
	ring->mmap = NULL;
	if (!uctx)
		return 0;

	err = ring_publish(ring, uctx, size, info);
	if (err) {
		vfree(ring->hdr);
		ring->hdr = NULL;
	}
	return err;
}

/**
 * srnic_ring_free() - give a ring back
 * @ring: may have none
 *
 * The kernel must have stopped to use it.
 */
void srnic_ring_free(struct srnic_ring *ring)
{
	if (!ring->hdr)
		return;
	if (ring->mmap)
		rdma_user_mmap_entry_remove(ring->mmap);
	else
		vfree(ring->hdr);
	ring->hdr = NULL;
	ring->mmap = NULL;
}

/**
 * srnic_ring_pending() - what the producer has published
 * @ring: a ring that the kernel consumes
 *
 * The producer's entries are visible once this has counted them.
 *
 * Return: number of entries, 0 when the index that the program wrote can't be.
 */
u32 srnic_ring_pending(const struct srnic_ring *ring)
{
	/* pairs with the program's release: its entries before its index */
	u32 n = smp_load_acquire(&ring->hdr->prod) - ring->idx;

	return n <= ring->depth ? n : 0;
}

/**
 * srnic_ring_mmap() - the device's mmap operation
 * @uctx: the program
 * @vma: where it wants its ring
 *
 * Return: 0, -EPERM for code, -EINVAL for an offset or a size that
 * srnic_ring_info didn't name.
 */
int srnic_ring_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	struct srnic_mmap *m;
	int err;

	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	vm_flags_clear(vma, VM_MAYEXEC);
	entry = rdma_user_mmap_entry_get(uctx, vma);
	if (!entry)
		return -EINVAL;
	m = container_of(entry, struct srnic_mmap, entry);
	err = remap_vmalloc_range(vma, m->area, 0);
	rdma_user_mmap_entry_put(entry);
	return err;
}

/**
 * srnic_ring_mmap_free() - the device's mmap_free operation
 * @entry: nobody refers to it any more
 */
void srnic_ring_mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct srnic_mmap *m = container_of(entry, struct srnic_mmap, entry);

	vfree(m->area);
	kfree(m);
}

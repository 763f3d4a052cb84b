// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/p2pmemN: mmap() takes memory.
 *
 * Each mmap() is an allocation of its own, made and populated at once. It is
 * shared memory in every respect: a child of fork() sees the same bytes, and
 * the memory is in use until the last process has unmapped the last page of
 * it. (A program that doesn't want its children to have it says so by
 * MADV_DONTFORK, as ibv_fork_init() does.)
 *
 * vm_pgoff of our VMAs is the place in the donation: for a persistent one
 * because the user has chosen it, for the others because we set it. So
 * /proc/PID/maps shows where a mapping is.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/uaccess.h>
#include <uapi/linux/p2pmem.h>

#include "chardev.h"
#include "region.h"

#define BATCH	(PAGE_SIZE / sizeof(struct page *))

static void vma_open(struct vm_area_struct *vma)
{
	p2pmem_region_get(vma->vm_private_data);
}

static void vma_close(struct vm_area_struct *vma)
{
	p2pmem_region_put(vma->vm_private_data);
}

/* a move would be harmless, but nobody needs one */
static int vma_mremap(struct vm_area_struct *vma)
{
	return -EINVAL;
}

/* after MADV_DONTNEED, or after the donor has gone */
static vm_fault_t vma_fault(struct vm_fault *vmf)
{
	struct p2pmem_region *r = vmf->vma->vm_private_data;
	unsigned long index = vmf->pgoff - r->first;
	int ret;

	if (index >= r->npages || p2pmem_enter(r->p))
		return VM_FAULT_SIGBUS;

	ret = vm_insert_page(vmf->vma, vmf->address & PAGE_MASK,
			     p2pmem_region_page(r, index));
	p2pmem_leave(r->p);

	/* busy: another thread was faster */
	if (!ret || ret == -EBUSY)
		return VM_FAULT_NOPAGE;
	return ret == -ENOMEM ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
}

static const struct vm_operations_struct vm_ops = {
	.open	= vma_open,
	.close	= vma_close,
	.mremap	= vma_mremap,
	.fault	= vma_fault,
};

/**
 * p2pmem_vma_region() - whose VMA is it?
 * @vma: any VMA, under its mmap_lock
 *
 * Return: the region that it maps, NULL if it isn't ours.
 */
struct p2pmem_region *p2pmem_vma_region(const struct vm_area_struct *vma)
{
	return vma->vm_ops == &vm_ops ? vma->vm_private_data : NULL;
}

/** p2pmem_vma_offset() - where in its region the first byte of a VMA is */
u64 p2pmem_vma_offset(const struct vm_area_struct *vma)
{
	const struct p2pmem_region *r = vma->vm_private_data;

	return (u64)(vma->vm_pgoff - r->first) << PAGE_SHIFT;
}

static int populate(struct vm_area_struct *vma, struct p2pmem_region *r)
{
	unsigned long done, n, left, i;
	struct page **pages;
	int ret = 0;

	pages = (struct page **)__get_free_page(GFP_KERNEL);
	if (!pages)
		return -ENOMEM;

	for (done = 0; done < r->npages && !ret; done += n) {
		n = min(r->npages - done, BATCH);
		for (i = 0; i < n; i++)
			pages[i] = p2pmem_region_page(r, done + i);
		left = n;
		ret = vm_insert_pages(vma, vma->vm_start + (done << PAGE_SHIFT),
				      pages, &left);
		cond_resched();
	}
	free_page((unsigned long)pages);
	return ret;
}

/*
 * Same memory type as the kernel's own mapping, never cacheable: donation.c
 * says why. (Away from x86 the linear map of pages that the PCI layer made is
 * uncached while this may be write-combining: neither keeps a copy of data,
 * so they don't disagree about it.)
 */
static pgprot_t user_prot(const struct p2pmem *p, pgprot_t prot)
{
	return p->write_combine ? pgprot_writecombine(prot) :
				  pgprot_noncached(prot);
}

static int map_region(struct p2pmem *p, struct vm_area_struct *vma)
{
	struct p2pmem_region *r;
	int ret;

	r = p2pmem_region_new(p, vma->vm_pgoff, vma_pages(vma));
	if (IS_ERR(r))
		return PTR_ERR(r);

	/*
	 * Not VM_IO or VM_PFNMAP: ordinary I/O may take the pages for as long
	 * as it runs. VM_DONTEXPAND refuses mremap() to a larger size.
	 */
	vm_flags_set(vma, VM_MIXEDMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_page_prot = user_prot(p, vma->vm_page_prot);
	vma->vm_pgoff = r->first;

	ret = populate(vma, r);
	if (ret) {
		/* the kernel unmaps what is there, then the reaper gets it */
		p2pmem_region_put(r);
		return ret;
	}
	vma->vm_private_data = r;
	vma->vm_ops = &vm_ops;
	return 0;
}

static int p2pmem_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct p2pmem *p = file->private_data;
	int ret;

	if (!(vma->vm_flags & VM_MAYSHARE)) {
		dev_info_ratelimited(&p->dev, "%s (%d): mmap refused: only MAP_SHARED\n",
				     current->comm, current->pid);
		return -EINVAL;
	}
	if (vma->vm_pgoff && !p->d.persistent) {
		dev_info_ratelimited(&p->dev, "%s (%d): mmap refused: an offset is for persistent memory\n",
				     current->comm, current->pid);
		return -EINVAL;
	}

	ret = p2pmem_enter(p);
	if (ret)
		return ret;
	ret = map_region(p, vma);
	p2pmem_leave(p);
	return ret;
}

static int p2pmem_open(struct inode *inode, struct file *file)
{
	struct p2pmem *p = container_of(inode->i_cdev, struct p2pmem, cdev);
	int ret;

	ret = p2pmem_enter(p);
	if (ret)
		return ret;
	get_device(&p->dev);
	p2pmem_leave(p);

	file->private_data = p;
	file->f_mapping = p->inode->i_mapping;
	return 0;
}

static int p2pmem_release(struct inode *inode, struct file *file)
{
	struct p2pmem *p = file->private_data;

	put_device(&p->dev);
	return 0;
}

static long ioctl_info(struct p2pmem *p, void __user *to)
{
	struct p2pmem_info info = {
		.size = p->d.size,
		.kind = p->d.kind,
		.flags = p->d.persistent ? P2PMEM_INFO_PERSISTENT : 0,
	};

	mutex_lock(&p->lock);
	info.available = (u64)p2pmem_pool_available(&p->pool) << PAGE_SHIFT;
	mutex_unlock(&p->lock);
	return copy_to_user(to, &info, sizeof(info)) ? -EFAULT : 0;
}

static long p2pmem_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct p2pmem *p = file->private_data;

	if (READ_ONCE(p->dying))
		return -ENODEV;
	switch (cmd) {
	case P2PMEM_IOC_INFO:
		return ioctl_info(p, (void __user *)arg);
	}
	return -ENOTTY;
}

/* msync() comes here too, with the offset that vm_pgoff gives */
static int p2pmem_fsync(struct file *file, loff_t start, loff_t end,
			int datasync)
{
	struct p2pmem *p = file->private_data;
	int ret;

	ret = p2pmem_enter(p);
	if (ret)
		return ret;
	if ((u64)start < p->d.size)
		ret = p2pmem_persist(p, start, min_t(u64, (u64)end - start,
						     p->d.size - start - 1) + 1);
	p2pmem_leave(p);
	return ret;
}

static_assert(sizeof(struct p2pmem_info) == 64);
static_assert(P2PMEM_KIND_BAR == 0 && P2PMEM_KIND_CMB == 1 &&
	      P2PMEM_KIND_PMR == 2);

const struct file_operations p2pmem_fops = {
	.owner		= THIS_MODULE,
	.open		= p2pmem_open,
	.release	= p2pmem_release,
	.mmap		= p2pmem_mmap,
	.fsync		= p2pmem_fsync,
	.unlocked_ioctl	= p2pmem_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.llseek		= noop_llseek,
};

// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/p2pmemN: mmap() takes memory. And what a mapping of memory is, be it that,
 * of a region's own file, or of a dma-buf.
 *
 * Each mmap() of the device is an allocation of its own, made and populated at once. It is
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
#include <linux/slab.h>

#include "chardev.h"
#include "ioctl.h"
#include "limits.h"
#include "outage.h"
#include "region.h"

#define BATCH	(PAGE_SIZE / sizeof(struct page *))

/**
 * struct p2pmem_file - the device, opened once
 * @p: the donation, of which the file holds a reference
 * @account: what its regions are charged to
 */
struct p2pmem_file {
	struct p2pmem *p;
	struct p2pmem_account *account;
};

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

/*
 * After MADV_DONTNEED; after the donor has gone or lost the content; in an outage of
 * persistent memory, and after it.
 */
static vm_fault_t vma_fault(struct vm_fault *vmf)
{
	struct p2pmem_region *r = vmf->vma->vm_private_data;
	unsigned long index = vmf->pgoff - r->first;
	int ret = -EIO;

	if (index >= r->npages || p2pmem_region_enter(r))
		return VM_FAULT_SIGBUS;

	if (!p2pmem_is_out(r->p))
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

static int populate(struct vm_area_struct *vma, struct p2pmem_region *r,
		    unsigned long first)
{
	unsigned long done, n, left, i, npages = vma_pages(vma);
	struct page **pages;
	int ret = 0;

	pages = (struct page **)__get_free_page(GFP_KERNEL);
	if (!pages)
		return -ENOMEM;

	for (done = 0; done < npages && !ret; done += n) {
		n = min(npages - done, BATCH);
		for (i = 0; i < n; i++)
			pages[i] = p2pmem_region_page(r, first + done + i);
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

static bool is_shared(struct p2pmem *p, const struct vm_area_struct *vma)
{
	if (vma->vm_flags & VM_MAYSHARE)
		return true;
	dev_info_ratelimited(&p->dev, "%s (%d): mmap refused: only MAP_SHARED\n",
			     current->comm, current->pid);
	return false;
}

/**
 * p2pmem_map_region() - a VMA becomes a user of a region
 * @r: the region, whose donation is entered
 * @vma: from an mmap() of a file that maps the donation's inode
 * @first: which of the region's pages is the VMA's first
 *
 * On an error the kernel unmaps what is there.
 *
 * Return: 0, -EINVAL where the region has no such pages or where the mapping
 * wouldn't be shared, -EIO in an outage, -ENOMEM.
 */
int p2pmem_map_region(struct p2pmem_region *r, struct vm_area_struct *vma,
		      unsigned long first)
{
	struct p2pmem *p = r->p;
	int ret;

	lockdep_assert_held(&p->gate);

	if (!is_shared(p, vma))
		return -EINVAL;
	if (first > r->npages || vma_pages(vma) > r->npages - first)
		return -EINVAL;
	if (p2pmem_is_out(p))
		return -EIO;

	/*
	 * Not VM_IO or VM_PFNMAP: ordinary I/O may take the pages for as long
	 * as it runs. VM_DONTEXPAND refuses mremap() to a larger size.
	 */
	vm_flags_set(vma, VM_MIXEDMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_page_prot = user_prot(p, vma->vm_page_prot);
	vma->vm_pgoff = r->first + first;

	ret = populate(vma, r, first);
	if (ret)
		return ret;
	p2pmem_region_get(r);
	vma->vm_private_data = r;
	vma->vm_ops = &vm_ops;
	return 0;
}

static int map_new(struct p2pmem_file *f, struct vm_area_struct *vma)
{
	struct p2pmem_region *r;
	int ret;

	r = p2pmem_region_new(f->p, f->account, vma->vm_pgoff, vma_pages(vma),
			      NULL);
	if (IS_ERR(r))
		return PTR_ERR(r);
	ret = p2pmem_map_region(r, vma, 0);
	/* if it failed, pages that are still mapped are the reaper's */
	p2pmem_region_put(r);
	return ret;
}

static int p2pmem_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct p2pmem_file *f = file->private_data;
	struct p2pmem *p = f->p;
	int ret;

	/* before memory is taken and zeroed for it */
	if (!is_shared(p, vma))
		return -EINVAL;
	if (vma->vm_pgoff && !p->d.persistent) {
		dev_info_ratelimited(&p->dev, "%s (%d): mmap refused: an offset is for persistent memory\n",
				     current->comm, current->pid);
		return -EINVAL;
	}

	ret = p2pmem_enter(p);
	if (ret)
		return ret;
	ret = map_new(f, vma);
	p2pmem_leave(p);
	return ret;
}

static struct p2pmem_file *file_new(struct p2pmem *p, const struct cred *cred)
{
	struct p2pmem_file *f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);

	if (!f)
		return NULL;
	f->p = p;
	f->account = p2pmem_account_new(p, cred);
	if (!f->account) {
		kfree(f);
		return NULL;
	}
	get_device(&p->dev);
	return f;
}

static int p2pmem_open(struct inode *inode, struct file *file)
{
	struct p2pmem *p = container_of(inode->i_cdev, struct p2pmem, cdev);
	struct p2pmem_file *f;
	int ret;

	ret = p2pmem_enter(p);
	if (ret)
		return ret;
	f = file_new(p, file->f_cred);
	p2pmem_leave(p);
	if (!f)
		return -ENOMEM;

	file->private_data = f;
	p2pmem_outage_open(p, file);
	return 0;
}

static int p2pmem_release(struct inode *inode, struct file *file)
{
	struct p2pmem_file *f = file->private_data;
	struct p2pmem *p = f->p;

	p2pmem_account_close(p, f->account);
	kfree(f);
	put_device(&p->dev);
	return 0;
}

static long p2pmem_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct p2pmem_file *f = file->private_data;
	struct p2pmem_asked asked = {
		.p = f->p,
		.account = f->account,
		.of = file,
	};

	return p2pmem_ioctl_run(&asked, cmd, (void __user *)arg);
}

/**
 * p2pmem_sync() - fsync() and msync() of a file
 * @file: the file
 * @p: the donation
 * @first: the first byte of it that is the file's
 * @size: how many bytes are
 * @start: the first byte of it that is to be durable
 * @end: the last one
 *
 * Of bytes that aren't the file's nothing is asked.
 *
 * Return: 0, also for memory that isn't persistent; -ENODEV; -EIO once after an
 * outage; the donor's error.
 */
int p2pmem_sync(struct file *file, struct p2pmem *p, u64 first, u64 size, loff_t start,
		loff_t end)
{
	u64 from = max_t(u64, start, first);
	u64 to = min_t(u64, end, first + size - 1);
	int ret, lost;

	ret = p2pmem_enter(p);
	if (ret)
		return ret;
	if (from <= to)
		ret = p2pmem_persist(p, from, to - from + 1);
	p2pmem_leave(p);
	lost = file_check_and_advance_wb_err(file);
	return ret ?: lost;
}

/* msync() comes here too, with the offset that vm_pgoff gives */
static int p2pmem_fsync(struct file *file, loff_t start, loff_t end,
			int datasync)
{
	struct p2pmem_file *f = file->private_data;

	return p2pmem_sync(file, f->p, 0, f->p->d.size, start, end);
}

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

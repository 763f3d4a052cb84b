// SPDX-License-Identifier: GPL-2.0
/*
 * A region as a file of its own (P2PMEM_IOC_ALLOC).
 *
 * The file is a user of its region like a mapping or a hold. It may be duplicated,
 * inherited, passed over a socket and mapped any number of times: each time it is
 * the same memory, which is freed when the last of them, and whatever was made of
 * them, has gone. Like every file that maps p2pmem it maps the donation's inode,
 * so that the donor's departure finds all mappings at once.
 */
#include <linux/anon_inodes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "chardev.h"
#include "ioctl.h"
#include "outage.h"
#include "region.h"
#include "regionfd.h"

static int regionfd_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct p2pmem_region *r = file->private_data;
	int ret;

	ret = p2pmem_region_enter(r);
	if (ret)
		return ret;
	ret = p2pmem_map_region(r, vma, vma->vm_pgoff);
	p2pmem_leave(r->p);
	return ret;
}

static int regionfd_fsync(struct file *file, loff_t start, loff_t end,
			  int datasync)
{
	struct p2pmem_region *r = file->private_data;

	return p2pmem_sync(file, r->p, (u64)r->first << PAGE_SHIFT,
			   (u64)r->npages << PAGE_SHIFT, start, end);
}

static long regionfd_ioctl(struct file *file, unsigned int cmd,
			   unsigned long arg)
{
	struct p2pmem_region *r = file->private_data;
	struct p2pmem_asked asked = {
		.p = r->p,
		.r = r,
		.of = file,
	};

	return p2pmem_ioctl_run(&asked, cmd, (void __user *)arg);
}

static void regionfd_show(struct seq_file *m, struct file *file)
{
	const struct p2pmem_region *r = file->private_data;

	seq_printf(m, "p2pmem-device:\t%s\n", dev_name(&r->p->dev));
	seq_printf(m, "p2pmem-place:\t%#llx\n", (u64)r->first << PAGE_SHIFT);
	seq_printf(m, "p2pmem-size:\t%llu\n", (u64)r->npages << PAGE_SHIFT);
	seq_printf(m, "p2pmem-name:\t%s\n", r->name);
}

static int regionfd_release(struct inode *inode, struct file *file)
{
	p2pmem_region_put(file->private_data);
	return 0;
}

static const struct file_operations regionfd_fops = {
	.owner		= THIS_MODULE,
	.mmap		= regionfd_mmap,
	.fsync		= regionfd_fsync,
	.unlocked_ioctl	= regionfd_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.show_fdinfo	= regionfd_show,
	.release	= regionfd_release,
	.llseek		= noop_llseek,
};

/**
 * p2pmem_regionfd_new() - a file that uses a region
 * @r: the region. The caller's use of it becomes the file's, unless this fails.
 * @mode: FMODE_READ and FMODE_WRITE
 *
 * Return: the file, or an ERR_PTR.
 */
struct file *p2pmem_regionfd_new(struct p2pmem_region *r, fmode_t mode)
{
	int flags = !(mode & FMODE_WRITE) ? O_RDONLY :
		    mode & FMODE_READ ? O_RDWR : O_WRONLY;
	struct file *file;

	file = anon_inode_getfile("[p2pmem]", &regionfd_fops, r, flags);
	if (!IS_ERR(file))
		p2pmem_outage_open(r->p, file);
	return file;
}

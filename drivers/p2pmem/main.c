// SPDX-License-Identifier: GPL-2.0
/*
 * p2pmem.ko: the class, its device numbers and the file system whose inodes
 * stand behind /dev/p2pmemN.
 */
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/pseudo_fs.h>
#include <linux/version.h>

#include "adopt.h"
#include "debugfs.h"
#include "donation.h"
#include "stats.h"

#define P2PMEM_MINORS	4096
#define P2PMEM_FS_MAGIC	0x7032706d

static dev_t base;
static DEFINE_IDA(minors);
static struct vfsmount *mnt;

static char *devnode(const struct device *dev, umode_t *mode)
{
	if (mode)
		*mode = 0660;
	return NULL;
}

static void release(struct device *dev)
{
	struct p2pmem *p = p2pmem_of(dev);

	iput(p->inode);
	p2pmem_pool_destroy(&p->pool);
	p2pmem_clients_destroy(&p->clients);
	free_percpu(p->stats);
	mutex_destroy(&p->rule_lock);
	mutex_destroy(&p->lock);
	kfree(p);
}

const struct class p2pmem_class = {
	.name		= "p2pmem",
	.devnode	= devnode,
	.dev_groups	= p2pmem_dev_groups,
	.dev_release	= release,
};

int p2pmem_devt_get(dev_t *devt)
{
	int minor = ida_alloc_max(&minors, P2PMEM_MINORS - 1, GFP_KERNEL);

	if (minor < 0)
		return minor;
	*devt = MKDEV(MAJOR(base), minor);
	return 0;
}

void p2pmem_devt_put(dev_t devt)
{
	ida_free(&minors, MINOR(devt));
}

/*
 * A device node's own inode belongs to whatever file system /dev is: there
 * may be several nodes for one device, and on a disk file system pages that
 * are mapped through it count as that file system's. So every file that is
 * opened maps an inode of ours instead, one per donation.
 */
static int init_fs_context(struct fs_context *fc)
{
	return init_pseudo(fc, P2PMEM_FS_MAGIC) ? 0 : -ENOMEM;
}

static struct file_system_type fs_type = {
	.name			= "p2pmem",
	.init_fs_context	= init_fs_context,
	.kill_sb		= kill_anon_super,
};

struct inode *p2pmem_inode_new(void)
{
	return alloc_anon_inode(mnt->mnt_sb);
}

static int __init p2pmem_init(void)
{
	int ret;

	mnt = kern_mount(&fs_type);
	if (IS_ERR(mnt))
		return PTR_ERR(mnt);

	ret = alloc_chrdev_region(&base, 0, P2PMEM_MINORS, "p2pmem");
	if (ret)
		goto unmount;

	ret = class_register(&p2pmem_class);
	if (ret)
		goto unregister_chrdev;
	p2pmem_debugfs_init();
	ret = p2pmem_adopt_start();
	if (ret)
		goto unregister_class;
	return 0;

unregister_class:
	p2pmem_debugfs_exit();
	class_unregister(&p2pmem_class);
unregister_chrdev:
	unregister_chrdev_region(base, P2PMEM_MINORS);
unmount:
	kern_unmount(mnt);
	return ret;
}

static void __exit p2pmem_exit(void)
{
	p2pmem_adopt_stop();
	p2pmem_debugfs_exit();
	class_unregister(&p2pmem_class);
	unregister_chrdev_region(base, P2PMEM_MINORS);
	kern_unmount(mnt);
	ida_destroy(&minors);
}

module_init(p2pmem_init);
module_exit(p2pmem_exit);

MODULE_DESCRIPTION("PCIe BAR memory as a resource: donors, takers, /dev/p2pmemN");
MODULE_LICENSE("GPL");
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
MODULE_IMPORT_NS("DMA_BUF");
#else
MODULE_IMPORT_NS(DMA_BUF);
#endif

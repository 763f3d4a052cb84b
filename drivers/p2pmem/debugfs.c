// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/p2pmem/p2pmemN/regions: what p2pmem(4) documents. Root only:
 * names are the programs' own.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "debugfs.h"
#include "region.h"

static struct dentry *root;

static void show_region(struct seq_file *m, const struct p2pmem_region *r,
			const char *state)
{
	seq_printf(m, "%#12llx %12llu %7u %-7s %s\n",
		   (u64)r->first << PAGE_SHIFT, (u64)r->npages << PAGE_SHIFT,
		   refcount_read(&r->users), state, r->named ? r->name : "");
}

static int regions_show(struct seq_file *m, void *unused)
{
	struct p2pmem *p = m->private;
	const struct p2pmem_region *r;

	seq_puts(m, "       place         size   users state   name\n");
	mutex_lock(&p->lock);
	list_for_each_entry(r, &p->regions, node)
		show_region(m, r, r->named ? "file" : "mmap");
	list_for_each_entry(r, &p->leaving, node)
		show_region(m, r, "pinned");
	mutex_unlock(&p->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(regions);

/** p2pmem_debugfs_add() - a published donation's directory; may fail, silently */
void p2pmem_debugfs_add(struct p2pmem *p)
{
	p->debug = debugfs_create_dir(dev_name(&p->dev), root);
	debugfs_create_file("regions", 0400, p->debug, p, &regions_fops);
}

/** p2pmem_debugfs_remove() - nobody reads it any more when this returns */
void p2pmem_debugfs_remove(struct p2pmem *p)
{
	debugfs_remove_recursive(p->debug);
}

/** p2pmem_debugfs_init() - the directory of all donations */
void p2pmem_debugfs_init(void)
{
	root = debugfs_create_dir("p2pmem", NULL);
}

/** p2pmem_debugfs_exit() - the end of p2pmem_debugfs_init() */
void p2pmem_debugfs_exit(void)
{
	debugfs_remove_recursive(root);
}

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _P2PMEM_CHARDEV_H
#define _P2PMEM_CHARDEV_H

#include <linux/types.h>

struct p2pmem;
struct p2pmem_region;
struct vm_area_struct;

struct p2pmem_region *p2pmem_vma_region(const struct vm_area_struct *vma);
u64 p2pmem_vma_offset(const struct vm_area_struct *vma);
int p2pmem_map_region(struct p2pmem_region *r, struct vm_area_struct *vma,
		      unsigned long first);
int p2pmem_sync(struct file *file, struct p2pmem *p, u64 first, u64 size, loff_t start,
		loff_t end);

#endif /* _P2PMEM_CHARDEV_H */

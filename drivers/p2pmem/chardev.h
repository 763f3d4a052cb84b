/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _P2PMEM_CHARDEV_H
#define _P2PMEM_CHARDEV_H

#include <linux/types.h>

struct p2pmem_region;
struct vm_area_struct;

struct p2pmem_region *p2pmem_vma_region(const struct vm_area_struct *vma);
u64 p2pmem_vma_offset(const struct vm_area_struct *vma);

#endif /* _P2PMEM_CHARDEV_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _P2PMEM_REGIONFD_H
#define _P2PMEM_REGIONFD_H

#include <linux/fs.h>

struct p2pmem_region;

struct file *p2pmem_regionfd_new(struct p2pmem_region *r, fmode_t mode);

#endif /* _P2PMEM_REGIONFD_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _P2PMEM_DMABUF_H
#define _P2PMEM_DMABUF_H

#include <linux/fs.h>

struct p2pmem_region;

struct file *p2pmem_dmabuf_export(struct p2pmem_region *r, u64 offset, u64 size,
				  fmode_t mode);

#endif /* _P2PMEM_DMABUF_H */

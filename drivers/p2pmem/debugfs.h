/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _P2PMEM_DEBUGFS_H
#define _P2PMEM_DEBUGFS_H

struct p2pmem;

void p2pmem_debugfs_init(void);
void p2pmem_debugfs_exit(void);
void p2pmem_debugfs_add(struct p2pmem *p);
void p2pmem_debugfs_remove(struct p2pmem *p);

#endif /* _P2PMEM_DEBUGFS_H */

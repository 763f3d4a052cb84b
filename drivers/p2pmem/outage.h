/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _P2PMEM_OUTAGE_H
#define _P2PMEM_OUTAGE_H

#include <linux/errseq.h>

struct file;
struct p2pmem;
struct p2pmem_region;

void p2pmem_outage_open(struct p2pmem *p, struct file *file);
errseq_t p2pmem_outage_now(struct p2pmem *p);
int p2pmem_outage_check(struct p2pmem *p, errseq_t *seen);
int p2pmem_region_enter(struct p2pmem_region *r);
bool p2pmem_is_out(struct p2pmem *p);

#endif /* _P2PMEM_OUTAGE_H */

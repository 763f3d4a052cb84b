/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A contiguous piece of a donation that somebody uses.
 */
#ifndef _P2PMEM_REGION_H
#define _P2PMEM_REGION_H

#include <linux/list.h>
#include <linux/mm.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <uapi/linux/p2pmem.h>

#include "donation.h"

struct p2pmem_account;

/**
 * struct p2pmem_region - what one mmap() or one P2PMEM_IOC_ALLOC made
 * @p: the donation, of which the region holds a reference
 * @first: number of its first page in the donation. Constant.
 * @npages: how many there are. Constant.
 * @users: VMAs, holds and the region's own file
 * @node: in @p->regions, or in @p->leaving once @users is 0; @p->lock
 * @lost: an outage has taken its content, see outage.c; @p->gate
 * @account: who is charged for it, NULL for the kernel. Constant.
 * @pid: whose thread made it, for the log. Constant.
 * @comm: what that was called. Constant.
 * @named: it has a file of its own, and thus a name. Constant.
 * @name: may be empty. Constant.
 * @seen: after @users is 0: pages below this one are known to be idle; @p->lock
 */
struct p2pmem_region {
	struct p2pmem *p;
	unsigned long first;
	unsigned long npages;
	refcount_t users;
	struct list_head node;
	unsigned long seen;
	bool lost;
	struct p2pmem_account *account;
	pid_t pid;
	char comm[TASK_COMM_LEN];
	bool named;
	char name[P2PMEM_NAME_SIZE];
};

struct p2pmem_region *p2pmem_region_new(struct p2pmem *p,
					struct p2pmem_account *account,
					unsigned long place,
					unsigned long npages, const char *name);
void p2pmem_region_get(struct p2pmem_region *r);
void p2pmem_region_put(struct p2pmem_region *r);
u64 p2pmem_available(struct p2pmem *p);

void p2pmem_reap(struct work_struct *work);
unsigned long p2pmem_regions_pinned(struct p2pmem *p);
unsigned long p2pmem_regions_busy(struct p2pmem *p);
unsigned long p2pmem_regions_mapped(struct p2pmem *p);
void p2pmem_regions_gone(struct p2pmem *p);

static inline struct page *p2pmem_region_page(const struct p2pmem_region *r,
					      unsigned long index)
{
	return r->p->pages + r->first + index;
}

#endif /* _P2PMEM_REGION_H */

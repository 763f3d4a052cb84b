// SPDX-License-Identifier: GPL-2.0
/*
 * Whom a donor waits for. A pin is a count on a page, and nobody writes down whose
 * it is. But it is known which process took the memory, and the kernel charges
 * those pins that last to a process (mm->pinned_vm: an RNIC driver's memory
 * regions, buffers registered with io_uring): between the two is who holds it.
 */
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "pins.h"
#include "region.h"

#define LINES	8	/* of each kind: whoever comes next is told a minute later */

/* Regions of persistent memory may lie over each other, as many as their users like. */
static bool name_region(const struct p2pmem_region *r, unsigned long *looks)
{
	unsigned long i, pinned = 0, dma = 0;

	for (i = 0; i < r->npages && *looks; i++, (*looks)--) {
		struct page *page = p2pmem_region_page(r, i);

		if (!(i % 1024))
			cond_resched();

		pinned += page_ref_count(page) != 1;
		dma += folio_maybe_dma_pinned(page_folio(page));
	}
	if (!pinned)
		return false;
	dev_warn(&r->p->dev,
		 "%lu pages at %#llx, taken by %s (pid %d)%s%s, are pinned%s\n",
		 pinned, (u64)r->first << PAGE_SHIFT, r->comm, r->pid,
		 r->named ? " as a region: " : " with mmap", r->name,
		 dma ? " for DMA" : "");
	return true;
}

static void name_regions(struct p2pmem *p)
{
	const struct p2pmem_region *r;
	unsigned long looks = 4 * p->pool.npages;
	unsigned int left = LINES;

	mutex_lock(&p->lock);
	list_for_each_entry(r, &p->leaving, node)
		if (left)
			left -= name_region(r, &looks);
	list_for_each_entry(r, &p->regions, node)
		if (left)
			left -= name_region(r, &looks);
	mutex_unlock(&p->lock);
	if (!looks)
		dev_warn(&p->dev, "there may be more of them\n");
}

static s64 charged(struct task_struct *task)
{
	s64 pages;

	task_lock(task);
	pages = task->mm ? atomic64_read(&task->mm->pinned_vm) : 0;
	task_unlock(task);
	return pages;
}

static void name_processes(struct p2pmem *p)
{
	struct task_struct *task;
	unsigned int left = LINES;
	s64 pages;

	rcu_read_lock();
	for_each_process(task) {
		pages = charged(task);
		if (!pages || !left)
			continue;
		left--;
		dev_warn(&p->dev,
			 "%s (pid %d) has %lld pages pinned by drivers or io_uring, these may be among them\n",
			 task->comm, task_pid_nr(task), pages);
	}
	rcu_read_unlock();
}

/**
 * p2pmem_pins_name() - say whose pins a donor waits for
 * @p: the donation, in which nothing is mapped any more
 */
void p2pmem_pins_name(struct p2pmem *p)
{
	name_regions(p);
	name_processes(p);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Regions: the life of a piece of a donation.
 *
 * A region is made by mmap(), or by P2PMEM_IOC_ALLOC with a file of its own. Its
 * users are the VMAs that map it (fork() and the splitting of a VMA make more of
 * them), that file, and the holds that kernel code has on it (a dma-buf is one).
 * When the last user is gone the region leaves: nobody can get at its pages any
 * more, but somebody may still have them pinned from before (an O_DIRECT read in
 * flight, a memory region of an RNIC driver that knows nothing of holds). When the
 * last pin is gone too, the pages return to the pool and the region is freed.
 *
 * Pages and their counts. Every page of a donation has one reference from
 * before its first use to after its last: the base reference, which is never
 * dropped in between. A page with just that one is idle. So we find out that
 * a pin is gone by looking, first in the very call that removes the last user
 * (munmap() returns with the memory back in the pool) and, if a pin is left,
 * from the reaper. The alternative, dropping the base reference and waiting
 * for the kernel to report the page as freed, works on some kernels for some
 * page types only, reports before the count has settled, and lets a lockless
 * page table walk race with the next use. Here such a walk at worst takes and
 * drops a reference on an idle page, which harms nobody.
 *
 * Where a donation is persistent, regions may overlap. A page is then left
 * alone while another region covers it; the last one waits for its pins.
 *
 * Lock order: mmap_lock, p->gate, p->lock. A holder's revoke callback and
 * unmap_mapping_range() are called with none of p2pmem's locks held, so that
 * a holder may take p2pmem's locks (by putting or making holds) under its
 * own, and its own in the callback.
 */
#include <linux/io.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "backing.h"
#include "limits.h"
#include "region.h"
#include "stats.h"

#define REAP_FIRST	1			/* jiffies */
#define REAP_MAX	(HZ / 10)

/*
 * Eight bytes at a time: memset_io() may store single bytes, and each store
 * to uncached memory is a transaction on the bus.
 */
static int zero(struct p2pmem_region *r)
{
	void __iomem *to = r->p->io + ((u64)r->first << PAGE_SHIFT);
	const void *zeroes = page_to_virt(ZERO_PAGE(0));
	unsigned long i;

	for (i = 0; i < r->npages; i++, to += PAGE_SIZE) {
		if (fatal_signal_pending(current))
			return -EINTR;
		if (READ_ONCE(r->p->dying))
			return -ENODEV;
		if (READ_ONCE(r->p->out))
			return -EIO;
		__iowrite64_copy(to, zeroes, PAGE_SIZE / 8);
		cond_resched();
	}
	/* out of the write-combining buffers before anybody maps it */
	wmb();
	return 0;
}

static int claim_or_alloc(struct p2pmem_region *r, unsigned long place)
{
	struct p2pmem *p = r->p;

	if (p2pmem_backing_shared(p->backing))
		return p->backing->take(p, r->npages, &r->first);
	if (!p->d.persistent)
		return p2pmem_pool_alloc(&p->pool, r->npages, &r->first);
	r->first = place;
	return p2pmem_pool_claim(&p->pool, place, r->npages);
}

static void give_back(struct p2pmem_region *r)
{
	struct p2pmem *p = r->p;

	lockdep_assert_held(&p->lock);

	p2pmem_pool_free(&p->pool, r->first, r->npages);
	if (p2pmem_backing_shared(p->backing))
		p->backing->give(p, r->first, r->npages);
}

/**
 * p2pmem_available() - bytes that nobody uses
 * @p: the donation, entered; or from one of its attributes
 */
u64 p2pmem_available(struct p2pmem *p)
{
	unsigned long pages;

	if (p2pmem_backing_shared(p->backing))
		return p->backing->available(p);
	mutex_lock(&p->lock);
	pages = p2pmem_pool_available(&p->pool);
	mutex_unlock(&p->lock);
	return (u64)pages << PAGE_SHIFT;
}

static int take_pages(struct p2pmem_region *r, unsigned long place)
{
	struct p2pmem *p = r->p;
	int ret;

	lockdep_assert_held(&p->gate);

	mutex_lock(&p->lock);
	ret = p2pmem_charge(p, r->account, r->npages);
	if (ret)
		goto unlock;
	ret = claim_or_alloc(r, place);
	if (ret)
		p2pmem_uncharge(p, r->account, r->npages);
	else
		list_add_tail(&r->node, &p->regions);
unlock:
	mutex_unlock(&p->lock);
	return ret;
}

static void say_full(const struct p2pmem_region *r)
{
	struct p2pmem *p = r->p;

	dev_info_ratelimited(&p->dev, "%s (%d): %s refused: %llu KiB in one piece wanted, %llu of %llu KiB are free\n",
			     current->comm, current->pid,
			     r->named ? "allocation" : "mmap",
			     (u64)r->npages << (PAGE_SHIFT - 10),
			     p2pmem_available(p) >> 10,
			     (u64)p->d.size >> 10);
}

/**
 * p2pmem_region_new() - take a piece of a donation
 * @p: the donation, entered (p2pmem_enter())
 * @account: who is charged, or NULL
 * @place: first page, where the donation is persistent; else ignored
 * @npages: how many
 * @name: what to call it, shorter than P2PMEM_NAME_SIZE; NULL where it gets no
 *	file of its own
 *
 * The content is zero, or what was there where the donation is persistent.
 *
 * Return: a region with one user, which the caller puts; or -ENOMEM when the
 * pool has no such piece, -EDQUOT when the account has no room, -EINVAL for a
 * place outside, -EUSERS, -EINTR when the process is killed, -ENODEV when the
 * donor goes in the meantime, -EIO when an outage begins.
 */
struct p2pmem_region *p2pmem_region_new(struct p2pmem *p,
					struct p2pmem_account *account,
					unsigned long place,
					unsigned long npages, const char *name)
{
	struct p2pmem_region *r;
	int ret;

	r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);
	if (!r)
		return ERR_PTR(-ENOMEM);

	r->p = p;
	r->npages = npages;
	r->account = account;
	r->pid = task_tgid_nr(current);
	get_task_comm(r->comm, current);
	r->named = name;
	if (name)
		strscpy(r->name, name);
	refcount_set(&r->users, 1);
	ret = take_pages(r, place);
	if (ret == -ENOMEM) {
		p2pmem_count(p, P2PMEM_STAT_FULL, 1);
		say_full(r);
	}
	if (ret) {
		kfree(r);
		return ERR_PTR(ret);
	}
	get_device(&p->dev);
	p2pmem_count(p, P2PMEM_STAT_ALLOCATIONS, 1);

	if (!p->d.persistent)
		ret = zero(r);
	if (ret) {
		p2pmem_region_put(r);
		return ERR_PTR(ret);
	}
	return r;
}

/** p2pmem_region_get() - one more user, by somebody who is one */
void p2pmem_region_get(struct p2pmem_region *r)
{
	refcount_inc(&r->users);
}

static bool pinned(const struct p2pmem_region *r, unsigned long i)
{
	return page_ref_count(p2pmem_region_page(r, i)) != 1 &&
	       !p2pmem_pool_shared(&r->p->pool, r->first + i);
}

static bool idle(struct p2pmem_region *r)
{
	lockdep_assert_held(&r->p->lock);

	/* a page that was another region's business may be ours by now */
	if (r->p->pool.claims)
		r->seen = 0;
	while (r->seen < r->npages && !pinned(r, r->seen))
		r->seen++;
	return r->seen == r->npages;
}

static void destroy(struct p2pmem_region *r)
{
	struct p2pmem *p = r->p;

	lockdep_assert_held(&p->lock);

	list_del(&r->node);
	if (!p->gone)
		give_back(r);
	p2pmem_uncharge(p, r->account, r->npages);
	kfree(r);
}

/**
 * p2pmem_region_put() - a user goes
 * @r: the region, not to be used afterwards
 *
 * If it was the last user, and there are no pins, the memory is back in the
 * pool when this returns. May sleep.
 */
void p2pmem_region_put(struct p2pmem_region *r)
{
	struct p2pmem *p = r->p;

	if (!refcount_dec_and_mutex_lock(&r->users, &p->lock))
		return;

	list_move_tail(&r->node, &p->leaving);
	if (p->gone || idle(r)) {
		destroy(r);
		mutex_unlock(&p->lock);
		put_device(&p->dev);
		return;
	}
	p2pmem_count(p, P2PMEM_STAT_PINS, 1);
	p->reap_delay = REAP_FIRST;
	schedule_delayed_work(&p->reaper, p->reap_delay);
	mutex_unlock(&p->lock);
}

/**
 * p2pmem_reap() - free the regions whose last pin is gone
 * @work: the donation's reaper, which asks to be run again while any is left
 */
void p2pmem_reap(struct work_struct *work)
{
	struct p2pmem *p = container_of(work, struct p2pmem, reaper.work);
	struct p2pmem_region *r, *next;
	unsigned long freed = 0;

	mutex_lock(&p->lock);
	list_for_each_entry_safe(r, next, &p->leaving, node) {
		if (idle(r)) {
			destroy(r);
			freed++;
		}
	}
	if (!p->gone && !list_empty(&p->leaving)) {
		p->reap_delay = min(2 * p->reap_delay, (unsigned long)REAP_MAX);
		schedule_delayed_work(&p->reaper, p->reap_delay);
	}
	mutex_unlock(&p->lock);

	/* never the last one: the donor's is put after the reaper is stopped */
	while (freed--)
		put_device(&p->dev);
}

/*
 * Of all pages that are in use, whatever regions cover them: those are as many as the
 * donation has, regions as many as somebody wants.
 */
static unsigned long count_used(struct p2pmem *p, bool (*is)(struct page *page))
{
	unsigned long n = 0, i;

	mutex_lock(&p->lock);
	for_each_set_bit(i, p->pool.map, p->pool.npages) {
		n += is(p->pages + i);
		if (!(i & 0xfff))
			cond_resched();
	}
	mutex_unlock(&p->lock);
	return n;
}

/* Users of a page besides the base reference and who maps it. */
static bool pinned_by_others(struct page *page)
{
	return page_ref_count(page) - folio_mapcount(page_folio(page)) > 1;
}

/**
 * p2pmem_regions_pinned() - how many pages somebody has pinned
 * @p: the donation, published: its pages are there
 *
 * Pages are looked at while they come and go, so it may be a few off.
 */
unsigned long p2pmem_regions_pinned(struct p2pmem *p)
{
	return count_used(p, pinned_by_others);
}

static bool busy(struct page *page)
{
	return page_ref_count(page) != 1;
}

/**
 * p2pmem_regions_busy() - how many pages somebody has pinned or mapped
 * @p: the donation
 */
unsigned long p2pmem_regions_busy(struct p2pmem *p)
{
	return count_used(p, busy);
}

static bool mapped(struct page *page)
{
	return folio_mapped(page_folio(page));
}

/**
 * p2pmem_regions_mapped() - how many pages some program has mapped
 * @p: the donation
 */
unsigned long p2pmem_regions_mapped(struct p2pmem *p)
{
	return count_used(p, mapped);
}

/**
 * p2pmem_regions_gone() - the pages are about to go
 * @p: the donation, in which no page is pinned or mapped
 *
 * Regions that still have users (VMAs whose accesses give SIGBUS, revoked
 * holds) stay until these have gone, but have no pages any more.
 */
void p2pmem_regions_gone(struct p2pmem *p)
{
	bool shared = p2pmem_backing_shared(p->backing);
	struct p2pmem_region *r, *next;
	unsigned long freed = 0;

	mutex_lock(&p->lock);
	/* nobody asks the pool any more: a page at a time of each region takes long */
	p->gone = !shared;
	list_for_each_entry_safe(r, next, &p->leaving, node) {
		destroy(r);
		freed++;
	}
	if (shared)
		list_for_each_entry(r, &p->regions, node)
			give_back(r);
	p->gone = true;
	mutex_unlock(&p->lock);

	cancel_delayed_work_sync(&p->reaper);
	while (freed--)
		put_device(&p->dev);
}

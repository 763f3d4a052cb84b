// SPDX-License-Identifier: GPL-2.0
/*
 * Holds: what kernel code has on a range of p2pmem memory.
 *
 * A hold is one more user of the region behind the range. It survives the
 * mapping, so an RNIC's memory region outlives munmap(), and it can be
 * revoked, so it never keeps a donor from leaving.
 *
 * A hold's states:
 *
 *	LIVE ----revoke begins----> REVOKING ----callback returned----> REVOKED
 *	  |                            |                                   |
 *	 put: freed               put: waits for REVOKED               put: freed
 *
 * A holder that has handed the memory on, to others who may take their time to let
 * go, has a second callback, so that the others' holds needn't wait for them: after
 * the first one its hold is UNSETTLED (put: freed). The second one follows when all
 * have had the first; during it the hold is REVOKING again. Then it is REVOKED if
 * the donor goes, and UNSETTLED still after a change of the level.
 *
 * A put of a LIVE hold takes it off p->holds, so revoke can't find it any
 * more: the callback is never called after p2pmem_hold_put() has returned,
 * nor is it running then. A REVOKING hold is off the list as well, thus
 * called once; it is not freed under the callback since the put waits.
 *
 * Revoked are all holds when the donor goes, or when its volatile memory has an outage
 * (outage.c), and those of clients that a new level refuses. A withdrawal doesn't wait
 * for puts. A revoked hold keeps the struct p2pmem and the region's bookkeeping,
 * nothing of the donor.
 *
 * Locks: see region.c. The callback runs with none of ours held. A holder
 * must not put while it has a lock that its callback takes: the put may be
 * waiting for that callback.
 */
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "backing.h"
#include "chardev.h"
#include "hold.h"
#include "outage.h"
#include "place.h"
#include "region.h"
#include "stats.h"

enum hold_state {
	HOLD_LIVE,
	HOLD_REVOKING,
	HOLD_UNSETTLED,
	HOLD_REVOKED,
};

/**
 * struct p2pmem_hold - one taker's hold on a range
 * @r: the region, of which the hold is a user
 * @client: whose it is; NULL: nobody's who could be refused. While LIVE; p->lock
 * @offset: first byte within the region
 * @length: number of bytes
 * @ops: the taker's callbacks
 * @ctx: handed to @ops
 * @state: p->lock; who waits looks without it, and again with it
 * @node: in p->holds while LIVE, in p->unsettled while UNSETTLED; p->lock
 * @rule_seq: the newest level known to allow it, as p->rule_seq counts them.
 *	In p->holds those that lag behind come first. p->lock
 * @heard: its second callback has run, for a level. p->lock
 * @seen: outages that its holder has been told of
 * @revoker: who runs the callback, to catch a put from inside it
 */
struct p2pmem_hold {
	struct p2pmem_region *r;
	struct p2pmem_client *client;
	u64 offset;
	u64 length;
	const struct p2pmem_hold_ops *ops;
	void *ctx;
	enum hold_state state;
	struct list_head node;
	unsigned int rule_seq;
	bool heard;
	errseq_t seen;
	struct task_struct *revoker;
};

static bool may_access(const struct vm_area_struct *vma, bool writable)
{
	return vma->vm_flags & (writable ? VM_WRITE : VM_READ);
}

/*
 * The VMAs of the range must be p2pmem's, without a gap, all of one region
 * and in its order. Several there are after mprotect() or a partial munmap().
 */
static struct p2pmem_region *find_region(struct mm_struct *mm,
					 unsigned long start,
					 unsigned long end, bool writable,
					 u64 *offset)
{
	VMA_ITERATOR(vmi, mm, start);
	struct p2pmem_region *r = NULL;
	struct vm_area_struct *vma;
	unsigned long at = start;
	bool foreign = false;

	mmap_assert_locked(mm);

	for_each_vma_range(vmi, vma, end) {
		struct p2pmem_region *here = p2pmem_vma_region(vma);

		if (!here) {
			foreign = true;
			continue;
		}
		if (!r) {
			r = here;
			*offset = start - vma->vm_start +
				  p2pmem_vma_offset(vma);
		}
		/* a foreign VMA or a gap leaves 'at' behind */
		if (here != r || vma->vm_start > at ||
		    p2pmem_vma_offset(vma) - *offset != vma->vm_start - start ||
		    !may_access(vma, writable))
			return ERR_PTR(-EFAULT);
		at = vma->vm_end;
	}
	if (r && (foreign || at < end))
		return ERR_PTR(-EFAULT);
	return r;
}

static int publish(struct p2pmem *p, struct p2pmem_hold *h,
		   struct p2pmem_client *client)
{
	int ret = 0;

	mutex_lock(&p->lock);
	if (client)
		ret = p2pmem_client_admit(p, &client);
	if (!ret) {
		h->client = client;
		h->rule_seq = p->rule_seq;
		list_add_tail(&h->node, &p->holds);
	}
	mutex_unlock(&p->lock);
	return ret;
}

/* It isn't live any more. */
static void leave_client(struct p2pmem_hold *h)
{
	if (h->client)
		p2pmem_client_leave(h->r->p, h->client);
}

static struct p2pmem_hold *hold_new(struct p2pmem_region *r, u64 offset,
				    u64 length,
				    const struct p2pmem_hold_ops *ops,
				    void *ctx)
{
	struct p2pmem_hold *h = kzalloc(sizeof(*h), GFP_KERNEL_ACCOUNT);

	if (!h)
		return NULL;
	p2pmem_region_get(r);
	h->r = r;
	h->offset = offset;
	h->length = length;
	h->seen = p2pmem_outage_now(r->p);
	h->ops = ops;
	h->ctx = ctx;
	return h;
}

static void hold_free(struct p2pmem_hold *h)
{
	p2pmem_region_put(h->r);
	kfree(h);
}

/* The donation is entered. */
static struct p2pmem_hold *take(struct p2pmem_region *r, struct device *dev,
				u64 offset, u64 length,
				const struct p2pmem_hold_ops *ops, void *ctx)
{
	struct p2pmem_client *client;
	struct p2pmem_hold *h;
	int ret;

	h = hold_new(r, offset, length, ops, ctx);
	if (!h)
		return ERR_PTR(-ENOMEM);
	client = p2pmem_client_new(r->p, dev);
	if (!client) {
		hold_free(h);
		return ERR_PTR(-ENOMEM);
	}
	ret = publish(r->p, h, client);
	if (ret) {
		hold_free(h);
		return ERR_PTR(ret);
	}
	p2pmem_count(r->p, P2PMEM_STAT_HOLDS, 1);
	return h;
}

static struct p2pmem_hold *enter_and_take(struct p2pmem_region *r,
					  struct device *dev, u64 offset,
					  u64 length,
					  const struct p2pmem_hold_ops *ops,
					  void *ctx)
{
	struct p2pmem_hold *h;
	int ret;

	ret = p2pmem_region_enter(r);
	if (ret)
		return ERR_PTR(ret);
	h = take(r, dev, offset, length, ops, ctx);
	p2pmem_leave(r->p);
	return h;
}

/**
 * p2pmem_hold_region() - hold a range of a region
 * @r: the region, of which the caller is a user
 * @client: as for p2pmem_hold_user_range()
 * @offset: first byte within it
 * @length: number of bytes, all of them in it
 * @ops: as for p2pmem_hold_user_range()
 * @ctx: handed to @ops
 *
 * Context: process context, may sleep.
 * Return: the hold; -EPERM, -EIO, -ENODEV, -ENOMEM as p2pmem_hold_user_range().
 */
struct p2pmem_hold *p2pmem_hold_region(struct p2pmem_region *r,
				       struct device *client, u64 offset,
				       size_t length,
				       const struct p2pmem_hold_ops *ops,
				       void *ctx)
{
	return enter_and_take(r, client, offset, length, ops, ctx);
}

/**
 * p2pmem_hold_nobodys() - hold a range of a region on nobody's behalf
 * @r: the region, of which the caller is a user
 * @offset: first byte within it
 * @length: number of bytes, all of them in it
 * @ops: as for p2pmem_hold_user_range(); not called for a level's sake
 * @ctx: handed to @ops
 *
 * For who keeps memory for others that have holds of their own.
 *
 * Context: process context, may sleep.
 * Return: the hold; -ENODEV when the donor goes; -EIO; -ENOMEM.
 */
struct p2pmem_hold *p2pmem_hold_nobodys(struct p2pmem_region *r, u64 offset,
					size_t length,
					const struct p2pmem_hold_ops *ops,
					void *ctx)
{
	struct p2pmem_hold *h;
	int ret;

	h = hold_new(r, offset, length, ops, ctx);
	if (!h)
		return ERR_PTR(-ENOMEM);
	ret = p2pmem_region_enter(r);
	if (ret) {
		hold_free(h);
		return ERR_PTR(ret);
	}
	publish(r->p, h, NULL);
	p2pmem_leave(r->p);
	return h;
}

/**
 * p2pmem_hold_user_range() - hold memory that the calling process has mapped
 * @client: the device that will access the memory, registered as long as this
 *	call takes. Its place is that of the PCI function that it is or that is
 *	its nearest parent. NULL, and one that has no such parent, is as far
 *	away from every donor as can be (p2pmem(4), "Who may use it").
 * @start: the user's address
 * @length: number of bytes
 * @writable: the memory will be written
 * @ops: the caller's callbacks, must stay until the hold is put
 * @ctx: handed to @ops
 *
 * The memory stays allocated until p2pmem_hold_put(), whatever the process
 * does with its mapping. It is contiguous. No page is pinned.
 *
 * Context: process context of the owner of the mapping, may sleep, takes
 * mmap_lock.
 * Return: the hold; NULL when no byte of the range is p2pmem memory (hence
 * also for an empty range and for a kernel thread); or
 * -EFAULT when only a part is, when the range wraps, crosses from one
 * allocation into another, or its protection doesn't allow the access;
 * -EPERM when the donor's level refuses @client, which a line in the log
 * explains; -EIO when its content has been lost (p2pmem_outage_begin());
 * -ENODEV when the donor goes; -ENOMEM; -EINTR.
 */
struct p2pmem_hold *p2pmem_hold_user_range(struct device *client,
					   unsigned long start, size_t length,
					   bool writable,
					   const struct p2pmem_hold_ops *ops,
					   void *ctx)
{
	struct mm_struct *mm = current->mm;
	struct p2pmem_hold *h = NULL;
	struct p2pmem_region *r;
	unsigned long end;
	u64 offset = 0;

	if (!mm || !length)
		return NULL;
	if (check_add_overflow(start, length, &end))
		return ERR_PTR(-EFAULT);
	if (mmap_read_lock_killable(mm))
		return ERR_PTR(-EINTR);

	r = find_region(mm, start, end, writable, &offset);
	if (IS_ERR(r))
		h = ERR_CAST(r);
	else if (r)
		h = enter_and_take(r, client, offset, length, ops, ctx);
	mmap_read_unlock(mm);
	return h;
}
EXPORT_SYMBOL_GPL(p2pmem_hold_user_range);

/**
 * p2pmem_alloc() - take memory for kernel code
 * @p: the donation, on which the caller has a reference (p2pmem_find())
 * @clients: the devices that will access the memory, as for p2pmem_find()
 * @n: how many
 * @size: bytes, rounded up to whole pages
 * @ops: the caller's callbacks, must stay until the hold is put
 * @ctx: handed to @ops
 *
 * The memory is contiguous and zeroed. It goes back to the pool with
 * p2pmem_hold_put(). Of the clients the one that is farthest stands for all in
 * the donor's list.
 *
 * Context: process context, may sleep.
 * Return: the hold; or -EINVAL for no bytes, and for persistent memory, where
 * a place would have to be chosen; -ENOMEM when there is no such piece; -EPERM
 * as for p2pmem_hold_user_range(); -EIO during an outage; -ENODEV when the donor goes
 * or has gone;
 * -EINTR when the calling process is killed.
 */
struct p2pmem_hold *p2pmem_alloc(struct p2pmem *p,
				 struct device *const *clients, unsigned int n,
				 size_t size, const struct p2pmem_hold_ops *ops,
				 void *ctx)
{
	enum p2pmem_distance distance;
	struct p2pmem_region *r;
	struct p2pmem_hold *h;
	int ret;

	if (!size || p->d.persistent)
		return ERR_PTR(-EINVAL);
	ret = p2pmem_enter(p);
	if (ret)
		return ERR_PTR(ret);

	r = p2pmem_region_new(p, NULL, 0, (size >> PAGE_SHIFT) +
			      !!offset_in_page(size), NULL);
	if (IS_ERR(r)) {
		h = ERR_CAST(r);
	} else {
		h = take(r, p2pmem_place_farthest(p->d.pdev, clients, n,
						  &distance),
			 0, size, ops, ctx);
		p2pmem_region_put(r);
	}
	p2pmem_leave(p);
	return h;
}
EXPORT_SYMBOL_GPL(p2pmem_alloc);

/**
 * p2pmem_has_page() - is this page p2pmem memory?
 * @page: page that the caller has a reference on
 *
 * For a taker that has pinned a user's range after p2pmem_hold_user_range()
 * found nothing there: the user may have changed the mapping in between.
 *
 * Context: any.
 * Return: true if it belongs to a donation.
 */
bool p2pmem_has_page(const struct page *page)
{
	return p2pmem_page_backing.has(page);
}
EXPORT_SYMBOL_GPL(p2pmem_has_page);

/* Off its list, or nobody's any more; false: a callback is running on it. */
static bool retire(struct p2pmem_hold *h)
{
	lockdep_assert_held(&h->r->p->lock);

	if (h->state == HOLD_REVOKING)
		return false;
	if (h->state != HOLD_REVOKED)
		list_del(&h->node);
	if (h->state == HOLD_LIVE)
		leave_client(h);
	return true;
}

/**
 * p2pmem_hold_put() - give a hold back
 * @h: the hold, not to be used afterwards. An error or NULL is ignored.
 *
 * Waits for a revoke callback that is running on it. If nobody else uses the
 * memory it is back in the pool when this returns.
 *
 * Context: process context, may sleep. Not from the revoke callback, nor
 * under a lock that the callback takes.
 */
void p2pmem_hold_put(struct p2pmem_hold *h)
{
	struct p2pmem *p;

	if (IS_ERR_OR_NULL(h))
		return;

	p = h->r->p;
	mutex_lock(&p->lock);
	while (!retire(h)) {
		/* it would wait for itself */
		if (WARN_ON(h->revoker == current)) {
			mutex_unlock(&p->lock);
			return;
		}
		mutex_unlock(&p->lock);
		wait_event(p->revoked, READ_ONCE(h->state) != HOLD_REVOKING);
		mutex_lock(&p->lock);
	}
	mutex_unlock(&p->lock);
	hold_free(h);
}
EXPORT_SYMBOL_GPL(p2pmem_hold_put);

/**
 * p2pmem_hold_addr() - where the kernel finds the memory
 * @h: a hold
 *
 * The mapping may be write-combining: what is written through it needs a
 * wmb() before anybody is told that it is there.
 *
 * Return: address of the first byte of the held range. Must not be touched
 * any more once the hold's revoke callback has returned.
 */
void __iomem *p2pmem_hold_addr(const struct p2pmem_hold *h)
{
	return h->r->p->io + ((u64)h->r->first << PAGE_SHIFT) + h->offset;
}
EXPORT_SYMBOL_GPL(p2pmem_hold_addr);

/**
 * p2pmem_hold_persist() - make durable what was written under a hold
 * @h: a hold, not revoked: this counts as touching the memory
 * @offset: first byte within the held range
 * @len: number of bytes
 *
 * Context: any, does not sleep.
 * After an outage this fails once for each hold that is older: any write under it may
 * have been lost. Who makes durable what several have written under one hold passes
 * the error on to all of them.
 *
 * Return: 0, also for memory that isn't persistent; -EINVAL when the bytes
 * are outside the hold; -EIO during an outage, and once after it; or the donor's
 * error.
 */
int p2pmem_hold_persist(struct p2pmem_hold *h, u64 offset, u64 len)
{
	struct p2pmem_region *r = h->r;
	int ret, lost;

	if (offset > h->length || len > h->length - offset)
		return -EINVAL;
	ret = p2pmem_persist(r->p, ((u64)r->first << PAGE_SHIFT) + h->offset +
			     offset, len);
	lost = p2pmem_outage_check(r->p, &h->seen);
	return ret ?: lost;
}
EXPORT_SYMBOL_GPL(p2pmem_hold_persist);

/**
 * p2pmem_hold_account() - say what has been copied under a hold
 * @h: a hold, not revoked: this counts as touching the memory
 * @in: bytes that were written into the memory
 * @out: bytes that were read from it
 *
 * For the figures in sysfs, which are as good as what takers tell. One
 * addition per direction to this CPU's own counters: cheap enough for every
 * packet.
 *
 * Context: any.
 */
void p2pmem_hold_account(const struct p2pmem_hold *h, u64 in, u64 out)
{
	const struct p2pmem *p = h->r->p;

	if (in)
		p2pmem_count(p, P2PMEM_STAT_BYTES_IN, in);
	if (out)
		p2pmem_count(p, P2PMEM_STAT_BYTES_OUT, out);
}
EXPORT_SYMBOL_GPL(p2pmem_hold_account);

/**
 * p2pmem_hold_sgt() - the memory as a scatterlist
 * @h: a hold, not revoked
 * @sgt: to be made, one entry in general; sg_free_table() afterwards
 *
 * For dma_map_sgtable(), where the kernel's own rules for peers apply as
 * well. Who has mapped it unmaps it, and stops its device, in the revoke
 * callback.
 *
 * Context: process context, may sleep.
 * Return: 0, or -ENOMEM.
 */
int p2pmem_hold_sgt(const struct p2pmem_hold *h, struct sg_table *sgt)
{
	/* all but the first entry start and all but the last end with a page */
	const u64 max = round_down(UINT_MAX, PAGE_SIZE);
	u64 at = h->offset, left = h->length;
	struct scatterlist *sg;
	unsigned int i;
	int ret;

	ret = sg_alloc_table(sgt, div64_u64(offset_in_page(at) + left - 1,
					    max) + 1, GFP_KERNEL);
	if (ret)
		return ret;

	for_each_sgtable_sg(sgt, sg, i) {
		u64 n = min(left, max - offset_in_page(at));

		sg_set_page(sg, p2pmem_region_page(h->r, at >> PAGE_SHIFT), n,
			    offset_in_page(at));
		at += n;
		left -= n;
	}
	return 0;
}
EXPORT_SYMBOL_GPL(p2pmem_hold_sgt);

static struct p2pmem_hold *first_to_revoke(struct p2pmem *p, bool all)
{
	struct p2pmem_hold *h, *next;

	lockdep_assert_held(&p->lock);

	/* each is looked at once, however many callbacks run in between */
	list_for_each_entry_safe(h, next, &p->holds, node) {
		if (all)
			return h;
		if (h->rule_seq == p->rule_seq)
			return NULL;
		if (h->client && !p2pmem_client_allowed(p, h->client))
			return h;
		h->rule_seq = p->rule_seq;
		list_move_tail(&h->node, &p->holds);
	}
	return NULL;
}

/* A callback is about to run on it. */
static void begin(struct p2pmem_hold *h)
{
	list_del(&h->node);
	h->state = HOLD_REVOKING;
	h->revoker = current;
}

/* Its first one, that is: of those nobody has to wait long. */
static void begin_revoke(struct p2pmem_hold *h)
{
	lockdep_assert_held(&h->r->p->lock);

	leave_client(h);
	begin(h);
	h->r->p->revoking++;
}

static struct p2pmem_hold *next_to_revoke(struct p2pmem *p, bool all)
{
	struct p2pmem_hold *h;

	mutex_lock(&p->lock);
	h = first_to_revoke(p, all);
	if (h)
		begin_revoke(h);
	mutex_unlock(&p->lock);
	return h;
}

static struct p2pmem_hold *first_to_settle(struct p2pmem *p, bool all)
{
	struct p2pmem_hold *h;

	lockdep_assert_held(&p->lock);

	h = list_first_entry_or_null(&p->unsettled, struct p2pmem_hold, node);
	return h && h->heard && !all ? NULL : h;
}

static struct p2pmem_hold *next_to_settle(struct p2pmem *p, bool all)
{
	struct p2pmem_hold *h;

	mutex_lock(&p->lock);
	h = first_to_settle(p, all);
	if (h) {
		begin(h);
		h->heard = true;
	}
	mutex_unlock(&p->lock);
	return h;
}

/* From here on a put may free it; p is the caller's. */
static void callback_returned(struct p2pmem *p, struct p2pmem_hold *h,
			      enum hold_state state, bool first)
{
	mutex_lock(&p->lock);
	WRITE_ONCE(p->revoking, p->revoking - first);
	WRITE_ONCE(h->state, state);
	/* those that have been heard come last */
	if (state == HOLD_UNSETTLED)
		list_add(&h->node, h->heard ? p->unsettled.prev : &p->unsettled);
	mutex_unlock(&p->lock);
	wake_up_all(&p->revoked);
}

/**
 * p2pmem_holds_revoke() - the donor goes, has an outage, or the rules have changed
 * @p: the donation
 * @all: all of them: nobody can enter the donation to make a new one. Else
 *	those of clients that the level refuses; the caller has p->rule_lock.
 *
 * When this returns none of these holders touches the memory any more, but for
 * what p2pmem_holds_settle() waits for. That holds for those as well whose callback
 * somebody else has begun: a level's writer is waited for by an outage and by a
 * withdrawal, an outage by a level's writer (a withdrawal begins when there is none).
 * Its settling isn't.
 */
void p2pmem_holds_revoke(struct p2pmem *p, bool all)
{
	struct p2pmem_hold *h;

	if (!all)
		lockdep_assert_held(&p->rule_lock);

	while ((h = next_to_revoke(p, all))) {
		h->ops->revoke(h->ctx);
		p2pmem_count(p, P2PMEM_STAT_REVOKES, 1);
		callback_returned(p, h, h->ops->settle ? HOLD_UNSETTLED :
							 HOLD_REVOKED, true);
	}
	wait_event(p->revoked, !READ_ONCE(p->revoking));
}

/**
 * p2pmem_holds_settle() - wait for those to whom holders have handed memory on
 * @p: the donation, after p2pmem_holds_revoke()
 * @all: as it was there
 *
 * When this returns they don't touch the memory any more either, but for those who
 * may keep it as long as the donor is there.
 */
void p2pmem_holds_settle(struct p2pmem *p, bool all)
{
	struct p2pmem_hold *h;

	while ((h = next_to_settle(p, all))) {
		h->ops->settle(h->ctx, all);
		callback_returned(p, h, all ? HOLD_REVOKED : HOLD_UNSETTLED,
				  false);
	}
}

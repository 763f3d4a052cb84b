// SPDX-License-Identifier: GPL-2.0
/*
 * What is behind a region's key, and behind those of its windows: pinned pages of
 * RAM, a hold on memory of a donor, or a dma-buf, and the MTT that says where it
 * is.
 *
 * Life: get (the memory is held, nobody uses it), add (the region's key), any
 * number of bind and unbind (windows), close (the region's key dies), put. A
 * region that is registered anew may leave one backing for another, which is then
 * closed as if the region had gone: so a donor that takes back the old memory
 * doesn't touch the key any more.
 *
 * A donor, or the exporter of a dma-buf, may revoke its memory from the moment the
 * hold exists until srnic_backing_put() gives it back. The callback kills the keys of all users.
 * Keys that begin to be translated by a backing, or cease to, do it under its
 * lock: none lives on or is born behind the callback's back.
 *
 * A window is bound by someone who knows nothing but the region's key. That leads
 * to the backing: while the entry is entered, the region can't go, nor its
 * backing (srnic_mpt_kill() waits). The lock can't be taken there, as its owner
 * may be the one that waits. So a guest is counted, leaves the entry, takes the
 * lock and asks the entry a second time, which now says something that lasts; and
 * close() waits for guests, who don't stay longer than that.
 *
 * How long the end of a key takes at the most. B is one wait in wait_for_readers(), 1 ms
 * with slow BARs, else some us; C the number of CPUs. Locks are fair, so one on each CPU
 * is before us, and holds it for no longer than what is below it takes:
 *
 *   the second region's lock, of a window that moves       C B
 *   the region's lock                                      C C B
 *   the window's lock                                      C C C B
 *
 *   dereg, rereg: the lock, B, guests, who take the lock   2 C C B + B
 *   unbind, dealloc, invalidation of a window: its lock    C C C B + B
 *   revoke, each REVOKE_BATCH keys                         C C B + B
 *
 * That is if all CPUs do nothing meanwhile but bind and move windows of those regions.
 * Where nobody does it is B. A peer has no part in it, nor has the number of keys but
 * for those of a revoke.
 *
 * Locks
 *   mw's lock > lock. The lock's owner may wait in srnic_mpt_kill() and
 *   srnic_mpt_change(), that is, for one packet's copy. A region that moves holds
 *   the locks of both backings, the old one's first; nobody else knows the new. A
 *   window that moves holds those of two that all know, in the order of addresses.
 */
#include "backing.h"

#include <linux/bug.h>
#include <linux/err.h>
#include <linux/lockdep.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>

#include "dmabuf.h"
#include "mtt.h"
#include "peer.h"
#include "trace.h"

/* windows that die while bottom halves are off */
#define REVOKE_BATCH	64

static void add_user(struct srnic_backing *b, struct srnic_backing_user *u)
{
	lockdep_assert_held(&b->lock);
	list_add_tail(&u->node, &b->users);
	b->nusers++;
}

static void del_user(struct srnic_backing *b, struct srnic_backing_user *u)
{
	lockdep_assert_held(&b->lock);
	list_del(&u->node);
	b->nusers--;
}

/* Nobody sees a key that is dead and not waited for: both under one lock. */
static bool revoke_some(struct srnic_backing *b)
{
	unsigned int n = REVOKE_BATCH;
	struct srnic_backing_user *u;
	bool more;

	spin_lock_bh(&b->lock);
	/* none is born from now on */
	b->revoked = true;
	while (n-- && !list_empty(&b->users)) {
		u = list_first_entry(&b->users, struct srnic_backing_user, node);
		if (srnic_mpt_kill_no_wait(u->e, SRNIC_MPT_REVOKED))
			trace_key_dead(b->ibdev->name, u->e->key, true);
		list_move_tail(&u->node, &b->dead);
	}
	srnic_mpt_wait_for_dead(b->mpt);
	more = !list_empty(&b->users);
	spin_unlock_bh(&b->lock);
	return more;
}

static void backing_revoke(void *ctx)
{
	while (revoke_some(ctx))
		cond_resched();
}

static int map_peer(struct srnic_backing *b, u64 length)
{
	b->mtt = srnic_mtt_alloc(1);
	if (!b->mtt)
		return -ENOMEM;
	return srnic_mtt_add(b->mtt,
			     (__force unsigned long)srnic_peer_addr(b->peer),
			     length, true);
}

/*
 * Another thread may have mapped memory of a donor into the range after
 * srnic_peer_get() has looked at it. Pages that are pinned tell the truth. A
 * run of the list never has memory of two kinds (pages_are_mergeable()).
 */
static bool umem_has_peer(struct ib_umem *umem)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_sg(&umem->sgt_append.sgt, sg, i)
		if (srnic_peer_has_page(sg_page(sg)))
			return true;
	return false;
}

static int map_ram(struct srnic_backing *b, u64 start, u64 length, int access)
{
	struct srnic_mtt *mtt;
	struct ib_umem *umem;

	umem = ib_umem_get(b->ibdev, start, length, access);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	b->umem = umem;
	/* no donor may have to wait for a region that it can't revoke */
	if (umem_has_peer(umem))
		return -EFAULT;
	mtt = srnic_mtt_from_sgl(umem->sgt_append.sgt.sgl,
				 umem->sgt_append.sgt.orig_nents,
				 ib_umem_offset(umem), length);
	if (IS_ERR(mtt))
		return PTR_ERR(mtt);
	b->mtt = mtt;
	return 0;
}

static int map(struct srnic_backing *b, struct device *client, u64 start,
	       u64 length, int access)
{
	struct srnic_peer *peer;

	peer = srnic_peer_get(client, start, length, b->writable,
			      backing_revoke, b);
	if (IS_ERR(peer))
		return PTR_ERR(peer);
	if (!peer)
		return map_ram(b, start, length, access);
	b->peer = peer;
	return map_peer(b, length);
}

static struct srnic_backing *backing_alloc(struct srnic_mpt *mpt,
					   struct ib_device *ibdev, int access)
{
	struct srnic_backing *b = kzalloc(sizeof(*b), GFP_KERNEL_ACCOUNT);

	if (!b)
		return NULL;
	b->mpt = mpt;
	b->ibdev = ibdev;
	b->writable = ib_access_writable(access);
	spin_lock_init(&b->lock);
	INIT_LIST_HEAD(&b->users);
	INIT_LIST_HEAD(&b->dead);
	return b;
}

/* Its memory is held, or err says why not. */
static struct srnic_backing *backing_made(struct srnic_backing *b, int err)
{
	if (err) {
		srnic_backing_put(b);
		return ERR_PTR(err);
	}
	b->mtt->owner = b;
	b->mtt->peer = b->peer;
	return b;
}

/**
 * srnic_backing_get() - hold memory of the calling program
 * @mpt: table that the keys for it live in
 * @ibdev: device that pages are pinned for
 * @client: device on whose behalf memory of a donor is used
 * @start: address in the program
 * @length: bytes, not 0
 * @access: IB_ACCESS_*: what it is held for
 *
 * Context: process, the program's.
 * Return: the backing, without users; ERR_PTR(-ENOMEM): no memory, or the
 * program's limit of locked memory; ERR_PTR(-EFAULT): no such memory, or it is
 * being mapped anew; others from pinning the pages or from the donor.
 */
struct srnic_backing *srnic_backing_get(struct srnic_mpt *mpt,
					struct ib_device *ibdev,
					struct device *client, u64 start,
					u64 length, int access)
{
	struct srnic_backing *b = backing_alloc(mpt, ibdev, access);

	if (!b)
		return ERR_PTR(-ENOMEM);
	return backing_made(b, map(b, client, start, length, access));
}

static int map_dmabuf(struct srnic_backing *b, struct device *client, int fd,
		      u64 offset, u64 length)
{
	struct srnic_dmabuf *buf;
	struct srnic_peer *peer;
	unsigned long addr;
	bool io;

	buf = srnic_dmabuf_get(client, fd, offset, length, backing_revoke, b);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	b->dmabuf = buf;
	/* whoever has a local key may read by it */
	if (!srnic_dmabuf_readable(buf) ||
	    (b->writable && !srnic_dmabuf_writable(buf)))
		return -EACCES;
	/* what may be asked for later (srnic_mr_rereg()) */
	b->writable = srnic_dmabuf_writable(buf);
	peer = srnic_dmabuf_peer(buf);
	if (IS_ERR(peer))
		return PTR_ERR(peer);
	b->peer = peer;
	b->mtt = srnic_mtt_alloc(1);
	if (!b->mtt)
		return -ENOMEM;
	addr = srnic_dmabuf_addr(buf, &io);
	return srnic_mtt_add(b->mtt, addr, length, io);
}

/**
 * srnic_backing_get_dmabuf() - hold memory of a dma-buf
 * @mpt: table that the keys for it live in
 * @ibdev: device
 * @client: device on whose behalf it is used
 * @fd: the dma-buf, of the calling program
 * @offset: where in it
 * @length: bytes, not 0
 * @access: IB_ACCESS_*: what it is held for
 *
 * Context: process, the program's.
 * Return: as srnic_backing_get(); ERR_PTR(-EACCES): the file is for reading;
 * others as srnic_dmabuf_get().
 */
struct srnic_backing *srnic_backing_get_dmabuf(struct srnic_mpt *mpt,
					       struct ib_device *ibdev,
					       struct device *client, int fd,
					       u64 offset, u64 length,
					       int access)
{
	struct srnic_backing *b = backing_alloc(mpt, ibdev, access);

	if (!b)
		return ERR_PTR(-ENOMEM);
	return backing_made(b, map_dmabuf(b, client, fd, offset, length));
}

/**
 * srnic_backing_kind() - what sort of memory it is
 * @b: backing
 *
 * Return: a word, for people.
 */
const char *srnic_backing_kind(const struct srnic_backing *b)
{
	return b->dmabuf ? "dmabuf" : b->peer ? "peer" : "ram";
}

/**
 * srnic_backing_put() - give the memory back
 * @b: backing without users, or NULL; freed
 *
 * Context: process.
 */
void srnic_backing_put(struct srnic_backing *b)
{
	if (!b)
		return;
	WARN_ON_ONCE(b->nusers);
	/* behind this no revoke runs, nor will */
	if (b->peer)
		srnic_peer_put(b->peer);
	if (b->dmabuf)
		srnic_dmabuf_put(b->dmabuf);
	srnic_mtt_free(b->mtt);
	if (b->umem)
		ib_umem_release(b->umem);
	kfree(b);
}

/**
 * srnic_backing_add() - the region's key will be translated by it
 * @b: backing, new, or NULL: a region of no bytes
 * @u: the key; not yet published
 *
 * Where the memory has been revoked meanwhile, the key is dead at birth.
 */
void srnic_backing_add(struct srnic_backing *b, struct srnic_backing_user *u)
{
	if (!b)
		return;
	spin_lock_bh(&b->lock);
	add_user(b, u);
	if (b->revoked)
		srnic_mpt_kill(b->mpt, u->e, SRNIC_MPT_REVOKED);
	spin_unlock_bh(&b->lock);
}

/* The region's key is the only user left. */
static bool has_windows(const struct srnic_backing *b)
{
	lockdep_assert_held(&b->lock);
	return b->nusers > 1;
}

/* Nobody finds it any more; who has found it goes. */
static void wait_for_guests(struct srnic_backing *b)
{
	/* as they have, so that none is on this CPU, whoever is preempted */
	local_bh_disable();
	/* acquire: what guests did before what the caller does */
	while (atomic_read_acquire(&b->guests))
		cpu_relax();
	local_bh_enable();
}

static int change_locked(struct srnic_backing *b, struct srnic_backing *to,
			 struct srnic_backing_user *u,
			 const struct srnic_mpt_grant *grant)
{
	if (b && has_windows(b))
		return -EBUSY;
	if (to && to->revoked)
		return -ENODEV;
	switch (srnic_mpt_change(b ? b->mpt : to->mpt, u->e, false, grant)) {
	case SRNIC_KEY_OK:
		break;
	case SRNIC_KEY_REVOKED:
		return -ENODEV;
	default:
		return -EINVAL;
	}
	if (b == to)
		return 0;
	if (b) {
		b->closed = true;
		del_user(b, u);
	}
	if (to)
		add_user(to, u);
	return 0;
}

/**
 * srnic_backing_change() - the region's key gets another grant
 * @b: its backing, or NULL; to be put afterwards if @to is another
 * @to: its backing from now on, or NULL; not both
 * @u: the key, valid
 * @grant: what it allows then
 *
 * Context: process.
 * Return: 0; -EBUSY: windows are bound; -ENODEV: the memory has been revoked.
 * Nothing has changed then.
 */
int srnic_backing_change(struct srnic_backing *b, struct srnic_backing *to,
			 struct srnic_backing_user *u,
			 const struct srnic_mpt_grant *grant)
{
	int err;

	local_bh_disable();
	if (b)
		spin_lock(&b->lock);
	if (to && to != b)
		spin_lock_nested(&to->lock, SINGLE_DEPTH_NESTING);
	err = change_locked(b, to, u, grant);
	if (to && to != b)
		spin_unlock(&to->lock);
	if (b)
		spin_unlock(&b->lock);
	local_bh_enable();
	if (!err && b && b != to)
		wait_for_guests(b);
	return err;
}

/**
 * srnic_backing_close() - the region's key dies
 * @b: its backing, to be put afterwards
 * @u: the key
 *
 * On return no byte is touched any more (srnic_mpt_kill()).
 *
 * Context: process.
 * Return: 0; -EBUSY: windows are bound, and nothing has changed.
 */
int srnic_backing_close(struct srnic_backing *b, struct srnic_backing_user *u)
{
	spin_lock_bh(&b->lock);
	if (has_windows(b)) {
		spin_unlock_bh(&b->lock);
		return -EBUSY;
	}
	b->closed = true;
	if (srnic_mpt_kill(b->mpt, u->e, SRNIC_MPT_INVALID))
		trace_key_dead(b->ibdev->name, u->e->key, false);
	del_user(b, u);
	spin_unlock_bh(&b->lock);
	wait_for_guests(b);
	return 0;
}

/**
 * srnic_backing_visit() - find a region by its key
 * @mpt: table
 * @region: the key, what the window needs of it, where
 * @why: SRNIC_KEY_OK or why not
 *
 * Context: bottom halves disabled until srnic_backing_leave().
 * Return: the backing, which stays there for as long; NULL where *@why says so.
 */
struct srnic_backing *srnic_backing_visit(struct srnic_mpt *mpt,
					  const struct srnic_mpt_req *region,
					  enum srnic_key_reason *why)
{
	const struct srnic_mpt_entry *e;
	struct srnic_backing *b = NULL;

	*why = srnic_mpt_enter(mpt, region, &e);
	if (*why != SRNIC_KEY_OK)
		return NULL;
	if (e->kind == SRNIC_MPT_MR && e->mtt)
		b = e->mtt->owner;
	if (b)
		atomic_inc(&b->guests);
	else
		*why = SRNIC_KEY_ACCESS;
	srnic_mpt_leave(mpt);
	return b;
}

/**
 * srnic_backing_leave() - the visit ends
 * @b: backing, which may go now
 */
void srnic_backing_leave(struct srnic_backing *b)
{
	/* release: all accesses before; pairs with wait_for_guests() */
	atomic_dec_return_release(&b->guests);
}

/* What the region says of the window's place, now that it lasts. */
static enum srnic_key_reason locate(struct srnic_backing *b,
				    const struct srnic_mpt_req *region,
				    struct srnic_mpt_grant *grant)
{
	const struct srnic_mpt_entry *e;
	enum srnic_key_reason why;

	lockdep_assert_held(&b->lock);
	why = srnic_mpt_enter(b->mpt, region, &e);
	if (why != SRNIC_KEY_OK)
		return why;
	/* the key's next life, or the same one somewhere else */
	if (e->mtt != b->mtt)
		why = SRNIC_KEY_STALE;
	grant->mtt = b->mtt;
	grant->mtt_off = e->mtt_off + (region->addr - e->iova);
	srnic_mpt_leave(b->mpt);
	return why;
}

/* Both; @old is NULL or the same where there is one only. */
static void lock_two(struct srnic_backing *b, struct srnic_backing *old)
	__acquires(&b->lock) __acquires(&old->lock)
{
	struct srnic_backing *first = b, *second = old;

	if (old && old < b)
		swap(first, second);
	spin_lock(&first->lock);
	if (second && second != first)
		spin_lock_nested(&second->lock, SINGLE_DEPTH_NESTING);
	else
		__acquire(&old->lock);	/* sparse counts two */
}

static void unlock_two(struct srnic_backing *b, struct srnic_backing *old)
	__releases(&b->lock) __releases(&old->lock)
{
	if (old && old != b)
		spin_unlock(&old->lock);
	else
		__release(&old->lock);
	spin_unlock(&b->lock);
}

/**
 * srnic_backing_bind() - a window's key is translated by it
 * @b: backing that is being visited
 * @old: the one that the window's key is a user of, and leaves; or NULL: then the
 *	key must be invalid now
 * @region: as in srnic_backing_visit()
 * @u: the window's key
 * @grant: what it allows then; the translation is filled in here
 * @why: SRNIC_KEY_OK, or why not, and nothing has changed
 *
 * On success no byte is touched any more through what the key was bound to.
 *
 * Context: bottom halves disabled.
 * Return: false: the region has left this backing, and @why says nothing.
 */
bool srnic_backing_bind(struct srnic_backing *b, struct srnic_backing *old,
			const struct srnic_mpt_req *region,
			struct srnic_backing_user *u,
			struct srnic_mpt_grant *grant,
			enum srnic_key_reason *why)
{
	bool closed;

	lock_two(b, old);
	closed = b->closed;
	if (closed)
		goto unlock;
	*why = b->revoked ? SRNIC_KEY_REVOKED : locate(b, region, grant);
	if (*why == SRNIC_KEY_OK)
		*why = srnic_mpt_change(b->mpt, u->e, !old, grant);
	if (*why == SRNIC_KEY_OK && b != old) {
		if (old)
			del_user(old, u);
		add_user(b, u);
	}
unlock:
	unlock_two(b, old);
	return !closed;
}

/**
 * srnic_backing_unbind() - a window's key ceases to be translated by it
 * @b: backing that it is bound to
 * @u: the window's key
 *
 * On return no byte is touched through that key.
 *
 * Context: bottom halves disabled.
 * Return: true if the key worked until now.
 */
bool srnic_backing_unbind(struct srnic_backing *b, struct srnic_backing_user *u)
{
	bool lived;

	spin_lock(&b->lock);
	lived = srnic_mpt_kill(b->mpt, u->e, SRNIC_MPT_INVALID);
	del_user(b, u);
	spin_unlock(&b->lock);
	return lived;
}

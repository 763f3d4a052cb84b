// SPDX-License-Identifier: GPL-2.0
/*
 * Memory windows (IBTA 10.6.7): keys for part of a region, for some QPs.
 *
 *             key bound by        used by             ends with
 *   type 1    ibv_bind_mw()       any QP of the PD    the next bind
 *   type 2A   a work request      that QP             LOCAL_INV, or a peer's SEND
 *   type 2B   a work request      that QP and PD      with invalidate; the QP
 *
 * A device has windows of type 2A or of type 2B (IBTA 10.6.7.2.2).
 *
 * A window is an MPT entry like a region's, valid while it is bound, translated by
 * the backing of its region. So a packet that comes for it costs what any other
 * does, and the region can't go before (backing.c). When the region's memory is
 * revoked the window dies, for good.
 *
 * Requests name windows by key, and the bind of a window may meet its end, in
 * another thread: they are looked up under RCU, and the lock tells.
 *
 * Locks
 *   window's lock > backing's lock; window's lock > list's lock.
 */
#include "mw.h"

#include <linux/err.h>
#include <linux/slab.h>

#include "backing.h"
#include "key.h"
#include "trace.h"

/**
 * struct srnic_window - a window
 * @type: IB_MW_TYPE_1 or IB_MW_TYPE_2
 * @pdn: its protection domain
 * @lock: protects all below
 * @dead: its slot is being given back
 * @user: its key, a user of @b
 * @b: what it is bound to, or NULL
 * @list: of the QP that it is bound to, or NULL
 * @node: in @list
 * @rcu: it may still be looked at when it is freed
 */
struct srnic_window {
	enum ib_mw_type type;
	u32 pdn;
	spinlock_t lock;	/* protects all below */
	bool dead;
	struct srnic_backing_user user;
	struct srnic_backing *b;
	struct srnic_mw_list *list;
	struct list_head node;
	struct rcu_head rcu;
};

/**
 * srnic_mws_init() - a device without windows
 * @mws: filled
 * @ibdev: the device
 * @mpt: table for the keys
 * @type_2a: whether windows of type 2 are of type 2A
 */
void srnic_mws_init(struct srnic_mws *mws, struct ib_device *ibdev,
		    struct srnic_mpt *mpt, bool type_2a)
{
	mws->type_2a = type_2a;
	mws->ibdev = ibdev;
	mws->mpt = mpt;
	xa_init_flags(&mws->by_slot, XA_FLAGS_LOCK_BH);
}

/**
 * srnic_mws_exit() - the device goes
 * @mws: without windows
 */
void srnic_mws_exit(struct srnic_mws *mws)
{
	WARN_ON(!xa_empty(&mws->by_slot));
	xa_destroy(&mws->by_slot);
}

/**
 * srnic_mw_alloc() - a window that is bound to nothing
 * @mws: windows of the device
 * @mw: filled, its key included
 * @pdn: its protection domain
 * @type: IB_MW_TYPE_1, IB_MW_TYPE_2
 *
 * Context: process.
 * Return: 0, -EINVAL, -ENOMEM: no memory, or no key.
 */
int srnic_mw_alloc(struct srnic_mws *mws, struct srnic_mw *mw, u32 pdn,
		   enum ib_mw_type type)
{
	struct srnic_mpt_entry *e;
	struct srnic_window *w;
	int err;

	if (type != IB_MW_TYPE_1 && type != IB_MW_TYPE_2)
		return -EINVAL;
	w = kzalloc(sizeof(*w), GFP_KERNEL_ACCOUNT);
	if (!w)
		return -ENOMEM;
	e = srnic_mpt_alloc(mws->mpt);
	if (IS_ERR(e)) {
		err = PTR_ERR(e);
		goto free_w;
	}
	e->kind = type == IB_MW_TYPE_1 ? SRNIC_MPT_MW1 : SRNIC_MPT_MW2;
	e->pdn = pdn;
	srnic_mpt_kill(mws->mpt, e, SRNIC_MPT_INVALID);
	spin_lock_init(&w->lock);
	w->type = type;
	w->pdn = pdn;
	w->user.e = e;
	err = xa_insert_bh(&mws->by_slot, e->slot, w, GFP_KERNEL_ACCOUNT);
	if (err)
		goto free_e;
	mw->w = w;
	mw->ibmw.rkey = e->key;
	return 0;

free_e:
	srnic_mpt_free(mws->mpt, e);
free_w:
	kfree(w);
	return err;
}

/* No byte is touched through it any more. */
static void unbind(struct srnic_mws *mws, struct srnic_window *w)
{
	lockdep_assert_held(&w->lock);
	if (w->b) {
		if (srnic_backing_unbind(w->b, &w->user))
			trace_key_dead(mws->ibdev->name, w->user.e->key, false);
		w->b = NULL;
	}
	if (w->list) {
		spin_lock(&w->list->lock);
		list_del(&w->node);
		spin_unlock(&w->list->lock);
		w->list = NULL;
	}
}

/**
 * srnic_mw_dealloc() - a window goes
 * @mws: windows of the device
 * @mw: the window, bound or not
 *
 * On return no byte is touched through its key.
 *
 * Context: process.
 */
void srnic_mw_dealloc(struct srnic_mws *mws, struct srnic_mw *mw)
{
	struct srnic_window *w = mw->w;

	spin_lock_bh(&w->lock);
	w->dead = true;
	unbind(mws, w);
	spin_unlock_bh(&w->lock);
	xa_erase_bh(&mws->by_slot, w->user.e->slot);
	srnic_mpt_free(mws->mpt, w->user.e);
	kfree_rcu(w, rcu);
}

/* The window of a key's slot, if it has one; under RCU. */
static struct srnic_window *find(struct srnic_mws *mws, u32 key)
{
	return xa_load(&mws->by_slot, srnic_mpt_slot_of(mws->mpt, key));
}

/* Is it this window's? */
static bool is_named(const struct srnic_window *w, u32 key)
{
	lockdep_assert_held(&w->lock);
	return !w->dead && srnic_key_same_handle(w->user.e->key, key);
}

static enum srnic_key_reason bind_region(struct srnic_mws *mws,
					 struct srnic_window *w,
					 struct srnic_mw_bind *bind,
					 const struct srnic_mpt_req *region)
{
	bool type2 = w->type == IB_MW_TYPE_2;
	struct srnic_mpt_grant grant = {
		.key = bind->key,
		.access = bind->access & SRNIC_REMOTE_RIGHTS,
		.pdn = bind->pdn,
		.qpn = type2 ? bind->qpn : SRNIC_MPT_ANY_QP,
		.iova = bind->access & IB_ZERO_BASED ? 0 : bind->addr,
		.length = bind->length,
	};
	/* only one of type 1 may be bound already, and leaves that if this succeeds */
	struct srnic_backing *old = type2 ? NULL : w->b, *b;
	const u32 old_key = w->user.e->key;
	enum srnic_key_reason why;
	bool again;

	if (type2 && mws->type_2a)
		grant.pdn = SRNIC_MPT_ANY_PD;
	/* a region that has moved meanwhile is asked where it is now */
	do {
		bind->blamed = bind->lkey;
		b = srnic_backing_visit(mws->mpt, region, &why);
		if (!b)
			return why;
		again = !srnic_backing_bind(b, old, region, &w->user, &grant,
					    &why);
		if (!again && why == SRNIC_KEY_OK)
			w->b = b;
		srnic_backing_leave(b);
	} while (again);
	/* only a window may be bound already; and it may have been revoked as well */
	if (why == SRNIC_KEY_STATE ||
	    (why == SRNIC_KEY_REVOKED &&
	     READ_ONCE(w->user.e->state) == SRNIC_MPT_REVOKED))
		bind->blamed = bind->key;
	if (why == SRNIC_KEY_OK && old)
		trace_key_dead(mws->ibdev->name, old_key, false);
	if (why == SRNIC_KEY_OK)
		trace_key_born(mws->ibdev->name, grant.key, w->user.e->kind,
			       grant.pdn, grant.access, grant.iova,
			       grant.length, 0);
	if (why == SRNIC_KEY_OK && type2) {
		w->list = bind->bound;
		spin_lock(&w->list->lock);
		list_add(&w->node, &w->list->windows);
		spin_unlock(&w->list->lock);
	}
	return why;
}

static enum srnic_key_reason bind_locked(struct srnic_mws *mws,
					 struct srnic_window *w,
					 struct srnic_mw_bind *bind)
{
	struct srnic_mpt_req region = {
		.key = bind->lkey,
		.pdn = bind->pdn,
		.qpn = bind->qpn,
		.access = IB_ACCESS_MW_BIND,
		.addr = bind->addr,
		.len = bind->length,
	};

	lockdep_assert_held(&w->lock);
	if (w->pdn != bind->pdn)
		return SRNIC_KEY_PD;
	if (!bind->length && w->type == IB_MW_TYPE_1) {
		unbind(mws, w);
		return SRNIC_KEY_OK;
	}
	/* IBTA 10.6.7.2.3: a window of type 2 has bytes */
	if (!bind->length)
		return SRNIC_KEY_BOUNDS;
	/* a window is for peers; programs name the local right all the same */
	if (bind->access & ~(SRNIC_REMOTE_RIGHTS | IB_ZERO_BASED |
			     IB_ACCESS_LOCAL_WRITE))
		return SRNIC_KEY_ACCESS;
	if (bind->access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC))
		region.access |= IB_ACCESS_LOCAL_WRITE;
	return bind_region(mws, w, bind, &region);
}

/**
 * srnic_mw_bind() - bind a window
 * @mws: windows of the device
 * @bind: what to, and for whom
 *
 * A window of type 1 leaves what it was bound to, one of type 2 must be unbound. A
 * bind that is refused changes nothing: what was bound stays so.
 *
 * Context: bottom halves disabled.
 * Return: SRNIC_KEY_OK, or why not.
 */
enum srnic_key_reason srnic_mw_bind(struct srnic_mws *mws,
				    struct srnic_mw_bind *bind)
{
	enum srnic_key_reason why = SRNIC_KEY_STALE;
	struct srnic_window *w;

	bind->blamed = bind->key;
	rcu_read_lock();
	w = find(mws, bind->key);
	if (w) {
		spin_lock(&w->lock);
		if (is_named(w, bind->key))
			why = bind_locked(mws, w, bind);
		spin_unlock(&w->lock);
	}
	rcu_read_unlock();
	return why;
}

/**
 * srnic_mws_invalidate() - a key stops working until it is bound or registered anew
 * @mws: windows of the device
 * @rq: the key, of a window or of a fast-register region, and who wants it
 *
 * Context: bottom halves disabled.
 * Return: as srnic_mpt_invalidate().
 */
enum srnic_key_reason srnic_mws_invalidate(struct srnic_mws *mws,
					   const struct srnic_mpt_req *rq)
{
	enum srnic_key_reason why = SRNIC_KEY_STALE;
	struct srnic_window *w;

	rcu_read_lock();
	w = find(mws, rq->key);
	if (w) {
		spin_lock(&w->lock);
		if (is_named(w, rq->key))
			why = srnic_mpt_invalidate(mws->mpt, SRNIC_MPT_MW2, rq);
		if (why == SRNIC_KEY_OK)
			unbind(mws, w);
		spin_unlock(&w->lock);
	} else {
		/* a window that is being made isn't bound yet */
		why = srnic_mpt_invalidate(mws->mpt, SRNIC_MPT_FRMR, rq);
	}
	rcu_read_unlock();
	if (why == SRNIC_KEY_OK)
		trace_key_dead(mws->ibdev->name, rq->key, false);
	return why;
}

/**
 * srnic_mw_list_invalidate() - a QP goes, and with it what is bound to it
 * @mws: windows of the device
 * @list: of the QP, which binds no more
 *
 * Context: process.
 */
void srnic_mw_list_invalidate(struct srnic_mws *mws, struct srnic_mw_list *list)
{
	struct srnic_window *w;

	might_sleep();
	do {
		rcu_read_lock();
		spin_lock_bh(&list->lock);
		w = list_first_entry_or_null(&list->windows,
					     struct srnic_window, node);
		spin_unlock_bh(&list->lock);
		if (w) {
			/* it may have left the list, not for another one's */
			spin_lock_bh(&w->lock);
			if (w->list == list)
				unbind(mws, w);
			spin_unlock_bh(&w->lock);
		}
		rcu_read_unlock();
		/* a program may have as many as it likes */
		cond_resched();
	} while (w);
}

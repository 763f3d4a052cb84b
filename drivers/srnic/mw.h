/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory windows: keys for part of a region, bound by work requests. See mw.c.
 */
#ifndef SRNIC_MW_H
#define SRNIC_MW_H

#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "mpt.h"

struct srnic_window;

/**
 * struct srnic_mws - the windows of a device
 * @ibdev: the device
 * @mpt: the table that their keys live in
 * @type_2a: those of type 2 are of type 2A: they belong to a QP and to no PD
 * @by_slot: slot of the key -> struct srnic_window. Readers: RCU.
 */
struct srnic_mws {
	struct ib_device *ibdev;
	struct srnic_mpt *mpt;
	bool type_2a;
	struct xarray by_slot;
};

/**
 * struct srnic_mw_list - windows of type 2 that are bound to a QP
 * @lock: protects @windows
 * @windows: struct srnic_window
 */
struct srnic_mw_list {
	spinlock_t lock;	/* protects all below */
	struct list_head windows;
};

struct srnic_mw {
	struct ib_mw ibmw;
	struct srnic_window *w;
};

static inline struct srnic_mw *to_srnic_mw(struct ib_mw *ibmw)
{
	return container_of(ibmw, struct srnic_mw, ibmw);
}

/**
 * struct srnic_mw_bind - a bind request
 * @key: of the window, with the new low byte
 * @lkey: of the region
 * @addr: first address, in the region's space
 * @length: bytes; 0, for windows of type 1: of nothing, it isn't bound any more
 * @access: IB_ACCESS_REMOTE_*, IB_ZERO_BASED
 * @pdn: protection domain of the QP
 * @qpn: the QP
 * @bound: the QP's list
 * @blamed: filled in on a refusal: which of both keys it is about
 */
struct srnic_mw_bind {
	u32 key;
	u32 lkey;
	u64 addr;
	u64 length;
	u32 access;
	u32 pdn;
	u32 qpn;
	struct srnic_mw_list *bound;
	u32 blamed;
};

void srnic_mws_init(struct srnic_mws *mws, struct ib_device *ibdev,
		    struct srnic_mpt *mpt, bool type_2a);
void srnic_mws_exit(struct srnic_mws *mws);

int srnic_mw_alloc(struct srnic_mws *mws, struct srnic_mw *mw, u32 pdn,
		   enum ib_mw_type type);
void srnic_mw_dealloc(struct srnic_mws *mws, struct srnic_mw *mw);

/* The QP begins; its windows die with it. */
static inline void srnic_mw_list_init(struct srnic_mw_list *list)
{
	spin_lock_init(&list->lock);
	INIT_LIST_HEAD(&list->windows);
}

void srnic_mw_list_invalidate(struct srnic_mws *mws, struct srnic_mw_list *list);

/* Both: bottom halves disabled. The second one for any key. */
enum srnic_key_reason srnic_mw_bind(struct srnic_mws *mws,
				    struct srnic_mw_bind *bind);
enum srnic_key_reason srnic_mws_invalidate(struct srnic_mws *mws,
					   const struct srnic_mpt_req *rq);

#endif /* SRNIC_MW_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is behind keys: memory that is held, and who is translated by it. See
 * backing.c.
 */
#ifndef SRNIC_BACKING_H
#define SRNIC_BACKING_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>

#include "mpt.h"

struct ib_device;
struct ib_umem;
struct srnic_dmabuf;
struct srnic_peer;

/**
 * struct srnic_backing - memory that is held, and its translation
 * @ibdev: the device
 * @mpt: the table that the users' keys live in
 * @mtt: where it is
 * @umem: pinned pages, of user memory, or
 * @peer: a hold on memory of a donor, or
 * @dmabuf: a mapped dma-buf; where that is a donor's, @peer is for its figures
 * @writable: it may be written
 * @lock: protects all below; users' keys live and die under it, so that a
 *	revoke misses none
 * @closed: there will be no other user
 * @revoked: the memory has gone
 * @users: struct srnic_backing_user: the region first, then its windows
 * @dead: those that a revoke has been at
 * @nusers: of both
 * @guests: of srnic_backing_visit(); once the region's key is dead, there are no
 *	new ones
 */
struct srnic_backing {
	struct ib_device *ibdev;
	struct srnic_mpt *mpt;
	struct srnic_mtt *mtt;
	struct ib_umem *umem;
	struct srnic_peer *peer;
	struct srnic_dmabuf *dmabuf;
	bool writable;
	spinlock_t lock;	/* protects all below */
	bool closed;
	bool revoked;
	struct list_head users;
	struct list_head dead;
	u32 nusers;
	atomic_t guests;
};

/**
 * struct srnic_backing_user - a key that is translated by a backing
 * @node: in @users of the backing, or in @dead
 * @e: the key's entry
 */
struct srnic_backing_user {
	struct list_head node;
	struct srnic_mpt_entry *e;
};

struct srnic_backing *srnic_backing_get(struct srnic_mpt *mpt,
					struct ib_device *ibdev,
					struct device *client, u64 start,
					u64 length, int access);
struct srnic_backing *srnic_backing_get_dmabuf(struct srnic_mpt *mpt,
					       struct ib_device *ibdev,
					       struct device *client, int fd,
					       u64 offset, u64 length,
					       int access);
void srnic_backing_put(struct srnic_backing *b);
/* "ram", "peer", "dmabuf": a constant */
const char *srnic_backing_kind(const struct srnic_backing *b);

/* The region's key, which is reserved, and will be published. */
void srnic_backing_add(struct srnic_backing *b, struct srnic_backing_user *u);
/* The region's key: another grant, another backing (@to may be @b, or NULL). */
int srnic_backing_change(struct srnic_backing *b, struct srnic_backing *to,
			 struct srnic_backing_user *u,
			 const struct srnic_mpt_grant *grant);
/* The region's key dies. -EBUSY: windows are bound. */
int srnic_backing_close(struct srnic_backing *b, struct srnic_backing_user *u);

/* A window. Bottom halves disabled. */
struct srnic_backing *srnic_backing_visit(struct srnic_mpt *mpt,
					  const struct srnic_mpt_req *region,
					  enum srnic_key_reason *why);
void srnic_backing_leave(struct srnic_backing *b);
bool srnic_backing_bind(struct srnic_backing *b, struct srnic_backing *old,
			const struct srnic_mpt_req *region,
			struct srnic_backing_user *u,
			struct srnic_mpt_grant *grant,
			enum srnic_key_reason *why);
bool srnic_backing_unbind(struct srnic_backing *b, struct srnic_backing_user *u);

#endif /* SRNIC_BACKING_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One donation: the object behind /dev/p2pmemN.
 */
#ifndef _P2PMEM_DONATION_H
#define _P2PMEM_DONATION_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/p2pmem.h>
#include <linux/rwsem.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "clients.h"
#include "events.h"
#include "pool.h"

struct dentry;
struct p2pmem_backing;
struct p2pmem_stats;

/**
 * struct p2pmem - one donation
 * @dev: the class device. Its reference count is the life of this struct:
 *	open files, regions and the donor each hold one.
 * @cdev: /dev/p2pmemN
 * @inode: what every open file maps, so that one call finds every mapping
 * @d: what the donor said, with @size resolved. Constant.
 * @phys: CPU physical address of the first byte. Constant.
 * @write_combine: how the memory is mapped, see p2pmem_user_prot(). Constant.
 * @io: the kernel's mapping of all of it
 * @backing: where @pages came from
 * @backing_priv: its own
 * @pages: struct page of the first byte, the others follow
 * @debug: its directory in debugfs
 * @stats: what has happened, see stats.h
 * @rule_lock: serialises changes of @level, with what follows from them
 * @gate: read: making a mapping, a fault or a hold. write: setting @dead.
 * @dead: the donor goes, or hasn't come yet: nothing new is made. Written under
 *	@gate.
 * @out: in an outage, see outage.c. Set a little before @gate is taken, cleared
 *	under it. To flush takes no @gate.
 * @failed: the end of an outage has been tried in vain. Only who begins and ends
 *	outages looks at it, whom the donor serialises.
 * @dying: set before @dead, to cut long work under @gate and in attributes short
 * @lock: protects what follows
 * @gone: no page may be looked at any more
 * @pool: which pages are in use
 * @regions: regions that have users
 * @leaving: regions without users, whose pages may still be pinned
 * @reaper: looks at @leaving again
 * @reap_delay: how long until it does
 * @holds: live holds
 * @unsettled: holds whose second callback is still to come
 * @revoking: how many first callbacks are running; who waits looks without @lock
 * @users: who has it open or has regions of it
 * @limit_file: bytes that an open file may take, 0 for any number
 * @limit_user: the same of a user
 * @revoked: woken when a revoke callback has returned
 * @level: which clients may have holds; written under @rule_lock as well
 * @rule_seq: changes of @level so far
 * @clients: who has asked for one
 * @health: what the donor says of itself
 */
struct p2pmem {
	struct device dev;
	struct cdev cdev;
	struct inode *inode;
	struct p2pmem_donation d;
	phys_addr_t phys;
	bool write_combine;
	void __iomem *io;
	const struct p2pmem_backing *backing;
	void *backing_priv;
	struct page *pages;
	struct dentry *debug;
	struct p2pmem_stats __percpu *stats;

	struct mutex rule_lock;	/* changes of the level, one at a time */
	struct rw_semaphore gate;
	bool dead;
	bool out;
	bool failed;
	bool dying;

	struct mutex lock;	/* protects all below */
	bool gone;
	struct p2pmem_pool pool;
	struct list_head regions;
	struct list_head leaving;
	struct delayed_work reaper;
	unsigned long reap_delay;
	struct list_head holds;
	struct list_head unsettled;
	unsigned int revoking;
	struct list_head users;
	u64 limit_file;
	u64 limit_user;
	wait_queue_head_t revoked;
	enum p2pmem_distance level;
	unsigned int rule_seq;
	struct p2pmem_clients clients;
	char health[P2PMEM_HEALTH_MAX];
};

static inline struct p2pmem *p2pmem_of(struct device *dev)
{
	return container_of(dev, struct p2pmem, dev);
}

/* donation.c */
struct p2pmem *p2pmem_donate_with(const struct p2pmem_donation *d,
				  const struct p2pmem_backing *backing);
int p2pmem_enter(struct p2pmem *p);
void p2pmem_leave(struct p2pmem *p);
int p2pmem_persist(struct p2pmem *p, u64 offset, u64 len);

/* main.c */
extern const struct class p2pmem_class;
int p2pmem_devt_get(dev_t *devt);
void p2pmem_devt_put(dev_t devt);
struct inode *p2pmem_inode_new(void);

/* sysfs.c */
extern const struct attribute_group *p2pmem_dev_groups[];
const char *p2pmem_kind_name(enum p2pmem_kind kind);

/* chardev.c */
extern const struct file_operations p2pmem_fops;

/* selftest.c */
#define P2PMEM_PROBES		3
#define P2PMEM_PROBE_SIZE	64
int p2pmem_selftest(const struct p2pmem *p, const u64 *at, const char *verdict);

#endif /* _P2PMEM_DONATION_H */

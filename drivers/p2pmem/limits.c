// SPDX-License-Identifier: GPL-2.0
/*
 * Limits: how much of one donation a file and a user may have.
 *
 * Each opening of the device has an account, and so has each user with an account,
 * who is whoever opened it (the real uid, as the initial user namespace has it;
 * payer() says who that is for one that has many). A region is charged to the
 * account of the file that it came from for as long as its pages are in use, which
 * may be longer than the file is open: so the account lives until the file is
 * closed and its last region destroyed, and its user until the last account has
 * gone. Passing a region on to another user doesn't move the charge. What is
 * charged is pages; a place of a persistent donation that several regions cover is
 * charged to each.
 *
 * Everything here is under p->lock, which is what makes it exact: a region is
 * charged and takes its pages, or gives them back and is uncharged, in one go.
 */
#include <linux/cred.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include "donation.h"
#include "limits.h"

static int limit_set(const char *val, const struct kernel_param *kp)
{
	unsigned long value;
	int ret = kstrtoul(val, 0, &value);

	if (ret)
		return ret;
	/* that would allow nothing at all */
	if (value && value < PAGE_SIZE)
		return -EINVAL;
	return param_set_ulong(val, kp);
}

static const struct kernel_param_ops limit_ops = {
	.set = limit_set,
	.get = param_get_ulong,
};

static ulong limit_file;
module_param_cb(limit_file, &limit_ops, &limit_file, 0644);
MODULE_PARM_DESC(limit_file, "bytes that one open file may take from a donation made from now on (default 0: no limit)");

static ulong limit_user;
module_param_cb(limit_user, &limit_ops, &limit_user, 0644);
MODULE_PARM_DESC(limit_user, "bytes that one user may take from a donation made from now on (default 0: no limit)");

/**
 * struct p2pmem_user - a user of one donation
 * @node: in p->users
 * @uid: whose
 * @accounts: how many lead here
 * @npages: pages in use
 */
struct p2pmem_user {
	struct list_head node;
	kuid_t uid;
	unsigned int accounts;
	unsigned long npages;
};

/**
 * struct p2pmem_account - an opening of the device
 * @user: who opened it
 * @refs: the file while it is open, and each region
 * @npages: pages in use
 */
struct p2pmem_account {
	struct p2pmem_user *user;
	unsigned long refs;
	unsigned long npages;
};

static struct p2pmem_user *user_of(struct p2pmem *p, kuid_t uid)
{
	struct p2pmem_user *u;

	lockdep_assert_held(&p->lock);

	list_for_each_entry(u, &p->users, node)
		if (uid_eq(u->uid, uid))
			return u;
	return NULL;
}

/*
 * An ordinary user who may map a range of uids (/etc/subuid) can be any of them in a
 * user namespace of its own, and keeps its groups there: with a limit for each uid
 * it would have as many. So it is the user who made the outermost such namespace,
 * whatever uid it has inside. In one that root made uids are as root has given them.
 */
static kuid_t payer(const struct cred *cred)
{
	const struct user_namespace *ns;
	kuid_t uid = cred->uid;

	for (ns = cred->user_ns; ns->parent; ns = ns->parent)
		if (!uid_eq(ns->owner, GLOBAL_ROOT_UID))
			uid = ns->owner;
	return uid;
}

/**
 * p2pmem_account_new() - the device is opened
 * @p: the donation, of which the caller keeps a reference while the account is open
 * @cred: who opens it
 *
 * Return: the account, for p2pmem_account_close(); NULL: no memory.
 */
struct p2pmem_account *p2pmem_account_new(struct p2pmem *p,
					  const struct cred *cred)
{
	struct p2pmem_account *a = kzalloc(sizeof(*a), GFP_KERNEL_ACCOUNT);
	struct p2pmem_user *u = kzalloc(sizeof(*u), GFP_KERNEL_ACCOUNT);
	kuid_t uid = payer(cred);

	if (!a || !u) {
		kfree(a);
		kfree(u);
		return NULL;
	}

	mutex_lock(&p->lock);
	a->refs = 1;
	a->user = user_of(p, uid);
	if (!a->user) {
		u->uid = uid;
		list_add(&u->node, &p->users);
		a->user = u;
		u = NULL;
	}
	a->user->accounts++;
	mutex_unlock(&p->lock);
	kfree(u);
	return a;
}

static void put(struct p2pmem *p, struct p2pmem_account *a)
{
	struct p2pmem_user *u = a->user;

	lockdep_assert_held(&p->lock);

	if (--a->refs)
		return;
	WARN_ON_ONCE(a->npages);
	kfree(a);
	if (--u->accounts)
		return;
	WARN_ON_ONCE(u->npages);
	list_del(&u->node);
	kfree(u);
}

/**
 * p2pmem_account_close() - the device is closed
 * @p: the donation
 * @a: the account, which its regions may still have use for
 */
void p2pmem_account_close(struct p2pmem *p, struct p2pmem_account *a)
{
	mutex_lock(&p->lock);
	put(p, a);
	mutex_unlock(&p->lock);
}

static bool fits(u64 limit, unsigned long used, unsigned long npages)
{
	u64 pages = limit >> PAGE_SHIFT;

	return !limit || (used <= pages && npages <= pages - used);
}

static int refuse(struct p2pmem *p, const char *whose, u64 limit,
		  unsigned long used, unsigned long npages)
{
	dev_info_ratelimited(&p->dev,
			     "%s (%d): %llu KiB refused: %s has %llu of the %llu KiB that it may have (%s)\n",
			     current->comm, current->pid,
			     (u64)npages << (PAGE_SHIFT - 10), whose,
			     (u64)used << (PAGE_SHIFT - 10), limit >> 10,
			     *whose == 'f' ? "limit_file" : "limit_user");
	return -EDQUOT;
}

/**
 * p2pmem_charge() - pages are about to be used
 * @p: the donation, locked
 * @a: by whom; NULL: by the kernel, which has no limit
 * @npages: how many
 *
 * Return: 0, and p2pmem_uncharge() is owed; -EDQUOT.
 */
int p2pmem_charge(struct p2pmem *p, struct p2pmem_account *a,
		  unsigned long npages)
{
	lockdep_assert_held(&p->lock);

	if (!a)
		return 0;
	if (!fits(p->limit_file, a->npages, npages))
		return refuse(p, "file", p->limit_file, a->npages, npages);
	if (!fits(p->limit_user, a->user->npages, npages))
		return refuse(p, "user", p->limit_user, a->user->npages, npages);

	a->refs++;
	a->npages += npages;
	a->user->npages += npages;
	return 0;
}

/**
 * p2pmem_uncharge() - pages are used no more
 * @p: the donation, locked
 * @a: as it was charged
 * @npages: as it was charged
 */
void p2pmem_uncharge(struct p2pmem *p, struct p2pmem_account *a,
		     unsigned long npages)
{
	lockdep_assert_held(&p->lock);

	if (!a)
		return;
	a->npages -= npages;
	a->user->npages -= npages;
	put(p, a);
}

/** p2pmem_limits_init() - a donation begins, with the limits of the day */
void p2pmem_limits_init(struct p2pmem *p)
{
	INIT_LIST_HEAD(&p->users);
	p->limit_file = READ_ONCE(limit_file);
	p->limit_user = READ_ONCE(limit_user);
}

static ssize_t show(struct p2pmem *p, const u64 *limit, char *buf)
{
	u64 value;

	mutex_lock(&p->lock);
	value = *limit;
	mutex_unlock(&p->lock);
	return sysfs_emit(buf, "%llu\n", value);
}

/* What is in use already stays: only the next one is refused. */
static ssize_t store(struct p2pmem *p, u64 *limit, const char *buf, size_t len)
{
	u64 value;
	int ret = kstrtou64(buf, 0, &value);

	if (ret)
		return ret;
	/* that would allow nothing at all */
	if (value && value < PAGE_SIZE)
		return -EINVAL;
	mutex_lock(&p->lock);
	*limit = value;
	mutex_unlock(&p->lock);
	return len;
}

static ssize_t limit_file_show(struct device *dev,
			       struct device_attribute *attr, char *buf)
{
	return show(p2pmem_of(dev), &p2pmem_of(dev)->limit_file, buf);
}

static ssize_t limit_file_store(struct device *dev,
				struct device_attribute *attr,
				const char *buf, size_t len)
{
	return store(p2pmem_of(dev), &p2pmem_of(dev)->limit_file, buf, len);
}
static DEVICE_ATTR_RW(limit_file);

static ssize_t limit_user_show(struct device *dev,
			       struct device_attribute *attr, char *buf)
{
	return show(p2pmem_of(dev), &p2pmem_of(dev)->limit_user, buf);
}

static ssize_t limit_user_store(struct device *dev,
				struct device_attribute *attr,
				const char *buf, size_t len)
{
	return store(p2pmem_of(dev), &p2pmem_of(dev)->limit_user, buf, len);
}
static DEVICE_ATTR_RW(limit_user);

static struct attribute *limits_attrs[] = {
	&dev_attr_limit_file.attr,
	&dev_attr_limit_user.attr,
	NULL,
};

/** p2pmem_limits_group - the limits in sysfs */
const struct attribute_group p2pmem_limits_group = {
	.attrs = limits_attrs,
};

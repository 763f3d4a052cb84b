// SPDX-License-Identifier: GPL-2.0
/*
 * p2pmem_taker: a taker of holds that a test program drives.
 *
 * It stands where an RNIC driver stands: it resolves user ranges, touches the
 * memory through the hold, and lets go of it when it is revoked. Whether the
 * core keeps its promises is judged by the program.
 */
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/p2pmem.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/xarray.h>

#include "p2pmem_taker.h"

/**
 * struct taken - one hold
 * @h: the hold
 * @length: bytes
 * @revoke_ms: how long the callback takes
 * @sem: read: touching the memory. write: setting @revoked.
 * @revoked: hands off
 * @put: p2pmem_hold_put() has been returned from: no callback may come
 */
struct taken {
	struct p2pmem_hold *h;
	u64 length;
	unsigned int revoke_ms;
	struct rw_semaphore sem;
	bool revoked;
	bool put;
};

static atomic_t revokes;

static void revoke(void *ctx)
{
	struct taken *t = ctx;

	atomic_inc(&revokes);
	msleep(t->revoke_ms);
	down_write(&t->sem);
	WARN_ON(t->revoked || t->put);
	t->revoked = true;
	up_write(&t->sem);
}

static const struct p2pmem_hold_ops ops = { .revoke = revoke };

static void give_back(struct taken *t)
{
	p2pmem_hold_put(t->h);
	t->put = true;
	kfree(t);
}

static int new(struct xarray *all, struct taker_hold *arg, u32 *id)
{
	struct taken *t = kzalloc(sizeof(*t), GFP_KERNEL);
	int ret;

	if (!t)
		return -ENOMEM;
	init_rwsem(&t->sem);
	t->length = arg->length;
	t->revoke_ms = arg->revoke_ms;
	t->h = p2pmem_hold_user_range(NULL, arg->start, arg->length,
				      arg->writable, &ops, t);
	if (IS_ERR_OR_NULL(t->h)) {
		ret = PTR_ERR_OR_ZERO(t->h);
		kfree(t);
		*id = -1;
		return ret;
	}
	ret = xa_alloc(all, id, t, xa_limit_31b, GFP_KERNEL);
	if (ret)
		give_back(t);
	return ret;
}

static long hold(struct xarray *all, void __user *user)
{
	struct taker_hold arg;
	u32 id;
	int ret;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	ret = new(all, &arg, &id);
	if (ret)
		return ret;
	arg.id = id;
	return copy_to_user(user, &arg, sizeof(arg)) ? -EFAULT : 0;
}

static long copy(struct xarray *all, void __user *user, bool persist)
{
	struct taker_copy arg;
	struct taken *t;
	long ret = 0;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	t = xa_load(all, arg.id);
	if (!t || (!persist && (arg.offset & 7)) || t->length < 8 ||
	    arg.offset > t->length - 8)
		return -EINVAL;

	down_read(&t->sem);
	if (t->revoked)
		ret = -EIO;
	else if (persist)
		ret = p2pmem_hold_persist(t->h, arg.offset, arg.value);
	else if (arg.write)
		writeq(arg.value, p2pmem_hold_addr(t->h) + arg.offset);
	else
		arg.value = readq(p2pmem_hold_addr(t->h) + arg.offset);
	up_read(&t->sem);

	if (!ret && copy_to_user(user, &arg, sizeof(arg)))
		ret = -EFAULT;
	return ret;
}

static long taker_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct xarray *all = file->private_data;
	struct taken *t;

	switch (cmd) {
	case TAKER_HOLD:
		return hold(all, (void __user *)arg);
	case TAKER_PUT:
		t = xa_erase(all, arg);
		if (!t)
			return -EINVAL;
		give_back(t);
		return 0;
	case TAKER_COPY:
	case TAKER_PERSIST:
		return copy(all, (void __user *)arg, cmd == TAKER_PERSIST);
	case TAKER_REVOKES:
		return atomic_read(&revokes);
	}
	return -ENOTTY;
}

static int taker_open(struct inode *inode, struct file *file)
{
	struct xarray *all = kmalloc(sizeof(*all), GFP_KERNEL);

	if (!all)
		return -ENOMEM;
	xa_init_flags(all, XA_FLAGS_ALLOC);
	file->private_data = all;
	return 0;
}

static int taker_release(struct inode *inode, struct file *file)
{
	struct xarray *all = file->private_data;
	struct taken *t;
	unsigned long id;

	xa_for_each(all, id, t)
		give_back(t);
	xa_destroy(all);
	kfree(all);
	return 0;
}

static const struct file_operations taker_fops = {
	.owner		= THIS_MODULE,
	.open		= taker_open,
	.release	= taker_release,
	.unlocked_ioctl	= taker_ioctl,
};

static struct miscdevice taker = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "p2pmem_taker",
	.fops	= &taker_fops,
};
module_misc_device(taker);

MODULE_DESCRIPTION("a taker of p2pmem memory for tests");
MODULE_LICENSE("GPL");

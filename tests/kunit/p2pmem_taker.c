// SPDX-License-Identifier: GPL-2.0
/*
 * p2pmem_taker: a taker of holds that a test program drives.
 *
 * It stands where an RNIC driver stands: it resolves user ranges, touches the
 * memory through the hold, and lets go of it when it is revoked. Whether the
 * core keeps its promises is judged by the program. It also donates, for what no
 * donor does: again and again while one driver is bound.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/p2pmem.h>
#include <linux/pci.h>
#include <linux/rwsem.h>
#include <linux/scatterlist.h>
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
 * @dev: who has it mapped for DMA, a reference; or NULL. @sem
 * @sgt: how
 */
struct taken {
	struct p2pmem_hold *h;
	u64 length;
	unsigned int revoke_ms;
	struct rw_semaphore sem;
	bool revoked;
	bool put;
	struct device *dev;
	struct sg_table sgt;
};

/**
 * struct taker - one open file
 * @all: struct taken by number
 * @client: on whose behalf, a reference; or NULL
 * @found: what TAKER_FIND has found, a reference; or NULL
 * @clients: for whom, references
 * @n: how many they are
 * @given: what TAKER_DONATE has donated, or NULL
 * @pinned: what TAKER_PIN has pinned, or NULL
 *
 * The test program sees to it that nobody uses these while they are changed,
 * and that clients stay registered.
 */
struct taker {
	struct xarray all;
	struct device *client;
	struct p2pmem *found;
	struct device *clients[TAKER_CLIENTS];
	unsigned int n;
	struct p2pmem *given;
	struct page *pinned;
};

static atomic_t revokes;

static void unmap(struct taken *t)
{
	lockdep_assert_held_write(&t->sem);
	if (!t->dev)
		return;
	dma_unmap_sgtable(t->dev, &t->sgt, DMA_BIDIRECTIONAL, 0);
	sg_free_table(&t->sgt);
	put_device(t->dev);
	t->dev = NULL;
}

static void revoke(void *ctx)
{
	struct taken *t = ctx;

	atomic_inc(&revokes);
	msleep(t->revoke_ms);
	down_write(&t->sem);
	WARN_ON(t->revoked || t->put);
	t->revoked = true;
	unmap(t);
	up_write(&t->sem);
}

static const struct p2pmem_hold_ops ops = { .revoke = revoke };

static void give_back(struct taken *t)
{
	down_write(&t->sem);
	unmap(t);
	up_write(&t->sem);
	p2pmem_hold_put(t->h);
	t->put = true;
	kfree(t);
}

static struct p2pmem_hold *get(struct taker *taker, struct taken *t,
			       const struct taker_hold *arg, bool alloc)
{
	if (alloc)
		return p2pmem_alloc(taker->found, taker->clients, taker->n,
				    arg->length, &ops, t);
	return p2pmem_hold_user_range(taker->client, arg->start, arg->length,
				      arg->writable, &ops, t);
}

static int new(struct taker *taker, struct taker_hold *arg, bool alloc, u32 *id)
{
	struct taken *t = kzalloc(sizeof(*t), GFP_KERNEL);
	int ret;

	if (!t)
		return -ENOMEM;
	init_rwsem(&t->sem);
	t->length = arg->length;
	t->revoke_ms = arg->revoke_ms;
	t->h = get(taker, t, arg, alloc);
	if (IS_ERR_OR_NULL(t->h)) {
		ret = PTR_ERR_OR_ZERO(t->h);
		kfree(t);
		*id = -1;
		return ret;
	}
	ret = xa_alloc(&taker->all, id, t, xa_limit_31b, GFP_KERNEL);
	if (ret)
		give_back(t);
	return ret;
}

static long hold(struct taker *taker, void __user *user, bool alloc)
{
	struct taker_hold arg;
	u32 id;
	int ret;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	if (alloc && !taker->found)
		return -EINVAL;
	ret = new(taker, &arg, alloc, &id);
	if (ret)
		return ret;
	arg.id = id;
	return copy_to_user(user, &arg, sizeof(arg)) ? -EFAULT : 0;
}

static int read_sgt(const struct p2pmem_hold *h, u64 length, u64 offset,
		    u64 *value)
{
	struct scatterlist *sg;
	struct sg_table sgt;
	unsigned int i;
	u64 sum = 0;
	int ret;

	ret = p2pmem_hold_sgt(h, &sgt);
	if (ret)
		return ret;
	for_each_sgtable_sg(&sgt, sg, i)
		sum += sg->length;
	if (sum != length || sg_nents(sgt.sgl) != sgt.nents ||
	    sg_pcopy_to_buffer(sgt.sgl, sgt.nents, value, sizeof(*value),
			       offset) != sizeof(*value))
		ret = -EBADE;
	sg_free_table(&sgt);
	return ret;
}

static int touch(const struct taken *t, unsigned int cmd, struct taker_copy *arg)
{
	switch (cmd) {
	case TAKER_PERSIST:
		return p2pmem_hold_persist(t->h, arg->offset, arg->value);
	case TAKER_SGT:
		return read_sgt(t->h, t->length, arg->offset, &arg->value);
	}
	if (arg->write)
		writeq(arg->value, p2pmem_hold_addr(t->h) + arg->offset);
	else
		arg->value = readq(p2pmem_hold_addr(t->h) + arg->offset);
	return 0;
}

static long copy(struct xarray *all, void __user *user, unsigned int cmd)
{
	struct taker_copy arg;
	struct taken *t;
	long ret = 0;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	t = xa_load(all, arg.id);
	if (!t || (cmd != TAKER_PERSIST && (arg.offset & 7)) ||
	    t->length < 8 || arg.offset > t->length - 8)
		return -EINVAL;

	down_read(&t->sem);
	ret = t->revoked ? -EIO : touch(t, cmd, &arg);
	up_read(&t->sem);

	if (!ret && copy_to_user(user, &arg, sizeof(arg)))
		ret = -EFAULT;
	return ret;
}

static long account(struct xarray *all, void __user *user)
{
	struct taker_account arg;
	struct taken *t;
	long ret = 0;
	u64 i;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	t = xa_load(all, arg.id);
	if (!t)
		return -EINVAL;

	down_read(&t->sem);
	if (t->revoked)
		ret = -EIO;
	arg.ns = ktime_get_ns();
	for (i = 0; i < arg.times && !ret; i++)
		p2pmem_hold_account(t->h, arg.in, arg.out);
	arg.ns = ktime_get_ns() - arg.ns;
	up_read(&t->sem);

	if (!ret && copy_to_user(user, &arg, sizeof(arg)))
		ret = -EFAULT;
	return ret;
}

/* as a driver would that hands the hold's memory to its device */
static int map_for(struct taken *t, struct device *dev, struct taker_dma *out)
{
	struct scatterlist *sg;
	unsigned int i;
	int ret;

	lockdep_assert_held_write(&t->sem);
	if (t->revoked)
		return -EIO;
	if (t->dev)
		return -EBUSY;
	ret = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(64));
	if (!ret)
		ret = p2pmem_hold_sgt(t->h, &t->sgt);
	if (ret)
		return ret;
	ret = dma_map_sgtable(dev, &t->sgt, DMA_BIDIRECTIONAL, 0);
	if (ret) {
		sg_free_table(&t->sgt);
		return ret;
	}
	t->dev = get_device(dev);
	out->address = sg_dma_address(t->sgt.sgl);
	out->size = 0;
	for_each_sgtable_dma_sg(&t->sgt, sg, i)
		out->size += sg_dma_len(sg);
	out->entries = t->sgt.nents;
	return 0;
}

static long map_dma(struct taker *taker, void __user *user)
{
	struct taker_dma arg;
	struct taken *t;
	int ret;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	t = xa_load(&taker->all, arg.id);
	if (!t || !taker->client)
		return -EINVAL;
	down_write(&t->sem);
	ret = map_for(t, taker->client, &arg);
	up_write(&t->sem);
	if (ret)
		return ret;
	return copy_to_user(user, &arg, sizeof(arg)) ? -EFAULT : 0;
}

static int name_from_user(char *name, const void __user *user)
{
	if (copy_from_user(name, user, TAKER_NAME))
		return -EFAULT;
	name[TAKER_NAME - 1] = '\0';
	return 0;
}

static struct device *find_client(const char *name)
{
	return bus_find_device_by_name(&pci_bus_type, NULL, name);
}

static long set_client(struct taker *taker, const void __user *user)
{
	struct device *client = NULL;
	char name[TAKER_NAME];

	if (name_from_user(name, user))
		return -EFAULT;
	if (strcmp(name, "-")) {
		client = find_client(name);
		if (!client)
			return -ENODEV;
	}
	put_device(taker->client);
	taker->client = client;
	return 0;
}

static void forget(struct taker *taker)
{
	p2pmem_put(taker->found);
	taker->found = NULL;
	while (taker->n)
		put_device(taker->clients[--taker->n]);
}

static long find(struct taker *taker, void __user *user)
{
	struct taker_find arg;
	unsigned int i;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	if (arg.n > TAKER_CLIENTS)
		return -EINVAL;
	forget(taker);
	for (i = 0; i < arg.n; i++) {
		arg.clients[i][TAKER_NAME - 1] = '\0';
		taker->clients[taker->n++] = find_client(arg.clients[i]);
	}
	taker->found = p2pmem_find(taker->clients, taker->n, arg.size);
	if (!taker->found)
		return -ENODEV;
	strscpy_pad(arg.name, p2pmem_name(taker->found), sizeof(arg.name));
	return copy_to_user(user, &arg, sizeof(arg)) ? -EFAULT : 0;
}

static long health(struct taker *taker, const void __user *user)
{
	char text[TAKER_NAME];

	if (!taker->found)
		return -EINVAL;
	if (name_from_user(text, user))
		return -EFAULT;
	p2pmem_notify_health(taker->found, text);
	return 0;
}

static long withdraw(struct taker *taker)
{
	if (!taker->given)
		return -EINVAL;
	p2pmem_withdraw(taker->given);
	taker->given = NULL;
	return 0;
}

static long donate(struct taker *taker, const void __user *user)
{
	struct p2pmem_donation d = { .owner = THIS_MODULE };
	struct taker_donation arg;
	struct device *dev;
	struct p2pmem *p;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	if (taker->given)
		return -EBUSY;
	arg.pdev[TAKER_NAME - 1] = '\0';
	dev = find_client(arg.pdev);
	if (!dev)
		return -ENODEV;
	d.pdev = to_pci_dev(dev);
	d.bar = arg.bar;
	d.offset = arg.offset;
	d.size = arg.size;
	p = p2pmem_donate(&d);
	put_device(dev);
	if (IS_ERR(p))
		return PTR_ERR(p);
	taker->given = p;
	return 0;
}

static long unpin(struct taker *taker)
{
	if (!taker->pinned)
		return -EINVAL;
	unpin_user_page(taker->pinned);
	taker->pinned = NULL;
	return 0;
}

static long pin(struct taker *taker, const u64 __user *user)
{
	u64 address;
	int ret;

	if (get_user(address, user))
		return -EFAULT;
	if (taker->pinned)
		return -EBUSY;
	ret = pin_user_pages_fast(address, 1, FOLL_WRITE | FOLL_PCI_P2PDMA, &taker->pinned);
	return min(ret, 0);
}

static int set_power(struct pci_dev *pdev, pci_power_t state)
{
	return pdev->pm_cap ? pci_set_power_state(pdev, state) : 0;
}

static int suspend(struct pci_dev *pdev, const struct dev_pm_ops *pm)
{
	int ret = pm->suspend(&pdev->dev);

	if (ret)
		return ret;
	pci_save_state(pdev);
	return set_power(pdev, PCI_D3hot);
}

static int resume(struct pci_dev *pdev, const struct dev_pm_ops *pm)
{
	int ret = set_power(pdev, PCI_D0);

	if (ret)
		return ret;
	pci_restore_state(pdev);
	return pm->resume(&pdev->dev);
}

/* One of all devices: the guest's others had to know how to sleep as well. */
static long sleep(const void __user *user, int (*what)(struct pci_dev *pdev,
						       const struct dev_pm_ops *pm))
{
	char name[TAKER_NAME];
	struct device *dev;
	long ret = -ENODEV;

	if (name_from_user(name, user))
		return -EFAULT;
	dev = find_client(name);
	if (!dev)
		return -ENODEV;
	device_lock(dev);
	if (dev->driver && dev->driver->pm)
		ret = what(to_pci_dev(dev), dev->driver->pm);
	device_unlock(dev);
	put_device(dev);
	return ret;
}

static int value(pci_ers_result_t answer)
{
	return (__force int)answer;
}

static int tell(struct pci_dev *pdev, const struct pci_error_handlers *driver, u32 step)
{
	switch (step) {
	case TAKER_NON_FATAL:
		return value(driver->error_detected(pdev, pci_channel_io_normal));
	case TAKER_FROZEN:
		return value(driver->error_detected(pdev, pci_channel_io_frozen));
	case TAKER_PERM_FAILURE:
		return value(driver->error_detected(pdev, pci_channel_io_perm_failure));
	case TAKER_SLOT_RESET:
		return value(driver->slot_reset(pdev));
	case TAKER_RECOVERED:
		driver->resume(pdev);
		return 0;
	}
	return -EINVAL;
}

static long error(const void __user *user)
{
	const struct pci_error_handlers *driver;
	struct taker_error arg;
	struct device *dev;
	long ret = -EOPNOTSUPP;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	arg.pdev[TAKER_NAME - 1] = '\0';
	dev = find_client(arg.pdev);
	if (!dev)
		return -ENODEV;
	device_lock(dev);
	driver = dev->driver ? to_pci_driver(dev->driver)->err_handler : NULL;
	if (driver && driver->error_detected && driver->slot_reset && driver->resume)
		ret = tell(to_pci_dev(dev), driver, arg.step);
	device_unlock(dev);
	put_device(dev);
	return ret;
}

static long taker_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct taker *taker = file->private_data;
	void __user *user = (void __user *)arg;
	struct taken *t;

	switch (cmd) {
	case TAKER_HOLD:
	case TAKER_ALLOC:
		return hold(taker, user, cmd == TAKER_ALLOC);
	case TAKER_PUT:
		t = xa_erase(&taker->all, arg);
		if (!t)
			return -EINVAL;
		give_back(t);
		return 0;
	case TAKER_COPY:
	case TAKER_PERSIST:
	case TAKER_SGT:
		return copy(&taker->all, user, cmd);
	case TAKER_REVOKES:
		return atomic_read(&revokes);
	case TAKER_CLIENT:
		return set_client(taker, user);
	case TAKER_FIND:
		return find(taker, user);
	case TAKER_ACCOUNT:
		return account(&taker->all, user);
	case TAKER_SUSPEND:
		return sleep(user, suspend);
	case TAKER_RESUME:
		return sleep(user, resume);
	case TAKER_HEALTH:
		return health(taker, user);
	case TAKER_DONATE:
		return donate(taker, user);
	case TAKER_WITHDRAW:
		return withdraw(taker);
	case TAKER_DMA:
		return map_dma(taker, user);
	case TAKER_PIN:
		return pin(taker, user);
	case TAKER_UNPIN:
		return unpin(taker);
	case TAKER_ERROR:
		return error(user);
	}
	return -ENOTTY;
}

static int taker_open(struct inode *inode, struct file *file)
{
	struct taker *taker = kzalloc(sizeof(*taker), GFP_KERNEL);

	if (!taker)
		return -ENOMEM;
	xa_init_flags(&taker->all, XA_FLAGS_ALLOC);
	file->private_data = taker;
	return 0;
}

static int taker_release(struct inode *inode, struct file *file)
{
	struct taker *taker = file->private_data;
	struct taken *t;
	unsigned long id;

	xa_for_each(&taker->all, id, t)
		give_back(t);
	xa_destroy(&taker->all);
	put_device(taker->client);
	forget(taker);
	withdraw(taker);
	unpin(taker);
	kfree(taker);
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

// SPDX-License-Identifier: GPL-2.0
/*
 * p2pmem_importer: a driver that imports dma-bufs, driven by a test program.
 *
 * It stands where a GPU's or an RNIC's driver stands: it attaches to a buffer for
 * a PCI function, pins it, maps it for DMA, and lets go when it is told that the
 * memory goes; or doesn't, if the test wants to see what becomes of that.
 */
#include <linux/dma-buf.h>
#include <linux/dma-fence.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/iosys-map.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/p2pmem.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/version.h>

#include "p2pmem_importer.h"

/**
 * struct import - one attachment
 * @lock: serialises the program's calls
 * @pdev: for whom
 * @buf: what
 * @at: how; NULL as long as there is none
 * @flags: IMPORTER_*
 * @pins: how often it is pinned; reservation lock
 * @sgt: the mapping, or NULL; reservation lock
 * @notified: how often we were told; reservation lock
 * @fence: of DMA that is under way, or NULL; reservation lock
 */
struct import {
	struct mutex lock;	/* see above */
	struct pci_dev *pdev;
	struct dma_buf *buf;
	struct dma_buf_attachment *at;
	u32 flags;
	unsigned int pins;
	struct sg_table *sgt;
	unsigned int notified;
	struct dma_fence *fence;
};

static DEFINE_SPINLOCK(fence_lock);	/* what a fence needs; of all of them */

static const char *fence_name(struct dma_fence *fence)
{
	return "p2pmem_importer";
}

static const struct dma_fence_ops fence_ops = {
	.get_driver_name = fence_name,
	.get_timeline_name = fence_name,
};

static long begin_dma(struct import *i)
{
	struct dma_fence *fence;
	long ret;

	if (i->fence)
		return -EBUSY;
	ret = dma_resv_reserve_fences(i->buf->resv, 1);
	if (ret)
		return ret;
	fence = kzalloc(sizeof(*fence), GFP_KERNEL);
	if (!fence)
		return -ENOMEM;
	dma_fence_init(fence, &fence_ops, &fence_lock, dma_fence_context_alloc(1), 1);
	dma_resv_add_fence(i->buf->resv, fence, DMA_RESV_USAGE_BOOKKEEP);
	i->fence = fence;
	return 0;
}

static long end_dma(struct import *i)
{
	if (!i->fence)
		return -EINVAL;
	dma_fence_signal(i->fence);
	dma_fence_put(i->fence);
	i->fence = NULL;
	return 0;
}

static void unmap(struct import *i)
{
	dma_resv_assert_held(i->buf->resv);
	if (i->sgt)
		dma_buf_unmap_attachment(i->at, i->sgt, DMA_BIDIRECTIONAL);
	i->sgt = NULL;
}

static void move_notify(struct dma_buf_attachment *at)
{
	struct import *i = at->importer_priv;

	i->notified++;
	if (!(i->flags & IMPORTER_DEAF))
		unmap(i);
}

static const struct dma_buf_attach_ops p2p_ops = {
	.allow_peer2peer = true,
	.move_notify = move_notify,
};

static const struct dma_buf_attach_ops no_p2p_ops = {
	.move_notify = move_notify,
};

static struct dma_buf_attachment *attach_buf(struct import *i)
{
	struct device *dev = &i->pdev->dev;

	if (i->flags & IMPORTER_STATIC)
		return dma_buf_attach(i->buf, dev);
	return dma_buf_dynamic_attach(i->buf, dev, i->flags & IMPORTER_NO_P2P ?
				      &no_p2p_ops : &p2p_ops, i);
}

static long attach(struct import *i, const struct importer_attach *arg)
{
	struct dma_buf_attachment *at;
	long ret;

	if (i->at)
		return -EBUSY;
	i->flags = arg->flags;
	i->pdev = pci_get_domain_bus_and_slot(arg->domain, arg->bus, arg->devfn);
	if (!i->pdev)
		return -ENXIO;
	ret = dma_set_mask_and_coherent(&i->pdev->dev, i->flags & IMPORTER_LOW ?
					DMA_BIT_MASK(31) : DMA_BIT_MASK(64));
	if (ret)
		goto put_pdev;
	i->buf = dma_buf_get(arg->fd);
	if (IS_ERR(i->buf)) {
		ret = PTR_ERR(i->buf);
		goto put_pdev;
	}
	at = attach_buf(i);
	if (IS_ERR(at)) {
		ret = PTR_ERR(at);
		goto put_buf;
	}
	i->at = at;
	return 0;

put_buf:
	dma_buf_put(i->buf);
put_pdev:
	pci_dev_put(i->pdev);
	return ret;
}

static void detach(struct import *i)
{
	if (!i->at)
		return;
	dma_resv_lock(i->buf->resv, NULL);
	end_dma(i);
	unmap(i);
	while (i->pins--)
		dma_buf_unpin(i->at);
	dma_resv_unlock(i->buf->resv);
	dma_buf_detach(i->buf, i->at);
	dma_buf_put(i->buf);
	pci_dev_put(i->pdev);
}

static long map(struct import *i, struct importer_map *out)
{
	struct scatterlist *sg;
	struct sg_table *sgt;
	unsigned int n;

	if (i->sgt)
		return -EBUSY;
	sgt = dma_buf_map_attachment(i->at, DMA_BIDIRECTIONAL);
	if (IS_ERR(sgt))
		return PTR_ERR(sgt);
	i->sgt = sgt;
	out->address = sg_dma_address(sgt->sgl);
	for_each_sgtable_dma_sg(sgt, sg, n) {
		out->size += sg_dma_len(sg);
		out->entries++;
		out->pages += !!sg_page(sg);
	}
	return 0;
}

static long pin(struct import *i)
{
	long ret = dma_buf_pin(i->at);

	i->pins += !ret;
	return ret;
}

static long unpin(struct import *i)
{
	if (!i->pins)
		return -EINVAL;
	dma_buf_unpin(i->at);
	i->pins--;
	return 0;
}

static void __iomem *addr_of(const struct dma_buf *buf)
{
	const struct p2pmem_hold *hold = p2pmem_hold_of_dmabuf(buf);

	return hold ? p2pmem_hold_addr(hold) : NULL;
}

/* Pinned for as long as it is looked at, if it isn't already. */
static long look(struct import *i, __u64 *word)
{
	bool pinned = i->pins;
	void __iomem *io;
	long ret;

	if (pinned && i->notified)
		return -ENODEV;
	ret = pinned ? 0 : pin(i);
	if (ret)
		return ret;
	io = addr_of(i->buf);
	if (io)
		*word = readq(io);
	if (!pinned)
		unpin(i);
	return io ? 0 : -EOPNOTSUPP;
}

static long vmap_and_undo(struct import *i)
{
	struct iosys_map m;
	long ret = dma_buf_vmap(i->buf, &m);

	if (!ret)
		dma_buf_vunmap(i->buf, &m);
	return ret;
}

/* What a call has to say goes out when the lock has been dropped: that may fault. */
union answer {
	struct importer_map map;
	__u64 word;
};

static long locked(struct import *i, unsigned int cmd, union answer *answer)
{
	switch (cmd) {
	case IMPORTER_PIN:
		return pin(i);
	case IMPORTER_UNPIN:
		return unpin(i);
	case IMPORTER_UNMAP:
		unmap(i);
		return 0;
	case IMPORTER_NOTIFIED:
		return i->notified;
	case IMPORTER_MAP:
		return map(i, &answer->map);
	case IMPORTER_WORD:
		return look(i, &answer->word);
	case IMPORTER_VMAP:
		return vmap_and_undo(i);
	case IMPORTER_FENCE:
		return begin_dma(i);
	case IMPORTER_SIGNAL:
		return end_dma(i);
	}
	return -ENOTTY;
}

static long cpu_access(struct import *i)
{
	long ret = dma_buf_begin_cpu_access(i->buf, DMA_BIDIRECTIONAL);

	return ret ?: dma_buf_end_cpu_access(i->buf, DMA_BIDIRECTIONAL);
}

static long run(struct import *i, unsigned int cmd, void __user *user)
{
	struct importer_attach arg;
	union answer answer = {};
	long ret;

	if (cmd == IMPORTER_ATTACH)
		return copy_from_user(&arg, user, sizeof(arg)) ? -EFAULT :
								 attach(i, &arg);
	if (!i->at)
		return -EINVAL;
	if (cmd == IMPORTER_CPU_ACCESS)
		return cpu_access(i);
	dma_resv_lock(i->buf->resv, NULL);
	ret = locked(i, cmd, &answer);
	dma_resv_unlock(i->buf->resv);
	if (ret >= 0 && _IOC_DIR(cmd) & _IOC_READ &&
	    copy_to_user(user, &answer, _IOC_SIZE(cmd)))
		return -EFAULT;
	return ret;
}

static long importer_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct import *i = file->private_data;
	long ret;

	mutex_lock(&i->lock);
	ret = run(i, cmd, (void __user *)arg);
	mutex_unlock(&i->lock);
	return ret;
}

static int importer_open(struct inode *inode, struct file *file)
{
	struct import *i = kzalloc(sizeof(*i), GFP_KERNEL);

	if (!i)
		return -ENOMEM;
	mutex_init(&i->lock);
	file->private_data = i;
	return 0;
}

static int importer_release(struct inode *inode, struct file *file)
{
	struct import *i = file->private_data;

	detach(i);
	mutex_destroy(&i->lock);
	kfree(i);
	return 0;
}

static const struct file_operations fops = {
	.owner		= THIS_MODULE,
	.open		= importer_open,
	.release	= importer_release,
	.unlocked_ioctl	= importer_ioctl,
};

static struct miscdevice misc = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "p2pmem_importer",
	.fops	= &fops,
};
module_misc_device(misc);

MODULE_DESCRIPTION("imports dma-bufs, for tests");
MODULE_LICENSE("GPL");
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
MODULE_IMPORT_NS("DMA_BUF");
#else
MODULE_IMPORT_NS(DMA_BUF);
#endif

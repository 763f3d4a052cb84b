// SPDX-License-Identifier: GPL-2.0
/*
 * dma-bufs: a region, or part of it, for drivers that know nothing of p2pmem.
 *
 * A dma-buf has a hold on its region, and each importer one of its own, as the
 * client that it is: so the donor's departure revokes them all, and a stricter level
 * those that it refuses. What that means to who has imported it:
 *
 *  - Who can be told (move_notify) is told, and has stopped using the memory when
 *    that returns and when the fences on the buffer have signalled. Who can't be
 *    told isn't let in: a static importer's attach gives EOPNOTSUPP.
 *  - Who has pinned the buffer was promised that it wouldn't move. The kernel's
 *    contract doesn't say that such an importer reacts to move_notify. So where one
 *    has both a pin and a DMA mapping, the donor waits until one of them has gone,
 *    and the log names whose it is. (srnic has a pin and no DMA mapping, and stops
 *    within move_notify.) A new level doesn't wait for it.
 *  - Nothing can be had of the buffer afterwards: ENODEV, or EPERM for one that the
 *    level refuses. When the donor goes mappings of programs give SIGBUS, as all of
 *    the donation's do: they are mappings of its inode.
 *  - There is no address for the CPU (vmap: EINVAL). The kernel gives one that anybody
 *    has to the next one without asking us, also to who isn't attached and couldn't be
 *    told. Importers that know p2pmem, and copy with the CPU, get theirs from the hold
 *    of their attachment's buffer: p2pmem_hold_of_dmabuf(), p2pmem_hold_addr().
 *
 * Locks: the buffer's reservation lock protects what says so. Its order:
 * mmap_lock, reservation lock, p->gate, p->lock. Holds are taken and put without it.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/p2pmem.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "backing.h"
#include "chardev.h"
#include "dmabuf.h"
#include "hold.h"
#include "outage.h"
#include "region.h"

#define WARN_EVERY	(10 * HZ)
#define LOOK_EVERY	(HZ / 4)

/**
 * struct p2pmem_dmabuf - an exported range
 * @buf: the kernel's part, which owns this struct
 * @r: the region. Used by way of @hold; while there is none, by the exporting call.
 * @hold: keeps @r, and is revoked when the donor goes
 * @offset: first byte within @r. Constant.
 * @revoked: the donor goes, nothing is to be had any more. Set under the
 *	reservation lock.
 * @let_go: woken when an importer has no pin, or no DMA mapping, any more
 */
struct p2pmem_dmabuf {
	struct dma_buf *buf;
	struct p2pmem_region *r;
	struct p2pmem_hold *hold;
	u64 offset;
	bool revoked;
	wait_queue_head_t let_go;
};

/**
 * struct importer - an attachment
 * @at: the kernel's part
 * @hold: a client's; revoked when the donor goes or refuses the client. May not be
 *	there yet while it is being revoked.
 * @revoked: it has been; set under the reservation lock
 * @pins: how many it has; reservation lock
 * @maps: the same of DMA mappings
 */
struct importer {
	struct dma_buf_attachment *at;
	struct p2pmem_hold *hold;
	bool revoked;
	unsigned int pins;
	unsigned int maps;
};

/* What was promised to it stands: the memory doesn't go. */
static bool promised(const struct importer *i)
{
	return READ_ONCE(i->pins) && READ_ONCE(i->maps);
}

static void name_importer(const struct importer *i, const char *what)
{
	struct p2pmem_dmabuf *b = i->at->dmabuf->priv;

	dev_warn(&b->r->p->dev, "%s (%s) still has a dma-buf of %zu KiB pinned and mapped: %s\n",
		 dev_name(i->at->dev), dev_driver_string(i->at->dev),
		 b->buf->size >> 10, what);
}

static void importer_revoke(void *ctx)
{
	struct importer *i = ctx;
	struct dma_buf *buf = i->at->dmabuf;
	struct dma_buf_attachment *at;

	dma_resv_lock(buf->resv, NULL);
	WRITE_ONCE(i->revoked, true);
	/* one that isn't on the list yet has nothing, and gets nothing */
	list_for_each_entry(at, &buf->attachments, node)
		if (at == i->at)
			at->importer_ops->move_notify(at);
	dma_resv_unlock(buf->resv);
	if (promised(i))
		name_importer(i, "that ends when it lets go");
}

/*
 * A new level leaves that to the donor when it goes: whoever writes the level is in an
 * attribute that the donor's departure waits for, and the same is waited for later on.
 */
static void wait_for_fences(const struct p2pmem_dmabuf *b, bool goes)
{
	unsigned long next = jiffies + WARN_EVERY;
	struct p2pmem *p = b->r->p;

	while (goes || !READ_ONCE(p->dying)) {
		if (dma_resv_wait_timeout(b->buf->resv, DMA_RESV_USAGE_BOOKKEEP, false,
					  LOOK_EVERY))
			return;
		if (time_before(jiffies, next))
			continue;
		dev_warn(&p->dev, "DMA into a dma-buf of %zu KiB is still under way: the %s has to wait\n",
			 b->buf->size >> 10, goes ? "donor" : "new level");
		next = jiffies + WARN_EVERY;
	}
}

/*
 * Fences and promises take as long as others want. That fences end is the kernel's
 * own contract.
 */
static void importer_settle(void *ctx, bool goes)
{
	struct importer *i = ctx;
	struct p2pmem_dmabuf *b = i->at->dmabuf->priv;

	wait_for_fences(b, goes);
	if (!goes)
		return;
	while (!wait_event_timeout(b->let_go, !promised(i), WARN_EVERY))
		name_importer(i, "the donor has to wait");
}

static const struct p2pmem_hold_ops importer_ops = {
	.revoke	= importer_revoke,
	.settle	= importer_settle,
};

static int dmabuf_attach(struct dma_buf *buf, struct dma_buf_attachment *at)
{
	struct p2pmem_dmabuf *b = buf->priv;
	struct importer *i;
	int ret;

	if (READ_ONCE(b->revoked))
		return -ENODEV;
	if (!at->importer_ops || !at->peer2peer) {
		dev_info_ratelimited(&b->r->p->dev,
				     "dma-buf refused to %s: its driver %s\n",
				     dev_name(at->dev), at->importer_ops ?
				     "doesn't take memory of other devices" :
				     "can't be told to let go of it");
		return -EOPNOTSUPP;
	}
	i = kzalloc(sizeof(*i), GFP_KERNEL_ACCOUNT);
	if (!i)
		return -ENOMEM;
	i->at = at;
	i->hold = p2pmem_hold_region(b->r, at->dev, b->offset, buf->size,
				     &importer_ops, i);
	if (IS_ERR(i->hold)) {
		ret = PTR_ERR(i->hold);
		kfree(i);
		return ret;
	}
	at->priv = i;
	return 0;
}

static void dmabuf_detach(struct dma_buf *buf, struct dma_buf_attachment *at)
{
	struct importer *i = at->priv;

	/* waits for a callback that is running on it */
	p2pmem_hold_put(i->hold);
	kfree(i);
}

/* May it have more of the buffer? */
static int check_importer(const struct p2pmem_dmabuf *b, const struct importer *i)
{
	dma_resv_assert_held(b->buf->resv);
	if (b->revoked)
		return -ENODEV;
	return i->revoked ? -EPERM : 0;
}

static int dmabuf_pin(struct dma_buf_attachment *at)
{
	struct importer *i = at->priv;
	int ret = check_importer(at->dmabuf->priv, i);

	if (!ret)
		WRITE_ONCE(i->pins, i->pins + 1);
	return ret;
}

/* One pin, or one mapping, less. */
static void drop(struct p2pmem_dmabuf *b, unsigned int *n)
{
	dma_resv_assert_held(b->buf->resv);
	if (WARN_ON(!*n))
		return;
	WRITE_ONCE(*n, *n - 1);
	if (!*n)
		wake_up_all(&b->let_go);
}

static void dmabuf_unpin(struct dma_buf_attachment *at)
{
	struct importer *i = at->priv;

	drop(at->dmabuf->priv, &i->pins);
}

/* What the file may do its importers may, no more. */
static bool mode_allows(const struct dma_buf *buf, enum dma_data_direction dir)
{
	if (dir != DMA_TO_DEVICE && !(buf->file->f_mode & FMODE_WRITE))
		return false;
	return dir == DMA_FROM_DEVICE || buf->file->f_mode & FMODE_READ;
}

/* Room for the whole buffer, in pieces that an entry's length can say. */
static struct sg_table *table_new(u64 size)
{
	struct sg_table *sgt = kzalloc(sizeof(*sgt), GFP_KERNEL);
	int ret;

	if (!sgt)
		return ERR_PTR(-ENOMEM);
	ret = sg_alloc_table(sgt, DIV_ROUND_UP(size, P2PMEM_PIECE), GFP_KERNEL);
	if (ret) {
		kfree(sgt);
		return ERR_PTR(ret);
	}
	return sgt;
}

static void table_free(struct sg_table *sgt)
{
	sg_free_table(sgt);
	kfree(sgt);
}

static struct sg_table *dmabuf_map(struct dma_buf_attachment *at,
				   enum dma_data_direction dir)
{
	struct p2pmem_dmabuf *b = at->dmabuf->priv;
	struct importer *i = at->priv;
	struct p2pmem *p = b->r->p;
	struct sg_table *sgt;
	int ret;

	ret = check_importer(b, i);
	if (ret)
		return ERR_PTR(ret);
	if (!mode_allows(at->dmabuf, dir))
		return ERR_PTR(-EACCES);
	/* a device without DMA, as software RNICs are */
	if (!at->dev->dma_mask)
		return ERR_PTR(-EOPNOTSUPP);
	sgt = table_new(b->buf->size);
	if (IS_ERR(sgt))
		return sgt;
	ret = p->backing->map(p, at->dev, sgt,
			      ((u64)b->r->first << PAGE_SHIFT) + b->offset,
			      b->buf->size, dir);
	if (ret) {
		table_free(sgt);
		return ERR_PTR(ret);
	}
	WRITE_ONCE(i->maps, i->maps + 1);
	return sgt;
}

/* Also of a mapping that outlived the donor: what it undoes is the importer's. */
static void dmabuf_unmap(struct dma_buf_attachment *at, struct sg_table *sgt,
			 enum dma_data_direction dir)
{
	struct p2pmem_dmabuf *b = at->dmabuf->priv;
	struct importer *i = at->priv;

	b->r->p->backing->unmap(at->dev, sgt, dir);
	table_free(sgt);
	drop(b, &i->maps);
}

static int dmabuf_begin_cpu_access(struct dma_buf *buf,
				   enum dma_data_direction dir)
{
	const struct p2pmem_dmabuf *b = buf->priv;

	/* it is never cached */
	return READ_ONCE(b->revoked) ? -ENODEV : 0;
}

static int dmabuf_end_cpu_access(struct dma_buf *buf,
				 enum dma_data_direction dir)
{
	const struct p2pmem_dmabuf *b = buf->priv;

	/* out of this CPU's write-combining buffers, before a device is told */
	wmb();
	return READ_ONCE(b->revoked) ? -ENODEV : 0;
}

static int dmabuf_mmap(struct dma_buf *buf, struct vm_area_struct *vma)
{
	struct p2pmem_dmabuf *b = buf->priv;
	unsigned long npages = buf->size >> PAGE_SHIFT;
	int ret;

	/* it may be another driver's file that is mapped */
	if (vma->vm_flags & VM_MAYWRITE && !(buf->file->f_mode & FMODE_WRITE))
		return -EACCES;
	if (vma->vm_pgoff > npages || vma_pages(vma) > npages - vma->vm_pgoff)
		return -EINVAL;
	ret = p2pmem_region_enter(b->r);
	if (ret)
		return ret;
	ret = p2pmem_map_region(b->r, vma,
				(b->offset >> PAGE_SHIFT) + vma->vm_pgoff);
	p2pmem_leave(b->r->p);
	return ret;
}

static void dmabuf_release(struct dma_buf *buf)
{
	struct p2pmem_dmabuf *b = buf->priv;

	/* waits for a revoke() of it that is running */
	p2pmem_hold_put(b->hold);
	kfree(b);
}

static const struct dma_buf_ops ops = {
	.attach			= dmabuf_attach,
	.detach			= dmabuf_detach,
	.pin			= dmabuf_pin,
	.unpin			= dmabuf_unpin,
	.map_dma_buf		= dmabuf_map,
	.unmap_dma_buf		= dmabuf_unmap,
	.begin_cpu_access	= dmabuf_begin_cpu_access,
	.end_cpu_access		= dmabuf_end_cpu_access,
	.mmap			= dmabuf_mmap,
	.release		= dmabuf_release,
};

/* The donor goes. @b->hold may not be there yet. */
static void revoke(void *ctx)
{
	struct p2pmem_dmabuf *b = ctx;

	dma_resv_lock(b->buf->resv, NULL);
	WRITE_ONCE(b->revoked, true);
	dma_resv_unlock(b->buf->resv);
}

static const struct p2pmem_hold_ops hold_ops = {
	.revoke	= revoke,
};

static struct dma_buf *new(struct p2pmem_region *r, u64 offset, u64 size,
			   fmode_t mode)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct p2pmem_dmabuf *b;

	b = kzalloc(sizeof(*b), GFP_KERNEL_ACCOUNT);
	if (!b)
		return ERR_PTR(-ENOMEM);
	b->r = r;
	b->offset = offset;
	init_waitqueue_head(&b->let_go);

	info.ops = &ops;
	info.size = size;
	info.flags = !(mode & FMODE_WRITE) ? O_RDONLY :
		     mode & FMODE_READ ? O_RDWR : O_WRONLY;
	info.priv = b;
	b->buf = dma_buf_export(&info);
	if (IS_ERR(b->buf)) {
		struct dma_buf *error = b->buf;

		kfree(b);
		return error;
	}
	return b->buf;
}

/**
 * p2pmem_dmabuf_export() - a range of a region as a dma-buf
 * @r: the region, of which the caller is a user
 * @offset: first byte within it, a multiple of the page size
 * @size: bytes, the same
 * @mode: FMODE_READ and FMODE_WRITE
 *
 * Context: process context, may sleep.
 * Return: the dma-buf's file; or -ENOMEM, -ENFILE, -ENODEV when the donor goes.
 */
struct file *p2pmem_dmabuf_export(struct p2pmem_region *r, u64 offset, u64 size,
				  fmode_t mode)
{
	struct dma_buf *buf = new(r, offset, size, mode);
	struct p2pmem_dmabuf *b;
	struct p2pmem_hold *hold;

	if (IS_ERR(buf))
		return ERR_CAST(buf);

	/* nobody has the file yet, so nobody comes in before the hold is there */
	b = buf->priv;
	hold = p2pmem_hold_nobodys(r, offset, size, &hold_ops, b);
	if (IS_ERR(hold)) {
		dma_buf_put(buf);
		return ERR_CAST(hold);
	}
	b->hold = hold;
	buf->file->f_mapping = r->p->inode->i_mapping;
	return buf->file;
}

/**
 * p2pmem_hold_of_dmabuf() - the hold behind a dma-buf
 * @buf: any dma-buf, of which the caller has a reference
 *
 * For an importer that copies with the CPU: p2pmem_hold_addr(), once it is attached
 * and until move_notify has returned; that the file allows what it does is its own
 * care. And p2pmem_hold_account(). The hold is the buffer's, for as long as that is
 * there: not to be put, and nothing else to be asked of it.
 *
 * Context: any.
 * Return: the hold; NULL where the buffer isn't p2pmem memory.
 */
const struct p2pmem_hold *p2pmem_hold_of_dmabuf(const struct dma_buf *buf)
{
	const struct p2pmem_dmabuf *b;

	if (buf->ops != &ops)
		return NULL;
	b = buf->priv;
	return b->hold;
}
EXPORT_SYMBOL_GPL(p2pmem_hold_of_dmabuf);

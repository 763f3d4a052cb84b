// SPDX-License-Identifier: GPL-2.0
/*
 * Memory behind a dma-buf. The device has no DMA (virtual DMA), so the exporter
 * is asked for what the CPU can use: one kernel address for all of it (vmap). A donor's
 * memory has one as well, which p2pmem tells.
 *
 * Such an address alone keeps nothing in place: memory that its exporter can move
 * has to be pinned, which needs an attachment, and with other exporters it is the
 * attachment that pins. So we are attached, though no DMA address is ever asked for.
 *
 * Some exporters take their memory away all the same, because a device has gone or
 * a process has lost its right to it: they say so by move_notify. What they say
 * before we have an address is about places that we don't know.
 */
#include "dmabuf.h"

#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/iosys-map.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <linux/vmalloc.h>

#include "peer.h"

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
MODULE_IMPORT_NS("DMA_BUF");
#else
MODULE_IMPORT_NS(DMA_BUF);
#endif

/**
 * struct srnic_dmabuf - a mapped dma-buf
 * @buf: the exporter's
 * @attach: what keeps the memory in place, and where it may be taken back
 * @mapped: @map is there; under the buffer's lock
 * @vmapped: by the exporter
 * @map: the CPU's addresses of all of it
 * @offset: where our part begins
 * @revoke: whom to tell when the memory is taken back
 * @ctx: what to tell it with
 */
struct srnic_dmabuf {
	struct dma_buf *buf;
	struct dma_buf_attachment *attach;
	bool mapped;
	bool vmapped;
	struct iosys_map map;
	u64 offset;
	void (*revoke)(void *ctx);
	void *ctx;
};

/* The exporter holds the buffer's lock. */
static void move_notify(struct dma_buf_attachment *attach)
{
	struct srnic_dmabuf *buf = attach->importer_priv;

	dma_resv_assert_held(attach->dmabuf->resv);
	if (buf->mapped)
		buf->revoke(buf->ctx);
}

static const struct dma_buf_attach_ops attach_ops = {
	.allow_peer2peer = true,
	.move_notify = move_notify,
};

static int attach(struct srnic_dmabuf *buf, struct device *dev)
{
	/* an exporter that doesn't pin doesn't tell either */
	if (dma_buf_is_dynamic(buf->buf))
		buf->attach = dma_buf_dynamic_attach(buf->buf, dev, &attach_ops,
						     buf);
	else
		buf->attach = dma_buf_attach(buf->buf, dev);
	return PTR_ERR_OR_ZERO(buf->attach);
}

static void unpin(struct srnic_dmabuf *buf)
{
	if (dma_buf_is_dynamic(buf->buf))
		dma_buf_unpin(buf->attach);
}

static struct page *page_at(const struct iosys_map *map, size_t at)
{
	return vmalloc_to_page(map->vaddr + at);
}

/*
 * Is that each page of the buffer? udmabuf of Linux 6.12 maps the first page of a huge
 * one in place of each other (vmap_udmabuf()), and whoever has a few pages of it would
 * get a key for memory that isn't theirs. In a right mapping the first page of a larger
 * one is followed by the second one.
 */
static bool pages_are_right(const struct iosys_map *map, size_t size)
{
	struct page *page;
	size_t at;

	if (map->is_iomem || !is_vmalloc_addr(map->vaddr))
		return true;
	for (at = 0; at < size; at += PAGE_SIZE) {
		page = page_at(map, at);
		if (page && PageHead(page) &&
		    (at + PAGE_SIZE >= size || page_at(map, at + PAGE_SIZE) != page + 1))
			return false;
		cond_resched();
	}
	return true;
}

/* The buffer's lock is held, and the memory in place. */
static int map_locked(struct srnic_dmabuf *buf)
{
	void __iomem *io = srnic_peer_addr_of_dmabuf(buf->buf);
	int err;

	if (io) {
		iosys_map_set_vaddr_iomem(&buf->map, io);
		return 0;
	}
	err = dma_buf_vmap(buf->buf, &buf->map);
	if (err)
		/* no vmap: the exporter has nothing that a CPU could use */
		return err == -EINVAL ? -EOPNOTSUPP : err;
	if (!pages_are_right(&buf->map, buf->buf->size)) {
		dma_buf_vunmap(buf->buf, &buf->map);
		return -EOPNOTSUPP;
	}
	buf->vmapped = true;
	return 0;
}

/* In place, and then where that is. */
static int pin_and_map(struct srnic_dmabuf *buf)
{
	struct dma_resv *resv = buf->buf->resv;
	int err = 0;

	dma_resv_lock(resv, NULL);
	if (dma_buf_is_dynamic(buf->buf))
		err = dma_buf_pin(buf->attach);
	if (err)
		goto unlock;
	err = map_locked(buf);
	if (err)
		unpin(buf);
	else
		buf->mapped = true;
unlock:
	dma_resv_unlock(resv);
	return err;
}

static void unmap_and_unpin(struct srnic_dmabuf *buf)
{
	struct dma_resv *resv = buf->buf->resv;

	dma_resv_lock(resv, NULL);
	buf->mapped = false;
	if (buf->vmapped)
		dma_buf_vunmap(buf->buf, &buf->map);
	unpin(buf);
	dma_resv_unlock(resv);
}

static int map_buffer(struct srnic_dmabuf *buf, struct device *dev)
{
	int err = attach(buf, dev);

	if (err)
		return err;
	err = pin_and_map(buf);
	if (err)
		goto detach;
	err = dma_buf_begin_cpu_access(buf->buf, DMA_BIDIRECTIONAL);
	if (err)
		goto unmap;
	return 0;

unmap:
	unmap_and_unpin(buf);
detach:
	dma_buf_detach(buf->buf, buf->attach);
	return err;
}

/**
 * srnic_dmabuf_get() - use part of a dma-buf
 * @dev: who uses it
 * @fd: file descriptor of the calling program
 * @offset: where the part begins
 * @length: bytes, not 0
 * @revoke: called when the exporter takes the memory back; when it returns, nobody
 *	touches it. From process context, at any time until srnic_dmabuf_put()
 *	returns, which it must not call.
 * @ctx: for @revoke
 *
 * Context: process, the program's.
 * Return: the buffer; ERR_PTR(-EINVAL): it is shorter than that, or no dma-buf;
 * ERR_PTR(-EOPNOTSUPP): the CPU can't use it, or what it would use is other memory
 * (pages_are_right()); others from the exporter.
 */
struct srnic_dmabuf *srnic_dmabuf_get(struct device *dev, int fd, u64 offset,
				      u64 length, void (*revoke)(void *ctx),
				      void *ctx)
{
	struct srnic_dmabuf *buf;
	int err;

	buf = kzalloc(sizeof(*buf), GFP_KERNEL_ACCOUNT);
	if (!buf)
		return ERR_PTR(-ENOMEM);
	buf->offset = offset;
	buf->revoke = revoke;
	buf->ctx = ctx;
	buf->buf = dma_buf_get(fd);
	if (IS_ERR(buf->buf)) {
		err = PTR_ERR(buf->buf);
		goto free;
	}
	if (offset > buf->buf->size || length > buf->buf->size - offset) {
		err = -EINVAL;
		goto put;
	}
	err = map_buffer(buf, dev);
	if (err)
		goto put;
	return buf;

put:
	dma_buf_put(buf->buf);
free:
	kfree(buf);
	return ERR_PTR(err);
}

/**
 * srnic_dmabuf_put() - end of use
 * @buf: buffer whose memory isn't touched any more
 *
 * On return @revoke isn't running and will not be called.
 */
void srnic_dmabuf_put(struct srnic_dmabuf *buf)
{
	dma_buf_end_cpu_access(buf->buf, DMA_BIDIRECTIONAL);
	unmap_and_unpin(buf);
	dma_buf_detach(buf->buf, buf->attach);
	dma_buf_put(buf->buf);
	kfree(buf);
}

/**
 * srnic_dmabuf_addr() - where the memory is
 * @buf: buffer
 * @io: set: it is I/O memory
 *
 * Return: the kernel's address of the first byte of our part; the rest follows.
 */
unsigned long srnic_dmabuf_addr(const struct srnic_dmabuf *buf, bool *io)
{
	*io = buf->map.is_iomem;
	if (*io)
		return (__force unsigned long)buf->map.vaddr_iomem + buf->offset;
	return (unsigned long)buf->map.vaddr + buf->offset;
}

/**
 * srnic_dmabuf_peer() - the donor whose memory it is
 * @buf: buffer, which is there for as long as the answer
 *
 * Return: as srnic_peer_of_dmabuf().
 */
struct srnic_peer *srnic_dmabuf_peer(const struct srnic_dmabuf *buf)
{
	return srnic_peer_of_dmabuf(buf->buf);
}

/**
 * srnic_dmabuf_readable() - may it be read?
 * @buf: buffer
 *
 * Return: whether the file that the program has of it allows that.
 */
bool srnic_dmabuf_readable(const struct srnic_dmabuf *buf)
{
	return buf->buf->file->f_mode & FMODE_READ;
}

/**
 * srnic_dmabuf_writable() - may it be written?
 * @buf: buffer
 *
 * Return: whether the file that the program has of it allows that.
 */
bool srnic_dmabuf_writable(const struct srnic_dmabuf *buf)
{
	return buf->buf->file->f_mode & FMODE_WRITE;
}

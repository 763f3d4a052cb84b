// SPDX-License-Identifier: GPL-2.0
#include "dmabuf_exporter.h"

#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/iosys-map.h>
#include <linux/math.h>
#include <linux/module.h>

/* Done, or refused. */
static int step(struct exporter *x, enum exporter_step which)
{
	if (!x->err[which])
		x->held[which]++;
	return x->err[which];
}

static int attach(struct dma_buf *buf, struct dma_buf_attachment *a)
{
	return step(buf->priv, EXPORTER_ATTACH);
}

static void detach(struct dma_buf *buf, struct dma_buf_attachment *a)
{
	struct exporter *x = buf->priv;

	x->held[EXPORTER_ATTACH]--;
}

static int pin(struct dma_buf_attachment *a)
{
	return step(a->dmabuf->priv, EXPORTER_PIN);
}

static void unpin(struct dma_buf_attachment *a)
{
	struct exporter *x = a->dmabuf->priv;

	x->held[EXPORTER_PIN]--;
}

static int vmap(struct dma_buf *buf, struct iosys_map *map)
{
	struct exporter *x = buf->priv;
	int err = step(x, EXPORTER_VMAP);

	if (!err)
		iosys_map_set_vaddr(map, x->mem);
	return err;
}

static void vunmap(struct dma_buf *buf, struct iosys_map *map)
{
	struct exporter *x = buf->priv;

	x->held[EXPORTER_VMAP]--;
}

static int begin(struct dma_buf *buf, enum dma_data_direction dir)
{
	return step(buf->priv, EXPORTER_CPU_ACCESS);
}

static int end(struct dma_buf *buf, enum dma_data_direction dir)
{
	struct exporter *x = buf->priv;

	x->held[EXPORTER_CPU_ACCESS]--;
	return 0;
}

/* There is no device that does DMA. */
static struct sg_table *map(struct dma_buf_attachment *a,
			    enum dma_data_direction dir)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static void unmap(struct dma_buf_attachment *a, struct sg_table *sgt,
		  enum dma_data_direction dir)
{
}

static void release(struct dma_buf *buf)
{
	struct exporter *x = buf->priv;

	complete(&x->released);
}

static const struct dma_buf_ops ops = {
	.attach = attach,
	.detach = detach,
	.pin = pin,
	.unpin = unpin,
	.vmap = vmap,
	.vunmap = vunmap,
	.begin_cpu_access = begin,
	.end_cpu_access = end,
	.map_dma_buf = map,
	.unmap_dma_buf = unmap,
	.release = release,
};

/* The CPU can't see the memory: all but vmap. */
static const struct dma_buf_ops ops_hidden = {
	.attach = attach,
	.detach = detach,
	.pin = pin,
	.unpin = unpin,
	.map_dma_buf = map,
	.unmap_dma_buf = unmap,
	.release = release,
};

static struct exporter *new_exporter(struct kunit *test, size_t size,
				     const struct dma_buf_ops *how)
{
	struct exporter *x = kunit_kzalloc(test, sizeof(*x), GFP_KERNEL);
	DEFINE_DMA_BUF_EXPORT_INFO(info);

	KUNIT_ASSERT_NOT_NULL(test, x);
	x->size = size;
	x->mem = kunit_kzalloc(test, size, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, x->mem);
	init_completion(&x->released);
	info.ops = how;
	info.size = size;
	info.flags = O_RDWR;
	info.priv = x;
	x->buf = dma_buf_export(&info);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, x->buf);
	x->fd = dma_buf_fd(x->buf, O_CLOEXEC);
	KUNIT_ASSERT_GE(test, x->fd, 0);
	return x;
}

struct exporter *exporter_new(struct kunit *test, size_t size)
{
	return new_exporter(test, size, &ops);
}

struct exporter *exporter_new_hidden(struct kunit *test, size_t size)
{
	return new_exporter(test, size, &ops_hidden);
}

void exporter_revoke(struct exporter *x)
{
	dma_resv_lock(x->buf->resv, NULL);
	dma_buf_move_notify(x->buf);
	dma_resv_unlock(x->buf->resv);
}

int exporter_holds(const struct exporter *x)
{
	int i, n = 0;

	for (i = 0; i < EXPORTER_STEPS; i++)
		n += abs(x->held[i]);
	return n;
}

void exporter_end(struct kunit *test, struct exporter *x)
{
	KUNIT_EXPECT_EQ(test, exporter_holds(x), 0);
	KUNIT_EXPECT_EQ(test, close_fd(x->fd), 0);
	/* the last reference of a kernel thread is given up by a worker */
	flush_delayed_fput();
	KUNIT_EXPECT_GT(test, wait_for_completion_timeout(&x->released, 60 * HZ), 0);
}

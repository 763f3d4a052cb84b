/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory behind a dma-buf, seen by the CPU. dmabuf.c is the only file that knows
 * dma-bufs.
 */
#ifndef SRNIC_DMABUF_H
#define SRNIC_DMABUF_H

#include <linux/types.h>

struct device;
struct srnic_dmabuf;
struct srnic_peer;

struct srnic_dmabuf *srnic_dmabuf_get(struct device *dev, int fd, u64 offset,
				      u64 length, void (*revoke)(void *ctx),
				      void *ctx);
void srnic_dmabuf_put(struct srnic_dmabuf *buf);
/* Where the byte at offset is; for length bytes. */
unsigned long srnic_dmabuf_addr(const struct srnic_dmabuf *buf, bool *io);
/* Its donor, for the figures; NULL: it has none. To be put before the buffer. */
struct srnic_peer *srnic_dmabuf_peer(const struct srnic_dmabuf *buf);
/* May it be written? */
bool srnic_dmabuf_readable(const struct srnic_dmabuf *buf);
bool srnic_dmabuf_writable(const struct srnic_dmabuf *buf);

#endif /* SRNIC_DMABUF_H */

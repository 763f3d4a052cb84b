/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that isn't RAM: ranges of /dev/p2pmemN in a program's address space.
 * peer.c is the only file that knows p2pmem; peer_none.c stands in where p2pmem
 * can't exist (ARCH=um).
 */
#ifndef SRNIC_PEER_H
#define SRNIC_PEER_H

#include <linux/compiler_types.h>
#include <linux/types.h>

struct device;
struct dma_buf;
struct page;
struct srnic_peer;

/* NULL: the range is no peer memory; ERR_PTR: it is, and can't be had. */
struct srnic_peer *srnic_peer_get(struct device *client, unsigned long start,
				  size_t length, bool writable,
				  void (*revoke)(void *ctx), void *ctx);
/* The same of a dma-buf; only for srnic_peer_account(). */
struct srnic_peer *srnic_peer_of_dmabuf(const struct dma_buf *buf);
/* Where its memory is, if it is a donor's: as long as the caller is attached. */
void __iomem *srnic_peer_addr_of_dmabuf(const struct dma_buf *buf);
void srnic_peer_put(struct srnic_peer *peer);
void __iomem *srnic_peer_addr(const struct srnic_peer *peer);
/* For the donor's figures: bytes written into its memory, bytes read from it. */
void srnic_peer_account(const struct srnic_peer *peer, u64 in, u64 out);
/* Is this page peer memory? */
bool srnic_peer_has_page(const struct page *page);

#endif /* SRNIC_PEER_H */

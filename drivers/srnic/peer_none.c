// SPDX-License-Identifier: GPL-2.0
/*
 * No peer memory: for builds without p2pmem (ARCH=um).
 */
#include "peer.h"

struct srnic_peer *srnic_peer_get(struct device *client, unsigned long start,
				  size_t length, bool writable,
				  void (*revoke)(void *ctx), void *ctx)
{
	return NULL;
}

struct srnic_peer *srnic_peer_of_dmabuf(const struct dma_buf *buf)
{
	return NULL;
}

void __iomem *srnic_peer_addr_of_dmabuf(const struct dma_buf *buf)
{
	return NULL;
}

void srnic_peer_put(struct srnic_peer *peer)
{
}

void __iomem *srnic_peer_addr(const struct srnic_peer *peer)
{
	return NULL;
}

void srnic_peer_account(const struct srnic_peer *peer, u64 in, u64 out)
{
}

bool srnic_peer_has_page(const struct page *page)
{
	return false;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of donors, by way of p2pmem: a hold on a range, which keeps it ours
 * when the program unmaps it, and which the donor can take back. Where it comes as
 * a dma-buf that is the buffer's business, and its hold is there to be told what
 * has been copied.
 */
#include "peer.h"

#include <linux/err.h>
#include <linux/p2pmem.h>
#include <linux/slab.h>

/**
 * struct srnic_peer - a range of a donor's memory
 * @hold: p2pmem's part; NULL: it is the dma-buf's
 * @told: whose figures they are: @hold, or the dma-buf's
 * @revoke: whom to tell when the donor goes
 * @ctx: what to tell it with
 */
struct srnic_peer {
	struct p2pmem_hold *hold;
	const struct p2pmem_hold *told;
	void (*revoke)(void *ctx);
	void *ctx;
};

/* May come before p2pmem_hold_user_range() has returned: @hold isn't used. */
static void peer_revoke(void *ctx)
{
	struct srnic_peer *peer = ctx;

	peer->revoke(peer->ctx);
}

static const struct p2pmem_hold_ops peer_ops = {
	.revoke = peer_revoke,
};

/**
 * srnic_peer_get() - a hold on memory of a donor, if that is what it is
 * @client: device on whose behalf it is used, registered
 * @start: address in the calling program
 * @length: bytes, not 0
 * @writable: it will be written
 * @revoke: called when the donor goes; when it returns, nobody touches the
 *	memory. From process context, once at the most, at any time until
 *	srnic_peer_put() returns, which it must not call.
 * @ctx: for @revoke
 *
 * Return: the hold; NULL: the range has no memory of a donor in it; an ERR_PTR:
 * it has, and can't be had (-EPERM: the donor's rules refuse @client, and the log
 * says why; partly other memory; protection; ...).
 */
struct srnic_peer *srnic_peer_get(struct device *client, unsigned long start,
				  size_t length, bool writable,
				  void (*revoke)(void *ctx), void *ctx)
{
	struct srnic_peer *peer;
	struct p2pmem_hold *hold;

	peer = kzalloc(sizeof(*peer), GFP_KERNEL_ACCOUNT);
	if (!peer)
		return ERR_PTR(-ENOMEM);
	peer->revoke = revoke;
	peer->ctx = ctx;
	hold = p2pmem_hold_user_range(client, start, length, writable,
				      &peer_ops, peer);
	if (IS_ERR_OR_NULL(hold)) {
		kfree(peer);
		return ERR_CAST(hold);
	}
	peer->hold = hold;
	peer->told = hold;
	return peer;
}

/**
 * srnic_peer_of_dmabuf() - a dma-buf's memory, if it is a donor's
 * @buf: dma-buf, which stays until srnic_peer_put()
 *
 * Return: for srnic_peer_account(), and for nothing else; NULL: it is no memory of
 * a donor; ERR_PTR(-ENOMEM).
 */
struct srnic_peer *srnic_peer_of_dmabuf(const struct dma_buf *buf)
{
	const struct p2pmem_hold *hold = p2pmem_hold_of_dmabuf(buf);
	struct srnic_peer *peer;

	if (!hold)
		return NULL;
	peer = kzalloc(sizeof(*peer), GFP_KERNEL_ACCOUNT);
	if (!peer)
		return ERR_PTR(-ENOMEM);
	peer->told = hold;
	return peer;
}

/**
 * srnic_peer_addr_of_dmabuf() - where a dma-buf's memory is, if it is a donor's
 * @buf: dma-buf; the caller is attached to it, has it pinned and holds its lock
 *
 * Return: its kernel address, until move_notify has returned; NULL: it is no memory of
 * a donor.
 */
void __iomem *srnic_peer_addr_of_dmabuf(const struct dma_buf *buf)
{
	const struct p2pmem_hold *hold = p2pmem_hold_of_dmabuf(buf);

	return hold ? p2pmem_hold_addr(hold) : NULL;
}

/**
 * srnic_peer_put() - give a hold back
 * @peer: hold; the memory isn't touched any more
 *
 * On return the revoke callback isn't running and will not be called.
 */
void srnic_peer_put(struct srnic_peer *peer)
{
	p2pmem_hold_put(peer->hold);
	kfree(peer);
}

/**
 * srnic_peer_addr() - where the memory is
 * @peer: hold
 *
 * Return: its kernel address, contiguous for the whole range.
 */
void __iomem *srnic_peer_addr(const struct srnic_peer *peer)
{
	return p2pmem_hold_addr(peer->hold);
}

/**
 * srnic_peer_account() - for the donor's figures
 * @peer: hold, not revoked
 * @in: bytes that were written into the memory
 * @out: bytes that were read from it
 *
 * Context: any.
 */
void srnic_peer_account(const struct srnic_peer *peer, u64 in, u64 out)
{
	p2pmem_hold_account(peer->told, in, out);
}

/**
 * srnic_peer_has_page() - is this page memory of a donor?
 * @page: page that the caller has a reference on
 *
 * Return: true if it is.
 */
bool srnic_peer_has_page(const struct page *page)
{
	return p2pmem_has_page(page);
}

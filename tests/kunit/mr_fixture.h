/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the suites of regions and windows share: a table, a program's memory, and a
 * stand-in for peer.c.
 */
#ifndef MR_FIXTURE_H
#define MR_FIXTURE_H

#include <kunit/test.h>
#include <rdma/ib_verbs.h>

#include "../../drivers/srnic/mw.h"
#include "../../drivers/srnic/mr.h"

#define PDN	5
#define PAGES	6
#define IOVA	0x123456789ull
#define RW	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |	\
		 IB_ACCESS_REMOTE_READ)

/*
 * The stand-in for peer.c: what the next srnic_peer_get() shall do, and what
 * has been seen.
 */
struct srnic_peer {
	void (*revoke)(void *ctx);
	void *ctx;
};

struct fake_peer {
	bool claim;		/* the range is a donor's */
	int err;		/* and can't be had */
	bool revoke_at_once;	/* the donor goes before get returns */
	int foreign;		/* which page looked at is a donor's, from 1 */
	bool writable;		/* what was asked for */
	int gets;
	int puts;
	int held;		/* what was given and is not put */
	int looks;
	int last;		/* of @peer, the one that was given last */
	void *memory;		/* or FAKE_ADDR */
	u64 in;			/* what was accounted */
	u64 out;
	struct srnic_peer peer[4];
};

extern struct fake_peer fake;

/* Nothing is behind it: only its address is looked at. */
#define FAKE_ADDR	((void __iomem *)0xdead000)

/**
 * struct fixture - a table, a device without a DMA device, a program's memory
 * @mpt: the table
 * @mws: windows with keys in it
 * @ibdev: says that addresses are kernel addresses (virtual DMA), no more
 * @user: start of PAGES pages, or 0
 * @shadow: what should stand there
 */
struct fixture {
	struct srnic_mpt *mpt;
	struct srnic_mws mws;
	struct ib_device *ibdev;
	unsigned long user;
	u8 shadow[PAGES * PAGE_SIZE];
};

/* prot: PROT_*, 0: no memory */
struct fixture *new_fixture(struct kunit *test, unsigned long prot);
void end_fixture(struct kunit *test, struct fixture *f);

/* len bytes at off of the memory, for requests at IOVA */
struct srnic_mr *reg(struct fixture *f, u64 off, u64 len, int access);

/* As a peer would, for PD pdn and QP qpn; addr is no offset. */
enum srnic_key_reason get_as(struct fixture *f, u32 pdn, u32 qpn, u32 key,
			     u64 addr, u64 len, void *dst);
enum srnic_key_reason put_as(struct fixture *f, u32 pdn, u32 qpn, u32 key,
			     u64 addr, u64 len, void *src);

static inline enum srnic_key_reason get(struct fixture *f, u32 key, u64 off,
					u64 len, void *dst)
{
	return get_as(f, PDN, 0, key, IOVA + off, len, dst);
}

static inline enum srnic_key_reason put(struct fixture *f, u32 key, u64 off,
					u64 len, void *src)
{
	return put_as(f, PDN, 0, key, IOVA + off, len, src);
}

#endif /* MR_FIXTURE_H */

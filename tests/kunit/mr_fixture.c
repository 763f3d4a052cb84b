// SPDX-License-Identifier: GPL-2.0
#include "mr_fixture.h"

#include <linux/bottom_half.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/uaccess.h>

#include "../../drivers/srnic/access.h"
#include "../../drivers/srnic/peer.h"
#include "mr_moment.h"
#include "rng.h"

struct fake_peer fake;
struct mr_moment mr_moment;

struct srnic_peer *srnic_peer_get(struct device *client, unsigned long start,
				  size_t length, bool writable,
				  void (*revoke)(void *ctx), void *ctx)
{
	struct srnic_peer *peer;

	fake.gets++;
	fake.writable = writable;
	if (!fake.claim)
		return NULL;
	if (fake.err)
		return ERR_PTR(fake.err);
	fake.last = (fake.last + 1) % ARRAY_SIZE(fake.peer);
	peer = &fake.peer[fake.last];
	peer->revoke = revoke;
	peer->ctx = ctx;
	fake.held++;
	if (fake.revoke_at_once)
		revoke(ctx);
	return peer;
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
	fake.puts++;
	fake.held--;
}

void __iomem *srnic_peer_addr(const struct srnic_peer *peer)
{
	return fake.memory ? (void __iomem *)fake.memory : FAKE_ADDR;
}

void srnic_peer_account(const struct srnic_peer *peer, u64 in, u64 out)
{
	fake.in += in;
	fake.out += out;
}

bool srnic_peer_has_page(const struct page *page)
{
	return ++fake.looks == fake.foreign;
}

struct fixture *new_fixture(struct kunit *test, unsigned long prot)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	struct rnd_state rng;

	KUNIT_ASSERT_NOT_NULL(test, f);
	memset(&fake, 0, sizeof(fake));
	memset(&mr_moment, 0, sizeof(mr_moment));
	f->ibdev = kunit_kzalloc(test, sizeof(*f->ibdev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f->ibdev);
	f->mpt = srnic_mpt_create(8);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, f->mpt);
	srnic_mws_init(&f->mws, f->ibdev, f->mpt, false);
	if (!prot)
		return f;
	f->user = kunit_vm_mmap(test, NULL, 0, sizeof(f->shadow), prot,
				MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_FALSE(test, f->user == 0 || f->user >= TASK_SIZE);
	if (!(prot & PROT_WRITE))
		return f;
	prandom_seed_state(&rng, 13);
	prandom_bytes_state(&rng, f->shadow, sizeof(f->shadow));
	KUNIT_ASSERT_EQ(test, copy_to_user((void __user *)f->user, f->shadow,
					   sizeof(f->shadow)), 0);
	return f;
}

void end_fixture(struct kunit *test, struct fixture *f)
{
	memset(&mr_moment, 0, sizeof(mr_moment));
	KUNIT_EXPECT_EQ(test, srnic_mpt_live(f->mpt), 0);
	srnic_mws_exit(&f->mws);
	srnic_mpt_destroy(f->mpt);
}

struct srnic_mr *reg(struct fixture *f, u64 off, u64 len, int access)
{
	return srnic_mr_reg_user(f->mpt, f->ibdev, PDN, NULL, f->user + off, len,
				 IOVA, access);
}

enum srnic_key_reason get_as(struct fixture *f, u32 pdn, u32 qpn, u32 key,
			     u64 addr, u64 len, void *dst)
{
	struct srnic_mpt_req rq = {
		.key = key, .pdn = pdn, .qpn = qpn,
		.access = IB_ACCESS_REMOTE_READ, .addr = addr, .len = len,
	};
	enum srnic_key_reason why;

	local_bh_disable();
	why = srnic_access_get(f->mpt, &rq, dst);
	local_bh_enable();
	return why;
}

enum srnic_key_reason put_as(struct fixture *f, u32 pdn, u32 qpn, u32 key,
			     u64 addr, u64 len, void *p)
{
	struct srnic_mpt_req rq = {
		.key = key, .pdn = pdn, .qpn = qpn,
		.access = IB_ACCESS_REMOTE_WRITE, .addr = addr, .len = len,
	};
	struct kvec seg = { p, len };
	struct srnic_cursor src = { .seg = &seg };
	enum srnic_key_reason why;

	local_bh_disable();
	why = srnic_access_put(f->mpt, &rq, len, &src);
	local_bh_enable();
	return why;
}

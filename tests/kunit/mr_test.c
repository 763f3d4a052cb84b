// SPDX-License-Identifier: GPL-2.0
/*
 * Registrations: of a program's memory, of a donor's (a stand-in for peer.c),
 * of the kernel's; what is refused, and that nothing stays behind.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/uaccess.h>

#include "../../drivers/srnic/access.h"
#include "../../drivers/srnic/mtt.h"
#include "mr_fixture.h"
#include "rng.h"

/* Any start, any length, an IOVA of another page offset. */
static void mr_user_memory(struct kunit *test)
{
	struct fixture *f = new_fixture(test, PROT_READ | PROT_WRITE);
	u8 *buf = kunit_kmalloc(test, sizeof(f->shadow), GFP_KERNEL);
	struct rnd_state rng;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	prandom_seed_state(&rng, 14);
	for (i = 0; i < 60; i++) {
		u32 off = rng_below(&rng, sizeof(f->shadow));
		u32 len = 1 + rng_below(&rng, sizeof(f->shadow) - off);
		u32 at = rng_below(&rng, len);
		u32 n = rng_below(&rng, len - at + 1);
		struct srnic_mr *mr = reg(f, off, len, RW);

		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
		KUNIT_EXPECT_EQ(test, mr->ibmr.lkey, mr->ibmr.rkey);
		KUNIT_EXPECT_EQ(test, mr->ibmr.length, len);
		KUNIT_EXPECT_EQ(test, get(f, mr->ibmr.rkey, at, n, buf),
				SRNIC_KEY_OK);
		KUNIT_EXPECT_MEMEQ(test, buf, f->shadow + off + at, n);
		prandom_bytes_state(&rng, buf, n);
		KUNIT_EXPECT_EQ(test, put(f, mr->ibmr.rkey, at, n, buf),
				SRNIC_KEY_OK);
		memcpy(f->shadow + off + at, buf, n);
		KUNIT_EXPECT_EQ(test, get(f, mr->ibmr.rkey, 0, len + 1, buf),
				SRNIC_KEY_BOUNDS);
		srnic_mr_destroy(mr);
	}
	KUNIT_ASSERT_EQ(test, copy_from_user(buf, (void __user *)f->user,
					     sizeof(f->shadow)), 0);
	KUNIT_EXPECT_MEMEQ(test, buf, f->shadow, sizeof(f->shadow));
	end_fixture(test, f);
}

static void mr_outlives_mapping(struct kunit *test)
{
	struct fixture *f = new_fixture(test, PROT_READ | PROT_WRITE);
	struct srnic_mr *mr = reg(f, 0, sizeof(f->shadow), RW);
	u8 *buf = kunit_kmalloc(test, sizeof(f->shadow), GFP_KERNEL);
	u32 key;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	key = mr->ibmr.rkey;
	KUNIT_ASSERT_EQ(test, vm_munmap(f->user, sizeof(f->shadow)), 0);
	KUNIT_EXPECT_EQ(test, get(f, key, 0, sizeof(f->shadow), buf), SRNIC_KEY_OK);
	KUNIT_EXPECT_MEMEQ(test, buf, f->shadow, sizeof(f->shadow));
	srnic_mr_destroy(mr);
	KUNIT_EXPECT_EQ(test, get(f, key, 0, 1, buf), SRNIC_KEY_STALE);
	/* and now there is nothing there to register */
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(reg(f, 0, 1, 0)), -EFAULT);
	end_fixture(test, f);
}

static void mr_read_only(struct kunit *test)
{
	struct fixture *f = new_fixture(test, PROT_READ);
	struct srnic_mr *mr;
	u8 byte = 1;

	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(reg(f, 0, 1, RW)), -EFAULT);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(reg(f, 0, 1, IB_ACCESS_LOCAL_WRITE)),
			-EFAULT);
	mr = reg(f, 0, PAGE_SIZE, IB_ACCESS_REMOTE_READ);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_EXPECT_EQ(test, get(f, mr->ibmr.rkey, 9, 1, &byte), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, byte, 0);
	KUNIT_EXPECT_EQ(test, put(f, mr->ibmr.rkey, 9, 1, &byte),
			SRNIC_KEY_ACCESS);
	srnic_mr_destroy(mr);
	end_fixture(test, f);
}

static void mr_arguments(struct kunit *test)
{
	struct fixture *f = new_fixture(test, PROT_READ | PROT_WRITE);
	const struct {
		u64 start;
		u64 len;
		u64 iova;
		int access;
		int err;
	} rows[] = {
		{ f->user, 1, 0, IB_ACCESS_REMOTE_WRITE, -EINVAL },
		{ f->user, 1, 0, IB_ACCESS_REMOTE_ATOMIC, -EINVAL },
		{ f->user, 1, 0, IB_ACCESS_ON_DEMAND, -EOPNOTSUPP },
		{ f->user, 1, 0, IB_ACCESS_FLUSH_GLOBAL, -EOPNOTSUPP },
		{ f->user, 1, 0, INT_MIN, -EOPNOTSUPP },
		{ f->user, 2, U64_MAX, 0, -EINVAL },
		{ f->user, U64_MAX, 0, 0, -EINVAL },
		{ f->user, U64_MAX - f->user, 0, 0, -EINVAL },
		{ U64_MAX, 1, 0, 0, -EINVAL },
		{ U64_MAX - 10, 20, 0, 0, -EINVAL },
		{ 0, 1, 0, 0, -EFAULT },
		{ f->user, 1, U64_MAX, 0, 0 },
		{ f->user, 1, 0, IB_ACCESS_RELAXED_ORDERING, 0 },
		{ f->user, 1, 0, IB_ACCESS_HUGETLB, 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct srnic_mr *mr = srnic_mr_reg_user(f->mpt, f->ibdev, PDN,
							NULL, rows[i].start,
							rows[i].len, rows[i].iova,
							rows[i].access);

		KUNIT_EXPECT_EQ_MSG(test, PTR_ERR_OR_ZERO(mr), rows[i].err,
				    "row %zu", i);
		if (!IS_ERR(mr))
			srnic_mr_destroy(mr);
		KUNIT_EXPECT_EQ_MSG(test, srnic_mpt_live(f->mpt), 0, "row %zu", i);
	}
	end_fixture(test, f);
}

/* What the device says (max_mr_size), of a donor's memory: one run. */
static void mr_largest(struct kunit *test)
{
	struct fixture *f = new_fixture(test, PROT_READ | PROT_WRITE);
	struct srnic_mr *mr;
	u8 byte;

	fake.claim = true;
	mr = reg(f, 0, SRNIC_MAX_MR_SIZE, RW);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_EXPECT_TRUE(test, mr->ibmr.length == SRNIC_MAX_MR_SIZE);
	KUNIT_EXPECT_EQ(test, get(f, mr->ibmr.rkey, SRNIC_MAX_MR_SIZE, 1, &byte),
			SRNIC_KEY_BOUNDS);
	KUNIT_EXPECT_EQ(test, srnic_mr_destroy(mr), 0);
	mr = reg(f, 0, SRNIC_MAX_MR_SIZE + 1, RW);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(mr), -EINVAL);
	/* of RAM there is less: it isn't the size that is wrong */
	fake.claim = false;
	mr = reg(f, 0, SRNIC_MAX_MR_SIZE, RW);
	KUNIT_EXPECT_TRUE(test, PTR_ERR_OR_ZERO(mr) == -EFAULT ||
			  PTR_ERR_OR_ZERO(mr) == -ENOMEM);
	end_fixture(test, f);
}

static void mr_zero_length(struct kunit *test)
{
	struct fixture *f = new_fixture(test, 0);
	struct srnic_mr *mr = reg(f, 0, 0, RW);
	u8 byte;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_EXPECT_EQ(test, get(f, mr->ibmr.rkey, 0, 0, &byte), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, get(f, mr->ibmr.rkey, 0, 1, &byte),
			SRNIC_KEY_BOUNDS);
	KUNIT_EXPECT_EQ(test, fake.gets, 0);
	srnic_mr_destroy(mr);
	end_fixture(test, f);
}

static void mr_table_full(struct kunit *test)
{
	struct fixture *f = new_fixture(test, PROT_READ | PROT_WRITE);
	u32 n = srnic_mpt_slots(f->mpt), i;
	struct srnic_mr **mr = kunit_kcalloc(test, n, sizeof(*mr), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, mr);
	for (i = 0; i < n; i++) {
		mr[i] = reg(f, i, 1, RW);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr[i]);
	}
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(reg(f, 0, 1, RW)), -ENOMEM);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(srnic_mr_reg_dma(f->mpt, f->ibdev, PDN, 0)),
			-ENOMEM);
	for (i = 0; i < n; i++)
		srnic_mr_destroy(mr[i]);
	end_fixture(test, f);
}

static void mr_dma(struct kunit *test)
{
	struct fixture *f = new_fixture(test, 0);
	struct srnic_mr *mr;
	u8 *mem = kunit_kzalloc(test, 16, GFP_KERNEL);
	u8 out = 0;

	KUNIT_ASSERT_NOT_NULL(test, mem);
	KUNIT_EXPECT_EQ(test,
			PTR_ERR_OR_ZERO(srnic_mr_reg_dma(f->mpt, f->ibdev, PDN,
							 IB_ACCESS_REMOTE_WRITE)),
			-EINVAL);
	mr = srnic_mr_reg_dma(f->mpt, f->ibdev, PDN, RW);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	mem[3] = 77;
	KUNIT_EXPECT_EQ(test, get(f, mr->ibmr.lkey,
				  (unsigned long)&mem[3] - IOVA, 1, &out),
			SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, out, 77);
	srnic_mr_destroy(mr);
	end_fixture(test, f);
}

static void mr_peer(struct kunit *test)
{
	struct fixture *f = new_fixture(test, 0);
	const struct srnic_run *run;
	struct srnic_mr *mr;

	fake.claim = true;
	mr = reg(f, 0x1000, 12345, IB_ACCESS_REMOTE_READ);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_EXPECT_FALSE(test, fake.writable);
	KUNIT_EXPECT_NULL(test, mr->b->umem);
	KUNIT_ASSERT_NOT_NULL(test, mr->b->mtt);
	KUNIT_EXPECT_EQ(test, mr->b->mtt->nruns, 1);
	run = srnic_mtt_find(mr->b->mtt, 12344);
	KUNIT_EXPECT_TRUE(test, run->io);
	KUNIT_EXPECT_TRUE(test, run->len == 12345);
	KUNIT_EXPECT_EQ(test, run->addr, (__force unsigned long)FAKE_ADDR);
	srnic_mr_destroy(mr);
	KUNIT_EXPECT_EQ(test, fake.puts, 1);

	mr = reg(f, 0x1000, 1, RW);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_EXPECT_TRUE(test, fake.writable);
	srnic_mr_destroy(mr);
	end_fixture(test, f);
}

static u64 atomic_as(struct kunit *test, struct fixture *f, u32 key, u64 addr,
		     enum srnic_atomic_op op, u64 compare, u64 swap_add)
{
	struct srnic_mpt_req rq = {
		.key = key, .pdn = PDN, .access = IB_ACCESS_REMOTE_ATOMIC,
		.addr = addr, .len = 8,
	};
	enum srnic_key_reason why = SRNIC_KEY_UNKNOWN;
	u64 orig = 0;
	int err;

	local_bh_disable();
	err = srnic_access_atomic(f->mpt, &rq, op, compare, swap_add, &orig, &why);
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, err, 0);
	KUNIT_EXPECT_EQ(test, why, SRNIC_KEY_OK);
	return orig;
}

static void expect_figures(struct kunit *test, u64 in, u64 out)
{
	KUNIT_EXPECT_EQ(test, fake.in, in);
	KUNIT_EXPECT_EQ(test, fake.out, out);
}

/* The donor is told of every byte, of no other, and of none that is refused. */
static void mr_peer_figures(struct kunit *test)
{
	struct fixture *f = new_fixture(test, PROT_READ | PROT_WRITE);
	u8 *memory = kunit_kzalloc(test, 4096 + 8, GFP_KERNEL);
	struct srnic_mr *mr;
	u8 buf[100] = {};

	KUNIT_ASSERT_NOT_NULL(test, memory);
	fake.claim = true;
	/* IOVA + 7 is aligned, here too */
	fake.memory = memory + 1;
	mr = reg(f, 0, 4096, RW | IB_ACCESS_REMOTE_ATOMIC);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	expect_figures(test, 0, 0);
	/* there are no I/O addresses there */
	if (IS_ENABLED(CONFIG_UML))
		mr->b->mtt->run[0].io = false;

	KUNIT_EXPECT_EQ(test, put(f, mr->ibmr.rkey, 3, 100, buf), SRNIC_KEY_OK);
	expect_figures(test, 100, 0);
	KUNIT_EXPECT_EQ(test, get(f, mr->ibmr.rkey, 4096 - 60, 60, buf),
			SRNIC_KEY_OK);
	expect_figures(test, 100, 60);
	KUNIT_EXPECT_NE(test, put(f, mr->ibmr.rkey, 4000, 97, buf), SRNIC_KEY_OK);
	KUNIT_EXPECT_NE(test, get(f, mr->ibmr.rkey, 4000, 97, buf), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, put(f, mr->ibmr.rkey, 0, 0, buf), SRNIC_KEY_OK);
	expect_figures(test, 100, 60);

	atomic_as(test, f, mr->ibmr.rkey, IOVA + 7, SRNIC_ATOMIC_FETCH_ADD, 0, 5);
	expect_figures(test, 108, 68);
	KUNIT_EXPECT_EQ(test, atomic_as(test, f, mr->ibmr.rkey, IOVA + 7,
					SRNIC_ATOMIC_CMP_SWAP, 5, 6), 5);
	expect_figures(test, 116, 76);
	/* nothing is written */
	KUNIT_EXPECT_EQ(test, atomic_as(test, f, mr->ibmr.rkey, IOVA + 7,
					SRNIC_ATOMIC_CMP_SWAP, 5, 7), 6);
	expect_figures(test, 116, 84);
	srnic_mr_destroy(mr);

	/* of RAM nobody is told */
	fake.claim = false;
	mr = reg(f, 0, 4096, RW);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_EXPECT_EQ(test, put(f, mr->ibmr.rkey, 3, 100, buf), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, get(f, mr->ibmr.rkey, 3, 100, buf), SRNIC_KEY_OK);
	expect_figures(test, 116, 84);
	srnic_mr_destroy(mr);
	end_fixture(test, f);
}

static void mr_peer_refused(struct kunit *test)
{
	struct fixture *f = new_fixture(test, PROT_READ | PROT_WRITE);

	fake.claim = true;
	fake.err = -EPERM;
	/* no second try with pinned pages */
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(reg(f, 0, 1, RW)), -EPERM);
	KUNIT_EXPECT_EQ(test, fake.puts, 0);
	end_fixture(test, f);
}

/* A donor's memory is mapped there after srnic_peer_get() has looked. */
static void mr_peer_too_late(struct kunit *test)
{
	struct fixture *f = new_fixture(test, PROT_READ | PROT_WRITE);
	struct srnic_mr *mr = reg(f, 0, sizeof(f->shadow), RW);
	int last;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	last = fake.looks;
	KUNIT_EXPECT_GT(test, last, 0);
	srnic_mr_destroy(mr);
	fake.looks = 0;
	fake.foreign = last;
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(reg(f, 0, sizeof(f->shadow), RW)),
			-EFAULT);
	KUNIT_EXPECT_EQ(test, fake.puts, 0);
	end_fixture(test, f);
}

static void mr_peer_revoked(struct kunit *test)
{
	struct fixture *f = new_fixture(test, 0);
	struct srnic_mr *mr;
	u8 byte;

	fake.claim = true;
	mr = reg(f, 0, 100, RW);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	fake.peer[fake.last].revoke(fake.peer[fake.last].ctx);
	KUNIT_EXPECT_EQ(test, get(f, mr->ibmr.rkey, 0, 1, &byte),
			SRNIC_KEY_REVOKED);
	srnic_mr_destroy(mr);
	KUNIT_EXPECT_EQ(test, fake.puts, 1);

	/* the donor goes while the region is being made */
	fake.revoke_at_once = true;
	mr = reg(f, 0, 100, RW);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_EXPECT_EQ(test, get(f, mr->ibmr.rkey, 0, 1, &byte),
			SRNIC_KEY_REVOKED);
	srnic_mr_destroy(mr);
	KUNIT_EXPECT_EQ(test, fake.puts, 2);
	end_fixture(test, f);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(mr_user_memory),
	KUNIT_CASE(mr_outlives_mapping),
	KUNIT_CASE(mr_read_only),
	KUNIT_CASE(mr_arguments),
	KUNIT_CASE(mr_largest),
	KUNIT_CASE(mr_zero_length),
	KUNIT_CASE(mr_table_full),
	KUNIT_CASE(mr_dma),
	KUNIT_CASE(mr_peer),
	KUNIT_CASE(mr_peer_figures),
	KUNIT_CASE(mr_peer_refused),
	KUNIT_CASE(mr_peer_too_late),
	KUNIT_CASE(mr_peer_revoked),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_mr",
	.test_cases = cases,
};

kunit_test_suite(suite);

// SPDX-License-Identifier: GPL-2.0
/*
 * Registering anew: the same key for other memory, rights or PD; that nothing
 * changes where it fails; and that a donor takes back what is used, not what was.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/uaccess.h>

#include "mr_fixture.h"

#define RO	IB_ACCESS_REMOTE_READ

static int trans(struct fixture *f, struct srnic_mr *mr, u64 off, u64 len,
		 u64 iova)
{
	const struct srnic_mr_rereg to = {
		.flags = IB_MR_REREG_TRANS, .start = f->user + off,
		.length = len, .iova = iova,
	};

	return srnic_mr_rereg(mr, &to);
}

static int rights(struct srnic_mr *mr, int access)
{
	const struct srnic_mr_rereg to = {
		.flags = IB_MR_REREG_ACCESS, .access = access,
	};

	return srnic_mr_rereg(mr, &to);
}

static void rereg_memory(struct kunit *test)
{
	struct fixture *f = new_fixture(test, PROT_READ | PROT_WRITE);
	struct srnic_mr *mr = reg(f, 0, PAGE_SIZE, RW);
	u8 buf[64];
	u32 key;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	key = mr->ibmr.rkey;
	KUNIT_ASSERT_EQ(test, trans(f, mr, PAGE_SIZE + 5, 100, IOVA + 7), 0);
	KUNIT_EXPECT_EQ(test, mr->ibmr.rkey, key);
	KUNIT_EXPECT_TRUE(test, mr->ibmr.length == 100);
	KUNIT_EXPECT_TRUE(test, mr->ibmr.iova == IOVA + 7);
	KUNIT_EXPECT_EQ(test, get(f, key, 6, 1, buf), SRNIC_KEY_BOUNDS);
	KUNIT_EXPECT_EQ(test, get(f, key, 107, 1, buf), SRNIC_KEY_BOUNDS);
	KUNIT_EXPECT_EQ(test, get(f, key, 7, 64, buf), SRNIC_KEY_OK);
	KUNIT_EXPECT_MEMEQ(test, buf, f->shadow + PAGE_SIZE + 5, 64);
	/* the rights are those of before */
	KUNIT_EXPECT_EQ(test, put(f, key, 7, 64, buf), SRNIC_KEY_OK);
	srnic_mr_destroy(mr);
	end_fixture(test, f);
}

static void rereg_to_nothing_and_back(struct kunit *test)
{
	struct fixture *f = new_fixture(test, PROT_READ | PROT_WRITE);
	struct srnic_mr *mr = reg(f, 0, PAGE_SIZE, RW);
	u8 byte;
	u32 key;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	key = mr->ibmr.rkey;
	KUNIT_ASSERT_EQ(test, trans(f, mr, 0, 0, IOVA), 0);
	KUNIT_EXPECT_EQ(test, get(f, key, 0, 1, &byte), SRNIC_KEY_BOUNDS);
	KUNIT_EXPECT_EQ(test, get(f, key, 0, 0, &byte), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, rights(mr, RO), 0);
	KUNIT_EXPECT_EQ(test, put(f, key, 0, 0, &byte), SRNIC_KEY_ACCESS);
	KUNIT_ASSERT_EQ(test, trans(f, mr, 9, 1, IOVA), 0);
	KUNIT_EXPECT_EQ(test, get(f, key, 0, 1, &byte), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, byte, f->shadow[9]);
	srnic_mr_destroy(mr);
	end_fixture(test, f);
}

static void rereg_pd_and_rights(struct kunit *test)
{
	struct fixture *f = new_fixture(test, PROT_READ | PROT_WRITE);
	struct srnic_mr *mr = reg(f, 0, PAGE_SIZE, RW);
	const struct srnic_mr_rereg all = {
		.flags = IB_MR_REREG_SUPPORTED, .start = f->user + 100,
		.length = 50, .iova = 0, .access = RO, .pdn = PDN + 2,
	};
	const struct srnic_mr_rereg pd = {
		.flags = IB_MR_REREG_PD, .pdn = PDN + 1,
	};
	u8 byte = 0;
	u32 key;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	key = mr->ibmr.rkey;
	KUNIT_ASSERT_EQ(test, srnic_mr_rereg(mr, &pd), 0);
	KUNIT_EXPECT_EQ(test, get(f, key, 0, 1, &byte), SRNIC_KEY_PD);
	KUNIT_EXPECT_EQ(test, put_as(f, PDN + 1, 0, key, IOVA, 1, &byte),
			SRNIC_KEY_OK);
	KUNIT_ASSERT_EQ(test, srnic_mr_rereg(mr, &all), 0);
	KUNIT_EXPECT_EQ(test, get_as(f, PDN + 1, 0, key, 0, 1, &byte),
			SRNIC_KEY_PD);
	KUNIT_EXPECT_EQ(test, put_as(f, PDN + 2, 0, key, 0, 1, &byte),
			SRNIC_KEY_ACCESS);
	KUNIT_EXPECT_EQ(test, get_as(f, PDN + 2, 0, key, 49, 1, &byte),
			SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, byte, f->shadow[149]);
	KUNIT_EXPECT_EQ(test, get_as(f, PDN + 2, 0, key, 50, 1, &byte),
			SRNIC_KEY_BOUNDS);
	srnic_mr_destroy(mr);
	end_fixture(test, f);
}

/* Addresses from 0 are a trait of the region, until other rights are asked for. */
static void rereg_zero_based(struct kunit *test)
{
	struct fixture *f = new_fixture(test, PROT_READ | PROT_WRITE);
	struct srnic_mr *mr = reg(f, 0, PAGE_SIZE, RW | IB_ZERO_BASED);
	const struct srnic_mr_rereg pd = { .flags = IB_MR_REREG_PD, .pdn = PDN };
	u8 byte = 0;
	u32 key;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	key = mr->ibmr.rkey;
	KUNIT_ASSERT_EQ(test, trans(f, mr, 9, 3, IOVA), 0);
	KUNIT_EXPECT_EQ(test, mr->ibmr.iova, 0);
	KUNIT_EXPECT_EQ(test, get_as(f, PDN, 0, key, 2, 1, &byte), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, byte, f->shadow[11]);
	KUNIT_ASSERT_EQ(test, srnic_mr_rereg(mr, &pd), 0);
	KUNIT_ASSERT_EQ(test, trans(f, mr, 20, 3, IOVA), 0);
	KUNIT_EXPECT_EQ(test, get_as(f, PDN, 0, key, 0, 1, &byte), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, byte, f->shadow[20]);
	KUNIT_EXPECT_EQ(test, get_as(f, PDN, 0, key, 3, 1, &byte), SRNIC_KEY_BOUNDS);
	KUNIT_ASSERT_EQ(test, rights(mr, RW), 0);
	KUNIT_ASSERT_EQ(test, trans(f, mr, 30, 3, IOVA), 0);
	KUNIT_EXPECT_EQ(test, mr->ibmr.iova, IOVA);
	srnic_mr_destroy(mr);
	end_fixture(test, f);
}

/* Held for reading, then to be written: only where that is possible. */
static void rereg_to_writable(struct kunit *test)
{
	struct fixture *f = new_fixture(test, PROT_READ | PROT_WRITE);
	struct srnic_mr *mr = reg(f, 10, PAGE_SIZE, RO);
	u8 byte = 0;
	u32 key;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	key = mr->ibmr.rkey;
	KUNIT_EXPECT_FALSE(test, mr->b->writable);
	KUNIT_ASSERT_EQ(test, rights(mr, RW), 0);
	KUNIT_EXPECT_TRUE(test, mr->b->writable);
	byte = ~f->shadow[12];
	KUNIT_EXPECT_EQ(test, put(f, key, 2, 1, &byte), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, copy_from_user(&byte, (void __user *)f->user + 12,
					     1), 0);
	KUNIT_EXPECT_EQ(test, byte, (u8)~f->shadow[12]);
	/* and back, as often as one likes, without new memory */
	KUNIT_EXPECT_EQ(test, rights(mr, RO), 0);
	KUNIT_EXPECT_EQ(test, put(f, key, 2, 1, &byte), SRNIC_KEY_ACCESS);
	KUNIT_EXPECT_EQ(test, rights(mr, RW), 0);
	srnic_mr_destroy(mr);
	end_fixture(test, f);
}

static void rereg_cannot_be_written(struct kunit *test)
{
	struct fixture *f = new_fixture(test, PROT_READ);
	struct srnic_mr *mr = reg(f, 0, PAGE_SIZE, RO);
	u8 byte = 0;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_EXPECT_EQ(test, rights(mr, RW), -EPERM);
	KUNIT_EXPECT_EQ(test, get(f, mr->ibmr.rkey, 0, 1, &byte), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, put(f, mr->ibmr.rkey, 0, 1, &byte),
			SRNIC_KEY_ACCESS);
	srnic_mr_destroy(mr);
	end_fixture(test, f);
}

/* The program has mapped other memory there, which isn't what was registered. */
static void rereg_elsewhere(struct kunit *test)
{
	struct fixture *f = new_fixture(test, PROT_READ | PROT_WRITE);
	struct srnic_mr *mr = reg(f, 0, PAGE_SIZE, RO);
	unsigned long again;
	u8 byte = 0;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_ASSERT_EQ(test, vm_munmap(f->user, PAGE_SIZE), 0);
	again = kunit_vm_mmap(test, NULL, f->user, PAGE_SIZE,
			      PROT_READ | PROT_WRITE,
			      MAP_ANONYMOUS | MAP_PRIVATE | MAP_FIXED, 0);
	KUNIT_ASSERT_EQ(test, again, f->user);
	KUNIT_EXPECT_EQ(test, rights(mr, RW), -EPERM);
	KUNIT_EXPECT_EQ(test, get(f, mr->ibmr.rkey, 0, 1, &byte), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, byte, f->shadow[0]);
	srnic_mr_destroy(mr);
	end_fixture(test, f);
}

static void rereg_arguments(struct kunit *test)
{
	struct fixture *f = new_fixture(test, PROT_READ | PROT_WRITE);
	struct srnic_mr *mr = reg(f, 0, PAGE_SIZE, RW);
	const struct srnic_mr_rereg odd = { .flags = BIT(3) };
	struct srnic_mr *dma;
	u8 byte;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_EXPECT_EQ(test, srnic_mr_rereg(mr, &odd), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, rights(mr, IB_ACCESS_REMOTE_WRITE), -EINVAL);
	KUNIT_EXPECT_EQ(test, rights(mr, IB_ACCESS_ON_DEMAND), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, trans(f, mr, 0, 2, U64_MAX), -EINVAL);
	KUNIT_EXPECT_EQ(test, trans(f, mr, 0, U64_MAX, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, trans(f, mr, -f->user, 1, 0), -EFAULT);
	/* as it was */
	KUNIT_EXPECT_EQ(test, put(f, mr->ibmr.rkey, PAGE_SIZE - 1, 1, f->shadow),
			SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, get(f, mr->ibmr.rkey, PAGE_SIZE, 1, &byte),
			SRNIC_KEY_BOUNDS);
	srnic_mr_destroy(mr);

	dma = srnic_mr_reg_dma(f->mpt, f->ibdev, PDN, RW);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dma);
	KUNIT_EXPECT_EQ(test, rights(dma, RO), -EOPNOTSUPP);
	srnic_mr_destroy(dma);
	end_fixture(test, f);
}

static void revoke(int which)
{
	fake.peer[which].revoke(fake.peer[which].ctx);
}

static void rereg_and_donors(struct kunit *test)
{
	struct fixture *f = new_fixture(test, PROT_READ | PROT_WRITE);
	struct srnic_mr *mr;
	int old;
	u8 byte;

	/* from a donor to RAM: it gets its memory back */
	fake.claim = true;
	mr = reg(f, 0, 100, RW);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_EXPECT_STREQ(test, mr->memory, "peer");
	fake.claim = false;
	KUNIT_ASSERT_EQ(test, trans(f, mr, 0, 100, IOVA), 0);
	KUNIT_EXPECT_STREQ(test, mr->memory, "ram");
	KUNIT_EXPECT_EQ(test, fake.puts, 1);
	KUNIT_EXPECT_EQ(test, get(f, mr->ibmr.rkey, 0, 1, &byte), SRNIC_KEY_OK);

	/* to one that goes while the region moves to it: the region stays */
	fake.claim = true;
	fake.revoke_at_once = true;
	KUNIT_EXPECT_EQ(test, trans(f, mr, 0, 100, IOVA), -ENODEV);
	KUNIT_EXPECT_EQ(test, fake.puts, 2);
	KUNIT_EXPECT_EQ(test, get(f, mr->ibmr.rkey, 0, 1, &byte), SRNIC_KEY_OK);
	fake.revoke_at_once = false;

	/* to one, to another, which goes */
	KUNIT_ASSERT_EQ(test, trans(f, mr, 0, 100, IOVA), 0);
	old = fake.last;
	KUNIT_ASSERT_EQ(test, trans(f, mr, 0, 50, IOVA), 0);
	KUNIT_EXPECT_NE(test, fake.last, old);
	KUNIT_EXPECT_EQ(test, fake.puts, 3);
	KUNIT_EXPECT_EQ(test, mr->user.e->state, SRNIC_MPT_VALID);
	revoke(fake.last);
	KUNIT_EXPECT_EQ(test, get(f, mr->ibmr.rkey, 0, 1, &byte),
			SRNIC_KEY_REVOKED);
	/* what has been revoked is to be deregistered */
	KUNIT_EXPECT_EQ(test, trans(f, mr, 0, 100, IOVA), -ENODEV);
	KUNIT_EXPECT_EQ(test, rights(mr, RO), -ENODEV);
	srnic_mr_destroy(mr);
	KUNIT_EXPECT_EQ(test, fake.puts, fake.gets - 1);
	end_fixture(test, f);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(rereg_memory),
	KUNIT_CASE(rereg_to_nothing_and_back),
	KUNIT_CASE(rereg_pd_and_rights),
	KUNIT_CASE(rereg_zero_based),
	KUNIT_CASE(rereg_to_writable),
	KUNIT_CASE(rereg_cannot_be_written),
	KUNIT_CASE(rereg_elsewhere),
	KUNIT_CASE(rereg_arguments),
	KUNIT_CASE(rereg_and_donors),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_mr_rereg",
	.test_cases = cases,
};

kunit_test_suite(suite);

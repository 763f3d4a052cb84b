// SPDX-License-Identifier: GPL-2.0
/*
 * Bytes through keys: what a key allows arrives, what it doesn't allow leaves
 * memory as it was. Atomics: results, alignment, no lost update.
 */
#include <kunit/test.h>
#include <linux/bottom_half.h>
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "../../drivers/srnic/access.h"
#include "../../drivers/srnic/mpt.h"
#include "../../drivers/srnic/mtt.h"
#include "rng.h"

#define SIZE	1000		/* of the region */
#define HALF	(SIZE / 2)	/* of each of its two runs */
#define IOVA	0x7000000000ull
#define PDN	5
#define ALL	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |	\
		 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

/* On UML an I/O address is not something that memory can pose as. */
#define HAVE_IO	(IS_ENABLED(CONFIG_X86) && !IS_ENABLED(CONFIG_UML))

/**
 * struct fixture - a table with one region of two runs in it
 * @mpt: the table
 * @e: the region's entry
 * @mtt: its translation
 * @mem: what is behind it: HALF bytes at @mem + 8, HALF at @mem + 1024
 * @shadow: what should stand in the region
 */
struct fixture {
	struct srnic_mpt *mpt;
	struct srnic_mpt_entry *e;
	struct srnic_mtt *mtt;
	u8 *mem;
	u8 shadow[SIZE];
};

#define MEM_SIZE	2048

static u8 *mem_of(struct fixture *f, u32 off)
{
	return off < HALF ? f->mem + 8 + off : f->mem + 1024 + off - HALF;
}

static void setup(struct kunit *test, struct fixture *f, bool io)
{
	f->mpt = srnic_mpt_create(8);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, f->mpt);
	f->mtt = srnic_mtt_alloc(2);
	KUNIT_ASSERT_NOT_NULL(test, f->mtt);
	KUNIT_ASSERT_EQ(test, srnic_mtt_add(f->mtt, (unsigned long)mem_of(f, 0),
					    HALF, io), 0);
	KUNIT_ASSERT_EQ(test, srnic_mtt_add(f->mtt,
					    (unsigned long)mem_of(f, HALF),
					    HALF, io), 0);
	f->e = srnic_mpt_alloc(f->mpt);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, f->e);
	f->e->access = ALL;
	f->e->pdn = PDN;
	f->e->iova = IOVA;
	f->e->length = SIZE;
	f->e->mtt = f->mtt;
	srnic_mpt_publish(f->e);
}

static struct fixture *new_fixture(struct kunit *test, bool io)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	f->mem = kunit_kzalloc(test, MEM_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f->mem);
	setup(test, f, io);
	return f;
}

static void end_fixture(struct fixture *f)
{
	srnic_mpt_kill(f->mpt, f->e, SRNIC_MPT_INVALID);
	srnic_mpt_free(f->mpt, f->e);
	srnic_mtt_free(f->mtt);
	srnic_mpt_destroy(f->mpt);
}

static struct srnic_mpt_req req(const struct fixture *f, u64 off, u64 len,
				u32 access)
{
	return (struct srnic_mpt_req) {
		.key = f->e->key, .pdn = PDN, .qpn = 1, .access = access,
		.addr = f->e->iova + off, .len = len,
	};
}

static enum srnic_key_reason put(struct fixture *f,
				 const struct srnic_mpt_req *rq, const void *p)
{
	struct kvec seg[2] = {
		{ (void *)p, rq->len / 3 },
		{ (void *)p + rq->len / 3, rq->len - rq->len / 3 },
	};
	struct srnic_cursor src = { .seg = seg };
	enum srnic_key_reason why;

	local_bh_disable();
	why = srnic_access_put(f->mpt, rq, rq->len, &src);
	local_bh_enable();
	return why;
}

static enum srnic_key_reason get(struct fixture *f,
				 const struct srnic_mpt_req *rq, void *p)
{
	enum srnic_key_reason why;

	local_bh_disable();
	why = srnic_access_get(f->mpt, rq, p);
	local_bh_enable();
	return why;
}

static void expect_shadow(struct kunit *test, struct fixture *f)
{
	u32 i, bad = 0;

	for (i = 0; i < SIZE; i++)
		bad += *mem_of(f, i) != f->shadow[i];
	/* and nothing around the runs */
	bad += !!memchr_inv(f->mem, 0, 8);
	bad += !!memchr_inv(f->mem + 8 + HALF, 0, 1024 - 8 - HALF);
	bad += !!memchr_inv(f->mem + 1024 + HALF, 0, 1024 - HALF);
	KUNIT_EXPECT_EQ(test, bad, 0);
}

static void copies(struct kunit *test, bool io)
{
	struct fixture *f = new_fixture(test, io);
	struct rnd_state rng;
	u8 buf[SIZE + 1];
	int i;

	rng_start(&rng, 12);
	for (i = 0; i < 400; i++) {
		u32 off = rng_below(&rng, SIZE + 1);
		u32 len = rng_below(&rng, SIZE - off + 1);
		struct srnic_mpt_req rq = req(f, off, len, IB_ACCESS_REMOTE_WRITE);

		prandom_bytes_state(&rng, buf, len);
		KUNIT_ASSERT_EQ(test, put(f, &rq, buf), SRNIC_KEY_OK);
		memcpy(f->shadow + off, buf, len);
		expect_shadow(test, f);

		rq.access = IB_ACCESS_REMOTE_READ;
		memset(buf, 0xcc, sizeof(buf));
		KUNIT_ASSERT_EQ(test, get(f, &rq, buf), SRNIC_KEY_OK);
		KUNIT_EXPECT_MEMEQ(test, buf, f->shadow + off, len);
		KUNIT_EXPECT_EQ(test, buf[len], 0xcc);
	}
	end_fixture(f);
}

static void access_copies(struct kunit *test)
{
	copies(test, false);
}

static void access_copies_io(struct kunit *test)
{
	if (!HAVE_IO)
		kunit_skip(test, "no I/O addresses without a device here");
	copies(test, true);
}

/* A window into a region: its first byte is not the table's. */
static void access_mtt_offset(struct kunit *test)
{
	struct fixture *f = new_fixture(test, false);
	struct srnic_mpt_req rq;
	u8 buf[200];

	memset(buf, 0xab, sizeof(buf));
	f->e->iova = IOVA + 0x123;
	f->e->length = sizeof(buf);
	f->e->mtt_off = HALF - 100;
	rq = req(f, 0, sizeof(buf), IB_ACCESS_REMOTE_WRITE);
	KUNIT_EXPECT_EQ(test, put(f, &rq, buf), SRNIC_KEY_OK);
	memset(f->shadow + HALF - 100, 0xab, sizeof(buf));
	expect_shadow(test, f);
	end_fixture(f);
}

static void expect_refused(struct kunit *test, struct fixture *f,
			   struct srnic_mpt_req rq, enum srnic_key_reason want)
{
	enum srnic_key_reason why = SRNIC_KEY_OK;
	u8 buf[SIZE + 1];
	u64 orig = 42;

	memset(buf, 0xcc, sizeof(buf));
	KUNIT_EXPECT_EQ(test, put(f, &rq, buf), want);
	KUNIT_EXPECT_EQ(test, get(f, &rq, buf), want);
	KUNIT_EXPECT_NULL(test, memchr_inv(buf, 0xcc, sizeof(buf)));
	local_bh_disable();
	KUNIT_EXPECT_EQ(test, srnic_access_probe(f->mpt, &rq), want);
	rq.len = 8;
	if (want != SRNIC_KEY_BOUNDS)
		KUNIT_EXPECT_EQ(test, srnic_access_atomic(f->mpt, &rq,
							  SRNIC_ATOMIC_FETCH_ADD,
							  0, 1, &orig, &why), 0);
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, orig, 42);
	if (want != SRNIC_KEY_BOUNDS)
		KUNIT_EXPECT_EQ(test, why, want);
	expect_shadow(test, f);
}

static void access_refusals(struct kunit *test)
{
	struct fixture *f = new_fixture(test, false);
	struct srnic_mpt_req rq = req(f, 0, 8, IB_ACCESS_REMOTE_WRITE);
	struct srnic_mpt_req bad;

	bad = rq;
	bad.key ^= 1;
	expect_refused(test, f, bad, SRNIC_KEY_STALE);
	bad = rq;
	bad.pdn++;
	expect_refused(test, f, bad, SRNIC_KEY_PD);
	bad = rq;
	bad.addr--;
	expect_refused(test, f, bad, SRNIC_KEY_BOUNDS);
	bad = rq;
	bad.len = SIZE + 1;
	expect_refused(test, f, bad, SRNIC_KEY_BOUNDS);
	f->e->access = IB_ACCESS_LOCAL_WRITE;
	expect_refused(test, f, rq, SRNIC_KEY_ACCESS);
	f->e->qpn = 17;
	expect_refused(test, f, rq, SRNIC_KEY_QP);
	srnic_mpt_kill(f->mpt, f->e, SRNIC_MPT_REVOKED);
	expect_refused(test, f, rq, SRNIC_KEY_REVOKED);
	end_fixture(f);
}

/* A region of no length has no table: only empty requests pass. */
static void access_empty_region(struct kunit *test)
{
	struct fixture *f = new_fixture(test, false);
	struct srnic_mpt_req rq = req(f, 0, 0, IB_ACCESS_REMOTE_WRITE);
	u8 byte = 1;

	f->e->length = 0;
	f->e->mtt = NULL;
	KUNIT_EXPECT_EQ(test, put(f, &rq, &byte), SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, get(f, &rq, &byte), SRNIC_KEY_OK);
	rq.len = 1;
	KUNIT_EXPECT_EQ(test, put(f, &rq, &byte), SRNIC_KEY_BOUNDS);
	expect_shadow(test, f);
	end_fixture(f);
}

/* Kernel memory by its address; from afar only if it is memory at all. */
static void access_dma(struct kunit *test)
{
	struct fixture *f = new_fixture(test, false);
	struct srnic_mpt_req rq;
	u8 text[] = "0123456789";
	u8 *mem = kunit_kzalloc(test, 64, GFP_KERNEL);
	u8 out[10];

	KUNIT_ASSERT_NOT_NULL(test, mem);
	f->e->kind = SRNIC_MPT_DMA;
	f->e->iova = 0;
	rq = req(f, (unsigned long)mem + 3, 10, IB_ACCESS_LOCAL_WRITE);
	KUNIT_EXPECT_EQ(test, put(f, &rq, text), SRNIC_KEY_OK);
	KUNIT_EXPECT_MEMEQ(test, mem + 3, text, 10);
	KUNIT_EXPECT_EQ(test, mem[2] | mem[13], 0);
	rq.access = IB_ACCESS_REMOTE_READ;
	KUNIT_EXPECT_EQ(test, get(f, &rq, out), SRNIC_KEY_OK);
	KUNIT_EXPECT_MEMEQ(test, out, text, 10);

	rq.access = 0;
	rq.addr = U64_MAX - 4;
	KUNIT_EXPECT_EQ(test, get(f, &rq, out), SRNIC_KEY_BOUNDS);
	rq.addr = 0x1000;
	rq.len = 0;
	KUNIT_EXPECT_EQ(test, get(f, &rq, out), SRNIC_KEY_OK);
	rq.access = IB_ACCESS_REMOTE_READ;
	KUNIT_EXPECT_EQ(test, get(f, &rq, out), SRNIC_KEY_OK);
	rq.len = 10;
	rq.addr = U64_MAX - 4;
	KUNIT_EXPECT_EQ(test, get(f, &rq, out), SRNIC_KEY_BOUNDS);
	rq.addr = 0x1000;
	KUNIT_EXPECT_EQ(test, get(f, &rq, out), SRNIC_KEY_BOUNDS);
	/* the last refusal holds no guard, or this would hang */
	end_fixture(f);
}

/* One atomic on the word at @off; -EINVAL or the value before. */
static int atomic_at(struct fixture *f, u64 off, enum srnic_atomic_op op,
		     u64 compare, u64 swap_add, u64 *orig,
		     enum srnic_key_reason *why)
{
	struct srnic_mpt_req rq = req(f, off, 8, IB_ACCESS_REMOTE_ATOMIC);
	int err;

	local_bh_disable();
	err = srnic_access_atomic(f->mpt, &rq, op, compare, swap_add, orig, why);
	local_bh_enable();
	return err;
}

static void expect_atomic(struct kunit *test, struct fixture *f, u64 off,
			  enum srnic_atomic_op op, u64 compare, u64 swap_add,
			  u64 before, u64 after)
{
	enum srnic_key_reason why = SRNIC_KEY_UNKNOWN;
	u64 orig = ~before;

	KUNIT_ASSERT_EQ(test, atomic_at(f, off, op, compare, swap_add, &orig,
					&why), 0);
	KUNIT_EXPECT_EQ(test, why, SRNIC_KEY_OK);
	KUNIT_EXPECT_EQ(test, orig, before);
	/* in memory the number has the CPU's byte order */
	KUNIT_EXPECT_EQ(test, *(u64 *)mem_of(f, off), after);
	memcpy(f->shadow + off, &after, 8);
	expect_shadow(test, f);
}

static void atomics(struct kunit *test, bool io)
{
	struct fixture *f = new_fixture(test, io);

	expect_atomic(test, f, 16, SRNIC_ATOMIC_FETCH_ADD, 0, 5, 0, 5);
	expect_atomic(test, f, 16, SRNIC_ATOMIC_FETCH_ADD, 99, -7ull, 5, -2ull);
	expect_atomic(test, f, 16, SRNIC_ATOMIC_FETCH_ADD, 0, 3, -2ull, 1);
	expect_atomic(test, f, 16, SRNIC_ATOMIC_CMP_SWAP, 2, 7, 1, 1);
	expect_atomic(test, f, 16, SRNIC_ATOMIC_CMP_SWAP, 1,
		      0x0102030405060708, 1, 0x0102030405060708);
	expect_atomic(test, f, 16, SRNIC_ATOMIC_CMP_SWAP, 0x0102030405060708,
		      0, 0x0102030405060708, 0);
	expect_atomic(test, f, 0, SRNIC_ATOMIC_FETCH_ADD, 0, 1, 0, 1);
	end_fixture(f);
}

static void access_atomics(struct kunit *test)
{
	atomics(test, false);
}

static void access_atomics_io(struct kunit *test)
{
	if (!HAVE_IO)
		kunit_skip(test, "no I/O addresses without a device here");
	atomics(test, true);
}

static void access_atomic_alignment(struct kunit *test)
{
	struct fixture *f = new_fixture(test, false);
	enum srnic_key_reason why;
	u64 orig = 42;
	u32 off;

	for (off = 1; off < 8; off++)
		KUNIT_EXPECT_EQ(test, atomic_at(f, off, SRNIC_ATOMIC_FETCH_ADD, 0,
						1, &orig, &why), -EINVAL);
	/* 8 bytes that lie in two places: address aligned, HALF % 8 is 4 */
	KUNIT_EXPECT_EQ(test, atomic_at(f, HALF - 4, SRNIC_ATOMIC_FETCH_ADD, 0, 1,
					&orig, &why), -EINVAL);
	/* the address is aligned, the memory behind it is not */
	f->e->iova = IOVA + 4;
	KUNIT_EXPECT_EQ(test, atomic_at(f, 4, SRNIC_ATOMIC_FETCH_ADD, 0, 1,
					&orig, &why), -EINVAL);
	/* and the guard is not held */
	KUNIT_EXPECT_EQ(test, orig, 42);
	expect_shadow(test, f);
	end_fixture(f);
}

#define ADDERS	4
#define ADDS	20000

struct adder {
	struct fixture *f;
	u64 off;
	u64 sum;
	int err;
	struct task_struct *task;
	struct completion done;
};

/* Adds to the word, and sums what it was told stood there before. */
static int add_many(void *data)
{
	struct adder *a = data;
	enum srnic_key_reason why;
	u64 orig;
	int i;

	for (i = 0; i < ADDS; i++) {
		if (atomic_at(a->f, a->off, SRNIC_ATOMIC_FETCH_ADD, 0, 1, &orig,
			      &why) || why != SRNIC_KEY_OK)
			a->err = 1;
		a->sum += orig;
		if (i % 1024 == 0)
			cond_resched();
	}
	complete(&a->done);
	return 0;
}

/*
 * No update is lost, and no value was seen twice: the values before are 0 to
 * n - 1, each once, whose sum is known.
 */
static void concurrent_adds(struct kunit *test, bool io)
{
	struct fixture *f = new_fixture(test, io);
	struct adder *adder = kunit_kcalloc(test, ADDERS, sizeof(*adder),
					    GFP_KERNEL);
	u64 n = ADDERS * ADDS, sum = 0;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, adder);
	for (i = 0; i < ADDERS; i++) {
		adder[i].f = f;
		adder[i].off = 8;
		init_completion(&adder[i].done);
		adder[i].task = kthread_create(add_many, &adder[i],
					       "srnic_adder/%d", i);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, adder[i].task);
		get_task_struct(adder[i].task);
		wake_up_process(adder[i].task);
	}
	for (i = 0; i < ADDERS; i++) {
		wait_for_completion(&adder[i].done);
		/* its last instruction is this module's: wait for that too */
		kthread_stop(adder[i].task);
		put_task_struct(adder[i].task);
		KUNIT_EXPECT_EQ(test, adder[i].err, 0);
		sum += adder[i].sum;
	}
	KUNIT_EXPECT_EQ(test, *(u64 *)mem_of(f, 8), n);
	KUNIT_EXPECT_EQ(test, sum, n * (n - 1) / 2);
	end_fixture(f);
}

static void access_concurrent_adds(struct kunit *test)
{
	concurrent_adds(test, false);
}

static void access_concurrent_adds_io(struct kunit *test)
{
	if (!HAVE_IO)
		kunit_skip(test, "no I/O addresses without a device here");
	concurrent_adds(test, true);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(access_copies),
	KUNIT_CASE(access_copies_io),
	KUNIT_CASE(access_mtt_offset),
	KUNIT_CASE(access_refusals),
	KUNIT_CASE(access_empty_region),
	KUNIT_CASE(access_dma),
	KUNIT_CASE(access_atomics),
	KUNIT_CASE(access_atomics_io),
	KUNIT_CASE(access_atomic_alignment),
	KUNIT_CASE(access_concurrent_adds),
	KUNIT_CASE(access_concurrent_adds_io),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_access",
	.test_cases = cases,
};

kunit_test_suite(suite);

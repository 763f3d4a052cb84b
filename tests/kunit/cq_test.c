// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues of kernel users: what a QP that goes leaves behind, and who
 * is told of an overrun. (Programs' queues: tests/vm/queues.t.)
 */
#include <kunit/test.h>
#include <linux/module.h>
#include <rdma/ib_verbs.h>

#include "../../drivers/srnic/cq.h"
#include "rng.h"

#define DEPTH	16
#define QPS	3

/* Only their addresses count. */
static struct ib_qp qps[QPS];

static struct {
	int completions;
	int errors;
} calls;

static void completed(struct ib_cq *cq, void *context)
{
	calls.completions++;
}

static void happened(struct ib_event *event, void *context)
{
	calls.errors += event->event == IB_EVENT_CQ_ERR;
}

static struct srnic_cq *new_cq(struct kunit *test)
{
	struct srnic_cq *cq = kunit_kzalloc(test, sizeof(*cq), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, cq);
	memset(&calls, 0, sizeof(calls));
	KUNIT_ASSERT_EQ(test, srnic_cq_create(cq, NULL, DEPTH, NULL), 0);
	cq->ibcq.comp_handler = completed;
	cq->ibcq.event_handler = happened;
	return cq;
}

static bool push(struct srnic_cq *cq, u64 wr_id, struct ib_qp *qp)
{
	const struct srnic_cqe cqe = { .wr_id = wr_id };

	return srnic_cq_push(cq, &cqe, qp, false);
}

/* Against a list: any mixture, at any place of the ring. */
static void cq_clean(struct kunit *test)
{
	struct srnic_cq *cq = new_cq(test);
	u64 id = 0, first = 0;
	struct rnd_state rng;
	struct ib_wc wc[DEPTH];
	u8 owner[DEPTH];
	int round, i, n, got, next;

	prandom_seed_state(&rng, 41);
	for (round = 0; round < 2000; round++) {
		u32 gone = rng_below(&rng, QPS);

		n = rng_below(&rng, DEPTH + 1);
		first = id;
		for (i = 0; i < n; i++) {
			owner[i] = rng_below(&rng, QPS);
			push(cq, id++, &qps[owner[i]]);
		}
		srnic_cq_clean(cq, &qps[gone]);
		got = srnic_cq_poll(cq, DEPTH, wc);
		for (i = next = 0; i < n; i++) {
			if (owner[i] == gone)
				continue;
			if (next == got || wc[next].wr_id != first + i ||
			    wc[next].qp != &qps[owner[i]])
				break;
			next++;
		}
		if (i != n || next != got) {
			KUNIT_FAIL(test, "round %d: entry %d of %d", round, i, n);
			break;
		}
	}
	KUNIT_EXPECT_FALSE(test, srnic_cq_has_lost(cq));
	srnic_cq_destroy(cq);
}

/* A full ring has room again when a QP's entries have gone. */
static void cq_clean_makes_room(struct kunit *test)
{
	struct srnic_cq *cq = new_cq(test);
	struct ib_wc wc;
	int i;

	for (i = 0; i < DEPTH; i++)
		push(cq, i, &qps[i % 2]);
	srnic_cq_clean(cq, &qps[0]);
	for (i = 0; i < DEPTH / 2; i++)
		push(cq, DEPTH + i, &qps[2]);
	KUNIT_EXPECT_FALSE(test, srnic_cq_has_lost(cq));
	for (i = 0; i < DEPTH; i++) {
		KUNIT_ASSERT_EQ(test, srnic_cq_poll(cq, 1, &wc), 1);
		KUNIT_EXPECT_PTR_EQ(test, wc.qp, &qps[i < DEPTH / 2 ? 1 : 2]);
	}
	KUNIT_EXPECT_EQ(test, srnic_cq_poll(cq, 1, &wc), 0);
	srnic_cq_destroy(cq);
}

/*
 * Two QPs push on two CPUs: one fills the last place of an armed CQ, the other
 * finds none. Both have to wake; one error is told.
 */
static void cq_error_once(struct kunit *test)
{
	struct srnic_cq *cq = new_cq(test);
	struct ib_wc wc;
	int i;

	for (i = 0; i < DEPTH - 1; i++)
		KUNIT_EXPECT_FALSE(test, push(cq, i, &qps[0]));
	srnic_cq_arm(cq, IB_CQ_NEXT_COMP);
	KUNIT_EXPECT_TRUE(test, push(cq, i, &qps[0]));
	KUNIT_EXPECT_FALSE(test, srnic_cq_has_lost(cq));
	KUNIT_EXPECT_TRUE(test, push(cq, i, &qps[1]));
	KUNIT_EXPECT_TRUE(test, srnic_cq_has_lost(cq));
	srnic_cq_wake(cq);
	KUNIT_EXPECT_EQ(test, calls.errors, 1);
	srnic_cq_wake(cq);
	KUNIT_EXPECT_EQ(test, calls.errors, 1);
	KUNIT_EXPECT_EQ(test, calls.completions, 2);

	/* for good: room doesn't help, and nobody is told again */
	KUNIT_EXPECT_EQ(test, srnic_cq_poll(cq, 1, &wc), 1);
	KUNIT_EXPECT_FALSE(test, push(cq, i, &qps[1]));
	srnic_cq_clean(cq, &qps[0]);
	KUNIT_EXPECT_EQ(test, srnic_cq_poll(cq, 1, &wc), 0);
	KUNIT_EXPECT_EQ(test, calls.errors, 1);
	srnic_cq_destroy(cq);
}

static void ring_sizes(struct kunit *test)
{
	struct srnic_ring ring;

	KUNIT_EXPECT_EQ(test, srnic_ring_alloc(&ring, NULL, 0, 64, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, srnic_ring_alloc(&ring, NULL, BIT(30), U32_MAX, NULL),
			-EINVAL);
	KUNIT_ASSERT_EQ(test, srnic_ring_alloc(&ring, NULL, 1000, 64, NULL), 0);
	KUNIT_EXPECT_EQ(test, ring.depth, 1024);
	/* nothing of another owner shows */
	KUNIT_EXPECT_NULL(test, memchr_inv(ring.hdr, 0, SRNIC_RING_HDR_SIZE +
					   1024 * 64));
	memset(ring.hdr, 0xff, SRNIC_RING_HDR_SIZE + 1024 * 64);
	srnic_ring_free(&ring);
	srnic_ring_free(&ring);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(cq_clean),
	KUNIT_CASE(cq_clean_makes_room),
	KUNIT_CASE(cq_error_once),
	KUNIT_CASE(ring_sizes),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_cq",
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit tests of srnic's completion queues");
MODULE_LICENSE("GPL");

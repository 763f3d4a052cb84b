// SPDX-License-Identifier: GPL-2.0
/*
 * What a QP takes along from state to state, and what it must not: clocks,
 * counts, work that hasn't begun.
 */
#include <rdma/ib_pack.h>

#include "tp.h"

#define MTU		256
#define WRITE_ONLY	IB_OPCODE_RC_RDMA_WRITE_ONLY
#define MS		NSEC_PER_MSEC

/* A life with this clock: something is acknowledged, while the timer pends. */
static void live_with(struct tp_pair *t, int timeout)
{
	struct tp_conf conf = { .timeout = timeout };

	tp_connect(t, &conf);
	tp_post_simple(t, IB_WR_RDMA_WRITE, 1, 0);
	tp_pump(t);
	KUNIT_ASSERT_EQ(t->test, t->a.qp.sq.cons, 1);
}

/* The clock of one life is none of the next's. */
static void states_clock_of_old(struct kunit *test)
{
	struct tp_conf soon = { .timeout = 8 }, never = { .timeout = -1, .retry = -1 };
	struct tp_pair *t = test->priv;
	u64 before;

	/* 4.3 s before, 1 ms now: a loss is noticed in 4 ms and some ticks */
	live_with(t, 20);
	tp_connect(t, &soon);
	tp_post_simple(t, IB_WR_RDMA_WRITE, 1, 0);
	KUNIT_EXPECT_EQ(test, tp_drop_all(&t->a), 1);
	tp_advance(4 * tp_timeout_ns(t) + 10 * TP_TICK);
	tp_expect(t, &t->a, WRITE_ONLY, 0);

	/* no clock now: nothing fires that was set before */
	live_with(t, 8);
	tp_post_simple(t, IB_WR_RDMA_WRITE, 1, 0);
	tp_connect(t, &never);
	before = tp_stat(&t->a, SRNIC_STAT_TIMEOUTS);
	tp_post_simple(t, IB_WR_RDMA_WRITE, 1, IB_SEND_SIGNALED);
	KUNIT_EXPECT_EQ(test, tp_drop_all(&t->a), 1);
	tp_advance(100ull * NSEC_PER_SEC);
	tp_expect_nothing(t, &t->a);
	tp_expect_no_wc(t, &t->a.scq);
	KUNIT_EXPECT_EQ(test, tp_stat(&t->a, SRNIC_STAT_TIMEOUTS), before);
}

/* A RNR pause of one life is none of the next's either. */
static void states_pause_of_old(struct kunit *test)
{
	struct tp_pair *t = test->priv;

	tp_connect(t, NULL);
	tp_post_simple(t, IB_WR_SEND, 1, 0);
	tp_drop_all(&t->a);
	tp_rnr(t, 0, 20);	/* 10.24 ms */
	tp_connect(t, NULL);
	tp_post_simple(t, IB_WR_SEND, 1, 0);
	tp_drop_all(&t->a);
	tp_rnr(t, 0, 28);	/* 163.84 ms */
	tp_advance(100 * MS);
	tp_expect_nothing(t, &t->a);
	tp_advance(100 * MS);
	tp_expect(t, &t->a, IB_OPCODE_RC_SEND_ONLY, 0);
}

static void set_timeout(struct tp_pair *t, int timeout)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_SQD, .cur_qp_state = IB_QPS_SQD,
		.timeout = timeout,
	};

	KUNIT_ASSERT_EQ(t->test, srnic_qp_modify(&t->a.qp, &attr, IB_QP_STATE |
						 IB_QP_TIMEOUT), 0);
}

/* A new timeout counts for what is on its way. */
static void states_new_timeout(struct kunit *test)
{
	struct tp_conf conf = { .timeout = 20 };
	struct tp_pair *t = tp_connected(test, &conf);

	tp_post_simple(t, IB_WR_RDMA_WRITE, 1, 0);
	tp_drop_all(&t->a);
	tp_modify(t, &t->a, IB_QPS_SQD);
	set_timeout(t, 8);
	t->conf.timeout = 8;
	tp_advance(4 * tp_timeout_ns(t) + 10 * TP_TICK);
	tp_expect(t, &t->a, WRITE_ONLY, 0);
	set_timeout(t, 0);
	tp_drop_all(&t->a);
	tp_advance(10ull * NSEC_PER_SEC);
	tp_expect_nothing(t, &t->a);
}

static bool draining(struct tp_pair *t)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	KUNIT_ASSERT_EQ(t->test, srnic_qp_query(&t->a.qp, &attr, IB_QP_STATE,
						&init), 0);
	KUNIT_EXPECT_EQ(t->test, attr.qp_state, IB_QPS_SQD);
	return attr.sq_draining;
}

/* Who asks is told, whether or not an event was wanted. */
static void states_draining(struct kunit *test)
{
	struct ib_qp_attr sqd = { .qp_state = IB_QPS_SQD };
	struct tp_pair *t = tp_connected(test, NULL);

	tp_post_simple(t, IB_WR_RDMA_WRITE, 1, 0);
	KUNIT_ASSERT_EQ(test, srnic_qp_modify(&t->a.qp, &sqd, IB_QP_STATE), 0);
	KUNIT_EXPECT_TRUE(test, draining(t));
	/* what is posted now isn't begun, and not waited for */
	tp_post_simple(t, IB_WR_RDMA_WRITE, 1, 0);
	tp_ack(t, 0);
	KUNIT_EXPECT_FALSE(test, draining(t));
	tp_advance(0);
	KUNIT_EXPECT_FALSE(test, t->a.events & BIT(IB_EVENT_SQ_DRAINED));
}

/* Nor does it fail before it begins. */
static void states_sqd_bad_work(struct kunit *test)
{
	struct tp_wr bad = {
		.op = IB_WR_ATOMIC_FETCH_AND_ADD, .len = 4, .id = 7,
		.flags = IB_SEND_SIGNALED,
	};
	struct tp_pair *t = tp_connected(test, NULL);

	tp_post_simple(t, IB_WR_RDMA_WRITE, 1, IB_SEND_SIGNALED);
	tp_modify(t, &t->a, IB_QPS_SQD);
	KUNIT_ASSERT_EQ(test, tp_post(&t->a, &bad), 0);
	tp_ack(t, 0);
	tp_expect_wc(t, &t->a.scq, 0, IB_WC_SUCCESS);
	tp_expect_no_wc(t, &t->a.scq);
	tp_advance(0);
	KUNIT_EXPECT_TRUE(test, t->a.events & BIT(IB_EVENT_SQ_DRAINED));
	KUNIT_EXPECT_EQ(test, t->a.qp.state, IB_QPS_SQD);
	tp_modify(t, &t->a, IB_QPS_RTS);
	tp_expect_wc(t, &t->a.scq, 7, IB_WC_LOC_LEN_ERR);
	KUNIT_EXPECT_EQ(test, t->a.qp.state, IB_QPS_ERR);
}

/* A SEND counts once, when it is done, however often it was sent. */
static void states_sends(struct kunit *test)
{
	struct tp_conf conf = { .retry = 2 };
	struct tp_pair *t = tp_connected(test, &conf);

	tp_post_simple(t, IB_WR_SEND, 1, 0);
	tp_post_simple(t, IB_WR_RDMA_WRITE, 1, 0);
	tp_until_sent(t);
	tp_drop_all(&t->a);
	tp_nak(t, 0, SRNIC_NAK_PSN_SEQ);
	KUNIT_EXPECT_EQ(test, tp_drop_all(&t->a), 2);
	KUNIT_EXPECT_EQ(test, tp_stat(&t->a, SRNIC_STAT_RDMA_SENDS), 0);
	tp_ack(t, 1);
	KUNIT_EXPECT_EQ(test, tp_stat(&t->a, SRNIC_STAT_RDMA_SENDS), 1);
	tp_post_simple(t, IB_WR_SEND, 1, IB_SEND_SIGNALED);
	tp_nak(t, 2, SRNIC_NAK_REM_OP);
	tp_expect_wc(t, &t->a.scq, 0, IB_WC_REM_OP_ERR);
	KUNIT_EXPECT_EQ(test, tp_stat(&t->a, SRNIC_STAT_RDMA_SENDS), 1);
}

#define LIVES	512

/* Of 16 parts of 24 bits, chance leaves one out in 512 draws once in 10^13. */
static u32 parts(const u32 *value, u32 n, unsigned int shift)
{
	unsigned long seen = 0;

	while (n--)
		seen |= BIT(value[n] >> shift & 15);
	return hweight_long(seen);
}

/* A QP's number doesn't follow from the ones before it. */
static void state_numbers(struct kunit *test)
{
	u32 *qpn = kunit_kcalloc(test, LIVES, sizeof(*qpn), GFP_KERNEL);
	u32 *step = kunit_kcalloc(test, LIVES, sizeof(*step), GFP_KERNEL);
	struct srnic_qp *qp = kunit_kzalloc(test, sizeof(*qp), GFP_KERNEL);
	struct tp_pair *t = test->priv;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, qp);
	KUNIT_ASSERT_NOT_NULL(test, qpn);
	KUNIT_ASSERT_NOT_NULL(test, step);
	for (i = 0; i < LIVES; i++) {
		tp_qp_create(t, &t->a, qp);
		qpn[i] = qp->qpn;
		srnic_qp_destroy(qp);
		KUNIT_ASSERT_GT(test, qpn[i], 1);
		KUNIT_ASSERT_LT(test, qpn[i], 0xffffff);
		step[i] = i ? (qpn[i] - qpn[i - 1]) & 0xffffff : get_random_u32() & 0xffffff;
	}
	KUNIT_EXPECT_EQ(test, parts(qpn, LIVES, 0), 16);
	KUNIT_EXPECT_EQ(test, parts(qpn, LIVES, 20), 16);
	KUNIT_EXPECT_EQ(test, parts(step, LIVES, 0), 16);
	KUNIT_EXPECT_EQ(test, parts(step, LIVES, 20), 16);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(state_numbers),
	KUNIT_CASE(states_clock_of_old),
	KUNIT_CASE(states_pause_of_old),
	KUNIT_CASE(states_new_timeout),
	KUNIT_CASE(states_draining),
	KUNIT_CASE(states_sqd_bad_work),
	KUNIT_CASE(states_sends),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_states",
	.init = tp_pair_init,
	.exit = tp_pair_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);

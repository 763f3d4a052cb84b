// SPDX-License-Identifier: GPL-2.0
/*
 * The requester when things go wrong: losses, timeouts, receivers that aren't
 * ready, netdevs that are full and routes that aren't there.
 */
#include <rdma/ib_pack.h>

#include "tp.h"

#define MTU	256
#define WINDOW	32	/* of a new QP */
#define CHUNK	16	/* responses to one READ request */

#define SEND_ONLY	IB_OPCODE_RC_SEND_ONLY
#define WRITE_FIRST	IB_OPCODE_RC_RDMA_WRITE_FIRST
#define WRITE_ONLY	IB_OPCODE_RC_RDMA_WRITE_ONLY
#define WRITE_MIDDLE	IB_OPCODE_RC_RDMA_WRITE_MIDDLE
#define WRITE_LAST	IB_OPCODE_RC_RDMA_WRITE_LAST

static void retry_seq_nak(struct kunit *test)
{
	struct tp_conf conf = { .psn = 0xfffffc };
	struct tp_pair *t = tp_connected(test, &conf);

	KUNIT_ASSERT_EQ(test, tp_post_simple(t, IB_WR_RDMA_WRITE, 3 * MTU, 0), 0);
	KUNIT_ASSERT_EQ(test, tp_post_simple(t, IB_WR_RDMA_WRITE, 6 * MTU, 0), 0);
	KUNIT_EXPECT_EQ(test, tp_drop_all(&t->a), 9);
	/* 0 to 4 have arrived; a PSN behind them says so */
	tp_nak(t, 5, SRNIC_NAK_PSN_SEQ);
	KUNIT_EXPECT_EQ(test, t->a.qp.sq.cons, 1);
	tp_expect(t, &t->a, WRITE_MIDDLE, tp_psn(t, 5));
	tp_expect(t, &t->a, WRITE_MIDDLE, tp_psn(t, 6));
	tp_expect(t, &t->a, WRITE_MIDDLE, tp_psn(t, 7));
	tp_expect(t, &t->a, WRITE_LAST, tp_psn(t, 8));
	tp_expect_nothing(t, &t->a);
	tp_ack(t, 8);
	KUNIT_EXPECT_EQ(test, t->a.qp.sq.cons, 2);
	KUNIT_EXPECT_EQ(test, t->a.qp.sq.retries, 7);
}

/* A READ goes on where its data ended, in the same chunks. */
static void retry_read_retry(struct kunit *test)
{
	struct tp_pair *t = tp_connected(test, NULL);
	int i;

	KUNIT_ASSERT_EQ(test, tp_post_simple(t, IB_WR_RDMA_READ, 20 * MTU, 0), 0);
	tp_expect_read(t, 0, 0, CHUNK * MTU);
	tp_deliver(&t->b, &t->a.last->pkt);
	tp_expect_read(t, CHUNK, CHUNK * MTU, 4 * MTU);
	for (i = 0; i < 5; i++) {
		KUNIT_ASSERT_NOT_NULL(test, tp_next(&t->b));
		tp_deliver(&t->a, &t->b.last->pkt);
	}
	tp_drop_all(&t->b);
	tp_nak(t, 5, SRNIC_NAK_PSN_SEQ);
	tp_expect_read(t, 5, 5 * MTU, (CHUNK - 5) * MTU);
	/* the loss has made the window smaller than the rest */
	tp_expect_nothing(t, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.qp.sq.rd_tail - t->a.qp.sq.rd_head, 1);
	for (i = 0; i < CHUNK && list_empty(&t->a.sent); i++) {
		struct srnic_pkt_out out = {
			.opcode = IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE,
			.psn = t->a.qp.sq.una, .len = MTU,
		};

		tp_forge(t, &t->b, &out, t->b.mem);
	}
	tp_expect_read(t, CHUNK, CHUNK * MTU, 4 * MTU);
}

/* Each time one packet, after T to 4 T; then the QP fails. */
static void retry_timeouts(struct kunit *test)
{
	struct tp_conf conf = { .timeout = 14, .retry = 3 };
	struct tp_pair *t = tp_connected(test, &conf);
	u64 T = tp_timeout_ns(t), start;
	int i;

	KUNIT_ASSERT_EQ(test, tp_post_simple(t, IB_WR_RDMA_WRITE, 5 * MTU, 0), 0);
	KUNIT_ASSERT_EQ(test, tp_post_simple(t, IB_WR_SEND, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, tp_drop_all(&t->a), 6);
	for (i = 0; i < 3; i++) {
		start = tp_now();
		tp_until_sent(t);
		KUNIT_EXPECT_GE(test, tp_now() - start, T);
		KUNIT_EXPECT_LE(test, tp_now() - start, 4 * (T + TP_TICK) + 2 * TP_TICK);
		tp_expect(t, &t->a, WRITE_FIRST, 0);
		tp_expect_nothing(t, &t->a);
		tp_expect_no_wc(t, &t->a.scq);
	}
	tp_advance(4 * (T + TP_TICK) + 2 * TP_TICK);
	tp_expect_nothing(t, &t->a);
	tp_expect_wc(t, &t->a.scq, 0, IB_WC_RETRY_EXC_ERR);
	tp_expect_wc(t, &t->a.scq, 0, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, t->a.qp.state, IB_QPS_ERR);
}

/* Timeout code 0: for ever. */
static void retry_no_timeout(struct kunit *test)
{
	struct tp_conf conf = { .timeout = -1, .retry = 1 };
	struct tp_pair *t = tp_connected(test, &conf);

	KUNIT_ASSERT_EQ(test, tp_post_simple(t, IB_WR_RDMA_WRITE, 1, 0), 0);
	tp_drop_all(&t->a);
	tp_advance(1000ull * NSEC_PER_SEC);
	tp_expect_nothing(t, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.qp.state, IB_QPS_RTS);
}

/*
 * The acknowledge was late, not lost: behind it nothing is sent twice, and what
 * it says of the READs outstanding is right.
 */
static void retry_early_timeout(struct kunit *test)
{
	struct tp_pair *t = tp_connected(test, NULL);

	KUNIT_ASSERT_EQ(test, tp_post_simple(t, IB_WR_RDMA_WRITE, 100 * MTU, 0), 0);
	KUNIT_EXPECT_EQ(test, tp_drop_all(&t->a), WINDOW);
	tp_until_sent(t);
	tp_expect(t, &t->a, WRITE_FIRST, 0);
	tp_expect_nothing(t, &t->a);
	tp_ack(t, 20);
	/* 21 to 31 are on their way: on with 32 */
	tp_expect(t, &t->a, WRITE_MIDDLE, WINDOW);

	tp_connect(t, NULL);
	KUNIT_ASSERT_EQ(test, tp_post_simple(t, IB_WR_RDMA_WRITE, 2 * MTU, 0), 0);
	KUNIT_ASSERT_EQ(test, tp_post_simple(t, IB_WR_RDMA_READ, 2 * MTU, 0), 0);
	KUNIT_EXPECT_EQ(test, tp_drop_all(&t->a), 3);
	KUNIT_EXPECT_EQ(test, t->a.qp.sq.rd_tail - t->a.qp.sq.rd_head, 1);
	tp_until_sent(t);
	tp_expect(t, &t->a, WRITE_FIRST, 0);
	KUNIT_EXPECT_EQ(test, t->a.qp.sq.rd_tail - t->a.qp.sq.rd_head, 0);
	tp_ack(t, 1);
	tp_expect_nothing(t, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.qp.sq.rd_tail - t->a.qp.sq.rd_head, 1);
}

static void retry_rnr(struct kunit *test)
{
	struct tp_conf conf = { .rnr_retry = 2, .timeout = 1 };
	struct tp_pair *t = tp_connected(test, &conf);
	int i;

	KUNIT_ASSERT_EQ(test, tp_post_simple(t, IB_WR_SEND, 1, 0), 0);
	tp_expect(t, &t->a, SEND_ONLY, 0);
	for (i = 0; i < 2; i++) {
		/* code 0 is 655 ms: a hundred timeouts, none of which counts */
		tp_rnr(t, 0, i ? 12 : 0);
		/* the same once more is no news */
		tp_rnr(t, 0, 12);
		tp_expect_nothing(t, &t->a);
		tp_advance((i ? 640000 : 655360000) - 1);
		tp_expect_nothing(t, &t->a);
		tp_advance(1);
		tp_expect(t, &t->a, SEND_ONLY, 0);
		KUNIT_EXPECT_EQ(test, t->a.qp.sq.retries, 7);
	}
	tp_rnr(t, 0, 1);
	tp_expect_wc(t, &t->a.scq, 0, IB_WC_RNR_RETRY_EXC_ERR);
	KUNIT_EXPECT_EQ(test, t->a.qp.state, IB_QPS_ERR);
}

/* 7 is for ever, 0 is never, and what gets through makes up for it. */
static void retry_rnr_counts(struct kunit *test)
{
	struct tp_conf conf = { .timeout = -1 };
	struct tp_pair *t = tp_connected(test, &conf);
	int i;

	KUNIT_ASSERT_EQ(test, tp_post_simple(t, IB_WR_SEND, 1, 0), 0);
	for (i = 0; i < 100; i++) {
		tp_expect(t, &t->a, SEND_ONLY, 0);
		tp_rnr(t, 0, 1);
		tp_advance(10000);
	}
	KUNIT_EXPECT_EQ(test, t->a.qp.state, IB_QPS_RTS);

	conf.rnr_retry = -1;
	tp_connect(t, &conf);
	KUNIT_ASSERT_EQ(test, tp_post_simple(t, IB_WR_SEND, 1, 0), 0);
	tp_rnr(t, 0, 1);
	tp_expect_wc(t, &t->a.scq, 0, IB_WC_RNR_RETRY_EXC_ERR);

	conf.rnr_retry = 1;
	tp_connect(t, &conf);
	for (i = 0; i < 10; i++)
		KUNIT_ASSERT_EQ(test, tp_post_simple(t, IB_WR_SEND, 1, 0), 0);
	for (i = 0; i < 10; i++) {
		tp_rnr(t, i, 1);
		tp_advance(10000);
		tp_ack(t, i);
	}
	KUNIT_EXPECT_EQ(test, t->a.qp.sq.cons, 10);
}

/* A peer that says that it isn't ready hasn't gone: losses don't add up. */
static void retry_rnr_and_losses(struct kunit *test)
{
	struct tp_conf conf = { .retry = 1 };
	struct tp_pair *t = tp_connected(test, &conf);
	int i;

	KUNIT_ASSERT_EQ(test, tp_post_simple(t, IB_WR_SEND, 1, 0), 0);
	for (i = 0; i < 10; i++) {
		tp_expect(t, &t->a, SEND_ONLY, 0);
		/* lost, and once more */
		tp_until_sent(t);
		tp_expect(t, &t->a, SEND_ONLY, 0);
		tp_rnr(t, 0, 1);
		tp_advance(10000);
	}
	KUNIT_EXPECT_EQ(test, t->a.qp.state, IB_QPS_RTS);
}

/* A pause, then on with the packet that was refused. */
static void retry_queue_full(struct kunit *test)
{
	struct tp_pair *t = tp_connected(test, NULL);

	t->a.xmit_err = -ENOBUFS;
	t->a.xmit_left = 3;
	KUNIT_ASSERT_EQ(test, tp_post_simple(t, IB_WR_RDMA_WRITE, 6 * MTU, 0), 0);
	tp_expect_write(t, 0, 3, false);
	tp_advance(199999);
	t->a.xmit_err = 0;
	tp_expect_nothing(t, &t->a);
	tp_advance(1);
	tp_expect(t, &t->a, WRITE_MIDDLE, 3);
	tp_expect(t, &t->a, WRITE_MIDDLE, 4);
	tp_expect(t, &t->a, WRITE_LAST, 5);
	KUNIT_EXPECT_EQ(test, t->a.qp.sq.retries, 7);

	/* no memory for a packet is the same */
	t->a.no_memory = true;
	KUNIT_ASSERT_EQ(test, tp_post_simple(t, IB_WR_RDMA_WRITE, 1, 0), 0);
	t->a.no_memory = false;
	tp_advance(200000);
	tp_expect(t, &t->a, WRITE_ONLY, 6);
}

/* While the queue is full the clock goes on: the peer may be dead. */
static void retry_queue_full_clock(struct kunit *test)
{
	struct tp_conf conf = { .retry = 3 };
	struct tp_pair *t = tp_connected(test, &conf);

	t->a.xmit_err = -ENOBUFS;
	t->a.xmit_left = 2;
	KUNIT_ASSERT_EQ(test, tp_post_simple(t, IB_WR_RDMA_WRITE, 6 * MTU, 0), 0);
	tp_advance(100 * (tp_timeout_ns(t) + TP_TICK));
	tp_expect_wc(t, &t->a.scq, 0, IB_WC_RETRY_EXC_ERR);
}

/* So it does where not even the first packet leaves. */
static void retry_queue_full_for_ever(struct kunit *test)
{
	struct tp_conf conf = { .retry = 3 };
	struct tp_pair *t = tp_connected(test, &conf);

	t->a.xmit_err = -ENOBUFS;
	KUNIT_ASSERT_EQ(test, tp_post_simple(t, IB_WR_RDMA_READ, 6 * MTU, 0), 0);
	tp_advance(tp_timeout_ns(t));
	tp_expect_no_wc(t, &t->a.scq);
	tp_advance(100 * (tp_timeout_ns(t) + TP_TICK));
	tp_expect_wc(t, &t->a.scq, 0, IB_WC_RETRY_EXC_ERR);
}

/* An RNR NAK that comes while the netdev's queue is full counts. */
static void retry_queue_full_rnr(struct kunit *test)
{
	struct tp_conf conf = { .timeout = -1 };
	struct tp_pair *t = tp_connected(test, &conf);

	t->a.xmit_err = -ENOBUFS;
	t->a.xmit_left = 1;
	KUNIT_ASSERT_EQ(test, tp_post_simple(t, IB_WR_SEND, 1, 0), 0);
	KUNIT_ASSERT_EQ(test, tp_post_simple(t, IB_WR_SEND, 1, 0), 0);
	tp_expect(t, &t->a, SEND_ONLY, 0);
	t->a.xmit_err = 0;
	tp_rnr(t, 0, 12);	/* 640 us */
	tp_advance(639999);
	tp_expect_nothing(t, &t->a);
	tp_advance(1);
	tp_expect(t, &t->a, SEND_ONLY, 0);
	tp_expect(t, &t->a, SEND_ONLY, 1);
}

/* What the route says is a loss, even where it says the same as a key would. */
static void retry_route_errors(struct kunit *test)
{
	static const int errs[] = { -EACCES, -ENETUNREACH, -EHOSTUNREACH,
				    -EMSGSIZE, -EPERM };
	struct tp_pair *t = test->priv;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(errs); i++) {
		struct tp_wr wr = { .op = IB_WR_RDMA_READ, .len = MTU, .id = 2,
				    .flags = IB_SEND_SIGNALED };
		u64 before;

		tp_connect(t, NULL);
		before = tp_stat(&t->a, SRNIC_STAT_SEND_ERR);
		t->a.xmit_err = errs[i];
		KUNIT_ASSERT_EQ(test, tp_post_simple(t, IB_WR_RDMA_WRITE, MTU + 1,
						     IB_SEND_SIGNALED), 0);
		KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
		tp_expect_no_wc(t, &t->a.scq);
		KUNIT_EXPECT_EQ(test, t->a.qp.state, IB_QPS_RTS);
		KUNIT_EXPECT_EQ(test, tp_stat(&t->a, SRNIC_STAT_SEND_ERR),
				before + 3);
		t->a.xmit_err = 0;
		tp_until_sent(t);
		tp_pump(t);
		tp_expect_wc(t, &t->a.scq, 0, IB_WC_SUCCESS);
		tp_expect_wc(t, &t->a.scq, 2, IB_WC_SUCCESS);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(retry_seq_nak),
	KUNIT_CASE(retry_read_retry),
	KUNIT_CASE(retry_timeouts),
	KUNIT_CASE(retry_no_timeout),
	KUNIT_CASE(retry_early_timeout),
	KUNIT_CASE(retry_rnr),
	KUNIT_CASE(retry_rnr_counts),
	KUNIT_CASE(retry_rnr_and_losses),
	KUNIT_CASE(retry_queue_full),
	KUNIT_CASE(retry_queue_full_clock),
	KUNIT_CASE(retry_queue_full_for_ever),
	KUNIT_CASE(retry_queue_full_rnr),
	KUNIT_CASE(retry_route_errors),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_retry",
	.init = tp_pair_init,
	.exit = tp_pair_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);

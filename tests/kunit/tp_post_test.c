// SPDX-License-Identifier: GPL-2.0
/*
 * A kernel user may post, poll and arm in a hard interrupt (the kernel's
 * Documentation/infiniband/core_locking.rst: from any context). On the debug
 * kernel lockdep compares with what the other suites do in softirqs.
 */
#include <linux/irq_work.h>
#include <linux/preempt.h>

#include "tp.h"

/**
 * struct hard_call - what the interrupt does, and what it finds
 * @work: brings it about
 * @e: with whose queues
 * @sends: to post
 * @recvs: to post
 * @polls: completions to take of each CQ
 * @in_hardirq: it was one
 * @sent: of @sends, how many were taken
 * @received: of @recvs, how many were taken
 * @send_err: of the first that wasn't
 * @recv_err: the same for receives
 * @polled: completions
 * @armed: what arming returned
 * @packets: sent there and then, which must not be
 */
struct hard_call {
	struct irq_work work;
	struct tp_end *e;
	u32 sends;
	u32 recvs;
	u32 polls;
	bool in_hardirq;
	u32 sent;
	u32 received;
	int send_err;
	int recv_err;
	u32 polled;
	int armed;
	bool packets;
};

static void do_hard_call(struct irq_work *work)
{
	struct hard_call *c = container_of(work, struct hard_call, work);
	struct tp_wr wr = { .op = IB_WR_SEND, .len = 8, .flags = IB_SEND_SIGNALED };
	bool had = !list_empty(&c->e->sent);
	struct ib_wc wc;
	u32 i;

	c->in_hardirq = in_hardirq();
	for (i = 0; i < c->recvs && !c->recv_err; i++) {
		c->recv_err = tp_post_recv(c->e, i, 0x10000, 2048);
		c->received += !c->recv_err;
	}
	for (i = 0; i < c->sends && !c->send_err; i++) {
		wr.id = i;
		c->send_err = tp_post(c->e, &wr);
		c->sent += !c->send_err;
	}
	for (i = 0; i < c->polls; i++) {
		c->polled += srnic_cq_poll(&c->e->scq, 1, &wc);
		c->polled += srnic_cq_poll(&c->e->rcq, 1, &wc);
	}
	c->armed = srnic_cq_arm(&c->e->scq, IB_CQ_NEXT_COMP |
				IB_CQ_REPORT_MISSED_EVENTS);
	c->packets = !had && !list_empty(&c->e->sent);
}

static void hard(struct tp_pair *t, struct hard_call *c)
{
	c->work = IRQ_WORK_INIT_HARD(do_hard_call);
	irq_work_queue(&c->work);
	irq_work_sync(&c->work);
	KUNIT_ASSERT_TRUE(t->test, c->in_hardirq);
	KUNIT_EXPECT_FALSE(t->test, c->packets);
}

/* Nothing is sent in the interrupt, all right behind it. */
static void post_in_hardirq(struct kunit *test)
{
	struct tp_pair *t = test->priv;
	struct hard_call send = { .e = &t->a, .sends = 3 };
	struct hard_call recv = { .e = &t->b, .recvs = 3 };
	struct hard_call poll = { .e = &t->a, .polls = 3 };
	u32 i;

	tp_connect(t, NULL);
	/* the locks are known from softirqs */
	tp_post_recvs(t, 1);
	tp_post_simple(t, IB_WR_SEND, 8, IB_SEND_SIGNALED);
	tp_pump(t);
	tp_expect_wc(t, &t->a.scq, 0, IB_WC_SUCCESS);
	tp_expect_wc(t, &t->b.rcq, 0, IB_WC_SUCCESS);

	hard(t, &recv);
	KUNIT_EXPECT_EQ(test, recv.received, 3);
	hard(t, &send);
	KUNIT_EXPECT_EQ(test, send.sent, 3);
	KUNIT_EXPECT_EQ(test, send.armed, 0);
	tp_advance(0);
	tp_pump(t);
	for (i = 0; i < 3; i++)
		tp_expect_wc(t, &t->b.rcq, i, IB_WC_SUCCESS);
	hard(t, &poll);
	KUNIT_EXPECT_EQ(test, poll.polled, 3);
	tp_expect_no_wc(t, &t->a.scq);
}

/* What is full is full there too, and what has its place is done. */
static void post_when_full(struct kunit *test)
{
	struct tp_pair *t = test->priv;
	struct hard_call fill = {
		.e = &t->a, .sends = TP_DEPTH + 1, .recvs = TP_DEPTH + 1,
	};
	struct hard_call again = { .e = &t->a, .sends = 1 };
	struct hard_call missed = { .e = &t->a };
	u32 i, round;

	/* the indices wrap the queue; what a reset forgets doesn't count */
	for (round = 0; round < 3; round++) {
		tp_connect(t, NULL);
		tp_post_recvs(t, TP_DEPTH);
		fill.sent = 0;
		fill.received = 0;
		fill.send_err = 0;
		fill.recv_err = 0;
		hard(t, &fill);
		KUNIT_EXPECT_EQ(test, fill.sent, TP_DEPTH);
		KUNIT_EXPECT_EQ(test, fill.send_err, -ENOMEM);
		KUNIT_EXPECT_EQ(test, fill.received, TP_DEPTH);
		KUNIT_EXPECT_EQ(test, fill.recv_err, -ENOMEM);
		if (round < 2)
			continue;
		tp_advance(0);
		tp_pump(t);
		for (i = 0; i < TP_DEPTH; i++)
			tp_expect_wc(t, &t->b.rcq, i, IB_WC_SUCCESS);
	}
	hard(t, &missed);
	KUNIT_EXPECT_EQ(test, missed.armed, 1);
	for (i = 0; i < TP_DEPTH; i++)
		tp_expect_wc(t, &t->a.scq, i, IB_WC_SUCCESS);
	tp_post_recvs(t, 1);
	hard(t, &again);
	KUNIT_EXPECT_EQ(test, again.sent, 1);
	tp_advance(0);
	tp_pump(t);
	tp_expect_wc(t, &t->b.rcq, 0, IB_WC_SUCCESS);
	tp_expect_wc(t, &t->a.scq, 0, IB_WC_SUCCESS);
}

/* No state in which it is lost, or taken where it must not be. */
static void post_in_states(struct kunit *test)
{
	struct tp_pair *t = test->priv;
	struct hard_call reset = { .e = &t->a, .sends = 1, .recvs = 1 };
	struct hard_call init = { .e = &t->a, .sends = 1, .recvs = 1 };
	struct hard_call error = { .e = &t->a, .sends = 2, .recvs = 1 };

	tp_connect(t, NULL);
	tp_modify(t, &t->a, IB_QPS_RESET);
	hard(t, &reset);
	KUNIT_EXPECT_EQ(test, reset.send_err, -EINVAL);
	KUNIT_EXPECT_EQ(test, reset.recv_err, -EINVAL);
	tp_modify(t, &t->a, IB_QPS_INIT);
	hard(t, &init);
	KUNIT_EXPECT_EQ(test, init.send_err, -EINVAL);
	KUNIT_EXPECT_EQ(test, init.received, 1);
	tp_modify(t, &t->a, IB_QPS_RTR);
	tp_modify(t, &t->a, IB_QPS_RTS);
	tp_modify(t, &t->a, IB_QPS_ERR);
	tp_expect_wc(t, &t->a.rcq, 0, IB_WC_WR_FLUSH_ERR);
	hard(t, &error);
	tp_advance(0);
	tp_expect_wc(t, &t->a.scq, 0, IB_WC_WR_FLUSH_ERR);
	tp_expect_wc(t, &t->a.scq, 1, IB_WC_WR_FLUSH_ERR);
	tp_expect_wc(t, &t->a.rcq, 0, IB_WC_WR_FLUSH_ERR);
	tp_expect_no_wc(t, &t->a.scq);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(post_in_hardirq),
	KUNIT_CASE(post_when_full),
	KUNIT_CASE(post_in_states),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_posting",
	.init = tp_pair_init,
	.exit = tp_pair_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);

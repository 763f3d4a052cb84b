// SPDX-License-Identifier: GPL-2.0
/* Steps that several suites are made of. */
#include <rdma/ib_pack.h>

#include "tp.h"

struct tp_pair *tp_connected(struct kunit *test, const struct tp_conf *conf)
{
	struct tp_pair *t = test->priv;

	tp_connect(t, conf);
	return t;
}

int tp_post_simple(struct tp_pair *t, enum ib_wr_opcode op, u32 len, int flags)
{
	struct tp_wr wr = { .op = op, .len = len, .flags = flags };

	return tp_post(&t->a, &wr);
}

void tp_expect_write(struct tp_pair *t, u32 from, u32 n, bool whole)
{
	u32 i;

	for (i = 0; i < n; i++) {
		bool last = whole && i == n - 1;
		u8 op = last ? IB_OPCODE_RC_RDMA_WRITE_LAST :
			       IB_OPCODE_RC_RDMA_WRITE_MIDDLE;

		if (!i)
			op = last ? IB_OPCODE_RC_RDMA_WRITE_ONLY :
				    IB_OPCODE_RC_RDMA_WRITE_FIRST;
		tp_expect(t, &t->a, op, tp_psn(t, from + i));
	}
}

void tp_expect_read(struct tp_pair *t, u32 n, u32 off, u32 len)
{
	struct tp_packet *p = tp_expect(t, &t->a,
					IB_OPCODE_RC_RDMA_READ_REQUEST,
					tp_psn(t, n));

	KUNIT_EXPECT_EQ(t->test, p->pkt.va, TP_IOVA + off);
	KUNIT_EXPECT_EQ(t->test, p->pkt.dmalen, len);
	KUNIT_EXPECT_EQ(t->test, p->pkt.rkey, t->b.region[0]->key);
}

void tp_until_sent(struct tp_pair *t)
{
	while (list_empty(&t->a.sent)) {
		KUNIT_ASSERT_TRUE(t->test, tp_next_timer() != TP_NEVER);
		tp_run_until(tp_next_timer());
	}
}

void tp_block(struct tp_pair *t)
{
	t->b.xmit_err = -ENOBUFS;
}

void tp_unblock(struct tp_pair *t)
{
	t->b.xmit_err = 0;
	tp_advance(NSEC_PER_MSEC);
}

struct srnic_pkt_out tp_request(struct tp_pair *t, u8 opcode, u32 n, u32 len)
{
	return (struct srnic_pkt_out) {
		.opcode = opcode,
		.psn = tp_psn(t, n),
		.ackreq = true,
		.va = TP_IOVA,
		.rkey = t->b.region[0]->key,
		.dmalen = len,
		.len = srnic_opcodes[opcode].has & SRNIC_HAS_PAYLOAD ? len : 0,
	};
}

void tp_send(struct tp_pair *t, u8 opcode, u32 n, u32 len)
{
	struct srnic_pkt_out out = tp_request(t, opcode, n, len);

	tp_forge(t, &t->a, &out, t->a.mem);
}

void tp_read_request(struct tp_pair *t, u32 n, u32 skip, u32 len, u32 rkey)
{
	struct srnic_pkt_out out =
		tp_request(t, IB_OPCODE_RC_RDMA_READ_REQUEST, n, len);

	out.va = TP_IOVA + skip;
	out.rkey = rkey;
	tp_forge(t, &t->a, &out, NULL);
}

void tp_post_recvs(struct tp_pair *t, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		KUNIT_ASSERT_EQ(t->test, tp_post_recv(&t->b, i, 0x10000, 2048), 0);
}

struct tp_packet *tp_expect_aeth(struct tp_pair *t, u32 n, u8 syndrome)
{
	struct tp_packet *p = tp_expect(t, &t->b, IB_OPCODE_RC_ACKNOWLEDGE,
					tp_psn(t, n));

	KUNIT_ASSERT_EQ(t->test, p->pkt.syndrome, syndrome);
	return p;
}

void tp_expect_dead(struct tp_pair *t, enum ib_event_type event)
{
	tp_advance(0);
	KUNIT_EXPECT_EQ(t->test, t->b.qp.state, IB_QPS_ERR);
	KUNIT_EXPECT_TRUE(t->test, t->b.events & BIT(event));
	/* and deaf */
	tp_send(t, IB_OPCODE_RC_SEND_ONLY, 0, 1);
	tp_expect_nothing(t, &t->b);
}

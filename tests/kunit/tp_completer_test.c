// SPDX-License-Identifier: GPL-2.0
/*
 * The completer: what each answer, right or wrong, old or new, does.
 */
#include <rdma/ib_pack.h>

#include "rng.h"
#include "tp.h"

#define MTU	256

/* n work requests of one packet, with the wr_ids 0 to n - 1 */
static void post_many(struct tp_pair *t, enum ib_wr_opcode op, u32 len, u32 n)
{
	struct tp_wr wr = { .op = op, .len = len, .flags = IB_SEND_SIGNALED };

	for (wr.id = 0; wr.id < n; wr.id++)
		KUNIT_ASSERT_EQ(t->test, tp_post(&t->a, &wr), 0);
}

static void post_read(struct tp_pair *t, u32 len, u64 id)
{
	struct tp_wr wr = { .op = IB_WR_RDMA_READ, .len = len, .id = id,
			    .flags = IB_SEND_SIGNALED };

	KUNIT_ASSERT_EQ(t->test, tp_post(&t->a, &wr), 0);
}

static void read_data(struct tp_pair *t, u8 opcode, u32 n, u32 len)
{
	struct srnic_pkt_out out = {
		.opcode = opcode,
		.psn = tp_psn(t, n),
		.syndrome = SRNIC_AETH_ACK | SRNIC_AETH_NO_CREDITS,
		.len = len,
	};

	tp_forge(t, &t->b, &out, t->b.mem);
}

static void com_coalesced(struct kunit *test)
{
	struct tp_conf conf = { .psn = 0xfffffd };
	struct tp_pair *t = test->priv;
	int i;

	tp_connect(t, &conf);
	post_many(t, IB_WR_RDMA_WRITE, 1, 10);
	tp_ack(t, 5);
	for (i = 0; i <= 5; i++)
		tp_expect_wc(t, &t->a.scq, i, IB_WC_SUCCESS);
	tp_expect_no_wc(t, &t->a.scq);
	tp_ack(t, 9);
	for (i = 6; i < 10; i++)
		tp_expect_wc(t, &t->a.scq, i, IB_WC_SUCCESS);
}

/* Acknowledged already, never sent, half the PSNs away: as if not come. */
static void com_ignored_psns(struct kunit *test)
{
	static const u32 psns[] = { 3, 10, 11, 0x7fffff, 0x800000, 0x800003,
				    0xffffff };
	static const u8 syndromes[] = {
		SRNIC_AETH_ACK, SRNIC_AETH_RNR_NAK | 1,
		SRNIC_AETH_NAK | SRNIC_NAK_PSN_SEQ,
		SRNIC_AETH_NAK | SRNIC_NAK_REM_ACCESS,
	};
	struct tp_conf conf = { .psn = 0xfffffd };
	struct tp_pair *t = test->priv;
	u32 i, k;

	tp_connect(t, &conf);
	post_many(t, IB_WR_RDMA_WRITE, 1, 10);
	tp_ack(t, 3);
	for (i = 0; i <= 3; i++)
		tp_expect_wc(t, &t->a.scq, i, IB_WC_SUCCESS);
	tp_drop_all(&t->a);
	for (i = 0; i < ARRAY_SIZE(psns); i++) {
		for (k = 0; k < ARRAY_SIZE(syndromes); k++)
			tp_answer(t, &t->a, tp_psn(t, psns[i]), syndromes[k]);
		read_data(t, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, psns[i], 1);
	}
	tp_expect_no_wc(t, &t->a.scq);
	tp_expect_nothing(t, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.qp.state, IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, t->a.qp.sq.una, tp_psn(t, 4));
	/* and what does come is still understood */
	tp_ack(t, 9);
	for (i = 4; i < 10; i++)
		tp_expect_wc(t, &t->a.scq, i, IB_WC_SUCCESS);
}

/* A later answer says that the data of a READ was lost: asked for once. */
static void com_implied_nak(struct kunit *test)
{
	struct tp_pair *t = test->priv;
	u32 i;

	tp_connect(t, NULL);
	post_read(t, 2 * MTU, 0);
	post_many(t, IB_WR_RDMA_WRITE, 1, 4);
	KUNIT_EXPECT_EQ(test, tp_drop_all(&t->a), 5);
	tp_ack(t, 2);
	tp_expect(t, &t->a, IB_OPCODE_RC_RDMA_READ_REQUEST, 0);
	KUNIT_EXPECT_GT(test, tp_drop_all(&t->a), 0);
	for (i = 2; i < 6; i++)
		tp_ack(t, i);
	read_data(t, IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST, 1, MTU);
	tp_answer(t, &t->a, 4, SRNIC_AETH_NAK | SRNIC_NAK_PSN_SEQ);
	tp_expect_nothing(t, &t->a);
	tp_expect_no_wc(t, &t->a.scq);
	KUNIT_EXPECT_EQ(test, tp_stat(&t->a, SRNIC_STAT_IMPLIED_NAK), 1);

	/* the next gap is another one */
	read_data(t, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST, 0, MTU);
	tp_drop_all(&t->a);
	tp_ack(t, 5);
	KUNIT_EXPECT_EQ(test, tp_stat(&t->a, SRNIC_STAT_IMPLIED_NAK), 2);
	tp_expect(t, &t->a, IB_OPCODE_RC_RDMA_READ_REQUEST, 1);
	KUNIT_EXPECT_EQ(test, t->a.last->pkt.va, TP_IOVA + MTU);
	KUNIT_EXPECT_EQ(test, t->a.last->pkt.dmalen, MTU);
	read_data(t, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, 1, MTU);
	tp_expect_wc(t, &t->a.scq, 0, IB_WC_SUCCESS);
	/* those behind it have been sent again, so an old ACK isn't wrong */
	tp_ack(t, 5);
	for (i = 0; i < 4; i++)
		tp_expect_wc(t, &t->a.scq, i, IB_WC_SUCCESS);
}

static void com_nak_codes(struct kunit *test)
{
	static const struct {
		u8 code;
		int status;
	} rows[] = {
		{ SRNIC_NAK_INV_REQ, IB_WC_REM_INV_REQ_ERR },
		{ SRNIC_NAK_REM_ACCESS, IB_WC_REM_ACCESS_ERR },
		{ SRNIC_NAK_REM_OP, IB_WC_REM_OP_ERR },
		{ 4, -1 }, { 5, -1 }, { 31, -1 },
	};
	struct tp_pair *t = test->priv;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		tp_connect(t, NULL);
		post_many(t, IB_WR_RDMA_WRITE, 1, 3);
		tp_drop_all(&t->a);
		tp_answer(t, &t->a, 1, SRNIC_AETH_NAK | rows[i].code);
		/* those before it have been executed, whatever the code */
		tp_expect_wc(t, &t->a.scq, 0, IB_WC_SUCCESS);
		if (rows[i].status < 0) {
			tp_expect_no_wc(t, &t->a.scq);
			KUNIT_EXPECT_EQ(test, t->a.qp.state, IB_QPS_RTS);
			continue;
		}
		tp_expect_wc(t, &t->a.scq, 1, rows[i].status);
		tp_expect_wc(t, &t->a.scq, 2, IB_WC_WR_FLUSH_ERR);
		KUNIT_EXPECT_EQ(test, t->a.qp.state, IB_QPS_ERR);
		tp_expect_nothing(t, &t->a);
		/* the dead don't answer */
		tp_ack(t, 2);
		tp_expect_no_wc(t, &t->a.scq);
	}
}

/* Data that the request doesn't agree with. */
static void com_bad_responses(struct kunit *test)
{
	static const struct {
		enum ib_wr_opcode op;
		u32 len;
		u8 opcode;
		u32 got;
		int status;	/* -1: ignored */
	} rows[] = {
		{ IB_WR_RDMA_READ, 100, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, 99,
		  IB_WC_BAD_RESP_ERR },
		{ IB_WR_RDMA_READ, 100, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, 101,
		  IB_WC_BAD_RESP_ERR },
		{ IB_WR_RDMA_READ, 0, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, 1,
		  IB_WC_BAD_RESP_ERR },
		{ IB_WR_RDMA_READ, 2 * MTU, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST,
		  MTU - 1, IB_WC_BAD_RESP_ERR },
		{ IB_WR_RDMA_READ, 2 * MTU, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST,
		  2 * MTU, IB_WC_BAD_RESP_ERR },
		{ IB_WR_RDMA_READ, 8, IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE, 0,
		  IB_WC_BAD_RESP_ERR },
		{ IB_WR_ATOMIC_FETCH_AND_ADD, 8,
		  IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, 8, IB_WC_BAD_RESP_ERR },
		{ IB_WR_SEND, 8, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, 8, -1 },
		{ IB_WR_SEND, 8, IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE, 0, -1 },
		{ IB_WR_RDMA_READ, 100, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, 100,
		  IB_WC_SUCCESS },
		{ IB_WR_RDMA_READ, 0, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, 0,
		  IB_WC_SUCCESS },
	};
	struct tp_pair *t = test->priv;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		tp_connect(t, NULL);
		memset(t->a.mem, 0x77, 4 * MTU);
		post_many(t, rows[i].op, rows[i].len, 1);
		read_data(t, rows[i].opcode, 0, rows[i].got);
		if (rows[i].status < 0)
			tp_expect_no_wc(t, &t->a.scq);
		else
			tp_expect_wc(t, &t->a.scq, 0, rows[i].status);
		if (rows[i].status) {
			KUNIT_EXPECT_EQ_MSG(test, t->a.mem[0], 0x77, "row %zu", i);
			KUNIT_EXPECT_EQ(test, t->a.qp.state, rows[i].status < 0 ?
					IB_QPS_RTS : IB_QPS_ERR);
		}
	}
}

/* READ data out of order, then in order. */
static void com_read_order(struct kunit *test)
{
	struct tp_pair *t = test->priv;
	struct rnd_state rng;

	tp_connect(t, NULL);
	prandom_seed_state(&rng, 22);
	prandom_bytes_state(&rng, t->b.mem, MTU);
	post_read(t, 3 * MTU, 5);
	tp_drop_all(&t->a);
	read_data(t, IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE, 1, MTU);
	tp_expect(t, &t->a, IB_OPCODE_RC_RDMA_READ_REQUEST, 0);
	KUNIT_EXPECT_EQ(test, t->a.mem[MTU], 0);
	read_data(t, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST, 0, MTU);
	/* the same once more changes nothing */
	read_data(t, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST, 0, MTU);
	read_data(t, IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE, 1, MTU);
	tp_expect_no_wc(t, &t->a.scq);
	read_data(t, IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST, 2, MTU);
	tp_expect_wc(t, &t->a.scq, 5, IB_WC_SUCCESS);
	KUNIT_EXPECT_MEMEQ(test, t->a.mem, t->b.mem, MTU);
	KUNIT_EXPECT_MEMEQ(test, t->a.mem + MTU, t->b.mem, MTU);
	KUNIT_EXPECT_MEMEQ(test, t->a.mem + 2 * MTU, t->b.mem, MTU);
	KUNIT_EXPECT_EQ(test, t->a.mem[3 * MTU], 0);
}

/* The place for the data has gone meanwhile. */
static void com_dead_lkey(struct kunit *test)
{
	struct tp_pair *t = test->priv;
	u32 key = tp_region(t, &t->a, 0, MTU, TP_PDN, IB_ACCESS_LOCAL_WRITE);
	struct tp_wr wr = { .op = IB_WR_RDMA_READ, .len = MTU, .lkey = key,
			    .id = 1 };
	struct ib_wc wc;

	tp_connect(t, NULL);
	KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
	tp_region_kill(&t->a, key);
	memset(t->b.mem, 0xee, MTU);
	read_data(t, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, 0, MTU);
	wc = tp_expect_wc(t, &t->a.scq, 1, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, wc.vendor_err, SRNIC_KEY_STALE);
	KUNIT_EXPECT_EQ(test, t->a.mem[0], 0);
}

static void com_atomic(struct kunit *test)
{
	struct tp_pair *t = test->priv;
	struct tp_wr wr = {
		.op = IB_WR_ATOMIC_CMP_AND_SWP, .len = 8, .off = 64, .roff = 32,
		.compare_add = 11, .swap = 12, .id = 1,
		.flags = IB_SEND_SIGNALED,
	};
	struct srnic_pkt_out out = {
		.opcode = IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE,
		.orig = 0xfedcba9876543210ull,
	};
	struct tp_packet *p;

	tp_connect(t, NULL);
	KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
	p = tp_expect(t, &t->a, IB_OPCODE_RC_COMPARE_SWAP, 0);
	KUNIT_EXPECT_EQ(test, p->pkt.compare, 11);
	KUNIT_EXPECT_EQ(test, p->pkt.swap_add, 12);
	KUNIT_EXPECT_EQ(test, p->pkt.va, TP_IOVA + 32);
	/* an ACK is no answer to an atomic */
	tp_ack(t, 0);
	tp_expect_no_wc(t, &t->a.scq);
	tp_forge(t, &t->b, &out, NULL);
	tp_expect_wc(t, &t->a.scq, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, *(u64 *)(t->a.mem + 64), out.orig);
}

/* An answer from elsewhere, or to a QP that isn't ready for any. */
static void com_not_for_us(struct kunit *test)
{
	struct tp_pair *t = test->priv;
	__be32 addr = t->b.ip.saddr;

	tp_connect(t, NULL);
	post_many(t, IB_WR_RDMA_WRITE, 1, 1);
	t->b.ip.saddr = htonl(0x0a4d0003);
	tp_ack(t, 0);
	t->b.ip.saddr = addr;
	tp_expect_no_wc(t, &t->a.scq);
	KUNIT_EXPECT_EQ(test, tp_stat(&t->a, SRNIC_STAT_BAD_SOURCE), 1);
	tp_modify(t, &t->a, IB_QPS_RESET);
	tp_ack(t, 0);
	tp_expect_no_wc(t, &t->a.scq);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(com_coalesced),
	KUNIT_CASE(com_ignored_psns),
	KUNIT_CASE(com_implied_nak),
	KUNIT_CASE(com_nak_codes),
	KUNIT_CASE(com_bad_responses),
	KUNIT_CASE(com_read_order),
	KUNIT_CASE(com_dead_lkey),
	KUNIT_CASE(com_atomic),
	KUNIT_CASE(com_not_for_us),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_completer",
	.init = tp_pair_init,
	.exit = tp_pair_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);

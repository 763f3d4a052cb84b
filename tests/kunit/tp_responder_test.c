// SPDX-License-Identifier: GPL-2.0
/*
 * The responder: requests made up by the test, in every order and with every
 * contradiction; what is executed, and what the peer is told.
 */
#include <rdma/ib_pack.h>

#include "rng.h"
#include "tp.h"

#define MTU		256
#define ACK		(SRNIC_AETH_ACK | SRNIC_AETH_NO_CREDITS)
#define INV_REQ		(SRNIC_AETH_NAK | SRNIC_NAK_INV_REQ)
#define REM_ACCESS	(SRNIC_AETH_NAK | SRNIC_NAK_REM_ACCESS)
#define REM_OP		(SRNIC_AETH_NAK | SRNIC_NAK_REM_OP)
#define SEQ		(SRNIC_AETH_NAK | SRNIC_NAK_PSN_SEQ)

/* What may follow what, written down once more: N none, S SEND, W WRITE. */
static const struct {
	u8 opcode;
	const char *states;	/* in which it may come */
	bool middle;		/* full, and no end */
} sequence_rows[] = {
	{ IB_OPCODE_RC_SEND_FIRST, "N", true },
	{ IB_OPCODE_RC_SEND_MIDDLE, "S", true },
	{ IB_OPCODE_RC_SEND_LAST, "S" },
	{ IB_OPCODE_RC_SEND_LAST_WITH_IMMEDIATE, "S" },
	{ IB_OPCODE_RC_SEND_ONLY, "N" },
	{ IB_OPCODE_RC_SEND_ONLY_WITH_IMMEDIATE, "N" },
	{ IB_OPCODE_RC_RDMA_WRITE_FIRST, "N", true },
	{ IB_OPCODE_RC_RDMA_WRITE_MIDDLE, "W", true },
	{ IB_OPCODE_RC_RDMA_WRITE_LAST, "W" },
	{ IB_OPCODE_RC_RDMA_WRITE_LAST_WITH_IMMEDIATE, "W" },
	{ IB_OPCODE_RC_RDMA_WRITE_ONLY, "N" },
	{ IB_OPCODE_RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE, "N" },
	{ IB_OPCODE_RC_RDMA_READ_REQUEST, "N" },
	{ IB_OPCODE_RC_COMPARE_SWAP, "N" },
	{ IB_OPCODE_RC_FETCH_ADD, "N" },
};

/* Into a state; the WRITE in progress has 2 MTU, or 3 for a MIDDLE to fit. */
static u32 into_state(struct tp_pair *t, char state, bool middle)
{
	struct srnic_pkt_out out;

	tp_connect(t, NULL);
	tp_post_recvs(t, 2);
	if (state == 'N')
		return 0;
	out = tp_request(t, state == 'S' ? IB_OPCODE_RC_SEND_FIRST :
					IB_OPCODE_RC_RDMA_WRITE_FIRST, 0, MTU);
	out.dmalen = middle ? 3 * MTU : 2 * MTU;
	tp_forge(t, &t->a, &out, t->a.mem);
	tp_drop_all(&t->b);
	return 1;
}

static void res_sequence(struct kunit *test)
{
	struct tp_pair *t = test->priv;
	const char *state;
	size_t i;

	for (state = "NSW"; *state; state++) {
		for (i = 0; i < ARRAY_SIZE(sequence_rows); i++) {
			bool middle = sequence_rows[i].middle;
			u32 n = into_state(t, *state, middle);
			struct srnic_pkt_out out =
				tp_request(t, sequence_rows[i].opcode, n, MTU);

			if (middle)
				out.dmalen = 2 * MTU;
			tp_forge(t, &t->a, &out, t->a.mem);
			KUNIT_ASSERT_NOT_NULL(test, tp_next(&t->b));
			if (strchr(sequence_rows[i].states, *state)) {
				KUNIT_EXPECT_EQ_MSG(test, t->b.last->pkt.syndrome,
						    ACK, "%c row %zu", *state, i);
				KUNIT_EXPECT_EQ(test, t->b.qp.rq.epsn, n + 1);
				KUNIT_EXPECT_EQ(test, t->b.qp.rq.msn, !middle);
			} else {
				KUNIT_EXPECT_EQ_MSG(test, t->b.last->pkt.syndrome,
						    INV_REQ, "%c row %zu", *state,
						    i);
				tp_expect_dead(t, IB_EVENT_QP_REQ_ERR);
			}
		}
	}
}

/* SEND with invalidate is in sequence, but there is nothing to invalidate. */
static void res_invalidate(struct kunit *test)
{
	struct tp_pair *t = test->priv;
	struct srnic_pkt_out out;

	tp_connect(t, NULL);
	tp_post_recvs(t, 1);
	out = tp_request(t, IB_OPCODE_RC_SEND_ONLY_WITH_INVALIDATE, 0, 1);
	out.inv_rkey = t->b.region[0]->key;
	tp_forge(t, &t->a, &out, t->a.mem);
	tp_expect_aeth(t, 0, REM_ACCESS);
	tp_expect_wc(t, &t->b.rcq, 0, IB_WC_LOC_PROT_ERR);
	tp_expect_dead(t, IB_EVENT_QP_ACCESS_ERR);
}

static const struct {
	char state;
	u8 opcode;
	u32 len;
	u32 dmalen;
	bool good;
} length_rows[] = {
	{ 'N', IB_OPCODE_RC_SEND_FIRST, MTU - 1, 0, false },
	{ 'N', IB_OPCODE_RC_SEND_FIRST, MTU + 1, 0, false },
	{ 'N', IB_OPCODE_RC_SEND_FIRST, 0, 0, false },
	{ 'N', IB_OPCODE_RC_SEND_ONLY, 0, 0, true },
	{ 'N', IB_OPCODE_RC_SEND_ONLY, MTU, 0, true },
	{ 'N', IB_OPCODE_RC_SEND_ONLY, MTU + 1, 0, false },
	{ 'S', IB_OPCODE_RC_SEND_MIDDLE, MTU - 1, 0, false },
	{ 'S', IB_OPCODE_RC_SEND_MIDDLE, MTU + 1, 0, false },
	{ 'S', IB_OPCODE_RC_SEND_LAST, 0, 0, false },
	{ 'S', IB_OPCODE_RC_SEND_LAST, 1, 0, true },
	{ 'S', IB_OPCODE_RC_SEND_LAST, MTU + 1, 0, false },
	{ 'N', IB_OPCODE_RC_RDMA_WRITE_ONLY, 0, 0, true },
	{ 'N', IB_OPCODE_RC_RDMA_WRITE_ONLY, 9, 9, true },
	{ 'N', IB_OPCODE_RC_RDMA_WRITE_ONLY, 9, 8, false },
	{ 'N', IB_OPCODE_RC_RDMA_WRITE_ONLY, 9, 10, false },
	{ 'N', IB_OPCODE_RC_RDMA_WRITE_ONLY, MTU + 1, MTU + 1, false },
	{ 'N', IB_OPCODE_RC_RDMA_WRITE_FIRST, MTU, MTU, false },
	{ 'N', IB_OPCODE_RC_RDMA_WRITE_FIRST, MTU, MTU + 1, true },
	{ 'N', IB_OPCODE_RC_RDMA_WRITE_FIRST, MTU, 0x80000001, false },
	{ 'N', IB_OPCODE_RC_RDMA_WRITE_FIRST, MTU - 1, 2 * MTU, false },
	/* the WRITE in progress has 2 MTU, one of which has come */
	{ 'W', IB_OPCODE_RC_RDMA_WRITE_MIDDLE, MTU, 0, false },
	{ 'W', IB_OPCODE_RC_RDMA_WRITE_LAST, MTU - 1, 0, false },
	{ 'W', IB_OPCODE_RC_RDMA_WRITE_LAST, MTU, 0, true },
	{ 'W', IB_OPCODE_RC_RDMA_WRITE_LAST, 0, 0, false },
	{ 'W', IB_OPCODE_RC_RDMA_WRITE_LAST, MTU + 1, 0, false },
	{ 'N', IB_OPCODE_RC_RDMA_READ_REQUEST, 0, 0, true },
	{ 'N', IB_OPCODE_RC_RDMA_READ_REQUEST, 0, 0x80000001, false },
};

static void res_lengths(struct kunit *test)
{
	struct tp_pair *t = test->priv;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(length_rows); i++) {
		u32 n = into_state(t, length_rows[i].state, false);
		struct srnic_pkt_out out =
			tp_request(t, length_rows[i].opcode, n, length_rows[i].len);

		out.dmalen = length_rows[i].dmalen;
		tp_forge(t, &t->a, &out, t->a.mem);
		KUNIT_ASSERT_NOT_NULL(test, tp_next(&t->b));
		KUNIT_EXPECT_EQ_MSG(test, t->b.last->pkt.syndrome,
				    length_rows[i].good ? ACK : INV_REQ,
				    "row %zu", i);
		if (!length_rows[i].good)
			tp_expect_dead(t, IB_EVENT_QP_REQ_ERR);
	}
}

/* A message longer than its receive, and one that nobody can put anywhere. */
static void res_receives(struct kunit *test)
{
	struct tp_pair *t = test->priv;
	struct ib_wc wc;

	tp_connect(t, NULL);
	tp_post_recv(&t->b, 1, 0, MTU + 1);
	tp_send(t, IB_OPCODE_RC_SEND_FIRST, 0, MTU);
	tp_expect_aeth(t, 0, ACK);
	tp_send(t, IB_OPCODE_RC_SEND_LAST, 1, 2);
	tp_expect_aeth(t, 1, INV_REQ);
	tp_expect_wc(t, &t->b.rcq, 1, IB_WC_LOC_LEN_ERR);
	tp_expect_dead(t, IB_EVENT_QP_REQ_ERR);

	tp_connect(t, NULL);
	tp_post_recv(&t->b, 2, TP_MEM - 4, 5);	/* its key ends before it */
	memset(t->a.mem, 0x5a, MTU);
	tp_send(t, IB_OPCODE_RC_SEND_ONLY, 0, 5);
	tp_expect_aeth(t, 0, REM_OP);
	wc = tp_expect_wc(t, &t->b.rcq, 2, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, wc.vendor_err, SRNIC_KEY_BOUNDS);
	KUNIT_EXPECT_EQ(test, t->b.mem[TP_MEM - 1], 0);
	tp_expect_dead(t, IB_EVENT_QP_FATAL);

	tp_connect(t, NULL);
	tp_post_recv(&t->b, 3, 0x8000, MTU + 1);
	tp_post_recv(&t->b, 4, 0, 0);
	tp_send(t, IB_OPCODE_RC_SEND_FIRST, 0, MTU);
	tp_send(t, IB_OPCODE_RC_SEND_LAST, 1, 1);
	wc = tp_expect_wc(t, &t->b.rcq, 3, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.byte_len, MTU + 1);
	KUNIT_EXPECT_EQ(test, t->b.mem[0x8000 + MTU], 0x5a);
	KUNIT_EXPECT_EQ(test, t->b.mem[0x8000 + MTU + 1], 0);
	/* immediate data takes a receive and puts nothing into it */
	tp_send(t, IB_OPCODE_RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE, 2, 7);
	wc = tp_expect_wc(t, &t->b.rcq, 4, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.opcode, IB_WC_RECV_RDMA_WITH_IMM);
	KUNIT_EXPECT_EQ(test, wc.byte_len, 7);
}

/* One NAK for a gap, whatever comes behind it. */
static void res_gap(struct kunit *test)
{
	struct tp_conf conf = { .psn = 0xfffffe };
	struct tp_pair *t = test->priv;
	u32 i;

	tp_connect(t, &conf);
	tp_post_recvs(t, 8);
	for (i = 1; i < 5; i++)
		tp_send(t, IB_OPCODE_RC_SEND_ONLY, i, 1);
	tp_expect_aeth(t, 0, SEQ);
	tp_expect_nothing(t, &t->b);
	tp_expect_no_wc(t, &t->b.rcq);
	tp_send(t, IB_OPCODE_RC_SEND_ONLY, 0, 1);
	tp_expect_aeth(t, 0, ACK);
	tp_send(t, IB_OPCODE_RC_SEND_ONLY, 2, 1);
	tp_send(t, IB_OPCODE_RC_SEND_ONLY, 3, 1);
	tp_expect_aeth(t, 1, SEQ);
	tp_expect_nothing(t, &t->b);
	for (i = 1; i < 4; i++)
		tp_send(t, IB_OPCODE_RC_SEND_ONLY, i, 1);
	for (i = 0; i < 4; i++)
		tp_expect_wc(t, &t->b.rcq, i, IB_WC_SUCCESS);
	tp_expect_no_wc(t, &t->b.rcq);
}

/* What has been executed is acknowledged again, and not executed again. */
static void res_duplicates(struct kunit *test)
{
	struct tp_conf conf = { .psn = 0xfffffe };
	struct tp_pair *t = test->priv;
	struct tp_packet *p;

	tp_connect(t, &conf);
	tp_post_recvs(t, 2);
	memset(t->a.mem, 0x11, MTU);
	tp_send(t, IB_OPCODE_RC_SEND_ONLY, 0, 10);
	tp_send(t, IB_OPCODE_RC_RDMA_WRITE_ONLY, 1, 10);
	KUNIT_EXPECT_EQ(test, tp_drop_all(&t->b), 2);
	tp_expect_wc(t, &t->b.rcq, 0, IB_WC_SUCCESS);
	t->b.mem[0] = 0x22;
	tp_send(t, IB_OPCODE_RC_SEND_ONLY, 0, 10);
	/* the newest that is true */
	tp_expect_aeth(t, 1, ACK);
	tp_send(t, IB_OPCODE_RC_RDMA_WRITE_ONLY, 1, 10);
	p = tp_expect_aeth(t, 1, ACK);
	KUNIT_EXPECT_EQ(test, p->pkt.msn, 2);
	tp_expect_no_wc(t, &t->b.rcq);
	KUNIT_EXPECT_EQ(test, t->b.mem[0], 0x22);
	KUNIT_EXPECT_EQ(test, tp_stat(&t->b, SRNIC_STAT_DUPLICATE_REQUEST), 2);
	/* one that was never asked for, long ago */
	tp_send(t, IB_OPCODE_RC_RDMA_READ_REQUEST, 1, 10);
	tp_send(t, IB_OPCODE_RC_FETCH_ADD, 0, 0);
	tp_expect_nothing(t, &t->b);
}

/* A READ is read again: a later part of it, as the memory is now. */
static void res_read_again(struct kunit *test)
{
	struct tp_pair *t = test->priv;
	struct tp_packet *p;
	u32 key;

	tp_connect(t, NULL);
	key = tp_region(t, &t->b, 0, 8 * MTU, TP_PDN, IB_ACCESS_REMOTE_READ);
	tp_read_request(t, 0, 0, 3 * MTU + 1, key);
	p = tp_expect(t, &t->b, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST, 0);
	KUNIT_EXPECT_EQ(test, p->pkt.syndrome, ACK);
	KUNIT_EXPECT_EQ(test, p->pkt.msn, 1);
	tp_expect(t, &t->b, IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE, 1);
	tp_expect(t, &t->b, IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE, 2);
	p = tp_expect(t, &t->b, IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST, 3);
	KUNIT_EXPECT_EQ(test, p->pkt.len, 1);

	t->b.mem[2 * MTU + 5] = 0x33;
	tp_read_request(t, 2, 2 * MTU, MTU + 1, key);
	p = tp_expect(t, &t->b, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST, 2);
	KUNIT_EXPECT_EQ(test, ((u8 *)p->pkt.seg[0].iov_base)[5], 0x33);
	tp_expect(t, &t->b, IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST, 3);
	tp_read_request(t, 1, MTU, MTU, key);
	tp_expect(t, &t->b, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, 1);

	/* never more than was asked for, nor elsewhere */
	tp_read_request(t, 2, 2 * MTU, MTU + 2, key);
	tp_read_request(t, 2, 2 * MTU + 1, MTU, key);
	tp_read_request(t, 2, MTU, MTU, key);
	tp_expect_nothing(t, &t->b);
	KUNIT_EXPECT_EQ(test, t->b.qp.state, IB_QPS_RTS);

	/*
	 * A key that has died meanwhile is dead for the repeat as well. But that
	 * may have been a late one: the QP lives on.
	 */
	tp_region_kill(&t->b, key);
	tp_read_request(t, 2, 2 * MTU, MTU, key);
	tp_expect_aeth(t, 2, REM_ACCESS);
	tp_advance(2ull * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, t->b.qp.state, IB_QPS_RTS);
	tp_send(t, IB_OPCODE_RC_RDMA_WRITE_ONLY, 4, 1);
	tp_expect_aeth(t, 4, ACK);
	KUNIT_EXPECT_EQ(test, tp_stat(&t->b, SRNIC_STAT_KEY_STALE), 1);
}

static void fetch_add(struct tp_pair *t, u32 n, u32 off, u64 add)
{
	struct srnic_pkt_out out = tp_request(t, IB_OPCODE_RC_FETCH_ADD, n, 0);

	out.va = TP_IOVA + off;
	out.swap_add = add;
	tp_forge(t, &t->a, &out, NULL);
}

/* An atomic's repeat gets the first one's answer. */
static void res_atomic_again(struct kunit *test)
{
	struct tp_conf conf = { .max_rd = 2 };
	struct tp_pair *t = test->priv;
	u64 *word;
	int i;

	tp_connect(t, &conf);
	word = (u64 *)(t->b.mem + 8);
	*word = 100;
	fetch_add(t, 0, 8, 5);
	fetch_add(t, 1, 8, 7);
	KUNIT_EXPECT_EQ(test, *word, 112);
	tp_drop_all(&t->b);
	for (i = 0; i < 3; i++) {
		fetch_add(t, 0, 8, 5);
		tp_expect(t, &t->b, IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE, 0);
		KUNIT_EXPECT_EQ(test, t->b.last->pkt.orig, 100);
		fetch_add(t, 1, 8, 7);
		tp_expect(t, &t->b, IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE, 1);
		KUNIT_EXPECT_EQ(test, t->b.last->pkt.orig, 105);
		KUNIT_EXPECT_EQ(test, *word, 112);
	}
	/* two are remembered: a third displaces the oldest */
	fetch_add(t, 2, 8, 1);
	tp_expect(t, &t->b, IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE, 2);
	fetch_add(t, 0, 8, 5);
	tp_expect_nothing(t, &t->b);
	KUNIT_EXPECT_EQ(test, *word, 113);
	/* a compare and swap is not that fetch and add */
	tp_send(t, IB_OPCODE_RC_COMPARE_SWAP, 1, 0);
	tp_expect_nothing(t, &t->b);
	/* nor is one of another word */
	fetch_add(t, 1, 16, 7);
	tp_expect_nothing(t, &t->b);
	/* a word that isn't one */
	fetch_add(t, 3, 12, 1);
	tp_expect_aeth(t, 3, INV_REQ);
	tp_expect_dead(t, IB_EVENT_QP_REQ_ERR);
}

/* A dead key answers no repeat either, though nothing would be touched. */
static void res_atomic_dead_key(struct kunit *test)
{
	struct srnic_refusal *lines = kunit_kcalloc(test, SRNIC_LEDGER_SIZE,
						    sizeof(*lines), GFP_KERNEL);
	struct tp_pair *t = test->priv;
	struct srnic_pkt_out out;
	u64 *word;
	u32 key;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, lines);
	tp_connect(t, NULL);
	word = (u64 *)(t->b.mem + 8);
	*word = 3;
	key = tp_region(t, &t->b, 0, 64, TP_PDN, TP_ALL);
	out = tp_request(t, IB_OPCODE_RC_FETCH_ADD, 0, 0);
	out.va = TP_IOVA + 8;
	out.rkey = key;
	out.swap_add = 1;
	tp_forge(t, &t->a, &out, NULL);
	tp_expect(t, &t->b, IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE, 0);
	tp_region_kill(&t->b, key);
	out.rkey = key;
	tp_forge(t, &t->a, &out, NULL);
	tp_expect_aeth(t, 0, SRNIC_AETH_NAK | SRNIC_NAK_REM_ACCESS);
	KUNIT_EXPECT_EQ(test, tp_stat(&t->b, SRNIC_STAT_KEY_STALE), 1);
	KUNIT_EXPECT_EQ(test, *word, 4);
	/* it may have been a late one: this QP lives on, a repeated READ the same */
	key = tp_region(t, &t->b, 0, 64, TP_PDN, TP_ALL);
	tp_read_request(t, 1, 0, 8, key);
	tp_expect(t, &t->b, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, 1);
	tp_region_kill(&t->b, key);
	for (i = 0; i < 5; i++) {
		tp_read_request(t, 1, 0, 8, key);
		tp_expect_aeth(t, 1, SRNIC_AETH_NAK | SRNIC_NAK_REM_ACCESS);
	}
	/* all are counted, and a peer can't fill the ledger with them */
	KUNIT_EXPECT_EQ(test, tp_stat(&t->b, SRNIC_STAT_KEY_STALE), 6);
	KUNIT_EXPECT_EQ(test, srnic_ledger_copy(t->b.tp.ledger, lines), 1);
	tp_advance(2ull * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, t->b.qp.state, IB_QPS_RTS);
	tp_send(t, IB_OPCODE_RC_RDMA_WRITE_ONLY, 2, 1);
	tp_expect_aeth(t, 2, ACK);
}

/* An answer tells of no message behind its own, however long it waits. */
static void res_msn(struct kunit *test)
{
	struct tp_pair *t = test->priv;

	tp_connect(t, NULL);
	tp_block(t);
	tp_send(t, IB_OPCODE_RC_RDMA_WRITE_ONLY, 0, 1);
	tp_send(t, IB_OPCODE_RC_RDMA_READ_REQUEST, 1, 2 * MTU);
	fetch_add(t, 3, 8, 1);
	tp_send(t, IB_OPCODE_RC_RDMA_WRITE_ONLY, 4, 1);
	tp_send(t, IB_OPCODE_RC_RDMA_WRITE_ONLY, 5, 1);
	tp_unblock(t);
	tp_expect(t, &t->b, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST, 1);
	KUNIT_EXPECT_EQ(test, t->b.last->pkt.msn, 2);
	tp_expect(t, &t->b, IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST, 2);
	KUNIT_EXPECT_EQ(test, t->b.last->pkt.msn, 2);
	tp_expect(t, &t->b, IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE, 3);
	KUNIT_EXPECT_EQ(test, t->b.last->pkt.msn, 3);
	tp_expect_aeth(t, 5, ACK);
	KUNIT_EXPECT_EQ(test, t->b.last->pkt.msn, 5);
}

/* A READ of nothing is none of the data before it. */
static void res_read_nothing_again(struct kunit *test)
{
	struct tp_pair *t = test->priv;

	tp_connect(t, NULL);
	tp_block(t);
	tp_send(t, IB_OPCODE_RC_RDMA_READ_REQUEST, 0, 2 * MTU);
	tp_send(t, IB_OPCODE_RC_RDMA_READ_REQUEST, 2, 0);
	/* it waits: not twice */
	tp_send(t, IB_OPCODE_RC_RDMA_READ_REQUEST, 2, 0);
	tp_unblock(t);
	tp_expect(t, &t->b, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST, 0);
	tp_expect(t, &t->b, IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST, 1);
	tp_expect(t, &t->b, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, 2);
	tp_expect_nothing(t, &t->b);
	/* and where only the data waits, it is answered again */
	tp_block(t);
	tp_send(t, IB_OPCODE_RC_RDMA_READ_REQUEST, 0, 2 * MTU);
	tp_send(t, IB_OPCODE_RC_RDMA_READ_REQUEST, 2, 0);
	tp_unblock(t);
	tp_expect(t, &t->b, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST, 0);
	tp_expect(t, &t->b, IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST, 1);
	tp_expect(t, &t->b, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, 2);
	tp_expect_nothing(t, &t->b);
}

/* PSNs come again after 2^24: what was remembered for one long ago isn't meant. */
static void res_atomic_of_old(struct kunit *test)
{
	struct tp_conf conf = { .max_rd = 3 };
	struct tp_pair *t = test->priv;
	u64 *word;
	u32 i;

	tp_connect(t, &conf);
	word = (u64 *)(t->b.mem + 8);
	*word = 100;
	/* round by round: whatever slots the old ones and the new ones have */
	for (i = 0; i < 7; i++) {
		fetch_add(t, 0, 8, 1);
		tp_expect(t, &t->b, IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE, 0);
		KUNIT_EXPECT_EQ(test, t->b.last->pkt.orig, 100 + i);
		fetch_add(t, 0, 8, 1);
		tp_expect(t, &t->b, IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE, 0);
		KUNIT_EXPECT_EQ(test, t->b.last->pkt.orig, 100 + i);
		/* 2^24 - 1 WRITEs later */
		t->b.qp.rq.epsn = tp_psn(t, 0);
	}
	KUNIT_EXPECT_EQ(test, *word, 107);
}

static void res_rnr(struct kunit *test)
{
	struct tp_conf conf = { .min_rnr = 13 };
	struct tp_pair *t = test->priv;

	tp_connect(t, &conf);
	tp_send(t, IB_OPCODE_RC_SEND_ONLY, 0, 1);
	tp_send(t, IB_OPCODE_RC_SEND_ONLY, 1, 1);
	tp_send(t, IB_OPCODE_RC_RDMA_WRITE_ONLY, 2, 1);
	tp_expect_aeth(t, 0, SRNIC_AETH_RNR_NAK | 13);
	/* those behind it are no gap */
	tp_expect_nothing(t, &t->b);
	KUNIT_EXPECT_EQ(test, tp_stat(&t->b, SRNIC_STAT_SEND_RNR_ERR), 1);
	tp_send(t, IB_OPCODE_RC_SEND_ONLY, 0, 1);
	tp_expect_aeth(t, 0, SRNIC_AETH_RNR_NAK | 13);
	tp_post_recvs(t, 1);
	tp_send(t, IB_OPCODE_RC_SEND_ONLY, 0, 1);
	tp_expect_aeth(t, 0, ACK);
	tp_expect_wc(t, &t->b.rcq, 0, IB_WC_SUCCESS);
	/* a WRITE's immediate data needs a receive too */
	t->b.mem[0] = 0;
	memset(t->a.mem, 0x44, MTU);
	tp_send(t, IB_OPCODE_RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE, 1, 1);
	tp_expect_aeth(t, 1, SRNIC_AETH_RNR_NAK | 13);
	KUNIT_EXPECT_EQ(test, t->b.mem[0], 0);
}

/* What couldn't be sent is sent when it can, if it is still true. */
static void res_blocked(struct kunit *test)
{
	struct tp_pair *t = test->priv;

	/* a NAK for a gap; but the gap is closed before it leaves */
	tp_connect(t, NULL);
	tp_block(t);
	tp_send(t, IB_OPCODE_RC_RDMA_WRITE_ONLY, 1, 1);
	tp_unblock(t);
	tp_expect_aeth(t, 0, SEQ);
	tp_expect_nothing(t, &t->b);
	tp_block(t);
	tp_send(t, IB_OPCODE_RC_RDMA_WRITE_ONLY, 0, 1);
	tp_send(t, IB_OPCODE_RC_RDMA_WRITE_ONLY, 2, 1);
	tp_send(t, IB_OPCODE_RC_RDMA_WRITE_ONLY, 1, 1);
	tp_send(t, IB_OPCODE_RC_RDMA_WRITE_ONLY, 2, 1);
	tp_unblock(t);
	tp_expect_aeth(t, 2, ACK);
	tp_expect_nothing(t, &t->b);

	/* the receiver is not ready, and then it is */
	tp_connect(t, NULL);
	tp_block(t);
	tp_send(t, IB_OPCODE_RC_SEND_ONLY, 0, 1);
	tp_unblock(t);
	tp_expect_aeth(t, 0, SRNIC_AETH_RNR_NAK | 1);
	tp_block(t);
	tp_send(t, IB_OPCODE_RC_SEND_ONLY, 0, 1);
	tp_post_recvs(t, 1);
	tp_send(t, IB_OPCODE_RC_SEND_ONLY, 0, 1);
	tp_unblock(t);
	tp_expect_aeth(t, 0, ACK);
	tp_expect_nothing(t, &t->b);

	/* an ACK that waits isn't lost behind the answer to an older request */
	tp_connect(t, NULL);
	fetch_add(t, 0, 8, 1);
	tp_drop_all(&t->b);
	tp_block(t);
	tp_send(t, IB_OPCODE_RC_RDMA_WRITE_ONLY, 1, 1);
	fetch_add(t, 0, 8, 1);
	tp_unblock(t);
	tp_expect(t, &t->b, IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE, 0);
	tp_expect_aeth(t, 1, ACK);
	tp_expect_nothing(t, &t->b);

	/* data stays in order, and each packet leaves once */
	tp_connect(t, NULL);
	t->b.xmit_err = -ENOBUFS;
	t->b.xmit_left = 1;
	tp_send(t, IB_OPCODE_RC_RDMA_READ_REQUEST, 0, 3 * MTU);
	tp_send(t, IB_OPCODE_RC_RDMA_WRITE_ONLY, 3, 1);
	/* a peer in a hurry doesn't get it twice */
	tp_read_request(t, 1, MTU, 2 * MTU, t->b.region[0]->key);
	tp_unblock(t);
	tp_expect(t, &t->b, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST, 0);
	tp_expect(t, &t->b, IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE, 1);
	tp_expect(t, &t->b, IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST, 2);
	tp_expect_aeth(t, 3, ACK);
	tp_expect_nothing(t, &t->b);
}

/* More than can wait for an answer: not executed, not even noticed. */
static void res_too_many(struct kunit *test)
{
	struct tp_pair *t = test->priv;
	u32 i;

	tp_connect(t, NULL);
	*(u64 *)(t->b.mem + 8) = 0;
	tp_block(t);
	for (i = 0; i < SRNIC_MAX_JOBS + 3; i++)
		fetch_add(t, min_t(u32, i, SRNIC_MAX_JOBS), 8, 1);
	KUNIT_EXPECT_EQ(test, *(u64 *)(t->b.mem + 8), SRNIC_MAX_JOBS);
	KUNIT_EXPECT_EQ(test, t->b.qp.rq.epsn, SRNIC_MAX_JOBS);
	/* a repeated one has no room either */
	fetch_add(t, SRNIC_MAX_JOBS - 1, 8, 1);
	tp_send(t, IB_OPCODE_RC_RDMA_READ_REQUEST, SRNIC_MAX_JOBS, 8);
	tp_unblock(t);
	for (i = 0; i < SRNIC_MAX_JOBS; i++) {
		tp_expect(t, &t->b, IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE, i);
		KUNIT_ASSERT_EQ(test, t->b.last->pkt.orig, i);
	}
	tp_expect_nothing(t, &t->b);
	fetch_add(t, SRNIC_MAX_JOBS, 8, 1);
	tp_expect(t, &t->b, IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE, SRNIC_MAX_JOBS);
}

/* A QP that isn't ready, and packets that aren't its peer's. */
static void res_not_for_us(struct kunit *test)
{
	struct tp_pair *t = test->priv;
	__be32 addr = t->a.ip.saddr;

	tp_connect(t, NULL);
	memset(t->a.mem, 0x77, MTU);
	t->a.ip.saddr = htonl(0x0a4d0009);
	tp_send(t, IB_OPCODE_RC_RDMA_WRITE_ONLY, 0, 1);
	/* a gap that a stranger shows is none */
	tp_send(t, IB_OPCODE_RC_RDMA_WRITE_ONLY, 5, 1);
	t->a.ip.saddr = addr;
	tp_expect_nothing(t, &t->b);
	KUNIT_EXPECT_EQ(test, t->b.mem[0], 0);
	KUNIT_EXPECT_EQ(test, tp_stat(&t->b, SRNIC_STAT_BAD_SOURCE), 2);

	tp_modify(t, &t->b, IB_QPS_ERR);
	tp_send(t, IB_OPCODE_RC_RDMA_WRITE_ONLY, 0, 1);
	tp_modify(t, &t->b, IB_QPS_RESET);
	tp_send(t, IB_OPCODE_RC_RDMA_WRITE_ONLY, 0, 1);
	tp_modify(t, &t->b, IB_QPS_INIT);
	tp_send(t, IB_OPCODE_RC_RDMA_WRITE_ONLY, 0, 1);
	tp_expect_nothing(t, &t->b);
	KUNIT_EXPECT_EQ(test, t->b.mem[0], 0);
	tp_modify(t, &t->b, IB_QPS_RTR);
	tp_send(t, IB_OPCODE_RC_RDMA_WRITE_ONLY, 0, 1);
	tp_expect_aeth(t, 0, ACK);
	KUNIT_EXPECT_EQ(test, t->b.mem[0], 0x77);
	tp_advance(0);
	KUNIT_EXPECT_TRUE(test, t->b.events & BIT(IB_EVENT_COMM_EST));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(res_sequence),
	KUNIT_CASE(res_invalidate),
	KUNIT_CASE(res_lengths),
	KUNIT_CASE(res_receives),
	KUNIT_CASE(res_gap),
	KUNIT_CASE(res_duplicates),
	KUNIT_CASE(res_read_again),
	KUNIT_CASE(res_atomic_again),
	KUNIT_CASE(res_atomic_of_old),
	KUNIT_CASE(res_atomic_dead_key),
	KUNIT_CASE(res_msn),
	KUNIT_CASE(res_read_nothing_again),
	KUNIT_CASE(res_rnr),
	KUNIT_CASE(res_blocked),
	KUNIT_CASE(res_too_many),
	KUNIT_CASE(res_not_for_us),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_responder",
	.init = tp_pair_init,
	.exit = tp_pair_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);

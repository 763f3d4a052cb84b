// SPDX-License-Identifier: GPL-2.0
/*
 * The requester: what it sends, how much, and when.
 */
#include <rdma/ib_pack.h>

#include "rng.h"
#include "tp.h"

#define MTU	256
#define WINDOW	32	/* of a new QP */
#define CHUNK	16	/* responses to one READ request */

#define SEND_ONLY	IB_OPCODE_RC_SEND_ONLY
#define WRITE_ONLY	IB_OPCODE_RC_RDMA_WRITE_ONLY
#define WRITE_MIDDLE	IB_OPCODE_RC_RDMA_WRITE_MIDDLE
#define WRITE_LAST	IB_OPCODE_RC_RDMA_WRITE_LAST
#define READ_REQUEST	IB_OPCODE_RC_RDMA_READ_REQUEST

/* Opcodes by number (IBTA table 38), the positions first, middle, last, only. */
static const struct segment_row {
	enum ib_wr_opcode op;
	u8 opcode[4];
	bool reth;
	bool imm;
	bool recv;	/* consumes a receive: SE means something */
} segment_rows[] = {
	{ IB_WR_SEND, { 0, 1, 2, 4 }, .recv = true },
	{ IB_WR_SEND_WITH_IMM, { 0, 1, 3, 5 }, .imm = true, .recv = true },
	{ IB_WR_SEND_WITH_INV, { 0, 1, 22, 23 }, .recv = true },
	{ IB_WR_RDMA_WRITE, { 6, 7, 8, 10 }, .reth = true },
	{ IB_WR_RDMA_WRITE_WITH_IMM, { 6, 7, 9, 11 }, .reth = true, .imm = true,
	  .recv = true },
};

static void check_segment(struct tp_pair *t, const struct segment_row *row,
			  const struct tp_wr *wr, u32 psn, u32 i, u32 n)
{
	struct kunit *test = t->test;
	bool first = !i, last = i == n - 1;
	u32 len = last ? wr->len - i * MTU : MTU;
	u8 op = row->opcode[first ? (last ? 3 : 0) : (last ? 2 : 1)];
	struct tp_packet *p = tp_expect(t, &t->a, op, tp_psn(t, psn));
	const u8 *payload = p->data + p->pkt.op->hdr_len;
	static const u8 zero[4];

	KUNIT_EXPECT_EQ(test, p->pkt.len, len);
	KUNIT_EXPECT_MEMEQ(test, payload, t->a.mem + wr->off + i * MTU, len);
	KUNIT_EXPECT_EQ(test, p->len, p->pkt.op->hdr_len + ALIGN(len, 4) + 4);
	KUNIT_EXPECT_MEMEQ(test, payload + len, zero, -len & 3);
	KUNIT_EXPECT_EQ(test, p->pkt.ackreq, last);
	KUNIT_EXPECT_EQ(test, p->pkt.solicited, last && row->recv);
	if (row->reth && first) {
		KUNIT_EXPECT_EQ(test, p->pkt.va, TP_IOVA + wr->roff);
		KUNIT_EXPECT_EQ(test, p->pkt.rkey, 0xabcdef);
		KUNIT_EXPECT_EQ(test, p->pkt.dmalen, wr->len);
	}
	if (row->imm && last)
		KUNIT_EXPECT_EQ(test, (__force u32)p->pkt.imm, wr->imm);
	if (row->op == IB_WR_SEND_WITH_INV && last)
		KUNIT_EXPECT_EQ(test, p->pkt.inv_rkey, wr->imm);
}

/* Every kind of message at the edges of the MTU, across the wrap of the PSN. */
static void req_segments(struct kunit *test)
{
	static const u32 lens[] = { 0, 1, MTU - 1, MTU, MTU + 1, 3 * MTU };
	struct tp_conf conf = { .psn = 0xfffff0 };
	struct tp_pair *t = tp_connected(test, &conf);
	struct rnd_state rng;
	u32 psn = 0, r, k, i;

	prandom_seed_state(&rng, 20);
	prandom_bytes_state(&rng, t->a.mem, TP_MEM);
	for (r = 0; r < ARRAY_SIZE(segment_rows); r++) {
		for (k = 0; k < ARRAY_SIZE(lens); k++) {
			struct tp_wr wr = {
				.op = segment_rows[r].op, .len = lens[k],
				.flags = IB_SEND_SIGNALED | IB_SEND_SOLICITED,
				.off = 100 * k + 1, .roff = 1000 * r,
				.imm = 0x12345678 + k, .rkey = 0xabcdef,
				.id = 10 * r + k,
			};
			u32 n = max(DIV_ROUND_UP(lens[k], MTU), 1U);
			struct ib_wc wc;

			KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
			for (i = 0; i < n; i++)
				check_segment(t, &segment_rows[r], &wr, psn + i,
					      i, n);
			tp_expect_nothing(t, &t->a);
			psn += n;
			tp_expect_no_wc(t, &t->a.scq);
			tp_ack(t, psn - 1);
			wc = tp_expect_wc(t, &t->a.scq, wr.id, IB_WC_SUCCESS);
			KUNIT_EXPECT_EQ(test, wc.opcode, segment_rows[r].reth ?
					IB_WC_RDMA_WRITE : IB_WC_SEND);
		}
	}
	/* the PSN did wrap */
	KUNIT_EXPECT_LT(test, tp_psn(t, psn), psn);
}

/* Requests of 16 responses at most, as many as the window holds. */
static void req_read_chunks(struct kunit *test)
{
	struct tp_pair *t = tp_connected(test, NULL);
	struct tp_wr wr = {
		.op = IB_WR_RDMA_READ, .len = 40 * MTU + 5, .off = 3,
		.roff = 7, .flags = IB_SEND_SIGNALED, .id = 1,
	};
	struct rnd_state rng;

	prandom_seed_state(&rng, 21);
	prandom_bytes_state(&rng, t->b.mem, TP_MEM);
	KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
	tp_expect_read(t, 0, 7, CHUNK * MTU);
	tp_deliver(&t->b, &t->a.last->pkt);
	tp_expect_read(t, CHUNK, 7 + CHUNK * MTU, CHUNK * MTU);
	tp_deliver(&t->b, &t->a.last->pkt);
	tp_expect_nothing(t, &t->a);
	/* the third has nine responses: as soon as there is room for them */
	while (list_empty(&t->a.sent)) {
		KUNIT_ASSERT_NOT_NULL(test, tp_next(&t->b));
		tp_deliver(&t->a, &t->b.last->pkt);
	}
	tp_expect_read(t, 2 * CHUNK, 7 + 2 * CHUNK * MTU, 8 * MTU + 5);
	tp_deliver(&t->b, &t->a.last->pkt);
	tp_pump(t);
	tp_expect_wc(t, &t->a.scq, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_MEMEQ(test, t->a.mem + 3, t->b.mem + 7, wr.len);
	KUNIT_EXPECT_EQ(test, t->a.mem[2], 0);
	KUNIT_EXPECT_EQ(test, t->a.mem[3 + wr.len], 0);

	/* a READ of nothing takes a PSN all the same */
	wr = (struct tp_wr) { .op = IB_WR_RDMA_READ, .id = 2,
			      .flags = IB_SEND_SIGNALED };
	KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
	tp_expect_read(t, 41, 0, 0);
	tp_deliver(&t->b, &t->a.last->pkt);
	tp_pump(t);
	tp_expect_wc(t, &t->a.scq, 2, IB_WC_SUCCESS);
}

/* No more than the window; its last packet asks for an acknowledge. */
static void req_window(struct kunit *test)
{
	struct tp_pair *t = tp_connected(test, NULL);
	u32 i, n;

	KUNIT_ASSERT_EQ(test, tp_post_simple(t, IB_WR_RDMA_WRITE, 1000 * MTU, 0), 0);
	tp_expect_write(t, 0, WINDOW, false);
	KUNIT_EXPECT_TRUE(test, t->a.last->pkt.ackreq);
	tp_expect_nothing(t, &t->a);
	tp_ack(t, 9);
	/* ten make room for ten, and the window grows by as much */
	for (i = 0; i < 20; i++)
		tp_expect(t, &t->a, WRITE_MIDDLE, WINDOW + i);
	KUNIT_EXPECT_TRUE(test, t->a.last->pkt.ackreq);
	tp_expect_nothing(t, &t->a);
	/* up to 128 */
	for (i = WINDOW + 20; i < 1000; i += n) {
		tp_ack(t, i - 1);
		n = tp_drop_all(&t->a);
		KUNIT_ASSERT_GT(test, n, 0);
		KUNIT_ASSERT_LE(test, n, 128);
	}
	KUNIT_EXPECT_EQ(test, t->a.qp.sq.cwnd, 128);
	tp_ack(t, 999);
	KUNIT_EXPECT_EQ(test, t->a.qp.sq.cons, t->a.qp.sq.prod);
}

static void req_max_rd_atomic(struct kunit *test)
{
	struct tp_conf conf = { .max_rd = 2 };
	struct tp_pair *t = tp_connected(test, &conf);
	struct srnic_pkt_out answer = {
		.opcode = IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE,
		.orig = 0x1122334455667788ull,
	};
	struct tp_wr wr = { .op = IB_WR_ATOMIC_FETCH_AND_ADD, .len = 8,
			    .compare_add = 5, .flags = IB_SEND_SIGNALED };
	struct tp_packet *p;
	int i;

	for (i = 0; i < 3; i++) {
		wr.id = i;
		wr.off = 16 * i;
		KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
	}
	for (i = 0; i < 2; i++) {
		p = tp_expect(t, &t->a, IB_OPCODE_RC_FETCH_ADD, i);
		KUNIT_EXPECT_EQ(test, p->pkt.swap_add, 5);
		KUNIT_EXPECT_EQ(test, p->pkt.compare, 0);
	}
	tp_expect_nothing(t, &t->a);
	tp_forge(t, &t->b, &answer, NULL);
	tp_expect_wc(t, &t->a.scq, 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, *(u64 *)t->a.mem, answer.orig);
	tp_expect(t, &t->a, IB_OPCODE_RC_FETCH_ADD, 2);
	tp_expect_nothing(t, &t->a);

	/* each chunk of a READ is one of them */
	tp_connect(t, &conf);
	t->a.qp.sq.cwnd = 128;
	KUNIT_ASSERT_EQ(test, tp_post_simple(t, IB_WR_RDMA_READ, 40 * MTU, 0), 0);
	tp_expect_read(t, 0, 0, CHUNK * MTU);
	tp_expect_read(t, CHUNK, CHUNK * MTU, CHUNK * MTU);
	tp_expect_nothing(t, &t->a);

	/* none at all: the request itself is wrong */
	conf.max_rd = -1;
	tp_connect(t, &conf);
	wr.id = 9;
	KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
	tp_expect_wc(t, &t->a.scq, 9, IB_WC_LOC_QP_OP_ERR);
	tp_expect_nothing(t, &t->a);
}

static void req_fence(struct kunit *test)
{
	struct tp_pair *t = tp_connected(test, NULL);
	struct tp_wr wr[] = {
		{ .op = IB_WR_RDMA_WRITE, .len = 8 },
		{ .op = IB_WR_RDMA_READ, .len = 2 * MTU, .roff = 8 },
		{ .op = IB_WR_SEND, .len = 1, .flags = IB_SEND_SIGNALED },
		{ .op = IB_WR_SEND, .len = 1, .flags = IB_SEND_FENCE |
						       IB_SEND_SIGNALED, .id = 7 },
	};

	tp_post_recv(&t->b, 1, 0, MTU);
	tp_post_recv(&t->b, 2, 0, MTU);
	KUNIT_ASSERT_EQ(test, tp_post_list(&t->a, wr, ARRAY_SIZE(wr)), 0);
	tp_expect(t, &t->a, WRITE_ONLY, 0);
	tp_deliver(&t->b, &t->a.last->pkt);
	tp_expect_read(t, 1, 8, 2 * MTU);
	tp_deliver(&t->b, &t->a.last->pkt);
	tp_expect(t, &t->a, SEND_ONLY, 3);
	tp_expect_nothing(t, &t->a);
	/* the first half of the data isn't enough */
	while (!t->b.last || t->b.last->pkt.psn != 1)
		KUNIT_ASSERT_NOT_NULL(test, tp_next(&t->b));
	tp_deliver(&t->a, &t->b.last->pkt);
	tp_expect_nothing(t, &t->a);
	tp_expect(t, &t->b, IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST, 2);
	tp_deliver(&t->a, &t->b.last->pkt);
	tp_expect(t, &t->a, SEND_ONLY, 4);
}

/*
 * The last packet before a WQE that has to wait asks for an acknowledge, though
 * nothing of it is signaled and more is to follow: else both ends would wait.
 */
static void req_ack_before_wait(struct kunit *test)
{
	static const struct {
		u32 len;
		struct tp_wr next;
	} rows[] = {
		/* no room in the window for its responses */
		{ 20 * MTU, { .op = IB_WR_RDMA_READ, .len = CHUNK * MTU } },
		{ 20 * MTU, { .op = IB_WR_RDMA_READ, .len = 100 * MTU } },
		{ 1, { .op = IB_WR_RDMA_READ, .len = 1 } },
		{ 1, { .op = IB_WR_ATOMIC_FETCH_AND_ADD, .len = 8 } },
		{ 1, { .op = IB_WR_SEND, .len = 8, .flags = IB_SEND_FENCE } },
	};
	struct tp_pair *t = test->priv;
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tp_wr wr[] = {
			{ .op = IB_WR_RDMA_WRITE, .len = rows[i].len },
			rows[i].next,
		};

		tp_connect(t, NULL);
		tp_post_recv(&t->b, 1, 0, MTU);
		n = DIV_ROUND_UP(rows[i].len, MTU);
		wr[1].id = i;
		wr[1].flags |= IB_SEND_SIGNALED;
		KUNIT_ASSERT_EQ(test, tp_post_list(&t->a, wr, 2), 0);
		tp_expect_write(t, 0, n, true);
		KUNIT_EXPECT_TRUE_MSG(test, t->a.last->pkt.ackreq, "row %u", i);
		tp_ack(t, n - 1);
		tp_drop_all(&t->b);
		t->b.qp.rq.epsn = n;
		tp_pump(t);
		tp_expect_wc(t, &t->a.scq, i, IB_WC_SUCCESS);
	}
}

/* What has been started is finished, then the user is told; no more starts. */
static void req_sqd(struct kunit *test)
{
	struct tp_pair *t = tp_connected(test, NULL);

	KUNIT_ASSERT_EQ(test, tp_post_simple(t, IB_WR_RDMA_WRITE, 40 * MTU, 0), 0);
	KUNIT_ASSERT_EQ(test, tp_post_simple(t, IB_WR_RDMA_WRITE, 1, 0), 0);
	tp_expect_write(t, 0, WINDOW, false);
	tp_modify(t, &t->a, IB_QPS_SQD);
	tp_expect_nothing(t, &t->a);
	tp_ack(t, WINDOW - 1);
	do {
		KUNIT_ASSERT_NOT_NULL(test, tp_next(&t->a));
	} while (t->a.last->pkt.opcode != WRITE_LAST);
	/* nothing comes behind it for now */
	KUNIT_EXPECT_TRUE(test, t->a.last->pkt.ackreq);
	tp_expect_nothing(t, &t->a);
	tp_advance(0);
	KUNIT_EXPECT_FALSE(test, t->a.events & BIT(IB_EVENT_SQ_DRAINED));
	tp_ack(t, 39);
	tp_advance(0);
	KUNIT_EXPECT_TRUE(test, t->a.events & BIT(IB_EVENT_SQ_DRAINED));
	tp_expect_nothing(t, &t->a);
	tp_modify(t, &t->a, IB_QPS_RTS);
	tp_expect(t, &t->a, WRITE_ONLY, 40);
}

static int post_pieces(struct tp_pair *t, enum ib_wr_opcode op,
		       struct ib_sge *sge, u64 id)
{
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode = op, .wr_id = id, .sg_list = sge, .num_sge = 3,
			.send_flags = IB_SEND_SIGNALED,
		},
		.remote_addr = TP_IOVA + 0x10000,
		.rkey = t->b.region[0]->key,
	};
	const struct ib_send_wr *bad;

	return srnic_qp_post_send(&t->a.qp, &wr.wr, &bad);
}

/* Gathered and scattered in order, over the ends of pieces and of packets. */
static void req_pieces(struct kunit *test)
{
	static const u32 lens[][3] = {
		{ 1, 1, 1 }, { 300, 0, 700 }, { 0, 0, 5 }, { MTU, MTU, MTU },
		{ 255, 2, 255 }, { 0, 3 * MTU, 1 }, { 7, 0, 0 }, { 0, 0, 0 },
	};
	struct tp_pair *t = tp_connected(test, NULL);
	u8 *remote = t->b.mem + 0x10000;
	struct ib_sge sge[3];
	struct rnd_state rng;
	u32 i, k, done;

	prandom_seed_state(&rng, 23);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		prandom_bytes_state(&rng, t->a.mem, 0x6000);
		memset(remote, 0, 0x1000);
		for (k = 0; k < 3; k++)
			sge[k] = (struct ib_sge) { TP_IOVA + 0x1001 * k,
						   lens[i][k],
						   t->a.region[0]->key };
		KUNIT_ASSERT_EQ(test, post_pieces(t, IB_WR_RDMA_WRITE, sge, 1), 0);
		tp_pump(t);
		tp_expect_wc(t, &t->a.scq, 1, IB_WC_SUCCESS);
		/* and back, to other places */
		for (k = 0; k < 3; k++)
			sge[k].addr = TP_IOVA + 0x20000 + 0x1003 * k;
		memset(t->a.mem + 0x20000, 0, 0x6000);
		KUNIT_ASSERT_EQ(test, post_pieces(t, IB_WR_RDMA_READ, sge, 2), 0);
		tp_pump(t);
		tp_expect_wc(t, &t->a.scq, 2, IB_WC_SUCCESS);
		for (k = 0, done = 0; k < 3; done += lens[i][k++]) {
			u8 *back = t->a.mem + 0x20000 + 0x1003 * k;

			KUNIT_EXPECT_MEMEQ(test, remote + done,
					   t->a.mem + 0x1001 * k, lens[i][k]);
			KUNIT_EXPECT_MEMEQ(test, back, t->a.mem + 0x1001 * k,
					   lens[i][k]);
			KUNIT_EXPECT_EQ(test, back[lens[i][k]], 0);
		}
		KUNIT_EXPECT_EQ(test, remote[done], 0);
	}
	/* each piece by its own key */
	sge[0].length = 10;
	sge[1] = (struct ib_sge) { TP_IOVA, 10, 0x66 };
	KUNIT_ASSERT_EQ(test, post_pieces(t, IB_WR_RDMA_WRITE, sge, 3), 0);
	tp_expect_nothing(t, &t->a);
	tp_expect_wc(t, &t->a.scq, 3, IB_WC_LOC_PROT_ERR);
}

/* A key that doesn't serve: in its turn, and nothing behind it. */
static void req_bad_lkey(struct kunit *test)
{
	struct tp_conf conf = { .timeout = -1 };
	struct tp_pair *t = tp_connected(test, &conf);
	struct tp_wr wr[] = {
		{ .op = IB_WR_RDMA_WRITE, .len = 2 * MTU, .id = 1 },
		{ .op = IB_WR_RDMA_WRITE, .len = 9, .id = 2, .lkey = 0x66 },
		{ .op = IB_WR_RDMA_WRITE, .len = 9, .id = 3 },
	};
	struct ib_wc wc;

	KUNIT_ASSERT_EQ(test, tp_post_list(&t->a, wr, 3), 0);
	tp_expect_write(t, 0, 2, true);
	tp_expect_no_wc(t, &t->a.scq);
	/* it was believed that more would follow: asked once more, aloud */
	if (!t->a.last->pkt.ackreq)
		tp_expect(t, &t->a, WRITE_LAST, 1);
	KUNIT_EXPECT_TRUE(test, t->a.last->pkt.ackreq);
	tp_expect_nothing(t, &t->a);
	tp_ack(t, 1);
	wc = tp_expect_wc(t, &t->a.scq, 2, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_NE(test, wc.vendor_err, 0);
	tp_expect_wc(t, &t->a.scq, 3, IB_WC_WR_FLUSH_ERR);
	tp_expect_no_wc(t, &t->a.scq);
	tp_expect_nothing(t, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.qp.state, IB_QPS_ERR);
}

/* The key dies in the middle of a message. */
static void req_lkey_dies(struct kunit *test)
{
	struct tp_pair *t = tp_connected(test, NULL);
	u32 key = tp_region(t, &t->a, 0, 100 * MTU, TP_PDN, 0);
	struct tp_wr wr = { .op = IB_WR_RDMA_WRITE, .len = 100 * MTU, .id = 1,
			    .lkey = key };

	KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
	KUNIT_EXPECT_EQ(test, tp_drop_all(&t->a), WINDOW);
	tp_region_kill(&t->a, key);
	tp_ack(t, WINDOW - 1);
	tp_expect_wc(t, &t->a.scq, 1, IB_WC_LOC_PROT_ERR);
	tp_expect_nothing(t, &t->a);
	KUNIT_EXPECT_EQ(test, tp_stat(&t->a, SRNIC_STAT_KEY_STALE), 1);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(req_segments),
	KUNIT_CASE(req_read_chunks),
	KUNIT_CASE(req_window),
	KUNIT_CASE(req_max_rd_atomic),
	KUNIT_CASE(req_fence),
	KUNIT_CASE(req_ack_before_wait),
	KUNIT_CASE(req_sqd),
	KUNIT_CASE(req_pieces),
	KUNIT_CASE(req_bad_lkey),
	KUNIT_CASE(req_lkey_dies),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_requester",
	.init = tp_pair_init,
	.exit = tp_pair_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);

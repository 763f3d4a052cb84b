// SPDX-License-Identifier: GPL-2.0
/*
 * The responder says no: keys and rights, and how a QP ends.
 */
#include <rdma/ib_pack.h>

#include "tp.h"

#define MTU		256
#define ACK		(SRNIC_AETH_ACK | SRNIC_AETH_NO_CREDITS)
#define INV_REQ		(SRNIC_AETH_NAK | SRNIC_NAK_INV_REQ)
#define REM_ACCESS	(SRNIC_AETH_NAK | SRNIC_NAK_REM_ACCESS)

enum which_key {
	LIVE,
	STALE,
	MADE_UP,
};

/* No key, an old one, one of others, too little right, beside the memory, dead. */
static const struct key_row {
	enum which_key key;
	u64 va;
	u32 len;
	u32 lacks;	/* of its rights */
	u32 pdn;
	u8 state;	/* if it isn't valid */
	bool of_other_qp;
	enum srnic_stat why;
} key_rows[] = {
	{ .key = MADE_UP, .va = TP_IOVA + 64, .len = 8,
	  .why = SRNIC_STAT_KEY_UNKNOWN },
	{ .key = STALE, .va = TP_IOVA + 64, .len = 8, .why = SRNIC_STAT_KEY_STALE },
	{ .va = TP_IOVA + 64, .len = 8, .pdn = 1, .why = SRNIC_STAT_KEY_PD },
	{ .va = TP_IOVA + 64, .len = 8, .lacks = IB_ACCESS_REMOTE_WRITE |
	  IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC,
	  .why = SRNIC_STAT_KEY_ACCESS },
	{ .va = TP_IOVA + 56, .len = 8, .why = SRNIC_STAT_KEY_BOUNDS },
	{ .va = TP_IOVA + 128, .len = 8, .why = SRNIC_STAT_KEY_BOUNDS },
	{ .va = 0xfffffffffffffff8ull, .len = 8, .why = SRNIC_STAT_KEY_BOUNDS },
	{ .va = 0, .len = 8, .why = SRNIC_STAT_KEY_BOUNDS },
	{ .va = TP_IOVA + 64, .len = 8, .state = SRNIC_MPT_INVALID,
	  .why = SRNIC_STAT_KEY_STATE },
	{ .va = TP_IOVA + 64, .len = 8, .state = SRNIC_MPT_REVOKED,
	  .why = SRNIC_STAT_KEY_REVOKED },
	{ .va = TP_IOVA + 64, .len = 8, .of_other_qp = true,
	  .why = SRNIC_STAT_KEY_QP },
};

/* It names the last slot, which is never used here. */
static u32 make_up_key(struct tp_pair *t)
{
	u32 last = srnic_mpt_slots(t->b.tp.mpt) - 1, key = 0;

	while (srnic_mpt_slot_of(t->b.tp.mpt, key) != last)
		key += 0x100;
	return key;
}

/* Of all counters these have moved, by so many, and no other has. */
struct moved {
	enum srnic_stat which;
	u64 by;
};

static void expect_moved(struct kunit *test, const struct tp_end *e, const u64 *before,
			 const struct moved *moved, u32 n)
{
	int i;

	for (i = 0; i < SRNIC_STATS; i++) {
		u64 want = 0;
		u32 k;

		for (k = 0; k < n; k++)
			if (moved[k].which == i)
				want += moved[k].by;
		KUNIT_EXPECT_EQ_MSG(test, tp_stat(e, i) - before[i], want,
				    "counter %d", i);
	}
}

/* Of the responder's device */
static struct srnic_refusal lines[SRNIC_LEDGER_SIZE];

/* The ledger's last line is about this packet. */
static void expect_line(struct tp_pair *t, const struct key_row *row,
			const struct srnic_pkt_out *out)
{
	static const __be32 mapped = cpu_to_be32(0xffff);
	struct kunit *test = t->test;
	u32 n = srnic_ledger_copy(t->b.tp.ledger, lines);
	const struct srnic_refusal *r = &lines[n - 1];

	KUNIT_ASSERT_GT(test, n, 0);
	KUNIT_EXPECT_EQ(test, r->why, row->why - SRNIC_STAT_KEY_UNKNOWN +
			SRNIC_KEY_UNKNOWN);
	KUNIT_EXPECT_EQ(test, r->rq.key, out->rkey);
	KUNIT_EXPECT_EQ(test, r->rq.addr, out->va);
	KUNIT_EXPECT_EQ(test, r->rq.len, 8);
	KUNIT_EXPECT_EQ(test, r->opcode, out->opcode);
	KUNIT_EXPECT_EQ(test, r->psn, out->psn);
	KUNIT_EXPECT_EQ(test, r->qpn, t->b.qp.qpn);
	KUNIT_EXPECT_MEMEQ(test, r->peer.raw + 8, &mapped, 4);
	KUNIT_EXPECT_MEMEQ(test, r->peer.raw + 12, &t->a.ip.saddr, 4);
}

/* The key that the row is about. */
static u32 key_of(struct tp_pair *t, const struct key_row *row, u32 live, u32 stale)
{
	struct srnic_mpt_entry *e = tp_region_of(&t->b, live);

	KUNIT_ASSERT_NOT_NULL(t->test, e);
	if (row->of_other_qp)
		e->qpn = t->b.qp.qpn + 1;
	if (row->state)
		srnic_mpt_kill(t->b.tp.mpt, e, row->state);
	switch (row->key) {
	case LIVE:
		return live;
	case STALE:
		return stale;
	default:
		return make_up_key(t);
	}
}

static void refuse_one(struct tp_pair *t, const struct key_row *row, u8 opcode)
{
	const struct moved moved[] = { { row->why, 1 }, { SRNIC_STAT_SENT_PKTS, 1 } };
	struct kunit *test = t->test;
	struct srnic_pkt_out out;
	u64 counted[SRNIC_STATS];
	u32 live, stale;
	u8 before[256];

	tp_connect(t, NULL);
	stale = tp_region(t, &t->b, 64, 64, TP_PDN, TP_ALL);
	tp_region_kill(&t->b, stale);
	live = tp_region(t, &t->b, 64, 64, TP_PDN + row->pdn,
			 TP_ALL & ~row->lacks);
	out = tp_request(t, opcode, 0, row->len);
	out.va = row->va;
	out.rkey = key_of(t, row, live, stale);
	memset(t->a.mem, 0xdd, MTU);
	memcpy(before, t->b.mem, sizeof(before));
	tp_stats(&t->b, counted);

	tp_forge(t, &t->a, &out, t->a.mem);
	tp_expect_aeth(t, 0, REM_ACCESS);
	expect_moved(test, &t->b, counted, moved, ARRAY_SIZE(moved));
	expect_line(t, row, &out);
	KUNIT_EXPECT_MEMEQ(test, t->b.mem, before, sizeof(before));
	tp_expect_dead(t, IB_EVENT_QP_ACCESS_ERR);
	tp_region_kill(&t->b, live);
}

static void refuse_keys(struct kunit *test)
{
	static const u8 opcodes[] = {
		IB_OPCODE_RC_RDMA_WRITE_ONLY, IB_OPCODE_RC_RDMA_READ_REQUEST,
		IB_OPCODE_RC_COMPARE_SWAP, IB_OPCODE_RC_FETCH_ADD,
	};
	struct tp_pair *t = test->priv;
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(key_rows); i++)
		for (k = 0; k < ARRAY_SIZE(opcodes); k++)
			refuse_one(t, &key_rows[i], opcodes[k]);
}

/* The ledger has the last ones, in order, and one line for each. */
static void refuse_many(struct kunit *test)
{
	struct tp_pair *t = test->priv;
	struct srnic_pkt_out out;
	u32 i, n, made = SRNIC_LEDGER_SIZE + 5;

	KUNIT_EXPECT_EQ(test, srnic_ledger_copy(t->b.tp.ledger, lines), 0);
	for (i = 0; i < made; i++) {
		tp_connect(t, NULL);
		out = tp_request(t, IB_OPCODE_RC_RDMA_READ_REQUEST, 0, 8);
		out.va = i;
		tp_forge(t, &t->a, &out, NULL);
		n = srnic_ledger_copy(t->b.tp.ledger, lines);
		KUNIT_ASSERT_EQ(test, n, min(i + 1, SRNIC_LEDGER_SIZE));
	}
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ(test, lines[i].rq.addr, made - n + i);
	for (i = 1; i < n; i++)
		KUNIT_EXPECT_GE(test, lines[i].when, lines[i - 1].when);
	KUNIT_EXPECT_EQ(test, srnic_ledger_copy(t->a.tp.ledger, lines), 0);
}

/* A local key: whose work request, and where it would have gone. */
static void refuse_local(struct kunit *test)
{
	/* two packets had a place */
	static const struct moved moved[] = {
		{ SRNIC_STAT_KEY_BOUNDS, 1 }, { SRNIC_STAT_SENT_PKTS, 2 },
	};
	struct tp_pair *t = test->priv;
	struct tp_wr wr = {
		.op = IB_WR_RDMA_WRITE, .len = 600, .off = TP_MEM - 512,
		.flags = IB_SEND_SIGNALED,
	};
	const struct srnic_refusal *r = lines;
	u64 counted[SRNIC_STATS];

	tp_connect(t, NULL);
	tp_stats(&t->a, counted);
	tp_post(&t->a, &wr);
	tp_expect_wc(t, &t->a.scq, 0, IB_WC_LOC_PROT_ERR);
	expect_moved(test, &t->a, counted, moved, ARRAY_SIZE(moved));
	KUNIT_ASSERT_EQ(test, srnic_ledger_copy(t->a.tp.ledger, lines), 1);
	KUNIT_EXPECT_EQ(test, r->why, SRNIC_KEY_BOUNDS);
	KUNIT_EXPECT_EQ(test, r->rq.key, t->a.region[0]->key);
	KUNIT_EXPECT_EQ(test, r->rq.addr, TP_IOVA + TP_MEM);
	KUNIT_EXPECT_EQ(test, r->rq.len, 600 - 512);
	KUNIT_EXPECT_EQ(test, r->opcode, IB_OPCODE_RC_RDMA_WRITE_LAST);
	KUNIT_EXPECT_EQ(test, r->psn, tp_psn(t, 2));
	KUNIT_EXPECT_EQ(test, r->qpn, t->a.qp.qpn);
	KUNIT_EXPECT_MEMEQ(test, r->peer.raw + 12, &t->b.ip.saddr, 4);
}

/* Nothing of a message is written that doesn't fit as a whole. */
static void refuse_write_probe(struct kunit *test)
{
	struct tp_pair *t = test->priv;
	struct srnic_pkt_out out;
	u32 key;

	tp_connect(t, NULL);
	key = tp_region(t, &t->b, 0, 2 * MTU, TP_PDN, TP_ALL);
	memset(t->a.mem, 0x99, MTU);
	out = tp_request(t, IB_OPCODE_RC_RDMA_WRITE_FIRST, 0, MTU);
	out.rkey = key;
	out.dmalen = 2 * MTU + 1;
	tp_forge(t, &t->a, &out, t->a.mem);
	tp_expect_aeth(t, 0, REM_ACCESS);
	KUNIT_EXPECT_EQ(test, t->b.mem[0], 0);

	/* each packet is checked, not just the first */
	tp_connect(t, NULL);
	out.dmalen = 2 * MTU;
	tp_forge(t, &t->a, &out, t->a.mem);
	tp_expect_aeth(t, 0, ACK);
	KUNIT_EXPECT_EQ(test, t->b.mem[0], 0x99);
	tp_region_kill(&t->b, key);
	tp_send(t, IB_OPCODE_RC_RDMA_WRITE_LAST, 1, MTU);
	tp_expect_aeth(t, 1, REM_ACCESS);
	KUNIT_EXPECT_EQ(test, t->b.mem[MTU], 0);
	tp_expect_dead(t, IB_EVENT_QP_ACCESS_ERR);
}

/* A READ ends where its key does. */
static void refuse_read_key_dies(struct kunit *test)
{
	struct tp_pair *t = test->priv;
	u32 key;

	tp_connect(t, NULL);
	key = tp_region(t, &t->b, 0, 8 * MTU, TP_PDN, TP_ALL);
	t->b.xmit_err = -ENOBUFS;
	t->b.xmit_left = 2;
	tp_read_request(t, 0, 0, 5 * MTU, key);
	tp_read_request(t, 5, 0, MTU, t->b.region[0]->key);
	tp_region_kill(&t->b, key);
	tp_unblock(t);
	tp_expect(t, &t->b, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST, 0);
	tp_expect(t, &t->b, IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE, 1);
	tp_expect_aeth(t, 2, REM_ACCESS);
	tp_expect_dead(t, IB_EVENT_QP_ACCESS_ERR);
}

/* What this QP may not be asked for. */
static void refuse_qp_access(struct kunit *test)
{
	static const struct {
		int access;
		int max_rd;
		u8 opcode;
		bool good;
	} rows[] = {
		{ IB_ACCESS_REMOTE_READ, 0, IB_OPCODE_RC_RDMA_WRITE_ONLY, false },
		{ IB_ACCESS_REMOTE_WRITE, 0, IB_OPCODE_RC_RDMA_WRITE_ONLY, true },
		{ IB_ACCESS_REMOTE_WRITE, 0, IB_OPCODE_RC_RDMA_READ_REQUEST, false },
		{ IB_ACCESS_REMOTE_READ, 0, IB_OPCODE_RC_RDMA_READ_REQUEST, true },
		{ IB_ACCESS_REMOTE_READ, -1, IB_OPCODE_RC_RDMA_READ_REQUEST, false },
		{ IB_ACCESS_REMOTE_WRITE, 0, IB_OPCODE_RC_FETCH_ADD, false },
		{ IB_ACCESS_REMOTE_ATOMIC, 0, IB_OPCODE_RC_FETCH_ADD, true },
		{ IB_ACCESS_REMOTE_ATOMIC, -1, IB_OPCODE_RC_FETCH_ADD, false },
		{ IB_ACCESS_REMOTE_READ, 0, IB_OPCODE_RC_COMPARE_SWAP, false },
		{ IB_ACCESS_REMOTE_ATOMIC, 0, IB_OPCODE_RC_COMPARE_SWAP, true },
		{ -1, 0, IB_OPCODE_RC_SEND_ONLY, true },
	};
	struct tp_pair *t = test->priv;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tp_conf conf = { .access = rows[i].access,
					.max_rd = rows[i].max_rd };

		tp_connect(t, &conf);
		tp_post_recvs(t, 1);
		tp_send(t, rows[i].opcode, 0, 8);
		KUNIT_ASSERT_NOT_NULL(test, tp_next(&t->b));
		KUNIT_EXPECT_EQ_MSG(test, t->b.last->pkt.syndrome,
				    rows[i].good ? ACK : INV_REQ, "row %zu", i);
	}
}

/*
 * The QP ends in bounded time, whatever the netdev says: NAK or no NAK, with
 * answers before it that can't leave either.
 */
static void refuse_fatal_bounded(struct kunit *test)
{
	static const struct {
		int err;
		bool no_memory;
		bool job;
	} rows[] = {
		{ -ENOBUFS, false, false },
		{ -ENOBUFS, false, true },
		{ 0, true, false },
		{ 0, true, true },
		{ -EHOSTUNREACH, false, false },
		{ -EHOSTUNREACH, false, true },
	};
	struct tp_pair *t = test->priv;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct srnic_pkt_out out;

		tp_connect(t, NULL);
		tp_post_recvs(t, 2);
		t->b.xmit_err = rows[i].err;
		t->b.no_memory = rows[i].no_memory;
		if (rows[i].job)
			tp_send(t, IB_OPCODE_RC_RDMA_READ_REQUEST, 0, 2 * MTU);
		out = tp_request(t, IB_OPCODE_RC_RDMA_WRITE_ONLY,
				 rows[i].job ? 2 : 0, 1);
		out.va = 0;
		tp_forge(t, &t->a, &out, t->a.mem);
		tp_advance(2ull * NSEC_PER_SEC);
		KUNIT_EXPECT_EQ_MSG(test, t->b.qp.state, IB_QPS_ERR,
				    "row %zu", i);
		KUNIT_EXPECT_TRUE(test, t->b.events & BIT(IB_EVENT_QP_ACCESS_ERR));
		tp_expect_wc(t, &t->b.rcq, 0, IB_WC_WR_FLUSH_ERR);
		tp_expect_wc(t, &t->b.rcq, 1, IB_WC_WR_FLUSH_ERR);
		t->b.xmit_err = 0;
		t->b.no_memory = false;
		tp_advance(2ull * NSEC_PER_SEC);
		tp_expect_nothing(t, &t->b);
	}
}

/* A netdev that is only slow gets all of it out, in order. */
static void refuse_fatal_slow(struct kunit *test)
{
	struct tp_pair *t = test->priv;
	struct srnic_pkt_out out;

	tp_connect(t, NULL);
	tp_block(t);
	tp_send(t, IB_OPCODE_RC_RDMA_READ_REQUEST, 0, 2 * MTU);
	out = tp_request(t, IB_OPCODE_RC_RDMA_WRITE_ONLY, 2, 1);
	out.va = 0;
	tp_forge(t, &t->a, &out, t->a.mem);
	tp_advance(500 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, t->b.qp.state, IB_QPS_RTS);
	tp_unblock(t);
	tp_expect(t, &t->b, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST, 0);
	tp_expect(t, &t->b, IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST, 1);
	tp_expect_aeth(t, 2, REM_ACCESS);
	tp_expect_dead(t, IB_EVENT_QP_ACCESS_ERR);
}

/*
 * The repeat of a READ or an atomic comes with another key: one that works for the
 * very bytes, one without the right, one that never was. None is answered, each is
 * told why not and counted, and the QP goes on.
 */
static void refuse_repeat_other_key(struct kunit *test)
{
	struct srnic_refusal *lines = kunit_kcalloc(test, SRNIC_LEDGER_SIZE,
						    sizeof(*lines), GFP_KERNEL);
	struct tp_pair *t = test->priv;
	struct srnic_pkt_out out;
	u32 key, weak, i;
	u64 *word;

	KUNIT_ASSERT_NOT_NULL(test, lines);
	tp_connect(t, NULL);
	word = (u64 *)(t->b.mem + 8);
	*word = 3;
	key = tp_region(t, &t->b, 0, 64, TP_PDN, TP_ALL);
	weak = tp_region(t, &t->b, 0, 64, TP_PDN, IB_ACCESS_LOCAL_WRITE);
	tp_read_request(t, 0, 8, 8, key);
	tp_expect(t, &t->b, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, 0);
	out = tp_request(t, IB_OPCODE_RC_FETCH_ADD, 1, 0);
	out.va = TP_IOVA + 8;
	out.rkey = key;
	out.swap_add = 1;
	tp_forge(t, &t->a, &out, NULL);
	tp_expect(t, &t->b, IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE, 1);
	for (i = 0; i < 2; i++) {
		const u32 other[] = { t->b.region[0]->key, weak, key ^ 1 };
		u32 n;

		for (n = 0; n < ARRAY_SIZE(other); n++) {
			out.rkey = other[n];
			if (i)
				tp_forge(t, &t->a, &out, NULL);
			else
				tp_read_request(t, 0, 8, 8, other[n]);
			tp_expect_aeth(t, i, REM_ACCESS);
			tp_expect_nothing(t, &t->b);
		}
		KUNIT_EXPECT_EQ(test, tp_stat(&t->b, SRNIC_STAT_KEY_ACCESS), 2 * (i + 1));
		KUNIT_EXPECT_EQ(test, tp_stat(&t->b, SRNIC_STAT_KEY_STALE), i + 1);
	}
	/* the first one of a connection is written down */
	KUNIT_EXPECT_EQ(test, srnic_ledger_copy(t->b.tp.ledger, lines), 1);
	KUNIT_EXPECT_EQ(test, lines[0].why, SRNIC_KEY_ACCESS);
	KUNIT_EXPECT_EQ(test, lines[0].rq.key, t->b.region[0]->key);
	KUNIT_EXPECT_EQ(test, *word, 4);
	/* the right one is as good as before, and a READ of nothing needs none */
	tp_read_request(t, 0, 8, 8, key);
	tp_expect(t, &t->b, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, 0);
	tp_read_request(t, 0, 8, 0, key ^ 1);
	tp_expect(t, &t->b, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, 0);
	out.rkey = key;
	tp_forge(t, &t->a, &out, NULL);
	tp_expect(t, &t->b, IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE, 1);
	KUNIT_EXPECT_EQ(test, *word, 4);
	tp_advance(2ull * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, t->b.qp.state, IB_QPS_RTS);
}

/* A READ that is repeated late, its key dead: waiting at the netdev when the rest comes. */
static void repeat_dead_read(struct tp_pair *t, u32 key)
{
	tp_block(t);
	tp_read_request(t, 0, 8, 8, key);
	tp_region_kill(&t->b, key);
}

/* What it is told is neither lost nor told instead of what others are to be told. */
static void refuse_repeat_beside_others(struct kunit *test)
{
	struct tp_pair *t = test->priv;
	u32 key, i;

	for (i = 0; i < 4; i++) {
		tp_connect(t, NULL);
		key = tp_region(t, &t->b, 0, 64, TP_PDN, TP_ALL);
		tp_read_request(t, 0, 8, 8, key);
		tp_expect(t, &t->b, IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY, 0);
		repeat_dead_read(t, key);
		switch (i) {
		case 0: /* an ACK */
			tp_send(t, IB_OPCODE_RC_RDMA_WRITE_ONLY, 1, 1);
			tp_unblock(t);
			tp_expect_aeth(t, 0, REM_ACCESS);
			tp_expect_aeth(t, 1, ACK);
			break;
		case 1: /* a gap */
			tp_send(t, IB_OPCODE_RC_RDMA_WRITE_ONLY, 2, 1);
			tp_unblock(t);
			tp_expect_aeth(t, 0, REM_ACCESS);
			tp_expect_aeth(t, 1, SRNIC_AETH_NAK | SRNIC_NAK_PSN_SEQ);
			break;
		case 2: /* the end, for another reason */
			tp_send(t, IB_OPCODE_RC_RDMA_WRITE_MIDDLE, 1, MTU);
			tp_unblock(t);
			tp_expect_aeth(t, 0, REM_ACCESS);
			tp_expect_aeth(t, 1, INV_REQ);
			tp_expect_dead(t, IB_EVENT_QP_REQ_ERR);
			break;
		case 3: /* a good packet takes back the NAK for its gap, not this one */
			tp_read_request(t, 0, 8, 8, key ^ 1);
			tp_send(t, IB_OPCODE_RC_RDMA_WRITE_ONLY, 2, 1);
			tp_send(t, IB_OPCODE_RC_RDMA_WRITE_ONLY, 1, 1);
			tp_unblock(t);
			tp_expect_aeth(t, 0, REM_ACCESS);
			tp_expect_aeth(t, 0, REM_ACCESS);
			tp_expect_aeth(t, 1, ACK);
		}
		tp_expect_nothing(t, &t->b);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(refuse_keys),
	KUNIT_CASE(refuse_many),
	KUNIT_CASE(refuse_local),
	KUNIT_CASE(refuse_write_probe),
	KUNIT_CASE(refuse_read_key_dies),
	KUNIT_CASE(refuse_repeat_other_key),
	KUNIT_CASE(refuse_repeat_beside_others),
	KUNIT_CASE(refuse_qp_access),
	KUNIT_CASE(refuse_fatal_bounded),
	KUNIT_CASE(refuse_fatal_slow),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_refuse",
	.init = tp_pair_init,
	.exit = tp_pair_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);

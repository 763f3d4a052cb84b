// SPDX-License-Identifier: GPL-2.0
/*
 * A peer that sends anything: packets that can be taken apart, most of them near
 * what is right, to both halves of a live QP. Whatever they say,
 * no byte changes that their keys don't cover, nothing is sent that isn't a
 * packet, each work request completes once, and a QP that has failed says so.
 */
#include <linux/string.h>
#include <rdma/ib_pack.h>

#include "rng.h"
#include "tp.h"

#define MTU		256
#define ROUNDS		(IS_ENABLED(CONFIG_KASAN) ? 300 : 2400)
#define PACKETS		12	/* in a round, which is one life of the QPs */
#define WORK		6
#define OPEN		0x10000	/* the memory that the peer's key is for */
#define OPEN_LEN	0x10000

struct fuzz {
	struct tp_pair *t;
	struct rnd_state rng;
	u32 live;	/* a key */
	u32 dead;	/* one that was */
	u32 errors;	/* rounds that ended a QP */
	u32 alive;	/* rounds that didn't */
	u32 done;	/* work requests that a made-up answer completed */
};

static bool one_in(struct fuzz *f, u32 n)
{
	return !rng_below(&f->rng, n);
}

static u8 some_opcode(struct fuzz *f, bool response)
{
	u8 op;

	do {
		op = rng_u32(&f->rng);
	} while (!(srnic_opcodes[op].qpt & SRNIC_QPT_RC) ||
		 srnic_opcodes[op].response != response);
	return op;
}

static u32 some_length(struct fuzz *f)
{
	switch (rng_below(&f->rng, 6)) {
	case 0:
		return 0;
	case 1:
		return rng_below(&f->rng, MTU);
	case 2:
		return rng_below(&f->rng, 20) * MTU;
	case 3:
		return one_in(f, 2) ? 0x80000000 : rng_u32(&f->rng);
	default:
		return MTU;
	}
}

static u64 some_address(struct fuzz *f)
{
	switch (rng_below(&f->rng, 8)) {
	case 0:
		return rng_u64(&f->rng);
	case 1:
		return TP_IOVA + OPEN + OPEN_LEN - rng_below(&f->rng, 2 * MTU);
	case 2:
		return TP_IOVA + OPEN - rng_below(&f->rng, MTU);
	default:
		return TP_IOVA + OPEN + rng_below(&f->rng, OPEN_LEN / 8) * 8;
	}
}

static u32 some_key(struct fuzz *f)
{
	if (one_in(f, 8))
		return one_in(f, 2) ? f->dead : rng_u32(&f->rng);
	return f->live;
}

static u8 some_syndrome(struct fuzz *f)
{
	if (one_in(f, 4))
		return rng_u32(&f->rng);
	return SRNIC_AETH_ACK | SRNIC_AETH_NO_CREDITS;
}

/* Stands where its message is, as far as that goes. */
static bool in_sequence(const struct srnic_rq *rq, const struct srnic_opcode *op)
{
	u32 left = rq->dmalen - rq->msg_len;

	if (rq->msg == SRNIC_OP_NONE)
		return op->pos & SRNIC_OP_FIRST;
	if (op->kind != rq->msg || op->pos & SRNIC_OP_FIRST)
		return false;
	return op->kind != SRNIC_OP_WRITE ||
	       (left > MTU) == !(op->pos & SRNIC_OP_LAST);
}

/* The next request of a peer that keeps to the rules. */
static struct srnic_pkt_out right_request(struct fuzz *f)
{
	const struct srnic_rq *rq = &f->t->b.qp.rq;
	struct srnic_pkt_out out = {
		.ackreq = one_in(f, 2),
		.solicited = one_in(f, 2),
		.psn = rq->epsn,
		.va = TP_IOVA + OPEN + rng_below(&f->rng, OPEN_LEN / 16) * 8,
		.rkey = f->live,
		.swap_add = rng_u64(&f->rng),
		.compare = rng_u64(&f->rng),
		.inv_rkey = f->live,
	};
	const struct srnic_opcode *op;

	do {
		out.opcode = some_opcode(f, false);
		op = &srnic_opcodes[out.opcode];
	} while (!in_sequence(rq, op) || op->has & SRNIC_HAS_IETH);
	if (op->kind == SRNIC_OP_READ)
		out.dmalen = rng_below(&f->rng, 5 * MTU);
	if (!(op->has & SRNIC_HAS_PAYLOAD))
		return out;
	out.len = op->pos & SRNIC_OP_LAST ? 1 + rng_below(&f->rng, MTU) : MTU;
	if (op->kind == SRNIC_OP_WRITE && !(op->pos & SRNIC_OP_FIRST) &&
	    op->pos & SRNIC_OP_LAST)
		out.len = rq->dmalen - rq->msg_len;
	out.dmalen = op->pos & SRNIC_OP_LAST ? out.len :
		     MTU + 1 + rng_below(&f->rng, 3 * MTU);
	return out;
}

static struct srnic_pkt_out some_response(struct fuzz *f)
{
	struct srnic_pkt_out out = {
		.opcode = some_opcode(f, true),
		.psn = f->t->a.qp.sq.una,
		.orig = rng_u64(&f->rng),
		.syndrome = some_syndrome(f),
		.msn = rng_u32(&f->rng) & 0xffffff,
	};

	if (srnic_opcodes[out.opcode].has & SRNIC_HAS_PAYLOAD)
		out.len = one_in(f, 2) ? MTU : rng_below(&f->rng, MTU + 1);
	return out;
}

/* Something is wrong with it. */
static void spoil(struct fuzz *f, struct srnic_pkt_out *out)
{
	bool response = srnic_opcodes[out->opcode].response;

	switch (rng_below(&f->rng, 8)) {
	case 0:
		out->psn = rng_u32(&f->rng);
		break;
	case 1:
		out->va = some_address(f);
		break;
	case 2:
		out->rkey = some_key(f);
		break;
	case 3:
		out->dmalen = some_length(f);
		break;
	case 4:
		out->len = rng_below(&f->rng, MTU + 1);
		break;
	case 5:
		out->opcode = some_opcode(f, response);
		break;
	default:
		out->psn += rng_below(&f->rng, 9) - 4;
	}
}

static void send_one(struct fuzz *f, struct tp_end *from,
		     struct srnic_pkt_out out, u32 tame)
{
	static const u8 payload[MTU] = { [0 ... MTU - 1] = 0xee };

	while (one_in(f, tame))
		spoil(f, &out);
	out.psn &= 0xffffff;
	if (!(srnic_opcodes[out.opcode].has & SRNIC_HAS_PAYLOAD))
		out.len = 0;
	tp_forge(f->t, from, &out, payload);
	if (one_in(f, 4))
		tp_advance(rng_below(&f->rng, 3 * TP_TICK));
}

/* Nothing but the open memory has changed. */
static void check_memory(struct fuzz *f, struct tp_end *e)
{
	struct kunit *test = f->t->test;

	KUNIT_ASSERT_NULL(test, memchr_inv(e->mem, 0, OPEN));
	KUNIT_ASSERT_NULL(test, memchr_inv(e->mem + OPEN + OPEN_LEN, 0,
					   TP_MEM - OPEN - OPEN_LEN));
}

/* All that was posted completes exactly once, in order, when the QP is ended. */
static u32 check_completions(struct fuzz *f, struct tp_end *e,
			     struct srnic_cq *cq, u32 posted)
{
	struct kunit *test = f->t->test;
	u32 i, good = 0;
	struct ib_wc wc;

	tp_modify(f->t, e, IB_QPS_ERR);
	tp_advance(0);
	for (i = 0; i < posted; i++) {
		KUNIT_ASSERT_EQ(test, srnic_cq_poll(cq, 1, &wc), 1);
		KUNIT_ASSERT_EQ(test, wc.wr_id, i);
		good += wc.status == IB_WC_SUCCESS;
	}
	tp_expect_no_wc(f->t, cq);
	return good;
}

static void fuzz_init(struct fuzz *f, struct kunit *test)
{
	struct tp_pair *t = test->priv;

	*f = (struct fuzz) { .t = t };
	prandom_seed_state(&f->rng, 4711);
	f->dead = tp_region(t, &t->b, OPEN, OPEN_LEN, TP_PDN, TP_ALL);
	tp_region_kill(&t->b, f->dead);
	f->live = tp_region(t, &t->b, OPEN, OPEN_LEN, TP_PDN, TP_ALL);
}

/* Requests to a responder. */
static void fuzz_responder(struct kunit *test)
{
	struct tp_conf conf = { .psn = 0xfffffa, .max_rd = 3 };
	struct tp_pair *t = test->priv;
	struct fuzz f;
	u32 i, n;

	fuzz_init(&f, test);
	for (n = 0; n < ROUNDS; n++) {
		conf.max_rd = 1 + rng_below(&f.rng, 16);
		tp_connect(t, &conf);
		tp_post_recvs(t, WORK);
		for (i = 0; i < PACKETS && t->b.qp.state == IB_QPS_RTS; i++) {
			send_one(&f, &t->a, right_request(&f), 2 + n % 40);
			tp_drop_all(&t->b);
		}
		/* a fatal NAK takes a second at most */
		tp_advance(2ull * NSEC_PER_SEC);
		if (t->b.qp.state == IB_QPS_RTS) {
			f.alive++;
			KUNIT_ASSERT_FALSE(test, t->b.qp.rq.fatal);
		} else {
			f.errors++;
			KUNIT_ASSERT_EQ(test, t->b.qp.state, IB_QPS_ERR);
			KUNIT_ASSERT_TRUE(test, t->b.events &
					  (BIT(IB_EVENT_QP_ACCESS_ERR) |
					   BIT(IB_EVENT_QP_REQ_ERR) |
					   BIT(IB_EVENT_QP_FATAL)));
		}
		f.done += check_completions(&f, &t->b, &t->b.rcq, WORK);
		check_memory(&f, &t->b);
		check_memory(&f, &t->a);
	}
	kunit_info(test, "%u rounds ended the QP, %u didn't, %u receives were filled\n",
		   f.errors, f.alive, f.done);
	KUNIT_EXPECT_GT(test, f.errors, ROUNDS / 20);
	KUNIT_EXPECT_GT(test, f.alive, ROUNDS / 20);
	KUNIT_EXPECT_GT(test, f.done, ROUNDS / 20);
}

static void post_some(struct fuzz *f)
{
	static const enum ib_wr_opcode ops[] = {
		IB_WR_RDMA_WRITE, IB_WR_RDMA_READ, IB_WR_SEND,
		IB_WR_ATOMIC_FETCH_AND_ADD, IB_WR_ATOMIC_CMP_AND_SWP,
		IB_WR_RDMA_WRITE_WITH_IMM,
	};
	u32 i;

	for (i = 0; i < WORK; i++) {
		struct tp_wr wr = {
			.op = ops[rng_below(&f->rng, ARRAY_SIZE(ops))],
			.flags = IB_SEND_SIGNALED,
			.len = rng_below(&f->rng, 6 * MTU),
			.off = OPEN + i * 8 * MTU,
			.roff = OPEN,
			.id = i,
		};

		if (wr.op == IB_WR_ATOMIC_FETCH_AND_ADD ||
		    wr.op == IB_WR_ATOMIC_CMP_AND_SWP)
			wr.len = 8;
		KUNIT_ASSERT_EQ(f->t->test, tp_post(&f->t->a, &wr), 0);
	}
}

/* Responses to a requester. */
static void fuzz_requester(struct kunit *test)
{
	struct tp_conf conf = { .psn = 0xfffffa };
	struct tp_pair *t = test->priv;
	struct fuzz f;
	u32 i, n;

	fuzz_init(&f, test);
	for (n = 0; n < ROUNDS; n++) {
		tp_connect(t, &conf);
		post_some(&f);
		for (i = 0; i < PACKETS && t->a.qp.state == IB_QPS_RTS; i++) {
			send_one(&f, &t->b, some_response(&f), 2 + n % 40);
			tp_drop_all(&t->a);
		}
		if (t->a.qp.state == IB_QPS_RTS)
			f.alive++;
		else
			f.errors++;
		f.done += check_completions(&f, &t->a, &t->a.scq, WORK);
		check_memory(&f, &t->a);
		check_memory(&f, &t->b);
	}
	kunit_info(test, "%u rounds ended the QP, %u didn't, %u work requests were done\n",
		   f.errors, f.alive, f.done);
	KUNIT_EXPECT_GT(test, f.errors, ROUNDS / 20);
	KUNIT_EXPECT_GT(test, f.alive, ROUNDS / 20);
	KUNIT_EXPECT_GT(test, f.done, ROUNDS / 20);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(fuzz_responder),
	KUNIT_CASE(fuzz_requester),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_fuzz",
	.init = tp_pair_init,
	.exit = tp_pair_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);

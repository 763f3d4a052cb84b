// SPDX-License-Identifier: GPL-2.0
/*
 * Thousands of messages of all kinds, both ways at once, over a network that
 * loses, doubles and reorders and a netdev that is full now and then, against a
 * model that knows nothing of packets: what is posted is done at once, in order,
 * and exactly once. Time is the test's own, random numbers are the same in each
 * run.
 *
 * What the model must not promise is left out: the data of a READ may be that of
 * a later WRITE to the same place (IBTA 10.8.3.3), so such WRITEs are fenced.
 */
#include <linux/vmalloc.h>
#include <rdma/ib_pack.h>

#include "rng.h"
#include "tp.h"

#define MTU		256
#define MAX_LEN		(20 * MTU)
#define RECVS		16

/* of each end's memory */
#define READ_AREA	0		/* WRITEs to it are fenced */
#define WRITE_AREA	0x6000
#define WORDS		0xc000		/* for atomics: 16 of them */
#define MODEL_SIZE	0x10000
#define SEND_SLOTS	0x10000
#define RECV_SLOTS	(SEND_SLOTS + TP_DEPTH * MAX_LEN)

static_assert(RECV_SLOTS + RECVS * MAX_LEN <= TP_MEM);

/**
 * struct weather - what the network does; out of 1000
 * @loss: packets lost
 * @twice: packets that come twice
 * @full: packets that the netdev refuses
 * @jitter: nanoseconds by which packets may overtake
 */
struct weather {
	u32 loss;
	u32 twice;
	u32 full;
	u32 jitter;
};

/**
 * struct sent - a work request, or a message on its way to a receive
 * @op: IB_WR_*
 * @len: bytes
 * @imm: immediate data
 * @want: what a READ or an atomic is to return, or what a SEND carries
 */
struct sent {
	enum ib_wr_opcode op;
	u32 len;
	u32 imm;
	u8 want[MAX_LEN];
};

/**
 * struct flow - messages from one end to the other
 * @from: who posts
 * @to: who answers
 * @left: messages not posted yet
 * @work: posted, not completed
 * @head: the oldest of @work
 * @tail: behind the newest of @work
 * @messages: that will complete a receive
 * @msg_head: the oldest of @messages
 * @msg_tail: behind the newest of @messages
 * @recv_head: the oldest receive posted
 * @recv_tail: behind the newest receive posted
 * @flight: packets that @from has sent
 * @model: the first MODEL_SIZE bytes of @to's memory
 */
struct flow {
	struct tp_end *from;
	struct tp_end *to;
	u32 left;
	struct sent work[TP_DEPTH];
	u32 head;
	u32 tail;
	struct sent messages[2 * TP_DEPTH];
	u32 msg_head;
	u32 msg_tail;
	u32 recv_head;
	u32 recv_tail;
	struct list_head flight;
	u8 model[MODEL_SIZE];
};

static struct rnd_state rng;
static const struct weather *weather;

static bool chance(u32 per_mille)
{
	return rng_below(&rng, 1000) < per_mille;
}

static int netdev_fault(struct tp_end *e)
{
	if (!chance(weather->full))
		return 0;
	return rng_below(&rng, 4) ? -ENOBUFS : -ENETUNREACH;
}

static u32 some_length(void)
{
	switch (rng_below(&rng, 8)) {
	case 0:
		return rng_below(&rng, 5);
	case 1:
	case 2:
		return MTU - 2 + rng_below(&rng, 5);
	case 3:
		return rng_below(&rng, MAX_LEN + 1);
	default:
		return rng_below(&rng, 3 * MTU);
	}
}

static void add_message(struct kunit *test, struct flow *f, const struct sent *s)
{
	KUNIT_ASSERT_LT(test, f->msg_tail - f->msg_head, ARRAY_SIZE(f->messages));
	f->messages[f->msg_tail++ % ARRAY_SIZE(f->messages)] = *s;
}

/* The work request, and what the model makes of it. */
static void plan(struct flow *f, struct sent *s, struct tp_wr *wr)
{
	static const enum ib_wr_opcode ops[] = {
		IB_WR_SEND, IB_WR_SEND_WITH_IMM, IB_WR_RDMA_WRITE,
		IB_WR_RDMA_WRITE, IB_WR_RDMA_WRITE_WITH_IMM, IB_WR_RDMA_READ,
		IB_WR_ATOMIC_CMP_AND_SWP, IB_WR_ATOMIC_FETCH_AND_ADD,
	};
	u8 *local;
	u64 *word;

	s->op = ops[rng_below(&rng, ARRAY_SIZE(ops))];
	s->len = some_length();
	s->imm = rng_u32(&rng);
	*wr = (struct tp_wr) {
		.op = s->op, .len = s->len, .imm = s->imm, .id = f->tail,
		.off = SEND_SLOTS + f->tail % TP_DEPTH * MAX_LEN,
	};
	local = f->from->mem + wr->off;
	prandom_bytes_state(&rng, local, s->len);
	switch (s->op) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		wr->roff = rng_below(&rng, WRITE_AREA - MAX_LEN);
		if (rng_below(&rng, 4))
			wr->roff += WRITE_AREA;
		else
			wr->flags |= IB_SEND_FENCE;
		memcpy(f->model + wr->roff, local, s->len);
		break;
	case IB_WR_RDMA_READ:
		wr->roff = READ_AREA + rng_below(&rng, WRITE_AREA - MAX_LEN);
		memcpy(s->want, f->model + wr->roff, s->len);
		break;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		s->len = 8;
		wr->len = 8;
		wr->roff = WORDS + 8 * rng_below(&rng, 16);
		word = (u64 *)(f->model + wr->roff);
		memcpy(s->want, word, 8);
		wr->compare_add = rng_below(&rng, 2) ? *word : rng_u64(&rng);
		wr->swap = rng_u64(&rng);
		if (s->op == IB_WR_ATOMIC_FETCH_AND_ADD)
			*word += wr->compare_add;
		else if (*word == wr->compare_add)
			*word = wr->swap;
		break;
	default:
		memcpy(s->want, local, s->len);
	}
}

static void post_some(struct kunit *test, struct flow *f)
{
	u32 n = rng_below(&rng, 4);

	while (n-- && f->left && f->tail - f->head < TP_DEPTH) {
		struct sent *s = &f->work[f->tail % TP_DEPTH];
		struct tp_wr wr;

		plan(f, s, &wr);
		if (!rng_below(&rng, 4) || f->tail % 16 == 15 || f->left == 1)
			wr.flags |= IB_SEND_SIGNALED;
		if (s->op == IB_WR_SEND || s->op == IB_WR_SEND_WITH_IMM ||
		    s->op == IB_WR_RDMA_WRITE_WITH_IMM)
			add_message(test, f, s);
		f->tail++;
		f->left--;
		KUNIT_ASSERT_EQ(test, tp_post(f->from, &wr), 0);
	}
	/* seldom enough for the other end not to be ready now and then */
	n = rng_below(&rng, 300) ? 0 : 1 + rng_below(&rng, RECVS);
	while (n-- && f->recv_tail - f->recv_head < RECVS) {
		KUNIT_ASSERT_EQ(test,
				tp_post_recv(f->to, f->recv_tail, RECV_SLOTS +
					     f->recv_tail % RECVS * MAX_LEN,
					     MAX_LEN), 0);
		f->recv_tail++;
	}
}

static void take_message(struct kunit *test, struct flow *f,
			 const struct ib_wc *wc)
{
	const struct sent *s;
	u8 *got;

	KUNIT_ASSERT_EQ(test, wc->status, IB_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, wc->wr_id, f->recv_head);
	/* one more than was sent? */
	KUNIT_ASSERT_NE(test, f->msg_head, f->msg_tail);
	s = &f->messages[f->msg_head++ % ARRAY_SIZE(f->messages)];
	got = f->to->mem + RECV_SLOTS + f->recv_head++ % RECVS * MAX_LEN;
	KUNIT_ASSERT_EQ(test, wc->byte_len, s->len);
	KUNIT_ASSERT_EQ(test, !!(wc->wc_flags & IB_WC_WITH_IMM),
			s->op != IB_WR_SEND);
	if (s->op != IB_WR_SEND)
		KUNIT_ASSERT_EQ(test, (__force u32)wc->ex.imm_data, s->imm);
	if (s->op != IB_WR_RDMA_WRITE_WITH_IMM)
		KUNIT_ASSERT_EQ(test, memcmp(got, s->want, s->len), 0);
}

static void take_completion(struct kunit *test, struct flow *f,
			    const struct ib_wc *wc)
{
	KUNIT_ASSERT_EQ(test, wc->status, IB_WC_SUCCESS);
	KUNIT_ASSERT_LT(test, (u32)wc->wr_id - f->head, f->tail - f->head);
	/* those before it are done as well, signaled or not */
	for (; f->head != wc->wr_id + 1; f->head++) {
		const struct sent *s = &f->work[f->head % TP_DEPTH];
		const u8 *got = f->from->mem + SEND_SLOTS +
				f->head % TP_DEPTH * MAX_LEN;

		if (s->op == IB_WR_RDMA_READ ||
		    s->op == IB_WR_ATOMIC_CMP_AND_SWP ||
		    s->op == IB_WR_ATOMIC_FETCH_AND_ADD)
			KUNIT_ASSERT_EQ(test, memcmp(got, s->want, s->len), 0);
	}
}

static void poll_both(struct kunit *test, struct flow *f)
{
	struct ib_wc wc;

	while (srnic_cq_poll(&f->to->rcq, 1, &wc) == 1)
		take_message(test, f, &wc);
	while (srnic_cq_poll(&f->from->scq, 1, &wc) == 1)
		take_completion(test, f, &wc);
}

static void insert(struct list_head *flight, struct tp_packet *p)
{
	struct tp_packet *i;

	p->at = tp_now() + 5000 + rng_below(&rng, weather->jitter + 1);
	list_for_each_entry_reverse(i, flight, list)
		if (i->at <= p->at)
			break;
	list_add(&p->list, &i->list);
}

/* What has been sent goes on its way, or is lost. */
static void collect(struct kunit *test, struct flow *f)
{
	struct tp_packet *p, *q, *next;

	list_for_each_entry_safe(p, next, &f->from->sent, list) {
		list_del(&p->list);
		if (chance(weather->loss)) {
			kfree(p);
			continue;
		}
		insert(&f->flight, p);
		if (chance(weather->twice)) {
			q = tp_copy(p);
			KUNIT_ASSERT_NOT_NULL(test, q);
			insert(&f->flight, q);
		}
	}
}

static u64 next_arrival(const struct flow *f)
{
	if (list_empty(&f->flight))
		return TP_NEVER;
	return list_first_entry(&f->flight, struct tp_packet, list)->at;
}

static void arrive(struct flow *f)
{
	struct tp_packet *p;

	while (next_arrival(f) <= tp_now()) {
		p = list_first_entry(&f->flight, struct tp_packet, list);
		list_del(&p->list);
		tp_deliver(f->to, &p->pkt);
		kfree(p);
	}
}

/* On to the next thing that happens. false: nothing ever will. */
static bool step(struct kunit *test, struct flow *f)
{
	u64 at;
	int i;

	for (i = 0; i < 2; i++)
		collect(test, &f[i]);
	at = min3(next_arrival(&f[0]), next_arrival(&f[1]), tp_next_timer());
	if (at == TP_NEVER)
		return false;
	tp_run_until(at);
	for (i = 0; i < 2; i++)
		arrive(&f[i]);
	return true;
}

static void end_flow(struct kunit *test, struct flow *f)
{
	poll_both(test, f);
	KUNIT_EXPECT_EQ(test, f->head, f->tail);
	KUNIT_EXPECT_EQ(test, f->msg_head, f->msg_tail);
	KUNIT_EXPECT_EQ(test, f->from->qp.state, IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, memcmp(f->model, f->to->mem, MODEL_SIZE), 0);
}

static bool unfinished(const struct flow *f)
{
	return f->left || f->head != f->tail || f->msg_head != f->msg_tail;
}

/* It has been what it was meant to be. */
static void check_weather(struct kunit *test, const struct tp_end *e)
{
	KUNIT_EXPECT_GT(test, tp_stat(e, SRNIC_STAT_SEND_RNR_ERR), 0);
	if (weather->loss || weather->jitter)
		KUNIT_EXPECT_GT(test, tp_stat(e, SRNIC_STAT_OUT_OF_SEQ_REQUEST), 0);
	if (weather->loss) {
		KUNIT_EXPECT_GT(test, tp_stat(e, SRNIC_STAT_TIMEOUTS), 0);
		KUNIT_EXPECT_GT(test, tp_stat(e, SRNIC_STAT_IMPLIED_NAK), 0);
	}
	if (weather->loss || weather->twice)
		KUNIT_EXPECT_GT(test, tp_stat(e, SRNIC_STAT_DUPLICATE_REQUEST), 0);
}

static void free_flows(void *flows)
{
	vfree(flows);
}

static void run(struct kunit *test, const struct weather *w, u32 messages)
{
	struct tp_conf conf = { .psn = 0xfffe00, .max_rd = 4 };
	struct tp_pair *t = test->priv;
	struct flow *f = vzalloc(2 * sizeof(*f));
	u32 steps = 0;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, f);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, free_flows, f), 0);
	/* the emulated kernel with KASAN is some fifty times slower than UML */
	if (IS_ENABLED(CONFIG_KASAN))
		messages /= 8;
	weather = w;
	prandom_seed_state(&rng, 30 + w->loss);
	tp_connect(t, &conf);
	for (i = 0; i < 2; i++) {
		f[i].from = i ? &t->b : &t->a;
		f[i].to = f[i].from->peer;
		f[i].left = messages;
		f[i].from->fault = netdev_fault;
		INIT_LIST_HEAD(&f[i].flight);
		prandom_bytes_state(&rng, f[i].model, MODEL_SIZE);
		memcpy(f[i].to->mem, f[i].model, MODEL_SIZE);
	}
	while (unfinished(&f[0]) || unfinished(&f[1])) {
		for (i = 0; i < 2; i++)
			post_some(test, &f[i]);
		if (!step(test, f) && !f[0].left && !f[1].left &&
		    f[0].recv_tail - f[0].recv_head == RECVS &&
		    f[1].recv_tail - f[1].recv_head == RECVS)
			break;	/* stuck: end_flow() says what is missing */
		for (i = 0; i < 2; i++)
			poll_both(test, &f[i]);
		KUNIT_ASSERT_LT(test, steps++, messages * 1000);
	}
	/* what is still on its way is late, and must not do anything */
	while (step(test, f))
		;
	for (i = 0; i < 2; i++) {
		end_flow(test, &f[i]);
		check_weather(test, f[i].from);
	}
}

static void oracle_fair(struct kunit *test)
{
	static const struct weather fair = {};

	run(test, &fair, 2000);
}

static void oracle_twice(struct kunit *test)
{
	static const struct weather twice = { .twice = 200, .jitter = 20000 };

	run(test, &twice, 2000);
}

static void oracle_rainy(struct kunit *test)
{
	static const struct weather rainy = { .loss = 10, .twice = 10, .full = 10,
					      .jitter = 2000 };

	run(test, &rainy, 3000);
}

/* More would use up seven retries in one run of twenty. */
static void oracle_storm(struct kunit *test)
{
	static const struct weather storm = { .loss = 50, .twice = 50,
					      .full = 20, .jitter = 6000 };

	run(test, &storm, 2000);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(oracle_fair),
	KUNIT_CASE(oracle_twice),
	KUNIT_CASE(oracle_rainy),
	KUNIT_CASE(oracle_storm),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_transport",
	.init = tp_pair_init,
	.exit = tp_pair_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);

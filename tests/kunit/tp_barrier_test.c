// SPDX-License-Identifier: GPL-2.0
/*
 * The barrier: whatever ends a key, in the middle of whatever message, and whatever
 * the peer does then, the memory that it named is left alone from that moment on,
 * and nothing that is put there afterwards leaves the host.
 *
 * What happens at the same time, on another CPU, is shown in mem_mpt_test.c,
 * mem_change_test.c and mr_race_test.c and by tests/vm/keys.t.
 */
#include <linux/mman.h>
#include <linux/scatterlist.h>
#include <linux/uaccess.h>
#include <rdma/ib_pack.h>

#include "../../drivers/srnic/frmr.h"
#include "../../drivers/srnic/mr.h"
#include "dmabuf_exporter.h"
#include "tp.h"

#define MTU	256
#define LEN	(4 * MTU)	/* of the message */
#define SENT	2		/* of its packets, before the key ends */
#define OFF	0x40000		/* of the memory, from TP_IOVA on */
#define IOVA	(TP_IOVA + OFF)
#define FILL	0x5a

/* Whose the key is. */
enum kind {
	REGION,		/* of a program's memory */
	BUFFER,		/* of a dma-buf */
	FAST,		/* fast-register */
	WINDOW_1,	/* of a REGION */
	WINDOW_2,
	BUFFER_WINDOW,	/* of type 2, of a BUFFER */
};

/* What ends the key. */
enum end {
	DEREG,
	REREG_MEMORY,
	REREG_RIGHTS,
	REREG_PD,
	REVOKE,
	UNBIND,		/* by the next bind */
	DEALLOC,
	LOCAL_INV,
	SEND_INV,
};

static const struct end_row {
	const char *name;
	enum kind kind;
	enum end how;
	enum srnic_key_reason why;	/* what is refused is refused for */
} ends[] = {
	{ "dereg", REGION, DEREG, SRNIC_KEY_STALE },
	{ "dereg of a dma-buf", BUFFER, DEREG, SRNIC_KEY_STALE },
	{ "dereg, fast-register", FAST, DEREG, SRNIC_KEY_STALE },
	{ "rereg of memory", REGION, REREG_MEMORY, SRNIC_KEY_BOUNDS },
	{ "rereg of rights", REGION, REREG_RIGHTS, SRNIC_KEY_ACCESS },
	{ "rereg of the PD", REGION, REREG_PD, SRNIC_KEY_PD },
	{ "revoke", BUFFER, REVOKE, SRNIC_KEY_REVOKED },
	{ "revoke under a window", BUFFER_WINDOW, REVOKE, SRNIC_KEY_REVOKED },
	{ "unbind", WINDOW_1, UNBIND, SRNIC_KEY_STATE },
	{ "dealloc of a window 1", WINDOW_1, DEALLOC, SRNIC_KEY_STALE },
	{ "dealloc of a window 2", WINDOW_2, DEALLOC, SRNIC_KEY_STALE },
	{ "LOCAL_INV of a window", WINDOW_2, LOCAL_INV, SRNIC_KEY_STATE },
	{ "LOCAL_INV, fast-register", FAST, LOCAL_INV, SRNIC_KEY_STATE },
	{ "SEND with invalidate of a window", WINDOW_2, SEND_INV, SRNIC_KEY_STATE },
	{ "SEND with invalidate, fast-register", FAST, SEND_INV, SRNIC_KEY_STATE },
};

/*
 * READ_OP: half of its answers wait at the netdev; READ_SENT: none does. The last
 * two are of b's own, into the memory; the peer answers.
 */
enum message { WRITE_OP, READ_OP, READ_SENT, ATOMIC_OP, OWN_READ, OWN_ATOMIC, OPS };
enum peer { GOES_ON, FALLS_SILENT, REPLAYS, PEERS };

/*
 * Refusals: of what is asked for anew and of what was still to be answered; of each
 * repeat where nothing else is wrong, as a late one ends nothing. A repeated WRITE
 * is only acknowledged, and asks for no key; a repeated answer is dropped.
 */
static const u32 refusals[OPS][PEERS] = {
	[WRITE_OP] = { 1, 0, 0 },
	[READ_OP] = { 2, 1, 1 },
	[READ_SENT] = { 1, 0, 3 },
	[ATOMIC_OP] = { 1, 0, 3 },
	[OWN_READ] = { 1, 0, 0 },
	[OWN_ATOMIC] = { 1, 0, 0 },
};

/**
 * struct victim - a key of b's, and its memory
 * @t: the fixture
 * @other: a QP of b's that the message isn't for
 * @user: memory of a program
 * @x: memory of a dma-buf
 * @page: memory for fast registration
 * @mem: the memory, where it is the kernel's; or NULL: @user
 * @mr: a region of it, or what was one
 * @mw: a window of that, or what was one
 * @has_mw: the key is the window's
 * @key: the key
 * @next: PSN of the peer's next request
 */
struct victim {
	struct tp_pair *t;
	struct srnic_qp other;
	unsigned long user;
	struct exporter *x;
	u8 *page;
	u8 *mem;
	struct srnic_mr *mr;
	struct srnic_mw mw;
	bool has_mw;
	u32 key;
	u32 next;
};

static void copy_in(struct victim *v, const u8 *buf)
{
	if (v->mem)
		memcpy(v->mem, buf, PAGE_SIZE);
	else
		KUNIT_ASSERT_EQ(v->t->test, copy_to_user((void __user *)v->user, buf,
							 PAGE_SIZE), 0);
}

static void copy_out(struct victim *v, u8 *buf)
{
	if (v->mem)
		memcpy(buf, v->mem, PAGE_SIZE);
	else
		KUNIT_ASSERT_EQ(v->t->test,
				copy_from_user(buf, (void __user *)v->user, PAGE_SIZE),
				0);
}

static struct srnic_mw_bind bind_of(struct victim *v, u64 length)
{
	return (struct srnic_mw_bind) {
		.key = v->mw.ibmw.rkey, .lkey = v->mr->ibmr.lkey, .addr = IOVA,
		.length = length, .pdn = TP_PDN, .qpn = v->t->b.qp.qpn,
		.access = TP_ALL & ~IB_ACCESS_LOCAL_WRITE,
		.bound = &v->t->b.qp.bound,
	};
}

static void bind(struct victim *v, u64 length)
{
	struct srnic_mw_bind b = bind_of(v, length);
	enum srnic_key_reason why;

	local_bh_disable();
	why = srnic_mw_bind(&v->t->b.tp.mws, &b);
	local_bh_enable();
	KUNIT_ASSERT_EQ(v->t->test, why, SRNIC_KEY_OK);
}

static struct srnic_mr *register_fast(struct victim *v)
{
	struct tp_end *b = &v->t->b;
	struct srnic_mr *mr = srnic_frmr_alloc(b->tp.mpt, b->ibdev, TP_PDN, 1);
	enum srnic_key_reason why;
	struct scatterlist sg;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(v->t->test, mr);
	mr->ibmr.page_size = PAGE_SIZE;
	sg_init_one(&sg, v->page, PAGE_SIZE);
	/* virtual DMA: the address is the kernel's */
	sg_dma_address(&sg) = (unsigned long)v->page;
	sg_dma_len(&sg) = PAGE_SIZE;
	KUNIT_ASSERT_EQ(v->t->test, srnic_frmr_map(mr, &sg, 1, NULL), 1);
	mr->ibmr.iova = IOVA;
	local_bh_disable();
	why = srnic_frmr_register(mr, TP_PDN, mr->ibmr.rkey, TP_ALL);
	local_bh_enable();
	KUNIT_ASSERT_EQ(v->t->test, why, SRNIC_KEY_OK);
	return mr;
}

static void register_memory(struct victim *v, enum kind kind)
{
	const int access = TP_ALL | IB_ACCESS_MW_BIND;
	struct tp_end *b = &v->t->b;

	switch (kind) {
	case FAST:
		v->mem = v->page;
		v->mr = register_fast(v);
		break;
	case BUFFER:
	case BUFFER_WINDOW:
		v->mem = v->x->mem;
		v->mr = srnic_mr_reg_dmabuf(b->tp.mpt, b->ibdev, TP_PDN,
					    &b->ibdev->dev, v->x->fd, 0, PAGE_SIZE,
					    IOVA, access);
		break;
	default:
		v->mem = NULL;
		v->mr = srnic_mr_reg_user(b->tp.mpt, b->ibdev, TP_PDN, NULL, v->user,
					  PAGE_SIZE, IOVA, access);
	}
	KUNIT_ASSERT_NOT_ERR_OR_NULL(v->t->test, v->mr);
	v->key = v->mr->ibmr.rkey;
}

static void begin_life(struct victim *v, enum kind kind)
{
	register_memory(v, kind);
	v->has_mw = kind >= WINDOW_1;
	if (!v->has_mw)
		return;
	KUNIT_ASSERT_EQ(v->t->test, srnic_mw_alloc(&v->t->b.tp.mws, &v->mw, TP_PDN,
						   kind == WINDOW_1 ? IB_MW_TYPE_1 :
								      IB_MW_TYPE_2),
			0);
	v->key = v->mw.ibmw.rkey;
	bind(v, PAGE_SIZE);
}

static void rereg(struct victim *v, int flags)
{
	const struct srnic_mr_rereg to = {
		.flags = flags, .start = v->user + PAGE_SIZE,
		.length = PAGE_SIZE, .iova = IOVA + PAGE_SIZE, .access = 0,
		.pdn = TP_PDN + 1,
	};

	KUNIT_ASSERT_EQ(v->t->test, srnic_mr_rereg(v->mr, &to), 0);
}

/* Windows of type 2 are their QP's; for regions any QP of the PD will do. */
static void local_inv(struct victim *v)
{
	struct srnic_qp *qp = v->has_mw ? &v->t->b.qp : &v->other;
	struct ib_send_wr wr = {
		.opcode = IB_WR_LOCAL_INV, .ex.invalidate_rkey = v->key,
	};
	const struct ib_send_wr *bad;

	KUNIT_ASSERT_EQ(v->t->test, srnic_qp_post_send(qp, &wr, &bad), 0);
}

/* On the window's own QP no SEND can come in the middle of a WRITE. */
static void invalidate(struct victim *v)
{
	struct srnic_mpt_req rq = {
		.key = v->key, .pdn = TP_PDN, .qpn = v->t->b.qp.qpn,
	};
	enum srnic_key_reason why;

	local_bh_disable();
	why = srnic_mws_invalidate(&v->t->b.tp.mws, &rq);
	local_bh_enable();
	KUNIT_ASSERT_EQ(v->t->test, why, SRNIC_KEY_OK);
}

static void send_inv(struct victim *v, enum message msg)
{
	struct srnic_qp *qp = v->has_mw ? &v->t->b.qp : &v->other;
	struct srnic_pkt_out out =
		tp_request(v->t, IB_OPCODE_RC_SEND_ONLY_WITH_INVALIDATE,
			   v->has_mw ? v->next : 0, 0);
	const struct ib_recv_wr *bad;
	struct ib_recv_wr wr = {};

	if (v->has_mw && msg == WRITE_OP) {
		invalidate(v);
		return;
	}
	v->next += v->has_mw;
	out.qpn = qp->qpn;
	out.inv_rkey = v->key;
	KUNIT_ASSERT_EQ(v->t->test, srnic_qp_post_recv(qp, &wr, &bad), 0);
	tp_forge(v->t, &v->t->a, &out, NULL);
}

static void end_life(struct victim *v, enum end how, enum message msg)
{
	switch (how) {
	case DEREG:
		KUNIT_ASSERT_EQ(v->t->test, srnic_mr_destroy(v->mr), 0);
		v->mr = NULL;
		break;
	case REREG_MEMORY:
		rereg(v, IB_MR_REREG_TRANS);
		break;
	case REREG_RIGHTS:
		rereg(v, IB_MR_REREG_ACCESS);
		break;
	case REREG_PD:
		rereg(v, IB_MR_REREG_PD);
		break;
	case REVOKE:
		exporter_revoke(v->x);
		break;
	case UNBIND:
		bind(v, 0);
		break;
	case DEALLOC:
		srnic_mw_dealloc(&v->t->b.tp.mws, &v->mw);
		v->has_mw = false;
		break;
	case LOCAL_INV:
		local_inv(v);
		break;
	case SEND_INV:
		send_inv(v, msg);
	}
}

static void clean_up(struct victim *v)
{
	if (v->has_mw)
		srnic_mw_dealloc(&v->t->b.tp.mws, &v->mw);
	if (v->mr)
		KUNIT_EXPECT_EQ(v->t->test, srnic_mr_destroy(v->mr), 0);
}

static void request(struct victim *v, u8 opcode, u32 n, u32 len)
{
	struct srnic_pkt_out out = tp_request(v->t, opcode, n, len);

	out.va = IOVA;
	out.rkey = v->key;
	out.dmalen = LEN;
	out.swap_add = 1;
	tp_forge(v->t, &v->t->a, &out, v->t->a.mem);
}

static void post_own(struct victim *v, enum message msg)
{
	struct tp_wr wr = {
		.op = msg == OWN_READ ? IB_WR_RDMA_READ : IB_WR_ATOMIC_FETCH_AND_ADD,
		.len = msg == OWN_READ ? LEN : 8, .off = OFF, .lkey = v->key,
		.flags = IB_SEND_SIGNALED,
	};

	KUNIT_ASSERT_EQ(v->t->test, tp_post(&v->t->b, &wr), 0);
}

/* The peer's answer to that, or a packet of it. */
static void answer(struct victim *v, u8 opcode, u32 n)
{
	struct srnic_pkt_out out = {
		.opcode = opcode, .psn = tp_psn(v->t, n),
		.syndrome = SRNIC_AETH_ACK | SRNIC_AETH_NO_CREDITS,
		.orig = 0x1111, .len = opcode == IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE ? 0 : MTU,
	};

	tp_forge(v->t, &v->t->a, &out, v->t->a.mem);
}

/* The message as far as it comes before the end of the key. */
static void begin(struct victim *v, enum message msg)
{
	switch (msg) {
	case WRITE_OP:
		request(v, IB_OPCODE_RC_RDMA_WRITE_FIRST, 0, MTU);
		request(v, IB_OPCODE_RC_RDMA_WRITE_MIDDLE, 1, MTU);
		v->next = SENT;
		break;
	case READ_OP:
	case READ_SENT:
		request(v, IB_OPCODE_RC_RDMA_READ_REQUEST, 0, LEN);
		v->next = LEN / MTU;
		break;
	case ATOMIC_OP:
		request(v, IB_OPCODE_RC_FETCH_ADD, 0, 0);
		v->next = 1;
		break;
	case OWN_READ:
		answer(v, IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST, 0);
		answer(v, IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE, 1);
		break;
	default:
		break;
	}
}

/* It has begun: something has been written, or has been sent. */
static void expect_begun(struct victim *v, enum message msg, u8 *buf,
			 const char *what)
{
	u32 n = tp_drop_all(&v->t->b);

	copy_out(v, buf);
	if (msg == READ_OP)
		KUNIT_EXPECT_EQ_MSG(v->t->test, n, SENT, "%s", what);
	else if (msg == READ_SENT)
		KUNIT_EXPECT_EQ_MSG(v->t->test, n, LEN / MTU, "%s", what);
	else if (msg == OWN_ATOMIC)
		KUNIT_EXPECT_EQ_MSG(v->t->test, n, 1, "%s", what);
	else
		KUNIT_EXPECT_TRUE_MSG(v->t->test, memchr_inv(buf, 0, PAGE_SIZE),
				      "%s", what);
}

static void go_on(struct victim *v, enum message msg)
{
	switch (msg) {
	case WRITE_OP:
		request(v, IB_OPCODE_RC_RDMA_WRITE_MIDDLE, v->next, MTU);
		request(v, IB_OPCODE_RC_RDMA_WRITE_LAST, v->next + 1, MTU);
		break;
	case READ_OP:
	case READ_SENT:
		request(v, IB_OPCODE_RC_RDMA_READ_REQUEST, v->next, LEN);
		break;
	case ATOMIC_OP:
		request(v, IB_OPCODE_RC_FETCH_ADD, v->next, 0);
		break;
	case OWN_READ:
		answer(v, IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE, 2);
		answer(v, IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST, 3);
		break;
	default:
		answer(v, IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE, 0);
	}
}

static void replay(struct victim *v, enum message msg)
{
	int i;

	for (i = 0; i < 3; i++)
		begin(v, msg);
}

/* Nothing with data in it; a NAK, if something was asked for. */
static void expect_refused(struct victim *v, bool refused, const char *what)
{
	struct tp_packet *p;
	bool nak = false;

	while ((p = tp_next(&v->t->b))) {
		KUNIT_EXPECT_EQ_MSG(v->t->test, p->pkt.op->kind, SRNIC_OP_ACK,
				    "%s", what);
		nak |= p->pkt.syndrome == (SRNIC_AETH_NAK | SRNIC_NAK_REM_ACCESS);
	}
	KUNIT_EXPECT_EQ_MSG(v->t->test, nak, refused, "%s", what);
}

/* It asks again, in vain, or fails because of the key. */
static void expect_failed(struct victim *v, bool refused, enum srnic_key_reason why,
			  const char *what)
{
	struct kunit *test = v->t->test;
	struct tp_packet *p;
	struct ib_wc wc;

	while ((p = tp_next(&v->t->b)))
		KUNIT_EXPECT_EQ_MSG(test, p->pkt.len, 0, "%s", what);
	KUNIT_ASSERT_EQ_MSG(test, srnic_cq_poll(&v->t->b.scq, 1, &wc), 1, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, wc.status, refused ? IB_WC_LOC_PROT_ERR :
			    IB_WC_RETRY_EXC_ERR, "%s", what);
	if (refused)
		KUNIT_EXPECT_EQ_MSG(test, wc.vendor_err, why, "%s", what);
}

static void try_one(struct victim *v, const struct end_row *row, enum message msg,
		    enum peer peer, u8 *buf)
{
	struct tp_pair *t = v->t;
	struct kunit *test = t->test;
	u64 before[SRNIC_STATS];
	char what[80];

	snprintf(what, sizeof(what), "%s, message %d, peer %d", row->name, msg, peer);
	tp_connect(t, NULL);
	tp_qp_connect(t, &t->b, &v->other);
	begin_life(v, row->kind);
	memset(buf, 0, PAGE_SIZE);
	copy_in(v, buf);
	memset(t->a.mem, 0x11, MTU);
	if (msg == READ_OP) {
		tp_block(t);
		t->b.xmit_left = SENT;
	}
	if (msg >= OWN_READ)
		post_own(v, msg);
	begin(v, msg);
	expect_begun(v, msg, buf, what);
	tp_stats(&t->b, before);

	end_life(v, row->how, msg);
	memset(buf, FILL, PAGE_SIZE);
	copy_in(v, buf);
	if (peer == GOES_ON)
		go_on(v, msg);
	else if (peer == REPLAYS)
		replay(v, msg);
	tp_unblock(t);
	tp_advance(2ull * NSEC_PER_SEC);
	if (msg < OWN_READ)
		expect_refused(v, refusals[msg][peer], what);
	else
		expect_failed(v, refusals[msg][peer], row->why, what);
	tp_expect_refusals(t, &t->b, before, row->why, refusals[msg][peer], what);
	copy_out(v, buf);
	KUNIT_EXPECT_TRUE_MSG(test, !memchr_inv(buf, FILL, PAGE_SIZE), "%s", what);
	clean_up(v);
	KUNIT_EXPECT_EQ_MSG(test, exporter_holds(v->x), 0, "%s", what);
}

static struct victim *new_victim(struct tp_pair *t)
{
	struct kunit *test = t->test;
	struct victim *v = kunit_kzalloc(test, sizeof(*v), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, v);
	v->t = t;
	v->page = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, v->page);
	v->user = kunit_vm_mmap(test, NULL, 0, 2 * PAGE_SIZE,
				PROT_READ | PROT_WRITE,
				MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_FALSE(test, v->user == 0 || v->user >= TASK_SIZE);
	v->x = exporter_new(test, PAGE_SIZE);
	tp_qp_create(t, &t->b, &v->other);
	return v;
}

static void end_victim(struct victim *v)
{
	KUNIT_EXPECT_EQ(v->t->test, srnic_qp_destroy(&v->other), 0);
	exporter_end(v->t->test, v->x);
}

static void barrier_of_each_end(struct kunit *test)
{
	u8 *buf = kunit_kmalloc(test, PAGE_SIZE, GFP_KERNEL);
	struct victim *v = new_victim(test->priv);
	enum message msg;
	enum peer peer;
	size_t i;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	for (i = 0; i < ARRAY_SIZE(ends); i++)
		for (msg = 0; msg < OPS; msg++)
			for (peer = 0; peer < PEERS; peer++)
				/* nothing of b's own is done by a window */
				if (ends[i].kind < WINDOW_1 || msg < OWN_READ)
					try_one(v, &ends[i], msg, peer, buf);
	end_victim(v);
}

/* What the steps above would show if a key weren't ended: the test can fail. */
static void barrier_without_end(struct kunit *test)
{
	u8 *buf = kunit_kmalloc(test, PAGE_SIZE, GFP_KERNEL);
	struct tp_pair *t = test->priv;
	struct victim *v = new_victim(t);
	enum kind kind;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	for (kind = REGION; kind <= BUFFER_WINDOW; kind++) {
		tp_connect(t, NULL);
		memset(t->a.mem, 0x11, MTU);
		begin_life(v, kind);
		begin(v, WRITE_OP);
		go_on(v, WRITE_OP);
		copy_out(v, buf);
		KUNIT_EXPECT_EQ(test, buf[LEN - 1], 0x11);
		clean_up(v);

		tp_connect(t, NULL);
		begin_life(v, kind);
		tp_block(t);
		begin(v, READ_OP);
		tp_unblock(t);
		KUNIT_ASSERT_NOT_NULL(test, tp_next(&t->b));
		KUNIT_EXPECT_EQ(test, t->b.last->pkt.op->kind, SRNIC_OP_READ_RESP);
		tp_drop_all(&t->b);
		clean_up(v);
	}
	end_victim(v);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(barrier_of_each_end),
	KUNIT_CASE(barrier_without_end),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_barrier",
	.init = tp_pair_init,
	.exit = tp_pair_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);

// SPDX-License-Identifier: GPL-2.0
/*
 * The barrier: whatever ends a key, in the middle of whatever message, and whatever
 * the peer does then, the memory that it named is left alone from that moment on,
 * and nothing that is put there afterwards leaves the host.
 *
 * A program's pages are the memory. What happens at the same time, on another CPU,
 * is shown in mem_mpt_test.c and mem_change_test.c and by tests/vm/keys.t.
 */
#include <linux/mman.h>
#include <linux/uaccess.h>
#include <rdma/ib_pack.h>

#include "../../drivers/srnic/mr.h"
#include "tp.h"

#define MTU	256
#define LEN	(4 * MTU)	/* of the message */
#define IOVA	0x40000ull
#define FILL	0x5a

/* What ends the key. */
enum end {
	DEREG,
	REREG_MEMORY,
	REREG_RIGHTS,
	REREG_PD,
	UNBIND,		/* a window of type 1, by the next bind */
	DEALLOC,	/* a window */
	WINDOW_INV,	/* a window of type 2, by LOCAL_INV */
	QP_INV,		/* the same, for another QP that a peer has sent to */
	ENDS
};

static const char * const end_name[] = {
	[DEREG] = "dereg", [REREG_MEMORY] = "rereg of memory",
	[REREG_RIGHTS] = "rereg of rights", [REREG_PD] = "rereg of the PD",
	[UNBIND] = "unbind", [DEALLOC] = "dealloc of a window",
	[WINDOW_INV] = "LOCAL_INV", [QP_INV] = "invalidate",
};

enum message { WRITE_OP, READ_OP, ATOMIC_OP, OPS };
enum peer { GOES_ON, FALLS_SILENT, REPLAYS, PEERS };

/**
 * struct victim - a key of b's, and its memory
 * @t: the fixture
 * @user: the memory, in a program
 * @mr: a region of it, or what was one
 * @mw: a window of that, or what was one
 * @has_mw: the key is the window's
 * @key: the key
 */
struct victim {
	struct tp_pair *t;
	unsigned long user;
	struct srnic_mr *mr;
	struct srnic_mw mw;
	bool has_mw;
	u32 key;
};

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

static void new_victim(struct tp_pair *t, struct victim *v, enum end how)
{
	struct tp_end *b = &t->b;

	v->t = t;
	KUNIT_ASSERT_EQ(t->test, clear_user((void __user *)v->user, PAGE_SIZE), 0);
	v->mr = srnic_mr_reg_user(b->tp.mpt, b->ibdev, TP_PDN, NULL, v->user,
				  PAGE_SIZE, IOVA, TP_ALL | IB_ACCESS_MW_BIND);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(t->test, v->mr);
	v->key = v->mr->ibmr.rkey;
	v->has_mw = how >= UNBIND;
	if (!v->has_mw)
		return;
	KUNIT_ASSERT_EQ(t->test, srnic_mw_alloc(&b->tp.mws, &v->mw, TP_PDN,
						how >= WINDOW_INV ? IB_MW_TYPE_2 :
								    IB_MW_TYPE_1),
			0);
	v->key = v->mw.ibmw.rkey;
	bind(v, PAGE_SIZE);
}

static void rereg(struct victim *v, int flags)
{
	const struct srnic_mr_rereg to = {
		.flags = flags, .start = v->user + PAGE_SIZE,
		.length = PAGE_SIZE, .iova = 16 * IOVA, .access = 0,
		.pdn = TP_PDN + 1,
	};

	KUNIT_ASSERT_EQ(v->t->test, srnic_mr_rereg(v->mr, &to), 0);
}

/* A peer's SEND with invalidate on this QP couldn't come in the middle. */
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

static void do_end(struct victim *v, enum end how)
{
	struct tp_wr inv = { .op = IB_WR_LOCAL_INV, .imm = v->key };

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
	case UNBIND:
		bind(v, 0);
		break;
	case DEALLOC:
		srnic_mw_dealloc(&v->t->b.tp.mws, &v->mw);
		v->has_mw = false;
		break;
	case WINDOW_INV:
		KUNIT_ASSERT_EQ(v->t->test, tp_post(&v->t->b, &inv), 0);
		break;
	default:
		invalidate(v);
	}
}

static void end_victim(struct victim *v)
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

/* The message as far as it comes before the end of the key. */
static void begin(struct victim *v, enum message msg)
{
	switch (msg) {
	case WRITE_OP:
		request(v, IB_OPCODE_RC_RDMA_WRITE_FIRST, 0, MTU);
		request(v, IB_OPCODE_RC_RDMA_WRITE_MIDDLE, 1, MTU);
		break;
	case READ_OP:
		request(v, IB_OPCODE_RC_RDMA_READ_REQUEST, 0, LEN);
		break;
	default:
		request(v, IB_OPCODE_RC_FETCH_ADD, 0, 0);
	}
}

static void go_on(struct victim *v, enum message msg)
{
	switch (msg) {
	case WRITE_OP:
		request(v, IB_OPCODE_RC_RDMA_WRITE_MIDDLE, 2, MTU);
		request(v, IB_OPCODE_RC_RDMA_WRITE_LAST, 3, MTU);
		break;
	case READ_OP:
		request(v, IB_OPCODE_RC_RDMA_READ_REQUEST, 4, LEN);
		break;
	default:
		request(v, IB_OPCODE_RC_FETCH_ADD, 1, 0);
	}
}

static void replay(struct victim *v, enum message msg)
{
	int i;

	for (i = 0; i < 3; i++)
		begin(v, msg);
}

/* Nothing with data in it; a refusal, if something was asked for. */
static void expect_refused(struct victim *v, enum message msg, enum peer peer,
			   const char *what)
{
	struct tp_packet *p;
	bool nak = false;

	while ((p = tp_next(&v->t->b))) {
		KUNIT_EXPECT_EQ_MSG(v->t->test, p->pkt.op->kind, SRNIC_OP_ACK,
				    "%s", what);
		nak |= p->pkt.syndrome == (SRNIC_AETH_NAK | SRNIC_NAK_REM_ACCESS);
	}
	/* a repeated WRITE has been done, and is only acknowledged */
	if (peer == GOES_ON || msg == READ_OP ||
	    (peer == REPLAYS && msg == ATOMIC_OP))
		KUNIT_EXPECT_TRUE_MSG(v->t->test, nak, "%s", what);
}

static void try_one(struct tp_pair *t, struct victim *v, enum end how,
		    enum message msg, enum peer peer)
{
	struct kunit *test = t->test;
	u8 *buf = kunit_kmalloc(test, PAGE_SIZE, GFP_KERNEL);
	char what[64];

	KUNIT_ASSERT_NOT_NULL(test, buf);
	snprintf(what, sizeof(what), "%s, message %d, peer %d", end_name[how], msg,
		 peer);
	tp_connect(t, NULL);
	new_victim(t, v, how);
	memset(t->a.mem, 0x11, MTU);
	/* a READ's answers wait for the netdev */
	if (msg == READ_OP)
		tp_block(t);
	begin(v, msg);
	tp_drop_all(&t->b);
	do_end(v, how);
	memset(buf, FILL, PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, copy_to_user((void __user *)v->user, buf,
					   PAGE_SIZE), 0);
	if (peer == GOES_ON)
		go_on(v, msg);
	else if (peer == REPLAYS)
		replay(v, msg);
	tp_unblock(t);
	tp_advance(2ull * NSEC_PER_SEC);
	expect_refused(v, msg, peer, what);
	KUNIT_ASSERT_EQ(test, copy_from_user(buf, (void __user *)v->user,
					     PAGE_SIZE), 0);
	KUNIT_EXPECT_TRUE_MSG(test, !memchr_inv(buf, FILL, PAGE_SIZE), "%s", what);
	end_victim(v);
	kunit_kfree(test, buf);
}

static void barrier_of_each_end(struct kunit *test)
{
	struct victim *v = kunit_kzalloc(test, sizeof(*v), GFP_KERNEL);
	struct tp_pair *t = test->priv;
	enum end how;
	enum message msg;
	enum peer peer;

	KUNIT_ASSERT_NOT_NULL(test, v);
	v->user = kunit_vm_mmap(test, NULL, 0, 2 * PAGE_SIZE,
				PROT_READ | PROT_WRITE,
				MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_FALSE(test, v->user == 0 || v->user >= TASK_SIZE);
	for (how = 0; how < ENDS; how++)
		for (msg = 0; msg < OPS; msg++)
			for (peer = 0; peer < PEERS; peer++)
				try_one(t, v, how, msg, peer);
}

/* What the steps above would show if a key weren't ended: the test can fail. */
static void barrier_without_end(struct kunit *test)
{
	struct victim *v = kunit_kzalloc(test, sizeof(*v), GFP_KERNEL);
	struct tp_pair *t = test->priv;
	u8 byte = 0;

	KUNIT_ASSERT_NOT_NULL(test, v);
	v->user = kunit_vm_mmap(test, NULL, 0, 2 * PAGE_SIZE,
				PROT_READ | PROT_WRITE,
				MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_FALSE(test, v->user == 0 || v->user >= TASK_SIZE);
	tp_connect(t, NULL);
	memset(t->a.mem, 0x11, MTU);
	new_victim(t, v, WINDOW_INV);
	begin(v, WRITE_OP);
	go_on(v, WRITE_OP);
	KUNIT_ASSERT_EQ(test, copy_from_user(&byte, (void __user *)v->user + LEN - 1,
					     1), 0);
	KUNIT_EXPECT_EQ(test, byte, 0x11);
	end_victim(v);

	tp_connect(t, NULL);
	new_victim(t, v, DEREG);
	tp_block(t);
	begin(v, READ_OP);
	tp_unblock(t);
	KUNIT_ASSERT_NOT_NULL(test, tp_next(&t->b));
	KUNIT_EXPECT_EQ(test, t->b.last->pkt.op->kind, SRNIC_OP_READ_RESP);
	tp_drop_all(&t->b);
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

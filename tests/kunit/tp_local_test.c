// SPDX-License-Identifier: GPL-2.0
/*
 * Work requests about keys: REG_MR and LOCAL_INV among others in the queue, with
 * losses; SEND and READ with invalidate. Fast-register regions all of them; what
 * windows do is in mr_window_test.c and in the VM tests.
 */
#include <linux/scatterlist.h>
#include <rdma/ib_pack.h>

#include "../../drivers/srnic/frmr.h"
#include "tp.h"

#define MTU		256
#define AT		0x4000	/* of a fast-register region in an end's memory */
#define WRITE_ONLY	IB_OPCODE_RC_RDMA_WRITE_ONLY
#define REM_ACCESS	(SRNIC_AETH_NAK | SRNIC_NAK_REM_ACCESS)

/* The region will be one page of @e's memory. */
static void name_page(struct tp_pair *t, struct tp_end *e, struct srnic_mr *mr)
{
	struct scatterlist sg;

	sg_init_table(&sg, 1);
	sg.length = PAGE_SIZE;
	sg_dma_address(&sg) = (unsigned long)e->mem + AT;
	sg_dma_len(&sg) = PAGE_SIZE;
	KUNIT_ASSERT_EQ(t->test, srnic_frmr_map(mr, &sg, 1, NULL), 1);
}

static struct srnic_mr *new_fast(struct tp_pair *t, struct tp_end *e)
{
	struct srnic_mr *mr = srnic_frmr_alloc(e->tp.mpt, e->ibdev, TP_PDN, 1);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(t->test, mr);
	mr->ibmr.page_size = PAGE_SIZE;
	name_page(t, e, mr);
	return mr;
}

/* So that it is at the same offset from TP_IOVA as all other memory. */
static int post_reg(struct tp_end *e, struct srnic_mr *mr, u32 key, int flags,
		    u64 id)
{
	struct ib_reg_wr reg = {
		.wr.opcode = IB_WR_REG_MR, .wr.wr_id = id,
		.wr.send_flags = flags,
		.mr = &mr->ibmr, .key = key, .access = TP_ALL,
	};
	const struct ib_send_wr *bad;

	mr->ibmr.iova = TP_IOVA + AT;
	return srnic_qp_post_send(&e->qp, &reg.wr, &bad);
}

static int post_inv(struct tp_end *e, u32 key, int flags, u64 id)
{
	struct tp_wr wr = {
		.op = IB_WR_LOCAL_INV, .imm = key, .flags = flags, .id = id,
	};

	return tp_post(e, &wr);
}

static void registered(struct tp_pair *t, struct tp_end *e, struct srnic_mr *mr)
{
	KUNIT_ASSERT_EQ(t->test, post_reg(e, mr, mr->ibmr.rkey, 0, 0), 0);
	KUNIT_ASSERT_EQ(t->test, mr->user.e->state, SRNIC_MPT_VALID);
}

/* A peer's WRITE of 8 bytes into the region */
static struct tp_wr write_to(const struct srnic_mr *mr, u64 id)
{
	return (struct tp_wr) {
		.op = IB_WR_RDMA_WRITE, .len = 8, .roff = AT,
		.rkey = mr->ibmr.rkey, .flags = IB_SEND_SIGNALED, .id = id,
	};
}

static void local_life(struct kunit *test)
{
	struct tp_pair *t = tp_connected(test, NULL);
	struct srnic_mr *mr = new_fast(t, &t->b);
	struct tp_wr wr = write_to(mr, 1);
	struct ib_wc wc;

	KUNIT_ASSERT_EQ(test, post_reg(&t->b, mr, mr->ibmr.rkey,
				       IB_SEND_SIGNALED, 7), 0);
	wc = tp_expect_wc(t, &t->b.scq, 7, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.opcode, IB_WC_REG_MR);
	memset(t->a.mem, 0x77, 8);
	KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
	tp_pump(t);
	tp_expect_wc(t, &t->a.scq, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_MEMEQ(test, t->b.mem + AT, t->a.mem, 8);

	KUNIT_ASSERT_EQ(test, post_inv(&t->b, mr->ibmr.rkey, IB_SEND_SIGNALED, 8),
			0);
	wc = tp_expect_wc(t, &t->b.scq, 8, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.opcode, IB_WC_LOCAL_INV);
	KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
	tp_pump(t);
	tp_expect_wc(t, &t->a.scq, 1, IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, tp_stat(&t->b, SRNIC_STAT_KEY_STATE), 1);
	srnic_mr_destroy(mr);
}

/* It doesn't hold up what follows, and completes in its place. */
static void local_in_order(struct kunit *test)
{
	struct tp_pair *t = tp_connected(test, NULL);
	struct srnic_mr *mr = new_fast(t, &t->a);
	struct tp_wr wr = {
		.op = IB_WR_RDMA_WRITE, .len = 8, .flags = IB_SEND_SIGNALED,
	};

	KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
	KUNIT_ASSERT_EQ(test, post_reg(&t->a, mr, mr->ibmr.rkey,
				       IB_SEND_SIGNALED, 1), 0);
	/* with the new key, which works already */
	wr.lkey = mr->ibmr.rkey;
	wr.off = AT;
	wr.id = 2;
	KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
	tp_expect(t, &t->a, WRITE_ONLY, 0);
	tp_expect(t, &t->a, WRITE_ONLY, 1);
	tp_expect_no_wc(t, &t->a.scq);
	tp_ack(t, 0);
	tp_expect_wc(t, &t->a.scq, 0, IB_WC_SUCCESS);
	tp_expect_wc(t, &t->a.scq, 1, IB_WC_SUCCESS);
	tp_expect_no_wc(t, &t->a.scq);
	tp_ack(t, 1);
	tp_expect_wc(t, &t->a.scq, 2, IB_WC_SUCCESS);
	srnic_mr_destroy(mr);
}

/* Behind a READ as behind anything else, and with a fence not before it. */
static void local_behind_read(struct kunit *test)
{
	struct tp_pair *t = tp_connected(test, NULL);
	struct srnic_mr *mr = new_fast(t, &t->a);
	struct tp_wr wr = {
		.op = IB_WR_RDMA_READ, .len = 8, .flags = IB_SEND_SIGNALED,
	};

	KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
	KUNIT_ASSERT_EQ(test, post_reg(&t->a, mr, mr->ibmr.rkey,
				       IB_SEND_SIGNALED, 1), 0);
	KUNIT_EXPECT_EQ(test, mr->user.e->state, SRNIC_MPT_VALID);
	tp_expect_no_wc(t, &t->a.scq);
	tp_pump(t);
	tp_expect_wc(t, &t->a.scq, 0, IB_WC_SUCCESS);
	tp_expect_wc(t, &t->a.scq, 1, IB_WC_SUCCESS);
	srnic_mr_destroy(mr);

	mr = new_fast(t, &t->a);
	KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
	KUNIT_ASSERT_EQ(test, post_reg(&t->a, mr, mr->ibmr.rkey,
				       IB_SEND_SIGNALED | IB_SEND_FENCE, 1), 0);
	KUNIT_EXPECT_EQ(test, mr->user.e->state, SRNIC_MPT_INVALID);
	tp_pump(t);
	tp_expect_wc(t, &t->a.scq, 0, IB_WC_SUCCESS);
	tp_expect_wc(t, &t->a.scq, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, mr->user.e->state, SRNIC_MPT_VALID);
	srnic_mr_destroy(mr);
}

/* Sent again is what was sent; a registration is not made again. */
static void local_and_losses(struct kunit *test)
{
	struct tp_pair *t = tp_connected(test, NULL);
	struct srnic_mr *mr = new_fast(t, &t->a);
	struct tp_wr wr = { .op = IB_WR_RDMA_WRITE, .len = 8 };
	int i;

	KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
	KUNIT_ASSERT_EQ(test, post_reg(&t->a, mr, mr->ibmr.rkey, 0, 1), 0);
	wr.flags = IB_SEND_SIGNALED;
	wr.id = 2;
	KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
	KUNIT_EXPECT_EQ(test, tp_drop_all(&t->a), 2);
	for (i = 0; i < 3; i++) {
		tp_nak(t, 0, SRNIC_NAK_PSN_SEQ);
		tp_expect(t, &t->a, WRITE_ONLY, 0);
		tp_expect(t, &t->a, WRITE_ONLY, 1);
		tp_expect_nothing(t, &t->a);
	}
	tp_ack(t, 0);
	for (i = 0; i < 3; i++) {
		tp_nak(t, 1, SRNIC_NAK_PSN_SEQ);
		tp_expect(t, &t->a, WRITE_ONLY, 1);
		tp_expect_nothing(t, &t->a);
	}
	tp_ack(t, 1);
	tp_expect_wc(t, &t->a.scq, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t->a.qp.sq.cons, t->a.qp.sq.prod);
	KUNIT_EXPECT_EQ(test, mr->user.e->state, SRNIC_MPT_VALID);
	srnic_mr_destroy(mr);
}

/* The last packet asks for an acknowledge, though more is in the queue. */
static void local_asks_for_ack(struct kunit *test)
{
	struct tp_pair *t = tp_connected(test, NULL);
	struct srnic_mr *mr = new_fast(t, &t->a);
	struct ib_reg_wr reg = {
		.wr.opcode = IB_WR_REG_MR, .mr = &mr->ibmr,
		.key = mr->ibmr.rkey, .access = TP_ALL,
	};
	struct ib_send_wr inv = {
		.opcode = IB_WR_LOCAL_INV,
		.ex.invalidate_rkey = mr->ibmr.rkey,
	};
	struct ib_rdma_wr write = {
		.wr.opcode = IB_WR_RDMA_WRITE, .wr.next = &reg.wr,
		.remote_addr = TP_IOVA, .rkey = t->b.region[0]->key,
	};
	const struct ib_send_wr *bad;

	KUNIT_ASSERT_EQ(test, srnic_qp_post_send(&t->a.qp, &write.wr, &bad), 0);
	tp_expect(t, &t->a, WRITE_ONLY, 0);
	KUNIT_EXPECT_TRUE(test, t->a.last->pkt.ackreq);
	tp_ack(t, 0);
	KUNIT_EXPECT_EQ(test, t->a.qp.sq.cons, t->a.qp.sq.prod);

	write.wr.next = &inv;
	KUNIT_ASSERT_EQ(test, srnic_qp_post_send(&t->a.qp, &write.wr, &bad), 0);
	tp_expect(t, &t->a, WRITE_ONLY, 1);
	KUNIT_EXPECT_TRUE(test, t->a.last->pkt.ackreq);
	KUNIT_EXPECT_EQ(test, mr->user.e->state, SRNIC_MPT_VALID);
	tp_ack(t, 1);
	KUNIT_EXPECT_EQ(test, mr->user.e->state, SRNIC_MPT_INVALID);
	KUNIT_EXPECT_EQ(test, t->a.qp.sq.cons, t->a.qp.sq.prod);
	srnic_mr_destroy(mr);
}

/* The key lives until what was posted before has arrived for good. */
static void local_inv_waits(struct kunit *test)
{
	struct tp_pair *t = tp_connected(test, NULL);
	struct srnic_mr *mr = new_fast(t, &t->a);
	struct tp_wr wr = {
		.op = IB_WR_RDMA_WRITE, .len = 8, .off = AT, .roff = 64,
		.lkey = mr->ibmr.rkey, .flags = IB_SEND_SIGNALED,
	};

	registered(t, &t->a, mr);
	memset(t->a.mem + AT, 0x31, 8);
	KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
	KUNIT_ASSERT_EQ(test, post_inv(&t->a, mr->ibmr.rkey, IB_SEND_SIGNALED, 1),
			0);
	wr = (struct tp_wr) {
		.op = IB_WR_RDMA_WRITE, .len = 8, .id = 2,
		.flags = IB_SEND_SIGNALED,
	};
	KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
	KUNIT_EXPECT_EQ(test, tp_drop_all(&t->a), 1);
	KUNIT_EXPECT_EQ(test, mr->user.e->state, SRNIC_MPT_VALID);
	tp_until_sent(t);
	tp_pump(t);
	KUNIT_EXPECT_MEMEQ(test, t->b.mem + 64, t->a.mem + AT, 8);
	KUNIT_EXPECT_EQ(test, mr->user.e->state, SRNIC_MPT_INVALID);
	tp_expect_wc(t, &t->a.scq, 0, IB_WC_SUCCESS);
	tp_expect_wc(t, &t->a.scq, 1, IB_WC_SUCCESS);
	tp_expect_wc(t, &t->a.scq, 2, IB_WC_SUCCESS);
	srnic_mr_destroy(mr);
}

static void expect_failure(struct tp_pair *t, enum srnic_key_reason why)
{
	struct ib_wc wc;

	tp_expect_wc(t, &t->a.scq, 0, IB_WC_SUCCESS);
	wc = tp_expect_wc(t, &t->a.scq, 1, IB_WC_MW_BIND_ERR);
	KUNIT_EXPECT_EQ(t->test, wc.vendor_err, why);
	tp_expect_wc(t, &t->a.scq, 2, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(t->test, t->a.qp.state, IB_QPS_ERR);
	KUNIT_EXPECT_EQ(t->test, tp_stat(&t->a, SRNIC_STAT_KEY_UNKNOWN + why -
					 SRNIC_KEY_UNKNOWN), 1);
}

/* What is before is completed, what follows is flushed. */
static void local_fails(struct kunit *test)
{
	struct tp_pair *t = tp_connected(test, NULL);
	struct srnic_mr *mr = new_fast(t, &t->a);
	struct tp_wr wr = {
		.op = IB_WR_RDMA_WRITE, .len = 8, .flags = IB_SEND_SIGNALED,
	};

	registered(t, &t->a, mr);
	KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
	/* it is registered */
	name_page(t, &t->a, mr);
	KUNIT_ASSERT_EQ(test, post_reg(&t->a, mr, mr->ibmr.rkey, 0, 1), 0);
	wr.id = 2;
	KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
	tp_expect_no_wc(t, &t->a.scq);
	tp_pump(t);
	tp_advance(0);
	expect_failure(t, SRNIC_KEY_STATE);
	KUNIT_EXPECT_EQ(test, mr->user.e->state, SRNIC_MPT_VALID);

	/* another life's key */
	tp_connect(t, NULL);
	wr.id = 0;
	KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
	KUNIT_ASSERT_EQ(test, post_inv(&t->a, mr->ibmr.rkey ^ 1, 0, 1), 0);
	wr.id = 2;
	KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
	tp_pump(t);
	tp_advance(0);
	expect_failure(t, SRNIC_KEY_STALE);
	/* no fast-register region */
	tp_connect(t, NULL);
	wr.id = 0;
	KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
	KUNIT_ASSERT_EQ(test, post_inv(&t->a, t->a.region[0]->key, 0, 1), 0);
	wr.id = 2;
	KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
	tp_pump(t);
	tp_advance(0);
	expect_failure(t, SRNIC_KEY_ACCESS);
	KUNIT_EXPECT_EQ(test, t->a.region[0]->state, SRNIC_MPT_VALID);
	srnic_mr_destroy(mr);
}

static void local_not_posted(struct kunit *test)
{
	struct tp_pair *t = tp_connected(test, NULL);
	struct srnic_mr *mr = new_fast(t, &t->a);
	struct tp_wr bind = { .op = IB_WR_BIND_MW };

	/* the key of another region; windows are for programs */
	KUNIT_EXPECT_EQ(test, post_reg(&t->a, mr, mr->ibmr.rkey ^ 0x100, 0, 1),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, tp_post(&t->a, &bind), -EINVAL);
	tp_expect_no_wc(t, &t->a.scq);
	KUNIT_EXPECT_EQ(test, mr->user.e->state, SRNIC_MPT_INVALID);
	srnic_mr_destroy(mr);
}

/* Nothing begins in SQD, this neither. */
static void local_in_sqd(struct kunit *test)
{
	struct tp_pair *t = tp_connected(test, NULL);
	struct srnic_mr *mr = new_fast(t, &t->a);

	tp_modify(t, &t->a, IB_QPS_SQD);
	KUNIT_ASSERT_EQ(test, post_reg(&t->a, mr, mr->ibmr.rkey,
				       IB_SEND_SIGNALED, 1), 0);
	KUNIT_EXPECT_EQ(test, mr->user.e->state, SRNIC_MPT_INVALID);
	tp_modify(t, &t->a, IB_QPS_RTS);
	tp_advance(0);
	tp_expect_wc(t, &t->a.scq, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, mr->user.e->state, SRNIC_MPT_VALID);
	srnic_mr_destroy(mr);
}

/* A peer's SEND ends the key; a late copy of it ends nothing more. */
static void send_with_invalidate(struct kunit *test)
{
	struct tp_pair *t = tp_connected(test, NULL);
	struct srnic_mr *mr = new_fast(t, &t->b);
	struct tp_wr wr = {
		.op = IB_WR_SEND_WITH_INV, .len = 2 * MTU + 1, .off = 64,
		.imm = mr->ibmr.rkey, .flags = IB_SEND_SIGNALED,
	};
	struct tp_packet *late;
	struct ib_wc wc;
	int i;

	registered(t, &t->b, mr);
	memset(t->a.mem + 64, 0x29, wr.len);
	tp_post_recvs(t, 1);
	KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, mr->user.e->state, SRNIC_MPT_VALID);
		KUNIT_ASSERT_NOT_NULL(test, tp_next(&t->a));
		tp_deliver(&t->b, &t->a.last->pkt);
	}
	late = tp_copy(t->a.last);
	KUNIT_ASSERT_NOT_NULL(test, late);
	KUNIT_EXPECT_EQ(test, mr->user.e->state, SRNIC_MPT_INVALID);
	tp_pump(t);
	wc = tp_expect_wc(t, &t->b.rcq, 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, wc.wc_flags & IB_WC_WITH_INVALIDATE);
	KUNIT_EXPECT_EQ(test, wc.ex.invalidate_rkey, mr->ibmr.rkey);
	KUNIT_EXPECT_EQ(test, wc.byte_len, wr.len);
	tp_expect_wc(t, &t->a.scq, 0, IB_WC_SUCCESS);

	/* the same key for the next registration */
	srnic_mr_destroy(mr);
	mr = new_fast(t, &t->b);
	registered(t, &t->b, mr);
	tp_deliver(&t->b, &late->pkt);
	KUNIT_EXPECT_EQ(test, mr->user.e->state, SRNIC_MPT_VALID);
	KUNIT_EXPECT_EQ(test, t->b.qp.state, IB_QPS_RTS);
	kfree(late);
	srnic_mr_destroy(mr);
}

static void send_with_invalidate_refused(struct kunit *test)
{
	struct tp_pair *t = tp_connected(test, NULL);
	struct srnic_mr *mr = new_fast(t, &t->b);
	struct tp_wr wr = {
		.op = IB_WR_SEND_WITH_INV, .len = 1, .flags = IB_SEND_SIGNALED,
		.imm = mr->ibmr.rkey,
	};

	/* it is not registered */
	tp_post_recvs(t, 1);
	KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
	tp_pump(t);
	tp_expect_wc(t, &t->b.rcq, 0, IB_WC_LOC_PROT_ERR);
	tp_expect_wc(t, &t->a.scq, 0, IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, tp_stat(&t->b, SRNIC_STAT_KEY_STATE), 1);

	/* of another PD */
	tp_connect(t, NULL);
	registered(t, &t->b, mr);
	t->b.qp.pdn++;
	tp_post_recvs(t, 1);
	wr.len = 0;
	KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
	tp_pump(t);
	tp_expect_wc(t, &t->a.scq, 0, IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, tp_stat(&t->b, SRNIC_STAT_KEY_PD), 1);
	KUNIT_EXPECT_EQ(test, mr->user.e->state, SRNIC_MPT_VALID);
	t->b.qp.pdn--;
	srnic_mr_destroy(mr);
}

/* What the READ was put into is let go of when all of it has come. */
static void read_with_invalidate(struct kunit *test)
{
	struct tp_pair *t = tp_connected(test, NULL);
	struct srnic_mr *mr = new_fast(t, &t->a);
	struct tp_wr wr = {
		.op = IB_WR_RDMA_READ_WITH_INV, .len = 3 * MTU, .off = AT,
		.lkey = mr->ibmr.rkey, .imm = mr->ibmr.rkey,
		.flags = IB_SEND_SIGNALED,
	};
	struct ib_wc wc;
	int i;

	registered(t, &t->a, mr);
	memset(t->b.mem, 0x2a, wr.len);
	KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
	KUNIT_ASSERT_NOT_NULL(test, tp_next(&t->a));
	tp_deliver(&t->b, &t->a.last->pkt);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, mr->user.e->state, SRNIC_MPT_VALID);
		KUNIT_ASSERT_NOT_NULL(test, tp_next(&t->b));
		tp_deliver(&t->a, &t->b.last->pkt);
	}
	wc = tp_expect_wc(t, &t->a.scq, 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.opcode, IB_WC_RDMA_READ);
	KUNIT_EXPECT_EQ(test, mr->user.e->state, SRNIC_MPT_INVALID);
	KUNIT_EXPECT_MEMEQ(test, t->a.mem + AT, t->b.mem, wr.len);

	/* a key that can't be ended so */
	wr.lkey = 0;
	wr.imm = t->a.region[0]->key;
	KUNIT_ASSERT_EQ(test, tp_post(&t->a, &wr), 0);
	tp_pump(t);
	wc = tp_expect_wc(t, &t->a.scq, 0, IB_WC_MW_BIND_ERR);
	KUNIT_EXPECT_EQ(test, wc.vendor_err, SRNIC_KEY_ACCESS);
	srnic_mr_destroy(mr);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(local_life),
	KUNIT_CASE(local_in_order),
	KUNIT_CASE(local_behind_read),
	KUNIT_CASE(local_and_losses),
	KUNIT_CASE(local_asks_for_ack),
	KUNIT_CASE(local_inv_waits),
	KUNIT_CASE(local_fails),
	KUNIT_CASE(local_not_posted),
	KUNIT_CASE(local_in_sqd),
	KUNIT_CASE(send_with_invalidate),
	KUNIT_CASE(send_with_invalidate_refused),
	KUNIT_CASE(read_with_invalidate),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_local",
	.init = tp_pair_init,
	.exit = tp_pair_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);

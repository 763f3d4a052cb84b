// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Send work requests: ibv_post_send(), ibv_bind_mw() and the ibv_wr_* calls.
 *
 * Entries are written behind the published end of the ring; one store of prod
 * and at most one doorbell make all of a list visible. An entry that turns out
 * to be wrong is simply never published.
 */
#include "srnic.h"

#include <errno.h>
#include <string.h>

#include <ccan/array_size.h>

enum {
	ON_RC = 1 << 0,
	ON_UC = 1 << 1,
	ON_UD = 1 << 2,
};

/**
 * struct op_rule - what a work request of one opcode may look like
 * @qp_types: where it may be posted, ON_*; 0: nowhere
 * @inline_ok: its data may be inline
 * @has_data: it may have data at all
 * @api: the flag that asks for it in ibv_create_qp_ex()
 */
struct op_rule {
	uint8_t qp_types;
	bool inline_ok;
	bool has_data;
	uint64_t api;
};

static const struct op_rule op_rules[] = {
	[IBV_WR_RDMA_WRITE] = {
		ON_RC | ON_UC, true, true, IBV_QP_EX_WITH_RDMA_WRITE },
	[IBV_WR_RDMA_WRITE_WITH_IMM] = {
		ON_RC | ON_UC, true, true, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM },
	[IBV_WR_SEND] = {
		ON_RC | ON_UC | ON_UD, true, true, IBV_QP_EX_WITH_SEND },
	[IBV_WR_SEND_WITH_IMM] = {
		ON_RC | ON_UC | ON_UD, true, true, IBV_QP_EX_WITH_SEND_WITH_IMM },
	[IBV_WR_RDMA_READ] = {
		ON_RC, false, true, IBV_QP_EX_WITH_RDMA_READ },
	[IBV_WR_ATOMIC_CMP_AND_SWP] = {
		ON_RC, false, true, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP },
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = {
		ON_RC, false, true, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD },
	[IBV_WR_LOCAL_INV] = {
		ON_RC, false, false, IBV_QP_EX_WITH_LOCAL_INV },
	[IBV_WR_BIND_MW] = {
		ON_RC, false, false, IBV_QP_EX_WITH_BIND_MW },
	[IBV_WR_SEND_WITH_INV] = {
		ON_RC, true, true, IBV_QP_EX_WITH_SEND_WITH_INV },
};

static uint8_t type_bit(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
		return ON_RC;
	case IBV_QPT_UC:
		return ON_UC;
	case IBV_QPT_UD:
		return ON_UD;
	default:
		return 0;
	}
}

/* IBTA C10-93 and following: the send queue works in RTS and later states. */
static bool may_post(const struct ibv_qp *ibqp)
{
	return ibqp->state != IBV_QPS_RESET && ibqp->state != IBV_QPS_INIT &&
	       ibqp->state != IBV_QPS_RTR;
}

static int ring_doorbell(struct ibv_qp *ibqp)
{
	return srnic_doorbell(ibqp->context, IB_USER_VERBS_CMD_POST_SEND,
			      ibqp->handle);
}

static void fill_bind(struct srnic_send_wqe *wqe, const struct ibv_mw *mw,
		      uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	wqe->bind.addr = info->addr;
	wqe->bind.length = info->length;
	wqe->bind.mr_lkey = info->mr ? info->mr->lkey : 0;
	wqe->bind.mw_rkey = mw->rkey;
	wqe->bind.rkey = rkey;
	wqe->bind.access = info->mw_access_flags;
}

/* ibv_post_send() */

static int check_wr(const struct srnic_qp *qp, const struct ibv_send_wr *wr)
{
	const struct op_rule *rule;

	if ((unsigned int)wr->opcode >= ARRAY_SIZE(op_rules))
		return EINVAL;
	rule = &op_rules[wr->opcode];
	if (!(rule->qp_types & type_bit(qp->verbs.qp.qp_type)))
		return EINVAL;
	if (wr->num_sge < 0 || (wr->num_sge && !rule->has_data))
		return EINVAL;
	if (wr->send_flags & IBV_SEND_INLINE)
		return rule->inline_ok ? 0 : EINVAL;
	return (uint32_t)wr->num_sge > qp->sq.max_sge ? EINVAL : 0;
}

static int fill_op(const struct srnic_qp *qp, struct srnic_send_wqe *wqe,
		   const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
		wqe->rdma.remote_addr = wr->wr.rdma.remote_addr;
		wqe->rdma.rkey = wr->wr.rdma.rkey;
		if (wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
			wqe->imm_data = (__force uint32_t)wr->imm_data;
		return 0;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		wqe->atomic.remote_addr = wr->wr.atomic.remote_addr;
		wqe->atomic.compare_add = wr->wr.atomic.compare_add;
		wqe->atomic.swap = wr->wr.atomic.swap;
		wqe->atomic.rkey = wr->wr.atomic.rkey;
		return 0;
	case IBV_WR_BIND_MW:
		if (!wr->bind_mw.mw)
			return EINVAL;
		fill_bind(wqe, wr->bind_mw.mw, wr->bind_mw.rkey,
			  &wr->bind_mw.bind_info);
		return 0;
	case IBV_WR_LOCAL_INV:
	case IBV_WR_SEND_WITH_INV:
		wqe->imm_data = wr->invalidate_rkey;
		return 0;
	case IBV_WR_SEND_WITH_IMM:
		wqe->imm_data = (__force uint32_t)wr->imm_data;
		break;
	default:
		break;
	}
	if (qp->verbs.qp.qp_type == IBV_QPT_UD) {
		if (!wr->wr.ud.ah)
			return EINVAL;
		wqe->ud.ah = to_srnic_ah(wr->wr.ud.ah)->handle;
		wqe->ud.remote_qpn = wr->wr.ud.remote_qpn;
		wqe->ud.remote_qkey = wr->wr.ud.remote_qkey;
	}
	return 0;
}

static int append_inline(const struct srnic_sq *sq, struct srnic_send_wqe *wqe,
			 const void *data, size_t length)
{
	if (length > sq->max_inline - wqe->inline_len)
		return EINVAL;
	memcpy(wqe->inline_data + wqe->inline_len, data, length);
	wqe->inline_len += length;
	return 0;
}

static int fill_data(const struct srnic_sq *sq, struct srnic_send_wqe *wqe,
		     const struct ibv_send_wr *wr)
{
	int i, ret;

	if (!(wr->send_flags & IBV_SEND_INLINE)) {
		wqe->num_sge = wr->num_sge;
		memcpy(wqe->sge, wr->sg_list,
		       wr->num_sge * sizeof(wqe->sge[0]));
		return 0;
	}
	for (i = 0; i < wr->num_sge; i++) {
		ret = append_inline(sq, wqe,
				    (void *)(uintptr_t)wr->sg_list[i].addr,
				    wr->sg_list[i].length);
		if (ret)
			return ret;
	}
	return 0;
}

static int post_one(struct srnic_qp *qp, const struct ibv_send_wr *wr,
		    uint32_t index)
{
	struct srnic_sq *sq = &qp->sq;
	struct srnic_send_wqe *wqe;
	int ret;

	ret = check_wr(qp, wr);
	if (ret)
		return ret;
	if (!srnic_ring_has_room(&sq->ring, index))
		return ENOMEM;
	wqe = srnic_ring_entry(&sq->ring, index);
	memset(wqe, 0, SRNIC_SEND_WQE_HDR_SIZE);
	wqe->wr_id = wr->wr_id;
	wqe->opcode = wr->opcode;
	wqe->flags = wr->send_flags;
	ret = fill_op(qp, wqe, wr);
	if (ret)
		return ret;
	return fill_data(sq, wqe, wr);
}

int srnic_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad_wr)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	struct ibv_send_wr *first = wr;
	struct srnic_sq *sq = &qp->sq;
	bool doorbell = false;
	uint32_t next;
	int ret = 0;

	if (!may_post(ibqp)) {
		*bad_wr = wr;
		return EINVAL;
	}
	srnic_lock(&sq->lock);
	next = sq->ring.mine;
	for (; wr; wr = wr->next) {
		ret = post_one(qp, wr, next);
		if (ret) {
			*bad_wr = wr;
			break;
		}
		next++;
	}
	if (next != sq->ring.mine)
		doorbell = srnic_ring_publish(&sq->ring, next);
	srnic_unlock(&sq->lock);

	if (doorbell) {
		int err = ring_doorbell(ibqp);

		if (err && !ret) {
			*bad_wr = first;
			ret = err;
		}
	}
	return ret;
}

/* Type 1 windows: the provider chooses the new key and posts the bind. */
int srnic_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw,
		  struct ibv_mw_bind *bind)
{
	struct ibv_send_wr wr = {
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind->send_flags,
		.bind_mw.mw = mw,
		.bind_mw.rkey = ibv_inc_rkey(mw->rkey),
		.bind_mw.bind_info = bind->bind_info,
	};
	struct ibv_send_wr *bad_wr;
	int ret;

	ret = srnic_post_send(ibqp, &wr, &bad_wr);
	if (!ret)
		mw->rkey = wr.bind_mw.rkey;
	return ret;
}

/*
 * The ibv_wr_* calls: an opcode call opens an entry, set calls complete it.
 * The first error makes all later calls do nothing until wr_complete reports
 * it; sq->wqe is NULL from then on.
 */

static struct srnic_qp *from_qp_ex(struct ibv_qp_ex *qp_ex)
{
	return container_of(qp_ex, struct srnic_qp, verbs.qp_ex);
}

static void wr_fail(struct srnic_sq *sq, int err)
{
	if (!sq->err)
		sq->err = err;
	sq->wqe = NULL;
}

static void wr_start(struct ibv_qp_ex *qp_ex)
{
	struct srnic_sq *sq = &from_qp_ex(qp_ex)->sq;

	srnic_lock(&sq->lock);
	sq->next = sq->ring.mine;
	sq->err = 0;
	sq->wqe = NULL;
}

static int wr_complete(struct ibv_qp_ex *qp_ex)
{
	struct srnic_sq *sq = &from_qp_ex(qp_ex)->sq;
	bool doorbell = false;
	int ret = sq->err;

	sq->wqe = NULL;
	if (!ret && sq->next != sq->ring.mine)
		doorbell = srnic_ring_publish(&sq->ring, sq->next);
	srnic_unlock(&sq->lock);
	if (doorbell)
		ret = ring_doorbell(&qp_ex->qp_base);
	return ret;
}

static void wr_abort(struct ibv_qp_ex *qp_ex)
{
	struct srnic_sq *sq = &from_qp_ex(qp_ex)->sq;

	sq->wqe = NULL;
	srnic_unlock(&sq->lock);
}

/* Open the next entry. Returns NULL after an error. */
static struct srnic_send_wqe *wr_open(struct ibv_qp_ex *qp_ex,
				      enum ibv_wr_opcode opcode)
{
	struct srnic_sq *sq = &from_qp_ex(qp_ex)->sq;
	struct srnic_send_wqe *wqe;

	if (sq->err)
		return NULL;
	if (!may_post(&qp_ex->qp_base)) {
		wr_fail(sq, EINVAL);
		return NULL;
	}
	if (!srnic_ring_has_room(&sq->ring, sq->next)) {
		wr_fail(sq, ENOMEM);
		return NULL;
	}
	wqe = srnic_ring_entry(&sq->ring, sq->next++);
	memset(wqe, 0, SRNIC_SEND_WQE_HDR_SIZE);
	wqe->wr_id = qp_ex->wr_id;
	wqe->opcode = opcode;
	/* Whether data is inline is up to the set call. */
	wqe->flags = qp_ex->wr_flags & ~(unsigned int)IBV_SEND_INLINE;
	sq->wqe = wqe;
	return wqe;
}

static void wr_rdma(struct ibv_qp_ex *qp_ex, enum ibv_wr_opcode opcode,
		    uint32_t rkey, uint64_t remote_addr, __be32 imm_data)
{
	struct srnic_send_wqe *wqe = wr_open(qp_ex, opcode);

	if (!wqe)
		return;
	wqe->rdma.remote_addr = remote_addr;
	wqe->rdma.rkey = rkey;
	wqe->imm_data = (__force uint32_t)imm_data;
}

static void wr_rdma_read(struct ibv_qp_ex *qp_ex, uint32_t rkey,
			 uint64_t remote_addr)
{
	wr_rdma(qp_ex, IBV_WR_RDMA_READ, rkey, remote_addr, 0);
}

static void wr_rdma_write(struct ibv_qp_ex *qp_ex, uint32_t rkey,
			  uint64_t remote_addr)
{
	wr_rdma(qp_ex, IBV_WR_RDMA_WRITE, rkey, remote_addr, 0);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qp_ex, uint32_t rkey,
			      uint64_t remote_addr, __be32 imm_data)
{
	wr_rdma(qp_ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr, imm_data);
}

static void wr_atomic(struct ibv_qp_ex *qp_ex, enum ibv_wr_opcode opcode,
		      uint32_t rkey, uint64_t remote_addr,
		      uint64_t compare_add, uint64_t swap)
{
	struct srnic_send_wqe *wqe = wr_open(qp_ex, opcode);

	if (!wqe)
		return;
	wqe->atomic.remote_addr = remote_addr;
	wqe->atomic.compare_add = compare_add;
	wqe->atomic.swap = swap;
	wqe->atomic.rkey = rkey;
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *qp_ex, uint32_t rkey,
			      uint64_t remote_addr, uint64_t compare,
			      uint64_t swap)
{
	wr_atomic(qp_ex, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr, compare,
		  swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *qp_ex, uint32_t rkey,
				uint64_t remote_addr, uint64_t add)
{
	wr_atomic(qp_ex, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr, add, 0);
}

static void wr_send(struct ibv_qp_ex *qp_ex)
{
	wr_open(qp_ex, IBV_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *qp_ex, __be32 imm_data)
{
	struct srnic_send_wqe *wqe = wr_open(qp_ex, IBV_WR_SEND_WITH_IMM);

	if (wqe)
		wqe->imm_data = (__force uint32_t)imm_data;
}

static void wr_send_inv(struct ibv_qp_ex *qp_ex, uint32_t invalidate_rkey)
{
	struct srnic_send_wqe *wqe = wr_open(qp_ex, IBV_WR_SEND_WITH_INV);

	if (wqe)
		wqe->imm_data = invalidate_rkey;
}

static void wr_local_inv(struct ibv_qp_ex *qp_ex, uint32_t invalidate_rkey)
{
	struct srnic_send_wqe *wqe = wr_open(qp_ex, IBV_WR_LOCAL_INV);

	if (wqe)
		wqe->imm_data = invalidate_rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *qp_ex, struct ibv_mw *mw,
		       uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	struct srnic_send_wqe *wqe = wr_open(qp_ex, IBV_WR_BIND_MW);

	if (wqe)
		fill_bind(wqe, mw, rkey, info);
}

static void wr_set_ud_addr(struct ibv_qp_ex *qp_ex, struct ibv_ah *ah,
			   uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct srnic_send_wqe *wqe = from_qp_ex(qp_ex)->sq.wqe;

	if (!wqe)
		return;
	wqe->ud.ah = to_srnic_ah(ah)->handle;
	wqe->ud.remote_qpn = remote_qpn;
	wqe->ud.remote_qkey = remote_qkey;
}

static void wr_set_sge_list(struct ibv_qp_ex *qp_ex, size_t num_sge,
			    const struct ibv_sge *sg_list)
{
	struct srnic_sq *sq = &from_qp_ex(qp_ex)->sq;

	if (!sq->wqe)
		return;
	if (num_sge > sq->max_sge || !op_rules[sq->wqe->opcode].has_data) {
		wr_fail(sq, EINVAL);
		return;
	}
	memcpy(sq->wqe->sge, sg_list, num_sge * sizeof(sq->wqe->sge[0]));
	sq->wqe->num_sge = num_sge;
}

static void wr_set_sge(struct ibv_qp_ex *qp_ex, uint32_t lkey, uint64_t addr,
		       uint32_t length)
{
	struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	wr_set_sge_list(qp_ex, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *qp_ex, size_t num_buf,
				    const struct ibv_data_buf *buf_list)
{
	struct srnic_sq *sq = &from_qp_ex(qp_ex)->sq;
	size_t i;
	int ret;

	if (!sq->wqe)
		return;
	if (!op_rules[sq->wqe->opcode].inline_ok) {
		wr_fail(sq, EINVAL);
		return;
	}
	sq->wqe->flags |= SRNIC_SEND_INLINE;
	for (i = 0; i < num_buf; i++) {
		ret = append_inline(sq, sq->wqe, buf_list[i].addr,
				    buf_list[i].length);
		if (ret) {
			wr_fail(sq, ret);
			return;
		}
	}
}

static void wr_set_inline_data(struct ibv_qp_ex *qp_ex, void *addr,
			       size_t length)
{
	struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(qp_ex, 1, &buf);
}

/* All that a QP of this type can do in the ibv_wr_* API. */
static uint64_t supported_api(enum ibv_qp_type type)
{
	uint64_t api = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(op_rules); i++)
		if (op_rules[i].qp_types & type_bit(type))
			api |= op_rules[i].api;
	return api;
}

/**
 * srnic_set_send_ops() - fill in the ibv_wr_* calls that a new QP asks for
 * @qp: the QP
 * @attr: what the program wants
 *
 * Return: 0, or EOPNOTSUPP if the QP's type can't do one of them.
 */
int srnic_set_send_ops(struct srnic_qp *qp,
		       const struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_ex *qp_ex = &qp->verbs.qp_ex;

	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		return 0;
	if (attr->send_ops_flags & ~supported_api(attr->qp_type))
		return EOPNOTSUPP;

	/* A call that wasn't asked for may be there all the same. */
	qp_ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	qp_ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	qp_ex->wr_bind_mw = wr_bind_mw;
	qp_ex->wr_local_inv = wr_local_inv;
	qp_ex->wr_rdma_read = wr_rdma_read;
	qp_ex->wr_rdma_write = wr_rdma_write;
	qp_ex->wr_rdma_write_imm = wr_rdma_write_imm;
	qp_ex->wr_send = wr_send;
	qp_ex->wr_send_imm = wr_send_imm;
	qp_ex->wr_send_inv = wr_send_inv;
	qp_ex->wr_set_inline_data = wr_set_inline_data;
	qp_ex->wr_set_inline_data_list = wr_set_inline_data_list;
	qp_ex->wr_set_sge = wr_set_sge;
	qp_ex->wr_set_sge_list = wr_set_sge_list;
	qp_ex->wr_set_ud_addr = wr_set_ud_addr;
	qp_ex->wr_start = wr_start;
	qp_ex->wr_complete = wr_complete;
	qp_ex->wr_abort = wr_abort;
	return 0;
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion queues. The driver writes entries and prod, this side reads the
 * entries and writes cons. A poll copies entries out first and gives their
 * places back afterwards, once for all of them.
 */
#include "srnic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Everything that a completion holds; no VLAN: GIDs carry it. */
#define SUPPORTED_WC_FLAGS (IBV_WC_STANDARD_FLAGS |			\
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |	\
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

/* How many entries can be read now? Ask the driver only when none is known. */
static uint32_t cq_available(struct srnic_ring *ring)
{
	if (ring->peer == ring->mine)
		ring->peer = __atomic_load_n(&ring->hdr->prod, __ATOMIC_ACQUIRE);
	return ring->peer - ring->mine;
}

static void cq_release(struct srnic_ring *ring)
{
	__atomic_store_n(&ring->hdr->cons, ring->mine, __ATOMIC_RELEASE);
}

static void cqe_to_wc(const struct srnic_cqe *cqe, struct ibv_wc *wc)
{
	wc->wr_id = cqe->wr_id;
	wc->status = cqe->status;
	wc->opcode = cqe->opcode;
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	/* One union: immediate data in network order, or a key in ours. */
	wc->invalidated_rkey = cqe->imm_data;
	wc->qp_num = cqe->qp_num;
	wc->src_qp = cqe->src_qp;
	wc->wc_flags = cqe->wc_flags;
	wc->pkey_index = cqe->pkey_index;
	wc->slid = 0;
	wc->sl = cqe->sl;
	wc->dlid_path_bits = 0;
}

int srnic_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct srnic_cq *cq = to_srnic_cq(ibcq);
	struct srnic_ring *ring = &cq->ring;
	int done = 0;

	srnic_lock(&cq->lock);
	while (done < num_entries && cq_available(ring)) {
		cqe_to_wc(srnic_ring_entry(ring, ring->mine), wc + done);
		ring->mine++;
		done++;
	}
	if (done)
		cq_release(ring);
	srnic_unlock(&cq->lock);
	return done;
}

/* Extended polling: start_poll takes the lock, end_poll gives it back. */

static struct srnic_cq *from_cq_ex(struct ibv_cq_ex *cq_ex)
{
	return container_of(cq_ex, struct srnic_cq, verbs.cq_ex);
}

static int load_current(struct srnic_cq *cq)
{
	struct srnic_ring *ring = &cq->ring;

	if (!cq_available(ring))
		return ENOENT;
	memcpy(&cq->cur, srnic_ring_entry(ring, ring->mine), sizeof(cq->cur));
	ring->mine++;
	cq->verbs.cq_ex.wr_id = cq->cur.wr_id;
	cq->verbs.cq_ex.status = cq->cur.status;
	return 0;
}

static int start_poll(struct ibv_cq_ex *cq_ex, struct ibv_poll_cq_attr *attr)
{
	struct srnic_cq *cq = from_cq_ex(cq_ex);
	int ret;

	if (attr->comp_mask)
		return EINVAL;
	srnic_lock(&cq->lock);
	ret = load_current(cq);
	if (ret)
		srnic_unlock(&cq->lock);
	return ret;
}

static int next_poll(struct ibv_cq_ex *cq_ex)
{
	return load_current(from_cq_ex(cq_ex));
}

static void end_poll(struct ibv_cq_ex *cq_ex)
{
	struct srnic_cq *cq = from_cq_ex(cq_ex);

	cq_release(&cq->ring);
	srnic_unlock(&cq->lock);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *cq_ex)
{
	return from_cq_ex(cq_ex)->cur.opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *cq_ex)
{
	return from_cq_ex(cq_ex)->cur.vendor_err;
}

static uint32_t read_byte_len(struct ibv_cq_ex *cq_ex)
{
	return from_cq_ex(cq_ex)->cur.byte_len;
}

static __be32 read_imm_data(struct ibv_cq_ex *cq_ex)
{
	return (__force __be32)from_cq_ex(cq_ex)->cur.imm_data;
}

static uint32_t read_qp_num(struct ibv_cq_ex *cq_ex)
{
	return from_cq_ex(cq_ex)->cur.qp_num;
}

static uint32_t read_src_qp(struct ibv_cq_ex *cq_ex)
{
	return from_cq_ex(cq_ex)->cur.src_qp;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *cq_ex)
{
	return from_cq_ex(cq_ex)->cur.wc_flags;
}

static uint32_t read_slid(struct ibv_cq_ex *cq_ex)
{
	(void)cq_ex;
	return 0;	/* RoCE has none */
}

static uint8_t read_sl(struct ibv_cq_ex *cq_ex)
{
	return from_cq_ex(cq_ex)->cur.sl;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *cq_ex)
{
	(void)cq_ex;
	return 0;	/* RoCE has none */
}

static uint64_t read_completion_ts(struct ibv_cq_ex *cq_ex)
{
	return from_cq_ex(cq_ex)->cur.timestamp;
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts = {};

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static uint64_t read_completion_wallclock_ns(struct ibv_cq_ex *cq_ex)
{
	uint64_t age;

	age = now_ns(CLOCK_MONOTONIC_RAW) - from_cq_ex(cq_ex)->cur.timestamp;
	return now_ns(CLOCK_REALTIME) - age;
}

static void set_poll_ops(struct ibv_cq_ex *cq_ex, uint64_t wc_flags)
{
	cq_ex->start_poll = start_poll;
	cq_ex->next_poll = next_poll;
	cq_ex->end_poll = end_poll;
	cq_ex->read_opcode = read_opcode;
	cq_ex->read_vendor_err = read_vendor_err;
	cq_ex->read_wc_flags = read_wc_flags;
	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		cq_ex->read_byte_len = read_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_IMM)
		cq_ex->read_imm_data = read_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		cq_ex->read_qp_num = read_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		cq_ex->read_src_qp = read_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		cq_ex->read_slid = read_slid;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		cq_ex->read_sl = read_sl;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		cq_ex->read_dlid_path_bits = read_dlid_path_bits;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		cq_ex->read_completion_ts = read_completion_ts;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		cq_ex->read_completion_wallclock_ns = read_completion_wallclock_ns;
}

static int cq_map(struct srnic_cq *cq, int fd, const struct srnic_ring_info *info)
{
	int ret;

	ret = srnic_ring_map(&cq->ring, fd, info, sizeof(struct srnic_cqe));
	if (ret)
		return ret;
	/* After a resize the driver says where to go on. */
	cq->ring.mine = __atomic_load_n(&cq->ring.hdr->cons, __ATOMIC_ACQUIRE);
	cq->ring.peer = cq->ring.mine;
	return 0;
}

/* Does the program promise that one thread at a time uses this CQ? */
static bool cq_is_single_threaded(const struct ibv_cq_init_attr_ex *attr)
{
	const struct srnic_pd *pd;

	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED)
		return true;
	if (!(attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD))
		return false;
	pd = to_srnic_pd(attr->parent_domain);
	return pd->td;
}

static int check_cq_attr(const struct ibv_cq_init_attr_ex *attr)
{
	if (!check_comp_mask(attr->comp_mask, IBV_CQ_INIT_ATTR_MASK_FLAGS |
					      IBV_CQ_INIT_ATTR_MASK_PD) ||
	    attr->wc_flags & ~(uint64_t)SUPPORTED_WC_FLAGS)
		return EOPNOTSUPP;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    attr->flags & ~(uint32_t)IBV_CREATE_CQ_ATTR_SINGLE_THREADED)
		return EOPNOTSUPP;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD &&
	    (!attr->parent_domain ||
	     !to_srnic_pd(attr->parent_domain)->protection))
		return EINVAL;
	return 0;
}

struct ibv_cq_ex *srnic_create_cq_ex(struct ibv_context *context,
				     struct ibv_cq_init_attr_ex *attr)
{
	struct srnic_u_create_cq_ex_resp resp = {};
	struct ibv_cq_init_attr_ex plain = *attr;
	struct srnic_cq *cq;
	int ret;

	ret = check_cq_attr(attr);
	if (ret) {
		errno = ret;
		return NULL;
	}
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return NULL;
	ret = srnic_lock_init(&cq->lock, !cq_is_single_threaded(attr));
	if (ret)
		goto free;
	/* Time stamps are always there, no need to ask the driver for them. */
	plain.wc_flags = 0;
	ret = ibv_cmd_create_cq_ex(context, &plain, &cq->verbs, NULL, 0,
				   &resp.ibv_resp, sizeof(resp), 0);
	if (ret)
		goto destroy_lock;
	ret = cq_map(cq, context->cmd_fd, &resp.drv_payload.cq);
	if (ret)
		goto destroy;
	set_poll_ops(&cq->verbs.cq_ex, attr->wc_flags);
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD)
		cq->parent = srnic_parent_get(attr->parent_domain);
	return &cq->verbs.cq_ex;

destroy:
	ibv_cmd_destroy_cq(&cq->verbs.cq);
destroy_lock:
	srnic_lock_destroy(&cq->lock);
free:
	free(cq);
	errno = ret;
	return NULL;
}

struct ibv_cq *srnic_create_cq(struct ibv_context *context, int cqe,
			       struct ibv_comp_channel *channel,
			       int comp_vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.channel = channel,
		.comp_vector = comp_vector,
	};
	struct ibv_cq_ex *cq;

	cq = srnic_create_cq_ex(context, &attr);
	return cq ? ibv_cq_ex_to_cq(cq) : NULL;
}

/**
 * srnic_cq_clean() - forget what a QP has completed
 * @ibcq: where it completed
 * @qpn: its number; the driver completes nothing of it any more
 *
 * The entries of others move up and keep their order. They are between cons
 * and prod: the driver leaves them alone, but for a resize, which has the lock.
 */
void srnic_cq_clean(struct ibv_cq *ibcq, uint32_t qpn)
{
	struct srnic_cq *cq = to_srnic_cq(ibcq);
	struct srnic_ring *ring = &cq->ring;
	uint32_t from, to;

	srnic_lock(&cq->lock);
	ring->peer = __atomic_load_n(&ring->hdr->prod, __ATOMIC_ACQUIRE);
	for (from = to = ring->peer; from != ring->mine; ) {
		struct srnic_cqe *cqe = srnic_ring_entry(ring, --from);

		if (cqe->qp_num != qpn)
			*(struct srnic_cqe *)srnic_ring_entry(ring, --to) = *cqe;
	}
	ring->mine = to;
	cq_release(ring);
	srnic_unlock(&cq->lock);
}

int srnic_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct srnic_cq *cq = to_srnic_cq(ibcq);
	struct srnic_u_resize_cq_resp resp = {};
	struct srnic_ring old;
	struct ibv_resize_cq cmd;
	int ret;

	/* Nobody may poll the old ring once the driver writes to the new one. */
	srnic_lock(&cq->lock);
	ret = ibv_cmd_resize_cq(ibcq, cqe, &cmd, sizeof(cmd), &resp.ibv_resp,
				sizeof(resp));
	if (ret)
		goto unlock;
	old = cq->ring;
	ret = cq_map(cq, ibcq->context->cmd_fd, &resp.drv_payload.cq);
	if (ret) {
		/* The old ring stays readable, but nothing will arrive. */
		verbs_err(verbs_get_ctx(ibcq->context),
			  "could not map the resized CQ\n");
		goto unlock;
	}
	srnic_ring_unmap(&old);
unlock:
	srnic_unlock(&cq->lock);
	return ret;
}

int srnic_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr)
{
	struct ibv_modify_cq cmd = {};

	return ibv_cmd_modify_cq(ibcq, attr, &cmd, sizeof(cmd));
}

int srnic_destroy_cq(struct ibv_cq *ibcq)
{
	struct srnic_cq *cq = to_srnic_cq(ibcq);
	int ret;

	ret = ibv_cmd_destroy_cq(ibcq);
	if (ret)
		return ret;
	srnic_ring_unmap(&cq->ring);
	srnic_lock_destroy(&cq->lock);
	srnic_parent_put(cq->parent);
	free(cq);
	return 0;
}

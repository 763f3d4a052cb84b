/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The libibverbs provider of srnic: its objects and what they share.
 *
 * Each queue (SQ, RQ, SRQ, CQ) is a ring in memory shared with the driver;
 * rdma/srnic-abi.h says who writes what. A queue's private index is the truth
 * for the side that owns it here; the index in the shared header is only how
 * the driver learns of it.
 *
 * Locks: one spinlock per queue protects its private index, its mapping and
 * the entries that are not published yet. A thread domain, or
 * IBV_CREATE_CQ_ATTR_SINGLE_THREADED, takes it away. Two of these locks are
 * never held at once.
 */
#ifndef SRNIC_H
#define SRNIC_H

#include <config.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/driver.h>
#include <infiniband/kern-abi.h>
#include <infiniband/verbs.h>

#include "rdma/srnic-abi.h"

/*
 * DECLARE_DRV_CMD wants each structure a second time, without its tag. Here
 * drv_payload is all that is used.
 */
#define _STRUCT_srnic_alloc_ucontext_req	struct {}
#define _STRUCT_srnic_alloc_ucontext_resp	struct {}
#define _STRUCT_srnic_create_cq_resp		struct {}
#define _STRUCT_srnic_resize_cq_resp		struct {}
#define _STRUCT_srnic_create_qp_resp		struct {}
#define _STRUCT_srnic_create_srq_resp		struct {}
#define _STRUCT_srnic_create_ah_resp		struct {}

DECLARE_DRV_CMD(srnic_u_get_context, IB_USER_VERBS_CMD_GET_CONTEXT,
		srnic_alloc_ucontext_req, srnic_alloc_ucontext_resp);
DECLARE_DRV_CMD(srnic_u_create_cq_ex, IB_USER_VERBS_EX_CMD_CREATE_CQ,
		empty, srnic_create_cq_resp);
DECLARE_DRV_CMD(srnic_u_resize_cq, IB_USER_VERBS_CMD_RESIZE_CQ,
		empty, srnic_resize_cq_resp);
DECLARE_DRV_CMD(srnic_u_create_qp_ex, IB_USER_VERBS_EX_CMD_CREATE_QP,
		empty, srnic_create_qp_resp);
DECLARE_DRV_CMD(srnic_u_create_srq_ex, IB_USER_VERBS_CMD_CREATE_XSRQ,
		empty, srnic_create_srq_resp);
DECLARE_DRV_CMD(srnic_u_create_ah, IB_USER_VERBS_CMD_CREATE_AH,
		empty, srnic_create_ah_resp);

/* A spinlock that a thread domain can take away. */
struct srnic_lock {
	pthread_spinlock_t spin;
	bool needed;
};

static inline int srnic_lock_init(struct srnic_lock *lock, bool needed)
{
	lock->needed = needed;
	return pthread_spin_init(&lock->spin, PTHREAD_PROCESS_PRIVATE);
}

static inline void srnic_lock_destroy(struct srnic_lock *lock)
{
	pthread_spin_destroy(&lock->spin);
}

static inline void srnic_lock(struct srnic_lock *lock)
{
	if (lock->needed)
		pthread_spin_lock(&lock->spin);
}

static inline void srnic_unlock(struct srnic_lock *lock)
{
	if (lock->needed)
		pthread_spin_unlock(&lock->spin);
}

/**
 * struct srnic_ring - one end of a ring shared with the driver
 * @hdr: the mapping, NULL where there is no ring
 * @size: of the mapping, in bytes
 * @mask: number of entries - 1
 * @stride: bytes from one entry to the next
 * @mine: the index this end owns: prod of a work queue, cons of a CQ
 * @peer: the driver's index when it was last looked at
 */
struct srnic_ring {
	struct srnic_ring_hdr *hdr;
	size_t size;
	uint32_t mask;
	uint32_t stride;
	uint32_t mine;
	uint32_t peer;
};

int srnic_ring_map(struct srnic_ring *ring, int fd,
		   const struct srnic_ring_info *info, size_t min_stride);
void srnic_ring_unmap(struct srnic_ring *ring);
int srnic_doorbell(struct ibv_context *context,
		   enum ib_uverbs_write_cmds command, uint32_t handle);

static inline void *srnic_ring_entry(const struct srnic_ring *ring,
				     uint32_t index)
{
	return (uint8_t *)ring->hdr + SRNIC_RING_HDR_SIZE +
	       (size_t)(index & ring->mask) * ring->stride;
}

/* Work queues: room for one more entry at index 'at'? */
static inline bool srnic_ring_has_room(struct srnic_ring *ring, uint32_t at)
{
	if (at - ring->peer <= ring->mask)
		return true;
	ring->peer = __atomic_load_n(&ring->hdr->cons, __ATOMIC_ACQUIRE);
	return at - ring->peer <= ring->mask;
}

/*
 * Work queues: let the driver see everything before index 'to'. True if it
 * wants a doorbell. The driver sets NEED_DOORBELL and then looks at prod; here
 * prod is written and then the flag looked at; the full barriers on both sides
 * make sure that at least one of the two notices the other.
 */
static inline bool srnic_ring_publish(struct srnic_ring *ring, uint32_t to)
{
	ring->mine = to;
	__atomic_store_n(&ring->hdr->prod, to, __ATOMIC_RELEASE);
	atomic_thread_fence(memory_order_seq_cst);
	return __atomic_load_n(&ring->hdr->flags, __ATOMIC_RELAXED) &
	       SRNIC_RING_NEED_DOORBELL;
}

struct srnic_context {
	struct verbs_context verbs;
	uint32_t max_inline;
};

struct srnic_td {
	struct ibv_td ibv_td;
	atomic_int users;
};

/**
 * struct srnic_pd - a protection domain or a parent domain
 * @ibv_pd: what the program sees
 * @protection: of a parent domain: the PD it stands for; else NULL
 * @td: of a parent domain: its thread domain, or NULL
 * @users: parent domains that refer to this PD, QPs and CQs that refer to
 *	   this parent domain
 */
struct srnic_pd {
	struct ibv_pd ibv_pd;
	struct srnic_pd *protection;
	struct srnic_td *td;
	atomic_int users;
};

struct srnic_cq {
	struct verbs_cq verbs;
	struct srnic_lock lock;
	struct srnic_ring ring;
	struct srnic_pd *parent;
	/* Between start_poll and end_poll: a copy of the current entry. */
	struct srnic_cqe cur;
};

struct srnic_rq {
	struct srnic_lock lock;
	struct srnic_ring ring;
	uint32_t max_sge;
};

struct srnic_srq {
	struct verbs_srq verbs;
	struct srnic_rq rq;
};

/**
 * struct srnic_sq - the send queue of a QP
 * @lock: protects what follows, from ibv_wr_start to ibv_wr_complete as well
 * @ring: the ring
 * @max_sge: of a work request
 * @max_inline: bytes of a work request
 * @wqe: entry that ibv_wr_set_*() complete, NULL after an error
 * @next: index of the entry that the next ibv_wr_*() takes
 * @err: first error since ibv_wr_start()
 */
struct srnic_sq {
	struct srnic_lock lock;
	struct srnic_ring ring;
	uint32_t max_sge;
	uint32_t max_inline;
	struct srnic_send_wqe *wqe;
	uint32_t next;
	int err;
};

struct srnic_qp {
	struct verbs_qp verbs;
	struct srnic_pd *parent;
	struct srnic_sq sq;
	struct srnic_rq rq;
};

struct srnic_ah {
	struct ibv_ah ibv_ah;
	uint32_t handle;
};

static inline struct srnic_context *to_srnic_context(struct ibv_context *context)
{
	return container_of(context, struct srnic_context, verbs.context);
}

static inline struct srnic_pd *to_srnic_pd(struct ibv_pd *pd)
{
	return container_of(pd, struct srnic_pd, ibv_pd);
}

static inline struct srnic_td *to_srnic_td(struct ibv_td *td)
{
	return container_of(td, struct srnic_td, ibv_td);
}

static inline struct srnic_cq *to_srnic_cq(struct ibv_cq *cq)
{
	return container_of(cq, struct srnic_cq, verbs.cq);
}

static inline struct srnic_srq *to_srnic_srq(struct ibv_srq *srq)
{
	return container_of(srq, struct srnic_srq, verbs.srq);
}

static inline struct srnic_qp *to_srnic_qp(struct ibv_qp *qp)
{
	return container_of(qp, struct srnic_qp, verbs.qp);
}

static inline struct srnic_ah *to_srnic_ah(struct ibv_ah *ah)
{
	return container_of(ah, struct srnic_ah, ibv_ah);
}

/* mem.c */
struct ibv_pd *srnic_alloc_pd(struct ibv_context *context);
int srnic_dealloc_pd(struct ibv_pd *ibpd);
struct ibv_td *srnic_alloc_td(struct ibv_context *context,
			      struct ibv_td_init_attr *attr);
int srnic_dealloc_td(struct ibv_td *ibtd);
struct ibv_pd *srnic_alloc_parent_domain(struct ibv_context *context,
					 struct ibv_parent_domain_init_attr *attr);
struct srnic_pd *srnic_parent_get(struct ibv_pd *ibpd);
void srnic_parent_put(struct srnic_pd *parent);
struct ibv_mr *srnic_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			    uint64_t hca_va, int access);
struct ibv_mr *srnic_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				   size_t length, uint64_t iova, int fd,
				   int access);
int srnic_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		   void *addr, size_t length, int access);
int srnic_dereg_mr(struct verbs_mr *vmr);
struct ibv_mw *srnic_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int srnic_dealloc_mw(struct ibv_mw *mw);
struct ibv_ah *srnic_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int srnic_destroy_ah(struct ibv_ah *ibah);

/* cq.c */
struct ibv_cq *srnic_create_cq(struct ibv_context *context, int cqe,
			       struct ibv_comp_channel *channel,
			       int comp_vector);
struct ibv_cq_ex *srnic_create_cq_ex(struct ibv_context *context,
				     struct ibv_cq_init_attr_ex *attr);
int srnic_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);
int srnic_resize_cq(struct ibv_cq *ibcq, int cqe);
void srnic_cq_clean(struct ibv_cq *ibcq, uint32_t qpn);
int srnic_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr);
int srnic_destroy_cq(struct ibv_cq *ibcq);

/* qp.c */
struct ibv_qp *srnic_create_qp(struct ibv_pd *pd,
			       struct ibv_qp_init_attr *attr);
struct ibv_qp *srnic_create_qp_ex(struct ibv_context *context,
				  struct ibv_qp_init_attr_ex *attr);
int srnic_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
		   int attr_mask, struct ibv_qp_init_attr *init_attr);
int srnic_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
		    int attr_mask);
int srnic_destroy_qp(struct ibv_qp *ibqp);

/* send.c */
int srnic_set_send_ops(struct srnic_qp *qp,
		       const struct ibv_qp_init_attr_ex *attr);
int srnic_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad_wr);
int srnic_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw,
		  struct ibv_mw_bind *bind);

/* recv.c */
struct ibv_srq *srnic_create_srq(struct ibv_pd *pd,
				 struct ibv_srq_init_attr *attr);
struct ibv_srq *srnic_create_srq_ex(struct ibv_context *context,
				    struct ibv_srq_init_attr_ex *attr);
int srnic_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
		     int attr_mask);
int srnic_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr);
int srnic_get_srq_num(struct ibv_srq *ibsrq, uint32_t *srq_num);
int srnic_destroy_srq(struct ibv_srq *ibsrq);
int srnic_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad_wr);
int srnic_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad_wr);

#endif /* SRNIC_H */

/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * The contract between the srnic kernel driver and its libibverbs provider.
 *
 * Objects
 *   ring    a page-aligned area shared by mmap: struct srnic_ring_hdr, then
 *           'depth' entries of 'stride' bytes. The depth is a power of two.
 *           Indices run freely through 2^32; entry number i stands at
 *           i & (depth - 1); a ring is full when prod - cons == depth.
 *   SQ, RQ  user produces (prod), the kernel consumes (cons). cons moves when
 *           a work request is completed, not when it is read, and before its
 *           completion can be seen: prod - cons is what is outstanding.
 *   CQ      the kernel produces (prod), user consumes (cons).
 *
 * The producer writes its entry, then prod with release semantics; the
 * consumer reads prod with acquire semantics. The kernel never relies on what
 * stands in a ring: every entry is copied once into kernel memory and checked
 * there, every index is bounded, and the indices of the kernel's own side are
 * kept privately (what it writes into the header is information only).
 *
 * The kernel sets both indices of SQ and RQ where a QP enters RESET, and both
 * of a CQ's new ring where it is resized; the user then takes them over.
 *
 * Doorbells are IB_USER_VERBS_CMD_POST_SEND and _POST_RECV with no work
 * request in them: 'look at the ring of this QP'.
 */
#ifndef SRNIC_ABI_USER_H
#define SRNIC_ABI_USER_H

#include <linux/stddef.h>
#include <linux/types.h>

/* Raised by one with each change that an older provider can't serve. */
#define SRNIC_UVERBS_ABI_VERSION	1

/*
 * The driver's identity on the ioctl interface. A private number, far from
 * those of enum rdma_driver_id: with rxe's, libibverbs would give the device to
 * rxe's provider; RDMA_DRIVER_UNKNOWN means any driver to the kernel, so that
 * ours couldn't be told from others on the same netdev.
 */
#define SRNIC_DRIVER_ID			0x53524e43u	/* 'SRNC' */

/* Flags in srnic_ring_hdr.flags, written by the kernel. */
enum {
	/* A doorbell is needed for the kernel to see new entries. Always set
	 * on SQ rings today; set on RQ rings while the QP is in the error
	 * state, so that new receives are flushed.
	 */
	SRNIC_RING_NEED_DOORBELL	= 1 << 0,
	/* CQ: an entry was lost because the ring was full. */
	SRNIC_RING_OVERRUN		= 1 << 1,
};

/**
 * struct srnic_ring_hdr - the head of every shared ring
 * @prod: index of the next entry to be written; only its producer writes it
 * @cons: index of the oldest entry that isn't free yet (SQ, RQ: completed; CQ:
 *        read); only its consumer writes it
 * @flags: SRNIC_RING_*, written by the kernel, read by the user
 * @rsvd0: zero; keeps the two sides' indices on cache lines of their own
 * @rsvd1: zero
 * @rsvd2: zero
 *
 * Entries start SRNIC_RING_HDR_SIZE bytes behind the start of the ring.
 */
struct srnic_ring_hdr {
	__u32 prod;
	__u32 rsvd0[15];
	__u32 cons;
	__u32 rsvd1[15];
	__u32 flags;
	__u32 rsvd2[31];
};

#define SRNIC_RING_HDR_SIZE		256

/**
 * struct srnic_ring_info - where a ring is, in the answers of the driver
 * @offset: what to pass to mmap() as offset, in bytes
 * @size: what to pass to mmap() as length, in bytes
 * @depth: number of entries, a power of two
 * @stride: bytes from one entry to the next, a multiple of 16
 * @reserved: zero
 */
struct srnic_ring_info {
	__aligned_u64 offset;
	__aligned_u64 size;
	__u32 depth;
	__u32 stride;
	__aligned_u64 reserved;
};

/**
 * struct srnic_sge - one piece of local memory of a work request
 * @addr: address in the space of @lkey
 * @length: bytes
 * @lkey: key
 */
struct srnic_sge {
	__aligned_u64 addr;
	__u32 length;
	__u32 lkey;
};

/* srnic_send_wqe.opcode: the values of enum ibv_wr_opcode / ib_uverbs_wr_opcode. */

/* srnic_send_wqe.flags: the values of enum ibv_send_flags, and */
#define SRNIC_SEND_FENCE		(1u << 0)
#define SRNIC_SEND_SIGNALED		(1u << 1)
#define SRNIC_SEND_SOLICITED		(1u << 2)
#define SRNIC_SEND_INLINE		(1u << 3)

/**
 * struct srnic_send_wqe - a work request in the SQ
 * @wr_id: returned in the completion
 * @opcode: enum ib_uverbs_wr_opcode
 * @flags: SRNIC_SEND_*
 * @num_sge: number of entries in @sge; ignored with SRNIC_SEND_INLINE
 * @inline_len: bytes of inline data in @inline_data, with SRNIC_SEND_INLINE
 * @imm_data: big-endian immediate data, or the rkey to invalidate (host order)
 * @rsvd: zero
 * @rdma: RDMA WRITE, WRITE with immediate, READ
 * @atomic: compare-and-swap (@compare_add is compared with, @swap written) and
 *          fetch-and-add (@compare_add is added)
 * @ud: datagram; @ah is the handle from struct srnic_create_ah_resp
 * @bind: memory window bind (type 2)
 * @sge: gather (READ, atomics: scatter) list
 * @inline_data: the payload itself
 */
struct srnic_send_wqe {
	__aligned_u64 wr_id;
	__u32 opcode;
	__u32 flags;
	__u32 num_sge;
	__u32 inline_len;
	__u32 imm_data;
	__u32 rsvd;
	union {
		struct {
			__aligned_u64 remote_addr;
			__u32 rkey;
			__u32 rsvd;
			__aligned_u64 rsvd2[2];
		} rdma;
		struct {
			__aligned_u64 remote_addr;
			__aligned_u64 compare_add;
			__aligned_u64 swap;
			__u32 rkey;
			__u32 rsvd;
		} atomic;
		struct {
			__u32 ah;
			__u32 remote_qpn;
			__u32 remote_qkey;
			__u32 rsvd;
			__aligned_u64 rsvd2[2];
		} ud;
		struct {
			__aligned_u64 addr;
			__aligned_u64 length;
			__u32 mr_lkey;
			__u32 mw_rkey;	/* the current key; the new one is @rkey */
			__u32 rkey;
			__u32 access;
		} bind;
	};
	union {
		__DECLARE_FLEX_ARRAY(struct srnic_sge, sge);
		__DECLARE_FLEX_ARRAY(__u8, inline_data);
	};
};

#define SRNIC_SEND_WQE_HDR_SIZE		64

/**
 * struct srnic_recv_wqe - a work request in the RQ or an SRQ
 * @wr_id: returned in the completion
 * @num_sge: number of entries in @sge
 * @rsvd: zero
 * @sge: scatter list
 */
struct srnic_recv_wqe {
	__aligned_u64 wr_id;
	__u32 num_sge;
	__u32 rsvd;
	__DECLARE_FLEX_ARRAY(struct srnic_sge, sge);
};

#define SRNIC_RECV_WQE_HDR_SIZE		16

/* srnic_cqe.wc_flags: the values of enum ib_uverbs_wc_flags' cousin ibv_wc_flags. */
#define SRNIC_WC_GRH			(1u << 0)
#define SRNIC_WC_WITH_IMM		(1u << 1)
#define SRNIC_WC_WITH_INV		(1u << 3)

/**
 * struct srnic_cqe - a completion
 * @wr_id: of the work request
 * @timestamp: CLOCK_MONOTONIC_RAW in nanoseconds when it was written
 * @status: enum ibv_wc_status
 * @opcode: enum ibv_wc_opcode
 * @vendor_err: why a local key was refused (1 unknown, 2 stale, 3 PD, 4 access,
 *	5 bounds, 6 state, 7 revoked, 8 QP), or 0
 * @byte_len: bytes received, read or written
 * @imm_data: big-endian immediate data, or the invalidated rkey (host order)
 * @qp_num: QPN of the local QP
 * @src_qp: QPN of the remote QP (UD)
 * @wc_flags: SRNIC_WC_*
 * @pkey_index: index of the P_Key
 * @sl: service level
 * @network_hdr_type: RoCE header type, as in struct ib_wc
 * @rsvd: zero
 */
struct srnic_cqe {
	__aligned_u64 wr_id;
	__aligned_u64 timestamp;
	__u32 status;
	__u32 opcode;
	__u32 vendor_err;
	__u32 byte_len;
	__u32 imm_data;
	__u32 qp_num;
	__u32 src_qp;
	__u32 wc_flags;
	__u16 pkey_index;
	__u8 sl;
	__u8 network_hdr_type;
	__u32 rsvd[3];
};

/* Answers, behind those of the common commands. */

/**
 * struct srnic_alloc_ucontext_req - what the provider says of itself
 * @abi_version: SRNIC_UVERBS_ABI_VERSION it was built with; another is refused
 * @reserved: zero
 */
struct srnic_alloc_ucontext_req {
	__u32 abi_version;
	__u32 reserved;
};

/**
 * struct srnic_alloc_ucontext_resp - what the driver says of itself
 * @abi_version: SRNIC_UVERBS_ABI_VERSION of the driver
 * @max_inline: the most bytes of inline data that a QP can have
 */
struct srnic_alloc_ucontext_resp {
	__u32 abi_version;
	__u32 max_inline;
};

/**
 * struct srnic_create_cq_resp - answer of create CQ
 * @cq: its ring
 */
struct srnic_create_cq_resp {
	struct srnic_ring_info cq;
};

/**
 * struct srnic_resize_cq_resp - answer of resize CQ
 * @cq: its new ring, in which the indices go on
 */
struct srnic_resize_cq_resp {
	struct srnic_ring_info cq;
};

/**
 * struct srnic_create_qp_resp - answer of create QP
 * @sq: its send ring
 * @rq: its receive ring; size 0 with an SRQ
 *
 * Both sides' indices go back to 0 when the QP is modified to RESET.
 */
struct srnic_create_qp_resp {
	struct srnic_ring_info sq;
	struct srnic_ring_info rq;
};

/**
 * struct srnic_create_srq_resp - answer of create SRQ
 * @rq: its ring
 * @srq_num: its number
 * @reserved: zero
 */
struct srnic_create_srq_resp {
	struct srnic_ring_info rq;
	__u32 srq_num;
	__u32 reserved;
};

/**
 * struct srnic_create_ah_resp - answer of create AH
 * @ah: handle for struct srnic_send_wqe
 * @reserved: zero
 */
struct srnic_create_ah_resp {
	__u32 ah;
	__u32 reserved;
};

#endif /* SRNIC_ABI_USER_H */

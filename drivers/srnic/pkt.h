/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A packet, taken apart: every field in host order, checked for consistency
 * with itself (not with any QP). The network fills it from an skb, tests from
 * a table.
 */
#ifndef SRNIC_PKT_H
#define SRNIC_PKT_H

#include <linux/skbuff.h>
#include <linux/types.h>

#include "opcode.h"
#include "seg.h"

#define SRNIC_PKT_MAX_SEGS	(MAX_SKB_FRAGS + 1)

/**
 * struct srnic_pkt - a received packet
 * @op: row of the opcode table, never SRNIC_OP_NONE
 * @opcode: BTH opcode
 * @ackreq: BTH A bit
 * @solicited: BTH SE bit
 * @becn: BTH BECN
 * @pkey: BTH P_Key
 * @qpn: BTH destination QP
 * @psn: BTH PSN
 * @va: RETH or AtomicETH address
 * @rkey: RETH or AtomicETH key
 * @dmalen: RETH length
 * @swap_add: AtomicETH
 * @compare: AtomicETH
 * @orig: AtomicAckETH: the value before
 * @qkey: DETH
 * @src_qpn: DETH
 * @syndrome: AETH
 * @msn: AETH
 * @imm: ImmDt, as on the wire
 * @inv_rkey: IETH
 * @len: payload bytes, without pad and ICRC
 * @nseg: entries in @seg
 * @seg: the payload, @len bytes
 */
struct srnic_pkt {
	const struct srnic_opcode *op;
	u8 opcode;
	bool ackreq;
	bool solicited;
	bool becn;
	u16 pkey;
	u32 qpn;
	u32 psn;
	u64 va;
	u32 rkey;
	u32 dmalen;
	u64 swap_add;
	u64 compare;
	u64 orig;
	u32 qkey;
	u32 src_qpn;
	u8 syndrome;
	u32 msn;
	__be32 imm;
	u32 inv_rkey;
	u32 len;
	unsigned int nseg;
	struct kvec seg[SRNIC_PKT_MAX_SEGS];
};

/* Header bytes that srnic_pkt_parse() may need in one piece. */
#define SRNIC_PKT_MAX_HDR	64

int srnic_pkt_parse(struct srnic_pkt *pkt, const void *hdr, size_t avail,
		    size_t total);

/**
 * struct srnic_pkt_out - what a packet to be sent says
 *
 * @opcode: BTH opcode; decides which of the fields below count
 * @ackreq: BTH A bit
 * @solicited: BTH SE bit
 * @pkey: BTH P_Key
 * @qpn: BTH destination QP
 * @psn: BTH PSN
 * @va: RETH or AtomicETH address
 * @rkey: RETH or AtomicETH key
 * @dmalen: RETH length
 * @swap_add: AtomicETH
 * @compare: AtomicETH
 * @orig: AtomicAckETH: the value before
 * @qkey: DETH
 * @src_qpn: DETH
 * @syndrome: AETH
 * @msn: AETH
 * @imm: ImmDt, as on the wire
 * @inv_rkey: IETH
 * @len: payload bytes, from which the pad count follows
 */
struct srnic_pkt_out {
	u8 opcode;
	bool ackreq;
	bool solicited;
	u16 pkey;
	u32 qpn;
	u32 psn;
	u64 va;
	u32 rkey;
	u32 dmalen;
	u64 swap_add;
	u64 compare;
	u64 orig;
	u32 qkey;
	u32 src_qpn;
	u8 syndrome;
	u32 msn;
	__be32 imm;
	u32 inv_rkey;
	u32 len;
};

/* Writes BTH and extension headers; returns their length, as in the table. */
size_t srnic_pkt_build(void *hdr, const struct srnic_pkt_out *out);

static inline u32 srnic_pkt_pad(u32 len)
{
	return -len & 3;
}

#endif /* SRNIC_PKT_H */

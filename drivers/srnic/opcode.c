// SPDX-License-Identifier: GPL-2.0
/*
 * The opcode table. A row says everything that parsing, building and routing
 * to a handler need to know; a packet whose opcode has no row is dropped before
 * anyone looks further into it.
 *
 * The numbers are those of the transport (upper 3 bits) plus the operation
 * (lower 5), so a table of operations per transport finds the number for
 * sending, and the rows themselves say whether the transport has it.
 */
#include "opcode.h"

#include <linux/bug.h>
#include <rdma/ib_pack.h>

#include "hdr.h"

#define HAS_LEN(h, flag, type)						\
	((h) & SRNIC_HAS_##flag ? sizeof(struct srnic_##type) : 0)

#define HDR_LEN(h)							\
	(sizeof(struct srnic_bth) +					\
	 HAS_LEN(h, DETH, deth) +					\
	 HAS_LEN(h, RETH, reth) +					\
	 HAS_LEN(h, ATOMICETH, atomiceth) +				\
	 HAS_LEN(h, AETH, aeth) +					\
	 HAS_LEN(h, ATOMICACK, atomicack) +				\
	 HAS_LEN(h, IMM, immdt) +					\
	 HAS_LEN(h, IETH, ieth))

#define ROW(_op, _kind, _pos, _has, _qpt, _response)			\
	[IB_OPCODE_##_op] = {						\
		.kind = (_kind),					\
		.pos = (_pos),						\
		.has = (_has),						\
		.hdr_len = HDR_LEN(_has),				\
		.qpt = SRNIC_QPT_##_qpt,				\
		.response = (_response),				\
	}

/* The names READ and WRITE belong to the kernel, hence the whole names here. */
#define REQ(_t, _op, _kind, _pos, _has)					\
	ROW(_t##_##_op, _kind, _pos, _has, _t, false)
#define RSP(_op, _kind, _pos, _has)					\
	ROW(RC_##_op, _kind, _pos, _has, RC, true)

#define MIDDLE	0
#define FIRST	SRNIC_OP_FIRST
#define LAST	SRNIC_OP_LAST
#define ONLY	SRNIC_OP_ONLY

#define DATA	SRNIC_HAS_PAYLOAD
#define IMM	SRNIC_HAS_IMM
#define IETH	SRNIC_HAS_IETH
#define RETH	SRNIC_HAS_RETH
#define AETH	SRNIC_HAS_AETH
#define DETH	SRNIC_HAS_DETH
#define ATETH	SRNIC_HAS_ATOMICETH
#define ATACK	SRNIC_HAS_ATOMICACK

const struct srnic_opcode srnic_opcodes[256] = {
	REQ(RC, SEND_FIRST, SRNIC_OP_SEND, FIRST, DATA),
	REQ(RC, SEND_MIDDLE, SRNIC_OP_SEND, MIDDLE, DATA),
	REQ(RC, SEND_LAST, SRNIC_OP_SEND, LAST, DATA),
	REQ(RC, SEND_LAST_WITH_IMMEDIATE, SRNIC_OP_SEND, LAST, IMM | DATA),
	REQ(RC, SEND_ONLY, SRNIC_OP_SEND, ONLY, DATA),
	REQ(RC, SEND_ONLY_WITH_IMMEDIATE, SRNIC_OP_SEND, ONLY, IMM | DATA),
	REQ(RC, RDMA_WRITE_FIRST, SRNIC_OP_WRITE, FIRST, RETH | DATA),
	REQ(RC, RDMA_WRITE_MIDDLE, SRNIC_OP_WRITE, MIDDLE, DATA),
	REQ(RC, RDMA_WRITE_LAST, SRNIC_OP_WRITE, LAST, DATA),
	REQ(RC, RDMA_WRITE_LAST_WITH_IMMEDIATE, SRNIC_OP_WRITE, LAST,
	    IMM | DATA),
	REQ(RC, RDMA_WRITE_ONLY, SRNIC_OP_WRITE, ONLY, RETH | DATA),
	REQ(RC, RDMA_WRITE_ONLY_WITH_IMMEDIATE, SRNIC_OP_WRITE, ONLY,
	    RETH | IMM | DATA),
	REQ(RC, SEND_LAST_WITH_INVALIDATE, SRNIC_OP_SEND, LAST, IETH | DATA),
	REQ(RC, SEND_ONLY_WITH_INVALIDATE, SRNIC_OP_SEND, ONLY, IETH | DATA),
	REQ(RC, RDMA_READ_REQUEST, SRNIC_OP_READ, ONLY, RETH),
	REQ(RC, COMPARE_SWAP, SRNIC_OP_CMP_SWAP, ONLY, ATETH),
	REQ(RC, FETCH_ADD, SRNIC_OP_FETCH_ADD, ONLY, ATETH),
	RSP(RDMA_READ_RESPONSE_FIRST, SRNIC_OP_READ_RESP, FIRST, AETH | DATA),
	RSP(RDMA_READ_RESPONSE_MIDDLE, SRNIC_OP_READ_RESP, MIDDLE, DATA),
	RSP(RDMA_READ_RESPONSE_LAST, SRNIC_OP_READ_RESP, LAST, AETH | DATA),
	RSP(RDMA_READ_RESPONSE_ONLY, SRNIC_OP_READ_RESP, ONLY, AETH | DATA),
	RSP(ACKNOWLEDGE, SRNIC_OP_ACK, ONLY, AETH),
	RSP(ATOMIC_ACKNOWLEDGE, SRNIC_OP_ATOMIC_ACK, ONLY, AETH | ATACK),

	REQ(UC, SEND_FIRST, SRNIC_OP_SEND, FIRST, DATA),
	REQ(UC, SEND_MIDDLE, SRNIC_OP_SEND, MIDDLE, DATA),
	REQ(UC, SEND_LAST, SRNIC_OP_SEND, LAST, DATA),
	REQ(UC, SEND_LAST_WITH_IMMEDIATE, SRNIC_OP_SEND, LAST, IMM | DATA),
	REQ(UC, SEND_ONLY, SRNIC_OP_SEND, ONLY, DATA),
	REQ(UC, SEND_ONLY_WITH_IMMEDIATE, SRNIC_OP_SEND, ONLY, IMM | DATA),
	REQ(UC, RDMA_WRITE_FIRST, SRNIC_OP_WRITE, FIRST, RETH | DATA),
	REQ(UC, RDMA_WRITE_MIDDLE, SRNIC_OP_WRITE, MIDDLE, DATA),
	REQ(UC, RDMA_WRITE_LAST, SRNIC_OP_WRITE, LAST, DATA),
	REQ(UC, RDMA_WRITE_LAST_WITH_IMMEDIATE, SRNIC_OP_WRITE, LAST,
	    IMM | DATA),
	REQ(UC, RDMA_WRITE_ONLY, SRNIC_OP_WRITE, ONLY, RETH | DATA),
	REQ(UC, RDMA_WRITE_ONLY_WITH_IMMEDIATE, SRNIC_OP_WRITE, ONLY,
	    RETH | IMM | DATA),

	REQ(UD, SEND_ONLY, SRNIC_OP_SEND, ONLY, DETH | DATA),
	REQ(UD, SEND_ONLY_WITH_IMMEDIATE, SRNIC_OP_SEND, ONLY,
	    DETH | IMM | DATA),
};

/* No operation of any transport has this number: the row is a hole. */
#define NO_OPERATION	0xff

/* [position][plain, with immediate, with invalidate] */
static const u8 send_ops[4][3] = {
	[MIDDLE] = { IB_OPCODE_SEND_MIDDLE, NO_OPERATION, NO_OPERATION },
	[FIRST] = { IB_OPCODE_SEND_FIRST, NO_OPERATION, NO_OPERATION },
	[LAST] = { IB_OPCODE_SEND_LAST, IB_OPCODE_SEND_LAST_WITH_IMMEDIATE,
		   IB_OPCODE_SEND_LAST_WITH_INVALIDATE },
	[ONLY] = { IB_OPCODE_SEND_ONLY, IB_OPCODE_SEND_ONLY_WITH_IMMEDIATE,
		   IB_OPCODE_SEND_ONLY_WITH_INVALIDATE },
};

static const u8 write_ops[4][3] = {
	[MIDDLE] = { IB_OPCODE_RDMA_WRITE_MIDDLE, NO_OPERATION, NO_OPERATION },
	[FIRST] = { IB_OPCODE_RDMA_WRITE_FIRST, NO_OPERATION, NO_OPERATION },
	[LAST] = { IB_OPCODE_RDMA_WRITE_LAST,
		   IB_OPCODE_RDMA_WRITE_LAST_WITH_IMMEDIATE, NO_OPERATION },
	[ONLY] = { IB_OPCODE_RDMA_WRITE_ONLY,
		   IB_OPCODE_RDMA_WRITE_ONLY_WITH_IMMEDIATE, NO_OPERATION },
};

static const u8 read_resp_ops[4] = {
	[MIDDLE] = IB_OPCODE_RDMA_READ_RESPONSE_MIDDLE,
	[FIRST] = IB_OPCODE_RDMA_READ_RESPONSE_FIRST,
	[LAST] = IB_OPCODE_RDMA_READ_RESPONSE_LAST,
	[ONLY] = IB_OPCODE_RDMA_READ_RESPONSE_ONLY,
};

static u8 operation(enum srnic_op_kind kind, u8 pos, u8 has)
{
	unsigned int with = has & IMM ? 1 : has & IETH ? 2 : 0;

	switch (kind) {
	case SRNIC_OP_SEND:
		return send_ops[pos][with];
	case SRNIC_OP_WRITE:
		return write_ops[pos][with];
	case SRNIC_OP_READ:
		return IB_OPCODE_RDMA_READ_REQUEST;
	case SRNIC_OP_CMP_SWAP:
		return IB_OPCODE_COMPARE_SWAP;
	case SRNIC_OP_FETCH_ADD:
		return IB_OPCODE_FETCH_ADD;
	case SRNIC_OP_READ_RESP:
		return read_resp_ops[pos];
	case SRNIC_OP_ACK:
		return IB_OPCODE_ACKNOWLEDGE;
	case SRNIC_OP_ATOMIC_ACK:
		return IB_OPCODE_ATOMIC_ACKNOWLEDGE;
	case SRNIC_OP_NONE:
	case SRNIC_OP_LOCAL:
		break;
	}
	return NO_OPERATION;
}

/**
 * srnic_opcode_find() - the opcode of a packet to be sent
 * @qpt: one SRNIC_QPT_* bit
 * @kind: what the packet does
 * @pos: SRNIC_OP_FIRST, SRNIC_OP_LAST, both or none of them; kinds that always
 *	have one packet are found with SRNIC_OP_ONLY alone
 * @has: SRNIC_HAS_IMM, SRNIC_HAS_IETH or neither; other bits don't count
 *
 * Return: the opcode; the number of a hole (SRNIC_OP_NONE in the table) where
 * there is no such packet, which is a mistake of the caller.
 */
u8 srnic_opcode_find(u8 qpt, enum srnic_op_kind kind, u8 pos, u8 has)
{
	u8 op = operation(kind, pos & ONLY, has);
	const struct srnic_opcode *row;

	if (op == NO_OPERATION)
		return op;

	if (qpt & SRNIC_QPT_UC)
		op += IB_OPCODE_UC;
	else if (qpt & SRNIC_QPT_UD)
		op += IB_OPCODE_UD;

	row = &srnic_opcodes[op];
	if (row->kind != kind || row->pos != (pos & ONLY))
		return NO_OPERATION;
	return op;
}

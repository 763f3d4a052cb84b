/* SPDX-License-Identifier: GPL-2.0 */
/*
 * BTH opcodes (IBTA table 38), one row each: what headers follow, where in a
 * message the packet stands, which QP types know it.
 */
#ifndef SRNIC_OPCODE_H
#define SRNIC_OPCODE_H

#include <linux/bits.h>
#include <linux/types.h>

enum srnic_op_kind {
	SRNIC_OP_NONE,		/* not an opcode of ours */
	SRNIC_OP_SEND,
	SRNIC_OP_WRITE,
	SRNIC_OP_READ,
	SRNIC_OP_CMP_SWAP,
	SRNIC_OP_FETCH_ADD,
	SRNIC_OP_READ_RESP,
	SRNIC_OP_ACK,
	SRNIC_OP_ATOMIC_ACK,
	SRNIC_OP_LOCAL,		/* no packet: a request about a key */
};

/* Position in the message. MIDDLE is neither, ONLY is both. */
#define SRNIC_OP_FIRST		BIT(0)
#define SRNIC_OP_LAST		BIT(1)
#define SRNIC_OP_ONLY		(SRNIC_OP_FIRST | SRNIC_OP_LAST)

/* Headers behind the BTH, in this order on the wire. */
#define SRNIC_HAS_DETH		BIT(0)
#define SRNIC_HAS_RETH		BIT(1)
#define SRNIC_HAS_ATOMICETH	BIT(2)
#define SRNIC_HAS_AETH		BIT(3)
#define SRNIC_HAS_ATOMICACK	BIT(4)
#define SRNIC_HAS_IMM		BIT(5)
#define SRNIC_HAS_IETH		BIT(6)
#define SRNIC_HAS_PAYLOAD	BIT(7)

/* QP types */
#define SRNIC_QPT_RC		BIT(0)
#define SRNIC_QPT_UC		BIT(1)
#define SRNIC_QPT_UD		BIT(2)	/* the GSI QP as well */

/**
 * struct srnic_opcode - one row
 * @kind: what it does, SRNIC_OP_NONE for a hole
 * @pos: SRNIC_OP_FIRST | SRNIC_OP_LAST
 * @has: SRNIC_HAS_*
 * @hdr_len: bytes of all headers, the BTH's 12 included
 * @qpt: SRNIC_QPT_* that may receive it
 * @response: goes from responder to requester
 */
struct srnic_opcode {
	u8 kind;
	u8 pos;
	u8 has;
	u8 hdr_len;
	u8 qpt;
	bool response;
};

extern const struct srnic_opcode srnic_opcodes[256];

/* Opcode numbers: IB_OPCODE_* of <rdma/ib_pack.h>. */
u8 srnic_opcode_find(u8 qpt, enum srnic_op_kind kind, u8 pos, u8 has);

#endif /* SRNIC_OPCODE_H */

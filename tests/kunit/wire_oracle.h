/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the specification says of packets, written down a second time and in
 * another way than the driver has it: plain numbers, no shared constants.
 */
#ifndef SRNIC_TEST_WIRE_ORACLE_H
#define SRNIC_TEST_WIRE_ORACLE_H

#include <linux/types.h>

/**
 * struct oracle_op - an opcode, from IBTA tables 38 and 39
 * @num: its number
 * @text: "transport kind position headers", the headers in wire order, each
 *	one letter: D DETH, R RETH, X AtomicETH, A AETH, O AtomicAckETH, I ImmDt,
 *	V IETH, P payload
 * @hdr_len: bytes of BTH and the headers
 */
struct oracle_op {
	u8 num;
	const char *text;
	u8 hdr_len;
};

const struct oracle_op *oracle_op(u8 num);
bool oracle_has(const struct oracle_op *op, char header);
int oracle_parse(const u8 *p, size_t avail, size_t total, u32 *len);
u32 oracle_crc32(u32 crc, const u8 *p, size_t len);

#endif /* SRNIC_TEST_WIRE_ORACLE_H */

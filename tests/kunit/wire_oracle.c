// SPDX-License-Identifier: GPL-2.0
#include "wire_oracle.h"

#include <linux/array_size.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>

static const struct oracle_op ops[] = {
	{ 0x00, "RC send first P", 12 },
	{ 0x01, "RC send middle P", 12 },
	{ 0x02, "RC send last P", 12 },
	{ 0x03, "RC send last IP", 16 },
	{ 0x04, "RC send only P", 12 },
	{ 0x05, "RC send only IP", 16 },
	{ 0x06, "RC write first RP", 28 },
	{ 0x07, "RC write middle P", 12 },
	{ 0x08, "RC write last P", 12 },
	{ 0x09, "RC write last IP", 16 },
	{ 0x0a, "RC write only RP", 28 },
	{ 0x0b, "RC write only RIP", 32 },
	{ 0x0c, "RC read only R", 28 },
	{ 0x0d, "RC readresp first AP", 16 },
	{ 0x0e, "RC readresp middle P", 12 },
	{ 0x0f, "RC readresp last AP", 16 },
	{ 0x10, "RC readresp only AP", 16 },
	{ 0x11, "RC ack only A", 16 },
	{ 0x12, "RC atomicack only AO", 24 },
	{ 0x13, "RC cmpswap only X", 40 },
	{ 0x14, "RC fetchadd only X", 40 },
	{ 0x16, "RC send last VP", 16 },
	{ 0x17, "RC send only VP", 16 },
	{ 0x20, "UC send first P", 12 },
	{ 0x21, "UC send middle P", 12 },
	{ 0x22, "UC send last P", 12 },
	{ 0x23, "UC send last IP", 16 },
	{ 0x24, "UC send only P", 12 },
	{ 0x25, "UC send only IP", 16 },
	{ 0x26, "UC write first RP", 28 },
	{ 0x27, "UC write middle P", 12 },
	{ 0x28, "UC write last P", 12 },
	{ 0x29, "UC write last IP", 16 },
	{ 0x2a, "UC write only RP", 28 },
	{ 0x2b, "UC write only RIP", 32 },
	{ 0x64, "UD send only DP", 20 },
	{ 0x65, "UD send only DIP", 24 },
};

/* The opcode's description, or NULL for a hole. */
const struct oracle_op *oracle_op(u8 num)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		if (ops[i].num == num)
			return &ops[i];
	}
	return NULL;
}

bool oracle_has(const struct oracle_op *op, char header)
{
	return strchr(strrchr(op->text, ' '), header);
}

/* What srnic_pkt_parse() shall return, and the payload's length. */
int oracle_parse(const u8 *p, size_t avail, size_t total, u32 *len)
{
	const struct oracle_op *op;
	size_t readable = min(avail, total);
	size_t body;
	u8 pad;

	if (readable < 12)
		return -EMSGSIZE;
	if (p[1] % 16 != 0)
		return -EPROTONOSUPPORT;
	op = oracle_op(p[0]);
	if (!op)
		return -EOPNOTSUPP;
	if (readable < op->hdr_len || total < op->hdr_len + 4)
		return -EMSGSIZE;

	body = total - op->hdr_len - 4;
	pad = p[1] / 16 % 4;
	*len = body - pad;
	if (!oracle_has(op, 'P'))
		return body == 0 && pad == 0 ? 0 : -EINVAL;
	if (body % 4 != 0 || (body == 0 && pad != 0))
		return -EINVAL;
	return 0;
}

/* CRC32 of Ethernet, one bit at a time. */
u32 oracle_crc32(u32 crc, const u8 *p, size_t len)
{
	size_t i;
	int bit;

	for (i = 0; i < len; i++) {
		crc ^= p[i];
		for (bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
	}
	return crc;
}

// SPDX-License-Identifier: GPL-2.0
/* The opcode table against the oracle's, and the way back. */
#include <kunit/test.h>

#include "../../drivers/srnic/opcode.h"
#include "wire_oracle.h"

static const char * const kinds[] = {
	[SRNIC_OP_SEND] = " send ",
	[SRNIC_OP_WRITE] = " write ",
	[SRNIC_OP_READ] = " read ",
	[SRNIC_OP_CMP_SWAP] = " cmpswap ",
	[SRNIC_OP_FETCH_ADD] = " fetchadd ",
	[SRNIC_OP_READ_RESP] = " readresp ",
	[SRNIC_OP_ACK] = " ack ",
	[SRNIC_OP_ATOMIC_ACK] = " atomicack ",
};

static const char * const positions[] = {
	" middle ", " first ", " last ", " only ",
};

static const struct {
	u8 bit;
	char letter;
} headers[] = {
	{ SRNIC_HAS_DETH, 'D' }, { SRNIC_HAS_RETH, 'R' },
	{ SRNIC_HAS_ATOMICETH, 'X' }, { SRNIC_HAS_AETH, 'A' },
	{ SRNIC_HAS_ATOMICACK, 'O' }, { SRNIC_HAS_IMM, 'I' },
	{ SRNIC_HAS_IETH, 'V' }, { SRNIC_HAS_PAYLOAD, 'P' },
};

static void check_row(struct kunit *test, const struct srnic_opcode *row,
		      const struct oracle_op *op)
{
	bool response = strstr(op->text, "resp") || strstr(op->text, "ack ");
	size_t i;

	KUNIT_ASSERT_GT(test, row->kind, SRNIC_OP_NONE);
	KUNIT_ASSERT_LT(test, row->kind, ARRAY_SIZE(kinds));
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(op->text, kinds[row->kind]),
				  "%02x: kind %u", op->num, row->kind);
	KUNIT_ASSERT_LT(test, row->pos, ARRAY_SIZE(positions));
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(op->text, positions[row->pos]),
				  "%02x: position %u", op->num, row->pos);
	for (i = 0; i < ARRAY_SIZE(headers); i++)
		KUNIT_EXPECT_EQ_MSG(test, !!(row->has & headers[i].bit),
				    oracle_has(op, headers[i].letter),
				    "%02x: %c", op->num, headers[i].letter);
	KUNIT_EXPECT_EQ_MSG(test, row->hdr_len, op->hdr_len, "%02x", op->num);
	KUNIT_EXPECT_EQ(test, row->qpt,
			!strncmp(op->text, "RC", 2) ? SRNIC_QPT_RC :
			!strncmp(op->text, "UC", 2) ? SRNIC_QPT_UC :
						      SRNIC_QPT_UD);
	KUNIT_EXPECT_EQ(test, row->response, response);
}

static void opcode_table(struct kunit *test)
{
	static const struct srnic_opcode hole;
	int num;

	for (num = 0; num < 256; num++) {
		const struct oracle_op *op = oracle_op(num);

		if (op)
			check_row(test, &srnic_opcodes[num], op);
		else
			KUNIT_EXPECT_MEMEQ(test, &srnic_opcodes[num], &hole,
					   sizeof(hole));
	}
}

/* The number of the only row like that, or -1. */
static int scan(u8 qpt, u8 kind, u8 pos, u8 with)
{
	int num;

	for (num = 0; num < 256; num++) {
		const struct srnic_opcode *row = &srnic_opcodes[num];

		if (row->qpt == qpt && row->kind == kind && row->pos == pos &&
		    (row->has & (SRNIC_HAS_IMM | SRNIC_HAS_IETH)) == with)
			return num;
	}
	return -1;
}

static void check_find(struct kunit *test, u8 qpt, u8 kind, u8 pos, u8 with)
{
	u8 found = srnic_opcode_find(qpt, kind, pos, with);
	int num = scan(qpt, kind, pos, with);

	if (num < 0)
		KUNIT_EXPECT_EQ_MSG(test, srnic_opcodes[found].kind,
				    SRNIC_OP_NONE, "qpt %u kind %u pos %u with %u",
				    qpt, kind, pos, with);
	else
		KUNIT_EXPECT_EQ_MSG(test, found, num,
				    "qpt %u kind %u pos %u with %u", qpt, kind,
				    pos, with);
}

static void opcode_find(struct kunit *test)
{
	u8 qpt, kind, pos;

	for (qpt = SRNIC_QPT_RC; qpt <= SRNIC_QPT_UD; qpt <<= 1) {
		for (kind = SRNIC_OP_NONE + 1; kind < ARRAY_SIZE(kinds); kind++) {
			for (pos = 0; pos < 4; pos++)
				check_find(test, qpt, kind, pos, 0);
		}
		for (pos = 0; pos < 4; pos++) {
			check_find(test, qpt, SRNIC_OP_SEND, pos, SRNIC_HAS_IMM);
			check_find(test, qpt, SRNIC_OP_SEND, pos, SRNIC_HAS_IETH);
			check_find(test, qpt, SRNIC_OP_WRITE, pos, SRNIC_HAS_IMM);
			check_find(test, qpt, SRNIC_OP_WRITE, pos, SRNIC_HAS_IETH);
		}
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(opcode_table),
	KUNIT_CASE(opcode_find),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_opcode",
	.test_cases = cases,
};

kunit_test_suite(suite);

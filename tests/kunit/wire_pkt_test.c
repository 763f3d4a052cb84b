// SPDX-License-Identifier: GPL-2.0
/*
 * Packets: headers against hand-computed bytes in both directions, and parsing
 * of broken ones against the oracle.
 */
#include <kunit/test.h>
#include <rdma/ib_pack.h>

#include "../../drivers/srnic/hdr.h"
#include "../../drivers/srnic/icrc.h"
#include "../../drivers/srnic/pkt.h"
#include "rng.h"
#include "wire_oracle.h"

/*
 * One packet per kind of header. Each value has bytes that differ from one
 * another, so that a field in the wrong place or order shows.
 */
static const struct known {
	const char *name;
	struct srnic_pkt_out out;
	size_t len;
	u8 bytes[SRNIC_PKT_MAX_HDR];
} known[] = {
	{
		.name = "RC SEND ONLY, solicited, acknowledge, 1 byte",
		.out = { .opcode = IB_OPCODE_RC_SEND_ONLY, .ackreq = true,
			 .solicited = true, .pkey = 0x8123, .qpn = 0x456789,
			 .psn = 0xabcdef, .len = 1 },
		.len = 12,
		.bytes = { 0x04, 0xf0, 0x81, 0x23, 0x00, 0x45, 0x67, 0x89,
			   0x80, 0xab, 0xcd, 0xef },
	},
	{
		.name = "RC SEND LAST with immediate, 2 bytes",
		.out = { .opcode = IB_OPCODE_RC_SEND_LAST_WITH_IMMEDIATE,
			 .pkey = 0xffff, .qpn = 0xffffff, .psn = 0,
			 .imm = cpu_to_be32(0x11223344), .len = 2 },
		.len = 16,
		.bytes = { 0x03, 0x60, 0xff, 0xff, 0x00, 0xff, 0xff, 0xff,
			   0x00, 0x00, 0x00, 0x00, 0x11, 0x22, 0x33, 0x44 },
	},
	{
		.name = "RC SEND ONLY with invalidate, 3 bytes",
		.out = { .opcode = IB_OPCODE_RC_SEND_ONLY_WITH_INVALIDATE,
			 .pkey = 0xffff, .qpn = 1, .psn = 2,
			 .inv_rkey = 0xfedcba98, .len = 3 },
		.len = 16,
		.bytes = { 0x17, 0x50, 0xff, 0xff, 0x00, 0x00, 0x00, 0x01,
			   0x00, 0x00, 0x00, 0x02, 0xfe, 0xdc, 0xba, 0x98 },
	},
	{
		.name = "RC WRITE ONLY with immediate, 4 bytes",
		.out = { .opcode = IB_OPCODE_RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE,
			 .pkey = 0xffff, .qpn = 1, .psn = 2,
			 .va = 0x0123456789abcdef, .rkey = 0x99887766,
			 .dmalen = 4, .imm = cpu_to_be32(0x55667788),
			 .len = 4 },
		.len = 32,
		.bytes = { 0x0b, 0x40, 0xff, 0xff, 0x00, 0x00, 0x00, 0x01,
			   0x00, 0x00, 0x00, 0x02,
			   0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
			   0x99, 0x88, 0x77, 0x66, 0x00, 0x00, 0x00, 0x04,
			   0x55, 0x66, 0x77, 0x88 },
	},
	{
		.name = "RC READ of 4 GiB - 1",
		.out = { .opcode = IB_OPCODE_RC_RDMA_READ_REQUEST,
			 .ackreq = true, .pkey = 0xffff, .qpn = 0x123456,
			 .psn = 0xffffff, .va = 0xfffffffffffff000,
			 .rkey = 0x01020304, .dmalen = 0xffffffff },
		.len = 28,
		.bytes = { 0x0c, 0x40, 0xff, 0xff, 0x00, 0x12, 0x34, 0x56,
			   0x80, 0xff, 0xff, 0xff,
			   0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xf0, 0x00,
			   0x01, 0x02, 0x03, 0x04, 0xff, 0xff, 0xff, 0xff },
	},
	{
		.name = "RC READ RESPONSE FIRST",
		.out = { .opcode = IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST,
			 .pkey = 0xffff, .qpn = 1, .psn = 2, .syndrome = 0x1f,
			 .msn = 0x102030, .len = 1024 },
		.len = 16,
		.bytes = { 0x0d, 0x40, 0xff, 0xff, 0x00, 0x00, 0x00, 0x01,
			   0x00, 0x00, 0x00, 0x02, 0x1f, 0x10, 0x20, 0x30 },
	},
	{
		.name = "RC NAK, remote access error",
		.out = { .opcode = IB_OPCODE_RC_ACKNOWLEDGE, .pkey = 0xffff,
			 .qpn = 1, .psn = 2, .syndrome = 0x62,
			 .msn = 0xffffff },
		.len = 16,
		.bytes = { 0x11, 0x40, 0xff, 0xff, 0x00, 0x00, 0x00, 0x01,
			   0x00, 0x00, 0x00, 0x02, 0x62, 0xff, 0xff, 0xff },
	},
	{
		.name = "RC ATOMIC ACKNOWLEDGE",
		.out = { .opcode = IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE,
			 .pkey = 0xffff, .qpn = 1, .psn = 2, .syndrome = 0x1f,
			 .msn = 5, .orig = 0xa1a2a3a4a5a6a7a8 },
		.len = 24,
		.bytes = { 0x12, 0x40, 0xff, 0xff, 0x00, 0x00, 0x00, 0x01,
			   0x00, 0x00, 0x00, 0x02, 0x1f, 0x00, 0x00, 0x05,
			   0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8 },
	},
	{
		.name = "RC COMPARE SWAP",
		.out = { .opcode = IB_OPCODE_RC_COMPARE_SWAP, .pkey = 0xffff,
			 .qpn = 1, .psn = 2, .va = 0x1112131415161718,
			 .rkey = 0x21222324, .swap_add = 0x3132333435363738,
			 .compare = 0x4142434445464748 },
		.len = 40,
		.bytes = { 0x13, 0x40, 0xff, 0xff, 0x00, 0x00, 0x00, 0x01,
			   0x00, 0x00, 0x00, 0x02,
			   0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
			   0x21, 0x22, 0x23, 0x24,
			   0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,
			   0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48 },
	},
	{
		.name = "UD SEND ONLY with immediate, no payload",
		.out = { .opcode = IB_OPCODE_UD_SEND_ONLY_WITH_IMMEDIATE,
			 .pkey = 0x7fff, .qpn = 1, .psn = 2,
			 .qkey = 0x80010000, .src_qpn = 0x0a0b0c,
			 .imm = cpu_to_be32(0x01020304) },
		.len = 24,
		.bytes = { 0x65, 0x40, 0x7f, 0xff, 0x00, 0x00, 0x00, 0x01,
			   0x00, 0x00, 0x00, 0x02,
			   0x80, 0x01, 0x00, 0x00, 0x00, 0x0a, 0x0b, 0x0c,
			   0x01, 0x02, 0x03, 0x04 },
	},
};

static void pkt_build_known(struct kunit *test)
{
	u8 hdr[SRNIC_PKT_MAX_HDR];
	size_t i, len;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		const struct known *k = &known[i];

		memset(hdr, 0xcc, sizeof(hdr));
		len = srnic_pkt_build(hdr, &k->out);
		KUNIT_ASSERT_EQ_MSG(test, len, k->len, "%s", k->name);
		KUNIT_EXPECT_MEMEQ_MSG(test, hdr, k->bytes, len, "%s", k->name);
		for (; len < sizeof(hdr); len++)
			KUNIT_ASSERT_EQ_MSG(test, hdr[len], 0xcc, "%s", k->name);
	}
}

/* Values that don't fit into their fields don't spill into the next ones. */
static void pkt_build_masks(struct kunit *test)
{
	struct srnic_pkt_out out = {
		.opcode = IB_OPCODE_RC_ACKNOWLEDGE, .qpn = 0xaa123456,
		.psn = 0xff654321, .msn = 0xbb000001, .syndrome = 1,
	};
	static const u8 want[] = {
		0x11, 0x40, 0x00, 0x00, 0x00, 0x12, 0x34, 0x56,
		0x00, 0x65, 0x43, 0x21, 0x01, 0x00, 0x00, 0x01,
	};
	u8 hdr[SRNIC_PKT_MAX_HDR];

	KUNIT_ASSERT_EQ(test, srnic_pkt_build(hdr, &out), sizeof(want));
	KUNIT_EXPECT_MEMEQ(test, hdr, want, sizeof(want));
}

static void expect_fields(struct kunit *test, const struct srnic_pkt *pkt,
			  const struct srnic_pkt_out *out)
{
	KUNIT_EXPECT_EQ(test, pkt->opcode, out->opcode);
	KUNIT_EXPECT_EQ(test, pkt->ackreq, out->ackreq);
	KUNIT_EXPECT_EQ(test, pkt->solicited, out->solicited);
	KUNIT_EXPECT_EQ(test, pkt->pkey, out->pkey);
	KUNIT_EXPECT_EQ(test, pkt->qpn, out->qpn);
	KUNIT_EXPECT_EQ(test, pkt->psn, out->psn);
	KUNIT_EXPECT_EQ(test, pkt->va, out->va);
	KUNIT_EXPECT_EQ(test, pkt->rkey, out->rkey);
	KUNIT_EXPECT_EQ(test, pkt->dmalen, out->dmalen);
	KUNIT_EXPECT_EQ(test, pkt->swap_add, out->swap_add);
	KUNIT_EXPECT_EQ(test, pkt->compare, out->compare);
	KUNIT_EXPECT_EQ(test, pkt->orig, out->orig);
	KUNIT_EXPECT_EQ(test, pkt->qkey, out->qkey);
	KUNIT_EXPECT_EQ(test, pkt->src_qpn, out->src_qpn);
	KUNIT_EXPECT_EQ(test, pkt->syndrome, out->syndrome);
	KUNIT_EXPECT_EQ(test, pkt->msn, out->msn);
	KUNIT_EXPECT_EQ(test, pkt->inv_rkey, out->inv_rkey);
	KUNIT_EXPECT_EQ(test, pkt->len, out->len);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(pkt->imm), be32_to_cpu(out->imm));
	KUNIT_EXPECT_PTR_EQ(test, pkt->op, &srnic_opcodes[out->opcode]);
	KUNIT_EXPECT_EQ(test, pkt->nseg, 0);
	KUNIT_EXPECT_FALSE(test, pkt->becn);
}

static struct srnic_pkt *new_pkt(struct kunit *test)
{
	struct srnic_pkt *pkt = kunit_kmalloc(test, sizeof(*pkt), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, pkt);
	memset(pkt, 0xee, sizeof(*pkt));
	return pkt;
}

/* At odd addresses too: nobody aligns what stands behind an Ethernet header. */
static void pkt_parse_known(struct kunit *test)
{
	struct srnic_pkt *pkt = new_pkt(test);
	u8 buf[SRNIC_PKT_MAX_HDR + 8];
	size_t i, at;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		const struct known *k = &known[i];
		size_t total = k->len + k->out.len + srnic_pkt_pad(k->out.len) +
			       SRNIC_ICRC_SIZE;

		for (at = 0; at < 4; at++) {
			memset(pkt, 0xee, sizeof(*pkt));
			memcpy(buf + at, k->bytes, k->len);
			KUNIT_ASSERT_EQ_MSG(test,
					    srnic_pkt_parse(pkt, buf + at,
							    k->len, total),
					    0, "%s", k->name);
			expect_fields(test, pkt, &k->out);
		}
	}
}

/* Bits that say nothing to us, and BECN. */
static void pkt_parse_reserved(struct kunit *test)
{
	static const u8 bytes[] = {
		0x64, 0x00, 0xff, 0xff, 0xff, 0x00, 0x00, 0x07,
		0xff, 0x00, 0x00, 0x09, 0x00, 0x00, 0x00, 0x01,
		0xff, 0x00, 0x00, 0x03,
	};
	struct srnic_pkt *pkt = new_pkt(test);

	KUNIT_ASSERT_EQ(test, srnic_pkt_parse(pkt, bytes, sizeof(bytes),
					      sizeof(bytes) + 4), 0);
	KUNIT_EXPECT_EQ(test, pkt->qpn, 7);
	KUNIT_EXPECT_EQ(test, pkt->psn, 9);
	KUNIT_EXPECT_EQ(test, pkt->src_qpn, 3);
	KUNIT_EXPECT_TRUE(test, pkt->ackreq);
	KUNIT_EXPECT_TRUE(test, pkt->becn);
	KUNIT_EXPECT_EQ(test, pkt->len, 0);
}

/**
 * struct broken - where broken packets are parsed
 * @pkt: the result
 * @mem: SRNIC_PKT_MAX_HDR bytes; a packet stands at their end, so that KASAN sees
 *	a read beyond it
 */
struct broken {
	struct srnic_pkt *pkt;
	u8 *mem;
};

static struct broken new_broken(struct kunit *test)
{
	struct broken b = {
		.pkt = new_pkt(test),
		.mem = kunit_kmalloc(test, SRNIC_PKT_MAX_HDR, GFP_KERNEL),
	};

	KUNIT_ASSERT_NOT_NULL(test, b.mem);
	return b;
}

/* Parse @avail bytes, and compare with the oracle. */
static void parse_copy(struct kunit *test, struct broken *b, const u8 *bytes,
		       size_t avail, size_t total)
{
	u8 *copy = b->mem + SRNIC_PKT_MAX_HDR - avail;
	u32 len = 0;
	int want, got;

	memcpy(copy, bytes, avail);
	want = oracle_parse(copy, avail, total, &len);
	got = srnic_pkt_parse(b->pkt, copy, avail, total);
	if (got == want && (want || b->pkt->len == len))
		return;
	KUNIT_FAIL_AND_ABORT(test,
			     "opcode %02x flags %02x avail %zu total %zu: %d instead of %d, or length",
			     bytes[0], bytes[1], avail, total, got, want);
}

static void pkt_parse_truncated(struct kunit *test)
{
	struct broken b = new_broken(test);
	u8 bytes[SRNIC_PKT_MAX_HDR] = {};
	int num, pad;
	size_t n;

	for (num = 0; num < 256; num++) {
		bytes[0] = num;
		for (n = 1; n <= sizeof(bytes); n++)
			parse_copy(test, &b, bytes, n, n);
		for (pad = 0; pad < 4; pad++) {
			bytes[1] = 0x40 | pad << 4;
			for (n = 12; n < 56; n++)
				parse_copy(test, &b, bytes, sizeof(bytes), n);
		}
	}
}

static void pkt_parse_fuzz(struct kunit *test)
{
	struct broken b = new_broken(test);
	u8 bytes[SRNIC_PKT_MAX_HDR];
	struct rnd_state rng;
	int i;

	prandom_seed_state(&rng, 4);
	for (i = 0; i < 60000; i++) {
		size_t avail = 1 + rng_below(&rng, sizeof(bytes));
		size_t total = rng_below(&rng, 8) ? avail + rng_below(&rng, 80) :
						    rng_below(&rng, 70);

		prandom_bytes_state(&rng, bytes, sizeof(bytes));
		if (rng_below(&rng, 4))	/* past the version */
			bytes[1] &= 0xf0;
		if (rng_below(&rng, 4))	/* past the table's holes */
			bytes[0] %= 0x26;
		parse_copy(test, &b, bytes, avail, total);
	}
}

/* A length that no packet has must not come out as another one. */
static void pkt_parse_huge(struct kunit *test)
{
	struct srnic_pkt *pkt = new_pkt(test);
	u8 bytes[SRNIC_PKT_MAX_HDR] = { 0x04 };

	KUNIT_EXPECT_EQ(test, srnic_pkt_parse(pkt, bytes, sizeof(bytes),
					      0x100000010ull), -EINVAL);
	KUNIT_EXPECT_EQ(test, srnic_pkt_parse(pkt, bytes, sizeof(bytes),
					      SIZE_MAX & ~3ul), -EINVAL);
}

static void pkt_pad(struct kunit *test)
{
	static const u32 want[] = { 0, 3, 2, 1, 0, 3, 2, 1, 0 };
	u32 len;

	for (len = 0; len < ARRAY_SIZE(want); len++)
		KUNIT_EXPECT_EQ(test, srnic_pkt_pad(len), want[len]);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(pkt_pad),
	KUNIT_CASE(pkt_build_known),
	KUNIT_CASE(pkt_build_masks),
	KUNIT_CASE(pkt_parse_known),
	KUNIT_CASE(pkt_parse_reserved),
	KUNIT_CASE(pkt_parse_truncated),
	KUNIT_CASE(pkt_parse_fuzz),
	KUNIT_CASE(pkt_parse_huge),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_pkt",
	.test_cases = cases,
};

kunit_test_suite(suite);

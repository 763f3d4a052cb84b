// SPDX-License-Identifier: GPL-2.0
/*
 * ICRC: against a published check value, against packets that hardware sent,
 * against a bitwise CRC, and bit by bit for what counts and what doesn't.
 */
#include <kunit/test.h>

#include "../../drivers/srnic/icrc.h"
#include "rng.h"
#include "wire_oracle.h"

#define UDP_BTH	20

/*
 * From the IP header to the ICRC. UC SEND ONLY over IPv4, from an adapter of
 * the ConnectX family; published in scapy's tests.
 */
static const u8 uc_send_v4[] = {
	0x45, 0x01, 0x00, 0x40, 0x04, 0x78, 0x40, 0x00, 0x40, 0x11,
	0xb4, 0xd5, 0xc0, 0xa8, 0x00, 0x07, 0xc0, 0xa8, 0x00, 0x07,
	0xc0, 0x00, 0x12, 0xb7, 0x00, 0x2c, 0xac, 0xa2, 0x24, 0x60,
	0xff, 0xff, 0x00, 0x00, 0x00, 0xd3, 0x00, 0xcf, 0x17, 0x10,
	0x46, 0x30, 0x81, 0x8b, 0xe2, 0x89, 0x35, 0xd9, 0x0e, 0x9a,
	0x95, 0x50, 0x54, 0x01, 0xbe, 0x88, 0x5e, 0x50, 0x00, 0x00,
	0x78, 0xf3, 0x53, 0xf3,
};

/* A CNP captured from a ConnectX-4 Lx; published in the same place. */
static const u8 cnp_v4[] = {
	0x45, 0xc2, 0x00, 0x3c, 0x71, 0x8c, 0x40, 0x00, 0x40, 0x11,
	0x91, 0x61, 0x0a, 0x00, 0x11, 0x01, 0x0a, 0x00, 0x12, 0x01,
	0x00, 0x00, 0x12, 0xb7, 0x00, 0x28, 0x00, 0x00, 0x81, 0x00,
	0xff, 0xff, 0x40, 0x00, 0x01, 0x18, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x82, 0xfd, 0x00, 0x2a,
};

/*
 * RC WRITE ONLY of "hello" over IPv6, with everything masked set to something:
 * its ICRC computed with zlib's crc32().
 */
static const u8 rc_write_v6[] = {
	0x60, 0xa1, 0x23, 0x45, 0x00, 0x30, 0x11, 0x3f, 0xfd, 0x77,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x01, 0xfd, 0x77, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02,
	0xd0, 0x0d, 0x12, 0xb7, 0x00, 0x30, 0x5a, 0x5a, 0x0a, 0x70,
	0xff, 0xff, 0x00, 0x12, 0x34, 0x56, 0x80, 0xff, 0xff, 0xfe,
	0x00, 0x00, 0x7f, 0xff, 0x00, 0x00, 0x12, 0x34, 0xde, 0xad,
	0xbe, 0xef, 0x00, 0x00, 0x00, 0x05, 0x68, 0x65, 0x6c, 0x6c,
	0x6f, 0x00, 0x00, 0x00, 0x97, 0xc5, 0x1d, 0x11,
};

static void crc_check_value(struct kunit *test)
{
	/* the catalogue's check value of CRC-32/ISO-HDLC */
	KUNIT_EXPECT_EQ(test, ~srnic_crc32(~0u, "123456789", 9), 0xcbf43926u);
	KUNIT_EXPECT_EQ(test, ~oracle_crc32(~0u, "123456789", 9), 0xcbf43926u);
	KUNIT_EXPECT_EQ(test, srnic_crc32(0x12345678, NULL, 0), 0x12345678u);
}

static void packet_icrc(struct kunit *test, const u8 *p, size_t size, bool v6)
{
	size_t l3 = v6 ? 40 : 20;
	size_t rest = l3 + UDP_BTH;
	__le32 icrc;
	u32 crc;

	crc = srnic_icrc_start(p, v6, p + l3);
	crc = srnic_crc32(crc, p + rest, size - rest - SRNIC_ICRC_SIZE);
	icrc = srnic_icrc_end(crc);
	KUNIT_EXPECT_MEMEQ(test, (u8 *)&icrc, p + size - SRNIC_ICRC_SIZE,
			   SRNIC_ICRC_SIZE);
}

static void icrc_known_packets(struct kunit *test)
{
	packet_icrc(test, uc_send_v4, sizeof(uc_send_v4), false);
	packet_icrc(test, cnp_v4, sizeof(cnp_v4), false);
	packet_icrc(test, rc_write_v6, sizeof(rc_write_v6), true);
}

/* All lengths around the limits of the accelerated code, all alignments. */
static void crc_lengths(struct kunit *test)
{
	size_t size = 700;
	u8 *buf = kunit_kmalloc(test, size, GFP_KERNEL);
	struct rnd_state rng;
	u32 bad = 0;
	size_t len, at;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	prandom_seed_state(&rng, 2);
	prandom_bytes_state(&rng, buf, size);
	for (len = 0; len < 300; len++) {
		for (at = 0; at < 17; at += len % 3 + 1) {
			u32 start = rng_u32(&rng);

			if (srnic_crc32(start, buf + at, len) !=
			    oracle_crc32(start, buf + at, len))
				bad++;
		}
	}
	KUNIT_EXPECT_EQ(test, bad, 0);
}

/* A packet's payload comes in pieces. */
static void crc_pieces(struct kunit *test)
{
	size_t size = 4096;
	u8 *buf = kunit_kmalloc(test, size, GFP_KERNEL);
	struct rnd_state rng;
	u32 whole;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	prandom_seed_state(&rng, 3);
	prandom_bytes_state(&rng, buf, size);
	whole = oracle_crc32(7, buf, size);
	for (i = 0; i < 200; i++) {
		size_t done = 0;
		u32 crc = 7;

		while (done < size) {
			size_t n = 1 + rng_below(&rng, i % 2 ? 100 : 2000);

			n = min(n, size - done);
			crc = srnic_crc32(crc, buf + done, n);
			done += n;
		}
		KUNIT_ASSERT_EQ(test, crc, whole);
	}
}

/* Bit @bit of byte @at may change on the way. */
static bool is_masked(bool v6, size_t at, int bit)
{
	size_t l3 = v6 ? 40 : 20;

	if (at == l3 + 6 || at == l3 + 7)	/* UDP checksum */
		return true;
	if (at == l3 + 8 + 4)			/* FECN, BECN, reserved */
		return true;
	if (v6)	/* traffic class, flow label, hop limit */
		return (at == 0 && bit < 4) || (at >= 1 && at <= 3) || at == 7;
	/* type of service, TTL, checksum */
	return at == 1 || at == 8 || at == 10 || at == 11;
}

static void each_header_bit(struct kunit *test, const u8 *packet, bool v6)
{
	size_t l3 = v6 ? 40 : 20;
	u32 before = srnic_icrc_start(packet, v6, packet + l3);
	u8 copy[40 + UDP_BTH];
	size_t at;
	int bit;

	for (at = 0; at < l3 + UDP_BTH; at++) {
		for (bit = 0; bit < 8; bit++) {
			memcpy(copy, packet, l3 + UDP_BTH);
			copy[at] ^= 1 << bit;
			KUNIT_EXPECT_EQ_MSG(test,
					    srnic_icrc_start(copy, v6, copy + l3) ==
					    before, is_masked(v6, at, bit),
					    "byte %zu bit %d", at, bit);
		}
	}
}

static void icrc_masks(struct kunit *test)
{
	each_header_bit(test, uc_send_v4, false);
	each_header_bit(test, rc_write_v6, true);
}

static int icrc_suite_init(struct kunit_suite *suite)
{
	return srnic_icrc_init();
}

static void icrc_suite_exit(struct kunit_suite *suite)
{
	srnic_icrc_exit();
}

static struct kunit_case cases[] = {
	KUNIT_CASE(crc_check_value),
	KUNIT_CASE(crc_lengths),
	KUNIT_CASE(crc_pieces),
	KUNIT_CASE(icrc_known_packets),
	KUNIT_CASE(icrc_masks),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_icrc",
	.suite_init = icrc_suite_init,
	.suite_exit = icrc_suite_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);

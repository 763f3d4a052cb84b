// SPDX-License-Identifier: GPL-2.0
/*
 * An NVMe controller's registers, decoded: tables of values with what the
 * specification makes of them, and a naive oracle that takes values apart by
 * division, page by page, over honest and lying registers.
 */
#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/sizes.h>

#include "../../drivers/p2pmem/donors/nvme_regs.c"
#include "rng.h"

#define ROUNDS		300000
#define PAGE_4K		4096ULL

static const struct p2pmem_nvme_bars usual = {
	/* registers, its upper half, CMB, upper half, PMR, upper half */
	.len = { SZ_16K, 0, SZ_16M, 0, SZ_64M, 0 },
};

static const struct p2pmem_nvme_bars shapes[] = {
	{ .len = { SZ_16K, 0, SZ_16M, 0, SZ_64M, 0 } },
	{ .len = { SZ_16K, 0, 0, 0, 0, 0 } },
	{ .len = { SZ_128M, 0, 0, 0, 0, 0 } },
	{ .len = { SZ_16K, 0, SZ_4K, SZ_1M, SZ_2G, SZ_8K } },
	{ .len = { SZ_16K, 0, 1ULL << 36, 0, 1ULL << 44, 0 } },
	/* no BAR is so large, but nothing may wrap if one is */
	{ .len = { U64_MAX, U64_MAX, U64_MAX, U64_MAX, U64_MAX, U64_MAX } },
	{ .len = { 1ULL << 63, 0, 1ULL << 63, 0, 1ULL << 63, 0 } },
	{ .len = { 1, 1, 1, 1, 1, 1 } },
};

/* worked out by hand */
struct cmb_row {
	u32 cmbloc, cmbsz;
	enum p2pmem_nvme_reason reason;
	int bar;
	u64 offset, claimed, size;
	bool rds, wds;
};

static const struct cmb_row cmb_rows[] = {
	/* QEMU 7.2, cmb_size_mb=16 */
	{ 0x00000062, 0x0001021d, P2PMEM_NVME_FINE, 2, 0, SZ_16M, SZ_16M, true, true },
	/* 4096 units of 4 KiB, from the second */
	{ 0x00001002, 0x01000018, P2PMEM_NVME_FINE, 2, SZ_4K, SZ_16M, SZ_16M - SZ_4K, true, true },
	/* 2 units of 64 KiB from the fourth */
	{ 0x00003002, 0x00002118, P2PMEM_NVME_FINE, 2, 3 * SZ_64K, SZ_128K, SZ_128K, true, true },
	/* only data to the host, only from it */
	{ 0x00000002, 0x00001208, P2PMEM_NVME_FINE, 2, 0, SZ_1M, SZ_1M, true, false },
	{ 0x00000002, 0x00001210, P2PMEM_NVME_FINE, 2, 0, SZ_1M, SZ_1M, false, true },
	/* 64 GiB in a BAR of 64 MiB */
	{ 0x00000004, 0x00001618, P2PMEM_NVME_FINE, 4, 0, 64ULL << 30, SZ_64M, true, true },
	/* the largest that can be said */
	{ 0x00000004, 0xfffff618, P2PMEM_NVME_FINE, 4, 0, 0xfffffULL << 36, SZ_64M, true, true },
	/* queues and lists only */
	{ 0x00000002, 0x00001207, P2PMEM_NVME_NO_DATA },
	/* switched off, or none */
	{ 0x00000000, 0x00000000, P2PMEM_NVME_NO_SIZE },
	{ 0x00000002, 0x0000021f, P2PMEM_NVME_NO_SIZE },
	{ 0x00000002, 0x00001718, P2PMEM_NVME_BAD_UNIT },
	{ 0x00000002, 0x00001f18, P2PMEM_NVME_BAD_UNIT },
	/* nobody answers */
	{ 0xffffffff, 0xffffffff, P2PMEM_NVME_BAD_UNIT },
	{ 0x00000001, 0x00001218, P2PMEM_NVME_BAD_BIR },
	{ 0x00000006, 0x00001218, P2PMEM_NVME_BAD_BIR },
	{ 0x00000007, 0x00001218, P2PMEM_NVME_BAD_BIR },
	{ 0x00000003, 0x00001218, P2PMEM_NVME_NO_BAR },
	/* 16 units of 1 MiB is the first byte behind BAR 2 */
	{ 0x00010002, 0x00001218, P2PMEM_NVME_OUTSIDE },
	{ 0x0000f002, 0x00002218, P2PMEM_NVME_FINE, 2, 15 * SZ_1M, SZ_2M, SZ_1M, true, true },
	/* 2^20 - 1 units of 64 GiB */
	{ 0xfffff002, 0xfffff618, P2PMEM_NVME_OUTSIDE },
	/* the registers' own BAR */
	{ 0x00000000, 0x00001018, P2PMEM_NVME_REGISTERS },
	{ 0x00001000, 0x00001018, P2PMEM_NVME_REGISTERS },
	{ 0x00002000, 0x00001018, P2PMEM_NVME_FINE, 0, SZ_8K, SZ_4K, SZ_4K, true, true },
	{ 0x00004000, 0x00001018, P2PMEM_NVME_OUTSIDE },
};

static void cmb_table(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(cmb_rows); i++) {
		const struct cmb_row *row = &cmb_rows[i];
		struct p2pmem_nvme_cmb cmb = { };

		KUNIT_ASSERT_EQ_MSG(test, p2pmem_nvme_cmb_decode(row->cmbloc, row->cmbsz, &usual,
								 &cmb),
				    row->reason, "row %d", i);
		KUNIT_EXPECT_EQ_MSG(test, cmb.bar, row->bar, "row %d", i);
		KUNIT_EXPECT_EQ_MSG(test, cmb.offset, row->offset, "row %d", i);
		KUNIT_EXPECT_EQ_MSG(test, cmb.claimed, row->claimed, "row %d", i);
		KUNIT_EXPECT_EQ_MSG(test, cmb.size, row->size, "row %d", i);
		KUNIT_EXPECT_EQ_MSG(test, cmb.rds, row->rds, "row %d", i);
		KUNIT_EXPECT_EQ_MSG(test, cmb.wds, row->wds, "row %d", i);
	}
}

/* counted in pages of 4 KiB and a rest, so that nothing has to be multiplied out */
static bool naive_cmb(u32 cmbloc, u32 cmbsz, const struct p2pmem_nvme_bars *bars,
		      struct p2pmem_nvme_cmb *cmb)
{
	u32 bir = cmbloc % 8, szu = cmbsz / 256 % 16, i;
	u64 pages = 1, first, room;

	if (bir == 1 || bir > 5 || szu > 6 || cmbsz / 4096 == 0)
		return false;
	for (i = 0; i < szu; i++)
		pages *= 16;
	first = cmbloc / 4096 * pages;
	/* is the first byte of the page 'first' one of the BAR's? */
	if (first > bars->len[bir] / PAGE_4K ||
	    (first == bars->len[bir] / PAGE_4K && bars->len[bir] % PAGE_4K == 0))
		return false;
	if (bir == 0 && first < 2)
		return false;
	if (cmbsz / 8 % 2 == 0 && cmbsz / 16 % 2 == 0)
		return false;

	cmb->bar = bir;
	cmb->offset = first * PAGE_4K;
	cmb->claimed = cmbsz / 4096 * pages * PAGE_4K;
	room = (bars->len[bir] / PAGE_4K - first) * PAGE_4K + bars->len[bir] % PAGE_4K;
	cmb->size = room < cmb->claimed ? room : cmb->claimed;
	cmb->rds = cmbsz / 8 % 2;
	cmb->wds = cmbsz / 16 % 2;
	return true;
}

static void expect_cmb(struct kunit *test, u32 cmbloc, u32 cmbsz,
		       const struct p2pmem_nvme_bars *bars, int *good)
{
	struct p2pmem_nvme_cmb cmb = { }, naive = { };
	enum p2pmem_nvme_reason reason;

	reason = p2pmem_nvme_cmb_decode(cmbloc, cmbsz, bars, &cmb);
	KUNIT_ASSERT_EQ_MSG(test, reason == P2PMEM_NVME_FINE,
			    naive_cmb(cmbloc, cmbsz, bars, &naive),
			    "CMBLOC %#x CMBSZ %#x: %s", cmbloc, cmbsz, p2pmem_nvme_why(reason));
	if (reason)
		return;

	++*good;
	KUNIT_ASSERT_TRUE_MSG(test, cmb.bar == naive.bar && cmb.offset == naive.offset &&
			      cmb.claimed == naive.claimed && cmb.size == naive.size &&
			      cmb.rds == naive.rds && cmb.wds == naive.wds,
			      "CMBLOC %#x CMBSZ %#x", cmbloc, cmbsz);
	/* what nobody may be wrong about, whatever the registers say */
	KUNIT_ASSERT_GT(test, cmb.size, 0);
	KUNIT_ASSERT_LT(test, cmb.offset, bars->len[cmb.bar]);
	KUNIT_ASSERT_LE(test, cmb.size, bars->len[cmb.bar] - cmb.offset);
}

static void cmb_boundaries(struct kunit *test)
{
	static const u32 numbers[] = { 0, 1, 2, 3, 15, 16, 17, 0x7ffff, 0x80000, 0xfffff };
	const u32 n = ARRAY_SIZE(numbers);
	int good = 0;
	u32 i;

	/* i counts through all of: BIR, SZU, RDS and WDS, OFST, SZ, shapes */
	for (i = 0; i < 8 * 16 * 4 * n * n * ARRAY_SIZE(shapes); i++) {
		u32 bir = i % 8, szu = i / 8 % 16, flags = i / 128 % 4;
		u32 ofst = numbers[i / 512 % n], sz = numbers[i / 512 / n % n];

		expect_cmb(test, ofst << 12 | bir, sz << 12 | szu << 8 | flags << 3,
			   &shapes[i / 512 / n / n], &good);
	}
	KUNIT_EXPECT_GT(test, good, 10000);
}

/* any bits, reserved ones too; every other time with small numbers */
static void cmb_random(struct kunit *test)
{
	struct rnd_state rng;
	int i, good = 0;

	prandom_seed_state(&rng, 4711);
	for (i = 0; i < ROUNDS; i++) {
		u32 cmbloc = rng_u32(&rng), cmbsz = rng_u32(&rng);

		if (i % 2) {
			cmbloc &= 0x7fff;
			cmbsz &= 0x7f7ff;
		}
		expect_cmb(test, cmbloc, cmbsz, &shapes[i / 2 % ARRAY_SIZE(shapes)], &good);
	}
	KUNIT_EXPECT_GT(test, good, ROUNDS / 20);
	KUNIT_EXPECT_LT(test, good, ROUNDS);
}

struct pmr_row {
	u32 pmrcap;
	enum p2pmem_nvme_reason reason;
	int bar;
	u64 size;
	u32 timeout_ms;
	bool read_pmr, read_sts;
};

static const struct pmr_row pmr_rows[] = {
	/* QEMU 7.2 */
	{ 0x01000898, P2PMEM_NVME_FINE, 4, SZ_64M, 0, false, true },
	/* both barriers, 255 times 500 ms, 255 minutes */
	{ 0x00ff0c80, P2PMEM_NVME_FINE, 4, SZ_64M, 127500, true, true },
	{ 0x00ff0d40, P2PMEM_NVME_FINE, 2, SZ_16M, 15300000, true, true },
	{ 0x00010440, P2PMEM_NVME_FINE, 2, SZ_16M, 500, true, false },
	{ 0x00010640, P2PMEM_NVME_BAD_TIME },
	{ 0x00010740, P2PMEM_NVME_BAD_TIME },
	/* no barrier, or reserved ones only */
	{ 0x00010040, P2PMEM_NVME_NO_BARRIER },
	{ 0x00013040, P2PMEM_NVME_NO_BARRIER },
	/* BARs 0, 1, 6, 7 aren't possible, 3 and 5 aren't there */
	{ 0x00010400, P2PMEM_NVME_BAD_BIR },
	{ 0x00010420, P2PMEM_NVME_BAD_BIR },
	{ 0x000104c0, P2PMEM_NVME_BAD_BIR },
	{ 0x000104e0, P2PMEM_NVME_BAD_BIR },
	{ 0x00010460, P2PMEM_NVME_NO_BAR },
	{ 0x000104a0, P2PMEM_NVME_NO_BAR },
	{ 0x00000000, P2PMEM_NVME_BAD_BIR },
	{ 0xffffffff, P2PMEM_NVME_BAD_BIR },
};

static void pmr_table(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(pmr_rows); i++) {
		const struct pmr_row *row = &pmr_rows[i];
		struct p2pmem_nvme_pmr pmr = { };

		KUNIT_ASSERT_EQ_MSG(test, p2pmem_nvme_pmr_decode(row->pmrcap, &usual, &pmr),
				    row->reason, "row %d", i);
		KUNIT_EXPECT_EQ_MSG(test, pmr.bar, row->bar, "row %d", i);
		KUNIT_EXPECT_EQ_MSG(test, pmr.size, row->size, "row %d", i);
		KUNIT_EXPECT_EQ_MSG(test, pmr.timeout_ms, row->timeout_ms, "row %d", i);
		KUNIT_EXPECT_EQ_MSG(test, pmr.read_pmr, row->read_pmr, "row %d", i);
		KUNIT_EXPECT_EQ_MSG(test, pmr.read_sts, row->read_sts, "row %d", i);
	}
}

/* every value of the fields that count, with anything in the others */
static void pmr_all(struct kunit *test)
{
	struct p2pmem_nvme_pmr pmr;
	struct rnd_state rng;
	u32 fields, good = 0;

	prandom_seed_state(&rng, 815);
	for (fields = 0; fields < 1 << 17; fields++) {
		u32 bir = fields % 8, unit = fields / 8 % 4, wbm = fields / 32 % 16;
		u32 to = fields / 512, noise = rng_u32(&rng) & 0xff00c01f;
		const struct p2pmem_nvme_bars *bars = &shapes[fields % ARRAY_SIZE(shapes)];
		bool want = bir >= 2 && bir <= 5 && bars->len[bir] && unit < 2 && wbm % 4;
		enum p2pmem_nvme_reason reason;

		reason = p2pmem_nvme_pmr_decode(noise + bir * 0x20 + unit * 0x100 + wbm * 0x400 +
						to * 0x10000, bars, &pmr);
		KUNIT_ASSERT_EQ_MSG(test, reason == P2PMEM_NVME_FINE, want, "fields %#x: %s",
				    fields, p2pmem_nvme_why(reason));
		if (!want)
			continue;
		good++;
		KUNIT_ASSERT_EQ(test, pmr.bar, bir);
		KUNIT_ASSERT_EQ(test, pmr.size, bars->len[bir]);
		KUNIT_ASSERT_EQ(test, pmr.timeout_ms, unit ? to * 60 * 1000 : to * 1000 / 2);
		KUNIT_ASSERT_EQ(test, pmr.read_pmr, wbm % 2 == 1);
		KUNIT_ASSERT_EQ(test, pmr.read_sts, wbm / 2 % 2 == 1);
	}
	KUNIT_EXPECT_GT(test, good, 1000);
}

/*
 * All that PMRSTS can say, by rank: the oracle asks for each in turn, from the
 * worst down, where the driver's code switches over a field.
 */
static enum p2pmem_nvme_health naive_health(u32 sts)
{
	u32 err = sts % 256, nrdy = sts / 256 % 2, hsts = sts / 512 % 8;
	const struct {
		bool is;
		enum p2pmem_nvme_health health;
	} ranks[] = {
		{ ~sts == 0, P2PMEM_NVME_GONE },
		{ nrdy, P2PMEM_NVME_NOT_READY },
		{ hsts > 3, P2PMEM_NVME_UNKNOWN },
		{ hsts == 3, P2PMEM_NVME_UNRELIABLE },
		{ hsts == 2, P2PMEM_NVME_READ_ONLY },
		{ err, P2PMEM_NVME_WRITE_ERROR },
		{ hsts == 1, P2PMEM_NVME_RESTORE_ERROR },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(ranks); i++)
		if (ranks[i].is)
			return ranks[i].health;
	return P2PMEM_NVME_OK;
}

static void health_all(struct kunit *test)
{
	static const u32 others[] = { 0, 0x1000, 0xffffe000, 0xfffff000, 0x80000000 };
	u32 low, i;

	for (low = 0; low < 1 << 12; low++) {
		for (i = 0; i < ARRAY_SIZE(others); i++) {
			u32 sts = low | others[i];
			enum p2pmem_nvme_health health = p2pmem_nvme_health_decode(sts);

			KUNIT_ASSERT_EQ_MSG(test, health, naive_health(sts), "PMRSTS %#x", sts);
			KUNIT_ASSERT_EQ_MSG(test, p2pmem_nvme_durable(health),
					    low == 0 || low == 0x200, "PMRSTS %#x", sts);
		}
	}
	KUNIT_EXPECT_EQ(test, p2pmem_nvme_health_decode(U32_MAX), P2PMEM_NVME_GONE);
	KUNIT_EXPECT_FALSE(test, p2pmem_nvme_durable(P2PMEM_NVME_GONE));
}

static void quantities(struct kunit *test)
{
	static const u32 values[] = { 0, 1, 0x7fffff, 0xffffff };
	u64 factor = 1, got;
	u32 unit, i;

	for (unit = 0; unit < 16; unit++, factor *= 1024) {
		for (i = 0; i < ARRAY_SIZE(values); i++) {
			got = 4711;
			KUNIT_ASSERT_EQ(test, p2pmem_nvme_quantity(values[i], unit, &got),
					unit < 4);
			KUNIT_EXPECT_EQ(test, got, unit < 4 ? values[i] * factor : 4711);
		}
	}
}

/* each reason and each state has words of its own */
static void words(struct kunit *test)
{
	int i, k;

	for (i = P2PMEM_NVME_FINE; i <= P2PMEM_NVME_SAME_BAR; i++)
		for (k = P2PMEM_NVME_FINE; k < i; k++)
			KUNIT_EXPECT_STRNEQ(test, p2pmem_nvme_why(i), p2pmem_nvme_why(k));
	for (i = P2PMEM_NVME_OK; i <= P2PMEM_NVME_GONE; i++)
		for (k = P2PMEM_NVME_OK; k < i; k++)
			KUNIT_EXPECT_STRNEQ(test, p2pmem_nvme_health_name(i),
					    p2pmem_nvme_health_name(k));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(cmb_table),
	KUNIT_CASE(cmb_boundaries),
	KUNIT_CASE(cmb_random),
	KUNIT_CASE(pmr_table),
	KUNIT_CASE(pmr_all),
	KUNIT_CASE(health_all),
	KUNIT_CASE(quantities),
	KUNIT_CASE(words),
	{ }
};

static struct kunit_suite suite = {
	.name = "p2pmem_nvme",
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("tests of NVMe register decoding");
MODULE_LICENSE("GPL");

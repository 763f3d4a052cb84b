// SPDX-License-Identifier: GPL-2.0
/*
 * srnic_mpt_check() against the oracle of mem_check_pairs.h.
 */
#include <kunit/test.h>

#include "mem_check_pairs.h"

/* One wrong thing, or a limit that is just right. */
static void check_table(struct kunit *test)
{
	static const struct {
		const char *what;
		struct srnic_mpt_req rq;
		enum srnic_key_reason want;
	} rows[] = {
		{ "all", { 0x12345678, 7, 9, IB_ACCESS_REMOTE_WRITE, 0x1000, 0x100 },
		  SRNIC_KEY_OK },
		{ "local read", { 0x12345678, 7, 9, 0, 0x1000, 0x100 },
		  SRNIC_KEY_OK },
		{ "low byte", { 0x12345679, 7, 9, 0, 0x1000, 1 }, SRNIC_KEY_STALE },
		{ "high byte", { 0x02345678, 7, 9, 0, 0x1000, 1 }, SRNIC_KEY_STALE },
		{ "PD", { 0x12345678, 6, 9, 0, 0x1000, 1 }, SRNIC_KEY_PD },
		{ "QP", { 0x12345678, 7, 8, 0, 0x1000, 1 }, SRNIC_KEY_QP },
		{ "right", { 0x12345678, 7, 9, IB_ACCESS_REMOTE_READ, 0x1000, 1 },
		  SRNIC_KEY_ACCESS },
		{ "one right of two", { 0x12345678, 7, 9, IB_ACCESS_REMOTE_WRITE |
		  IB_ACCESS_REMOTE_ATOMIC, 0x1000, 1 }, SRNIC_KEY_ACCESS },
		{ "first byte", { 0x12345678, 7, 9, 0, 0x1000, 1 }, SRNIC_KEY_OK },
		{ "last byte", { 0x12345678, 7, 9, 0, 0x10ff, 1 }, SRNIC_KEY_OK },
		{ "byte below", { 0x12345678, 7, 9, 0, 0xfff, 1 }, SRNIC_KEY_BOUNDS },
		{ "byte above", { 0x12345678, 7, 9, 0, 0x1100, 1 },
		  SRNIC_KEY_BOUNDS },
		{ "begins below", { 0x12345678, 7, 9, 0, 0xfff, 0x10 },
		  SRNIC_KEY_BOUNDS },
		{ "ends above", { 0x12345678, 7, 9, 0, 0x10f1, 0x10 },
		  SRNIC_KEY_BOUNDS },
		{ "wraps to the start", { 0x12345678, 7, 9, 0, 0x1080, U64_MAX },
		  SRNIC_KEY_BOUNDS },
		{ "wraps over all", { 0x12345678, 7, 9, 0, 0x1000, U64_MAX },
		  SRNIC_KEY_BOUNDS },
		{ "from the top", { 0x12345678, 7, 9, 0, U64_MAX, 0x1002 },
		  SRNIC_KEY_BOUNDS },
		{ "empty, anywhere", { 0x12345678, 7, 9, 0, 0, 0 }, SRNIC_KEY_OK },
		{ "empty, other PD", { 0x12345678, 6, 9, 0, 0, 0 }, SRNIC_KEY_PD },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		KUNIT_EXPECT_EQ_MSG(test, srnic_mpt_check(&good_entry, &rows[i].rq),
				    rows[i].want, "%s", rows[i].what);
		KUNIT_EXPECT_EQ_MSG(test, oracle(&good_entry, &rows[i].rq),
				    rows[i].want, "the oracle: %s", rows[i].what);
	}
}

/* Faults in the order in which they are to be found. */
enum {
	FAULT_KEY,
	FAULT_STATE,
	FAULT_PD,
	FAULT_QP,
	FAULT_ACCESS,
	FAULT_BOUNDS,
	FAULTS
};

static void check_precedence(struct kunit *test)
{
	static const enum srnic_key_reason reason[FAULTS] = {
		SRNIC_KEY_STALE, SRNIC_KEY_STATE, SRNIC_KEY_PD, SRNIC_KEY_QP,
		SRNIC_KEY_ACCESS, SRNIC_KEY_BOUNDS,
	};
	unsigned int set;

	for (set = 0; set < 1 << FAULTS; set++) {
		struct srnic_mpt_entry e = good_entry;
		struct srnic_mpt_req rq = good_req;

		rq.key ^= set & BIT(FAULT_KEY) ? 1 : 0;
		e.state = set & BIT(FAULT_STATE) ? SRNIC_MPT_INVALID : e.state;
		rq.pdn += set & BIT(FAULT_PD) ? 1 : 0;
		rq.qpn += set & BIT(FAULT_QP) ? 1 : 0;
		e.access &= set & BIT(FAULT_ACCESS) ? ~IB_ACCESS_REMOTE_WRITE : ~0;
		rq.len += set & BIT(FAULT_BOUNDS) ? 1 : 0;
		KUNIT_EXPECT_EQ_MSG(test, srnic_mpt_check(&e, &rq),
				    set ? reason[__ffs(set)] : SRNIC_KEY_OK,
				    "faults %02x", set);
	}
}

static void check_states(struct kunit *test)
{
	static const enum srnic_key_reason want[] = {
		[SRNIC_MPT_FREE] = SRNIC_KEY_STALE,
		[SRNIC_MPT_RESERVED] = SRNIC_KEY_STALE,
		[SRNIC_MPT_VALID] = SRNIC_KEY_OK,
		[SRNIC_MPT_INVALID] = SRNIC_KEY_STATE,
		[SRNIC_MPT_REVOKED] = SRNIC_KEY_REVOKED,
	};
	struct srnic_mpt_entry e = good_entry;
	u8 state;

	for (state = 0; state < ARRAY_SIZE(want); state++) {
		e.state = state;
		KUNIT_EXPECT_EQ(test, srnic_mpt_check(&e, &good_req), want[state]);
	}
	e.state = 255;
	KUNIT_EXPECT_NE(test, srnic_mpt_check(&e, &good_req), SRNIC_KEY_OK);
}

/* Byte by byte, around both ends of the 64 bit space. */
static bool bytes_inside(const struct srnic_mpt_entry *e,
			 const struct srnic_mpt_req *rq)
{
	u64 i, j;

	for (i = 0; i < rq->len; i++) {
		bool found = false;

		if ((wide)rq->addr + i > U64_MAX)
			return false;
		for (j = 0; j < e->length; j++)
			found |= (wide)e->iova + j == (wide)rq->addr + i;
		if (!found)
			return false;
	}
	return true;
}

static void check_bytes(struct kunit *test)
{
	struct srnic_mpt_entry e = good_entry;
	struct srnic_mpt_req rq = good_req;
	u32 bad = 0;
	int i, j;

	for (i = -5; i < 5; i++) {
		for (j = -7; j < 7; j++) {
			e.iova = (s64)i;
			rq.addr = (s64)j;
			for (e.length = 0; e.length < 5; e.length++) {
				for (rq.len = 0; rq.len < 7; rq.len++) {
					bool ok = srnic_mpt_check(&e, &rq) ==
						  SRNIC_KEY_OK;

					bad += ok != bytes_inside(&e, &rq);
				}
			}
		}
	}
	KUNIT_EXPECT_EQ(test, bad, 0);
}

static void check_random(struct kunit *test)
{
	u32 count[SRNIC_KEY_REASONS] = {};
	struct srnic_mpt_entry e;
	struct srnic_mpt_req rq;
	struct rnd_state rng;
	u32 bad = 0;
	int i;

	rng_start(&rng, 6);
	for (i = 0; i < 1000000; i++) {
		enum srnic_key_reason got;

		random_pair(&rng, &e, &rq);
		got = srnic_mpt_check(&e, &rq);
		if (got != oracle(&e, &rq))
			bad++;
		else
			count[got]++;
		if (i % 100000 == 0)
			cond_resched();
	}
	KUNIT_EXPECT_EQ(test, bad, 0);
	/* the generator reaches every answer often enough to mean something */
	for (i = 0; i < SRNIC_KEY_REASONS; i++) {
		if (i != SRNIC_KEY_UNKNOWN)
			KUNIT_EXPECT_GT_MSG(test, count[i], 1000, "reason %d", i);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(check_table),
	KUNIT_CASE(check_precedence),
	KUNIT_CASE(check_states),
	KUNIT_CASE(check_bytes),
	KUNIT_CASE(check_random),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_mpt_check",
	.test_cases = cases,
};

kunit_test_suite(suite);

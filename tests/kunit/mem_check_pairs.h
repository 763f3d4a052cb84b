/* SPDX-License-Identifier: GPL-2.0 */
/*
 * srnic_mpt_check() once more, from the rules, read byte by byte or with numbers
 * that can't overflow; and pairs of entry and request to ask both about. For
 * KUnit and for the fuzzer (tests/fuzz), which brings an rng.h of its own.
 */
#ifndef MEM_CHECK_PAIRS_H
#define MEM_CHECK_PAIRS_H

#include <rdma/ib_verbs.h>

#include "../../drivers/srnic/mpt.h"
#include "rng.h"

/* Wide enough for any sum of two 64 bit numbers. */
#define wide unsigned __int128

/* Every byte of the request is an address, and one of the entry's. */
static bool oracle_inside(const struct srnic_mpt_entry *e,
			  const struct srnic_mpt_req *rq)
{
	wide first = rq->addr;
	wide end = first + rq->len;

	if (end > (wide)1 << 64)
		return false;
	if (e->kind == SRNIC_MPT_DMA)
		return true;
	return first >= e->iova && end <= (wide)e->iova + e->length;
}

static enum srnic_key_reason oracle(const struct srnic_mpt_entry *e,
				    const struct srnic_mpt_req *rq)
{
	int bit;

	if (e->key != rq->key)
		return SRNIC_KEY_STALE;
	if (e->state == SRNIC_MPT_INVALID)
		return SRNIC_KEY_STATE;
	if (e->state == SRNIC_MPT_REVOKED)
		return SRNIC_KEY_REVOKED;
	if (e->state != SRNIC_MPT_VALID && e->state != SRNIC_MPT_CHANGING)
		return SRNIC_KEY_STALE;
	if (e->pdn != 0xffffffff && e->pdn != rq->pdn)
		return SRNIC_KEY_PD;
	if (e->qpn != 0xffffffff && e->qpn != rq->qpn)
		return SRNIC_KEY_QP;
	for (bit = 0; bit < 32; bit++) {
		if (rq->access >> bit & 1 && !(e->access >> bit & 1))
			return SRNIC_KEY_ACCESS;
	}
	/* what a program of this host asks for names no right of a peer */
	if (!(rq->access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
			    IB_ACCESS_REMOTE_ATOMIC)) &&
	    e->kind != SRNIC_MPT_MR && e->kind != SRNIC_MPT_DMA &&
	    e->kind != SRNIC_MPT_FRMR)
		return SRNIC_KEY_ACCESS;
	if (rq->len == 0 || oracle_inside(e, rq))
		return SRNIC_KEY_OK;
	return SRNIC_KEY_BOUNDS;
}

static const struct srnic_mpt_entry good_entry = {
	.state = SRNIC_MPT_VALID,
	.kind = SRNIC_MPT_MR,
	.key = 0x12345678,
	.access = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE,
	.pdn = 7,
	.qpn = 9,
	.iova = 0x1000,
	.length = 0x100,
};

static const struct srnic_mpt_req good_req = {
	.key = 0x12345678,
	.pdn = 7,
	.qpn = 9,
	.access = IB_ACCESS_REMOTE_WRITE,
	.addr = 0x1000,
	.len = 0x100,
};

/* Numbers that are near to something: to 0, to 2^64, to each other. */
static u64 near(struct rnd_state *rng, u64 other)
{
	switch (rng_below(rng, 6)) {
	case 0:
		return rng_below(rng, 4);
	case 1:
		return -(u64)rng_below(rng, 4);
	case 2:
		return other + rng_below(rng, 8) - 4;
	case 3:
		return rng_u64(rng) >> rng_below(rng, 64);
	case 4:
		return rng_below(rng, 0x3000);
	default:
		return rng_u64(rng);
	}
}

/* Another number: the next one, one bit apart, the same low byte, or any. */
static u32 other(struct rnd_state *rng, u32 than)
{
	switch (rng_below(rng, 4)) {
	case 0:
		return than + rng_below(rng, 3) - 1;
	case 1:
		return than ^ 1u << rng_below(rng, 32);
	case 2:
		return (than & 0xff) | rng_u32(rng) << 8;
	default:
		return rng_u32(rng);
	}
}

/* None, any of those that mean something, or what nobody has heard of. */
static u32 rights(struct rnd_state *rng)
{
	switch (rng_below(rng, 4)) {
	case 0:
		return rng_u32(rng) & IB_ACCESS_LOCAL_WRITE;
	case 1:
		return rng_u32(rng) & rng_u32(rng) & rng_u32(rng);
	default:
		return rng_u32(rng) & (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
				       IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC |
				       IB_ACCESS_MW_BIND);
	}
}

/* Each of the rules is broken now and then, often several of them at a time. */
static void random_pair(struct rnd_state *rng, struct srnic_mpt_entry *e,
			struct srnic_mpt_req *rq)
{
	u32 odd = rng_u32(rng);

	*e = good_entry;
	*rq = good_req;
	e->kind = (odd >> 28 & 7) % (SRNIC_MPT_MW2 + 1);
	if (!(odd & 0x1f))
		rq->key = other(rng, rq->key);
	if (!(odd >> 5 & 7))
		e->state = rng_below(rng, 8);
	if (!(odd >> 8 & 0xf))
		rq->pdn = other(rng, rq->pdn);
	if (!(odd >> 12 & 0xf))
		e->pdn = SRNIC_MPT_ANY_PD;
	if (!(odd >> 16 & 7))
		rq->qpn = other(rng, rq->qpn);
	if (!(odd >> 19 & 3))
		e->qpn = SRNIC_MPT_ANY_QP;
	if (!(odd >> 22 & 3)) {
		rq->access = rights(rng);
		/* as often as not it has them all */
		e->access = rights(rng) | (rng_below(rng, 2) ? rq->access : 0);
	}
	e->iova = near(rng, 0);
	e->length = near(rng, -e->iova);
	rq->addr = odd >> 24 & 1 ? near(rng, e->iova) :
				   near(rng, e->iova + e->length);
	rq->len = odd >> 25 & 1 ? near(rng, e->length) : near(rng, -rq->addr);
}

#endif /* MEM_CHECK_PAIRS_H */

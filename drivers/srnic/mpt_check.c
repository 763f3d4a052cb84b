// SPDX-License-Identifier: GPL-2.0
/*
 * May this key do this? The one function that answers, for every packet and
 * every local buffer. Pure: two arguments, one answer, nothing else read or
 * written. It stands alone so that KUnit and a fuzzer in user space compile the
 * same source.
 */
#include "mpt.h"

#include <linux/compiler.h>
#include <rdma/ib_verbs.h>

/* @addr + @len passes 2^64. Ending exactly there is allowed. */
static bool wraps(u64 addr, u64 len)
{
	return len && addr + (len - 1) < addr;
}

/* @len bytes at @addr lie within the entry; no sum here can overflow. */
static bool within(const struct srnic_mpt_entry *e, u64 addr, u64 len)
{
	u64 off = addr - e->iova;

	if (addr < e->iova || off > e->length)
		return false;
	return len <= e->length - off && !wraps(addr, len);
}

/**
 * srnic_mpt_check() - may this key do this?
 * @e: the entry of the key's slot
 * @rq: what is wanted
 *
 * Reasons in the order in which they are found: STALE (another life of the
 * slot), STATE or REVOKED, PD, QP, ACCESS, BOUNDS. So a key's holder learns
 * about bounds only with the rights for the region.
 *
 * Return: SRNIC_KEY_OK or why not; never SRNIC_KEY_UNKNOWN, which only the
 * table can tell.
 */
enum srnic_key_reason srnic_mpt_check(const struct srnic_mpt_entry *e,
				      const struct srnic_mpt_req *rq)
{
	enum srnic_key_reason why;

	if (e->key != rq->key)
		return SRNIC_KEY_STALE;
	/* the one field that a writer may be changing: see srnic_mpt_kill() */
	why = srnic_mpt_state_reason(READ_ONCE(e->state));
	if (why != SRNIC_KEY_OK)
		return why;
	if (e->pdn != rq->pdn && e->pdn != SRNIC_MPT_ANY_PD)
		return SRNIC_KEY_PD;
	if (e->qpn != SRNIC_MPT_ANY_QP && e->qpn != rq->qpn)
		return SRNIC_KEY_QP;
	if ((e->access & rq->access) != rq->access)
		return SRNIC_KEY_ACCESS;
	/* a window has an R_Key only (IBTA 10.6.7): nothing local is done by it */
	if (!(rq->access & SRNIC_REMOTE_RIGHTS) &&
	    (e->kind == SRNIC_MPT_MW1 || e->kind == SRNIC_MPT_MW2))
		return SRNIC_KEY_ACCESS;
	if (!rq->len)
		return SRNIC_KEY_OK;
	if (e->kind == SRNIC_MPT_DMA)
		return wraps(rq->addr, rq->len) ? SRNIC_KEY_BOUNDS :
						  SRNIC_KEY_OK;
	return within(e, rq->addr, rq->len) ? SRNIC_KEY_OK : SRNIC_KEY_BOUNDS;
}

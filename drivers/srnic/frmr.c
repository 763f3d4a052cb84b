// SPDX-License-Identifier: GPL-2.0
/*
 * Fast-register regions (IBTA 10.6.3.2 to 10.6.3.6), for kernel users.
 *
 * The key exists from the allocation on and is invalid. ib_map_mr_sg() writes the
 * pages into a table; IB_WR_REG_MR makes the key work for what is there, with
 * rights and a low byte that the consumer chooses; LOCAL_INV, or a peer's SEND
 * with invalidate, ends that; and so on.
 *
 * There are two tables, since a consumer may write the pages of the next
 * registration, and post its request, when the invalidation of the present one
 * has been posted and is not done yet. Registering swaps them: the one that comes
 * back is that of a key that is invalid, so no reader uses it. They are swapped
 * before the key works: from that moment on a peer may end it, and the consumer,
 * told of that by a receive, name pages on another CPU. They must not get into the
 * table that the key is translated by, nor half of them into either. A consumer
 * that has named no pages since the last time registers the same ones again.
 *
 * As with all that kernel users do, addresses are kernel addresses (no DMA
 * device), and what they say of their own memory is believed.
 */
#include "frmr.h"

#include <linux/err.h>

#include "mtt.h"
#include "trace.h"

/**
 * srnic_frmr_alloc() - a region to be filled later
 * @mpt: table for the key
 * @ibdev: device
 * @pdn: its protection domain
 * @max_pages: that a registration may have, up to SRNIC_MAX_FRMR_PAGES
 *
 * Context: process.
 * Return: the region, its key invalid; ERR_PTR(-EINVAL), ERR_PTR(-ENOMEM).
 */
struct srnic_mr *srnic_frmr_alloc(struct srnic_mpt *mpt, struct ib_device *ibdev,
				  u32 pdn, u32 max_pages)
{
	struct srnic_mpt_entry *e;
	struct srnic_mr *mr;

	if (!max_pages || max_pages > SRNIC_MAX_FRMR_PAGES)
		return ERR_PTR(-EINVAL);
	mr = srnic_mr_alloc(mpt, ibdev);
	if (IS_ERR(mr))
		return mr;
	e = mr->user.e;
	e->kind = SRNIC_MPT_FRMR;
	e->pdn = pdn;
	srnic_mpt_kill(mpt, e, SRNIC_MPT_INVALID);
	mr->mtt = srnic_mtt_alloc(max_pages);
	mr->next = srnic_mtt_alloc(max_pages);
	if (!mr->mtt || !mr->next) {
		srnic_mr_destroy(mr);
		return ERR_PTR(-ENOMEM);
	}
	return mr;
}

static int set_page(struct ib_mr *ibmr, u64 addr)
{
	return srnic_mtt_add(to_srnic_mr(ibmr)->next, addr, ibmr->page_size,
			     false);
}

/**
 * srnic_frmr_map() - which pages the next registration is about
 * @mr: fast-register region
 * @sg: mapped for the device: kernel addresses
 * @nents: its entries
 * @offset: as in ib_map_mr_sg()
 *
 * Context: any.
 * Return: entries that were taken, -errno if none was.
 */
int srnic_frmr_map(struct srnic_mr *mr, struct scatterlist *sg, int nents,
		   unsigned int *offset)
{
	srnic_mtt_reset(mr->next);
	mr->mapped = true;
	return ib_sg_to_pages(&mr->ibmr, sg, nents, offset, set_page);
}

/**
 * srnic_frmr_register() - the key works for what has been mapped
 * @mr: fast-register region, invalid
 * @pdn: protection domain of the QP
 * @key: with this low byte
 * @access: IB_ACCESS_*
 *
 * Context: bottom halves disabled.
 * Return: SRNIC_KEY_OK or why not: SRNIC_KEY_STATE: it is registered already.
 */
enum srnic_key_reason srnic_frmr_register(struct srnic_mr *mr, u32 pdn, u32 key,
					  int access)
{
	const bool mapped = mr->mapped;
	struct srnic_mtt *mtt = mapped ? mr->next : mr->mtt;
	struct srnic_mpt_entry *e = mr->user.e;
	struct srnic_mpt_grant grant = {
		.key = key,
		.access = access & SRNIC_MR_RIGHTS & ~IB_ACCESS_MW_BIND,
		.pdn = e->pdn,
		.qpn = SRNIC_MPT_ANY_QP,
		.iova = mr->ibmr.iova,
		.length = mr->ibmr.length,
		.mtt = mtt,
		.mtt_off = mr->ibmr.iova & (mr->ibmr.page_size - 1),
	};
	enum srnic_key_reason why;
	u32 runs;

	if (e->pdn != pdn)
		return SRNIC_KEY_PD;
	if (srnic_mr_check_access(access))
		return SRNIC_KEY_ACCESS;
	/* more bytes than pages: not all could be named */
	if (grant.length > mtt->len || grant.mtt_off > mtt->len - grant.length)
		return SRNIC_KEY_BOUNDS;
	runs = mtt->nruns;
	why = srnic_mpt_change_begin(mr->mpt, e, true);
	if (why != SRNIC_KEY_OK)
		return why;
	/* the consumer's again when the key works, and not ours any more */
	if (mapped) {
		swap(mr->mtt, mr->next);
		mr->mapped = false;
	}
	srnic_mpt_change_finish(e, &grant);
	trace_key_born(mr->ibmr.device->name, key, e->kind, pdn, grant.access,
		       grant.iova, grant.length, runs);
	return SRNIC_KEY_OK;
}

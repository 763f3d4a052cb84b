/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fast-register regions: kernel users name pages, then post a request that makes
 * the key work for them. See frmr.c.
 */
#ifndef SRNIC_FRMR_H
#define SRNIC_FRMR_H

#include "key.h"
#include "mr.h"

#define SRNIC_MAX_FRMR_PAGES	4096

struct srnic_mr *srnic_frmr_alloc(struct srnic_mpt *mpt, struct ib_device *ibdev,
				  u32 pdn, u32 max_pages);
int srnic_frmr_map(struct srnic_mr *mr, struct scatterlist *sg, int nents,
		   unsigned int *offset);

/* May this be the key of the next registration? */
static inline bool srnic_frmr_key_fits(const struct srnic_mr *mr, u32 key)
{
	return mr->next &&
	       srnic_key_same_handle(READ_ONCE(mr->user.e->key), key);
}

/* Bottom halves disabled. */
enum srnic_key_reason srnic_frmr_register(struct srnic_mr *mr, u32 pdn, u32 key,
					  int access);

#endif /* SRNIC_FRMR_H */

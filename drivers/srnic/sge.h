/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scatter and gather lists: bytes through several local keys, in order. Each
 * key is checked for each piece.
 */
#ifndef SRNIC_SGE_H
#define SRNIC_SGE_H

#include <rdma/ib_verbs.h>

#include "access.h"

/**
 * struct srnic_sgl - a list of local memory, and who uses it
 * @sge: the list
 * @nsge: its length
 * @pdn: protection domain of the QP
 * @qpn: number of the QP
 * @rq: the piece that was asked for last: after a refusal, that one. Without a
 *	key where the list was too short
 */
struct srnic_sgl {
	const struct ib_sge *sge;
	u32 nsge;
	u32 pdn;
	u32 qpn;
	struct srnic_mpt_req rq;
};

/* Callers have checked that off + len lies in the list. BHs disabled. */
enum srnic_key_reason srnic_sgl_put(struct srnic_mpt *mpt,
				    struct srnic_sgl *sgl, u32 off,
				    u32 len, struct srnic_cursor *src);
enum srnic_key_reason srnic_sgl_get(struct srnic_mpt *mpt,
				    struct srnic_sgl *sgl, u32 off,
				    u32 len, void *dst);

#endif /* SRNIC_SGE_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRNIC_MR_H
#define SRNIC_MR_H

#include <rdma/ib_verbs.h>

#include "mpt.h"

struct srnic_peer;

/**
 * struct srnic_mr - a memory region
 * @ibmr: the core's part
 * @mpt: the table its key lives in
 * @e: its entry
 * @mtt: its translation
 * @umem: pinned pages, of user memory
 * @peer: hold on p2pmem memory
 */
struct srnic_mr {
	struct ib_mr ibmr;
	struct srnic_mpt *mpt;
	struct srnic_mpt_entry *e;
	struct srnic_mtt *mtt;
	struct ib_umem *umem;
	struct srnic_peer *peer;
};

static inline struct srnic_mr *to_srnic_mr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct srnic_mr, ibmr);
}

/*
 * pdn names the PD in the table. client is the PCI device on whose behalf
 * memory of a donor is used (the netdev's parent), or NULL.
 */
struct srnic_mr *srnic_mr_reg_user(struct srnic_mpt *mpt, struct ib_device *ibdev,
				   u32 pdn, struct device *client, u64 start,
				   u64 length, u64 iova, int access);
struct srnic_mr *srnic_mr_reg_dma(struct srnic_mpt *mpt, struct ib_device *ibdev,
				  u32 pdn, int access);
void srnic_mr_destroy(struct srnic_mr *mr);

#endif /* SRNIC_MR_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRNIC_MR_H
#define SRNIC_MR_H

#include <rdma/ib_verbs.h>

#include "backing.h"

/**
 * struct srnic_mr - a memory region
 * @ibmr: the core's part
 * @mpt: the table its key lives in
 * @user: its key, as a user of @b
 * @b: its memory, where that is a program's
 * @memory: what sort of memory that is, for people
 * @start: address of the memory in the program
 * @zero_based: addresses in requests begin at 0, whatever memory it gets
 * @mtt: of a fast-register region: what is registered, or was
 * @next: of a fast-register region: what will be, if @mapped
 * @mapped: of a fast-register region: pages have been named since it was
 *	registered last
 */
struct srnic_mr {
	struct ib_mr ibmr;
	struct srnic_mpt *mpt;
	struct srnic_backing_user user;
	struct srnic_backing *b;
	const char *memory;
	u64 start;
	bool zero_based;
	struct srnic_mtt *mtt;
	struct srnic_mtt *next;
	bool mapped;
};

static inline struct srnic_mr *to_srnic_mr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct srnic_mr, ibmr);
}

/* Rights that are enforced, and hints that may be ignored. */
#define SRNIC_MR_RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |	\
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC |	\
			 IB_ACCESS_MW_BIND)
#define SRNIC_MR_HINTS	(IB_ACCESS_HUGETLB | IB_ACCESS_OPTIONAL)

/* More pages than that ib_umem_get() doesn't pin. */
#define SRNIC_MAX_MR_SIZE	((u64)U32_MAX << PAGE_SHIFT)

/* 0, -EOPNOTSUPP, -EINVAL */
int srnic_mr_check_access(int access);
/* A region without memory and rights, its key chosen: mr_alloc of mr.c, frmr.c */
struct srnic_mr *srnic_mr_alloc(struct srnic_mpt *mpt, struct ib_device *ibdev);

/*
 * pdn names the PD in the table. client is the device on whose behalf memory of
 * a donor is used.
 */
struct srnic_mr *srnic_mr_reg_user(struct srnic_mpt *mpt, struct ib_device *ibdev,
				   u32 pdn, struct device *client, u64 start,
				   u64 length, u64 iova, int access);
struct srnic_mr *srnic_mr_reg_dmabuf(struct srnic_mpt *mpt,
				     struct ib_device *ibdev, u32 pdn,
				     struct device *client, int fd, u64 offset,
				     u64 length, u64 iova, int access);
struct srnic_mr *srnic_mr_reg_dma(struct srnic_mpt *mpt, struct ib_device *ibdev,
				  u32 pdn, int access);

/**
 * struct srnic_mr_rereg - what shall be another
 * @flags: IB_MR_REREG_*: which of the others count
 * @client: as in srnic_mr_reg_user()
 * @start: as there
 * @length: as there
 * @iova: as there
 * @access: as there
 * @pdn: as there
 */
struct srnic_mr_rereg {
	int flags;
	struct device *client;
	u64 start;
	u64 length;
	u64 iova;
	int access;
	u32 pdn;
};

int srnic_mr_rereg(struct srnic_mr *mr, const struct srnic_mr_rereg *to);
int srnic_mr_destroy(struct srnic_mr *mr);

#endif /* SRNIC_MR_H */

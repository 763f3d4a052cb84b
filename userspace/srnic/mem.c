// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Protection domains, parent and thread domains, memory regions and windows,
 * address handles: what only passes through to the driver.
 */
#include "srnic.h"

#include <errno.h>
#include <stdlib.h>

struct ibv_pd *srnic_alloc_pd(struct ibv_context *context)
{
	struct ib_uverbs_alloc_pd_resp resp;
	struct ibv_alloc_pd cmd;
	struct srnic_pd *pd;

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	if (ibv_cmd_alloc_pd(context, &pd->ibv_pd, &cmd, sizeof(cmd), &resp,
			     sizeof(resp))) {
		free(pd);
		return NULL;
	}
	return &pd->ibv_pd;
}

static int dealloc_parent_domain(struct srnic_pd *parent)
{
	if (parent->td)
		atomic_fetch_sub(&parent->td->users, 1);
	atomic_fetch_sub(&parent->protection->users, 1);
	free(parent);
	return 0;
}

int srnic_dealloc_pd(struct ibv_pd *ibpd)
{
	struct srnic_pd *pd = to_srnic_pd(ibpd);
	int ret;

	if (atomic_load(&pd->users))
		return EBUSY;
	if (pd->protection)
		return dealloc_parent_domain(pd);

	ret = ibv_cmd_dealloc_pd(ibpd);
	if (!ret)
		free(pd);
	return ret;
}

struct ibv_td *srnic_alloc_td(struct ibv_context *context,
			      struct ibv_td_init_attr *attr)
{
	struct srnic_td *td;

	if (attr->comp_mask) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	td = calloc(1, sizeof(*td));
	if (!td)
		return NULL;
	td->ibv_td.context = context;
	return &td->ibv_td;
}

int srnic_dealloc_td(struct ibv_td *ibtd)
{
	struct srnic_td *td = to_srnic_td(ibtd);

	if (atomic_load(&td->users))
		return EBUSY;
	free(td);
	return 0;
}

struct ibv_pd *srnic_alloc_parent_domain(struct ibv_context *context,
					 struct ibv_parent_domain_init_attr *attr)
{
	struct srnic_pd *parent;

	(void)context;
	if (ibv_check_alloc_parent_domain(attr))
		return NULL;
	/* Rings are the driver's memory: an allocator would not be asked. */
	if (!check_comp_mask(attr->comp_mask,
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	parent = calloc(1, sizeof(*parent));
	if (!parent)
		return NULL;

	parent->protection = to_srnic_pd(attr->pd);
	if (parent->protection->protection) {
		free(parent);
		errno = EINVAL;
		return NULL;
	}
	atomic_fetch_add(&parent->protection->users, 1);
	if (attr->td) {
		parent->td = to_srnic_td(attr->td);
		atomic_fetch_add(&parent->td->users, 1);
	}
	ibv_initialize_parent_domain(&parent->ibv_pd, attr->pd);
	return &parent->ibv_pd;
}

/**
 * srnic_parent_get() - hold the parent domain of a new QP or CQ
 * @ibpd: what the program gave, or NULL
 *
 * Return: the parent domain, or NULL if it is none.
 */
struct srnic_pd *srnic_parent_get(struct ibv_pd *ibpd)
{
	struct srnic_pd *pd;

	if (!ibpd)
		return NULL;
	pd = to_srnic_pd(ibpd);
	if (!pd->protection)
		return NULL;
	atomic_fetch_add(&pd->users, 1);
	return pd;
}

void srnic_parent_put(struct srnic_pd *parent)
{
	if (parent)
		atomic_fetch_sub(&parent->users, 1);
}

struct ibv_mr *srnic_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			    uint64_t hca_va, int access)
{
	struct ib_uverbs_reg_mr_resp resp;
	struct ibv_reg_mr cmd;
	struct verbs_mr *vmr;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;
	if (ibv_cmd_reg_mr(pd, addr, length, hca_va, access, vmr, &cmd,
			   sizeof(cmd), &resp, sizeof(resp))) {
		free(vmr);
		return NULL;
	}
	return &vmr->ibv_mr;
}

struct ibv_mr *srnic_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				   size_t length, uint64_t iova, int fd,
				   int access)
{
	struct verbs_mr *vmr;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;
	if (ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, vmr,
				  NULL)) {
		free(vmr);
		return NULL;
	}
	return &vmr->ibv_mr;
}

int srnic_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		   void *addr, size_t length, int access)
{
	struct ib_uverbs_rereg_mr_resp resp;
	struct ibv_rereg_mr cmd;

	return ibv_cmd_rereg_mr(vmr, flags, addr, length, (uintptr_t)addr,
				access, pd, &cmd, sizeof(cmd), &resp,
				sizeof(resp));
}

int srnic_dereg_mr(struct verbs_mr *vmr)
{
	int ret;

	ret = ibv_cmd_dereg_mr(vmr);
	if (!ret)
		free(vmr);
	return ret;
}

struct ibv_mw *srnic_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ib_uverbs_alloc_mw_resp resp;
	struct ibv_alloc_mw cmd;
	struct ibv_mw *mw;

	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return NULL;
	if (ibv_cmd_alloc_mw(pd, type, mw, &cmd, sizeof(cmd), &resp,
			     sizeof(resp))) {
		free(mw);
		return NULL;
	}
	return mw;
}

int srnic_dealloc_mw(struct ibv_mw *mw)
{
	int ret;

	ret = ibv_cmd_dealloc_mw(mw);
	if (!ret)
		free(mw);
	return ret;
}

struct ibv_ah *srnic_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct srnic_u_create_ah_resp resp = {};
	struct srnic_ah *ah;

	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;
	if (ibv_cmd_create_ah(pd, &ah->ibv_ah, attr, &resp.ibv_resp,
			      sizeof(resp))) {
		free(ah);
		return NULL;
	}
	ah->handle = resp.drv_payload.ah;
	return &ah->ibv_ah;
}

int srnic_destroy_ah(struct ibv_ah *ibah)
{
	int ret;

	ret = ibv_cmd_destroy_ah(ibah);
	if (!ret)
		free(to_srnic_ah(ibah));
	return ret;
}

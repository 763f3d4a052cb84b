// SPDX-License-Identifier: GPL-2.0
/*
 * The verbs: what the RDMA core asks of a device, translated into what the
 * layers below do. The core serialises (no object is used while it is created
 * or destroyed, none goes before those that use it) and allocates most objects.
 *
 * An operation takes care of three things only: numbers that the device
 * promises not to exceed, what passes between driver and provider (udata, see
 * srnic-abi.h), and that a failure leaves nothing behind.
 *
 * Operations that aren't in the table are refused by the core; the limits in
 * srnic_query_device() that belong to them are 0.
 */
#include "verbs.h"

#include <linux/sched.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_umem.h>
#include <rdma/srnic-abi.h>
#include <rdma/uverbs_ioctl.h>

#include "counters.h"
#include "device.h"
#include "frmr.h"
#include "restrack.h"

struct srnic_ucontext {
	struct ib_ucontext ibuc;
};

/* The program behind udata; NULL for kernel users. */
static struct ib_ucontext *udata_ucontext(struct ib_udata *udata)
{
	struct srnic_ucontext *uc;

	if (!udata)
		return NULL;
	uc = rdma_udata_to_drv_context(udata, struct srnic_ucontext, ibuc);
	return &uc->ibuc;
}

static int srnic_alloc_ucontext(struct ib_ucontext *ibuc,
				struct ib_udata *udata)
{
	struct srnic_alloc_ucontext_resp resp = {
		.abi_version = SRNIC_UVERBS_ABI_VERSION,
		.max_inline = SRNIC_MAX_INLINE,
	};
	struct srnic_alloc_ucontext_req req = {};

	if (udata->inlen >= sizeof(req) &&
	    ib_copy_from_udata(&req, udata, sizeof(req)))
		return -EFAULT;
	/* A provider that says nothing shows as version 0. */
	if (req.abi_version != SRNIC_UVERBS_ABI_VERSION) {
		dev_warn_ratelimited(&ibuc->device->dev,
				     "%s[%d] comes with a libibverbs provider of ABI version %u, this driver speaks version %u: install the provider that belongs to it\n",
				     current->comm, task_pid_nr(current),
				     req.abi_version, SRNIC_UVERBS_ABI_VERSION);
		return -EOPNOTSUPP;
	}
	if (req.reserved || udata->outlen < sizeof(resp))
		return -EINVAL;
	return ib_copy_to_udata(udata, &resp, sizeof(resp));
}

static void srnic_dealloc_ucontext(struct ib_ucontext *ibuc)
{
}

/*
 * That this exists is all the core wants to know: the device may go while
 * programs have it open. Their objects are destroyed as if they had done it,
 * and the rings that they have mapped are memory of their own by then.
 */
static void srnic_disassociate_ucontext(struct ib_ucontext *ibuc)
{
}

static int srnic_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct srnic_dev *dev = to_srnic_dev(ibpd->device);
	/* never 0, so that no entry that was forgotten to fill matches */
	int pdn = ida_alloc_range(&dev->pdns, 1, SRNIC_MAX_PD, GFP_KERNEL);

	if (pdn < 0)
		return pdn == -ENOSPC ? -ENOMEM : pdn;
	to_srnic_pd(ibpd)->pdn = pdn;
	return 0;
}

static int srnic_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	ida_free(&to_srnic_dev(ibpd->device)->pdns, to_srnic_pd(ibpd)->pdn);
	return 0;
}

/* Gives a program's AH its handle, and the program that. */
static int publish_ah(struct srnic_dev *dev, struct srnic_ah *ah,
		      struct ib_udata *udata)
{
	struct srnic_create_ah_resp resp = {};
	int err;

	if (udata->outlen < sizeof(resp))
		return -EINVAL;
	ah->av->pdn = to_srnic_pd(ah->ibah.pd)->pdn;
	err = xa_alloc_bh(&dev->tp.ahs, &ah->handle, ah->av,
			  XA_LIMIT(1, SRNIC_MAX_AH), GFP_KERNEL);
	if (err)
		return err == -EBUSY ? -ENOMEM : err;
	resp.ah = ah->handle;
	err = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (err)
		xa_erase_bh(&dev->tp.ahs, ah->handle);
	return err;
}

static int srnic_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
			   struct ib_udata *udata)
{
	gfp_t gfp = init->flags & RDMA_CREATE_AH_SLEEPABLE ? GFP_KERNEL :
							     GFP_ATOMIC;
	struct srnic_dev *dev = to_srnic_dev(ibah->device);
	struct srnic_ah *ah = to_srnic_ah(ibah);
	int err;

	ah->av = srnic_av_create(&dev->tp.port, init->ah_attr, 0, gfp);
	if (IS_ERR(ah->av))
		return PTR_ERR(ah->av);
	if (!udata)
		return 0;
	err = publish_ah(dev, ah, udata);
	if (err)
		srnic_av_put(ah->av);
	return err;
}

static int srnic_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	struct srnic_ah *ah = to_srnic_ah(ibah);

	if (ah->handle)
		xa_erase_bh(&to_srnic_dev(ibah->device)->tp.ahs,
			    ah->handle);
	srnic_av_put(ah->av);
	return 0;
}

static int srnic_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	const struct srnic_av *av = to_srnic_ah(ibah)->av;
	union ib_gid dgid;

	memset(attr, 0, sizeof(*attr));
	attr->type = RDMA_AH_ATTR_TYPE_ROCE;
	if (av->ipv6)
		memcpy(dgid.raw, &av->d6, sizeof(dgid.raw));
	else
		ipv6_addr_set_v4mapped(av->d4, (struct in6_addr *)dgid.raw);
	rdma_ah_set_port_num(attr, 1);
	rdma_ah_set_grh(attr, &dgid, av->flow_label, ibah->sgid_attr->index,
			av->ttl, av->tos);
	return 0;
}

static int srnic_create_cq(struct ib_cq *ibcq,
			   const struct ib_cq_init_attr *attr,
			   struct uverbs_attr_bundle *attrs)
{
	struct ib_udata *udata = attrs ? &attrs->driver_udata : NULL;
	struct srnic_dev *dev = to_srnic_dev(ibcq->device);
	struct srnic_cq *cq = to_srnic_cq(ibcq);
	struct srnic_create_cq_resp resp = {};
	int err;

	/* Every completion has a time stamp. */
	if (attr->flags & ~IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION)
		return -EOPNOTSUPP;
	if (udata && udata->outlen < sizeof(resp))
		return -EINVAL;
	if (!atomic_add_unless(&dev->cqs, 1, SRNIC_MAX_CQ))
		return -ENOMEM;

	err = srnic_cq_create(cq, udata_ucontext(udata), attr->cqe, &resp.cq);
	if (err)
		goto uncount;
	if (udata) {
		err = ib_copy_to_udata(udata, &resp, sizeof(resp));
		if (err)
			goto destroy;
	}
	return 0;

destroy:
	srnic_cq_destroy(cq);
uncount:
	atomic_dec(&dev->cqs);
	return err;
}

static int srnic_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	srnic_cq_destroy(to_srnic_cq(ibcq));
	atomic_dec(&to_srnic_dev(ibcq->device)->cqs);
	return 0;
}

/*
 * When the answer can't be delivered the CQ has its new ring all the same: the
 * program handed in a bad buffer and has lost the way to its completions.
 */
static int srnic_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata)
{
	struct srnic_resize_cq_resp resp = {};
	int err;

	if (cqe < 1 || (udata && udata->outlen < sizeof(resp)))
		return -EINVAL;
	err = srnic_cq_resize(to_srnic_cq(ibcq), udata_ucontext(udata), cqe,
			      &resp.cq);
	if (err || !udata)
		return err;
	return ib_copy_to_udata(udata, &resp, sizeof(resp));
}

static int srnic_poll_cq(struct ib_cq *ibcq, int n, struct ib_wc *wc)
{
	return srnic_cq_poll(to_srnic_cq(ibcq), n, wc);
}

static int srnic_req_notify_cq(struct ib_cq *ibcq,
			       enum ib_cq_notify_flags flags)
{
	return srnic_cq_arm(to_srnic_cq(ibcq), flags);
}

static int srnic_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
			   struct ib_udata *udata)
{
	return srnic_qp_create(&to_srnic_dev(ibqp->device)->tp,
			       to_srnic_qp(ibqp), init, udata);
}

static int srnic_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	return srnic_qp_destroy(to_srnic_qp(ibqp));
}

static int srnic_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr,
			   int mask, struct ib_udata *udata)
{
	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	return srnic_qp_modify(to_srnic_qp(ibqp), attr, mask);
}

static int srnic_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr,
			  int mask, struct ib_qp_init_attr *init)
{
	return srnic_qp_query(to_srnic_qp(ibqp), attr, mask, init);
}

static int srnic_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
			   const struct ib_send_wr **bad)
{
	return srnic_qp_post_send(to_srnic_qp(ibqp), wr, bad);
}

static int srnic_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
			   const struct ib_recv_wr **bad)
{
	return srnic_qp_post_recv(to_srnic_qp(ibqp), wr, bad);
}

static struct ib_mr *mr_result(struct srnic_mr *mr)
{
	return IS_ERR(mr) ? ERR_CAST(mr) : &mr->ibmr;
}

static struct ib_mr *srnic_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct srnic_dev *dev = to_srnic_dev(ibpd->device);

	return mr_result(srnic_mr_reg_dma(dev->tp.mpt, &dev->ibdev, to_srnic_pd(ibpd)->pdn,
					  access));
}

static struct ib_mr *srnic_reg_user_mr(struct ib_pd *ibpd, u64 start,
				       u64 length, u64 iova, int access,
				       struct ib_udata *udata)
{
	struct srnic_dev *dev = to_srnic_dev(ibpd->device);

	return mr_result(srnic_mr_reg_user(dev->tp.mpt, &dev->ibdev,
					   to_srnic_pd(ibpd)->pdn, dev->client,
					   start, length, iova, access));
}

static struct ib_mr *srnic_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset,
					      u64 length, u64 iova, int fd,
					      int access,
					      struct uverbs_attr_bundle *attrs)
{
	struct srnic_dev *dev = to_srnic_dev(ibpd->device);

	return mr_result(srnic_mr_reg_dmabuf(dev->tp.mpt, &dev->ibdev,
					     to_srnic_pd(ibpd)->pdn, dev->client,
					     fd, offset, length, iova, access));
}

/* NULL: the region is the same one, and so is its key. */
static struct ib_mr *srnic_rereg_user_mr(struct ib_mr *ibmr, int flags,
					 u64 start, u64 length, u64 iova,
					 int access, struct ib_pd *ibpd,
					 struct ib_udata *udata)
{
	const struct srnic_mr_rereg to = {
		.flags = flags,
		.client = to_srnic_dev(ibmr->device)->client,
		.start = start,
		.length = length,
		.iova = iova,
		.access = access,
		.pdn = ibpd ? to_srnic_pd(ibpd)->pdn : 0,
	};
	int err = srnic_mr_rereg(to_srnic_mr(ibmr), &to);

	return err ? ERR_PTR(err) : NULL;
}

static int srnic_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	return srnic_mr_destroy(to_srnic_mr(ibmr));
}

static struct ib_mr *srnic_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
				    u32 max_num_sg)
{
	struct srnic_dev *dev = to_srnic_dev(ibpd->device);

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	return mr_result(srnic_frmr_alloc(dev->tp.mpt, &dev->ibdev,
					  to_srnic_pd(ibpd)->pdn, max_num_sg));
}

static int srnic_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg,
			   int nents, unsigned int *offset)
{
	return srnic_frmr_map(to_srnic_mr(ibmr), sg, nents, offset);
}

static int srnic_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	return srnic_mw_alloc(&to_srnic_dev(ibmw->device)->tp.mws,
			      to_srnic_mw(ibmw), to_srnic_pd(ibmw->pd)->pdn,
			      ibmw->type);
}

static int srnic_dealloc_mw(struct ib_mw *ibmw)
{
	srnic_mw_dealloc(&to_srnic_dev(ibmw->device)->tp.mws,
			 to_srnic_mw(ibmw));
	return 0;
}

const struct ib_device_ops srnic_dev_ops = {
	.device_group = &srnic_attr_group,

	.alloc_hw_port_stats = srnic_alloc_hw_port_stats,
	.alloc_mr = srnic_alloc_mr,
	.alloc_mw = srnic_alloc_mw,
	.alloc_pd = srnic_alloc_pd,
	.alloc_ucontext = srnic_alloc_ucontext,
	.create_ah = srnic_create_ah,
	.create_cq = srnic_create_cq,
	.create_qp = srnic_create_qp,
	.create_user_ah = srnic_create_ah,
	.dealloc_mw = srnic_dealloc_mw,
	.dealloc_pd = srnic_dealloc_pd,
	.dealloc_ucontext = srnic_dealloc_ucontext,
	.dereg_mr = srnic_dereg_mr,
	.destroy_ah = srnic_destroy_ah,
	.destroy_cq = srnic_destroy_cq,
	.destroy_qp = srnic_destroy_qp,
	.disassociate_ucontext = srnic_disassociate_ucontext,
	.fill_res_cq_entry = srnic_fill_res_cq_entry,
	.fill_res_mr_entry = srnic_fill_res_mr_entry,
	.fill_res_qp_entry = srnic_fill_res_qp_entry,
	.get_dev_fw_str = srnic_get_dev_fw_str,
	.get_dma_mr = srnic_get_dma_mr,
	.get_hw_stats = srnic_get_hw_stats,
	.get_link_layer = srnic_get_link_layer,
	.get_port_immutable = srnic_get_port_immutable,
	.map_mr_sg = srnic_map_mr_sg,
	.mmap = srnic_ring_mmap,
	.mmap_free = srnic_ring_mmap_free,
	.modify_device = srnic_modify_device,
	.modify_qp = srnic_modify_qp,
	.poll_cq = srnic_poll_cq,
	.post_recv = srnic_post_recv,
	.post_send = srnic_post_send,
	.query_ah = srnic_query_ah,
	.query_device = srnic_query_device,
	.query_pkey = srnic_query_pkey,
	.query_port = srnic_query_port,
	.query_qp = srnic_query_qp,
	.reg_user_mr = srnic_reg_user_mr,
	.reg_user_mr_dmabuf = srnic_reg_user_mr_dmabuf,
	.req_notify_cq = srnic_req_notify_cq,
	.rereg_user_mr = srnic_rereg_user_mr,
	.resize_cq = srnic_resize_cq,

	INIT_RDMA_OBJ_SIZE(ib_ah, srnic_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, srnic_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_mw, srnic_mw, ibmw),
	INIT_RDMA_OBJ_SIZE(ib_pd, srnic_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, srnic_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, srnic_ucontext, ibuc),
};

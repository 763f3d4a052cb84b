// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions.
 *
 * A region is an MPT entry (its key and rights), an MTT (where it is) and what
 * keeps the memory there: pinned pages of RAM, or a hold on memory of a donor.
 *
 * Order of construction: entry reserved, memory acquired, MTT made, entry
 * filled in and published. A donor may revoke its memory from the moment the
 * hold exists, before the entry is published too: the callback kills the entry
 * whatever its state, publish doesn't bring it back, and the region is born
 * dead, as if the donor had gone a moment later. The callback uses the entry
 * and nothing else of the region.
 *
 * Order of destruction: entry killed, so that no packet uses the memory; hold
 * given back, after which no revoke is running or will come (peer.h), so that
 * none can kill the slot's next life; slot freed; MTT and pages.
 */
#include "mr.h"

#include <linux/err.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>

#include "mtt.h"
#include "peer.h"
#include "trace.h"

/* Rights that are enforced, and hints that may be ignored. */
#define MR_RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |	\
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)
#define MR_HINTS	(IB_ACCESS_HUGETLB | IB_ACCESS_OPTIONAL)

static int check_access(int access)
{
	if (access & ~(MR_RIGHTS | MR_HINTS))
		return -EOPNOTSUPP;
	/* IBTA 10.6.3.1: who may write from afar may write from here */
	if (access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC) &&
	    !(access & IB_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	return 0;
}

/* Neither the program's addresses nor the key's pass the end of 64 bits. */
static int check_range(u64 start, u64 length, u64 iova)
{
	if (!length)
		return 0;
	if (length > S64_MAX || length > SIZE_MAX ||
	    start + length < start || start + length > ULONG_MAX ||
	    iova + (length - 1) < iova)
		return -EINVAL;
	return 0;
}

/* An array: it stays where it is when the device is renamed meanwhile. */
static const char *device_name(const struct srnic_mr *mr)
{
	return mr->ibmr.device->name;
}

static void mr_revoke(void *ctx)
{
	struct srnic_mr *mr = ctx;

	if (srnic_mpt_kill(mr->mpt, mr->e, SRNIC_MPT_REVOKED))
		trace_key_dead(device_name(mr), mr->ibmr.lkey, true);
}

/* A region without memory and rights, its key chosen. */
static struct srnic_mr *mr_alloc(struct srnic_mpt *mpt, struct ib_device *ibdev)
{
	struct srnic_mr *mr;

	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->mpt = mpt;
	mr->e = srnic_mpt_alloc(mpt);
	if (IS_ERR(mr->e)) {
		int err = PTR_ERR(mr->e);

		kfree(mr);
		return ERR_PTR(err);
	}
	mr->ibmr.device = ibdev;
	mr->ibmr.lkey = mr->e->key;
	mr->ibmr.rkey = mr->e->key;
	return mr;
}

/* The entry is filled in. */
static void mr_publish(struct srnic_mr *mr)
{
	const struct srnic_mpt_entry *e = mr->e;

	if (srnic_mpt_publish(mr->e))
		trace_key_born(device_name(mr), e->key, e->kind, e->pdn,
			       e->access, e->iova, e->length,
			       mr->mtt ? mr->mtt->nruns : 0);
}

static int map_peer(struct srnic_mr *mr, u64 length)
{
	mr->mtt = srnic_mtt_alloc(1);
	if (!mr->mtt)
		return -ENOMEM;
	return srnic_mtt_add(mr->mtt,
			     (__force unsigned long)srnic_peer_addr(mr->peer),
			     length, true);
}

/*
 * Another thread may have mapped memory of a donor into the range after
 * srnic_peer_get() has looked at it. Pages that are pinned tell the truth. A
 * run of the list never has memory of two kinds (pages_are_mergeable()).
 */
static bool umem_has_peer(struct ib_umem *umem)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_sg(&umem->sgt_append.sgt, sg, i)
		if (srnic_peer_has_page(sg_page(sg)))
			return true;
	return false;
}

static int map_ram(struct srnic_mr *mr, struct ib_device *ibdev, u64 start,
		   u64 length, int access)
{
	struct srnic_mtt *mtt;
	struct ib_umem *umem;

	umem = ib_umem_get(ibdev, start, length, access);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	mr->umem = umem;
	/* no donor may have to wait for a region that it can't revoke */
	if (umem_has_peer(umem))
		return -EFAULT;
	mtt = srnic_mtt_from_sgl(umem->sgt_append.sgt.sgl,
				 umem->sgt_append.sgt.orig_nents,
				 ib_umem_offset(umem), length);
	if (IS_ERR(mtt))
		return PTR_ERR(mtt);
	mr->mtt = mtt;
	return 0;
}

static int mr_map(struct srnic_mr *mr, struct ib_device *ibdev,
		  struct device *client, u64 start, u64 length, int access)
{
	struct srnic_peer *peer;

	peer = srnic_peer_get(client, start, length, ib_access_writable(access),
			      mr_revoke, mr);
	if (IS_ERR(peer))
		return PTR_ERR(peer);
	if (!peer)
		return map_ram(mr, ibdev, start, length, access);
	mr->peer = peer;
	return map_peer(mr, length);
}

/**
 * srnic_mr_reg_user() - register memory of the calling program
 * @mpt: table for the key
 * @ibdev: device that pages are pinned for
 * @pdn: its protection domain
 * @client: PCI device on whose behalf memory of a donor is used, or NULL
 * @start: address in the program
 * @length: bytes; 0 makes a key for zero-length requests
 * @iova: address in requests of the byte at @start; any
 * @access: IB_ACCESS_*
 *
 * Context: process, the program's.
 * Return: the region; ERR_PTR(-EOPNOTSUPP): a right that we don't have;
 * ERR_PTR(-EINVAL): rights or range contradict themselves; ERR_PTR(-ENOMEM):
 * no memory, no key, or the program's limit of locked memory; ERR_PTR(-EFAULT):
 * no such memory, or it is being mapped anew; others from pinning the pages or
 * from the donor.
 */
struct srnic_mr *srnic_mr_reg_user(struct srnic_mpt *mpt, struct ib_device *ibdev,
				   u32 pdn, struct device *client, u64 start,
				   u64 length, u64 iova, int access)
{
	struct srnic_mr *mr;
	int err;

	err = check_access(access);
	if (!err)
		err = check_range(start, length, iova);
	if (err)
		return ERR_PTR(err);

	mr = mr_alloc(mpt, ibdev);
	if (IS_ERR(mr))
		return mr;
	if (length) {
		err = mr_map(mr, ibdev, client, start, length, access);
		if (err)
			goto destroy;
	}

	mr->e->kind = SRNIC_MPT_MR;
	mr->e->access = access & MR_RIGHTS;
	mr->e->pdn = pdn;
	mr->e->iova = iova;
	mr->e->length = length;
	mr->e->mtt = mr->mtt;
	mr->ibmr.iova = iova;
	mr->ibmr.length = length;
	mr_publish(mr);
	return mr;

destroy:
	srnic_mr_destroy(mr);
	return ERR_PTR(err);
}

/**
 * srnic_mr_reg_dma() - all kernel memory, for kernel users
 * @mpt: table for the key
 * @ibdev: device
 * @pdn: its protection domain
 * @access: IB_ACCESS_*
 *
 * Context: process.
 * Return: the region or an ERR_PTR as in srnic_mr_reg_user().
 */
struct srnic_mr *srnic_mr_reg_dma(struct srnic_mpt *mpt, struct ib_device *ibdev,
				  u32 pdn, int access)
{
	struct srnic_mr *mr;
	int err;

	err = check_access(access);
	if (err)
		return ERR_PTR(err);
	mr = mr_alloc(mpt, ibdev);
	if (IS_ERR(mr))
		return mr;
	mr->e->kind = SRNIC_MPT_DMA;
	mr->e->access = access & MR_RIGHTS;
	mr->e->pdn = pdn;
	mr->e->length = U64_MAX;
	mr_publish(mr);
	return mr;
}

/**
 * srnic_mr_destroy() - deregister
 * @mr: region; freed
 *
 * On return no byte of its memory is touched any more (srnic_mpt_kill()), and
 * its key is dead for as long as srnic_mpt_reuse_distance() says.
 *
 * Context: process.
 */
void srnic_mr_destroy(struct srnic_mr *mr)
{
	if (srnic_mpt_kill(mr->mpt, mr->e, SRNIC_MPT_INVALID))
		trace_key_dead(device_name(mr), mr->ibmr.lkey, false);
	if (mr->peer)
		srnic_peer_put(mr->peer);
	srnic_mpt_free(mr->mpt, mr->e);
	srnic_mtt_free(mr->mtt);
	if (mr->umem)
		ib_umem_release(mr->umem);
	kfree(mr);
}

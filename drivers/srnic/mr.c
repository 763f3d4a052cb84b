// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions.
 *
 * A region is an MPT entry (its key and rights) and a backing (its memory and
 * where that is; backing.c). Fast-register regions have tables of their own
 * instead of a backing (frmr.c), and the one of all kernel memory has nothing.
 *
 * Order of construction: entry reserved, memory held, entry filled in, made a
 * user of the backing, published. A donor may revoke its memory at any time in
 * between: publish doesn't bring a killed entry back, and the region is born
 * dead, as if the donor had gone a moment later.
 *
 * Order of destruction: entry killed, so that no packet uses the memory; backing
 * given back; slot freed. Both happen or neither: with windows bound, a region
 * stays.
 *
 * A region that is registered anew keeps its key. Its new memory is held before
 * its entry changes, and the old one given back afterwards; a failure leaves it
 * as it was.
 */
#include "mr.h"

#include <linux/err.h>
#include <linux/slab.h>

#include "mtt.h"
#include "trace.h"

/**
 * srnic_mr_check_access() - do these rights make sense?
 * @access: IB_ACCESS_*
 *
 * Return: 0; -EOPNOTSUPP: there is one that we don't have; -EINVAL: remote
 * writing without local writing.
 */
int srnic_mr_check_access(int access)
{
	if (access & ~(SRNIC_MR_RIGHTS | SRNIC_MR_HINTS | IB_ZERO_BASED))
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
	if (length > SRNIC_MAX_MR_SIZE || length > SIZE_MAX ||
	    start + length < start || start + length > ULONG_MAX ||
	    iova + (length - 1) < iova)
		return -EINVAL;
	return 0;
}

/**
 * srnic_mr_alloc() - a region without memory and rights
 * @mpt: table for the key
 * @ibdev: device
 *
 * Context: process.
 * Return: the region, its key reserved; ERR_PTR(-ENOMEM).
 */
struct srnic_mr *srnic_mr_alloc(struct srnic_mpt *mpt, struct ib_device *ibdev)
{
	struct srnic_mpt_entry *e;
	struct srnic_mr *mr;

	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	e = srnic_mpt_alloc(mpt);
	if (IS_ERR(e)) {
		kfree(mr);
		return ERR_CAST(e);
	}
	mr->mpt = mpt;
	mr->user.e = e;
	mr->ibmr.device = ibdev;
	mr->ibmr.lkey = e->key;
	mr->ibmr.rkey = e->key;
	return mr;
}

/* An array: it stays where it is when the device is renamed meanwhile. */
static const char *device_name(const struct srnic_mr *mr)
{
	return mr->ibmr.device->name;
}

static void trace_born(const struct srnic_mr *mr)
{
	const struct srnic_mpt_entry *e = mr->user.e;

	trace_key_born(device_name(mr), e->key, e->kind, e->pdn, e->access,
		       e->iova, e->length, mr->b ? mr->b->mtt->nruns : 0);
}

static void mr_publish(struct srnic_mr *mr)
{
	if (srnic_mpt_publish(mr->user.e))
		trace_born(mr);
}

static void set_backing(struct srnic_mr *mr, struct srnic_backing *b)
{
	mr->b = b;
	WRITE_ONCE(mr->memory, b ? srnic_backing_kind(b) : "ram");
}

/* Memory of the calling program; NULL where there are no bytes. */
static struct srnic_backing *get_memory(struct srnic_mpt *mpt,
					struct ib_device *ibdev,
					struct device *client, u64 start,
					u64 length, int access)
{
	if (!length)
		return NULL;
	return srnic_backing_get(mpt, ibdev, client, start, length, access);
}

static int check_request(u64 start, u64 length, u64 *iova, int access)
{
	int err = srnic_mr_check_access(access);

	if (access & IB_ZERO_BASED)
		*iova = 0;
	return err ?: check_range(start, length, *iova);
}

/*
 * The region, if its memory is there (NULL: of no bytes). Only then: a key that is
 * taken and never was would bring the next use of its value nearer.
 */
static struct srnic_mr *mr_new(struct srnic_mpt *mpt, struct ib_device *ibdev,
			       struct srnic_backing *b, u32 pdn, u64 iova,
			       u64 length, int access)
{
	struct srnic_mpt_entry *e;
	struct srnic_mr *mr;

	if (IS_ERR(b))
		return ERR_CAST(b);
	mr = srnic_mr_alloc(mpt, ibdev);
	if (IS_ERR(mr)) {
		srnic_backing_put(b);
		return mr;
	}
	e = mr->user.e;
	set_backing(mr, b);
	e->kind = SRNIC_MPT_MR;
	e->access = access & SRNIC_MR_RIGHTS;
	e->pdn = pdn;
	e->iova = iova;
	e->length = length;
	e->mtt = b ? b->mtt : NULL;
	mr->ibmr.iova = iova;
	mr->ibmr.length = length;
	srnic_backing_add(b, &mr->user);
	return mr;
}

/**
 * srnic_mr_reg_user() - register memory of the calling program
 * @mpt: table for the key
 * @ibdev: device that pages are pinned for
 * @pdn: its protection domain
 * @client: device on whose behalf memory of a donor is used
 * @start: address in the program
 * @length: bytes; 0 makes a key for zero-length requests
 * @iova: address in requests of the byte at @start; any; 0 with IB_ZERO_BASED
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
	struct srnic_backing *b;
	struct srnic_mr *mr;
	int err;

	err = check_request(start, length, &iova, access);
	if (err)
		return ERR_PTR(err);
	b = get_memory(mpt, ibdev, client, start, length, access);
	mr = mr_new(mpt, ibdev, b, pdn, iova, length, access);
	if (IS_ERR(mr))
		return mr;
	mr->start = start;
	mr->zero_based = access & IB_ZERO_BASED;
	mr_publish(mr);
	return mr;
}

/**
 * srnic_mr_reg_dmabuf() - register memory behind a dma-buf
 * @mpt: table for the key
 * @ibdev: device
 * @pdn: its protection domain
 * @client: device on whose behalf it is used
 * @fd: the dma-buf, of the calling program
 * @offset: where in it the region begins
 * @length: bytes, not 0
 * @iova: address in requests of the first one; any; 0 with IB_ZERO_BASED
 * @access: IB_ACCESS_*
 *
 * Context: process, the program's.
 * Return: the region, or an ERR_PTR as in srnic_mr_reg_user();
 * ERR_PTR(-EINVAL): the buffer is shorter than that, or none;
 * ERR_PTR(-EOPNOTSUPP): its exporter can't show it to the CPU; ERR_PTR(-EACCES):
 * it shall be written, and the file is for reading.
 */
struct srnic_mr *srnic_mr_reg_dmabuf(struct srnic_mpt *mpt,
				     struct ib_device *ibdev, u32 pdn,
				     struct device *client, int fd, u64 offset,
				     u64 length, u64 iova, int access)
{
	struct srnic_backing *b;
	struct srnic_mr *mr;
	int err;

	err = length ? check_request(0, length, &iova, access) : -EINVAL;
	if (err)
		return ERR_PTR(err);
	b = srnic_backing_get_dmabuf(mpt, ibdev, client, fd, offset, length, access);
	mr = mr_new(mpt, ibdev, b, pdn, iova, length, access);
	if (!IS_ERR(mr))
		mr_publish(mr);
	return mr;
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
	struct srnic_mpt_entry *e;
	struct srnic_mr *mr;
	int err;

	err = srnic_mr_check_access(access);
	if (err)
		return ERR_PTR(err);
	mr = srnic_mr_alloc(mpt, ibdev);
	if (IS_ERR(mr))
		return mr;
	e = mr->user.e;
	e->kind = SRNIC_MPT_DMA;
	/* windows need a table to be translated by */
	e->access = access & SRNIC_MR_RIGHTS & ~IB_ACCESS_MW_BIND;
	e->pdn = pdn;
	e->length = U64_MAX;
	mr_publish(mr);
	return mr;
}

static bool same_place(const struct srnic_mtt *a, const struct srnic_mtt *b)
{
	return a->nruns == b->nruns &&
	       !memcmp(a->run, b->run, a->nruns * sizeof(*a->run));
}

/*
 * The memory of a region that has been held for reading, held for writing. The
 * program may have mapped something else there meanwhile, which isn't what the
 * region is about.
 */
static struct srnic_backing *get_writable(struct srnic_mr *mr,
					  const struct srnic_mr_rereg *to)
{
	struct srnic_backing *b;

	/* only a program's memory can be asked for again */
	if (mr->b->dmabuf)
		return ERR_PTR(-EPERM);
	b = get_memory(mr->mpt, mr->ibmr.device, to->client, mr->start,
		       mr->ibmr.length, to->access);
	if (b == ERR_PTR(-EFAULT))
		return ERR_PTR(-EPERM);
	if (!IS_ERR_OR_NULL(b) && !same_place(b->mtt, mr->b->mtt)) {
		srnic_backing_put(b);
		return ERR_PTR(-EPERM);
	}
	return b;
}

/* What the region shall be translated by; mr->b where that stays. */
static struct srnic_backing *next_backing(struct srnic_mr *mr,
					  const struct srnic_mr_rereg *to,
					  const struct srnic_mpt_grant *grant)
{
	if (to->flags & IB_MR_REREG_TRANS)
		return get_memory(mr->mpt, mr->ibmr.device, to->client,
				  to->start, to->length,
				  grant->access);
	if (mr->b && !mr->b->writable && ib_access_writable(grant->access))
		return get_writable(mr, to);
	return mr->b;
}

/* Without memory, before and after. */
static int change_empty(struct srnic_mr *mr, const struct srnic_mpt_grant *grant)
{
	enum srnic_key_reason why;

	local_bh_disable();
	why = srnic_mpt_change(mr->mpt, mr->user.e, false, grant);
	local_bh_enable();
	return why == SRNIC_KEY_OK ? 0 : -EINVAL;
}

/**
 * srnic_mr_rereg() - register a region anew, under the same key
 * @mr: region from srnic_mr_reg_user()
 * @to: what shall be another
 *
 * Each packet sees the old registration or the new one as a whole. On return no
 * byte of memory that isn't in the new one is touched any more.
 *
 * Context: process, that of the program; calls for one region one at a time.
 * Return: 0; -EPERM: its memory can't be written, and now it shall be; -EBUSY:
 * windows are bound; -ENODEV: its memory, or the new one, has been revoked;
 * others as in srnic_mr_reg_user(). Nothing has changed then.
 */
int srnic_mr_rereg(struct srnic_mr *mr, const struct srnic_mr_rereg *to)
{
	struct srnic_mpt_entry *e = mr->user.e;
	struct srnic_mpt_grant grant = srnic_mpt_granted(e);
	struct srnic_backing *old = mr->b;
	struct srnic_backing *b;
	bool given = to->flags & IB_MR_REREG_ACCESS;
	int access = given ? to->access : grant.access;
	bool zero_based = given ? access & IB_ZERO_BASED : mr->zero_based;
	u64 iova = zero_based ? 0 : to->iova;
	int err;

	if (to->flags & ~IB_MR_REREG_SUPPORTED || e->kind != SRNIC_MPT_MR)
		return -EOPNOTSUPP;
	err = srnic_mr_check_access(access);
	if (!err && to->flags & IB_MR_REREG_TRANS)
		err = check_range(to->start, to->length, iova);
	if (err)
		return err;

	grant.access = access & SRNIC_MR_RIGHTS;
	if (to->flags & IB_MR_REREG_PD)
		grant.pdn = to->pdn;
	b = next_backing(mr, to, &grant);
	if (IS_ERR(b))
		return PTR_ERR(b);
	if (to->flags & IB_MR_REREG_TRANS) {
		grant.iova = iova;
		grant.length = to->length;
		grant.mtt_off = 0;
	}
	grant.mtt = b ? b->mtt : NULL;

	err = b || old ? srnic_backing_change(old, b, &mr->user, &grant) :
			 change_empty(mr, &grant);
	if (err) {
		if (b != old)
			srnic_backing_put(b);
		return err;
	}
	if (b != old)
		srnic_backing_put(old);
	set_backing(mr, b);
	if (to->flags & IB_MR_REREG_TRANS)
		mr->start = to->start;
	mr->zero_based = zero_based;
	mr->ibmr.iova = grant.iova;
	mr->ibmr.length = grant.length;
	trace_born(mr);
	return 0;
}

/**
 * srnic_mr_destroy() - deregister
 * @mr: region; freed
 *
 * On return no byte of its memory is touched any more (srnic_mpt_kill()), and
 * its key is dead for as long as srnic_mpt_reuse_distance() says.
 *
 * Context: process.
 * Return: 0; -EBUSY: windows are bound to it (IBTA 10.6.7.2.7), and it stays.
 */
int srnic_mr_destroy(struct srnic_mr *mr)
{
	struct srnic_mpt_entry *e = mr->user.e;
	int err;

	if (mr->b) {
		err = srnic_backing_close(mr->b, &mr->user);
		if (err)
			return err;
		srnic_backing_put(mr->b);
	} else if (srnic_mpt_kill(mr->mpt, e, SRNIC_MPT_INVALID)) {
		trace_key_dead(device_name(mr), e->key, false);
	}
	srnic_mpt_free(mr->mpt, e);
	srnic_mtt_free(mr->mtt);
	srnic_mtt_free(mr->next);
	kfree(mr);
	return 0;
}

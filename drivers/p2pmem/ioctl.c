// SPDX-License-Identifier: GPL-2.0
/*
 * The requests to a device and to a region, see include/uapi/linux/p2pmem.h.
 *
 * What a program says is copied once and checked in the copy. What it gets is
 * copied out before a new file descriptor is installed: until then no other
 * thread can have it, so a program is never left with one that it wasn't told of.
 */
#include <linux/ctype.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/pci.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <uapi/linux/p2pmem.h>

#include "dmabuf.h"
#include "ioctl.h"
#include "place.h"
#include "region.h"
#include "regionfd.h"

/* The layout is for ever. */
static_assert(sizeof(struct p2pmem_info) == 64);
static_assert(sizeof(struct p2pmem_alloc) == 96);
static_assert(sizeof(struct p2pmem_export) == 56);
static_assert(sizeof(struct p2pmem_flush) == 32);
static_assert(sizeof(struct p2pmem_distance_query) == 40);
static_assert((int)P2PMEM_DISTANCE_FUNCTION == P2PMEM_FUNCTION &&
	      (int)P2PMEM_DISTANCE_SWITCH == P2PMEM_SWITCH &&
	      (int)P2PMEM_DISTANCE_ROOT == P2PMEM_ROOT &&
	      (int)P2PMEM_DISTANCE_ANY == P2PMEM_ANY);
static_assert(sizeof(struct p2pmem_region_info) == 96);
static_assert(P2PMEM_KIND_BAR == 0 && P2PMEM_KIND_CMB == 1 &&
	      P2PMEM_KIND_PMR == 2);

union argument {
	struct p2pmem_info info;
	struct p2pmem_alloc alloc;
	struct p2pmem_export export;
	struct p2pmem_flush flush;
	struct p2pmem_distance_query distance;
	struct p2pmem_region_info region;
};

static bool all_zero(const __u64 *reserved, size_t size)
{
	return !memchr_inv(reserved, 0, size);
}

static int find_available(struct p2pmem *p, __u64 *bytes)
{
	int ret = p2pmem_enter(p);

	if (ret)
		return ret;
	*bytes = p2pmem_available(p);
	p2pmem_leave(p);
	return 0;
}

static u32 flags_of(const struct p2pmem *p)
{
	return p->d.persistent ? P2PMEM_INFO_PERSISTENT : 0;
}

static int do_info(struct p2pmem_asked *asked, union argument *arg)
{
	struct p2pmem *p = asked->p;

	arg->info = (struct p2pmem_info) {
		.size = p->d.size,
		.flags = flags_of(p),
		.kind = p->d.kind,
	};
	return find_available(p, &arg->info.available);
}

static int do_region_info(struct p2pmem_asked *asked, union argument *arg)
{
	const struct p2pmem_region *r = asked->r;
	struct p2pmem *p = asked->p;

	arg->region = (struct p2pmem_region_info) {
		.size = (u64)r->npages << PAGE_SHIFT,
		.place = (u64)r->first << PAGE_SHIFT,
		.flags = flags_of(p),
		.device = MINOR(p->dev.devt),
	};
	memcpy(arg->region.name, r->name, sizeof(r->name));
	return find_available(p, &arg->region.available);
}

static bool good_name(const char *name)
{
	size_t i, len = strnlen(name, P2PMEM_NAME_SIZE);

	for (i = 0; i < len; i++)
		if (!isascii(name[i]) || !isprint(name[i]))
			return false;
	return len < P2PMEM_NAME_SIZE;
}

/* A descriptor for a file that isn't installed before the program knows of it. */
static int make_fd(struct p2pmem_asked *asked, struct file *file, u32 flags)
{
	asked->fd = get_unused_fd_flags(flags & P2PMEM_FD_CLOEXEC ? O_CLOEXEC : 0);
	if (asked->fd < 0) {
		fput(file);
		return asked->fd;
	}
	asked->file = file;
	return 0;
}

static int alloc_file(struct p2pmem_asked *asked, struct p2pmem_alloc *alloc)
{
	struct p2pmem_region *r;
	struct file *file;

	r = p2pmem_region_new(asked->p, asked->account,
			      alloc->offset >> PAGE_SHIFT,
			      alloc->size >> PAGE_SHIFT, alloc->name);
	if (IS_ERR(r))
		return PTR_ERR(r);
	alloc->place = (u64)r->first << PAGE_SHIFT;
	file = p2pmem_regionfd_new(r, asked->of->f_mode);
	if (IS_ERR(file)) {
		p2pmem_region_put(r);
		return PTR_ERR(file);
	}
	return make_fd(asked, file, alloc->flags);
}

static int do_alloc(struct p2pmem_asked *asked, union argument *arg)
{
	struct p2pmem_alloc *alloc = &arg->alloc;
	int ret;

	if (alloc->flags & ~P2PMEM_FD_CLOEXEC || !good_name(alloc->name) ||
	    !all_zero(alloc->reserved, sizeof(alloc->reserved)))
		return -EINVAL;
	if (!alloc->size || !PAGE_ALIGNED(alloc->size | alloc->offset) ||
	    (alloc->offset && !asked->p->d.persistent))
		return -EINVAL;

	ret = p2pmem_enter(asked->p);
	if (ret)
		return ret;
	ret = alloc_file(asked, alloc);
	p2pmem_leave(asked->p);
	alloc->fd = asked->fd;
	return ret;
}

static int do_export(struct p2pmem_asked *asked, union argument *arg)
{
	struct p2pmem_export *export = &arg->export;
	u64 size = (u64)asked->r->npages << PAGE_SHIFT;
	struct file *file;
	int ret;

	if (export->flags & ~P2PMEM_FD_CLOEXEC ||
	    !all_zero(export->reserved, sizeof(export->reserved)))
		return -EINVAL;
	if (!PAGE_ALIGNED(export->size | export->offset) ||
	    export->offset >= size || export->size > size - export->offset)
		return -EINVAL;
	if (!export->size)
		export->size = size - export->offset;

	file = p2pmem_dmabuf_export(asked->r, export->offset, export->size,
				    asked->of->f_mode);
	if (IS_ERR(file))
		return PTR_ERR(file);
	ret = make_fd(asked, file, export->flags);
	export->fd = asked->fd;
	return ret;
}

static int do_flush(struct p2pmem_asked *asked, union argument *arg)
{
	const struct p2pmem_flush *flush = &arg->flush;
	const struct p2pmem_region *r = asked->r;
	struct p2pmem *p = asked->p;
	u64 first = r ? (u64)r->first << PAGE_SHIFT : 0;
	u64 size = r ? (u64)r->npages << PAGE_SHIFT : p->d.size;
	int ret, lost;

	if (!all_zero(flush->reserved, sizeof(flush->reserved)) ||
	    flush->offset >= size || flush->size > size - flush->offset)
		return -EINVAL;
	if (!p->d.persistent)
		return -EOPNOTSUPP;

	ret = p2pmem_enter(p);
	if (ret)
		return ret;
	ret = p2pmem_persist(p, first + flush->offset,
			     flush->size ?: size - flush->offset);
	p2pmem_leave(p);
	lost = file_check_and_advance_wb_err(asked->of);
	return ret ?: lost;
}

/*
 * A function stays where it is for as long as somebody has a reference on it (place.c),
 * but for an SR-IOV virtual one, which keeps the physical one only while it is
 * registered. Not by the PCI layer's lock for that: who unplugs a donor has it for as
 * long as others have pages pinned. A signal ends this wait.
 */
static int keep_place(struct pci_dev *pdev)
{
	if (!pdev->is_virtfn)
		return 0;
	while (!device_trylock(&pdev->dev)) {
		if (schedule_timeout_interruptible(1) && signal_pending(current))
			return -EINTR;
	}
	if (device_is_registered(&pdev->dev))
		return 0;
	device_unlock(&pdev->dev);
	return -ENXIO;
}

static void release_place(struct pci_dev *pdev)
{
	if (pdev->is_virtfn)
		device_unlock(&pdev->dev);
}

static int do_distance(struct p2pmem_asked *asked, union argument *arg)
{
	struct p2pmem_distance_query *d = &arg->distance;
	struct pci_dev *pdev;
	int ret;

	if (d->device >= 32 || d->function >= 8 || d->pad ||
	    !all_zero(d->reserved, sizeof(d->reserved)))
		return -EINVAL;
	if (d->domain > INT_MAX)
		return -ENXIO;
	pdev = pci_get_domain_bus_and_slot(d->domain, d->bus,
					   PCI_DEVFN(d->device, d->function));
	if (!pdev)
		return -ENXIO;
	ret = keep_place(pdev);
	if (ret)
		goto put;

	/* not the other way round: a donor is withdrawn under its function's lock */
	ret = p2pmem_enter(asked->p);
	if (!ret) {
		d->distance = p2pmem_place_distance(asked->p->d.pdev, pdev);
		d->links = p2pmem_place_links(asked->p->d.pdev, pdev);
		p2pmem_leave(asked->p);
	}
	release_place(pdev);
put:
	pci_dev_put(pdev);
	return ret;
}

/**
 * struct request - one kind of request
 * @cmd: as this kernel knows it
 * @least: bytes of its first version
 * @device: the device answers it
 * @region: a region does
 * @run: what it does, with a copy of what the program says
 */
struct request {
	unsigned int cmd;
	unsigned int least;
	bool device;
	bool region;
	int (*run)(struct p2pmem_asked *asked, union argument *arg);
};

static const struct request requests[] = {
	{ P2PMEM_IOC_INFO,	  64, true,  false, do_info },
	{ P2PMEM_IOC_ALLOC,	  96, true,  false, do_alloc },
	{ P2PMEM_IOC_EXPORT,	  56, false, true,  do_export },
	{ P2PMEM_IOC_FLUSH,	  32, true,  true,  do_flush },
	{ P2PMEM_IOC_DISTANCE,	  40, true,  true,  do_distance },
	{ P2PMEM_IOC_REGION_INFO, 96, false, true,  do_region_info },
};

/* The size is the program's. */
static unsigned int without_size(unsigned int cmd)
{
	return cmd & ~(_IOC_SIZEMASK << _IOC_SIZESHIFT);
}

static const struct request *find(unsigned int cmd, bool region)
{
	const struct request *q;

	for (q = requests; q < requests + ARRAY_SIZE(requests); q++)
		if (without_size(q->cmd) == without_size(cmd))
			return (region ? q->region : q->device) ? q : NULL;
	return NULL;
}

static int copy_out(void __user *user, size_t given, const union argument *arg,
		    size_t known)
{
	size_t both = min(given, known);

	if (copy_to_user(user, arg, both) ||
	    clear_user(user + both, given - both))
		return -EFAULT;
	return 0;
}

static int run(struct p2pmem_asked *asked, const struct request *q,
	       void __user *user, size_t given)
{
	size_t known = _IOC_SIZE(q->cmd);
	union argument arg = {};
	int ret;

	if (_IOC_DIR(q->cmd) & _IOC_WRITE) {
		ret = copy_struct_from_user(&arg, known, user, given);
		if (ret)
			return ret;
	}
	ret = q->run(asked, &arg);
	if (!ret && _IOC_DIR(q->cmd) & _IOC_READ)
		ret = copy_out(user, given, &arg, known);
	return ret;
}

/**
 * p2pmem_ioctl_run() - what a program asks of a device or of a region
 * @asked: of what
 * @cmd: request
 * @user: its argument
 *
 * Return: 0, or one of the errors in include/uapi/linux/p2pmem.h.
 */
long p2pmem_ioctl_run(struct p2pmem_asked *asked, unsigned int cmd,
		      void __user *user)
{
	const struct request *q = find(cmd, asked->r);
	int ret;

	if (!q)
		return -ENOTTY;
	if (READ_ONCE(asked->p->dying))
		return -ENODEV;
	if (_IOC_SIZE(cmd) < q->least)
		return -EINVAL;

	ret = run(asked, q, user, _IOC_SIZE(cmd));
	if (!asked->file)
		return ret;
	if (ret) {
		put_unused_fd(asked->fd);
		fput(asked->file);
		return ret;
	}
	fd_install(asked->fd, asked->file);
	return 0;
}

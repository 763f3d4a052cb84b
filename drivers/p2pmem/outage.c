// SPDX-License-Identifier: GPL-2.0
/*
 * Outages: for a time the memory doesn't do what memory does, since its function is
 * reset or asleep or has switched it off. Writes are dropped then without a word,
 * for on PCI nobody answers a write.
 *
 * Persistent memory has its content again afterwards, but for these writes. Whoever
 * may have made some is told when it asks whether they are durable: each open file and
 * each hold that is older than the end of the outage gets EIO, once, as fsync() of a
 * file on a disk does it, by the same means (errseq_t). The sequence of errors is that
 * of the inode that all files of the donation map; how far each has seen it is in its
 * struct file and in its hold. While the outage lasts nothing is durable. Programs
 * have no mapping of it then, for what they read would be no content of theirs (all
 * ones, as a rule), and get SIGBUS; afterwards faults bring the same pages again. Holds
 * stay, and with them keys and dma-bufs, which are to be as good as before afterwards:
 * who reads under one meanwhile gets what the device gives, and is told only when it
 * asks whether its writes are durable.
 *
 * The content of volatile memory is gone. Nobody shall take for data what is there
 * instead, least of all a peer with a key, or a disk that O_DIRECT writes it to. So
 * it is as if the donor had gone: holds are revoked, mappings give SIGBUS, and the
 * region is no good any more. Only the donation stays: a withdrawal has to wait for
 * pins, as long as others want, while who has begun the reset has the function
 * locked; and the pages that the PCI layer makes can't be given back before the
 * driver unbinds. Who has pages pinned, for I/O under way, has them until it is
 * done, and the region as long: nobody else gets what is written late. The same goes
 * for DMA of dma-buf importers: the fences aren't waited for (hold.c: it isn't settled),
 * what they are on stays theirs.
 *
 * Until the end nobody gets volatile memory: it could not be zeroed. A reset may also
 * fail. So before the end the function must answer, and volatile memory be memory by
 * the same test as when it was donated, in places that nobody has pinned. Else the
 * outage goes on, until the end of another one is tried, or the donor goes.
 *
 * Nothing here waits for others without a bound: for mmap() and faults that are within
 * the gate, revoke callbacks that run, programs that are about to have a VMA linked.
 */
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/pci.h>

#include "donation.h"
#include "events.h"
#include "hold.h"
#include "outage.h"
#include "region.h"

/**
 * p2pmem_outage_open() - a new file of a donation
 * @p: the donation
 * @file: which maps its inode from now on, and is told of outages to come only
 */
void p2pmem_outage_open(struct p2pmem *p, struct file *file)
{
	file->f_mapping = p->inode->i_mapping;
	file->f_wb_err = p2pmem_outage_now(p);
}

/**
 * p2pmem_outage_now() - what somebody has seen who comes now
 * @p: the donation
 *
 * Not errseq_sample(), after which an error that nobody has been told of would be
 * told to who comes later.
 *
 * Context: any.
 */
errseq_t p2pmem_outage_now(struct p2pmem *p)
{
	errseq_t seen = 0;

	errseq_check_and_advance(&p->inode->i_mapping->wb_err, &seen);
	return seen;
}

/**
 * p2pmem_outage_check() - has there been an outage?
 * @p: the donation
 * @seen: what the caller has seen so far. Not protected: of two at the same time
 *	both may be told.
 *
 * Context: any.
 * Return: 0, or -EIO, once.
 */
int p2pmem_outage_check(struct p2pmem *p, errseq_t *seen)
{
	return errseq_check_and_advance(&p->inode->i_mapping->wb_err, seen);
}

/**
 * p2pmem_region_enter() - p2pmem_enter() of a region's donation
 * @r: the region
 *
 * Return: also -EIO when the region's content has been lost.
 */
int p2pmem_region_enter(struct p2pmem_region *r)
{
	int ret = p2pmem_enter(r->p);

	if (ret || !r->lost)
		return ret;
	p2pmem_leave(r->p);
	return -EIO;
}

/**
 * p2pmem_is_out() - may no program have it mapped, for now?
 * @p: the donation, entered
 */
bool p2pmem_is_out(struct p2pmem *p)
{
	lockdep_assert_held(&p->gate);

	return READ_ONCE(p->out);
}

/**
 * p2pmem_notify_outage() - there was an outage, and it is over
 * @p: what p2pmem_donate() returned, not yet withdrawn
 *
 * For a donor of persistent memory that finds out afterwards. It must be called
 * before @persist succeeds again: whoever has been served before gets -EIO once from
 * what would have said that its writes are durable.
 *
 * Context: any.
 */
void p2pmem_notify_outage(struct p2pmem *p)
{
	filemap_set_wb_err(p->inode->i_mapping, -EIO);
}
EXPORT_SYMBOL_GPL(p2pmem_notify_outage);

static void set_out(struct p2pmem *p, bool out)
{
	struct p2pmem_region *r;

	/* whoever zeroes gigabytes behind the gate stops now */
	if (out)
		WRITE_ONCE(p->out, true);
	down_write(&p->gate);
	mutex_lock(&p->lock);
	if (!p->d.persistent)
		list_for_each_entry(r, &p->regions, node)
			r->lost = true;
	mutex_unlock(&p->lock);
	/* who sees it over sees the report of it as well */
	smp_store_release(&p->out, out);
	up_write(&p->gate);
}

/*
 * Once may not do: a mmap() that got through the gate before it closed has its pages in
 * a VMA that the inode doesn't know yet. It soon will.
 */
static void unmap(struct p2pmem *p)
{
	for (;;) {
		unmap_mapping_range(p->inode->i_mapping, 0, 0, 1);
		if (!p2pmem_regions_mapped(p))
			return;
		usleep_range(500, 2000);
	}
}

/**
 * p2pmem_outage_begin() - the memory is about to stop working for a while
 * @p: what p2pmem_donate() returned, not yet withdrawn
 *
 * When this returns programs get SIGBUS, and nothing is durable where the memory is
 * persistent. Where it isn't, holds are revoked and nobody gets memory: it is as if it
 * had been withdrawn, but for pins, and DMA of dma-buf importers, which aren't waited
 * for. In an outage that an error has prolonged, it is the next one.
 *
 * Context: process context, sleeps; from the donor's reset_prepare(), error_detected()
 * or suspend(), with nothing else of this donation under way.
 */
void p2pmem_outage_begin(struct p2pmem *p)
{
	if (p->dying)
		return;
	dev_warn(&p->dev, "outage: %s\n",
		 p->d.persistent ? "nothing is durable until it ends" :
				   "what is in use is taken away");
	set_out(p, true);
	if (!p->d.persistent)
		p2pmem_holds_revoke(p, true);
	unmap(p);
	p2pmem_event(p, "outage", "OUTAGE", "begin");
}
EXPORT_SYMBOL_GPL(p2pmem_outage_begin);

static const char verdict[] = "stays out until a reset that helps, or a new bind";

static bool answers(const struct p2pmem *p)
{
	struct pci_dev *pdev = p->d.pdev;
	u16 command;

	if (pci_read_config_word(pdev, PCI_COMMAND, &command) || PCI_POSSIBLE_ERROR(command))
		pci_err(pdev, "p2pmem: BAR %d %s: the function doesn't answer\n",
			p->d.bar, verdict);
	else if (!(command & PCI_COMMAND_MEMORY))
		pci_err(pdev, "p2pmem: BAR %d %s: the function's memory is switched off\n",
			p->d.bar, verdict);
	else
		return true;
	return false;
}

/*
 * Where nobody has anything: who has pages pinned may write to them at any time, as a
 * promised importer of a dma-buf may. Nobody gets any until the end. False: there is no
 * such page.
 */
static bool find_free(struct p2pmem *p, u64 at[P2PMEM_PROBES])
{
	const unsigned long *map = p->pool.map;
	unsigned long n = p->pool.npages, first, middle, last;

	mutex_lock(&p->lock);
	first = find_first_zero_bit(map, n);
	middle = find_next_zero_bit(map, n, n / 2);
	for (last = n - 1; first < n && test_bit(last, map); last--)
		;
	mutex_unlock(&p->lock);
	if (first == n)
		return false;
	at[0] = (u64)first << PAGE_SHIFT;
	at[1] = (u64)(middle < n ? middle : first) << PAGE_SHIFT;
	at[2] = ((u64)(last + 1) << PAGE_SHIFT) - P2PMEM_PROBE_SIZE;
	return true;
}

/* Holders may write to persistent memory at any time, which a test would undo. */
static bool works(struct p2pmem *p)
{
	u64 at[P2PMEM_PROBES];

	if (!answers(p))
		return false;
	return p->d.persistent || !find_free(p, at) || !p2pmem_selftest(p, at, verdict);
}

static void end(struct p2pmem *p)
{
	p2pmem_notify_outage(p);
	set_out(p, false);
	dev_info(&p->dev, "outage: over%s\n",
		 p->d.persistent ? ", what was written meanwhile is lost" : "");
	p2pmem_event(p, "outage", "OUTAGE", "end");
	if (p->failed)
		p2pmem_notify_health(p, "ok");
	p->failed = false;
}

/**
 * p2pmem_outage_end() - the memory works again
 * @p: what p2pmem_outage_begin() was called with. If it wasn't, nothing happens.
 *
 * That is tried, but for what persistent memory contains: if it doesn't keep what is
 * written (yet), @persist must say so. If it fails the outage goes on, which a line in
 * the log and the health say. The end may be tried again, as may another beginning.
 *
 * Context: as for p2pmem_outage_begin().
 * Return: 0, -EIO if the outage goes on.
 */
int p2pmem_outage_end(struct p2pmem *p)
{
	if (p->dying || !p->out)
		return 0;
	if (works(p)) {
		end(p);
		return 0;
	}
	p->failed = true;
	p2pmem_notify_health(p, "out of order");
	return -EIO;
}
EXPORT_SYMBOL_GPL(p2pmem_outage_end);

// SPDX-License-Identifier: GPL-2.0
/*
 * The memory translation table.
 *
 * A region is a list of runs: pieces of kernel-addressable memory, each as long
 * as the memory happens to be contiguous. Pages that follow each other, in
 * physical as in kernel addresses, are one run, so that 1 GiB of 2 MiB pages
 * needs 512 of them and a range of a BAR needs one, and copies go run by run.
 *
 * Invariants
 *   - run[0].off is 0, and run[i + 1].off is run[i].off + run[i].len; the last
 *     one ends at len. So the run of an offset is found by binary search, and
 *     those behind it follow one by one.
 *   - No run is empty, no two neighbours could be one.
 *   - A table doesn't change after it has been published in an MPT entry; what
 *     keeps it and its memory alive for a reader is that entry's guard.
 *
 * The list is one allocation. kvmalloc() gives 2 GiB at the most, which is
 * some 89 million runs: 341 GiB of memory without two neighbouring pages.
 */
#include "mtt.h"

#include <linux/bug.h>
#include <linux/err.h>
#include <linux/io.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/string.h>

/**
 * srnic_mtt_alloc() - an empty table
 * @max_runs: room
 *
 * Return: the table, or NULL without memory (or for more runs than fit into
 * one allocation).
 */
struct srnic_mtt *srnic_mtt_alloc(u32 max_runs)
{
	struct srnic_mtt *mtt;

	mtt = kvzalloc(struct_size(mtt, run, max_runs),
		       GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (mtt)
		mtt->max = max_runs;
	return mtt;
}

/**
 * srnic_mtt_free() - free a table, not the memory it names
 * @mtt: table that no reader uses, or NULL
 */
void srnic_mtt_free(struct srnic_mtt *mtt)
{
	kvfree(mtt);
}

/**
 * srnic_mtt_reset() - an empty table again
 * @mtt: table that no reader uses
 */
void srnic_mtt_reset(struct srnic_mtt *mtt)
{
	mtt->len = 0;
	mtt->nruns = 0;
}

/* The bytes at @addr go on where @run ends. */
static bool touches(const struct srnic_run *run, unsigned long addr, bool io)
{
	return run->io == io && run->addr + run->len == addr;
}

/**
 * srnic_mtt_add() - one more piece at the end of the region
 * @mtt: table under construction
 * @addr: kernel address of RAM, or an __iomem address
 * @len: bytes; 0 adds nothing
 * @io: which of the two
 *
 * Return: 0; -ENOSPC: no room for another run; -EOVERFLOW: more than addresses
 * can count.
 */
int srnic_mtt_add(struct srnic_mtt *mtt, unsigned long addr, u64 len, bool io)
{
	struct srnic_run *last;
	u64 end;

	if (!len)
		return 0;
	if (len > ULONG_MAX - addr || check_add_overflow(mtt->len, len, &end) ||
	    end > S64_MAX)
		return -EOVERFLOW;

	last = mtt->nruns ? &mtt->run[mtt->nruns - 1] : NULL;
	if (last && touches(last, addr, io)) {
		last->len += len;
	} else {
		if (mtt->nruns == mtt->max)
			return -ENOSPC;
		mtt->run[mtt->nruns++] = (struct srnic_run) {
			.off = mtt->len,
			.addr = addr,
			.len = len,
			.io = io,
		};
	}
	mtt->len = end;
	return 0;
}

/* A walk over the pieces of a scatterlist that belong to a region. */
struct sgl_walk {
	struct scatterlist *sg;
	unsigned int nents;
	u64 skip;
	u64 left;
};

/* The next piece; false when the region is complete or the list is. */
static bool sgl_next(struct sgl_walk *w, unsigned long *addr, u64 *len)
{
	while (w->left && w->nents) {
		struct scatterlist *sg = w->sg;
		u64 skip = min_t(u64, w->skip, sg->length);

		*addr = (unsigned long)sg_virt(sg) + skip;
		*len = min_t(u64, sg->length - skip, w->left);
		w->skip -= skip;
		w->left -= *len;
		w->sg = sg_next(sg);
		w->nents--;
		if (*len)
			return true;
	}
	return false;
}

/* How many runs srnic_mtt_add() will make of it. */
static u32 count_runs(struct sgl_walk w)
{
	unsigned long addr, end = 0;
	u32 n = 0;
	u64 len;

	while (sgl_next(&w, &addr, &len)) {
		if (!n || addr != end)
			n++;
		end = addr + len;
	}
	return n;
}

/**
 * srnic_mtt_from_sgl() - the table of a list of RAM pages
 * @sgl: the list; every entry is contiguous memory with a kernel address
 * @nents: its entries
 * @first_off: bytes of it before the region starts
 * @len: bytes of the region
 *
 * Context: process, may sleep.
 * Return: the table; ERR_PTR(-EINVAL): the list is shorter than that;
 * ERR_PTR(-ENOMEM).
 */
struct srnic_mtt *srnic_mtt_from_sgl(struct scatterlist *sgl, unsigned int nents,
				     u64 first_off, u64 len)
{
	struct sgl_walk w = {
		.sg = sgl, .nents = nents, .skip = first_off, .left = len,
	};
	struct srnic_mtt *mtt;
	unsigned long addr;
	u64 n;
	int err;

	mtt = srnic_mtt_alloc(count_runs(w));
	if (!mtt)
		return ERR_PTR(-ENOMEM);
	while (sgl_next(&w, &addr, &n)) {
		err = srnic_mtt_add(mtt, addr, n, false);
		if (err)
			goto free;
	}
	if (mtt->len == len)
		return mtt;
	err = -EINVAL;
free:
	srnic_mtt_free(mtt);
	return ERR_PTR(err);
}

/**
 * srnic_mtt_find() - the run that holds an offset
 * @mtt: table
 * @off: less than mtt->len
 *
 * Return: the run.
 */
const struct srnic_run *srnic_mtt_find(const struct srnic_mtt *mtt, u64 off)
{
	u32 lo = 0;
	u32 hi = mtt->nruns;

	/* run[lo] starts at or before off, run[hi] (if any) behind it */
	while (hi - lo > 1) {
		u32 mid = lo + (hi - lo) / 2;

		if (mtt->run[mid].off <= off)
			lo = mid;
		else
			hi = mid;
	}
	return &mtt->run[lo];
}

/* Bytes of @run from @off on, @len at the most. */
static size_t run_bytes(const struct srnic_run *run, u64 off, u64 len)
{
	return min_t(u64, run->len - (off - run->off), len);
}

static void run_put(const struct srnic_run *run, u64 off, size_t n,
		    struct srnic_cursor *src)
{
	const void *p;
	size_t part;

	while (n) {
		part = srnic_cursor_take(src, n, &p);
		if (run->io)
			memcpy_toio(srnic_run_io(run, off), p, part);
		else
			memcpy(srnic_run_ram(run, off), p, part);
		off += part;
		n -= part;
	}
	if (run->io)
		wmb();	/* a BAR may be write-combining: out, before anyone is told */
}

/**
 * srnic_mtt_put() - bytes into the region
 * @mtt: table
 * @off: where; @off + @len is not more than mtt->len
 * @len: how many
 * @src: from here, moved on by @len
 */
void srnic_mtt_put(const struct srnic_mtt *mtt, u64 off, u64 len,
		   struct srnic_cursor *src)
{
	const struct srnic_run *run;
	size_t n;

	if (!len)
		return;
	for (run = srnic_mtt_find(mtt, off); len; run++) {
		n = run_bytes(run, off, len);
		run_put(run, off, n, src);
		off += n;
		len -= n;
	}
}

/**
 * srnic_mtt_get() - bytes out of the region
 * @mtt: table
 * @off: where; @off + @len is not more than mtt->len
 * @len: how many
 * @dst: to here
 */
void srnic_mtt_get(const struct srnic_mtt *mtt, u64 off, u64 len, void *dst)
{
	const struct srnic_run *run;
	size_t n;

	if (!len)
		return;
	for (run = srnic_mtt_find(mtt, off); len; run++) {
		n = run_bytes(run, off, len);
		if (run->io)
			memcpy_fromio(dst, srnic_run_io(run, off), n);
		else
			memcpy(dst, srnic_run_ram(run, off), n);
		dst += n;
		off += n;
		len -= n;
	}
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory translation table: where the bytes of one region are. See mtt.c.
 */
#ifndef SRNIC_MTT_H
#define SRNIC_MTT_H

#include <linux/compiler_types.h>
#include <linux/types.h>

#include "seg.h"

struct scatterlist;
struct srnic_backing;
struct srnic_peer;

/**
 * struct srnic_run - contiguous kernel-addressable memory
 * @off: its offset from the start of the region
 * @addr: kernel address: a RAM address or an __iomem token
 * @len: bytes, not 0
 * @io: @addr is I/O memory
 */
struct srnic_run {
	u64 off;
	unsigned long addr;
	u64 len : 63;
	u64 io : 1;
};

/**
 * struct srnic_mtt - where a region is
 * @owner: what keeps the memory there, where windows may be bound to it
 * @peer: whom to tell how much is copied, or NULL
 * @len: bytes in all
 * @nruns: number of runs
 * @max: room in @run
 * @run: ascending, without gaps, merged where neighbours touch
 */
struct srnic_mtt {
	struct srnic_backing *owner;
	struct srnic_peer *peer;
	u64 len;
	u32 nruns;
	u32 max;
	struct srnic_run run[] __counted_by(max);
};

struct srnic_mtt *srnic_mtt_alloc(u32 max_runs);
void srnic_mtt_free(struct srnic_mtt *mtt);
/* Empty again, with the room it has. */
void srnic_mtt_reset(struct srnic_mtt *mtt);
/* -ENOSPC when full, -EOVERFLOW; 0 */
int srnic_mtt_add(struct srnic_mtt *mtt, unsigned long addr, u64 len, bool io);
/* Pages of RAM in sgl: skip first_off bytes of it, take len bytes */
struct srnic_mtt *srnic_mtt_from_sgl(struct scatterlist *sgl, unsigned int nents,
				     u64 first_off, u64 len);

/* Callers have checked off + len <= mtt->len. */
void srnic_mtt_put(const struct srnic_mtt *mtt, u64 off, u64 len,
		   struct srnic_cursor *src);
void srnic_mtt_get(const struct srnic_mtt *mtt, u64 off, u64 len, void *dst);
/* The run that holds off; never NULL for off < len */
const struct srnic_run *srnic_mtt_find(const struct srnic_mtt *mtt, u64 off);

static inline void __iomem *srnic_run_io(const struct srnic_run *run, u64 off)
{
	return (void __iomem *)(run->addr + (unsigned long)(off - run->off));
}

static inline void *srnic_run_ram(const struct srnic_run *run, u64 off)
{
	return (void *)(run->addr + (unsigned long)(off - run->off));
}

#endif /* SRNIC_MTT_H */

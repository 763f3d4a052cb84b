/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which pages of a donation are in use. Pure bookkeeping over page numbers:
 * no device, no lock, no struct page.
 */
#ifndef _P2PMEM_POOL_H
#define _P2PMEM_POOL_H

#include <linux/types.h>

/**
 * struct p2pmem_pool - pages of one donation
 * @npages: how many there are, numbered from 0
 * @used: how many of them are in use
 * @hint: no page below this one is free
 * @map: one bit per page, set while in use
 * @claims: of a claimed pool, how many claims cover each page; else NULL
 *
 * A pool is either allocated from, where the pool chooses a place that nobody
 * else has, or claimed from, where the caller names the place and may share
 * it. Where somebody else's pool is what is allocated from, this one is told
 * what came out of it (p2pmem_pool_mark()). The caller serialises all calls.
 */
struct p2pmem_pool {
	unsigned long npages;
	unsigned long used;
	unsigned long hint;
	unsigned long *map;
	u32 *claims;
};

int p2pmem_pool_init(struct p2pmem_pool *pool, unsigned long npages,
		     bool claimed);
void p2pmem_pool_destroy(struct p2pmem_pool *pool);
int p2pmem_pool_alloc(struct p2pmem_pool *pool, unsigned long npages,
		      unsigned long *first);
int p2pmem_pool_mark(struct p2pmem_pool *pool, unsigned long first,
		     unsigned long npages);
int p2pmem_pool_claim(struct p2pmem_pool *pool, unsigned long first,
		      unsigned long npages);
void p2pmem_pool_free(struct p2pmem_pool *pool, unsigned long first,
		      unsigned long npages);

/** p2pmem_pool_available() - number of pages that nobody uses */
static inline unsigned long
p2pmem_pool_available(const struct p2pmem_pool *pool)
{
	return pool->npages - pool->used;
}

/** p2pmem_pool_shared() - do several claims cover this page? */
static inline bool p2pmem_pool_shared(const struct p2pmem_pool *pool,
				      unsigned long page)
{
	return pool->claims && pool->claims[page] > 1;
}

#endif /* _P2PMEM_POOL_H */

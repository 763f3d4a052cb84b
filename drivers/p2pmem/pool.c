// SPDX-License-Identifier: GPL-2.0
/*
 * Which pages of a donation are in use, see pool.h.
 *
 * Allocation is first fit from the lowest free page. A donation is carved
 * into few, long-lived and mostly large pieces: what matters is that the free
 * space stays in one piece at the top, and that the answer is exact.
 */
#include <linux/bitmap.h>
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/mm.h>

#include "pool.h"

/**
 * p2pmem_pool_init() - a pool in which every page is free
 * @pool: to be initialised
 * @npages: number of pages
 * @claimed: callers name places (p2pmem_pool_claim()) instead of asking for
 *	some place (p2pmem_pool_alloc())
 *
 * Return: 0, -EINVAL for a size no kernel can have, -ENOMEM.
 */
int p2pmem_pool_init(struct p2pmem_pool *pool, unsigned long npages,
		     bool claimed)
{
	/* the bitmap functions count in unsigned int */
	if (!npages || npages > INT_MAX)
		return -EINVAL;

	*pool = (struct p2pmem_pool) { .npages = npages };
	pool->map = kvcalloc(BITS_TO_LONGS(npages), sizeof(*pool->map),
			     GFP_KERNEL);
	if (!pool->map)
		return -ENOMEM;
	if (!claimed)
		return 0;

	pool->claims = kvcalloc(npages, sizeof(*pool->claims), GFP_KERNEL);
	if (!pool->claims) {
		p2pmem_pool_destroy(pool);
		return -ENOMEM;
	}
	return 0;
}

/** p2pmem_pool_destroy() - free what p2pmem_pool_init() allocated */
void p2pmem_pool_destroy(struct p2pmem_pool *pool)
{
	kvfree(pool->claims);
	kvfree(pool->map);
	pool->claims = NULL;
	pool->map = NULL;
}

/**
 * p2pmem_pool_alloc() - take pages that nobody else has
 * @pool: a pool that is not claimed from
 * @npages: how many, contiguous
 * @first: where the number of the first one is stored
 *
 * Return: 0, -EINVAL when @npages is 0, -ENOMEM when no such gap is left.
 */
int p2pmem_pool_alloc(struct p2pmem_pool *pool, unsigned long npages,
		      unsigned long *first)
{
	unsigned long at;

	if (WARN_ON_ONCE(pool->claims) || !npages)
		return -EINVAL;
	if (npages > p2pmem_pool_available(pool))
		return -ENOMEM;

	pool->hint = find_next_zero_bit(pool->map, pool->npages, pool->hint);
	at = bitmap_find_next_zero_area(pool->map, pool->npages, pool->hint,
					npages, 0);
	if (at >= pool->npages)
		return -ENOMEM;

	bitmap_set(pool->map, at, npages);
	pool->used += npages;
	*first = at;
	return 0;
}

/**
 * p2pmem_pool_mark() - pages that somebody else has chosen are in use
 * @pool: a pool that is not claimed from
 * @first: number of the first page
 * @npages: how many
 *
 * Return: 0, -EINVAL when the place is not within the pool, -EBUSY when one of
 * the pages is in use already.
 */
int p2pmem_pool_mark(struct p2pmem_pool *pool, unsigned long first,
		     unsigned long npages)
{
	if (WARN_ON_ONCE(pool->claims))
		return -EINVAL;
	if (!npages || first >= pool->npages || npages > pool->npages - first)
		return -EINVAL;
	if (find_next_bit(pool->map, first + npages, first) < first + npages)
		return -EBUSY;

	bitmap_set(pool->map, first, npages);
	pool->used += npages;
	return 0;
}

static bool can_claim(const struct p2pmem_pool *pool, unsigned long first,
		      unsigned long npages)
{
	unsigned long i;

	for (i = first; i < first + npages; i++)
		if (pool->claims[i] == U32_MAX)
			return false;
	return true;
}

/**
 * p2pmem_pool_claim() - use pages at a given place, with others or alone
 * @pool: a pool that is claimed from
 * @first: number of the first page
 * @npages: how many
 *
 * Return: 0, -EINVAL when the place is not within the pool, -EUSERS when a
 * page has more claims than can be counted.
 */
int p2pmem_pool_claim(struct p2pmem_pool *pool, unsigned long first,
		      unsigned long npages)
{
	unsigned long i;

	if (WARN_ON_ONCE(!pool->claims))
		return -EINVAL;
	if (!npages || first >= pool->npages || npages > pool->npages - first)
		return -EINVAL;
	if (!can_claim(pool, first, npages))
		return -EUSERS;

	for (i = first; i < first + npages; i++) {
		if (!pool->claims[i]++) {
			__set_bit(i, pool->map);
			pool->used++;
		}
	}
	return 0;
}

static void unclaim(struct p2pmem_pool *pool, unsigned long first,
		    unsigned long npages)
{
	unsigned long i;

	for (i = first; i < first + npages; i++) {
		if (!--pool->claims[i]) {
			__clear_bit(i, pool->map);
			pool->used--;
		}
	}
}

/**
 * p2pmem_pool_free() - give back what was allocated or claimed
 * @pool: the pool
 * @first: number of the first page
 * @npages: how many; exactly one earlier allocation or claim
 */
void p2pmem_pool_free(struct p2pmem_pool *pool, unsigned long first,
		      unsigned long npages)
{
	unsigned long last = first + npages;

	/* a hole means that somebody else owns the pages by now */
	if (WARN_ON_ONCE(last > pool->npages || last < first ||
			 find_next_zero_bit(pool->map, last, first) < last))
		return;

	if (pool->claims) {
		unclaim(pool, first, npages);
		return;
	}
	bitmap_clear(pool->map, first, npages);
	pool->used -= npages;
	pool->hint = min(pool->hint, first);
}

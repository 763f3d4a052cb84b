// SPDX-License-Identifier: GPL-2.0
/*
 * The key cache.
 *
 * Decoding a key costs eight loads, each of which waits for the one before (key.c).
 * A CPU that sees the same few keys all the time finds their slots in one load: a
 * table of each CPU, in which a key has one place.
 *
 * It can't be wrong: which slot a key names never changes, and whether the key is
 * that of the slot's present life, and for what, is asked of the entry in each
 * case. So nothing has to be told when a key dies. A line is written when a key was
 * let in, so that keys that somebody tries out don't throw others out, and is given
 * up when its key turns out to be dead.
 */
#include "key_cache.h"

#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/log2.h>

/**
 * srnic_key_cache_init() - an empty cache
 * @cache: filled
 * @lines: of each CPU, up to SRNIC_KEY_CACHE_MAX, rounded up to a power of two of at
 *	least 2; 0: no cache
 *
 * Return: 0, -EINVAL, -ENOMEM.
 */
int srnic_key_cache_init(struct srnic_key_cache *cache, unsigned int lines)
{
	*cache = (struct srnic_key_cache) {};
	if (lines > SRNIC_KEY_CACHE_MAX)
		return -EINVAL;
	if (!lines)
		return 0;
	cache->bits = order_base_2(lines) ?: 1;
	cache->line = __alloc_percpu(sizeof(*cache->line) << cache->bits,
				     SMP_CACHE_BYTES);
	return cache->line ? 0 : -ENOMEM;
}

/**
 * srnic_key_cache_exit() - the end of a cache
 * @cache: cache that nobody uses
 */
void srnic_key_cache_exit(struct srnic_key_cache *cache)
{
	free_percpu(cache->line);
}

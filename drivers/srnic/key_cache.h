/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which slot a key names, remembered: in front of the key codec. See key_cache.c.
 */
#ifndef SRNIC_KEY_CACHE_H
#define SRNIC_KEY_CACHE_H

#include <linux/hash.h>
#include <linux/percpu.h>

#define SRNIC_KEY_CACHE_MAX	4096	/* lines; what alloc_percpu() gives */

/**
 * struct srnic_key_line - one key
 * @key: it; 0, which is never given out: none
 * @slot: of the key table
 */
struct srnic_key_line {
	u32 key;
	u32 slot;
};

/**
 * struct srnic_key_cache - the cache of a table
 * @line: of each CPU, 2^@bits of them; NULL: there is no cache
 * @bits: log2 of the lines
 */
struct srnic_key_cache {
	struct srnic_key_line __percpu *line;
	unsigned int bits;
};

int srnic_key_cache_init(struct srnic_key_cache *cache, unsigned int lines);
void srnic_key_cache_exit(struct srnic_key_cache *cache);

/* The one line where the key may stand. Bottom halves disabled; there is a cache. */
static inline struct srnic_key_line *
srnic_key_cache_line(const struct srnic_key_cache *cache, u32 key)
{
	return this_cpu_ptr(cache->line) + (hash_32(key, 32) >> (32 - cache->bits));
}

#endif /* SRNIC_KEY_CACHE_H */

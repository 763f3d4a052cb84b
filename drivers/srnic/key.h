/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The key codec: what a key's 32 bits say, and to whom. See key.c.
 */
#ifndef SRNIC_KEY_H
#define SRNIC_KEY_H

#include <linux/types.h>

/* Table sizes that the codec knows: 2^order slots. */
#define SRNIC_KEY_MIN_ORDER	8
#define SRNIC_KEY_MAX_ORDER	23

struct srnic_key_codec;

/* Do they differ in the low byte at the most? The handle names slot and life. */
static inline bool srnic_key_same_handle(u32 a, u32 b)
{
	return a >> 8 == b >> 8;
}

struct srnic_key_codec *srnic_key_codec_alloc(unsigned int order);
struct srnic_key_codec *
srnic_key_codec_alloc_from(unsigned int order,
			   void (*random)(void *buf, size_t len));
void srnic_key_codec_free(struct srnic_key_codec *kc);

/* Bijection between (slot, generation mod 2^(32 - order)) and key. */
u32 srnic_key_encode(const struct srnic_key_codec *kc, u32 slot, u32 gen);
/* The slot that a key belongs to; every 32 bit number has one. */
u32 srnic_key_slot(const struct srnic_key_codec *kc, u32 key);
/* The generation of a key; used by tests and for telling stale from unknown. */
u32 srnic_key_gen(const struct srnic_key_codec *kc, u32 key);

#endif /* SRNIC_KEY_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Random numbers for tests: the same in each run, so that a failure can be
 * looked at again.
 */
#ifndef SRNIC_TEST_RNG_H
#define SRNIC_TEST_RNG_H

#include <linux/math.h>
#include <linux/prandom.h>
#include <linux/types.h>

static inline u32 rng_u32(struct rnd_state *rng)
{
	return prandom_u32_state(rng);
}

static inline u64 rng_u64(struct rnd_state *rng)
{
	return (u64)rng_u32(rng) << 32 | rng_u32(rng);
}

/* 0 to @n - 1 */
static inline u32 rng_below(struct rnd_state *rng, u32 n)
{
	return reciprocal_scale(rng_u32(rng), n);
}

#endif /* SRNIC_TEST_RNG_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Random numbers for tests. The same in each run, or, from rng_start(), those of a seed
 * that scripts/kunit chooses, tells and can be given: a failure can be looked at again.
 */
#ifndef SRNIC_TEST_RNG_H
#define SRNIC_TEST_RNG_H

#include <linux/math.h>
#include <linux/prandom.h>
#include <linux/types.h>

/* Of this run, a parameter of the module (mem_module.c). */
extern unsigned int rng_seed;

/* @own: so that no two tests have the same numbers. */
#define rng_start(rng, own)	\
	prandom_seed_state(rng, ((u64)rng_seed << 32) + (own))

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

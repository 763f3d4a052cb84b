/* SPDX-License-Identifier: GPL-2.0 */
/* The tests' random numbers are the fuzzer's input, zeros behind its end. */
#ifndef FUZZ_LINUX_PRANDOM_H
#define FUZZ_LINUX_PRANDOM_H

#include <string.h>

#include <linux/types.h>

struct rnd_state {
	const u8 *at;
	size_t left;
};

static inline u32 prandom_u32_state(struct rnd_state *state)
{
	size_t n = state->left < sizeof(u32) ? state->left : sizeof(u32);
	u32 val = 0;

	memcpy(&val, state->at, n);
	state->at += n;
	state->left -= n;
	return val;
}

#endif /* FUZZ_LINUX_PRANDOM_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FUZZ_LINUX_MATH_H
#define FUZZ_LINUX_MATH_H

#include <linux/types.h>

static inline u32 reciprocal_scale(u32 val, u32 ep_ro)
{
	return (u64)val * ep_ro >> 32;
}

#endif /* FUZZ_LINUX_MATH_H */

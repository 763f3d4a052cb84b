/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packet sequence numbers: 24 bits, compared by serial arithmetic (IBTA 9.7.1):
 * of two PSNs the later one is less than 2^23 ahead.
 */
#ifndef SRNIC_PSN_H
#define SRNIC_PSN_H

#include <linux/types.h>

#define SRNIC_PSN_MASK	0xffffffu

static inline u32 srnic_psn_add(u32 psn, u32 n)
{
	return (psn + n) & SRNIC_PSN_MASK;
}

/**
 * srnic_psn_diff() - how far @a is ahead of @b
 * @a: PSN
 * @b: PSN
 *
 * Return: -2^23 to 2^23 - 1; negative when @a is the earlier one.
 */
static inline s32 srnic_psn_diff(u32 a, u32 b)
{
	return (s32)((a - b) << 8) >> 8;
}

#endif /* SRNIC_PSN_H */

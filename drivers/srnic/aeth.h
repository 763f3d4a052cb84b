/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The syndrome of the ACK extended transport header (IBTA 9.7.5.2, tables 44
 * to 47): three bits say what it is, five bits hold credits, a timer, a code.
 */
#ifndef SRNIC_AETH_H
#define SRNIC_AETH_H

#include <linux/types.h>

enum srnic_aeth_type {
	SRNIC_AETH_ACK		= 0x00,
	SRNIC_AETH_RNR_NAK	= 0x20,
	SRNIC_AETH_NAK		= 0x60,
};

#define SRNIC_AETH_TYPE_MASK	0x60	/* bit 7 is reserved */
#define SRNIC_AETH_VALUE_MASK	0x1f

/* End-to-end flow control isn't used: 'no limit' (IBTA 9.7.7.2.1). */
#define SRNIC_AETH_NO_CREDITS	0x1f

enum srnic_nak_code {
	SRNIC_NAK_PSN_SEQ	= 0,
	SRNIC_NAK_INV_REQ	= 1,
	SRNIC_NAK_REM_ACCESS	= 2,
	SRNIC_NAK_REM_OP	= 3,
};

/**
 * srnic_rnr_ns() - the time that an RNR timer code stands for (IBTA table 46)
 * @code: 5 bits
 *
 * From code 2 on, each even code is twice the even one before, and an odd
 * code lies half-way between its neighbours: 10 us, 20 us, 30 us, 40 us,
 * 60 us, 80 us ... 491.52 ms. Code 0 is the longest time of all.
 *
 * Return: nanoseconds.
 */
static inline u64 srnic_rnr_ns(u8 code)
{
	code &= SRNIC_AETH_VALUE_MASK;
	if (code == 0)
		return 655360000ull;
	if (code < 4)
		return code * 10000ull;
	return (code & 1 ? 30000ull : 20000ull) << (code / 2 - 1);
}

#endif /* SRNIC_AETH_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * In the place of the driver's trace.h: two test modules must not offer the same
 * events. tests/vm/ledger.t sees the real ones.
 */
#ifndef SRNIC_TRACE_H
#define SRNIC_TRACE_H

#include <linux/types.h>

static inline void trace_key_born(const char *dev, u32 key, u8 kind, u32 pdn,
				  u32 access, u64 iova, u64 length, u32 runs)
{
}

static inline void trace_key_dead(const char *dev, u32 key, bool revoked)
{
}

static inline void trace_key_refused(const char *dev, const char *reason,
				     u32 key, u64 addr, u64 len, u32 qpn,
				     u32 psn, u8 opcode, const u8 *peer)
{
}

#endif /* SRNIC_TRACE_H */

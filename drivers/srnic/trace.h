/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints: a key's birth, its death, and each refusal in between. They speak
 * in plain numbers, so that every layer may call them.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM srnic

#if !defined(SRNIC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define SRNIC_TRACE_H

#include <linux/tracepoint.h>

/* From now on the key works. */
TRACE_EVENT(key_born,
	TP_PROTO(const char *dev, u32 key, u8 kind, u32 pdn, u32 access,
		 u64 iova, u64 length, u32 runs),
	TP_ARGS(dev, key, kind, pdn, access, iova, length, runs),
	TP_STRUCT__entry(
		__string(dev, dev)
		__field(u32, key)
		__field(u8, kind)
		__field(u32, pdn)
		__field(u32, access)
		__field(u64, iova)
		__field(u64, length)
		__field(u32, runs)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->key = key;
		__entry->kind = kind;
		__entry->pdn = pdn;
		__entry->access = access;
		__entry->iova = iova;
		__entry->length = length;
		__entry->runs = runs;
	),
	TP_printk("%s key=0x%08x kind=%u pd=%u access=0x%x iova=0x%llx length=%llu runs=%u",
		  __get_str(dev), __entry->key, __entry->kind, __entry->pdn,
		  __entry->access, __entry->iova, __entry->length,
		  __entry->runs)
);

/* From now on it doesn't: deregistered, or its donor has gone. */
TRACE_EVENT(key_dead,
	TP_PROTO(const char *dev, u32 key, bool revoked),
	TP_ARGS(dev, key, revoked),
	TP_STRUCT__entry(
		__string(dev, dev)
		__field(u32, key)
		__field(bool, revoked)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->key = key;
		__entry->revoked = revoked;
	),
	TP_printk("%s key=0x%08x revoked=%d", __get_str(dev), __entry->key,
		  __entry->revoked)
);

/* Somebody has presented a key for what it doesn't allow. */
TRACE_EVENT(key_refused,
	TP_PROTO(const char *dev, const char *reason, u32 key, u64 addr,
		 u64 len, u32 qpn, u32 psn, u8 opcode, const u8 *peer),
	TP_ARGS(dev, reason, key, addr, len, qpn, psn, opcode, peer),
	TP_STRUCT__entry(
		__string(dev, dev)
		__string(reason, reason)
		__field(u32, key)
		__field(u64, addr)
		__field(u64, len)
		__field(u32, qpn)
		__field(u32, psn)
		__field(u8, opcode)
		__array(u8, peer, 16)
	),
	TP_fast_assign(
		__assign_str(dev);
		__assign_str(reason);
		__entry->key = key;
		__entry->addr = addr;
		__entry->len = len;
		__entry->qpn = qpn;
		__entry->psn = psn;
		__entry->opcode = opcode;
		memcpy(__entry->peer, peer, 16);
	),
	TP_printk("%s reason=%s key=0x%08x addr=0x%llx len=%llu qpn=0x%06x peer=%pI6c psn=0x%06x opcode=0x%02x",
		  __get_str(dev), __get_str(reason), __entry->key,
		  __entry->addr, __entry->len, __entry->qpn, __entry->peer,
		  __entry->psn, __entry->opcode)
);

#endif /* SRNIC_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>

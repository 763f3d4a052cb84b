/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bytes through a key: check in the MPT, then copy by the MTT. The only way in
 * which the transport touches memory; addresses of kernel users (virtual DMA)
 * are resolved here as well.
 *
 * All functions: bottom halves disabled.
 */
#ifndef SRNIC_ACCESS_H
#define SRNIC_ACCESS_H

#include "mpt.h"
#include "seg.h"

enum srnic_atomic_op {
	SRNIC_ATOMIC_CMP_SWAP,
	SRNIC_ATOMIC_FETCH_ADD,
};

/* The first n of rq->len bytes from *src into the region. */
enum srnic_key_reason srnic_access_put(struct srnic_mpt *mpt,
				       const struct srnic_mpt_req *rq, u64 n,
				       struct srnic_cursor *src);
/* rq->len bytes from the region to dst. */
enum srnic_key_reason srnic_access_get(struct srnic_mpt *mpt,
				       const struct srnic_mpt_req *rq, void *dst);
/* Only the check. */
enum srnic_key_reason srnic_access_probe(struct srnic_mpt *mpt,
					 const struct srnic_mpt_req *rq);
/*
 * 8 bytes, atomic against every srnic on this host and, in RAM, against the
 * CPU. *orig is the value before. -EINVAL where the address is not aligned,
 * otherwise 0 with the key's verdict in *why.
 */
int srnic_access_atomic(struct srnic_mpt *mpt, const struct srnic_mpt_req *rq,
			enum srnic_atomic_op op, u64 compare, u64 swap_add,
			u64 *orig, enum srnic_key_reason *why);

#endif /* SRNIC_ACCESS_H */

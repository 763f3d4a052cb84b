/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ledger of refusals: the last keys of a device that were refused, to whom,
 * for what and why.
 */
#ifndef SRNIC_LEDGER_H
#define SRNIC_LEDGER_H

#include <rdma/ib_verbs.h>

#include "mpt.h"

#define SRNIC_LEDGER_SIZE	256

/**
 * struct srnic_refusal - one line of the ledger
 * @when: nanoseconds since 1970
 * @why: the reason
 * @opcode: of the packet (BTH) that was received, or not sent for it
 * @qpn: whose check it was: the local QP
 * @psn: of that packet
 * @peer: where the packet came from, or would have gone to
 * @rq: what was wanted. A remote key where it needs a remote right, else a local
 *	one
 */
struct srnic_refusal {
	u64 when;
	enum srnic_key_reason why;
	u8 opcode;
	u32 qpn;
	u32 psn;
	union ib_gid peer;
	struct srnic_mpt_req rq;
};

struct srnic_ledger;

struct srnic_ledger *srnic_ledger_create(void);
void srnic_ledger_destroy(struct srnic_ledger *ledger);
void srnic_ledger_add(struct srnic_ledger *ledger,
		      const struct srnic_refusal *r);
/* At most SRNIC_LEDGER_SIZE, oldest first; returns how many. */
u32 srnic_ledger_copy(struct srnic_ledger *ledger, struct srnic_refusal *to);

#endif /* SRNIC_LEDGER_H */

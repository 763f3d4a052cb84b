/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _P2PMEM_HOLD_H
#define _P2PMEM_HOLD_H

#include <linux/types.h>

struct p2pmem;

void p2pmem_holds_revoke(struct p2pmem *p, bool all);

#endif /* _P2PMEM_HOLD_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _P2PMEM_HOLD_H
#define _P2PMEM_HOLD_H

struct p2pmem;

void p2pmem_holds_revoke(struct p2pmem *p);

#endif /* _P2PMEM_HOLD_H */

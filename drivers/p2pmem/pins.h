/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who has pages of a donation pinned.
 */
#ifndef _P2PMEM_PINS_H
#define _P2PMEM_PINS_H

struct p2pmem;

void p2pmem_pins_name(struct p2pmem *p);

#endif /* _P2PMEM_PINS_H */

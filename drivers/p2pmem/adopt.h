/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that other drivers have published.
 */
#ifndef _P2PMEM_ADOPT_H
#define _P2PMEM_ADOPT_H

struct p2pmem_backing;

/* adopt.c, or adopt_none.c, see Kbuild */
int p2pmem_adopt_start(void);
void p2pmem_adopt_stop(void);

/* backing_p2pdma.c */
extern const struct p2pmem_backing p2pmem_shared_backing;

#endif /* _P2PMEM_ADOPT_H */

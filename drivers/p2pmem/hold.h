/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _P2PMEM_HOLD_H
#define _P2PMEM_HOLD_H

#include <linux/types.h>

struct device;
struct p2pmem;
struct p2pmem_hold;
struct p2pmem_hold_ops;
struct p2pmem_region;

struct p2pmem_hold *p2pmem_hold_region(struct p2pmem_region *r,
				       struct device *client, u64 offset,
				       size_t length,
				       const struct p2pmem_hold_ops *ops,
				       void *ctx);
struct p2pmem_hold *p2pmem_hold_nobodys(struct p2pmem_region *r, u64 offset,
					size_t length,
					const struct p2pmem_hold_ops *ops,
					void *ctx);
void p2pmem_holds_revoke(struct p2pmem *p, bool all);
void p2pmem_holds_settle(struct p2pmem *p, bool all);

#endif /* _P2PMEM_HOLD_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _P2PMEM_EVENTS_H
#define _P2PMEM_EVENTS_H

struct attribute_group;
struct p2pmem;

#define P2PMEM_HEALTH_MAX	64

void p2pmem_event(struct p2pmem *p, const char *what, const char *key,
		  const char *value);

extern const struct attribute_group p2pmem_health_group;

#endif /* _P2PMEM_EVENTS_H */

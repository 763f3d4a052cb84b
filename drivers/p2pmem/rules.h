/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _P2PMEM_RULES_H
#define _P2PMEM_RULES_H

#include "policy.h"

struct attribute_group;

enum p2pmem_distance p2pmem_rules_default(void);

extern const struct attribute_group p2pmem_rules_group;

#endif /* _P2PMEM_RULES_H */

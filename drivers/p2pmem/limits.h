/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who has how much of a donation, and how much one may have.
 */
#ifndef _P2PMEM_LIMITS_H
#define _P2PMEM_LIMITS_H

struct attribute_group;
struct cred;
struct p2pmem;
struct p2pmem_account;

struct p2pmem_account *p2pmem_account_new(struct p2pmem *p,
					  const struct cred *cred);
void p2pmem_account_close(struct p2pmem *p, struct p2pmem_account *a);

int p2pmem_charge(struct p2pmem *p, struct p2pmem_account *a,
		  unsigned long npages);
void p2pmem_uncharge(struct p2pmem *p, struct p2pmem_account *a,
		     unsigned long npages);

void p2pmem_limits_init(struct p2pmem *p);
extern const struct attribute_group p2pmem_limits_group;

#endif /* _P2PMEM_LIMITS_H */

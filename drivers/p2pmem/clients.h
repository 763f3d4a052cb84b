/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who has asked for a donation's memory.
 */
#ifndef _P2PMEM_CLIENTS_H
#define _P2PMEM_CLIENTS_H

#include <linux/list.h>
#include <linux/types.h>

#include "policy.h"

struct device;
struct p2pmem;

#define P2PMEM_CLIENTS_IDLE	32

/**
 * struct p2pmem_clients - the clients of one donation
 * @list: the one that asked last is the first
 * @idle: how many of them have no hold, %P2PMEM_CLIENTS_IDLE at most
 */
struct p2pmem_clients {
	struct list_head list;
	unsigned int idle;
};

struct p2pmem_client;

void p2pmem_clients_init(struct p2pmem_clients *all);
void p2pmem_clients_destroy(struct p2pmem_clients *all);

struct p2pmem_client *p2pmem_client_new(struct p2pmem *p, struct device *dev);
int p2pmem_client_admit(struct p2pmem *p, struct p2pmem_client **c);
void p2pmem_client_leave(struct p2pmem *p, struct p2pmem_client *c);
bool p2pmem_client_allowed(const struct p2pmem *p,
			   const struct p2pmem_client *c);
int p2pmem_clients_list(struct p2pmem *p, char *buf);

#endif /* _P2PMEM_CLIENTS_H */

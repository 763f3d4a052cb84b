/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rules, as functions of what they are given: no device, no lock.
 */
#ifndef _P2PMEM_POLICY_H
#define _P2PMEM_POLICY_H

#include <linux/types.h>

/**
 * enum p2pmem_distance - how far a client is from a donor
 * @P2PMEM_FUNCTION: it is the donor's own PCI function
 * @P2PMEM_SWITCH: both are below one PCI bridge that is no root port
 * @P2PMEM_ROOT: both are below one host bridge
 * @P2PMEM_ANY: neither, or the client has no place in the PCI tree
 * @P2PMEM_DISTANCES: how many there are
 *
 * The same words are the levels: a level allows all distances up to its own.
 */
enum p2pmem_distance {
	P2PMEM_FUNCTION,
	P2PMEM_SWITCH,
	P2PMEM_ROOT,
	P2PMEM_ANY,
	P2PMEM_DISTANCES,
};

/**
 * struct p2pmem_tree - what a tree of PCI functions says of itself
 * @above: the bridge that a node is right below, NULL on a root bus
 * @root_port: is this bridge a root port?
 * @root: what stands for the host bridge that a node is below
 */
struct p2pmem_tree {
	void *(*above)(void *node);
	bool (*root_port)(void *bridge);
	void *(*root)(void *node);
};

/**
 * struct p2pmem_candidate - a donor that may be chosen
 * @distance: of the client that is farthest from it
 * @available: bytes that nobody uses
 * @number: N of p2pmemN
 */
struct p2pmem_candidate {
	enum p2pmem_distance distance;
	u64 available;
	unsigned int number;
};

enum p2pmem_distance p2pmem_policy_distance(const struct p2pmem_tree *t,
					    void *a, void *b);
bool p2pmem_policy_allows(enum p2pmem_distance level,
			  enum p2pmem_distance distance);
bool p2pmem_policy_better(const struct p2pmem_candidate *a,
			  const struct p2pmem_candidate *b);
const char *p2pmem_policy_name(enum p2pmem_distance distance);
int p2pmem_policy_parse(const char *text, enum p2pmem_distance *level);

#endif /* _P2PMEM_POLICY_H */

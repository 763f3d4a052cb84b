// SPDX-License-Identifier: GPL-2.0
/*
 * Who may use which donor, see policy.h. Where the tree comes from is place.c's
 * business, who asks is clients.c's.
 */
#include <linux/array_size.h>
#include <linux/build_bug.h>
#include <linux/string.h>

#include "policy.h"

static const char * const names[P2PMEM_DISTANCES] = {
	[P2PMEM_FUNCTION]	= "function",
	[P2PMEM_SWITCH]		= "switch",
	[P2PMEM_ROOT]		= "root",
	[P2PMEM_ANY]		= "any",
};

static bool is_above(const struct p2pmem_tree *t, void *bridge, void *node)
{
	while ((node = t->above(node)))
		if (node == bridge)
			return true;
	return false;
}

/* What passes between the two turns round before it gets to a root port. */
static bool share_switch(const struct p2pmem_tree *t, void *a, void *b)
{
	void *bridge = a;

	while ((bridge = t->above(bridge)))
		if (!t->root_port(bridge) && is_above(t, bridge, b))
			return true;
	return false;
}

/**
 * p2pmem_policy_distance() - how far apart are two nodes?
 * @t: the tree
 * @a: one of them
 * @b: the other one
 *
 * A bridge counts for what is below it, not for itself.
 *
 * Return: the distance, which is the same from both ends.
 */
enum p2pmem_distance p2pmem_policy_distance(const struct p2pmem_tree *t,
					    void *a, void *b)
{
	if (a == b)
		return P2PMEM_FUNCTION;
	if (share_switch(t, a, b))
		return P2PMEM_SWITCH;
	return t->root(a) == t->root(b) ? P2PMEM_ROOT : P2PMEM_ANY;
}

/** p2pmem_policy_allows() - the verdict */
bool p2pmem_policy_allows(enum p2pmem_distance level,
			  enum p2pmem_distance distance)
{
	return distance <= level;
}

/**
 * p2pmem_policy_better() - which of two donors is to be taken?
 * @a: one that may be taken
 * @b: another one
 *
 * The nearer one; of two as near the one with more to give; of two with as
 * much the one with the lower number.
 *
 * Return: true if it is @a.
 */
bool p2pmem_policy_better(const struct p2pmem_candidate *a,
			  const struct p2pmem_candidate *b)
{
	if (a->distance != b->distance)
		return a->distance < b->distance;
	if (a->available != b->available)
		return a->available > b->available;
	return a->number < b->number;
}

/** p2pmem_policy_name() - the word for a distance or level */
const char *p2pmem_policy_name(enum p2pmem_distance distance)
{
	return names[distance];
}

/**
 * p2pmem_policy_parse() - the level that a word means
 * @text: the word, a newline behind it is ignored
 * @level: set on success only
 *
 * Return: 0, or -EINVAL.
 */
int p2pmem_policy_parse(const char *text, enum p2pmem_distance *level)
{
	int i = sysfs_match_string(names, text);

	if (i < 0)
		return i;
	*level = i;
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Clients: who has asked for a donation's memory, and what the answer is.
 *
 * A client is remembered by name and distance, as it was when it asked: no
 * reference is kept on its device, which may go at any time. What comes back
 * at the same place is the same client, and what comes back elsewhere is
 * another one. Those that have holds are remembered, and the last few of the
 * others, so that a client that was refused can be looked at, and clients
 * without end cost no memory.
 *
 * All but p2pmem_client_new() is called with p->lock held, which protects the
 * list, the level, and what is in each client. A hold that is admitted and
 * put on p->holds under one and the same p->lock is either refused by a new
 * level or found by the revocation that follows it (rules.c).
 */
#include <linux/ctype.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "clients.h"
#include "donation.h"
#include "place.h"
#include "stats.h"

#define NAME_MAX_LEN	64
/* the longest line, and the one that says that some are left out */
#define LINE_MAX_LEN	(NAME_MAX_LEN + 32)

/**
 * struct p2pmem_client - one that has asked
 * @node: in the donation's list
 * @name: PCI address, or the name of a device without a place. Constant.
 * @distance: from the donor. Constant.
 * @holds: how many it has
 * @told: the level at which the log has said that it is refused;
 *	P2PMEM_ANY, at which nobody is: not yet
 */
struct p2pmem_client {
	struct list_head node;
	char name[NAME_MAX_LEN];
	enum p2pmem_distance distance;
	unsigned int holds;
	enum p2pmem_distance told;
};

/** p2pmem_clients_init() - nobody has asked */
void p2pmem_clients_init(struct p2pmem_clients *all)
{
	INIT_LIST_HEAD(&all->list);
	all->idle = 0;
}

/** p2pmem_clients_destroy() - nobody can ask any more; there are no holds */
void p2pmem_clients_destroy(struct p2pmem_clients *all)
{
	struct p2pmem_client *c, *next;

	list_for_each_entry_safe(c, next, &all->list, node)
		kfree(c);
	p2pmem_clients_init(all);
}

/**
 * p2pmem_client_new() - what a device is to a donation
 * @p: the donation, entered: so its donor is registered
 * @dev: the client, registered; NULL for one that is no device
 *
 * Return: a client for p2pmem_client_admit(), or NULL without memory.
 */
struct p2pmem_client *p2pmem_client_new(struct p2pmem *p, struct device *dev)
{
	struct p2pmem_client *c = kzalloc(sizeof(*c), GFP_KERNEL_ACCOUNT);
	struct pci_dev *pdev = p2pmem_place(dev);
	char *at;

	if (!c)
		return NULL;

	c->distance = p2pmem_place_distance(p->d.pdev, pdev);
	c->told = P2PMEM_ANY;
	strscpy(c->name, pdev ? pci_name(pdev) : dev ? dev_name(dev) : "-",
		sizeof(c->name));
	/* other devices are called what somebody likes: one word in a list */
	for (at = c->name; *at; at++)
		if (!isgraph(*at))
			*at = '?';
	return c;
}

/** p2pmem_client_allowed() - the verdict on it, at this moment's level */
bool p2pmem_client_allowed(const struct p2pmem *p,
			   const struct p2pmem_client *c)
{
	lockdep_assert_held(&p->lock);
	return p2pmem_policy_allows(p->level, c->distance);
}

static void say_refused(struct p2pmem *p, struct p2pmem_client *c)
{
	static const char * const why[P2PMEM_DISTANCES] = {
		[P2PMEM_FUNCTION] = "",		/* is never refused */
		[P2PMEM_SWITCH] = "below the same switch, but another function",
		[P2PMEM_ROOT] = "below the same host bridge, but below no common switch",
		[P2PMEM_ANY] = "below another host bridge, or at no place in the PCI tree",
	};

	if (c->told == p->level)
		return;
	c->told = p->level;
	dev_warn(&p->dev, "client %s refused: it is %s, and the level is '%s'; to allow it: echo %s > /sys/class/p2pmem/%s/level\n",
		 c->name, why[c->distance], p2pmem_policy_name(p->level),
		 p2pmem_policy_name(c->distance), dev_name(&p->dev));
}

static struct p2pmem_client *find(struct p2pmem_clients *all,
				  const struct p2pmem_client *like)
{
	struct p2pmem_client *c;

	list_for_each_entry(c, &all->list, node)
		if (c->distance == like->distance &&
		    !strcmp(c->name, like->name))
			return c;
	return NULL;
}

/* One has no hold any more, or has come without. */
static void became_idle(struct p2pmem_clients *all)
{
	struct p2pmem_client *c;

	if (all->idle++ < P2PMEM_CLIENTS_IDLE)
		return;
	list_for_each_entry_reverse(c, &all->list, node) {
		if (c->holds)
			continue;
		list_del(&c->node);
		kfree(c);
		all->idle--;
		return;
	}
}

/**
 * p2pmem_client_admit() - may it have a hold?
 * @p: the donation
 * @c: what p2pmem_client_new() made, which belongs to the donation from now
 *	on. If the answer is yes, the client that has a hold more, for
 *	p2pmem_client_leave().
 *
 * A refusal is counted, and logged once.
 *
 * Return: 0, or -EPERM.
 */
int p2pmem_client_admit(struct p2pmem *p, struct p2pmem_client **c)
{
	struct p2pmem_clients *all = &p->clients;
	struct p2pmem_client *known = find(all, *c);

	lockdep_assert_held(&p->lock);

	if (known) {
		list_move(&known->node, &all->list);
		kfree(*c);
		*c = known;
	} else {
		/* at the front: it isn't the one that makes room */
		list_add(&(*c)->node, &all->list);
		became_idle(all);
	}

	if (!p2pmem_client_allowed(p, *c)) {
		p2pmem_count(p, P2PMEM_STAT_REFUSALS, 1);
		say_refused(p, *c);
		return -EPERM;
	}
	if (!(*c)->holds++)
		all->idle--;
	return 0;
}

/**
 * p2pmem_client_leave() - a hold goes, or is being revoked
 * @p: the donation
 * @c: whose hold it is
 */
void p2pmem_client_leave(struct p2pmem *p, struct p2pmem_client *c)
{
	lockdep_assert_held(&p->lock);

	if (!--c->holds)
		became_idle(&p->clients);
}

/**
 * p2pmem_clients_list() - a line for each
 * @p: the donation
 * @buf: room for a page, which is all that sysfs has; "..." is the last line
 *	where it isn't enough
 *
 * Return: the number of bytes.
 */
int p2pmem_clients_list(struct p2pmem *p, char *buf)
{
	struct p2pmem_client *c;
	int at = 0;

	lockdep_assert_held(&p->lock);

	list_for_each_entry(c, &p->clients.list, node) {
		if (at > PAGE_SIZE - 2 * LINE_MAX_LEN)
			return at + sysfs_emit_at(buf, at, "...\n");
		at += sysfs_emit_at(buf, at, "%s %s %s %u\n", c->name,
				    p2pmem_policy_name(c->distance),
				    p2pmem_client_allowed(p, c) ? "allowed" :
								  "refused",
				    c->holds);
	}
	return at;
}

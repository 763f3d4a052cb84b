// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel code in search of a donor for its devices.
 */
#include <linux/device.h>
#include <linux/module.h>

#include "donation.h"
#include "place.h"
#include "region.h"

/* true: all clients may use it, and it has enough; so it is a candidate */
static bool serves(struct p2pmem *p, struct device *const *clients,
		   unsigned int n, u64 size, struct p2pmem_candidate *c)
{
	enum p2pmem_distance level;

	/* a place in it is its users' choice */
	if (p->d.persistent || p2pmem_enter(p))
		return false;
	p2pmem_place_farthest(p->d.pdev, clients, n, &c->distance);
	c->available = p2pmem_available(p);
	p2pmem_leave(p);

	c->number = MINOR(p->dev.devt);
	mutex_lock(&p->lock);
	level = p->level;
	mutex_unlock(&p->lock);
	return p2pmem_policy_allows(level, c->distance) && c->available >= size;
}

/**
 * p2pmem_find() - the best donor for some devices
 * @clients: the devices that will access the memory, registered. Each has the
 *	place of the PCI function that it is or that is its nearest parent; one
 *	that has none is farther away than any other.
 * @n: how many; none is as one without a place
 * @size: bytes that shall be available, not necessarily in one piece
 *
 * Donors of persistent memory and those whose level refuses a client are left
 * out. The best one is that whose farthest client is nearest; then the one
 * with most available memory; then the one with the lowest number.
 *
 * Context: process context, may sleep.
 * Return: the donation, with a reference for p2pmem_put(), or NULL. It may go
 * at any time: p2pmem_alloc() says so.
 */
struct p2pmem *p2pmem_find(struct device *const *clients, unsigned int n,
			   u64 size)
{
	struct p2pmem_candidate best = {}, c;
	struct p2pmem *found = NULL;
	struct class_dev_iter iter;
	struct device *dev;

	class_dev_iter_init(&iter, &p2pmem_class, NULL, NULL);
	while ((dev = class_dev_iter_next(&iter))) {
		struct p2pmem *p = p2pmem_of(dev);

		if (!serves(p, clients, n, size, &c) ||
		    (found && !p2pmem_policy_better(&c, &best)))
			continue;
		p2pmem_put(found);
		found = p2pmem_get(p);
		best = c;
	}
	class_dev_iter_exit(&iter);
	return found;
}
EXPORT_SYMBOL_GPL(p2pmem_find);

/**
 * p2pmem_get() - one more reference
 * @p: a donation that the caller has a reference on
 *
 * A reference keeps the name of the donation, not the donor nor its memory.
 *
 * Return: @p.
 */
struct p2pmem *p2pmem_get(struct p2pmem *p)
{
	get_device(&p->dev);
	return p;
}
EXPORT_SYMBOL_GPL(p2pmem_get);

/**
 * p2pmem_put() - give a reference back
 * @p: the donation; NULL is ignored
 *
 * Context: process context, may sleep.
 */
void p2pmem_put(struct p2pmem *p)
{
	if (p)
		put_device(&p->dev);
}
EXPORT_SYMBOL_GPL(p2pmem_put);

/**
 * p2pmem_name() - what a donation is called, for messages
 * @p: a donation that the caller has a reference on
 *
 * Return: p2pmemN.
 */
const char *p2pmem_name(const struct p2pmem *p)
{
	return dev_name(&p->dev);
}
EXPORT_SYMBOL_GPL(p2pmem_name);

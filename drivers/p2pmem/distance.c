// SPDX-License-Identifier: GPL-2.0
/*
 * How far two PCI functions are from each other.
 */
#include <linux/pci.h>
#include <uapi/linux/p2pmem.h>

#include "distance.h"

static unsigned int depth(struct pci_bus *bus)
{
	unsigned int n = 0;

	for (; bus->parent; bus = bus->parent)
		n++;
	return n;
}

/**
 * p2pmem_distance() - what a transfer between two functions has to pass
 * @a: function that the caller has a reference on
 * @b: another one, or the same
 * @links: where the number of steps from one to the other in the PCI tree is stored: up
 *	to the bridge or the root above both, and down again; 0 within a device
 *
 * Context: any. The references keep the buses.
 * Return: P2PMEM_DISTANCE_*.
 */
unsigned int p2pmem_distance(struct pci_dev *a, struct pci_dev *b,
			     unsigned int *links)
{
	struct pci_bus *x = a->bus, *y = b->bus;
	unsigned int dx = depth(x), dy = depth(y);

	*links = 0;
	if (x == y && PCI_SLOT(a->devfn) == PCI_SLOT(b->devfn))
		return P2PMEM_DISTANCE_FUNCTION;

	*links = 2;
	while (x != y && (dx || dy)) {
		if (dx >= dy) {
			x = x->parent;
			dx--;
			++*links;
		} else {
			y = y->parent;
			dy--;
			++*links;
		}
	}
	if (x != y)
		return P2PMEM_DISTANCE_ANY;
	return x->parent ? P2PMEM_DISTANCE_SWITCH : P2PMEM_DISTANCE_ROOT;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Where devices are in the PCI tree.
 *
 * Walking up needs no lock. A device that is registered keeps its parent. A
 * PCI function, for as long as it exists, keeps its bus, a bus its bridge, and
 * so on to the host bridge, whatever is unplugged meanwhile; an SR-IOV virtual
 * function keeps the physical one while it is registered. So it is enough that
 * both devices that one asks about are registered, or that one has a reference and
 * it is no virtual function: the donor's is registered until its donation has been
 * withdrawn, and for the client's whoever asks is responsible.
 */
#include <linux/device.h>
#include <linux/pci.h>

#include "place.h"

static void *pci_above(void *node)
{
	return pci_upstream_bridge(node);
}

static bool pci_root_port(void *bridge)
{
	return pci_pcie_type(bridge) == PCI_EXP_TYPE_ROOT_PORT;
}

static void *pci_root(void *node)
{
	struct pci_bus *bus = pci_physfn(node)->bus;

	while (!pci_is_root_bus(bus))
		bus = bus->parent;
	return bus;
}

static const struct p2pmem_tree pci_tree = {
	.above		= pci_above,
	.root_port	= pci_root_port,
	.root		= pci_root,
};

/**
 * p2pmem_place() - the PCI function that a client is, or is a part of
 * @client: a device, registered; or NULL
 *
 * Return: the function (no reference is taken, it stays as long as @client
 * does); NULL where neither @client nor a parent of it is one.
 */
struct pci_dev *p2pmem_place(struct device *client)
{
	struct device *dev;

	for (dev = client; dev; dev = dev->parent)
		if (dev_is_pci(dev))
			return to_pci_dev(dev);
	return NULL;
}

/**
 * p2pmem_place_distance() - how far is a client from a donor?
 * @donor: its PCI function, registered
 * @client: a PCI function, registered; NULL for one without a place
 *
 * Context: any.
 * Return: the distance, P2PMEM_ANY for a client without a place.
 */
enum p2pmem_distance p2pmem_place_distance(struct pci_dev *donor,
					   struct pci_dev *client)
{
	return client ? p2pmem_policy_distance(&pci_tree, donor, client) :
			P2PMEM_ANY;
}

static unsigned int depth(struct pci_bus *bus)
{
	unsigned int n = 0;

	for (; bus->parent; bus = bus->parent)
		n++;
	return n;
}

/**
 * p2pmem_place_links() - how long is the way between two functions?
 * @a: one of them, registered
 * @b: the other one, registered
 *
 * Context: any.
 * Return: steps in the PCI tree, up to the bridge or the root above both and down
 * again; 0 within a device.
 */
unsigned int p2pmem_place_links(struct pci_dev *a, struct pci_dev *b)
{
	struct pci_bus *x = a->bus, *y = b->bus;
	unsigned int dx = depth(x), dy = depth(y), links = 2;

	if (x == y && PCI_SLOT(a->devfn) == PCI_SLOT(b->devfn))
		return 0;

	while (x != y && (dx || dy)) {
		if (dx >= dy) {
			x = x->parent;
			dx--;
		} else {
			y = y->parent;
			dy--;
		}
		links++;
	}
	return links;
}

/**
 * p2pmem_place_farthest() - who is farthest from a donor?
 * @donor: its PCI function, registered
 * @clients: some devices, registered
 * @n: how many
 * @distance: how far that one is
 *
 * What a level says of that one it says of all: if it is allowed, they are.
 *
 * Return: the first one of those that are farthest; NULL, as far as can be,
 * for no clients.
 */
struct device *p2pmem_place_farthest(struct pci_dev *donor,
				     struct device *const *clients,
				     unsigned int n,
				     enum p2pmem_distance *distance)
{
	struct device *farthest = NULL;
	enum p2pmem_distance d;
	unsigned int i;

	*distance = n ? P2PMEM_FUNCTION : P2PMEM_ANY;
	for (i = 0; i < n; i++) {
		d = p2pmem_place_distance(donor, p2pmem_place(clients[i]));
		if (i && d <= *distance)
			continue;
		farthest = clients[i];
		*distance = d;
	}
	return farthest;
}

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _P2PMEM_PLACE_H
#define _P2PMEM_PLACE_H

#include "policy.h"

struct device;
struct pci_dev;

struct pci_dev *p2pmem_place(struct device *client);
enum p2pmem_distance p2pmem_place_distance(struct pci_dev *donor,
					   struct pci_dev *client);
unsigned int p2pmem_place_links(struct pci_dev *a, struct pci_dev *b);
struct device *p2pmem_place_farthest(struct pci_dev *donor,
				     struct device *const *clients,
				     unsigned int n,
				     enum p2pmem_distance *distance);

#endif /* _P2PMEM_PLACE_H */

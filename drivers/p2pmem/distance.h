/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _P2PMEM_DISTANCE_H
#define _P2PMEM_DISTANCE_H

struct pci_dev;

unsigned int p2pmem_distance(struct pci_dev *a, struct pci_dev *b,
			     unsigned int *links);

#endif /* _P2PMEM_DISTANCE_H */

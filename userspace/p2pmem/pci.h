/* SPDX-License-Identifier: GPL-2.0 */
#ifndef P2PMEM_PCI_H
#define P2PMEM_PCI_H

#include <stdbool.h>

/* One PCI function, as sysfs has it. */
struct function {
	char bdf[32];
	char parent[32];	/* the bridge above, or the root ("pci0000:00") */
	char driver[64];	/* empty: none */
	char role[128];		/* what the kernel makes of it: "eth0", "nvme0", ... */
	unsigned int class;
	bool bridge;
};

struct functions {
	struct function *function;
	unsigned int count;
};

struct functions pci_all(void);
const char *pci_class_text(unsigned int class);

#endif /* P2PMEM_PCI_H */

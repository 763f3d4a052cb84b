// SPDX-License-Identifier: GPL-2.0
/*
 * Kernels without CONFIG_PCI_P2PDMA: nobody can publish memory.
 */
#include "adopt.h"

int p2pmem_adopt_start(void)
{
	return 0;
}

void p2pmem_adopt_stop(void)
{
}

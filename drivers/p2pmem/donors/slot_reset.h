/* SPDX-License-Identifier: GPL-2.0 */
/* What donors do after an error on the bus. */
#ifndef _P2PMEM_SLOT_RESET_H
#define _P2PMEM_SLOT_RESET_H

#include <linux/pci.h>

/**
 * p2pmem_slot_reset() - the function has been reset: its configuration is set again
 * @pdev: the function, whose state was saved when it was bound
 *
 * Context: as pci_error_handlers' slot_reset, which this is.
 * Return: whether it answers.
 */
static inline pci_ers_result_t p2pmem_slot_reset(struct pci_dev *pdev)
{
	pci_restore_state(pdev);
	/* restoring uses it up */
	pci_save_state(pdev);
	return pci_device_is_present(pdev) ? PCI_ERS_RESULT_RECOVERED :
					     PCI_ERS_RESULT_DISCONNECT;
}

#endif /* _P2PMEM_SLOT_RESET_H */

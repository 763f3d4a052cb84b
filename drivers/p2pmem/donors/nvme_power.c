// SPDX-License-Identifier: GPL-2.0
/*
 * A controller that is reset, or asleep: for a time its memory answers nobody, and
 * afterwards it may be off. Even where it is not, what was written meanwhile is lost.
 */
#include "nvme_donor.h"

/** p2pmem_nvme_away() - the controller is about to be reset, or to sleep */
void p2pmem_nvme_away(struct p2pmem_nvme *n)
{
	if (n->cmb_donation)
		p2pmem_outage_begin(n->cmb_donation);
	if (n->pmr_donation) {
		p2pmem_nvme_health_stop(n);
		p2pmem_outage_begin(n->pmr_donation);
	}
}

/** p2pmem_nvme_back() - it works again: its memory is switched on anew */
void p2pmem_nvme_back(struct p2pmem_nvme *n)
{
	if (n->cmb_donation) {
		p2pmem_nvme_cmb_enable(n);
		p2pmem_outage_end(n->cmb_donation);
	}
	if (n->pmr_donation) {
		p2pmem_nvme_pmr_back(n);
		p2pmem_nvme_health_start(n);
		p2pmem_nvme_health_look(n);
	}
}

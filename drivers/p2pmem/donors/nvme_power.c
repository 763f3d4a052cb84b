// SPDX-License-Identifier: GPL-2.0
/*
 * A controller that is reset, or asleep: for a time its memory answers nobody, and
 * afterwards it may be off. Even where it is not, what was written meanwhile is lost.
 * And one that is lost itself, by an error on the bus.
 */
#include "nvme_donor.h"

/** p2pmem_nvme_away() - the controller is about to be reset, or to sleep */
void p2pmem_nvme_away(struct p2pmem_nvme *n)
{
	if (n->away || n->lost)
		return;
	n->away = true;
	if (n->cmb_donation)
		p2pmem_outage_begin(n->cmb_donation);
	if (n->pmr_donation) {
		p2pmem_nvme_health_stop(n);
		p2pmem_outage_begin(n->pmr_donation);
	}
}

/**
 * p2pmem_nvme_back() - it works again: its memory is switched on anew
 * @n: the controller; if it wasn't away nothing happens
 */
void p2pmem_nvme_back(struct p2pmem_nvme *n)
{
	if (!n->away)
		return;
	n->away = false;
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

/** p2pmem_nvme_doubt() - some transaction was in error: it may have been a write */
void p2pmem_nvme_doubt(struct p2pmem_nvme *n)
{
	if (n->cmb_donation)
		p2pmem_notify_outage(n->cmb_donation);
	if (n->pmr_donation)
		p2pmem_notify_outage(n->pmr_donation);
}

/**
 * p2pmem_nvme_lost() - the controller will not come back
 * @n: the controller; of which what waits for others is left to remove()
 */
void p2pmem_nvme_lost(struct p2pmem_nvme *n)
{
	if (n->pmr_donation && !n->away && !n->lost)
		p2pmem_nvme_health_stop(n);
	n->lost = true;
	n->away = false;
	if (n->cmb_donation)
		p2pmem_take_away(n->cmb_donation);
	if (n->pmr_donation)
		p2pmem_take_away(n->pmr_donation);
}

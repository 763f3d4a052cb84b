// SPDX-License-Identifier: GPL-2.0
/*
 * The health of a Persistent Memory Region, watched: no interrupt tells of it
 * while the controller isn't enabled, so PMRSTS is looked at from time to time,
 * and at once when something could not be made durable.
 */
#include <linux/io.h>

#include "nvme_donor.h"

#define INTERVAL	HZ

static void watch(struct work_struct *work)
{
	struct p2pmem_nvme *n = container_of(to_delayed_work(work), struct p2pmem_nvme, watch);
	enum p2pmem_nvme_health health = p2pmem_nvme_pmr_health(n);

	if (health != n->health) {
		n->health = health;
		p2pmem_notify_health(n->pmr_donation, p2pmem_nvme_health_name(health));
	}
	schedule_delayed_work(&n->watch, INTERVAL);
}

/**
 * p2pmem_nvme_health_init() - prepare, before the PMR is donated
 * @n: the controller, its PMR enabled
 *
 * From then on p2pmem_nvme_health_look() may be called.
 */
void p2pmem_nvme_health_init(struct p2pmem_nvme *n)
{
	INIT_DELAYED_WORK(&n->watch, watch);
	disable_delayed_work(&n->watch);
}

/** p2pmem_nvme_health_start() - watch; the PMR has been donated, or is back */
void p2pmem_nvme_health_start(struct p2pmem_nvme *n)
{
	n->health = p2pmem_nvme_health_decode(readl(n->regs + NVME_PMRSTS));
	p2pmem_notify_health(n->pmr_donation, p2pmem_nvme_health_name(n->health));
	enable_delayed_work(&n->watch);
	schedule_delayed_work(&n->watch, INTERVAL);
}

/**
 * p2pmem_nvme_health_look() - look now
 * @n: the controller; nothing happens while it isn't watched
 *
 * Context: any.
 */
void p2pmem_nvme_health_look(struct p2pmem_nvme *n)
{
	/* not later; whoever queues it in between looks soon enough */
	cancel_delayed_work(&n->watch);
	schedule_delayed_work(&n->watch, 0);
}

/** p2pmem_nvme_health_stop() - don't watch; the PMR is about to go, or to stop working */
void p2pmem_nvme_health_stop(struct p2pmem_nvme *n)
{
	disable_delayed_work_sync(&n->watch);
}

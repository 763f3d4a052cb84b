// SPDX-License-Identifier: GPL-2.0
/*
 * The health of a donation, as its donor sees it.
 */
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/pci.h>

#include "donation.h"

#define HEALTH_MAX	64	/* HEALTH= and a word */

/**
 * p2pmem_health_changed() - tell user space how the memory is
 * @p: the donation
 * @health: one word for the new state, 'ok' for the best
 *
 * A uevent 'change' of /dev/p2pmemN with HEALTH=@health, and a line in the
 * kernel log (some of them in five seconds at most).
 *
 * Context: process context, may sleep; between p2pmem_donate() and
 * p2pmem_withdraw().
 */
void p2pmem_health_changed(struct p2pmem *p, const char *health)
{
	char text[HEALTH_MAX];
	char *envp[2] = { text, NULL };

	snprintf(text, sizeof(text), "HEALTH=%s", health);
	dev_warn_ratelimited(&p->dev, "health of %s: %s\n", pci_name(p->d.pdev), health);
	kobject_uevent_env(&p->dev.kobj, KOBJ_CHANGE, envp);
}
EXPORT_SYMBOL_GPL(p2pmem_health_changed);

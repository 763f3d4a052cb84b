/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One NVMe controller that donates its memory.
 */
#ifndef _P2PMEM_NVME_DONOR_H
#define _P2PMEM_NVME_DONOR_H

#include <linux/p2pmem.h>
#include <linux/pci.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "nvme_regs.h"

/**
 * struct p2pmem_nvme - a controller that is bound to p2pmem_nvme
 * @pdev: its PCI function
 * @regs: its registers, the first NVME_REGS_SIZE bytes of BAR 0
 * @cap: CAP. Constant.
 * @vs: VS. Constant.
 * @bars: length of its BARs. Constant.
 * @cmb: its Controller Memory Buffer, if @cmb.size isn't 0. Constant.
 * @cmb_donation: what became of it, NULL if nothing
 * @pmr: its Persistent Memory Region, if @pmr.size isn't 0. Constant.
 * @pmr_donation: what became of it, NULL if nothing
 * @pmr_word: a word of the PMR, where reading one is the write barrier
 * @watch: looks at PMRSTS from time to time
 * @health: what it saw last; only @watch looks at it
 * @ill_lock: protects @ill; taken in any context, nothing is taken under it
 * @ill: the PMR has been seen not to keep what is written, and p2pmem has not been
 *	told since that this is over
 * @away: being reset, or asleep
 * @lost: it will not come back
 *
 * The rest has no lock: the driver core calls probe, remove, suspend and resume, and
 * the reset and error callbacks one at a time, and persist and @watch only read.
 */
struct p2pmem_nvme {
	struct pci_dev *pdev;
	void __iomem *regs;
	u64 cap;
	u32 vs;
	struct p2pmem_nvme_bars bars;

	struct p2pmem_nvme_cmb cmb;
	struct p2pmem *cmb_donation;

	struct p2pmem_nvme_pmr pmr;
	struct p2pmem *pmr_donation;
	void __iomem *pmr_word;
	struct delayed_work watch;
	enum p2pmem_nvme_health health;
	spinlock_t ill_lock;	/* protects ill */
	bool ill;
	bool away;
	bool lost;
};

/* nvme_main.c */
int p2pmem_nvme_claim(struct p2pmem_nvme *n, int bar);

/* nvme_cmb.c */
int p2pmem_nvme_cmb_find(struct p2pmem_nvme *n);
int p2pmem_nvme_cmb_add(struct p2pmem_nvme *n);
void p2pmem_nvme_cmb_remove(struct p2pmem_nvme *n);
void p2pmem_nvme_cmb_enable(struct p2pmem_nvme *n);
void p2pmem_nvme_cmb_disable(struct p2pmem_nvme *n);

/* nvme_pmr.c */
int p2pmem_nvme_pmr_find(struct p2pmem_nvme *n);
int p2pmem_nvme_pmr_add(struct p2pmem_nvme *n);
void p2pmem_nvme_pmr_remove(struct p2pmem_nvme *n);
void p2pmem_nvme_pmr_back(struct p2pmem_nvme *n);
enum p2pmem_nvme_health p2pmem_nvme_pmr_health(struct p2pmem_nvme *n);

/* nvme_health.c */
void p2pmem_nvme_health_init(struct p2pmem_nvme *n);
void p2pmem_nvme_health_start(struct p2pmem_nvme *n);
void p2pmem_nvme_health_look(struct p2pmem_nvme *n);
void p2pmem_nvme_health_stop(struct p2pmem_nvme *n);

/* nvme_power.c */
void p2pmem_nvme_away(struct p2pmem_nvme *n);
void p2pmem_nvme_back(struct p2pmem_nvme *n);
void p2pmem_nvme_doubt(struct p2pmem_nvme *n);
void p2pmem_nvme_lost(struct p2pmem_nvme *n);

/* nvme_sysfs.c */
extern const struct attribute_group *p2pmem_nvme_groups[];

#endif /* _P2PMEM_NVME_DONOR_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * The Persistent Memory Region: NVMe Base Specification 2.0, 8.14.
 *
 * It takes a BAR of its own and answers there once PMRCTL.EN is set and
 * PMRSTS.NRDY clear. Memory writes are posted: what makes them durable is a
 * read, of the PMR or of PMRSTS, as PMRCAP.PMRWBM says. PMRSTS then tells
 * whether they were.
 */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/sched/signal.h>

#include "nvme_donor.h"

#define POLL_MS		5
#define POLL_MAX_MS	100
#define LONG_WAIT_MS	2000
#define BACK_MAX_MS	2000
#define DISABLE_MAX_MS	1000

/*
 * Nobody is served before the controller says so: the time-out ends in a
 * refusal, and so does a signal that kills who waits (it may be hours).
 */
static int wait_ready(struct p2pmem_nvme *n, bool ready, u32 timeout_ms)
{
	unsigned long end = jiffies + msecs_to_jiffies(timeout_ms);
	unsigned int ms = POLL_MS;
	bool late;
	u32 sts;

	for (;;) {
		late = time_after_eq(jiffies, end);
		sts = readl(n->regs + NVME_PMRSTS);
		if (sts == U32_MAX)
			return -ENODEV;
		if (!(sts & NVME_PMRSTS_NRDY) == ready)
			return 0;
		if (late)
			return -ETIMEDOUT;
		if (fatal_signal_pending(current))
			return -EINTR;
		msleep(ms);
		ms = min(2 * ms, POLL_MAX_MS);
	}
}

/*
 * Nothing depends on the outcome: the memory has been withdrawn. Only the one
 * who binds next might be too early. And an unplug is to be over in seconds.
 */
static void disable(struct p2pmem_nvme *n)
{
	u32 ms = min_t(u32, n->pmr.timeout_ms, DISABLE_MAX_MS);

	writel(0, n->regs + NVME_PMRCTL);
	if (wait_ready(n, false, ms) == -ETIMEDOUT)
		pci_warn(n->pdev, "Persistent Memory Region: still not off after %u ms\n",
			 ms);
}

/**
 * p2pmem_nvme_pmr_find() - has the controller a region that can serve?
 * @n: the controller
 *
 * Return: 0, with n->pmr filled in; -ENOENT when it has none; -ENODEV when it
 * has one that can't serve, after a line that says why.
 */
int p2pmem_nvme_pmr_find(struct p2pmem_nvme *n)
{
	enum p2pmem_nvme_reason reason;
	u32 pmrcap;

	if (!(n->cap & NVME_CAP_PMRS))
		return -ENOENT;

	pmrcap = readl(n->regs + NVME_PMRCAP);
	reason = p2pmem_nvme_pmr_decode(pmrcap, &n->bars, &n->pmr);
	if (!reason)
		return 0;
	pci_err(n->pdev, "Persistent Memory Region refused: %s (PMRCAP %#x)\n",
		p2pmem_nvme_why(reason), pmrcap);
	return -ENODEV;
}

/* 0 when it can be read and written and is healthy, or an error after a line that says why */
static int enable(struct p2pmem_nvme *n)
{
	u32 timeout_ms = n->pmr.timeout_ms;
	enum p2pmem_nvme_health health;
	int ret;

	if (timeout_ms > LONG_WAIT_MS)
		pci_info(n->pdev, "Persistent Memory Region: may take %u s to become ready\n",
			 timeout_ms / 1000);
	writel(NVME_PMRCTL_EN, n->regs + NVME_PMRCTL);
	ret = wait_ready(n, true, timeout_ms);
	if (ret) {
		pci_err(n->pdev, "Persistent Memory Region refused: not ready within its %u ms (error %d, PMRSTS %#x)\n",
			timeout_ms, ret, readl(n->regs + NVME_PMRSTS));
		return ret;
	}

	health = p2pmem_nvme_health_decode(readl(n->regs + NVME_PMRSTS));
	if (!p2pmem_nvme_durable(health)) {
		pci_err(n->pdev, "Persistent Memory Region refused: its health is '%s'\n",
			p2pmem_nvme_health_name(health));
		return -ENODEV;
	}
	if (health != P2PMEM_NVME_OK)
		pci_warn(n->pdev, "Persistent Memory Region: its health is '%s': what it contained may be lost\n",
			 p2pmem_nvme_health_name(health));
	return 0;
}

static enum p2pmem_nvme_health look(struct p2pmem_nvme *n)
{
	u32 sts = readl(n->regs + NVME_PMRSTS);

	/* NRDY need not tell of a region that somebody has switched off */
	if (sts != U32_MAX && !(readl(n->regs + NVME_PMRCTL) & NVME_PMRCTL_EN))
		return P2PMEM_NVME_NOT_READY;
	return p2pmem_nvme_health_decode(sts);
}

/**
 * p2pmem_nvme_pmr_health() - how the region is, now
 * @n: the controller
 *
 * What is written while the region doesn't keep it is lost, and whoever has written
 * it may ask only when all is well again. So who sees it ill, be it the watch or
 * somebody's flush, leaves a note, and before it counts as well again p2pmem is told.
 *
 * Context: any.
 * Return: its health; not ready also when p2pmem can't be told yet.
 */
enum p2pmem_nvme_health p2pmem_nvme_pmr_health(struct p2pmem_nvme *n)
{
	enum p2pmem_nvme_health health = look(n);
	struct p2pmem *p;
	unsigned long flags;
	bool ill;

	/* who sees the note gone finds the report in p2pmem */
	if (likely(p2pmem_nvme_durable(health) && !smp_load_acquire(&n->ill)))
		return health;

	spin_lock_irqsave(&n->ill_lock, flags);
	if (!p2pmem_nvme_durable(health))
		WRITE_ONCE(n->ill, true);
	/* looked at anew: another one may have seen it ill since */
	p = READ_ONCE(n->pmr_donation);
	if (n->ill && p && p2pmem_nvme_durable(look(n))) {
		p2pmem_notify_outage(p);
		/* after the report */
		smp_store_release(&n->ill, false);
	}
	ill = n->ill;
	spin_unlock_irqrestore(&n->ill_lock, flags);
	return ill && p2pmem_nvme_durable(health) ? P2PMEM_NVME_NOT_READY : health;
}

/**
 * p2pmem_nvme_pmr_back() - switch the region on again, and end its outage
 * @n: the controller, whose region p2pmem has been told is out
 *
 * Who has the function reset or woken waits for this, so it doesn't take as long as
 * the controller may. A region that isn't ready then is ill, and the watch will see
 * when it is well.
 */
void p2pmem_nvme_pmr_back(struct p2pmem_nvme *n)
{
	u32 ms = min_t(u32, n->pmr.timeout_ms, BACK_MAX_MS);
	unsigned long flags;
	int ret;

	writel(NVME_PMRCTL_EN, n->regs + NVME_PMRCTL);
	ret = wait_ready(n, true, ms);
	if (ret)
		pci_warn(n->pdev, "Persistent Memory Region: not back after %u ms (error %d): nothing is durable until it is\n",
			 ms, ret);
	spin_lock_irqsave(&n->ill_lock, flags);
	/* what it was before is part of this outage */
	WRITE_ONCE(n->ill, !p2pmem_nvme_durable(look(n)));
	spin_unlock_irqrestore(&n->ill_lock, flags);
	p2pmem_outage_end(n->pmr_donation);
}

/*
 * PMRSTS is read in any case: it says whether the writes before the barrier
 * were completed, hence second.
 */
static int persist(void *priv, u64 offset, u64 len)
{
	struct p2pmem_nvme *n = priv;
	enum p2pmem_nvme_health health;

	if (n->pmr_word) {
		/* a write-combining mapping may let a read pass a write */
		mb();
		readl(n->pmr_word);
	}
	health = p2pmem_nvme_pmr_health(n);
	if (likely(p2pmem_nvme_durable(health)))
		return 0;

	dev_err_ratelimited(&n->pdev->dev,
			    "%llu bytes at %#llx may not be durable: health '%s'\n",
			    len, offset, p2pmem_nvme_health_name(health));
	p2pmem_nvme_health_look(n);
	return -EIO;
}

static const struct p2pmem_donor_ops pmr_ops = {
	.persist = persist,
};

/* of the memory type that p2pmem maps the whole BAR with: there can be only one */
static int map_word(struct p2pmem_nvme *n)
{
	resource_size_t at = pci_resource_start(n->pdev, n->pmr.bar);
	struct device *dev = &n->pdev->dev;

	if (n->pmr.read_sts)
		return 0;
	if (pci_resource_flags(n->pdev, n->pmr.bar) & IORESOURCE_PREFETCH)
		n->pmr_word = devm_ioremap_wc(dev, at, PAGE_SIZE);
	else
		n->pmr_word = devm_ioremap(dev, at, PAGE_SIZE);
	if (n->pmr_word)
		return 0;
	pci_err(n->pdev, "Persistent Memory Region refused: can't map BAR %d\n",
		n->pmr.bar);
	return -ENOMEM;
}

/**
 * p2pmem_nvme_pmr_add() - donate the region that was found
 * @n: the controller
 *
 * Context: waits as long as the controller's time-out, which may be hours, or
 * until the process is killed.
 * Return: 0, or an error after a line that says why.
 */
int p2pmem_nvme_pmr_add(struct p2pmem_nvme *n)
{
	struct p2pmem_donation d = {
		.pdev = n->pdev,
		.bar = n->pmr.bar,
		.kind = P2PMEM_KIND_PMR,
		.persistent = true,
		.ops = &pmr_ops,
		.priv = n,
		.owner = THIS_MODULE,
	};
	struct p2pmem *p;
	int ret;

	ret = p2pmem_nvme_claim(n, n->pmr.bar);
	if (!ret)
		ret = map_word(n);
	if (ret)
		return ret;

	spin_lock_init(&n->ill_lock);
	ret = enable(n);
	if (ret)
		goto disable;
	p2pmem_nvme_health_init(n);
	p = p2pmem_donate(&d);
	if (IS_ERR(p)) {
		ret = PTR_ERR(p);
		goto disable;
	}
	/* a program may have been faster */
	WRITE_ONCE(n->pmr_donation, p);
	p2pmem_nvme_health_start(n);
	return 0;

disable:
	disable(n);
	return ret;
}

/** p2pmem_nvme_pmr_remove() - take the region back, if it was donated */
void p2pmem_nvme_pmr_remove(struct p2pmem_nvme *n)
{
	if (!n->pmr_donation)
		return;
	p2pmem_nvme_health_stop(n);
	p2pmem_withdraw(n->pmr_donation);
	disable(n);
}

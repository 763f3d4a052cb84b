// SPDX-License-Identifier: GPL-2.0
/*
 * p2pmem_bar: donates BARs of any PCI function.
 *
 * It claims no device by itself, since no id says whether memory is to spare
 * behind a BAR. The administrator says so:
 *
 *	echo p2pmem_bar > /sys/bus/pci/devices/BDF/driver_override
 *	echo BDF > /sys/bus/pci/drivers/p2pmem_bar/bind
 *
 * or 'echo VENDOR DEVICE > .../p2pmem_bar/new_id' for all of a kind. What is
 * donated of a function is what the parameter 'bars' says of it, or else one
 * whole BAR ('bar', 'persistent').
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/p2pmem.h>
#include <linux/pci.h>
#include <linux/pm.h>
#include <linux/slab.h>

#include "bar_list.h"
#include "slot_reset.h"

static int bar = -1;

static int bar_set(const char *val, const struct kernel_param *kp)
{
	int n, err = kstrtoint(val, 0, &n);

	if (err)
		return err;
	if (n < -1 || n >= PCI_STD_NUM_BARS)
		return -EINVAL;
	return param_set_int(val, kp);
}

static const struct kernel_param_ops bar_ops = {
	.set = bar_set,
	.get = param_get_int,
};
module_param_cb(bar, &bar_ops, &bar, 0644);
MODULE_PARM_DESC(bar, "BAR to donate by devices bound from now on that 'bars' doesn't name (default -1: the largest memory BAR)");

static bool persistent;
module_param(persistent, bool, 0644);
MODULE_PARM_DESC(persistent, "the memory behind that BAR keeps its content (default 0)");

static struct bar_list bars;
static DEFINE_MUTEX(bars_lock);		/* protects bars; nothing is taken under it */

static int bars_set(const char *val, const struct kernel_param *kp)
{
	struct bar_mistake mistake;
	struct bar_list *list;
	char *text;
	int ret = -ENOMEM;

	list = kmalloc(sizeof(*list), GFP_KERNEL);
	text = kstrdup(val, GFP_KERNEL);
	if (!list || !text)
		goto free;

	ret = p2pmem_bar_list_parse(strim(text), list, &mistake);
	if (ret) {
		pr_err("bars: '%.*s' refused, nothing is changed: %s\n",
		       mistake.len, mistake.entry, mistake.what);
		goto free;
	}
	mutex_lock(&bars_lock);
	bars = *list;
	mutex_unlock(&bars_lock);
free:
	kfree(text);
	kfree(list);
	return ret;
}

static int bars_get(char *buf, const struct kernel_param *kp)
{
	int n;

	mutex_lock(&bars_lock);
	n = p2pmem_bar_list_print(&bars, buf, PAGE_SIZE - 1);
	mutex_unlock(&bars_lock);
	return n + scnprintf(buf + n, PAGE_SIZE - n, "\n");
}

static const struct kernel_param_ops bars_ops = {
	.set = bars_set,
	.get = bars_get,
};
module_param_cb(bars, &bars_ops, NULL, 0644);
MODULE_PARM_DESC(bars, "BDF:BAR[@OFFSET[+LENGTH]][:persistent],... what to donate by devices bound from now on (default: see 'bar')");

/**
 * struct bar_donor - a bound function
 * @n: how many donations it makes
 * @p: each of them
 */
struct bar_donor {
	unsigned int n;
	struct p2pmem *p[BAR_LIST_MAX];
};

static bool is_memory(struct pci_dev *pdev, int i)
{
	return (pci_resource_flags(pdev, i) & IORESOURCE_MEM) &&
	       pci_resource_len(pdev, i);
}

static int largest_bar(struct pci_dev *pdev)
{
	int i, best = -1;

	for (i = 0; i < PCI_STD_NUM_BARS; i++)
		if (is_memory(pdev, i) &&
		    (best < 0 ||
		     pci_resource_len(pdev, i) > pci_resource_len(pdev, best)))
			best = i;
	return best;
}

static bool names(const struct bar_entry *e, struct pci_dev *pdev)
{
	return e->domain == pci_domain_nr(pdev->bus) && e->bus == pdev->bus->number &&
	       e->devfn == pdev->devfn;
}

/* the entries of one function; returns who chose, for messages */
static const char *choose(struct pci_dev *pdev, struct bar_list *mine)
{
	int told = READ_ONCE(bar);
	unsigned int i;

	mine->n = 0;
	mutex_lock(&bars_lock);
	for (i = 0; i < bars.n; i++)
		if (names(&bars.entry[i], pdev))
			mine->entry[mine->n++] = bars.entry[i];
	mutex_unlock(&bars_lock);
	if (mine->n)
		return "as the parameter 'bars' says";

	if (told < 0) {
		told = largest_bar(pdev);
		if (told < 0)
			return NULL;
	}
	mine->n = 1;
	mine->entry[0] = (struct bar_entry) {
		.bar = told,
		.persistent = READ_ONCE(persistent),
	};
	return READ_ONCE(bar) < 0 ? "its largest memory BAR" : "as the parameter 'bar' says";
}

static int claim(struct pci_dev *pdev, const struct bar_list *mine, const char *who)
{
	unsigned int claimed = 0, i;
	int ret;

	for (i = 0; i < mine->n; i++) {
		int nr = mine->entry[i].bar;

		if (!is_memory(pdev, nr)) {
			pci_err(pdev, "BAR %d, %s, is no memory BAR of this function\n", nr, who);
			return -ENODEV;
		}
		if (claimed & BIT(nr))
			continue;
		ret = pcim_request_region(pdev, nr, KBUILD_MODNAME);
		if (ret) {
			pci_err(pdev, "BAR %d, %s, is in use by something else (error %d), see /proc/iomem\n",
				nr, who, ret);
			return ret;
		}
		claimed |= BIT(nr);
	}
	return 0;
}

static void withdraw_all(struct bar_donor *donor)
{
	while (donor->n)
		p2pmem_withdraw(donor->p[--donor->n]);
}

/* all or nothing: half of what was asked for would be found out too late */
static int donate_all(struct pci_dev *pdev, struct bar_donor *donor, const struct bar_list *mine,
		      const char *who)
{
	unsigned int i;

	for (i = 0; i < mine->n; i++) {
		const struct bar_entry *e = &mine->entry[i];
		struct p2pmem_donation d = {
			.pdev = pdev,
			.bar = e->bar,
			.offset = e->offset,
			.size = e->length,
			.kind = P2PMEM_KIND_BAR,
			.persistent = e->persistent,
			.owner = THIS_MODULE,
		};
		struct p2pmem *p = p2pmem_donate(&d);

		if (IS_ERR(p)) {
			withdraw_all(donor);
			return PTR_ERR(p);
		}
		donor->p[donor->n++] = p;
		pci_info(pdev, "donates BAR %d (%s) from %#llx\n", d.bar, who, d.offset);
	}
	return 0;
}

static int bar_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct bar_donor *donor;
	struct bar_list *mine;
	const char *who;
	int ret;

	donor = devm_kzalloc(&pdev->dev, sizeof(*donor), GFP_KERNEL);
	mine = kmalloc(sizeof(*mine), GFP_KERNEL);
	if (!donor || !mine) {
		ret = -ENOMEM;
		goto free;
	}
	who = choose(pdev, mine);
	if (!who) {
		pci_err(pdev, "no memory BAR to donate\n");
		ret = -ENODEV;
		goto free;
	}

	ret = pcim_enable_device(pdev);
	if (ret)
		pci_err(pdev, "the function can't be enabled (error %d)\n", ret);
	if (!ret)
		ret = claim(pdev, mine, who);
	if (!ret)
		ret = donate_all(pdev, donor, mine, who);
	pci_set_drvdata(pdev, donor);
	/* for after an error */
	pci_save_state(pdev);
free:
	kfree(mine);
	return ret;
}

static void bar_remove(struct pci_dev *pdev)
{
	withdraw_all(pci_get_drvdata(pdev));
}

static void each(struct device *dev, void (*what)(struct p2pmem *p))
{
	struct bar_donor *donor = dev_get_drvdata(dev);
	unsigned int i;

	for (i = 0; i < donor->n; i++)
		what(donor->p[i]);
}

static void end_outage(struct p2pmem *p)
{
	p2pmem_outage_end(p);
}

static void bar_reset_prepare(struct pci_dev *pdev)
{
	each(&pdev->dev, p2pmem_outage_begin);
}

static void bar_reset_done(struct pci_dev *pdev)
{
	/* what was saved for the reset has been used up */
	pci_save_state(pdev);
	each(&pdev->dev, end_outage);
}

static pci_ers_result_t bar_error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	switch (state) {
	case pci_channel_io_normal:
		/* nobody says which transaction was in error: it may have been a write */
		each(&pdev->dev, p2pmem_notify_outage);
		return PCI_ERS_RESULT_CAN_RECOVER;
	case pci_channel_io_frozen:
		each(&pdev->dev, p2pmem_outage_begin);
		return PCI_ERS_RESULT_NEED_RESET;
	default:
		/* what waits for others is left to remove() */
		each(&pdev->dev, p2pmem_take_away);
		return PCI_ERS_RESULT_DISCONNECT;
	}
}

/* also where no outage has begun */
static void bar_recovered(struct pci_dev *pdev)
{
	each(&pdev->dev, end_outage);
}

static const struct pci_error_handlers bar_err_handlers = {
	.error_detected	= bar_error_detected,
	.slot_reset	= p2pmem_slot_reset,
	.resume		= bar_recovered,
	.reset_prepare	= bar_reset_prepare,
	.reset_done	= bar_reset_done,
};

static int bar_suspend(struct device *dev)
{
	each(dev, p2pmem_outage_begin);
	return 0;
}

static int bar_resume(struct device *dev)
{
	pci_save_state(to_pci_dev(dev));
	each(dev, end_outage);
	return 0;
}

static DEFINE_SIMPLE_DEV_PM_OPS(bar_pm_ops, bar_suspend, bar_resume);

static struct pci_driver bar_driver = {
	.name	= KBUILD_MODNAME,
	.probe	= bar_probe,
	.remove	= bar_remove,
	.err_handler = &bar_err_handlers,
	.driver.pm = pm_sleep_ptr(&bar_pm_ops),
};
module_pci_driver(bar_driver);

MODULE_DESCRIPTION("donates BARs of any PCI function to p2pmem");
MODULE_LICENSE("GPL");

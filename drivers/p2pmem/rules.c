// SPDX-License-Identifier: GPL-2.0
/*
 * The administrator's side of the rules: the level of a donation, which is
 * what the module parameter says until somebody writes to its attribute.
 *
 * A rule holds for everybody at once. When the write of a stricter level
 * returns, no client that it refuses has a hold: the ones it had are revoked
 * as if the donor had gone. DMA of theirs that was under way is waited for, unless the
 * donor goes, who waits for it then. What they were promised to keep (dmabuf.c) isn't:
 * that may last as long as they like.
 *
 * Lock order: p->rule_lock, then a holder's own locks (in its callback), then
 * those of region.c.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sysfs.h>

#include "clients.h"
#include "donation.h"
#include "events.h"
#include "hold.h"
#include "rules.h"

static enum p2pmem_distance default_level = P2PMEM_ANY;

static int level_set(const char *val, const struct kernel_param *kp)
{
	enum p2pmem_distance level;

	if (p2pmem_policy_parse(val, &level)) {
		pr_err("p2pmem: parameter level: must be any, root, switch or function\n");
		return -EINVAL;
	}
	WRITE_ONCE(default_level, level);
	return 0;
}

static int level_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%s\n",
			  p2pmem_policy_name(READ_ONCE(default_level)));
}

static const struct kernel_param_ops level_ops = {
	.set = level_set,
	.get = level_get,
};
module_param_cb(level, &level_ops, NULL, 0644);
MODULE_PARM_DESC(level, "Which clients may use memory donated from now on: any, root, switch, function (default any)");

/** p2pmem_rules_default() - the level of a new donation */
enum p2pmem_distance p2pmem_rules_default(void)
{
	return READ_ONCE(default_level);
}

static ssize_t level_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	return sysfs_emit(buf, "%s\n",
			  p2pmem_policy_name(READ_ONCE(p2pmem_of(dev)->level)));
}

/* The donor can't go meanwhile: it waits until its attributes are left. */
static void set_level(struct p2pmem *p, enum p2pmem_distance level)
{
	bool changed;

	mutex_lock(&p->rule_lock);
	mutex_lock(&p->lock);
	changed = p->level != level;
	WRITE_ONCE(p->level, level);
	p->rule_seq++;
	mutex_unlock(&p->lock);
	if (changed) {
		p2pmem_holds_revoke(p, false);
		p2pmem_holds_settle(p, false);
		p2pmem_event(p, "level", "LEVEL", p2pmem_policy_name(level));
	}
	mutex_unlock(&p->rule_lock);
}

static ssize_t level_store(struct device *dev, struct device_attribute *attr,
			   const char *buf, size_t count)
{
	enum p2pmem_distance level;

	if (p2pmem_policy_parse(buf, &level))
		return -EINVAL;
	set_level(p2pmem_of(dev), level);
	return count;
}
static DEVICE_ATTR_RW(level);

static ssize_t clients_show(struct device *dev, struct device_attribute *attr,
			    char *buf)
{
	struct p2pmem *p = p2pmem_of(dev);
	int n;

	mutex_lock(&p->lock);
	n = p2pmem_clients_list(p, buf);
	mutex_unlock(&p->lock);
	return n;
}
static DEVICE_ATTR_RO(clients);

static struct attribute *attrs[] = {
	&dev_attr_level.attr,
	&dev_attr_clients.attr,
	NULL,
};

const struct attribute_group p2pmem_rules_group = {
	.attrs = attrs,
};

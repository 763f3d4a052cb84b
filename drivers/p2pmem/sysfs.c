// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/class/p2pmem/p2pmemN/: what p2pmem(4) documents. (The link 'device'
 * to the donor is made in donation.c.)
 */
#include <linux/sysfs.h>

#include "donation.h"
#include "limits.h"
#include "region.h"
#include "rules.h"
#include "stats.h"

const char *p2pmem_kind_name(enum p2pmem_kind kind)
{
	switch (kind) {
	case P2PMEM_KIND_BAR:
		return "bar";
	case P2PMEM_KIND_CMB:
		return "cmb";
	case P2PMEM_KIND_PMR:
		return "pmr";
	}
	return "unknown";
}

static ssize_t size_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "%llu\n", p2pmem_of(dev)->d.size);
}
static DEVICE_ATTR_RO(size);

static ssize_t available_show(struct device *dev,
			      struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%llu\n", p2pmem_available(p2pmem_of(dev)));
}
static DEVICE_ATTR_RO(available);

static ssize_t kind_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "%s\n", p2pmem_kind_name(p2pmem_of(dev)->d.kind));
}
static DEVICE_ATTR_RO(kind);

static ssize_t persistent_show(struct device *dev,
			       struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", p2pmem_of(dev)->d.persistent);
}
static DEVICE_ATTR_RO(persistent);

/* Looks at every page that is in use, so it is for root only. */
static ssize_t pinned_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	unsigned long pages = p2pmem_regions_pinned(p2pmem_of(dev));

	return sysfs_emit(buf, "%llu\n", (u64)pages << PAGE_SHIFT);
}
static DEVICE_ATTR_ADMIN_RO(pinned);

static struct attribute *p2pmem_dev_attrs[] = {
	&dev_attr_size.attr,
	&dev_attr_available.attr,
	&dev_attr_kind.attr,
	&dev_attr_persistent.attr,
	&dev_attr_pinned.attr,
	NULL,
};

static const struct attribute_group p2pmem_dev_group = {
	.attrs = p2pmem_dev_attrs,
};

const struct attribute_group *p2pmem_dev_groups[] = {
	&p2pmem_dev_group,
	&p2pmem_limits_group,
	&p2pmem_rules_group,
	&p2pmem_health_group,
	&p2pmem_stats_group,
	NULL,
};

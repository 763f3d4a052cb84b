// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/class/p2pmem/p2pmemN/statistics/, see stats.h.
 */
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/sysfs.h>

#include "stats.h"

static ssize_t stat_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	struct dev_ext_attribute *ext =
		container_of(attr, struct dev_ext_attribute, attr);
	unsigned long what = (unsigned long)ext->var;
	const struct p2pmem *p = p2pmem_of(dev);
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(p->stats, cpu)->v[what]);
	return sysfs_emit(buf, "%llu\n", sum);
}

#define STAT(_name, _what)						\
	static struct dev_ext_attribute attr_##_name = {		\
		.attr = __ATTR(_name, 0444, stat_show, NULL),		\
		.var = (void *)(_what),					\
	}

STAT(bytes_in, P2PMEM_STAT_BYTES_IN);
STAT(bytes_out, P2PMEM_STAT_BYTES_OUT);
STAT(allocations, P2PMEM_STAT_ALLOCATIONS);
STAT(full, P2PMEM_STAT_FULL);
STAT(holds, P2PMEM_STAT_HOLDS);
STAT(pins, P2PMEM_STAT_PINS);
STAT(flushes, P2PMEM_STAT_FLUSHES);
STAT(revokes, P2PMEM_STAT_REVOKES);
STAT(refusals, P2PMEM_STAT_REFUSALS);

static struct attribute *attrs[] = {
	&attr_bytes_in.attr.attr,
	&attr_bytes_out.attr.attr,
	&attr_allocations.attr.attr,
	&attr_full.attr.attr,
	&attr_holds.attr.attr,
	&attr_pins.attr.attr,
	&attr_flushes.attr.attr,
	&attr_revokes.attr.attr,
	&attr_refusals.attr.attr,
	NULL,
};

const struct attribute_group p2pmem_stats_group = {
	.name = "statistics",
	.attrs = attrs,
};

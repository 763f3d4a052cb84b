// SPDX-License-Identifier: GPL-2.0
/*
 * What user space is told of a donation besides 'add' and 'remove': events of
 * action 'change', with P2PMEM_EVENT for what has changed.
 */
#include <linux/ctype.h>
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/sysfs.h>

#include "donation.h"
#include "events.h"

/**
 * p2pmem_event() - tell user space
 * @p: the donation, published
 * @what: has changed
 * @key: P2PMEM_@key is a property of the event
 * @value: its value
 *
 * If there is no memory the event is lost: the attributes tell the same.
 */
void p2pmem_event(struct p2pmem *p, const char *what, const char *key,
		  const char *value)
{
	char event[32], property[32 + P2PMEM_HEALTH_MAX];
	char *env[3] = { event, property };

	snprintf(event, sizeof(event), "P2PMEM_EVENT=%s", what);
	snprintf(property, sizeof(property), "P2PMEM_%s=%s", key, value);
	kobject_uevent_env(&p->dev.kobj, KOBJ_CHANGE, env);
}

/**
 * p2pmem_notify_health() - the donor's state has changed
 * @p: what p2pmem_donate() returned, not yet withdrawn
 * @text: the state in a few words, "ok" if all is well; what is longer than
 *	63 characters is cut off
 *
 * It becomes the attribute 'health', a line in the log and a uevent with
 * P2PMEM_HEALTH. The same state again is no news. What follows from it is up
 * to the donor, who may withdraw.
 *
 * Context: process context, may sleep.
 */
void p2pmem_notify_health(struct p2pmem *p, const char *text)
{
	char now[P2PMEM_HEALTH_MAX];
	bool news;
	char *at;

	strscpy(now, text, sizeof(now));
	for (at = now; *at; at++)
		if (!isprint(*at))
			*at = '?';

	mutex_lock(&p->lock);
	news = strcmp(p->health, now);
	if (news)
		strscpy(p->health, now, sizeof(p->health));
	mutex_unlock(&p->lock);
	if (!news)
		return;

	if (strcmp(now, "ok"))
		dev_warn(&p->dev, "health: %s\n", now);
	else
		dev_info(&p->dev, "health: ok\n");
	p2pmem_event(p, "health", "HEALTH", now);
}
EXPORT_SYMBOL_GPL(p2pmem_notify_health);

static ssize_t health_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	struct p2pmem *p = p2pmem_of(dev);
	const char *now;
	int n;

	mutex_lock(&p->lock);
	/* who began one may never say that it is over */
	now = READ_ONCE(p->out) && !strcmp(p->health, "ok") ? "outage" : p->health;
	n = sysfs_emit(buf, "%s\n", now);
	mutex_unlock(&p->lock);
	return n;
}
static DEVICE_ATTR_RO(health);

static struct attribute *attrs[] = {
	&dev_attr_health.attr,
	NULL,
};

const struct attribute_group p2pmem_health_group = {
	.attrs = attrs,
};

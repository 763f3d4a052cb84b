// SPDX-License-Identifier: GPL-2.0
/*
 * What read, write and flush work on. On a persistent device a place is a place.
 * Memory of a volatile one is nobody's until it is allocated, and gone when who
 * allocated it has ended: there, it takes a region, which 'p2pmem alloc' hands to
 * the command that it runs.
 */
#include <errno.h>
#include <linux/p2pmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "donor.h"
#include "p2pmem.h"
#include "target.h"

static void get_region(struct target *t)
{
	const char *text = getenv(TARGET_FD);
	struct p2pmem_region_info info;

	if (!text)
		die("'-' is the region that 'p2pmem alloc' gives to the command that it runs");
	t->fd = number(text, "descriptor (" TARGET_FD ")");
	if (ioctl(t->fd, P2PMEM_IOC_REGION_INFO, &info))
		die("descriptor %s (" TARGET_FD "): %s", text, errno == ENODEV ?
		    "the donor has gone" : "no region of p2pmem");
	snprintf(t->name, sizeof(t->name), "region at %#llx of p2pmem%u",
		 (unsigned long long)info.place, info.device);
	t->size = info.size;
	t->persistent = info.flags & P2PMEM_INFO_PERSISTENT;
}

void target_get(struct target *t, const char *name, int flags)
{
	struct donor d;

	if (!strcmp(name, "-")) {
		get_region(t);
		return;
	}
	donor_get(&d, name);
	if (!d.persistent)
		die("%s is volatile: run a command by 'p2pmem alloc %s', with '-' for %s in it",
		    d.name, d.name, d.name);
	snprintf(t->name, sizeof(t->name), "%s", d.name);
	t->fd = donor_open(d.name, flags);
	t->size = d.size;
	t->persistent = true;
}

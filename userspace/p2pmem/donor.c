// SPDX-License-Identifier: GPL-2.0
/*
 * Donations, from /sys/class/p2pmem.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "donor.h"
#include "p2pmem.h"

/* "/dev/p2pmem0" and "p2pmem0" are the same; NULL: it can be no device. */
static const char *base_name(const char *name)
{
	size_t prefix = strlen("p2pmem"), digits;

	if (!strncmp(name, "/dev/", 5))
		name += 5;
	if (strncmp(name, "p2pmem", prefix))
		return NULL;
	digits = strspn(name + prefix, "0123456789");
	return digits && digits < 10 && !name[prefix + digits] ? name : NULL;
}

bool donor_attribute(const char *name, const char *attribute, char *text, size_t size)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), DONOR_CLASS "/%s/%s", name, attribute);
	return read_text(path, text, size);
}

static uint64_t attribute_number(const char *name, const char *attribute)
{
	char text[32];

	return donor_attribute(name, attribute, text, sizeof(text)) ?
	       strtoull(text, NULL, 10) : 0;
}

/* Of the link PATH/LINK the last part of its target. */
static void last_part(const char *path, const char *link, char *text, size_t size)
{
	char from[PATH_MAX], to[PATH_MAX];

	*text = '\0';
	if ((size_t)snprintf(from, sizeof(from), "%s/%s", path, link) >= sizeof(from) ||
	    !realpath(from, to))
		return;
	snprintf(text, size, "%s", strrchr(to, '/') + 1);
}

static bool find_function(struct donor *d)
{
	char link[PATH_MAX], path[PATH_MAX];
	const char *at;

	snprintf(link, sizeof(link), DONOR_CLASS "/%s/device", d->name);
	if (!realpath(link, path))
		return false;
	snprintf(d->bdf, sizeof(d->bdf), "%.31s", strrchr(path, '/') + 1);
	last_part(path, "driver", d->driver, sizeof(d->driver));
	at = strstr(path, "/pci");
	snprintf(d->place, sizeof(d->place), "%s", at ? at + 1 : path);
	return true;
}

/* False: it isn't there, or has just gone. */
bool donor_read(struct donor *d, const char *name)
{
	char text[8];

	memset(d, 0, sizeof(*d));
	snprintf(d->name, sizeof(d->name), "%.31s", name);
	if (!donor_attribute(name, "kind", d->kind, sizeof(d->kind)) ||
	    !donor_attribute(name, "persistent", text, sizeof(text)) || !find_function(d))
		return false;
	d->persistent = *text == '1';
	d->size = attribute_number(name, "size");
	d->available = attribute_number(name, "available");
	/* a kernel module without rules allows any distance */
	if (!donor_attribute(name, "level", d->level, sizeof(d->level)))
		snprintf(d->level, sizeof(d->level), "any");
	return true;
}

/* The one that the user has named. */
void donor_get(struct donor *d, const char *name)
{
	const char *base = base_name(name);

	if (!base)
		die("%s is no device: they are called p2pmem0, p2pmem1, ...", name);
	if (!donor_read(d, base))
		die("there is no %s (see 'p2pmem list')", base);
}

static int by_number(const void *a, const void *b)
{
	const struct donor *x = a, *y = b;

	return strverscmp(x->name, y->name);
}

struct donors donors_all(void)
{
	DIR *dir = opendir(DONOR_CLASS);
	struct donors all = {};
	struct dirent *entry;

	if (!dir)
		die("the module p2pmem isn't loaded (modprobe p2pmem)");
	while ((entry = readdir(dir))) {
		if (!base_name(entry->d_name))
			continue;
		all.donor = more(all.donor, all.count, sizeof(*all.donor));
		all.count += donor_read(all.donor + all.count, entry->d_name);
	}
	closedir(dir);
	if (all.count)
		qsort(all.donor, all.count, sizeof(*all.donor), by_number);
	return all;
}

/* The next of those that the function donates, or the first; NULL: no more. */
const struct donor *donor_of(const struct donors *all, const char *bdf, const struct donor *after)
{
	const struct donor *end = all->donor + all->count;
	const struct donor *d = after ? after + 1 : all->donor;

	for (; d < end; d++)
		if (!strcmp(d->bdf, bdf))
			return d;
	return NULL;
}

int donor_open(const char *name, int flags)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/%s", name);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		die("%s: %s", path, errno == ENODEV || errno == ENXIO ? "the donor has gone" :
		    strerror(errno));
	return fd;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The PCI tree, from /sys/bus/pci/devices.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "p2pmem.h"
#include "pci.h"

#define DEVICES	"/sys/bus/pci/devices"

const char *pci_class_text(unsigned int class)
{
	switch (class >> 8) {
	case 0x0108:
		return "NVMe";
	case 0x0604:
		return "bridge";
	}
	switch (class >> 16) {
	case 0x01:
		return "storage";
	case 0x02:
		return "network";
	case 0x03:
		return "display";
	case 0x05:
		return "memory";
	case 0x06:
		return "bridge";
	case 0x0c:
		return "serial bus";
	case 0x12:
		return "accelerator";
	}
	return "other";
}

/* Names of a class's devices below the function: net/eth0, virtio0/net/eth0, ... */
static void add_roles(struct function *f, const char *path, const char *class, int below)
{
	char sub[PATH_MAX];
	struct dirent *entry;
	DIR *dir;
	size_t at;

	if ((size_t)snprintf(sub, sizeof(sub), "%s/%s", path, class) >= sizeof(sub))
		return;
	dir = opendir(sub);
	while (dir && (entry = readdir(dir))) {
		at = strlen(f->role);
		if (*entry->d_name != '.')
			snprintf(f->role + at, sizeof(f->role) - at, "%s%s", at ? " " : "",
				 entry->d_name);
	}
	if (dir)
		closedir(dir);
	if (!below)
		return;
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "virtio", 6))
			continue;
		snprintf(sub, sizeof(sub), "%.2000s/%s", path, entry->d_name);
		add_roles(f, sub, class, below - 1);
	}
	if (dir)
		closedir(dir);
}

static bool read_function(struct function *f, const char *bdf)
{
	char path[PATH_MAX], file[PATH_MAX + 32], driver[PATH_MAX], text[32];
	char *last, *above;

	memset(f, 0, sizeof(*f));
	snprintf(f->bdf, sizeof(f->bdf), "%.31s", bdf);
	snprintf(file, sizeof(file), DEVICES "/%s", bdf);
	if (!realpath(file, path))
		return false;
	last = strrchr(path, '/');
	*last = '\0';
	above = strrchr(path, '/');
	snprintf(f->parent, sizeof(f->parent), "%.31s", above ? above + 1 : "");
	*last = '/';

	snprintf(file, sizeof(file), "%s/class", path);
	if (!read_text(file, text, sizeof(text)))
		return false;
	f->class = strtoul(text, NULL, 16);
	f->bridge = f->class >> 16 == 0x06;
	snprintf(file, sizeof(file), "%s/driver", path);
	if (realpath(file, driver))
		snprintf(f->driver, sizeof(f->driver), "%.63s", strrchr(driver, '/') + 1);
	add_roles(f, path, "net", 1);
	add_roles(f, path, "nvme", 0);
	add_roles(f, path, "infiniband", 0);
	return true;
}

static int by_bdf(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return strcmp(x->bdf, y->bdf);
}

struct functions pci_all(void)
{
	struct functions all = {};
	struct dirent *entry;
	DIR *dir = opendir(DEVICES);

	if (!dir)
		die("this machine has no PCI (" DEVICES ")");
	while ((entry = readdir(dir))) {
		if (*entry->d_name == '.')
			continue;
		all.function = more(all.function, all.count, sizeof(*all.function));
		all.count += read_function(all.function + all.count, entry->d_name);
	}
	closedir(dir);
	if (all.count)
		qsort(all.function, all.count, sizeof(*all.function), by_bdf);
	return all;
}

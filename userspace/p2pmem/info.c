// SPDX-License-Identifier: GPL-2.0
/*
 * p2pmem info: all that sysfs has about one device, whatever the kernel's version
 * has there. Attributes of several lines are shown as they are.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "donor.h"
#include "json.h"
#include "p2pmem.h"

static int attributes_only(const struct dirent *entry)
{
	/* of every device, and nothing about ours */
	return *entry->d_name != '.' && strcmp(entry->d_name, "uevent");
}

static void show(const char *name, const char *value)
{
	const char *end;

	if (opt.json) {
		json_attribute(name, value);
		return;
	}
	do {
		end = strchrnul(value, '\n');
		printf("%-16s %.*s\n", name, (int)(end - value), value);
		value = *end ? end + 1 : end;
		name = "";
	} while (*value);
}

static void show_directory(const char *path, int below)
{
	char file[PATH_MAX], text[4200];
	struct dirent **entry;
	struct stat st;
	int i, n;

	n = scandir(path, &entry, attributes_only, alphasort);
	for (i = 0; i < n; i++) {
		if ((size_t)snprintf(file, sizeof(file), "%s/%s", path, entry[i]->d_name) <
		    sizeof(file) && !lstat(file, &st)) {
			if (S_ISREG(st.st_mode) && read_text(file, text, sizeof(text))) {
				show(entry[i]->d_name, text);
			} else if (S_ISDIR(st.st_mode) && below &&
				   strcmp(entry[i]->d_name, "power")) {
				if (opt.json)
					json_object(entry[i]->d_name);
				show_directory(file, below - 1);
				if (opt.json)
					json_end();
			}
		}
		free(entry[i]);
	}
	if (n >= 0)
		free(entry);
}

int cmd_info(int argc, char **argv, char **rest)
{
	char path[PATH_MAX];
	struct donor d;

	donor_get(&d, argv[0]);
	if (opt.json)
		json_object(NULL);
	show("device", d.name);
	show("donor", d.bdf);
	show("driver", d.driver);
	show("place", d.place);
	snprintf(path, sizeof(path), DONOR_CLASS "/%s", d.name);
	show_directory(path, 1);
	if (opt.json)
		json_end();
	return 0;
}

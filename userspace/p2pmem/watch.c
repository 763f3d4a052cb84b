// SPDX-License-Identifier: GPL-2.0
/*
 * p2pmem watch: use over time. What counts is read from sysfs at each look: the
 * memory in use, and the counters of the directory 'statistics' where the kernel
 * module has one, as their growth since the look before.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "donor.h"
#include "json.h"
#include "p2pmem.h"

struct counter {
	char device[32];
	char name[64];
	uint64_t value;
};

static struct counter *counters;
static unsigned int count;

/* How much it has grown; remembers it. */
static uint64_t growth(const char *device, const char *name, uint64_t value)
{
	uint64_t before;
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct counter *c = counters + i;

		if (strcmp(c->device, device) || strcmp(c->name, name))
			continue;
		before = c->value;
		c->value = value;
		/* smaller: the device is another one by now */
		return value >= before ? value - before : value;
	}
	counters = more(counters, count, sizeof(*counters));
	snprintf(counters[count].device, sizeof(counters[count].device), "%.31s", device);
	snprintf(counters[count].name, sizeof(counters[count].name), "%.63s", name);
	counters[count++].value = value;
	return 0;
}

static int visible(const struct dirent *entry)
{
	return *entry->d_name != '.';
}

static void show_statistics(const struct donor *d)
{
	char path[PATH_MAX], attribute[300], text[64];
	struct dirent **entry;
	uint64_t value, grown;
	int i, n;

	snprintf(path, sizeof(path), DONOR_CLASS "/%s/statistics", d->name);
	n = scandir(path, &entry, visible, alphasort);
	if (n < 0)
		return;
	if (opt.json)
		json_object("statistics");
	for (i = 0; i < n; i++) {
		const char *name = entry[i]->d_name;

		snprintf(attribute, sizeof(attribute), "statistics/%s", name);
		if (donor_attribute(d->name, attribute, text, sizeof(text))) {
			value = strtoull(text, NULL, 10);
			grown = growth(d->name, name, value);
			if (opt.json)
				json_number(name, value);
			else if (grown)
				printf(" %s +%llu", name, (unsigned long long)grown);
		}
		free(entry[i]);
	}
	free(entry);
	if (opt.json)
		json_end();
}

static void look_at(const struct donor *d)
{
	uint64_t used = d->size - d->available;
	char size[SIZE_TEXT], text[SIZE_TEXT];
	char bar[21] = "";

	if (opt.json) {
		json_object(NULL);
		json_string("device", d->name);
		json_number("size", d->size);
		json_number("used", used);
		json_number("available", d->available);
		show_statistics(d);
		json_end();
		return;
	}
	/* rounded up: a page that is in use can be seen */
	memset(bar, '#', d->size ? (used / 4096 * 20 + d->size / 4096 - 1) / (d->size / 4096) : 0);
	printf("%-10s [%-20s] %10s of %s", d->name, bar, size_text(used, text),
	       size_text(d->size, size));
	show_statistics(d);
	putchar('\n');
}

static void look(const char *name)
{
	struct donors all = {};
	unsigned int i;

	if (name) {
		all.donor = more(NULL, 0, sizeof(*all.donor));
		donor_get(all.donor, name);
		all.count = 1;
	} else {
		all = donors_all();
	}
	if (opt.json)
		json_array(NULL);
	for (i = 0; i < all.count; i++)
		look_at(all.donor + i);
	if (opt.json)
		json_end();
	fflush(stdout);
	free(all.donor);
}

static void pause_for(uint64_t seconds)
{
	struct timespec t = { .tv_sec = seconds };

	nanosleep(&t, NULL);
}

int cmd_watch(int argc, char **argv, char **rest)
{
	uint64_t times = opt.count ? number(opt.count, "count") : 0;
	uint64_t seconds = opt.interval ? number(opt.interval, "interval") : 1;
	bool screen = !opt.json && !times && isatty(STDOUT_FILENO);
	uint64_t i;

	if (opt.count && !times)
		return 0;
	for (i = 0;;) {
		if (screen)
			fputs("\033[H\033[2J", stdout);
		look(argc ? argv[0] : NULL);
		if (ferror(stdout))
			return 1;
		if (times && ++i == times)
			return 0;
		pause_for(seconds);
	}
}

// SPDX-License-Identifier: GPL-2.0
/*
 * p2pmem tree: where donors and clients sit, and which of them may talk. The
 * distance of each pair is the kernel's answer (P2PMEM_IOC_DISTANCE), and so is
 * the level that it is held against (the attribute 'level').
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/p2pmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "donor.h"
#include "json.h"
#include "p2pmem.h"
#include "pci.h"

#define DEPTH	256	/* there are no more buses */

static const char *const distances[] = {
	[P2PMEM_DISTANCE_FUNCTION]	= "function",
	[P2PMEM_DISTANCE_SWITCH]	= "switch",
	[P2PMEM_DISTANCE_ROOT]		= "root",
	[P2PMEM_DISTANCE_ANY]		= "any",
};

#define DISTANCES	(sizeof(distances) / sizeof(*distances))

static struct donors donors;
static struct functions functions;

static const struct function *next_child(const char *parent, const struct function *after)
{
	const struct function *end = functions.function + functions.count;
	const struct function *f = after ? after + 1 : functions.function;

	for (; f < end; f++)
		if (!strcmp(f->parent, parent))
			return f;
	return NULL;
}

static void describe(const struct function *f)
{
	const struct donor *d = NULL;
	char size[SIZE_TEXT];

	printf("%s %s", f->bdf, pci_class_text(f->class));
	if (*f->driver)
		printf(", %s", f->driver);
	if (*f->role)
		printf(": %s", f->role);
	while ((d = donor_of(&donors, f->bdf, d)))
		printf(" [donor %s, %s %s]", d->name, size_text(d->size, size), d->kind);
	putchar('\n');
}

static void draw(const char *parent, int depth, bool *last)
{
	const struct function *f, *next;
	int i;

	for (f = next_child(parent, NULL); f && depth < DEPTH; f = next) {
		next = next_child(parent, f);
		for (i = 0; i < depth; i++)
			fputs(last[i] ? "   " : "|  ", stdout);
		last[depth] = !next;
		fputs(next ? "+- " : "`- ", stdout);
		describe(f);
		draw(f->bdf, depth + 1, last);
	}
}

static void draw_json(const char *parent, int depth)
{
	const struct function *f;
	const struct donor *d;

	json_array("children");
	for (f = next_child(parent, NULL); f && depth < DEPTH; f = next_child(parent, f)) {
		json_object(NULL);
		json_string("function", f->bdf);
		json_string("class", pci_class_text(f->class));
		json_string("driver", *f->driver ? f->driver : NULL);
		json_string("role", *f->role ? f->role : NULL);
		json_array("devices");
		for (d = NULL; (d = donor_of(&donors, f->bdf, d)); )
			json_string(NULL, d->name);
		json_end();
		draw_json(f->bdf, depth + 1);
		json_end();
	}
	json_end();
}

static bool is_root(const char *name)
{
	return !strncmp(name, "pci", 3);
}

static void draw_roots(void)
{
	char done[sizeof(functions.function->parent)] = "";
	bool last[DEPTH];
	unsigned int i;

	/* sorted by BDF, a root's functions come together */
	for (i = 0; i < functions.count; i++) {
		const char *parent = functions.function[i].parent;

		if (!is_root(parent) || !strcmp(parent, done))
			continue;
		snprintf(done, sizeof(done), "%s", parent);
		if (opt.json) {
			json_object(NULL);
			json_string("root", parent);
			draw_json(parent, 0);
			json_end();
		} else {
			puts(parent);
			draw(parent, 0, last);
		}
	}
}

static bool ask(int fd, const char *bdf, struct p2pmem_distance_query *d)
{
	unsigned int domain, bus, device, function;

	if (sscanf(bdf, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
		return false;
	*d = (struct p2pmem_distance_query) {
		.domain = domain, .bus = bus, .device = device, .function = function,
	};
	return !ioctl(fd, P2PMEM_IOC_DISTANCE, d) && d->distance < DISTANCES;
}

static bool allowed(const struct donor *d, unsigned int distance)
{
	unsigned int level;

	for (level = 0; level < DISTANCES; level++)
		if (!strcmp(d->level, distances[level]))
			return distance <= level;
	return false;
}

static void pair(const struct donor *d, const struct function *f,
		 const struct p2pmem_distance_query *answer)
{
	bool yes = allowed(d, answer->distance);
	const char *distance = distances[answer->distance];

	if (!opt.json) {
		printf("%-10s %-13s %-16s %-9s %5u  %-8s %s\n", d->name, f->bdf,
		       *f->role ? f->role : f->driver, distance, answer->links, d->level,
		       yes ? "yes" : "no");
		return;
	}
	json_object(NULL);
	json_string("device", d->name);
	json_string("client", f->bdf);
	json_string("driver", f->driver);
	json_string("distance", distance);
	json_number("links", answer->links);
	json_string("level", d->level);
	json_bool("allowed", yes);
	json_end();
}

/* Clients are functions that somebody drives; bridges only pass on. */
static void pairs_of(const struct donor *d, int fd)
{
	const struct function *f = functions.function;
	struct p2pmem_distance_query answer;

	for (; f < functions.function + functions.count; f++)
		if (!f->bridge && *f->driver && ask(fd, f->bdf, &answer))
			pair(d, f, &answer);
}

/* Before the first word is out: a user may not have the right to. */
static int *open_all(void)
{
	int *fd = more(NULL, donors.count, sizeof(*fd));
	unsigned int i;

	for (i = 0; i < donors.count; i++)
		fd[i] = donor_open(donors.donor[i].name, O_RDONLY);
	return fd;
}

int cmd_tree(int argc, char **argv, char **rest)
{
	unsigned int i;
	int *fd;

	donors = donors_all();
	functions = pci_all();
	fd = open_all();

	if (opt.json) {
		json_object(NULL);
		json_array("roots");
	}
	draw_roots();
	if (opt.json) {
		json_end();
		json_array("pairs");
	} else if (donors.count) {
		printf("\n%-10s %-13s %-16s %-9s %5s  %-8s %s\n", "DEVICE", "CLIENT", "",
		       "DISTANCE", "LINKS", "LEVEL", "MAY TALK");
	}
	for (i = 0; i < donors.count; i++)
		pairs_of(donors.donor + i, fd[i]);
	if (opt.json) {
		json_end();
		json_end();
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * p2pmem list: a line for each device.
 */
#include <stdio.h>

#include "donor.h"
#include "json.h"
#include "p2pmem.h"

#define FORMAT	"%-10s  %-4s  %10s  %10s  %-10s  %-13s  %-12s  %s\n"

static void json(const struct donor *d)
{
	json_object(NULL);
	json_string("device", d->name);
	json_string("kind", d->kind);
	json_number("size", d->size);
	json_number("available", d->available);
	json_bool("persistent", d->persistent);
	json_string("donor", d->bdf);
	json_string("driver", *d->driver ? d->driver : NULL);
	json_string("place", d->place);
	json_end();
}

static void line(const struct donor *d)
{
	char size[SIZE_TEXT], available[SIZE_TEXT];

	printf(FORMAT, d->name, d->kind, size_text(d->size, size),
	       size_text(d->available, available), d->persistent ? "yes" : "no", d->bdf,
	       *d->driver ? d->driver : "-", d->place);
}

int cmd_list(int argc, char **argv, char **rest)
{
	struct donors all = donors_all();
	unsigned int i;

	if (opt.json)
		json_array(NULL);
	else if (all.count)
		printf(FORMAT, "DEVICE", "KIND", "SIZE", "AVAILABLE", "PERSISTENT", "DONOR",
		       "DRIVER", "PLACE");
	for (i = 0; i < all.count; i++)
		opt.json ? json(all.donor + i) : line(all.donor + i);
	if (opt.json)
		json_end();
	else if (!all.count)
		fputs("p2pmem: nobody donates memory (p2pmem(4) says how)\n", stderr);
	return 0;
}

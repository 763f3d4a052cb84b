/* SPDX-License-Identifier: GPL-2.0 */
#ifndef P2PMEM_DONOR_H
#define P2PMEM_DONOR_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* One /dev/p2pmemN, as sysfs has it. */
struct donor {
	char name[32];
	char kind[16];
	char bdf[32];		/* of the PCI function whose memory it is */
	char driver[64];
	char place[PATH_MAX];	/* from the root: bridge/.../function */
	char level[16];		/* how far away a client may be */
	bool persistent;
	uint64_t size;
	uint64_t available;
};

struct donors {
	struct donor *donor;
	unsigned int count;
};

#define DONOR_CLASS	"/sys/class/p2pmem"

struct donors donors_all(void);
bool donor_read(struct donor *d, const char *name);
void donor_get(struct donor *d, const char *name);
const struct donor *donor_of(const struct donors *all, const char *bdf, const struct donor *after);
bool donor_attribute(const char *name, const char *attribute, char *text, size_t size);
int donor_open(const char *name, int flags);

#endif /* P2PMEM_DONOR_H */

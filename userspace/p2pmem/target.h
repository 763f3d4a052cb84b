/* SPDX-License-Identifier: GPL-2.0 */
#ifndef P2PMEM_TARGET_H
#define P2PMEM_TARGET_H

#include <stdbool.h>
#include <stdint.h>

/* the environment variable with the descriptor of a region */
#define TARGET_FD	"P2PMEM_FD"

/* Memory whose bytes have places: a persistent device, or a region. */
struct target {
	char name[64];		/* for messages */
	int fd;
	bool persistent;
	uint64_t size;
};

void target_get(struct target *t, const char *name, int flags);

#endif /* P2PMEM_TARGET_H */

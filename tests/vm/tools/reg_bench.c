// SPDX-License-Identifier: GPL-2.0
/*
 * How fast memory is registered, and what a registration costs in memory
 * (tests/perf/keys.t).
 *
 *   reg_bench DEV SIZE COUNT [LIVE [huge|scattered]]
 *
 * LIVE regions of SIZE bytes (default 0) are registered and stay; then one more is
 * registered and deregistered COUNT times. huge: in pages of 2 MiB; scattered: in
 * pages of 4 KiB, no two of them neighbours in memory. Prints
 *
 *   live N seconds S bytes B      how long that took, kernel memory for each
 *   pairs N seconds S             the rest
 */
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "open_named.h"

#define ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
		 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)
#define PAGE	4096UL
#define SPREAD	1024UL	/* pages that small live regions share */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Bytes that the kernel could give to programs. */
static long long available(void)
{
	char line[256];
	long long kib = 0;
	FILE *f = fopen("/proc/meminfo", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemFree: %lld kB", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib * 1024;
}

static uint8_t *memory(size_t size, const char *how)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	uint8_t *area;
	size_t i;

	if (!strcmp(how, "huge"))
		flags |= MAP_HUGETLB;
	if (strcmp(how, "scattered"))
		return mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_POPULATE, -1, 0);
	area = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (area == MAP_FAILED || madvise(area, 2 * size, MADV_NOHUGEPAGE))
		return MAP_FAILED;
	/* the kernel gives page after page: every other one to somebody else */
	for (i = 0; i < size; i += PAGE) {
		area[i] = 1;
		area[size + i] = 1;
	}
	return area;
}

static struct ibv_mr *reg(struct ibv_pd *pd, uint8_t *at, size_t size)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, at, size, ACCESS);

	if (!mr) {
		perror("ibv_reg_mr");
		exit(1);
	}
	return mr;
}

int main(int argc, char **argv)
{
	unsigned long size, count, live, i;
	struct ibv_context *ctx;
	struct ibv_mr **mr;
	struct ibv_pd *pd;
	long long before;
	uint8_t *area;
	double start;

	if (argc < 4) {
		fprintf(stderr, "usage: reg_bench DEV SIZE COUNT [LIVE [huge|scattered]]\n");
		return 2;
	}
	size = strtoul(argv[2], NULL, 0);
	count = strtoul(argv[3], NULL, 0);
	live = argc > 4 ? strtoul(argv[4], NULL, 0) : 0;
	ctx = open_named(argv[1]);
	pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	/* what they share is a multiple of 2 MiB */
	area = memory(size + SPREAD * PAGE, argc > 5 ? argv[5] : "");
	mr = calloc(live + 1, sizeof(*mr));
	if (!pd || area == MAP_FAILED || !mr) {
		perror("reg_bench");
		return 1;
	}
	memset(mr, 0, (live + 1) * sizeof(*mr));

	before = available();
	start = now();
	for (i = 0; i < live; i++)
		mr[i] = reg(pd, area + i % SPREAD * PAGE, size);
	if (live)
		printf("live %lu seconds %.3f bytes %lld\n", live, now() - start,
		       (before - available()) / (long long)live);
	start = now();
	for (i = 0; i < count; i++)
		ibv_dereg_mr(reg(pd, area, size));
	printf("pairs %lu seconds %.3f\n", count, now() - start);
	start = now();
	for (i = 0; i < live; i++)
		ibv_dereg_mr(mr[i]);
	if (live)
		printf("dead %lu seconds %.3f\n", live, now() - start);
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Keys as a program has them. TAP on stdout.
 *
 *   key_check DEV GID-INDEX --lives ROUNDS   dead keys, presented all the while
 *   key_check DEV GID-INDEX --fill OTHERS    all keys, of which others have OTHERS
 *   key_check DEV GID-INDEX --large MIB      a region of MIB MiB
 *   key_check DEV GID-INDEX --huge MIB       a region of transparent huge pages
 *   key_check DEV GID-INDEX --memory PATH    a region in a device's memory
 */
#define _GNU_SOURCE /* memfd_create */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "verbs_check.h"

#define MIB		1048576UL
#define HUGE_PAGE	(2 * MIB)
#define PIECE		(128 * MIB)	/* memory that a large region has again and again */

/* One request from one to two: the status of its completion, or -1. */
static int request(struct end *one, enum ibv_wr_opcode op, size_t from, uint32_t length,
		   uint64_t addr, uint32_t key)
{
	struct ibv_sge sge = at(from, length);
	struct ibv_send_wr wr = {
		.opcode = op, .sg_list = &sge, .num_sge = 1, .wr.rdma = { addr, key },
	};

	return status_of(one, &wr);
}

/*
 * Every key that has died, presented by a peer: while others are being born the
 * newest and, one after the other, those before it; then all that are left.
 */
struct lives {
	uint32_t *key;		/* written before dead says so */
	atomic_ulong dead;
	atomic_bool over;
	unsigned long presented, hits, others;
};

static void *present(void *arg)
{
	struct lives *l = arg;
	unsigned long n, at = 0;
	struct end one, two;

	make_pair(&one, &two, pd);
	/* each of them in turn, the newest in between */
	while (!l->over || at < l->dead) {
		n = l->dead;
		if (!n)
			continue;
		if (l->over || l->presented % 2)
			n = 1 + at++ % n;
		l->presented++;
		switch (request(&one, l->presented % 3 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
				0, 8, (uintptr_t)area + AREA / 2, l->key[n - 1])) {
		case IBV_WC_REM_ACCESS_ERR:
			break;
		case IBV_WC_SUCCESS:
			l->hits++;
			break;
		default:
			l->others++;
		}
		renew(&one, &two);
	}
	drop(&one);
	drop(&two);
	return NULL;
}

/* Refusals, of whatever reason that a dead key may have; the others stay still. */
static unsigned long counted(void)
{
	static const char * const reason[] = { "unknown", "stale", "state" };
	unsigned long sum = 0, value;
	char path[200];
	size_t i;
	FILE *f;

	for (i = 0; i < ARRAY_SIZE(reason); i++) {
		snprintf(path, sizeof(path),
			 "/sys/class/infiniband/%s/ports/1/hw_counters/key_%s",
			 ibv_get_device_name(ctx->device), reason[i]);
		f = fopen(path, "r");
		if (!f || fscanf(f, "%lu", &value) != 1)
			die(path);
		fclose(f);
		sum += value;
	}
	return sum;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void check_lives(unsigned long rounds)
{
	struct lives l = { .key = calloc(rounds, sizeof(*l.key)) };
	unsigned long i, twice = 0, before = counted();
	pthread_t thread;
	struct ibv_mr *m;

	if (!l.key || pthread_create(&thread, NULL, present, &l))
		die("memory");
	for (i = 0; i < rounds; i++) {
		m = ibv_reg_mr(pd, area + AREA / 2, 4096, ACCESS);
		if (!m)
			die("ibv_reg_mr");
		l.key[i] = m->rkey;
		if (ibv_dereg_mr(m))
			die("ibv_dereg_mr");
		l.dead = i + 1;
	}
	l.over = true;
	pthread_join(thread, NULL);
	printf("# %lu lives, dead keys presented: %lu\n", rounds, l.presented);
	is("the ledger has counted them, and nothing else", counted() - before, l.presented);
	is("no dead key was a hit", l.hits, 0);
	is("each presentation was a remote access error", l.others, 0);
	qsort(l.key, rounds, sizeof(*l.key), by_value);
	for (i = 1; i < rounds; i++)
		twice += l.key[i] == l.key[i - 1];
	is("no key was given out twice", twice, 0);
	free(l.key);
}

/* Keys until there are none; returns how many, the last errno in *why. */
static unsigned long take_all(struct ibv_mr **m, unsigned long most, int *why)
{
	unsigned long n;

	for (n = 0; n < most; n++) {
		m[n] = ibv_reg_mr(pd, area, 4096, ACCESS);
		if (!m[n])
			break;
	}
	*why = errno;
	return n;
}

/* Full, and one goes: there is room for one, and its key is none that was there. */
static void check_full(struct ibv_mr **m, unsigned long n)
{
	unsigned long round, i, old = 0, both = 0;
	struct ibv_mr *more;

	for (round = 0; round < 2 * n; round++) {
		struct ibv_mr **at = &m[round % n];
		uint32_t dead = (*at)->rkey;

		if (ibv_dereg_mr(*at))
			die("ibv_dereg_mr");
		*at = ibv_reg_mr(pd, area, 4096, ACCESS);
		if (!*at)
			die("the one that was free");
		old += (*at)->rkey == dead;
		for (i = 0; i < n; i++)
			old += &m[i] != at && m[i]->rkey == (*at)->rkey;
		errno = 0;
		more = ibv_reg_mr(pd, area, 4096, ACCESS);
		both += more || errno != ENOMEM;
	}
	is("each time there was room for one, and not for two", both, 0);
	is("no key of before, nor another one's", old, 0);
	errno = 0;
	result(!ibv_alloc_mw(pd, IBV_MW_TYPE_1) && errno == ENOMEM,
	       "nor for a window: ENOMEM");
}

static void check_fill(unsigned long others)
{
	struct ibv_device_attr attr;
	unsigned long n, i, bad = 0;
	struct ibv_mr **m, *one;
	int why;

	if (ibv_query_device(ctx, &attr))
		die("ibv_query_device");
	printf("# max_mr %d, others have %lu\n", attr.max_mr, others);
	m = calloc(attr.max_mr + 1, sizeof(*m));
	if (!m)
		die("memory");
	n = take_all(m, attr.max_mr + 1, &why);
	/* and the one that all these programs have */
	is("as many as the device says", n + 1 + others, attr.max_mr);
	is("then ENOMEM", why, ENOMEM);
	if (n)
		check_full(m, n);
	for (i = 0; i < n; i++)
		bad += !!ibv_dereg_mr(m[i]);
	is("all are deregistered", bad, 0);
	is("and there is room for as many", take_all(m, attr.max_mr + 1, &why), n);
	for (i = 0; i < n; i++)
		ibv_dereg_mr(m[i]);
	free(m);

	/* nobody has so much memory, but it isn't the size that is wrong */
	errno = 0;
	one = ibv_reg_mr(pd, area, attr.max_mr_size, ACCESS);
	result(!one && (errno == EFAULT || errno == ENOMEM), "a region of max_mr_size: %s",
	       strerror(errno));
	errno = 0;
	one = ibv_reg_mr(pd, area, attr.max_mr_size + 1, ACCESS);
	result(!one && errno == EINVAL, "and of a byte more: %s", strerror(errno));
}

/* What is at both ends and around the middle of a region, through its key. */
static void check_places(uint8_t *base, size_t size, struct ibv_mr *m)
{
	const size_t place[] = { 0, 4093, size / 2 - 5, size - 4096 - 7, size - 16 };
	struct end one, two;
	char pattern[17];
	size_t i;

	make_pair(&one, &two, pd);
	for (i = 0; i < ARRAY_SIZE(place); i++) {
		uint8_t *there = base + place[i];

		snprintf(pattern, sizeof(pattern), "place %10zx", place[i]);
		memcpy(area, pattern, 16);
		is("WRITE", request(&one, IBV_WR_RDMA_WRITE, 0, 16, (uintptr_t)there, m->rkey), 0);
		result(!memcmp(there, pattern, 16), "the bytes are at 0x%zx", place[i]);
		memset(area + 64, 0, 16);
		is("READ", request(&one, IBV_WR_RDMA_READ, 64, 16, (uintptr_t)there, m->rkey), 0);
		result(!memcmp(area + 64, pattern, 16), "they are read from 0x%zx", place[i]);
	}
	is("a byte behind it", request(&one, IBV_WR_RDMA_READ, 0, 1, (uintptr_t)base + size,
				       m->rkey), IBV_WC_REM_ACCESS_ERR);
	renew(&one, &two);
	is("its last byte and one more",
	   request(&one, IBV_WR_RDMA_WRITE, 0, 2, (uintptr_t)base + size - 1, m->rkey),
	   IBV_WC_REM_ACCESS_ERR);
	renew(&one, &two);
	is("a byte before it", request(&one, IBV_WR_RDMA_READ, 0, 1, (uintptr_t)base - 1,
				       m->rkey), IBV_WC_REM_ACCESS_ERR);
	drop(&one);
	drop(&two);
}

/* The details of the region, as "rdma resource" has them. */
static void show_details(void)
{
	char command[100];

	fflush(stdout);
	snprintf(command, sizeof(command), "rdma -dd resource show mr pid %d | sed 's/^/# /'",
		 getpid());
	if (system(command))
		printf("# no rdma tool\n");
}

static void check_region(uint8_t *base, size_t size)
{
	struct ibv_mr *m = ibv_reg_mr(pd, base, size, ACCESS);

	if (!result(m, "%zu MiB are registered", size / MIB)) {
		printf("# %s\n", strerror(errno));
		return;
	}
	show_details();
	check_places(base, size, m);
	is("ibv_dereg_mr of it", ibv_dereg_mr(m), 0);
}

/* Larger than the guest: the same memory, mapped again and again. */
static void check_large(size_t size)
{
	int fd = memfd_create("large", 0);
	uint8_t *base;
	size_t i;

	base = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fd < 0 || ftruncate(fd, PIECE) || base == MAP_FAILED)
		die("memory");
	for (i = 0; i < size; i += PIECE)
		if (mmap(base + i, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			 fd, 0) == MAP_FAILED)
			die("mmap");
	check_region(base, size);
}

/* Bytes of this process in transparent huge pages. */
static size_t huge_bytes(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	char line[200];
	size_t kib = 0;

	if (!f)
		die("smaps_rollup");
	while (fgets(line, sizeof(line), f))
		sscanf(line, "AnonHugePages: %zu", &kib);
	fclose(f);
	return kib * 1024;
}

static void check_huge(size_t size)
{
	size_t before = huge_bytes();
	uint8_t *base;

	base = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		die("memory");
	base = (uint8_t *)(((uintptr_t)base + HUGE_PAGE - 1) & -HUGE_PAGE);
	if (madvise(base, size, MADV_HUGEPAGE))
		die("MADV_HUGEPAGE");
	memset(base, 1, size);
	is("bytes in huge pages", huge_bytes() - before, size);
	check_region(base, size);
}

static void check_memory(const char *path)
{
	int fd = open(path, O_RDWR);
	size_t size = 4 * MIB;
	uint8_t *base;

	base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || base == MAP_FAILED)
		die(path);
	check_region(base, size);
}

int main(int argc, char **argv)
{
	if (argc != 5) {
		fprintf(stderr,
			"usage: %s DEV GID-INDEX --lives|--fill N | --large|--huge MIB | --memory PATH\n",
			argv[0]);
		return 2;
	}
	gid_index = atoi(argv[2]);
	open_device(argv[1]);
	if (!strcmp(argv[3], "--lives"))
		check_lives(strtoul(argv[4], NULL, 0));
	else if (!strcmp(argv[3], "--fill"))
		check_fill(strtoul(argv[4], NULL, 0));
	else if (!strcmp(argv[3], "--large"))
		check_large(strtoul(argv[4], NULL, 0) * MIB);
	else if (!strcmp(argv[3], "--huge"))
		check_huge(strtoul(argv[4], NULL, 0) * MIB);
	else
		check_memory(argv[4]);
	return close_device();
}

// SPDX-License-Identifier: GPL-2.0
/*
 * How long the end of a key takes in the middle of WRITEs to it (tests/perf/keys.t):
 *
 *   barrier_bench DEV GID-INDEX ROUNDS LIVE [BDF]
 *
 * prints, for each way to end a key, with LIVE other keys in the table,
 *
 *   WHAT median MS longest MS
 *
 * The memory is written to by a QP of the same device; a call has ended when it
 * returns, a work request when its completion has been polled. What a peer's SEND with
 * invalidate takes counts from the completion of the WRITE before it. BDF: of a BAR,
 * for what its donor does: a new level (revoke), and to be unbound from p2pmem_bar
 * (unplug), where all that this has to do counts.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "verbs_check.h"

#define LENGTH	1048576UL
#define WRITES	8
#define DONOR	"/dev/p2pmem0"
#define LEVEL	"/sys/class/p2pmem/p2pmem0/level"

static struct end one, two;
static struct ibv_mr *target, *source, **live;
static struct ibv_mw *window;
static uint8_t *ram, *memory;	/* what there is; what is written to */
static uint32_t key;
static const char *bdf;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void bind(uint64_t length)
{
	const struct ibv_mw_bind_info to = {
		.mr = length ? target : NULL, .addr = (uintptr_t)memory, .length = length,
		.mw_access_flags = length ? IBV_ACCESS_REMOTE_WRITE : 0,
	};

	if (bind_window(&two, window, &to, &key))
		die("ibv_bind_mw");
}

static void invalidate(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = key };

	if (status_of(&two, &wr))
		die("LOCAL_INV");
}

static void unbind(void)
{
	bind(0);
}

/* It is on its way behind half of the WRITEs, of which one is done. */
static void wait_for_peer(void)
{
	struct ibv_wc wc;
	int n = 0;

	while (!n)
		n = ibv_poll_cq(two.rcq, 1, &wc);
	if (n < 0 || wc.status)
		die("a receive");
}

static void write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die(path);
	close(fd);
}

static void unplug(void)
{
	write_to("/sys/bus/pci/drivers/p2pmem_bar/unbind", bdf);
}

/* To all but the donor's own function. */
static void forbid(void)
{
	write_to(LEVEL, "function");
}

/* Memory of the donor, which comes back if it has gone. */
static void map_donor(void)
{
	time_t end = time(NULL) + 10;
	int fd;

	if (access(DONOR, F_OK))
		write_to("/sys/bus/pci/drivers/p2pmem_bar/bind", bdf);
	while ((fd = open(DONOR, O_RDWR)) < 0 && time(NULL) < end)
		usleep(1000);
	memory = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		die(DONOR);
	close(fd);
	write_to(LEVEL, "any");
}

static void dealloc(void)
{
	if (ibv_dealloc_mw(window))
		die("ibv_dealloc_mw");
	window = NULL;
}

static void dereg(void)
{
	if (ibv_dereg_mr(target))
		die("ibv_dereg_mr");
	target = NULL;
}

static void rereg(void)
{
	if (ibv_rereg_mr(target, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			 IBV_ACCESS_LOCAL_WRITE))
		die("ibv_rereg_mr");
}

static const struct way {
	const char *name;
	int window;	/* the type of the window that is written to, 0: the region */
	void (*end)(void);
} ways[] = {
	{ "dereg", 0, dereg },
	{ "rereg", 0, rereg },
	{ "unbind", 1, unbind },
	{ "dealloc_mw", 1, dealloc },
	{ "LOCAL_INV", 2, invalidate },
	{ "SEND_with_invalidate", 2, wait_for_peer },
	{ "revoke", 0, forbid },
	{ "unplug", 0, unplug },
};

static bool of_donor(const struct way *way)
{
	return way->end == forbid || way->end == unplug;
}

static bool of_peer(const struct way *way)
{
	return way->end == wait_for_peer;
}

/* Until the first WRITE is done, or the peer's SEND is next, and others are on their way. */
static void start_requests(bool invalidates)
{
	int i, n = 0, before = invalidates ? WRITES / 2 : 1;
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	if (invalidates && post_recvs(&two, 1, 0, 8))
		die("ibv_post_recv");
	for (i = 0; i < WRITES; i++) {
		struct ibv_sge sge = { (uintptr_t)ram, LENGTH, source->lkey };
		struct ibv_send_wr wr = {
			.opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { (uintptr_t)memory, key },
		};

		if (invalidates && i == before) {
			wr.opcode = IBV_WR_SEND_WITH_INV;
			wr.invalidate_rkey = key;
			sge.length = 0;
		}
		if (post(&one, &wr, &bad))
			die("ibv_post_send");
	}
	for (i = 0; i < before; i += n) {
		n = ibv_poll_cq(one.scq, 1, &wc);
		if (n < 0 || (n && wc.status))
			die("the first WRITEs");
	}
}

static void make_target(const struct way *way)
{
	if (of_donor(way))
		map_donor();
	target = ibv_reg_mr(pd, memory, LENGTH, ACCESS | IBV_ACCESS_MW_BIND);
	if (!target)
		die("ibv_reg_mr");
	key = target->rkey;
	if (!way->window)
		return;
	window = ibv_alloc_mw(pd, way->window == 1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
	if (!window)
		die("ibv_alloc_mw");
	key = window->rkey;
	bind(LENGTH);
}

/* Milliseconds that the end took; -1: all WRITEs were done before it. */
static double round_of(const struct way *way)
{
	int left = of_peer(way) ? WRITES / 2 : WRITES - 1, i, bad = 0;
	struct ibv_wc wc[WRITES];
	double took;

	make_target(way);
	start_requests(of_peer(way));
	took = now();
	way->end();
	took = now() - took;
	if (drain(one.scq, wc, left) != left)
		die("the WRITEs");
	for (i = 0; i < left; i++)
		bad += wc[i].status != IBV_WC_SUCCESS;
	if (window)
		dealloc();
	if (target)
		dereg();
	if (of_donor(way))
		munmap(memory, LENGTH);
	memory = ram + LENGTH;
	renew(&one, &two);
	return bad ? took : -1;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Keys that have nothing to do with it. */
static void fill_table(int count)
{
	int i;

	live = calloc(count + 1, sizeof(*live));
	if (!live)
		die("memory");
	for (i = 0; i < count; i++) {
		live[i] = ibv_reg_mr(pd, area + i % 16 * 4096, 4096, ACCESS);
		if (!live[i])
			die("ibv_reg_mr");
	}
}

static void measure(const struct way *way, double *took, int rounds)
{
	int i, n;

	for (i = n = 0; i < 4 * rounds && n < rounds; i++) {
		took[n] = round_of(way);
		n += took[n] >= 0;
	}
	if (n < rounds)
		die("the WRITEs were done too soon");
	qsort(took, n, sizeof(*took), by_value);
	printf("%s median %.2f longest %.2f\n", way->name, took[n / 2], took[n - 1]);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	double *took;
	int rounds;
	size_t w;

	if (argc != 5 && argc != 6) {
		fprintf(stderr, "usage: barrier_bench DEV GID-INDEX ROUNDS LIVE [BDF]\n");
		return 2;
	}
	gid_index = atoi(argv[2]);
	rounds = atoi(argv[3]);
	bdf = argv[5];
	open_device(argv[1]);
	took = calloc(rounds, sizeof(*took));
	if (!took || posix_memalign((void **)&ram, 4096, 2 * LENGTH))
		die("memory");
	memory = ram + LENGTH;
	source = ibv_reg_mr(pd, ram, LENGTH, ACCESS);
	if (!source)
		die("ibv_reg_mr");
	fill_table(atoi(argv[4]));
	make_pair(&one, &two, pd);
	for (w = 0; w < ARRAY_SIZE(ways); w++)
		if (!of_donor(&ways[w]) || bdf)
			measure(&ways[w], took, rounds);
	/* the rest goes with the program */
	return 0;
}

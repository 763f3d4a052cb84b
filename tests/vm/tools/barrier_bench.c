// SPDX-License-Identifier: GPL-2.0
/*
 * How long the end of a key takes in the middle of WRITEs to it (tests/perf/keys.t):
 *
 *   barrier_bench DEV GID-INDEX ROUNDS
 *
 * prints, for each way to end a key,
 *
 *   WHAT median MS longest MS
 *
 * The memory is written to by a QP of the same device; a call has ended when it
 * returns, a work request when its completion has been polled.
 */
#include "verbs_check.h"

#define LENGTH	1048576UL
#define WRITES	8

static struct end one, two;
static struct ibv_mr *target;
static struct ibv_mw *window;
static uint8_t *memory;
static uint32_t key;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

/* A work request of two's, to its completion. */
static void of_two(struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	wr->send_flags = IBV_SEND_SIGNALED;
	if (post(&two, wr, &bad) || drain(two.scq, &wc, 1) != 1 || wc.status)
		die("a work request");
}

static struct ibv_mw_bind_info all_of_it(void)
{
	return (struct ibv_mw_bind_info){
		.mr = target, .addr = (uintptr_t)memory, .length = LENGTH,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
}

static void bind_1(bool on)
{
	struct ibv_mw_bind bind = { .send_flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc;

	if (on)
		bind.bind_info = all_of_it();
	if (ibv_bind_mw(two.qp, window, &bind) || drain(two.scq, &wc, 1) != 1 || wc.status)
		die("ibv_bind_mw");
	key = window->rkey;
}

static void bind_2(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW };

	wr.bind_mw.mw = window;
	wr.bind_mw.rkey = ibv_inc_rkey(window->rkey);
	wr.bind_mw.bind_info = all_of_it();
	of_two(&wr);
	key = wr.bind_mw.rkey;
}

static void invalidate(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = key };

	of_two(&wr);
}

static void unbind(void)
{
	bind_1(false);
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
};

/* Until the first WRITE is done and others are on their way. */
static void start_writes(void)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int i;

	for (i = 0; i < WRITES; i++) {
		struct ibv_sge sge = { (uintptr_t)memory + LENGTH, LENGTH, mr->lkey };
		struct ibv_send_wr wr = {
			.opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { (uintptr_t)memory, key },
		};

		if (post(&one, &wr, &bad))
			die("ibv_post_send");
	}
	if (drain(one.scq, &wc, 1) != 1 || wc.status)
		die("the first WRITE");
}

/* Milliseconds that the end took; -1: all WRITEs were done before it. */
static double round_of(const struct way *way)
{
	struct ibv_wc wc[WRITES];
	double took;
	int i, bad = 0;

	target = ibv_reg_mr(pd, memory, LENGTH, ACCESS | IBV_ACCESS_MW_BIND);
	if (!target)
		die("ibv_reg_mr");
	key = target->rkey;
	if (way->window) {
		window = ibv_alloc_mw(pd, way->window == 1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
		if (!window)
			die("ibv_alloc_mw");
		if (way->window == 1)
			bind_1(true);
		else
			bind_2();
	}
	start_writes();
	took = now();
	way->end();
	took = now() - took;
	if (drain(one.scq, wc, WRITES - 1) != WRITES - 1)
		die("the WRITEs");
	for (i = 0; i < WRITES - 1; i++)
		bad += wc[i].status != IBV_WC_SUCCESS;
	if (window)
		dealloc();
	if (target)
		dereg();
	if (to_state(&one, IBV_QPS_RESET) || to_state(&two, IBV_QPS_RESET))
		die("RESET");
	join(&one, &two);
	return bad ? took : -1;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	int rounds, i, n;
	double *took;
	size_t w;

	if (argc != 4) {
		fprintf(stderr, "usage: barrier_bench DEV GID-INDEX ROUNDS\n");
		return 2;
	}
	gid_index = atoi(argv[2]);
	rounds = atoi(argv[3]);
	open_device(argv[1]);
	took = calloc(rounds, sizeof(*took));
	if (!took || posix_memalign((void **)&memory, 4096, 2 * LENGTH))
		die("memory");
	/* the WRITEs' source and what they write to */
	ibv_dereg_mr(mr);
	mr = ibv_reg_mr(pd, memory + LENGTH, LENGTH, ACCESS);
	if (!mr)
		die("ibv_reg_mr");
	make_pair(&one, &two, pd);
	for (w = 0; w < ARRAY_SIZE(ways); w++) {
		for (i = n = 0; i < 4 * rounds && n < rounds; i++) {
			took[n] = round_of(&ways[w]);
			n += took[n] >= 0;
		}
		if (n < rounds)
			die("the WRITEs were done too soon");
		qsort(took, n, sizeof(*took), by_value);
		printf("%s median %.2f longest %.2f\n", ways[w].name, took[n / 2], took[n - 1]);
	}
	drop(&one);
	drop(&two);
	ibv_dereg_mr(mr);
	ibv_dealloc_pd(pd);
	return ibv_close_device(ctx);
}

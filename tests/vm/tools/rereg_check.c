// SPDX-License-Identifier: GPL-2.0
/*
 * A region is registered anew, again and again, while peers WRITE to it, READ from it
 * and add to a word of it: each packet sees the old registration or the new one as a
 * whole. TAP on stdout.
 *
 *   rereg_check DEV GID-INDEX ROUNDS
 *
 * At first nothing that the peers need changes: memory, rights and PD are others, or
 * the same once more, in each combination, and no request may fail. Then PD, rights and
 * memory change together, and a request is refused because of its PD, or it isn't.
 */
#define _GNU_SOURCE /* memfd_create */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "key_counters.h"
#include "verbs_check.h"

#define MTU	1024U
#define WRITTEN	(8 * MTU)	/* bytes from the beginning that are written */
#define READ	(7 * MTU)	/* bytes behind them that are read */
#define REGION	(16 * MTU)
#define WORD	(REGION - 8)	/* is added to */
#define BIND	IBV_ACCESS_MW_BIND

/* The two memories that take turns: */
static int fd[2];
static uint8_t *view[2];		/* always in sight */
static uint8_t left[2][REGION];		/* as it was when the region left it */
static int now;				/* which one it is */

static uint8_t *base;			/* where the region is */
static struct ibv_mr *region;
static struct ibv_pd *pd2;
static atomic_bool over;

/* A peer, and what became of its requests. */
struct flow {
	struct end asks, answers;
	enum ibv_wr_opcode op;
	uint8_t *buffer;
	bool refusable;
	pthread_t thread;
	atomic_ulong done;
	unsigned long granted, refused, failed;
	unsigned long seen[2], mixed;	/* packets that were READ */
};

/* Nothing but what one memory has? */
static void look(struct flow *f)
{
	uint32_t i;

	for (i = 0; i < READ; i += MTU) {
		uint8_t *packet = f->buffer + i;

		/* each byte is the next one's twin */
		if ((packet[0] != 1 && packet[0] != 2) || memcmp(packet, packet + 1, MTU - 1))
			f->mixed++;
		else
			f->seen[packet[0] - 1]++;
	}
}

static int request(struct flow *f)
{
	struct ibv_sge sge = { (uintptr_t)f->buffer, 8, mr->lkey };
	struct ibv_send_wr wr = { .opcode = f->op, .sg_list = &sge, .num_sge = 1 };
	uint32_t i;

	wr.wr.rdma.remote_addr = (uintptr_t)base;
	wr.wr.rdma.rkey = region->rkey;
	switch (f->op) {
	case IBV_WR_RDMA_WRITE:
		sge.length = WRITTEN;
		for (i = 0; i < WRITTEN; i += 8)
			memcpy(f->buffer + i, &(uint64_t){ f->done + 1 }, 8);
		break;
	case IBV_WR_RDMA_READ:
		sge.length = READ;
		wr.wr.rdma.remote_addr += WRITTEN;
		memset(f->buffer, 0, READ);
		break;
	default:
		wr.wr.atomic.remote_addr = (uintptr_t)base + WORD;
		wr.wr.atomic.rkey = region->rkey;
		wr.wr.atomic.compare_add = 1;
	}
	return status_of(&f->asks, &wr);
}

static void *run(void *arg)
{
	struct flow *f = arg;

	while (!over) {
		int status = request(f);

		if (status == IBV_WC_SUCCESS) {
			f->granted++;
			if (f->op == IBV_WR_RDMA_READ)
				look(f);
		} else {
			if (f->refusable && status == IBV_WC_REM_ACCESS_ERR)
				f->refused++;
			else
				f->failed++;
			renew(&f->asks, &f->answers);
		}
		f->done++;
	}
	return NULL;
}

static void start(struct flow *f, int n, struct ibv_pd *on, enum ibv_wr_opcode op,
		  bool refusable)
{
	memset(f, 0, sizeof(*f));
	f->op = op;
	f->refusable = refusable;
	f->buffer = area + (size_t)n * REGION;
	make_pair_across(&f->asks, &f->answers, on);
	if (pthread_create(&f->thread, NULL, run, f))
		die("a thread");
}

/* All of them, two requests further: one of them is after now. */
static void wait_for(struct flow *f, int n)
{
	unsigned long before[3];
	int i;

	for (i = 0; i < n; i++)
		before[i] = f[i].done;
	for (i = 0; i < n; i++)
		while (f[i].done < before[i] + 2)
			usleep(100);
}

static void stop(struct flow *f, int n)
{
	int i;

	over = true;
	for (i = 0; i < n; i++) {
		pthread_join(f[i].thread, NULL);
		drop(&f[i].asks);
		drop(&f[i].answers);
	}
	over = false;
}

static void map_now(void)
{
	if (mmap(base, REGION, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd[now], 0) ==
	    MAP_FAILED)
		die("mmap");
}

/* The memories, the first one in place. */
static void fresh(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		memset(view[i], 0, REGION);
		memset(view[i] + WRITTEN, i + 1, READ);
		memcpy(left[i], view[i], REGION);
	}
	now = 0;
	map_now();
	region = ibv_reg_mr(pd, base, REGION, ACCESS);
	if (!region)
		die("ibv_reg_mr");
}

/* Register anew; was the memory that comes untouched since it went? */
static bool turn(int flags, struct ibv_pd *to, int access)
{
	bool moves = flags & IBV_REREG_MR_CHANGE_TRANSLATION, good = true;

	if (moves) {
		now = !now;
		good = !memcmp(view[now], left[now], REGION);
		map_now();
	}
	if (ibv_rereg_mr(region, flags, flags & IBV_REREG_MR_CHANGE_PD ? to : NULL,
			 moves ? base : NULL, moves ? REGION : 0,
			 flags & IBV_REREG_MR_CHANGE_ACCESS ? access : 0))
		die("ibv_rereg_mr");
	if (moves)
		memcpy(left[!now], view[!now], REGION);
	return good;
}

/* Words that differ from the first one of their packet, in both memories. */
static unsigned long mixed_writes(void)
{
	unsigned long mixed = 0;
	uint32_t i;
	int m;

	for (m = 0; m < 2; m++)
		for (i = 0; i < WRITTEN; i += 8)
			mixed += !!memcmp(view[m] + i, view[m] + i / MTU * MTU, 8);
	return mixed;
}

static uint64_t word(int m)
{
	uint64_t value;

	memcpy(&value, view[m] + WORD, 8);
	return value;
}

static void check_survivors(int rounds)
{
	static const enum ibv_wr_opcode op[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	/* one bit each: translation, PD, access: all combinations */
	const int all = IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD |
			IBV_REREG_MR_CHANGE_ACCESS;
	unsigned long failed = 0, touched = 0;
	struct flow f[3];
	int i;

	fresh();
	for (i = 0; i < 3; i++)
		start(&f[i], i, pd, op[i], false);
	for (i = 0; i < rounds; i++) {
		touched += !turn(i % all + 1, pd, i & 8 ? ACCESS : ACCESS | BIND);
		wait_for(f, 3);
	}
	stop(f, 3);
	for (i = 0; i < 3; i++)
		failed += f[i].failed;
	printf("# %d times; %lu WRITEs, %lu READs, %lu atomics\n", rounds, f[0].granted,
	       f[1].granted, f[2].granted);
	is("registered anew in each combination: no request fails", failed, 0);
	is("memory that was left isn't touched", touched, 0);
	is("no packet is written to both", mixed_writes(), 0);
	is("none is read from both", f[1].mixed, 0);
	result(f[1].seen[0] && f[1].seen[1], "it is read from either");
	result(word(0) && word(1), "it is added to either");
	is("each atomic is done in one of them, once", word(0) + word(1), f[2].granted);
	is("ibv_dereg_mr", ibv_dereg_mr(region), 0);
}

/* One registration is of one PD, for all; the other one of the other, for READs. */
static void check_others(int rounds)
{
	static const enum ibv_wr_opcode op[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_RDMA_READ,
	};
	unsigned long touched = 0, refused = 0, i;
	uint64_t before[KEY_REASONS], after[KEY_REASONS], others = 0, pds = 0;
	uint8_t *never = malloc(REGION);
	struct flow f[3];

	if (!never)
		die("memory");
	fresh();
	memcpy(never, view[1], REGION);
	counters_read(before);
	for (i = 0; i < 3; i++)
		start(&f[i], i, op[i] == IBV_WR_RDMA_READ ? pd2 : pd, op[i], true);
	for (i = 0; i < (unsigned long)rounds; i++) {
		wait_for(f, 3);
		touched += !turn(IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD |
				 IBV_REREG_MR_CHANGE_ACCESS, i & 1 ? pd : pd2,
				 i & 1 ? ACCESS : IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	}
	wait_for(f, 3);
	stop(f, 3);
	counters_read(after);
	for (i = 0; i < KEY_REASONS; i++) {
		if (!strcmp(key_reason[i], "pd"))
			pds = after[i] - before[i];
		else
			others += after[i] - before[i];
	}
	for (i = 0; i < 3; i++) {
		refused += f[i].refused;
		result(f[i].granted && f[i].refused && !f[i].failed,
		       "PD, rights and memory change: requests succeed or are refused (%lu, %lu)",
		       f[i].granted, f[i].refused);
	}
	/* what is sent again may be refused again */
	result(pds >= refused, "because of the PD (%llu)", (unsigned long long)pds);
	is("and for no other reason", others, 0);
	is("memory that was left isn't touched", touched, 0);
	result(!memcmp(never, view[1], REGION), "nor is the one that may only be read");
	is("which only those see that may", f[2].seen[0] + f[2].mixed, 0);
	is("each atomic is done once", word(0), f[1].granted);
	is("ibv_dereg_mr", ibv_dereg_mr(region), 0);
	free(never);
}

int main(int argc, char **argv)
{
	int i;

	if (argc != 4) {
		fprintf(stderr, "usage: %s DEV GID-INDEX ROUNDS\n", argv[0]);
		return 2;
	}
	gid_index = atoi(argv[2]);
	open_device(argv[1]);
	counters_open();
	pd2 = ibv_alloc_pd(ctx);
	base = mmap(NULL, REGION, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!pd2 || base == MAP_FAILED)
		die("memory");
	for (i = 0; i < 2; i++) {
		fd[i] = memfd_create("memory", 0);
		if (fd[i] < 0 || ftruncate(fd[i], REGION))
			die("memfd_create");
		view[i] = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_SHARED, fd[i], 0);
		if (view[i] == MAP_FAILED)
			die("mmap");
	}
	check_survivors(atoi(argv[3]));
	check_others(atoi(argv[3]) / 4);
	is("the second PD", ibv_dealloc_pd(pd2), 0);
	return close_device();
}

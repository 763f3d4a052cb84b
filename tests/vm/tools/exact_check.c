// SPDX-License-Identifier: GPL-2.0
/*
 * Exactly what a key allows, and not a byte or a right more: regions and windows, all
 * through packets of this host to itself. TAP on stdout.
 *
 *   exact_check DEV GID-INDEX [FILE COMMAND]
 *
 * FILE: a donor's memory, which COMMAND takes away.
 *
 * Each request succeeds, has changed the bytes that it names and no others, and no
 * counter of refusals has moved; or it is refused, nothing has changed, the right
 * counter has moved by one and no other, and the responder's program has its event.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "exact_check.h"

static struct pair usual, other_qp, other_pd;
static struct ibv_pd *pd2;
static bool type_2a;

/* At each edge: of requests, and of words that atomics can be about. */
static void check_edges(const struct target *t)
{
	const int64_t n = t->length, first = -(int64_t)(t->base & 7);
	const int64_t last = n - 1 - ((t->base + n - 1) & 7);
	const int64_t word[] = { first - 8, first, first + 8, last - 8, last, last + 8 };
	const struct {
		int64_t off;
		uint32_t length;
	} row[] = {
		{ 0, 1 }, { n - 1, 1 }, { 0, n }, { 1, n - 1 },
		{ -1, 1 }, { n, 1 }, { -1, 2 }, { n - 1, 2 }, { 0, n + 1 }, { 1, n },
		{ -1, n + 1 }, { -1, n + 2 }, { INT64_MIN, 1 }, { n - 1, 2000 },
	};
	bool aligned = !((t->base ^ (uintptr_t)t->bytes) & 7);
	size_t i;
	int op;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		/* addresses are numbers: nothing begins again behind the last one */
		bool inside = row[i].off >= 0 && row[i].off + row[i].length <= n;

		for (op = 0; op < 2; op++)
			ask(&usual, op ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
			    t->bytes + row[i].off, t->base + row[i].off, row[i].length,
			    t->key, inside ? "" : "bounds");
	}
	for (i = 0; i < ARRAY_SIZE(word); i++) {
		bool inside = word[i] >= 0 && word[i] + 8 <= n;

		for (op = 0; op < 2; op++)
			ask(&usual, op ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD,
			    t->bytes + word[i], t->base + word[i], 8, t->key,
			    !inside ? "bounds" : aligned ? "" : "request");
	}
}

static void check_regions(void)
{
	uint8_t *start = memory + 4 * PAGE - LENGTH;	/* 1 modulo 8 */
	const struct {
		const char *what;
		uint8_t *start;
		uint32_t length;
		uint64_t iova;
		int access;
	} row[] = {
		{ "a region where its memory is", start, LENGTH - 1, (uintptr_t)start, 0 },
		{ "one from 0 on", memory + PAGE, LENGTH, 0, 0 },
		{ "a zero-based one", start, LENGTH, (uintptr_t)start, IBV_ACCESS_ZERO_BASED },
		{ "one that ends at 2^64", start, LENGTH, -(uint64_t)LENGTH, 0 },
		{ "one that ends a byte before it", start, LENGTH - 1, -(uint64_t)LENGTH, 0 },
		{ "one across 2^63", memory + 3 * PAGE - 999, LENGTH, (1ull << 63) - 999, 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		struct ibv_mr *m = region(pd, row[i].start, row[i].length, row[i].iova,
					  ACCESS | row[i].access);

		check_edges(&(struct target){
			row[i].access ? 0 : row[i].iova, row[i].length, m->rkey, row[i].start,
		});
		end_region(m);
		group(row[i].what);
	}
	result(!ibv_reg_mr_iova2(pd, start, LENGTH + 1, -(uint64_t)LENGTH, ACCESS),
	       "none goes past 2^64");
}

static void check_windows(enum ibv_mw_type type)
{
	uint8_t *start = memory + PAGE, *inner = start + 3 * PAGE - LENGTH;
	const uint64_t size = 3 * PAGE, top = -size;
	const struct {
		const char *what;
		uint64_t iova;		/* of the region */
		uint64_t off, length;	/* of the window in it */
		int access;
	} row[] = {
		{ "within a region", (uintptr_t)start, 1025, LENGTH - 1, 0 },
		{ "from its first byte on", (uintptr_t)start, 0, LENGTH - 1, 0 },
		{ "up to its last", (uintptr_t)start, size - LENGTH, LENGTH, 0 },
		{ "zero-based", (uintptr_t)start, 1025, LENGTH, IBV_ACCESS_ZERO_BASED },
		{ "that ends at 2^64", top, size - LENGTH, LENGTH, 0 },
		{ "that ends a byte before it", top, size - LENGTH, LENGTH - 1, 0 },
	};
	const struct {
		uint64_t addr, length;
	} wild[] = {
		{ (uintptr_t)start - 1, 1 }, { (uintptr_t)start + size, 1 },
		{ (uintptr_t)start - 1, 2 }, { (uintptr_t)start + size - 1, 2 },
		{ (uintptr_t)start, size + 1 }, { (uintptr_t)start, UINT64_MAX },
		{ (uintptr_t)start - 1, size + 2 }, { -1ull, 2 }, { -1ull, UINT64_MAX },
	}, high[] = {
		{ top - 1, 1 }, { 0, 1 }, { -1ull, 2 }, { top, size + 1 }, { top, UINT64_MAX },
		{ top - 1, size + 1 }, { top - 1, size + 2 },
	};
	struct ibv_mr *m = region(pd, start, size, (uintptr_t)start, ACCESS | BIND);
	struct ibv_mr *h = region(pd, start, size, top, ACCESS | BIND);
	struct ibv_mw *w;
	struct target t;
	char text[100];
	uint32_t key;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		uint64_t base = row[i].iova + row[i].off;

		w = window(pd, type, &key);
		try_bind(&usual, w, row[i].iova == top ? h : m, base, row[i].length,
			 REMOTE | row[i].access, &key, "");
		t = (struct target){
			row[i].access ? 0 : base, row[i].length, key, start + row[i].off,
		};
		check_edges(&t);
		end_window(w);
		snprintf(text, sizeof(text), "a window of type %d %s", type, row[i].what);
		group(text);
	}
	w = window(pd, type, &key);
	for (i = 0; i < ARRAY_SIZE(wild); i++)
		try_bind(&usual, w, m, wild[i].addr, wild[i].length, REMOTE, &key, "bounds");
	for (i = 0; i < ARRAY_SIZE(high); i++)
		try_bind(&usual, w, h, high[i].addr, high[i].length, REMOTE, &key, "bounds");
	try_bind(&usual, w, h, top, size, REMOTE, &key, "");
	ask(&usual, IBV_WR_RDMA_READ, inner, -(uint64_t)LENGTH, LENGTH, key, "");
	end_window(w);
	end_region(h);
	end_region(m);
	snprintf(text, sizeof(text), "a window of type %d goes not beyond its region", type);
	group(text);
}

/* Of no bytes: the key isn't looked at (IBTA 9.7.4.1.6); nor is that of an SGE. */
static void check_nothing(uint32_t dead)
{
	struct ibv_mr *foreign = region(pd2, memory, PAGE, 0, LOCAL);
	struct ibv_mr *empty = region(pd, memory, 0, (uintptr_t)memory, ACCESS);
	const uint32_t key[] = { 0, ~0u, dead, foreign->rkey, empty->rkey, mr->rkey };
	struct ibv_sge list[3] = { at(0, 8), { 0, 0, dead }, at(8, 8) };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = list, .num_sge = 3 };
	struct ibv_recv_wr recv = { .sg_list = list, .num_sge = 3 }, *bad;
	struct ibv_mw *w;
	uint32_t window_key;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(key); i++) {
		ask(&usual, IBV_WR_RDMA_WRITE, memory, -1ull, 0, key[i], "");
		ask(&usual, IBV_WR_RDMA_READ, memory, i, 0, key[i], "");
	}
	if (ibv_post_recv(usual.answers.qp, &recv, &bad))
		die("ibv_post_recv");
	note(status_of(&usual.asks, &wr) == 0 && successes(usual.answers.rcq, 1) == 1 &&
	     !*counters_moved(), "an SGE of no bytes at both ends", 0, "");
	group("no bytes need no key");
	ask_all(&usual, &(struct target){ (uintptr_t)memory, 8, empty->rkey, memory }, "bounds");
	w = window(pd, IBV_MW_TYPE_2, &window_key);
	try_bind(&usual, w, mr, (uintptr_t)area, 0, REMOTE, &window_key, "bounds");
	end_window(w);
	group("a region of no bytes has none, a window of type 2 has some");
	end_region(empty);
	end_region(foreign);
}

/* Each set of rights, with each request. */
static void check_rights(struct ibv_mr *m, int rights, uint32_t key)
{
	const struct target t = { (uintptr_t)memory, 8, key, memory };
	static const struct {
		enum ibv_wr_opcode op;
		int right;
	} row[] = {
		{ IBV_WR_RDMA_WRITE, IBV_ACCESS_REMOTE_WRITE },
		{ IBV_WR_RDMA_READ, IBV_ACCESS_REMOTE_READ },
		{ IBV_WR_ATOMIC_CMP_AND_SWP, IBV_ACCESS_REMOTE_ATOMIC },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_ACCESS_REMOTE_ATOMIC },
	};
	size_t i;

	if (m && ibv_rereg_mr(m, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, rights))
		die("ibv_rereg_mr");
	for (i = 0; i < ARRAY_SIZE(row); i++)
		ask(&usual, row[i].op, t.bytes, t.base, 8, t.key,
		    rights & row[i].right ? "" : "access");
}

/* The subsets of three rights, from none to all. */
static int subset(int i)
{
	return (i & 1 ? IBV_ACCESS_REMOTE_WRITE : 0) | (i & 2 ? IBV_ACCESS_REMOTE_READ : 0) |
	       (i & 4 ? IBV_ACCESS_REMOTE_ATOMIC : 0);
}

static void check_all_rights(void)
{
	static const struct {
		int region, window;
		const char *why;
	} row[] = {
		{ ACCESS, REMOTE, "access" },
		{ BIND, IBV_ACCESS_REMOTE_READ, "" },
		{ BIND, IBV_ACCESS_REMOTE_WRITE, "access" },
		{ BIND | IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_ATOMIC, "access" },
		{ BIND | LOCAL, REMOTE, "" },
		{ BIND | ACCESS, REMOTE | BIND, "access" },
	};
	struct ibv_mr *m = region(pd, memory, PAGE, (uintptr_t)memory, ACCESS);
	enum ibv_mw_type type;
	struct ibv_mw *w;
	uint32_t key;
	size_t i;

	for (i = 0; i < 8; i++)
		check_rights(m, LOCAL | subset(i), m->rkey);
	check_rights(m, 0, m->rkey);
	check_rights(m, IBV_ACCESS_REMOTE_READ, m->rkey);
	end_region(m);
	for (i = 0; i < 8; i++) {
		m = region(pd, memory, PAGE, (uintptr_t)memory, LOCAL | subset(i));
		check_rights(NULL, subset(i), m->rkey);
		end_region(m);
	}
	group("rights of a region, each alone, in pairs, none and all");
	for (type = IBV_MW_TYPE_1; type <= IBV_MW_TYPE_2; type++) {
		for (i = 0; i < 8; i++) {
			m = region(pd, memory, PAGE, (uintptr_t)memory, LOCAL | BIND);
			w = window(pd, type, &key);
			try_bind(&usual, w, m, (uintptr_t)memory, 8, subset(i), &key, "");
			check_rights(NULL, subset(i), key);
			end_window(w);
			end_region(m);
		}
		for (i = 0; i < ARRAY_SIZE(row); i++) {
			m = region(pd, memory, PAGE, (uintptr_t)memory, row[i].region);
			w = window(pd, type, &key);
			try_bind(&usual, w, m, (uintptr_t)memory, 8, row[i].window, &key,
				 row[i].why);
			end_window(w);
			end_region(m);
		}
		group(type == IBV_MW_TYPE_1 ? "of a window of type 1" : "of a window of type 2");
	}
}

static void check_local(void)
{
	uint8_t *start = memory + 4 * PAGE - LENGTH;
	const uint64_t n = LENGTH;
	const struct {
		uint64_t off;
		uint32_t length;
		const char *why;
	} row[] = {
		{ 0, 1, "" }, { n - 8, 8, "" }, { 0, n, "" },
		{ -1ull, 1, "bounds" }, { n, 1, "bounds" }, { -1ull, 8, "bounds" },
		{ n - 7, 8, "bounds" }, { 1ull << 63, 8, "bounds" },
	};
	struct ibv_mr *m[2] = {
		region(pd, start, n, (uintptr_t)start, LOCAL), region(pd, start, n, -n, LOCAL),
	}, *ro = region(pd, start, n, (uintptr_t)start, IBV_ACCESS_REMOTE_READ | BIND);
	struct ibv_mr *foreign = region(pd2, start, n, (uintptr_t)start, LOCAL);
	struct ibv_mw *w;
	uint32_t key;
	size_t i, j;

	for (i = 0; i < 2; i++)
		for (j = 0; j < ARRAY_SIZE(row); j++)
			local_all(&usual, start + row[j].off,
				  (i ? -n : (uintptr_t)start) + row[j].off, row[j].length,
				  m[i]->lkey, row[j].why, row[j].why);
	group("buffers of work requests, at each edge, at 2^64 too");
	local_all(&usual, start, (uintptr_t)start, 8, ro->lkey, "", "access");
	w = window(pd, IBV_MW_TYPE_1, &key);
	try_bind(&usual, w, ro, (uintptr_t)start, n, IBV_ACCESS_REMOTE_READ, &key, "");
	local_all(&usual, start, (uintptr_t)start, 8, key, "access", "access");
	end_window(w);
	local_all(&usual, start, (uintptr_t)start, 8, foreign->lkey, "pd", "pd");
	group("buffers without local write, of a window, of another PD");
	end_region(foreign);
	end_region(ro);
	end_region(m[1]);
	end_region(m[0]);
}

static void check_pds(void)
{
	struct ibv_mr *m = region(pd, memory, PAGE, (uintptr_t)memory, ACCESS | BIND);
	struct ibv_mr *foreign = region(pd2, memory, PAGE, (uintptr_t)memory, ACCESS | BIND);
	struct target t = { (uintptr_t)memory, 8, foreign->rkey, memory };
	enum ibv_mw_type type;
	struct ibv_mw *w, *w2;
	uint32_t key, key2;

	ask_all(&usual, &t, "pd");
	ask_all(&other_pd, &t, "");
	if (ibv_rereg_mr(foreign, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0))
		die("ibv_rereg_mr");
	ask_all(&usual, &t, "");
	ask_all(&other_pd, &t, "pd");
	if (ibv_rereg_mr(foreign, IBV_REREG_MR_CHANGE_PD, pd2, NULL, 0, 0))
		die("ibv_rereg_mr");
	ask_all(&usual, &t, "pd");
	group("a region of another PD, also when that has changed");
	for (type = IBV_MW_TYPE_1; type <= IBV_MW_TYPE_2; type++) {
		w = window(pd, type, &key);
		w2 = window(pd2, type, &key2);
		/* region, window, QP: one of the three is of another PD */
		try_bind(&usual, w, foreign, (uintptr_t)memory, 8, REMOTE, &key, "pd");
		try_bind(&usual, w2, m, (uintptr_t)memory, 8, REMOTE, &key2, "pd");
		try_bind(&other_pd, w, m, (uintptr_t)memory, 8, REMOTE, &key, "pd");
		try_bind(&other_pd, w2, foreign, (uintptr_t)memory, 8, REMOTE, &key2, "");
		t.key = key2;
		ask_all(&usual, &t, type == IBV_MW_TYPE_2 && type_2a ? "qp" : "pd");
		ask_all(&other_pd, &t, "");
		group(type == IBV_MW_TYPE_1 ? "windows of type 1 and another PD" :
					      "windows of type 2 and another PD");
		end_window(w2);
		end_window(w);
	}
	end_region(foreign);
	end_region(m);
}

/* A window of type 2 is one QP's: to use, and to end. */
static void check_qps(void)
{
	const char *foreign = type_2a ? "qp" : "pd";
	struct ibv_mr *m = region(pd, memory, PAGE, (uintptr_t)memory, ACCESS | BIND);
	struct target t = { (uintptr_t)memory, 8, 0, memory };
	struct ibv_mw *one, *w;
	uint32_t key;
	int peer;

	w = window(pd, IBV_MW_TYPE_2, &t.key);
	one = window(pd, IBV_MW_TYPE_1, &key);
	ask_all(&usual, &t, "state");
	try_bind(&usual, w, m, t.base, 8, REMOTE, &t.key, "");
	try_bind(&usual, one, m, t.base, 8, REMOTE, &key, "");
	ask_all(&other_qp, &t, "qp");
	ask_all(&other_pd, &t, foreign);
	for (peer = 0; peer < 2; peer++) {
		try_invalidate(&other_qp, peer, t.key, "qp");
		try_invalidate(&other_pd, peer, t.key, foreign);
		try_invalidate(&usual, peer, t.key ^ 1, "stale");
		try_invalidate(&usual, peer, key, "access");
		try_invalidate(&usual, peer, m->rkey, "access");
		ask_all(&usual, &t, "");
		try_invalidate(&usual, peer, t.key, "");
		ask_all(&usual, &t, "state");
		try_invalidate(&usual, peer, t.key, "state");
		try_bind(&usual, w, m, t.base, 8, REMOTE, &t.key, "");
		ask_all(&usual, &t, "");
	}
	/* its key of before */
	t.key ^= 1;
	ask_all(&usual, &t, "stale");
	group("a window of type 2 and other QPs");
	end_window(one);
	end_window(w);
	end_region(m);
}

/* What a peer is told about a key that it has made up. */
static const char *guess(uint32_t key)
{
	struct ibv_sge sge = at(0, 8);
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_READ, .sg_list = &sge, .num_sge = 1,
		.wr.rdma = { (uintptr_t)memory, key },
	};
	int status = status_of(&usual.asks, &wr);
	const char *moved = counters_moved();

	note(status == IBV_WC_REM_ACCESS_ERR, "a number", status, moved);
	start_again(&usual);
	return moved;
}

/* Keys that have gone, and numbers that were none. The key of a region that has gone. */
static uint32_t check_dead(void)
{
	struct target t = { (uintptr_t)memory, 8, 0, memory };
	int i, unknown = 0, stale = 0;
	enum ibv_mw_type type;
	struct ibv_mr *m;
	struct ibv_mw *w;
	uint32_t key;

	m = region(pd, memory, PAGE, t.base, ACCESS | BIND);
	w = window(pd, IBV_MW_TYPE_1, &key);
	try_bind(&usual, w, m, t.base, 8, REMOTE, &key, "");
	t.key = key;
	ask_all(&usual, &t, "");
	try_bind(&usual, w, m, t.base, 8, REMOTE, &key, "");
	ask_all(&usual, &t, "stale");
	t.key = key;
	try_bind(&usual, w, m, t.base, 0, 0, &key, "");
	ask_all(&usual, &t, "state");
	end_window(w);
	for (type = IBV_MW_TYPE_1; type <= IBV_MW_TYPE_2; type++) {
		w = window(pd, type, &t.key);
		try_bind(&usual, w, m, t.base, 8, REMOTE, &t.key, "");
		end_window(w);
		ask_all(&usual, &t, "stale");
	}
	t.key = m->rkey;
	end_region(m);
	ask_all(&usual, &t, "stale");
	group("keys that have gone");
	for (i = 0; i < 8; i++) {
		const char *why = guess((uint32_t)random() << 8 | (i + 1) * 0x11);

		unknown += !strcmp(why, "unknown");
		stale += !strcmp(why, "stale");
	}
	/* chance may name a slot that has had a key; eight times it doesn't */
	note(unknown && unknown + stale == i, "guesses", unknown, "");
	group("keys that were none");
	return t.key;
}

/* The donor takes its memory back: the region's key and those of its windows say so. */
static void check_revoked(const char *file, const char *command)
{
	int fd = open(file, O_RDWR);
	uint8_t *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct target t = { (uintptr_t)p, 8, 0, memory };
	struct ibv_mw *w[2];
	struct ibv_mr *m;
	uint32_t key[2];
	int i;

	if (fd < 0 || p == MAP_FAILED)
		die(file);
	m = region(pd, p, PAGE, t.base, ACCESS | BIND);
	for (i = 0; i < 2; i++) {
		w[i] = window(pd, i ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1, &key[i]);
		try_bind(&usual, w[i], m, t.base, 8, REMOTE, &key[i], "");
		/* it is all zeros, as what is expected */
		memset(wanted, 0, 8);
		memset(memory, 0, 8);
		ask(&usual, IBV_WR_RDMA_READ, memory, t.base, 8, key[i], "");
	}
	if (system(command))
		die(command);
	t.key = m->rkey;
	ask_all(&usual, &t, "revoked");
	local_all(&usual, memory, t.base, 8, m->lkey, "revoked", "revoked");
	for (i = 0; i < 2; i++) {
		t.key = key[i];
		ask_all(&usual, &t, "revoked");
		try_bind(&usual, w[i], m, t.base, 8, REMOTE, &key[i], "revoked");
		end_window(w[i]);
	}
	end_region(m);
	munmap(p, PAGE);
	close(fd);
	group("a region whose memory has been taken away, and its windows");
}

int main(int argc, char **argv)
{
	struct pair *pairs[] = { &usual, &other_qp, &other_pd };
	struct ibv_device_attr attr;
	unsigned int seed;
	uint32_t dead;
	size_t i;

	if (argc != 3 && argc != 5) {
		fprintf(stderr, "usage: %s DEV GID-INDEX [FILE COMMAND]\n", argv[0]);
		return 2;
	}
	gid_index = atoi(argv[2]);
	open_device(argv[1]);
	seed = getenv("SEED") ? strtoul(getenv("SEED"), NULL, 0) : (unsigned int)time(NULL);
	printf("# seed %u\n", seed);
	srandom(seed);
	pd2 = ibv_alloc_pd(ctx);
	memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!pd2 || memory == MAP_FAILED || ibv_query_device(ctx, &attr))
		die("a second PD");
	type_2a = attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2A;
	for (i = 0; i < SIZE; i++)
		memory[i] = random();
	memcpy(wanted, memory, SIZE);
	for (i = 0; i < ARRAY_SIZE(pairs); i++)
		make_pair_across(&pairs[i]->asks, &pairs[i]->answers,
				 pairs[i] == &other_pd ? pd2 : pd);
	counters_open();
	counters_moved();
	dead = check_dead();
	check_nothing(dead);
	check_regions();
	check_windows(IBV_MW_TYPE_1);
	check_windows(IBV_MW_TYPE_2);
	check_all_rights();
	check_local();
	check_pds();
	check_qps();
	if (argc == 5)
		check_revoked(argv[3], argv[4]);
	for (i = 0; i < ARRAY_SIZE(pairs); i++) {
		drop(&pairs[i]->asks);
		drop(&pairs[i]->answers);
	}
	is("the second PD", ibv_dealloc_pd(pd2), 0);
	return close_device();
}

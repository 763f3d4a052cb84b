// SPDX-License-Identifier: GPL-2.0
/*
 * A program that writes into its rings itself, and lies. Whatever stands in
 * there, the work requests before are done, the ones that make no sense fail
 * each with its status, and nothing else happens. TAP on stdout.
 *
 *   ring_check DEV GID-INDEX
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include <rdma/ib_user_verbs.h>
#include <rdma/srnic-abi.h>

#include "verbs_check.h"

#define PAGE		4096

/* Where rings are mapped, as the kernel tells. */

struct map {
	uint8_t *start;
	size_t size;
	uint64_t offset;
};

struct ring {
	struct map map;
	struct srnic_ring_hdr *hdr;
	uint32_t depth;
	uint32_t stride;
};

#define MAX_MAPS	32

static int ring_maps(struct map *maps)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long start, end, offset;
	char line[512];
	int n = 0;

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "infiniband") && n < MAX_MAPS &&
		    sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3)
			maps[n++] = (struct map){ (uint8_t *)start, end - start, offset };
	if (!f)
		die("/proc/self/maps");
	fclose(f);
	return n;
}

/* Those that weren't there before, at most max of them. */
static int new_maps(const struct map *before, int nbefore, struct map *new, int max)
{
	struct map now[MAX_MAPS];
	int i, j, n = 0, nnow = ring_maps(now);

	for (i = 0; i < nnow; i++) {
		for (j = 0; j < nbefore && before[j].offset != now[i].offset; j++)
			;
		if (j == nbefore && n < max)
			new[n++] = now[i];
	}
	return n;
}

static struct ring ring_at(const struct map *map, uint32_t depth, uint32_t stride)
{
	return (struct ring){ *map, (void *)map->start, depth, stride };
}

static void *entry(const struct ring *ring, uint32_t index)
{
	return ring->map.start + SRNIC_RING_HDR_SIZE +
	       (size_t)(index & (ring->depth - 1)) * ring->stride;
}

/* An end with rings that we write. */
struct hand {
	struct end end;
	struct ring sq, rq, cq;
	uint32_t prod;
};

static struct ibv_qp_cap capacity(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CAP, &init))
		die("ibv_query_qp");
	return init.cap;
}

static void make_hand(struct hand *hand, enum ibv_qp_type type)
{
	struct map before[MAX_MAPS], new[2];
	struct ibv_qp_cap cap;
	int n, sq;

	n = ring_maps(before);
	hand->end.scq = ibv_create_cq(ctx, cq_size, NULL, NULL, 0);
	if (!hand->end.scq || new_maps(before, n, new, 2) != 1)
		die("a CQ with one ring");
	hand->cq = ring_at(&new[0], cq_size, sizeof(struct srnic_cqe));
	hand->end.rcq = ibv_create_cq(ctx, cq_size, NULL, NULL, 0);
	if (!hand->end.rcq)
		die("ibv_create_cq");
	n = ring_maps(before);
	make_qp(&hand->end, type, pd);
	if (new_maps(before, n, new, 2) != 2)
		die("a QP with two rings");
	/* the send ring always asks for the doorbell */
	sq = ((struct srnic_ring_hdr *)new[1].start)->flags == SRNIC_RING_NEED_DOORBELL;
	cap = capacity(hand->end.qp);
	hand->sq = ring_at(&new[sq], cap.max_send_wr,
			   SRNIC_SEND_WQE_HDR_SIZE + cap.max_inline_data);
	hand->rq = ring_at(&new[!sq], cap.max_recv_wr, SRNIC_RECV_WQE_HDR_SIZE +
			   cap.max_recv_sge * sizeof(struct srnic_sge));
	hand->prod = 0;
}

static int doorbell_of(struct end *end, uint32_t command, uint32_t wr_count,
		       uint32_t wqe_size)
{
	struct ib_uverbs_post_send_resp resp;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_post_send cmd;
		struct ib_uverbs_send_wr wr[1];
	} req = {
		.hdr.command = command,
		.hdr.in_words = (sizeof(req) - (wr_count ? 0 : sizeof(req.wr))) / 4,
		.hdr.out_words = sizeof(resp) / 4,
		.cmd.response = (uintptr_t)&resp,
		.cmd.qp_handle = end->qp->handle,
		.cmd.wr_count = wr_count,
		.cmd.wqe_size = wqe_size,
	};
	ssize_t want = req.hdr.in_words * 4;

	return write(ctx->cmd_fd, &req, want) == want ? 0 : errno;
}

static int doorbell(struct hand *hand)
{
	return doorbell_of(&hand->end, IB_USER_VERBS_CMD_POST_SEND, 0,
			   sizeof(struct ib_uverbs_send_wr));
}

/* Room for the longest list that an entry may lie about. */
static struct srnic_send_wqe *wqe_at(struct hand *hand, uint32_t index)
{
	struct srnic_send_wqe *w = entry(&hand->sq, index);

	memset(w, 0, hand->sq.stride);
	w->wr_id = index;
	w->flags = SRNIC_SEND_SIGNALED;
	return w;
}

/* A WRITE of 8 bytes that is as it should be. */
static struct srnic_send_wqe *good_write(struct hand *hand, uint32_t index)
{
	struct srnic_send_wqe *w = wqe_at(hand, index);

	w->opcode = IBV_WR_RDMA_WRITE;
	w->num_sge = 1;
	w->rdma.remote_addr = (uintptr_t)area + PAGE;
	w->rdma.rkey = mr->rkey;
	w->sge[0] = (struct srnic_sge){ (uintptr_t)area, 8, mr->lkey };
	return w;
}

static void publish(struct hand *hand, uint32_t prod)
{
	__atomic_store_n(&hand->sq.hdr->prod, prod, __ATOMIC_RELEASE);
}

static int status_of_next(struct ibv_cq *cq)
{
	struct ibv_wc wc = { .status = -1 };

	drain(cq, &wc, 1);
	return wc.status;
}

/* Both of them new again. */
static void again(struct hand *hand, struct end *peer)
{
	to_state(&hand->end, IBV_QPS_RESET);
	to_state(peer, IBV_QPS_RESET);
	join(&hand->end, peer);
	hand->prod = 0;
}

/* Does one that is as it should be go through, with the data? */
static bool works(struct hand *hand)
{
	static uint64_t value;
	uint64_t *from = (void *)area, *to = (void *)(area + PAGE);

	*from = ++value;
	good_write(hand, hand->prod);
	publish(hand, ++hand->prod);
	return !doorbell(hand) &&
	       status_of_next(hand->end.scq) == IBV_WC_SUCCESS && *to == value;
}

static void test_good(struct hand *hand)
{
	int i, good = 0;

	for (i = 0; i < 3 * DEPTH; i++)
		good += works(hand);
	is("a ring written by hand works, three times around", good, 3 * DEPTH);
}

/* Indices that can't be: nothing is taken, nothing is lost. */
static void test_indices(struct hand *hand)
{
	static const uint32_t wild[] = {
		-1u, -DEPTH, DEPTH + 1, 2 * DEPTH, 0x7fffffff, 0x80000000, 0x80000001,
	};
	struct ibv_wc wc[DEPTH];
	uint32_t cons;
	size_t i;

	for (i = 0; i < DEPTH; i++)
		good_write(hand, i);
	for (i = 0; i < ARRAY_SIZE(wild); i++) {
		publish(hand, hand->prod + wild[i]);
		doorbell(hand);
		usleep(20000);
		result(!ibv_poll_cq(hand->end.scq, DEPTH, wc),
		       "prod + 0x%x: nothing is taken", wild[i]);
	}
	publish(hand, hand->prod);
	result(works(hand), "and the next good one is done");

	/* the kernel's own index: information for us, nothing else */
	hand->sq.hdr->cons = 0xdeadbeef;
	result(works(hand), "cons is scribbled over: the next is done");
	cons = __atomic_load_n(&hand->sq.hdr->cons, __ATOMIC_ACQUIRE);
	is("and cons is right again", cons, hand->prod);
	memset(hand->sq.hdr, 0xff, SRNIC_RING_HDR_SIZE);
	publish(hand, hand->prod);
	result(works(hand), "the whole header is scribbled over: the next is done");
}

struct bad_send {
	const char *what;
	void (*spoil)(struct srnic_send_wqe *w);
	int status;
};

static void many_sges(struct srnic_send_wqe *w)
{
	w->num_sge = SGES + 1;
}

static void most_sges(struct srnic_send_wqe *w)
{
	w->num_sge = -1u;
}

static void wrap_sges(struct srnic_send_wqe *w)
{
	w->num_sge = 0x10000001;
}

static void much_inline(struct srnic_send_wqe *w)
{
	w->flags |= SRNIC_SEND_INLINE;
	w->inline_len = INLINE + 1;
}

static void most_inline(struct srnic_send_wqe *w)
{
	w->flags |= SRNIC_SEND_INLINE;
	w->inline_len = -1u;
}

static void no_opcode(struct srnic_send_wqe *w)
{
	w->opcode = -1u;
}

static void wrap_opcode(struct srnic_send_wqe *w)
{
	w->opcode = 256 + IBV_WR_RDMA_WRITE;
}

static void odd_opcode(struct srnic_send_wqe *w)
{
	w->opcode = 100;
}

static void long_sum(struct srnic_send_wqe *w)
{
	w->num_sge = 2;
	w->sge[0].length = 0x80000000;
	w->sge[1] = w->sge[0];
}

static void wrap_sum(struct srnic_send_wqe *w)
{
	int i;

	w->num_sge = SGES;
	for (i = 0; i < SGES; i++)
		w->sge[i] = (struct srnic_sge){ (uintptr_t)area, 0x40000002, mr->lkey };
}

static void short_atomic(struct srnic_send_wqe *w)
{
	w->opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	w->atomic.rkey = mr->rkey;
	w->sge[0].length = 4;
}

static void inline_read(struct srnic_send_wqe *w)
{
	w->opcode = IBV_WR_RDMA_READ;
	w->flags |= SRNIC_SEND_INLINE;
	w->inline_len = 8;
}

static void no_lkey(struct srnic_send_wqe *w)
{
	w->sge[0].lkey = ~mr->lkey;
}

static void wild_addr(struct srnic_send_wqe *w)
{
	w->sge[0].addr = UINT64_MAX - 3;
}

static void kernel_addr(struct srnic_send_wqe *w)
{
	w->sge[0].addr = 0xffff888000000000;
}

static void behind(struct srnic_send_wqe *w)
{
	w->sge[0].addr = (uintptr_t)area + AREA - 7;
}

static void test_sends(struct hand *hand, struct end *peer)
{
	static const struct bad_send rows[] = {
		{ "one SGE too many", many_sges, IBV_WC_LOC_QP_OP_ERR },
		{ "2^32 - 1 SGEs", most_sges, IBV_WC_LOC_QP_OP_ERR },
		{ "SGEs whose bytes wrap to 16", wrap_sges, IBV_WC_LOC_QP_OP_ERR },
		{ "one inline byte too many", much_inline, IBV_WC_LOC_QP_OP_ERR },
		{ "2^32 - 1 inline bytes", most_inline, IBV_WC_LOC_QP_OP_ERR },
		{ "opcode 2^32 - 1", no_opcode, IBV_WC_LOC_QP_OP_ERR },
		{ "an opcode that is WRITE in 8 bits", wrap_opcode, IBV_WC_LOC_QP_OP_ERR },
		{ "an unknown opcode", odd_opcode, IBV_WC_LOC_QP_OP_ERR },
		{ "a message of 4 GiB", long_sum, IBV_WC_LOC_LEN_ERR },
		{ "a message of 4 GiB + 8: 8 in 32 bits", wrap_sum, IBV_WC_LOC_LEN_ERR },
		{ "an atomic of 4 bytes", short_atomic, IBV_WC_LOC_LEN_ERR },
		{ "a READ into inline data", inline_read, IBV_WC_LOC_QP_OP_ERR },
		{ "an lkey that isn't one", no_lkey, IBV_WC_LOC_PROT_ERR },
		{ "an address that wraps", wild_addr, IBV_WC_LOC_PROT_ERR },
		{ "an address of the kernel's", kernel_addr, IBV_WC_LOC_PROT_ERR },
		{ "a byte behind the region", behind, IBV_WC_LOC_PROT_ERR },
	};
	struct ibv_wc wc[3];
	size_t i;
	int n;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		again(hand, peer);
		good_write(hand, 0);
		rows[i].spoil(good_write(hand, 1));
		good_write(hand, 2);
		publish(hand, 3);
		doorbell(hand);
		n = drain(hand->end.scq, wc, 3);
		if (!result(n == 3 && wc[0].status == IBV_WC_SUCCESS &&
			    (int)wc[1].status == rows[i].status && wc[1].wr_id == 1 &&
			    wc[2].status == IBV_WC_WR_FLUSH_ERR,
			    "%s: the one before is done, it fails, the next is flushed",
			    rows[i].what))
			printf("# %d completions: %d %d %d, wanted 0 %d %d\n", n,
			       wc[0].status, wc[1].status, wc[2].status,
			       rows[i].status, IBV_WC_WR_FLUSH_ERR);
	}
	again(hand, peer);
	good_write(hand, 0)->flags = -1u & ~SRNIC_SEND_INLINE;
	publish(hand, 1);
	doorbell(hand);
	is("unknown flags mean nothing", status_of_next(hand->end.scq), IBV_WC_SUCCESS);
	hand->prod = 1;
}

/* A receive is looked at when a message meets it. */
static void test_recvs(struct hand *hand, struct end *peer)
{
	static const uint32_t wild[] = { SGES + 1, 0x10000001, -1u };
	struct ibv_sge sge = at(0, 8);
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct srnic_recv_wqe *w;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wild); i++) {
		again(hand, peer);
		w = entry(&hand->rq, 0);
		memset(w, 0, hand->rq.stride);
		w->num_sge = wild[i];
		__atomic_store_n(&hand->rq.hdr->prod, 1, __ATOMIC_RELEASE);
		post(peer, &wr, &bad);
		result(status_of_next(hand->end.rcq) == IBV_WC_LOC_QP_OP_ERR,
		       "a receive with 0x%x SGEs fails", wild[i]);
		is("and its sender is told", status_of_next(peer->scq),
		   IBV_WC_REM_OP_ERR);
	}
	again(hand, peer);
	__atomic_store_n(&hand->rq.hdr->prod, 2 * DEPTH, __ATOMIC_RELEASE);
	hand->rq.hdr->cons = 77;
	post(peer, &wr, &bad);
	usleep(50000);
	is("more receives than fit are none", ibv_poll_cq(peer->scq, 1, &(struct ibv_wc){}), 0);
	w = entry(&hand->rq, 0);
	w->num_sge = 1;
	w->sge[0] = (struct srnic_sge){ (uintptr_t)area + PAGE, 8, mr->lkey };
	__atomic_store_n(&hand->rq.hdr->prod, 1, __ATOMIC_RELEASE);
	is("the message waits for one that is", status_of_next(peer->scq),
	   IBV_WC_SUCCESS);
	is("which completes", status_of_next(hand->end.rcq), IBV_WC_SUCCESS);
}

/* An address handle isn't a thing that one can guess. */
static void test_handles(void)
{
	struct ibv_pd *other = ibv_alloc_pd(ctx);
	struct ibv_ah_attr attr;
	struct ibv_ah *foreign, *dead;
	struct hand hand = {};
	struct map before[MAX_MAPS];
	uint32_t i, good = 0;
	int n;

	fill_ah(&attr);
	foreign = other ? ibv_create_ah(other, &attr) : NULL;
	dead = ibv_create_ah(pd, &attr);
	if (!foreign || !dead || ibv_destroy_ah(dead))
		die("ibv_create_ah");
	make_hand(&hand, IBV_QPT_UD);
	/* 0 and all small handles: the foreign one and the dead one are there */
	for (i = 0; i < 64; i++) {
		struct srnic_send_wqe *w;

		to_state(&hand.end, IBV_QPS_RESET);
		to_init(&hand.end);
		to_rts(&hand.end, 0);
		w = wqe_at(&hand, 0);
		w->opcode = IBV_WR_SEND;
		w->num_sge = 1;
		w->sge[0] = (struct srnic_sge){ (uintptr_t)area, 8, mr->lkey };
		w->ud.ah = i < 62 ? i : i == 62 ? -1u : 0x80000000;
		w->ud.remote_qpn = hand.end.qp->qp_num;
		w->ud.remote_qkey = 0x11111111;
		publish(&hand, 1);
		doorbell(&hand);
		good += status_of_next(hand.end.scq) == IBV_WC_LOC_QP_OP_ERR;
	}
	is("no handle but one of one's own PD", good, 64);
	n = ring_maps(before);
	drop(&hand.end);
	is("the rings go with their QP and CQs", n - ring_maps(before), 4);
	ibv_destroy_ah(foreign);
	ibv_dealloc_pd(other);
}

/*
 * Entries that change while they are read. Two kinds, each of them right: many
 * bytes from the region's begin, few from its end. Mixed, they reach behind it.
 */
static atomic_bool stop;

static void scribble(__u32 *to, __u32 value)
{
	__atomic_store_n(to, value, __ATOMIC_RELAXED);
}

static void scribble64(__u64 *to, __u64 value)
{
	__atomic_store_n(to, value, __ATOMIC_RELAXED);
}

static void *scribbler(void *arg)
{
	struct hand *hand = arg;
	uint32_t i, round;

	for (round = 0; !stop; round++)
		for (i = 0; i < DEPTH; i++) {
			struct srnic_send_wqe *w = entry(&hand->sq, i);
			bool few = (round + i) & 1;

			scribble64(&w->sge[0].addr, (uintptr_t)area + (few ? AREA - 64 : 0));
			scribble(&w->sge[0].length, few ? 64 : 8192);
			scribble(&w->num_sge, few || round % 7 ? 1 : -1u);
			scribble(&w->inline_len, few ? INLINE : -1u);
			scribble(&w->flags, SRNIC_SEND_SIGNALED |
					    (round & 2 ? SRNIC_SEND_INLINE : 0));
			scribble(&w->opcode, round % 5 ? IBV_WR_RDMA_WRITE : round);
		}
	return NULL;
}

static void test_scribbler(struct hand *hand, struct end *peer)
{
	uint8_t *target = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* what a mixture sends is too long for it, or not from our region */
	struct ibv_mr *small = ibv_reg_mr(pd, target + PAGE, 2 * PAGE, ACCESS);
	int i, n, seen[32] = {}, all = 0, other = 0, wild = 0;
	time_t end = time(NULL) + 10;
	struct ibv_wc wc[DEPTH];
	pthread_t thread;
	size_t at;

	if (target == MAP_FAILED || !small)
		die("a target");
	stop = false;
	pthread_create(&thread, NULL, scribbler, hand);
	while (time(NULL) < end) {
		again(hand, peer);
		for (i = 0; i < DEPTH; i++) {
			struct srnic_send_wqe *w = entry(&hand->sq, i);

			w->rdma.remote_addr = (uintptr_t)target + PAGE;
			w->rdma.rkey = small->rkey;
			w->sge[0].lkey = mr->lkey;
		}
		publish(hand, DEPTH);
		doorbell(hand);
		n = drain(hand->end.scq, wc, DEPTH);
		for (i = 0; i < n; i++)
			seen[wc[i].status & 31]++;
		all += n;
		other += n != DEPTH;
	}
	stop = true;
	pthread_join(thread, NULL);
	for (at = 0; at < PAGE; at++)
		wild += target[at] || target[3 * PAGE + at];
	is("entries change while they are read: each completes", other, 0);
	result(seen[IBV_WC_SUCCESS] && seen[IBV_WC_LOC_QP_OP_ERR],
	       "some are done, some refused");
	is("and no other status", seen[IBV_WC_SUCCESS] + seen[IBV_WC_LOC_QP_OP_ERR] +
	   seen[IBV_WC_LOC_PROT_ERR] + seen[IBV_WC_WR_FLUSH_ERR], all);
	is("not a byte beside the target", wild, 0);
	printf("# done %d, refused %d, protection %d, flushed %d\n",
	       seen[IBV_WC_SUCCESS], seen[IBV_WC_LOC_QP_OP_ERR],
	       seen[IBV_WC_LOC_PROT_ERR], seen[IBV_WC_WR_FLUSH_ERR]);
	ibv_dereg_mr(small);
	munmap(target, 4 * PAGE);
	again(hand, peer);
}

/* Our index of a CQ: room that isn't there is an overrun, as if it was full. */
static void test_cq(void)
{
	static const uint32_t wild[] = { 1, 0x80000000, -1u - 4 * DEPTH };
	struct ibv_async_event ev;
	struct hand hand;
	struct end peer;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wild); i++) {
		make_hand(&hand, IBV_QPT_RC);
		make_end(&peer, IBV_QPT_RC, pd);
		join(&hand.end, &peer);
		result(works(&hand), "a CQ");
		hand.cq.hdr->cons += wild[i];
		good_write(&hand, hand.prod);
		publish(&hand, hand.prod + 1);
		doorbell(&hand);
		usleep(100000);
		/* of the QP and of the CQ, in any order */
		if (ibv_get_async_event(ctx, &ev))
			die("ibv_get_async_event");
		ibv_ack_async_event(&ev);
		result(ev.event_type == IBV_EVENT_CQ_ERR ||
		       ev.event_type == IBV_EVENT_QP_FATAL,
		       "cons + 0x%x: event '%s'", wild[i],
		       ibv_event_type_str(ev.event_type));
		is("it can't be resized either",
		   ibv_resize_cq(hand.end.scq, 8 * DEPTH), EINVAL);
		drop(&hand.end);
		drop(&peer);
	}
}

/* The mappings themselves. */
static void test_maps(struct hand *hand)
{
	const struct map *m = &hand->sq.map;
	void *p, *gone;

	p = mmap(NULL, m->size + PAGE, PROT_READ, MAP_SHARED, ctx->cmd_fd, m->offset);
	result(p == MAP_FAILED, "no more than a ring can be mapped");
	p = mmap(NULL, m->size, PROT_READ | PROT_WRITE, MAP_PRIVATE, ctx->cmd_fd, m->offset);
	result(p == MAP_FAILED, "not MAP_PRIVATE");
	p = mmap(NULL, m->size, PROT_READ | PROT_EXEC, MAP_SHARED, ctx->cmd_fd, m->offset);
	result(p == MAP_FAILED, "not PROT_EXEC");
	is("and not later either", mprotect(m->start, m->size, PROT_READ | PROT_EXEC), -1);
	p = mmap(NULL, m->size, PROT_READ, MAP_SHARED, ctx->cmd_fd, m->offset + (1ul << 40));
	result(p == MAP_FAILED, "not where no ring is");
	gone = mmap(NULL, m->size, PROT_READ | PROT_WRITE, MAP_SHARED, ctx->cmd_fd, m->offset);
	result(gone != MAP_FAILED, "twice is allowed");
	is("POST_SEND with a work request in it",
	   doorbell_of(&hand->end, IB_USER_VERBS_CMD_POST_SEND, 1,
		       sizeof(struct ib_uverbs_send_wr)), 0);
	is("is a doorbell and nothing else",
	   ibv_poll_cq(hand->end.scq, 1, &(struct ibv_wc){}), 0);
	result(doorbell_of(&hand->end, IB_USER_VERBS_CMD_POST_SEND, 1, 4) == EINVAL,
	       "one of 4 bytes isn't");
	drop(&hand->end);
	/* KASAN, if it was freed */
	memset(gone, 0xff, m->size);
	p = mmap(NULL, m->size, PROT_READ, MAP_SHARED, ctx->cmd_fd, m->offset);
	result(p == MAP_FAILED, "a ring whose QP is gone can't be mapped");
	munmap(gone, m->size);
}

int main(int argc, char **argv)
{
	struct hand hand;
	struct end peer;

	if (argc != 3) {
		fprintf(stderr, "usage: %s DEV GID-INDEX\n", argv[0]);
		return 2;
	}
	gid_index = atoi(argv[2]);
	open_device(argv[1]);
	make_hand(&hand, IBV_QPT_RC);
	make_end(&peer, IBV_QPT_RC, pd);
	join(&hand.end, &peer);
	test_good(&hand);
	test_indices(&hand);
	test_sends(&hand, &peer);
	test_recvs(&hand, &peer);
	test_scribbler(&hand, &peer);
	test_handles();
	test_cq();
	test_maps(&hand);
	drop(&peer);
	return close_device();
}

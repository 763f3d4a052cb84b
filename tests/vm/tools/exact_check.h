/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What exact_check.c asks for, each time with the whole of the answer: status, bytes,
 * counters of refusals, events.
 */
#ifndef EXACT_CHECK_H
#define EXACT_CHECK_H

#include <poll.h>

#include "key_counters.h"
#include "verbs_check.h"

#define PAGE	4096UL
#define SIZE	(8 * PAGE)
#define LENGTH	2391U	/* of regions and windows: three packets, 7 modulo 8 */
#define LOCAL	IBV_ACCESS_LOCAL_WRITE
#define REMOTE	(ACCESS & ~LOCAL)
#define BIND	IBV_ACCESS_MW_BIND

/* who asks, and whose keys it is about */
struct pair {
	struct end asks, answers;
};

static uint8_t *memory;		/* what keys are for */
static uint8_t wanted[SIZE];	/* what has to be there */
static int asked, wrong;	/* in this group */

/* The peers of a QP can use it through @key: @length bytes from @base on. */
struct target {
	uint64_t base;
	uint32_t length;
	uint32_t key;
	uint8_t *bytes;
};

static void group(const char *what)
{
	result(asked && !wrong, "%s: %d", what, asked);
	asked = 0;
	wrong = 0;
}

/* One thing that was tried. */
static bool note(bool good, const char *what, int status, const char *moved)
{
	asked++;
	wrong += !good;
	if (!good)
		printf("# %s: status %d, counter '%s'\n", what, status, moved);
	return good;
}

/* The next event within ms, but for those that are no news; its type, or -1. */
static int next_event(int ms, struct ibv_qp **qp)
{
	struct pollfd p = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event ev;

	while (poll(&p, 1, ms) > 0) {
		if (ibv_get_async_event(ctx, &ev))
			die("ibv_get_async_event");
		ibv_ack_async_event(&ev);
		*qp = ev.element.qp;
		if (ev.event_type != IBV_EVENT_COMM_EST)
			return ev.event_type;
	}
	return -1;
}

/* Both ends as new. What the old ones had to say has been said by then. */
static int start_again(struct pair *p)
{
	struct ibv_qp *qp;
	int events = 0;

	renew(&p->asks, &p->answers);
	while (next_event(0, &qp) >= 0)
		events++;
	return events;
}

static bool is_atomic(enum ibv_wr_opcode op)
{
	return op == IBV_WR_ATOMIC_CMP_AND_SWP || op == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* What a request that is granted does: to our buffer, or to the bytes that it names. */
static bool has_effect(enum ibv_wr_opcode op, uint8_t *bytes, uint32_t length, uint64_t operand)
{
	uint8_t *there = wanted + (bytes - memory);
	uint64_t old;

	if (op == IBV_WR_RDMA_WRITE) {
		memcpy(there, area, length);
		return true;
	}
	if (memcmp(area, there, length))
		return false;
	if (is_atomic(op)) {
		memcpy(&old, there, 8);
		old = op == IBV_WR_ATOMIC_CMP_AND_SWP ? operand : old + operand;
		memcpy(there, &old, 8);
	}
	return true;
}

/*
 * A request to @bytes, that is @addr through @key. @why: of its refusal, or "";
 * "request": it isn't the key that is wrong.
 */
static void ask(struct pair *p, enum ibv_wr_opcode op, uint8_t *bytes, uint64_t addr,
		uint32_t length, uint32_t key, const char *why)
{
	static uint32_t serial;
	static const char * const name[] = {
		[IBV_WR_RDMA_WRITE] = "WRITE", [IBV_WR_RDMA_READ] = "READ",
		[IBV_WR_ATOMIC_CMP_AND_SWP] = "CMP_SWAP",
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = "FETCH_ADD",
	};
	struct ibv_sge sge = at(0, length);
	struct ibv_send_wr wr = { .opcode = op, .sg_list = &sge, .num_sge = 1 };
	const char *moved, *reason = why;
	int status, want = IBV_WC_SUCCESS, event = -1;
	uint64_t operand = ++serial * 0x9e3779b97f4a7c15ull;
	struct ibv_qp *qp = NULL;
	char text[100];
	bool good;

	wr.wr.rdma.remote_addr = addr;
	wr.wr.rdma.rkey = key;
	if (is_atomic(op)) {
		wr.wr.atomic.remote_addr = addr;
		wr.wr.atomic.rkey = key;
		wr.wr.atomic.compare_add = operand;
		wr.wr.atomic.swap = operand;
		if (op == IBV_WR_ATOMIC_CMP_AND_SWP && !*why)
			memcpy(&wr.wr.atomic.compare_add, bytes, 8);
	}
	if (!strcmp(why, "request")) {
		want = IBV_WC_REM_INV_REQ_ERR;
		event = IBV_EVENT_QP_REQ_ERR;
		reason = "";
	} else if (*why) {
		want = IBV_WC_REM_ACCESS_ERR;
		event = IBV_EVENT_QP_ACCESS_ERR;
	}
	memset(area, op == IBV_WR_RDMA_WRITE ? serial : 0, length);
	status = status_of(&p->asks, &wr);
	moved = counters_moved();
	good = status == want && !strcmp(moved, reason);
	if (!*why)
		good = has_effect(op, bytes, length, operand) && good;
	else
		good = next_event(5000, &qp) == event && qp == p->answers.qp && good;
	good = !memcmp(memory, wanted, SIZE) && good;
	if (*why || !good)
		good = !start_again(p) && good;
	snprintf(text, sizeof(text), "%s of %u at 0x%llx, '%s' is due", name[op], length,
		 (unsigned long long)addr, why);
	if (!note(good, text, status, moved))
		memcpy(wanted, memory, SIZE);
}

static void ask_all(struct pair *p, const struct target *t, const char *why)
{
	static const enum ibv_wr_opcode op[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	uint32_t skip = -t->base & 7;	/* of the first word */
	size_t i;

	for (i = 0; i < ARRAY_SIZE(op); i++)
		ask(p, op[i], t->bytes + skip, t->base + skip, 8, t->key, why);
}

static struct ibv_mr *region(struct ibv_pd *on, uint8_t *start, size_t length, uint64_t iova,
			     int access)
{
	struct ibv_mr *m = ibv_reg_mr_iova2(on, start, length, iova, access);

	if (!m)
		die("ibv_reg_mr");
	return m;
}

static void end_region(struct ibv_mr *m)
{
	if (ibv_dereg_mr(m))
		die("ibv_dereg_mr");
}

static struct ibv_mw *window(struct ibv_pd *on, enum ibv_mw_type type, uint32_t *key)
{
	struct ibv_mw *w = ibv_alloc_mw(on, type);

	if (!w)
		die("ibv_alloc_mw");
	*key = w->rkey;
	return w;
}

static void end_window(struct ibv_mw *w)
{
	if (ibv_dealloc_mw(w))
		die("ibv_dealloc_mw");
}

/* Bind: it is done, or fails for that reason. */
static void try_bind(struct pair *p, struct ibv_mw *w, struct ibv_mr *m, uint64_t addr,
		     uint64_t length, int access, uint32_t *key, const char *why)
{
	const struct ibv_mw_bind_info to = { m, addr, length, access };
	int status = bind_window(&p->answers, w, &to, key);
	const char *moved = counters_moved();

	note(status == (*why ? IBV_WC_MW_BIND_ERR : IBV_WC_SUCCESS) && !strcmp(moved, why),
	     "a bind", status, moved);
	if (status)
		start_again(p);
}

/* An invalidation by the QP that answers, or by its peer. */
static void try_invalidate(struct pair *p, bool peer, uint32_t key, const char *why)
{
	struct ibv_sge sge = at(0, 0);
	struct ibv_send_wr wr = {
		.opcode = peer ? IBV_WR_SEND_WITH_INV : IBV_WR_LOCAL_INV,
		.sg_list = peer ? &sge : NULL, .num_sge = peer, .invalidate_rkey = key,
	};
	int status, want = peer ? IBV_WC_REM_ACCESS_ERR : IBV_WC_MW_BIND_ERR;
	const char *moved;
	struct ibv_wc wc;

	if (peer && post_recvs(&p->answers, 1, 0, 8))
		die("ibv_post_recv");
	status = status_of(peer ? &p->asks : &p->answers, &wr);
	moved = counters_moved();
	note(status == (*why ? want : IBV_WC_SUCCESS) && !strcmp(moved, why),
	     peer ? "SEND with invalidate" : "LOCAL_INV", status, moved);
	if (peer && (drain(p->answers.rcq, &wc, 1) != 1 ||
		     wc.status != (*why ? IBV_WC_LOC_PROT_ERR : IBV_WC_SUCCESS)))
		note(false, "its receive", wc.status, "");
	if (status)
		start_again(p);
}

/*
 * A work request, or a receive, with a buffer of its own: @bytes, that is @sge. @why:
 * of its failure, or "".
 */
static void local(struct pair *p, enum ibv_wr_opcode op, bool receive, uint8_t *bytes,
		  struct ibv_sge sge, const char *why)
{
	uint8_t *remote = area + AREA / 2, *source = receive ? area : remote;
	struct ibv_sge mine = receive ? at(0, sge.length) : sge;
	struct ibv_recv_wr *bad, recv = { .sg_list = &sge, .num_sge = 1 };
	struct ibv_send_wr wr = { .opcode = op, .sg_list = &mine, .num_sge = 1 };
	int want = receive ? IBV_WC_REM_OP_ERR : IBV_WC_LOC_PROT_ERR, status;
	struct ibv_wc wc = { .status = IBV_WC_SUCCESS };
	const char *moved;
	static uint8_t value;
	bool good;

	wr.wr.rdma.remote_addr = (uintptr_t)remote;
	wr.wr.rdma.rkey = mr->rkey;
	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)remote;
		wr.wr.atomic.rkey = mr->rkey;
		wr.wr.atomic.compare_add = 0;
	}
	memset(source, ++value, sge.length);
	if (!*why && op != IBV_WR_RDMA_WRITE)
		memcpy(wanted + (bytes - memory), source, sge.length);
	if (receive && ibv_post_recv(p->answers.qp, &recv, &bad))
		die("ibv_post_recv");
	status = status_of(&p->asks, &wr);
	if (receive && drain(p->answers.rcq, &wc, 1) != 1)
		die("a receive");
	moved = counters_moved();
	good = status == (*why ? want : IBV_WC_SUCCESS) && !strcmp(moved, why) &&
	       wc.status == (*why && receive ? IBV_WC_LOC_PROT_ERR : IBV_WC_SUCCESS) &&
	       !memcmp(memory, wanted, SIZE);
	if (!note(good, receive ? "a receive" : "a buffer", status, moved))
		memcpy(wanted, memory, SIZE);
	if (status)
		start_again(p);
}

/* Sent from there, and written to: by a receive, a READ, an atomic. */
static void local_all(struct pair *p, uint8_t *bytes, uint64_t addr, uint32_t length,
		      uint32_t key, const char *read, const char *write)
{
	const struct ibv_sge sge = { addr, length, key };

	local(p, IBV_WR_RDMA_WRITE, false, bytes, sge, read);
	local(p, IBV_WR_SEND, true, bytes, sge, write);
	local(p, IBV_WR_RDMA_READ, false, bytes, sge, write);
	if (length == 8)
		local(p, IBV_WR_ATOMIC_FETCH_AND_ADD, false, bytes, sge, write);
}

#endif /* EXACT_CHECK_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the programs that check verbs share: one process, one device, QPs that
 * are connected to each other; TAP on stdout.
 */
#ifndef VERBS_CHECK_H
#define VERBS_CHECK_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "open_named.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define DEPTH	16
#define SGES	4
#define INLINE	64
#define AREA	65536
#define ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
		 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static uint8_t *area;
static union ibv_gid gid;
static int gid_index;
static int cq_size = 4 * DEPTH;
static int count, failed;

/* One end of a connection. */
struct end {
	struct ibv_qp *qp;
	struct ibv_qp_ex *ex;
	struct ibv_cq *scq, *rcq;
};

/* Results */

static inline bool result(bool good, const char *format, ...)
{
	va_list args;

	printf("%s %d - ", good ? "ok" : "not ok", ++count);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	failed += !good;
	return good;
}

static inline void is(const char *what, long long got, long long wanted)
{
	if (!result(got == wanted, "%s", what))
		printf("# got %lld, wanted %lld\n", got, wanted);
}

static inline void die(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Set-up */

static inline void make_cqs(struct end *end, struct ibv_pd *parent)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cq_size,
		.wc_flags = IBV_WC_STANDARD_FLAGS |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
		.comp_mask = parent ? IBV_CQ_INIT_ATTR_MASK_PD : 0,
		.parent_domain = parent,
	};
	struct ibv_cq_ex *cq;

	cq = ibv_create_cq_ex(ctx, &attr);
	if (!cq)
		die("ibv_create_cq_ex");
	end->rcq = ibv_cq_ex_to_cq(cq);
	end->scq = ibv_create_cq(ctx, cq_size, NULL, NULL, 0);
	if (!end->scq)
		die("ibv_create_cq");
}

/* On the CQs that the end has. */
static inline void make_qp(struct end *end, enum ibv_qp_type type, struct ibv_pd *on)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = type,
		.cap = { DEPTH, DEPTH, SGES, SGES, INLINE },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = on,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM,
	};

	if (type == IBV_QPT_RC)
		attr.send_ops_flags |= IBV_QP_EX_WITH_RDMA_WRITE |
			IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |
			IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	attr.send_cq = end->scq;
	attr.recv_cq = end->rcq;
	end->qp = ibv_create_qp_ex(ctx, &attr);
	if (!end->qp)
		die("ibv_create_qp_ex");
	end->ex = ibv_qp_to_qp_ex(end->qp);
}

static inline void make_end(struct end *end, enum ibv_qp_type type, struct ibv_pd *on)
{
	make_cqs(end, on == pd ? NULL : on);
	make_qp(end, type, on);
}

static inline void to_init(struct end *end)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = ACCESS,
		.qkey = 0x11111111,
	};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	mask |= end->qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	if (ibv_modify_qp(end->qp, &attr, mask))
		die("INIT");
}

static inline void fill_ah(struct ibv_ah_attr *ah)
{
	*ah = (struct ibv_ah_attr){
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = gid, .sgid_index = gid_index, .hop_limit = 64 },
	};
}

static inline void to_rtr(struct end *end, uint32_t dest_qpn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest_qpn, .rq_psn = 0xfffffe,
		.max_dest_rd_atomic = 4, .min_rnr_timer = 12,
	};
	int mask = IBV_QP_STATE;

	if (end->qp->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			IBV_QP_MIN_RNR_TIMER;
	fill_ah(&attr.ah_attr);
	if (ibv_modify_qp(end->qp, &attr, mask))
		die("RTR");
}

static inline void to_rts(struct end *end, uint32_t dest_qpn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .sq_psn = 0xfffffe, .timeout = 14,
		.retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 4,
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (end->qp->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	to_rtr(end, dest_qpn);
	if (ibv_modify_qp(end->qp, &attr, mask))
		die("RTS");
}

static inline int to_state(struct end *end, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(end->qp, &attr, IBV_QP_STATE);
}

static inline void join(struct end *one, struct end *two)
{
	to_init(one);
	to_init(two);
	to_rts(one, two->qp->qp_num);
	to_rts(two, one->qp->qp_num);
}

static inline void make_pair(struct end *one, struct end *two, struct ibv_pd *on)
{
	make_end(one, IBV_QPT_RC, on);
	make_end(two, IBV_QPT_RC, on);
	join(one, two);
}

/* The second one's memory may be of another PD than what the first one has. */
static inline void make_pair_across(struct end *one, struct end *two, struct ibv_pd *on)
{
	make_end(one, IBV_QPT_RC, pd);
	make_cqs(two, NULL);
	make_qp(two, IBV_QPT_RC, on);
	join(one, two);
}

static inline void drop(struct end *end)
{
	if (ibv_destroy_qp(end->qp) || ibv_destroy_cq(end->scq) ||
	    ibv_destroy_cq(end->rcq))
		die("destroy");
}

/* Work */

static inline struct ibv_sge at(size_t offset, uint32_t length)
{
	return (struct ibv_sge){ (uintptr_t)area + offset, length, mr->lkey };
}

static inline int post(struct end *end, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	*bad = NULL;
	return ibv_post_send(end->qp, wr, bad);
}

static inline int post_recvs(struct end *end, int n, size_t offset, uint32_t length)
{
	struct ibv_recv_wr *bad;
	int i, ret = 0;

	for (i = 0; i < n && !ret; i++) {
		struct ibv_sge sge = at(offset + (size_t)i * length, length);
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };

		ret = ibv_post_recv(end->qp, &wr, &bad);
	}
	return ret;
}

/* Poll for n completions; returns how many came within five seconds. */
static inline int drain(struct ibv_cq *cq, struct ibv_wc *wc, int n)
{
	int done = 0, got;
	time_t end = time(NULL) + 5;

	while (done < n && time(NULL) <= end) {
		got = ibv_poll_cq(cq, n - done, wc + done);
		if (got < 0)
			return got;
		done += got;
		if (!got)
			usleep(200);
	}
	return done;
}

/* One work request, to its completion: the status, or -1. */
static inline int status_of(struct end *end, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	wr->send_flags |= IBV_SEND_SIGNALED;
	if (post(end, wr, &bad) || drain(end->scq, &wc, 1) != 1)
		return -1;
	return wc.status;
}

/*
 * Bind a window whose key is *key, which is what it is then; as status_of(). As a work
 * request, for type 1 too: ibv_bind_mw() itself refuses what the driver has to refuse.
 */
static inline int bind_window(struct end *end, struct ibv_mw *mw,
			      const struct ibv_mw_bind_info *to, uint32_t *key)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW };

	*key = ibv_inc_rkey(*key);
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = *key;
	wr.bind_mw.bind_info = *to;
	return status_of(end, &wr);
}

/* Both ends new again. */
static inline void renew(struct end *one, struct end *two)
{
	if (to_state(one, IBV_QPS_RESET) || to_state(two, IBV_QPS_RESET))
		die("RESET");
	join(one, two);
}

static inline int successes(struct ibv_cq *cq, int n)
{
	struct ibv_wc wc[4 * DEPTH];
	int i, got, good = 0;

	got = drain(cq, wc, n);
	for (i = 0; i < got; i++)
		good += wc[i].status == IBV_WC_SUCCESS;
	return good;
}

static inline void open_device(const char *name)
{
	ctx = open_named(name);
	if (!ctx)
		die("ibv_open_device");
	pd = ibv_alloc_pd(ctx);
	if (!pd || posix_memalign((void **)&area, 4096, AREA))
		die("ibv_alloc_pd");
	mr = ibv_reg_mr(pd, area, AREA, ACCESS);
	if (!mr || ibv_query_gid(ctx, 1, gid_index, &gid))
		die("ibv_reg_mr");
}

/* The end of the results; returns the exit status. */
static inline int close_device(void)
{
	is("ibv_dereg_mr", ibv_dereg_mr(mr), 0);
	is("ibv_dealloc_pd", ibv_dealloc_pd(pd), 0);
	is("ibv_close_device", ibv_close_device(ctx), 0);
	printf("1..%d\n", count);
	return failed ? 1 : 0;
}

#endif /* VERBS_CHECK_H */

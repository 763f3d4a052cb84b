// SPDX-License-Identifier: GPL-2.0
/*
 * Queues at their ends: full, overrun, in error, reset, destroyed; and the
 * events that tell of it. TAP on stdout.
 *
 *   queue_check DEV GID-INDEX
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "verbs_check.h"

#define PAGE		4096

/*
 * Post sends until the queue is full: how many went in? -1: another error than
 * that. Only where none completes meanwhile.
 */
static int fill_sends(struct end *end)
{
	struct ibv_sge sge = at(0, 8);
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	int n, ret = 0;

	for (n = 0; n < 8 * DEPTH && !ret; n += !ret)
		ret = post(end, &wr, &bad);
	return ret == ENOMEM ? n : -1;
}

static int fill_recvs(struct end *end)
{
	int n;

	for (n = 0; n < 8 * DEPTH; n++)
		if (post_recvs(end, 1, 0, 2048))
			break;
	return n;
}

static struct ibv_qp_attr query(struct end *end, struct ibv_qp_cap *cap)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_RQ_PSN, &init))
		die("ibv_query_qp");
	if (cap)
		*cap = init.cap;
	return attr;
}

static enum ibv_qp_state state(struct end *end)
{
	return query(end, NULL).qp_state;
}

/*
 * A work request counts until it is completed: so a program that keeps to
 * max_send_wr can't overrun its CQ, and one that doesn't count is told.
 */
static void test_send_room(void)
{
	struct ibv_qp_cap cap;
	struct end one, two;
	int depth;

	make_pair(&one, &two, pd);
	query(&one, &cap);
	depth = cap.max_send_wr;
	/* nobody receives, which isn't an error yet: nothing completes */
	is("exactly max_send_wr sends fit", fill_sends(&one), depth);
	post_recvs(&two, 3, 0, 8);
	is("three complete", successes(one.scq, 3), 3);
	is("exactly three fit again", fill_sends(&one), 3);
	post_recvs(&two, DEPTH, 0, 8);
	is("all complete", successes(one.scq, depth), depth);
	is("as many as at first fit again", fill_sends(&one), depth);
	drop(&one);
	drop(&two);
}

/* Who sees a completion and posts at once finds room, whatever runs meanwhile. */
static void test_send_room_at_once(void)
{
	struct ibv_sge sge = at(0, 8);
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)area + PAGE, mr->rkey },
	}, *bad;
	int i, rounds = 5000, refused = 0, done = 0, got;
	time_t end = time(NULL) + 60;
	struct ibv_wc wc[DEPTH];
	struct end one, two;

	make_pair(&one, &two, pd);
	for (i = 0; i < DEPTH; i++)
		refused += post(&one, &wr, &bad) != 0;
	while (done < rounds && time(NULL) < end) {
		got = ibv_poll_cq(one.scq, DEPTH, wc);
		done += got;
		for (; got > 0; got--)
			refused += post(&one, &wr, &bad) != 0;
	}
	result(done >= rounds, "%d completions", done);
	is("after each of them one more fits", refused, 0);
	drop(&one);
	drop(&two);
}

static bool recv_psn_moves(struct end *end, uint32_t from)
{
	time_t limit = time(NULL) + 5;

	while (query(end, NULL).rq_psn == from && time(NULL) <= limit)
		usleep(200);
	return query(end, NULL).rq_psn != from;
}

static void test_recv_room(void)
{
	struct ibv_sge sges[2] = { at(0, 1024), { 0, 8, ~mr->lkey } };
	struct ibv_send_wr wr = {
		.sg_list = sges, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_wc wc[4 * DEPTH];
	struct ibv_qp_cap cap;
	struct end one, two;
	int i, depth, got, flushed;
	uint32_t psn;

	make_pair(&one, &two, pd);
	query(&two, &cap);
	depth = cap.max_recv_wr;
	is("exactly max_recv_wr receives fit", fill_recvs(&two), depth);
	for (i = 0; i < 5; i++)
		post(&one, &wr, &bad);
	is("five messages come", successes(two.rcq, 5), 5);
	is("exactly five receives fit again", fill_recvs(&two), 5);

	/* the second packet of a message never comes: its receive is taken */
	successes(one.scq, 5);
	psn = query(&two, NULL).rq_psn;
	wr.num_sge = 2;
	post(&one, &wr, &bad);
	result(drain(one.scq, wc, 1) == 1 && wc[0].status == IBV_WC_LOC_PROT_ERR,
	       "half a message is sent");
	result(recv_psn_moves(&two, psn), "it has come");
	is("a receive that is in use still counts", fill_recvs(&two), 0);
	to_state(&two, IBV_QPS_ERR);
	got = drain(two.rcq, wc, depth);
	for (i = flushed = 0; i < got; i++)
		flushed += wc[i].status == IBV_WC_WR_FLUSH_ERR;
	is("it is flushed as all others", flushed, depth);
	drop(&one);
	drop(&two);
}

/* Events */

static bool event_waits(int ms)
{
	struct pollfd p = { .fd = ctx->async_fd, .events = POLLIN };

	return poll(&p, 1, ms) > 0;
}

/* The next event, in five seconds; it is acknowledged if ack is set. */
static struct ibv_async_event next_event(bool ack)
{
	struct ibv_async_event ev = { .event_type = -1 };

	if (!event_waits(5000))
		return ev;
	if (ibv_get_async_event(ctx, &ev))
		die("ibv_get_async_event");
	if (ack)
		ibv_ack_async_event(&ev);
	return ev;
}

static void is_event(const char *what, enum ibv_event_type type,
		     const struct end *end)
{
	struct ibv_async_event ev = next_event(true);

	if (!result(ev.event_type == type && ev.element.qp == end->qp, "%s: %s",
		    what, ibv_event_type_str(type)))
		printf("# got event %d\n", ev.event_type);
}

static void no_event(const char *what)
{
	is(what, event_waits(0), false);
}

static int write_one(struct end *end, uint32_t rkey, enum ibv_wr_opcode opcode,
		     uint32_t length)
{
	return post(end, &(struct ibv_send_wr){
			.sg_list = &(struct ibv_sge){ (uintptr_t)area, length, mr->lkey },
			.num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { (uintptr_t)area + PAGE, rkey } },
		    &(struct ibv_send_wr *){ NULL });
}

static enum ibv_wc_status status_of_one(struct ibv_cq *cq)
{
	struct ibv_wc wc = { .status = -1 };

	drain(cq, &wc, 1);
	return wc.status;
}

static void test_responder_events(void)
{
	static const struct {
		const char *what;
		enum ibv_wr_opcode opcode;
		bool bad_rkey, bad_recv;
		enum ibv_wc_status status;
		enum ibv_event_type event;
	} rows[] = {
		{ "a bad rkey", IBV_WR_RDMA_WRITE, true, false,
		  IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR },
		{ "a message that is too long", IBV_WR_SEND, false, false,
		  IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR },
		{ "a receive with a bad lkey", IBV_WR_SEND, false, true,
		  IBV_WC_REM_OP_ERR, IBV_EVENT_QP_FATAL },
	};
	struct ibv_recv_wr *bad;
	struct end one, two;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ibv_sge sge = at(0, rows[i].bad_recv ? 64 : 8);
		struct ibv_recv_wr rwr = { .sg_list = &sge, .num_sge = 1 };

		make_pair(&one, &two, pd);
		if (rows[i].bad_recv)
			sge.lkey = ~sge.lkey;
		ibv_post_recv(two.qp, &rwr, &bad);
		write_one(&one, rows[i].bad_rkey ? ~mr->rkey : mr->rkey,
			  rows[i].opcode, 64);
		is(rows[i].what, status_of_one(one.scq), rows[i].status);
		is_event("at the responder", rows[i].event, &two);
		is("whose QP is in error", state(&two), IBV_QPS_ERR);
		drop(&one);
		drop(&two);
	}
	no_event("no other event");
}

static void test_state_events(void)
{
	struct ibv_qp_attr sqd = {
		.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1,
	};
	struct end one, two;

	make_end(&one, IBV_QPT_RC, pd);
	make_end(&two, IBV_QPT_RC, pd);
	to_init(&one);
	to_init(&two);
	to_rts(&one, two.qp->qp_num);
	to_rtr(&two, one.qp->qp_num);
	write_one(&one, mr->rkey, IBV_WR_RDMA_WRITE, 8);
	is("a QP in RTR answers", status_of_one(one.scq), IBV_WC_SUCCESS);
	is_event("and its first packet", IBV_EVENT_COMM_EST, &two);
	write_one(&one, mr->rkey, IBV_WR_RDMA_WRITE, 8);
	is("another packet", status_of_one(one.scq), IBV_WC_SUCCESS);
	no_event("is no event");

	/* what has been sent must be done: here it waits for a receive */
	write_one(&one, mr->rkey, IBV_WR_SEND, 8);
	is("SQD", ibv_modify_qp(one.qp, &sqd, IBV_QP_STATE |
				IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	no_event("is not drained at once");
	post_recvs(&two, 1, 0, 8);
	is_event("when it is", IBV_EVENT_SQ_DRAINED, &one);
	is("the send is done by then", ibv_poll_cq(one.scq, 1, &(struct ibv_wc){}), 1);
	drop(&one);
	drop(&two);
}

/* destroy waits for events that the program has and not acknowledged. */
static atomic_int destroyed;

static void *destroyer(void *arg)
{
	struct end *end = arg;

	ibv_destroy_qp(end->qp);
	destroyed = 1;
	return NULL;
}

static void test_ack(void)
{
	struct ibv_async_event ev;
	struct end one, two;
	pthread_t thread;

	make_pair(&one, &two, pd);
	write_one(&one, ~mr->rkey, IBV_WR_RDMA_WRITE, 8);
	ev = next_event(false);
	is("an event that isn't acknowledged", ev.event_type, IBV_EVENT_QP_ACCESS_ERR);
	destroyed = 0;
	pthread_create(&thread, NULL, destroyer, &two);
	usleep(100000);
	is("destroy waits", destroyed, 0);
	ibv_ack_async_event(&ev);
	alarm(20);
	pthread_join(thread, NULL);
	alarm(0);
	is("destroy goes on", destroyed, 1);
	ibv_destroy_cq(two.scq);
	ibv_destroy_cq(two.rcq);

	/* an event that was never fetched goes with its QP */
	make_end(&two, IBV_QPT_RC, pd);
	to_state(&one, IBV_QPS_RESET);
	join(&one, &two);
	write_one(&one, ~mr->rkey, IBV_WR_RDMA_WRITE, 8);
	result(event_waits(5000), "an event that isn't fetched");
	alarm(20);
	drop(&two);
	alarm(0);
	no_event("goes with its QP");
	drop(&one);
}

/*
 * One entry too many: the CQ tells so once, and each QP that can't report a
 * completion is in error, at that moment and not before.
 */
static void test_overrun(void)
{
	int i, cq_err = 0, fatal = 0, other = 0;
	struct end one, two, three, four;
	struct ibv_wc wc[8];
	struct ibv_cq *small = ibv_create_cq(ctx, 4, NULL, NULL, 0);

	if (!small || small->cqe != 4)
		die("a CQ of 4");
	make_cqs(&one, NULL);
	ibv_destroy_cq(one.scq);
	three = one;
	make_cqs(&three, NULL);
	ibv_destroy_cq(three.scq);
	one.scq = small;
	three.scq = small;
	make_qp(&one, IBV_QPT_RC, pd);
	make_qp(&three, IBV_QPT_RC, pd);
	make_end(&two, IBV_QPT_RC, pd);
	make_end(&four, IBV_QPT_RC, pd);
	join(&one, &two);
	join(&three, &four);

	for (i = 0; i < 4; i++)
		write_one(&one, mr->rkey, IBV_WR_RDMA_WRITE, 8);
	no_event("a full CQ is no error");
	write_one(&one, mr->rkey, IBV_WR_RDMA_WRITE, 8);
	for (i = 0; i < 2; i++) {
		struct ibv_async_event ev = next_event(true);

		if (ev.event_type == IBV_EVENT_CQ_ERR && ev.element.cq == small)
			cq_err++;
		else if (ev.event_type == IBV_EVENT_QP_FATAL && ev.element.qp == one.qp)
			fatal++;
		else
			other++;
	}
	is("an entry too many: IBV_EVENT_CQ_ERR", cq_err, 1);
	is("and for its QP IBV_EVENT_QP_FATAL", fatal, 1);
	is("and nothing else", other, 0);
	is("the QP is in error", state(&one), IBV_QPS_ERR);
	is("the other QP of this CQ isn't", state(&three), IBV_QPS_RTS);
	is("the entries before are there", successes(small, 4), 4);

	/* there would be room now, but the CQ is in error */
	write_one(&three, mr->rkey, IBV_WR_RDMA_WRITE, 8);
	is_event("the other QP loses one", IBV_EVENT_QP_FATAL, &three);
	is("it is in error", state(&three), IBV_QPS_ERR);
	is("nothing comes any more", ibv_poll_cq(small, 8, wc), 0);
	no_event("the CQ doesn't tell twice");

	alarm(20);
	is("destroy", ibv_destroy_qp(one.qp) + ibv_destroy_qp(three.qp) +
	   ibv_destroy_cq(small) + ibv_destroy_cq(one.rcq) +
	   ibv_destroy_cq(three.rcq), 0);
	alarm(0);
	drop(&two);
	drop(&four);
}

/* The same where messages are received: the sender's message isn't acknowledged. */
static void test_recv_overrun(void)
{
	struct end one, two;
	int i;

	make_end(&one, IBV_QPT_RC, pd);
	make_cqs(&two, NULL);
	ibv_destroy_cq(two.rcq);
	two.rcq = ibv_create_cq(ctx, 2, NULL, NULL, 0);
	if (!two.rcq)
		die("a CQ of 2");
	make_qp(&two, IBV_QPT_RC, pd);
	join(&one, &two);
	post_recvs(&two, 4, 0, 8);
	for (i = 0; i < 3; i++)
		write_one(&one, mr->rkey, IBV_WR_SEND, 8);
	for (i = 0; i < 2; i++) {
		struct ibv_async_event ev = next_event(true);

		result((ev.event_type == IBV_EVENT_CQ_ERR && ev.element.cq == two.rcq) ||
		       (ev.event_type == IBV_EVENT_QP_FATAL && ev.element.qp == two.qp),
		       "a receive's completion is lost: event %d of 2", i + 1);
	}
	is("its QP is in error", state(&two), IBV_QPS_ERR);
	is("two were received", successes(two.rcq, 2), 2);
	no_event("the flushed ones are no event");
	drop(&one);
	drop(&two);
}

/* Completions of a QP that isn't there any more, or that has been reset */

/* Two receivers on one CQ, each with a sender; entries come in turn. */
static void interleave(struct end senders[2], struct end receivers[2], int n)
{
	int i, j;

	for (j = 0; j < 2; j++)
		post_recvs(&receivers[j], n, 0, 8);
	for (i = 0; i < n; i++)
		for (j = 0; j < 2; j++) {
			write_one(&senders[j], mr->rkey, IBV_WR_SEND, 8);
			/* acknowledged: the receiver's completion is there */
			if (status_of_one(senders[j].scq) != IBV_WC_SUCCESS)
				die("a send to itself");
		}
}

static bool only_of(struct ibv_cq *cq, const struct end *end, int n)
{
	struct ibv_wc wc[4 * DEPTH];
	int i, good = 0, got = ibv_poll_cq(cq, 4 * DEPTH, wc);

	for (i = 0; i < got; i++)
		good += wc[i].qp_num == end->qp->qp_num &&
			wc[i].wr_id == (uint64_t)i &&
			wc[i].status == IBV_WC_SUCCESS;
	if (got != n || good != n)
		printf("# %d entries, %d of them right, wanted %d\n", got, good, n);
	return got == n && good == n;
}

static void test_stale_recvs(void)
{
	struct ibv_cq *shared = ibv_create_cq(ctx, 16, NULL, NULL, 0), *keep;
	struct end s[2], r[2];
	int i, good = 0;

	if (!shared)
		die("ibv_create_cq");
	for (i = 0; i < 2; i++) {
		make_end(&s[i], IBV_QPT_RC, pd);
		make_cqs(&r[i], NULL);
		ibv_destroy_cq(r[i].rcq);
		r[i].rcq = shared;
		make_qp(&r[i], IBV_QPT_RC, pd);
		join(&s[i], &r[i]);
	}
	/* several times, so that the ring's end is in the middle as well */
	for (i = 0; i < 5; i++) {
		interleave(s, r, 7);
		to_state(&r[0], IBV_QPS_RESET);
		to_state(&s[0], IBV_QPS_RESET);
		good += only_of(shared, &r[1], 7);
		join(&s[0], &r[0]);
	}
	is("RESET takes the QP's completions away, and no others", good, 5);
	interleave(s, r, 7);
	keep = r[1].scq;
	is("ibv_destroy_qp", ibv_destroy_qp(r[1].qp), 0);
	result(only_of(shared, &r[0], 7), "so does destroy");
	is("ibv_destroy_qp", ibv_destroy_qp(r[0].qp), 0);
	is("and nothing is left", ibv_poll_cq(shared, 1, &(struct ibv_wc){}), 0);
	ibv_destroy_cq(keep);
	ibv_destroy_cq(r[0].scq);
	ibv_destroy_cq(shared);
	drop(&s[0]);
	drop(&s[1]);
}

/* Sends that may complete at any time until the QP goes. */
static void test_stale_sends(void)
{
	struct ibv_wc wc[4 * DEPTH];
	struct end one, two;
	int i, j, got = 0;

	make_pair(&one, &two, pd);
	for (i = 0; i < 20; i++) {
		for (j = 0; j < DEPTH; j++)
			write_one(&one, mr->rkey, IBV_WR_RDMA_WRITE, 8);
		to_state(&one, IBV_QPS_RESET);
		got += ibv_poll_cq(one.scq, 4 * DEPTH, wc);
		to_state(&two, IBV_QPS_RESET);
		join(&one, &two);
	}
	is("nothing of a QP that was reset with work on its way", got, 0);
	for (i = 0; i < 20; i++) {
		for (j = 0; j < DEPTH; j++)
			write_one(&one, mr->rkey, IBV_WR_RDMA_WRITE, 8);
		ibv_destroy_qp(one.qp);
		got += ibv_poll_cq(one.scq, 4 * DEPTH, wc);
		make_qp(&one, IBV_QPT_RC, pd);
		to_state(&two, IBV_QPS_RESET);
		join(&one, &two);
	}
	is("nothing of a QP that was destroyed with work on its way", got, 0);
	drop(&one);
	drop(&two);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: %s DEV GID-INDEX\n", argv[0]);
		return 2;
	}
	gid_index = atoi(argv[2]);
	open_device(argv[1]);
	test_send_room();
	test_send_room_at_once();
	test_recv_room();
	test_responder_events();
	test_state_events();
	test_ack();
	test_overrun();
	test_recv_overrun();
	test_stale_recvs();
	test_stale_sends();
	return close_device();
}

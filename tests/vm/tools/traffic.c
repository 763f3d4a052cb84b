// SPDX-License-Identifier: GPL-2.0
/*
 * One end of RC traffic that goes on until something ends it, and says what
 * did. Light: on a slow kernel it flows within a second.
 *
 *   traffic [OPTION]... DEV IP MEET OP
 *
 * IP: of the GID to use, waited for. MEET: where the two ends find each other, a path of a
 * unix socket (it joins network namespaces) or ADDRESS:PORT. OP: what is sent:
 * write, read, send, atomic; or idle: one of everything, no peer.
 *
 *   -l       the one that listens at MEET: it answers
 *   -b       both send
 *   -w       stay when the other end's program goes: wait for the device's end
 *   -m FILE  memory from a mapping of FILE
 *   -n N     an end of its own after N messages on each QP; both must say so
 *
 * Says "flows" when many messages are through ("ready" with idle), and at the
 * end one line with the reason, which is the exit status as well:
 *
 *   0  done          the N messages
 *   1  failed: ...   it couldn't begin
 *   3  wc STATUS     a completion in error
 *   4  fatal         IBV_EVENT_DEVICE_FATAL; what it may then do was tried
 *   5  peer          the other end's program has gone; only who sends nothing
 *                    looks for that, who sends is told by the transport
 */
#define _GNU_SOURCE	/* strerrorname_np() */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "open_named.h"

#define QPS	2
#define DEPTH	16
#define MESSAGE	(3 * 4096 + 7)	/* first, middle, last, whatever the MTU */
#define SLOT	16384
#define AREA	(QPS * DEPTH * SLOT)
#define MANY	100
#define BEGIN	60		/* seconds: for the other end to come */
#define ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
		 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

enum { DONE = 0, FAILED = 1, USAGE = 2, WC = 3, FATAL = 4, PEER = 5 };

/* What one end tells the other. */
struct greeting {
	union ibv_gid gid;
	uint64_t addr;
	uint32_t rkey;
	uint32_t qpn[QPS];
};

static struct {
	bool listens, both, stays, idle;
	const char *file;
	long limit;
	enum ibv_wr_opcode op;
} opt;

static struct ibv_context *ctx;
static struct ibv_port_attr port;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static struct ibv_ah *ah;
static struct ibv_qp *qp[QPS];
static struct ibv_mw *mw[2];
static uint8_t *area;
static struct greeting mine, theirs;
static int gid_index;
static int peer = -1;
static long sent[QPS], through[QPS], received[QPS];
static bool peer_done;

static void die(const char *format, ...)
{
	int error = errno;
	va_list args;

	printf("failed: ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf(": %s\n", strerror(error));
	exit(FAILED);
}

/* Set-up */

static void open_device(const char *name)
{
	ctx = open_named(name);
	if (!ctx)
		die("cannot open %s", name);
	if (ibv_query_port(ctx, 1, &port))
		die("ibv_query_port");
	if (fcntl(ctx->async_fd, F_SETFL, O_NONBLOCK))
		die("fcntl");
}

static bool is_gid(int i, const union ibv_gid *want)
{
	struct ibv_gid_entry entry;

	return !ibv_query_gid_ex(ctx, 1, i, &entry, 0) &&
	       entry.gid_type == IBV_GID_TYPE_ROCE_V2 &&
	       !memcmp(&entry.gid, want, sizeof(*want));
}

/* Of a new link or address it comes a little later. */
static void find_gid(const char *ip)
{
	time_t end = time(NULL) + BEGIN;
	union ibv_gid want = {};
	int i;

	if (inet_pton(AF_INET, ip, want.raw + 12) == 1)
		memset(want.raw + 10, 0xff, 2);
	else if (inet_pton(AF_INET6, ip, want.raw) != 1)
		die("%s is no address", ip);
	mine.gid = want;
	do {
		for (i = 0; i < port.gid_tbl_len; i++) {
			if (is_gid(i, &want)) {
				gid_index = i;
				return;
			}
		}
		usleep(20000);
	} while (time(NULL) <= end);
	errno = ENOENT;
	die("no GID for %s", ip);
}

static void map_area(void)
{
	int fd = -1, flags = MAP_PRIVATE | MAP_ANONYMOUS;

	if (opt.file) {
		fd = open(opt.file, O_RDWR);
		if (fd < 0)
			die("%s", opt.file);
		flags = MAP_SHARED;
	}
	area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (area == MAP_FAILED)
		die("mmap");
	if (fd >= 0)
		close(fd);
}

static void make_objects(void)
{
	struct ibv_ah_attr to = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = mine.gid, .sgid_index = gid_index, .hop_limit = 64 },
	};
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .cap = { DEPTH, DEPTH, 1, 1, 0 },
	};
	int i;

	pd = ibv_alloc_pd(ctx);
	if (!pd)
		die("ibv_alloc_pd");
	mr = ibv_reg_mr(pd, area, AREA, ACCESS | (opt.idle ? IBV_ACCESS_MW_BIND : 0));
	if (!mr)
		die("ibv_reg_mr");
	ah = ibv_create_ah(pd, &to);
	if (!ah)
		die("ibv_create_ah");
	channel = ibv_create_comp_channel(ctx);
	if (!channel)
		die("ibv_create_comp_channel");
	cq = ibv_create_cq(ctx, 2 * QPS * DEPTH, NULL, channel, 0);
	if (!cq)
		die("ibv_create_cq");
	attr.send_cq = cq;
	attr.recv_cq = cq;
	for (i = 0; i < QPS; i++) {
		qp[i] = ibv_create_qp(pd, &attr);
		if (!qp[i])
			die("ibv_create_qp");
		mine.qpn[i] = qp[i]->qp_num;
	}
	mine.addr = (uintptr_t)area;
	mine.rkey = mr->rkey;
}

/* The socket for MEET, and its address. */
static int meeting(const char *meet, struct sockaddr_storage *to, socklen_t *len)
{
	struct sockaddr_un *un = (struct sockaddr_un *)to;
	struct sockaddr_in *in = (struct sockaddr_in *)to;
	const char *colon = strchr(meet, ':');
	char host[64] = {};

	memset(to, 0, sizeof(*to));
	if (meet[0] == '/') {
		un->sun_family = AF_UNIX;
		snprintf(un->sun_path, sizeof(un->sun_path), "%s", meet);
		*len = sizeof(*un);
		return socket(AF_UNIX, SOCK_STREAM, 0);
	}
	if (!colon || (size_t)(colon - meet) >= sizeof(host))
		die("%s is no place to meet", meet);
	memcpy(host, meet, colon - meet);
	in->sin_family = AF_INET;
	in->sin_port = htons(atoi(colon + 1));
	if (inet_pton(AF_INET, host, &in->sin_addr) != 1)
		die("%s is no address", host);
	*len = sizeof(*in);
	return socket(AF_INET, SOCK_STREAM, 0);
}

static void find_peer(const char *meet)
{
	time_t end = time(NULL) + BEGIN;
	struct sockaddr_storage to;
	struct pollfd wait = { .events = POLLIN };
	int fd, one = 1;
	socklen_t len;

	for (;;) {
		fd = meeting(meet, &to, &len);
		if (fd < 0)
			die("socket");
		if (opt.listens)
			break;
		/* a socket that has failed to connect is of no more use */
		peer = fd;
		if (!connect(fd, (struct sockaddr *)&to, len))
			return;
		if (time(NULL) > end)
			die("connect to %s", meet);
		close(fd);
		usleep(20000);
	}
	if (to.ss_family == AF_UNIX)
		unlink(meet);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&to, len) || listen(fd, 1))
		die("listen at %s", meet);
	wait.fd = fd;
	errno = ETIMEDOUT;
	if (poll(&wait, 1, BEGIN * 1000) != 1)
		die("nobody came to %s", meet);
	peer = accept(fd, NULL, NULL);
	if (peer < 0)
		die("accept");
	close(fd);
}

static void swap(void *out, void *in, size_t size)
{
	errno = ECONNRESET;
	if (send(peer, out, size, MSG_NOSIGNAL) != (ssize_t)size ||
	    recv(peer, in, size, MSG_WAITALL) != (ssize_t)size)
		die("the other end went away");
}

static void connect_qp(int i)
{
	time_t end = time(NULL) + BEGIN;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = ACCESS,
		.path_mtu = port.active_mtu, .dest_qp_num = theirs.qpn[i],
		.max_dest_rd_atomic = 4, .max_rd_atomic = 4, .min_rnr_timer = 12,
		/* half a second at least, two at most */
		.timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
		.ah_attr = {
			.is_global = 1, .port_num = 1,
			.grh = { .dgid = theirs.gid, .sgid_index = gid_index,
				 .hop_limit = 64 },
		},
	};

	if (ibv_modify_qp(qp[i], &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			  IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		die("INIT");
	attr.qp_state = IBV_QPS_RTR;
	/* The kernel looks for the neighbour for a second only; one whose link
	 * has just come up may be deaf for longer.
	 */
	do {
		errno = ibv_modify_qp(qp[i], &attr, IBV_QP_STATE | IBV_QP_AV |
				      IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				      IBV_QP_MIN_RNR_TIMER);
	} while (errno == ETIMEDOUT && time(NULL) <= end);
	if (errno)
		die("RTR");
	attr.qp_state = IBV_QPS_RTS;
	if (ibv_modify_qp(qp[i], &attr, IBV_QP_STATE | IBV_QP_SQ_PSN |
			  IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			  IBV_QP_MAX_QP_RD_ATOMIC))
		die("RTS");
}

/* Traffic */

static struct ibv_sge slot(int i, long n)
{
	return (struct ibv_sge){
		.addr = (uintptr_t)area + ((uint64_t)i * DEPTH + n % DEPTH) * SLOT,
		.length = opt.op == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : MESSAGE,
		.lkey = mr->lkey,
	};
}

static int post_recv(int i, long n)
{
	struct ibv_sge sge = slot(i, n);
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(qp[i], &wr, &bad);
}

static int post(int i)
{
	struct ibv_sge sge = slot(i, sent[i]);
	struct ibv_send_wr wr = {
		.wr_id = i, .sg_list = &sge, .num_sge = 1, .opcode = opt.op,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	uint64_t there = theirs.addr + (sge.addr - mine.addr);

	if (opt.op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = there;
		wr.wr.atomic.rkey = theirs.rkey;
		wr.wr.atomic.compare_add = 1;
	} else if (opt.op != IBV_WR_SEND) {
		wr.wr.rdma.remote_addr = there;
		wr.wr.rdma.rkey = theirs.rkey;
	}
	sent[i]++;
	return ibv_post_send(qp[i], &wr, &bad);
}

static bool sends(void)
{
	return opt.both || !opt.listens;
}

/*
 * The device has gone, the rings are still mapped: they are memory of our own
 * by now. Polling must end, posts must be harmless, new objects must be
 * refused, and destroying what there was must work.
 */
static int after_fatal(void)
{
	struct ibv_wc wc[DEPTH];
	int i, error;

	for (i = 0; i < 100; i++)
		ibv_poll_cq(cq, DEPTH, wc);
	if (!opt.idle)
		post(0);
	post_recv(0, 0);
	errno = 0;
	error = ibv_alloc_pd(ctx) ? 0 : errno;
	for (i = 0; i < 2 && mw[i]; i++)
		ibv_dealloc_mw(mw[i]);
	for (i = 0; i < QPS; i++)
		ibv_destroy_qp(qp[i]);
	ibv_destroy_cq(cq);
	ibv_destroy_comp_channel(channel);
	ibv_destroy_ah(ah);
	ibv_dereg_mr(mr);
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
	printf("fatal, then %s\n", error ? strerrorname_np(error) : "a new PD");
	return FATAL;
}

/* What the other end says: that it has sent all, or nothing any more. */
static int hear(void)
{
	char c;

	if (recv(peer, &c, 1, 0) == 1) {
		peer_done = true;
		return -1;
	}
	close(peer);
	peer = -1;
	if ((sends() || opt.stays) && !opt.limit)
		return -1;
	printf("peer\n");
	return PEER;
}

/* Wait for ms at most: is it over? -1 while it isn't. */
static int over(int ms)
{
	struct pollfd fds[2] = {
		{ .fd = ctx->async_fd, .events = POLLIN },
		{ .fd = peer_done ? -1 : peer, .events = POLLIN },
	};
	struct ibv_async_event event;
	bool fatal = false;

	if (poll(fds, 2, ms) <= 0)
		return -1;
	while (fds[0].revents && !ibv_get_async_event(ctx, &event)) {
		fatal |= event.event_type == IBV_EVENT_DEVICE_FATAL;
		ibv_ack_async_event(&event);
	}
	if (fatal)
		return after_fatal();
	return fds[1].revents ? hear() : -1;
}

/* One completion: 0 or how it ends. */
static int complete(const struct ibv_wc *wc)
{
	int i = wc->wr_id;

	if (wc->status) {
		int status = over(0);

		if (status >= 0)
			return status;
		printf("wc %s\n", ibv_wc_status_str(wc->status));
		return WC;
	}
	if (wc->opcode & IBV_WC_RECV) {
		if (post_recv(i, received[i]++))
			die("ibv_post_recv");
		return 0;
	}
	through[i]++;
	/* twice: who passes lines on (on_b) may hold the last one back */
	if (i == 0 && (through[0] == MANY || through[0] == 2 * MANY))
		printf("flows\n");
	/* a post that is refused is followed by what ends it all */
	if (!opt.limit || sent[i] < opt.limit)
		post(i);
	return 0;
}

/* All of ours is through: the other end hears of it, once. */
static bool all_through(void)
{
	static bool told;
	int i;

	for (i = 0; !told && sends() && i < QPS; i++)
		if (through[i] < opt.limit)
			return false;
	if (!told)
		send(peer, "", 1, MSG_NOSIGNAL);
	told = true;
	return true;
}

static int run(void)
{
	struct ibv_wc wc[DEPTH];
	int i, n, status, empty = 0;
	long j;

	for (i = 0; sends() && i < QPS; i++)
		for (j = 0; j < DEPTH && (!opt.limit || j < opt.limit); j++)
			post(i);
	while (!opt.limit || !all_through() || !peer_done) {
		n = ibv_poll_cq(cq, DEPTH, wc);
		if (n < 0)
			die("ibv_poll_cq");
		for (i = 0; i < n; i++) {
			status = complete(&wc[i]);
			if (status)
				return status;
		}
		/* a slow machine has better things to do than to poll */
		empty = n ? 0 : empty + 1;
		status = over(empty > 10 ? 1 : 0);
		if (status >= 0)
			return status;
	}
	printf("done\n");
	return DONE;
}

static void bound(const char *what)
{
	time_t end = time(NULL) + BEGIN;
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };

	while (!ibv_poll_cq(cq, 1, &wc) && time(NULL) <= end)
		usleep(1000);
	errno = EIO;
	if (wc.status != IBV_WC_SUCCESS)
		die("bind of %s: %s", what, ibv_wc_status_str(wc.status));
}

/* A window of each type, bound on a QP that is connected to itself. */
static void bind_windows(void)
{
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = {
			.mr = mr, .addr = (uintptr_t)area, .length = SLOT,
			.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
		},
	};
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED,
		.bind_mw = { .bind_info = bind.bind_info },
	}, *bad;

	theirs = mine;
	connect_qp(0);
	mw[0] = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	mw[1] = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	if (!mw[0] || !mw[1])
		die("ibv_alloc_mw");
	errno = ibv_bind_mw(qp[0], mw[0], &bind);
	if (errno)
		die("ibv_bind_mw");
	bound("type 1");
	wr.bind_mw.mw = mw[1];
	wr.bind_mw.rkey = ibv_inc_rkey(mw[1]->rkey);
	errno = ibv_post_send(qp[0], &wr, &bad);
	if (errno)
		die("ibv_post_send");
	bound("type 2");
}

static int idle(void)
{
	int status;

	bind_windows();
	printf("ready\n");
	do
		status = over(-1);
	while (status < 0);
	return status;
}

static int help(const char *name)
{
	fprintf(stderr, "usage: %s [-l] [-b] [-w] [-m FILE] [-n N] DEV IP MEET OP\n", name);
	return USAGE;
}

static bool parse_op(const char *op)
{
	static const struct {
		const char *name;
		enum ibv_wr_opcode op;
	} ops[] = {
		{ "write", IBV_WR_RDMA_WRITE }, { "read", IBV_WR_RDMA_READ },
		{ "send", IBV_WR_SEND }, { "atomic", IBV_WR_ATOMIC_FETCH_AND_ADD },
		{ "idle", IBV_WR_SEND }, {},
	};
	int i;

	opt.idle = !strcmp(op, "idle");
	for (i = 0; ops[i].name; i++) {
		if (strcmp(ops[i].name, op))
			continue;
		opt.op = ops[i].op;
		return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	int c, i, j;
	char go = 0;

	while ((c = getopt(argc, argv, "lbwm:n:")) != -1) {
		switch (c) {
		case 'l':
			opt.listens = true;
			break;
		case 'b':
			opt.both = true;
			break;
		case 'w':
			opt.stays = true;
			break;
		case 'm':
			opt.file = optarg;
			break;
		case 'n':
			opt.limit = atol(optarg);
			break;
		default:
			return help(argv[0]);
		}
	}
	if (argc - optind != 4 || !parse_op(argv[optind + 3]))
		return help(argv[0]);
	setvbuf(stdout, NULL, _IOLBF, 0);

	open_device(argv[optind]);
	find_gid(argv[optind + 1]);
	map_area();
	make_objects();
	if (opt.idle)
		return idle();
	find_peer(argv[optind + 2]);
	swap(&mine, &theirs, sizeof(mine));
	for (i = 0; i < QPS; i++) {
		connect_qp(i);
		for (j = 0; j < DEPTH; j++)
			if (post_recv(i, j))
				die("ibv_post_recv");
	}
	swap(&go, &go, 1);
	return run();
}

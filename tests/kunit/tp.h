/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two QPs joined by nothing but a test. Everything of the driver from the key
 * table to the QP is real; the network is replaced: what an end sends waits in a
 * list until the test delivers it, loses it, or makes one up.
 */
#ifndef SRNIC_TEST_TP_H
#define SRNIC_TEST_TP_H

#include <kunit/test.h>
#include <linux/ip.h>
#include <linux/list.h>

#include "../../drivers/srnic/aeth.h"
#include "../../drivers/srnic/counters.h"
#include "../../drivers/srnic/qp.h"
#include "tp_clock.h"

#define TP_MEM		(512 * 1024)
#define TP_IOVA		0x7fff00000000ull
#define TP_PDN		5
#define TP_DEPTH	64
#define TP_REGIONS	8
#define TP_ALL		(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

/**
 * struct tp_packet - a packet on its way
 * @list: in the sender's list
 * @at: for whom keeps it: when it arrives
 * @pkt: taken apart
 * @len: bytes in @data, ICRC (zero) included
 * @data: from the BTH on
 */
struct tp_packet {
	struct list_head list;
	u64 at;
	struct srnic_pkt pkt;
	u32 len;
	u8 data[];
};

/**
 * struct tp_end - a device with one QP
 * @tp: what the QP works with
 * @ibdev: no more than a name for messages
 * @ndev: no more than an MTU
 * @pd: of @qp
 * @scq: of sends
 * @rcq: of receives
 * @qp: the QP
 * @mem: TP_MEM bytes; the first region is all of it, at TP_IOVA
 * @mtt: translation of each region
 * @region: keys
 * @ip: what the other end finds in packets from here
 * @peer: the other end
 * @sent: struct tp_packet, oldest first
 * @last: what tp_next() returned last
 * @broken: packets sent that can't be taken apart
 * @xmit_err: srnic_net_xmit() says so, and sends nothing
 * @xmit_left: but for so many packets before
 * @no_memory: srnic_net_alloc() fails
 * @fault: asked before each packet: what @xmit_err would say
 * @events: IB_EVENT_* bits that were reported
 */
struct tp_end {
	struct srnic_tp tp;
	struct ib_device *ibdev;
	struct net_device *ndev;
	struct srnic_pd pd;
	struct srnic_cq scq;
	struct srnic_cq rcq;
	struct srnic_qp qp;
	u8 *mem;
	struct srnic_mtt *mtt[TP_REGIONS];
	struct srnic_mpt_entry *region[TP_REGIONS];
	struct iphdr ip;
	struct tp_end *peer;
	struct list_head sent;
	struct tp_packet *last;
	u32 broken;
	int xmit_err;
	u32 xmit_left;
	bool no_memory;
	int (*fault)(struct tp_end *e);
	unsigned long events;
};

/**
 * struct tp_conf - what can be chosen for a pair of QPs; 0 is the default
 * @mtu: path MTU in bytes (256)
 * @psn: first PSN in both directions
 * @max_rd: outstanding READs and atomics (16); -1: none
 * @timeout: code (8: about a millisecond); -1: no timeout
 * @retry: retries; -1: none (7)
 * @rnr_retry: the same for RNR (7)
 * @min_rnr: RNR timer code (1: 10 us)
 * @access: IB_ACCESS_REMOTE_* (all); -1: none
 * @signal_all: as if each work request was signaled
 */
struct tp_conf {
	int mtu;
	u32 psn;
	int max_rd;
	int timeout;
	int retry;
	int rnr_retry;
	int min_rnr;
	int access;
	bool signal_all;
};

/**
 * struct tp_pair - the fixture; test->priv
 * @test: the test
 * @a: one end, mostly the requester
 * @b: the other end
 * @conf: how they were connected
 */
struct tp_pair {
	struct kunit *test;
	struct tp_end a;
	struct tp_end b;
	struct tp_conf conf;
};

/* .init and .exit of a suite */
int tp_pair_init(struct kunit *test);
void tp_pair_exit(struct kunit *test);

/* Both QPs from RESET to RTS, with completions and packets forgotten. */
void tp_connect(struct tp_pair *t, const struct tp_conf *conf);
void tp_modify(struct tp_pair *t, struct tp_end *e, enum ib_qp_state state);
/* Another QP of @e's, whose peer is the other end's QP; the caller destroys it. */
void tp_qp_create(struct tp_pair *t, struct tp_end *e, struct srnic_qp *qp);
/* From RESET to RTS */
void tp_qp_connect(struct tp_pair *t, struct tp_end *e, struct srnic_qp *qp);

/* @len bytes of @e's memory from @off on, at the same offset from TP_IOVA. */
u32 tp_region(struct tp_pair *t, struct tp_end *e, u32 off, u32 len, u32 pdn,
	      u32 access);
/* Its entry; NULL: there is no such region. */
struct srnic_mpt_entry *tp_region_of(struct tp_end *e, u32 key);
void tp_region_kill(struct tp_end *e, u32 key);

/**
 * struct tp_wr - a work request
 * @op: IB_WR_*
 * @flags: IB_SEND_*
 * @len: bytes
 * @off: where in @e's memory
 * @roff: where in the peer's memory
 * @imm: immediate data, or key to invalidate
 * @compare_add: of atomics
 * @swap: of compare and swap
 * @id: wr_id
 * @lkey: instead of that of all memory
 * @rkey: instead of that of all memory of the peer
 */
struct tp_wr {
	enum ib_wr_opcode op;
	int flags;
	u32 len;
	u32 off;
	u32 roff;
	u32 imm;
	u64 compare_add;
	u64 swap;
	u64 id;
	u32 lkey;
	u32 rkey;
};

int tp_post(struct tp_end *e, const struct tp_wr *wr);
/* All of them in one call */
int tp_post_list(struct tp_end *e, const struct tp_wr *wr, u32 n);
int tp_post_recv(struct tp_end *e, u64 id, u32 off, u32 len);

/* The oldest packet that @e has sent, valid until the next call; or NULL. */
struct tp_packet *tp_next(struct tp_end *e);
/* The same, which must be there and be this one. */
struct tp_packet *tp_expect(struct tp_pair *t, struct tp_end *e, u8 opcode,
			    u32 psn);
void tp_expect_nothing(struct tp_pair *t, struct tp_end *e);
u32 tp_drop_all(struct tp_end *e);
/* NULL when out of memory; freed with kfree() */
struct tp_packet *tp_copy(const struct tp_packet *p);

void tp_deliver(struct tp_end *to, const struct srnic_pkt *pkt);
/* A packet that @from didn't send; to the peer's QP where it doesn't say which. */
void tp_forge(struct tp_pair *t, struct tp_end *from,
	      const struct srnic_pkt_out *out, const void *payload);
/* To @to, the peer of whom it is: an answer with an AETH only. */
void tp_answer(struct tp_pair *t, struct tp_end *to, u32 psn, u8 syndrome);
/* Deliver in both directions, in order, until nothing is sent. */
void tp_pump(struct tp_pair *t);

/* The next completion is this one. */
struct ib_wc tp_expect_wc(struct tp_pair *t, struct srnic_cq *cq, u64 id,
			  enum ib_wc_status status);
void tp_expect_no_wc(struct tp_pair *t, struct srnic_cq *cq);

static inline u64 tp_stat(const struct tp_end *e, enum srnic_stat which)
{
	return srnic_stat_sum(e->tp.stats, which);
}

/* All counters of @e's. */
void tp_stats(const struct tp_end *e, u64 v[SRNIC_STATS]);
/* Since then @n requests were refused, for this reason all of them. */
void tp_expect_refusals(struct tp_pair *t, const struct tp_end *e,
			const u64 before[SRNIC_STATS], enum srnic_key_reason why,
			u32 n, const char *what);

static inline u32 tp_psn(const struct tp_pair *t, u32 n)
{
	return (t->conf.psn + n) & 0xffffff;
}

/* 4096 ns * 2^timeout, as IBTA has it */
static inline u64 tp_timeout_ns(const struct tp_pair *t)
{
	return 4096ull << t->conf.timeout;
}

/*
 * tp_steps.c; n counts PSNs from the first one on. With a made-up responder:
 */
struct tp_pair *tp_connected(struct kunit *test, const struct tp_conf *conf);
int tp_post_simple(struct tp_pair *t, enum ib_wr_opcode op, u32 len, int flags);
/* A WRITE's first @n packets have left; it has no more (@whole), or more. */
void tp_expect_write(struct tp_pair *t, u32 from, u32 n, bool whole);
void tp_expect_read(struct tp_pair *t, u32 n, u32 off, u32 len);
/* Time goes on until the requester sends something. */
void tp_until_sent(struct tp_pair *t);

static inline void tp_ack(struct tp_pair *t, u32 n)
{
	tp_answer(t, &t->a, tp_psn(t, n), SRNIC_AETH_ACK | SRNIC_AETH_NO_CREDITS);
}

static inline void tp_nak(struct tp_pair *t, u32 n, u8 code)
{
	tp_answer(t, &t->a, tp_psn(t, n), SRNIC_AETH_NAK | code);
}

static inline void tp_rnr(struct tp_pair *t, u32 n, u8 code)
{
	tp_answer(t, &t->a, tp_psn(t, n), SRNIC_AETH_RNR_NAK | code);
}

/* With a made-up requester: requests ask for an ACK, and are for all memory. */
struct srnic_pkt_out tp_request(struct tp_pair *t, u8 opcode, u32 n, u32 len);
void tp_send(struct tp_pair *t, u8 opcode, u32 n, u32 len);
void tp_read_request(struct tp_pair *t, u32 n, u32 skip, u32 len, u32 rkey);
/* wr_ids from 0 on, 2048 bytes each */
void tp_post_recvs(struct tp_pair *t, u32 n);
struct tp_packet *tp_expect_aeth(struct tp_pair *t, u32 n, u8 syndrome);
/* The responder has failed: it has said so, and takes nothing any more. */
void tp_expect_dead(struct tp_pair *t, enum ib_event_type event);
/* At its netdev: nothing leaves; and again all. */
void tp_block(struct tp_pair *t);
void tp_unblock(struct tp_pair *t);

#endif /* SRNIC_TEST_TP_H */

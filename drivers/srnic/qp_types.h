/* SPDX-License-Identifier: GPL-2.0 */
/*
 * struct srnic_qp and its two halves.
 *
 * The send half (struct srnic_sq) is the requester: it sends requests and
 * takes their responses. The receive half (struct srnic_rq) is the responder:
 * it takes requests and sends responses. They share nothing that changes while
 * packets flow, so each has one lock. Only a change of the QP's state takes both.
 *
 * Lock order: qp->modify (mutex), sq.lock, rq.lock, then as leaves the post_lock
 * of either half and the lock of a CQ. The leaves are taken with interrupts off:
 * a kernel user may post, poll and arm in a hard interrupt. The network's
 * transmit path runs under sq.lock or rq.lock, which need bottom halves off and
 * are never taken in a hard interrupt. Completion and event handlers run under
 * none of them: what has to be called is noted (sq.wake, rq.wake, qp->events)
 * and called after unlocking.
 *
 * A QP leaves the state RTS for ERR from either half: qp->state is written by
 * whoever finds the error; the other half notices at its next turn, which the
 * work item brings about (srnic_qp_error()).
 */
#ifndef SRNIC_QP_TYPES_H
#define SRNIC_QP_TYPES_H

/**
 * struct srnic_swqe - a send work request, in kernel memory
 * @wr_id: for the completion
 * @length: payload bytes in all
 * @first_psn: PSN of its first packet, once @started
 * @last_psn: PSN of its last packet or response
 * @opcode: enum ib_wr_opcode
 * @kind: enum srnic_op_kind
 * @flags: IB_SEND_*
 * @nsge: entries in @sge; 0 with IB_SEND_INLINE
 * @status: IB_WC_SUCCESS, or what it will be completed with instead of being
 *	sent (on)
 * @started: PSNs are assigned; SRNIC_OP_LOCAL: none, and it is @done
 * @done: all responses of a READ or an atomic have come; it has been executed
 * @imm: immediate data, as on the wire
 * @inv_rkey: key to be invalidated, at the peer or here
 * @rkey: remote key; of a bind or a registration: the key from now on
 * @raddr: remote address; of a bind: where the window begins
 * @compare_add: compare-and-swap: compared with; fetch-and-add: added
 * @swap: compare-and-swap: written
 * @av: UD: where to, a reference
 * @ud_qpn: UD: to whom
 * @ud_qkey: UD
 * @bind_length: bind: bytes
 * @bind_lkey: bind: of the region
 * @access: bind, registration: IB_ACCESS_*
 * @mr: registration: the region
 * @why: the reason of a key refusal (enum srnic_key_reason)
 * @sge: local memory, or
 * @data: inline payload
 */
struct srnic_swqe {
	u64 wr_id;
	u32 length;
	u32 first_psn;
	u32 last_psn;
	u8 opcode;
	u8 kind;
	u8 flags;
	u8 nsge;
	u8 status;
	u8 why;
	bool started;
	bool done;
	__be32 imm;
	u32 inv_rkey;
	u32 rkey;
	u64 raddr;
	union {
		struct {
			u64 compare_add;
			u64 swap;
		};
		struct {
			struct srnic_av *av;
			u32 ud_qpn;
			u32 ud_qkey;
		};
		struct {
			union {
				u64 bind_length;
				struct srnic_mr *mr;
			};
			u32 bind_lkey;
			u32 access;
		};
	};
	union {
		DECLARE_FLEX_ARRAY(struct ib_sge, sge);
		DECLARE_FLEX_ARRAY(u8, data);
	};
};

/**
 * struct srnic_sq - the requester
 *
 * WQEs cons..posted live in @wqes: [cons, next) are sent, or partly, and not
 * completed; @next is being sent, at PSN @psn; the rest waits, from @prod on
 * without being known to the requester. PSNs: @una is
 * the oldest that the peer hasn't acknowledged, @max_psn the first never used.
 * A retry moves @next and @psn back, nothing else.
 *
 * @lock: protects all of this structure but @posted, and the QP's av for the
 *	requester
 * @post_lock: of a kernel user's QP: protects @posted and the WQEs behind it
 * @wake: call srnic_cq_wake() after unlocking
 * @all_signaled: every WQE has a completion
 * @waiting: for @wait: RNR, or the netdev's full queue
 * @rnr: it is RNR: the peer knows, so nothing counts as lost meanwhile
 * @implied_nak: for the gap at @una a retry has been made
 * @probed: for the stall at @next an acknowledge has been asked for
 * @draining: SQD: tell when drained
 * @posted: WQEs written, in all
 * @prod: WQEs accepted, in all
 * @next: the WQE being sent
 * @cons: the oldest WQE not completed
 * @psn: of the next packet to be sent
 * @max_psn: never used yet
 * @una: oldest unacknowledged
 * @cwnd: PSNs that may be unacknowledged
 * @ssthresh: up to here @cwnd grows fast
 * @acked: PSNs acknowledged since it last grew slowly
 * @since_ackreq: packets since the last one with AckReq
 * @timeout: IBTA code (4.096 us * 2^code), 0: none
 * @retry_cnt: retries without progress that are allowed
 * @rnr_retry: the same for RNR NAKs, 7: any number
 * @retries: of @retry_cnt, how many are left
 * @rnr_retries: of @rnr_retry, how many are left
 * @backoff: timeouts since the last round trip was measured, as a power of two
 * @rtt_on: the round trip of @rtt_psn is being measured
 * @timed_out: sending again what lies before @max_psn, maybe for no reason
 * @rtt_psn: a PSN that asked for an acknowledge, sent once
 * @rtt_start: jiffies when it was sent
 * @rtt: jiffies, smoothed
 * @deadline: jiffies when @una counts as lost
 * @timer: fires at an old @deadline, and then looks at the present one
 * @wait: ends @waiting
 * @rd_head: the oldest entry of @rd_end
 * @rd_tail: behind the newest entry of @rd_end
 * @rd_undo: @rd_tail before the timeout
 * @max_rd: READ and atomic requests that may be outstanding
 * @rd_end: last PSNs of those that are, SRNIC_MAX_RD_ATOMIC entries
 * @ring: a program's; without hdr for kernel users
 * @wqes: WQEs, @depth of @stride bytes
 * @depth: a power of two
 * @stride: bytes
 * @max_sge: of a WQE
 * @max_inline: bytes of a WQE
 */
struct srnic_sq {
	/* protects all but 'posted', and qp->av for the requester */
	spinlock_t lock;
	spinlock_t post_lock;	/* protects 'posted' and the WQEs behind it */
	u32 posted;
	bool wake;
	bool all_signaled;
	bool waiting;
	bool rnr;
	bool implied_nak;
	bool probed;
	bool draining;
	u32 prod;
	u32 next;
	u32 cons;
	u32 psn;
	u32 max_psn;
	u32 una;
	u32 cwnd;
	u32 ssthresh;
	u32 acked;
	u32 since_ackreq;
	u8 timeout;
	u8 retry_cnt;
	u8 rnr_retry;
	u8 retries;
	u8 rnr_retries;
	u8 backoff;
	bool rtt_on;
	bool timed_out;
	u32 rtt_psn;
	unsigned long rtt_start;
	unsigned long rtt;
	unsigned long deadline;
	struct timer_list timer;
	struct hrtimer wait;
	u32 rd_head;
	u32 rd_tail;
	u32 rd_undo;
	u8 max_rd;
	u32 *rd_end;
	/* never changed after creation */
	struct srnic_ring ring;
	void *wqes;
	u32 depth;
	u32 stride;
	u32 max_sge;
	u32 max_inline;
};

/**
 * struct srnic_res - what a repeated READ or atomic request needs
 * @kind: SRNIC_OP_READ, _CMP_SWAP, _FETCH_ADD; SRNIC_OP_NONE: unused
 * @first_psn: of the request
 * @last_psn: of its last response
 * @va: remote address
 * @rkey: key
 * @len: READ: bytes
 * @orig: atomic: the value before
 */
struct srnic_res {
	u8 kind;
	u32 first_psn;
	u32 last_psn;
	u64 va;
	u32 rkey;
	u32 len;
	u64 orig;
};

/**
 * struct srnic_job - responses to be sent, READ data or an atomic's result
 * @kind: as in struct srnic_res; SRNIC_OP_ACK: a NAK, to a repeated request
 * @fresh: the next packet is the first of this answer
 * @repeat: READ: it has been answered before
 * @psn: of the next packet
 * @msn: what the answer says: messages completed when it was made
 * @va: READ: address of the next packet's data
 * @rkey: READ: key
 * @left: READ: bytes
 * @orig: atomic: the value before
 */
struct srnic_job {
	u8 kind;
	bool fresh;
	bool repeat;
	u32 psn;
	u32 msn;
	u64 va;
	u32 rkey;
	u32 left;
	u64 orig;
};

/* Two rounds of the deepest replay ring: fresh requests and repeated ones. */
#define SRNIC_MAX_JOBS	(2 * SRNIC_MAX_RD_ATOMIC)

/**
 * struct srnic_recv - a receive work request, in kernel memory
 * @wr_id: for the completion
 * @length: bytes of room in all
 * @nsge: entries in @sge
 * @valid: there is one
 * @bad: it makes no sense; the message that meets it fails
 * @sge: local memory
 */
struct srnic_recv {
	u64 wr_id;
	u64 length;
	u32 nsge;
	bool valid;
	bool bad;
	struct ib_sge sge[SRNIC_MAX_SGE];
};

/**
 * struct srnic_rq - the responder
 *
 * Requests are executed when they arrive. What answers them, READ data and
 * results of atomics, waits in @jobs in PSN order; an ACK or NAK leaves when
 * no job is before it.
 *
 * @lock: protects all of this structure but what is posted, and the QP's av for
 *	the responder
 * @post_lock: of a kernel user's QP: protects the producer's side of @ring
 * @wake: call srnic_cq_wake() after unlocking
 * @waiting: for @wait: the netdev's queue was full
 * @nak_sent: for the gap at @epsn
 * @comm_est: the user has been told of the first packet
 * @ack_due: an ACK is to be sent
 * @repeat_told: a refused repeat has been written down
 * @nak_due: @nak_syndrome is to be sent for @nak_psn
 * @fatal: after that NAK the QP is in error; no request is taken any more
 * @fatal_by: jiffies when it is, whether or not the NAK has left
 * @nak_syndrome: AETH syndrome
 * @min_rnr_timer: code that the peer is told with an RNR NAK
 * @max_rd: size of @res in use
 * @msg: enum srnic_op_kind of the message in progress
 * @nak_psn: PSN
 * @epsn: the next PSN expected
 * @msn: messages completed
 * @msg_len: bytes of this message so far
 * @va: WRITE in progress: where it goes
 * @rkey: WRITE in progress: with this key
 * @dmalen: WRITE in progress: bytes in all
 * @recv: of the SEND in progress, or taken and not yet used
 * @res_next: next entry of @res to be used
 * @res: for repeated requests, SRNIC_MAX_RD_ATOMIC entries
 * @job_head: the oldest entry of @jobs
 * @job_tail: behind the newest entry of @jobs
 * @jobs: responses that wait, SRNIC_MAX_JOBS entries
 * @wait: ends @waiting
 * @ring: filled by a program, or by srnic_rq_post()
 * @max_sge: of a receive
 */
struct srnic_rq {
	/* protects all but what is posted, and qp->av for the responder */
	spinlock_t lock;
	spinlock_t post_lock;	/* protects the producer's side of 'ring' */
	bool wake;
	bool waiting;
	bool nak_sent;
	bool comm_est;
	bool ack_due;
	bool repeat_told;
	bool nak_due;
	bool fatal;
	u8 nak_syndrome;
	u8 min_rnr_timer;
	u8 max_rd;
	u8 msg;
	unsigned long fatal_by;
	u32 nak_psn;
	u32 epsn;
	u32 msn;
	u32 msg_len;
	u64 va;
	u32 rkey;
	u32 dmalen;
	struct srnic_recv recv;
	u32 res_next;
	struct srnic_res *res;
	u32 job_head;
	u32 job_tail;
	struct srnic_job *jobs;
	struct hrtimer wait;
	/* never changed after creation */
	struct srnic_ring ring;
	u32 max_sge;
};

/**
 * struct srnic_qp - a queue pair
 * @ibqp: the core's part
 * @tp: the device's transport
 * @pdn: protection domain in the key table
 * @type: SRNIC_QPT_*
 * @state: enum ib_qp_state. Written with both locks held, but for an error:
 *	srnic_qp_error() holds one. Read anywhere.
 * @user: a program's
 * @qpn: its number
 * @dest_qpn: RC: the peer's
 * @qkey: UD
 * @mtu: RC: path MTU in bytes
 * @access: IB_ACCESS_REMOTE_* that peers may ask for
 * @av: RC: the peer. Written with both locks held; RCU.
 * @bound: windows that are bound to it
 * @sq: requester
 * @rq: responder
 * @work: runs both halves in a softirq: what exceeds a budget, what waited,
 *	and the flush after an error
 * @events: IB_EVENT_* bits that the work item has to report
 * @modify: serialises modify and query; protects @attr
 * @attr: what query tells, but for what is kept elsewhere
 */
struct srnic_qp {
	struct ib_qp ibqp;
	struct srnic_tp *tp;
	u32 pdn;
	u8 type;
	u8 state;
	bool user;
	/* constant while packets flow */
	u32 qpn;
	u32 dest_qpn;
	u32 qkey;
	u32 mtu;
	u32 access;
	struct srnic_av __rcu *av;
	struct srnic_mw_list bound;

	struct srnic_sq sq ____cacheline_aligned_in_smp;
	struct srnic_rq rq ____cacheline_aligned_in_smp;

	struct work_struct work;
	unsigned long events;
	struct mutex modify;	/* serialises modify and query; protects attr */
	struct ib_qp_attr attr;
};

static inline struct srnic_qp *to_srnic_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct srnic_qp, ibqp);
}

/* Where the peer is. One of the two locks is held. */
static inline struct srnic_av *srnic_qp_av(const struct srnic_qp *qp)
{
	return rcu_dereference_protected(qp->av,
					 lockdep_is_held(&qp->sq.lock) ||
					 lockdep_is_held(&qp->rq.lock));
}

/* Has the packet come from there? One of the two locks is held. */
static inline bool srnic_qp_is_peer(const struct srnic_qp *qp,
				    const struct srnic_rx *rx)
{
	const struct srnic_av *av = srnic_qp_av(qp);

	return av && srnic_av_is_peer(av, rx);
}

static inline struct srnic_swqe *srnic_sq_at(const struct srnic_sq *sq, u32 idx)
{
	return sq->wqes + (size_t)(idx & (sq->depth - 1)) * sq->stride;
}

#endif /* SRNIC_QP_TYPES_H */

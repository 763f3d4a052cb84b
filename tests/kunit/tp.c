// SPDX-License-Identifier: GPL-2.0
#include "tp.h"

#include <linux/bottom_half.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/ib_pack.h>

#include "../../drivers/srnic/mpt.h"
#include "../../drivers/srnic/mtt.h"

#define ICRC	4

static struct tp_end *end_of(struct srnic_port *port)
{
	return container_of(port, struct tp_end, tp.port);
}

/*
 * The stand-ins for net.c, net_tx.c and av.c.
 */
int srnic_net_mtu(unsigned int netdev_mtu)
{
	return IB_MTU_4096;
}

/**
 * struct fake_av - an address vector that knows whose it is
 * @av: the part that the driver sees
 * @end: who sends by it
 */
struct fake_av {
	struct srnic_av av;
	struct tp_end *end;
};

struct srnic_av *srnic_av_create(struct srnic_port *port,
				 const struct rdma_ah_attr *attr, u32 qpn,
				 gfp_t gfp)
{
	struct fake_av *f = kzalloc(sizeof(*f), gfp);

	if (!f)
		return ERR_PTR(-ENOMEM);
	f->end = end_of(port);
	f->av.s4 = f->end->ip.saddr;
	f->av.d4 = f->end->ip.daddr;
	refcount_set(&f->av.ref, 1);
	return &f->av;
}

struct srnic_av *srnic_av_get(struct srnic_av *av)
{
	return refcount_inc_not_zero(&av->ref) ? av : NULL;
}

void srnic_av_put(struct srnic_av *av)
{
	if (av && refcount_dec_and_test(&av->ref))
		kfree(container_of(av, struct fake_av, av));
}

bool srnic_av_is_peer(const struct srnic_av *av, const struct srnic_rx *rx)
{
	return rx->ip4->saddr == av->d4 && rx->ip4->daddr == av->s4;
}

struct sk_buff *srnic_net_alloc(const struct srnic_av *av, u32 len)
{
	const struct fake_av *f = container_of(av, struct fake_av, av);
	struct sk_buff *skb;

	if (f->end->no_memory)
		return NULL;
	skb = alloc_skb(len, GFP_ATOMIC);
	if (skb)
		memset(skb_put(skb, len), 0xa5, len);
	return skb;
}

static struct tp_packet *make_packet(const void *data, u32 len)
{
	struct tp_packet *p = kzalloc(struct_size(p, data, len + ICRC),
				      GFP_ATOMIC);

	if (!p)
		return NULL;
	p->len = len + ICRC;
	memcpy(p->data, data, len);
	if (srnic_pkt_parse(&p->pkt, p->data, p->len, p->len)) {
		kfree(p);
		return NULL;
	}
	p->pkt.nseg = p->pkt.len ? 1 : 0;
	p->pkt.seg[0].iov_base = p->data + p->pkt.op->hdr_len;
	p->pkt.seg[0].iov_len = p->pkt.len;
	return p;
}

int srnic_net_xmit(struct srnic_port *port, struct srnic_av *av,
		   struct sk_buff *skb)
{
	struct tp_end *e = end_of(port);
	struct tp_packet *p;
	int err = 0;

	if (e->fault)
		err = e->fault(e);
	else if (e->xmit_err && !e->xmit_left)
		err = e->xmit_err;
	else if (e->xmit_err)
		e->xmit_left--;
	if (!err) {
		p = make_packet(skb->data, skb->len);
		if (p)
			list_add_tail(&p->list, &e->sent);
		else
			e->broken++;
	}
	kfree_skb(skb);
	return err;
}

static void note_event(struct ib_event *event, void *context)
{
	struct tp_end *e = context;

	e->events |= BIT(event->event);
}

u32 tp_region(struct tp_pair *t, struct tp_end *e, u32 off, u32 len, u32 pdn,
	      u32 access)
{
	struct kunit *test = t->test;
	struct srnic_mpt_entry *r;
	int i = 0;

	while (i < TP_REGIONS && e->region[i])
		i++;
	KUNIT_ASSERT_LT(test, i, TP_REGIONS);
	e->mtt[i] = srnic_mtt_alloc(1);
	KUNIT_ASSERT_NOT_NULL(test, e->mtt[i]);
	KUNIT_ASSERT_EQ(test, srnic_mtt_add(e->mtt[i],
					    (unsigned long)(e->mem + off), len,
					    false), 0);
	r = srnic_mpt_alloc(e->tp.mpt);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, r);
	r->access = access;
	r->pdn = pdn;
	r->iova = TP_IOVA + off;
	r->length = len;
	r->mtt = e->mtt[i];
	e->region[i] = r;
	srnic_mpt_publish(r);
	return r->key;
}

static void kill_region(struct tp_end *e, int i)
{
	srnic_mpt_kill(e->tp.mpt, e->region[i], SRNIC_MPT_INVALID);
	srnic_mpt_free(e->tp.mpt, e->region[i]);
	srnic_mtt_free(e->mtt[i]);
	e->region[i] = NULL;
}

struct srnic_mpt_entry *tp_region_of(struct tp_end *e, u32 key)
{
	int i;

	for (i = 0; i < TP_REGIONS; i++)
		if (e->region[i] && e->region[i]->key == key)
			return e->region[i];
	return NULL;
}

void tp_region_kill(struct tp_end *e, u32 key)
{
	int i;

	for (i = 0; i < TP_REGIONS; i++)
		if (e->region[i] && e->region[i]->key == key)
			kill_region(e, i);
}

void tp_qp_create(struct tp_pair *t, struct tp_end *e, struct srnic_qp *qp)
{
	struct ib_qp_init_attr init = {
		.event_handler = note_event,
		.qp_context = e,
		.send_cq = &e->scq.ibcq,
		.recv_cq = &e->rcq.ibcq,
		.cap = {
			.max_send_wr = TP_DEPTH,
			.max_recv_wr = TP_DEPTH,
			.max_send_sge = 3,
			.max_recv_sge = 3,
			.max_inline_data = 64,
		},
		.sq_sig_type = t->conf.signal_all ? IB_SIGNAL_ALL_WR :
						    IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};

	memset(qp, 0, sizeof(*qp));
	qp->ibqp.device = e->ibdev;
	qp->ibqp.pd = &e->pd.ibpd;
	qp->ibqp.send_cq = init.send_cq;
	qp->ibqp.recv_cq = init.recv_cq;
	qp->ibqp.event_handler = init.event_handler;
	qp->ibqp.qp_context = init.qp_context;
	KUNIT_ASSERT_EQ(t->test, srnic_qp_create(&e->tp, qp, &init, NULL), 0);
}

static void create_end(struct tp_pair *t, struct tp_end *e, u32 from, u32 to)
{
	struct kunit *test = t->test;

	INIT_LIST_HEAD(&e->sent);
	e->ip.saddr = htonl(from);
	e->ip.daddr = htonl(to);
	e->ibdev = kunit_kzalloc(test, sizeof(*e->ibdev), GFP_KERNEL);
	e->ndev = kunit_kzalloc(test, sizeof(*e->ndev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, e->ibdev);
	KUNIT_ASSERT_NOT_NULL(test, e->ndev);
	e->pd.pdn = TP_PDN;
	e->tp.stats = alloc_percpu(struct srnic_stats);
	KUNIT_ASSERT_TRUE(test, !!e->tp.stats);
	e->mem = vzalloc(TP_MEM);
	KUNIT_ASSERT_NOT_NULL(test, e->mem);
	e->tp.mpt = srnic_mpt_create(8);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, e->tp.mpt);
	KUNIT_ASSERT_EQ(test, srnic_tp_init(&e->tp, e->ibdev, e->tp.mpt, false,
					    e->tp.stats), 0);
	e->tp.port.ndev = e->ndev;
	tp_region(t, e, 0, TP_MEM, TP_PDN, TP_ALL);
	KUNIT_ASSERT_EQ(test, srnic_cq_create(&e->scq, NULL, 4 * TP_DEPTH, NULL), 0);
	KUNIT_ASSERT_EQ(test, srnic_cq_create(&e->rcq, NULL, 4 * TP_DEPTH, NULL), 0);
	tp_qp_create(t, e, &e->qp);
}

int tp_pair_init(struct kunit *test)
{
	struct tp_pair *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	tp_clock_reset();
	t->test = test;
	test->priv = t;
	t->a.peer = &t->b;
	t->b.peer = &t->a;
	create_end(t, &t->a, 0x0a4d0001, 0x0a4d0002);
	create_end(t, &t->b, 0x0a4d0002, 0x0a4d0001);
	return 0;
}

/* As far as it was made. */
static void destroy_end(struct kunit *test, struct tp_end *e)
{
	int i;

	KUNIT_EXPECT_EQ(test, e->broken, 0);
	if (e->qp.tp) {
		srnic_qp_destroy(&e->qp);
		srnic_tp_exit(&e->tp);
	}
	srnic_cq_destroy(&e->scq);
	srnic_cq_destroy(&e->rcq);
	for (i = 0; i < TP_REGIONS; i++)
		if (e->region[i])
			kill_region(e, i);
	if (!IS_ERR_OR_NULL(e->tp.mpt)) {
		KUNIT_EXPECT_EQ(test, srnic_mpt_live(e->tp.mpt), 0);
		srnic_mpt_destroy(e->tp.mpt);
	}
	vfree(e->mem);
	free_percpu(e->tp.stats);
	tp_drop_all(e);
	kfree(e->last);
}

void tp_pair_exit(struct kunit *test)
{
	struct tp_pair *t = test->priv;

	if (!t)
		return;
	destroy_end(test, &t->a);
	destroy_end(test, &t->b);
	/* a stopped QP leaves no timer behind */
	KUNIT_EXPECT_TRUE(test, tp_next_timer() == TP_NEVER);
}

static void modify_qp(struct tp_pair *t, struct tp_end *e, struct srnic_qp *qp,
		      enum ib_qp_state state)
{
	const struct tp_conf *c = &t->conf;
	struct ib_qp_attr attr = {
		.qp_state = state,
		.port_num = 1,
		.qp_access_flags = c->access,
		.path_mtu = ib_mtu_int_to_enum(c->mtu),
		.dest_qp_num = e->peer->qp.qpn,
		.rq_psn = c->psn,
		.sq_psn = c->psn,
		.max_dest_rd_atomic = c->max_rd,
		.max_rd_atomic = c->max_rd,
		.min_rnr_timer = c->min_rnr,
		.timeout = c->timeout,
		.retry_cnt = c->retry,
		.rnr_retry = c->rnr_retry,
		.en_sqd_async_notify = 1,
	};
	int mask = IB_QP_STATE;

	if (state == IB_QPS_INIT)
		mask |= IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS;
	if (state == IB_QPS_RTR)
		mask |= IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN |
			IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |
			IB_QP_MIN_RNR_TIMER;
	if (state == IB_QPS_RTS && qp->state == IB_QPS_RTR)
		mask |= IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
			IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC;
	if (state == IB_QPS_SQD)
		mask |= IB_QP_EN_SQD_ASYNC_NOTIFY;
	KUNIT_ASSERT_EQ(t->test, srnic_qp_modify(qp, &attr, mask), 0);
}

void tp_modify(struct tp_pair *t, struct tp_end *e, enum ib_qp_state state)
{
	modify_qp(t, e, &e->qp, state);
}

void tp_qp_connect(struct tp_pair *t, struct tp_end *e, struct srnic_qp *qp)
{
	modify_qp(t, e, qp, IB_QPS_RESET);
	modify_qp(t, e, qp, IB_QPS_INIT);
	modify_qp(t, e, qp, IB_QPS_RTR);
	modify_qp(t, e, qp, IB_QPS_RTS);
}

static void bring_up(struct tp_pair *t, struct tp_end *e)
{
	struct ib_wc wc;

	tp_modify(t, e, IB_QPS_RESET);
	while (srnic_cq_poll(&e->scq, 1, &wc) == 1 ||
	       srnic_cq_poll(&e->rcq, 1, &wc) == 1)
		;
	e->qp.sq.all_signaled = t->conf.signal_all;
	e->xmit_err = 0;
	e->xmit_left = 0;
	e->no_memory = false;
	e->events = 0;
	tp_drop_all(e);
	tp_qp_connect(t, e, &e->qp);
}

static int with_default(int value, int def)
{
	return value < 0 ? 0 : value ?: def;
}

void tp_connect(struct tp_pair *t, const struct tp_conf *conf)
{
	static const struct tp_conf none;
	struct tp_conf *c = &t->conf;

	*c = conf ? *conf : none;
	c->mtu = with_default(c->mtu, 256);
	c->max_rd = with_default(c->max_rd, 16);
	c->timeout = with_default(c->timeout, 8);
	c->retry = with_default(c->retry, 7);
	c->rnr_retry = with_default(c->rnr_retry, 7);
	c->min_rnr = with_default(c->min_rnr, 1);
	c->access = with_default(c->access, TP_ALL & ~IB_ACCESS_LOCAL_WRITE);
	/* what was still to happen with the old connection */
	tp_advance(0);
	bring_up(t, &t->a);
	bring_up(t, &t->b);
}

/* One work request of each kind is large enough for all. */
union any_wr {
	struct ib_send_wr wr;
	struct ib_rdma_wr rdma;
	struct ib_atomic_wr atomic;
};

static void fill_wr(struct tp_end *e, const struct tp_wr *w, union any_wr *any,
		    struct ib_sge *sge)
{
	u32 rkey = w->rkey ?: e->peer->region[0]->key;
	u64 raddr = TP_IOVA + w->roff;

	*sge = (struct ib_sge) {
		.addr = TP_IOVA + w->off,
		.length = w->len,
		.lkey = w->lkey ?: e->region[0]->key,
	};
	memset(any, 0, sizeof(*any));
	any->wr.wr_id = w->id;
	any->wr.opcode = w->op;
	any->wr.send_flags = w->flags;
	any->wr.ex.imm_data = (__force __be32)w->imm;
	any->wr.sg_list = sge;
	any->wr.num_sge = w->len ? 1 : 0;
	switch (w->op) {
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		any->atomic.remote_addr = raddr;
		any->atomic.rkey = rkey;
		any->atomic.compare_add = w->compare_add;
		any->atomic.swap = w->swap;
		break;
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_SEND_WITH_INV:
		break;
	default:
		any->rdma.remote_addr = raddr;
		any->rdma.rkey = rkey;
	}
}

#define MAX_LIST	4

int tp_post_list(struct tp_end *e, const struct tp_wr *wr, u32 n)
{
	union any_wr any[MAX_LIST];
	struct ib_sge sge[MAX_LIST];
	const struct ib_send_wr *bad;
	u32 i;

	if (WARN_ON(!n || n > MAX_LIST))
		return -EINVAL;
	for (i = 0; i < n; i++) {
		fill_wr(e, &wr[i], &any[i], &sge[i]);
		if (i)
			any[i - 1].wr.next = &any[i].wr;
	}
	return srnic_qp_post_send(&e->qp, &any[0].wr, &bad);
}

int tp_post(struct tp_end *e, const struct tp_wr *wr)
{
	return tp_post_list(e, wr, 1);
}

int tp_post_recv(struct tp_end *e, u64 id, u32 off, u32 len)
{
	struct ib_sge sge = {
		.addr = TP_IOVA + off,
		.length = len,
		.lkey = e->region[0]->key,
	};
	struct ib_recv_wr wr = {
		.wr_id = id,
		.sg_list = &sge,
		.num_sge = len ? 1 : 0,
	};
	const struct ib_recv_wr *bad;

	return srnic_qp_post_recv(&e->qp, &wr, &bad);
}

struct tp_packet *tp_next(struct tp_end *e)
{
	kfree(e->last);
	e->last = list_first_entry_or_null(&e->sent, struct tp_packet, list);
	if (e->last)
		list_del(&e->last->list);
	return e->last;
}

struct tp_packet *tp_expect(struct tp_pair *t, struct tp_end *e, u8 opcode,
			    u32 psn)
{
	struct tp_packet *p = tp_next(e);

	KUNIT_ASSERT_NOT_NULL(t->test, p);
	KUNIT_ASSERT_EQ(t->test, p->pkt.opcode, opcode);
	KUNIT_ASSERT_EQ(t->test, p->pkt.psn, psn);
	KUNIT_ASSERT_EQ(t->test, p->pkt.qpn, e->peer->qp.qpn);
	KUNIT_ASSERT_EQ(t->test, p->pkt.pkey, 0xffff);
	return p;
}

void tp_expect_nothing(struct tp_pair *t, struct tp_end *e)
{
	struct tp_packet *p = tp_next(e);

	KUNIT_ASSERT_TRUE_MSG(t->test, !p, "opcode %02x PSN %06x was sent",
			      p ? p->pkt.opcode : 0, p ? p->pkt.psn : 0);
}

u32 tp_drop_all(struct tp_end *e)
{
	struct tp_packet *p, *next;
	u32 n = 0;

	list_for_each_entry_safe(p, next, &e->sent, list) {
		list_del(&p->list);
		kfree(p);
		n++;
	}
	return n;
}

struct tp_packet *tp_copy(const struct tp_packet *p)
{
	return make_packet(p->data, p->len - ICRC);
}

/* As the network does it. */
void tp_deliver(struct tp_end *to, const struct srnic_pkt *pkt)
{
	struct srnic_rx rx = {
		.pkt = *pkt,
		.ip4 = &to->peer->ip,
	};

	local_bh_disable();
	rcu_read_lock();
	srnic_tp_receive(&to->tp.port, &rx);
	rcu_read_unlock();
	local_bh_enable();
}

void tp_forge(struct tp_pair *t, struct tp_end *from,
	      const struct srnic_pkt_out *out, const void *payload)
{
	u32 hdr = srnic_opcodes[out->opcode].hdr_len;
	u32 len = hdr + out->len + srnic_pkt_pad(out->len);
	u8 *data = kzalloc(len + SRNIC_PKT_MAX_HDR, GFP_KERNEL);
	struct srnic_pkt_out full = *out;
	struct tp_packet *p;

	KUNIT_ASSERT_NOT_NULL(t->test, data);
	full.pkey = 0xffff;
	full.qpn = out->qpn ?: from->peer->qp.qpn;
	srnic_pkt_build(data, &full);
	if (payload)
		memcpy(data + hdr, payload, out->len);
	p = make_packet(data, len);
	kfree(data);
	KUNIT_ASSERT_NOT_NULL(t->test, p);
	tp_deliver(from->peer, &p->pkt);
	kfree(p);
}

void tp_answer(struct tp_pair *t, struct tp_end *to, u32 psn, u8 syndrome)
{
	struct srnic_pkt_out out = {
		.opcode = IB_OPCODE_RC_ACKNOWLEDGE,
		.psn = psn,
		.syndrome = syndrome,
	};

	tp_forge(t, to->peer, &out, NULL);
}

void tp_pump(struct tp_pair *t)
{
	struct tp_packet *p, *q;

	do {
		p = tp_next(&t->a);
		if (p)
			tp_deliver(&t->b, &p->pkt);
		q = tp_next(&t->b);
		if (q)
			tp_deliver(&t->a, &q->pkt);
		tp_advance(0);
	} while (p || q);
}

void tp_stats(const struct tp_end *e, u64 v[SRNIC_STATS])
{
	int i;

	for (i = 0; i < SRNIC_STATS; i++)
		v[i] = tp_stat(e, i);
}

void tp_expect_refusals(struct tp_pair *t, const struct tp_end *e,
			const u64 before[SRNIC_STATS], enum srnic_key_reason why,
			u32 n, const char *what)
{
	enum srnic_key_reason r;

	for (r = SRNIC_KEY_UNKNOWN; r < SRNIC_KEY_REASONS; r++) {
		enum srnic_stat stat = SRNIC_STAT_KEY_UNKNOWN + r - SRNIC_KEY_UNKNOWN;

		KUNIT_EXPECT_EQ_MSG(t->test, tp_stat(e, stat) - before[stat],
				    r == why ? n : 0, "%s: reason %s", what,
				    srnic_key_reason_name(r));
	}
}

struct ib_wc tp_expect_wc(struct tp_pair *t, struct srnic_cq *cq, u64 id,
			  enum ib_wc_status status)
{
	struct ib_wc wc = {};

	KUNIT_ASSERT_EQ(t->test, srnic_cq_poll(cq, 1, &wc), 1);
	KUNIT_ASSERT_EQ(t->test, wc.status, status);
	KUNIT_ASSERT_EQ(t->test, wc.wr_id, id);
	return wc;
}

void tp_expect_no_wc(struct tp_pair *t, struct srnic_cq *cq)
{
	struct ib_wc wc = {};

	KUNIT_ASSERT_EQ_MSG(t->test, srnic_cq_poll(cq, 1, &wc), 0,
			    "id %llu status %d", wc.wr_id, wc.status);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Packets taken apart and put together. Everything about a packet that can be
 * wrong without knowing a QP is found here, so that the layers above work with
 * lengths and fields that agree with each other.
 */
#include "pkt.h"

#include <linux/bitfield.h>
#include <linux/errno.h>
#include <linux/string.h>

#include "hdr.h"
#include "icrc.h"

static void parse_bth(struct srnic_pkt *pkt, const struct srnic_bth *bth)
{
	u32 qpn = be32_to_cpu(bth->qpn);
	u32 psn = be32_to_cpu(bth->psn);

	pkt->solicited = bth->flags & SRNIC_BTH_SE;
	pkt->pkey = be16_to_cpu(bth->pkey);
	pkt->becn = qpn & SRNIC_BTH_BECN;
	pkt->qpn = FIELD_GET(SRNIC_BTH_QPN, qpn);
	pkt->ackreq = psn & SRNIC_BTH_ACKREQ;
	pkt->psn = FIELD_GET(SRNIC_BTH_PSN, psn);
}

static void parse_deth(struct srnic_pkt *pkt, const struct srnic_deth *deth)
{
	pkt->qkey = be32_to_cpu(deth->qkey);
	pkt->src_qpn = FIELD_GET(SRNIC_BTH_QPN, be32_to_cpu(deth->src_qpn));
}

static void parse_reth(struct srnic_pkt *pkt, const struct srnic_reth *reth)
{
	pkt->va = be64_to_cpu(reth->va);
	pkt->rkey = be32_to_cpu(reth->rkey);
	pkt->dmalen = be32_to_cpu(reth->dmalen);
}

static void parse_atomiceth(struct srnic_pkt *pkt,
			    const struct srnic_atomiceth *eth)
{
	pkt->va = be64_to_cpu(eth->va);
	pkt->rkey = be32_to_cpu(eth->rkey);
	pkt->swap_add = be64_to_cpu(eth->swap_add);
	pkt->compare = be64_to_cpu(eth->compare);
}

static void parse_aeth(struct srnic_pkt *pkt, const struct srnic_aeth *aeth)
{
	u32 v = be32_to_cpu(aeth->syndrome_msn);

	pkt->syndrome = v >> 24;
	pkt->msn = FIELD_GET(SRNIC_AETH_MSN, v);
}

/* The extension headers that the row names are there, in the row's order. */
static void parse_ext(struct srnic_pkt *pkt, const void *p)
{
	u8 has = pkt->op->has;

	if (has & SRNIC_HAS_DETH) {
		parse_deth(pkt, p);
		p += sizeof(struct srnic_deth);
	}
	if (has & SRNIC_HAS_RETH) {
		parse_reth(pkt, p);
		p += sizeof(struct srnic_reth);
	}
	if (has & SRNIC_HAS_ATOMICETH) {
		parse_atomiceth(pkt, p);
		p += sizeof(struct srnic_atomiceth);
	}
	if (has & SRNIC_HAS_AETH) {
		parse_aeth(pkt, p);
		p += sizeof(struct srnic_aeth);
	}
	if (has & SRNIC_HAS_ATOMICACK) {
		pkt->orig = be64_to_cpu(((struct srnic_atomicack *)p)->orig);
		p += sizeof(struct srnic_atomicack);
	}
	if (has & SRNIC_HAS_IMM)
		pkt->imm = ((struct srnic_immdt *)p)->imm;
	if (has & SRNIC_HAS_IETH)
		pkt->inv_rkey = be32_to_cpu(((struct srnic_ieth *)p)->rkey);
}

/*
 * Payload bytes of a packet that has @rest bytes behind its headers, ICRC
 * included; -errno where pad count, payload and ICRC don't fit into that.
 */
static int payload_len(const struct srnic_opcode *op, size_t rest, u32 pad)
{
	rest -= SRNIC_ICRC_SIZE;
	/* IBTA 9.2.5: payload and pad bytes together are whole words */
	if (rest & 3 || rest > INT_MAX)
		return -EINVAL;
	if (!(op->has & SRNIC_HAS_PAYLOAD))
		return rest || pad ? -EINVAL : 0;
	/* pad bytes complete a word that has payload in it */
	if (pad >= rest && pad)
		return -EINVAL;
	return rest - pad;
}

/**
 * srnic_pkt_parse() - take a packet apart
 * @pkt: filled in; fields that the opcode doesn't have are 0. @nseg is 0 and
 *	@seg left alone: where the payload lies is the caller's to add.
 * @hdr: the BTH and what follows it
 * @avail: readable bytes at @hdr; at least SRNIC_PKT_MAX_HDR or @total
 * @total: bytes of the packet from the BTH to the end of the ICRC
 *
 * Checks the packet against itself: headers, payload, pad bytes and ICRC fill
 * it exactly. The ICRC's value is the caller's to check.
 *
 * Return: 0; -EMSGSIZE: too short for its headers; -EPROTONOSUPPORT: another
 * transport header version (IBTA 9.2.6); -EOPNOTSUPP: not an opcode of the
 * table; -EINVAL: pad count or payload contradict the opcode or the length.
 */
int srnic_pkt_parse(struct srnic_pkt *pkt, const void *hdr, size_t avail,
		    size_t total)
{
	const struct srnic_bth *bth = hdr;
	const struct srnic_opcode *op;
	size_t need;
	int len;

	if (avail > total)
		avail = total;
	if (avail < sizeof(*bth))
		return -EMSGSIZE;
	if (bth->flags & SRNIC_BTH_TVER)
		return -EPROTONOSUPPORT;
	op = &srnic_opcodes[bth->opcode];
	if (op->kind == SRNIC_OP_NONE)
		return -EOPNOTSUPP;
	need = op->hdr_len;
	if (avail < need || total < need + SRNIC_ICRC_SIZE)
		return -EMSGSIZE;
	len = payload_len(op, total - need, FIELD_GET(SRNIC_BTH_PAD, bth->flags));
	if (len < 0)
		return len;

	memset(pkt, 0, offsetof(struct srnic_pkt, seg));
	pkt->op = op;
	pkt->opcode = bth->opcode;
	pkt->len = len;
	parse_bth(pkt, bth);
	parse_ext(pkt, bth + 1);
	return 0;
}

static void build_bth(struct srnic_bth *bth, const struct srnic_pkt_out *out)
{
	bth->opcode = out->opcode;
	/* MigReq: no alternate path, so always Migrated (IBTA 17.2.8) */
	bth->flags = (out->solicited ? SRNIC_BTH_SE : 0) | SRNIC_BTH_MIG |
		     FIELD_PREP(SRNIC_BTH_PAD, srnic_pkt_pad(out->len));
	bth->pkey = cpu_to_be16(out->pkey);
	bth->qpn = cpu_to_be32(out->qpn & SRNIC_BTH_QPN);
	bth->psn = cpu_to_be32((out->ackreq ? SRNIC_BTH_ACKREQ : 0) |
			       (out->psn & SRNIC_BTH_PSN));
}

static void *build_deth(struct srnic_deth *deth,
			const struct srnic_pkt_out *out)
{
	deth->qkey = cpu_to_be32(out->qkey);
	deth->src_qpn = cpu_to_be32(out->src_qpn & SRNIC_BTH_QPN);
	return deth + 1;
}

static void *build_reth(struct srnic_reth *reth,
			const struct srnic_pkt_out *out)
{
	reth->va = cpu_to_be64(out->va);
	reth->rkey = cpu_to_be32(out->rkey);
	reth->dmalen = cpu_to_be32(out->dmalen);
	return reth + 1;
}

static void *build_atomiceth(struct srnic_atomiceth *eth,
			     const struct srnic_pkt_out *out)
{
	eth->va = cpu_to_be64(out->va);
	eth->rkey = cpu_to_be32(out->rkey);
	eth->swap_add = cpu_to_be64(out->swap_add);
	eth->compare = cpu_to_be64(out->compare);
	return eth + 1;
}

static void *build_aeth(struct srnic_aeth *aeth,
			const struct srnic_pkt_out *out)
{
	aeth->syndrome_msn = cpu_to_be32((u32)out->syndrome << 24 |
					 (out->msn & SRNIC_AETH_MSN));
	return aeth + 1;
}

/**
 * srnic_pkt_build() - write the headers of a packet
 * @hdr: room for SRNIC_PKT_MAX_HDR bytes
 * @out: what they say; @out->opcode has a row in the table
 *
 * The payload, srnic_pkt_pad() zero bytes and the ICRC are the caller's to add.
 *
 * Return: bytes written, as the opcode table says.
 */
size_t srnic_pkt_build(void *hdr, const struct srnic_pkt_out *out)
{
	const struct srnic_opcode *op = &srnic_opcodes[out->opcode];
	void *p = hdr + sizeof(struct srnic_bth);

	build_bth(hdr, out);
	if (op->has & SRNIC_HAS_DETH)
		p = build_deth(p, out);
	if (op->has & SRNIC_HAS_RETH)
		p = build_reth(p, out);
	if (op->has & SRNIC_HAS_ATOMICETH)
		p = build_atomiceth(p, out);
	if (op->has & SRNIC_HAS_AETH)
		p = build_aeth(p, out);
	if (op->has & SRNIC_HAS_ATOMICACK) {
		((struct srnic_atomicack *)p)->orig = cpu_to_be64(out->orig);
		p += sizeof(struct srnic_atomicack);
	}
	if (op->has & SRNIC_HAS_IMM) {
		((struct srnic_immdt *)p)->imm = out->imm;
		p += sizeof(struct srnic_immdt);
	}
	if (op->has & SRNIC_HAS_IETH) {
		((struct srnic_ieth *)p)->rkey = cpu_to_be32(out->inv_rkey);
		p += sizeof(struct srnic_ieth);
	}
	return p - hdr;
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Transport headers as they stand on the wire (IBTA volume 1, chapter 9), big
 * endian, at any alignment: the IP header in front of them may stand anywhere.
 *
 * Only pkt.c lays these over packet bytes; everyone else works with struct
 * srnic_pkt, in host order. What an AETH's syndrome says is in aeth.h.
 */
#ifndef SRNIC_HDR_H
#define SRNIC_HDR_H

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/types.h>

/**
 * struct srnic_bth - base transport header (IBTA 9.2)
 * @opcode: see opcode.h
 * @flags: SRNIC_BTH_SE, _MIG, the pad count and the header version
 * @pkey: partition key
 * @qpn: FECN, BECN, 6 reserved bits (all of this masked in the ICRC), QPN
 * @psn: acknowledge request, 7 reserved bits, PSN
 */
struct srnic_bth {
	u8 opcode;
	u8 flags;
	__be16 pkey;
	__be32 qpn;
	__be32 psn;
} __packed;

#define SRNIC_BTH_SE		BIT(7)		/* solicited event, 9.2.3 */
#define SRNIC_BTH_MIG		BIT(6)		/* MigReq, 9.2.4 */
#define SRNIC_BTH_PAD		GENMASK(5, 4)	/* 9.2.5 */
#define SRNIC_BTH_TVER		GENMASK(3, 0)	/* 9.2.6: 0 */
#define SRNIC_BTH_FECN		BIT(31)		/* annex A10.3.1 */
#define SRNIC_BTH_BECN		BIT(30)
#define SRNIC_BTH_QPN		GENMASK(23, 0)	/* 9.2.8 */
#define SRNIC_BTH_ACKREQ	BIT(31)		/* 9.2.9 */
#define SRNIC_BTH_PSN		GENMASK(23, 0)	/* 9.2.10 */

/** struct srnic_deth - datagram extended transport header (IBTA 9.3.2) */
struct srnic_deth {
	__be32 qkey;
	__be32 src_qpn;		/* 8 reserved bits, QPN */
} __packed;

/** struct srnic_reth - RDMA extended transport header (IBTA 9.3.3) */
struct srnic_reth {
	__be64 va;
	__be32 rkey;
	__be32 dmalen;
} __packed;

/** struct srnic_atomiceth - atomic extended transport header (IBTA 9.3.4) */
struct srnic_atomiceth {
	__be64 va;
	__be32 rkey;
	__be64 swap_add;
	__be64 compare;
} __packed;

/** struct srnic_aeth - acknowledge extended transport header (IBTA 9.3.5) */
struct srnic_aeth {
	__be32 syndrome_msn;	/* 8 and 24 bits */
} __packed;

/** struct srnic_atomicack - the value before an atomic operation (IBTA 9.5.3) */
struct srnic_atomicack {
	__be64 orig;
} __packed;

/** struct srnic_immdt - immediate data (IBTA 9.3.6), opaque to us */
struct srnic_immdt {
	__be32 imm;
} __packed;

/** struct srnic_ieth - the R_Key to invalidate (IBTA 9.3.7) */
struct srnic_ieth {
	__be32 rkey;
} __packed;

static_assert(sizeof(struct srnic_bth) == 12);
static_assert(sizeof(struct srnic_deth) == 8);
static_assert(sizeof(struct srnic_reth) == 16);
static_assert(sizeof(struct srnic_atomiceth) == 28);
static_assert(sizeof(struct srnic_aeth) == 4);
static_assert(sizeof(struct srnic_atomicack) == 8);
static_assert(sizeof(struct srnic_immdt) == 4);
static_assert(sizeof(struct srnic_ieth) == 4);

#define SRNIC_AETH_MSN		GENMASK(23, 0)

#endif /* SRNIC_HDR_H */

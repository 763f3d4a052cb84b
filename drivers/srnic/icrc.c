// SPDX-License-Identifier: GPL-2.0
/*
 * Invariant CRC.
 *
 * The CRC is linear in time of payload, so it is the one computation per byte
 * besides the copy, and the CPU's carry-less multiply makes it several times
 * faster than tables. Since 6.14 crc32_le() does that by itself. Before, only
 * the crypto layer's "crc32" does: it is taken where its driver is more than a
 * wrapper around crc32_le(), and for pieces long enough to pay for the indirect
 * call and for saving the FPU state.
 */
#include "icrc.h"

#include <linux/compiler.h>
#include <linux/crc32.h>
#include <linux/err.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/kconfig.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/udp.h>
#include <linux/version.h>

#include "hdr.h"

/* CRC32 of 8 bytes of ones from a start of ones: a masked LRH (A17.3.3). */
#define ICRC_LRH	0xdebb20e3u

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0) && \
	IS_REACHABLE(CONFIG_CRYPTO_HASH)

#include <crypto/hash.h>

/* Shorter pieces are faster by table; the accelerated drivers think so too. */
#define SHASH_MIN_LEN	96

/*
 * Set in srnic_icrc_init() and constant until srnic_icrc_exit(). NULL: there is
 * nothing better than crc32_le(). Its state is the plain CRC, which the self
 * test proves before it is used. It has no state of its own that changes, so
 * any number of CPUs share it.
 */
static struct crypto_shash *crc_tfm;

static u32 shash_crc32(struct crypto_shash *tfm, u32 crc, const void *p,
		       size_t len)
{
	SHASH_DESC_ON_STACK(desc, tfm);
	u32 *state = shash_desc_ctx(desc);

	desc->tfm = tfm;
	*state = crc;
	if (unlikely(crypto_shash_update(desc, p, len)))
		return crc32_le(crc, p, len);
	crc = *state;
	/* the state lies in the bytes of an array of another type */
	barrier_data(state);
	return crc;
}

static bool shash_sound(struct crypto_shash *tfm)
{
	u8 buf[4 * SHASH_MIN_LEN];
	size_t i;

	if (crypto_shash_descsize(tfm) != sizeof(u32))
		return false;
	for (i = 0; i < sizeof(buf); i++)
		buf[i] = i * 7 + 3;
	return shash_crc32(tfm, ICRC_LRH, buf + 1, sizeof(buf) - 1) ==
	       crc32_le(ICRC_LRH, buf + 1, sizeof(buf) - 1);
}

/**
 * srnic_icrc_init() - choose how CRCs are computed
 *
 * Return: 0.
 */
int srnic_icrc_init(void)
{
	struct crypto_shash *tfm = crypto_alloc_shash("crc32", 0, 0);

	if (IS_ERR(tfm))
		return 0;
	if (!strcmp(crypto_shash_driver_name(tfm), "crc32-generic") ||
	    !shash_sound(tfm)) {
		crypto_free_shash(tfm);
		return 0;
	}
	crc_tfm = tfm;
	return 0;
}

/** srnic_icrc_exit() - undo srnic_icrc_init(); no packet is in work any more */
void srnic_icrc_exit(void)
{
	crypto_free_shash(crc_tfm);
	crc_tfm = NULL;
}

/**
 * srnic_crc32() - CRC of one more piece
 * @crc: CRC of all before, as srnic_icrc_start() or this function gave it
 * @p: the piece
 * @len: its length
 *
 * Context: process or softirq.
 * Return: the CRC with the piece.
 */
u32 srnic_crc32(u32 crc, const void *p, size_t len)
{
	if (len >= SHASH_MIN_LEN && crc_tfm)
		return shash_crc32(crc_tfm, crc, p, len);
	return crc32_le(crc, p, len);
}

#else

int srnic_icrc_init(void)
{
	return 0;
}

void srnic_icrc_exit(void)
{
}

u32 srnic_crc32(u32 crc, const void *p, size_t len)
{
	return crc32_le(crc, p, len);
}

#endif

/**
 * srnic_icrc_start() - CRC of the headers up to and with the BTH
 * @l3: IPv4 header without options or IPv6 header without extension headers,
 *	as it is or was on the wire
 * @ipv6: which of the two
 * @udp_bth: UDP header and BTH, contiguous
 *
 * Fields that may change on the way count as ones: type of service, TTL and
 * checksum of IPv4; traffic class, flow label and hop limit of IPv6; the UDP
 * checksum; FECN, BECN and the reserved bits beside them in the BTH.
 *
 * Return: the CRC, to go on with by srnic_crc32() over everything behind the
 * BTH, pad bytes included.
 */
u32 srnic_icrc_start(const void *l3, bool ipv6, const void *udp_bth)
{
	struct {
		union {
			struct iphdr v4;
			struct ipv6hdr v6;
		};
	} ip;
	struct {
		struct udphdr udp;
		struct srnic_bth bth;
	} __packed tp;
	u32 crc;

	memcpy(&tp, udp_bth, sizeof(tp));
	tp.udp.check = (__force __sum16)0xffff;
	tp.bth.qpn |= cpu_to_be32(~SRNIC_BTH_QPN);

	if (ipv6) {
		memcpy(&ip.v6, l3, sizeof(ip.v6));
		ip.v6.priority = 0xf;
		memset(ip.v6.flow_lbl, 0xff, sizeof(ip.v6.flow_lbl));
		ip.v6.hop_limit = 0xff;
		crc = crc32_le(ICRC_LRH, (void *)&ip.v6, sizeof(ip.v6));
	} else {
		memcpy(&ip.v4, l3, sizeof(ip.v4));
		ip.v4.tos = 0xff;
		ip.v4.ttl = 0xff;
		ip.v4.check = (__force __sum16)0xffff;
		crc = crc32_le(ICRC_LRH, (void *)&ip.v4, sizeof(ip.v4));
	}
	return crc32_le(crc, (void *)&tp, sizeof(tp));
}

/**
 * srnic_icrc_end() - the four bytes behind the packet
 * @crc: CRC over all of it
 *
 * Return: what stands on the wire. The CRC's bits are sent in its own order,
 * which makes it the only little-endian field of the packet.
 */
__le32 srnic_icrc_end(u32 crc)
{
	return cpu_to_le32(~crc);
}

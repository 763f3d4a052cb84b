/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The invariant CRC of RoCEv2 (IBTA annex 17, section A17.3.3): CRC32 of
 * Ethernet over the packet with everything that may change on the way set to
 * ones, sent least significant byte first.
 */
#ifndef SRNIC_ICRC_H
#define SRNIC_ICRC_H

#include <linux/types.h>

#define SRNIC_ICRC_SIZE	4

int srnic_icrc_init(void);
void srnic_icrc_exit(void);

u32 srnic_crc32(u32 crc, const void *p, size_t len);
u32 srnic_icrc_start(const void *l3, bool ipv6, const void *udp_bth);
__le32 srnic_icrc_end(u32 crc);

#endif /* SRNIC_ICRC_H */

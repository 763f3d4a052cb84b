/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ioctls of /dev/p2pmem_taker, a taker for tests.
 */
#ifndef _P2PMEM_TAKER_H
#define _P2PMEM_TAKER_H

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * struct taker_hold - make a hold
 * @start: user address
 * @length: bytes
 * @writable: for writing
 * @revoke_ms: how long the revoke callback is to take
 * @id: number of the hold; -1 where the answer was NULL
 * @pad: zero
 */
struct taker_hold {
	__u64 start;
	__u64 length;
	__u32 writable;
	__u32 revoke_ms;
	__s32 id;
	__u32 pad;
};

/**
 * struct taker_copy - one 64-bit word of a hold
 * @offset: within the hold
 * @value: read, or to be written
 * @id: the hold
 * @write: or else read
 *
 * EIO after the hold has been revoked.
 */
struct taker_copy {
	__u64 offset;
	__u64 value;
	__s32 id;
	__u32 write;
};

#define TAKER_HOLD	_IOWR(0xBC, 0x80, struct taker_hold)
#define TAKER_PUT	_IO(0xBC, 0x81)		/* id as the argument */
#define TAKER_COPY	_IOWR(0xBC, 0x82, struct taker_copy)
#define TAKER_REVOKES	_IO(0xBC, 0x83)		/* returns calls so far */
#define TAKER_PERSIST	_IOW(0xBC, 0x84, struct taker_copy)

#endif /* _P2PMEM_TAKER_H */

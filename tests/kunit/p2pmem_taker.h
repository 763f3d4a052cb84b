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

#define TAKER_NAME	32
#define TAKER_CLIENTS	4

/**
 * struct taker_find - look for a donor, from which TAKER_ALLOC then takes
 *	memory for the same clients
 * @size: bytes that shall be available
 * @n: number of @clients
 * @pad: zero
 * @clients: PCI addresses
 * @name: the donation's name
 *
 * ENODEV if there is none.
 */
struct taker_find {
	__u64 size;
	__u32 n;
	__u32 pad;
	char clients[TAKER_CLIENTS][TAKER_NAME];
	char name[TAKER_NAME];
};

/**
 * struct taker_account - say what has been copied
 * @in: bytes
 * @out: bytes
 * @times: how often to say it
 * @ns: how long that took
 * @id: the hold
 * @pad: zero
 */
struct taker_account {
	__u64 in;
	__u64 out;
	__u64 times;
	__u64 ns;
	__s32 id;
	__u32 pad;
};

/**
 * struct taker_donation - what p2pmem_donate() is told
 * @offset: first byte within the BAR
 * @size: bytes
 * @bar: number
 * @pad: zero
 * @pdev: PCI address of the function, which is bound to some donor
 */
struct taker_donation {
	__u64 offset;
	__u64 size;
	__u32 bar;
	__u32 pad;
	char pdev[TAKER_NAME];
};

/**
 * struct taker_dma - what dma_map_sgtable() has made of a hold
 * @address: first DMA address
 * @size: bytes of all entries
 * @entries: their number
 * @id: the hold
 */
struct taker_dma {
	__u64 address;
	__u64 size;
	__u32 entries;
	__s32 id;
};

/**
 * enum taker_step - of the recovery from a PCI error
 * @TAKER_NON_FATAL: a transaction was in error
 * @TAKER_FROZEN: the function can't be reached, but will be reset
 * @TAKER_PERM_FAILURE: nor will it be
 * @TAKER_SLOT_RESET: it has been reset
 * @TAKER_RECOVERED: it is over
 */
enum taker_step {
	TAKER_NON_FATAL,
	TAKER_FROZEN,
	TAKER_PERM_FAILURE,
	TAKER_SLOT_RESET,
	TAKER_RECOVERED,
};

/**
 * struct taker_error - tell a driver what the kernel would tell it of a PCI error
 * @step: enum taker_step
 * @pdev: PCI address of the function
 *
 * Returns what the driver answers (pci_ers_result_t); EOPNOTSUPP where it has no such
 * callback.
 */
struct taker_error {
	__u32 step;
	char pdev[TAKER_NAME];
};

#define TAKER_HOLD	_IOWR(0xBC, 0x80, struct taker_hold)
#define TAKER_PUT	_IO(0xBC, 0x81)		/* id as the argument */
#define TAKER_COPY	_IOWR(0xBC, 0x82, struct taker_copy)
#define TAKER_REVOKES	_IO(0xBC, 0x83)		/* returns calls so far */
#define TAKER_PERSIST	_IOW(0xBC, 0x84, struct taker_copy)
/* on whose behalf this file asks from now on: a PCI address, or "-" */
#define TAKER_CLIENT	_IOW(0xBC, 0x90, char[TAKER_NAME])
#define TAKER_FIND	_IOWR(0xBC, 0x91, struct taker_find)
/* start and writable are ignored */
#define TAKER_ALLOC	_IOWR(0xBC, 0x92, struct taker_hold)
/* reads through the scatterlist of the hold */
#define TAKER_SGT	_IOWR(0xBC, 0x93, struct taker_copy)
#define TAKER_ACCOUNT	_IOWR(0xBC, 0x94, struct taker_account)
/* what the kernel does to a PCI function and its driver in suspend, and in resume */
#define TAKER_SUSPEND	_IOW(0xBC, 0x98, char[TAKER_NAME])
#define TAKER_RESUME	_IOW(0xBC, 0x99, char[TAKER_NAME])
/* as the donor of what TAKER_FIND has found would say it */
#define TAKER_HEALTH	_IOW(0xBC, 0x95, char[TAKER_NAME])
/* one for each file, which withdraws it when it is closed */
#define TAKER_DONATE	_IOW(0xBC, 0x96, struct taker_donation)
#define TAKER_WITHDRAW	_IO(0xBC, 0x97)
/* map the hold for DMA by the client of TAKER_CLIENT, until it is revoked or put */
#define TAKER_DMA	_IOWR(0xBC, 0x9a, struct taker_dma)
/* pin the page at an address, as a driver does for as long as its I/O takes */
#define TAKER_PIN	_IOW(0xBC, 0x9b, __u64)
#define TAKER_UNPIN	_IO(0xBC, 0x9c)
#define TAKER_ERROR	_IOW(0xBC, 0x9d, struct taker_error)

#endif /* _P2PMEM_TAKER_H */

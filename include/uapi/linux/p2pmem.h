/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The ioctls of /dev/p2pmemN, see p2pmem(4).
 */
#ifndef _UAPI_LINUX_P2PMEM_H
#define _UAPI_LINUX_P2PMEM_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* struct p2pmem_info.flags */
#define P2PMEM_INFO_PERSISTENT	(1U << 0)

/**
 * struct p2pmem_info - what the device is and how much of it is left
 * @size: bytes in the donation
 * @available: bytes of them that nobody uses right now. One mapping is one
 *	contiguous piece, so a mapping of @available bytes may still fail.
 * @flags: P2PMEM_INFO_*; unknown bits are to be ignored
 * @kind: 0 for a plain BAR, 1 for an NVMe CMB, 2 for an NVMe PMR
 * @reserved: written as zero
 */
struct p2pmem_info {
	__u64 size;
	__u64 available;
	__u32 flags;
	__u32 kind;
	__u64 reserved[5];
};

/*
 * Fills in struct p2pmem_info, whatever it held before.
 *
 * EFAULT: the address is bad
 * ENODEV: the donor has gone
 */
#define P2PMEM_IOC_INFO		_IOR(0xBC, 0x00, struct p2pmem_info)

#endif /* _UAPI_LINUX_P2PMEM_H */

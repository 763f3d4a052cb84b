/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The ioctls of /dev/p2pmemN and of the regions allocated from it, see
 * p2pmem(4).
 *
 * Structures may grow at their ends. The size that a program was built with is
 * in the number of its request, so a kernel knows which fields there are: fields
 * that the program lacks count as zero, fields that the kernel lacks must be
 * zero (E2BIG). Reserved fields and unknown flags must be zero (EINVAL).
 * They are the same for 32 and 64 bits.
 *
 * Every request may give
 * EFAULT: the address is bad
 * E2BIG: there are fields that this kernel doesn't know, and they aren't zero
 * EINVAL: a reserved field or an unknown flag isn't zero, or the structure is
 *	shorter than it ever was
 * EIO: volatile memory is being reset, or was, which has taken the region's content
 * ENODEV: the donor has gone
 * ENOTTY: no such request, or not of this kind of file
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

/* Of the device. Fills in struct p2pmem_info, whatever it held before. */
#define P2PMEM_IOC_INFO		_IOR(0xBC, 0x00, struct p2pmem_info)

/* bytes of a region's name, with the NUL at its end */
#define P2PMEM_NAME_SIZE	32

/* struct p2pmem_alloc.flags, struct p2pmem_export.flags */
#define P2PMEM_FD_CLOEXEC	(1U << 0)

/**
 * struct p2pmem_alloc - memory as a file descriptor of its own
 * @size: bytes, a multiple of the page size
 * @offset: which bytes of the device, a multiple of the page size, where it is
 *	persistent; 0 elsewhere
 * @place: written: first byte within the device
 * @flags: P2PMEM_FD_CLOEXEC
 * @fd: written: the region. It can be read and written if the device's file can.
 * @name: what to call it, for people: printable ASCII, ended by a NUL; may be
 *	empty, need not be unique
 * @reserved: zero
 */
struct p2pmem_alloc {
	__u64 size;
	__u64 offset;
	__u64 place;
	__u32 flags;
	__s32 fd;
	char name[P2PMEM_NAME_SIZE];
	__u64 reserved[4];
};

/*
 * Of the device. The memory is one contiguous piece, zeroed (not so where the
 * device is persistent), and in use until the region's last file descriptor,
 * mapping, dma-buf and memory region have gone.
 *
 * EDQUOT: more than a file or a user may have, see p2pmem(4)
 * EINTR: the process was killed
 * EINVAL: also: 0 or odd sizes, an offset outside or where there is none to
 *	choose, a name without an end or with other characters
 * EMFILE, ENFILE: no more files
 * ENOMEM: no such piece is free, or the kernel has no memory
 * EUSERS: the same page of a persistent device is in use too many times
 */
#define P2PMEM_IOC_ALLOC	_IOWR(0xBC, 0x01, struct p2pmem_alloc)

/**
 * struct p2pmem_export - a region, or part of it, as a dma-buf
 * @offset: first byte within the region, a multiple of the page size
 * @size: bytes, a multiple of the page size; 0: all that follow
 * @flags: P2PMEM_FD_CLOEXEC
 * @fd: written: the dma-buf. It can be read and written if the region can.
 * @reserved: zero
 */
struct p2pmem_export {
	__u64 offset;
	__u64 size;
	__u32 flags;
	__s32 fd;
	__u64 reserved[4];
};

/*
 * Of a region.
 *
 * EINVAL: also: bytes that aren't in the region
 * EMFILE, ENFILE, ENOMEM: no more files, no memory
 */
#define P2PMEM_IOC_EXPORT	_IOWR(0xBC, 0x02, struct p2pmem_export)

/**
 * struct p2pmem_flush - bytes that are to be durable
 * @offset: first byte within the file that it is asked of
 * @size: bytes; 0: all that follow
 * @reserved: zero
 */
struct p2pmem_flush {
	__u64 offset;
	__u64 size;
	__u64 reserved[2];
};

/*
 * Of the device and of a region. When it returns 0, what the calling thread has
 * written there outlives the loss of power, and so does whatever of others had
 * reached the device before.
 *
 * EINVAL: also: bytes that aren't in the file
 * EIO: what was written may have been lost: the device is being reset, or asleep; or
 *	it was, or was out of order in another way, after the file was opened and after
 *	the last time that the file gave this error (fsync() and msync() count)
 * EOPNOTSUPP: the memory isn't persistent: nothing makes it durable
 * Others are the donor's.
 */
#define P2PMEM_IOC_FLUSH	_IOW(0xBC, 0x03, struct p2pmem_flush)

/*
 * struct p2pmem_distance_query.distance: what a transfer has to pass. The same words
 * are the levels of the attribute 'level'.
 */
#define P2PMEM_DISTANCE_FUNCTION	0	/* nothing: the same function */
#define P2PMEM_DISTANCE_SWITCH		1	/* a bridge above both, no root port */
#define P2PMEM_DISTANCE_ROOT		2	/* the host bridge above both */
#define P2PMEM_DISTANCE_ANY		3	/* from one host bridge to another */

/**
 * struct p2pmem_distance_query - how far a PCI function is from the memory
 * @domain: of the function
 * @bus: of the function
 * @device: of the function, below 32
 * @function: of the function, below 8
 * @pad: zero
 * @distance: written: P2PMEM_DISTANCE_*
 * @links: written: how many steps it is from one to the other in the PCI tree, up to
 *	the bridge or the root above both and down again
 * @reserved: zero
 */
struct p2pmem_distance_query {
	__u32 domain;
	__u8 bus;
	__u8 device;
	__u8 function;
	__u8 pad;
	__u32 distance;
	__u32 links;
	__u64 reserved[3];
};

/*
 * Of the device and of a region.
 *
 * EINVAL: also: a number that no function has
 * ENXIO: there is no such function
 */
#define P2PMEM_IOC_DISTANCE	_IOWR(0xBC, 0x04, struct p2pmem_distance_query)

/**
 * struct p2pmem_region_info - what a region is, for who was given one
 * @size: its bytes
 * @place: its first byte within the device
 * @available: bytes of the whole device that nobody uses right now
 * @flags: P2PMEM_INFO_* of the device; unknown bits are to be ignored
 * @device: the N of /dev/p2pmemN
 * @name: as it was allocated
 * @reserved: written as zero
 */
struct p2pmem_region_info {
	__u64 size;
	__u64 place;
	__u64 available;
	__u32 flags;
	__u32 device;
	char name[P2PMEM_NAME_SIZE];
	__u64 reserved[4];
};

/* Of a region. Fills in struct p2pmem_region_info. */
#define P2PMEM_IOC_REGION_INFO	_IOR(0xBC, 0x05, struct p2pmem_region_info)

#endif /* _UAPI_LINUX_P2PMEM_H */

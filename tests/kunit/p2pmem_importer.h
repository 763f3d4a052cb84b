/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ioctls of /dev/p2pmem_importer, an importer of dma-bufs for tests.
 */
#ifndef _P2PMEM_IMPORTER_H
#define _P2PMEM_IMPORTER_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* struct importer_attach.flags */
#define IMPORTER_STATIC	1	/* can't be told that the memory goes */
#define IMPORTER_NO_P2P	2	/* takes no memory of other devices */
#define IMPORTER_DEAF	4	/* is told, and keeps its mapping */
#define IMPORTER_LOW	8	/* the device has 31 address lines */

/**
 * struct importer_attach - attach to a dma-buf
 * @fd: the dma-buf
 * @domain: of the PCI function that imports it
 * @bus: of the function
 * @devfn: of the function
 * @flags: IMPORTER_*
 */
struct importer_attach {
	__s32 fd;
	__u32 domain;
	__u32 bus;
	__u32 devfn;
	__u32 flags;
};

/**
 * struct importer_map - what the DMA mapping is
 * @address: first DMA address
 * @size: bytes of all entries
 * @entries: number of entries
 * @pages: number of entries with a page
 */
struct importer_map {
	__u64 address;
	__u64 size;
	__u32 entries;
	__u32 pages;
};

/* One attachment for each open file; closing it undoes all. */
#define IMPORTER_ATTACH		_IOW(0xBC, 0x90, struct importer_attach)
#define IMPORTER_PIN		_IO(0xBC, 0x91)
#define IMPORTER_UNPIN		_IO(0xBC, 0x92)
#define IMPORTER_MAP		_IOR(0xBC, 0x93, struct importer_map)
#define IMPORTER_UNMAP		_IO(0xBC, 0x94)
#define IMPORTER_WORD		_IOR(0xBC, 0x95, __u64)	/* with the CPU */
#define IMPORTER_NOTIFIED	_IO(0xBC, 0x96)		/* returns how often */
#define IMPORTER_CPU_ACCESS	_IO(0xBC, 0x97)		/* begin and end */
/* DMA under way: a fence on the buffer, and its end */
#define IMPORTER_FENCE		_IO(0xBC, 0x98)
#define IMPORTER_SIGNAL		_IO(0xBC, 0x99)
#define IMPORTER_VMAP		_IO(0xBC, 0x9a)		/* and undoes it */

#endif /* _P2PMEM_IMPORTER_H */

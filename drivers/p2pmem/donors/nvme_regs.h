/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The properties of an NVMe controller that tell of its memory, and what their
 * values mean: NVMe Base Specification 2.0, 3.1.3 (1.4: 3.1). Pure functions
 * over values, for which a device's word is not enough: BARs are as long as
 * the PCI layer says.
 */
#ifndef _P2PMEM_NVME_REGS_H
#define _P2PMEM_NVME_REGS_H

#include <linux/bits.h>
#include <linux/pci_regs.h>
#include <linux/types.h>

/* offsets in BAR 0, in bytes */
#define NVME_CAP		0x0000	/* 64 bits */
#define NVME_VS			0x0008
#define NVME_CMBLOC		0x0038
#define NVME_CMBSZ		0x003c
#define NVME_CMBMSC		0x0050	/* 64 bits */
#define NVME_CMBSTS		0x0058
#define NVME_PMRCAP		0x0e00
#define NVME_PMRCTL		0x0e04
#define NVME_PMRSTS		0x0e08
#define NVME_PMREBS		0x0e0c
#define NVME_PMRSWTP		0x0e10
#define NVME_REGS_SIZE		0x1000	/* then come the doorbells */
#define NVME_MEMORY_MIN		0x2000	/* no memory of BAR 0 is below this */

#define NVME_CAP_PMRS		BIT_ULL(56)
#define NVME_CAP_CMBS		BIT_ULL(57)
#define NVME_VS_1_2		0x00010200

#define NVME_CMBLOC_BIR		GENMASK(2, 0)
#define NVME_CMBLOC_OFST	GENMASK(31, 12)
#define NVME_CMBSZ_SQS		BIT(0)
#define NVME_CMBSZ_CQS		BIT(1)
#define NVME_CMBSZ_LISTS	BIT(2)
#define NVME_CMBSZ_RDS		BIT(3)
#define NVME_CMBSZ_WDS		BIT(4)
#define NVME_CMBSZ_SZU		GENMASK(11, 8)
#define NVME_CMBSZ_SZ		GENMASK(31, 12)
#define NVME_CMBMSC_CRE		BIT_ULL(0)
#define NVME_CMBMSC_CMSE	BIT_ULL(1)
#define NVME_CMBMSC_CBA		GENMASK_ULL(63, 12)
#define NVME_CMBSTS_CBAI	BIT(0)

#define NVME_PMRCAP_RDS		BIT(3)
#define NVME_PMRCAP_WDS		BIT(4)
#define NVME_PMRCAP_BIR		GENMASK(7, 5)
#define NVME_PMRCAP_PMRTU	GENMASK(9, 8)
#define NVME_PMRCAP_PMRWBM	GENMASK(13, 10)
#define NVME_PMRCAP_PMRTO	GENMASK(23, 16)
#define NVME_PMRCAP_CMSS	BIT(24)
#define NVME_PMRWBM_READ_PMR	BIT(0)
#define NVME_PMRWBM_READ_STS	BIT(1)
#define NVME_PMRCTL_EN		BIT(0)
#define NVME_PMRSTS_ERR		GENMASK(7, 0)
#define NVME_PMRSTS_NRDY	BIT(8)
#define NVME_PMRSTS_HSTS	GENMASK(11, 9)
#define NVME_PMRSTS_CBAI	BIT(12)
#define NVME_PMREBS_PMRSZU	GENMASK(3, 0)
#define NVME_PMREBS_RBB		BIT(4)
#define NVME_PMREBS_PMRWBZ	GENMASK(31, 8)
#define NVME_PMRSWTP_PMRSWTU	GENMASK(3, 0)
#define NVME_PMRSWTP_PMRSWTV	GENMASK(31, 8)

/**
 * struct p2pmem_nvme_bars - how long the BARs are
 * @len: bytes; 0 where there is no memory BAR of that number, hence also for
 *	the upper half of a 64-bit one
 */
struct p2pmem_nvme_bars {
	u64 len[PCI_STD_NUM_BARS];
};

/**
 * enum p2pmem_nvme_reason - why registers describe no memory that can serve
 * @P2PMEM_NVME_FINE: they do describe some
 * @P2PMEM_NVME_NO_SIZE: the size is zero
 * @P2PMEM_NVME_BAD_BIR: a BAR number that the specification doesn't have
 * @P2PMEM_NVME_NO_BAR: a BAR that this function doesn't have
 * @P2PMEM_NVME_BAD_UNIT: a unit of size that the specification doesn't have
 * @P2PMEM_NVME_BAD_TIME: a unit of time that the specification doesn't have
 * @P2PMEM_NVME_NO_DATA: for queues or lists, not for data
 * @P2PMEM_NVME_OUTSIDE: begins behind the end of its BAR
 * @P2PMEM_NVME_REGISTERS: would cover the controller's own registers
 * @P2PMEM_NVME_NO_BARRIER: no way to make writes durable
 * @P2PMEM_NVME_SAME_BAR: CMB and PMR claim the same memory
 */
enum p2pmem_nvme_reason {
	P2PMEM_NVME_FINE,
	P2PMEM_NVME_NO_SIZE,
	P2PMEM_NVME_BAD_BIR,
	P2PMEM_NVME_NO_BAR,
	P2PMEM_NVME_BAD_UNIT,
	P2PMEM_NVME_BAD_TIME,
	P2PMEM_NVME_NO_DATA,
	P2PMEM_NVME_OUTSIDE,
	P2PMEM_NVME_REGISTERS,
	P2PMEM_NVME_NO_BARRIER,
	P2PMEM_NVME_SAME_BAR,
};

/**
 * struct p2pmem_nvme_cmb - a Controller Memory Buffer
 * @bar: its BAR
 * @offset: first byte within the BAR
 * @claimed: bytes, as the registers say
 * @size: bytes, as the BAR has; not more than @claimed
 * @rds: may receive a command's data
 * @wds: may be the source of a command's data
 */
struct p2pmem_nvme_cmb {
	int bar;
	u64 offset;
	u64 claimed;
	u64 size;
	bool rds;
	bool wds;
};

/**
 * struct p2pmem_nvme_pmr - a Persistent Memory Region
 * @bar: its BAR, of which it takes all
 * @size: bytes
 * @timeout_ms: how long it may take after PMRCTL.EN has been changed
 * @read_pmr: a read of the PMR makes earlier writes durable
 * @read_sts: a read of PMRSTS does. At least one of the two is true.
 */
struct p2pmem_nvme_pmr {
	int bar;
	u64 size;
	u32 timeout_ms;
	bool read_pmr;
	bool read_sts;
};

/**
 * enum p2pmem_nvme_health - what PMRSTS says of an enabled PMR, worst last
 * @P2PMEM_NVME_OK: operates normally
 * @P2PMEM_NVME_RESTORE_ERROR: operates normally; what it contained before the
 *	last power cycle may be lost
 * @P2PMEM_NVME_WRITE_ERROR: earlier writes may be lost
 * @P2PMEM_NVME_READ_ONLY: writes have no effect
 * @P2PMEM_NVME_UNRELIABLE: reads may be wrong, writes may have no effect
 * @P2PMEM_NVME_UNKNOWN: a state that the specification doesn't have
 * @P2PMEM_NVME_NOT_READY: can't be read or written (now)
 * @P2PMEM_NVME_GONE: the device doesn't answer
 */
enum p2pmem_nvme_health {
	P2PMEM_NVME_OK,
	P2PMEM_NVME_RESTORE_ERROR,
	P2PMEM_NVME_WRITE_ERROR,
	P2PMEM_NVME_READ_ONLY,
	P2PMEM_NVME_UNRELIABLE,
	P2PMEM_NVME_UNKNOWN,
	P2PMEM_NVME_NOT_READY,
	P2PMEM_NVME_GONE,
};

/** p2pmem_nvme_durable() - is what has been written, and a barrier after it, kept? */
static inline bool p2pmem_nvme_durable(enum p2pmem_nvme_health health)
{
	return health <= P2PMEM_NVME_RESTORE_ERROR;
}

enum p2pmem_nvme_reason
p2pmem_nvme_cmb_decode(u32 cmbloc, u32 cmbsz, const struct p2pmem_nvme_bars *bars,
		       struct p2pmem_nvme_cmb *cmb);
enum p2pmem_nvme_reason
p2pmem_nvme_pmr_decode(u32 pmrcap, const struct p2pmem_nvme_bars *bars,
		       struct p2pmem_nvme_pmr *pmr);
enum p2pmem_nvme_health p2pmem_nvme_health_decode(u32 pmrsts);
bool p2pmem_nvme_quantity(u32 value, u32 unit, u64 *quantity);
u64 p2pmem_nvme_cmb_unit(u32 cmbsz);
const char *p2pmem_nvme_why(enum p2pmem_nvme_reason reason);
const char *p2pmem_nvme_health_name(enum p2pmem_nvme_health health);

#endif /* _P2PMEM_NVME_REGS_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * What the values of an NVMe controller's registers mean, see nvme_regs.h.
 * No device, no kernel state: KUnit goes through tables of values.
 */
#include <linux/bitfield.h>
#include <linux/minmax.h>

#include "nvme_regs.h"

#define SZU_MAX		6	/* 4 KiB, 64 KiB, ... 64 GiB */
#define TIME_UNIT_MAX	1	/* 500 ms, a minute */
#define QUANTITY_MAX	3	/* bytes, KiB, MiB, GiB */

/* Numbers 0 and 2 to 5 are all there are (1 is the upper half of BAR 0). */
static enum p2pmem_nvme_reason check_bar(int bar, int lowest,
					 const struct p2pmem_nvme_bars *bars)
{
	if (bar < lowest || bar == 1 || bar >= PCI_STD_NUM_BARS)
		return P2PMEM_NVME_BAD_BIR;
	return bars->len[bar] ? P2PMEM_NVME_FINE : P2PMEM_NVME_NO_BAR;
}

/** p2pmem_nvme_cmb_unit() - CMBSZ.SZU in bytes, 0 for a reserved value */
u64 p2pmem_nvme_cmb_unit(u32 cmbsz)
{
	u32 szu = FIELD_GET(NVME_CMBSZ_SZU, cmbsz);

	return szu > SZU_MAX ? 0 : 1ULL << (12 + 4 * szu);
}

/**
 * p2pmem_nvme_cmb_decode() - where is the Controller Memory Buffer?
 * @cmbloc: CMBLOC
 * @cmbsz: CMBSZ
 * @bars: the function's BARs
 * @cmb: filled in if the answer is P2PMEM_NVME_FINE
 *
 * A buffer that is longer than what follows its offset in the BAR is as long
 * as that: CMBSZ.SZ.
 *
 * Return: P2PMEM_NVME_FINE, or why not.
 */
enum p2pmem_nvme_reason
p2pmem_nvme_cmb_decode(u32 cmbloc, u32 cmbsz, const struct p2pmem_nvme_bars *bars,
		       struct p2pmem_nvme_cmb *cmb)
{
	int bar = FIELD_GET(NVME_CMBLOC_BIR, cmbloc);
	u64 unit = p2pmem_nvme_cmb_unit(cmbsz);
	enum p2pmem_nvme_reason reason;
	u64 offset, claimed;

	if (!FIELD_GET(NVME_CMBSZ_SZ, cmbsz))
		return P2PMEM_NVME_NO_SIZE;
	if (!unit)
		return P2PMEM_NVME_BAD_UNIT;
	reason = check_bar(bar, 0, bars);
	if (reason)
		return reason;

	/* 20 bits times 2^36 at most: neither they nor their sum can wrap */
	offset = FIELD_GET(NVME_CMBLOC_OFST, cmbloc) * unit;
	claimed = FIELD_GET(NVME_CMBSZ_SZ, cmbsz) * unit;
	if (offset >= bars->len[bar])
		return P2PMEM_NVME_OUTSIDE;
	if (!bar && offset < NVME_MEMORY_MIN)
		return P2PMEM_NVME_REGISTERS;
	if (!(cmbsz & (NVME_CMBSZ_RDS | NVME_CMBSZ_WDS)))
		return P2PMEM_NVME_NO_DATA;

	*cmb = (struct p2pmem_nvme_cmb) {
		.bar = bar,
		.offset = offset,
		.claimed = claimed,
		.size = min(claimed, bars->len[bar] - offset),
		.rds = cmbsz & NVME_CMBSZ_RDS,
		.wds = cmbsz & NVME_CMBSZ_WDS,
	};
	return P2PMEM_NVME_FINE;
}

/**
 * p2pmem_nvme_pmr_decode() - where is the Persistent Memory Region?
 * @pmrcap: PMRCAP
 * @bars: the function's BARs
 * @pmr: filled in if the answer is P2PMEM_NVME_FINE
 *
 * Return: P2PMEM_NVME_FINE, or why not.
 */
enum p2pmem_nvme_reason
p2pmem_nvme_pmr_decode(u32 pmrcap, const struct p2pmem_nvme_bars *bars,
		       struct p2pmem_nvme_pmr *pmr)
{
	u32 time_unit = FIELD_GET(NVME_PMRCAP_PMRTU, pmrcap);
	u32 barrier = FIELD_GET(NVME_PMRCAP_PMRWBM, pmrcap);
	int bar = FIELD_GET(NVME_PMRCAP_BIR, pmrcap);
	enum p2pmem_nvme_reason reason = check_bar(bar, 2, bars);

	if (reason)
		return reason;
	if (time_unit > TIME_UNIT_MAX)
		return P2PMEM_NVME_BAD_TIME;
	if (!(barrier & (NVME_PMRWBM_READ_PMR | NVME_PMRWBM_READ_STS)))
		return P2PMEM_NVME_NO_BARRIER;

	*pmr = (struct p2pmem_nvme_pmr) {
		.bar = bar,
		.size = bars->len[bar],
		.timeout_ms = FIELD_GET(NVME_PMRCAP_PMRTO, pmrcap) *
			      (time_unit ? 60000 : 500),
		.read_pmr = barrier & NVME_PMRWBM_READ_PMR,
		.read_sts = barrier & NVME_PMRWBM_READ_STS,
	};
	return P2PMEM_NVME_FINE;
}

/**
 * p2pmem_nvme_health_decode() - how is the Persistent Memory Region?
 * @pmrsts: PMRSTS, while PMRCTL.EN is set
 *
 * Return: the worst of what is true.
 */
enum p2pmem_nvme_health p2pmem_nvme_health_decode(u32 pmrsts)
{
	/* what PCI reads where nobody answers */
	if (pmrsts == U32_MAX)
		return P2PMEM_NVME_GONE;
	if (pmrsts & NVME_PMRSTS_NRDY)
		return P2PMEM_NVME_NOT_READY;

	switch (FIELD_GET(NVME_PMRSTS_HSTS, pmrsts)) {
	case 0:
	case 1:
		break;
	case 2:
		return P2PMEM_NVME_READ_ONLY;
	case 3:
		return P2PMEM_NVME_UNRELIABLE;
	default:
		return P2PMEM_NVME_UNKNOWN;
	}

	if (pmrsts & NVME_PMRSTS_ERR)
		return P2PMEM_NVME_WRITE_ERROR;
	return FIELD_GET(NVME_PMRSTS_HSTS, pmrsts) ? P2PMEM_NVME_RESTORE_ERROR :
						     P2PMEM_NVME_OK;
}

/**
 * p2pmem_nvme_quantity() - bytes, or bytes a second, of PMREBS and PMRSWTP
 * @value: the value, 24 bits
 * @unit: its unit, 4 bits
 * @quantity: where the result is stored
 *
 * Return: true, false when the unit is a reserved one.
 */
bool p2pmem_nvme_quantity(u32 value, u32 unit, u64 *quantity)
{
	if (unit > QUANTITY_MAX)
		return false;
	*quantity = (u64)value << (10 * unit);
	return true;
}

/** p2pmem_nvme_why() - the reason in words, to follow 'refused: ' */
const char *p2pmem_nvme_why(enum p2pmem_nvme_reason reason)
{
	switch (reason) {
	case P2PMEM_NVME_FINE:
		return "nothing is wrong with it";
	case P2PMEM_NVME_NO_SIZE:
		return "its size is 0";
	case P2PMEM_NVME_BAD_BIR:
		return "it names a BAR number that the NVMe specification reserves";
	case P2PMEM_NVME_NO_BAR:
		return "it names a BAR that this function does not have";
	case P2PMEM_NVME_BAD_UNIT:
		return "its unit of size is a reserved one";
	case P2PMEM_NVME_BAD_TIME:
		return "its unit of time is a reserved one";
	case P2PMEM_NVME_NO_DATA:
		return "it is for queues or lists only, not for data (neither RDS nor WDS)";
	case P2PMEM_NVME_OUTSIDE:
		return "it begins behind the end of its BAR";
	case P2PMEM_NVME_REGISTERS:
		return "it would cover the controller's registers";
	case P2PMEM_NVME_NO_BARRIER:
		return "it has no write barrier (PMRWBM), so nothing can be made durable";
	case P2PMEM_NVME_SAME_BAR:
		return "Controller Memory Buffer and Persistent Memory Region claim the same BAR";
	}
	return "unknown";
}

/** p2pmem_nvme_health_name() - one word, as uevents and messages have it */
const char *p2pmem_nvme_health_name(enum p2pmem_nvme_health health)
{
	switch (health) {
	case P2PMEM_NVME_OK:
		return "ok";
	case P2PMEM_NVME_RESTORE_ERROR:
		return "restore-error";
	case P2PMEM_NVME_WRITE_ERROR:
		return "write-error";
	case P2PMEM_NVME_READ_ONLY:
		return "read-only";
	case P2PMEM_NVME_UNRELIABLE:
		return "unreliable";
	case P2PMEM_NVME_UNKNOWN:
		return "unknown";
	case P2PMEM_NVME_NOT_READY:
		return "not-ready";
	case P2PMEM_NVME_GONE:
		return "gone";
	}
	return "unknown";
}

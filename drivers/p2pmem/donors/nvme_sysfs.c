// SPDX-License-Identifier: GPL-2.0
/*
 * The registers of a bound controller, read anew each time:
 * /sys/bus/pci/devices/BDF/{cap,vs,cmbloc,...}. The first line is the value in
 * hexadecimal, as 'nvme show-regs' prints it; the fields follow, one a line, by
 * the names that the NVMe specification gives them.
 */
#include <linux/bitfield.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/sysfs.h>

#include "nvme_donor.h"

static u32 reg(struct device *dev, u32 offset)
{
	struct p2pmem_nvme *n = dev_get_drvdata(dev);

	return readl(n->regs + offset);
}

static int one(u64 value)
{
	return !!value;
}

static ssize_t cap_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct p2pmem_nvme *n = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%#llx\nPMRS %d\nCMBS %d\n", n->cap,
			  one(n->cap & NVME_CAP_PMRS), one(n->cap & NVME_CAP_CMBS));
}
static DEVICE_ATTR_RO(cap);

static ssize_t vs_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct p2pmem_nvme *n = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%#x\nMJR %u\nMNR %u\nTER %u\n", n->vs,
			  n->vs >> 16, n->vs >> 8 & 0xff, n->vs & 0xff);
}
static DEVICE_ATTR_RO(vs);

static ssize_t cmbloc_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	u32 v = reg(dev, NVME_CMBLOC);

	return sysfs_emit(buf, "%#x\nBIR %u\nOFST %llu (%u units, in bytes)\n", v,
			  (u32)FIELD_GET(NVME_CMBLOC_BIR, v),
			  FIELD_GET(NVME_CMBLOC_OFST, v) *
			  p2pmem_nvme_cmb_unit(reg(dev, NVME_CMBSZ)),
			  (u32)FIELD_GET(NVME_CMBLOC_OFST, v));
}
static DEVICE_ATTR_RO(cmbloc);

static ssize_t cmbsz_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	u32 v = reg(dev, NVME_CMBSZ);
	u64 unit = p2pmem_nvme_cmb_unit(v);

	return sysfs_emit(buf,
			  "%#x\nSQS %d\nCQS %d\nLISTS %d\nRDS %d\nWDS %d\nSZU %u (%llu bytes)\nSZ %llu (%u units, in bytes)\n",
			  v, one(v & NVME_CMBSZ_SQS), one(v & NVME_CMBSZ_CQS),
			  one(v & NVME_CMBSZ_LISTS), one(v & NVME_CMBSZ_RDS),
			  one(v & NVME_CMBSZ_WDS), (u32)FIELD_GET(NVME_CMBSZ_SZU, v), unit,
			  FIELD_GET(NVME_CMBSZ_SZ, v) * unit,
			  (u32)FIELD_GET(NVME_CMBSZ_SZ, v));
}
static DEVICE_ATTR_RO(cmbsz);

static ssize_t cmbmsc_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct p2pmem_nvme *n = dev_get_drvdata(dev);
	u64 v = lo_hi_readq(n->regs + NVME_CMBMSC);

	return sysfs_emit(buf, "%#llx\nCRE %d\nCMSE %d\nCBA %#llx\n", v,
			  one(v & NVME_CMBMSC_CRE), one(v & NVME_CMBMSC_CMSE),
			  v & NVME_CMBMSC_CBA);
}
static DEVICE_ATTR_RO(cmbmsc);

static ssize_t cmbsts_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	u32 v = reg(dev, NVME_CMBSTS);

	return sysfs_emit(buf, "%#x\nCBAI %d\n", v, one(v & NVME_CMBSTS_CBAI));
}
static DEVICE_ATTR_RO(cmbsts);

static ssize_t pmrcap_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct p2pmem_nvme *n = dev_get_drvdata(dev);
	u32 v = reg(dev, NVME_PMRCAP);

	return sysfs_emit(buf,
			  "%#x\nRDS %d\nWDS %d\nBIR %u\nPMRTU %u\nPMRWBM %#x (a read of %s)\nPMRTO %u (%u ms)\nCMSS %d\n",
			  v, one(v & NVME_PMRCAP_RDS), one(v & NVME_PMRCAP_WDS),
			  (u32)FIELD_GET(NVME_PMRCAP_BIR, v),
			  (u32)FIELD_GET(NVME_PMRCAP_PMRTU, v),
			  (u32)FIELD_GET(NVME_PMRCAP_PMRWBM, v),
			  n->pmr.read_sts ? "PMRSTS" : "the PMR",
			  (u32)FIELD_GET(NVME_PMRCAP_PMRTO, v), n->pmr.timeout_ms,
			  one(v & NVME_PMRCAP_CMSS));
}
static DEVICE_ATTR_RO(pmrcap);

static ssize_t pmrctl_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	u32 v = reg(dev, NVME_PMRCTL);

	return sysfs_emit(buf, "%#x\nEN %d\n", v, one(v & NVME_PMRCTL_EN));
}
static DEVICE_ATTR_RO(pmrctl);

static ssize_t pmrsts_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	u32 v = reg(dev, NVME_PMRSTS);

	return sysfs_emit(buf, "%#x\nERR %u\nNRDY %d\nHSTS %u\nCBAI %d\nhealth %s\n", v,
			  (u32)FIELD_GET(NVME_PMRSTS_ERR, v), one(v & NVME_PMRSTS_NRDY),
			  (u32)FIELD_GET(NVME_PMRSTS_HSTS, v), one(v & NVME_PMRSTS_CBAI),
			  p2pmem_nvme_health_name(p2pmem_nvme_health_decode(v)));
}
static DEVICE_ATTR_RO(pmrsts);

/* with the unit where it is one of the specification's */
static ssize_t emit_quantity(char *buf, int at, const char *name, u32 value, u32 unit,
			     const char *of)
{
	u64 n;

	if (!p2pmem_nvme_quantity(value, unit, &n))
		return at + sysfs_emit_at(buf, at, "%s %u (unit %u is reserved)\n",
					  name, value, unit);
	return at + sysfs_emit_at(buf, at, "%s %llu (%s)\n", name, n, of);
}

static ssize_t pmrebs_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	u32 v = reg(dev, NVME_PMREBS);
	int at = sysfs_emit(buf, "%#x\nRBB %d\n", v, one(v & NVME_PMREBS_RBB));

	return emit_quantity(buf, at, "PMRWBZ", FIELD_GET(NVME_PMREBS_PMRWBZ, v),
			     FIELD_GET(NVME_PMREBS_PMRSZU, v), "bytes");
}
static DEVICE_ATTR_RO(pmrebs);

static ssize_t pmrswtp_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	u32 v = reg(dev, NVME_PMRSWTP);
	int at = sysfs_emit(buf, "%#x\n", v);

	return emit_quantity(buf, at, "PMRSWTV", FIELD_GET(NVME_PMRSWTP_PMRSWTV, v),
			     FIELD_GET(NVME_PMRSWTP_PMRSWTU, v), "bytes/s");
}
static DEVICE_ATTR_RO(pmrswtp);

static struct attribute *controller_attrs[] = {
	&dev_attr_cap.attr,
	&dev_attr_vs.attr,
	NULL,
};

static const struct attribute_group controller_group = {
	.attrs = controller_attrs,
};

static struct attribute *cmb_attrs[] = {
	&dev_attr_cmbloc.attr,
	&dev_attr_cmbsz.attr,
	&dev_attr_cmbmsc.attr,
	&dev_attr_cmbsts.attr,
	NULL,
};

static umode_t cmb_visible(struct kobject *kobj, struct attribute *attr, int i)
{
	struct p2pmem_nvme *n = dev_get_drvdata(kobj_to_dev(kobj));

	return n->cmb_donation ? attr->mode : 0;
}

static const struct attribute_group cmb_group = {
	.attrs = cmb_attrs,
	.is_visible = cmb_visible,
};

static struct attribute *pmr_attrs[] = {
	&dev_attr_pmrcap.attr,
	&dev_attr_pmrctl.attr,
	&dev_attr_pmrsts.attr,
	&dev_attr_pmrebs.attr,
	&dev_attr_pmrswtp.attr,
	NULL,
};

static umode_t pmr_visible(struct kobject *kobj, struct attribute *attr, int i)
{
	struct p2pmem_nvme *n = dev_get_drvdata(kobj_to_dev(kobj));

	return n->pmr_donation ? attr->mode : 0;
}

static const struct attribute_group pmr_group = {
	.attrs = pmr_attrs,
	.is_visible = pmr_visible,
};

const struct attribute_group *p2pmem_nvme_groups[] = {
	&controller_group,
	&cmb_group,
	&pmr_group,
	NULL,
};

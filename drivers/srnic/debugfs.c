// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/srnic/DEV: the key table and its ledger of refusals, one
 * line for each key and each refusal. For people and tests; the format is in
 * srnic(7). Only root reads debugfs: keys are secrets.
 */
#include "debugfs.h"

#include <linux/debugfs.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/seq_file.h>
#include <linux/timekeeping.h>

#include "device.h"
#include "ledger.h"

static struct dentry *top;

static void show_refusal(struct seq_file *m, const struct srnic_refusal *r)
{
	u32 ns;
	u64 s = div_u64_rem(r->when, NSEC_PER_SEC, &ns);

	seq_printf(m, "%llu.%06u %s %s 0x%08x qpn 0x%06x peer %pI6c psn 0x%06x opcode 0x%02x addr 0x%llx len %llu\n",
		   s, ns / 1000, srnic_key_reason_name(r->why),
		   r->rq.access & SRNIC_REMOTE_RIGHTS ? "rkey" : "lkey", r->rq.key,
		   r->qpn, r->peer.raw, r->psn, r->opcode, r->rq.addr,
		   r->rq.len);
}

static int refusals_show(struct seq_file *m, void *unused)
{
	struct srnic_dev *dev = m->private;
	struct srnic_refusal *lines;
	u32 i, n;

	lines = kvmalloc_array(SRNIC_LEDGER_SIZE, sizeof(*lines), GFP_KERNEL);
	if (!lines)
		return -ENOMEM;
	n = srnic_ledger_copy(dev->tp.ledger, lines);
	for (i = 0; i < n; i++)
		show_refusal(m, &lines[i]);
	kvfree(lines);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(refusals);

/* Positions are slots; a million of them, most of which may be free. */
static void *mpt_at(struct seq_file *m, loff_t *pos)
{
	struct srnic_dev *dev = m->private;

	if (*pos >= srnic_mpt_slots(dev->tp.mpt))
		return NULL;
	return pos;
}

static void *mpt_start(struct seq_file *m, loff_t *pos)
{
	return mpt_at(m, pos);
}

static void *mpt_next(struct seq_file *m, void *v, loff_t *pos)
{
	struct srnic_dev *dev = m->private;

	*pos = srnic_mpt_next_used(dev->tp.mpt, *pos + 1);
	return mpt_at(m, pos);
}

static void mpt_stop(struct seq_file *m, void *v)
{
}

static int mpt_show(struct seq_file *m, void *v)
{
	static const char * const kinds[] = {
		[SRNIC_MPT_MR] = "mr",
		[SRNIC_MPT_DMA] = "dma",
		[SRNIC_MPT_FRMR] = "frmr",
		[SRNIC_MPT_MW1] = "mw1",
		[SRNIC_MPT_MW2] = "mw2",
	};
	static const char * const states[] = {
		[SRNIC_MPT_FREE] = "free",
		[SRNIC_MPT_RESERVED] = "reserved",
		[SRNIC_MPT_VALID] = "valid",
		[SRNIC_MPT_INVALID] = "invalid",
		[SRNIC_MPT_REVOKED] = "revoked",
		[SRNIC_MPT_CHANGING] = "changing",
	};
	struct srnic_dev *dev = m->private;
	struct srnic_mpt_view e;

	if (!srnic_mpt_view(dev->tp.mpt, *(loff_t *)v, &e))
		return SEQ_SKIP;
	seq_printf(m, "0x%08x %s pd %u access 0x%x iova 0x%llx length %llu runs %u state %s generation %u age %u in-flight %u\n",
		   e.key, kinds[e.kind], e.pdn, e.access, e.iova, e.length,
		   e.runs, states[e.state], e.gen, e.age, e.users);
	return 0;
}

static const struct seq_operations mpt_sops = {
	.start = mpt_start,
	.next = mpt_next,
	.stop = mpt_stop,
	.show = mpt_show,
};
DEFINE_SEQ_ATTRIBUTE(mpt);

/**
 * srnic_debugfs_add() - the files of a device
 * @dev: its key table and ledger are there
 * @name: of the directory; it stays when the device is renamed
 *
 * Failure is none: the device works without.
 */
void srnic_debugfs_add(struct srnic_dev *dev, const char *name)
{
	dev->debugfs = debugfs_create_dir(name, top);
	debugfs_create_file("refusals", 0400, dev->debugfs, dev, &refusals_fops);
	debugfs_create_file("mpt", 0400, dev->debugfs, dev, &mpt_fops);
}

/**
 * srnic_debugfs_del() - the device goes
 * @dev: with or without files
 *
 * Context: process. Waits for those who read.
 */
void srnic_debugfs_del(struct srnic_dev *dev)
{
	debugfs_remove_recursive(dev->debugfs);
	dev->debugfs = NULL;
}

/** srnic_debugfs_init() - the module begins */
void srnic_debugfs_init(void)
{
	top = debugfs_create_dir("srnic", NULL);
}

/** srnic_debugfs_exit() - the module ends; no device is left */
void srnic_debugfs_exit(void)
{
	debugfs_remove_recursive(top);
}

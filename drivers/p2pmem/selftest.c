// SPDX-License-Identifier: GPL-2.0
/*
 * Is there memory behind a BAR? Asked before anything is built on it.
 *
 * A BAR may have nothing behind it (reads give all ones or zeroes), registers
 * (some bits stick), or less memory than it claims (addresses repeat). So
 * patterns that differ at each probe are all written before the first is read
 * back. The content is restored whatever the outcome: persistent memory must
 * survive being looked at.
 */
#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/pci.h>

#include "donation.h"

#define PROBES		P2PMEM_PROBES
#define PROBE_WORDS	(P2PMEM_PROBE_SIZE / 8)

struct probe {
	u64 offset;
	u64 saved[PROBE_WORDS];
};

static u64 pattern(u64 offset, u64 salt)
{
	/* an odd factor: different offsets give different patterns */
	return (offset + 1) * 0x9e3779b97f4a7c15ULL ^ salt;
}

static void fill(void __iomem *io, const struct probe *pr, u64 salt)
{
	int i, w;

	for (i = 0; i < PROBES; i++)
		for (w = 0; w < PROBE_WORDS; w++)
			writeq(pattern(pr[i].offset + w * 8, salt),
			       io + pr[i].offset + w * 8);
	/* out of the write-combining buffers before reading back */
	wmb();
}

static int compare(const struct p2pmem *p, const char *verdict, const struct probe *pr,
		   u64 salt)
{
	int i, w;

	for (i = 0; i < PROBES; i++) {
		for (w = 0; w < PROBE_WORDS; w++) {
			u64 at = pr[i].offset + w * 8;
			u64 want = pattern(at, salt), got = readq(p->io + at);

			if (got == want)
				continue;
			pci_err(p->d.pdev,
				"p2pmem: BAR %d %s: no memory behind it (at %#llx wrote %016llx, read %016llx)\n",
				p->d.bar, verdict, at, want, got);
			return -ENODEV;
		}
	}
	return 0;
}

static bool word_works(void __iomem *at, u64 value)
{
	writeq(value, at);
	/* out of the write-combining buffers before reading back */
	wmb();
	return readq(at) == value;
}

/* Does what is written at a word show at another one? Then they are the same. */
static bool others_kept(void __iomem *io, const struct probe *pr, int probe, int word)
{
	int i, w;

	for (i = 0; i < PROBES; i++)
		for (w = 0; w < PROBE_WORDS; w++)
			if ((i != probe || w != word) &&
			    readq(io + pr[i].offset + w * 8) != pr[i].saved[w])
				return false;
	return true;
}

/*
 * Memory that keeps its content keeps it through this as well: one word at a time is
 * in danger, for as long as it takes to read it back.
 */
static int test_words(const struct p2pmem *p, const char *verdict, const struct probe *pr)
{
	int i, w;

	for (i = 0; i < PROBES; i++) {
		for (w = 0; w < PROBE_WORDS; w++) {
			u64 offset = pr[i].offset + w * 8;
			void __iomem *at = p->io + offset;
			u64 saved = pr[i].saved[w];
			bool good;

			good = word_works(at, ~saved) && others_kept(p->io, pr, i, w);
			good = word_works(at, pattern(offset, saved)) && good;
			good = word_works(at, saved) && good;
			if (good)
				continue;
			pci_err(p->d.pdev, "p2pmem: BAR %d %s: no memory behind it (at %#llx)\n",
				p->d.bar, verdict, offset);
			return -ENODEV;
		}
	}
	return 0;
}

/**
 * p2pmem_selftest() - write, read back and restore
 * @p: the donation, its range mapped. Whether its content matters it says itself.
 * @at: where: P2PMEM_PROBE_SIZE bytes from each of these on, P2PMEM_PROBES of them,
 *	which nobody else uses if the memory isn't persistent; NULL: at the start, in
 *	the middle and at the end
 * @verdict: what becomes of it if it fails, for the message
 *
 * Return: 0, or -ENODEV after one line that says what was found.
 */
int p2pmem_selftest(const struct p2pmem *p, const u64 *at, const char *verdict)
{
	const u64 all[PROBES] = { 0, p->d.size / 2, p->d.size - P2PMEM_PROBE_SIZE };
	void __iomem *io = p->io;
	struct probe pr[PROBES];
	int i, w, ret;

	for (i = 0; i < PROBES; i++)
		pr[i].offset = at ? at[i] : all[i];
	for (i = 0; i < PROBES; i++)
		for (w = 0; w < PROBE_WORDS; w++)
			pr[i].saved[w] = readq(io + pr[i].offset + w * 8);

	if (p->d.persistent)
		return test_words(p, verdict, pr);

	fill(io, pr, 0);
	ret = compare(p, verdict, pr, 0);
	if (!ret) {
		/* the inverse, so that every bit was seen in both states */
		fill(io, pr, ~0ULL);
		ret = compare(p, verdict, pr, ~0ULL);
	}

	for (i = 0; i < PROBES; i++)
		for (w = 0; w < PROBE_WORDS; w++)
			writeq(pr[i].saved[w], io + pr[i].offset + w * 8);
	/* and this, too, before anything else happens to the memory */
	wmb();
	readq(io);
	return ret;
}

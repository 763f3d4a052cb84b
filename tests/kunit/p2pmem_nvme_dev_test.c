// SPDX-License-Identifier: GPL-2.0
/*
 * p2pmem_nvme against controllers that QEMU doesn't have: of NVMe 1.3, slow,
 * ill, gone, asleep. Their registers are a piece of RAM, p2pmem is a few counters.
 */
#include <kunit/test.h>
#include <linux/io-64-nonatomic-hi-lo.h>
#include <linux/pci.h>
#include <linux/sizes.h>

/* RAM doesn't notice that it is read: so the driver reads by way of this */
static u32 noted_readl(const void __iomem *at);
static void __iomem *ioremap_uc_fake(struct device *dev, resource_size_t at, resource_size_t len);
static void __iomem *ioremap_wc_fake(struct device *dev, resource_size_t at, resource_size_t len);
#undef readl
#define readl		noted_readl
#define devm_ioremap	ioremap_uc_fake
#define devm_ioremap_wc	ioremap_wc_fake
#include "../../drivers/p2pmem/donors/nvme_regs.c"
#include "../../drivers/p2pmem/donors/nvme_cmb.c"
#include "../../drivers/p2pmem/donors/nvme_pmr.c"
#include "../../drivers/p2pmem/donors/nvme_power.c"
#define reg		sysfs_reg
#include "../../drivers/p2pmem/donors/nvme_sysfs.c"
#undef reg
#undef readl
#undef devm_ioremap
#undef devm_ioremap_wc

#define NVME_1_1	0x00010100
#define NVME_1_3	0x00010300
#define NVME_1_4	0x00010400
#define UNTOUCHED	0xa5a5a5a5u

#define BAR_2_4MIB	0x00002	/* CMBLOC: BAR 2 from 0 on */
#define DATA_4MIB	0x0421d	/* CMBSZ: 4 MiB for queues, lists and data */
#define LISTS_4MIB	0x04205	/* the same, not for data */
#define BAR_4_NOW	0x00880	/* PMRCAP: BAR 4, read of PMRSTS, no time-out */
#define BAR_4_500MS	0x10880	/* the same, 500 ms */
#define BAR_4_HOURS	0xff0980	/* the same, 255 minutes */
#define BAR_4_READ_PMR	0x00480	/* PMRCAP: BAR 4, read of the PMR, no time-out */
#define BAR_4_EITHER	0x00c80	/* PMRCAP: BAR 4, either read, no time-out */
#define PMR_AT		0xfe000000	/* where BAR 4 is */

/**
 * struct fake - a controller, and what p2pmem was asked for
 * @n: as the driver knows it
 * @pdev: its function, good for messages only
 * @regs: its registers
 * @word: the first of the PMR
 * @mapped_wc: the driver has a write-combining mapping of it
 * @mapped_uc: the driver has an uncached mapping of it
 * @no_room: nothing can be mapped
 * @pmr_reads: how often @word was read
 * @sts_reads: how often PMRSTS was read after the latest read of @word
 * @d: the donation
 * @donated: donations
 * @withdrawn: those that ended
 * @watched: the health is watched
 * @looks: how often the health was to be looked at
 * @out: outages that last
 * @over: outages that have ended
 * @told: outages that p2pmem was told of afterwards
 * @taken: donations that were taken away
 * @was_on: the PMR was on when its donation ended, and not watched any more
 * @ready: makes the PMR ready
 */
struct fake {
	struct p2pmem_nvme n;
	struct pci_dev pdev;
	u32 regs[NVME_REGS_SIZE / sizeof(u32)];
	u32 word;
	bool mapped_wc;
	bool mapped_uc;
	bool no_room;
	int pmr_reads;
	int sts_reads;
	struct p2pmem_donation d;
	int donated;
	int withdrawn;
	bool watched;
	int looks;
	int out;
	int over;
	int told;
	int taken;
	bool was_on;
	struct delayed_work ready;
};

static struct fake *fake;

static u32 *reg(u32 at)
{
	return &fake->regs[at / sizeof(u32)];
}

/* what the driver calls */
static u32 noted_readl(const void __iomem *at)
{
	if (at == (void __iomem *)&fake->word) {
		fake->pmr_reads++;
		fake->sts_reads = 0;
	}
	if (at == fake->n.regs + NVME_PMRSTS)
		fake->sts_reads++;
	return readl(at);
}

static void __iomem *ioremap_fake(resource_size_t at, resource_size_t len, bool *mapped)
{
	if (fake->no_room || at != PMR_AT || len < sizeof(u32))
		return NULL;
	*mapped = true;
	return (void __iomem *)&fake->word;
}

static void __iomem *ioremap_uc_fake(struct device *dev, resource_size_t at, resource_size_t len)
{
	return ioremap_fake(at, len, &fake->mapped_uc);
}

static void __iomem *ioremap_wc_fake(struct device *dev, resource_size_t at, resource_size_t len)
{
	return ioremap_fake(at, len, &fake->mapped_wc);
}

int p2pmem_nvme_claim(struct p2pmem_nvme *n, int bar)
{
	return 0;
}

struct p2pmem *p2pmem_donate(const struct p2pmem_donation *d)
{
	fake->d = *d;
	fake->donated++;
	return (struct p2pmem *)fake;
}

void p2pmem_withdraw(struct p2pmem *p)
{
	fake->withdrawn++;
	fake->was_on = *reg(NVME_PMRCTL) == NVME_PMRCTL_EN && !fake->watched;
}

void p2pmem_outage_begin(struct p2pmem *p)
{
	fake->out++;
}

int p2pmem_outage_end(struct p2pmem *p)
{
	fake->out--;
	fake->over++;
	return 0;
}

void p2pmem_take_away(struct p2pmem *p)
{
	fake->taken++;
}

void p2pmem_notify_outage(struct p2pmem *p)
{
	fake->told++;
}

void p2pmem_nvme_health_init(struct p2pmem_nvme *n)
{
}

void p2pmem_nvme_health_start(struct p2pmem_nvme *n)
{
	fake->watched = true;
}

void p2pmem_nvme_health_look(struct p2pmem_nvme *n)
{
	fake->looks++;
}

void p2pmem_nvme_health_stop(struct p2pmem_nvme *n)
{
	fake->watched = false;
}

static void make_ready(struct work_struct *work)
{
	WRITE_ONCE(*reg(NVME_PMRSTS), 0);
}

static int init(struct kunit *test)
{
	fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);
	if (!fake)
		return -ENOMEM;
	fake->pdev.dev.init_name = "fake";
	fake->n.pdev = &fake->pdev;
	fake->n.regs = (void __iomem *)fake->regs;
	fake->n.vs = NVME_1_4;
	fake->n.bars.len[0] = SZ_16K;
	fake->n.bars.len[2] = SZ_4M;
	fake->n.bars.len[4] = SZ_16M;
	fake->pdev.resource[4].start = PMR_AT;
	fake->pdev.resource[4].end = PMR_AT + SZ_16M - 1;
	*reg(NVME_CMBMSC) = UNTOUCHED;
	*reg(NVME_PMRCTL) = UNTOUCHED;
	INIT_DELAYED_WORK(&fake->ready, make_ready);
	return 0;
}

static void end(struct kunit *test)
{
	if (fake)
		cancel_delayed_work_sync(&fake->ready);
	fake = NULL;
}

static void old_without_cmb(struct kunit *test)
{
	/* reserved registers may say anything */
	fake->n.vs = NVME_1_1;
	*reg(NVME_CMBLOC) = BAR_2_4MIB;
	*reg(NVME_CMBSZ) = DATA_4MIB;
	KUNIT_EXPECT_EQ(test, p2pmem_nvme_cmb_find(&fake->n), -ENOENT);

	fake->n.vs = NVME_1_3;
	*reg(NVME_CMBLOC) = 0;
	*reg(NVME_CMBSZ) = 0;
	KUNIT_EXPECT_EQ(test, p2pmem_nvme_cmb_find(&fake->n), -ENOENT);
	KUNIT_EXPECT_EQ(test, *reg(NVME_CMBMSC), UNTOUCHED);
}

/* its buffer is there without a switch, and CMBMSC is reserved */
static void old_with_cmb(struct kunit *test)
{
	fake->n.vs = NVME_1_3;
	*reg(NVME_CMBLOC) = BAR_2_4MIB;
	*reg(NVME_CMBSZ) = DATA_4MIB;
	KUNIT_ASSERT_EQ(test, p2pmem_nvme_cmb_find(&fake->n), 0);
	KUNIT_ASSERT_EQ(test, p2pmem_nvme_cmb_add(&fake->n), 0);
	KUNIT_EXPECT_EQ(test, fake->d.bar, 2);
	KUNIT_EXPECT_EQ(test, fake->d.offset, 0);
	KUNIT_EXPECT_EQ(test, fake->d.size, SZ_4M);
	KUNIT_EXPECT_EQ(test, fake->d.kind, P2PMEM_KIND_CMB);
	KUNIT_EXPECT_FALSE(test, fake->d.persistent);

	p2pmem_nvme_cmb_remove(&fake->n);
	KUNIT_EXPECT_EQ(test, fake->withdrawn, 1);
	KUNIT_EXPECT_EQ(test, *reg(NVME_CMBMSC), UNTOUCHED);
}

/* a buffer for queues and lists is switched on to be looked at, then off */
static void cmb_not_for_data(struct kunit *test)
{
	fake->n.cap = NVME_CAP_CMBS;
	*reg(NVME_CMBLOC) = BAR_2_4MIB;
	*reg(NVME_CMBSZ) = LISTS_4MIB;
	KUNIT_EXPECT_EQ(test, p2pmem_nvme_cmb_find(&fake->n), -ENODEV);
	KUNIT_EXPECT_EQ(test, *reg(NVME_CMBMSC), 0);

	*reg(NVME_CMBSZ) = DATA_4MIB;
	KUNIT_EXPECT_EQ(test, p2pmem_nvme_cmb_find(&fake->n), 0);
	KUNIT_EXPECT_EQ(test, *reg(NVME_CMBMSC), NVME_CMBMSC_CRE);
}

/* an error of pmr_add() leaves the PMR off, nothing donated, nothing watched */
static void expect_refused(struct kunit *test, int error)
{
	KUNIT_EXPECT_EQ(test, p2pmem_nvme_pmr_add(&fake->n), error);
	KUNIT_EXPECT_EQ(test, fake->donated, 0);
	KUNIT_EXPECT_FALSE(test, fake->watched);
	KUNIT_EXPECT_EQ(test, *reg(NVME_PMRCTL), 0);
}

static void find_pmr(struct kunit *test, u32 pmrcap)
{
	fake->n.cap = NVME_CAP_PMRS;
	*reg(NVME_PMRCAP) = pmrcap;
	KUNIT_ASSERT_EQ(test, p2pmem_nvme_pmr_find(&fake->n), 0);
}

static void no_pmr(struct kunit *test)
{
	*reg(NVME_PMRCAP) = BAR_4_NOW;
	KUNIT_EXPECT_EQ(test, p2pmem_nvme_pmr_find(&fake->n), -ENOENT);
	KUNIT_EXPECT_EQ(test, *reg(NVME_PMRCTL), UNTOUCHED);
}

static void pmr_in_time(struct kunit *test)
{
	find_pmr(test, BAR_4_500MS);
	*reg(NVME_PMRSTS) = NVME_PMRSTS_NRDY;
	schedule_delayed_work(&fake->ready, msecs_to_jiffies(100));
	KUNIT_ASSERT_EQ(test, p2pmem_nvme_pmr_add(&fake->n), 0);
	/* not before it was ready */
	KUNIT_EXPECT_EQ(test, *reg(NVME_PMRSTS), 0);
	KUNIT_EXPECT_EQ(test, *reg(NVME_PMRCTL), NVME_PMRCTL_EN);
	KUNIT_EXPECT_EQ(test, fake->d.bar, 4);
	KUNIT_EXPECT_EQ(test, fake->d.kind, P2PMEM_KIND_PMR);
	KUNIT_EXPECT_TRUE(test, fake->d.persistent);
	KUNIT_EXPECT_TRUE(test, fake->watched);
}

static void pmr_too_late(struct kunit *test)
{
	unsigned long start = jiffies;

	find_pmr(test, BAR_4_500MS);
	*reg(NVME_PMRSTS) = NVME_PMRSTS_NRDY;
	expect_refused(test, -ETIMEDOUT);
	KUNIT_EXPECT_GE(test, jiffies_to_msecs(jiffies - start), 500);
}

static void pmr_that_takes_no_time(struct kunit *test)
{
	find_pmr(test, BAR_4_NOW);
	*reg(NVME_PMRSTS) = NVME_PMRSTS_NRDY;
	expect_refused(test, -ETIMEDOUT);
	/* it is asked once, though */
	*reg(NVME_PMRSTS) = 0;
	KUNIT_EXPECT_EQ(test, p2pmem_nvme_pmr_add(&fake->n), 0);
}

static void pmr_gone(struct kunit *test)
{
	find_pmr(test, BAR_4_500MS);
	*reg(NVME_PMRSTS) = U32_MAX;
	expect_refused(test, -ENODEV);
}

static void pmr_ill(struct kunit *test)
{
	u32 hsts;

	find_pmr(test, BAR_4_NOW);
	for (hsts = 2; hsts < 8; hsts++) {
		*reg(NVME_PMRSTS) = hsts << 9;
		expect_refused(test, -ENODEV);
	}
	*reg(NVME_PMRSTS) = 1;
	expect_refused(test, -ENODEV);
	/* what was in it is lost, what comes is kept */
	*reg(NVME_PMRSTS) = 1 << 9;
	KUNIT_EXPECT_EQ(test, p2pmem_nvme_pmr_add(&fake->n), 0);
}

static int make_durable(void)
{
	return fake->d.ops->persist(fake->d.priv, SZ_4K, 64);
}

static void barriers(struct kunit *test)
{
	static const u32 bad[] = { NVME_PMRSTS_NRDY, 0xff, 1, 2 << 9, 3 << 9, 4 << 9, 7 << 9,
				   1 << 9 | 1, U32_MAX };
	int i;

	find_pmr(test, BAR_4_NOW);
	KUNIT_ASSERT_EQ(test, p2pmem_nvme_pmr_add(&fake->n), 0);
	KUNIT_EXPECT_EQ(test, make_durable(), 0);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		*reg(NVME_PMRSTS) = bad[i];
		KUNIT_EXPECT_EQ_MSG(test, make_durable(), -EIO, "PMRSTS %#x", bad[i]);
		KUNIT_EXPECT_EQ(test, fake->looks, i + 1);
	}
	*reg(NVME_PMRSTS) = 1 << 9;
	KUNIT_EXPECT_EQ(test, make_durable(), 0);
	*reg(NVME_PMRSTS) = 0;
	KUNIT_EXPECT_EQ(test, make_durable(), 0);

	KUNIT_EXPECT_EQ(test, fake->pmr_reads, 0);
}

/* where a read of the PMR is the barrier, PMRSTS has its say as well, after it */
static void barrier_of_the_pmr(struct kunit *test)
{
	int i;

	find_pmr(test, BAR_4_READ_PMR);
	KUNIT_ASSERT_EQ(test, p2pmem_nvme_pmr_add(&fake->n), 0);
	for (i = 1; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, make_durable(), 0);
		KUNIT_EXPECT_EQ(test, fake->pmr_reads, i);
		KUNIT_EXPECT_EQ(test, fake->sts_reads, 1);
	}
	*reg(NVME_PMRSTS) = 1;
	KUNIT_EXPECT_EQ(test, make_durable(), -EIO);
	KUNIT_EXPECT_EQ(test, fake->pmr_reads, i);
}

/* either would do: the cheaper one is PMRSTS, which is read anyway */
static void either_barrier(struct kunit *test)
{
	find_pmr(test, BAR_4_EITHER);
	KUNIT_ASSERT_EQ(test, p2pmem_nvme_pmr_add(&fake->n), 0);
	fake->sts_reads = 0;
	KUNIT_EXPECT_EQ(test, make_durable(), 0);
	KUNIT_EXPECT_EQ(test, fake->pmr_reads, 0);
	KUNIT_EXPECT_EQ(test, fake->sts_reads, 1);
}

/* of the memory type that p2pmem maps the BAR with, or the PMR can't serve */
static void mapping_of_the_pmr(struct kunit *test)
{
	find_pmr(test, BAR_4_READ_PMR);
	KUNIT_ASSERT_EQ(test, p2pmem_nvme_pmr_add(&fake->n), 0);
	KUNIT_EXPECT_TRUE(test, fake->mapped_uc && !fake->mapped_wc);

	fake->mapped_uc = false;
	fake->pdev.resource[4].flags = IORESOURCE_MEM | IORESOURCE_PREFETCH;
	KUNIT_ASSERT_EQ(test, p2pmem_nvme_pmr_add(&fake->n), 0);
	KUNIT_EXPECT_TRUE(test, fake->mapped_wc && !fake->mapped_uc);

	fake->donated = 0;
	fake->no_room = true;
	KUNIT_EXPECT_EQ(test, p2pmem_nvme_pmr_add(&fake->n), -ENOMEM);
	KUNIT_EXPECT_EQ(test, fake->donated, 0);
}

/* whoever was served before learns of it, though only another one may have looked */
static void pmr_ill_for_a_while(struct kunit *test)
{
	find_pmr(test, BAR_4_NOW);
	KUNIT_ASSERT_EQ(test, p2pmem_nvme_pmr_add(&fake->n), 0);

	/* off, though NRDY doesn't say so */
	*reg(NVME_PMRCTL) = 0;
	KUNIT_EXPECT_EQ(test, make_durable(), -EIO);
	KUNIT_EXPECT_EQ(test, make_durable(), -EIO);
	KUNIT_EXPECT_EQ(test, fake->told, 0);
	*reg(NVME_PMRCTL) = NVME_PMRCTL_EN;
	KUNIT_EXPECT_EQ(test, make_durable(), 0);
	KUNIT_EXPECT_EQ(test, fake->told, 1);
	KUNIT_EXPECT_EQ(test, make_durable(), 0);
	KUNIT_EXPECT_EQ(test, fake->told, 1);

	/* the watch looks */
	*reg(NVME_PMRSTS) = NVME_PMRSTS_NRDY;
	KUNIT_EXPECT_EQ(test, p2pmem_nvme_pmr_health(&fake->n), P2PMEM_NVME_NOT_READY);
	*reg(NVME_PMRSTS) = 0;
	KUNIT_EXPECT_EQ(test, p2pmem_nvme_pmr_health(&fake->n), P2PMEM_NVME_OK);
	KUNIT_EXPECT_EQ(test, fake->told, 2);

	/* nobody to be told as yet: nothing is durable */
	*reg(NVME_PMRSTS) = 1;
	KUNIT_EXPECT_EQ(test, make_durable(), -EIO);
	*reg(NVME_PMRSTS) = 0;
	fake->n.pmr_donation = NULL;
	KUNIT_EXPECT_EQ(test, make_durable(), -EIO);
	fake->n.pmr_donation = (struct p2pmem *)fake;
	KUNIT_EXPECT_EQ(test, make_durable(), 0);
	KUNIT_EXPECT_EQ(test, fake->told, 3);
}

/* the address of a BAR on a bus that has no other addresses than the CPU */
static void put_on_a_bus(struct kunit *test)
{
	struct pci_host_bridge *bridge = kunit_kzalloc(test, sizeof(*bridge), GFP_KERNEL);
	struct pci_bus *bus = kunit_kzalloc(test, sizeof(*bus), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, bridge);
	KUNIT_ASSERT_NOT_NULL(test, bus);
	INIT_LIST_HEAD(&bridge->windows);
	bus->bridge = &bridge->dev;
	fake->pdev.bus = bus;
}

static void add_both(struct kunit *test, u32 pmrcap)
{
	put_on_a_bus(test);
	find_pmr(test, pmrcap);
	fake->n.cap |= NVME_CAP_CMBS;
	*reg(NVME_CMBLOC) = BAR_2_4MIB;
	*reg(NVME_CMBSZ) = DATA_4MIB;
	KUNIT_ASSERT_EQ(test, p2pmem_nvme_cmb_find(&fake->n), 0);
	KUNIT_ASSERT_EQ(test, p2pmem_nvme_cmb_add(&fake->n), 0);
	KUNIT_ASSERT_EQ(test, p2pmem_nvme_pmr_add(&fake->n), 0);
}

/* a reset or a suspend switches both off */
static void away(struct kunit *test)
{
	p2pmem_nvme_away(&fake->n);
	KUNIT_EXPECT_EQ(test, fake->out, 2);
	KUNIT_EXPECT_EQ(test, fake->over, 0);
	KUNIT_EXPECT_FALSE(test, fake->watched);
	*reg(NVME_CMBMSC) = 0;
	*reg(NVME_PMRCTL) = 0;
}

static void back(struct kunit *test)
{
	int looks = fake->looks;

	p2pmem_nvme_back(&fake->n);
	KUNIT_EXPECT_EQ(test, fake->out, 0);
	KUNIT_EXPECT_EQ(test, fake->over, 2);
	KUNIT_EXPECT_TRUE(test, fake->watched);
	KUNIT_EXPECT_EQ(test, fake->looks, looks + 1);
	KUNIT_EXPECT_EQ(test, *reg(NVME_PMRCTL), NVME_PMRCTL_EN);
	KUNIT_EXPECT_EQ(test, *reg(NVME_CMBMSC) & 3, NVME_CMBMSC_CRE | NVME_CMBMSC_CMSE);
}

static void away_and_back(struct kunit *test)
{
	add_both(test, BAR_4_NOW);
	away(test);
	/* a flush that was under way: one outage, told once */
	KUNIT_EXPECT_EQ(test, make_durable(), -EIO);
	back(test);
	KUNIT_EXPECT_EQ(test, make_durable(), 0);
	KUNIT_EXPECT_EQ(test, fake->told, 0);
}

/* an error on the bus may come in a reset, and end without having begun */
static void away_twice_and_back_twice(struct kunit *test)
{
	add_both(test, BAR_4_NOW);
	p2pmem_nvme_back(&fake->n);
	KUNIT_EXPECT_EQ(test, fake->over, 0);
	away(test);
	away(test);
	back(test);
	p2pmem_nvme_back(&fake->n);
	KUNIT_EXPECT_EQ(test, fake->over, 2);
	p2pmem_nvme_doubt(&fake->n);
	KUNIT_EXPECT_EQ(test, fake->told, 2);
}

/* it is not watched any more, and nothing brings it back */
static void expect_lost(struct kunit *test)
{
	int over = fake->over;

	p2pmem_nvme_lost(&fake->n);
	KUNIT_EXPECT_EQ(test, fake->taken, 2);
	KUNIT_EXPECT_EQ(test, fake->withdrawn, 0);
	KUNIT_EXPECT_FALSE(test, fake->watched);
	p2pmem_nvme_away(&fake->n);
	p2pmem_nvme_back(&fake->n);
	KUNIT_EXPECT_EQ(test, fake->over, over);
	KUNIT_EXPECT_FALSE(test, fake->watched);
	p2pmem_nvme_pmr_remove(&fake->n);
	p2pmem_nvme_cmb_remove(&fake->n);
	KUNIT_EXPECT_EQ(test, fake->withdrawn, 2);
}

static void lost(struct kunit *test)
{
	add_both(test, BAR_4_NOW);
	expect_lost(test);
}

static void lost_while_away(struct kunit *test)
{
	add_both(test, BAR_4_NOW);
	away(test);
	expect_lost(test);
}

/* what isn't well when it is back ends by itself, whenever that is */
static void back_but_ill(struct kunit *test)
{
	add_both(test, BAR_4_NOW);
	away(test);
	*reg(NVME_PMRSTS) = NVME_PMRSTS_NRDY;
	back(test);
	KUNIT_EXPECT_EQ(test, make_durable(), -EIO);
	*reg(NVME_PMRSTS) = 3 << 9;
	KUNIT_EXPECT_EQ(test, make_durable(), -EIO);
	KUNIT_EXPECT_EQ(test, fake->told, 0);
	*reg(NVME_PMRSTS) = 0;
	KUNIT_EXPECT_EQ(test, make_durable(), 0);
	KUNIT_EXPECT_EQ(test, fake->told, 1);
}

/* whoever resets or unplugs it doesn't wait as long as the controller may take */
static void slow_controller(struct kunit *test)
{
	unsigned long start;

	add_both(test, BAR_4_HOURS);
	away(test);
	*reg(NVME_PMRSTS) = NVME_PMRSTS_NRDY;
	start = jiffies;
	back(test);
	KUNIT_EXPECT_LT(test, jiffies - start, 60 * HZ);

	/* doesn't switch off either: 5 s are for the whole of an unplug */
	*reg(NVME_PMRSTS) = 0;
	start = jiffies;
	p2pmem_nvme_pmr_remove(&fake->n);
	KUNIT_EXPECT_LT(test, jiffies - start, 4 * HZ);
}

/* the watch ends first, then the donation, then the PMR */
static void pmr_removed(struct kunit *test)
{
	p2pmem_nvme_pmr_remove(&fake->n);
	KUNIT_EXPECT_EQ(test, fake->withdrawn, 0);

	find_pmr(test, BAR_4_NOW);
	KUNIT_ASSERT_EQ(test, p2pmem_nvme_pmr_add(&fake->n), 0);
	p2pmem_nvme_pmr_remove(&fake->n);
	KUNIT_EXPECT_EQ(test, fake->withdrawn, 1);
	KUNIT_EXPECT_TRUE(test, fake->was_on);
	KUNIT_EXPECT_EQ(test, *reg(NVME_PMRCTL), 0);
}

/* What QEMU's controllers have in these registers is 0: offsets and masks show here. */
static const struct {
	ssize_t (*show)(struct device *dev, struct device_attribute *attr, char *buf);
	u32 at;
	u32 value;
	const char *text;
} shown[] = {
	{ cmbsts_show, NVME_CMBSTS, 1, "0x1\nCBAI 1\n" },
	{ cmbsts_show, NVME_CMBSTS, ~1u, "0xfffffffe\nCBAI 0\n" },
	{ pmrcap_show, NVME_PMRCAP, 0x01050988,
	  "0x1050988\nRDS 1\nWDS 0\nBIR 4\nPMRTU 1\nPMRWBM 0x2 (a read of PMRSTS)\n"
	  "PMRTO 5 (300000 ms)\nCMSS 1\n" },
	{ pmrsts_show, NVME_PMRSTS, 0x1734,
	  "0x1734\nERR 52\nNRDY 1\nHSTS 3\nCBAI 1\nhealth " },
	{ pmrsts_show, NVME_PMRSTS, 0, "0x0\nERR 0\nNRDY 0\nHSTS 0\nCBAI 0\nhealth ok\n" },
	{ pmrebs_show, NVME_PMREBS, 0x511, "0x511\nRBB 1\nPMRWBZ 5120 (bytes)\n" },
	{ pmrebs_show, NVME_PMREBS, 0xffffff03,
	  "0xffffff03\nRBB 0\nPMRWBZ 18014397435740160 (bytes)\n" },
	{ pmrswtp_show, NVME_PMRSWTP, 0x302, "0x302\nPMRSWTV 3145728 (bytes/s)\n" },
	{ pmrswtp_show, NVME_PMRSWTP, 0x304, "0x304\nPMRSWTV 3 (unit 4 is reserved)\n" },
};

static void registers_shown(struct kunit *test)
{
	char *buf = (char *)get_zeroed_page(GFP_KERNEL);
	struct device *dev = &fake->pdev.dev;
	size_t i;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	dev_set_drvdata(dev, &fake->n);
	fake->n.pmr.read_sts = true;
	fake->n.pmr.timeout_ms = 300000;
	for (i = 0; i < ARRAY_SIZE(shown); i++) {
		memset(fake->regs, 0xa5, sizeof(fake->regs));
		*reg(shown[i].at) = shown[i].value;
		shown[i].show(dev, NULL, buf);
		KUNIT_EXPECT_TRUE_MSG(test, strstarts(buf, shown[i].text), "%s", buf);
	}
	free_page((unsigned long)buf);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(old_without_cmb),
	KUNIT_CASE(old_with_cmb),
	KUNIT_CASE(cmb_not_for_data),
	KUNIT_CASE(no_pmr),
	KUNIT_CASE(pmr_in_time),
	KUNIT_CASE(pmr_too_late),
	KUNIT_CASE(pmr_that_takes_no_time),
	KUNIT_CASE(pmr_gone),
	KUNIT_CASE(pmr_ill),
	KUNIT_CASE(barriers),
	KUNIT_CASE(pmr_ill_for_a_while),
	KUNIT_CASE(away_and_back),
	KUNIT_CASE(away_twice_and_back_twice),
	KUNIT_CASE(lost),
	KUNIT_CASE(lost_while_away),
	KUNIT_CASE(back_but_ill),
	KUNIT_CASE(slow_controller),
	KUNIT_CASE(barrier_of_the_pmr),
	KUNIT_CASE(either_barrier),
	KUNIT_CASE(mapping_of_the_pmr),
	KUNIT_CASE(pmr_removed),
	KUNIT_CASE(registers_shown),
	{ }
};

static struct kunit_suite suite = {
	.name = "p2pmem_nvme_dev",
	.init = init,
	.exit = end,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("tests of p2pmem_nvme against made-up controllers");
MODULE_LICENSE("GPL");

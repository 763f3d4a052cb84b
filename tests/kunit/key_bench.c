// SPDX-License-Identifier: GPL-2.0
/*
 * Not a suite: what a lookup in the key table costs, and to make a key and to kill
 * one (tests/perf/keys.t). It is measured when the module is loaded:
 *
 *   modprobe srnic_key_bench keys=N cache=LINES
 *
 * for a few keys that are used again and again, and for all of the N in no order; and
 * for new ones beside the N.
 */
#include <linux/bottom_half.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>

#include "../../drivers/srnic/mpt.h"
#include "../../drivers/srnic/stats.h"

#define FEW	8
#define ASKED	20000
#define NEW	100
#define TURNS	20

static unsigned int keys = 10;
module_param(keys, uint, 0);
MODULE_PARM_DESC(keys, "Live keys (default 10)");

static unsigned int cache;
module_param(cache, uint, 0);
MODULE_PARM_DESC(cache, "Lines of the key cache (default 0)");

/* Nanoseconds for a lookup of one of the first @among keys, in hundredths. */
static u64 measure(struct srnic_mpt *mpt, struct srnic_mpt_entry **e, u32 among)
{
	struct srnic_mpt_req rq = { .pdn = 1, .len = 1 };
	const struct srnic_mpt_entry *got;
	u64 start = 0;
	u32 i, at = 0;

	/* the first round warms up */
	for (i = 0; i < 2 * ASKED; i++) {
		if (i == ASKED)
			start = ktime_get_ns();
		at = (at + 514229) % among;
		rq.key = e[at]->key;
		local_bh_disable();
		if (!WARN_ON_ONCE(srnic_mpt_enter(mpt, &rq, &got)))
			srnic_mpt_leave(mpt);
		local_bh_enable();
	}
	return div_u64((ktime_get_ns() - start) * 100, ASKED);
}

static int make_keys(struct srnic_mpt *mpt, struct srnic_mpt_entry **e, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		e[i] = srnic_mpt_alloc(mpt);
		if (IS_ERR(e[i]))
			return PTR_ERR(e[i]);
		e[i]->pdn = 1;
		e[i]->length = 1;
		srnic_mpt_publish(e[i]);
	}
	return 0;
}

static void kill_keys(struct srnic_mpt *mpt, struct srnic_mpt_entry **e, u32 n)
{
	u32 i;

	for (i = 0; i < n && !IS_ERR_OR_NULL(e[i]); i++) {
		srnic_mpt_kill(mpt, e[i], SRNIC_MPT_INVALID);
		srnic_mpt_free(mpt, e[i]);
	}
}

/* Nanoseconds to make a key and to kill one, in hundredths. */
static int measure_lives(struct srnic_mpt *mpt, u64 *make, u64 *kill)
{
	static struct srnic_mpt_entry *e[NEW];
	u64 t[3];
	int i, err;

	*make = 0;
	*kill = 0;
	/* the first turn opens a chunk of slots, perhaps */
	for (i = 0; i <= TURNS; i++) {
		t[0] = ktime_get_ns();
		err = make_keys(mpt, e, NEW);
		t[1] = ktime_get_ns();
		kill_keys(mpt, e, NEW);
		t[2] = ktime_get_ns();
		if (err)
			return err;
		if (i) {
			*make += t[1] - t[0];
			*kill += t[2] - t[1];
		}
	}
	*make = div_u64(*make * 100, NEW * TURNS);
	*kill = div_u64(*kill * 100, NEW * TURNS);
	return 0;
}

static int bench(struct srnic_mpt *mpt, struct srnic_mpt_entry **e,
		 struct srnic_stats __percpu *stats)
{
	u64 few, all, make, kill;
	int err;

	err = srnic_mpt_use_cache(mpt, cache, stats);
	if (err)
		return err;
	err = make_keys(mpt, e, keys);
	if (err)
		return err;
	few = measure(mpt, e, min(keys, FEW));
	all = measure(mpt, e, keys);
	err = measure_lives(mpt, &make, &kill);
	if (err)
		return err;
	pr_info("srnic_key_bench: keys %u cache %u few %llu all %llu make %llu kill %llu\n",
		keys, cache, few, all, make, kill);
	return 0;
}

static int __init key_bench_init(void)
{
	struct srnic_stats __percpu *stats = alloc_percpu(struct srnic_stats);
	struct srnic_mpt_entry **e = kvcalloc(keys, sizeof(*e), GFP_KERNEL);
	struct srnic_mpt *mpt = srnic_mpt_create(20);
	int err = -ENOMEM;

	if (stats && e && !IS_ERR(mpt)) {
		err = bench(mpt, e, stats);
		kill_keys(mpt, e, keys);
	}
	if (!IS_ERR(mpt))
		srnic_mpt_destroy(mpt);
	kvfree(e);
	free_percpu(stats);
	return err;
}
module_init(key_bench_init);

static void __exit key_bench_exit(void)
{
}
module_exit(key_bench_exit);

MODULE_DESCRIPTION("What a lookup in srnic's key table costs");
MODULE_LICENSE("GPL");

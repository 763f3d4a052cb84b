// SPDX-License-Identifier: GPL-2.0
/*
 * Not a suite: what a lookup in the key table costs (tests/perf/keys.t). It is
 * measured when the module is loaded:
 *
 *   modprobe srnic_key_bench keys=N cache=LINES
 *
 * for a few keys that are used again and again, and for all of the N in no order.
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

static int fill(struct srnic_mpt *mpt, struct srnic_mpt_entry **e)
{
	u32 i;

	for (i = 0; i < keys; i++) {
		e[i] = srnic_mpt_alloc(mpt);
		if (IS_ERR(e[i]))
			return PTR_ERR(e[i]);
		e[i]->pdn = 1;
		e[i]->length = 1;
		srnic_mpt_publish(e[i]);
	}
	return 0;
}

static void empty(struct srnic_mpt *mpt, struct srnic_mpt_entry **e)
{
	u32 i;

	for (i = 0; i < keys && !IS_ERR_OR_NULL(e[i]); i++) {
		srnic_mpt_kill(mpt, e[i], SRNIC_MPT_INVALID);
		srnic_mpt_free(mpt, e[i]);
	}
}

static int bench(struct srnic_mpt *mpt, struct srnic_mpt_entry **e,
		 struct srnic_stats __percpu *stats)
{
	u64 few, all;
	int err;

	err = srnic_mpt_use_cache(mpt, cache, stats);
	if (err)
		return err;
	err = fill(mpt, e);
	if (err)
		return err;
	few = measure(mpt, e, min(keys, FEW));
	all = measure(mpt, e, keys);
	pr_info("srnic_key_bench: keys %u cache %u few %llu all %llu\n", keys,
		cache, few, all);
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
		empty(mpt, e);
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

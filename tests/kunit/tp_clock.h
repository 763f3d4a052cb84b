/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Time for the transport under test: it stands still until a test lets it go
 * on, and timers and work items run when the test says so. Sources of the driver
 * that are compiled with this header use it in the place of the kernel's.
 */
#ifndef SRNIC_TEST_TP_CLOCK_H
#define SRNIC_TEST_TP_CLOCK_H

/* All that those sources include, before names change their meaning. */
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_pack.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "../../drivers/srnic/qp.h"

extern unsigned long tp_jiffies;

int tp_mod_timer(struct timer_list *t, unsigned long expires);
int tp_timer_pending(const struct timer_list *t);
int tp_timer_shutdown(struct timer_list *t);
int tp_timer_delete(struct timer_list *t);
void tp_hrtimer_start(struct hrtimer *t, ktime_t in, enum hrtimer_mode mode);
int tp_hrtimer_cancel(struct hrtimer *t);
bool tp_queue_work(struct workqueue_struct *wq, struct work_struct *work);
bool tp_cancel_work_sync(struct work_struct *work);

#define TP_TICK		(NSEC_PER_SEC / HZ)
#define TP_NEVER	U64_MAX

/* For tests: nanoseconds since tp_clock_reset(). */
u64 tp_now(void);
/* Nothing is pending any more, and it is time 0. */
void tp_clock_reset(void);
/* When the next timer is due, or TP_NEVER. */
u64 tp_next_timer(void);
/* Run what is due up to @until, in order; then it is @until. */
void tp_run_until(u64 until);
static inline void tp_advance(u64 ns)
{
	tp_run_until(tp_now() + ns);
}

#ifdef TP_REPLACE
#undef jiffies
#define jiffies			tp_jiffies
#define mod_timer		tp_mod_timer
#define timer_pending		tp_timer_pending
#define timer_shutdown_sync	tp_timer_shutdown
#define timer_delete		tp_timer_delete
#define hrtimer_start		tp_hrtimer_start
#define hrtimer_cancel		tp_hrtimer_cancel
#define hrtimer_try_to_cancel	tp_hrtimer_cancel
#define queue_work		tp_queue_work
#define cancel_work_sync	tp_cancel_work_sync
#endif

#endif /* SRNIC_TEST_TP_CLOCK_H */

// SPDX-License-Identifier: GPL-2.0
#include "tp_clock.h"

#include <linux/bottom_half.h>
#include <linux/bug.h>

#define MAX_PENDING	32

enum kind {
	NOTHING,
	TIMER,
	HRTIMER,
	WORK,
};

/**
 * struct pending - something that will run
 * @kind: what it is
 * @what: it
 * @at: when
 * @order: of those that are due at the same time, the older one is first
 */
struct pending {
	enum kind kind;
	void *what;
	u64 at;
	u64 order;
};

/* Soon after time 0 jiffies wrap. */
#define FIRST_TICK	(0UL - 20)

unsigned long tp_jiffies = FIRST_TICK;

static struct pending pending[MAX_PENDING];
static u64 now, count;

static struct pending *find(const void *what)
{
	int i;

	for (i = 0; i < MAX_PENDING; i++)
		if (pending[i].kind != NOTHING && pending[i].what == what)
			return &pending[i];
	return NULL;
}

/* Whether it was pending before. */
static bool add(enum kind kind, void *what, u64 at)
{
	struct pending *p = find(what);
	bool was = p;
	int i;

	for (i = 0; !p && i < MAX_PENDING; i++)
		if (pending[i].kind == NOTHING)
			p = &pending[i];
	if (WARN_ON(!p))
		return false;
	*p = (struct pending) { kind, what, at, count++ };
	return was;
}

static bool del(const void *what)
{
	struct pending *p = find(what);

	if (p)
		p->kind = NOTHING;
	return p;
}

static struct pending *earliest(void)
{
	struct pending *first = NULL;
	int i;

	for (i = 0; i < MAX_PENDING; i++) {
		struct pending *p = &pending[i];

		if (p->kind == NOTHING)
			continue;
		if (!first || p->at < first->at ||
		    (p->at == first->at && p->order < first->order))
			first = p;
	}
	return first;
}

int tp_mod_timer(struct timer_list *t, unsigned long expires)
{
	long ticks = expires - FIRST_TICK;

	t->expires = expires;
	return add(TIMER, t, ticks > 0 ? ticks * TP_TICK : 0);
}

int tp_timer_pending(const struct timer_list *t)
{
	return !!find(t);
}

int tp_timer_shutdown(struct timer_list *t)
{
	return del(t);
}

int tp_timer_delete(struct timer_list *t)
{
	return del(t);
}

void tp_hrtimer_start(struct hrtimer *t, ktime_t in, enum hrtimer_mode mode)
{
	add(HRTIMER, t, now + ktime_to_ns(in));
}

int tp_hrtimer_cancel(struct hrtimer *t)
{
	return del(t);
}

bool tp_queue_work(struct workqueue_struct *wq, struct work_struct *work)
{
	return find(work) ? false : !add(WORK, work, now);
}

bool tp_cancel_work_sync(struct work_struct *work)
{
	return del(work);
}

u64 tp_now(void)
{
	return now;
}

void tp_clock_reset(void)
{
	memset(pending, 0, sizeof(pending));
	now = 0;
	count = 0;
	tp_jiffies = FIRST_TICK;
}

u64 tp_next_timer(void)
{
	struct pending *p = earliest();

	return p ? max(p->at, now) : TP_NEVER;
}

/* As in the kernel: in a softirq, and not pending while it runs. */
static void run(struct pending *p)
{
	struct pending copy = *p;
	struct timer_list *timer = copy.what;
	struct hrtimer *hrtimer = copy.what;
	struct work_struct *work = copy.what;

	p->kind = NOTHING;
	local_bh_disable();
	switch (copy.kind) {
	case TIMER:
		timer->function(timer);
		break;
	case HRTIMER:
		WARN_ON(hrtimer->function(hrtimer) != HRTIMER_NORESTART);
		break;
	case WORK:
		work->func(work);
		break;
	case NOTHING:
		break;
	}
	local_bh_enable();
}

static void set_now(u64 to)
{
	now = max(now, to);
	tp_jiffies = FIRST_TICK + now / TP_TICK;
}

void tp_run_until(u64 until)
{
	struct pending *p;

	while ((p = earliest()) && p->at <= until) {
		set_now(p->at);
		run(p);
	}
	set_now(until);
}

// SPDX-License-Identifier: GPL-2.0
#include "ledger.h"

#include <linux/err.h>
#include <linux/mm.h>
#include <linux/spinlock.h>

/**
 * struct srnic_ledger - the last refusals of a device
 * @lock: protects all below; a leaf, taken under a QP's lock. A line costs a
 *	connection, or a receive (srnic_qp_refused_repeat()), so there is no crowd
 *	here, and no peer turns the pages.
 * @count: refusals in all
 * @line: the last ones; number i stands at i modulo SRNIC_LEDGER_SIZE
 */
struct srnic_ledger {
	spinlock_t lock;	/* protects all below */
	u64 count;
	struct srnic_refusal line[SRNIC_LEDGER_SIZE];
};

/**
 * srnic_ledger_create() - an empty ledger
 *
 * Return: the ledger, NULL when out of memory.
 */
struct srnic_ledger *srnic_ledger_create(void)
{
	struct srnic_ledger *ledger = kvzalloc(sizeof(*ledger), GFP_KERNEL);

	if (ledger)
		spin_lock_init(&ledger->lock);
	return ledger;
}

/**
 * srnic_ledger_destroy() - the device goes
 * @ledger: of the device, which has no QP any more; or NULL
 */
void srnic_ledger_destroy(struct srnic_ledger *ledger)
{
	kvfree(ledger);
}

/**
 * srnic_ledger_add() - write a line
 * @ledger: of the device
 * @r: the line
 *
 * Context: softirq, or process with bottom halves disabled.
 */
void srnic_ledger_add(struct srnic_ledger *ledger,
		      const struct srnic_refusal *r)
{
	lockdep_assert_in_softirq();
	spin_lock(&ledger->lock);
	ledger->line[ledger->count++ % SRNIC_LEDGER_SIZE] = *r;
	spin_unlock(&ledger->lock);
}

/**
 * srnic_ledger_copy() - read it
 * @ledger: of the device
 * @to: room for SRNIC_LEDGER_SIZE lines; oldest first
 *
 * Context: process or softirq.
 * Return: how many there are.
 */
u32 srnic_ledger_copy(struct srnic_ledger *ledger, struct srnic_refusal *to)
{
	u32 i, n;

	spin_lock_bh(&ledger->lock);
	n = min_t(u64, ledger->count, SRNIC_LEDGER_SIZE);
	for (i = 0; i < n; i++)
		to[i] = ledger->line[(ledger->count - n + i) % SRNIC_LEDGER_SIZE];
	spin_unlock_bh(&ledger->lock);
	return n;
}

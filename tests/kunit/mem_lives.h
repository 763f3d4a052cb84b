/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lives of keys by the million, for the suites that are about many of them.
 */
#ifndef MEM_LIVES_H
#define MEM_LIVES_H

#include <kunit/test.h>
#include <linux/err.h>
#include <linux/vmalloc.h>
#include <rdma/ib_verbs.h>

#include "../../drivers/srnic/mpt.h"

#define ORDER	8
#define SLOTS	BIT(ORDER)
#define HANDLES	BIT(24)

/* Native speed: what is promised, in full. */
#define WHOLE	(!IS_ENABLED(CONFIG_KASAN))

static inline void free_array(void *p)
{
	vfree(p);
}

static inline void *new_array(struct kunit *test, size_t n, size_t size)
{
	void *p = vcalloc(n, size);

	KUNIT_ASSERT_NOT_NULL(test, p);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, free_array, p), 0);
	return p;
}

static inline struct srnic_mpt *new_mpt(struct kunit *test, unsigned int order)
{
	struct srnic_mpt *mpt = srnic_mpt_create(order);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mpt);
	return mpt;
}

static inline struct srnic_mpt_entry *new_entry(struct kunit *test,
						struct srnic_mpt *mpt)
{
	struct srnic_mpt_entry *e = srnic_mpt_alloc(mpt);

	if (IS_ERR(e))
		KUNIT_FAIL_AND_ABORT(test, "no slot");
	e->pdn = 3;
	e->access = IB_ACCESS_REMOTE_READ;
	e->iova = 0x1000;
	e->length = 0x1000;
	srnic_mpt_publish(e);
	return e;
}

static inline void end_life(struct srnic_mpt *mpt, struct srnic_mpt_entry *e)
{
	srnic_mpt_kill(mpt, e, SRNIC_MPT_INVALID);
	srnic_mpt_free(mpt, e);
}

/* Where nobody presents the key, it need not be published either. */
static inline u32 next_key(struct kunit *test, struct srnic_mpt *mpt)
{
	struct srnic_mpt_entry *e = srnic_mpt_alloc(mpt);
	u32 key;

	if (IS_ERR(e))
		KUNIT_FAIL_AND_ABORT(test, "no slot");
	key = e->key;
	srnic_mpt_free(mpt, e);
	return key;
}

#endif /* MEM_LIVES_H */

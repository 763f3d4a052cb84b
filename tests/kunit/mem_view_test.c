// SPDX-License-Identifier: GPL-2.0
/* What is told of the table's entries, and who is told that a life has ended. */
#include <kunit/test.h>
#include <linux/err.h>
#include <rdma/ib_verbs.h>

#include "../../drivers/srnic/mpt.h"
#include "../../drivers/srnic/mtt.h"

#define ORDER	13	/* two chunks */

static struct srnic_mpt_entry *new_entry(struct kunit *test, struct srnic_mpt *mpt)
{
	struct srnic_mpt_entry *e = srnic_mpt_alloc(mpt);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, e);
	return e;
}

static void view_states(struct kunit *test)
{
	struct srnic_mpt *mpt = srnic_mpt_create(ORDER);
	struct srnic_mtt *mtt = srnic_mtt_alloc(3);
	struct srnic_mpt_view v;
	struct srnic_mpt_entry *e;
	u32 i, slot;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mpt);
	KUNIT_ASSERT_NOT_NULL(test, mtt);
	KUNIT_EXPECT_FALSE(test, srnic_mpt_view(mpt, 0, &v));
	KUNIT_EXPECT_EQ(test, srnic_mpt_next_used(mpt, 0), 1 << ORDER);
	/* three runs: each two pages away from the one before */
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, srnic_mtt_add(mtt, i * 3 * PAGE_SIZE + PAGE_SIZE,
						    PAGE_SIZE, false), 0);
	e = new_entry(test, mpt);
	slot = e->slot;
	KUNIT_EXPECT_TRUE(test, srnic_mpt_view(mpt, slot, &v));
	KUNIT_EXPECT_EQ(test, v.state, SRNIC_MPT_RESERVED);
	KUNIT_EXPECT_EQ(test, v.key, e->key);
	KUNIT_EXPECT_EQ(test, v.runs, 0);

	e->pdn = 7;
	e->access = IB_ACCESS_REMOTE_READ;
	e->iova = 0x123000;
	e->length = 3 * PAGE_SIZE;
	e->mtt = mtt;
	KUNIT_EXPECT_TRUE(test, srnic_mpt_publish(e));
	KUNIT_EXPECT_TRUE(test, srnic_mpt_view(mpt, slot, &v));
	KUNIT_EXPECT_EQ(test, v.state, SRNIC_MPT_VALID);
	KUNIT_EXPECT_EQ(test, v.kind, SRNIC_MPT_MR);
	KUNIT_EXPECT_EQ(test, v.pdn, 7);
	KUNIT_EXPECT_EQ(test, v.access, IB_ACCESS_REMOTE_READ);
	KUNIT_EXPECT_EQ(test, v.qpn, SRNIC_MPT_ANY_QP);
	KUNIT_EXPECT_EQ(test, v.iova, 0x123000);
	KUNIT_EXPECT_EQ(test, v.length, 3 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, v.runs, 3);
	KUNIT_EXPECT_EQ(test, v.users, 0);
	KUNIT_EXPECT_LT(test, v.age, 5);

	/* one call ends the life; what it had may be given back */
	KUNIT_EXPECT_TRUE(test, srnic_mpt_kill(mpt, e, SRNIC_MPT_REVOKED));
	KUNIT_EXPECT_FALSE(test, srnic_mpt_kill(mpt, e, SRNIC_MPT_INVALID));
	srnic_mtt_free(mtt);
	KUNIT_EXPECT_TRUE(test, srnic_mpt_view(mpt, slot, &v));
	KUNIT_EXPECT_EQ(test, v.state, SRNIC_MPT_REVOKED);
	KUNIT_EXPECT_EQ(test, v.runs, 0);
	srnic_mpt_free(mpt, e);
	KUNIT_EXPECT_FALSE(test, srnic_mpt_view(mpt, slot, &v));

	/* one that never lived */
	e = new_entry(test, mpt);
	KUNIT_EXPECT_FALSE(test, srnic_mpt_kill(mpt, e, SRNIC_MPT_REVOKED));
	KUNIT_EXPECT_FALSE(test, srnic_mpt_publish(e));
	srnic_mpt_free(mpt, e);
	srnic_mpt_destroy(mpt);
}

/* All that live are found, and nothing else, across chunks. */
static void view_walk(struct kunit *test)
{
	struct srnic_mpt *mpt = srnic_mpt_create(ORDER);
	u32 i, n = 0, used = 5000, slot;
	struct srnic_mpt_entry **e;
	struct srnic_mpt_view v;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mpt);
	e = kunit_kcalloc(test, used, sizeof(*e), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, e);
	for (i = 0; i < used; i++)
		e[i] = new_entry(test, mpt);
	for (i = 0; i < used; i++)
		if (i % 7)
			srnic_mpt_free(mpt, e[i]);
	for (slot = srnic_mpt_next_used(mpt, 0); slot < 1 << ORDER;
	     slot = srnic_mpt_next_used(mpt, slot + 1)) {
		KUNIT_ASSERT_TRUE(test, srnic_mpt_view(mpt, slot, &v));
		KUNIT_ASSERT_EQ(test, v.key, e[7 * n]->key);
		n++;
	}
	KUNIT_EXPECT_EQ(test, n, DIV_ROUND_UP(used, 7));
	KUNIT_EXPECT_EQ(test, n, srnic_mpt_live(mpt));
	for (i = 0; i < used; i += 7)
		srnic_mpt_free(mpt, e[i]);
	srnic_mpt_destroy(mpt);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(view_states),
	KUNIT_CASE(view_walk),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_view",
	.test_cases = cases,
};

kunit_test_suite(suite);

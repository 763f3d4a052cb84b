// SPDX-License-Identifier: GPL-2.0
/*
 * Each step of each registration fails, one after the other: nothing stays behind,
 * no key is born, and what was there before works as before. What the kernel
 * allocates on the driver's behalf fails in tests/vm/keys_debug.t.
 */
#include <linux/err.h>
#include <linux/mman.h>

#include "../../drivers/srnic/frmr.h"
#include "dmabuf_exporter.h"
#include "mr_alloc.h"
#include "mr_fixture.h"

struct mr_allocs mr_allocs;

#define RO	IB_ACCESS_REMOTE_READ
#define MOST	50	/* steps of a path; more are a loop without end */

/**
 * struct fail - what the paths work on
 * @f: as all tests have it
 * @x: a dma-buf
 * @mr: the region, of the path under test
 * @mw: the window
 * @mpt: another table
 */
struct fail {
	struct fixture *f;
	struct exporter *x;
	struct srnic_mr *mr;
	struct srnic_mw mw;
	struct srnic_mpt *mpt;
};

static int made(struct fail *t, struct srnic_mr *mr)
{
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	t->mr = mr;
	return 0;
}

static int reg_user(struct fail *t)
{
	return made(t, reg(t->f, 0, PAGE_SIZE, RW));
}

static int reg_nothing(struct fail *t)
{
	return made(t, reg(t->f, 0, 0, RW));
}

static int reg_peer(struct fail *t)
{
	struct srnic_mr *mr;

	fake.claim = true;
	mr = reg(t->f, 0, PAGE_SIZE, RW);
	fake.claim = false;
	return made(t, mr);
}

static int reg_dmabuf(struct fail *t)
{
	return made(t, srnic_mr_reg_dmabuf(t->f->mpt, t->f->ibdev, PDN,
					   &t->f->ibdev->dev, t->x->fd, 0, t->x->size,
					   IOVA, RW));
}

static int reg_dma(struct fail *t)
{
	return made(t, srnic_mr_reg_dma(t->f->mpt, t->f->ibdev, PDN, RW));
}

static int alloc_fast(struct fail *t)
{
	return made(t, srnic_frmr_alloc(t->f->mpt, t->f->ibdev, PDN, 16));
}

static void dereg(struct fail *t)
{
	srnic_mr_destroy(t->mr);
	t->mr = NULL;
}

static int alloc_window(struct fail *t)
{
	return srnic_mw_alloc(&t->f->mws, &t->mw, PDN, IB_MW_TYPE_2);
}

static void dealloc_window(struct fail *t)
{
	srnic_mw_dealloc(&t->f->mws, &t->mw);
}

/* As a device does it (dev_init()), and a first key. */
static int new_table(struct fail *t)
{
	struct srnic_mpt *mpt = srnic_mpt_create(8);
	struct srnic_mr *mr;
	int err;

	if (IS_ERR(mpt))
		return PTR_ERR(mpt);
	err = srnic_mpt_use_cache(mpt, 64, NULL);
	if (err)
		goto destroy;
	mr = srnic_mr_reg_dma(mpt, t->f->ibdev, PDN, RW);
	if (IS_ERR(mr)) {
		err = PTR_ERR(mr);
		goto destroy;
	}
	t->mpt = mpt;
	t->mr = mr;
	return 0;

destroy:
	srnic_mpt_destroy(mpt);
	return err;
}

static void end_table(struct fail *t)
{
	dereg(t);
	srnic_mpt_destroy(t->mpt);
	t->mpt = NULL;
}

static int move_to(struct fail *t, u64 off, u64 length)
{
	const struct srnic_mr_rereg to = {
		.flags = IB_MR_REREG_TRANS, .start = t->f->user + off,
		.length = length, .iova = IOVA,
	};

	return srnic_mr_rereg(t->mr, &to);
}

static int to_page(struct fail *t)
{
	return move_to(t, PAGE_SIZE, PAGE_SIZE);
}

static int to_nothing(struct fail *t)
{
	return move_to(t, 0, 0);
}

static void back_to_page(struct fail *t)
{
	move_to(t, 0, PAGE_SIZE);
}

static void back_to_nothing(struct fail *t)
{
	move_to(t, 0, 0);
}

static int to_writable(struct fail *t)
{
	const struct srnic_mr_rereg to = {
		.flags = IB_MR_REREG_ACCESS, .access = RW,
	};

	return srnic_mr_rereg(t->mr, &to);
}

static int reg_read_only(struct fail *t)
{
	return made(t, reg(t->f, 0, PAGE_SIZE, RO));
}

static void back_to_read_only(struct fail *t)
{
	dereg(t);
	reg_read_only(t);
}

static const struct reg_path {
	const char *name;
	int (*prepare)(struct fail *t);	/* a region that is there before */
	int (*call)(struct fail *t);
	void (*undo)(struct fail *t);
	u32 steps;			/* allocations of the driver's own */
} paths[] = {
	{ "a program's memory", NULL, reg_user, dereg, 3 },
	{ "no bytes", NULL, reg_nothing, dereg, 1 },
	{ "a donor's memory", NULL, reg_peer, dereg, 3 },
	{ "a dma-buf", NULL, reg_dmabuf, dereg, 4 },
	{ "all kernel memory", NULL, reg_dma, dereg, 1 },
	{ "fast registration", NULL, alloc_fast, dereg, 3 },
	{ "a window", NULL, alloc_window, dealloc_window, 1 },
	{ "a key table, its cache, its first key", NULL, new_table, end_table, 6 },
	{ "other memory", reg_user, to_page, back_to_page, 2 },
	{ "from no bytes to some", reg_nothing, to_page, back_to_nothing, 2 },
	{ "to no bytes", reg_user, to_nothing, back_to_page, 0 },
	{ "from a dma-buf to RAM", reg_dmabuf, to_page, NULL, 2 },
	{ "to be written", reg_read_only, to_writable, back_to_read_only, 2 },
};

/**
 * struct state - all that a registration takes
 * @held: allocations
 * @live: slots
 * @valid: keys that work
 * @peers: holds on donors' memory
 * @steps: that the exporter of the dma-buf has seen done
 */
struct state {
	int held;
	u32 live;
	u32 valid;
	int peers;
	int steps;
};

static struct state state_of(const struct fail *t)
{
	struct state s = {
		.held = atomic_read(&mr_allocs.held),
		.live = srnic_mpt_live(t->f->mpt),
		.peers = fake.held,
		.steps = exporter_holds(t->x),
	};
	struct srnic_mpt_view view;
	u32 i;

	for (i = 0; i < srnic_mpt_slots(t->f->mpt); i++)
		if (srnic_mpt_view(t->f->mpt, i, &view))
			s.valid += view.state == SRNIC_MPT_VALID;
	return s;
}

static void expect_state(struct kunit *test, const struct fail *t,
			 const struct state *want, const char *name, u32 nth)
{
	const struct state now = state_of(t);

	KUNIT_EXPECT_EQ_MSG(test, now.held, want->held, "%s, step %u", name, nth);
	KUNIT_EXPECT_EQ_MSG(test, now.live, want->live, "%s, step %u", name, nth);
	KUNIT_EXPECT_EQ_MSG(test, now.valid, want->valid, "%s, step %u", name, nth);
	KUNIT_EXPECT_EQ_MSG(test, now.peers, want->peers, "%s, step %u", name, nth);
	KUNIT_EXPECT_EQ_MSG(test, now.steps, want->steps, "%s, step %u", name, nth);
}

/* What the region of before says. */
struct said {
	u32 key;
	u64 iova;
	u64 length;
	u32 access;
	u8 byte;
	enum srnic_key_reason why;
};

static struct said ask(struct fail *t)
{
	struct said s = {};

	if (!t->mr)
		return s;
	s.key = t->mr->ibmr.rkey;
	s.iova = t->mr->ibmr.iova;
	s.length = t->mr->ibmr.length;
	s.access = t->mr->user.e->access;
	s.why = get(t->f, s.key, 0, 1, &s.byte);
	return s;
}

static void expect_same(struct kunit *test, struct fail *t, const struct said *want,
			const char *name, u32 nth)
{
	struct said now = ask(t);

	KUNIT_EXPECT_EQ_MSG(test, now.key, want->key, "%s, step %u", name, nth);
	KUNIT_EXPECT_TRUE_MSG(test, now.iova == want->iova, "%s, step %u", name, nth);
	KUNIT_EXPECT_TRUE_MSG(test, now.length == want->length, "%s, step %u", name,
			      nth);
	KUNIT_EXPECT_EQ_MSG(test, now.access, want->access, "%s, step %u", name, nth);
	KUNIT_EXPECT_EQ_MSG(test, now.why, want->why, "%s, step %u", name, nth);
	KUNIT_EXPECT_EQ_MSG(test, now.byte, want->byte, "%s, step %u", name, nth);
}

/* The first step fails, the second, ... until none is left to fail. */
static void sweep(struct kunit *test, struct fail *t, const struct reg_path *p)
{
	struct state before;
	struct said said;
	u32 nth;

	if (p->prepare)
		KUNIT_ASSERT_EQ_MSG(test, p->prepare(t), 0, "%s", p->name);
	before = state_of(t);
	said = ask(t);
	for (nth = 1; nth < MOST; nth++) {
		bool failed;
		int err;

		atomic_set(&mr_allocs.fail_in, nth);
		err = p->call(t);
		failed = !atomic_xchg(&mr_allocs.fail_in, 0);
		if (!failed) {
			KUNIT_EXPECT_EQ_MSG(test, err, 0, "%s", p->name);
			break;
		}
		KUNIT_ASSERT_EQ_MSG(test, err, -ENOMEM, "%s, step %u", p->name, nth);
		expect_state(test, t, &before, p->name, nth);
		expect_same(test, t, &said, p->name, nth);
	}
	KUNIT_EXPECT_EQ_MSG(test, nth - 1, p->steps, "%s", p->name);
	if (p->undo) {
		p->undo(t);
		expect_state(test, t, &before, p->name, nth);
	}
	if (t->mr)
		dereg(t);
}

static struct fail *new_fail(struct kunit *test)
{
	struct fail *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	t->f = new_fixture(test, PROT_READ | PROT_WRITE);
	t->x = exporter_new(test, PAGE_SIZE);
	/* the table's memory for slots is there from now on */
	KUNIT_ASSERT_EQ(test, reg_dma(t), 0);
	dereg(t);
	return t;
}

static void end_fail(struct kunit *test, struct fail *t)
{
	exporter_end(test, t->x);
	end_fixture(test, t->f);
}

static void fail_each_allocation(struct kunit *test)
{
	struct fail *t = new_fail(test);
	const struct state before = state_of(t);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(paths); i++)
		sweep(test, t, &paths[i]);
	expect_state(test, t, &before, "all in all", 0);
	end_fail(test, t);
}

/* The exporter of a dma-buf says no. (Where vmap fails the kernel warns.) */
static void fail_each_step_of_dmabuf(struct kunit *test)
{
	static const struct {
		enum exporter_step which;
		int err;
	} rows[] = {
		{ EXPORTER_ATTACH, -EPERM },
		{ EXPORTER_PIN, -EBUSY },
		{ EXPORTER_CPU_ACCESS, -EINTR },
	};
	struct fail *t = new_fail(test);
	const struct state before = state_of(t);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		t->x->err[rows[i].which] = rows[i].err;
		KUNIT_EXPECT_EQ_MSG(test, reg_dmabuf(t), rows[i].err, "row %u", i);
		t->x->err[rows[i].which] = 0;
		expect_state(test, t, &before, "step of a dma-buf", i);
		KUNIT_ASSERT_EQ(test, reg_dmabuf(t), 0);
		dereg(t);
		expect_state(test, t, &before, "a dma-buf", i);
	}
	end_fail(test, t);
}

/* An exporter that has no vmap: there is nothing that a device without DMA could use. */
static void fail_dmabuf_hidden(struct kunit *test)
{
	struct fail *t = new_fail(test);
	struct exporter *seen = t->x, *hidden = exporter_new_hidden(test, PAGE_SIZE);
	struct state before;

	t->x = hidden;
	before = state_of(t);
	KUNIT_EXPECT_EQ(test, reg_dmabuf(t), -EOPNOTSUPP);
	expect_state(test, t, &before, "a hidden dma-buf", 0);
	exporter_end(test, hidden);
	t->x = seen;
	end_fail(test, t);
}

/* What fails takes no key: no value is used again the sooner for it. */
static void fail_takes_no_key(struct kunit *test)
{
	struct fail *t = new_fail(test);
	struct srnic_mr *mr[3];
	u32 slot[3], i, n;

	for (i = 0; i < 3; i++) {
		for (n = 0; i == 2 && n < 100; n++) {
			t->x->err[EXPORTER_PIN] = -EBUSY;
			KUNIT_EXPECT_EQ(test, reg_dmabuf(t), -EBUSY);
			t->x->err[EXPORTER_PIN] = 0;
			KUNIT_EXPECT_EQ(test, PTR_ERR(srnic_mr_reg_user(t->f->mpt, t->f->ibdev,
									PDN, NULL, PAGE_SIZE,
									1, IOVA, RW)), -EFAULT);
		}
		KUNIT_ASSERT_EQ(test, reg_user(t), 0);
		mr[i] = t->mr;
		slot[i] = t->mr->user.e->slot;
	}
	KUNIT_EXPECT_EQ(test, slot[2] - slot[1], slot[1] - slot[0]);
	for (i = 0; i < 3; i++) {
		t->mr = mr[i];
		dereg(t);
	}
	end_fail(test, t);
}

/*
 * The table grows because somebody registers memory, and is charged to whom that is,
 * as the rest of a registration: no program's use of the kernel's memory is nobody's.
 */
static void fail_nothing_for_free(struct kunit *test)
{
	struct fail *t = new_fail(test);
	u32 i;

	atomic_set(&mr_allocs.unaccounted, 0);
	for (i = 0; i < ARRAY_SIZE(paths); i++) {
		if (paths[i].call == new_table)
			continue;
		if (paths[i].prepare)
			KUNIT_ASSERT_EQ(test, paths[i].prepare(t), 0);
		KUNIT_EXPECT_EQ_MSG(test, paths[i].call(t), 0, "%s", paths[i].name);
		if (paths[i].undo)
			paths[i].undo(t);
		if (t->mr)
			dereg(t);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&mr_allocs.unaccounted), 0);
	/* a table is the device's; its growth is not */
	t->mpt = srnic_mpt_create(8);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->mpt);
	KUNIT_EXPECT_GT(test, atomic_xchg(&mr_allocs.unaccounted, 0), 0);
	KUNIT_ASSERT_EQ(test, made(t, srnic_mr_reg_dma(t->mpt, t->f->ibdev, PDN, RW)), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&mr_allocs.unaccounted), 0);
	end_table(t);
	end_fail(test, t);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(fail_each_allocation),
	KUNIT_CASE(fail_each_step_of_dmabuf),
	KUNIT_CASE(fail_dmabuf_hidden),
	KUNIT_CASE(fail_takes_no_key),
	KUNIT_CASE(fail_nothing_for_free),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_mr_fail",
	.test_cases = cases,
};

kunit_test_suite(suite);

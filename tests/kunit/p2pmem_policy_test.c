// SPDX-License-Identifier: GPL-2.0
/*
 * The rules: distances in made-up trees, against an oracle that knows only who
 * is above whom, pair by pair; the verdicts, as a table written out; the choice
 * of a donor, against an oracle that strikes out candidates.
 */
#include <kunit/test.h>
#include <linux/prandom.h>

#include "../../drivers/p2pmem/policy.c"

#define NODES		40
#define TREES		400

/**
 * struct node - one of a made-up tree
 * @parent: the bridge above; a host bridge has none
 * @host: it is a host bridge
 * @port: it is a root port
 */
struct node {
	struct node *parent;
	bool host;
	bool port;
};

static void *node_above(void *node)
{
	struct node *parent = ((struct node *)node)->parent;

	return parent && !parent->host ? parent : NULL;
}

static bool node_root_port(void *bridge)
{
	return ((struct node *)bridge)->port;
}

static void *node_root(void *node)
{
	struct node *n = node;

	while (n->parent)
		n = n->parent;
	return n;
}

static const struct p2pmem_tree fake_tree = {
	.above		= node_above,
	.root_port	= node_root_port,
	.root		= node_root,
};

/**
 * struct forest - host bridges and what is below
 * @node: all of them, parents before children
 * @above: is the second one above the first? The oracle's only knowledge.
 */
struct forest {
	struct node node[NODES];
	bool above[NODES][NODES];
};

static void grow(struct forest *f, struct rnd_state *rng)
{
	int hosts = 1 + prandom_u32_state(rng) % 3, i, j, up;

	memset(f, 0, sizeof(*f));
	for (i = 0; i < NODES; i++) {
		if (i < hosts) {
			f->node[i].host = true;
			continue;
		}
		/* now and then a long chain of bridges */
		up = prandom_u32_state(rng) % 4 ? prandom_u32_state(rng) % i :
						  i - 1;
		f->node[i].parent = &f->node[up];
		f->node[i].port = f->node[up].host ?
					prandom_u32_state(rng) % 4 != 0 :
					prandom_u32_state(rng) % 16 == 0;
		f->above[i][up] = true;
		for (j = 0; j < NODES; j++)
			f->above[i][j] |= f->above[up][j];
	}
}

/* From the matrix, without a step up. */
static enum p2pmem_distance naive(const struct forest *f, int a, int b)
{
	bool host = false;
	int i;

	if (a == b)
		return P2PMEM_FUNCTION;
	for (i = 0; i < NODES; i++) {
		if (!f->above[a][i] || !f->above[b][i])
			continue;
		if (f->node[i].host)
			host = true;
		else if (!f->node[i].port)
			return P2PMEM_SWITCH;
	}
	return host ? P2PMEM_ROOT : P2PMEM_ANY;
}

static void distance_oracle(struct kunit *test)
{
	struct forest *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	unsigned int seen[P2PMEM_DISTANCES] = {};
	struct rnd_state rng;
	int round, a, b;

	KUNIT_ASSERT_NOT_NULL(test, f);
	prandom_seed_state(&rng, 4);
	for (round = 0; round < TREES; round++) {
		grow(f, &rng);
		for (a = 0; a < NODES; a++) {
			for (b = 0; b < NODES; b++) {
				enum p2pmem_distance want;

				if (f->node[a].host || f->node[b].host)
					continue;
				want = naive(f, a, b);
				seen[want]++;
				KUNIT_ASSERT_EQ(test, want,
						p2pmem_policy_distance(&fake_tree,
								       &f->node[a],
								       &f->node[b]));
			}
		}
	}
	for (a = 0; a < P2PMEM_DISTANCES; a++)
		KUNIT_EXPECT_GT(test, seen[a], 1000);
}

/* The trees that people have, by name. */
static void distance_known(struct kunit *test)
{
	struct node host = { .host = true }, other = { .host = true };
	struct node port1 = { .parent = &host, .port = true };
	struct node port2 = { .parent = &host, .port = true };
	struct node up = { .parent = &port1 };
	struct node down1 = { .parent = &up }, down2 = { .parent = &up };
	struct node donor = { .parent = &down1 };
	struct node sister = { .parent = &down1 };
	struct node peer = { .parent = &down2 };
	struct node alone = { .parent = &port2 }, twin = { .parent = &port2 };
	struct node integrated = { .parent = &host };
	struct node far = { .parent = &other };
	const struct {
		struct node *a, *b;
		enum p2pmem_distance want;
	} table[] = {
		{ &donor, &donor, P2PMEM_FUNCTION },
		{ &donor, &sister, P2PMEM_SWITCH },
		{ &donor, &peer, P2PMEM_SWITCH },
		{ &donor, &alone, P2PMEM_ROOT },
		{ &donor, &integrated, P2PMEM_ROOT },
		{ &donor, &far, P2PMEM_ANY },
		/* two functions right below a root port */
		{ &alone, &twin, P2PMEM_ROOT },
		/* the bridges themselves */
		{ &donor, &down1, P2PMEM_SWITCH },
		{ &donor, &up, P2PMEM_ROOT },
		{ &donor, &port1, P2PMEM_ROOT },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		KUNIT_EXPECT_EQ_MSG(test, table[i].want,
				    p2pmem_policy_distance(&fake_tree, table[i].a,
							   table[i].b),
				    "row %d", i);
		KUNIT_EXPECT_EQ_MSG(test, table[i].want,
				    p2pmem_policy_distance(&fake_tree, table[i].b,
							   table[i].a),
				    "row %d, from the other end", i);
	}
}

static void verdict_table(struct kunit *test)
{
	static const struct {
		const char *level;
		/* function, switch, root, any */
		bool allowed[P2PMEM_DISTANCES];
	} table[] = {
		{ "function",	{ true,	false,	false,	false } },
		{ "switch",	{ true,	true,	false,	false } },
		{ "root",	{ true,	true,	true,	false } },
		{ "any",	{ true,	true,	true,	true } },
	};
	enum p2pmem_distance level;
	int i, d;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		KUNIT_ASSERT_EQ(test, p2pmem_policy_parse(table[i].level, &level), 0);
		KUNIT_EXPECT_STREQ(test, p2pmem_policy_name(level),
				   table[i].level);
		for (d = 0; d < P2PMEM_DISTANCES; d++)
			KUNIT_EXPECT_EQ_MSG(test, p2pmem_policy_allows(level, d),
					    table[i].allowed[d], "%s, %s",
					    table[i].level, p2pmem_policy_name(d));
	}
}

static void level_words(struct kunit *test)
{
	static const char * const bad[] = {
		"", "\n", "an", "anyone", "any ", " any", "any\n\n", "ANY", "0",
		"switch,root",
	};
	enum p2pmem_distance level = P2PMEM_ROOT;
	int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ_MSG(test, p2pmem_policy_parse(bad[i], &level),
				    -EINVAL, "'%s'", bad[i]);
	KUNIT_EXPECT_EQ(test, level, P2PMEM_ROOT);
	KUNIT_EXPECT_EQ(test, p2pmem_policy_parse("switch\n", &level), 0);
	KUNIT_EXPECT_EQ(test, level, P2PMEM_SWITCH);
}

/* Strike out whoever isn't as near as the nearest, and so on. */
static int naive_best(const struct p2pmem_candidate *c, int n)
{
	int nearest = P2PMEM_ANY, best = -1, i;
	u64 most = 0;

	for (i = 0; i < n; i++)
		nearest = min_t(int, nearest, c[i].distance);
	for (i = 0; i < n; i++)
		if (c[i].distance == nearest)
			most = max(most, c[i].available);
	for (i = 0; i < n; i++)
		if (c[i].distance == nearest && c[i].available == most &&
		    (best < 0 || c[i].number < c[best].number))
			best = i;
	return best;
}

static void best_oracle(struct kunit *test)
{
	struct p2pmem_candidate c[8];
	int round, n, i, best;
	struct rnd_state rng;

	prandom_seed_state(&rng, 5);
	for (round = 0; round < 5000; round++) {
		n = 1 + prandom_u32_state(&rng) % ARRAY_SIZE(c);
		for (i = 0; i < n; i++)
			c[i] = (struct p2pmem_candidate) {
				.distance = prandom_u32_state(&rng) % 4,
				.available = (u64)(prandom_u32_state(&rng) % 3) << 33,
				/* all different, in no order */
				.number = (i * 5 + round) % 8,
			};
		for (best = 0, i = 1; i < n; i++)
			if (p2pmem_policy_better(&c[i], &c[best]))
				best = i;
		KUNIT_ASSERT_EQ(test, best, naive_best(c, n));
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(distance_oracle),
	KUNIT_CASE(distance_known),
	KUNIT_CASE(verdict_table),
	KUNIT_CASE(level_words),
	KUNIT_CASE(best_oracle),
	{}
};

static struct kunit_suite suite = {
	.name = "p2pmem_policy",
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit: p2pmem's rules");
MODULE_LICENSE("GPL");

// SPDX-License-Identifier: GPL-2.0
/*
 * Keys that are known don't tell the next one.
 *
 * Secrets are drawn anew in each run. Limits of the statistics stand where a
 * table of truly random keys fails less often than once in 10^9 runs; and each
 * statistic is shown bad keys as well, which it has to find fault with.
 */
#include <linux/jhash.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "mem_lives.h"
#include "rng.h"

/*
 * Bad keys: what other codecs do, and worse, for the statistics to be tried on.
 * @i: number of the registration; the slots come one after the other
 * @last: the key before
 */
typedef u32 (*bad_key_fn)(u32 i, u32 last);

/* An index that counts up and a random low byte, as rdma_rxe has it. */
static u32 bad_rxe(u32 i, u32 last)
{
	return i << 8 | (jhash_1word(i, 1) & 255);
}

static u32 bad_counter(u32 i, u32 last)
{
	return i << 8 | (i * 0x17 & 255);
}

/* The slot above, the life in the low byte, as many devices have it. */
static u32 bad_low_life(u32 i, u32 last)
{
	return jhash_1word(i % SLOTS, 1) << 8 | (i / SLOTS & 255);
}

static u32 bad_high_life(u32 i, u32 last)
{
	return jhash_1word(i % SLOTS, 1) + (i / SLOTS << 8);
}

/* A secret for the slot and one for the life, put together. */
static u32 bad_sum(u32 i, u32 last)
{
	return jhash_1word(i % SLOTS, 1) + jhash_1word(i / SLOTS, 2);
}

static u32 bad_xor(u32 i, u32 last)
{
	return jhash_1word(i % SLOTS, 1) ^ jhash_1word(i / SLOTS, 2);
}

/* Each slot has a secret step of its own. */
static u32 bad_stride(u32 i, u32 last)
{
	u32 slot = i % SLOTS;

	return jhash_1word(slot, 1) + i / SLOTS * jhash_1word(slot, 2);
}

static u32 bad_congruential(u32 i, u32 last)
{
	return last * 1664525 + 1013904223;
}

/* No fault but that one step comes once in 2^19 times. */
static u32 bad_rarely(u32 i, u32 last)
{
	u32 x = jhash_1word(i, 1);

	return x >> 13 ? jhash_1word(i, 2) : last + 0x12345678;
}

/* 2^19 different steps, all the same chance. */
static u32 bad_narrow(u32 i, u32 last)
{
	return last + (jhash_1word(i, 1) >> 13) * 0x9e3779b1;
}

/* log2(x) in thousandths, rounded down to 1/1024. */
static u32 log2_milli(u64 x)
{
	u32 e = ilog2(x), bits = e, n;
	u64 m = e > 31 ? x >> (e - 31) : x << (31 - e);

	for (n = 0; n < 10; n++) {
		m = m * m >> 31;
		bits = bits << 1 | m >> 32;
		m >>= m >> 32;
	}
	return bits * 1000 >> 10;
}

/* Bits of something that happens @count times in @n. */
static u32 entropy_milli(u64 n, u64 count)
{
	u32 all = log2_milli(n), some = log2_milli(max(count, 1));

	return all > some ? all - some : 0;
}

#define STEPS	BIT(24)

/**
 * struct steps - from each key to the next one of the same process
 * @key: differences of the keys
 * @spare: as long, for sorting
 * @start: for sorting: where the next key with this byte goes
 * @n: how many
 * @handle: of each difference of two handles: how often it came
 * @nhandle: how many of these; they add up over several runs
 */
struct steps {
	u32 *key;
	u32 *spare;
	u32 *start;
	u32 n;
	u32 *handle;
	u32 nhandle;
};

static void add_step(struct steps *s, u32 from, u32 to)
{
	s->key[s->n++] = to - from;
	s->handle[((to >> 8) - (from >> 8)) & (HANDLES - 1)]++;
	s->nhandle++;
	if (s->n % 4096 == 0)
		cond_resched();
}

/* By one byte at a time; sort() takes ten times as long. */
static void sort_steps(struct steps *s)
{
	u32 *start = s->start;
	u32 shift, i;

	for (shift = 0; shift < 32; shift += 8) {
		memset(start, 0, 257 * sizeof(*start));
		for (i = 0; i < s->n; i++)
			start[(s->key[i] >> shift & 255) + 1]++;
		for (i = 1; i < 256; i++)
			start[i] += start[i - 1];
		for (i = 0; i < s->n; i++)
			s->spare[start[s->key[i] >> shift & 255]++] = s->key[i];
		swap(s->key, s->spare);
		cond_resched();
	}
}

/* The most frequent step, and the number of pairs of equal ones. */
static u32 count_equal(const struct steps *s, u64 *pairs)
{
	u32 i, run = 0, most = 0;

	*pairs = 0;
	for (i = 0; i < s->n; i++) {
		run = i && s->key[i] == s->key[i - 1] ? run + 1 : 1;
		*pairs += run - 1;
		most = max(most, run);
	}
	return most;
}

/*
 * What can be shown, and how. An estimate by the most frequent value can't
 * come out higher than log2(n / what chance alone repeats), so 10^5 steps show
 * 16 bits at best. It takes 2^24: of 2^32 values, chance then has one 3 times,
 * seldom 4, and a step with a probability of 2^-20 comes 16 times. Required is
 * that the upper end of the estimate (NIST SP 800-90B, 6.3.1: 2.576 deviations)
 * is below 2^-20, which 8 times are and 9 aren't; good keys have a step 9 times
 * once in 10^17 runs.
 *
 * That is about the one best guess. Pairs of equal steps tell of many guesses
 * that are all a little too good: n^2 / 2^33 are expected, 7.5 deviations
 * allowed either way.
 */
static bool keys_good(struct kunit *test, struct steps *s, const char *what)
{
	u64 pairs, expected = (u64)s->n * s->n >> 33;
	u64 slack = int_sqrt(expected) * 15 / 2;
	u32 most, bits;
	u64 upper;

	sort_steps(s);
	most = count_equal(s, &pairs);
	upper = most * 1000ull + int_sqrt64(most * 1000000ull) * 2576ull / 1000;
	bits = entropy_milli(s->n * 1000ull, upper);
	kunit_info(test, "%s: %u key steps, one %u times: min-entropy %u, at least %u; %llu pairs: collision entropy %u (1/1000 bit)",
		   what, s->n, most, entropy_milli(s->n, most), bits, pairs,
		   entropy_milli((u64)s->n * s->n / 2, pairs));
	return bits >= 20000 && pairs > expected - slack &&
	       pairs < expected + slack;
}

/*
 * The handle alone, for keys whose low byte their user chooses. There are no
 * more than 2^24 handles, so that chance has more to repeat: of 2^25 steps, one
 * 14 times or so, and 25 times or more once in 10^11 runs. 24 times are 20.4
 * bits. That is the estimate without a margin: a step with a probability of
 * 2^-20 (32 times) passes in 9 of 100 runs, one of 2^-19.5 in 4 of 10^4.
 */
static bool handles_good(struct kunit *test, const struct steps *s,
			 const char *what)
{
	u64 pairs = 0, expected = (u64)s->nhandle * s->nhandle >> 25;
	u64 slack = int_sqrt64(expected) * 8;
	u32 i, bits, most = 0;

	for (i = 0; i < HANDLES; i++) {
		pairs += s->handle[i] * (s->handle[i] - 1ull) / 2;
		most = max(most, s->handle[i]);
	}
	bits = entropy_milli(s->nhandle, most);
	kunit_info(test, "%s: %u handle steps, one %u times: min-entropy %u; %llu pairs: collision entropy %u (1/1000 bit)",
		   what, s->nhandle, most, bits, pairs,
		   entropy_milli((u64)s->nhandle * s->nhandle / 2, pairs));
	return bits >= 20400 && pairs > expected - slack &&
	       pairs < expected + slack;
}

static struct steps new_steps(struct kunit *test)
{
	struct steps s = {};

	if (!WHOLE)
		kunit_skip(test, "takes 2^24 keys; user mode Linux runs it");
	s.key = new_array(test, STEPS, sizeof(*s.key));
	s.spare = new_array(test, STEPS, sizeof(*s.spare));
	s.start = new_array(test, 257, sizeof(*s.start));
	s.handle = new_array(test, HANDLES, sizeof(*s.handle));
	return s;
}

/*
 * One table, @owners processes whose turns are random. No more than 2^24 keys:
 * then handles repeat, as they must.
 */
static void table_steps(struct kunit *test, struct steps *s, u32 owners)
{
	struct srnic_mpt *mpt = new_mpt(test, ORDER);
	struct rnd_state rng;
	u32 last[2], i;

	prandom_seed_state(&rng, 33);
	s->n = 0;
	for (i = 0; i < owners; i++)
		last[i] = next_key(test, mpt);
	for (i = owners; i < STEPS; i++) {
		u32 owner = rng_below(&rng, owners);
		u32 key = next_key(test, mpt);

		add_step(s, last[owner], key);
		last[owner] = key;
	}
	srnic_mpt_destroy(mpt);
}

static void step_entropy(struct kunit *test)
{
	struct steps s = new_steps(test);
	ktime_t start = ktime_get();

	table_steps(test, &s, 1);
	KUNIT_EXPECT_TRUE(test, keys_good(test, &s, "one process"));
	table_steps(test, &s, 2);
	KUNIT_EXPECT_TRUE(test, keys_good(test, &s, "two processes"));
	KUNIT_EXPECT_TRUE(test, handles_good(test, &s, "both"));
	kunit_info(test, "%lld ms", ktime_ms_delta(ktime_get(), start));
}

static void expect_bad_steps(struct kunit *test, struct steps *s,
			     bad_key_fn bad, const char *what)
{
	u32 i, key, last = 0;

	s->n = 0;
	s->nhandle = 0;
	memset(s->handle, 0, HANDLES * sizeof(*s->handle));
	for (i = 0; i < STEPS; i++) {
		key = bad(i, last);
		add_step(s, last, key);
		last = key;
	}
	KUNIT_EXPECT_FALSE_MSG(test, keys_good(test, s, what), "%s", what);
	KUNIT_EXPECT_FALSE_MSG(test, handles_good(test, s, what), "%s", what);
}

static void step_entropy_can_fail(struct kunit *test)
{
	struct steps s = new_steps(test);
	ktime_t start = ktime_get();

	expect_bad_steps(test, &s, bad_rxe, "as rxe");
	expect_bad_steps(test, &s, bad_narrow, "2^19 steps");
	expect_bad_steps(test, &s, bad_rarely, "a step of 2^-19");
	kunit_info(test, "%lld ms", ktime_ms_delta(ktime_get(), start));
}

#define PAIRS	100000
#define CELLS	64

/* Correlations, in thousandths of a deviation, and chi squared. */
struct relation {
	s64 keys;
	s64 keys_next;
	s64 steps;
	s64 steps_next;
	u32 chi;
};

/*
 * Sum of products of the upper halves, about the middle of their range: that
 * and their variance, 2^32 / 12, are known, and needn't be estimated. @step: of
 * the differences to the elements before.
 */
static s64 correlate(const u32 *a, const u32 *b, u32 n, bool step)
{
	s64 sum = 0;
	u32 i;

	for (i = step; i < n; i++) {
		u32 x = step ? a[i] - a[i - 1] : a[i];
		u32 y = step ? b[i] - b[i - 1] : b[i];

		sum += ((s64)(x >> 16) - 32768) * ((s64)(y >> 16) - 32768);
	}
	return div64_s64(sum * 1000, int_sqrt(n) * (s64)357913941);
}

/* The upper bits of both, 64 by 64 cells. */
static u32 chi_squared(struct kunit *test, const u32 *a, const u32 *b, u32 n)
{
	u32 *cell = new_array(test, CELLS * CELLS, sizeof(*cell));
	u64 sum = 0;
	u32 i;

	for (i = 0; i < n; i++)
		cell[(a[i] >> 26) * CELLS + (b[i] >> 26)]++;
	for (i = 0; i < CELLS * CELLS; i++)
		sum += (u64)cell[i] * cell[i];
	return div_u64(sum * CELLS * CELLS, n) - n;
}

static struct relation relate(struct kunit *test, const u32 *a, const u32 *b,
			      const char *what)
{
	struct relation r = {
		.keys = correlate(a, b, PAIRS, false),
		.keys_next = correlate(a + 1, b, PAIRS - 1, false),
		.steps = correlate(a, b, PAIRS, true),
		.steps_next = correlate(a + 1, b, PAIRS - 1, true),
		.chi = chi_squared(test, a, b, PAIRS),
	};

	kunit_info(test, "%s: correlation of keys %lld, of keys and the next %lld, of steps %lld, of steps and the next %lld (1/1000 deviation); chi squared %u (4095)",
		   what, r.keys, r.keys_next, r.steps, r.steps_next, r.chi);
	return r;
}

/* 6.5 deviations: once in 10^10. */
static bool uncorrelated(s64 deviations)
{
	return abs(deviations) < 6500;
}

/* 4095 degrees of freedom, deviation 91: 7.4 of them either way. */
static bool independent(u32 chi)
{
	return chi > 4095 - 680 && chi < 4095 + 680;
}

/* Two processes take turns. */
static void no_correlation(struct kunit *test)
{
	u32 *a = new_array(test, PAIRS, sizeof(*a));
	u32 *b = new_array(test, PAIRS, sizeof(*b));
	struct srnic_mpt *mpt = new_mpt(test, ORDER);
	struct relation r;
	u32 i;

	for (i = 0; i < PAIRS; i++) {
		a[i] = next_key(test, mpt);
		b[i] = next_key(test, mpt);
	}
	r = relate(test, a, b, "two processes");
	KUNIT_EXPECT_TRUE(test, uncorrelated(r.keys));
	KUNIT_EXPECT_TRUE(test, uncorrelated(r.keys_next));
	KUNIT_EXPECT_TRUE(test, uncorrelated(r.steps));
	KUNIT_EXPECT_TRUE(test, uncorrelated(r.steps_next));
	KUNIT_EXPECT_TRUE(test, independent(r.chi));
	srnic_mpt_destroy(mpt);
}

static void no_correlation_can_fail(struct kunit *test)
{
	u32 *a = new_array(test, PAIRS, sizeof(*a));
	u32 *b = new_array(test, PAIRS, sizeof(*b));
	struct relation r;
	u32 i;

	for (i = 0; i < PAIRS; i++) {
		a[i] = bad_rxe(2 * i, 0);
		b[i] = bad_rxe(2 * i + 1, 0);
	}
	r = relate(test, a, b, "as rxe");
	KUNIT_EXPECT_FALSE(test, uncorrelated(r.keys));
	KUNIT_EXPECT_FALSE(test, uncorrelated(r.keys_next));
	KUNIT_EXPECT_FALSE(test, uncorrelated(r.steps));
	KUNIT_EXPECT_FALSE(test, uncorrelated(r.steps_next));
	KUNIT_EXPECT_FALSE(test, independent(r.chi));

	/* one key in 16 is that of the other process */
	for (i = 0; i < PAIRS; i++) {
		a[i] = jhash_1word(i, 1);
		b[i] = i % 16 ? jhash_1word(i, 2) : a[i];
	}
	r = relate(test, a, b, "one in 16");
	KUNIT_EXPECT_FALSE(test, uncorrelated(r.keys));

	/* nothing that is linear */
	for (i = 0; i < PAIRS; i++)
		b[i] = jhash_1word(a[i] >> 27, 3);
	r = relate(test, a, b, "one way");
	KUNIT_EXPECT_FALSE(test, independent(r.chi));
}

#define ROUNDS		391
#define TRIALS		(ROUNDS * SLOTS)
#define HISTORY		(3 * TRIALS)

/**
 * struct past - all that was handed out
 * @key: in order. The table is filled, emptied and filled again, so that the
 *	last life of the slot that is next is SLOTS keys ago
 * @n: how many
 * @follows: of each byte of the key: how often which value followed which
 * @best: which did most often
 */
struct past {
	u32 *key;
	u32 n;
	u32 (*follows)[256][256];
	u8 (*best)[256];
};

typedef u32 (*guess_fn)(const struct past *p);

static u32 ago(const struct past *p, u32 n)
{
	return p->key[p->n - n];
}

static u32 guess_next_handle(const struct past *p)
{
	return ago(p, 1) + 0x100;
}

static u32 guess_next_low(const struct past *p)
{
	return (ago(p, 1) & ~255) | ((ago(p, 1) + 1) & 255);
}

static u32 guess_slots_next_handle(const struct past *p)
{
	return ago(p, SLOTS) + 0x100;
}

static u32 guess_slots_next_low(const struct past *p)
{
	return (ago(p, SLOTS) & ~255) | ((ago(p, SLOTS) + 1) & 255);
}

static u32 guess_step(const struct past *p)
{
	return 2 * ago(p, 1) - ago(p, 2);
}

static u32 guess_slots_step(const struct past *p)
{
	return 2 * ago(p, SLOTS) - ago(p, 2 * SLOTS);
}

/* The slot before changed by this; so will this one. */
static u32 guess_same_sum(const struct past *p)
{
	return ago(p, SLOTS) + ago(p, 1) - ago(p, SLOTS + 1);
}

static u32 guess_same_xor(const struct past *p)
{
	return ago(p, SLOTS) ^ ago(p, 1) ^ ago(p, SLOTS + 1);
}

/* x -> a * x + c: a from the last three, when it can be had. */
static u32 guess_congruential(const struct past *p)
{
	u32 d = ago(p, 3) - ago(p, 4), inverse = d, i;

	/* each time twice as many bits are right; 3 are, of an odd d */
	for (i = 0; i < 4; i++)
		inverse *= 2 - d * inverse;
	return ago(p, 1) + (ago(p, 2) - ago(p, 3)) * inverse *
			   (ago(p, 1) - ago(p, 2));
}

/* What followed most often, byte by byte. */
static u32 guess_follower(const struct past *p)
{
	u32 guess = 0, byte;

	for (byte = 0; byte < 4; byte++) {
		u8 last = ago(p, 1) >> 8 * byte;

		guess |= (u32)p->best[byte][last] << 8 * byte;
	}
	return guess;
}

static const struct {
	guess_fn guess;
	const char *name;
} predictors[] = {
	{ guess_next_handle, "the next handle" },
	{ guess_next_low, "the next low byte" },
	{ guess_slots_next_handle, "the slot's next handle" },
	{ guess_slots_next_low, "the slot's next low byte" },
	{ guess_step, "the last step" },
	{ guess_slots_step, "the slot's last step" },
	{ guess_same_sum, "the step of the slot before" },
	{ guess_same_xor, "the xor of the slot before" },
	{ guess_congruential, "a congruence" },
	{ guess_follower, "the usual follower" },
};

/* How many times a predictor was right about the next key. */
struct score {
	u32 handle;
	u32 top;
	u32 low;
};

/* One more key is known. */
static void learn(struct past *p)
{
	u32 byte;

	p->n++;
	for (byte = 0; byte < 4 && p->n > 1; byte++) {
		u8 from = ago(p, 2) >> 8 * byte, to = ago(p, 1) >> 8 * byte;
		u32 *follows = p->follows[byte][from];

		if (++follows[to] > follows[p->best[byte][from]])
			p->best[byte][from] = to;
	}
}

/*
 * One process fills and empties the table twice, in known order; the next 256
 * keys are another one's, to be guessed. Predictors know everything up to then,
 * of the second process as well.
 */
static void predict(struct past *p, struct score *score)
{
	u32 i;

	for (; p->n < HISTORY; learn(p)) {
		if (p->n / SLOTS % 3 < 2)
			continue;
		for (i = 0; i < ARRAY_SIZE(predictors); i++) {
			u32 wrong = predictors[i].guess(p) ^ p->key[p->n];

			score[i].handle += !(wrong >> 8);
			score[i].top += !(wrong >> 24);
			score[i].low += !(wrong & 255);
		}
		if (p->n % 4096 == 0)
			cond_resched();
	}
}

/*
 * By chance 10^5 guesses at 24 bits are right 0.006 times, and more than 3
 * times once in 10^10; at a byte 391 times, of which 8 deviations are 158.
 */
static bool by_chance(const struct score *s)
{
	return s->handle <= 3 && s->top <= 391 + 158 && s->low <= 391 + 158;
}

static struct past new_past(struct kunit *test)
{
	struct past p = {};

	p.key = new_array(test, HISTORY, sizeof(*p.key));
	p.follows = new_array(test, 4, sizeof(*p.follows));
	p.best = new_array(test, 4, sizeof(*p.best));
	return p;
}

static void unpredictable(struct kunit *test)
{
	struct score score[ARRAY_SIZE(predictors)] = {};
	struct srnic_mpt_entry **live = new_array(test, SLOTS, sizeof(*live));
	struct srnic_mpt *mpt = new_mpt(test, ORDER);
	struct past p = new_past(test);
	ktime_t start = ktime_get();
	u32 i, slot;

	for (i = 0; i < HISTORY; i += SLOTS) {
		for (slot = 0; slot < SLOTS; slot++) {
			live[slot] = new_entry(test, mpt);
			p.key[i + slot] = live[slot]->key;
		}
		for (slot = 0; slot < SLOTS; slot++)
			end_life(mpt, live[slot]);
		cond_resched();
	}
	srnic_mpt_destroy(mpt);
	predict(&p, score);
	for (i = 0; i < ARRAY_SIZE(predictors); i++) {
		kunit_info(test, "%s: of %lu handles %u, first bytes %u, low bytes %u",
			   predictors[i].name, TRIALS, score[i].handle,
			   score[i].top, score[i].low);
		KUNIT_EXPECT_TRUE_MSG(test, by_chance(&score[i]), "%s",
				      predictors[i].name);
	}
	kunit_info(test, "%lld ms", ktime_ms_delta(ktime_get(), start));
}

/* Each codec here has a predictor that beats it, and each predictor has one. */
static void unpredictable_can_fail(struct kunit *test)
{
	static const bad_key_fn bad[] = {
		bad_rxe, bad_counter, bad_low_life, bad_high_life, bad_sum,
		bad_xor, bad_stride, bad_congruential,
	};
	u32 i, n, beaten, beats[ARRAY_SIZE(predictors)] = {};

	for (n = 0; n < ARRAY_SIZE(bad); n++) {
		struct score score[ARRAY_SIZE(predictors)] = {};
		struct past p = new_past(test);
		u32 last = 0;

		for (i = 0; i < HISTORY; i++) {
			last = bad[n](i, last);
			p.key[i] = last;
		}
		predict(&p, score);
		beaten = 0;
		for (i = 0; i < ARRAY_SIZE(predictors); i++) {
			beaten += !by_chance(&score[i]);
			beats[i] += !by_chance(&score[i]);
		}
		KUNIT_EXPECT_GT_MSG(test, beaten, 0, "codec %u", n);
	}
	for (i = 0; i < ARRAY_SIZE(predictors); i++)
		KUNIT_EXPECT_GT_MSG(test, beats[i], 0, "%s", predictors[i].name);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_SLOW(step_entropy),
	KUNIT_CASE_SLOW(step_entropy_can_fail),
	KUNIT_CASE(no_correlation),
	KUNIT_CASE(no_correlation_can_fail),
	KUNIT_CASE(unpredictable),
	KUNIT_CASE(unpredictable_can_fail),
	{}
};

static struct kunit_suite suite = {
	.name = "srnic_key_prediction",
	.test_cases = cases,
};

kunit_test_suite(suite);

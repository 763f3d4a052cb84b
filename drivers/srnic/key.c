// SPDX-License-Identifier: GPL-2.0
/*
 * The key codec.
 *
 * Vocabulary
 *   slot        an entry of the MPT, 'order' bits.
 *   generation  which life of the slot it is, 32 - order bits, then it wraps.
 *   handle      the upper 24 bits of a key: names the slot.
 *   low byte    the rest of the key. The consumer's to choose for fast-register
 *               MRs and memory windows, so the handle alone must name the slot.
 *
 *      key     = handle << 8 | low byte
 *      handle  = permutation(secret; generation's lower bits : slot)
 *      low     = permutation(secret, handle; generation's upper 8 bits)
 *
 * What is promised
 *   - (slot, generation) and key are a bijection of 32 bits, so a value of a
 *     slot comes again only when all 2^(32 - order) of them have been used, and
 *     no other slot ever has it.
 *   - Keys that are known, any number of them and in known order, say nothing
 *     about a handle that has not been seen, beyond that it is none of those
 *     seen. The handle changes with every life of a slot. Once every handle has
 *     been seen in order (2^24 registrations) handles repeat in that order, as
 *     a table of 24 bits must; what then protects is the low byte, whose order
 *     is independent for each handle: a guess is right once in 256 for the
 *     second life of a handle, once in 255 for the third and so on.
 *
 * The handle's permutation is decoded for every packet. It is a Feistel network
 * over 12 + 12 bits whose round functions are tables of random numbers: a round
 * is a load and an xor, decoding is eight of them, and the functions are not
 * 'as good as random', they are random. Three rounds of random functions make
 * a random permutation for an observer of few values, four for one who also
 * asks backwards (Luby and Rackoff). A tenant that registers long enough sees
 * the whole code book, so that isn't enough: from a code book, secret round
 * functions of 12 bits can be recovered for five rounds with moderate work, the
 * effort then growing beyond all bounds at six and seven (Biryukov, Leurent and
 * Perrin, 'Cryptanalysis of Feistel networks with secret round functions').
 * Eight leave a margin at the price of one more load than seven, and an even
 * number ends with the halves where they began.
 *
 * The low byte is computed at registration only, so it may cost more. Each
 * handle has a shuffle of the 256 values of its own, drawn by Fisher and Yates
 * from a SipHash stream keyed by a secret and the handle: exactly uniform if
 * SipHash is a PRF. Element n needs n + 1 draws, so a slot's first 2^(24 -
 * order) lives cost one draw each and the last ones 256.
 *
 * A codec never changes after its allocation: readers need no protection.
 */
#include "key.h"

#include <linux/bug.h>
#include <linux/err.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/string.h>

#define HALF_BITS	12
#define HALF_MASK	((1u << HALF_BITS) - 1)
#define HANDLE_BITS	(2 * HALF_BITS)
#define HANDLE_MASK	((1u << HANDLE_BITS) - 1)
#define ROUNDS		8
#define LOW_VALUES	256

/**
 * struct srnic_key_codec - the secret
 * @order: 2^order slots
 * @low_key: key of the low byte's shuffles
 * @round: the handle's round functions
 */
struct srnic_key_codec {
	unsigned int order;
	siphash_key_t low_key;
	u16 round[ROUNDS][1 << HALF_BITS];
};

static void random_bytes(void *buf, size_t len)
{
	get_random_bytes(buf, len);
}

/**
 * srnic_key_codec_alloc_from() - a codec from a given source of randomness
 * @order: 2^order slots
 * @random: fills buf; a test's may repeat itself
 *
 * Return: the codec or an ERR_PTR.
 */
struct srnic_key_codec *
srnic_key_codec_alloc_from(unsigned int order,
			   void (*random)(void *buf, size_t len))
{
	struct srnic_key_codec *kc;

	if (order < SRNIC_KEY_MIN_ORDER || order > SRNIC_KEY_MAX_ORDER)
		return ERR_PTR(-EINVAL);

	kc = kvmalloc(sizeof(*kc), GFP_KERNEL);
	if (!kc)
		return ERR_PTR(-ENOMEM);
	kc->order = order;
	random(&kc->low_key, sizeof(kc->low_key));
	random(kc->round, sizeof(kc->round));
	return kc;
}

/**
 * srnic_key_codec_alloc() - a codec with a secret of its own
 * @order: 2^order slots, SRNIC_KEY_MIN_ORDER to SRNIC_KEY_MAX_ORDER
 *
 * Return: the codec or an ERR_PTR.
 */
struct srnic_key_codec *srnic_key_codec_alloc(unsigned int order)
{
	return srnic_key_codec_alloc_from(order, random_bytes);
}

/**
 * srnic_key_codec_free() - forget the secret
 * @kc: codec
 */
void srnic_key_codec_free(struct srnic_key_codec *kc)
{
	kvfree_sensitive(kc, sizeof(*kc));
}

static u32 handle_encode(const struct srnic_key_codec *kc, u32 plain)
{
	u32 l = plain >> HALF_BITS;
	u32 r = plain & HALF_MASK;
	int i;

	for (i = 0; i < ROUNDS; i += 2) {
		l ^= kc->round[i][r] & HALF_MASK;
		r ^= kc->round[i + 1][l] & HALF_MASK;
	}
	return l << HALF_BITS | r;
}

static u32 handle_decode(const struct srnic_key_codec *kc, u32 handle)
{
	u32 l = handle >> HALF_BITS;
	u32 r = handle & HALF_MASK;
	int i;

	for (i = ROUNDS - 2; i >= 0; i -= 2) {
		r ^= kc->round[i + 1][l] & HALF_MASK;
		l ^= kc->round[i][r] & HALF_MASK;
	}
	return l << HALF_BITS | r;
}

/* The shuffle of one handle, drawn as far as it is asked for. */
struct shuffle {
	const siphash_key_t *key;
	u32 handle;
	unsigned int drawn;
	u8 value[LOW_VALUES];
};

static void shuffle_init(struct shuffle *s, const struct srnic_key_codec *kc,
			 u32 handle)
{
	unsigned int i;

	s->key = &kc->low_key;
	s->handle = handle;
	s->drawn = 0;
	for (i = 0; i < LOW_VALUES; i++)
		s->value[i] = i;
}

/* The next element: one of those left, each with the same chance (to 2^-24). */
static u8 shuffle_next(struct shuffle *s)
{
	unsigned int i = s->drawn++;
	u32 rnd = siphash_2u32(s->handle, i, s->key);
	unsigned int j = i + reciprocal_scale(rnd, LOW_VALUES - i);

	swap(s->value[i], s->value[j]);
	return s->value[i];
}

static u8 low_encode(const struct srnic_key_codec *kc, u32 handle, u8 upper)
{
	struct shuffle s;
	u8 low;

	shuffle_init(&s, kc, handle);
	do {
		low = shuffle_next(&s);
	} while (s.drawn <= upper);
	return low;
}

static u8 low_decode(const struct srnic_key_codec *kc, u32 handle, u8 low)
{
	struct shuffle s;

	shuffle_init(&s, kc, handle);
	while (shuffle_next(&s) != low)
		;
	return s.drawn - 1;
}

/**
 * srnic_key_encode() - the key of a life of a slot
 * @kc: codec
 * @slot: less than 2^order
 * @gen: life; bits above 32 - order don't count
 *
 * Return: the key.
 */
u32 srnic_key_encode(const struct srnic_key_codec *kc, u32 slot, u32 gen)
{
	u32 handle = handle_encode(kc, (gen << kc->order | slot) & HANDLE_MASK);
	u8 upper = gen >> (HANDLE_BITS - kc->order);

	return handle << 8 | low_encode(kc, handle, upper);
}

/**
 * srnic_key_slot() - the slot that a key belongs to
 * @kc: codec
 * @key: any number
 *
 * Return: the slot; whether the key is that of the slot's present life is for
 * the slot to say.
 */
u32 srnic_key_slot(const struct srnic_key_codec *kc, u32 key)
{
	return handle_decode(kc, key >> 8) & ((1u << kc->order) - 1);
}

/**
 * srnic_key_gen() - the life that a key belongs to
 * @kc: codec
 * @key: any number
 *
 * Return: the generation, modulo 2^(32 - order).
 */
u32 srnic_key_gen(const struct srnic_key_codec *kc, u32 key)
{
	u32 handle = key >> 8;
	u32 upper = low_decode(kc, handle, key);

	return upper << (HANDLE_BITS - kc->order) |
	       handle_decode(kc, handle) >> kc->order;
}

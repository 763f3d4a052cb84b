/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory protection table: may this key do this? See mpt.c for the life of
 * an entry, mpt_check.c for the rules.
 */
#ifndef SRNIC_MPT_H
#define SRNIC_MPT_H

#include <linux/types.h>

struct srnic_key_codec;
struct srnic_mpt;
struct srnic_mtt;
struct srnic_stats;

/* Why a key was refused. Counters, tracepoints and the vendor error of a
 * completion follow this order: append only.
 */
enum srnic_key_reason {
	SRNIC_KEY_OK,
	SRNIC_KEY_UNKNOWN,	/* never was a key (slot never used) */
	SRNIC_KEY_STALE,	/* was a key, or is none of this life of the slot */
	SRNIC_KEY_PD,
	SRNIC_KEY_ACCESS,
	SRNIC_KEY_BOUNDS,
	SRNIC_KEY_STATE,	/* exists, not valid now (FRMR not registered...) */
	SRNIC_KEY_REVOKED,	/* its memory has gone: donor unplugged */
	SRNIC_KEY_QP,		/* window bound to another QP */
	SRNIC_KEY_REASONS,
};

enum srnic_mpt_state {
	SRNIC_MPT_FREE,
	SRNIC_MPT_RESERVED,	/* slot taken, key chosen, not yet published */
	SRNIC_MPT_VALID,
	SRNIC_MPT_INVALID,	/* exists, not usable now */
	SRNIC_MPT_REVOKED,
	SRNIC_MPT_CHANGING,	/* VALID or INVALID again in a moment */
};

enum srnic_mpt_kind {
	SRNIC_MPT_MR,		/* translated by an MTT */
	SRNIC_MPT_DMA,		/* all kernel memory: address is kernel address */
	SRNIC_MPT_FRMR,		/* as an MR; can be invalidated */
	SRNIC_MPT_MW1,		/* window of type 1, translated by its MR's MTT */
	SRNIC_MPT_MW2,		/* of type 2; can be invalidated */
};

/**
 * struct srnic_mpt_entry - may this key do this? One cache line.
 * @state: enum srnic_mpt_state; what readers look at first
 * @kind: enum srnic_mpt_kind
 * @rsvd: zero
 * @key: the full key of this life; 0 in a slot that was never used
 * @access: IB_ACCESS_*
 * @pdn: protection domain, or SRNIC_MPT_ANY_PD
 * @qpn: the only QP that may use it, or SRNIC_MPT_ANY_QP
 * @gen: life number of the slot
 * @iova: first address
 * @length: bytes
 * @mtt: where the bytes are (NULL for SRNIC_MPT_DMA and for length 0)
 * @mtt_off: offset of @iova in @mtt
 * @next: of a free slot: the next one in the list
 * @born: of any other: seconds since boot when its life began, modulo 2^32
 * @slot: number of this slot, constant
 */
struct srnic_mpt_entry {
	u8 state;
	u8 kind;
	u16 rsvd;
	u32 key;
	u32 access;
	u32 pdn;
	u32 qpn;
	u32 gen;
	u64 iova;
	u64 length;
	const struct srnic_mtt *mtt;
	u64 mtt_off;
	union {
		u32 next;
		u32 born;
	};
	u32 slot;
} __aligned(64);

#define SRNIC_MPT_ANY_QP	0xffffffffu
/* of a window of type 2A, which belongs to a QP and to no PD; no PD's number */
#define SRNIC_MPT_ANY_PD	0xffffffffu

/* What a key can allow peers. */
#define SRNIC_REMOTE_RIGHTS	(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | \
				 IB_ACCESS_REMOTE_ATOMIC)

/**
 * struct srnic_mpt_grant - what a key allows, all that can change in a life
 * @key: as in struct srnic_mpt_entry, as all without a word; of the same slot
 * @access:
 * @pdn:
 * @qpn:
 * @iova:
 * @length:
 * @mtt:
 * @mtt_off:
 */
struct srnic_mpt_grant {
	u32 key;
	u32 access;
	u32 pdn;
	u32 qpn;
	u64 iova;
	u64 length;
	const struct srnic_mtt *mtt;
	u64 mtt_off;
};

/**
 * struct srnic_mpt_req - what someone wants to do
 * @key: with this key
 * @pdn: from this protection domain
 * @qpn: from this QP
 * @access: needing all of these IB_ACCESS_* (0: local read)
 * @addr: first address
 * @len: bytes; 0 checks all but the bounds (IBTA: a zero-length request
 *	touches no memory, and its key is not checked by the caller)
 */
struct srnic_mpt_req {
	u32 key;
	u32 pdn;
	u32 qpn;
	u32 access;
	u64 addr;
	u64 len;
};

/* What a state means to someone who presents the right key. */
static inline enum srnic_key_reason srnic_mpt_state_reason(u8 state)
{
	switch (state) {
	case SRNIC_MPT_VALID:
	case SRNIC_MPT_CHANGING:
		/* a change that a reader sees waits for it: see mpt.c */
		return SRNIC_KEY_OK;
	case SRNIC_MPT_INVALID:
		return SRNIC_KEY_STATE;
	case SRNIC_MPT_REVOKED:
		return SRNIC_KEY_REVOKED;
	default:
		/* free or not yet published: no key of this life works */
		return SRNIC_KEY_STALE;
	}
}

/* The one check; pure; shared with KUnit and the fuzzer. */
enum srnic_key_reason srnic_mpt_check(const struct srnic_mpt_entry *e,
				      const struct srnic_mpt_req *rq);

struct srnic_mpt *srnic_mpt_create(unsigned int order);
struct srnic_mpt *srnic_mpt_create_with(unsigned int order,
					struct srnic_key_codec *codec);
/* Before it is used. 0, -EINVAL, -ENOMEM */
int srnic_mpt_use_cache(struct srnic_mpt *mpt, unsigned int lines,
			struct srnic_stats __percpu *stats);
void srnic_mpt_destroy(struct srnic_mpt *mpt);
u32 srnic_mpt_slots(const struct srnic_mpt *mpt);
u32 srnic_mpt_live(struct srnic_mpt *mpt);
u32 srnic_mpt_reuse_distance(const struct srnic_mpt *mpt);

/* Writers: process context. */
struct srnic_mpt_entry *srnic_mpt_alloc(struct srnic_mpt *mpt);	/* ERR_PTR(-ENOMEM) */
/* Fields filled -> VALID; false: it was killed before. */
bool srnic_mpt_publish(struct srnic_mpt_entry *e);
/*
 * The barrier: VALID -> state; on return no reader uses the entry. true: the key
 * worked until this call.
 */
bool srnic_mpt_kill(struct srnic_mpt *mpt, struct srnic_mpt_entry *e,
		    enum srnic_mpt_state state);
/* The same for many: each is killed without the barrier, which follows once. */
bool srnic_mpt_kill_no_wait(struct srnic_mpt_entry *e,
			    enum srnic_mpt_state state);
void srnic_mpt_wait_for_dead(struct srnic_mpt *mpt);
void srnic_mpt_free(struct srnic_mpt *mpt, struct srnic_mpt_entry *e);

/*
 * Another grant for the same life; for readers the old or the new one, nothing
 * in between. On return none uses the old one.
 */
enum srnic_key_reason srnic_mpt_change(struct srnic_mpt *mpt,
				       struct srnic_mpt_entry *e, bool fresh,
				       const struct srnic_mpt_grant *to);
/* The same in two halves, for what must have changed before the key works. */
enum srnic_key_reason srnic_mpt_change_begin(struct srnic_mpt *mpt,
					     struct srnic_mpt_entry *e, bool fresh);
void srnic_mpt_change_finish(struct srnic_mpt_entry *e,
			     const struct srnic_mpt_grant *to);
struct srnic_mpt_grant srnic_mpt_granted(const struct srnic_mpt_entry *e);
/*
 * The barrier as well, for someone who has the key and not the entry: of a window
 * (SRNIC_MPT_MW2) or of a region (SRNIC_MPT_FRMR).
 */
enum srnic_key_reason srnic_mpt_invalidate(struct srnic_mpt *mpt,
					   enum srnic_mpt_kind kind,
					   const struct srnic_mpt_req *rq);
u32 srnic_mpt_slot_of(const struct srnic_mpt *mpt, u32 key);

/* Readers: bottom halves disabled, no sleeping between enter and leave, one
 * entry at a time.
 */
enum srnic_key_reason srnic_mpt_enter(struct srnic_mpt *mpt,
				      const struct srnic_mpt_req *rq,
				      const struct srnic_mpt_entry **e);
void srnic_mpt_leave(struct srnic_mpt *mpt);

/**
 * struct srnic_mpt_view - what can be told of an entry
 * @key: as in struct srnic_mpt_entry, as all without a word
 * @state:
 * @kind:
 * @access:
 * @pdn:
 * @qpn:
 * @gen:
 * @iova:
 * @length:
 * @runs: of its MTT; 0 unless it is VALID
 * @table: bytes of its MTT, the room for runs not in use included; as @runs
 * @age: seconds since srnic_mpt_alloc()
 * @users: CPUs that are using it now
 */
struct srnic_mpt_view {
	u32 key;
	u8 state;
	u8 kind;
	u32 access;
	u32 pdn;
	u32 qpn;
	u32 gen;
	u64 iova;
	u64 length;
	u32 runs;
	u64 table;
	u32 age;
	u32 users;
};

/* For people: process context; false where the slot has no life. */
bool srnic_mpt_view(struct srnic_mpt *mpt, u32 slot, struct srnic_mpt_view *to);
/* The first slot from @slot on that may have one, or the number of slots. */
u32 srnic_mpt_next_used(struct srnic_mpt *mpt, u32 slot);

/* "unknown", "stale", ... as in the counters' names. */
static inline const char *srnic_key_reason_name(enum srnic_key_reason why)
{
	static const char * const names[SRNIC_KEY_REASONS] = {
		[SRNIC_KEY_OK] = "ok",
		[SRNIC_KEY_UNKNOWN] = "unknown",
		[SRNIC_KEY_STALE] = "stale",
		[SRNIC_KEY_PD] = "pd",
		[SRNIC_KEY_ACCESS] = "access",
		[SRNIC_KEY_BOUNDS] = "bounds",
		[SRNIC_KEY_STATE] = "state",
		[SRNIC_KEY_REVOKED] = "revoked",
		[SRNIC_KEY_QP] = "qp",
	};

	return why < SRNIC_KEY_REASONS ? names[why] : "?";
}

#endif /* SRNIC_MPT_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The same again: the first refusal of a kind is told of, what comes within bh_fold_ns after it is counted, and the next one
 * says how many those were (struct bh_fold). A kind's place is found by a hash, what stands there is compared whole. Whoever
 * finds another kind there, or somebody at work, has his own refusal told of: a table that is full, or filled by an
 * attacker, tells more and never less. Counts that would go with their place are told of first.
 */
#ifndef BULKHEAD_FOLD_BPF_H
#define BULKHEAD_FOLD_BPF_H

#include "verdict.bpf.h"

#define BH_FOLD_WRITING (1ull << 32)
#define BH_FOLD_PIECE 32 /* bytes of a name that are compared at a time */
#define BH_FOLD_MIX 0x9e3779b97f4a7c15ull

#define BH_STORE(x, value) (*(volatile typeof(x) *)&(x) = (value))

/* Whose doing it is. A process's id is used again; its start and its execs tell what ran in it. */
struct bh_doer {
	__u32 tgid;
	__u64 start_ns, exec;
};

static __always_inline void bh_doer_read(struct bh_doer *d)
{
	struct task_struct *task = bpf_get_current_task_btf();

	d->tgid = task->tgid;
	d->start_ns = task->group_leader->start_boottime;
	d->exec = task->self_exec_id;
}

/* What the agent acts upon is told of each time. */
static __always_inline bool bh_may_fold(const struct bh_refusal *r, const struct bh_slot *slot)
{
	if (!bh_fold_ns || r->tail > BH_FOLD_TAIL || r->hook == BH_HOOK_CGROUP_MOVE ||
	    r->bits & BH_EVENT_TRIPWIRE)
		return false;
	return r->kind != BH_OBJECT_PATH || slot;
}

/* Two kinds at one place are a cost and no danger. */
static __always_inline struct bh_fold *bh_fold_place(const struct bh_refusal *r,
						     const struct bh_slot *slot, __u32 tgid)
{
	const __u64 *object = (const __u64 *)&r->kind;
	__u64 h = (__u64)r->hook << 32 | tgid;
	__u32 index;

	h = (h ^ object[0]) * BH_FOLD_MIX;
	h = (h ^ object[1]) * BH_FOLD_MIX;
	h = (h ^ object[2]) * BH_FOLD_MIX;
	if (r->kind == BH_OBJECT_PATH && slot) {
		/* The last bytes of a path tell most. */
		h = (h ^ *(__u64 *)&slot->path[BH_PATH_END - 8]) * BH_FOLD_MIX;
		h = (h ^ *(__u64 *)&slot->path[BH_PATH_END - 16]) * BH_FOLD_MIX;
	} else {
		h = (h ^ r->small[0]) * BH_FOLD_MIX;
		h = (h ^ r->small[1]) * BH_FOLD_MIX;
	}
	_Static_assert(BH_FOLDS == 1 << 12, "the highest bits are mixed best");
	index = h >> (64 - 12);
	return bpf_map_lookup_elem(&bh_folds, &index);
}

struct bh_fold_name {
	const struct bh_fold *fold;
	const struct bh_slot *slot;
	__u32 length, differs;
};

/* Both are filled up with NULs. */
static long bh_fold_piece(__u32 i, struct bh_fold_name *n)
{
	__u64 at = BH_BOUND(i * BH_FOLD_PIECE, BH_FOLD_TAIL - BH_FOLD_PIECE);
	__u64 pos = BH_BOUND(n->slot->pos, BH_PATH_END - 1);
	const __u64 *was = (const __u64 *)&n->fold->tail[at];
	const __u64 *is = (const __u64 *)&n->slot->path[pos + at];
	__u32 j;

#pragma unroll
	for (j = 0; j < BH_FOLD_PIECE / 8; j++) {
		if (at + 8 * j >= n->length)
			return 1;
		if (was[j] != is[j]) {
			n->differs = 1;
			return 1;
		}
	}
	return 0;
}

static __always_inline bool bh_fold_has_tail(const struct bh_fold *fold, const struct bh_refusal *r,
					     const struct bh_slot *slot)
{
	const __u64 *tail = (const __u64 *)fold->tail;
	struct bh_fold_name n = {.fold = fold, .slot = slot, .length = r->tail};

	if (r->kind != BH_OBJECT_PATH)
		return tail[0] == r->small[0] && tail[1] == r->small[1];
	if (!slot)
		return false;
	bpf_loop(BH_FOLD_TAIL / BH_FOLD_PIECE, bh_fold_piece, &n, 0);
	return !n.differs;
}

static __always_inline bool bh_fold_is(const struct bh_fold *fold, const struct bh_subject *s,
				       const struct bh_refusal *r, const struct bh_slot *slot,
				       const struct bh_doer *d)
{
	const struct bh_event *e = &fold->event;
	const __u64 *was = (const __u64 *)&e->kind, *is = (const __u64 *)&r->kind;

	return e->start_ns == d->start_ns && e->tgid == d->tgid && fold->exec == d->exec &&
	       was[0] == is[0] && was[1] == is[1] && was[2] == is[2] &&
	       e->size == sizeof(*e) + r->tail && e->hook == r->hook && e->reason == r->reason &&
	       e->bits == r->bits && e->error == r->error && e->perms == r->perms &&
	       e->compartment == s->compartment && e->generation == s->generation &&
	       e->member == s->member && bh_fold_has_tail(fold, r, slot);
}

/* 1: it was counted, 0: somebody else counted at the same time, -1: another kind stands there, or too many were. */
static __always_inline int bh_fold_try(struct bh_fold *fold, __u64 *word)
{
	__u64 seen;

	if ((__u32)*word == 0xffffffff)
		return -1;
	seen = __sync_val_compare_and_swap(&fold->word, *word, *word + 1);
	if (seen == *word)
		return 1;
	if ((seen ^ *word) >> 32)
		return -1;
	*word = seen;
	return 0;
}

/* One more of the kind that stood there when `word` was read; who loses against others three times is told of. */
static __always_inline bool bh_fold_count(struct bh_fold *fold, __u64 word)
{
	int r = bh_fold_try(fold, &word);

	if (!r)
		r = bh_fold_try(fold, &word);
	if (!r)
		r = bh_fold_try(fold, &word);
	return r > 0;
}

static __always_inline void bh_fold_give(struct bh_fold *fold, __u64 word, __u32 repeats)
{
	asm volatile("" ::: "memory");
	BH_STORE(fold->word, ((word >> 32) + 2) << 32 | repeats);
}

/* Says how often the kind was repeated that has to go. */
static __always_inline bool bh_fold_tell(struct bh_fold *fold, __u32 repeats, __u64 now)
{
	struct bh_event *e = &fold->event;
	__u64 size = BH_BOUND(e->size, 511);

	e->bits |= BH_EVENT_REPEATED;
	e->repeated = repeats;
	e->time_ns = now;
	if (size <= sizeof(*e) + BH_FOLD_TAIL && bpf_ringbuf_output(&bh_ring, e, size, 0) == 0)
		return true;
	e->bits &= ~BH_EVENT_REPEATED;
	e->time_ns = 0;
	return false;
}

/* The place for an event to be written to, until bh_fold_give; NULL: others are at work there, or what stands
 * there has to stay because it cannot be told. */
static __always_inline struct bh_fold *bh_fold_take(struct bh_fold *fold, __u64 word, bool same,
						    __u64 now)
{
	if (__sync_val_compare_and_swap(&fold->word, word, word + BH_FOLD_WRITING) != word)
		return NULL;
	if (same || !(__u32)word || bh_fold_tell(fold, (__u32)word, now))
		return fold;
	bh_fold_give(fold, word, (__u32)word);
	return NULL;
}

#endif

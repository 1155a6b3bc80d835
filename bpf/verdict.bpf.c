// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The end of every refusal: counters, then the ring. */
#include "verdict.bpf.h"
#include "fold.bpf.h"

/* One event on its way: where it is written, and what is told of a moment ago. */
struct bh_telling {
	struct bh_doer doer;
	struct bh_fold *fold; /* it stays there; NULL: it is told of and forgotten */
	__u64 word;	      /* of the place, when it was taken */
	__u64 now;
	bool same; /* the latest of the place was of this kind */
};

#define BH_FATE(tally, r, fate)                                                   \
	({                                                                        \
		__sync_fetch_and_add(&(tally)->fate, 1);                          \
		if ((r)->hook < BH_HOOK_COUNT)                                    \
			__sync_fetch_and_add(&(tally)->fates[(r)->hook].fate, 1); \
	})

static __always_inline void bh_event_fill(struct bh_event *event, const struct bh_subject *s,
					  const struct bh_refusal *r, const struct bh_telling *t)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 i;

	event->abi = BH_ABI;
	event->size = sizeof(*event) + r->tail;
	event->compartment = s->compartment;
	event->generation = s->generation;
	event->member = s->member;
	event->hook = r->hook;
	event->reason = r->reason;
	event->plane = r->plane;
	event->bits = r->bits;
	event->error = r->error;
	event->perms = r->perms;
	event->tgid = t->doer.tgid;
	event->tid = task->pid;
	event->repeated = t->same ? (__u32)t->word : 0;
	event->start_ns = t->doer.start_ns;
	event->time_ns = t->now;
	event->exec_seq = s->exec_seq;
	bpf_probe_read_kernel(event->comm, sizeof(event->comm), task->comm);
	event->kind = r->kind;
	for (i = 0; i < 5; i++)
		event->object[i] = r->object[i];
}

/* `event` has room for a tail of `room` bytes behind it. */
static __always_inline int bh_report(struct bh_event *event, __u64 room, const struct bh_refusal *r,
				     struct bh_slot *slot)
{
	__u64 size = r->tail;
	__u8 *tail = (__u8 *)(event + 1);

	if (size > room)
		return -1;
	if (r->kind != BH_OBJECT_PATH) {
		((__u64 *)tail)[0] = r->small[0];
		((__u64 *)tail)[1] = r->small[1];
	} else if (size && slot) {
		/* Filled up with NULs, for who compares by words. */
		*(__u64 *)&tail[BH_BOUND(size, BH_FOLD_TAIL - 8)] = 0;
		if (bpf_probe_read_kernel(tail, size,
					  &slot->path[BH_BOUND(slot->pos, BH_PATH_END - 1)]))
			return -1;
	}
	return bpf_ringbuf_output(&bh_ring, event, sizeof(*event) + size, 0);
}

/* Is it another one like the latest? Else t->fold is where it is remembered. */
static __always_inline bool bh_is_repeat(const struct bh_subject *s, const struct bh_refusal *r,
					 const struct bh_slot *slot, struct bh_telling *t)
{
	struct bh_fold *fold;

	if (!bh_may_fold(r, slot))
		return false;
	fold = bh_fold_place(r, slot, t->doer.tgid);
	if (!fold)
		return false;
	t->word = *(volatile __u64 *)&fold->word;
	if (t->word & BH_FOLD_WRITING)
		return false;
	t->same = bh_fold_is(fold, s, r, slot, &t->doer);
	if (t->same && t->now - fold->event.time_ns < bh_fold_ns && bh_fold_count(fold, t->word))
		return true;
	t->fold = bh_fold_take(fold, t->word, t->same, t->now);
	t->same = t->same && t->fold;
	return false;
}

static __always_inline bool bh_tell(const struct bh_subject *s, const struct bh_refusal *r,
				    struct bh_slot *slot, struct bh_telling *t, __u64 seq)
{
	struct bh_slot *own = NULL;
	bool told;

	if (t->fold) {
		bh_event_fill(&t->fold->event, s, r, t);
		t->fold->event.seq = seq;
		t->fold->exec = t->doer.exec;
		told = bh_report(&t->fold->event, BH_FOLD_TAIL, r, slot) == 0;
		/* The first of its kind is yet to be told of. */
		if (!told)
			t->fold->event.time_ns = 0;
		bh_fold_give(t->fold, t->word, told || !t->same ? 0 : (__u32)t->word);
		return told;
	}
	/* Here, without a frame of its own: from the deepest hooks 512 bytes of stack are all that there is (6.1). */
	if (!slot)
		slot = own = bh_slot_claim_here();
	if (!slot)
		return false;
	bh_event_fill(&slot->event, s, r, t);
	slot->event.seq = seq;
	told = bh_report(&slot->event, BH_PATH_END, r, slot) == 0;
	bh_slot_release(own);
	return told;
}

static __always_inline void bh_count(struct bh_tally *tally, const struct bh_refusal *r)
{
	if (r->hook == BH_HOOK_CGROUP_MOVE || r->reason == BH_REASON_AUDITED)
		__sync_fetch_and_add(&tally->noted, 1);
	else
		__sync_fetch_and_add(&tally->refused, 1);
	if (r->hook < BH_HOOK_COUNT)
		__sync_fetch_and_add(&tally->hook[r->hook], 1);
	if (r->reason >= BH_REASON_UNSURE)
		__sync_fetch_and_add(&tally->unsure, 1);
}

int bh_refuse_errno(const struct bh_subject *s, struct bh_refusal *r, struct bh_slot *slot)
{
	struct bh_telling t = {};
	struct bh_tally *tally;
	__u32 index;
	int error;

	if (!s || !r)
		return BH_EACCES;
	error = r->error;
	if (s->mode == BH_MODE_AUDIT)
		r->bits |= BH_EVENT_AUDIT;
	if (r->bits & BH_EVENT_AUDIT)
		error = 0;
	index = s->tally;
	tally = bpf_map_lookup_elem(&bh_tallies, &index);
	if (!tally)
		return error;
	bh_count(tally, r);
	if (r->bits & BH_EVENT_QUIET) {
		BH_FATE(tally, r, quiet);
		return error;
	}
	bh_doer_read(&t.doer);
	t.now = bpf_ktime_get_ns();
	if (bh_is_repeat(s, r, slot, &t))
		BH_FATE(tally, r, folded);
	else if (bh_tell(s, r, slot, &t, __sync_fetch_and_add(&tally->seq, 1) + 1))
		BH_FATE(tally, r, reported);
	else
		BH_FATE(tally, r, lost);
	return error;
}

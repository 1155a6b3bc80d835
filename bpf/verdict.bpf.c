// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The end of every refusal: counters, then the ring. */
#include "verdict.bpf.h"

static __always_inline void bh_event_fill(struct bh_event *event, const struct bh_subject *s,
					  const struct bh_refusal *r)
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
	event->tgid = task->tgid;
	event->tid = task->pid;
	event->start_ns = task->group_leader->start_boottime;
	event->time_ns = bpf_ktime_get_ns();
	event->exec_seq = s->exec_seq;
	bpf_probe_read_kernel(event->comm, sizeof(event->comm), task->comm);
	event->kind = r->kind;
	for (i = 0; i < 5; i++)
		event->object[i] = r->object[i];
}

static __always_inline int bh_report(const struct bh_subject *s, const struct bh_refusal *r,
				     struct bh_slot *slot, __u64 seq)
{
	__u64 size;

	bh_event_fill(&slot->event, s, r);
	slot->event.seq = seq;
	size = r->tail;
	if (size > BH_PATH_END)
		return -1;
	return bpf_ringbuf_output(&bh_ring, &slot->event, sizeof(slot->event) + size, 0);
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
	if (r->bits & BH_EVENT_QUIET)
		__sync_fetch_and_add(&tally->quiet, 1);
}

int bh_refuse_errno(const struct bh_subject *s, struct bh_refusal *r, struct bh_slot *slot)
{
	struct bh_slot *own = NULL;
	struct bh_tally *tally;
	__u32 index;
	__u64 seq;
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
	if (r->bits & BH_EVENT_QUIET)
		return error;
	seq = __sync_fetch_and_add(&tally->seq, 1) + 1;
	if (!slot)
		slot = own = bh_slot_claim();
	if (slot && bh_report(s, r, slot, seq) == 0)
		__sync_fetch_and_add(&tally->reported, 1);
	else
		__sync_fetch_and_add(&tally->lost, 1);
	bh_slot_release(own);
	return error;
}

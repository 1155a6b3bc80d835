/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who: the subject of a decision. A task's label and its cgroup subtree, together.
 * Outsiders pay one load of current->bpf_storage and one of bh_ask.
 */
#ifndef BULKHEAD_SUBJECT_BPF_H
#define BULKHEAD_SUBJECT_BPF_H

#include "maps.bpf.h"

enum bh_subject_kind {
	BH_SUBJECT_NONE, /* an outsider: none of our business */
	BH_SUBJECT_SOME,
	BH_SUBJECT_UNSURE, /* cannot tell: refuse with subject.reason */
};

struct bh_subject {
	__u32 compartment;
	__u32 generation;
	__u32 tally;
	__u32 mode;
	__u32 state; /* enum bh_state */
	__u16 member;
	__u16 flags; /* of the label */
	__u32 reason;
	__u32 pad;
	__u64 exec_seq;
	__u64 serial; /* of the compartment */
};

struct bh_ancestors {
	__u32 level; /* of the task's own cgroup */
	__u32 found; /* compartment */
	__u32 flags; /* enum bh_cgroup_flag */
	__u32 done;
};

static long bh_ask_level(__u32 i, struct bh_ancestors *a)
{
	struct bh_cgroup *entry;
	__u64 id;

	if (i > a->level) {
		a->done = 1;
		return 1;
	}
	id = bpf_get_current_ancestor_cgroup_id(a->level - i);
	entry = bpf_map_lookup_elem(&bh_cgroups, &id);
	if (!entry)
		return 0;
	a->found = entry->compartment;
	a->flags = entry->flags;
	a->done = 1;
	return 1;
}

/* Compartment of current by its cgroup, innermost first: 0 none, -1 nested too deeply to tell. */
static __noinline __attribute__((unused)) long bh_ask_cgroup(struct task_struct *task)
{
	struct bh_ancestors a = {.level = task->cgroups->dfl_cgrp->level};

	bpf_loop(BH_MAX_CGROUP_DEPTH, bh_ask_level, &a, 0);
	return a.done ? a.found : -1;
}

static __always_inline void bh_label_init(struct bh_label *label, __u32 compartment, __u16 flags)
{
	label->abi = BH_ABI;
	label->compartment = compartment;
	label->member = 0;
	label->flags = flags;
	label->exec_seq = 0;
}

/* The entry of a label that still means something: not one of a compartment that was detached. */
static __always_inline struct bh_compartment *bh_label_entry(struct bh_label *label)
{
	struct bh_compartment *c;
	__u32 id;

	if (!label || !label->compartment)
		return NULL;
	id = label->compartment;
	c = bpf_map_lookup_elem(&bh_compartments, &id);
	return c && c->state != BH_STATE_RELEASED ? c : NULL;
}

/* Labels `task` unless it bears a label that means something. On 6.1 a label that exists can seem
 * missing while its storage is busy: what this finds then is kept. */
static __noinline __attribute__((unused)) struct bh_label *
bh_label_make(struct task_struct *task, __u32 compartment, __u16 flags)
{
	struct bh_label *label;

	label = bpf_task_storage_get(&bh_labels, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (label && !bh_label_entry(label))
		bh_label_init(label, compartment, flags);
	return label;
}

static __always_inline int bh_subject_unsure(struct bh_subject *s, __u32 reason)
{
	s->reason = reason;
	return BH_SUBJECT_UNSURE;
}

static __always_inline void bh_subject_from_label(struct bh_subject *s,
						  const struct bh_label *label)
{
	s->member = label->member;
	s->flags = label->flags;
	s->exec_seq = label->exec_seq;
}

/* By the cgroup: for who has no label, one that says ASK, one of a detached compartment, or one
 * that cannot be read. */
static __always_inline int bh_subject_ask(struct bh_subject *s, struct task_struct *task,
					  struct bh_label *label)
{
	long found = bh_ask_cgroup(task);

	if (found < 0)
		return bh_subject_unsure(s, BH_REASON_UNSURE_DEPTH);
	if (!found) {
		/* A child cloned into a cgroup stands in it before it runs: the answer stays. */
		if (label)
			label->flags &= ~BH_LABEL_ASK;
		return BH_SUBJECT_NONE;
	}
	s->compartment = found;
	/* Membership sticks from here on; where no label can be made, the next hook asks again. */
	label = bh_label_make(task, found, 0);
	if (label)
		bh_subject_from_label(s, label);
	return BH_SUBJECT_SOME;
}

static __noinline int bh_subject_find(struct bh_subject *s, struct task_struct *task)
{
	struct bh_label *label = bpf_task_storage_get(&bh_labels, task, 0, 0);
	struct bh_compartment *c = bh_label_entry(label);
	int kind;

	if (label && c) {
		s->compartment = label->compartment;
		bh_subject_from_label(s, label);
	} else {
		/* No label while storage exists: another program's storage, or on 6.1 a busy one.
		 */
		if (label && !(label->flags & BH_LABEL_ASK) && !bh_ask)
			return BH_SUBJECT_NONE;
		kind = bh_subject_ask(s, task, label);
		if (kind != BH_SUBJECT_SOME)
			return kind;
		c = bpf_map_lookup_elem(&bh_compartments, &s->compartment);
	}
	if (!c)
		return bh_subject_unsure(s, BH_REASON_UNSURE_ENTRY);
	s->generation = c->generation;
	s->tally = c->tally;
	s->mode = c->mode;
	s->state = c->state;
	s->serial = c->serial;
	if (c->state == BH_STATE_CLOSED)
		return bh_subject_unsure(s, BH_REASON_UNSURE_ENTRY);
	return BH_SUBJECT_SOME;
}

/* Is current a member of any compartment, judged yet or not? For what spreads labels. */
static __always_inline int bh_subject_member(struct bh_subject *s)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!task->bpf_storage && !bh_ask)
		return BH_SUBJECT_NONE;
	return bh_subject_find(s, task);
}

/* Is current to be judged? For every hook that refuses. */
static __always_inline int bh_subject_current(struct bh_subject *s)
{
	int kind = bh_subject_member(s);

	if (kind != BH_SUBJECT_SOME)
		return kind;
	if (s->state != BH_STATE_ENFORCED || s->flags & BH_LABEL_PENDING)
		return BH_SUBJECT_NONE;
	return BH_SUBJECT_SOME;
}

/* Does `task` bear the label of this compartment, as a peer? PENDING tasks are the service
 * manager's own code: whoever could write into one before its exec would leave the policy. */
static __always_inline bool bh_task_is_peer(const struct bh_subject *s, struct task_struct *task)
{
	struct bh_label *label = bpf_task_storage_get(&bh_labels, task, 0, 0);

	return label && label->compartment == s->compartment && !(label->flags & BH_LABEL_PENDING);
}

#endif

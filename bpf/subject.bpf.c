// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The subject's search: label first, then the cgroup and its ancestors. */
#include "subject.bpf.h"

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

#define BH_FOUND_FLAGS 32 /* bits above the compartment: enum bh_cgroup_flag */

/* Compartment of current by its cgroup, innermost first: 0 none, -1 nested too deeply to tell. */
static __noinline long bh_ask_cgroup(struct task_struct *task)
{
	struct css_set *set = BH_READONLY(struct task_struct, task)->cgroups;
	struct bh_ancestors a = {.level = set->dfl_cgrp->level};

	bpf_loop(BH_MAX_CGROUP_DEPTH, bh_ask_level, &a, 0);
	return a.done ? a.found | (__u64)a.flags << BH_FOUND_FLAGS : -1;
}

static __always_inline int bh_subject_unsure(struct bh_subject *s, __u32 reason)
{
	s->reason = reason;
	return BH_SUBJECT_UNSURE;
}

/* The manager's own child may come to a hook when the kernel has moved it and not told of it yet
 * (bh_attach_task): unlabelled, so nobody's who is inside. */
static __always_inline __u16 bh_first_flags(struct task_struct *trusted, __u32 cgroup_flags)
{
	struct task_struct *task = BH_READONLY(struct task_struct, trusted);

	return cgroup_flags & BH_CGROUP_STARTING && task->flags & PF_FORKNOEXEC &&
			       task->real_parent->tgid == 1
		       ? BH_LABEL_PENDING
		       : 0;
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
	s->compartment = (__u32)found;
	/* Membership sticks from here on; where no label can be made, the next hook asks again. */
	label = bh_label_make(task, s->compartment, bh_first_flags(task, found >> BH_FOUND_FLAGS));
	if (label)
		bh_subject_from_label(s, label);
	return BH_SUBJECT_SOME;
}

/* Of a compartment that is not enforced. In audit mode nothing trips. */
static __noinline int bh_subject_state(struct bh_subject *s)
{
	if (s->state == BH_STATE_CLOSED)
		return bh_subject_unsure(s, BH_REASON_UNSURE_ENTRY);
	if (s->state != BH_STATE_TRIPPED)
		return BH_SUBJECT_SOME;
	bpf_send_signal(SIGKILL);
	return bh_subject_unsure(s, BH_REASON_TRIPPED);
}

int bh_subject_find(struct bh_subject *s)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct bh_label *label = bpf_task_storage_get(&bh_labels, task, 0, 0);
	struct bh_compartment *c = bh_label_entry(label);
	__u32 id;
	int kind;

	if (!s)
		return BH_SUBJECT_UNSURE;

	if (label && c) {
		bh_subject_from_label(s, label);
	} else {
		/* No label while storage exists: another program's storage, or on 6.1 a busy one.
		 */
		if (label && !(label->flags & BH_LABEL_ASK) && !bh_ask)
			return BH_SUBJECT_NONE;
		kind = bh_subject_ask(s, task, label);
		if (kind != BH_SUBJECT_SOME)
			return kind;
		id = s->compartment;
		c = bpf_map_lookup_elem(&bh_compartments, &id);
	}
	if (!c)
		return bh_subject_unsure(s, BH_REASON_UNSURE_ENTRY);
	bh_subject_from_entry(s, c);
	return c->state == BH_STATE_ENFORCED ? BH_SUBJECT_SOME : bh_subject_state(s);
}

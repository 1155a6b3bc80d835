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

static __always_inline void bh_subject_from_label(struct bh_subject *s,
						  const struct bh_label *label)
{
	s->compartment = label->compartment;
	s->member = label->member;
	s->flags = label->flags;
	s->exec_seq = label->exec_seq;
}

static __always_inline void bh_subject_from_entry(struct bh_subject *s,
						  const struct bh_compartment *c)
{
	s->generation = c->generation;
	s->tally = c->tally;
	s->mode = c->mode;
	s->state = c->state;
	s->serial = c->serial;
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

/*
 * Finds current's compartment: enum bh_subject_kind. Global, as are the other functions defined in a
 * file of their own: the verifier goes through them once and takes any result of theirs, where a
 * static one is followed again from every place that calls it. Such functions take no pointer of
 * the kernel's types, and every pointer they take can be NULL.
 */
__noinline int bh_subject_find(struct bh_subject *s);

/* All that outsiders pay. */
static __always_inline bool bh_may_be_inside(void)
{
	return bpf_get_current_task_btf()->bpf_storage || bh_ask;
}

/* Is current a member of any compartment, judged yet or not? For what spreads labels. */
static __always_inline int bh_subject_member(struct bh_subject *s)
{
	return bh_may_be_inside() ? bh_subject_find(s) : BH_SUBJECT_NONE;
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

/* NULL: there is none, or not any more. */
static __always_inline struct bh_policy *bh_policy_of(const struct bh_subject *s)
{
	__u32 index = BH_GENERATION_INDEX(s->generation);
	struct bh_policy *policy = bpf_map_lookup_elem(&bh_policies, &index);

	return policy && policy->generation == s->generation ? policy : NULL;
}

/* Does `task` bear the label of this compartment, as a peer? PENDING tasks are the service
 * manager's own code: whoever could write into one before its exec would leave the policy. */
static __always_inline bool bh_task_is_peer(const struct bh_subject *s, struct task_struct *task)
{
	struct bh_label *label = bpf_task_storage_get(&bh_labels, task, 0, 0);

	return label && label->compartment == s->compartment && !(label->flags & BH_LABEL_PENDING);
}

/* Where a task stands that is not current: going up from its cgroup, until an entry is met. */
struct bh_standing {
	struct cgroup *cgroup;
	__u32 compartment, flags;
};

static __attribute__((unused)) long bh_standing_level(__u32 i, struct bh_standing *st)
{
	struct cgroup *cgroup = st->cgroup;
	struct bh_cgroup *entry;
	__u64 id;

	if (!cgroup)
		return 1;
	id = BPF_CORE_READ(cgroup, kn, id);
	entry = bpf_map_lookup_elem(&bh_cgroups, &id);
	if (entry) {
		st->compartment = entry->compartment;
		st->flags = entry->flags;
		return 1;
	}
	/* cgroup.self is the css whose parent's container is the parent cgroup; self comes first.
	 */
	st->cgroup = (void *)BPF_CORE_READ(cgroup, self.parent);
	return 0;
}

/*
 * Is current, a member, at work for a filesystem that stands on another? overlayfs opens and changes
 * the files below as the user who mounted it: the same task, judged above, with borrowed
 * credentials, on every kernel (FMODE_BACKING is younger, moves, and marks none of the opens that copy
 * a file up). Who else borrows: io_uring, of whom it asks - nobody gets a ring inside, but one that is
 * older than the label is not trusted, nor its workers; a core dump, to a name and a place of the
 * task's; access(2), which opens nothing. And overlayfs itself, when a member mounts it in a sandbox of
 * its own: what a user namespace below the first one lends is not trusted.
 */
static __always_inline bool bh_is_filesystem(void)
{
	struct task_struct *task = BH_READONLY(struct task_struct, bpf_get_current_task_btf());

	return task->cred != task->real_cred && !task->io_uring &&
	       !(task->flags & (PF_IO_WORKER | PF_DUMPCORE)) && task->cred->user_ns->level == 0;
}

#endif

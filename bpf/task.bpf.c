// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How labels spread, and what a task may do to another.
 *
 *   task_alloc                every child, thread and io_uring worker gets its maker's label
 *   tp_btf/cgroup_attach_task a move into a subtree: labels the leader, raises bh_ask for the rest
 *   ptrace_access_check       peers only: ptrace, process_vm_*, /proc/PID/{mem,environ,fd,ns,...}
 *   task_kill                 peers only
 *   iter/task                 user space's question: who is inside, who bears the label; labels
 */
#include "verdict.bpf.h"

/* An outsider that clones into a cgroup: the child's hooks ask where it stands. */
static __always_inline int bh_child_asks(struct task_struct *child)
{
	struct bh_label *label;

	label = bpf_task_storage_get(&bh_labels, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!label)
		return -BH_EAGAIN;
	bh_label_init(label, 0, BH_LABEL_ASK);
	return 0;
}

static __always_inline int bh_child_inherits(const struct bh_subject *s, struct task_struct *child)
{
	struct bh_label *label;

	label = bpf_task_storage_get(&bh_labels, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!label)
		return -BH_EAGAIN;
	bh_label_init(label, s->compartment, s->flags);
	label->member = s->member;
	label->exec_seq = s->exec_seq;
	return 0;
}

SEC("lsm/task_alloc")
int BPF_PROG(bh_task_alloc, struct task_struct *child, unsigned long clone_flags, int ret)
{
	struct bh_refusal r = BH_REFUSAL(TASK_ALLOC, BH_REASON_UNSURE_LABEL);
	struct bh_subject s = {};

	if (ret)
		return ret;
	switch (bh_subject_member(&s)) {
	case BH_SUBJECT_NONE:
		return clone_flags & CLONE_INTO_CGROUP_FLAG ? bh_child_asks(child) : 0;
	case BH_SUBJECT_UNSURE:
		r.reason = s.reason;
		return bh_refuse(&s, &r, NULL);
	}
	if (clone_flags & CLONE_INTO_CGROUP_FLAG && s.state == BH_STATE_ENFORCED) {
		ret = BH_CLOSED(s, CLONE_INTO_CGROUP, 0);
		if (ret)
			return ret;
	}
	/* Not even in audit mode may a child go without its label. */
	if (bh_child_inherits(&s, child)) {
		bh_refuse(&s, &r, NULL);
		return -BH_EAGAIN;
	}
	return 0;
}

/* A label sticks: a task moved out keeps it, and the move is an event. */
static __always_inline void bh_report_move(struct bh_label *label, __u64 cgroup_id)
{
	struct bh_refusal r = BH_REFUSAL(CGROUP_MOVE, BH_REASON_MOVED);
	struct bh_subject s = {.compartment = label->compartment, .mode = BH_MODE_AUDIT};
	struct bh_compartment *c = bpf_map_lookup_elem(&bh_compartments, &s.compartment);

	if (!c || c->state != BH_STATE_ENFORCED)
		return;
	s.generation = c->generation;
	s.tally = c->tally;
	r.kind = BH_OBJECT_CGROUP;
	r.object[0] = (__u32)cgroup_id;
	r.object[1] = cgroup_id >> 32;
	bh_refuse(&s, &r, NULL);
}

/* The service manager's forked child that has not exec'd yet. Both move it, whichever comes first.
 */
static __always_inline bool bh_is_managers_child(struct task_struct *leader)
{
	struct task_struct *mover = bpf_get_current_task_btf();

	if (!(leader->flags & PF_FORKNOEXEC))
		return false;
	return mover == leader || mover->tgid == 1;
}

/* Runs under cgroup_mutex, so never twice at once: it cannot be skipped for recursion. */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(bh_attach_task, struct cgroup *cgroup, const char *path, struct task_struct *leader,
	     bool threadgroup)
{
	struct bh_standing st = {.cgroup = cgroup};
	struct bh_label *label = NULL;
	__u32 flags = 0;

	bpf_loop(BH_MAX_CGROUP_DEPTH, bh_standing_level, &st, 0);
	if (leader->bpf_storage)
		label = bpf_task_storage_get(&bh_labels, leader, 0, 0);
	if (label && bh_label_entry(label)) {
		if (label->compartment != st.compartment)
			bh_report_move(label, BPF_CORE_READ(cgroup, kn, id));
		return 0;
	}
	if (!st.compartment)
		return 0;
	/* Threads get their label from user space; until then every hook asks. */
	__sync_fetch_and_add(&bh_ask, 1);
	if (st.flags & BH_CGROUP_STARTING && bh_is_managers_child(leader))
		flags = BH_LABEL_PENDING;
	label = bh_label_make(leader, st.compartment, flags);
	if (label)
		bh_report_move(label, BPF_CORE_READ(cgroup, kn, id));
	return 0;
}

SEC("lsm/ptrace_access_check")
int BPF_PROG(bh_ptrace, struct task_struct *child, unsigned int mode, int ret)
{
	struct bh_refusal r = BH_REFUSAL(PTRACE, BH_REASON_OUTSIDER);

	BH_ENTER(s, PTRACE, ret);
	if (bh_task_is_peer(&s, child))
		return 0;
	if (mode & PTRACE_MODE_NOAUDIT)
		r.bits |= BH_EVENT_QUIET;
	r.kind = BH_OBJECT_TASK;
	r.object[0] = child->tgid;
	r.object[1] = mode;
	return bh_refuse(&s, &r, NULL);
}

SEC("lsm/task_kill")
int BPF_PROG(bh_task_kill, struct task_struct *target, struct kernel_siginfo *info, int sig,
	     const struct cred *cred, int ret)
{
	struct bh_refusal r = BH_REFUSAL(TASK_KILL, BH_REASON_OUTSIDER);

	BH_ENTER(s, TASK_KILL, ret);
	if (bh_task_is_peer(&s, target))
		return 0;
	r.kind = BH_OBJECT_TASK;
	r.object[0] = target->tgid;
	r.object[1] = sig;
	return bh_refuse(&s, &r, NULL);
}

static long bh_inside_level(__u32 i, struct bh_standing *st)
{
	struct cgroup *cgroup = st->cgroup;
	struct bh_task_query *q;
	__u32 zero = 0;

	q = bpf_map_lookup_elem(&bh_queries, &zero);
	if (!q || !cgroup)
		return 1;
	if (BPF_CORE_READ(cgroup, kn, id) == q->cgroup_id) {
		st->compartment = 1;
		return 1;
	}
	st->cgroup = (void *)BPF_CORE_READ(cgroup, self.parent);
	return 0;
}

static __always_inline void bh_answer_label(const struct bh_task_query *q, struct task_struct *task,
					    struct bh_task *a)
{
	struct bh_label *label = bpf_task_storage_get(&bh_labels, task, 0, 0);

	if (q->label && a->inside && !bh_label_entry(label))
		label = bh_label_make(task, q->compartment, 0);
	if (!label)
		return;
	if (q->tgid && q->tgid == a->tgid && label->compartment == q->compartment)
		label->flags |= q->set_flags;
	a->compartment = label->compartment;
	a->flags = label->flags;
}

#define BH_RINGS 16 /* IO_RINGFD_REG_MAX, io_uring/tctx.h */

/* An io_uring that is registered with its thread (5.18) needs no descriptor, nor, since 6.5, a mapping. */
static __always_inline bool bh_has_ring(struct task_struct *task)
{
	struct file *rings[BH_RINGS] = {};
	struct io_uring_task *context = BPF_CORE_READ(task, io_uring);
	__u64 any = 0;
	__u32 i;

	if (!bpf_core_field_exists(context->registered_rings))
		return false;
	_Static_assert(sizeof(rings) == sizeof(context->registered_rings), "all of them");
	if (!context || BPF_CORE_READ_INTO(&rings, context, registered_rings))
		return false;
#pragma unroll
	for (i = 0; i < BH_RINGS; i++)
		any |= (__u64)rings[i];
	return any;
}

SEC("iter/task")
int bh_iter_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct bh_task a = {};
	struct bh_standing st = {};
	struct bh_task_query *q;
	__u32 zero = 0;

	q = bpf_map_lookup_elem(&bh_queries, &zero);
	if (!task || !q)
		return 0;
	a.tid = task->pid;
	a.tgid = task->tgid;
	st.cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp);
	bpf_loop(BH_MAX_CGROUP_DEPTH, bh_inside_level, &st, 0);
	a.inside = st.compartment;
	bh_answer_label(q, task, &a);
	if (bh_has_ring(task))
		a.flags |= BH_TASK_RING;
	if (a.inside || (q->compartment && a.compartment == q->compartment))
		bpf_seq_write(ctx->meta->seq, &a, sizeof(a));
	return 0;
}

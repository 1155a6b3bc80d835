// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rest of the kernel's surface: what no compartment may do in this version.
 *
 *   capable                   all capabilities but the policy's; also the backstop for what has no
 *                             hook of its own (setns, unshare, open_tree, fsopen, mount_setattr)
 *   bpf perf_event_open
 *   inode_init_security_anon  io_uring and userfaultfd, by the name of their anonymous inode: the
 *                             one hook that all kernels have for them
 *   iter/task_file            user space's question: which open file and superblock is behind a descriptor
 */
#include "nested.bpf.h"

/* The kernel inserted an argument before `ret` (7.x), so its place is not known; no earlier verdict
 * is lost: the kernel does not call the next program after a refusal. */
SEC("lsm/bpf")
int BPF_PROG(bh_bpf, int cmd, union bpf_attr *attr, unsigned int size)
{
	BH_ENTER(s, BPF, 0);
	return BH_CLOSED(s, BPF, cmd);
}

/* Lost its first argument after 6.12: none is read. */
SEC("lsm/perf_event_open")
int BPF_PROG(bh_perf_event)
{
	BH_ENTER(s, PERF_EVENT, 0);
	return BH_CLOSED(s, PERF_EVENT, 0);
}

static __always_inline __u64 bh_caps_in(const struct bh_policy *policy, struct user_namespace *ns)
{
	return policy->flags & BH_POLICY_NESTED && ns->level > 0 ? policy->caps | BH_NESTED_CAPS
								 : policy->caps;
}

/* CAP_DAC_READ_SEARCH is asked before every use of CAP_DAC_OVERRIDE, and code that asks with
 * NOAUDIT only wants to know: refused, counted, not reported. */
SEC("lsm/capable")
int BPF_PROG(bh_capable, const struct cred *cred, struct user_namespace *ns, int cap,
	     unsigned int opts, int ret)
{
	struct bh_refusal r = BH_REFUSAL(CAPABLE, BH_REASON_CLOSED);
	struct bh_policy *policy;

	BH_ENTER(s, CAPABLE, ret);
	policy = bh_policy_of(&s);
	if (!policy)
		r.reason = BH_REASON_UNSURE_TABLE;
	else if (cap >= 0 && cap < 64 && bh_caps_in(policy, ns) & (1ULL << cap))
		return 0;
	if (cap == CAP_DAC_READ_SEARCH || opts & CAP_OPT_NOAUDIT)
		r.bits |= BH_EVENT_QUIET;
	return bh_refuse_number(&s, &r, cap);
}

SEC("lsm/inode_init_security_anon")
int BPF_PROG(bh_anon_inode, struct inode *inode, const struct qstr *name,
	     const struct inode *context, int ret)
{
	struct bh_refusal r = BH_REFUSAL(ANON_INODE, BH_REASON_CLOSED);
	char *text = (char *)r.small;

	BH_ENTER(s, ANON_INODE, ret);
	bpf_probe_read_kernel_str(text, sizeof(r.small), name->name);
	if (bpf_strncmp(text, sizeof(r.small), "[io_uring]") &&
	    bpf_strncmp(text, sizeof(r.small), "[userfaultfd]"))
		return 0;
	return bh_refuse_name(&s, &r);
}

SEC("iter/task_file")
int bh_iter_file(struct bpf_iter__task_file *ctx)
{
	struct bh_file a = {.fd = ctx->fd};
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct super_block *sb;

	if (!task || !file)
		return 0;
	sb = BPF_CORE_READ(file, f_path.dentry, d_sb);
	a.file = (__u64)file;
	a.tid = task->pid;
	a.superblock = (__u64)sb;
	a.magic = BPF_CORE_READ(sb, s_magic);
	a.ino = BPF_CORE_READ(file, f_inode, i_ino);
	a.generation = BPF_CORE_READ(file, f_inode, i_generation);
	bpf_probe_read_kernel_str(a.type, sizeof(a.type), BPF_CORE_READ(sb, s_type, name));
	bpf_seq_write(ctx->meta->seq, &a, sizeof(a));
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Descriptors with O_APPEND of files that may be appended to and not written.
 *
 *   file_permission           write, for each system call that could write elsewhere than at the end
 *
 * Attached while a policy gives append without write anywhere (BH_POLICY_APPEND), and no longer. The hook
 * is told that the file is going to be written and not how: fallocate(2), which punches holes, and
 * pwritev2(2) with RWF_NOAPPEND, which writes at any offset, look like write(2). What tells them apart is
 * the system call that current is in. Those that append are listed; of all others, of later ones too, write
 * is asked. Mappings, truncation and taking O_APPEND off have hooks of their own.
 */
#include "path.bpf.h"

/* Of x86-64, and of i386: which any program can call by int 0x80. asm/unistd_64.h, asm/unistd_32.h. */
enum {
	NR_WRITE = 1,
	NR_PWRITE64 = 18,
	NR_WRITEV = 20,
	NR_SENDFILE = 40,
	NR_SPLICE = 275,
	NR_PWRITEV = 296,
	NR_COPY_FILE_RANGE = 326,
	NR_PWRITEV2 = 328,

	NR32_WRITE = 4,
	NR32_WRITEV = 146,
	NR32_PWRITE64 = 181,
	NR32_SENDFILE = 187,
	NR32_SENDFILE64 = 239,
	NR32_SPLICE = 313,
	NR32_PWRITEV = 334,
	NR32_COPY_FILE_RANGE = 377,
	NR32_PWRITEV2 = 379,
};

/* Flags of pwritev2(2) that leave where it writes alone: all there are but RWF_NOAPPEND. HIPRI DSYNC SYNC
 * NOWAIT APPEND, ATOMIC, DONTCACHE, NOSIGNAL (linux/fs.h). */
#define RWF_PLACELESS (0x1f | 0x40 | 0x80 | 0x100)

/* The kernel itself refuses sendfile, splice (EINVAL) and copy_file_range (EBADF) to a file with O_APPEND,
 * and who is refused so goes on with write(2): they must hear it from the kernel. */
static __always_inline bool bh_appends(__u32 number, __u32 flags)
{
	switch (number) {
	case NR_WRITE:
	case NR_PWRITE64:
	case NR_WRITEV:
	case NR_SENDFILE:
	case NR_SPLICE:
	case NR_PWRITEV:
	case NR_COPY_FILE_RANGE:
		return true;
	case NR_PWRITEV2:
		return !(flags & ~RWF_PLACELESS);
	}
	return false;
}

static __always_inline bool bh_appends_compat(__u32 number, __u32 flags)
{
	switch (number) {
	case NR32_WRITE:
	case NR32_WRITEV:
	case NR32_PWRITE64:
	case NR32_SENDFILE:
	case NR32_SENDFILE64:
	case NR32_SPLICE:
	case NR32_PWRITEV:
	case NR32_COPY_FILE_RANGE:
		return true;
	case NR32_PWRITEV2:
		return !(flags & ~RWF_PLACELESS);
	}
	return false;
}

/* Is current in a system call that appends? Number and flags are those that the kernel goes by, of the number
 * the low half: a tracer changes them while the caller is stopped on its way in, and they are taken anew after
 * that. Workers of io_uring are in no call, which reads as number 0. */
static __always_inline bool bh_call_appends(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	if (task->thread_info.status & TS_COMPAT)
		return bh_appends_compat(regs->orig_ax, regs->bp);
	return bh_appends(regs->orig_ax, regs->r9);
}

/* By another compartment's policy alone nobody is refused anything. */
static __always_inline bool bh_policy_appends(const struct bh_subject *s)
{
	struct bh_policy *policy = bh_policy_of(s);

	return !policy || policy->flags & BH_POLICY_APPEND;
}

SEC("lsm/file_permission")
int BPF_PROG(bh_append, struct file *file, int mask, int ret)
{
	if (ret || !(mask & MAY_WRITE) || !bh_may_be_inside())
		return ret;
	if (!(file->f_flags & O_APPEND) || bh_call_appends())
		return 0;
	BH_ENTER(s, FILE_APPEND, 0);
	if (!bh_policy_appends(&s) || bh_is_filesystem() || bh_is_memory(file->f_path.dentry))
		return 0;
	return BH_JUDGE(s, FILE_APPEND, file->f_path.dentry, BH_PERM_WRITE);
}

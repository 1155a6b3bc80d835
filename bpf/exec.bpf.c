// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Running code.
 *
 *   bprm_check_security       exec for a program, exec or interp for what a script names
 *   bprm_committed_creds      the label follows the new program: jit, exec count, pending ends
 *   mmap_file, file_mprotect  map-exec for a file; writable and executable, or nameless executable
 *                             memory needs jit on the running program; read and write for what a
 *                             mapping gains
 */
#include "path.bpf.h"

/* A script's interpreter comes in a second round, where the kernel has changed bprm->interp. */
static __always_inline bool bh_is_interpreter(struct linux_binprm *bprm)
{
	return bprm->interp != bprm->filename;
}

SEC("lsm/bprm_check_security")
int BPF_PROG(bh_bprm_check, struct linux_binprm *bprm, int ret)
{
	struct bh_refusal r = BH_REFUSAL(BPRM_CHECK, BH_REASON_NO_RULE);

	BH_ENTER(s, BPRM_CHECK, ret);
	r.perms = BH_PERM_EXEC;
	if (bh_is_interpreter(bprm))
		r.any = BH_PERM_INTERP;
	return bh_judge(&s, bprm->file->f_path.dentry, &r);
}

/* Past the point of no return: a failed exec must not leave another program's rights behind. */
SEC("lsm/bprm_committed_creds")
void BPF_PROG(bh_bprm_committed, struct linux_binprm *bprm)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct bh_subject s = {};
	struct bh_label *label;
	struct bh_slot *slot;

	if (bh_subject_member(&s) != BH_SUBJECT_SOME)
		return;
	label = bpf_task_storage_get(&bh_labels, task, 0, 0);
	if (!label)
		return; /* found by its cgroup alone: such a subject has no flags */
	label->exec_seq++;
	label->flags &= ~(BH_LABEL_JIT | BH_LABEL_PENDING);
	slot = bh_look(&s, bprm->file->f_path.dentry);
	if (slot && !slot->reason && slot->masks.allow & ~slot->hidden & BH_PERM_JIT)
		label->flags |= BH_LABEL_JIT;
	bh_slot_release(slot);
}

static __always_inline long bh_refuse_jit(const struct bh_subject *s, struct bh_refusal *r)
{
	r->reason = BH_REASON_JIT;
	r->perms = BH_PERM_JIT;
	return bh_refuse(s, r, NULL);
}

/* What was opened to be mapped. Of a file on overlayfs the mapping has, since 6.5, the layer's own, which
 * members need not see; the kernel keeps the other's path behind it. Its flag for such files moves: they are
 * told by one that more files bear, and by what stands there. */
static __always_inline struct dentry *bh_mapped(struct file *file)
{
	struct backing_file *backing = (void *)file; /* begins with it */
	struct dentry *above;

	if (!bpf_core_field_exists(backing->user_path) || !(file->f_mode & FMODE_NOACCOUNT))
		return file->f_path.dentry;
	above = BPF_CORE_READ(backing, user_path.dentry);
	return BPF_CORE_READ(above, d_sb, s_magic) == OVERLAYFS_MAGIC ? above : file->f_path.dentry;
}

/* A mapping that asks for r->perms, and if `exec`utable for more: `file` NULL for nameless memory,
 * `jit` when it can hold code that no file holds. */
static __always_inline long bh_judge_mapping(const struct bh_subject *s, struct file *file,
					     bool exec, bool jit, struct bh_refusal *r)
{
	if (exec && (!file || jit) && !(s->flags & BH_LABEL_JIT))
		return bh_refuse_jit(s, r);
	if (!file)
		return 0;
	r->perms |= exec ? BH_PERM_MAP_EXEC : 0;
	return bh_judge(s, bh_mapped(file), r);
}

SEC("lsm/mmap_file")
int BPF_PROG(bh_mmap_file, struct file *file, unsigned long reqprot, unsigned long prot,
	     unsigned long flags, int ret)
{
	struct bh_refusal r = BH_REFUSAL(MMAP_FILE, BH_REASON_NO_RULE);

	/* A mapping writes where it likes, whatever the descriptor was opened for. */
	if (file && prot & PROT_WRITE && flags & MAP_SHARED && file->f_flags & O_APPEND)
		r.perms = BH_PERM_WRITE;
	if (!(prot & PROT_EXEC) && !r.perms)
		return ret;
	BH_ENTER(s, MMAP_FILE, ret);
	return bh_judge_mapping(&s, file, prot & PROT_EXEC, prot & PROT_WRITE, &r);
}

/* What a mapping can do from now on that it could not: it may be older than the label, and then
 * only what it could do was judged. */
static __always_inline __u32 bh_mapping_gains(struct vm_area_struct *vma, struct file *file,
					      unsigned long prot)
{
	unsigned long flags = vma->vm_flags;
	__u32 perms = 0;

	if (prot & PROT_READ && !(flags & VM_READ))
		perms |= BH_PERM_READ;
	if (prot & PROT_WRITE && flags & VM_SHARED && !(flags & VM_WRITE))
		perms |= BH_PERM_WRITE;
	if (!perms || !file)
		return 0;
	return bh_is_memory(file->f_path.dentry) ? 0 : perms;
}

SEC("lsm/file_mprotect")
int BPF_PROG(bh_file_mprotect, struct vm_area_struct *vma, unsigned long reqprot,
	     unsigned long prot, int ret)
{
	struct bh_refusal r = BH_REFUSAL(FILE_MPROTECT, BH_REASON_NO_RULE);
	/* Read once: the newest verifier takes every reading for another file, or none. */
	struct file *file = vma->vm_file;

	r.perms = bh_mapping_gains(vma, file, prot);
	if (!(prot & PROT_EXEC) && !r.perms)
		return ret;
	BH_ENTER(s, FILE_MPROTECT, ret);
	/* anon_vma: pages of a private mapping were written, so they are not the file's any more.
	 */
	return bh_judge_mapping(&s, file, prot & PROT_EXEC, prot & PROT_WRITE || vma->anon_vma, &r);
}

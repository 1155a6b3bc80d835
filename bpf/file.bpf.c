// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Files: opening and every change of names, content and attributes.
 *
 *   file_open                     read, write, append, create (O_TMPFILE), exec|interp (opened to run)
 *   path_mknod mkdir symlink      create
 *   path_unlink rmdir             delete
 *   path_link path_rename         create and delete at both ends, and no right gained by a new name
 *   path_notify                   read: inotify and fanotify tell the names in a directory; closed: marks of a
 *                                 whole mount or filesystem
 *   file_fcntl                    write, to take O_APPEND off; closed: signals to others
 *   file_ioctl                    ioctl, but what isatty(3) and its like ask; closed: signals to others,
 *                                 typing for them on a terminal, names by the way of btrfs
 */
#include "held.bpf.h"

/* Rights that an open asks for. Mode 3 gives neither reading nor writing: ioctl alone. */
static __always_inline __u32 bh_open_perms(struct file *file)
{
	__u32 mode = file->f_mode, flags = file->f_flags, perms = 0;

	if (mode & FMODE_READ)
		perms |= BH_PERM_READ;
	if (mode & FMODE_WRITE)
		perms |= flags & O_APPEND && !(flags & O_TRUNC) ? BH_PERM_APPEND : BH_PERM_WRITE;
	if ((flags & O_TMPFILE_FLAG) == O_TMPFILE_FLAG)
		perms |= BH_PERM_CREATE; /* no path hook sees it */
	return perms ? perms : BH_PERM_IOCTL;
}

/* What file_open has found out of its subject, before it is one; each may be NULL. */
struct bh_opener {
	struct bh_label *label;
	struct bh_compartment *c;
	struct bh_keeping k;
};

/* As bh_subject_find, which need not be asked for who has a label that counts. */
static __always_inline int bh_opener_subject(const struct bh_opener *o, struct bh_subject *s)
{
	if (!o->label || !o->c || o->c->state != BH_STATE_ENFORCED ||
	    o->label->flags & BH_LABEL_PENDING)
		return bh_subject_current(s);
	bh_subject_from_label(s, o->label);
	bh_subject_from_entry(s, o->c);
	return BH_SUBJECT_SOME;
}

static __noinline long bh_judge_open(struct file *file, __u32 perms, __u32 any, struct bh_opener *o)
{
	struct bh_refusal r = BH_REFUSAL(FILE_OPEN, BH_REASON_NO_RULE);
	struct bh_subject s = {};
	int kind = bh_opener_subject(o, &s);

	if (kind == BH_SUBJECT_NONE || (kind == BH_SUBJECT_SOME && bh_is_filesystem()))
		return 0;
	if (kind == BH_SUBJECT_UNSURE) {
		r.reason = s.reason;
		return bh_refuse(&s, &r, NULL);
	}
	r.perms = perms;
	r.any = any;
	return bh_judge_keep(&s, file->f_path.dentry, file->f_inode, &o->k, &r);
}

/* The shortest way for what is known, as most of what is opened is. */
SEC("lsm/file_open")
int BPF_PROG(bh_file_open, struct file *file, int ret)
{
	struct bh_opener o = {};
	__u32 perms, any = 0;

	if (ret || !bh_may_be_inside())
		return ret;
	perms = bh_open_perms(file);
	/* Opened to run: a program, a script's or an ELF interpreter; which one bprm_check judges.
	 */
	if (file->f_flags & FMODE_EXEC_FLAG) {
		perms = BH_PERM_EXEC;
		any = BH_PERM_INTERP;
	}
	o.label = bpf_task_storage_get(&bh_labels, bpf_get_current_task_btf(), 0, 0);
	o.c = bh_label_entry(o.label);
	o.k.one = bh_cache.on && bh_has_one_name(file->f_path.dentry, file->f_inode);
	if (o.k.one)
		o.k.known = bh_known_of(file->f_inode, 0);
	if (o.c && o.c->state == BH_STATE_ENFORCED && o.k.known &&
	    bh_known_allows(o.k.known, o.c->generation, perms, any))
		return 0;
	return bh_judge_open(file, perms, any, &o);
}

SEC("lsm/path_mknod")
int BPF_PROG(bh_path_mknod, const struct path *dir, struct dentry *dentry, umode_t mode,
	     unsigned int dev, int ret)
{
	BH_ENTER(s, PATH_MKNOD, ret);
	return BH_JUDGE(s, PATH_MKNOD, dentry, BH_PERM_CREATE);
}

SEC("lsm/path_mkdir")
int BPF_PROG(bh_path_mkdir, const struct path *dir, struct dentry *dentry, umode_t mode, int ret)
{
	BH_ENTER(s, PATH_MKDIR, ret);
	return BH_JUDGE(s, PATH_MKDIR, dentry, BH_PERM_CREATE);
}

SEC("lsm/path_symlink")
int BPF_PROG(bh_path_symlink, const struct path *dir, struct dentry *dentry, const char *target,
	     int ret)
{
	BH_ENTER(s, PATH_SYMLINK, ret);
	return BH_JUDGE(s, PATH_SYMLINK, dentry, BH_PERM_CREATE);
}

SEC("lsm/path_unlink")
int BPF_PROG(bh_path_unlink, const struct path *dir, struct dentry *dentry, int ret)
{
	BH_ENTER(s, PATH_UNLINK, ret);
	return BH_JUDGE(s, PATH_UNLINK, dentry, BH_PERM_DELETE);
}

SEC("lsm/path_rmdir")
int BPF_PROG(bh_path_rmdir, const struct path *dir, struct dentry *dentry, int ret)
{
	BH_ENTER(s, PATH_RMDIR, ret);
	return BH_JUDGE(s, PATH_RMDIR, dentry, BH_PERM_DELETE);
}

static __always_inline bool bh_dentry_is_dir(struct dentry *dentry)
{
	struct inode *inode = dentry->d_inode;

	return inode && (inode->i_mode & S_IFMT) == S_IFDIR;
}

/* Does the new name give a right that the old one has not? */
static __always_inline bool bh_pair_gains(const struct bh_pair *pair, const struct bh_slot *new)
{
	__u32 new_plain = new->hidden ? 0 : BH_PERM_LINKS;

	if (pair->dir && new->below != pair->old_below)
		return true;
	if (new->masks.allow & ~(pair->old_allow | pair->old_plain))
		return true;
	return pair->both_ways && pair->old_allow & ~(new->masks.allow | new_plain);
}

static __noinline long bh_judge_end(const struct bh_subject *s, struct dentry *dentry,
				    struct bh_pair *pair, __u32 hook, bool is_new)
{
	struct bh_refusal r = BH_REFUSAL(PATH_LINK, BH_REASON_NO_RULE);
	struct bh_slot *slot = bh_look(s, dentry);
	long ret = 0;

	if (slot)
		slot->below = 0;
	if (pair->dir && slot && !slot->reason && !bh_is_kind(slot))
		bh_match_below(s, slot);
	r.hook = hook;
	r.perms = is_new ? pair->new_perms : pair->old_perms;
	if (is_new && slot && bh_masks_allow(slot->masks.allow, r.perms) &&
	    bh_pair_gains(pair, slot)) {
		r.reason = BH_REASON_RIGHTS;
		r.perms = 0;
	}
	/* A link asks nothing of the old name but that it loses nothing to the new one. */
	if (is_new || !slot || slot->reason || pair->old_perms)
		ret = bh_judge_place(s, &r, slot);
	if (slot && !is_new) {
		pair->old_allow = slot->masks.allow;
		pair->old_plain = slot->hidden ? 0 : BH_PERM_LINKS;
		pair->sbid = slot->sbid;
		pair->old_below = slot->below;
	}
	bh_slot_release(slot);
	return ret;
}

/* The pair stands in a slot of its own, for the verifier's sake: see struct bh_slot. One call for
 * both ends, because the newest follows each call's function apart. */
static __noinline long bh_judge_pair(const struct bh_subject *s, struct dentry *old,
				     struct dentry *new, struct bh_slot *own, __u32 hook)
{
	long ret = 0;
	__u32 i;

#pragma nounroll
	for (i = 0; i < 2 && !ret; i++)
		ret = bh_judge_end(s, i ? new : old, &own->pair, hook, i);
	return ret;
}

static __always_inline long bh_refuse_no_slot(const struct bh_subject *s, __u32 hook)
{
	struct bh_refusal r = BH_REFUSAL(PATH_LINK, BH_REASON_UNSURE_SLOT);

	r.hook = hook;
	return bh_refuse(s, &r, NULL);
}

SEC("lsm/path_link")
int BPF_PROG(bh_path_link, struct dentry *old, const struct path *dir, struct dentry *new, int ret)
{
	struct bh_slot *slot;
	long no;

	BH_ENTER(s, PATH_LINK, ret);
	slot = bh_slot_claim();
	if (!slot)
		return bh_refuse_no_slot(&s, BH_HOOK_PATH_LINK);
	slot->pair.old_perms = slot->pair.both_ways = slot->pair.dir = 0;
	slot->pair.new_perms = BH_PERM_LINK | BH_PERM_CREATE;
	no = bh_judge_pair(&s, old, new, slot, BH_HOOK_PATH_LINK);
	if (!no)
		bh_link_made(&s, BH_READONLY(struct dentry, old), slot->pair.sbid);
	bh_slot_release(slot);
	return no;
}

SEC("lsm/path_rename")
int BPF_PROG(bh_path_rename, const struct path *old_dir, struct dentry *old,
	     const struct path *new_dir, struct dentry *new, unsigned int flags, int ret)
{
	struct bh_slot *slot;
	struct bh_pair *pair;
	long no;

	BH_ENTER(s, PATH_RENAME, ret);
	/* Leaves a device node at the old name. */
	if (flags & RENAME_WHITEOUT)
		return BH_CLOSED(s, PATH_RENAME, flags);
	slot = bh_slot_claim();
	if (!slot)
		return bh_refuse_no_slot(&s, BH_HOOK_PATH_RENAME);
	pair = &slot->pair;
	pair->both_ways = flags & RENAME_EXCHANGE;
	pair->old_perms = BH_PERM_DELETE | (pair->both_ways ? BH_PERM_CREATE : 0);
	pair->new_perms = BH_PERM_CREATE | (new->d_inode ? BH_PERM_DELETE : 0);
	pair->dir = bh_dentry_is_dir(old) || (pair->both_ways && bh_dentry_is_dir(new));
	no = bh_judge_pair(&s, old, new, slot, BH_HOOK_PATH_RENAME);
	bh_slot_release(slot);
	return no;
}

#define BH_NOTIFY_INODE 0 /* enum fsnotify_obj_type: the kernel's own, and the first since 5.0 */

/* A watch tells the names in a directory, and when each is used, without opening it. */
SEC("lsm/path_notify")
int BPF_PROG(bh_path_notify, const struct path *path, __u64 mask, unsigned int type, int ret)
{
	struct bh_refusal r = BH_REFUSAL(PATH_NOTIFY, BH_REASON_CLOSED);

	BH_ENTER(s, PATH_NOTIFY, ret);
	if (type != BH_NOTIFY_INODE)
		return bh_refuse(&s, &r, NULL);
	if (bh_is_memory(path->dentry))
		return 0;
	r.reason = BH_REASON_NO_RULE;
	r.perms = BH_PERM_READ;
	return bh_judge(&s, path->dentry, &r);
}

/* Who is sent a descriptor's signals, any of them by F_SETSIG, is asked of nobody when they are
 * sent.
 */
SEC("lsm/file_fcntl")
int BPF_PROG(bh_file_fcntl, struct file *file, unsigned int cmd, unsigned long arg, int ret)
{
	if (cmd != F_SETOWN && cmd != F_SETOWN_EX && cmd != F_SETFL)
		return ret;
	BH_ENTER(s, FILE_FCNTL, ret);
	if (cmd != F_SETFL)
		return BH_CLOSED(s, FILE_FCNTL, cmd);
	/* What was opened to append becomes open to write. */
	if (arg & O_APPEND || !(file->f_flags & O_APPEND) || !(file->f_mode & FMODE_WRITE))
		return 0;
	return BH_JUDGE(s, FILE_FCNTL, file->f_path.dentry, BH_PERM_WRITE);
}

/*
 * What any file answers and nobody else feels: what isatty(3) and its like ask, close-on-exec and
 * non-blocking as fcntl(2) has them, how much there is to read, and copying between two files that
 * are open for it.
 */
static __always_inline bool bh_ioctl_is_free(unsigned int cmd)
{
	switch (cmd) {
	case TCGETS:
	case TCGETS2:
	case TIOCGPGRP:
	case TIOCGSID:
	case TIOCGWINSZ:
	case TIOCOUTQ:
	case FIONREAD:
	case FIONBIO:
	case FIOASYNC:
	case FIGETBSZ:
	case FICLONE:
	case FICLONERANGE:
	case FIDEDUPERANGE:
	case FS_IOC_FIEMAP:
	case FS_IOC_GETFLAGS:
	case FS_IOC_FSGETXATTR:
		return true;
	}
	return false;
}

/* What files with several names are known by (struct bh_inode) changes; directories come, go and are copied
 * with all that is in them, and no hook is asked for a name. */
static __always_inline bool bh_ioctl_is_of_names(unsigned int cmd)
{
	switch (cmd & 0xffff) {
	case FS_SETVERSION:
	case EXT4_SETVERSION:
	case BTRFS_SNAP_CREATE:
	case BTRFS_SUBVOL_CREATE:
	case BTRFS_SNAP_DESTROY:
	case BTRFS_SNAP_CREATE_V2:
	case BTRFS_SUBVOL_CREATE_V2:
	case BTRFS_SNAP_DESTROY_V2:
		return true;
	}
	return false;
}

/* Signals to others as above, and typing on a terminal for whoever reads it next. */
static __always_inline bool bh_ioctl_is_closed(unsigned int cmd)
{
	return bh_ioctl_is_of_names(cmd) || cmd == FIOSETOWN || cmd == SIOCSPGRP ||
	       cmd == TIOCSTI || cmd == TIOCLINUX;
}

/* The terminal that the task controls is its own, by whatever name it was opened. */
static __always_inline bool bh_is_own_terminal(struct file *file)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tty_struct *own = BPF_CORE_READ(task, signal, tty);
	__u32 major = BPF_CORE_READ(file, f_inode, i_rdev) >> MINORBITS;
	struct tty_file_private *private;

	if (!own || (BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) != S_IFCHR)
		return false;
	if (major != TTY_MAJOR && major != TTYAUX_MAJOR &&
	    (major < UNIX98_PTY_SLAVE_MAJOR || major >= UNIX98_PTY_SLAVE_MAJOR + UNIX98_PTY_MAJORS))
		return false;
	private = (void *)BPF_CORE_READ(file, private_data);
	return private && BPF_CORE_READ(private, tty) == own;
}

static __noinline long bh_judge_ioctl(struct file *file, unsigned int cmd, int ret)
{
	struct bh_refusal r = BH_REFUSAL(FILE_IOCTL, BH_REASON_NO_RULE);
	struct bh_revoked *held;

	BH_ENTER(s, FILE_IOCTL, ret);
	if (bh_ioctl_is_closed(cmd))
		return BH_CLOSED(s, FILE_IOCTL, cmd);
	held = bh_held_entry(file);
	if (cmd == FIOCLEX || cmd == FIONCLEX)
		return 0; /* of the descriptor alone */
	if (!bh_is_revoked(&s, held) &&
	    (bh_ioctl_is_free(cmd) || bh_is_memory(file->f_path.dentry) ||
	     bh_is_own_terminal(file)))
		return 0;
	r.perms = BH_PERM_IOCTL;
	return bh_judge_held(&s, file->f_path.dentry, held, &r);
}

SEC("lsm/file_ioctl")
int BPF_PROG(bh_file_ioctl, struct file *file, unsigned int cmd, unsigned long arg, int ret)
{
	return bh_judge_ioctl(file, cmd, ret);
}

/* Of 32-bit programs, which any program can be by int 0x80; a kernel without it asks the one above.
 */
SEC("lsm/file_ioctl_compat")
int BPF_PROG(bh_file_ioctl_compat, struct file *file, unsigned int cmd, unsigned long arg, int ret)
{
	return bh_judge_ioctl(file, cmd, ret);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where: a file's place on its filesystem, and what the policy says of it.
 *
 * The place is the superblock and the chain of dentries to its root, walked here in every hook on
 * every kernel: bpf_d_path changes with chroot, bind mounts and mount namespaces and is refused in
 * most path hooks. Two passes: the first writes the names backwards into a claimed slot, the second
 * compares each dentry's d_seq, so that what was read stood in one moment. Unrelated renames do not
 * disturb it, as they would with rename_lock.
 */
#ifndef BULKHEAD_PATH_BPF_H
#define BULKHEAD_PATH_BPF_H

#include "links.bpf.h"

/* A table, and the page of it that is at hand: states follow each other closely. */
struct bh_table {
	void *map;
	struct bh_page *page;
	__u32 first; /* index of the page's first word */
};

#define BH_TABLE struct bh_table

/* -1: on another page. */
static __always_inline long bh_table_word(struct bh_table *table, __u32 index, __u32 *ret_word)
{
	__u64 offset = index;

	/* The comparison is also what the verifier goes by; 6.1 does not know what a 32-bit exclusive
	 * or leaves in the upper half. */
	asm volatile("%0 ^= %1" : "+r"(offset) : "r"((__u64)table->first));
	if (offset >= BH_PAGE_WORDS)
		return -1;
	*ret_word = table->page->words[offset];
	return 0;
}
#include <bulkhead/match.h>
#include "cache.bpf.h"

/* What slot->superblock alone says. */
__noinline int bh_place_start(const struct bh_subject *s, struct bh_slot *slot);

/* The masks of slot->path[slot->cursor..], from slot->state. */
__noinline int bh_match_path(const struct bh_subject *s, struct bh_slot *slot);

/* The same up to the last component, and keeps the state there as its directory's. */
__noinline int bh_match_directory(const struct bh_subject *s, struct bh_slot *slot);

/* slot->below, from slot->state. */
__noinline int bh_match_below(const struct bh_subject *s, struct bh_slot *slot);

/* Does who has this struct pid (its address) stand in the subject's own compartment, and who has
 * `leaf`, if that is not 0? */
__noinline int bh_proc_is_peer(const struct bh_subject *s, __u64 top, __u64 leaf);

/* Allowed (0), or refused with the place as the object (errno, as bh_refuse_errno). The slot is NULL
 * when none was free. */
__noinline int bh_judge_place_errno(const struct bh_subject *s, struct bh_refusal *r,
				    struct bh_slot *slot);

static __always_inline long bh_judge_place(const struct bh_subject *s, struct bh_refusal *r,
					   struct bh_slot *slot)
{
	return bh_negative(bh_judge_place_errno(s, r, slot));
}

/* What a walk needs of pointers that the verifier has to know; everything else is in the slot. */
struct bh_walk {
	const struct bh_subject *s;
	struct dentry *dentry; /* where the walk stands */
	struct dentry *leaf;
	struct dentry *top; /* the child of the root on this chain */
	struct bh_slot *slot;
};

static __always_inline __u32 bh_dentry_seq(struct dentry *dentry)
{
	return *(volatile __u32 *)&dentry->d_seq.seqcount.sequence;
}

/*
 * Of two kinds: one goes all the way, the other may end near (enum bh_near). Which one is known when it is
 * compiled: the verifier would follow both in every hook.
 */

/* What a walk that may end near sees while the dentry is seen to stand in the directory: in the first step what is
 * known of it, and whether names there change, unless the walk ends there and nothing is kept. */
static __always_inline void bh_walk_near(struct bh_walk *w, struct dentry *dentry,
					 struct dentry *parent, __u64 step)
{
	struct inode *directory = parent->d_inode;
	struct bh_slot *slot = w->slot;

	if (!step && slot->near == BH_NEAR_MAY) {
		slot->directory = (__u64)directory;
		slot->found = bh_directory_find(w->s, slot);
		if (slot->found && !slot->keeps)
			return;
	}
	slot->odd |= (dentry->d_flags & BH_DENTRY_ODD) | bh_is_changing(directory);
}

/* Pass one: note the dentry, put "/name" before what is there, go up. */
static __always_inline long bh_walk_step(__u32 i, struct bh_walk *w, bool near)
{
	struct dentry *dentry = w->dentry;
	struct dentry *parent;
	struct bh_slot *slot = w->slot;
	__u64 step = BH_BOUND(i, BH_MAX_DEPTH - 1);
	__u64 length, pos;
	const __u8 *name;
	__u32 seq;

	seq = bh_dentry_seq(dentry);
	parent = dentry->d_parent;
	if (parent == dentry) {
		slot->done = 1;
		return 1;
	}
	if (near)
		bh_walk_near(w, dentry, parent, step);
	name = dentry->d_name.name;
	length = dentry->d_name.len;
	if (seq & 1 || length > BH_MAX_NAME || slot->pos < length + 1) {
		slot->fault = seq & 1 ? BH_REASON_UNSURE_RACE : BH_REASON_UNSURE_PATH;
		return 1;
	}
	pos = BH_BOUND(slot->pos - length, BH_PATH_END - 1);
	length = BH_BOUND(length, BH_MAX_NAME);
	/* Its parent, whether names there change, and its name, of one moment: a move that was counted before
	 * this walk and ends in between would leave the old parent, unlocked, and the new name. */
	if (bpf_probe_read_kernel(&slot->path[pos], length, name) || bh_dentry_seq(dentry) != seq) {
		slot->fault = BH_REASON_UNSURE_RACE;
		return 1;
	}
	pos = BH_BOUND(slot->pos - length - 1, BH_PATH_END - 1);
	slot->path[pos] = '/';
	slot->steps[step].dentry = (__u32)(__u64)dentry;
	slot->steps[step].seq = seq;
	slot->pos = pos;
	if (near && !step)
		slot->leaf = pos;
	slot->first = length;
	slot->n = step + 1;
	w->top = dentry;
	w->dentry = parent;
	return near ? slot->found & 1 : 0;
}

static long bh_walk_up(__u32 i, struct bh_walk *w)
{
	return bh_walk_step(i, w, false);
}

static long bh_walk_up_near(__u32 i, struct bh_walk *w)
{
	return bh_walk_step(i, w, true);
}

/* Pass two: the same dentries with the same d_seq. */
static long bh_walk_check(__u32 i, struct bh_walk *w)
{
	struct dentry *dentry = w->dentry;
	__u64 step = BH_BOUND(i, BH_MAX_DEPTH - 1);

	if (w->slot->steps[step].dentry != (__u32)(__u64)dentry ||
	    w->slot->steps[step].seq != bh_dentry_seq(dentry)) {
		w->slot->fault = BH_REASON_UNSURE_RACE;
		return 1;
	}
	w->dentry = dentry->d_parent;
	return 0;
}

/* Did nothing on the way move, where names change by the VFS alone? No need to ask each again: moves of directories
 * are counted, and who had counted and not moved yet held a lock when pass one asked, between two looks at
 * the same d_seq. What is not settled is not kept either. */
static __always_inline bool bh_walk_stood(struct bh_walk *w)
{
	struct bh_slot *slot = w->slot;

	if (!bh_is_settled(w->leaf))
		slot->near = BH_NEAR_NO;
	return slot->near == BH_NEAR_MAY && !slot->odd && slot->epoch == bh_cache.epoch &&
	       slot->steps[0].seq == bh_dentry_seq(w->leaf);
}

/* The state is the directory's: is all that is asked for allowed, and not to be told? What is refused, or is to
 * be told, takes the whole path, in another try. */
static __always_inline bool bh_walk_ends_near(struct bh_walk *w)
{
	struct bh_slot *slot = w->slot;

	slot->reason = slot->hidden = 0;
	slot->cursor = slot->pos;
	bh_match_path(w->s, slot);
	slot->near = BH_NEAR_NO;
	if (slot->reason || slot->masks.audit & (slot->perms | slot->any) ||
	    !(bh_masks_allow(slot->masks.allow, slot->perms) || slot->masks.allow & slot->any)) {
		/* Of the path the slot has the last name alone, which must not be judged as one in the
		 * filesystem's root if no other try is left. */
		slot->fault = BH_REASON_UNSURE_RACE;
		return false;
	}
	slot->near = BH_NEAR_JUDGED;
	return true;
}

/* One try; ends the loop of tries unless a rename came between. */
static __always_inline long bh_walk_once(struct bh_walk *w, bool near)
{
	struct bh_slot *slot = w->slot;
	struct dentry *root;

	w->dentry = w->leaf;
	slot->epoch = bh_cache.epoch;
	slot->pos = BH_PATH_END;
	slot->n = slot->first = slot->done = slot->fault = slot->odd = slot->found = 0;
	/* A root takes no step: what the slot was used for before must not be taken for its directory. */
	slot->directory = 0;
	bpf_loop(BH_MAX_DEPTH, near ? bh_walk_up_near : bh_walk_up, w, 0);
	if (near && slot->found && !slot->fault)
		return bh_walk_ends_near(w);
	root = w->dentry;
	if (!slot->fault && !slot->done)
		slot->fault = BH_REASON_UNSURE_PATH;
	/* Opened by handle, or a subtree cut off from its filesystem's root: it stands nowhere. */
	else if (!slot->fault && root != root->d_sb->s_root)
		slot->fault = BH_REASON_UNSURE_DETACHED;
	if (slot->fault)
		return slot->fault != BH_REASON_UNSURE_RACE;
	if (near && bh_walk_stood(w))
		return 1;
	w->dentry = w->leaf;
	bpf_loop(slot->n, bh_walk_check, w, 0);
	return slot->fault != BH_REASON_UNSURE_RACE;
}

static long bh_walk_try(__u32 i, struct bh_walk *w)
{
	return bh_walk_once(w, false);
}

static long bh_walk_try_near(__u32 i, struct bh_walk *w)
{
	return bh_walk_once(w, true);
}

/* The struct pid behind a dentry of procfs; 0: none. The number in its name depends on the pid
 * namespace of the mount. */
static __always_inline __u64 bh_proc_pid(struct dentry *dentry)
{
	struct inode *inode = dentry->d_inode;
	struct proc_inode *proc;

	if (!inode)
		return 0;
	proc = (void *)inode - bpf_core_field_offset(struct proc_inode, vfs_inode);
	return (__u64)BPF_CORE_READ(proc, pid);
}

/* Of current's own thread group. */
static __always_inline bool bh_proc_is_own(__u64 pid)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return pid && pid == (__u64)BPF_CORE_READ(task, signal, pids[PIDTYPE_TGID]);
}

/* May /proc/PID be judged as /proc/self? What is below it can be a thread's, /proc/PID/task/TID, which
 * stands in a cgroup of its own. */
static __always_inline bool bh_proc_is_open(const struct bh_subject *s, const struct bh_walk *w)
{
	struct bh_policy *policy = bh_policy_of(s);
	__u64 pid = bh_proc_pid(w->top);

	if (!policy || !(policy->flags & BH_POLICY_PROC_SELF))
		return false;
	if (bh_proc_is_own(pid))
		return true;
	return policy->flags & BH_POLICY_PROC_PEERS &&
	       bh_proc_is_peer(s, pid, bh_proc_pid(w->leaf));
}

/* /proc/PID of the own thread group is judged as /proc/self, so is that of other members if the policy
 * says so, and any other PID is refused. Names of procfs's root that begin with a digit are process
 * directories, and only they. */
static __noinline __attribute__((unused)) void bh_place_proc(const struct bh_subject *s,
							     struct bh_walk *w)
{
	struct bh_slot *slot = w->slot;
	__u8 c = slot->path[BH_BOUND(slot->pos + 1, BH_PATH_END - 1)];

	if (!slot->n || c < '0' || c > '9')
		return;
	if (!bh_proc_is_open(s, w)) {
		slot->reason = BH_REASON_PROC_OTHER;
		return;
	}
	slot->state = slot->self;
	slot->cursor = slot->pos + 1 + slot->first;
}

/* Judged by the kind of its superblock alone. */
static __always_inline bool bh_is_kind(const struct bh_slot *slot)
{
	return slot->class == BH_SB_PIPE || slot->class == BH_SB_OWN;
}

/* Rights that a class of superblock gives or takes, whatever the rules say. */
static __always_inline void bh_place_class(struct bh_slot *slot)
{
	if (slot->class == BH_SB_CGROUP)
		slot->masks.allow &= BH_PERM_READ;
	if (slot->class == BH_SB_DEBUG)
		slot->masks.allow = 0;
	if (slot->class == BH_SB_PIPE)
		slot->masks.allow = BH_PERM_READ | BH_PERM_WRITE | BH_PERM_APPEND | BH_PERM_IOCTL;
}

static __always_inline void bh_look_where(const struct bh_subject *s, struct bh_slot *slot,
					  struct dentry *trusted, bool near)
{
	struct dentry *dentry = BH_READONLY(struct dentry, trusted);
	struct bh_walk w = {.s = s, .leaf = dentry, .dentry = dentry, .top = dentry, .slot = slot};

	bpf_loop(BH_WALK_TRIES + near, near ? bh_walk_try_near : bh_walk_try, &w, 0);
	if (near && slot->near == BH_NEAR_JUDGED)
		return;
	slot->superblock = (__u64)dentry->d_sb;
	bh_place_start(s, slot);
	/* Nameless objects are their own roots: a walk finds no place, and none is needed. */
	if (slot->fault && !slot->reason && !bh_is_kind(slot))
		slot->reason = slot->fault;
	slot->cursor = slot->pos;
	if (slot->class != BH_SB_PLAIN)
		slot->odd = 1;
	if (!slot->reason && slot->class == BH_SB_PROC)
		bh_place_proc(s, &w);
	if (near && !slot->reason && !slot->odd && slot->near == BH_NEAR_MAY && slot->directory)
		bh_match_directory(s, slot);
	if (!slot->reason && !bh_is_kind(slot))
		bh_match_path(s, slot);
	bh_place_class(slot);
	bh_place_inode(s, slot, dentry);
}

/* The place of `dentry` and its verdict masks. */
static __noinline __attribute__((unused)) void
bh_look_in(const struct bh_subject *s, struct bh_slot *slot, struct dentry *dentry)
{
	bh_look_where(s, slot, dentry, false);
}

/* Where slot->near says so perhaps no more than that all is allowed that slot->perms and slot->any ask for. */
static __noinline __attribute__((unused)) void
bh_look_near_in(const struct bh_subject *s, struct bh_slot *slot, struct dentry *dentry)
{
	bh_look_where(s, slot, dentry, true);
}

/* The same in a slot that the caller releases. NULL: none free. */
static __always_inline struct bh_slot *bh_look(const struct bh_subject *s, struct dentry *trusted)
{
	struct bh_slot *slot = bh_slot_claim();

	if (slot)
		bh_look_in(s, slot, trusted);
	return slot;
}

/* Memory that a descriptor stands for: of the kernel's own filesystems, which nobody can name. */
static __always_inline bool bh_is_memory(struct dentry *dentry)
{
	return dentry->d_sb->s_flags & SB_KERNMOUNT;
}

/* The whole of most file hooks. */
static __noinline __attribute__((unused)) long bh_judge(const struct bh_subject *s,
							struct dentry *dentry, struct bh_refusal *r)
{
	struct bh_slot *slot = bh_look(s, dentry);
	long ret = bh_judge_place(s, r, slot);

	bh_slot_release(slot);
	return ret;
}

/* May its directory's state be used? Files with several names are judged by more than theirs. */
static __always_inline bool bh_may_near(struct dentry *dentry)
{
	return bh_cache.on && !bh_has_other_names(dentry, dentry->d_inode);
}

/* What is kept is as old as what stands here, taken before the walk. */
struct bh_keeping {
	bool one;		/* name, and what is found out of it may be kept */
	struct bh_known *known; /* of the inode; NULL: nothing is kept */
	__u64 epoch, moves;
};

static __always_inline struct bh_slot *bh_look_near(const struct bh_subject *s,
						    struct dentry *dentry, bool may,
						    const struct bh_keeping *k,
						    const struct bh_refusal *r)
{
	struct bh_slot *slot = bh_slot_claim();

	if (!slot)
		return NULL;
	slot->near = may ? BH_NEAR_MAY : BH_NEAR_NO;
	slot->keeps = k->known != NULL;
	slot->perms = r->perms;
	slot->any = r->any;
	bh_look_near_in(s, slot, dentry);
	return slot;
}

/* The same for what is asked often, which keeps what it finds out. The inode is the dentry's, come by in a way
 * that the newest verifier trusts. */
static __noinline __attribute__((unused)) long
bh_judge_keep(const struct bh_subject *s, struct dentry *trusted, struct inode *inode,
	      struct bh_keeping *k, struct bh_refusal *r)
{
	struct dentry *dentry = BH_READONLY(struct dentry, trusted);
	struct bh_slot *slot;
	long ret = 0;

	k->epoch = bh_cache.epoch;
	if (k->one && !k->known && bh_is_asked_again(inode) && bh_is_settled(dentry))
		k->known = bh_known_of(inode, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (k->known)
		k->moves = k->known->moves;
	slot = bh_look_near(s, dentry, k->one || bh_may_near(dentry), k, r);
	if (!slot || slot->near != BH_NEAR_JUDGED)
		ret = bh_judge_place(s, r, slot);
	/* A name that is taken away is hashed still when the file has one less. Asked again behind the walk,
	 * which saw whether names there change, it is either gone or lost after `moves` was read. */
	if (slot && k->known && slot->near != BH_NEAR_NO && !bh_is_dead_name(dentry))
		bh_known_keep(s, k->known, slot, k->epoch, k->moves);
	bh_slot_release(slot);
	return ret;
}

#define BH_JUDGE(s, hook_, dentry, perms_)                                       \
	({                                                                       \
		struct bh_refusal judge_ = BH_REFUSAL(hook_, BH_REASON_NO_RULE); \
		judge_.perms = (perms_);                                         \
		bh_judge(&s, dentry, &judge_);                                   \
	})

#endif

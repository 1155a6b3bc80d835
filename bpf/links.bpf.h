/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files with several names. A file is judged by the name that it was reached by; one that has others may
 * stand where rules deny it, and what a link of before, or an outsider's, leads to is not seen in its name.
 * So for regular files with more than one name:
 *
 *   made inside      a member gave it every name but the first, and the first was judged then: by its name
 *   pinned           it stands, or stood, at a name that a rule denies (bh_pins): what that rule takes is
 *                    taken by every name
 *   else, where rules deny by pattern: what they take is taken, unless the name's own rules are of files'
 *   whole names or say hardlinks: allow
 *
 * Where a file's last but one name could be deleted, and that is the denied one, it is not (DELETE is
 * hidden): afterwards its other name would be its only one.
 */
#ifndef BULKHEAD_LINKS_BPF_H
#define BULKHEAD_LINKS_BPF_H

#include "verdict.bpf.h"

/* slot->hidden and slot->pinned of the file slot->inode, which has several names and stands where
 * slot->masks are of. */
__noinline int bh_place_links(const struct bh_subject *s, struct bh_slot *slot);

/* A member gives a file that has one name a second one, or one that has none its first. */
__noinline int bh_made_mark(const struct bh_subject *s, const struct bh_inode *given);

static __always_inline struct bh_tally *bh_made_tally(__u32 index, __u64 serial)
{
	struct bh_compartment *c = bpf_map_lookup_elem(&bh_compartments, &index);

	/* Its place in the tallies can be another compartment's by now. */
	return c && c->serial == serial ? bpf_map_lookup_elem(&bh_tallies, &index) : NULL;
}

static __always_inline void bh_made_delete(const struct bh_inode *inode, const struct bh_made *made)
{
	struct bh_tally *tally = bh_made_tally(made->tally, made->serial);

	if (bpf_map_delete_elem(&bh_made, inode) == 0 && tally)
		__sync_fetch_and_add(&tally->made, -1);
}

#define BH_READ_ONCE(x) (*(volatile typeof(x) *)&(x))

/* 16 bits. Objects of one slab: the low bits say nothing.  Knuth's multiplier. */
static __always_inline __u32 bh_hash_address(__u64 address)
{
	return ((__u32)(address >> 5) * 2654435761u) >> 16;
}

/* Is a name in this directory, or are a file's, being changed? Names are, by the VFS's rule, under their
 * directory's lock alone, and a file's number of them under its own. */
static __always_inline __u32 bh_is_changing(struct inode *inode)
{
	/* PREEMPT_RT has another kind of lock: nothing is kept there. */
	if (!bpf_core_field_exists(inode->i_rwsem.count))
		return 1;
	return BH_READ_ONCE(inode->i_rwsem.count.counter) & RWSEM_WRITER_LOCKED;
}

static __always_inline bool bh_is_regular(struct inode *inode)
{
	return (inode->i_mode & S_IFMT) == S_IFREG;
}

/* All but sbid. */
static __always_inline void bh_inode_name(struct bh_inode *ret, struct inode *inode)
{
	ret->ino = inode->i_ino;
	ret->generation = inode->i_generation;
}

/* By a link that is allowed and comes next. A file of more names keeps what it is; O_TMPFILE had none. */
static __always_inline void bh_link_made(const struct bh_subject *s, struct dentry *dentry,
					 __u32 sbid)
{
	struct inode *inode = dentry->d_inode;
	struct bh_inode key = {.sbid = sbid};

	if (!sbid || !inode || inode->i_nlink > 1 || !bh_is_regular(inode))
		return;
	bh_inode_name(&key, inode);
	bh_made_mark(s, &key);
}

/* Since 6.12 nothing can be mounted on the files of /proc/PID/fd, fdinfo and map_files (proc_splice_unmountable), which
 * are there all the same; of procfs nobody takes a name away. */
static __always_inline bool bh_is_of_proc(struct dentry *dentry)
{
	return BPF_CORE_READ(dentry, d_sb, s_magic) == PROC_MAGIC;
}

/* Was this name taken away, from what is still open by it? O_TMPFILE is not found by its first one either;
 * what is its own root, as pidfds and memory, has none. Nothing can be mounted any more on a name that is
 * about to be unhashed. */
static __always_inline bool bh_is_dead_name(struct dentry *dentry)
{
	bool unhashed = !BH_READ_ONCE(dentry->d_hash.pprev);

	if (!unhashed &&
	    (!(BH_READ_ONCE(dentry->d_flags) & DCACHE_CANT_MOUNT) || bh_is_of_proc(dentry)))
		return false;
	return dentry->d_parent != dentry;
}

/* As a number, to be calculated with. */
static __always_inline __u64 bh_inode_address(struct dentry *dentry)
{
	return (__u64)BPF_CORE_READ(dentry, d_inode);
}

/* Where who takes a name from a file with several says so. */
static __always_inline __u64 *bh_losing_of(__u64 inode)
{
	__u32 index = bh_hash_address(inode) & (BH_LOSING - 1);

	return bpf_map_lookup_elem(&bh_losing, &index);
}

static __always_inline __u64 bh_parent_address(struct dentry *dentry)
{
	return (__u64)BPF_CORE_READ(dentry, d_parent, d_inode);
}

/* Is the inode at this address, which is locked, losing one of several names, that stands in this directory? */
__noinline int bh_is_losing(__u64 inode, __u64 directory);

/* A file counts one name less before the name that it loses is unhashed: until there one task holds its lock and
 * the directory's, or the name is dead already. Who asks in this order, and then whether the name is dead, sees
 * one of the three. */
static __always_inline bool bh_has_one_link(struct dentry *dentry, struct inode *inode)
{
	if (BH_READ_ONCE(inode->__i_nlink) != 1)
		return false;
	return !bh_is_changing(inode) ||
	       !bh_is_losing(bh_inode_address(dentry), bh_parent_address(dentry));
}

/* Is it judged by more than this name? One that is none any more is judged as it was (/proc/self/fd leads
 * there), and what the file is still called counts beside it. */
static __always_inline bool bh_has_other_names(struct dentry *dentry, struct inode *inode)
{
	if (!inode || !bh_is_regular(inode) || !BH_READ_ONCE(inode->__i_nlink))
		return false;
	return !bh_has_one_link(dentry, inode) || bh_is_dead_name(dentry);
}

/* What is behind a name: of what has none but this one that is all. */
static __always_inline void bh_place_inode(const struct bh_subject *s, struct bh_slot *slot,
					   struct dentry *dentry)
{
	struct inode *inode = dentry->d_inode;

	slot->hidden = 0;
	if (!bh_has_other_names(dentry, inode))
		return;
	bh_inode_name(&slot->inode, inode);
	slot->inode.sbid = slot->sbid;
	bh_place_links(s, slot);
}

#endif

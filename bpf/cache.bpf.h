/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Verdicts that are known: the rights that a file has by its name, kept in the inode's own storage, which ends
 * with the inode. No address, no inode number and no name is a key. They hold
 *   - for one generation: rules, views and modes of a compartment change with it;
 *   - while no directory was moved, by whomever and on whatever filesystem (bh_cache.epoch);
 *   - while the inode has lost no name (moves): what has one name, and had it when it was asked, is asked
 *     for by that one. What has several is not kept.
 * Both are counted in inode_rename and inode_unlink (names.bpf.c), which nfsd and overlayfs come through as
 * well, before the name changes. Who decides between the count and the change sees the directory locked, and
 * keeps nothing.
 *
 * Of directories the automaton's state is kept by the address of their inode (bh_directories), so that a file
 * that is opened for the first time is judged by its own name. It holds under the same conditions, and while no
 * directory's inode went that had the same place (freed): what decides read that number when a dentry stood
 * in the directory, which lived then. What is refused or to be told, and files of several names, go the
 * whole way.
 *
 * Not kept: what stands on a filesystem whose names change by themselves (network, procfs, debugfs), or are
 * compared otherwise than by their bytes; what is judged by the kind of its superblock; rights whose use is
 * to be told. A refusal is never kept: its event needs the path.
 */
#ifndef BULKHEAD_CACHE_BPF_H
#define BULKHEAD_CACHE_BPF_H

#include "links.bpf.h"

/* One move of any of these is not told to inode_rename. */
#define BH_DENTRY_ODD \
	(DCACHE_OP_HASH | DCACHE_OP_COMPARE | DCACHE_OP_REVALIDATE | DCACHE_DISCONNECTED)

/* Keeps what the slot says, unless a walk like that is not to be relied on later. */
__noinline int bh_known_keep(const struct bh_subject *s, struct bh_known *known,
			     const struct bh_slot *slot, __u64 epoch, __u64 moves);

/* slot->state of the directory slot->directory, in the subject's generation; 0: it is not known. */
__noinline int bh_directory_find(const struct bh_subject *s, struct bh_slot *slot);

/* Keeps slot->state as that of slot->directory. */
__noinline int bh_directory_keep(const struct bh_subject *s, const struct bh_slot *slot);

static __always_inline struct bh_directory *bh_directory_of(__u64 inode)
{
	__u32 index = bh_hash_address(inode) & (BH_DIRECTORIES - 1);

	return bpf_map_lookup_elem(&bh_directories, &index);
}

/* Several may write, on one CPU or on two: who comes second writes nothing. Ended by *seq = *ret_seq + 2. */
static __always_inline bool bh_write_begin(__u32 *seq, __u32 *ret_seq)
{
	*ret_seq = BH_READ_ONCE(*seq);
	return !(*ret_seq & 1) &&
	       __sync_val_compare_and_swap(seq, *ret_seq, *ret_seq + 1) == *ret_seq;
}

/* A reader between two halves of a writing sees two different numbers, or an odd one. */
static __always_inline bool bh_known_holds(const struct bh_known_way *way, __u32 seq,
					   __u32 generation, __u64 moves)
{
	return !(seq & 1) && way->generation == generation && way->epoch == bh_cache.epoch &&
	       way->moves == moves;
}

/* Are these rights known to be had? */
static __always_inline bool bh_known_allows(struct bh_known *known, __u32 generation, __u32 perms,
					    __u32 any)
{
	struct bh_known_way *way = &known->ways[generation & (BH_KNOWN_WAYS - 1)];
	__u32 seq = BH_READ_ONCE(way->seq), allow;

	if (!bh_known_holds(way, seq, generation, known->moves))
		return false;
	allow = way->allow;
	/* Of all that is asked for, or of one: what is not asked for at all is not had. */
	return BH_READ_ONCE(way->seq) == seq && ((perms && !(perms & ~allow)) || allow & any);
}

static __always_inline struct bh_known *bh_known_of(struct inode *inode, __u64 flags)
{
	return bpf_inode_storage_get(&bh_inodes, inode, 0, flags);
}

/* A storage takes as long to make as a path to walk, and memory: who goes through a tree once needs none. A guess,
 * by inode number. */
static __always_inline bool bh_is_asked_again(struct inode *inode)
{
	__u64 number = inode->i_ino;
	__u32 index = number & (BH_ASKED - 1);
	__u64 *asked = bpf_map_lookup_elem(&bh_asked, &index);

	if (!asked || *asked == number)
		return true;
	*asked = number;
	return false;
}

/* A filesystem whose names change by the VFS alone: debugfs and its like move theirs by themselves. */
static __always_inline bool bh_is_settled(struct dentry *dentry)
{
	struct super_block *sb = dentry->d_sb;

	if (dentry->d_flags & BH_DENTRY_ODD)
		return false;
	return sb->s_type->fs_flags & FS_REQUIRES_DEV || sb->s_magic == TMPFS_MAGIC ||
	       sb->s_magic == OVERLAYFS_MAGIC;
}

/* Of one name, by which it cannot but be reached. What overlayfs opens below bears, before 6.5, the name
 * above and the inode below: neither's rights are the other's. */
static __always_inline bool bh_has_one_name(struct dentry *dentry, struct inode *inode)
{
	__u32 type;

	if (!inode || dentry->d_inode != inode)
		return false;
	type = inode->i_mode & S_IFMT;
	if (type != S_IFDIR && (type != S_IFREG || !bh_has_one_link(dentry, inode)))
		return false;
	/* The one name can be another than this one, which the file has lost (bh_is_dead_name; flags are loaded
	 * once). */
	if (BH_READ_ONCE(dentry->d_flags) & (BH_DENTRY_ODD | DCACHE_CANT_MOUNT))
		return false;
	return BH_READ_ONCE(dentry->d_hash.pprev) || dentry->d_parent == dentry;
}

#endif

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What outdates the verdicts that are known, whoever does it. Judges nothing.
 *
 *   inode_rename    a name goes: of a directory, and with it all below; of a file; of what is replaced
 *   inode_unlink    one of several names goes
 */
#include "cache.bpf.h"

static __always_inline void bh_name_lost(struct dentry *dentry)
{
	struct inode *inode = dentry->d_inode;
	struct bh_known *known;

	if (!inode)
		return;
	if ((inode->i_mode & S_IFMT) == S_IFDIR) {
		__sync_fetch_and_add((__u64 *)&bh_cache.epoch, 1);
		return;
	}
	known = bpf_inode_storage_get(&bh_inodes, inode, 0, 0);
	if (known)
		__sync_fetch_and_add(&known->moves, 1);
}

SEC("lsm/inode_rename")
int BPF_PROG(bh_renamed, struct inode *old_dir, struct dentry *old, struct inode *new_dir,
	     struct dentry *new, int ret)
{
	if (ret)
		return ret;
	bh_name_lost(old);
	bh_name_lost(new);
	return 0;
}

/* Of what has one name nothing is left that could be asked for. */
SEC("lsm/inode_unlink")
int BPF_PROG(bh_unlinked, struct inode *dir, struct dentry *dentry, int ret)
{
	struct inode *inode = dentry->d_inode;

	if (!ret && inode && inode->__i_nlink > 1)
		bh_name_lost(dentry);
	return ret;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "dentries.h"

#include <string.h>
#include <sys/stat.h>

#include "world.h"

__u64 dentries_superblock(const struct dentries *dentries, __u32 sbid)
{
	return dentries->layout.superblocks + sbid * sizeof(struct core_superblock);
}

static __u64 address_of(const struct dentries *dentries, size_t i)
{
	return dentries->layout.dentries + i * sizeof(struct core_dentry);
}

static void write_inode(struct dentries *dentries, size_t i, unsigned int inode)
{
	const struct core_layout *layout = &dentries->layout;
	__u64 address = inode ? layout->inodes + inode * sizeof(struct core_inode) : 0;

	memcpy(dentries->items[i].bytes + layout->inode, &address, sizeof(address));
}

static void write_dentry(struct dentries *dentries, size_t i, size_t parent, __u32 sbid, __u64 name,
			 __u32 length)
{
	const struct core_layout *layout = &dentries->layout;
	__u8 *at = dentries->items[i].bytes;
	__u64 parent_address = address_of(dentries, parent);
	__u64 superblock = dentries_superblock(dentries, sbid);
	__u32 seq = 2 * (__u32)i;

	memcpy(at + layout->parent, &parent_address, sizeof(parent_address));
	memcpy(at + layout->sb, &superblock, sizeof(superblock));
	memcpy(at + layout->name, &name, sizeof(name));
	memcpy(at + layout->name_length, &length, sizeof(length));
	memcpy(at + layout->seq, &seq, sizeof(seq));
	memcpy(at + layout->hash, &parent_address, sizeof(parent_address));
	write_inode(dentries, i, 0);
}

void dentries_inodes(const struct dentries *dentries, struct core_inode *inodes)
{
	static const struct {
		__u32 links;
		__u16 mode;
	} kinds[CORE_INODES] = {{0, 0},
				{1, S_IFREG | 0644},
				{3, S_IFDIR | 0755},
				{2, S_IFREG | 0644},
				{1, S_IFREG | 0644}};
	size_t i;

	for (i = 0; i < CORE_INODES; i++) {
		__u8 *at = inodes[i].bytes;

		memcpy(at + dentries->layout.links, &kinds[i].links, sizeof(kinds[i].links));
		memcpy(at + dentries->layout.mode, &kinds[i].mode, sizeof(kinds[i].mode));
	}
}

void dentries_clear(struct dentries *dentries)
{
	__u64 root;
	__u32 sbid;

	for (sbid = 0; sbid < CORE_SUPERBLOCKS; sbid++) {
		root = address_of(dentries, sbid);
		memcpy(dentries->superblocks[sbid].bytes + dentries->layout.root, &root,
		       sizeof(root));
		/* The kernel's own roots are called "/" too. */
		write_dentry(dentries, sbid, sbid, sbid, 0, 1);
	}
	dentries->used = CORE_SUPERBLOCKS;
}

bool dentries_add(struct dentries *dentries, __u32 sbid, const char *path, __u64 address,
		  unsigned int inode, __u64 *ret_leaf)
{
	size_t parent = sbid, at = 0, length;

	while (path[at] && path[at + 1]) {
		if (dentries->used == CORE_DENTRIES)
			return false;
		length = strcspn(path + at + 1, "/");
		write_dentry(dentries, dentries->used, parent, sbid, address + at + 1,
			     (__u32)length);
		parent = dentries->used++;
		at += 1 + length;
	}
	if (inode)
		write_inode(dentries, parent, inode);
	if (inode == INODE_LOST)
		memset(dentries->items[parent].bytes + dentries->layout.hash, 0, sizeof(__u64));
	*ret_leaf = address_of(dentries, parent);
	return true;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Made-up chains of dentries for the kernel programs to walk, as the kernel lays them out: each superblock
 * has a root that is its own parent, each component of a path a dentry whose name stands in the path.
 */
#ifndef DIFF_DENTRIES_H
#define DIFF_DENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include "core.h"

struct dentries {
	struct core_layout layout;
	struct core_dentry *items;	     /* CORE_DENTRIES; the first are the roots */
	struct core_superblock *superblocks; /* CORE_SUPERBLOCKS */
	size_t used;
};

/* The superblock's address, by which the programs know it. */
__u64 dentries_superblock(const struct dentries *dentries, __u32 sbid);
/* Forgets all chains; roots stay. The layout and the maps have been filled in. */
void dentries_clear(struct dentries *dentries);
/* Fills core_inodes: a file with one name, a directory, a file with several, one of another name; the first stays empty. */
void dentries_inodes(const struct dentries *dentries, struct core_inode *inodes);
/* The chain of a path whose bytes stand at `address` in the kernel, with one of core_inodes behind it
 * (0: none), its last dentry's address. False: no room for so many. */
bool dentries_add(struct dentries *dentries, __u32 sbid, const char *path, __u64 address,
		  unsigned int inode, __u64 *ret_leaf);

#endif

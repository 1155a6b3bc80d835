/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What core.bpf.c and user space agree on. */
#ifndef DIFF_CORE_H
#define DIFF_CORE_H

#include <bulkhead/abi.h>

/* Cases of one run of the program. */
#define CORE_BATCH 256
/* As in a slot: paths end here, NULs follow. */
#define CORE_PATH_END (BH_MAX_PATH + 1)
#define CORE_PATH_MARGIN 256
/* Made-up objects of the kernel's: so many, and room for what one has on any kernel. */
#define CORE_DENTRIES 16384
#define CORE_DENTRY_SIZE 512
#define CORE_SUPERBLOCKS 8
#define CORE_SUPERBLOCK_SIZE 4096
#define CORE_INODES 5
#define CORE_INODE_SIZE 2048

struct core_case {
	__u64 dentry; /* address; 0: a name as people write it */
	__u32 asked;
	__u32 pos; /* where in `path` it begins */
	/* the answer */
	__u32 reason;
	struct bh_masks masks;
	__u32 hidden;
	__u32 error; /* what the hook would return, positive */
	__u32 bits;  /* of the event */
	__u32 done;
	__u8 path[CORE_PATH_END + CORE_PATH_MARGIN];
};

struct core_dentry {
	__u8 bytes[CORE_DENTRY_SIZE];
};

struct core_superblock {
	__u8 bytes[CORE_SUPERBLOCK_SIZE];
};

struct core_inode {
	__u8 bytes[CORE_INODE_SIZE];
};

struct core_run {
	__u32 generation;
	__u32 n; /* cases */
};

/* Where the maps' first elements stand in the kernel, and where its structures have their members. */
struct core_layout {
	__u64 cases, dentries, superblocks, inodes;
	__u32 parent, name, name_length, sb, seq, inode; /* of a dentry */
	__u32 root;					 /* of a superblock */
	__u32 hash;	   /* of a dentry: what is not NULL while names are found */
	__u32 links, mode; /* of an inode */
};

_Static_assert(sizeof(struct core_case) % 8 == 0, "elements of an array stand side by side");

#endif

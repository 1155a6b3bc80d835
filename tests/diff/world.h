/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random policies, views and questions. A world is a policy and the mounts its members see; a question
 * is a place on one of its superblocks, or a name as people write it, and the rights asked for.
 */
#ifndef DIFF_WORLD_H
#define DIFF_WORLD_H

#include "draw.h"
#include "policy/automaton.h"

#define WORLD_RULES 256
#define WORLD_MOUNTS 6
#define WORLD_TEXT (128u << 10)
/* Superblocks: those that mounts show, and one that none does. */
#define WORLD_SUPERBLOCKS 4

/* What sorts of policies there are. */
struct world_shape {
	unsigned int one_in; /* of so many policies */
	unsigned int rules, components;
	unsigned int name; /* letters in a row, at most; 0: none but single ones */
	size_t glob;	   /* bytes, at least, while there is room */
};

struct world {
	const struct world_shape *shape;
	struct rule rules[WORLD_RULES];
	struct mount_view mounts[WORLD_MOUNTS];
	size_t nrules, nmounts;
	size_t used;
	char text[WORLD_TEXT]; /* the globs and the mounts' paths */
};

/* What stands behind a name: core.h has one of each. */
enum inode_kind {
	INODE_NONE,
	INODE_SINGLE,
	INODE_DIRECTORY,
	INODE_LINKED,
	INODE_LOST, /* a file that is asked for by a name it has no more, and has another */
	INODE_KINDS
};

/* Is it judged by more than the name? */
static inline bool inode_has_names(enum inode_kind kind)
{
	return kind == INODE_LINKED || kind == INODE_LOST;
}

struct question {
	__u32 sbid; /* 0: the path is a name as people write it */
	__u32 asked;
	enum inode_kind inode; /* nothing behind a name as people write it, nor behind a root */
	struct text path;
};

/* Depend on draw_seed. */
void draw_world(struct world *world);
void draw_question(const struct world *world, struct question *question);

/* A copy that the world owns. NULL: no room for so much any more. */
char *world_keep(struct world *world, const struct text *text);

/* For world.c. */
void draw_glob(const struct world_shape *shape, struct text *glob);
void draw_path(const struct world *world, struct text *path);
/* As the kernel's walk makes them: no empty component, none at the end, no name that is too long; "/"
 * alone for the root. */
void clean_path(struct text *path);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Uses become rows: a glob, its rights, and which uses it is there for. */
#ifndef LEARN_ROWS_H
#define LEARN_ROWS_H

#include "run.h"

/* Files that rules may allow for each one that was used. */
#define ROWS_FACTOR 10
/* Names of a directory before one D/\** stands for them: fewer are read as easily one by one. */
#define ROWS_MIN_TREE 4

enum row_kind { ROW_NAME, ROW_ANEW, ROW_TREE };

struct row {
	char *glob;
	enum row_kind kind;
	uint32_t perms;
	size_t *uses; /* by number, in order of the run */
	size_t nuses, uses_size;
	bool links;  /* of files with older hard links */
	bool merged; /* into a tree: says nothing any more */
};

struct rows {
	struct row *items;
	size_t n, size;
	struct hash_index by_glob;
};

/* Adds a use to the row of this glob, which it takes. `perms` are added to it. 0 or -ENOMEM. */
int rows_add(struct rows *rows, char *glob, enum row_kind kind, uint32_t perms, size_t use);
void rows_done(struct rows *rows);

/* Rows of the wanted uses, patterns for names made anew. One that would allow too much becomes names
 * again, and a remark. */
int rows_fill(struct rows *rows, struct run *run, const bool *wanted);

/*
 * Puts what stands below one directory into one row, where everything that is there was used, and in
 * one way: all read, or all made. Never at a root of the host. `wanted` as above: what is not wanted
 * is not used.
 */
int rows_merge_trees(struct rows *rows, const struct run *run, const bool *wanted);

#endif

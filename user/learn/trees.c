// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// One D/** for many names.
#include "rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "anew.h"
#include "base/cleanup.h"
#include "files.h"
#include "policy/grow.h"
#include "policy/automaton.h"

/* Where a tree would be a host's, a person's or every program's. */
static const char *const roots[] = {
	"/*",	       "/home/*", "/usr/*",   "/usr/local/*", "/var/*",	  "/var/lib/*",
	"/run/user/*", "/dev/*",  "/proc/**", "/sys/**",      "/boot/**",
};

struct forest {
	struct rows *rows;
	const struct run *run;
	const bool *wanted;
	char **directories; /* sorted: what contains another one comes first */
	size_t n, size;
};

static bool is_root(const char *directory)
{
	for (size_t i = 0; i < sizeof(roots) / sizeof(*roots); i++)
		if (glob_match(roots[i], directory, strlen(directory)))
			return true;
	return !strcmp(directory, "/");
}

static bool is_in(const char *path, const char *directory)
{
	size_t n = strlen(directory);

	return !strncmp(path, directory, n) && (path[n] == '/' || !path[n]);
}

/* --- candidates --- */

static int add_directories(struct forest *forest, const char *path)
{
	for (const char *slash = strrchr(path, '/'); slash && slash > path;) {
		char *directory = strndup(path, (size_t)(slash - path));

		if (!directory || grow(&forest->directories, &forest->size, forest->n + 1) < 0) {
			free(directory);
			return -ENOMEM;
		}
		forest->directories[forest->n++] = directory;
		slash = memrchr(path, '/', (size_t)(slash - path));
	}
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int plant(struct forest *forest)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < forest->run->nuses; i++)
		if (forest->wanted[i])
			r = add_directories(forest, forest->run->uses[i].path);
	if (forest->n)
		qsort(forest->directories, forest->n, sizeof(char *), by_text);
	return r;
}

static void forest_done(struct forest *forest)
{
	for (size_t i = 0; i < forest->n; i++)
		free(forest->directories[i]);
	free(forest->directories);
}

/* --- what a tree would be --- */

/* What would stand in one row. */
struct tree {
	size_t names;
	uint32_t perms;
	bool all_read, all_made;
	const char *child; /* the first member below it */
	bool spread;	   /* and not all members are below the same one */
};

/* Rights that one directory's files may have alike: programs and sockets stay names. */
#define TREE_PERMS                                                                         \
	(BH_PERM_READ | BH_PERM_WRITE | BH_PERM_APPEND | BH_PERM_CREATE | BH_PERM_DELETE | \
	 BH_PERM_ATTRIBUTES | BH_PERM_LINK)

static bool row_is_in(const struct forest *forest, const struct row *row, const char *directory)
{
	return !row->merged && row->kind != ROW_TREE &&
	       is_in(forest->run->uses[row->uses[0]].path, directory);
}

/* Bytes of the path up to the end of the first name below the directory of n bytes. */
static size_t child_length(const char *path, size_t n)
{
	return path[n] ? n + 1 + strcspn(path + n + 1, "/") : n;
}

/* A directory whose members are all below one of its own is left to that one. */
static void note_child(const char *path, size_t n, struct tree *tree)
{
	size_t length = child_length(path, n);

	if (!tree->child)
		tree->child = path;
	tree->spread |=
		length != child_length(tree->child, n) || strncmp(path, tree->child, length) != 0;
}

static void look_at(const struct forest *forest, const struct row *row, const char *directory,
		    struct tree *tree)
{
	const struct use *first = &forest->run->uses[row->uses[0]];
	/* To list a directory goes with either. */
	bool listed = row->perms == BH_PERM_READ && file_is_directory(first->path);

	for (size_t i = 0; i < row->nuses; i++)
		note_child(forest->run->uses[row->uses[i]].path, strlen(directory), tree);
	tree->names += row->nuses;
	tree->perms |= row->perms;
	tree->all_read &= row->perms == BH_PERM_READ;
	tree->all_made &=
		listed || (row->perms & BH_PERM_CREATE && !(row->perms & ~(uint32_t)TREE_PERMS));
}

static struct tree tree_of(const struct forest *forest, const char *directory)
{
	struct tree tree = {.all_read = true, .all_made = true};

	for (size_t i = 0; i < forest->rows->n; i++)
		if (row_is_in(forest, &forest->rows->items[i], directory))
			look_at(forest, &forest->rows->items[i], directory, &tree);
	return tree;
}

static bool is_used(const char *path, void *context)
{
	const struct forest *forest = context;
	const struct use *use = run_use(forest->run, path);

	return use && forest->wanted[use - forest->run->uses];
}

static int merge(struct forest *forest, const char *directory, const char *head, uint32_t perms)
{
	size_t n = forest->rows->n;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		char *glob;

		if (!row_is_in(forest, &forest->rows->items[i], directory))
			continue;
		for (size_t j = 0; r == 0 && j < forest->rows->items[i].nuses; j++) {
			if (asprintf(&glob, "%s/**", head) < 0)
				return -ENOMEM;
			r = rows_add(forest->rows, glob, ROW_TREE, perms,
				     forest->rows->items[i].uses[j]);
		}
		forest->rows->items[i].merged = true;
	}
	return r;
}

static int try_directory(struct forest *forest, const char *directory)
{
	const struct use place = {.path = directory};
	_cleanup_free_ char *head = NULL;
	struct tree tree;
	bool is_anew;
	int r;

	if (is_root(directory) || file_is_link(directory))
		return 0;
	tree = tree_of(forest, directory);
	if (tree.names < ROWS_MIN_TREE || !tree.spread || (!tree.all_read && !tree.all_made))
		return 0;
	r = anew_path(forest->run, &place, false, &head, &is_anew);
	if (r < 0 || is_anew || !files_all_used(directory, is_used, forest))
		return r;
	return merge(forest, directory, head, tree.perms);
}

int rows_merge_trees(struct rows *rows, const struct run *run, const bool *wanted)
{
	_cleanup_(forest_done) struct forest forest = {.rows = rows, .run = run, .wanted = wanted};
	const char *before = "";
	int r = plant(&forest);

	for (size_t i = 0; r == 0 && i < forest.n; i++) {
		if (!strcmp(forest.directories[i], before))
			continue;
		before = forest.directories[i];
		r = try_directory(&forest, before);
	}
	return r;
}

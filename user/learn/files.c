// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "files.h"

#include <bulkhead/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/cleanup.h"
#include "policy/glob.h"

/* A walk over one tree: `take` is asked about every file, and ends it with anything but 0. */
struct walk {
	int (*take)(struct walk *walk, const char *path);
	void *context;
	size_t depth; /* levels of directories below the first that are looked into */
	size_t looks;
	const char *glob;
	size_t found, most;
	files_used_fn is_used;
};

#define WALK_ENOUGH 1
#define WALK_UNSURE 2

bool file_exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

bool file_is_link(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

bool file_is_directory(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

static int walk_directory(struct walk *walk, const char *directory, size_t depth);

static int walk_entry(struct walk *walk, const char *directory, const struct dirent *entry,
		      size_t depth)
{
	_cleanup_free_ char *path = NULL;
	bool is_directory;

	if (++walk->looks > FILES_MAX_WALK)
		return WALK_UNSURE;
	if (asprintf(&path, "%s/%s", strcmp(directory, "/") ? directory : "", entry->d_name) < 0) {
		path = NULL;
		return WALK_UNSURE;
	}
	is_directory =
		entry->d_type == DT_DIR || (entry->d_type == DT_UNKNOWN && file_is_directory(path));
	if (!is_directory)
		return walk->take(walk, path);
	if (depth >= walk->depth || !strcmp(path, "/proc"))
		return 0;
	return walk_directory(walk, path, depth + 1);
}

static int walk_directory(struct walk *walk, const char *directory, size_t depth)
{
	_cleanup_closedir_ DIR *dir = opendir(directory);
	struct dirent *entry;
	int r = 0;

	if (!dir)
		return WALK_UNSURE;
	while (r == 0 && (entry = readdir(dir)))
		if (!is_dots(entry->d_name))
			r = walk_entry(walk, directory, entry, depth);
	return r;
}

/* --- what a glob matches --- */

static int take_matching(struct walk *walk, const char *path)
{
	walk->found += glob_match(walk->glob, path, strlen(path)) > 0;
	return walk->found > walk->most ? WALK_ENOUGH : 0;
}

/* Directories of a glob in front of its first wildcard, as bytes. */
static char *literal_head(const char *glob, size_t *ret_length)
{
	size_t length = glob_head(glob);
	char *head;

	while (length && glob[length] != '/')
		length--;
	head = malloc(length + 2);
	if (head && length)
		glob_unescape(glob, length, head);
	else if (head)
		strcpy(head, "/");
	*ret_length = length;
	return head;
}

static size_t levels(const char *rest)
{
	size_t n = 0;

	if (strstr(rest, "**"))
		return BH_MAX_DEPTH;
	for (; *rest; rest++)
		n += *rest == '/';
	return n ? n - 1 : 0;
}

static int count_literal(struct walk *walk, const char *branch)
{
	_cleanup_free_ char *path = malloc(strlen(branch) + 1);

	if (!path)
		return WALK_UNSURE;
	glob_unescape(branch, strlen(branch), path);
	walk->found += file_exists(path);
	return walk->found > walk->most ? WALK_ENOUGH : 0;
}

static int count_branch(const struct glob_branch *branch, void *context)
{
	struct walk *walk = context;
	_cleanup_free_ char *head = NULL;
	size_t length;

	if (branch->text[0] != '/' || !strncmp(branch->text, "/proc/self/", strlen("/proc/self/")))
		return 0;
	if (!branch->text[glob_head(branch->text)])
		return count_literal(walk, branch->text);
	head = literal_head(branch->text, &length);
	if (!head)
		return WALK_UNSURE;
	walk->glob = branch->text;
	walk->depth = levels(branch->text + length);
	/* What is not there has no files. */
	return file_is_directory(head) ? walk_directory(walk, head, 0) : 0;
}

size_t files_matching(const char *glob, size_t most)
{
	struct walk walk = {.take = take_matching, .most = most};

	return glob_expand(glob, count_branch, &walk) ? most + 1 : walk.found;
}

/* --- what was used --- */

static int take_unused(struct walk *walk, const char *path)
{
	return walk->is_used(path, walk->context) ? 0 : WALK_ENOUGH;
}

bool files_all_used(const char *directory, files_used_fn is_used, void *context)
{
	struct walk walk = {
		.take = take_unused, .context = context, .depth = BH_MAX_DEPTH, .is_used = is_used};

	return walk_directory(&walk, directory, 0) == 0;
}

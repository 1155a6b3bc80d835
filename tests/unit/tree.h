/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files of a test's own: a checkout may belong to anyone, and a policy of root's may not, so the inputs
 * are copied. Included after cmocka.h; nothing here goes on after a failure. */
#pragma once

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static inline void write_bytes(const char *path, const char *bytes, size_t length)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
}

static inline size_t read_bytes(const char *path, char *bytes, size_t size)
{
	FILE *file = fopen(path, "r");
	size_t n;

	assert_non_null(file);
	n = fread(bytes, 1, size, file);
	fclose(file);
	return n;
}

static size_t tree_copied_from; /* length of the source directory's name */
static const char *tree_copied_to;

static inline int tree_copy_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	static char bytes[1 << 16];
	char target[PATH_MAX];

	(void)st;
	(void)ftw;
	snprintf(target, sizeof(target), "%s%s", tree_copied_to, path + tree_copied_from);
	if (type == FTW_D)
		return mkdir(target, 0755);
	write_bytes(target, bytes, read_bytes(path, bytes, sizeof(bytes)));
	return 0;
}

/* `to` is made. */
static inline int tree_copy(const char *from, const char *to)
{
	tree_copied_from = strlen(from);
	tree_copied_to = to;
	return nftw(from, tree_copy_one, 8, FTW_PHYS);
}

static inline int tree_remove_one(const char *path, const struct stat *st, int type,
				  struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline int tree_remove(const char *path)
{
	return nftw(path, tree_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which files there are: what a proposal opens is counted before it is proposed. A file is all that
 * is no directory. Links are not followed, and /proc is not looked into: it is not of the host's disk.
 */
#ifndef LEARN_FILES_H
#define LEARN_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* Names looked at for one count. At the bound: as if there were too many. */
#define FILES_MAX_WALK (1u << 20)

bool file_exists(const char *path); /* and is no directory */
bool file_is_link(const char *path);
bool file_is_directory(const char *path);

/* How many the glob matches; `most` + 1 when there are more, or when it cannot be told. */
size_t files_matching(const char *glob, size_t most);

/* Is every file below the directory one that `is_used` says yes to? False when it cannot be told. */
typedef bool (*files_used_fn)(const char *path, void *context);
bool files_all_used(const char *directory, files_used_fn is_used, void *context);

#endif

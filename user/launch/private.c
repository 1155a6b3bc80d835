// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "private.h"

#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"

static const struct {
	const char *variable, *directory;
} kinds[] = {{"HOME", "home"}, {"TMPDIR", "tmp"}};
#define NKINDS (sizeof(kinds) / sizeof(*kinds))

static bool wants(const struct policy_environment *environment, size_t kind)
{
	return kind ? environment->private_tmpdir : environment->private_home;
}

static int make_one(const char *path, struct error *error)
{
	return mkdir(path, 0700) ? error_set(error, errno, "%s: cannot make it: %m", path) : 0;
}

/* The directory of all of them: nobody but root puts anything there. */
static int make_root(struct error *error)
{
	struct stat st;

	if (mkdir(POLICY_PRIVATE_ROOT, 0755) && errno != EEXIST)
		return error_set(error, errno, POLICY_PRIVATE_ROOT ": cannot make it: %m");
	if (lstat(POLICY_PRIVATE_ROOT, &st) || !S_ISDIR(st.st_mode) || st.st_uid ||
	    st.st_mode & (S_IWGRP | S_IWOTH))
		return error_set(error, EPERM,
				 POLICY_PRIVATE_ROOT ": is no directory of root's alone");
	return 0;
}

int private_variables(const char *name, const struct policy_environment *environment, char ***ret)
{
	struct texts {
		char *list[NKINDS + 1];
		char texts[NKINDS][PATH_MAX];
	} *made = calloc(1, sizeof(*made));
	size_t n = 0;

	if (!made)
		return -ENOMEM;
	for (size_t i = 0; i < NKINDS; i++) {
		if (!wants(environment, i))
			continue;
		snprintf(made->texts[n], PATH_MAX, "%s=" POLICY_PRIVATE_ROOT "/%s/%s",
			 kinds[i].variable, name, kinds[i].directory);
		made->list[n] = made->texts[n];
		n++;
	}
	*ret = made->list;
	return 0;
}

int private_make(const char *name, const struct policy_environment *environment,
		 struct error *error)
{
	char path[PATH_MAX];
	int r;

	if (!environment->private_home && !environment->private_tmpdir)
		return 0;
	snprintf(path, sizeof(path), POLICY_PRIVATE_ROOT "/%s", name);
	r = make_root(error);
	if (r == 0)
		r = make_one(path, error);
	for (size_t i = 0; r == 0 && i < NKINDS; i++) {
		snprintf(path, sizeof(path), POLICY_PRIVATE_ROOT "/%s/%s", name,
			 kinds[i].directory);
		if (wants(environment, i))
			r = make_one(path, error);
	}
	return r;
}

/* By descriptors of directories, however deep they stand, and no link is followed. */
static int remove_tree(char *path)
{
	char *const paths[] = {path, NULL};
	FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_XDEV, NULL);
	FTSENT *entry;
	int r = 0;

	if (!fts)
		return -errno;
	while ((entry = fts_read(fts))) {
		if (entry->fts_info == FTS_D)
			continue;
		if (entry->fts_info == FTS_DP ? rmdir(entry->fts_accpath)
					      : unlink(entry->fts_accpath))
			r = errno == ENOENT ? r : -errno;
	}
	fts_close(fts);
	return r;
}

int private_remove(const char *name, struct error *error)
{
	char path[PATH_MAX];
	int r;

	snprintf(path, sizeof(path), POLICY_PRIVATE_ROOT "/%s", name);
	if (access(path, F_OK))
		return 0;
	r = remove_tree(path);
	return r < 0 ? error_set(error, -r, "%s: cannot be removed: %s", path, strerror(-r)) : 0;
}

void private_sweep(const char *cgroups)
{
	_cleanup_closedir_ DIR *dir = opendir(POLICY_PRIVATE_ROOT);
	struct dirent *entry;
	char cgroup[PATH_MAX];

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || snprintf(cgroup, sizeof(cgroup), "%s/%s", cgroups,
							entry->d_name) >= (int)sizeof(cgroup))
			continue;
		if (access(cgroup, F_OK))
			private_remove(entry->d_name, NULL);
	}
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where a path leads for the members of a cgroup: mount, place on the filesystem, other names. */
#ifndef COMPART_LOCATE_H
#define COMPART_LOCATE_H

#include "compart.h"

/* Strings owned. */
struct location {
	__u32 sbid; /* as in the mounts it was found in */
	enum bh_sb_class class;
	char *type;  /* of the filesystem */
	char *point; /* where the mount is seen */
	char *root;  /* which part of the filesystem is seen there */
	char *place; /* where it stands on the filesystem */
	char **names; /* every name that this place has in the view, the path itself first if it is one */
	size_t nnames;
	bool exists;
};

/* What the members of a cgroup see, without the kernel programs: root only. -EINVAL when it is no
 * cgroup, -ESRCH when nobody is in it. */
int mounts_of_cgroup(const char *cgroup, struct mounts *ret, struct error *error);
/* The process whose table comes first, through whose eyes location_find looks, and how many tables
 * there are: members that see mounts alike count once. */
pid_t mounts_member(const struct mounts *mounts, size_t *ret_tables);
/* Every name of a place, without doubles, freed like a list of strings; none when the view does not
 * know the superblock. */
int mounts_names(const struct mounts *mounts, __u32 sbid, const char *place, char ***ret,
		 size_t *ret_n);
/* path: absolute, links followed (policy_resolve below /proc/PID/root of that process). -ESRCH when
 * the process has ended. */
int location_find(const struct mounts *mounts, const char *path, struct location *ret,
		  struct error *error);
/* Of a place below a process's directory in procfs: does that process stand in this cgroup, or below it? Who
 * cannot be asked does not. */
bool location_is_member(const struct mounts *mounts, const struct location *location,
			const char *cgroup);
/* Is the place, and every name of it, below a process's directory? Then below /self from now on. 0 or
 * -ENOMEM. */
int location_as_self(struct location *location);
void location_done(struct location *location);

#endif

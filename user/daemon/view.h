/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Mount tables, kept to say paths as people write them. */
#ifndef DAEMON_VIEW_H
#define DAEMON_VIEW_H

#include <stdint.h>
#include "compart/compart.h"

struct daemon;

struct view {
	struct mounts mounts;
	bool known;
	uint64_t read_us; /* when last looked at, CLOCK_MONOTONIC */
};

void view_forget(struct view *view);
/*
 * The path of a superblock's path as the processes of a cgroup see it (NULL: as the agent does), by
 * what is remembered, read again at most once a second. NULL when it has none; valid until the next
 * call.
 */
const char *view_translate(struct daemon *d, struct view *view, const char *cgroup, __u32 sbid,
			   const char *path, size_t length);

#endif

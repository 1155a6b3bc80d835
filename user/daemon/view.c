// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "view.h"

#include <errno.h>
#include <limits.h>
#include "base/cleanup.h"
#include "daemon.h"

/* A burst of events asks for each of them. */
#define VIEW_RETRY_US 1000000ull
#define VIEW_LOCK_MS 200

void view_forget(struct view *view)
{
	if (view->known)
		mounts_done(&view->mounts);
	*view = (struct view){0};
}

static void read_mounts(struct daemon *d, struct view *view, const char *cgroup)
{
	_cleanup_free_ pid_t *pids = NULL;
	size_t n = 0;

	view->read_us = now_us();
	/* Members that are gone have left no table. */
	if (cgroup && (cgroup_pids(cgroup, &pids, &n) || !n))
		return;
	/* Superblocks met for the first time get their number. */
	if (kern_lock(d->kern, VIEW_LOCK_MS, NULL))
		return;
	if (view->known)
		mounts_done(&view->mounts);
	view->known = mounts_read(d->kern, pids, n, &view->mounts, NULL) == 0;
	kern_unlock(d->kern);
}

const char *view_translate(struct daemon *d, struct view *view, const char *cgroup, __u32 sbid,
			   const char *path, size_t length)
{
	static char buffer[2 * PATH_MAX];

	for (int attempt = 0; attempt < 2; attempt++) {
		if (view->known && mounts_translate(&view->mounts, sbid, path, length, buffer,
						    sizeof(buffer)) == 0)
			return buffer;
		if (attempt || (view->read_us && now_us() - view->read_us < VIEW_RETRY_US))
			break;
		read_mounts(d, view, cgroup);
	}
	return NULL;
}

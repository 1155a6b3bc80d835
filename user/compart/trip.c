// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The end of a compartment whose tripwire was touched. The kernel killed who touched it, and kills
 * each member at its next hook; this kills those who come to none.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

bool compartment_is_tripped(struct kern *kern, __u32 id)
{
	struct bh_compartment entry;

	return kern_compartment_get(kern, id, &entry) == 0 && entry.state == BH_STATE_TRIPPED;
}

static int members_outside(struct kern *kern, const struct compartment *c, struct bh_task **ret,
			   size_t *ret_n, struct error *error)
{
	const struct bh_task_query query = {.cgroup_id = c->cgroup_id, .compartment = c->id};
	_cleanup_free_ struct bh_task *tasks = NULL;
	size_t n = 0, kept = 0;
	int r = kern_tasks(kern, &query, &tasks, &n, error);

	if (r)
		return r;
	for (size_t i = 0; i < n; i++)
		if (!tasks[i].inside && tasks[i].compartment == c->id &&
		    tasks[i].tid == tasks[i].tgid)
			tasks[kept++] = tasks[i];
	*ret = TAKE_PTR(tasks);
	*ret_n = kept;
	return 0;
}

static bool is_among(const struct bh_task *tasks, size_t n, __u32 tgid)
{
	for (size_t i = 0; i < n; i++)
		if (tasks[i].tgid == tgid)
			return true;
	return false;
}

/* Process ids are used again: each is held first, and killed if it bears the label then, too. */
static int kill_outside(struct kern *kern, const struct compartment *c, struct error *error)
{
	_cleanup_free_ struct bh_task *first = NULL, *then = NULL;
	_cleanup_free_ int *held = NULL;
	size_t nfirst = 0, nthen = 0;
	int r = members_outside(kern, c, &first, &nfirst, error);

	if (r || !nfirst)
		return r;
	held = calloc(nfirst, sizeof(*held));
	if (!held)
		return error_set(error, ENOMEM, "out of memory");
	for (size_t i = 0; i < nfirst; i++)
		held[i] = (int)syscall(SYS_pidfd_open, first[i].tgid, 0);
	r = members_outside(kern, c, &then, &nthen, error);
	for (size_t i = 0; i < nfirst; i++) {
		if (r == 0 && held[i] >= 0 && is_among(then, nthen, first[i].tgid))
			syscall(SYS_pidfd_send_signal, held[i], SIGKILL, NULL, 0);
		cleanup_closep(&held[i]);
	}
	return r;
}

/* By a descriptor: the path can be another start's a moment later. */
static int kill_inside(const struct compartment *c, unsigned int deadline_ms, struct error *error)
{
	_cleanup_close_ int fd = open(c->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char path[64];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || st.st_ino != c->cgroup_id)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return cgroup_kill(path, deadline_ms, error);
}

int compartment_kill(struct kern *kern, const struct compartment *c, unsigned int deadline_ms,
		     struct error *error)
{
	int r = kill_outside(kern, c, error);
	int killed = kill_inside(c, deadline_ms, error);

	return killed ? killed : r;
}

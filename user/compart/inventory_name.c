// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * When the name that /proc gives of an open file is one: it is written from the top of whatever mount
 * the file was opened on, and who has a user namespace makes mounts. A detached one, or one in a
 * namespace of its own, has its files say "/srv/allowed" or "/memfd:" of anything.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static int by_id(const void *a, const void *b)
{
	unsigned int x = *(const unsigned int *)a, y = *(const unsigned int *)b;

	return x < y ? -1 : x > y;
}

bool inventory_sees(const struct inventory *inv, unsigned int mount)
{
	return bsearch(&mount, inv->mounts, inv->nmounts, sizeof(mount), by_id) != NULL;
}

static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* Mounts that members see, as the policy's view, or that we see, as what a service manager opened
 * before it made the unit a namespace of its own. */
static int add_mounts(struct inventory *inv, const pid_t *pids, size_t npids)
{
	_cleanup_free_ char *text = NULL;
	unsigned int *bigger, id;
	int r = mounts_tables(pids, npids, &text), at;

	if (r)
		return r;
	bigger = reallocarray(inv->mounts, inv->nmounts + count_lines(text) + 1, sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	inv->mounts = bigger;
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (sscanf(line, "%u %n", &id, &at) == 1 && line[at - 1] == ' ')
			inv->mounts[inv->nmounts++] = id;
	return 0;
}

int inventory_names_open(struct inventory *inv, struct error *error)
{
	pid_t self = getpid();
	int r = inv->npids ? add_mounts(inv, inv->pids, inv->npids) : 0;

	if (!r)
		r = add_mounts(inv, &self, 1);
	if (r)
		return error_set(error, -r, "mount tables of the subtree: %s", strerror(-r));
	qsort(inv->mounts, inv->nmounts, sizeof(*inv->mounts), by_id);
	return 0;
}

bool link_is_nameless(const char *link)
{
	struct statx st;

	/* Nobody is asked: the server of a filesystem in user space may be among the frozen. A file
	 * without type is of the kernel's own making: the ring of aio. */
	if (statx(AT_FDCWD, link, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE | STATX_NLINK,
		  &st))
		return false;
	return !st.stx_nlink || !(st.stx_mode & S_IFMT);
}

bool inventory_sees_link(const struct inventory *inv, const char *link)
{
	_cleanup_close_ int fd = open(link, O_PATH | O_CLOEXEC);
	unsigned int mount = 0;

	return fd >= 0 && fd_mount(fd, &mount) == 0 && inventory_sees(inv, mount);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The file in which the relay counts what is uploaded (egress/allowances.h). */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include "egress/allowances.h"
#include "kept.h"

static void head_of(const struct kept_of *of, char head[ALLOWANCES_HEAD])
{
	memset(head, 0, ALLOWANCES_HEAD);
	snprintf(head, ALLOWANCES_HEAD, "spent %" PRIu64 " %" PRIu64 " %s", (uint64_t)of->serial,
		 (uint64_t)of->cgroup_id, of->boot);
}

static bool is_whole(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size == sizeof(struct allowances);
}

static bool is_of(int fd, const char head[ALLOWANCES_HEAD])
{
	char there[ALLOWANCES_HEAD];

	return is_whole(fd) && pread(fd, there, sizeof(there), 0) == sizeof(there) &&
	       !memcmp(there, head, sizeof(there));
}

/* All of its blocks are there: a store to a page that finds none would end the relay. */
static int fill(int fd, const char head[ALLOWANCES_HEAD])
{
	int r = posix_fallocate(fd, 0, sizeof(struct allowances));

	if (r)
		return -r;
	return pwrite(fd, head, ALLOWANCES_HEAD, 0) == ALLOWANCES_HEAD ? 0 : -EIO;
}

static int make(const char *path, const char head[ALLOWANCES_HEAD])
{
	char beside[PATH_MAX + 8];
	_cleanup_close_ int fd = -1;
	int r;

	snprintf(beside, sizeof(beside), "%s.new", path);
	fd = open(beside, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	r = fill(fd, head);
	if (!r && rename(beside, path))
		r = -errno;
	if (!r)
		return TAKE_FD(fd);
	unlink(beside);
	return r;
}

int kept_spent_open(const char *directory, const struct kept_of *of)
{
	char path[PATH_MAX], head[ALLOWANCES_HEAD];
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "%s/%" PRIu64 ".spent", directory, (uint64_t)of->serial);
	head_of(of, head);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0 && is_of(fd, head))
		return TAKE_FD(fd);
	return make(path, head);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <bulkhead/limits.h>
#include "base/cleanup.h"
#include "resolve.h"

void source_done(struct source *source)
{
	free(source->text);
	memset(source, 0, sizeof(*source));
}

static int too_large(const char *path, struct error *error)
{
	return error_set(error, EINVAL, "%s: larger than a policy may be (%u bytes)", path,
			 BH_MAX_POLICY_BYTES);
}

static int check_file(const char *path, const struct stat *st, struct error *error)
{
	if (!S_ISREG(st->st_mode))
		return error_set(error, EINVAL, "%s: not a regular file", path);
	if (st->st_size > BH_MAX_POLICY_BYTES)
		return too_large(path, error);
	/* Who may change the file decides what root's agent enforces. */
	if (geteuid())
		return 0;
	if (st->st_uid)
		return error_set(error, EINVAL,
				 "%s: owned by uid %u, who could change the policy: chown root %s",
				 path, st->st_uid, path);
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return error_set(error, EINVAL,
				 "%s: others than root may write to it: chmod go-w %s", path, path);
	return 0;
}

static int read_all(int fd, char *text, size_t size, size_t *ret_length)
{
	size_t length = 0;
	ssize_t n;

	while (length < size) {
		n = read(fd, text + length, size - length);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			break;
		if (n > 0)
			length += (size_t)n;
	}
	*ret_length = length;
	return 0;
}

int source_read(const char *path, struct source *ret, struct error *error)
{
	_cleanup_free_ char *text = NULL, *place = NULL;
	_cleanup_close_ int fd = -1;
	struct stat st;
	size_t length = 0;
	int r;

	/* As check_file: what root enforces, nobody else leads elsewhere. */
	r = geteuid() ? 0 : resolve_guarded(path, &place, error);
	if (r < 0)
		return r;
	/* O_NONBLOCK: a FIFO is refused, not waited for. */
	fd = open(place ? place : path,
		  O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (place ? O_NOFOLLOW : 0));
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(error, errno, "%s: %s", path, strerror(errno));
	r = check_file(path, &st, error);
	if (r < 0)
		return r;
	text = calloc(1, BH_MAX_POLICY_BYTES + 2);
	if (!text)
		return error_set(error, ENOMEM, "no memory to read %s", path);
	r = read_all(fd, text, BH_MAX_POLICY_BYTES + 1, &length);
	if (r < 0)
		return error_set(error, -r, "%s: %s", path, strerror(-r));
	/* It grew meanwhile, or is of a filesystem that knows no sizes: half of it is another policy. */
	if (length > BH_MAX_POLICY_BYTES)
		return too_large(path, error);
	*ret = (struct source){TAKE_PTR(text), length, st.st_dev, st.st_ino};
	return 0;
}

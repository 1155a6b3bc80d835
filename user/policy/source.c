// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <bulkhead/limits.h>
#include "base/cleanup.h"

void source_done(struct source *source)
{
	free(source->text);
	memset(source, 0, sizeof(*source));
}

static int check_file(const char *path, const struct stat *st, struct error *error)
{
	if (!S_ISREG(st->st_mode))
		return error_set(error, EINVAL, "%s: not a regular file", path);
	if (st->st_size > BH_MAX_POLICY_BYTES)
		return error_set(error, EINVAL, "%s: larger than a policy may be (%u bytes)", path,
				 BH_MAX_POLICY_BYTES);
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
	/* O_NONBLOCK: a FIFO is refused, not waited for. */
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	_cleanup_free_ char *text = NULL;
	struct stat st;
	size_t length = 0;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(error, errno, "%s: %s", path, strerror(errno));
	r = check_file(path, &st, error);
	if (r < 0)
		return r;
	text = calloc(1, BH_MAX_POLICY_BYTES + 1);
	if (!text)
		return error_set(error, ENOMEM, "no memory to read %s", path);
	r = read_all(fd, text, BH_MAX_POLICY_BYTES, &length);
	if (r < 0)
		return error_set(error, -r, "%s: %s", path, strerror(-r));
	*ret = (struct source){TAKE_PTR(text), length, st.st_dev, st.st_ino};
	return 0;
}

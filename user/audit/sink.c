// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include "base/cleanup.h"
#include "loss.h"

struct sink {
	char *path, *old_path;
	uint64_t size, max_bytes;
	uint64_t failed, unsaid; /* unsaid: failed since the last "lost" record */
	gid_t group;
	int fd;
	bool torn; /* the file ends with half a line, which would spoil the next one */
};

/* As a writer leaves it that is killed within its write. */
static bool is_torn(int fd, off_t size)
{
	char last;

	return size > 0 && (pread(fd, &last, 1, size - 1) != 1 || last != '\n');
}

static int open_file(struct sink *sink)
{
	_cleanup_close_ int fd =
		open(sink->path,
		     O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
		     0640);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	/* Someone else's pipe or device in our place could block or steer the agent. */
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (fchmod(fd, 0640) || fchown(fd, (uid_t)-1, sink->group))
		return -errno;
	if (sink->fd >= 0)
		close(sink->fd);
	sink->fd = TAKE_FD(fd);
	sink->size = (uint64_t)st.st_size;
	sink->torn = is_torn(sink->fd, st.st_size);
	return 0;
}

int sink_open(const char *path, uint64_t max_bytes, gid_t group, struct sink **ret)
{
	struct sink *sink = calloc(1, sizeof(*sink));
	int r;

	if (!sink)
		return -ENOMEM;
	*sink = (struct sink){.max_bytes = max_bytes, .group = group, .fd = -1};
	sink->path = strdup(path);
	if (!sink->path || asprintf(&sink->old_path, "%s.1", path) < 0) {
		sink->old_path = NULL;
		r = -ENOMEM;
	} else {
		r = open_file(sink);
	}
	if (r) {
		sink_close(sink);
		return r;
	}
	*ret = sink;
	return 0;
}

void sink_close(struct sink *sink)
{
	if (!sink)
		return;
	if (sink->fd >= 0)
		close(sink->fd);
	free(sink->path);
	free(sink->old_path);
	free(sink);
}

/* Past the bound the older half goes: the file before this one. None there: it was moved, and the
 * next one could not be made then. */
static void rotate(struct sink *sink)
{
	if (rename(sink->path, sink->old_path) == 0 || errno == ENOENT)
		open_file(sink);
}

static bool write_whole(struct sink *sink, const char *line, size_t n)
{
	ssize_t written = write(sink->fd, line, n);

	if (written == (ssize_t)n) {
		sink->size += n;
		return true;
	}
	if (written > 0 && ftruncate(sink->fd, (off_t)sink->size)) {
		sink->size += (uint64_t)written;
		sink->torn = true;
	}
	return false;
}

static bool write_lost(struct sink *sink)
{
	struct timespec now;
	_cleanup_free_ char *text = NULL, *line = NULL;
	json_t *record;
	int n;

	clock_gettime(CLOCK_REALTIME, &now);
	record = loss_record(0, sink->unsaid, now.tv_sec * 1000000000ll + now.tv_nsec);
	text = record ? json_dumps(record, JSON_COMPACT) : NULL;
	json_decref(record);
	n = text ? asprintf(&line, "%s\n", text) : -1;
	if (n < 0) {
		line = NULL;
		return false;
	}
	return write_whole(sink, line, (size_t)n);
}

void sink_write(struct sink *sink, const char *line, size_t n)
{
	if (sink->size && sink->size + n > sink->max_bytes)
		rotate(sink);
	if (sink->torn && write_whole(sink, "\n", 1))
		sink->torn = false;
	if (sink->unsaid && write_lost(sink))
		sink->unsaid = 0;
	if (!sink->unsaid && write_whole(sink, line, n))
		return;
	sink->failed++;
	sink->unsaid++;
}

uint64_t sink_failed(const struct sink *sink)
{
	return sink->failed;
}

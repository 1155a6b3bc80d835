// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Small files, lists of strings, and which process is which. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <sys/stat.h>

static int make_room(char **buffer, size_t *size, size_t max)
{
	size_t bigger = *size ? *size * 2 : 4096;
	char *p;

	if (*size >= max)
		return -EFBIG;
	if (bigger > max)
		bigger = max;
	p = realloc(*buffer, bigger + 1);
	if (!p)
		return -ENOMEM;
	*buffer = p;
	*size = bigger;
	return 0;
}

int text_read_fd(int fd, size_t max, char **ret, size_t *ret_n)
{
	_cleanup_free_ char *buffer = NULL;
	size_t n = 0, size = 0;
	ssize_t got;
	int r;

	for (;;) {
		/* One byte of room beyond max tells a full file from one too large. */
		r = n == size ? make_room(&buffer, &size, max + 1) : 0;
		if (r)
			return r;
		got = read(fd, buffer + n, size - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		n += got;
	}
	if (n > max)
		return -EFBIG;
	buffer[n] = '\0';
	*ret = TAKE_PTR(buffer);
	if (ret_n)
		*ret_n = n;
	return 0;
}

int text_read(const char *path, size_t max, char **ret, size_t *ret_n)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? -errno : text_read_fd(fd, max, ret, ret_n);
}

int text_head(const char *path, char *buffer, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buffer, size - 1);

	if (n < 0)
		return -errno;
	buffer[n] = '\0';
	return 0;
}

int text_write(const char *path, const char *text)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	do
		n = write(fd, text, strlen(text));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == strlen(text) ? 0 : -EIO;
}

static int write_all(int fd, const char *text)
{
	size_t done = 0, n = strlen(text);
	ssize_t wrote;

	while (done < n) {
		wrote = write(fd, text + done, n - done);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			return -errno;
		done += wrote;
	}
	return fsync(fd) ? -errno : 0;
}

/* mkdir -p of what is above the last '/'. */
static int make_parents(const char *path)
{
	char directory[PATH_MAX];

	if ((size_t)snprintf(directory, sizeof(directory), "%s", path) >= sizeof(directory))
		return -ENAMETOOLONG;
	for (char *p = strchr(directory + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdir(directory, 0755) && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return 0;
}

int text_replace(const char *path, const char *text, mode_t mode)
{
	_cleanup_close_ int fd = -1;
	char temporary[PATH_MAX];
	int r;

	if ((size_t)snprintf(temporary, sizeof(temporary), "%s.new", path) >= sizeof(temporary))
		return -ENAMETOOLONG;
	r = make_parents(path);
	if (r)
		return r;
	/* A leftover of a writer that died. */
	if (unlink(temporary) && errno != ENOENT)
		return -errno;
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (fd < 0)
		return -errno;
	/* Whatever the umask: systemd wants to share what it reads, and complains else. */
	r = fchmod(fd, mode) ? -errno : write_all(fd, text);
	if (!r && rename(temporary, path))
		r = -errno;
	if (r)
		unlink(temporary);
	return r;
}

void strings_free(char **list)
{
	for (char **p = list; p && *p; p++)
		free(*p);
	free(list);
}

int strings_push(char ***list, size_t *n, const char *text)
{
	char *copy = strdup(text);
	char **bigger = copy ? reallocarray(*list, *n + 2, sizeof(*bigger)) : NULL;

	if (!bigger) {
		free(copy);
		return -ENOMEM;
	}
	bigger[*n] = copy;
	bigger[++*n] = NULL;
	*list = bigger;
	return 0;
}

int text_set(char **member, const char *text)
{
	char *copy = strdup(text ? text : "");

	if (!copy)
		return -ENOMEM;
	free(*member);
	*member = copy;
	return 0;
}

char **strings_copy(const char *const *list)
{
	_cleanup_strings_ char **copy = calloc(1, sizeof(*copy));
	size_t n = 0;

	if (!copy)
		return NULL;
	for (; list && *list; list++)
		if (strings_push(&copy, &n, *list))
			return NULL;
	return TAKE_PTR(copy);
}

int process_stat(pid_t pid, struct process_stat *ret)
{
	_cleanup_free_ char *text = NULL;
	struct process_stat stat;
	const char *fields;
	char path[64], state;
	int threads, r;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	r = text_read(path, 4096, &text, NULL);
	if (r)
		return r == -ENOENT ? -ESRCH : r;
	/* The name is field 2 and may hold anything; state, parent, threads and start are the fields
	 * 3, 4, 20 and 22 (proc_pid_stat(5)). */
	fields = strrchr(text, ')');
	if (!fields || sscanf(fields,
			      ") %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
			      "%d %*d %llu",
			      &state, &stat.parent, &threads, &stat.start) != 4)
		return -EINVAL;
	/* A first thread that ended alone looks the same but for the others. */
	if ((state == 'Z' || state == 'X') && threads <= 1)
		return -ESRCH;
	*ret = stat;
	return 0;
}

int process_start(pid_t pid, __u64 *ret)
{
	struct process_stat stat;
	int r = process_stat(pid, &stat);

	if (r == 0)
		*ret = stat.start;
	return r;
}

bool process_is(pid_t pid, __u64 start)
{
	__u64 now;

	return pid > 0 && process_start(pid, &now) == 0 && now == start;
}

void process_comm(pid_t pid, char *buffer, size_t size)
{
	_cleanup_free_ char *comm = NULL;
	char path[64];
	size_t n = 0;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	if (text_read(path, 64, &comm, &n) || !n) {
		snprintf(buffer, size, "?");
		return;
	}
	/* Bytes a process chose, on their way to a terminal. */
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)comm[i] < ' ' || comm[i] == 0x7f)
			comm[i] = comm[i] == '\n' && i == n - 1 ? '\0' : '?';
	snprintf(buffer, size, "%s", comm);
}

uint64_t clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * UINT64_C(1000) + now.tv_nsec / 1000000;
}

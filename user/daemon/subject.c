// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "subject.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/cleanup.h"

struct stat_line {
	char comm[16];
	pid_t parent;
	__u64 start_ticks; /* since boot */
};

/* /proc/PID/stat: "PID (COMM) S PPID ...", where COMM may hold anything, brackets and blanks too.
 */
static int read_stat(pid_t pid, struct stat_line *ret)
{
	char path[32], text[1024], *open_at, *close_at;
	_cleanup_close_ int fd = -1;
	unsigned long long start;
	ssize_t n;
	size_t length;
	int parent;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	open_at = strchr(text, '(');
	close_at = strrchr(text, ')');
	if (!open_at || !close_at || close_at < open_at)
		return -1;
	/* Fields 3, 4 and 22 of proc(5). */
	if (sscanf(close_at + 1,
		   " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
		   "%llu",
		   &parent, &start) != 2)
		return -1;
	length = (size_t)(close_at - open_at - 1);
	if (length >= sizeof(ret->comm))
		length = sizeof(ret->comm) - 1;
	memcpy(ret->comm, open_at + 1, length);
	ret->comm[length] = '\0';
	ret->parent = parent;
	ret->start_ticks = start;
	return 0;
}

static void read_exe(pid_t pid, char *exe, size_t size)
{
	char path[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	n = readlink(path, exe, size - 1);
	exe[n > 0 ? n : 0] = '\0';
}

void subject_read(const struct bh_event *event, struct subject *ret)
{
	__u64 tick_ns = 1000000000ull / (__u64)sysconf(_SC_CLK_TCK);
	struct stat_line line;
	pid_t pid;

	ret->tgid = event->tgid;
	ret->start_ns = event->start_ns;
	ret->exec_seq = event->exec_seq;
	ret->exe[0] = '\0';
	ret->nancestry = 0;
	if (read_stat((pid_t)event->tgid, &line) || line.start_ticks != event->start_ns / tick_ns)
		return;
	read_exe((pid_t)event->tgid, ret->exe, sizeof(ret->exe));
	for (pid = line.parent; pid > 0 && ret->nancestry < SUBJECT_MAX_ANCESTRY;
	     pid = line.parent) {
		size_t i = ret->nancestry;

		if (read_stat(pid, &line))
			return;
		memcpy(ret->comms[i], line.comm, sizeof(line.comm));
		ret->ancestry[i] = (struct event_process){(__u32)pid, ret->comms[i]};
		ret->nancestry++;
	}
}

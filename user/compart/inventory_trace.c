// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Outsiders that a member traces already. Who traces was judged when it began to: until it lets go
 * it reads and writes that process, and its registers, without another question.
 */
#include "internal.h"

#include <errno.h>
#include <string.h>

/* A number of /proc/PID/status; 0 when it is not there, or its process is not. */
static pid_t status_number(const char *path, const char *key)
{
	char text[1024], *line;
	int number = 0;

	/* What is asked for comes before the groups, of which a process may have 65,536. */
	if (text_head(path, text, sizeof(text)))
		return 0;
	line = strstr(text, key);
	return line && sscanf(line + strlen(key), " %d", &number) == 1 ? number : 0;
}

/* The tracer is a thread, which /proc finds under its own number, too. */
static void judge_thread(struct inventory *inv, const char *pid, const char *tid)
{
	char path[64];
	pid_t tracer;

	snprintf(path, sizeof(path), "/proc/%.16s/task/%.16s/status", pid, tid);
	tracer = status_number(path, "\nTracerPid:");
	if (!tracer)
		return;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)tracer);
	tracer = status_number(path, "\nTgid:");
	if (!inventory_is_member(inv, tracer))
		return;
	process_comm(tracer, inv->comm, sizeof(inv->comm));
	inventory_refuse(inv, EXISTING_OTHERS, tracer, "traces process %s, which is outside", pid);
}

static void judge_process(struct inventory *inv, const char *pid)
{
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *entry;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%.16s/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (*entry->d_name != '.')
			judge_thread(inv, pid, entry->d_name);
}

int inventory_tracees(struct inventory *inv, struct error *error)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc");
	struct dirent *entry;
	pid_t pid;

	if (!dir)
		return error_set(error, errno, "/proc: %s", strerror(errno));
	while ((entry = readdir(dir))) {
		pid = atoi(entry->d_name);
		if (pid <= 0 || inventory_is_member(inv, pid))
			continue;
		judge_process(inv, entry->d_name);
		if (clock_ms() > inv->deadline_ms)
			return error_set(error, ETIMEDOUT, "who traces whom: not known in %u ms",
					 BH_INVENTORY_MS);
	}
	return 0;
}

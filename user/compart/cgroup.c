// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* cgroup v2 directories: make, list, freeze, kill, remove. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

/* Between two looks at a file that should have told of its change: poll(2) alone would trust that
 * no notification is ever lost. */
#define LOOK_AGAIN_MS 200

const char *cgroup_root(void)
{
	static struct kern_probe probe;
	static bool probed;

	if (!probed)
		kern_probe(&probe);
	probed = true;
	return probe.cgroup_root;
}

const char *cgroup_own_root(void)
{
	static char path[sizeof(((struct kern_probe *)0)->cgroup_root) + sizeof("/bulkhead")];

	snprintf(path, sizeof(path), "%s/bulkhead", cgroup_root());
	return path;
}

static int attribute_path(const char *cgroup, const char *name, char ret[PATH_MAX])
{
	int n = snprintf(ret, PATH_MAX, "%s/%s", cgroup, name);

	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int cgroup_file_write(const char *cgroup, const char *name, const char *text)
{
	char path[PATH_MAX];
	int r = attribute_path(cgroup, name, path);

	return r ? r : text_write(path, text);
}

int cgroup_file_read(const char *cgroup, const char *name, size_t max, char **ret)
{
	char path[PATH_MAX];
	int r = attribute_path(cgroup, name, path);

	return r ? r : text_read(path, max, ret, NULL);
}

static int own_make(const char *name, bool may_exist, char **ret_path, struct error *error)
{
	_cleanup_free_ char *path = NULL;
	const char *own = cgroup_own_root();

	if (!*cgroup_root())
		return error_set(error, ENOENT,
				 "no cgroup v2 hierarchy is mounted: mount one at /sys/fs/cgroup");
	if (!*name || *name == '.' || strchr(name, '/') || strlen(name) > BH_MAX_NAME)
		return error_set(error, EINVAL, "%s: no name for a cgroup", name);
	if (mkdir(own, 0755) && errno != EEXIST)
		return error_set(error, errno, "%s: cannot make it: %m", own);
	if (asprintf(&path, "%s/%s", own, name) < 0) {
		path = NULL;
		return error_set(error, ENOMEM, "out of memory");
	}
	if (mkdir(path, 0755) && !(may_exist && errno == EEXIST))
		return error_set(error, errno, "%s: cannot make it: %m", path);
	*ret_path = TAKE_PTR(path);
	return 0;
}

int cgroup_own_create(const char *name, char **ret_path, struct error *error)
{
	return own_make(name, false, ret_path, error);
}

int cgroup_own_get(const char *name, char **ret_path, struct error *error)
{
	return own_make(name, true, ret_path, error);
}

static int push_children(const char *path, char ***list, size_t *n)
{
	_cleanup_closedir_ DIR *dir = opendir(path);
	char child[PATH_MAX];
	struct dirent *entry;
	int r;

	if (!dir)
		return errno == ENOENT ? 0 : -errno; /* removed meanwhile */
	while ((entry = readdir(dir))) {
		if (entry->d_type != DT_DIR || !strcmp(entry->d_name, ".") ||
		    !strcmp(entry->d_name, ".."))
			continue;
		if (*n >= BH_MAX_SUBTREE_CGROUPS)
			return -E2BIG;
		r = attribute_path(path, entry->d_name, child);
		if (!r)
			r = strings_push(list, n, child);
		if (r)
			return r;
	}
	return 0;
}

int cgroup_subtree(const char *path, char ***ret, size_t *ret_n)
{
	_cleanup_strings_ char **list = NULL;
	size_t n = 0;
	int r;

	if (access(path, F_OK))
		return -errno;
	r = strings_push(&list, &n, path);
	/* The list grows under the loop: breadth first, without a stack. */
	for (size_t i = 0; !r && i < n; i++)
		r = push_children(list[i], &list, &n);
	if (r)
		return r;
	*ret = TAKE_PTR(list);
	*ret_n = n;
	return 0;
}

int cgroup_not_armed(const char *path, int r, struct error *error)
{
	if (r == -E2BIG || r == -ENOSPC)
		return error_set(
			error, ENOSPC,
			"%s: the host's %u places for confined cgroups are taken: bulkhead "
			"status lists them, bulkhead detach frees one",
			path, BH_MAX_CGROUPS);
	return error_set(error, -r, "%s: cannot arm it: %s", path, strerror(-r));
}

int cgroup_remove(const char *path)
{
	_cleanup_strings_ char **list = NULL;
	size_t n = 0;
	int r = cgroup_subtree(path, &list, &n);

	if (r)
		return r;
	while (n--)
		if (rmdir(list[n]) && errno != ENOENT)
			return -errno;
	return 0;
}

/* "KEY 0" or "KEY 1" of cgroup.events. */
static int event_read(int fd, const char *key)
{
	char text[256], *line;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	line = strstr(text, key);
	if (!line || line[strlen(key)] != ' ')
		return -EINVAL;
	return line[strlen(key) + 1] == '1';
}

static int events_open(const char *path)
{
	char events[PATH_MAX];
	int r = attribute_path(path, "cgroup.events", events);

	if (r)
		return r;
	r = open(events, O_RDONLY | O_CLOEXEC);
	return r < 0 ? -errno : r;
}

static int event_wait(int fd, const char *key, int wanted, unsigned int deadline_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLPRI};
	uint64_t end = clock_ms() + deadline_ms, now;
	int is;

	for (;;) {
		is = event_read(fd, key);
		if (is < 0 || is == wanted)
			return is < 0 ? is : 0;
		now = clock_ms();
		if (now >= end)
			return -ETIMEDOUT;
		poll(&p, 1, end - now < LOOK_AGAIN_MS ? (int)(end - now) : LOOK_AGAIN_MS);
	}
}

int cgroup_is_populated(const char *path)
{
	_cleanup_close_ int fd = events_open(path);

	return fd < 0 ? fd : event_read(fd, "populated");
}

int cgroup_is_frozen(const char *path)
{
	_cleanup_free_ char *text = NULL;
	int r = cgroup_file_read(path, "cgroup.freeze", 16, &text);

	return r ? r : *text == '1';
}

int cgroup_freeze(const char *path, bool freeze, unsigned int deadline_ms, struct error *error)
{
	_cleanup_close_ int fd = events_open(path);
	int r = fd < 0 ? fd : 0;

	if (!r)
		r = cgroup_file_write(path, "cgroup.freeze", freeze ? "1" : "0");
	/* Thawing needs no wait, and below a frozen ancestor it never reads 0. */
	if (!r && freeze)
		r = event_wait(fd, "frozen", 1, deadline_ms);
	if (r == -ENODEV)
		r = -ENOENT; /* what an open file of a removed cgroup answers */
	if (r)
		error_set(error, -r, "%s: cannot %s it: %s", path, freeze ? "freeze" : "thaw",
			  strerror(-r));
	return r;
}

int cgroup_kill(const char *path, unsigned int deadline_ms, struct error *error)
{
	_cleanup_close_ int fd = events_open(path);
	int r = fd < 0 ? fd : 0;

	if (!r)
		r = cgroup_file_write(path, "cgroup.kill", "1");
	if (!r)
		r = event_wait(fd, "populated", 0, deadline_ms);
	if (r)
		error_set(error, -r, "%s: cannot kill what is in it: %s", path, strerror(-r));
	return r;
}

struct pids {
	pid_t *items;
	size_t n, size;
};

static int push_pid(struct pids *pids, pid_t pid)
{
	size_t bigger = pids->size ? pids->size * 2 : 64;
	pid_t *p;

	if (pids->n >= BH_MAX_SUBTREE_PIDS)
		return -E2BIG;
	if (pids->n == pids->size) {
		p = reallocarray(pids->items, bigger, sizeof(*p));
		if (!p)
			return -ENOMEM;
		pids->items = p;
		pids->size = bigger;
	}
	pids->items[pids->n++] = pid;
	return 0;
}

static int push_pids_of(struct pids *pids, const char *cgroup)
{
	_cleanup_free_ char *text = NULL;
	int r = cgroup_file_read(cgroup, "cgroup.procs", 16 * BH_MAX_SUBTREE_PIDS, &text);
	char *end;
	long pid;

	if (r)
		return r == -ENOENT || r == -ENODEV ? 0 : r;
	for (char *p = text; *p; p = end + 1) {
		pid = strtol(p, &end, 10);
		if (end == p || *end != '\n')
			return -EINVAL;
		/* 0: of a pid namespace that is not below ours. Nobody could look at it. */
		if (pid <= 0)
			return -EXDEV;
		r = push_pid(pids, (pid_t)pid);
		if (r)
			return r;
	}
	return 0;
}

static int by_pid(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return x < y ? -1 : x > y;
}

/* A process that moves between two of the directories is met twice. */
static void sort_pids(struct pids *pids)
{
	size_t kept = 0;

	if (!pids->n)
		return;
	qsort(pids->items, pids->n, sizeof(*pids->items), by_pid);
	for (size_t i = 1; i < pids->n; i++)
		if (pids->items[i] != pids->items[kept])
			pids->items[++kept] = pids->items[i];
	pids->n = kept + 1;
}

int cgroup_pids(const char *path, pid_t **ret, size_t *ret_n)
{
	_cleanup_strings_ char **list = NULL;
	struct pids pids = {};
	size_t n = 0;
	int r = cgroup_subtree(path, &list, &n);

	for (size_t i = 0; !r && i < n; i++)
		r = push_pids_of(&pids, list[i]);
	if (r) {
		free(pids.items);
		return r;
	}
	sort_pids(&pids);
	*ret = pids.items;
	*ret_n = pids.n;
	return 0;
}

/* By the "0::/PATH" line of /proc/PID/cgroup. */
int cgroup_of_file(const char *name, char **ret_path)
{
	static const char deleted[] = " (deleted)";
	_cleanup_free_ char *text = NULL;
	char *line, *path;
	size_t n;
	int r;

	r = text_read(name, BH_MAX_RECORD_BYTES, &text, NULL);
	if (r)
		return r == -ENOENT ? -ESRCH : r;
	line = strncmp(text, "0::", 3) ? strstr(text, "\n0::") : text;
	if (!line || !*cgroup_root())
		return -ENOENT;
	line += strspn(line, "\n") + 3;
	line[strcspn(line, "\n")] = '\0';
	/* Outside this process's own cgroup namespace. */
	if (!strncmp(line, "/..", 3))
		return -EXDEV;
	if (asprintf(&path, "%s%s", cgroup_root(), strcmp(line, "/") ? line : "") < 0)
		return -ENOMEM;
	/* What is there is not gone: a cgroup may be called so. */
	n = strlen(line);
	if (n >= sizeof(deleted) && !strcmp(line + n - (sizeof(deleted) - 1), deleted) &&
	    access(path, F_OK)) {
		free(path);
		return -ENOENT;
	}
	*ret_path = path;
	return 0;
}

int cgroup_of_pid(pid_t pid, char **ret_path)
{
	char name[64];

	snprintf(name, sizeof(name), "/proc/%d/cgroup", (int)pid);
	return cgroup_of_file(name, ret_path);
}

/* --- who does not freeze --- */

/* Where a thread stands that is frozen, or that counts as such: stopped, traced. */
static const char *const frozen_places[] = {"do_freezer_trap", "ptrace_stop", "do_signal_stop",
					    "get_signal"};

static bool thread_is_frozen(const char *wchan)
{
	for (size_t i = 0; i < sizeof(frozen_places) / sizeof(*frozen_places); i++)
		if (!strcmp(wchan, frozen_places[i]))
			return true;
	return false;
}

static void thread_text(pid_t pid, const char *tid, const char *what, char *buffer, size_t size)
{
	_cleanup_free_ char *text = NULL;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/proc/%d/task/%s/%s", (int)pid, tid, what);
	if (text_read(path, 4096, &text, NULL) || !text)
		text = NULL;
	snprintf(buffer, size, "%.*s", text ? (int)strcspn(text, "\n") : 1, text ? text : "?");
}

/* Adds "TID (comm) at WCHAN in system call N"; false when the buffer is full. */
static bool describe_thread(pid_t pid, const char *tid, char *buffer, size_t size)
{
	char wchan[64], comm[32], call[128];
	size_t used = strlen(buffer);
	int n;

	thread_text(pid, tid, "wchan", wchan, sizeof(wchan));
	if (thread_is_frozen(wchan))
		return true;
	process_comm(atoi(tid), comm, sizeof(comm));
	thread_text(pid, tid, "syscall", call, sizeof(call));
	call[strcspn(call, " ")] = '\0';
	n = snprintf(buffer + used, size - used, "%sthread %s (%s) at %s, system call %s",
		     used ? "; " : "", tid, comm, wchan, call);
	if (n >= 0 && (size_t)n < size - used)
		return true;
	buffer[used] = '\0';
	return false;
}

void cgroup_describe_unfrozen(const char *path, char *buffer, size_t size)
{
	_cleanup_free_ pid_t *pids = NULL;
	bool room = true;
	size_t n = 0;

	*buffer = '\0';
	if (cgroup_pids(path, &pids, &n))
		return;
	for (size_t i = 0; room && i < n; i++) {
		_cleanup_closedir_ DIR *dir = NULL;
		struct dirent *entry;
		char name[64];

		snprintf(name, sizeof(name), "/proc/%d/task", (int)pids[i]);
		dir = opendir(name);
		while (dir && room && (entry = readdir(dir)))
			if (*entry->d_name != '.')
				room = describe_thread(pids[i], entry->d_name, buffer, size);
	}
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A cgroup of its own for a process that runs already, and for all its descendants: a transient
 * scope of systemd, so that the manager goes on caring for it, or a cgroup of ours without one.
 */
#include "unit.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

/* Everything: the manager's job, and moving what was forked meanwhile. */
#define SCOPE_MS 10000
/* Rounds over the process table; a fork bomb outruns any number of them. */
#define MOVE_ROUNDS 64

struct family {
	pid_t *pids;
	size_t n;
};

/* Parents of all processes, in the order of the table. */
struct process {
	pid_t pid, parent;
	bool member;
};

struct table {
	struct process *items;
	size_t n, size;
};

static int table_push(struct table *t, struct process process)
{
	size_t bigger = t->size ? t->size * 2 : 1024;
	struct process *p;

	if (t->n == t->size) {
		p = reallocarray(t->items, bigger, sizeof(*p));
		if (!p)
			return -ENOMEM;
		t->items = p;
		t->size = bigger;
	}
	t->items[t->n++] = process;
	return 0;
}

static int table_read(struct table *t)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc");
	struct process process;
	struct process_stat stat;
	struct dirent *entry;
	int r;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		process = (struct process){.pid = atoi(entry->d_name)};
		if (process.pid <= 0 || process_stat(process.pid, &stat))
			continue;
		process.parent = stat.parent;
		r = table_push(t, process);
		if (r)
			return r;
	}
	return 0;
}

static int by_pid(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static bool parent_is_member(const struct table *t, const struct process *process)
{
	const struct process key = {.pid = process->parent};
	const struct process *parent = bsearch(&key, t->items, t->n, sizeof(key), by_pid);

	return parent && parent->member;
}

/* Marks children of members until there are no more. */
static void table_spread(struct table *t)
{
	bool more = t->n > 0;

	if (more)
		qsort(t->items, t->n, sizeof(*t->items), by_pid);
	while (more) {
		more = false;
		for (size_t i = 0; i < t->n; i++) {
			if (t->items[i].member || !parent_is_member(t, &t->items[i]))
				continue;
			t->items[i].member = more = true;
		}
	}
}

static int family_read(pid_t pid, struct family *ret)
{
	struct table t = {};
	pid_t *pids = NULL;
	size_t n = 0;
	int r = table_read(&t);

	for (size_t i = 0; i < t.n; i++)
		t.items[i].member = t.items[i].pid == pid;
	table_spread(&t);
	pids = calloc(t.n + 1, sizeof(*pids));
	if (!r && !pids)
		r = -ENOMEM;
	for (size_t i = 0; !r && i < t.n; i++)
		if (t.items[i].member)
			pids[n++] = t.items[i].pid;
	free(t.items);
	if (!r && !n)
		r = -ESRCH;
	if (r) {
		free(pids);
		return r;
	}
	*ret = (struct family){pids, n};
	return 0;
}

static void family_done(struct family *family)
{
	free(family->pids);
}

#define _cleanup_family_ _cleanup_(family_done)

static int check_family(const struct family *family, pid_t pid, pid_t caller, struct error *error)
{
	for (size_t i = 0; i < family->n; i++) {
		if (family->pids[i] == 1)
			return error_set(error, EPERM, "process 1 is the host's init");
		if (family->pids[i] == getpid() || family->pids[i] == caller)
			return error_set(
				error, EPERM,
				"process %d, who asks for this, is a descendant of process "
				"%d: name a process further down, or ask from elsewhere",
				(int)family->pids[i], (int)pid);
	}
	return 0;
}

/* --- moving by hand what the first move missed --- */

static bool is_inside(pid_t pid, const char *cgroup)
{
	_cleanup_free_ char *own = NULL;
	int r = cgroup_of_pid(pid, &own);

	/* Gone, or going: it forks no more. */
	return r == -ESRCH || r == -ENOENT || (!r && path_covers(cgroup, own));
}

static int move(pid_t pid, const char *cgroup)
{
	char path[PATH_MAX], text[16];
	int r;

	if (snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	snprintf(text, sizeof(text), "%d", (int)pid);
	r = text_write(path, text);
	return r == -ESRCH ? 0 : r;
}

/* Moves those outside; 1 when there were any. */
static int move_round(pid_t pid, const char *cgroup)
{
	_cleanup_family_ struct family family = {};
	int r = family_read(pid, &family), moved = 0;

	if (r)
		return r == -ESRCH ? 0 : r;
	for (size_t i = 0; !r && i < family.n; i++) {
		if (is_inside(family.pids[i], cgroup))
			continue;
		moved = 1;
		r = move(family.pids[i], cgroup);
	}
	return r ? r : moved;
}

/* A parent that was moved forks inside: each round leaves only what was forked before it. */
static int move_all(pid_t pid, const char *cgroup, uint64_t deadline_ms, struct error *error)
{
	int r = 1;

	for (int i = 0; r > 0 && i < MOVE_ROUNDS && clock_ms() < deadline_ms; i++)
		r = move_round(pid, cgroup);
	if (r > 0)
		r = -EAGAIN;
	return r ? error_set(error, -r, "%s: not all descendants of process %d could be moved: %s",
			     cgroup, (int)pid, strerror(-r))
		 : 0;
}

/* --- systemd --- */

struct job {
	const char *path;
	bool done;
	char result[32];
};

static int job_removed(sd_bus_message *m, void *data, sd_bus_error *error)
{
	struct job *job = data;
	const char *path, *result;

	(void)error;
	if (sd_bus_message_read(m, "uoss", NULL, &path, NULL, &result) < 0 || !job->path ||
	    strcmp(path, job->path) != 0)
		return 0;
	job->done = true;
	snprintf(job->result, sizeof(job->result), "%s", result);
	return 0;
}

static int job_wait(sd_bus *bus, struct job *job, uint64_t deadline_ms, struct error *error)
{
	uint64_t now;
	int r = 0;

	while (!job->done) {
		r = sd_bus_process(bus, NULL);
		now = clock_ms();
		if (r == 0 && now >= deadline_ms)
			r = -ETIMEDOUT;
		if (r == 0)
			r = sd_bus_wait(bus, (deadline_ms - now) * 1000);
		if (r < 0 && r != -EINTR)
			return error_set(error, -r, "systemd: waiting for the scope: %s",
					 strerror(-r));
	}
	if (strcmp(job->result, "done") != 0)
		return error_set(error, EIO, "systemd: the scope's start: %s", job->result);
	return 0;
}

/* The process alone: the manager refuses a list of which one has ended since. Its descendants come
 * by hand. */
static int append_properties(sd_bus_message *call, pid_t pid)
{
	int r = sd_bus_message_open_container(call, 'a', "(sv)");

	if (r >= 0)
		r = sd_bus_message_append(call, "(sv)(sv)", "Description", "s",
					  "Compartment of bulkhead", "CollectMode", "s",
					  "inactive-or-failed");
	if (r >= 0)
		r = sd_bus_message_append(call, "(sv)", "PIDs", "au", 1, (uint32_t)pid);
	return r < 0 ? r : sd_bus_message_close_container(call);
}

static int start_scope(sd_bus *bus, const char *scope, pid_t pid, sd_bus_message **ret,
		       struct error *error)
{
	_cleanup_(sd_bus_error_free) sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
	int r = sd_bus_message_new_method_call(bus, &call, UNIT_DESTINATION, UNIT_MANAGER,
					       UNIT_DESTINATION ".Manager", "StartTransientUnit");

	if (r >= 0)
		r = sd_bus_message_append(call, "ss", scope, "fail");
	if (r >= 0)
		r = append_properties(call, pid);
	if (r >= 0)
		r = sd_bus_message_append(call, "a(sa(sv))", 0);
	if (r >= 0)
		r = sd_bus_call(bus, call, 0, &bus_error, ret);
	if (r >= 0)
		return 0;
	return error_set(error, -r, "systemd: cannot start %s: %s", scope,
			 bus_error.message ? bus_error.message : strerror(-r));
}

static int make_scope(sd_bus *bus, const char *scope, pid_t pid, uint64_t deadline_ms,
		      char **ret_cgroup, struct error *error)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	_cleanup_(sd_bus_slot_unrefp) sd_bus_slot *slot = NULL;
	struct job job = {};
	int r = sd_bus_match_signal(bus, &slot, UNIT_DESTINATION, UNIT_MANAGER,
				    UNIT_DESTINATION ".Manager", "JobRemoved", job_removed, &job);

	if (r < 0)
		return error_set(error, -r, "systemd: cannot follow jobs: %s", strerror(-r));
	r = unit_bus_call(bus, UNIT_MANAGER, UNIT_DESTINATION ".Manager", "Subscribe", NULL, error,
			  NULL);
	if (!r)
		r = start_scope(bus, scope, pid, &reply, error);
	if (r)
		return r;
	r = sd_bus_message_read(reply, "o", &job.path);
	if (r < 0)
		return error_set(error, -r, "systemd: StartTransientUnit: %s", strerror(-r));
	r = job_wait(bus, &job, deadline_ms, error);
	return r ? r
		 : unit_control_group(bus, scope, UNIT_DESTINATION ".Scope", ret_cgroup, NULL,
				      error);
}

/* --- either way --- */

/* A policy's name, as a unit and a directory can be called. */
static void cgroup_name(const char *name, pid_t pid, const char *format, char *buffer, size_t size)
{
	char clean[BH_NAME_SIZE];
	size_t n = 0;

	for (; *name && n < sizeof(clean) - 1; name++)
		clean[n++] = isalnum((unsigned char)*name) || strchr("-_.", *name) ? *name : '_';
	clean[n] = '\0';
	snprintf(buffer, size, format, clean, (int)pid);
}

#define SCOPE_NAME "bulkhead-%s-%d.scope"
#define OWN_NAME "%s-%d"
_Static_assert(sizeof(SCOPE_NAME) + BH_NAME_SIZE + 16 < UNIT_NAME_SIZE, "names of scopes");

/* The scope of an attach that failed, or was undone by detach, is still around the process. */
static bool stands_in(pid_t pid, const char *name, char **ret_cgroup)
{
	_cleanup_free_ char *cgroup = NULL;
	const char *slash;

	if (cgroup_of_pid(pid, &cgroup))
		return false;
	slash = strrchr(cgroup, '/');
	if (!slash || strcmp(slash + 1, name) != 0)
		return false;
	*ret_cgroup = TAKE_PTR(cgroup);
	return true;
}

static int scope_cgroup(pid_t pid, const char *name, uint64_t deadline_ms, char **ret,
			struct error *error)
{
	_cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
	char unit[UNIT_NAME_SIZE];
	int r = unit_bus_open(&bus, error);

	if (r && r != -EOPNOTSUPP)
		return r;
	cgroup_name(name, pid, r ? OWN_NAME : SCOPE_NAME, unit, sizeof(unit));
	if (stands_in(pid, unit, ret))
		return 0;
	return r ? cgroup_own_create(unit, ret, error)
		 : make_scope(bus, unit, pid, deadline_ms, ret, error);
}

int unit_scope(pid_t pid, pid_t caller, const char *name, char **ret_cgroup, struct error *error)
{
	uint64_t deadline_ms = clock_ms() + SCOPE_MS;
	_cleanup_family_ struct family family = {};
	_cleanup_free_ char *cgroup = NULL;
	__u64 start = 0;
	int r = pid > 0 ? process_start(pid, &start) : -ESRCH;

	if (!r)
		r = family_read(pid, &family);
	if (r)
		return error_set(error, -r, "process %d: %s", (int)pid, strerror(-r));
	r = check_family(&family, pid, caller, error);
	if (!r)
		r = scope_cgroup(pid, name, deadline_ms, &cgroup, error);
	if (!r)
		r = move_all(pid, cgroup, deadline_ms, error);
	/* Whatever failed then, or did not: its id may be somebody else's by now, and a dead process's
	 * children are nobody's. */
	if (!process_is(pid, start))
		return error_set(error, ESRCH, "process %d ended while it was moved to a scope",
				 (int)pid);
	if (r)
		return r;
	*ret_cgroup = TAKE_PTR(cgroup);
	return 0;
}

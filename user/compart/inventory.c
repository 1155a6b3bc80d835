// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What frozen processes already hold, judged by the policy they come under. No hook sees these
 * things again: a descriptor that is open is read without a question.
 */
#include "internal.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include "audit/escape.h"

static size_t memo_slot(const char *path, __u32 perms)
{
	size_t hash = 5381 + perms;

	for (; *path; path++)
		hash = hash * 33 + (unsigned char)*path;
	return hash % INVENTORY_MEMO;
}

bool inventory_allows(struct inventory *inv, const char *path, __u32 perms)
{
	struct memo *memo = &inv->memo[memo_slot(path, perms)];
	bool allowed = false;

	if (memo->path && memo->perms == perms && !strcmp(memo->path, path))
		return memo->allowed;
	policy_explain(inv->policy, path, strlen(path), perms, &allowed);
	free(memo->path);
	memo->path = strdup(path);
	memo->perms = perms;
	memo->allowed = allowed;
	return allowed;
}

/* In front of what is said of it. */
#define REVOKED "revoked: "

static void forget_memos(struct inventory *inv)
{
	for (size_t i = 0; i < INVENTORY_MEMO; i++)
		free(inv->memo[i].path);
}

static void inventory_free(struct inventory *inv)
{
	forget_memos(inv);
	free(inv->mounts);
	free(inv);
}

/* Names come from the processes themselves and go to a terminal. */
static void make_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

static void line_of(const struct inventory *inv, pid_t pid, const char *format, va_list ap,
		    char *buffer, size_t size)
{
	int n = snprintf(buffer, size, "pid %d (%s) ", (int)pid, inv->comm);

	if (n > 0 && (size_t)n < size)
		vsnprintf(buffer + n, size - n, format, ap);
	make_printable(buffer);
}

static bool has_room(const struct inventory *inv)
{
	return inv->report && inv->report->n < BH_MAX_REPORT_LINES;
}

static void list(struct inventory *inv, const char *line)
{
	if (!has_room(inv) || report_add(inv->report, "%s", line))
		inv->unlisted++;
}

static void refuse_line(struct inventory *inv, enum existing_kind kind, const char *line)
{
	bool report = inv->policy->existing[kind] == EXISTING_REPORT;

	if (!report && !inv->refused++)
		snprintf(inv->first, sizeof(inv->first), "%.*s", (int)sizeof(inv->first) - 1, line);
	list(inv, line);
}

void inventory_refuse(struct inventory *inv, enum existing_kind kind, pid_t pid, const char *format,
		      ...)
{
	char line[512];
	va_list ap;

	va_start(ap, format);
	line_of(inv, pid, format, ap, line, sizeof(line));
	va_end(ap);
	if (inv->policy->existing[kind] == EXISTING_REVOKE)
		strncat(line, " (and it cannot be revoked)", sizeof(line) - strlen(line) - 1);
	refuse_line(inv, kind, line);
}

static int remember(struct revocations *to, const struct revoked_fd *held)
{
	struct revoked_fd *bigger = reallocarray(to->items, to->n + 1, sizeof(*bigger));

	if (!bigger)
		return -ENOMEM;
	to->items = bigger;
	to->items[to->n++] = *held;
	return 0;
}

void inventory_keep_fd(struct inventory *inv, const struct revoked_fd *held)
{
	struct revoked_fd kept = *held;

	kept.keep = true;
	if (inv->revoked && remember(inv->revoked, &kept))
		inv->failed = true;
}

static int give_up(struct inventory *inv, const struct revoked_fd *held, const char *line)
{
	struct revocations *to = inv->revoked;
	_cleanup_free_ char *escaped = NULL;
	int r = remember(to, held);

	if (r || to->nlines == BH_MAX_RECORD_LINES)
		return r;
	/* For a record, which is UTF-8: names need not be. */
	escaped = escape_bytes(line, strlen(line));
	return escaped ? strings_push(&to->lines, &to->nlines, escaped) : -ENOMEM;
}

void inventory_refuse_fd(struct inventory *inv, enum existing_kind kind,
			 const struct revoked_fd *held, const char *format, ...)
{
	bool may = inv->policy->existing[kind] == EXISTING_REVOKE && inv->revoked;
	char line[512], told[sizeof(line) + 16];
	va_list ap;

	va_start(ap, format);
	line_of(inv, held->pid, format, ap, line, sizeof(line));
	va_end(ap);
	if (!may) {
		refuse_line(inv, kind, line);
		return;
	}
	inv->failed = inv->failed || give_up(inv, held, line) < 0;
	snprintf(told, sizeof(told), REVOKED "%s", line);
	list(inv, told);
}

void revocations_done(struct revocations *revocations)
{
	free(revocations->items);
	strings_free(revocations->lines);
	*revocations = (struct revocations){};
}

void inventory_note(struct inventory *inv, pid_t pid, const char *format, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, format);
	line_of(inv, pid, format, ap, line, sizeof(line));
	va_end(ap);
	/* Half the room: what is kept must not hide what is refused. */
	if (inv->report && inv->report->n < BH_MAX_REPORT_LINES / 2)
		report_add(inv->report, "%s", line);
}

static int by_pid(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return x < y ? -1 : x > y;
}

bool inventory_is_member(const struct inventory *inv, pid_t pid)
{
	return bsearch(&pid, inv->pids, inv->npids, sizeof(pid), by_pid) != NULL;
}

bool process_may_jit(const struct policy *policy, pid_t pid)
{
	char path[64], exe[PATH_MAX];
	bool allowed = false;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, exe, sizeof(exe) - 1);
	if (n <= 0 || (size_t)n == sizeof(exe) - 1)
		return false;
	policy_explain(policy, exe, n, BH_PERM_JIT, &allowed);
	return allowed;
}

/* A process killed meanwhile holds nothing any more. */
static int judge_process(struct inventory *inv, pid_t pid, struct error *error)
{
	int r;

	process_comm(pid, inv->comm, sizeof(inv->comm));
	make_printable(inv->comm);
	r = inventory_descriptors(inv, pid, error);
	if (!r)
		r = inventory_mappings(inv, pid, error);
	return r == -ESRCH || r == -ENOENT ? 0 : r;
}

/* Where one thing stays, nothing is taken. */
static void tell_kept(struct report *report)
{
	char *line;

	for (size_t i = 0; report && i < report->n; i++) {
		if (strncmp(report->lines[i], REVOKED, strlen(REVOKED)) != 0 ||
		    asprintf(&line, "could be %s", report->lines[i]) < 0)
			continue;
		free(report->lines[i]);
		report->lines[i] = line;
	}
}

static int verdict(const struct inventory *inv, struct error *error)
{
	const enum existing_action *existing = inv->policy->existing;
	bool revoking = existing[EXISTING_FILES] == EXISTING_REVOKE &&
			existing[EXISTING_SOCKETS] == EXISTING_REVOKE;

	if (inv->failed)
		return error_set(error, ENOMEM, "out of memory");
	if (!inv->refused)
		return 0;
	tell_kept(inv->report);
	return error_set(error, EPERM,
			 "%s: the processes hold %zu thing%s that the policy does not allow, "
			 "the first: %s. Close or restart, allow in the policy, keep by "
			 "existing: {keep: [...]}, %sor take the risk by {default: report}",
			 inv->policy->name, inv->refused, plural(inv->refused), inv->first,
			 revoking ? ""
				  : "take descriptors of files and sockets away by "
				    "existing: {default: revoke}, ");
}

/* What is registered with a thread is in no table of descriptors. */
static void judge_rings(struct inventory *inv, const struct bh_task *tasks, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!(tasks[i].flags & BH_TASK_RING))
			continue;
		process_comm((pid_t)tasks[i].tgid, inv->comm, sizeof(inv->comm));
		make_printable(inv->comm);
		inventory_refuse(
			inv, EXISTING_OTHERS, (pid_t)tasks[i].tgid,
			"thread %u: a registered io_uring: it does I/O that no hook judges",
			tasks[i].tid);
	}
}

int inventory_judge(const struct policy *policy, const struct inventory_of *of,
		    struct report *report, struct revocations *revoked, struct error *error)
{
	struct inventory *inv = calloc(1, sizeof(*inv));
	const pid_t *pids = of->pids;
	size_t npids = of->npids;
	int r = 0;

	if (!inv)
		return error_set(error, ENOMEM, "out of memory");
	inv->policy = policy;
	inv->pids = pids;
	inv->npids = npids;
	inv->report = report;
	inv->revoked = revoked;
	inv->deadline_ms = clock_ms() + BH_INVENTORY_MS;
	r = inventory_names_open(inv, error);
	for (size_t i = 0; !r && i < npids; i++) {
		if (clock_ms() > inv->deadline_ms)
			r = error_set(error, ETIMEDOUT,
				      "looked at %zu of %zu processes in %u ms: attach before the "
				      "provider has grown that large, or smaller parts of it",
				      i, npids, BH_INVENTORY_MS);
		else
			r = judge_process(inv, pids[i], error);
	}
	judge_rings(inv, of->tasks, of->ntasks);
	if (!r)
		r = inventory_tracees(inv, error);
	if (inv->unlisted && report)
		report_add(report, "and %zu more", inv->unlisted);
	if (!r)
		r = verdict(inv, error);
	inventory_free(inv);
	return r;
}

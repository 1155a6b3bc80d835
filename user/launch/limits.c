// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "limits.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include "base/cleanup.h"
#include "compart/compart.h"

/* The period of cpu.max in microseconds: the kernel's own (cgroup-v2.rst). */
#define CPU_PERIOD_US 100000
/* One value or a list of controllers. */
#define FILE_SIZE_MAX 4096

static int format_cpu(__u64 value, char *text, size_t size)
{
	return snprintf(text, size, "%llu %d", (unsigned long long)value * CPU_PERIOD_US / 100,
			CPU_PERIOD_US);
}

static int format_plain(__u64 value, char *text, size_t size)
{
	return snprintf(text, size, "%llu", (unsigned long long)value);
}

/* The kernel counts memory in pages, and says what it counts. */
static int format_pages(__u64 value, char *text, size_t size)
{
	return format_plain(value - value % (__u64)sysconf(_SC_PAGESIZE), text, size);
}

static const struct control {
	enum limit limit;
	const char *controller, *file;
	int (*format)(__u64 value, char *text, size_t size);
} controls[] = {
	{LIMIT_PROCESSES, "pids", "pids.max", format_plain},
	{LIMIT_CPU, "cpu", "cpu.max", format_cpu},
	{LIMIT_MEMORY, "memory", "memory.max", format_pages},
	{LIMIT_SWAP, "memory", "memory.swap.max", format_pages},
};
#define NCONTROLS (sizeof(controls) / sizeof(*controls))

/* Is it one of the words of this file? */
static bool has_word(const char *cgroup, const char *file, const char *word)
{
	_cleanup_free_ char *text = NULL;
	char *save, *one;

	if (cgroup_file_read(cgroup, file, FILE_SIZE_MAX, &text))
		return false;
	for (one = strtok_r(text, " \n", &save); one; one = strtok_r(NULL, " \n", &save)) {
		if (!strcmp(one, word))
			return true;
	}
	return false;
}

static int no_controller(const char *cgroup, const struct control *control, struct error *error)
{
	return error_set(
		error, ENOTSUP,
		"limits: %s cannot be kept, for cgroup v2 has no controller \"%s\" at %s. On a "
		"hybrid hierarchy boot with systemd.unified_cgroup_hierarchy=1; inside a container "
		"delegate it",
		limit_rows[control->limit].key, control->controller, cgroup);
}

/* For children of `cgroup`. Once a child of a cgroup has given it on, nobody takes it away above: EBUSY. */
static int enable(const char *cgroup, const struct control *control, struct error *error)
{
	char word[32];
	int r;

	if (has_word(cgroup, "cgroup.subtree_control", control->controller))
		return 0;
	if (!has_word(cgroup, "cgroup.controllers", control->controller))
		return no_controller(cgroup, control, error);
	snprintf(word, sizeof(word), "+%s", control->controller);
	r = cgroup_file_write(cgroup, "cgroup.subtree_control", word);
	return r < 0 ? error_set(error, -r,
				 "%s: cannot give its children the controller \"%s\": %s", cgroup,
				 control->controller, strerror(-r))
		     : 0;
}

/* Our own root stands below the hierarchy's, where a service manager gives on what its units need. */
static int enable_all(const char *cgroup, struct error *error)
{
	char own[PATH_MAX], root[PATH_MAX];
	int r = 0;

	if (snprintf(own, sizeof(own), "%s", cgroup) >= (int)sizeof(own))
		return error_set(error, ENAMETOOLONG, "%s", cgroup);
	dirname(own);
	strcpy(root, own);
	dirname(root);
	for (size_t i = 0; r == 0 && i < NCONTROLS; i++) {
		r = enable(root, &controls[i], error);
		if (r == 0)
			r = enable(own, &controls[i], error);
	}
	return r;
}

/* Without swap there is nothing to bound, and no file for it. */
static bool has_no_swap(void)
{
	return access("/proc/swaps", F_OK) != 0;
}

static int set_one(const char *cgroup, const struct control *control, __u64 value,
		   struct error *error)
{
	_cleanup_free_ char *read = NULL;
	char wanted[64];
	int r;

	control->format(value, wanted, sizeof(wanted));
	r = cgroup_file_write(cgroup, control->file, wanted);
	if (r == -ENOENT && control->limit == LIMIT_SWAP && has_no_swap())
		return 0;
	if (r == 0)
		r = cgroup_file_read(cgroup, control->file, FILE_SIZE_MAX, &read);
	if (r < 0)
		return error_set(error, -r, "%s/%s: cannot be set to %s: %s", cgroup, control->file,
				 wanted, strerror(-r));
	read[strcspn(read, "\n")] = '\0';
	if (strcmp(read, wanted))
		return error_set(error, EPROTO, "%s/%s: %s was written, and it says %s", cgroup,
				 control->file, wanted, read);
	return 0;
}

int limits_set_cgroup(const char *cgroup, const __u64 limits[LIMITS], struct error *error)
{
	int r = enable_all(cgroup, error);

	for (size_t i = 0; r == 0 && i < NCONTROLS; i++)
		r = set_one(cgroup, &controls[i], limits[controls[i].limit], error);
	return r;
}

static int lower(__rlimit_resource_t resource, rlim_t value)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) < 0)
		return -errno;
	if (limit.rlim_max > value)
		limit.rlim_max = value;
	if (limit.rlim_cur > limit.rlim_max)
		limit.rlim_cur = limit.rlim_max;
	return setrlimit(resource, &limit) < 0 ? -errno : 0;
}

int limits_set_process(const __u64 limits[LIMITS])
{
	int r = lower(RLIMIT_NOFILE, limits[LIMIT_OPEN_FILES]);

	if (r == 0)
		r = lower(RLIMIT_FSIZE, limits[LIMIT_FILE_SIZE]);
	return r == 0 ? lower(RLIMIT_CORE, 0) : r;
}

/* "VALUE\n", or with a key the value of its line. */
static __u64 read_value(const char *cgroup, const char *file, const char *key)
{
	_cleanup_free_ char *text = NULL;
	const char *at;
	char *end;
	__u64 value;

	if (cgroup_file_read(cgroup, file, FILE_SIZE_MAX, &text))
		return UINT64_MAX;
	for (at = text; key; at++) {
		if (!strncmp(at, key, strlen(key)) && at[strlen(key)] == ' ') {
			at += strlen(key) + 1;
			break;
		}
		at = strchr(at, '\n');
		if (!at)
			return UINT64_MAX;
	}
	value = strtoull(at, &end, 10);
	return end == at ? UINT64_MAX : value;
}

void usage_read(const char *cgroup, struct usage *ret)
{
	ret->cpu_us = read_value(cgroup, "cpu.stat", "usage_usec");
	ret->memory_peak = read_value(cgroup, "memory.peak", NULL);
	ret->processes_peak = read_value(cgroup, "pids.peak", NULL);
	ret->memory_kills = read_value(cgroup, "memory.events", "oom_kill");
	ret->forks_refused = read_value(cgroup, "pids.events", "max");
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "guard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct guard {
	struct destination *entries;
	size_t n;
	sd_event *event;
	struct reacher *reacher;
};

void guard_free(struct guard *guard)
{
	if (!guard)
		return;
	reacher_free(guard->reacher);
	sd_event_unref(guard->event);
	free(guard->entries);
	free(guard);
}

int guard_new(const struct guard_options *options, struct guard **ret, struct error *error)
{
	_cleanup_guard_ struct guard *guard = calloc(1, sizeof(*guard));
	int r;

	if (guard)
		guard->entries = calloc(options->nentries + 1, sizeof(*guard->entries));
	if (!guard || !guard->entries)
		return error_set(error, ENOMEM, "out of memory");
	guard->n = options->nentries;
	if (guard->n)
		memcpy(guard->entries, options->entries, guard->n * sizeof(*guard->entries));
	/* A loop of its own: it waits for this one alone. */
	r = sd_event_new(&guard->event);
	if (r < 0)
		return error_set(error, -r, "event loop: %s", strerror(-r));
	r = reacher_new(guard->event, &options->reach, &guard->reacher, error);
	if (!r)
		*ret = TAKE_PTR(guard);
	return r;
}

/* --- is it listed? --- */

/* 0, or -EACCES with a reason that says whether it is the port alone. */
static int check_listed(const struct guard *guard, const char *name, __u16 port,
			struct error *error)
{
	bool has_name = false;

	for (size_t i = 0; i < guard->n; i++) {
		if (!destination_has_name(&guard->entries[i], name))
			continue;
		has_name = true;
		if (destination_has_port(&guard->entries[i], port))
			return 0;
	}
	return error_set(error, EACCES, "%s:%u: %s", name, port,
			 has_name ? "the name is listed, with other ports" : "not listed");
}

/* --- dialled --- */

static const int codes[REACH_OUTCOMES] = {
	[REACH_CONNECTED] = 0,		 [REACH_UNRESOLVED] = ENOENT,
	[REACH_BAD_ADDRESS] = EPERM,	 [REACH_BAD_ROUTE] = EPERM,
	[REACH_UNROUTED] = EHOSTUNREACH, [REACH_FAILED] = EHOSTUNREACH,
	[REACH_OUT_OF_TIME] = ETIMEDOUT, [REACH_INTERNAL] = EIO,
};

struct wait {
	bool done;
	int fd, code; /* a positive errno, or 0 */
	char reason[512];
};

static void on_reached(void *data, enum reach_outcome outcome, int fd, const char *reason)
{
	struct wait *wait = data;

	*wait = (struct wait){.done = true, .fd = fd, .code = codes[outcome]};
	snprintf(wait->reason, sizeof(wait->reason), "%s: %s", reach_outcome_names[outcome],
		 reason);
}

/* The reach has its deadline, so this has. */
static int run_until(struct guard *guard, const struct wait *wait)
{
	int r = 0;

	while (!wait->done && r >= 0)
		r = sd_event_run(guard->event, UINT64_MAX);
	return r < 0 ? r : 0;
}

static int dial(struct guard *guard, const char *name, __u16 port, unsigned int deadline_ms,
		int *ret_fd, struct error *error)
{
	struct wait wait = {.fd = -1};
	struct reach *reach = NULL;
	int r = reach_begin(guard->reacher, name, port, deadline_ms, on_reached, &wait, &reach);

	if (r)
		return error_set(error, r == -EINVAL ? EINVAL : EIO, "%s:%u: %s", name, port,
				 r == -EINVAL ? "no deadline, or too long a one" : strerror(-r));
	r = run_until(guard, &wait);
	if (!wait.done) {
		reach_cancel(reach);
		return error_set(error, EIO, "event loop: %s", strerror(-r));
	}
	if (wait.code)
		return error_set(error, wait.code, "%s:%u: %s", name, port, wait.reason);
	*ret_fd = wait.fd;
	return 0;
}

int egress_dial(struct guard *guard, const void *host, size_t length, __u16 port,
		unsigned int deadline_ms, int *ret_fd, struct error *error)
{
	char name[DESTINATION_NAME_SIZE];
	struct destination_fault fault;
	int r;

	if (destination_name(host, length, name, &fault))
		return error_set(error, EINVAL, "host, byte %zu: %s", fault.offset, fault.reason);
	r = check_listed(guard, name, port, error);
	return r ? r : dial(guard, name, port, deadline_ms, ret_fd, error);
}

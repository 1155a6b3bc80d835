// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "timer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/clock.h"
#include "compart/unit.h"

#define MANAGER UNIT_DESTINATION ".Manager"
#define TIMER UNIT_DESTINATION ".Timer"
/* Later than the watchdog: of all that have the deadline one acts. */
#define LATER_US 2000000ull
#define ACCURACY_US 100000ull /* systemd's own is a minute */
/* For the manager to have it: asked again so often. */
#define READ_BACK_MS 5000
#define READ_AGAIN_US 20000

DEFINE_CLEANUP(sd_bus *, sd_bus_unref)
DEFINE_CLEANUP(sd_bus_message *, sd_bus_message_unref)

static void unit_name(const char *name, const char *suffix, char ret[UNIT_NAME_SIZE])
{
	snprintf(ret, UNIT_NAME_SIZE, "bulkhead-deadline-%s.%s", name, suffix);
}

static int append_timer(sd_bus_message *call, const char *timer, uint64_t after_us)
{
	int r = sd_bus_message_append(call, "ss", timer, "fail");

	return r < 0 ? r
		     : sd_bus_message_append(call, "a(sv)", 5, "Description", "s",
					     "Deadline of a run of bulkhead", "CollectMode", "s",
					     "inactive-or-failed", "RemainAfterElapse", "b", 0,
					     "AccuracyUSec", "t", ACCURACY_US, "TimersMonotonic",
					     "a(st)", 1, "OnActiveSec", after_us);
}

/* A cgroup that is gone has no file to write to: nothing is left to do then. */
static int append_service(sd_bus_message *call, const char *service, const char *cgroup)
{
	static const char command[] = "[ ! -e \"$1\" ] || echo 1 >\"$1/cgroup.kill\"";

	return sd_bus_message_append(call, "a(sa(sv))", 1, service, 4, "Description", "s",
				     "End of a run of bulkhead", "CollectMode", "s",
				     "inactive-or-failed", "Type", "s", "oneshot", "ExecStart",
				     "a(sasb)", 1, "/bin/sh", 5, "/bin/sh", "-c", command, "sh",
				     cgroup, 0);
}

static int start(sd_bus *bus, const char *name, const char *cgroup, uint64_t after_us,
		 struct error *error)
{
	_cleanup_(sd_bus_error_free) sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	_cleanup_(cleanup_sd_bus_message_unref) sd_bus_message *call = NULL;
	char timer[UNIT_NAME_SIZE], service[UNIT_NAME_SIZE];
	int r = sd_bus_message_new_method_call(bus, &call, UNIT_DESTINATION, UNIT_MANAGER, MANAGER,
					       "StartTransientUnit");

	unit_name(name, "timer", timer);
	unit_name(name, "service", service);
	if (r >= 0)
		r = append_timer(call, timer, after_us);
	if (r >= 0)
		r = append_service(call, service, cgroup);
	if (r >= 0)
		r = sd_bus_call(bus, call, 0, &bus_error, NULL);
	if (r >= 0)
		return 0;
	return error_set(error, -r, "systemd: cannot start %s: %s", timer,
			 bus_error.message ? bus_error.message : strerror(-r));
}

/* When the manager will act, by its CLOCK_MONOTONIC; 0: it does not wait (yet). */
static int next_elapse(sd_bus *bus, const char *timer, uint64_t *ret, struct error *error)
{
	_cleanup_(sd_bus_error_free) sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	_cleanup_(cleanup_sd_bus_message_unref) sd_bus_message *reply = NULL;
	const char *path;
	int r = unit_bus_call(bus, UNIT_MANAGER, MANAGER, "GetUnit", &reply, error, "s", timer);

	if (r)
		return r;
	r = sd_bus_message_read(reply, "o", &path);
	if (r >= 0)
		r = sd_bus_get_property_trivial(bus, UNIT_DESTINATION, path, TIMER,
						"NextElapseUSecMonotonic", &bus_error, 't', ret);
	return r < 0 ? error_set(error, -r, "systemd: %s: %s", timer,
				 bus_error.message ? bus_error.message : strerror(-r))
		     : 0;
}

static int read_back(sd_bus *bus, const char *name, uint64_t at_us, struct error *error)
{
	uint64_t end = clock_us() + READ_BACK_MS * 1000ull, next = 0;
	char timer[UNIT_NAME_SIZE];
	int r = 0;

	unit_name(name, "timer", timer);
	while (r == 0 && !next && clock_us() < end) {
		usleep(READ_AGAIN_US);
		r = next_elapse(bus, timer, &next, error);
	}
	if (r)
		return r;
	/* It began to count a little later than we. */
	if (!next || next > at_us + READ_BACK_MS * 1000ull)
		return error_set(error, EPROTO, "systemd: %s does not wait for the deadline",
				 timer);
	return 0;
}

static int arm(const char *name, const char *cgroup, uint64_t after_us, struct error *error)
{
	_cleanup_(cleanup_sd_bus_unref) sd_bus *bus = NULL;
	uint64_t begun = clock_us();
	int r = unit_bus_open(&bus, error);

	if (r == 0)
		r = start(bus, name, cgroup, after_us, error);
	return r == 0 ? read_back(bus, name, begun + after_us, error) : r;
}

pid_t timer_start(const char *name, const char *cgroup, uint64_t after_ms)
{
	struct error error = {0};
	pid_t pid;

	if (access("/run/systemd/system", F_OK))
		return 0;
	pid = fork();
	if (pid)
		return pid < 0 ? -errno : pid;
	if (arm(name, cgroup, after_ms * 1000 + LATER_US, &error) < 0)
		log_warning("run: %s: its deadline is kept by us and a watchdog alone: %s", name,
			    error.text);
	_exit(0);
}

void timer_stop(pid_t starter, const char *name)
{
	_cleanup_(cleanup_sd_bus_unref) sd_bus *bus = NULL;
	struct error ignored = {0}; /* it may never have come to be */
	char timer[UNIT_NAME_SIZE];

	if (starter <= 0)
		return;
	waitpid(starter, NULL, 0);
	unit_name(name, "timer", timer);
	if (unit_bus_open(&bus, &ignored) == 0)
		unit_bus_call(bus, UNIT_MANAGER, MANAGER, "StopUnit", NULL, &ignored, "ss", timer,
			      "replace");
}

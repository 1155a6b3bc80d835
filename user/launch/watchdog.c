// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "base/cleanup.h"
#include "base/clock.h"
#include "compart/compart.h"
#include "life.h"

/* So much later than who supervises: one of them acts. */
#define LATER_US 1000000ull
/* Between two looks at whether anything is left, when nobody supervises. */
#define LOOK_MS 1000

/* For it to say that it watches: nothing else runs in between. */
#define READY_MS 10000

/* Descriptors, and as an array: all that it holds, so that it keeps no pipe of the command's open. */
struct held {
	int lease, events, kill;
};

#define HELD_FIRST 3  /* where they go: behind the standard ones, which are /dev/null */
#define HELD_ABOVE 16 /* where they are out of each other's way meanwhile */

/* False: it cannot be had, and what is held is as it was. */
static bool move_held(struct held *held)
{
	int *fds[] = {&held->lease, &held->events, &held->kill}, null = open("/dev/null", O_RDWR);

	for (int i = 0; i < 3; i++) {
		*fds[i] = fcntl(*fds[i], F_DUPFD, HELD_ABOVE);
		if (*fds[i] < 0)
			return false;
	}
	for (int i = 0; i < 3; i++) {
		if (dup2(null, i) < 0 || dup2(*fds[i], HELD_FIRST + i) < 0)
			return false;
		*fds[i] = HELD_FIRST + i;
	}
	return close_range(HELD_FIRST + 3, ~0u, 0) == 0;
}

static bool is_empty(int events)
{
	char text[128];
	ssize_t n = pread(events, text, sizeof(text) - 1, 0);

	/* What cannot be read is not empty, unless the cgroup is gone. */
	if (n < 0)
		return errno == ENODEV;
	text[n] = '\0';
	return strstr(text, "populated 0") != NULL;
}

/* Until the deadline, or until nobody needs it. */
static void watch(const struct held *held, uint64_t end)
{
	struct pollfd lease = {.fd = held->lease, .events = POLLIN};
	uint64_t now;
	int left;

	while ((now = clock_us()) < end) {
		left = end - now > 1000ull * INT_MAX ? INT_MAX : (int)((end - now) / 1000) + 1;
		if (lease.fd < 0 && left > LOOK_MS)
			left = LOOK_MS;
		/* Nobody says anything there: who supervises has died. */
		if (poll(&lease, 1, left) > 0)
			lease.fd = -1;
		if (lease.fd < 0 && is_empty(held->events))
			return;
	}
	while (!is_empty(held->events) && write(held->kill, "1", 1) != 1)
		usleep(LOOK_MS * 1000);
}

static void watchdog_main(struct held *held, const struct life *life) __attribute__((noreturn));
static void watchdog_main(struct held *held, const struct life *life)
{
	uint64_t end = life->begun_us + life->wall_ms * 1000 + LATER_US;

	/* The terminal's signals, and its end, are not for it. */
	setsid();
	prctl(PR_SET_NAME, "bulkhead-watch");
	if (move_held(held) && write(held->lease, "", 1) == 1)
		watch(held, end);
	_exit(0);
}

static int open_held(const struct life *life, struct held *held, int *ret_lease)
{
	char path[PATH_MAX];
	int ends[2];

	snprintf(path, sizeof(path), "%s/cgroup.events", life->cgroup);
	held->events = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "%s/cgroup.kill", life->cgroup);
	held->kill = open(path, O_WRONLY | O_CLOEXEC);
	if (held->events < 0 || held->kill < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	held->lease = ends[0];
	*ret_lease = ends[1];
	return 0;
}

static int move_to(const char *cgroup, pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	return cgroup_file_write(cgroup, "cgroup.procs", text);
}

/* It has all that it needs: a process that ended instead has closed its end. */
static int await_ready(int lease)
{
	struct pollfd polled = {.fd = lease, .events = POLLIN};
	char byte;

	if (poll(&polled, 1, READY_MS) <= 0)
		return -ETIMEDOUT;
	return read(lease, &byte, 1) == 1 ? 0 : -ECHILD;
}

int watchdog_start(const struct life *life, const char *home, struct watchdog *ret,
		   struct error *error)
{
	struct held held = {-1, -1, -1};
	int lease = -1, r = open_held(life, &held, &lease);
	pid_t pid = r < 0 ? -1 : fork();

	if (pid == 0) {
		close(lease);
		watchdog_main(&held, life);
	}
	if (r == 0)
		r = pid < 0 ? -errno : move_to(home, pid);
	cleanup_closep(&held.lease);
	cleanup_closep(&held.events);
	cleanup_closep(&held.kill);
	if (r == 0)
		r = await_ready(lease);
	*ret = (struct watchdog){pid > 0 ? pid : 0, lease};
	if (r == 0)
		return 0;
	watchdog_end(ret);
	return error_set(error, -r, "no watchdog for its deadline: %s", strerror(-r));
}

void watchdog_end(struct watchdog *watchdog)
{
	cleanup_closep(&watchdog->lease);
	watchdog->lease = -1;
	if (watchdog->pid <= 0)
		return;
	kill(watchdog->pid, SIGKILL);
	waitpid(watchdog->pid, NULL, 0);
	watchdog->pid = 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "life.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/clock.h"
#include "compart/compart.h"

#define GRACE_MAX_MS 10000
#define GRACE_PART 10 /* of the whole time */
#define POLL_AGAIN_US 20000

/* What is still to come, by clock_us; UINT64_MAX: nothing. */
struct course {
	uint64_t terminate, kill;
};

static uint64_t grace_us(const struct life *life)
{
	uint64_t part = life->wall_ms / GRACE_PART;

	return (part < GRACE_MAX_MS ? part : GRACE_MAX_MS) * 1000;
}

void life_begin(struct life *life)
{
	life->begun_us = clock_us();
	life->end = LIFE_RUNNING;
	life->status = -1;
}

/* A number that was another process's when the cgroup was read is told by a second reading, with the process held. */
static void terminate_one(const char *cgroup, pid_t pid)
{
	_cleanup_close_ int pidfd = pidfd_open(pid, 0);
	_cleanup_free_ char *stands = NULL;
	size_t length = strlen(cgroup);

	if (pidfd < 0 || cgroup_of_pid(pid, &stands) || strncmp(stands, cgroup, length) ||
	    (stands[length] && stands[length] != '/'))
		return;
	pidfd_send_signal(pidfd, SIGTERM, NULL, 0);
}

/* Who is missed, or born meanwhile, meets cgroup.kill. */
static void terminate_all(const struct life *life)
{
	_cleanup_free_ pid_t *pids = NULL;
	size_t n = 0;

	if (cgroup_pids(life->cgroup, &pids, &n))
		return;
	for (size_t i = 0; i < n; i++)
		terminate_one(life->cgroup, pids[i]);
}

static void hear_signals(struct life *life, struct course *course)
{
	struct signalfd_siginfo si;

	while (read(life->signals, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGINT) {
			/* What the terminal sends went to the command's process group, too. */
			if (si.ssi_code <= 0)
				pidfd_send_signal(life->pidfd, SIGINT, NULL, 0);
			continue;
		}
		if (life->end != LIFE_RUNNING)
			continue;
		life->end = LIFE_CANCELLED;
		terminate_all(life);
		course->terminate = UINT64_MAX;
		if (course->kill > clock_us() + grace_us(life))
			course->kill = clock_us() + grace_us(life);
	}
}

static void follow(struct life *life, struct course *course)
{
	uint64_t now = clock_us();
	int r;

	if (now >= course->terminate) {
		course->terminate = UINT64_MAX;
		life->end = LIFE_DEADLINE;
		terminate_all(life);
	}
	if (now < course->kill)
		return;
	course->kill = UINT64_MAX;
	if (life->end == LIFE_RUNNING)
		life->end = LIFE_DEADLINE;
	/* Its end is told by the pidfd; that of what it started is the caller's to await. */
	r = cgroup_file_write(life->cgroup, "cgroup.kill", "1");
	if (r < 0)
		log_error("%s/cgroup.kill: %s", life->cgroup, strerror(-r));
}

static int wait_ms(const struct course *course)
{
	uint64_t next = course->terminate < course->kill ? course->terminate : course->kill;
	uint64_t now = clock_us();

	if (next == UINT64_MAX)
		return -1;
	if (next <= now)
		return 0;
	return next - now > 1000ull * INT_MAX ? INT_MAX : (int)((next - now + 999) / 1000);
}

static void reap(struct life *life)
{
	int status;

	life->ended_us = clock_us();
	if (waitpid(life->child, &status, 0) != life->child)
		return;
	life->child = 0;
	life->status = status;
	if (life->end == LIFE_RUNNING)
		life->end = WIFSIGNALED(status) ? LIFE_SIGNAL : LIFE_EXIT;
}

void life_wait(struct life *life)
{
	struct pollfd polled[] = {
		{.fd = life->pidfd, .events = POLLIN},
		{.fd = life->signals, .events = POLLIN},
	};
	struct course course = {.kill = life->begun_us + life->wall_ms * 1000};

	course.terminate = course.kill - grace_us(life);
	while (!(polled[0].revents & POLLIN)) {
		if (poll(polled, 2, wait_ms(&course)) < 0) {
			/* Without memory, say: the deadline is kept all the same. */
			polled[0].revents = polled[1].revents = 0;
			usleep(POLL_AGAIN_US);
		}
		if (polled[1].revents & POLLIN)
			hear_signals(life, &course);
		follow(life, &course);
	}
	reap(life);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A command's life, from the moment it may go on to its end. It ends by itself, by its deadline, or by who started it:
 * SIGTERM to all of its cgroup, a time to put things in order, then cgroup.kill, which setsid, double forks and ignored
 * signals do not escape.
 */
#ifndef LAUNCH_LIFE_H
#define LAUNCH_LIFE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/log.h"

enum life_end {
	LIFE_RUNNING,
	LIFE_EXIT,
	LIFE_SIGNAL,
	LIFE_DEADLINE,
	LIFE_CANCELLED,
};

struct life {
	pid_t child; /* 0 once it is reaped */
	int pidfd;
	int signals; /* a signalfd of what tells us to end; SIGINT is the command's own business */
	const char *cgroup; /* of the command and all that it starts */
	uint64_t wall_ms;   /* from life_begin on; at its end the cgroup is killed */

	uint64_t begun_us, ended_us; /* by clock_us */
	enum life_end end;
	int status; /* as wait(2) has it; -1: not known */
};

/* Its time begins. */
void life_begin(struct life *life);

/* Until the command has ended, however; what it leaves in the cgroup is the caller's to end. SIGTERM comes to the cgroup
 * a tenth of wall_ms, and 10 s at most, before its end; whoever cancels gives as long. */
void life_wait(struct life *life);

/* What a watchdog has: the deadline once more, in a process that outlives whoever supervises. */
struct watchdog {
	pid_t pid; /* 0: none */
	int lease; /* what keeps it waiting for us */
};

/* Starts one in the cgroup `home` for what is in life->cgroup. It kills that a second after the deadline, if it is there
 * by then; and ends with it, when who supervises is gone. */
int watchdog_start(const struct life *life, const char *home, struct watchdog *ret,
		   struct error *error);
/* Nothing is left to watch. */
void watchdog_end(struct watchdog *watchdog);

#endif

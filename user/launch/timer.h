/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A deadline that the service manager keeps: a transient timer of systemd, which nobody below it can kill, whose service
 * ends what is in a cgroup. */
#ifndef LAUNCH_TIMER_H
#define LAUNCH_TIMER_H

#include <stdint.h>
#include <sys/types.h>
#include "base/log.h"

/* A process that starts one for the cgroup of that name, so many milliseconds from now, reads back that it waits, and
 * says so if not: a call over the bus may take as long as the bus likes, and nobody waits for it whose deadline runs.
 * 0: systemd does not run here; or -errno. */
pid_t timer_start(const char *name, const char *cgroup, uint64_t after_ms);
/* Nothing is left to end: once that process has ended, which it does within its calls' deadlines, the timer goes. */
void timer_stop(pid_t starter, const char *name);

#endif

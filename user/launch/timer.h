/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A deadline that the service manager keeps: a transient timer of systemd, which nobody below it can kill, whose service
 * ends what is in a cgroup. */
#ifndef LAUNCH_TIMER_H
#define LAUNCH_TIMER_H

#include <stdint.h>
#include "base/log.h"

/* Starts one for the cgroup of that name, so many milliseconds from now, and reads back that it waits. 0;
 * -EOPNOTSUPP: systemd does not run here; or -errno and error. */
int timer_start(const char *name, const char *cgroup, uint64_t after_ms, struct error *error);
/* Nothing is left to end; one that is not there is well. */
void timer_stop(const char *name);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a policy's limits are for the kernel: controllers of cgroup v2, and what a process is born with. */
#ifndef LAUNCH_LIMITS_H
#define LAUNCH_LIMITS_H

#include "base/log.h"
#include "policy/limits.h"

/* Of a cgroup of our own, empty still. Each is read back. 0; -ENOTSUP: a controller is missing here, and the error says
 * how to have it; -EPROTO: the kernel says another value than was written. */
int limits_set_cgroup(const char *cgroup, const __u64 limits[LIMITS], struct error *error);

/* Of the calling process and what it will start: open files, sizes of files, no core dumps, which hold what it knew. Never
 * raises what is lower already. 0 or -errno. Async-signal-safe. */
int limits_set_process(const __u64 limits[LIMITS]);

/* What a cgroup has used until now; what its kernel does not tell is UINT64_MAX. */
struct usage {
	__u64 cpu_us;
	__u64 memory_peak;
	__u64 processes_peak;
	__u64 memory_kills; /* processes that the limit of memory ended */
	__u64 forks_refused;
};
void usage_read(const char *cgroup, struct usage *ret);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What /proc still says of the process an event is about, and of those it came from. */
#ifndef DAEMON_SUBJECT_H
#define DAEMON_SUBJECT_H

#include <limits.h>
#include "audit/event.h"

#define SUBJECT_MAX_ANCESTRY 16

struct subject {
	char exe[PATH_MAX];
	char comms[SUBJECT_MAX_ANCESTRY][16];
	struct event_process ancestry[SUBJECT_MAX_ANCESTRY];
	size_t nancestry;
};

/* Fills exe ("" when gone) and ancestry of the process that started at start_ns; nothing when the
 * pid is another process's by now. */
void subject_read(pid_t tgid, __u64 start_ns, struct subject *ret);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What /proc still says of the process an event is about, and of those it came from. */
#ifndef DAEMON_SUBJECT_H
#define DAEMON_SUBJECT_H

#include <limits.h>
#include "audit/event.h"

#define SUBJECT_MAX_ANCESTRY 16

struct subject {
	__u32 tgid; /* of whom: with its start, one process; with its execs, one program */
	__u64 start_ns, exec_seq;
	char exe[PATH_MAX];
	char comms[SUBJECT_MAX_ANCESTRY][16];
	struct event_process ancestry[SUBJECT_MAX_ANCESTRY];
	size_t nancestry;
};

/* Fills exe ("" when gone) and ancestry of the event's process; nothing of another one that has its
 * number by now. */
void subject_read(const struct bh_event *event, struct subject *ret);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What happens at the ways out of compartments, as records of the stream: kind "egress". Pure. What the relay tells has
 * names in it that confined programs made up; nothing of it is trusted.
 */
#ifndef AUDIT_EGRESS_H
#define AUDIT_EGRESS_H

#include "event.h"

/* Whose; zeroed: nobody's, but the relay's own. */
struct egress_of {
	__u32 compartment;
	const char *name; /* of the compartment; NULL: unknown */
};

/* Of an event of the relay's (egress/channel.h). NULL: it makes no sense, or out of memory. */
json_t *egress_event_record(const struct egress_of *of, const json_t *said, int64_t realtime_ns);
/* Of what the agent did or saw: "relay", "expired", ... with an outcome and, unless it is NULL, a reason. */
json_t *egress_record(const struct egress_of *of, const char *what, const char *outcome,
		      const char *reason, int64_t realtime_ns);

#endif

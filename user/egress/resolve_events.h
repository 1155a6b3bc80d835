/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The event loop that libunbound is given (unbound-event.h), over sd-event: its sockets and timers wait beside all
 * others, and it needs no thread. As libevent has it, for which it was written: an event that does not persist is over
 * when it comes; of one that does the timeout begins anew.
 */
#ifndef EGRESS_RESOLVE_EVENTS_H
#define EGRESS_RESOLVE_EVENTS_H

#include <systemd/sd-event.h>
#include "base/cleanup.h"

struct ub_event_base;

/* NULL: out of memory. It outlives the context that was made with it. */
struct ub_event_base *resolve_events_new(sd_event *loop);
void resolve_events_free(struct ub_event_base *events);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the agent is told unasked. Events may be lost, and are counted then; names that were given are not. */
#ifndef EGRESSD_REPORT_H
#define EGRESSD_REPORT_H

#include "egress/answer.h"
#include "egress/flow.h"
#include "egressd.h"
#include "relay.h"

/* Unless it was answered. */
void report_query(struct compartment *c, const struct answer *answer);
void report_connect(struct compartment *c, const char *name, __u16 port, enum relay_outcome outcome,
		    const char *reason);
void report_flow(struct compartment *c, const char *name, __u16 port, const char *address,
		 enum flow_outcome outcome, const struct flow_counts *counts, __u64 ms);
/* Names that got an address since the last time. */
void report_gave(struct compartment *c);
/* What was kept of one that ends. */
void report_rest(struct compartment *c);
/* There is room again: what could not be said before. */
void report_room(struct egressd *e);

#endif

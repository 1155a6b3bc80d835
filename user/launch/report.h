/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How a command ended, and what it used: for people, and for programs. The schema is in bulkhead(8), RUN REPORT. */
#ifndef LAUNCH_REPORT_H
#define LAUNCH_REPORT_H

#include <jansson.h>
#include <bulkhead/abi.h>
#include "launch/life.h"
#include "launch/limits.h"
#include "policy/policy.h"

struct run_report {
	const char *name; /* of the compartment */
	const struct policy *policy;
	const struct life *life; /* ended */
	const __u64 *limits;	 /* [LIMITS], as they were in force */
	struct usage usage;
	struct bh_tally tally;
	bool no_tally; /* it could not be had */
	time_t started;
};

/* One word: exit, signal, deadline, cancelled, memory, file-size, tripwire. */
const char *run_report_reason(const struct run_report *report);

/* Exit status, as a shell would say it; 124 for the deadline, as timeout(1) has it. */
int run_report_status(const struct run_report *report);

/* The whole of it; NULL: out of memory. */
json_t *run_report_json(const struct run_report *report);

/* "ended by its deadline of 2s", or NULL for what ended by itself. Returns buffer. */
#define RUN_REPORT_TEXT_SIZE 160
const char *run_report_text(const struct run_report *report, char buffer[RUN_REPORT_TEXT_SIZE]);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events of the kernel programs as records for programs (one JSON object a line) and lines for
 * people. Pure over bytes: what must be looked up (names, paths, processes) is filled in by the
 * caller. Nothing in an event is trusted.
 *
 * Records have a "kind": "violation" (from the kernel), "repeated" (of the violation "seq", which came again "repeated"
 * times), "lost" (loss.h), "control" (a change asked for), "egress" (egress.h). Field names are stable; new ones may be added. "reason" is the kernel's (hooks.h), but for
 * "denied": the kernel's "no-rule" where the rule that decided is known and is a deny rule;
 * "reason_text" is what the message says.
 */
#ifndef AUDIT_EVENT_H
#define AUDIT_EVENT_H

#include <stdint.h>
#include <jansson.h>
#include <bulkhead/abi.h>
#include "policy/automaton.h"

struct event_process {
	__u32 pid;
	const char *comm;
};

/* What the kernel does not say. Strings are bytes as found, NULL when unknown; all borrowed. */
struct event_context {
	const char *name;		      /* of the compartment */
	const char *path;		      /* the object's path as people write it */
	const struct rule *rule;	      /* that decided */
	const char *exe;		      /* of the subject */
	const struct event_process *ancestry; /* parent first */
	size_t nancestry;
	int64_t realtime_offset_ns; /* CLOCK_REALTIME less CLOCK_MONOTONIC */
};

/* 0, or -EBADMSG: too short, another ABI, or lengths that do not add up. */
int event_check(const struct bh_event *event, size_t size);
/* Bytes of the name in the event's tail (path, abstract socket, anonymous inode), not terminated;
 * 0 when it has none. Of a checked event. */
size_t event_name(const struct bh_event *event, const char **ret);
/* The record of a checked event; NULL when out of memory. */
json_t *event_record(const struct bh_event *event, const struct event_context *context);

/* ["read", "map-exec"], and "allow", "deny" or "quiet": as records have them. */
json_t *perms_record(__u32 perms);
const char *effect_name(enum rule_effect effect);

/* "2026-01-31T12:03:04.123456Z" of ns since the epoch. Buffer of RECORD_TIME_SIZE. */
#define RECORD_TIME_SIZE 48
char *record_time(int64_t realtime_ns, char *buffer);
/* One line for people, of a record of any kind; free it. NULL when out of memory. */
char *record_line(const json_t *record);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of `bulkhead egress check`: what is asked about, the answer, and how it is shown. */
#ifndef CLI_EGRESS_CHECK_H
#define CLI_EGRESS_CHECK_H

#include "cli.h"
#include "policy/policy.h"

/* --- egress_target.c --- */
struct target {
	char name[DESTINATION_NAME_SIZE]; /* as destination_name has it */
	__u16 port;
};

/*
 *	NAME:PORT
 *	https://NAME[:PORT]...	443; what begins with /, ? or # is not read
 *	http://NAME[:PORT]...	80
 *
 * 0, or -EINVAL with the place and a reason, which has no byte of the text: a URL may hold secrets.
 */
int target_parse(const char *text, struct target *ret, struct error *error);

/* --- egress_check.c --- */
struct egress_question {
	const struct policy *policy;
	const struct target *target;
	const char *config; /* the operator's file */
};

/* The answer, as documented in bulkhead(8). Connects where that is listed. 0 or -ENOMEM. */
int egress_ask(const struct egress_question *question, json_t **ret, struct error *error);
bool egress_is_reached(const json_t *answer);

/* --- egress_show.c --- */
void egress_show(const json_t *answer);

#endif

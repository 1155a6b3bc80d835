/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The environment of a command that is started: built, not filtered. What is made here, what the policy passes of the
 * caller's, and what the policy sets, in this order; the later counts. Never there, whatever a policy says: what secret.h
 * knows by its name or its form, and any value that has in it what the caller holds under a credential's name.
 */
#ifndef LAUNCH_ENVIRONMENT_H
#define LAUNCH_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include "policy/policy.h"

enum environment_source { ENVIRONMENT_MADE, ENVIRONMENT_PASSED, ENVIRONMENT_SET, ENVIRONMENT_LEFT };

struct environment_entry {
	char *text; /* NAME=VALUE; of what is left out NAME alone */
	enum environment_source source;
	const char *why; /* it is left out */
};

struct environment {
	struct environment_entry *entries; /* by name; each name once */
	size_t n;
	char **strings; /* those that the command gets, as execve(2) has them; they point into entries */
};

/* From the caller's, as environ has it. 0 or -ENOMEM. */
int environment_build(const struct policy *policy, char *const *caller, struct environment *ret);
void environment_done(struct environment *environment);

#endif

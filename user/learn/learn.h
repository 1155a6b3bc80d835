/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a run in audit mode to a policy that lets the same run through and little else. What was used
 * is allowed, by name where that is possible; what is a credential, and what no rule can allow, is
 * left to a person. The text that comes out was loaded, and every use asked of it, before it is given.
 */
#ifndef LEARN_LEARN_H
#define LEARN_LEARN_H

#include "policy/policy.h"
#include "run.h"

/* Where credentials are listed, and nowhere else. */
#define LEARN_CREDENTIALS "deny/credentials"

struct learn_request {
	const char *policy; /* that the run was under */
	const struct policy_options *options;
	const char *compartment; /* name or id; NULL: the policy's name */
};

struct learned {
	char *text;   /* of the proposal; the caller's to free */
	bool lacking; /* something that the run needs may be missing: mode stays audit */
	size_t rows, used,
		allowed; /* added rules, files of the run, files that the rules allow now */
	size_t lost;
	size_t refused; /* credentials that were not proposed */
};

/*
 * 0 and *ret. -EINVAL and the like as policy_load; as events_choose; -EBADE when the proposal does not
 * hold what it promises, which is an error of this program.
 */
int learn(const struct learn_request *request, const struct events *events, struct learned *ret,
	  struct error *error);

#endif

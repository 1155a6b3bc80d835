/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shell authority: what a policy lets run that runs what it is given. Pure. */
#ifndef POLICY_AUTHORITY_H
#define POLICY_AUTHORITY_H

#include "interpreters.h"
#include "policy.h"

#define AUTHORITY_WHAT_SIZE 96

/* One name, or one branch of a glob that can come to stand for such programs. */
struct authority {
	const struct rule *rule;    /* that allows it: the policy's */
	char *path;		    /* a file's name; of a pattern the branch, escapes and all */
	enum interpreter_kind kind; /* of a pattern the most that it can be */
	bool is_pattern;
	char what[AUTHORITY_WHAT_SIZE]; /* how it runs others; of a pattern which ones it can be */
};

struct authorities {
	struct authority *items; /* in order of the rules; what one line says twice is there once */
	size_t n, size;
};

/*
 * Nothing that may run is left out; what a deny takes away in part only, or past BH_MAX_REVIEW looks, is there. A
 * name is judged as it is and as it was before links were followed. 0 or -ENOMEM; the policy must outlive *ret.
 */
int authorities_find(const struct policy *policy, struct authorities *ret);
void authorities_done(struct authorities *authorities);

#endif

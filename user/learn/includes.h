/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shipped includes in place of many rules: one is taken when it stays within the bound that rules
 * have (ROWS_FACTOR), and told of when it does not. */
#ifndef LEARN_INCLUDES_H
#define LEARN_INCLUDES_H

#include "policy/policy.h"
#include "rows.h"

struct include {
	char *name; /* "base/loader" */
	struct policy *rules;
	size_t covers; /* uses */
	size_t allows; /* files that exist now; more than the bound: "or more" */
	bool taken;
};

struct includes {
	struct include *items;
	size_t n, size;
};

/* What rules say of a path: allowed less denied, and denied. */
uint32_t rules_mask(const struct rule *rules, size_t n, const char *path, uint32_t *ret_denied);

/*
 * Looks at each base/ file that `base` does not have, in order of names; wanted[i] becomes false for
 * what a taken one covers. Only those that cover something are kept. 0, -ENOMEM, or an error of the
 * directory. The caller calls includes_done in every case.
 */
int includes_choose(const struct policy *base, const struct policy_options *options,
		    const struct run *run, bool *wanted, struct includes *ret, struct error *error);
void includes_done(struct includes *includes);

#endif

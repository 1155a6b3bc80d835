/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Variables of a policy: ${NAME} in globs. A value is one name: an absolute path, written as in a
 * glob but without wildcards, or a plain word. Internal to the policy layer.
 */
#ifndef POLICY_VARS_H
#define POLICY_VARS_H

#include <stdbool.h>
#include <stddef.h>
#include "base/log.h"

struct var {
	char *name, *value;
	bool fixed; /* set by the caller: the file's value is a default */
	bool used;
};

struct vars {
	struct var *items;
	size_t n, size;
};

void vars_done(struct vars *vars);
/* Sets from "NAME=value". 0, -EINVAL with a reason, -ENOMEM. A value set twice by the same side is
 * refused; one fixed before stays. */
int vars_set(struct vars *vars, const char *assignment, bool fixed, struct error *error);
/* The value of a variable, as a glob would have it; NULL: there is none of that name. */
const char *vars_value(struct vars *vars, const char *name);
/* *ret: `text` with every ${NAME} replaced (malloc'ed). 0, -EINVAL with a reason, -ENOMEM. */
int vars_expand(struct vars *vars, const char *text, char **ret, struct error *error);
/* A variable the caller set and nothing asked for, or NULL. */
const char *vars_unused(const struct vars *vars);

#endif

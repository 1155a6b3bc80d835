/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Environment variables that nothing that is confined gets: credentials, by name and by what they look like; what changes
 * which code a loader or an interpreter runs; the way to somebody else's daemon. */
#ifndef POLICY_SECRET_H
#define POLICY_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* Why a variable of that name is not passed, in a few words; NULL: its name is no reason. */
const char *secret_name(const char *name);

/* May a policy itself say what it is? What leads out of the compartment its rules decide of. */
bool secret_may_be_set(const char *name);

/* Does the name say that it holds a credential? */
bool secret_is_credential(const char *name);

/* What a value has in it that is a credential by its form: "a GitHub token"; NULL: nothing that is known. */
const char *secret_value(const char *value);

/* "NAME", as POSIX has it: letters, digits and _, not beginning with a digit. */
bool secret_is_name(const char *name, size_t length);

#endif

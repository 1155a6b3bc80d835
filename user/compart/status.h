/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compartments as records for programs: what the kernel and their own records say now. */
#ifndef COMPART_STATUS_H
#define COMPART_STATUS_H

#include <jansson.h>
#include "compart.h"

/* {"id", "name", "state", "mode", "generation", "policy", "vars", "include_dir", "digest", "cgroup", "unit", "processes",
 * "tally": {"refused", "noted", "reported", "quiet", "folded", "lost", "unsure", "strayed", "hooks"},
 * "shell_authority": null or {"programs": [{"path", "pattern", "kind", "what", "file", "line"}], "more"}};
 * NULL when out of memory. */
json_t *status_record(struct kern *kern, const struct compartment *c);

/* What status says of a policy's shell authority, in BH_MAX_RECORD_AUTHORITY bytes: shells first, each path once.
 * NULL when memory is short. */
json_t *authority_record(const struct policy *policy);

/* Every binding of a unit that is recorded (unit.c): [{"unit", "policy"}]; NULL when memory is short. */
json_t *unit_bindings(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compartments as records for programs: what the kernel and their own records say now. */
#ifndef COMPART_STATUS_H
#define COMPART_STATUS_H

#include <jansson.h>
#include "compart.h"

/* {"id", "name", "state", "mode", "generation", "policy", "vars", "include_dir", "digest", "cgroup", "unit", "processes",
 * "tally": {"refused", "reported", "quiet", "lost", "unsure"}}; NULL when out of memory. */
json_t *status_record(struct kern *kern, const struct compartment *c);

/* Every binding of a unit that is recorded (unit.c): [{"unit", "policy"}]; NULL when memory is short. */
json_t *unit_bindings(void);

#endif

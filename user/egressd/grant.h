/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The second yes: for which of the names that a compartment's policy lists it may be used now. Zeroed: for none. */
#ifndef EGRESSD_GRANT_H
#define EGRESSD_GRANT_H

#include "base/log.h"
#include "policy/destination.h"

struct grant {
	bool given;
	struct destination *only; /* without ports; NULL: all that is listed */
	size_t n;
};

void grant_done(struct grant *grant);
bool grant_covers(const struct grant *grant, const char *name);

/* "api.example.com" or "*.example.com". 0, or -EINVAL with a reason. */
int grant_read(const char *text, struct destination *ret, struct error *error);

#endif

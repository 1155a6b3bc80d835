/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Policy files as bytes. Internal to the policy layer. */
#ifndef POLICY_SOURCE_H
#define POLICY_SOURCE_H

#include <stddef.h>
#include <sys/types.h>
#include "base/log.h"

struct source {
	char *text; /* NUL behind it, may have more inside */
	size_t length;
	dev_t dev; /* which file it is, whatever it was called */
	ino_t ino;
};

/*
 * Reads a whole file. -ENOENT or another errno of open(2); -EINVAL: not a regular file, larger than
 * BH_MAX_POLICY_BYTES, or, for root, one that others than root may change or replace. *ret on
 * success only.
 */
int source_read(const char *path, struct source *ret, struct error *error);
void source_done(struct source *source);

#endif

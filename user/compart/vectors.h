/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What this version does not close, said wherever something is attached or examined. A row leaves
 * the table in the commit that closes it.
 */
#ifndef COMPART_VECTORS_H
#define COMPART_VECTORS_H

#include <stddef.h>
#include <jansson.h>

struct vector {
	const char *name;
	const char *open;    /* what a confined program can still do */
	const char *instead; /* what limits it meanwhile */
};

extern const struct vector open_vectors[];
extern const size_t nopen_vectors;

/* [{"name", "open", "instead"}]; NULL when out of memory. */
json_t *vectors_record(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is enforced on this host, hook by hook, as asked from the kernel and proved by the canary.
 */
#ifndef COMPART_DOCTOR_H
#define COMPART_DOCTOR_H

#include <jansson.h>
#include "compart.h"

/* "verdict" of a report, and the exit status of `bulkhead doctor`. */
enum doctor_verdict {
	DOCTOR_PROVED,	/* every hook of this kernel refused and counted */
	DOCTOR_MISSING, /* something is not enforced, or not proved */
	DOCTOR_UNKNOWN, /* it cannot be told, for want of privilege */
	DOCTOR_UNABLE,	/* this host cannot enforce at all */
};
const char *doctor_verdict_name(enum doctor_verdict verdict);

/*
 * {"kernel", "lsm", "needs": [...], "programs": {...}, "hooks": [...], "vectors": [...],
 * "verdict"}. kern NULL: the program set is not there, why_not says why; unable when that is for
 * good. Without privilege and without a set the verdict is "unknown", unless the host cannot enforce
 * whoever asks. "programs" has "loaded" (null: it cannot be told) and "loaded_before": a caller who
 * loaded the set only to ask sets it to false. Runs the canary, under kern_lock. NULL when out of memory.
 */
json_t *doctor_examine(struct kern *kern, const char *why_not, bool unable);

#endif

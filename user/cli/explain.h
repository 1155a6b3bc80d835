/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of `bulkhead explain`: an inquiry's answer, an event to ask about, and how it is shown. */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

#include "cli.h"
#include "policy/policy.h"

/* 0 allowed, 1 refused; these are worse than a refusal, and no program may take them for one. */
#define EXPLAIN_CANNOT 2    /* not asked well, or not to be found out */
#define EXPLAIN_INTERNAL 70 /* the verdict and the rules contradict each other */

struct inquiry {
	const struct policy *policy;
	const char *path;
	__u32 perms;
	bool literal;	    /* the path is where it stands: no link is followed */
	const char *cgroup; /* whose members' view it is mapped by; NULL: as written */
};

/* --- explain.c --- */
/* The answer, as documented in bulkhead(8). -EBADE: an internal error (policy_answer). */
int inquire(const struct inquiry *inquiry, json_t **ret, struct error *error);
/* Adds a sentence to the answer's "notes". */
void explain_note(json_t *answer, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool explain_is_allowed(const json_t *answer);

/* --- explain_event.c --- */
/* The newest violation of this number in `files` (oldest first; one that is missing is empty), of
 * this compartment (name or id; NULL: of the only one that has it). `compartments` as status lists
 * them, or NULL: of several, those that are attached are meant. */
int event_find(const char *const *files, const char *seq, const char *compartment,
	       const json_t *compartments, json_t **ret, struct error *error);
/* Explains an event. policy_path NULL: the policy that its compartment is under now. */
int explain_event(const struct arguments *arguments, json_t **ret, struct error *error);
/* The directory of a cgroup given as that, or as a compartment's or unit's name. */
int cgroup_named(const char *text, char **ret, struct error *error);

/* --- explain_show.c --- */
void explain_show(const json_t *answer);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What rules deny of files' contents, for files with several names. Internal to the policy layer, but for
 * policy_denials. */
#ifndef POLICY_LINKS_H
#define POLICY_LINKS_H

#include "automaton.h"

/* One branch of a deny's or tripwire's glob. */
struct denial {
	/* The file's whole name, or the directory in front of the first wildcard. "@name" is none. */
	const char *path;
	bool is_name;
	__u32 perms; /* of BH_PERM_CONTENTS, not 0 */
};

/* Calls `take` for each, until one answers other than 0: that is returned. -ENOMEM. */
typedef int (*denial_fn)(const struct denial *denial, void *context);
int policy_denials(const struct rule *rules, size_t nrules, denial_fn take, void *context);

/* Fills patterns and literals of the starts, which are in order of their numbers. 0 or -ENOMEM. */
int links_fill(const struct rule *rules, size_t nrules, const struct mount_view *mounts,
	       size_t nmounts, struct automaton_start *starts, size_t nstarts);

#endif

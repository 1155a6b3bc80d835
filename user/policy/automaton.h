/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rules and mounts -> one minimal byte automaton, as the kernel programs read it (abi.h: struct
 * bh_policy and the table of words). Pure: no I/O.
 *
 * A file's path is where it stands on its filesystem (superblock and dentry chain), so for each
 * mount the rules are taken relative to the mount point and put under the mount's root, and each
 * superblock has a start state of its own. A file with several names (bind mounts) is allowed if
 * one of its names is allowed and none is denied.
 */
#ifndef POLICY_AUTOMATON_H
#define POLICY_AUTOMATON_H

#include <stdbool.h>
#include <stddef.h>
#include <bulkhead/abi.h>
#include "base/log.h"

enum rule_effect { RULE_ALLOW, RULE_DENY, RULE_QUIET, RULE_AUDIT, RULE_TRIPWIRE, RULE_EFFECTS };

/* Where a rule was written: file name, line and column from 1. Strings belong to the policy. */
struct place {
	const char *file;
	unsigned int line, column;
};

/* One glob and what it says. Tripwire and deny win over allow; quiet refusals are counted, never
 * reported; audit reports what is allowed, and allows nothing. */
struct rule {
	enum rule_effect effect;
	__u32 perms; /* BH_PERM_*, BH_RULE_WRITTEN_INSIDE */
	bool links;  /* of an allow: older hard links too */
	/* As written, variables put in and links at its head followed: absolute, or "@name" for an
	 * abstract unix socket. Braces stay: it is one rule. */
	char *glob;
	char *written; /* before links at its head were followed; NULL when that is the same */
	struct place place;
};

/* How what stands at a name comes to run, and how it comes to be there. */
#define RIGHTS_TO_RUN (BH_PERM_EXEC | BH_PERM_INTERP | BH_PERM_MAP_EXEC | BH_PERM_JIT)
#define RIGHTS_TO_CHANGE (BH_PERM_WRITE | BH_PERM_APPEND | BH_PERM_CREATE)

/*
 * Of what rules allow of a name, none denying it: the rights that there are. What may have been written inside
 * does not run, unless a rule says so. Told by the rules: a mark on the file would go with its inode, when
 * memory runs short and at each boot.
 */
static inline __u32 rights_in_force(__u32 allow)
{
	if (allow & RIGHTS_TO_CHANGE && !(allow & BH_RULE_WRITTEN_INSIDE))
		allow &= ~(__u32)RIGHTS_TO_RUN;
	return allow & BH_PERM_ALL;
}

/* A mount as a member of the compartment sees it: what stands at `root` on superblock `sbid` is
 * seen at `point`. Both absolute, no trailing slash but for "/". */
struct mount_view {
	__u32 sbid;
	const char *root;
	const char *point;
};

struct automaton_start {
	__u32 sbid;
	struct bh_start start;
};

struct automaton {
	struct bh_policy head;		/* flags and caps are the caller's */
	__u32 *words;			/* head.nwords */
	struct automaton_start *starts; /* one a superblock of the view */
	size_t nstarts;
};

/*
 * Fills *ret on success (free with automaton_done); leaves it alone on failure.
 * start.self is filled for every superblock that has a mount whose root is "/" and whose point is
 * "/proc": the state after "/proc/self".
 * start.patterns and start.literals of every superblock: what denies and tripwires whose heads could
 * lead into one of its mounts take.
 * -E2BIG when the table would exceed BH_MAX_TABLE_WORDS (error names the rules), -EINVAL on a glob
 * that glob_check would refuse, -ENOMEM.
 */
int automaton_compile(const struct rule *rules, size_t nrules, const struct mount_view *mounts,
		      size_t nmounts, struct automaton *ret, struct error *error);
void automaton_done(struct automaton *automaton);

/* The kernel's decision, in user space: walks `path` (absolute, on superblock sbid; sbid 0 walks
 * from head.start, that is a path as people write it). 0, or -ENOENT for an unknown superblock. */
int automaton_walk(const struct automaton *automaton, __u32 sbid, const char *path, size_t length,
		   struct bh_masks *ret);

/* Is there a name that may be appended to and not written? (Who may write may append.) */
bool automaton_appends(const struct automaton *automaton);

/* The matcher's last step: is every right that is asked for allowed? */
int automaton_allows(__u32 allow, __u32 asked);

/* 0, or -EINVAL with a reason and the offset in the glob. */
int glob_check(const char *glob, size_t *ret_offset, const char **ret_reason);
/* Does this one glob match this path? The reference the automaton is tested against, and what
 * names the deciding rule. */
int glob_match(const char *glob, const char *path, size_t length);

#endif

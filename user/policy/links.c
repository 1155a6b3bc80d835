// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "links.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "glob.h"

/* --- denials --- */

struct hearing {
	denial_fn take;
	void *context;
	__u32 perms;
};

/* Up to the last '/' in front of a wildcard: "/" stays. */
static void cut_to_directory(const char *glob, char *path)
{
	size_t length = glob_head(glob);

	while (length > 1 && glob[length] != '/')
		length--;
	glob_unescape(glob, length ? length : 1, path);
}

static int hear_branch(const struct glob_branch *branch, void *context)
{
	struct hearing *hearing = context;
	struct denial denial = {.is_name = glob_is_name(branch->text), .perms = hearing->perms};
	_cleanup_free_ char *path = malloc(strlen(branch->text) + 2);

	if (!path)
		return -ENOMEM;
	if (branch->text[0] != '/')
		return 0;
	if (denial.is_name)
		glob_name(branch->text, path);
	else
		cut_to_directory(branch->text, path);
	denial.path = path;
	return hearing->take(&denial, hearing->context);
}

int policy_denials(const struct rule *rules, size_t nrules, denial_fn take, void *context)
{
	struct hearing hearing = {.take = take, .context = context};
	int r = 0;

	for (size_t i = 0; r == 0 && i < nrules; i++) {
		if (rules[i].effect != RULE_DENY && rules[i].effect != RULE_TRIPWIRE)
			continue;
		hearing.perms = rules[i].perms & BH_PERM_CONTENTS;
		if (hearing.perms & BH_PERM_WRITE)
			hearing.perms |= BH_PERM_APPEND;
		if (hearing.perms)
			r = glob_expand(rules[i].glob, hear_branch, &hearing);
	}
	return r;
}

/* --- which superblocks they can concern --- */

/* Is `path` equal to `top` or below it? */
static bool is_below(const char *top, const char *path)
{
	size_t n = strcmp(top, "/") ? strlen(top) : 0;

	return !strncmp(top, path, n) && (!path[n] || path[n] == '/');
}

struct filling {
	const struct mount_view *mounts;
	size_t nmounts, looks;
	struct automaton_start *starts;
	size_t nstarts;
};

static int compare_start(const void *key, const void *item)
{
	__u32 sbid = *(const __u32 *)key, other = ((const struct automaton_start *)item)->sbid;

	return (sbid > other) - (sbid < other);
}

/* Can a file of this mount have a name that the denial means? */
static bool can_concern(const struct denial *denial, const struct mount_view *mount)
{
	if (is_below(mount->point, denial->path))
		return true;
	return !denial->is_name && is_below(denial->path, mount->point);
}

static int fill(const struct denial *denial, void *context)
{
	struct filling *f = context;

	for (size_t i = 0; i < f->nmounts; i++) {
		struct automaton_start *start;

		if (++f->looks <= BH_MAX_CONCERNS && !can_concern(denial, &f->mounts[i]))
			continue;
		start = bsearch(&f->mounts[i].sbid, f->starts, f->nstarts, sizeof(*f->starts),
				compare_start);
		if (!start)
			continue;
		if (denial->is_name)
			start->start.literals |= denial->perms;
		else
			start->start.patterns |= denial->perms;
	}
	return 0;
}

int links_fill(const struct rule *rules, size_t nrules, const struct mount_view *mounts,
	       size_t nmounts, struct automaton_start *starts, size_t nstarts)
{
	struct filling f = {mounts, nmounts, 0, starts, nstarts};

	return policy_denials(rules, nrules, fill, &f);
}

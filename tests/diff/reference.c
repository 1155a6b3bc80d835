// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The naive reference: one name after the other, one rule after the other. */
#include <stdio.h>
#include <string.h>
#include "answer.h"
#include "policy/glob.h"

struct verdict {
	__u32 says[RULE_EFFECTS];
	__u32 links; /* allowed by rules that mean older hard links too */
};

/* --- files with several names --- */

struct named {
	const char *path;
	bool is_named;
};

static int look_for_name(const struct glob_branch *branch, void *context)
{
	struct named *named = context;
	char name[TEXT_SIZE];

	if (!glob_is_name(branch->text))
		return 0;
	glob_name(branch->text, name);
	named->is_named |= !strcmp(name, named->path);
	return 0;
}

/* Does the rule name this file by its whole name? */
static bool names_it(const struct rule *rule, const char *path)
{
	struct named named = {.path = *path ? path : "/"};

	glob_expand(rule->glob, look_for_name, &named);
	return named.is_named;
}

struct concern {
	const char *point; /* a mount's */
	bool found;
};

/* Is every component of the shorter one in the longer one? */
static bool is_on_the_way(const char *shorter, const char *longer)
{
	size_t n = strcmp(shorter, "/") ? strlen(shorter) : 0;

	return strlen(longer) >= n && !memcmp(shorter, longer, n) &&
	       (longer[n] == '/' || !longer[n]);
}

/* A pattern is about files below the directory in front of its first wildcard. */
static int look_for_concern(const struct glob_branch *branch, void *context)
{
	struct concern *concern = context;
	const char *at, *slash = branch->text;
	char directory[TEXT_SIZE];

	if (branch->text[0] != '/' || glob_is_name(branch->text))
		return 0;
	for (at = branch->text; !strchr("*?[", *at); at += at[0] == '\\' ? 2 : 1) {
		if (*at == '/')
			slash = at;
	}
	glob_unescape(branch->text, (size_t)(slash - branch->text), directory);
	if (!directory[0])
		strcpy(directory, "/");
	concern->found |= is_on_the_way(directory, concern->point) ||
			  is_on_the_way(concern->point, directory);
	return 0;
}

static __u32 contents_of(__u32 perms)
{
	perms |= perms & BH_PERM_WRITE ? BH_PERM_APPEND : 0;
	return perms & ~(__u32)(BH_PERM_CREATE | BH_PERM_DELETE | BH_PERM_LINK);
}

/* What patterns take of files that can be seen through mounts of this superblock. */
static __u32 patterns_on(const struct world *world, __u32 sbid)
{
	__u32 patterns = 0;
	size_t i, j;

	for (i = 0; i < world->nrules; i++) {
		const struct rule *rule = &world->rules[i];

		if (rule->effect != RULE_DENY && rule->effect != RULE_TRIPWIRE)
			continue;
		for (j = 0; j < world->nmounts; j++) {
			struct concern concern = {.point = world->mounts[j].point};

			if (world->mounts[j].sbid != sbid)
				continue;
			glob_expand(rule->glob, look_for_concern, &concern);
			if (concern.found)
				patterns |= contents_of(rule->perms);
		}
	}
	return patterns;
}

/* --- rules --- */

/* What the rules say of one name. */
static void judge_name(const struct world *world, const char *path, struct verdict *verdict)
{
	size_t i, length = strlen(path);
	__u32 perms;

	for (i = 0; i < world->nrules; i++) {
		if (!glob_match(world->rules[i].glob, path, length))
			continue;
		perms = world->rules[i].perms;
		perms |= perms & BH_PERM_WRITE ? BH_PERM_APPEND : 0;
		verdict->says[world->rules[i].effect] |= perms;
		if (world->rules[i].effect == RULE_ALLOW &&
		    (world->rules[i].links || names_it(&world->rules[i], path)))
			verdict->links |= perms;
	}
}

/* The names a file has through the mounts of its superblock, judged one by one. False: no mount shows
 * the superblock. */
static bool judge_file(const struct world *world, __u32 sbid, const char *path,
		       struct verdict *verdict)
{
	char seen[2 * TEXT_SIZE];
	size_t i, length;
	bool shown = false;

	path = strcmp(path, "/") ? path : "";
	for (i = 0; i < world->nmounts; i++) {
		const struct mount_view *mount = &world->mounts[i];

		shown |= mount->sbid == sbid;
		length = strcmp(mount->root, "/") ? strlen(mount->root) : 0;
		if (mount->sbid != sbid || strncmp(path, mount->root, length) ||
		    (path[length] && path[length] != '/'))
			continue;
		snprintf(seen, sizeof(seen), "%s%s", strcmp(mount->point, "/") ? mount->point : "",
			 path + length);
		judge_name(world, seen, verdict);
	}
	return shown;
}

/* Tripwire, then deny, then allow; audit is of what is allowed, quiet of what is not. */
static struct bh_masks settle(const struct verdict *verdict)
{
	__u32 no = verdict->says[RULE_TRIPWIRE] | verdict->says[RULE_DENY];
	__u32 yes = verdict->says[RULE_ALLOW] & ~no;
	bool covers = yes & BH_PERM_DELETE && contents_of(no);
	bool links;

	/* What may be made or changed here may be of anybody's making. */
	if (!(yes & BH_RULE_WRITTEN_INSIDE) &&
	    yes & (BH_PERM_CREATE | BH_PERM_WRITE | BH_PERM_APPEND))
		yes &= ~(__u32)(BH_PERM_EXEC | BH_PERM_INTERP | BH_PERM_MAP_EXEC | BH_PERM_JIT);
	yes &= ~(__u32)BH_RULE_WRITTEN_INSIDE;
	links = contents_of(yes) && !(contents_of(yes) & ~verdict->links);

	return (struct bh_masks){
		.allow = yes | (links ? BH_PERM_LINKS : 0),
		.quiet = (verdict->says[RULE_QUIET] & ~yes & ~verdict->says[RULE_TRIPWIRE]) |
			 (covers ? BH_PERM_LINKS : 0),
		.audit = verdict->says[RULE_AUDIT] & yes,
		.tripwire = verdict->says[RULE_TRIPWIRE],
	};
}

/* What is not allowed is refused. */
void reference_answer(const struct world *world, const struct question *question,
		      struct answer *ret)
{
	struct verdict verdict = {0};
	__u32 missing;

	*ret = (struct answer){.refused = true};
	if (!question->sbid)
		judge_name(world, question->path.bytes, &verdict);
	else if (!judge_file(world, question->sbid, question->path.bytes, &verdict))
		ret->unknown = true;
	if (ret->unknown)
		return;
	ret->spoken = verdict.says[RULE_ALLOW] | verdict.says[RULE_DENY] |
		      verdict.says[RULE_QUIET] | verdict.says[RULE_TRIPWIRE];
	ret->masks = settle(&verdict);
	if (inode_has_names(question->inode)) {
		ret->hidden =
			ret->masks.allow & BH_PERM_LINKS ? 0 : patterns_on(world, question->sbid);
		ret->hidden |= ret->masks.quiet & BH_PERM_LINKS ? BH_PERM_DELETE : 0;
	}
	missing = question->asked & ~ret->masks.allow;
	ret->refused = missing || question->asked & ret->hidden;
	ret->tripped = question->asked & ret->masks.tripwire;
	ret->silent = missing && !ret->tripped && !(missing & ~ret->masks.quiet);
	ret->audited = !ret->refused && question->asked & ret->masks.audit;
}

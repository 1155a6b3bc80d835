// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The naive reference: one name after the other, one rule after the other. */
#include <stdio.h>
#include <string.h>
#include "answer.h"

struct verdict {
	__u32 says[RULE_EFFECTS];
};

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

	/* What may be made or changed here may be of anybody's making. */
	if (!(yes & BH_RULE_WRITTEN_INSIDE) &&
	    yes & (BH_PERM_CREATE | BH_PERM_WRITE | BH_PERM_APPEND))
		yes &= ~(__u32)(BH_PERM_EXEC | BH_PERM_INTERP | BH_PERM_MAP_EXEC | BH_PERM_JIT);
	yes &= ~(__u32)BH_RULE_WRITTEN_INSIDE;

	return (struct bh_masks){
		.allow = yes,
		.quiet = verdict->says[RULE_QUIET] & ~yes & ~verdict->says[RULE_TRIPWIRE],
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
	missing = question->asked & ~ret->masks.allow;
	ret->refused = missing;
	ret->tripped = question->asked & ret->masks.tripwire;
	ret->silent = missing && !ret->tripped && !(missing & ~ret->masks.quiet);
	ret->audited = !missing && question->asked & ret->masks.audit;
}

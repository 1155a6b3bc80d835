// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Symbolic links that rules lead through. Root's are followed, and a member may be root: where the rules let
 * one be made, whoever is inside would choose, for the next time the policy is loaded, what a rule speaks of.
 */
#include "load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "grow.h"

void links_note(const char *link, const char *target _unused_, void *data)
{
	struct loader *loader = data;
	char *path = loader->reading ? strdup(link) : NULL;

	if (!loader->reading)
		return;
	if (!path || grow(&loader->links, &loader->links_size, loader->nlinks + 1) < 0) {
		free(path);
		loader->links_lost = true;
		return;
	}
	loader->links[loader->nlinks++] = (struct met_link){path, *loader->reading};
}

static int check_link(struct loader *loader, const struct met_link *link)
{
	const struct rule *rule;
	bool allowed = false;

	rule = policy_explain(loader->policy, link->path, strlen(link->path), BH_PERM_CREATE,
			      &allowed);
	if (!allowed)
		return 0;
	return error_at(
		loader->error, &link->place,
		"%.200s is a symbolic link, and %s:%u lets members make one there: write the "
		"place it leads to",
		link->path, rule->place.file, rule->place.line);
}

int verify_links(struct loader *loader)
{
	int r = 0;

	if (loader->links_lost)
		return error_set(loader->error, ENOMEM, "no memory to check links");
	for (size_t i = 0; r == 0 && i < loader->nlinks; i++)
		r = check_link(loader, &loader->links[i]);
	return r;
}

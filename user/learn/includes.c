// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "includes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "files.h"
#include "policy/grow.h"

#define DIRECTORY "base"

DEFINE_CLEANUP(struct policy *, policy_free)

uint32_t rules_mask(const struct rule *rules, size_t n, const char *path, uint32_t *ret_denied)
{
	uint32_t says[RULE_EFFECTS] = {0}, denied;

	for (size_t i = 0; i < n; i++)
		if (glob_match(rules[i].glob, path, strlen(path)))
			says[rules[i].effect] |= rules[i].perms;
	denied = says[RULE_DENY] | says[RULE_TRIPWIRE];
	if (denied & BH_PERM_WRITE)
		denied |= BH_PERM_APPEND;
	if (ret_denied)
		*ret_denied = denied;
	return says[RULE_ALLOW] & ~denied;
}

static void include_done(struct include *include)
{
	free(include->name);
	policy_free(include->rules);
}

void includes_done(struct includes *includes)
{
	for (size_t i = 0; i < includes->n; i++)
		include_done(&includes->items[i]);
	free(includes->items);
}

static bool has_file(const struct policy *policy, const char *file)
{
	for (size_t i = 0; i < policy->nfiles; i++)
		if (!strcmp(policy->files[i], file))
			return true;
	return false;
}

/* Uses that it allows all of; false when it denies something that the run needs. */
static bool count_covered(struct include *include, const struct run *run, const bool *wanted)
{
	for (size_t i = 0; i < run->nuses; i++) {
		const struct use *use = &run->uses[i];
		uint32_t denied;

		if (!wanted[i])
			continue;
		if (!(use->perms & ~rules_mask(include->rules->rules, include->rules->nrules,
					       use->path, &denied)))
			include->covers++;
		if (use->perms & denied)
			return false;
	}
	return include->covers > 0;
}

static void count_allowed(struct include *include)
{
	size_t most = ROWS_FACTOR * include->covers;
	const struct policy *rules = include->rules;

	for (size_t i = 0; i < rules->nrules && include->allows <= most; i++)
		if (rules->rules[i].effect == RULE_ALLOW)
			include->allows += files_matching(rules->rules[i].glob, most);
	include->taken = include->allows <= most;
}

static void cross_off(const struct include *include, const struct run *run, bool *wanted)
{
	for (size_t i = 0; include->taken && i < run->nuses; i++)
		if (wanted[i] && !(run->uses[i].perms & ~rules_mask(include->rules->rules,
								    include->rules->nrules,
								    run->uses[i].path, NULL)))
			wanted[i] = false;
}

static int try_include(const char *name, const struct policy_options *options,
		       const struct run *run, bool *wanted, struct includes *ret)
{
	struct include include = {0};
	int r = policy_load_include(name, options, &include.rules, NULL);

	/* One that does not load here is of no use here. */
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	include.name = strdup(name);
	if (!include.name || grow(&ret->items, &ret->size, ret->n + 1) < 0) {
		include_done(&include);
		return -ENOMEM;
	}
	if (!count_covered(&include, run, wanted)) {
		include_done(&include);
		return 0;
	}
	count_allowed(&include);
	cross_off(&include, run, wanted);
	ret->items[ret->n++] = include;
	return 0;
}

static int is_include(const struct dirent *entry)
{
	const char *end = strrchr(entry->d_name, '.');

	return end && !strcmp(end, ".yaml");
}

/* One that the policy has already is no choice. */
static int try_file(const struct policy *base, const char *directory, const char *entry,
		    const struct policy_options *options, const struct run *run, bool *wanted,
		    struct includes *ret)
{
	_cleanup_free_ char *file = NULL, *name = NULL;
	int stem = (int)(strlen(entry) - strlen(".yaml"));

	if (asprintf(&file, "%s/%s", directory, entry) < 0 ||
	    asprintf(&name, DIRECTORY "/%.*s", stem, entry) < 0)
		return -ENOMEM;
	return has_file(base, file) ? 0 : try_include(name, options, run, wanted, ret);
}

int includes_choose(const struct policy *base, const struct policy_options *options,
		    const struct run *run, bool *wanted, struct includes *ret, struct error *error)
{
	_cleanup_free_ char *directory = NULL;
	struct dirent **entries = NULL;
	int r = 0, n;

	if (asprintf(&directory, "%s/" DIRECTORY, options->include_dir) < 0)
		return error_set(error, ENOMEM, "out of memory");
	n = scandir(directory, &entries, is_include, alphasort);
	if (n < 0)
		return error_set(error, errno, "%s: %s", directory, strerror(errno));
	for (int i = 0; i < n; i++) {
		if (r == 0)
			r = try_file(base, directory, entries[i]->d_name, options, run, wanted,
				     ret);
		free(entries[i]);
	}
	free(entries);
	return r < 0 ? error_set(error, -r, "out of memory") : 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* bulkhead check: needs no root and no agent. Tables are compiled too, for no mounts: which rules are
 * too much for one does not depend on those. */
#include <errno.h>
#include "audit/names.h"
#include "cli.h"
#include "compart/policies.h"
#include "policy/policy.h"

DEFINE_CLEANUP(struct policy *, policy_free)

static int check_one(const char *path, const struct policy_options *options, struct error *error)
{
	_cleanup_(cleanup_policy_free) struct policy *policy = NULL;
	_cleanup_(automaton_done) struct automaton automaton = {};
	int r = policy_load(path, options, &policy, error);

	if (r == 0)
		r = automaton_compile(policy->rules, policy->nrules, NULL, 0, &automaton, error);
	if (r)
		return r;
	printf("%s: policy %s, mode %s, %zu rule%s from %zu file%s, a table of %zu KiB\n", path,
	       policy->name, mode_name(policy->mode), policy->nrules, plural(policy->nrules),
	       policy->nfiles, plural(policy->nfiles),
	       (automaton.head.nwords * sizeof(*automaton.words) + 1023) / 1024);
	return 0;
}

int cmd_check(const struct arguments *arguments, struct error *error _unused_)
{
	const struct policy_options options = {.include_dir = policies_dir(),
					       .vars = arguments->vars};
	size_t bad = 0;

	for (size_t i = 0; i < arguments->nwords; i++) {
		struct error one = {0};

		if (check_one(arguments->words[i], &options, &one) == 0)
			continue;
		bad++;
		log_error("check: %s", one.text);
	}
	return bad ? 1 : 0;
}

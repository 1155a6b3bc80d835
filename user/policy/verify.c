// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "load.h"

#include <errno.h>
#include <string.h>
#include "base/cleanup.h"
#include "glob.h"

/* Does rule b, given a, change nothing? Said only where it is certain. */
static bool is_idle(const struct rule *a, const char *a_glob, const struct rule *b,
		    const char *b_glob, bool a_first)
{
	if (b->perms & ~a->perms)
		return false;
	if (a->effect == b->effect)
		return a_first && !strcmp(a_glob, b_glob);
	return a->effect == RULE_DENY && b->effect == RULE_ALLOW && glob_covers(a_glob, b_glob);
}

int verify_rules(struct loader *loader, const struct unit *unit)
{
	const struct rule *rules = loader->policy->rules;
	size_t i, j;

	for (j = unit->first_rule; j < loader->policy->nrules; j++) {
		for (i = unit->first_rule; i < loader->policy->nrules; i++) {
			if (i == j || !is_idle(&rules[i], loader->written[i], &rules[j],
					       loader->written[j], i < j))
				continue;
			return error_at(
				loader->error, &rules[j].place,
				"%s says nothing: line %u %s %s, and that stands: remove one",
				loader->written[j], rules[i].place.line,
				rules[i].effect == RULE_DENY ? "denies" : "already says so of",
				loader->written[i]);
		}
	}
	return 0;
}

static int fail_test(struct loader *loader, const struct place *place, const char *right,
		     const char *path, const struct rule *rule, bool allowed)
{
	if (!rule)
		return error_at(loader->error, place,
				"test failed: %s %s is refused: no rule allows it", right, path);
	return error_at(loader->error, place, "test failed: %s %s is %s: %s:%u:%u: %s", right, path,
			allowed ? "allowed" : "refused", rule->place.file, rule->place.line,
			rule->place.column, rule->glob);
}

static int run_probe(struct loader *loader, const struct place *place, unsigned int bit,
		     const char *text, bool expected)
{
	_cleanup_free_ char *path = NULL;
	const struct rule *rule;
	char right[32];
	bool allowed;
	int r = rules_read_glob(loader, place, text, &path, NULL);

	if (r < 0)
		return r;
	if (path[glob_head(path)])
		return error_at(loader->error, place,
				"%s: a test asks about one path, without wildcards", path);
	glob_unescape(path, strlen(path), path);
	rule = policy_explain(loader->policy, path, strlen(path), 1u << bit, &allowed);
	if (allowed == expected)
		return 0;
	return fail_test(loader, place, perms_to_text(1u << bit, right, sizeof(right)), path, rule,
			 allowed);
}

static int run_probes(struct loader *loader, const struct unit *unit, unsigned int i,
		      const char *expectation, const struct text_probe *probe)
{
	const struct outline_entry *entry;
	unsigned int bit;
	char right[32];
	int r = 0;

	for (bit = 0; probe && r == 0 && bit < TEXT_RIGHTS; bit++) {
		if (!probe->path[bit])
			continue;
		entry = outline_find(&unit->outline, "tests[%u].%s.%s", i, expectation,
				     perms_to_text(1u << bit, right, sizeof(right)));
		r = run_probe(loader, &entry->place, bit, probe->path[bit],
			      !strcmp(expectation, "allowed"));
	}
	return r;
}

int verify_tests(struct loader *loader, const struct unit *unit)
{
	unsigned int i;
	int r = 0;

	for (i = 0; r == 0 && i < unit->text->tests_count; i++) {
		r = run_probes(loader, unit, i, "allowed", unit->text->tests[i].allowed);
		if (r == 0)
			r = run_probes(loader, unit, i, "refused", unit->text->tests[i].refused);
	}
	return r;
}

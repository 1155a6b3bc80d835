// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Rules that let run what other rules let be written inside: they do nothing (rights_in_force), and who wrote
 * them is told. Seen where one rule covers another; what a rule covers in part is not looked at.
 */
#include "load.h"

#include <errno.h>
#include "base/cleanup.h"
#include "glob.h"
#include "nfa.h"

/* Rules by what they say of writing. */
struct writing {
	struct loader *loader;
	const struct rule *rules;
	struct nodes allow, deny,
		lift; /* numbers of rules; lift: those with written-inside: true */
	size_t looks;
};

static void writing_done(struct writing *w)
{
	nodes_done(&w->allow);
	nodes_done(&w->deny);
	nodes_done(&w->lift);
}

static int sort_rule(struct writing *w, __u32 i)
{
	const struct rule *rule = &w->rules[i];

	if (rule->perms & BH_RULE_WRITTEN_INSIDE && nodes_push(&w->lift, i) < 0)
		return -ENOMEM;
	if (!(rule->perms & RIGHTS_TO_CHANGE))
		return 0;
	if (rule->effect == RULE_ALLOW)
		return nodes_push(&w->allow, i);
	return rule->effect == RULE_DENY || rule->effect == RULE_TRIPWIRE ? nodes_push(&w->deny, i)
									  : 0;
}

static bool covers(struct writing *w, const struct rule *wide, const struct rule *narrow)
{
	if (wide == narrow)
		return true;
	if (!glob_heads_meet(wide->glob, narrow->glob))
		return false;
	w->looks += glob_branches(wide->glob) * glob_branches(narrow->glob);
	return w->looks <= BH_MAX_REVIEW && glob_covers(wide->glob, narrow->glob);
}

/* What the rules of the list that cover this one say together, and which is the first of them. */
static __u32 say_all(struct writing *w, const struct nodes *list, const struct rule *rule,
		     const struct rule **ret_first)
{
	__u32 says = 0;
	size_t i;

	*ret_first = NULL;
	for (i = 0; i < list->n; i++) {
		const struct rule *wide = &w->rules[list->items[i]];

		if (!covers(w, wide, rule))
			continue;
		says |= wide->perms;
		if (!*ret_first)
			*ret_first = wide;
	}
	return says;
}

/* Is it there to let programs run? One that also lets read, or map what it lets read, says something yet. */
static bool is_of_programs(const struct rule *rule)
{
	return rule->effect == RULE_ALLOW &&
	       (rule->perms & BH_PERM_EXEC || !(rule->perms & ~(__u32)RIGHTS_TO_RUN));
}

static int check_rule(struct writing *w, const struct rule *rule)
{
	const struct rule *writer, *other;
	__u32 changes;

	if (!is_of_programs(rule))
		return 0;
	changes = say_all(w, &w->allow, rule, &writer) & RIGHTS_TO_CHANGE;
	if (changes)
		changes &= ~say_all(w, &w->deny, rule, &other);
	if (!changes || say_all(w, &w->lift, rule, &other))
		return 0;
	return error_at(w->loader->error, &rule->place,
			"%.200s may be written inside, by %s:%u, and what may have been does not "
			"run: if it shall, write {on: [...], written-inside: true} under exec",
			rule->glob, writer->place.file, writer->place.line);
}

int verify_written(struct loader *loader)
{
	_cleanup_(writing_done) struct writing w = {
		.loader = loader,
		.rules = loader->policy->rules,
	};
	size_t i, n = loader->policy->nrules;
	int r = 0;

	for (i = 0; i < n; i++) {
		if (sort_rule(&w, (__u32)i) < 0)
			return error_set(loader->error, ENOMEM, "no memory to check rules");
	}
	for (i = 0; r == 0 && i < n; i++)
		r = check_rule(&w, &w.rules[i]);
	return r;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "authority.h"

#include <string.h>
#include "glob.h"
#include "grow.h"

/* Names that are told of a pattern which can be several. */
#define NAMED 3

struct search {
	const struct policy *policy;
	const struct rule *rule; /* the present one */
	struct authorities *ret;
	size_t looks;
};

/* What a branch can be. */
struct found {
	const struct interpreter *first[NAMED];
	enum interpreter_kind kind;
	size_t n, possible; /* possible: rows that some right of the rule's is enough for */
};

static void take_row(struct found *found, const struct interpreter *row)
{
	if (!found->n || row->kind < found->kind)
		found->kind = row->kind;
	if (found->n < NAMED)
		found->first[found->n] = row;
	found->n++;
}

static const char *last_of(const char *branch)
{
	return strrchr(branch, '/') + 1;
}

/* --- what denies leave --- */

/* Looking at each rule once more: past the bound it is taken to be left. */
static bool may_look(struct search *s)
{
	s->looks += s->policy->nrules;
	return s->looks <= BH_MAX_REVIEW;
}

/* Does one of the rights stand, of this very file? */
static bool name_is_left(struct search *s, const char *name, __u32 rights)
{
	bool allowed = !may_look(s);

	for (__u32 right = 1; !allowed && right && right <= rights; right <<= 1)
		if (rights & right)
			policy_explain(s->policy, name, strlen(name), right, &allowed);
	return allowed;
}

static bool is_covered(const struct rule *deny, const char *glob)
{
	return glob_heads_meet(deny->glob, glob) && glob_covers(deny->glob, glob);
}

/* `narrow`: the branch with the row's name at its end, or NULL. */
static bool pattern_is_left(struct search *s, const char *branch, const char *narrow, __u32 rights)
{
	if (!may_look(s))
		return true;
	for (size_t i = 0; rights && i < s->policy->nrules; i++) {
		const struct rule *rule = &s->policy->rules[i];

		if ((rule->effect == RULE_DENY || rule->effect == RULE_TRIPWIRE) &&
		    rule->perms & rights &&
		    (is_covered(rule, branch) || (narrow && is_covered(rule, narrow))))
			rights &= ~rule->perms;
	}
	return rights;
}

/* D/ ** covers D itself, which then is no name below it. */
static bool is_top_too(const struct interpreter *row, const char *branch, size_t length)
{
	_cleanup_free_ char *top = strndup(branch, length);

	return !top || (*top && interpreter_meets(row, last_of(top)));
}

/* The names of the row that the branch matches, as a glob: these or more. NULL when there is none, or no memory. */
static char *narrow_to(const struct interpreter *row, const char *branch)
{
	size_t head = (size_t)(last_of(branch) - branch);
	bool deep = !strcmp(branch + head, "**");
	char name[2 * 64], *glob = NULL;

	if (deep && is_top_too(row, branch, head - 1))
		return NULL;
	glob_escape(row->name, name);
	if (asprintf(&glob, "%.*s%s%s%s", (int)head, branch, deep ? "**/" : "", name,
		     row->suffix == SUFFIX_NONE ? "" : "*") < 0)
		return NULL;
	return glob;
}

static bool row_is_left(struct search *s, const struct interpreter *row, const char *branch,
			__u32 rights)
{
	_cleanup_free_ char *narrow = narrow_to(row, branch);

	if (!narrow || !glob_is_name(narrow))
		return pattern_is_left(s, branch, narrow, rights);
	glob_name(narrow, narrow);
	return name_is_left(s, narrow, rights);
}

/* --- saying it --- */

static void describe(const struct found *found, bool is_pattern, char what[AUTHORITY_WHAT_SIZE])
{
	size_t length = 0;

	if (!is_pattern || found->n == 1) {
		snprintf(what, AUTHORITY_WHAT_SIZE, "%s", found->first[0]->how);
		return;
	}
	if (found->n == found->possible) {
		snprintf(what, AUTHORITY_WHAT_SIZE, "any program");
		return;
	}
	for (size_t i = 0; i < found->n && i < NAMED && length < AUTHORITY_WHAT_SIZE; i++)
		length += (size_t)snprintf(what + length, AUTHORITY_WHAT_SIZE - length, "%s%s",
					   i ? ", " : "", found->first[i]->name);
	if (found->n > NAMED && length < AUTHORITY_WHAT_SIZE)
		snprintf(what + length, AUTHORITY_WHAT_SIZE - length, " and %zu more",
			 found->n - NAMED);
}

/* Two links of one line lead to one program, as sh and dash do. */
static bool is_told(const struct search *s, const char *path)
{
	for (size_t i = s->ret->n; i--;) {
		const struct authority *item = &s->ret->items[i];

		if (item->rule->place.file != s->rule->place.file ||
		    item->rule->place.line != s->rule->place.line)
			return false;
		if (!strcmp(item->path, path))
			return true;
	}
	return false;
}

static int tell(struct search *s, const struct found *found, const char *path, bool is_pattern)
{
	struct authority item = {.rule = s->rule, .kind = found->kind, .is_pattern = is_pattern};

	if (!found->n || is_told(s, path))
		return 0;
	if (grow(&s->ret->items, &s->ret->size, s->ret->n + 1) < 0)
		return -ENOMEM;
	item.path = strdup(path);
	if (!item.path)
		return -ENOMEM;
	describe(found, is_pattern, item.what);
	s->ret->items[s->ret->n++] = item;
	return 0;
}

/* --- rules --- */

static const struct interpreter *row_of(const char *branch, __u32 rights)
{
	for (size_t i = 0; i < ninterpreters; i++)
		if (interpreters[i].rights & rights &&
		    interpreter_meets(&interpreters[i], last_of(branch)))
			return &interpreters[i];
	return NULL;
}

/* `written`: the same before links were followed, or NULL. */
static int look_at_name(struct search *s, const char *branch, const char *written)
{
	const char *by = branch;
	const struct interpreter *row = row_of(branch, s->rule->perms);
	_cleanup_free_ char *name = malloc(strlen(branch) + 1), *told = NULL;
	struct found found = {0};

	if (!row && written) {
		row = row_of(written, s->rule->perms);
		by = written;
	}
	told = malloc(strlen(by) + 1);
	if (!name || !told)
		return -ENOMEM;
	if (!row)
		return 0;
	glob_name(branch, name);
	glob_name(by, told);
	if (name_is_left(s, name, row->rights & s->rule->perms))
		take_row(&found, row);
	return tell(s, &found, told, false);
}

static int look_at_pattern(struct search *s, const char *branch)
{
	struct found found = {0};

	for (size_t i = 0; i < ninterpreters; i++) {
		const struct interpreter *row = &interpreters[i];
		__u32 rights = row->rights & s->rule->perms;

		if (!rights)
			continue;
		found.possible++;
		if (interpreter_meets(row, last_of(branch)) && row_is_left(s, row, branch, rights))
			take_row(&found, row);
	}
	return tell(s, &found, branch, true);
}

static int look_at_branch(const struct glob_branch *branch, void *context)
{
	struct search *s = context;
	const char *written = s->rule->written;

	if (!glob_is_name(branch->text))
		return look_at_pattern(s, branch->text);
	return look_at_name(s, branch->text,
			    written && !written[glob_head(written)] ? written : NULL);
}

int authorities_find(const struct policy *policy, struct authorities *ret)
{
	_cleanup_(authorities_done) struct authorities found = {0};
	struct search s = {.policy = policy, .ret = &found};
	int r = 0;

	for (size_t i = 0; r == 0 && i < policy->nrules; i++) {
		s.rule = &policy->rules[i];
		if (s.rule->effect == RULE_ALLOW && s.rule->glob[0] == '/' &&
		    s.rule->perms & (BH_PERM_EXEC | BH_PERM_INTERP))
			r = glob_expand(s.rule->glob, look_at_branch, &s);
	}
	if (r < 0)
		return r;
	*ret = found;
	found = (struct authorities){0};
	return 0;
}

void authorities_done(struct authorities *authorities)
{
	for (size_t i = 0; i < authorities->n; i++)
		free(authorities->items[i].path);
	free(authorities->items);
	*authorities = (struct authorities){0};
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "load.h"

#include <errno.h>
#include <string.h>
#include "base/cleanup.h"
#include "glob.h"
#include "hash.h"
#include "nfa.h"

/* The rules of one file, to find those that say nothing in about one look each. */
struct review {
	struct loader *loader;
	const struct rule *rules;
	char *const *written;
	struct hash_index by_text; /* those that were looked at */
	struct nodes denies;
	size_t *branches; /* by rule: how many it has */
	size_t looks;
};

static void review_done(struct review *review)
{
	hash_done(&review->by_text);
	nodes_done(&review->denies);
	free(review->branches);
}

static bool says_no(const struct rule *rule)
{
	return rule->effect == RULE_DENY || rule->effect == RULE_TRIPWIRE;
}

static bool says_yes(const struct rule *rule)
{
	return rule->effect == RULE_ALLOW || rule->effect == RULE_AUDIT;
}

/* Says which rule stands in the way of rule j. */
static int refuse_idle(const struct review *review, size_t j, size_t i)
{
	static const char *const stands_by[RULE_EFFECTS] = {
		[RULE_DENY] = "denies",
		[RULE_TRIPWIRE] = "makes a tripwire of",
	};
	const struct rule *rule = &review->rules[i];
	bool repeats = rule->effect == review->rules[j].effect;

	return error_at(review->loader->error, &review->rules[j].place,
			"%.200s says nothing: line %u %s %.200s, and that stands: remove one",
			review->written[j], rule->place.line,
			repeats ? "already says so of" : stands_by[rule->effect],
			review->written[i]);
}

/* An earlier rule with the same glob and effect, and all the rights. */
static int check_repeated(struct review *review, __u32 j)
{
	const struct rule *rule = &review->rules[j];
	__u64 hash = hash_text(review->written[j]);
	size_t at;
	__u32 i;

	if (hash_reserve(&review->by_text) < 0)
		return error_set(review->loader->error, ENOMEM, "no memory to check rules");
	for (at = hash_begin(&review->by_text, hash); hash_next(&review->by_text, hash, &at, &i);) {
		if (review->rules[i].effect == rule->effect &&
		    !(rule->perms & ~review->rules[i].perms) &&
		    (review->rules[i].links || !rule->links) &&
		    !strcmp(review->written[i], review->written[j]))
			return refuse_idle(review, j, i);
	}
	hash_put(&review->by_text, hash, at, j);
	return 0;
}

static bool is_covered(struct review *review, __u32 i, size_t j)
{
	if (review->rules[j].perms & ~review->rules[i].perms ||
	    !glob_heads_meet(review->written[i], review->written[j]))
		return false;
	review->looks += review->branches[i] * review->branches[j];
	return review->looks <= BH_MAX_REVIEW &&
	       glob_covers(review->written[i], review->written[j]);
}

/* A deny or a tripwire, before or behind, that leaves nothing of an allow or an audit. */
static int check_denied(struct review *review, size_t j)
{
	size_t k;

	for (k = 0; says_yes(&review->rules[j]) && k < review->denies.n; k++) {
		if (is_covered(review, review->denies.items[k], j))
			return refuse_idle(review, j, review->denies.items[k]);
	}
	return 0;
}

/* Fills in what is known of each rule. */
static int review_init(struct review *review, size_t first, size_t n)
{
	size_t i;

	review->branches = calloc(n + 1, sizeof(*review->branches));
	if (!review->branches)
		return -ENOMEM;
	for (i = first; i < n; i++) {
		review->branches[i] = glob_branches(review->written[i]);
		if (says_no(&review->rules[i]) && nodes_push(&review->denies, (__u32)i) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Said only where it is certain. */
int verify_rules(struct loader *loader, const struct unit *unit)
{
	_cleanup_(review_done) struct review review = {
		.loader = loader,
		.rules = loader->policy->rules,
		.written = loader->written,
	};
	size_t i, n = loader->policy->nrules;
	int r = 0;

	if (review_init(&review, unit->first_rule, n) < 0)
		return error_set(loader->error, ENOMEM, "no memory to check rules");
	for (i = unit->first_rule; r == 0 && i < n; i++) {
		r = check_repeated(&review, (__u32)i);
		if (r == 0)
			r = check_denied(&review, i);
	}
	return r;
}

static int fail_test(struct loader *loader, const struct place *place, const char *right,
		     const char *path, const struct rule *rule, bool allowed)
{
	if (!rule)
		return error_at(loader->error, place,
				"test failed: %s %s is refused: no rule allows it", right, path);
	return error_at(
		loader->error, place, "test failed: %s %s is %s: %s%s:%u:%u: %s", right, path,
		allowed ? "allowed" : "refused",
		!allowed && rule->effect == RULE_ALLOW
			? "it may have been written inside, and written-inside: true is not on "
			: "",
		rule->place.file, rule->place.line, rule->place.column, rule->glob);
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

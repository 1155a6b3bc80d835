// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "automaton.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "dfa.h"
#include "grow.h"
#include "links.h"

#define BH_TABLE const struct automaton

static inline long bh_table_word(const struct automaton *table, __u32 index, __u32 *ret_word)
{
	if (index >= table->head.nwords)
		return -1;
	*ret_word = table->words[index];
	return 0;
}

#include <bulkhead/match.h>

/* Start sets: [0] the rules' own, then one a superblock, in order of sbid. */
struct views {
	struct automaton_start *starts;
	struct nodes *sets; /* nstarts + 1 */
	size_t nstarts, nsets;
};

static void views_done(struct views *views)
{
	size_t i;

	for (i = 0; i < views->nsets; i++)
		nodes_done(&views->sets[i]);
	free(views->sets);
	free(views->starts);
}

static int compare_mounts(const void *a, const void *b)
{
	const struct mount_view *x = *(const struct mount_view *const *)a;
	const struct mount_view *y = *(const struct mount_view *const *)b;

	return (x->sbid > y->sbid) - (x->sbid < y->sbid);
}

/* Pointers to the mounts, a superblock's together. */
static const struct mount_view **sort_mounts(const struct mount_view *mounts, size_t nmounts)
{
	const struct mount_view **sorted = calloc(nmounts + 1, sizeof(*sorted));
	size_t i;

	if (!sorted)
		return NULL;
	for (i = 0; i < nmounts; i++)
		sorted[i] = &mounts[i];
	if (nmounts)
		qsort(sorted, nmounts, sizeof(*sorted), compare_mounts);
	return sorted;
}

static void dedupe(struct nodes *set)
{
	size_t i, kept = 0;

	nodes_sort(set);
	for (i = 0; i < set->n; i++) {
		if (!kept || set->items[kept - 1] != set->items[i])
			set->items[kept++] = set->items[i];
	}
	set->n = kept;
}

static int collect_views(struct nfa *nfa, const struct mount_view *mounts, size_t nmounts,
			 struct views *views)
{
	_cleanup_free_ const struct mount_view **sorted = sort_mounts(mounts, nmounts);
	__u32 root = NFA_NO_ROOT;
	size_t i;

	views->starts = calloc(nmounts + 1, sizeof(*views->starts));
	views->sets = calloc(nmounts + 1, sizeof(*views->sets));
	if (!sorted || !views->starts || !views->sets)
		return -ENOMEM;
	views->nsets = nmounts + 1;
	if (nfa_start(nfa, &views->sets[0]) < 0)
		return -ENOMEM;
	for (i = 0; i < nmounts; i++) {
		if (i == 0 || sorted[i]->sbid != sorted[i - 1]->sbid) {
			views->starts[views->nstarts++].sbid = sorted[i]->sbid;
			root = NFA_NO_ROOT;
		}
		if (nfa_add_mount(nfa, sorted[i], &root, &views->sets[views->nstarts]) < 0)
			return -ENOMEM;
	}
	for (i = 1; i <= views->nstarts; i++)
		dedupe(&views->sets[i]);
	return 0;
}

static __u32 walk(const struct automaton *automaton, __u32 state, const char *path, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++)
		bh_match_byte(automaton, &automaton->head, &state, (__u8)path[i]);
	return state;
}

static struct automaton_start *find_start(const struct automaton *automaton, __u32 sbid)
{
	size_t low = 0, high = automaton->nstarts, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (automaton->starts[middle].sbid < sbid)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == automaton->nstarts || automaton->starts[low].sbid != sbid)
		return NULL;
	return &automaton->starts[low];
}

/* The state behind /proc/self, on every superblock seen whole at /proc. */
static void fill_self(struct automaton *automaton, const struct mount_view *mounts, size_t nmounts)
{
	size_t i;

	for (i = 0; i < nmounts; i++) {
		if (!strcmp(mounts[i].root, "/") && !strcmp(mounts[i].point, "/proc")) {
			struct bh_start *start = &find_start(automaton, mounts[i].sbid)->start;

			start->self = walk(automaton, start->state, "/self", strlen("/self"));
		}
	}
}

static int finish(const struct dfa *dfa, __u32 *block, const __u32 *start_state,
		  struct views *views, struct automaton *automaton)
{
	_cleanup_free_ __u32 *state = NULL;
	size_t i, nblocks;
	int r;

	if (dfa_minimise(dfa, block, &nblocks) < 0)
		return -ENOMEM;
	state = calloc(nblocks, sizeof(*state));
	if (!state)
		return -ENOMEM;
	r = dfa_table(dfa, block, nblocks, state, automaton);
	if (r < 0)
		return r;
	automaton->head.start = state[block[start_state[0]]];
	for (i = 0; i < views->nstarts; i++)
		views->starts[i].start.state = state[block[start_state[i + 1]]];
	automaton->starts = TAKE_PTR(views->starts);
	automaton->nstarts = views->nstarts;
	return 0;
}

/* What automaton_compile was given. */
struct compilation {
	const struct rule *rules;
	size_t nrules;
	const struct mount_view *mounts;
	size_t nmounts;
};

static int build_table(const struct compilation *c, struct nfa *nfa, struct automaton *automaton,
		       struct error *error)
{
	_cleanup_free_ __u32 *start_state = calloc(c->nmounts + 1, sizeof(*start_state));
	_cleanup_free_ __u32 *block = NULL;
	_cleanup_(views_done) struct views views = {0};
	_cleanup_(dfa_done) struct dfa dfa = {0};
	int r;

	if (!start_state || collect_views(nfa, c->mounts, c->nmounts, &views) < 0)
		return -ENOMEM;
	r = dfa_build(&dfa, nfa, views.sets, views.nstarts + 1, start_state);
	if (r == 0) {
		block = calloc(dfa.nstates, sizeof(*block));
		r = block ? finish(&dfa, block, start_state, &views, automaton) : -ENOMEM;
	}
	if (r == -E2BIG)
		return blame_rules(&dfa, nfa, block, c->rules, c->nrules, error);
	return r;
}

static const char *place_file(const struct rule *rule)
{
	return rule->place.file ? rule->place.file : "rule";
}

static int check_rules(const struct rule *rules, size_t nrules, struct error *error)
{
	const char *reason;
	size_t i, offset;

	for (i = 0; i < nrules; i++) {
		if (glob_check(rules[i].glob, &offset, &reason) < 0)
			return error_set(error, EINVAL, "%s:%u:%u: %.200s at byte %zu: %s",
					 place_file(&rules[i]), rules[i].place.line,
					 rules[i].place.column, rules[i].glob, offset + 1, reason);
	}
	return 0;
}

static int check_mounts(const struct mount_view *mounts, size_t nmounts, struct error *error)
{
	size_t i;

	for (i = 0; i < nmounts; i++) {
		if (!mounts[i].sbid || mounts[i].root[0] != '/' || mounts[i].point[0] != '/')
			return error_set(error, EINVAL,
					 "mount %s at %s: not absolute, or no number",
					 mounts[i].root, mounts[i].point);
	}
	return 0;
}

/* What nfa_init stopped at. */
static int refuse_rule(const struct nfa *nfa, const struct rule *rule, struct error *error)
{
	const char *reason = nfa->nnodes > BH_MAX_NFA_NODES
				     ? "the globs are too long together, braces written out: write "
				       "* or fewer braces"
				     : "too many different [...] in a policy: write * or the names";

	return error_set(error, E2BIG, "%s:%u:%u: %.200s: %s", place_file(rule), rule->place.line,
			 rule->place.column, rule->glob, reason);
}

static int compile(const struct compilation *c, struct automaton *ret, struct error *error)
{
	_cleanup_(automaton_done) struct automaton automaton = {0};
	_cleanup_(nfa_done) struct nfa nfa = {0};
	int r = nfa_init(&nfa, c->rules, c->nrules);

	if (r == -E2BIG)
		return refuse_rule(&nfa, &c->rules[nfa.rule - 1], error);
	if (r == 0)
		r = build_table(c, &nfa, &automaton, error);
	if (r < 0)
		return r;
	fill_self(&automaton, c->mounts, c->nmounts);
	r = links_fill(c->rules, c->nrules, c->mounts, c->nmounts, automaton.starts,
		       automaton.nstarts);
	if (r < 0)
		return r;
	*ret = automaton;
	memset(&automaton, 0, sizeof(automaton));
	return 0;
}

int automaton_compile(const struct rule *rules, size_t nrules, const struct mount_view *mounts,
		      size_t nmounts, struct automaton *ret, struct error *error)
{
	int r = check_rules(rules, nrules, error);

	if (r == 0)
		r = check_mounts(mounts, nmounts, error);
	if (r == 0)
		r = compile(&(struct compilation){rules, nrules, mounts, nmounts}, ret, error);
	if (r == -ENOMEM)
		return error_set(error, ENOMEM, "no memory to compile the policy");
	return r;
}

void automaton_done(struct automaton *automaton)
{
	if (!automaton)
		return;
	free(automaton->words);
	free(automaton->starts);
	memset(automaton, 0, sizeof(*automaton));
}

int automaton_walk(const struct automaton *automaton, __u32 sbid, const char *path, size_t length,
		   struct bh_masks *ret)
{
	__u32 state = automaton->head.start;

	if (sbid) {
		const struct automaton_start *start = find_start(automaton, sbid);

		if (!start)
			return -ENOENT;
		state = start->start.state;
	}
	/* A superblock's root has no component in the kernel's walk either. */
	if (length == 1 && path[0] == '/')
		length = 0;
	state = walk(automaton, state, path, length);
	bh_match_masks(automaton, &automaton->head, state, ret);
	return 0;
}

bool automaton_appends(const struct automaton *automaton)
{
	const __u32 row = automaton->head.nclasses + BH_ROW_EXTRA,
		    both = BH_PERM_APPEND | BH_PERM_WRITE;
	const __u32 rows_a_page = BH_PAGE_WORDS / row;
	__u32 page, i;

	for (page = 0; page < automaton->head.nwords; page += BH_PAGE_WORDS) {
		for (i = 0; i < rows_a_page && page + (i + 1) * row <= automaton->head.nwords;
		     i++) {
			__u32 verdict = automaton->words[page + (i + 1) * row - BH_ROW_EXTRA];

			if ((verdict & both) == BH_PERM_APPEND)
				return true;
		}
	}
	return false;
}

int automaton_allows(__u32 allow, __u32 asked)
{
	return bh_masks_allow(allow, asked);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which rules make a table too large. A rule multiplies the states when they come in pairs that
 * differ in how far that rule was read and in nothing else: leave its nodes out of a state's set,
 * and the state is one that is there already. The share of such states is what the table would lose
 * with the rule. A rule that merely is one of many loses its own few.
 */
#include "dfa.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "grow.h"
#include "hash.h"

/* States looked at, evenly out of all. */
#define SAMPLE 65536
/* Rules named: more do not fit into an error. */
#define NAMED 3

struct suspect {
	size_t rule;
	__u32 lost; /* states of the sample that would be gone without it */
};

struct blame {
	const struct dfa *dfa;
	const struct nfa *nfa;
	__u64 *sums; /* sorted: one a state */
	struct suspect *suspects;
	size_t nrules;
	__u32 sampled;
};

static void blame_done(struct blame *blame)
{
	free(blame->sums);
	free(blame->suspects);
}

/* A set's sum is told without one of its nodes by a subtraction. */
static __u64 node_hash(__u32 node)
{
	return hash_mix(0x9e3779b97f4a7c15, hash_mix(node, 0xc2b2ae3d27d4eb4f));
}

static __u64 state_sum(const struct dfa_sets *sets, size_t state)
{
	__u64 sum = 0;
	size_t i;

	for (i = sets->begin[state]; i < sets->begin[state + 1]; i++)
		sum += node_hash(sets->pool[i]);
	return sum;
}

static int compare_sums(const void *a, const void *b)
{
	__u64 x = *(const __u64 *)a, y = *(const __u64 *)b;

	return (x > y) - (x < y);
}

static int fill_sums(struct blame *blame)
{
	size_t i, n = blame->dfa->nstates;

	blame->sums = calloc(n, sizeof(*blame->sums));
	blame->suspects = calloc(blame->nrules + 1, sizeof(*blame->suspects));
	if (!blame->sums || !blame->suspects)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		blame->sums[i] = state_sum(&blame->dfa->sets, i);
	qsort(blame->sums, n, sizeof(*blame->sums), compare_sums);
	for (i = 0; i < blame->nrules; i++)
		blame->suspects[i].rule = i;
	return 0;
}

/* Asks of each rule that a state has nodes of, whether the state is there without them. */
static void examine(struct blame *blame, size_t state)
{
	const struct dfa_sets *sets = &blame->dfa->sets;
	size_t i, j, begin = sets->begin[state], end = sets->begin[state + 1];
	__u64 sum = state_sum(sets, state), without;
	__u32 rule;

	blame->sampled++;
	for (i = begin; i < end; i++) {
		rule = blame->nfa->nodes[sets->pool[i]].rule;
		without = sum;
		for (j = begin; rule && j < end; j++) {
			if (blame->nfa->nodes[sets->pool[j]].rule != rule)
				continue;
			/* Once a rule: at the first of its nodes. */
			if (j < i)
				break;
			without -= node_hash(sets->pool[j]);
		}
		if (rule && j == end &&
		    bsearch(&without, blame->sums, blame->dfa->nstates, sizeof(*blame->sums),
			    compare_sums))
			blame->suspects[rule - 1].lost++;
	}
}

/* The first state of each block stands for it. */
static void examine_sample(struct blame *blame, const __u32 *block)
{
	size_t i, step = blame->dfa->nstates / SAMPLE + 1;
	__u32 past = 0;

	for (i = 0; i < blame->dfa->nstates; i++) {
		if (block && block[i] < past)
			continue;
		past = block ? block[i] + 1 : 0;
		if ((block ? block[i] : i) % step == 0)
			examine(blame, i);
	}
}

static int compare_suspects(const void *a, const void *b)
{
	const struct suspect *x = a, *y = b;

	if (x->lost != y->lost)
		return x->lost < y->lost ? 1 : -1;
	return (x->rule > y->rule) - (x->rule < y->rule);
}

static unsigned int percent(const struct blame *blame, size_t i)
{
	return (unsigned int)(100ULL * blame->suspects[i].lost / blame->sampled);
}

/* Names the worst, and how many are of their kind. */
static int report(const struct blame *blame, const struct rule *rules, struct error *error)
{
	const struct rule *worst = &rules[blame->suspects[0].rule], *rule;
	char others[512] = "", more[48] = "";
	size_t i, n = 1, length = 0;

	while (n < blame->nrules && 8 * blame->suspects[n].lost >= blame->suspects[0].lost)
		n++;
	for (i = 1; i < n && i < NAMED; i++) {
		rule = &rules[blame->suspects[i].rule];
		length += (size_t)snprintf(others + length, sizeof(others) - length,
					   ", %u %% for %.80s:%u:%u: %.80s", percent(blame, i),
					   rule->place.file ? rule->place.file : "rule",
					   rule->place.line, rule->place.column, rule->glob);
	}
	if (n > NAMED)
		snprintf(more, sizeof(more), ", and %zu more like them", n - NAMED);
	return error_set(error, E2BIG,
			 "%.200s:%u:%u: %.80s: the table exceeds its bound of %u words: %u %% of "
			 "it is there for this rule%s%s: write fewer * and /**/ in them",
			 worst->place.file ? worst->place.file : "rule", worst->place.line,
			 worst->place.column, worst->glob, BH_MAX_TABLE_WORDS, percent(blame, 0),
			 others, more);
}

int blame_rules(const struct dfa *dfa, const struct nfa *nfa, const __u32 *block,
		const struct rule *rules, size_t nrules, struct error *error)
{
	_cleanup_(blame_done) struct blame blame = {.dfa = dfa, .nfa = nfa, .nrules = nrules};

	if (fill_sums(&blame) < 0)
		return -ENOMEM;
	examine_sample(&blame, block);
	qsort(blame.suspects, nrules, sizeof(*blame.suspects), compare_suspects);
	/* Less than a hundredth: nothing multiplies, there is just much of it. */
	if (!nrules || blame.suspects[0].lost < blame.sampled / 100)
		return error_set(error, E2BIG,
				 "%zu rules together exceed the table's bound of %u words, none of "
				 "them more than others: write ** or * for what is alike",
				 nrules, BH_MAX_TABLE_WORDS);
	return report(&blame, rules, error);
}

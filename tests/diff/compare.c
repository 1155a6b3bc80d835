// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "compare.h"

#include <stdio.h>
#include <string.h>
#include "base/cleanup.h"

#define LONG_PATH 4000
#define MAX_TOLD 3 /* differences that are written out */

/* Too large for a stack. */
static struct world world;
static struct question questions[CORE_BATCH];
static struct answer from_kernel[CORE_BATCH];

static void tell(const struct comparison *comparison, unsigned int i,
		 const struct question *question, const struct answer *answers)
{
	printf("policy %u of seed %llu: ", i, (unsigned long long)comparison->seed);
	tell_question(&world, question);
	tell_answer("reference", &answers[0]);
	tell_answer("automaton", &answers[1]);
	tell_answer("kernel", &answers[2]);
	fflush(stdout);
}

static void compare_question(const struct comparison *comparison, unsigned int i,
			     const struct automaton *automaton, unsigned int j)
{
	struct answer answers[3] = {[2] = from_kernel[j]};
	struct count *count = comparison->count;

	reference_answer(&world, &questions[j], &answers[0]);
	automaton_answer(automaton, &questions[j], &answers[1]);
	count->cases++;
	count->spoken += answers[0].spoken;
	count->unknown += answers[0].unknown;
	count->silent += answers[0].silent;
	count->tripped += answers[0].tripped;
	count->audited += answers[0].audited;
	count->linked += (answers[0].hidden & questions[j].asked) != 0;
	count->longest += questions[j].path.n > LONG_PATH;
	if (answer_is_same(&answers[0], &answers[1]) && answer_is_same(&answers[0], &answers[2]))
		return;
	if (count->differ++ < MAX_TOLD)
		tell(comparison, i, &questions[j], answers);
}

/* Installs for the kernel what the automaton is, or a copy with the damage. */
static int install(const struct comparison *comparison, const struct automaton *automaton,
		   __u32 *ret_generation, struct error *error)
{
	const struct damage *damage = comparison->damage;
	_cleanup_(automaton_done) struct automaton copy = {0};
	int r;

	if (!damage || damage->side != DAMAGE_KERNEL)
		return kernel_install(comparison->kernel, automaton, ret_generation, error);
	r = damage_copy(automaton, &copy);
	if (r < 0)
		return r;
	damage_automaton(damage, &copy, questions, comparison->questions);
	return kernel_install(comparison->kernel, &copy, ret_generation, error);
}

static int ask_kernel(const struct comparison *comparison, const struct automaton *automaton,
		      struct error *error)
{
	__u32 generation;
	int r, removed;

	r = install(comparison, automaton, &generation, error);
	if (r < 0)
		return r;
	r = kernel_answers(comparison->kernel, generation, questions, comparison->questions,
			   from_kernel);
	removed = kernel_remove(comparison->kernel, generation);
	return r < 0 ? r : removed;
}

static void damage_others(const struct comparison *comparison, struct automaton *automaton)
{
	const struct damage *damage = comparison->damage;

	if (damage && damage->side == DAMAGE_AUTOMATON)
		damage_automaton(damage, automaton, questions, comparison->questions);
	if (damage && damage->side == DAMAGE_REFERENCE)
		damage->world(&world);
}

int compare_policy(struct comparison *comparison, unsigned int i)
{
	_cleanup_(automaton_done) struct automaton automaton = {0};
	struct error error = {0};
	unsigned int j;
	int r;

	draw_seed(comparison->seed, i);
	draw_world(&world);
	for (j = 0; j < comparison->questions; j++)
		draw_question(&world, &questions[j]);
	r = automaton_compile(world.rules, world.nrules, world.mounts, world.nmounts, &automaton,
			      &error);
	if (r == 0)
		r = ask_kernel(comparison, &automaton, &error);
	if (r < 0) {
		fprintf(stderr, "differential: policy %u of seed %llu: %s\n", i,
			(unsigned long long)comparison->seed,
			error.text[0] ? error.text : strerror(-r));
		return r;
	}
	damage_others(comparison, &automaton);
	for (j = 0; j < comparison->questions; j++)
		compare_question(comparison, i, &automaton, j);
	comparison->count->policies++;
	comparison->count->paged += automaton.head.nwords > BH_PAGE_WORDS;
	return 0;
}

void count_add(struct count *sum, const struct count *count)
{
	sum->policies += count->policies;
	sum->cases += count->cases;
	sum->differ += count->differ;
	sum->spoken += count->spoken;
	sum->unknown += count->unknown;
	sum->silent += count->silent;
	sum->tripped += count->tripped;
	sum->audited += count->audited;
	sum->linked += count->linked;
	sum->longest += count->longest;
	sum->paged += count->paged;
}

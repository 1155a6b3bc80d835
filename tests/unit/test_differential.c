// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Random policies, mounts and paths: the automaton says what the naive reference says, and is minimal.
 * BULKHEAD_SEED=N draws other cases. The same cases go through the kernel's code in tests/diff.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include "diff/answer.h"

#define POLICIES 5500
#define QUESTIONS 64

struct count {
	unsigned int cases, differ, spoken; /* of: some rule names the file */
};

static void compare(const struct world *world, const struct automaton *automaton,
		    struct count *count)
{
	struct answer expected, answer;
	struct question question;

	draw_question(world, &question);
	reference_answer(world, &question, &expected);
	automaton_answer(automaton, &question, &answer);
	count->cases++;
	count->spoken += expected.spoken;
	if (answer_is_same(&expected, &answer) || count->differ++)
		return;
	tell_question(world, &question);
	tell_answer("reference", &expected);
	tell_answer("automaton", &answer);
}

/* Of a table within a page: parts rows by verdict, then by where they lead, until nothing changes: as
 * many parts as rows. */
static void assert_minimal(const struct automaton *automaton)
{
	size_t row = automaton->head.nclasses + BH_ROW_EXTRA, n = automaton->head.nwords / row;
	size_t i, j, label, parts = 0, before;
	__u32 *part = calloc(n, sizeof(*part)), *next = calloc(n, sizeof(*next));

	assert_true(part && next);
	do {
		before = parts;
		parts = 0;
		for (i = 0; i < n; i++) {
			const __u32 *a = automaton->words + i * row, *b;

			for (j = 0; j < i; j++) {
				b = automaton->words + j * row;
				for (label = 0; label < automaton->head.nclasses; label++) {
					if (part[a[label] / row] != part[b[label] / row])
						break;
				}
				if (part[i] == part[j] && label == automaton->head.nclasses &&
				    !memcmp(a + label, b + label, BH_ROW_EXTRA * sizeof(*a)))
					break;
			}
			next[i] = j < i ? next[j] : (__u32)parts++;
		}
		memcpy(part, next, n * sizeof(*part));
	} while (parts != before);
	assert_int_equal(parts, n);
	free(part);
	free(next);
}

static void test_policy(uint64_t seed, unsigned int i, struct count *count)
{
	static struct world world;
	struct automaton automaton;
	struct error error = {0};
	unsigned int j;

	draw_seed(seed, i);
	draw_world(&world);
	if (automaton_compile(world.rules, world.nrules, world.mounts, world.nmounts, &automaton,
			      &error) < 0)
		fail_msg("policy %u of seed %llu: %s", i, (unsigned long long)seed, error.text);
	for (j = 0; j < QUESTIONS; j++)
		compare(&world, &automaton, count);
	if (i % 16 == 0 && automaton.head.nwords < BH_PAGE_WORDS)
		assert_minimal(&automaton);
	automaton_done(&automaton);
}

static void test_differential(void **state)
{
	uint64_t seed = draw_seed_given();
	struct count count = {0};
	unsigned int i;

	(void)state;
	for (i = 0; i < POLICIES; i++)
		test_policy(seed, i, &count);
	print_message("%u differential cases, %u differ (seed %llu, rules name the file in %u)\n",
		      count.cases, count.differ, (unsigned long long)seed, count.spoken);
	assert_int_equal(count.differ, 0);
	/* Near misses, not misses. */
	assert_in_range(count.spoken, count.cases / 4, count.cases * 3 / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_differential)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kern-tests [--mutate] [--rounds N] [NAME...]: the kernel side, case by case. NAME is what a case's name begins
 * with, a group (cache) or a case (cache/alias); N is how often each race is run.
 * With --mutate all programs are detached first and every case that proves a refusal must fail.
 */
#include "harness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>

static const struct test_case *const suites[] = {
	/* clang-format off: one a line, so that two changes seldom meet */
	prove_cases,	spread_cases,	 sockets_cases, place_cases,   proc_cases,
	written_cases,	links_cases,	 held_cases,	overlay_cases, credentials_cases,
	watch_cases,	nested_cases,	 escape_cases,	loss_cases,    table_cases,
	race_cases,	swap_cases,	 agent_cases,	learnt_cases,  cache_cases,
	append_cases,	received_cases,	 recheck_cases, views_cases,   outlets_cases,
	loopback_cases, wire_cases,	 fence_cases,	run_cases,     fold_cases,
	listen_cases,	strangers_cases,
	/* clang-format on */
};

static void run_case(struct kern *kern, const struct test_case *c, bool mutate)
{
	if (mutate && c->kind == CASE_ALLOWS)
		return;
	case_begin();
	case_report(c->name, c->fn(kern), mutate);
}

/* Fewer would prove nothing: a hundredth is the least that must be seen of each kind. */
static int parse_rounds(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (end == text || *end || n < 1000 || n > 10000000)
		return -EINVAL;
	harness_rounds = n;
	return 0;
}

int main(int argc, char **argv)
{
	struct error error = {};
	const struct test_case *c;
	struct kern *kern = NULL;
	bool mutate = false, all_but;
	size_t i;

	argc--;
	argv++;
	if (argc > 0 && !strcmp(argv[0], "--mutate")) {
		mutate = true;
		argc--;
		argv++;
	}
	if (argc > 1 && !strcmp(argv[0], "--rounds")) {
		if (parse_rounds(argv[1]) < 0) {
			fprintf(stderr, "kern-tests: --rounds: not a number from 1000: %s\n",
				argv[1]);
			return 1;
		}
		argc -= 2;
		argv += 2;
	}
	all_but = argc > 0 && !strcmp(argv[0], "--but");
	signal(SIGPIPE, SIG_IGN);
	if (harness_open(&kern, &error) < 0) {
		fprintf(stderr, "kern-tests: %s\n", error.text);
		return 1;
	}
	if (mutate && harness_detach(kern) < 0) {
		fprintf(stderr, "kern-tests: the programs cannot be detached\n");
		return 1;
	}
	case_select(argc - all_but, argv + all_but, all_but);
	hook_cases(kern, mutate);
	for (i = 0; i < sizeof(suites) / sizeof(suites[0]); i++)
		for (c = suites[i]; c->name; c++)
			if (case_wanted(c->name))
				run_case(kern, c, mutate);
	kern_close(kern);
	if (mutate)
		harness_remove();
	return case_end(mutate ? "mutate" : "kern");
}

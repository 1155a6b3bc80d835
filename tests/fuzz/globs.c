// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * For libFuzzer: globs, mounts and paths out of bytes; the compiler of globs and the automaton say what
 * the naive reference says. A line of the input is "a", "d", "q", "w" or "t", a letter for the rights and a glob
 * (allow, deny, quiet, audit, tripwire); "m", a digit, a root, a blank and a mount point; or a path. See corpus/.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "diff/answer.h"

#define MAX_QUESTIONS 32
#define MAX_LINE 256
#define MAX_FUZZ_RULES 8
/* Wildcards of one byte, of all rules: behind a star each doubles the states, and what runs into the
 * bound of the compiler's time teaches nothing. */
#define MAX_BYTES 10

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct world world;
static struct question questions[MAX_QUESTIONS];
static size_t nquestions, nbytes;

static void take_rule(const char *line)
{
	static const char effects[] = {[RULE_ALLOW] = 'a',
				       [RULE_DENY] = 'd',
				       [RULE_QUIET] = 'q',
				       [RULE_AUDIT] = 'w',
				       [RULE_TRIPWIRE] = 't'};
	const char *effect = memchr(effects, line[0], sizeof(effects));
	struct text glob;
	const char *at;

	for (at = line + 1; *at; at++)
		nbytes += *at == '?' || *at == '[';
	if (nbytes > MAX_BYTES || !line[1] || world.nrules == MAX_FUZZ_RULES ||
	    glob_check(line + 2, NULL, NULL) < 0)
		return;
	text_clear(&glob);
	put(&glob, line + 2);
	world.rules[world.nrules++] = (struct rule){
		.effect = (enum rule_effect)(effect - effects),
		.perms = 1 + (unsigned char)line[1] % 31,
		.glob = world_keep(&world, &glob),
	};
}

/* Absolute, without an empty component. */
static char *take_directory(const char *bytes, size_t n)
{
	struct text path;

	text_clear(&path);
	put(&path, "/");
	put(&path, bytes);
	path.bytes[path.n -= strlen(bytes) - n] = '\0';
	clean_path(&path);
	return world_keep(&world, &path);
}

static void take_mount(const char *line)
{
	size_t root = line[1] ? strcspn(line + 2, " ") : 0;
	const char *point = line + 2 + root;

	if (world.nmounts == WORLD_MOUNTS || !root || *point != ' ')
		return;
	world.mounts[world.nmounts++] = (struct mount_view){
		1 + (unsigned char)line[1] % (WORLD_SUPERBLOCKS - 1),
		take_directory(line + 2, root),
		take_directory(point + 1, strlen(point + 1)),
	};
}

/* As a name, and as a place on each superblock. */
static void take_path(const char *line)
{
	struct question *question;
	__u32 sbid;

	for (sbid = 0; sbid < WORLD_SUPERBLOCKS; sbid++) {
		if (nquestions == MAX_QUESTIONS || (sbid && line[0] != '/'))
			return;
		question = &questions[nquestions++];
		question->sbid = sbid;
		question->asked = BH_PERM_READ | BH_PERM_WRITE;
		text_clear(&question->path);
		put(&question->path, line);
		if (line[0] == '/')
			clean_path(&question->path);
	}
}

static void take_line(const char *line)
{
	if (line[0] && strchr("adqwt", line[0]))
		take_rule(line);
	else if (line[0] == 'm')
		take_mount(line);
	else if (line[0] == '/' || line[0] == '@')
		take_path(line);
}

static void compare(const struct automaton *automaton)
{
	struct answer expected, answer;
	size_t i;

	for (i = 0; i < nquestions; i++) {
		reference_answer(&world, &questions[i], &expected);
		automaton_answer(automaton, &questions[i], &answer);
		if (answer_is_same(&expected, &answer))
			continue;
		tell_question(&world, &questions[i]);
		tell_answer("reference", &expected);
		tell_answer("automaton", &answer);
		fflush(stdout);
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct automaton automaton;
	char line[MAX_LINE];
	size_t i, n = 0;

	world.nrules = world.nmounts = world.used = nquestions = nbytes = 0;
	for (i = 0; i <= size; i++) {
		if (i < size && data[i] && data[i] != '\n' && n < sizeof(line) - 1) {
			line[n++] = (char)data[i];
			continue;
		}
		line[n] = '\0';
		n = 0;
		take_line(line);
	}
	if (automaton_compile(world.rules, world.nrules, world.mounts, world.nmounts, &automaton,
			      NULL) < 0)
		return 0;
	compare(&automaton);
	automaton_done(&automaton);
	return 0;
}

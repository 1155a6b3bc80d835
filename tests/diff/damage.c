// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "damage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct automaton_start *start_of(struct automaton *automaton, __u32 sbid)
{
	size_t i;

	for (i = 0; i < automaton->nstarts; i++) {
		if (automaton->starts[i].sbid == sbid)
			return &automaton->starts[i];
	}
	return NULL;
}

/* The state in front of a question's last bytes, `less` of them. */
static __u32 state_of(struct automaton *automaton, const struct question *question, size_t less)
{
	const struct text *path = &question->path;
	size_t i, n = strcmp(path->bytes, "/") ? path->n : 0;
	__u32 state = automaton->head.start;

	if (question->sbid)
		state = start_of(automaton, question->sbid)->start.state;
	for (i = 0; i + less < n; i++)
		state = automaton->words[state +
					 automaton->head.classes[(unsigned char)path->bytes[i]]];
	return state;
}

/* One bit of the whole table: the right to read, where the path ends. */
static void damage_mask(struct automaton *automaton, const struct question *question)
{
	automaton->words[state_of(automaton, question, 0) + automaton->head.nclasses] ^=
		BH_PERM_READ;
}

static void damage_quiet(struct automaton *automaton, const struct question *question)
{
	automaton->words[state_of(automaton, question, 0) + automaton->head.nclasses] ^=
		(__u32)BH_PERM_WRITE << 16;
}

static void damage_watch(struct automaton *automaton, const struct question *question)
{
	automaton->words[state_of(automaton, question, 0) + automaton->head.nclasses + 1] ^=
		BH_PERM_READ;
}

static void damage_links(struct automaton *automaton, const struct question *question)
{
	automaton->words[state_of(automaton, question, 0) + automaton->head.nclasses] ^=
		BH_PERM_LINKS;
}

static void damage_covered(struct automaton *automaton, const struct question *question)
{
	automaton->words[state_of(automaton, question, 0) + automaton->head.nclasses] ^=
		(__u32)BH_PERM_LINKS << 16;
}

/* What patterns take, everywhere: which question is about a file with several names is not known. */
static void damage_patterns(struct automaton *automaton, const struct question *question)
{
	size_t i;

	(void)question;
	for (i = 0; i < automaton->nstarts; i++)
		automaton->starts[i].start.patterns ^= BH_PERM_READ;
}

/* The path's last byte leads to what it came from. */
static void damage_edge(struct automaton *automaton, const struct question *question)
{
	const struct text *path = &question->path;
	__u32 state = state_of(automaton, question, 1);

	automaton->words[state + automaton->head.classes[(unsigned char)path->bytes[path->n - 1]]] =
		state;
}

static void damage_class(struct automaton *automaton, const struct question *question)
{
	(void)question;
	automaton->head.classes['a'] = automaton->head.classes['\0'];
}

static void damage_start(struct automaton *automaton, const struct question *question)
{
	if (question->sbid)
		start_of(automaton, question->sbid)->start.state = 0;
	else
		automaton->head.start = 0;
}

static void damage_rules(struct world *world)
{
	world->rules[0].effect = (world->rules[0].effect + 1) % RULE_EFFECTS;
}

const struct damage damages[] = {
	{"kernel-mask", DAMAGE_KERNEL, damage_mask, NULL},
	{"kernel-quiet", DAMAGE_KERNEL, damage_quiet, NULL},
	{"kernel-watch", DAMAGE_KERNEL, damage_watch, NULL},
	{"kernel-links", DAMAGE_KERNEL, damage_links, NULL},
	{"kernel-covered", DAMAGE_KERNEL, damage_covered, NULL},
	{"kernel-patterns", DAMAGE_KERNEL, damage_patterns, NULL},
	{"kernel-edge", DAMAGE_KERNEL, damage_edge, NULL},
	{"kernel-class", DAMAGE_KERNEL, damage_class, NULL},
	{"kernel-start", DAMAGE_KERNEL, damage_start, NULL},
	{"automaton-mask", DAMAGE_AUTOMATON, damage_mask, NULL},
	{"reference-rule", DAMAGE_REFERENCE, NULL, damage_rules},
	{},
};

const struct damage *damage_find(const char *name)
{
	const struct damage *damage;

	for (damage = damages; damage->name; damage++) {
		if (!strcmp(damage->name, name))
			return damage;
	}
	return NULL;
}

int damage_copy(const struct automaton *automaton, struct automaton *ret)
{
	size_t words = automaton->head.nwords * sizeof(*automaton->words);
	size_t starts = automaton->nstarts * sizeof(*automaton->starts);

	*ret = *automaton;
	ret->words = malloc(words);
	ret->starts = malloc(starts + 1);
	if (!ret->words || !ret->starts) {
		automaton_done(ret);
		return -ENOMEM;
	}
	memcpy(ret->words, automaton->words, words);
	if (starts)
		memcpy(ret->starts, automaton->starts, starts);
	return 0;
}

void damage_automaton(const struct damage *damage, struct automaton *automaton,
		      const struct question *questions, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (questions[i].sbid && !start_of(automaton, questions[i].sbid))
			continue;
		if (state_of(automaton, &questions[i], 0) == 0)
			continue;
		damage->automaton(automaton, &questions[i]);
		return;
	}
}

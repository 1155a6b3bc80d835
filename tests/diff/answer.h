/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is said of a question, and who says it. */
#ifndef DIFF_ANSWER_H
#define DIFF_ANSWER_H

#include <stdbool.h>
#include "world.h"

struct answer {
	bool unknown; /* the view has no such superblock: refused, whatever is asked */
	bool refused; /* what was asked for */
	bool silent;  /* refused, and quiet rules speak of all that is missing */
	bool tripped; /* refused, and a tripwire is touched */
	bool audited; /* allowed, and reported */
	bool spoken;  /* some rule names the file; only the reference knows */
	struct bh_masks masks;
	__u32 hidden;	 /* taken from a file that has several names */
	__u32 undecided; /* any other reason why the kernel could not tell: never expected here */
};

/* By glob_match, the logic of rules and the mapping of paths through mounts, written down once more
 * and plainly. */
void reference_answer(const struct world *world, const struct question *question,
		      struct answer *ret);
/* The automaton in user space. */
void automaton_answer(const struct automaton *automaton, const struct question *question,
		      struct answer *ret);

bool answer_is_same(const struct answer *one, const struct answer *other);
/* Writes on standard output: the question with its world, then each answer. */
void tell_question(const struct world *world, const struct question *question);
void tell_answer(const char *who, const struct answer *answer);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ways to break one of the three on purpose: the comparison must report each. */
#ifndef DIFF_DAMAGE_H
#define DIFF_DAMAGE_H

#include "world.h"

enum damage_side { DAMAGE_KERNEL, DAMAGE_AUTOMATON, DAMAGE_REFERENCE };

struct damage {
	const char *name;
	enum damage_side side;
	/* As the side is: changes an automaton where that question leads, or a world. */
	void (*automaton)(struct automaton *automaton, const struct question *question);
	void (*world)(struct world *world);
};

/* Ends with a row without a name. */
extern const struct damage damages[];

/* NULL: there is none of that name. */
const struct damage *damage_find(const char *name);
/* A copy with words and starts of its own, given back by automaton_done; 0 or -ENOMEM. */
int damage_copy(const struct automaton *automaton, struct automaton *ret);
/* Applies an automaton's damage, aimed at the first question that does not end in the dead state, which
 * too many share: one state of one table is to be noticed. */
void damage_automaton(const struct damage *damage, struct automaton *automaton,
		      const struct question *questions, size_t n);

#endif

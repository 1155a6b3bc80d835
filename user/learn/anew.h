/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names that are made anew at each run, by mkstemp(3), a process's number or the time: a rule for
 * one of them would allow nothing the next time. Only what the run itself made is taken for such.
 */
#ifndef LEARN_ANEW_H
#define LEARN_ANEW_H

#include "run.h"

/* What is known of a name that the run made. */
struct anew_hint {
	uint32_t pid; /* a number in it is a process's, or 0 */
	bool gone;    /* the run removed or renamed it, and nothing has it now */
};

/* The glob that one name (no path) stands for when it is made anew, malloc'ed; *ret NULL when it looks
 * like a name that stays. 0 or -ENOMEM. */
int anew_name(const char *name, const struct anew_hint *hint, char **ret);

/* The glob for a path of the run, malloc'ed: its components that are made anew as patterns, the others
 * as they are. `literal`: no patterns. *ret_anew when it has one. 0 or -ENOMEM. */
int anew_path(const struct run *run, const struct use *use, bool literal, char **ret,
	      bool *ret_anew);

#endif

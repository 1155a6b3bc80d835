/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files of neg-tests share: run.c reads the cases, judge.c judges one, attempt.c makes it,
 * outside.c has what it meets.
 */
#ifndef NEG_RUN_H
#define NEG_RUN_H

#include <limits.h>
#include "kern/harness.h"

#define MAX_LISTENERS 16

struct policy_cell {
	char name[32];
	struct compartment *compartment;
	char *cgroup;
	struct cell *cell;
};

struct runner {
	struct kern *kern;
	char dir[PATH_MAX / 2]; /* of the cases and policies */
	char probe[PATH_MAX / 2];
	struct policy_cell cells[4];
	size_t ncells;
	struct cell *lent; /* whose sibling cgroup stands for "outside" */
	pid_t victim;
	int port;
	int listeners[MAX_LISTENERS];
	size_t nlisteners;
	bool mutate;
};

struct row {
	char *name, *policy, *words, *outcome, *hooks, *error;
};

/* What is there as long as the program is: sockets that listen, and scripts in the fixture. */
int make_listeners(struct runner *run);
int make_scripts(struct runner *run);
/* The argument of cell_spawn: a probe that waits to be looked at; data is its path. */
int run_victim(void *data);
/* The fixture as each attempt finds it, with listeners of its own: those from *ret_listeners on,
 * also after a failure. */
int prepare(struct runner *run, size_t *ret_listeners);
void close_listeners_from(struct runner *run, size_t from);

/* "OUTCOME ERRNO VERB" of the probe, run once with the row's words; -1: an unknown variable. */
int run_row(struct runner *run, struct cell *cell, enum where where, const struct row *row,
	    const char *deny, char *line, size_t size);

/* The attempt outside and inside; answers as a test case does. */
int check_row(struct runner *run, struct cell *cell, const struct row *row);

#endif

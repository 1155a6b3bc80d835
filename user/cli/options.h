/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The command line. Commands and options are rows; parsing, usage errors and help are made from
 * them, so none of them can differ from another.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>
#include "base/log.h"

/* What was asked for. Texts are argv's. */
struct arguments {
	const char *cgroup, *unit, *pid;
	const char *path, *op, *as_seen_by, *event, *compartment;
	const char *span; /* --for */
	const char *deadline, *report;
	bool all, json, follow, scratch, release, help;
	const char **vars; /* NULL-terminated */
	size_t nvars;
	const char **only; /* the same */
	size_t nonly;
	const char **words; /* what is no option, NULL-terminated */
	size_t nwords;
	char **command; /* what follows "--" */
};

enum option_kind { OPTION_FLAG, OPTION_TEXT, OPTION_LIST };

struct option_row {
	const char *name;  /* without dashes */
	const char *value; /* its name in help; NULL for a flag */
	const char *help;
	enum option_kind kind;
	size_t offset; /* in struct arguments; of a list, its count follows it */
};

#define COMMAND_MAX_OPTIONS 8

struct command {
	const char *name;
	const char *words; /* as in a usage line: "POLICY" */
	const char *summary;
	/* Exit status, or -errno and an error, which is exit status 1. */
	int (*run)(const struct arguments *arguments, struct error *error);
	/* Or NULL. What rows cannot say of the usage: 0, or -EINVAL and an error. */
	int (*check)(const struct arguments *arguments, struct error *error);
	size_t min_words, max_words;
	bool takes_command; /* "-- COMMAND..." */
	bool hidden;
	const struct option_row *options[COMMAND_MAX_OPTIONS];
};

/* Ends with a row without a name. */
extern const struct command commands[];

#define EXIT_USAGE 2

/* The command of that name; NULL and an error that names the nearest. */
const struct command *command_find(const char *name, struct error *error);
/* argv: what follows the command's name. -EINVAL and an error, or 0 and *ret, which the caller
 * gives back by arguments_done. */
int arguments_parse(const struct command *command, char **argv, struct arguments *ret,
		    struct error *error);
/* Ways to say one thing, and what was given by each. */
struct way {
	const char *name;
	const char *value; /* NULL: not given */
};
/* One of them is needed, and not two: -EINVAL and an error, "say " what in front of the ways. */
int arguments_check_one(const char *what, const struct way *ways, size_t n, struct error *error);
void arguments_done(struct arguments *arguments);

void help_all(FILE *to);
void help_command(const struct command *command, FILE *to);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Programs that run what they are given, by their names: what a policy that lets one run gives is a shell's
 * authority within its rules. Disclosed, not refused. Pure. */
#ifndef POLICY_INTERPRETERS_H
#define POLICY_INTERPRETERS_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/* The most a program gives comes first. */
enum interpreter_kind {
	INTERPRETER_SHELL,
	INTERPRETER_LANGUAGE,
	INTERPRETER_RUNNER,
	INTERPRETER_KINDS
};

/* What may stand behind the name. */
enum interpreter_suffix {
	SUFFIX_NONE,
	SUFFIX_VERSION, /* any number of digits, dots and dashes: python3.11 */
	SUFFIX_MACHINE, /* those, and letters of x86_64-linux-gnu and aarch64-linux-gnu: perl5.36-x86_64-linux-gnu */
};

struct interpreter {
	const char *name; /* letters, digits, '.', '-', '_': fewer than 64 */
	enum interpreter_suffix suffix;
	enum interpreter_kind kind;
	const char *how; /* how it is told to run something, in a few words */
	__u32 rights;	 /* any of these is enough: BH_PERM_* */
};

extern const struct interpreter interpreters[];
extern const size_t ninterpreters;

/* "shell", "language", "runner". */
const char *interpreter_kind_text(enum interpreter_kind kind);

/* Is there a name that this component of a glob (without braces) matches and that is the row's? Exact: neither a
 * name of the row is missed nor another taken for one. */
bool interpreter_meets(const struct interpreter *row, const char *component);

#endif

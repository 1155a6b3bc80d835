/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Attempts, one verb each, for the probe and for tests that run them in a forked child. Libc alone,
 * no allocation of note, nothing opened beside what the verb is about: they run inside compartments
 * in which not even /dev/null can be opened.
 */
#ifndef NEG_VERBS_H
#define NEG_VERBS_H

/* A verb could not be tried at all: the answer is VERB_BROKEN plus the positive errno. */
#define VERB_BROKEN 1000

/*
 * 0: it went through, or as far as a caller with every right gets; positive errno: refused;
 * VERB_BROKEN + errno: something it needs before was refused or is not there.
 */
typedef int (*verb_fn)(int argc, char **argv);

struct verb {
	const char *name;
	int nargs; /* at least */
	verb_fn fn;
	const char *usage;
};

/* One table a family (verbs_FAMILY.c), then NULL; a table ends with a NULL name. */
extern const struct verb *const verb_families[];

const struct verb *verb_find(const char *name);
/* argv[0] is the verb. VERB_BROKEN + EINVAL for an unknown verb or too few words. */
int verb_run(int argc, char **argv);

/* What vm-read reads in a process of the same program: a constant at a fixed address. */
extern const char verb_landmark[16];

#endif

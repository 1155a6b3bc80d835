/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A policy's main file written out again with more in it. What it says stays, variables too; how it
 * was laid out, and its comments, do not.
 */
#ifndef POLICY_REWRITE_H
#define POLICY_REWRITE_H

#include <stdio.h>
#include "base/log.h"

/* What is added; each may be NULL. Blocks are whole lines, entries of their list. */
struct rewrite {
	const char *head;	     /* comments, in front of everything */
	const char *mode, *proc;     /* instead of the file's; proc with a comment line in front */
	const char *const *includes; /* NULL-terminated; those that the file has are not repeated */
	const char *files, *exec, *connect;
};

/* Writes to `to`. 0, or as policy_load; reads the file
 * anew. */
int policy_rewrite(const char *path, const struct rewrite *rewrite, FILE *to, struct error *error);

/* Writes a word as YAML takes it for that word: plain where it can be, in single quotes else. */
void yaml_word(const char *word, FILE *to);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where each value of a YAML text stands. libcyaml fills structures but forgets lines, so the text
 * is read once before it: this pass also refuses what a policy has no use for and what would reach
 * libcyaml in two readings (anchors, tags, several documents, keys given twice, NUL in a word).
 * Internal to the policy layer.
 */
#ifndef POLICY_OUTLINE_H
#define POLICY_OUTLINE_H

#include "automaton.h"

/* Of the one list that looks as if it were a mapping. */
#define OUTLINE_VARS_FORM "a list: write vars: [\"NAME=value\"]"
/* Of the one value that can be a word and a mapping. */
#define OUTLINE_NETWORK_FORM "none, or a mapping, as in {egress: [...]} or {loopback: own}"

enum outline_kind { OUTLINE_WORD, OUTLINE_LIST, OUTLINE_MAPPING };

struct outline_entry {
	char *path; /* "files[3].on[1]"; "" is the whole text */
	enum outline_kind kind;
	size_t entries;	    /* of a list or mapping */
	struct place place; /* of the value */
	struct place key;   /* of the key, for a value in a mapping; else of the value */
	/* Of a word: the column of its first byte, behind a quote; 0: its bytes do not stand there as they
	 * are read, one a column. */
	unsigned int first;
};

struct outline {
	const char *file;
	struct outline_entry *entries; /* in order of the text */
	size_t n, size;
	struct outline_entry **by_path;
};

/* 0, -EINVAL or -ENOMEM. `file` stays the caller's and is named in every place. Call outline_done
 * in every case. */
int outline_read(struct outline *outline, const char *file, const char *text, size_t length,
		 struct error *error);
void outline_done(struct outline *outline);

/* The entry of a path, printf-like; NULL if the text has none. */
const struct outline_entry *outline_find(const struct outline *outline, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Where a byte of a word stands; where the word does, if that cannot be told. */
struct place outline_byte(const struct outline_entry *entry, size_t offset);

/* Sets "file:line:column: ..." and returns -EINVAL. */
int error_at(struct error *error, const struct place *place, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif

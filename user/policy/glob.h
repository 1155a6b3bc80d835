/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The grammar of globs. Internal to the policy layer; glob_check and glob_match are in automaton.h.
 *
 *	/ **       any number of components, as a whole component; D/ ** covers D itself
 *	*          any bytes within a name
 *	?          one byte
 *	[a-z_]     one byte of a set; [!...] and [^...] one that is not in it; ] first is a byte
 *	{a,b/c}    one of these texts: they nest, may be empty, have wildcards and cross components
 *	\*         the byte itself: * ? [ ] { } , ! ^ - $ \ and space
 *	\xNN       the byte of this number, for names that YAML cannot write
 *
 * None of these matches '/'. Braces are written out before anything else: a branch is one of the
 * globs they stand for.
 */
#ifndef POLICY_GLOB_H
#define POLICY_GLOB_H

#include <stdbool.h>
#include "automaton.h"
#include "byteset.h"

enum glob_kind { GLOB_BYTE, GLOB_STAR, GLOB_SET };

/* What stands at one place of a branch; "**" is two stars here. */
struct glob_element {
	enum glob_kind kind;
	__u8 byte;	     /* GLOB_BYTE */
	struct byte_set set; /* GLOB_SET: never '/' and never NUL */
};

/* Reads the element at *at, which moves behind it; NULL. Else a reason, *at being the byte at
 * fault. '{', ',' and '}' are bytes like others here. */
const char *glob_read(const char **at, struct glob_element *ret);

/* Bytes of the element at `at`, which is well formed. */
size_t glob_element_size(const char *at);

/* `from` says where in the glob each byte of `text`, and its end, was written. */
struct glob_branch {
	const char *text;
	const __u16 *from;
};

/* Calls `take` for each branch of a glob whose braces are well formed, until one answers other than
 * 0: that is returned. */
typedef int (*glob_branch_fn)(const struct glob_branch *branch, void *context);
int glob_expand(const char *glob, glob_branch_fn take, void *context);

/* How many there are. */
size_t glob_branches(const char *glob);

/* Does this branch match one text alone? A set of one byte is that byte. */
bool glob_is_name(const char *branch);
/* That text, and a NUL behind it; ret has room for the branch's length + 1. */
void glob_name(const char *branch, char *ret);

/* Offset of the first wildcard or brace; the length if there is none and the glob is one name. */
size_t glob_head(const char *glob);
/* Writes the bytes that `length` bytes of a glob without wildcards stand for, and a NUL behind
 * them; ret has room for length + 1. */
void glob_unescape(const char *glob, size_t length, char *ret);
/* Writes the glob that matches `text` alone; ret has room for twice the length and 1. */
void glob_escape(const char *text, char *ret);

/* glob_match of one component or abstract name, by a branch's. */
int glob_match_name(const char *glob, size_t glob_length, const char *name, size_t length);

/* 1 if everything `narrow` matches is matched by `wide`; 0 may also mean "not seen to be so". */
int glob_covers(const char *wide, const char *narrow);

/* Can two globs name one path? Told by what stands in front of their wildcards alone. */
bool glob_heads_meet(const char *a, const char *b);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the parts of a proposal share. Internal to this layer. */
#ifndef LEARN_INTERNAL_H
#define LEARN_INTERNAL_H

#include "includes.h"
#include "learn.h"

struct proposal {
	const struct learn_request *request;
	struct chosen chosen;
	struct run run;
	struct policy *base;	    /* the policy of the run */
	struct policy *credentials; /* what is never proposed */
	bool *wanted;		    /* by use: needs a rule of its own */
	bool *left;		    /* by use: not proposed */
	size_t nleft;
	struct includes includes;
	struct rows rows;
	size_t used, allowed, count; /* files, files, rows */
	bool lacking;
};

/* closure.c: gives old names the rights of the new ones, and what is written and run written-inside: true. 0,
 * -ENOMEM or as automaton_compile. */
int proposal_close(struct proposal *p, struct error *error);

/* head.c: the comments in front of the text, and the words of comments: names as they can stand in a
 * line, "once" or "3 times". */
int proposal_head(struct proposal *p, char **ret);
void put_bytes(FILE *to, const char *bytes);
void put_times(FILE *to, size_t times);

/* write.c: the text (malloc'ed). 0, -ENOMEM or as policy_rewrite. */
int proposal_write(struct proposal *p, char **ret, struct error *error);

#endif

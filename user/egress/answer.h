/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The stub's answers: a query in wire format, and what is answered. A name is answered out of the compartment's book;
 * nothing is asked of anybody, so no query carries anything out.
 *
 *	A of a listed name                     its synthetic address
 *	A of the proxy's name (book.h)         its address, where the policy wants it and anything is granted
 *	any other type of them                 no data (a real address in HTTPS or SVCB would be a way around)
 *	a name above listed ones               no data: NXDOMAIN would deny those below, too (RFC 8020)
 *	PTR of an address that was given       its name
 *	listed, and no grant                   NXDOMAIN, with EDE 18 (Prohibited, RFC 8914)
 *	no address left                        NXDOMAIN, with EDE 18
 *	everything else                        NXDOMAIN, with EDE 15 (Blocked); musl gives up at REFUSED
 *	another class, opcode, EDNS version    REFUSED, NOTIMP, BADVERS
 *	malformed                              FORMERR; an answer, or less than a header: nothing
 */
#ifndef EGRESS_ANSWER_H
#define EGRESS_ANSWER_H

#include "book.h"

#define ANSWER_SIZE 512 /* every answer fits what RFC 1035 lets UDP carry: none is truncated */
#define ANSWER_TTL_S 60 /* addresses do not change: how often a client asks again */

enum answer_outcome {
	ANSWER_DROPPED, /* to no one */
	ANSWER_MALFORMED,
	ANSWER_UNSUPPORTED,
	ANSWER_UNLISTED,
	ANSWER_UNGRANTED,
	ANSWER_EXHAUSTED,
	ANSWER_NO_DATA,
	ANSWER_NAME,
	ANSWER_ADDRESS,
	ANSWER_OUTCOMES
};

extern const char *const answer_outcome_names[ANSWER_OUTCOMES];

/* Whose question it is. */
struct answer_view {
	struct book *book;
	bool granted; /* the second yes */
	bool proxy;   /* there is BOOK_PROXY */
	/* For which names; NULL: for all. */
	bool (*covers)(const void *data, const char *name);
	const void *data;
};

struct answer {
	enum answer_outcome outcome;
	char name
		[DESTINATION_NAME_SIZE]; /* that was asked for, in its one form or as it was written; "" where it cannot be */
	__u16 type;    /* that was asked for */
	__u32 address; /* outcome ADDRESS */
	__u8 wire[ANSWER_SIZE];
	size_t length; /* of wire; 0: nothing is sent */
};

/* 0 or -ENOMEM, *ret being dropped then. */
int answer_query(const struct answer_view *view, const void *query, size_t length,
		 struct answer *ret);

#endif

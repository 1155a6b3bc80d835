/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The name that a TLS client asks its server for (SNI, RFC 6066 §3), read from what it sends first: a handshake
 * message in one record or many (RFC 8446 §5.1), in segments however small. What a server could read otherwise than
 * we do is no answer: two names, a list of them, bytes too many or too few. SSL 2's hello is none.
 *
 * An encrypted ClientHello names its inner server where nobody can read it; the outer name is what is read here. And a
 * server that asks for another hello (HelloRetryRequest, RFC 8446 §4.1.4) may take the name of that one, which comes
 * when this was read long ago.
 */
#ifndef EGRESS_HELLO_H
#define EGRESS_HELLO_H

#include <stddef.h>
#include <linux/types.h>
#include "policy/destination.h"

/* Of the message with its head. Clients' are below 2 KiB; post-quantum key shares add one or two each. */
#define HELLO_SIZE 16384
/* Of what it came in. A record of one byte has five around it, and nobody writes many of those. */
#define HELLO_RAW_SIZE 32768

enum hello_outcome {
	HELLO_MORE, /* so far it is one */
	HELLO_NAME,
	HELLO_NO_NAME,
	HELLO_NO_TLS,
	HELLO_MALFORMED, /* also what is ambiguous */
	HELLO_TOO_LONG,
	HELLO_OUTCOMES
};

extern const char *const hello_outcome_names[HELLO_OUTCOMES];

/* Zeroed: nothing was read yet. */
struct hello {
	enum hello_outcome outcome;
	char name[DESTINATION_NAME_SIZE]; /* outcome NAME: in the form of destination_name */
	size_t raw;			  /* bytes read */
	__u8 head[5];			  /* of the record */
	size_t nhead;
	size_t left; /* of the record's content */
	__u8 message[HELLO_SIZE];
	size_t length; /* of message, so far */
};

/* Takes in what came next. Once it is another than MORE the outcome stays, whatever comes. */
enum hello_outcome hello_feed(struct hello *hello, const void *bytes, size_t length);

#endif

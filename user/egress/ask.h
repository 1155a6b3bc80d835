/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a client asks a proxy for: a name and a port, by HTTP's CONNECT (RFC 9110 §9.3.6, RFC 9112) or by SOCKS 5
 * (RFC 1928), in segments however small. Read by bytes, and whatever another reader could take for something else is no
 * request: a line that ends in anything but CR LF or goes on in the next one, a byte that is not printed, a second Host or
 * one that says another name, a body. Names are destination_name's; an address is none.
 *
 *	CONNECT NAME:PORT HTTP/1.1		HTTP/1.0 as well; other fields are looked at and skipped, passwords too
 *	5 N METHODS, 5 1 0 3 LENGTH NAME PORT	without authentication, CONNECT alone
 *
 * Pure: what is answered is the caller's.
 */
#ifndef EGRESS_ASK_H
#define EGRESS_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>
#include "policy/destination.h"

/* Of a request. What clients send is a tenth of it; a ticket of Kerberos has a few KiB. SOCKS' are below 600 bytes. */
#define ASK_SIZE 8192

enum ask_kind { ASK_HTTP, ASK_SOCKS };

enum ask_outcome {
	ASK_MORE, /* so far it is one */
	ASK_TARGET,
	ASK_NO_NAME, /* a request for what is no name: an address, say */
	ASK_ADDRESS, /* as ATYP of SOCKS says that it is one */
	ASK_METHOD,  /* well-formed, and asks for something else than CONNECT */
	ASK_VERSION,
	ASK_LOGIN, /* no method without authentication was offered */
	ASK_MALFORMED,
	ASK_TOO_LONG,
	ASK_OUTCOMES
};

extern const char *const ask_outcome_names[ASK_OUTCOMES];

/* Zeroed but for `kind`: nothing was read yet. */
struct ask {
	enum ask_kind kind;
	enum ask_outcome outcome;
	/* TARGET: in the form of destination_name. NO_NAME and ADDRESS: as it was written, for people; "" where it cannot be
	 * printed, or is longer. */
	char name[DESTINATION_NAME_SIZE];
	__u16 port; /* of these three */
	/* SOCKS: its methods were read, and one of them will do. It waits to hear of that (5 0). */
	bool greeted;
	const char *reason; /* of anything else than MORE and TARGET */
	__u8 raw[ASK_SIZE];
	size_t length;
};

/* Takes in what came next, as far as the request goes: *ret_used bytes of it. Once it is another than MORE the outcome
 * stays, and no more is used. */
enum ask_outcome ask_feed(struct ask *ask, const void *bytes, size_t length, size_t *ret_used);

#endif

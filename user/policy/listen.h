/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where members may listen, by TCP.
 *
 *	entry = ( IPv4 | "[" IPv6 "]" | "*" ) ":" port *("," port)
 *
 * An address has its one form: four decimal parts, or RFC 5952's. "*" is every address of both families, and the
 * wildcards 0.0.0.0 and ::, which are written in no other way. No name is an address here: what it is resolved to
 * changes. Refused is what nobody listens at by TCP, and what means more than it says: groups, broadcast, a mapped
 * address, one of the link, which needs a zone, and the range that stands for names.
 */
#ifndef POLICY_LISTEN_H
#define POLICY_LISTEN_H

#include "address.h"
#include "destination.h"

#define LISTEN_PORTS 16				 /* of an entry */
#define LISTEN_TEXT_SIZE (ADDRESS_TEXT_SIZE + 8) /* "[ADDRESS]:PORT" */

struct listen_at {
	bool any;
	struct address address; /* unless any */
	__u16 port;
};

/* Reads an entry: a row for each of its ports, which none has twice. 0, or -EINVAL with *ret_fault. */
int listen_parse(const char *text, size_t length, struct listen_at ret[LISTEN_PORTS], size_t *ret_n,
		 struct destination_fault *ret_fault);
void listen_format(const struct listen_at *at, char ret[LISTEN_TEXT_SIZE]);
/* Does `all` say all that `one` says? */
bool listen_covers(const struct listen_at *all, const struct listen_at *one);

#endif

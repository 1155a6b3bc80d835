/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections of a compartment's programs, which the kernel has turned this way: whose each is and where it was to go
 * the kernel wrote down. The name that the address stands for has to be listed with that port and granted; it is
 * resolved and dialled here, and bytes go to and fro. Everything else is reset.
 */
#ifndef EGRESSD_RELAY_H
#define EGRESSD_RELAY_H

#include "egressd.h"

/* Why nothing was connected: the "outcome" of a connect event. */
enum relay_outcome {
	RELAY_UNKNOWN, /* the kernel wrote nothing down: somebody else's, or it was too late */
	RELAY_UNNAMED, /* no name has that address */
	RELAY_UNLISTED,
	RELAY_PORT, /* listed, with other ports */
	RELAY_UNGRANTED,
	RELAY_OVER_UPLOAD,
	RELAY_TOO_MANY,
	RELAY_BAD_REQUEST, /* to the proxy */
	RELAY_NO_TLS,
	RELAY_NO_SERVER_NAME,
	RELAY_BAD_TLS,
	RELAY_OTHER_NAME, /* of the server, in the ClientHello */
	RELAY_HUNG_UP,
	RELAY_CUT,
	RELAY_UNRESOLVED,
	RELAY_BAD_ADDRESS,
	RELAY_BAD_ROUTE,
	RELAY_UNROUTED,
	RELAY_FAILED,
	RELAY_OUT_OF_TIME,
	RELAY_INTERNAL,
	RELAY_OUTCOMES
};

extern const char *const relay_outcome_names[RELAY_OUTCOMES];

/* The relay's socket is readable. */
int relay_on_socket(sd_event_source *source, int fd, uint32_t events, void *outlet);

/* May it be dialled, now? RELAY_OUTCOMES, with its terms; else why not, with a reason that may be empty. The name is of
 * destination_name's form. */
enum relay_outcome relay_judge(struct compartment *c, const char *name, __u16 port,
			       struct terms *ret, char reason[FOLD_REASON]);
/* Has it, or have all, as many connections as there may be? */
bool relay_is_full(const struct compartment *c);

/* Resets what is open of a compartment: all of it, or what is not listed or granted any more. */
void relay_cut(struct compartment *c);
void relay_recheck(struct compartment *c);

#endif

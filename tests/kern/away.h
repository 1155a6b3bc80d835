/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Another host, as a network namespace at the end of a wire: HERE is this one's address, AWAY that one's. */
#ifndef TESTS_AWAY_H
#define TESTS_AWAY_H

#include "harness.h"

#define HERE4 "203.0.113.1"
#define HERE6 "2001:db8:77::1"
#define AWAY4 "203.0.113.9"
#define AWAY6 "2001:db8:77::9"
#define AWAY_PORT 7000

struct away {
	int home, netns; /* of here, of there */
	int listener;	 /* there, at AWAY_PORT, both families */
	int tap;	 /* there: packets as they come */
	bool made;
};

#define AWAY_NONE                     \
	{                             \
		-1, -1, -1, -1, false \
	}

int away_open(struct away *away);
void away_close(struct away *away);
#define _cleanup_away_ _cleanup_(away_close)

/* A TCP socket of there, or of here where `away` is NULL, that waits no longer than PATIENCE_MS; -errno. */
int away_socket(const struct away *away, int family);
#define PATIENCE_MS 700
/* Segments to AWAY_PORT that came there since the last call, waited for a moment. */
int away_count(const struct away *away);
/* Takes a connection there, which the caller closes; -errno. */
int away_accept(const struct away *away);

#endif

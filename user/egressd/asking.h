/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names that the resolvers are asked for, so that no compartment has all of libunbound's sockets (resolve.h): asked by
 * many at once, a name is one question. What was given up goes on inside the library for a while, and counts so long.
 *
 * Pure: it is told the time.
 */
#ifndef EGRESSD_ASKING_H
#define EGRESSD_ASKING_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>
#include "policy/destination.h"

/* The library has 1,024 sockets, and a name is two questions. At the bound: the connection is reset. */
#define ASKING_SLOTS 448
/* Of one compartment; and not more than others have left free. */
#define ASKING_EACH 64
/* The last are for compartments that have none. */
#define ASKING_FIRST 64
/* For each resolver that is named. Measured: where none answers the last query is sent after 1.5 s of one, 14 s of
 * three, 44 s of eight. */
#define ASKING_LINGER_US 6000000ull

struct asking {
	__u64 linger_us; /* the caller's: how long what was given up goes on */
	struct asking_slot {
		__u64 serial;
		char name[DESTINATION_NAME_SIZE];
		size_t n;	/* who waits */
		__u64 until_us; /* where nobody does: free from then on */
	} slots[ASKING_SLOTS];
};

/* A slot's number, or -EBUSY. */
int asking_begin(struct asking *asking, __u64 serial, const char *name, __u64 now_us);
/* given_up: no answer came. */
void asking_end(struct asking *asking, int slot, bool given_up, __u64 now_us);

#endif

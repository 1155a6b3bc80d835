/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The guard of a program that dials for others (a worker that fetches what a provider named): the same list, the same
 * judgement of addresses and routes as the relay's, called before and instead of its own connect(2). It takes a host and
 * a port and no URL, and follows nothing: a redirect is another call.
 *
 * It is a second fence. A program that does not call it is not held by it.
 */
#ifndef EGRESS_GUARD_H
#define EGRESS_GUARD_H

#include "policy/destination.h"
#include "reach.h"

struct guard;

struct guard_options {
	const struct destination *entries; /* copied */
	size_t nentries;
	struct reach_options reach;
};

/* 0 or -errno with a reason. Of one thread, and of the network namespace that it was made in. */
int guard_new(const struct guard_options *options, struct guard **ret, struct error *error);
void guard_free(struct guard *guard);
DEFINE_CLEANUP(struct guard *, guard_free)
#define _cleanup_guard_ _cleanup_(cleanup_guard_free)

/*
 * A connection to a listed name, whose spelling is the asker's: bytes until they have passed. Waits deadline_ms at most
 * (below REACH_MAX_MS). 0 and *ret_fd, non-blocking and closed on exec; else -errno with a reason:
 *
 *	-EINVAL		no name, or no deadline
 *	-EACCES		not listed, or not with this port
 *	-ENOENT		it has no address, or no resolver says one
 *	-EPERM		one of its addresses is none that may be dialled
 *	-EHOSTUNREACH	no way leads there, or nobody answers
 *	-ETIMEDOUT
 *	-EIO		out of memory or of descriptors
 */
int egress_dial(struct guard *guard, const void *host, size_t length, __u16 port,
		unsigned int deadline_ms, int *ret_fd, struct error *error);

#endif

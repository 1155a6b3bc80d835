/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a listed name and port to a connection: asked of the resolvers, every address judged by the table and by the
 * kernel's routes, one of them dialled. One bad address refuses all: who answers with a public one and a private one
 * wants the private one dialled. What no route leads to is left out; it harms nobody.
 *
 * For one thread with an event loop.
 */
#ifndef EGRESS_REACH_H
#define EGRESS_REACH_H

#include <stddef.h>
#include <systemd/sd-event.h>
#include "base/cleanup.h"
#include "base/log.h"
#include "policy/address.h"

#define REACH_MAX_MS 120000 /* less than this: TCP itself tries for two minutes */

struct reacher; /* what all of them share */
struct reach;	/* one */

enum reach_outcome {
	REACH_CONNECTED,
	REACH_UNRESOLVED, /* the name has no address, or nobody says one */
	REACH_BAD_ADDRESS,
	REACH_BAD_ROUTE,
	REACH_UNROUTED, /* no way leads to any of the addresses */
	REACH_FAILED,	/* nobody answered, or none would */
	REACH_OUT_OF_TIME,
	REACH_INTERNAL, /* out of memory or of descriptors */
	REACH_OUTCOMES
};

extern const char *const reach_outcome_names[REACH_OUTCOMES];

/* The end of one, which is gone then. CONNECTED: fd is the callee's, and text the address; else -1, and a reason for
 * people. The text is valid during the call. */
typedef void (*reached_fn)(void *data, enum reach_outcome outcome, int fd, const char *text);

struct reach_options {
	const char *const *upstreams; /* resolver_new */
	size_t nupstreams;
	struct address_rules rules;
};

/* In the network namespace of the caller's. 0 or -errno with a reason. */
int reacher_new(sd_event *event, const struct reach_options *options, struct reacher **ret,
		struct error *error);
/* Every reach of it was cancelled or has ended. Not to be called by a reached_fn. */
void reacher_free(struct reacher *reacher);
DEFINE_CLEANUP(struct reacher *, reacher_free)
#define _cleanup_reacher_ _cleanup_(cleanup_reacher_free)

/* A name as destination_name has it. `reached` is called by the loop, never from here. 0 or -errno;
 * -EINVAL: no deadline, or a longer one than REACH_MAX_MS. */
int reach_begin(struct reacher *reacher, const char *name, __u16 port, unsigned int deadline_ms,
		reached_fn reached, void *data, struct reach **ret);
void reach_cancel(struct reach *reach);

#endif

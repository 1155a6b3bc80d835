/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Addresses of names, asked of the operator's resolvers and of nobody else: no /etc/resolv.conf, no /etc/hosts, no
 * search list. By libunbound, which does what a resolver has to: other sources and numbers each time, TCP where an
 * answer is cut, aliases that lead in a circle, and remembers what holds still. What it answers is somebody's word: each
 * address is judged afterwards (policy/address.h, route.h).
 *
 * Its sockets are made in the network namespace of who asks, when he does. A question that is given up goes on inside
 * the library until its tries are over, some seconds, and has one of its 1,024 sockets: who lets strangers ask bounds
 * how many of theirs are open, given up ones among them.
 */
#ifndef EGRESS_RESOLVE_H
#define EGRESS_RESOLVE_H

#include <stddef.h>
#include <systemd/sd-event.h>
#include "base/cleanup.h"
#include "base/log.h"
#include "policy/address.h"

/* Of a name, both families together; 64 rotating ones were seen. */
#define RESOLVE_ADDRESSES 128
#define RESOLVE_UPSTREAMS 8

struct resolver;
struct question;

/*
 * What became of a question, after which it is gone:
 *
 *	0		n addresses, one at least; valid during the call
 *	-ENOENT		the name does not exist, or has no address
 *	-E2BIG		more than RESOLVE_ADDRESSES: none is told
 *	-EBADMSG	an answer made no sense
 *	-EAGAIN		no upstream answered, or none would
 *	-ENOMEM
 */
typedef void (*resolved_fn)(void *data, int result, const struct address *addresses, size_t n);

/* Upstreams: "ADDRESS" or "ADDRESS@PORT" (53). 0; -EINVAL with a reason, also for none; -ENOMEM. */
int resolver_new(sd_event *event, const char *const *upstreams, size_t n, struct resolver **ret,
		 struct error *error);
/* Questions that are open are not answered any more. */
void resolver_free(struct resolver *resolver);
DEFINE_CLEANUP(struct resolver *, resolver_free)
#define _cleanup_resolver_ _cleanup_(cleanup_resolver_free)

/* A and AAAA of a name (destination_name). An answer may take as long as upstreams like: who asks has the deadline. The
 * question is the resolver's; *ret is good until `resolved` was called, by the loop, never from here. 1: that is next, as
 * the library knew; 0, or -errno. */
int resolver_ask(struct resolver *resolver, const char *name, resolved_fn resolved, void *data,
		 struct question **ret);
/* Where there are addresses, though the other family's answer is waited for still, or its own turn is: that is enough,
 * `resolved` is called now. True: so it was, and the question is gone. */
bool question_settle(struct question *question);
/* It is not answered any more, and gone. */
void question_cancel(struct question *question);

#endif

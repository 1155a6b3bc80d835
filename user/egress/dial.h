/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A TCP connection to whichever of a name's addresses answers first (RFC 8305): one attempt after another, a quarter
 * of a second apart or when one has failed, the families in turn, IPv6 before IPv4. What is dialled is what is given:
 * the caller has checked every address.
 *
 *	dial_new(addresses, n, port, deadline_ms, &dial);
 *	while ((r = dial_step(dial, &fd)) == -EINPROGRESS)
 *		wait until dial_fd(dial) is readable;
 */
#ifndef EGRESS_DIAL_H
#define EGRESS_DIAL_H

#include <stddef.h>
#include "base/cleanup.h"
#include "policy/address.h"

/* Attempts of one dial, each of them a descriptor. Names with more addresses are spread over clients by turning
 * the order round, so that the first ones serve. */
#define DIAL_ATTEMPTS 16
#define DIAL_APART_MS 250 /* RFC 8305 §8, the recommended delay */

struct dial;

/* Nothing is sent before the first step. deadline_ms: of the whole. -EINVAL where n or deadline_ms is 0; -ENOMEM and
 * what epoll_create1(2) and timerfd_create(2) say. */
int dial_new(const struct address *to, size_t n, __u16 port, unsigned int deadline_ms,
	     struct dial **ret);
/* Ends what has not ended. */
void dial_free(struct dial *dial);
DEFINE_CLEANUP(struct dial *, dial_free)
#define _cleanup_dial_ _cleanup_(cleanup_dial_free)

/* Readable when there is something to do. The dial's. */
int dial_fd(const struct dial *dial);
/* 0: connected, *ret_fd being the caller's from now on (non-blocking, closed on exec) and, unless it is NULL, *ret_to
 * where it leads. -EINPROGRESS; -ETIMEDOUT: the deadline; else why the last attempt that failed did. Not to be called
 * any more after another than -EINPROGRESS. */
int dial_step(struct dial *dial, int *ret_fd, struct address *ret_to);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A TCP connection to whichever of a name's addresses answers first (RFC 8305): one attempt after another, a quarter
 * of a second apart or when one has failed, the families in turn, IPv6 before IPv4. What is dialled is what is given:
 * the caller has checked every address.
 */
#ifndef EGRESS_DIAL_H
#define EGRESS_DIAL_H

#include <stddef.h>
#include <systemd/sd-event.h>
#include "base/cleanup.h"
#include "policy/address.h"

/* Attempts of one dial, each of them a descriptor. Names with more addresses are spread over clients by turning
 * the order round, so that the first ones serve. */
#define DIAL_ATTEMPTS 16
#define DIAL_APART_MS 250 /* RFC 8305 §8, the recommended delay */

struct dial;

/* The end of one, which is gone then. 0: connected, `to` is where fd leads, which is who waits's from now on
 * (non-blocking, closed on exec); -ETIMEDOUT: the deadline; else why the last attempt that failed did. */
typedef void (*dialled_fn)(void *data, int result, int fd, const struct address *to);

/* Begins; `dialled` is called by the loop, never from here. deadline_ms: of the whole. -EINVAL where n or deadline_ms is
 * 0; -ENOMEM and what sd-event says. */
int dial_new(sd_event *event, const struct address *to, size_t n, __u16 port,
	     unsigned int deadline_ms, dialled_fn dialled, void *data, struct dial **ret);
/* Ends what has not ended. */
void dial_free(struct dial *dial);
DEFINE_CLEANUP(struct dial *, dial_free)
#define _cleanup_dial_ _cleanup_(cleanup_dial_free)

#endif

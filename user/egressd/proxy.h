/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections to the proxy's address (book.h), where a compartment's policy wants it: each says by itself what it is to be
 * connected to. What is asked for is judged as what the kernel turns this way is, by name and port.
 */
#ifndef EGRESSD_PROXY_H
#define EGRESSD_PROXY_H

#include "egressd.h"
#include "relay.h"

struct proxy;

/* A connection to this port of the proxy; takes the descriptor where it returns RELAY_OUTCOMES. */
enum relay_outcome proxy_new(struct compartment *c, int fd, __u16 port, char reason[FOLD_REASON]);
/* Resets those whose request is not whole. */
void proxy_cut(struct compartment *c);

#endif

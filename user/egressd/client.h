/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One connection of the relay, from its first byte to its last. */
#ifndef EGRESSD_CLIENT_H
#define EGRESSD_CLIENT_H

#include "relay.h"

struct client;

/* A connection that closes is reset then: who waits at its other end must not take it for an end. */
void client_reset_fd(int fd);
/* Takes the descriptor. `name` is of the compartment's book, and may be used with these terms. */
void client_new(struct compartment *c, int fd, const char *name, __u16 port,
		const struct terms *terms);
/* Resets it: one that has a flow is told of as such. */
void client_cut(struct client *client);
struct client *client_next(const struct client *client);
const char *client_name(const struct client *client);
__u16 client_port(const struct client *client);

#endif

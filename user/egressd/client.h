/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One connection of the relay, from its first byte to its last. */
#ifndef EGRESSD_CLIENT_H
#define EGRESSD_CLIENT_H

#include "egress/ask.h"
#include "relay.h"

struct client;

/* A connection that closes is reset then: who waits at its other end must not take it for an end. */
void client_reset_fd(int fd);
/* Of one that asked for its name by the proxy: how, and what it sent behind its request, ASK_SIZE bytes at most. It is
 * answered. */
struct asked {
	enum ask_kind kind;
	const void *first;
	size_t n;
};

/* Takes the descriptor. `name` may be used with these terms; it is of the compartment's book, or, where it was asked for
 * by the proxy, copied. */
void client_new(struct compartment *c, int fd, const char *name, __u16 port,
		const struct terms *terms, const struct asked *asked);
bool client_has_asked(const struct client *client);
/* Resets it: one that has a flow is told of as such. */
void client_cut(struct client *client);
struct client *client_next(const struct client *client);
const char *client_name(const struct client *client);
__u16 client_port(const struct client *client);

#endif

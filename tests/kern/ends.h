/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The agent's ends of the way out, as this program's own sockets, and what members do to come there. */
#ifndef TESTS_ENDS_H
#define TESTS_ENDS_H

#include <sys/socket.h>
#include "harness.h"

#define WAIT_MS 3000

/* A name's address, and what is none. */
#define SYNTHETIC "198.18.0.1"
#define OUTSIDE "203.0.113.9"

struct peer {
	struct sockaddr_storage at;
	socklen_t length;
};

struct peer peer_of(const char *address, int port);
struct sockaddr *peer_at(const struct peer *peer);
int bound_port(int fd);

struct ends {
	int relay, stub4, stub6;
	struct bh_outlet outlet;
	__u64 netns;
};

#define ENDS_NONE                 \
	{                         \
		-1, -1, -1, {}, 0 \
	}

/* Opened in this process's network namespace and within a fence, marked and led to. 0, or not. */
int ends_open(struct cell *cell, struct ends *ends);
void ends_close(struct ends *ends);
#define _cleanup_ends_ _cleanup_(ends_close)

/* Whose policy lists destinations. */
struct cell *egress_cell(struct kern *kern);

/* What the relay does with a connection: finds out whose it is. */
int take_flow(struct cell *cell, const struct ends *ends, int *ret_fd, struct bh_flow *ret);
int count_flows(struct cell *cell);
/* Answers one datagram, with what it said. */
int answer(int fd);

/* --- what members do; errno or 0 --- */

struct way {
	int family, type;
	const char *to, *seen; /* as its peer is called; NULL: as `to` */
	int port;
	bool connects; /* datagrams: before they are sent */
	bool fast;     /* MSG_FASTOPEN */
	int bound;     /* family that it is bound to at port 0; 0: it is not */
};

/* A socket of that kind, or -errno. */
int socket_for(const struct way *way);
/* Connects, and is connected to whom it asked for. data: struct way. */
int do_connect(void *data);
/* Asks, and hears an answer from whom it asked. */
int do_ask(void *data);

/* --- what is seen of it --- */

/* What the last event says, where there is one; valid until the next call. */
const char *last_event(struct cell *cell);
/* Refused with this errno, counted by this hook and told of: 0, or the case has failed. */
int check_refused(struct cell *cell, cell_fn fn, void *data, enum bh_hook hook, int error,
		  const char *what);

#endif

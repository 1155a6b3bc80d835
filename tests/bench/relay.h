/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The benchmark of the relay (relay.c): the ways that lead to one server (relay_ways.c), the server (relay_peer.c), and
 * what is measured on a way (relay_load.c). What cannot be done ends the program.
 */
#ifndef BENCH_RELAY_H
#define BENCH_RELAY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

__attribute__((format(printf, 1, 2), noreturn)) void bench_die(const char *format, ...);

/* --- relay_peer.c --- */

/* Streams at a time: a thread each. */
#define PEER_STREAMS 16
#define PEER_BUFFER (256u << 10)
/* The first byte of a stream. */
#define PEER_UPLOAD 'u'
#define PEER_DOWNLOAD 'd'

/* Shared with the server's process. */
struct peer {
	atomic_ullong received; /* of uploads */
	atomic_int streams;	/* that are open */
};

enum peer_socket { PEER_BULK, PEER_ECHO, PEER_LOOPBACK, PEER_SOCKETS };

/* Takes the listening sockets: for streams; for whoever wants each byte back, in the world and over loopback. */
struct peer *peer_start(const int listeners[PEER_SOCKETS], pid_t *ret_pid);

/* --- relay_bare.c --- */

enum { BARE_PORTS = 2 };

/* What is connected to the one is connected on to the other. */
struct bare_port {
	int listener;
	unsigned int to, to_port;
};

pid_t bare_start(const struct bare_port ports[BARE_PORTS]);

/* --- relay_ways.c --- */

enum way {
	WAY_DIRECT,
	WAY_RELAY,
	WAY_BARE,
	WAY_SQUID,
	WAY_TINYPROXY,
	WAYS,
	WAY_LOOPBACK =
		WAYS, /* to an echo without anything between: what one round trip over loopback takes */
	ALL_WAYS
};

enum service { SERVICE_BULK, SERVICE_ECHO };

/* Connections that stay open for the relay's memory to be looked at. */
#define HELD_FLOWS 1000

extern const char *const way_names[ALL_WAYS];

/* All in network namespaces of its own. Congestion control: NULL: as the host has it. */
void ways_open(const char *congestion);
void ways_close(void);
bool way_is_there(enum way way);
const struct peer *ways_peer(void);
/* Before each measurement: connections to that service, from any port, are a compartment's. */
void way_prepare(enum way way, enum service service);
/* A connection, the way's answer taken. */
int way_connect(enum way way, enum service service);

/* Of the process that stands between client and server, in nanoseconds; 0: there is none. */
double way_cpu(enum way way);

struct memory {
	unsigned long rss_kb, pss_kb;
};

struct memory ways_relay_memory(void);
/* Opens HELD_FLOWS connections through the relay, each of which has carried a byte each way. */
void ways_hold(int fds[HELD_FLOWS]);

/* --- relay_load.c --- */

struct rate {
	double per_s;
	double cpu_ns; /* for each, of the process that stands between */
};

/* Bytes, of all streams. */
struct rate load_streams(enum way way, char direction, size_t streams);
/* Connections, each with a byte each way. */
struct rate load_connections(enum way way, size_t at_once);
/* Of one byte's round trip on an open connection, in nanoseconds. */
void load_round_trips(enum way way, double *ret_p50, double *ret_p99);

#endif

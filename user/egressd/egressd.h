/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bulkhead-egressd: answers the queries of compartments (stub) and dials for them (relay). It holds no privilege and
 * decides by what the agent told it (egress/channel.h). One thread.
 */
#ifndef EGRESSD_EGRESSD_H
#define EGRESSD_EGRESSD_H

#include <systemd/sd-event.h>
#include <bulkhead/limits.h>
#include "asking.h"
#include "egress/book.h"
#include "egress/reach.h"
#include "entries.h"
#include "fold.h"
#include "grant.h"
#include "messages.h"

/* Connections of one compartment. A provider has a few dozen. At the bound: a further one is reset. */
#define EGRESSD_CLIENTS 512
/* Of these so many are its own, and others cannot take them; for those above it may have as many as others have left
 * free: however many take all that they get, one that comes later gets half of what is free then. */
#define EGRESSD_OWN_CLIENTS 4
#define EGRESSD_SHARED_CLIENTS 4096
#define EGRESSD_ALL_CLIENTS (EGRESSD_SHARED_CLIENTS + EGRESSD_OWN_CLIENTS * BH_MAX_COMPARTMENTS)
/* Descriptors of one: two connections and two pipes; less while it is dialled, as a rule. */
#define EGRESSD_CLIENT_FILES 6
/* DNS over TCP, of one compartment: for who was told that an answer was cut, and none is. At the bound: reset. */
#define EGRESSD_TCP_QUERIES 16
/* Requests to the proxy that are not whole yet, of one compartment: of 9 KiB and a descriptor each, and gone with the time
 * to connect. Who means it sends the whole at once. At the bound: reset. */
#define EGRESSD_PROXIES 128
/* Network namespaces of one compartment: its own, and those of sandboxes inside. At the bound: listen fails. */
#define EGRESSD_OUTLETS 64
/* Descriptors of the process: all of that, and of everything else so many. */
#define EGRESSD_FILES 65536
#define EGRESSD_OTHER_FILES 4096

struct egressd {
	sd_event *event;
	struct messages *messages;
	sd_event_source *folded; /* events that were kept are due */
	__u64 lost;		 /* events, since it was said last */

	/* configure */
	int flows; /* the kernel's map; -1: not configured */
	struct reacher *reacher;
	struct address_rules rules;
	unsigned int connect_ms, idle_ms, total_ms;

	struct compartment *compartments;
	size_t ncompartments, nclients, nproxies;
	size_t nshared; /* of clients: above EGRESSD_OWN_CLIENTS of their compartments */
	size_t max_clients,
		max_shared; /* clients and proxies together; of clients those above their own */
	struct asking asking;
};

struct compartment {
	struct egressd *egressd;
	struct compartment *next, *previous;
	__u64 serial;

	struct book *book;
	size_t told; /* of the book's lines, to the agent */
	struct entries entries;
	bool proxy;		       /* the policy wants it */
	struct allowances *allowances; /* mapped */
	struct grant grant;
	sd_event_source *expiry;

	struct outlet *outlets;
	size_t noutlets;
	struct client *clients;
	size_t nclients;
	struct proxy *proxies;
	size_t nproxies;
	struct tcp_query *tcp_queries;
	size_t ntcp_queries;
	struct fold fold;
};

/* --- compartment.c --- */

/* NULL: there is none. */
struct compartment *compartment_find(const struct egressd *e, __u64 serial);
/* allowances: the agent's file, whose descriptor stays the caller's. 0 or -errno with a reason. */
int compartment_new(struct egressd *e, __u64 serial, int allowances, struct error *error);
/* Cuts what it has open, and tells what was kept. */
void compartment_free(struct compartment *c);
/* Takes the entries over, and whether they may be asked for by the proxy. 0, or -errno with a reason and as it was before.
 * What is not listed any more is cut. */
int compartment_list(struct compartment *c, struct entries *entries, bool proxy,
		     struct error *error);
/* Takes the grant over, for so many milliseconds; 0: for good. What it is not for is cut. Of another lease than before:
 * what was uploaded is forgotten. 0 or -errno. */
int compartment_grant(struct compartment *c, struct grant *grant, __u64 lease, __u64 for_ms);
void compartment_revoke(struct compartment *c);

/* --- outlet.c --- */

enum outlet_socket { OUTLET_RELAY, OUTLET_STUB4, OUTLET_STUB6, OUTLET_SOCKETS };

extern const char *const outlet_socket_names[OUTLET_SOCKETS];

/* One network namespace's sockets. */
struct outlet {
	struct compartment *compartment;
	struct outlet *next;
	__u64 netns;	  /* cookie */
	__u16 relay_port; /* host byte order; 0: it has none */
	int fds[OUTLET_SOCKETS];
	sd_event_source *sources[OUTLET_SOCKETS];
	sd_event_source *pause; /* the relay's, where it had no descriptors */
};

/* Takes the descriptors, -1 where there is none. 0, or -errno with a reason and they are the caller's still. */
int outlet_new(struct compartment *c, __u64 netns, int fds[OUTLET_SOCKETS], struct error *error);
void outlet_free(struct outlet *outlet);

#endif

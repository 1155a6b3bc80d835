// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "relay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include "base/clock.h"
#include "client.h"
#include "flows.h"
#include "proxy.h"
#include "report.h"
#include "stub.h"

/* Connections that are taken before others have their turn. */
#define TURN 16
/* Without a descriptor for it a connection waits, and would be told of again at once. */
#define PAUSE_US 100000ull
#define DNS_PORT 53

const char *const relay_outcome_names[RELAY_OUTCOMES] = {
	[RELAY_UNKNOWN] = "unknown client",  [RELAY_UNNAMED] = "unnamed address",
	[RELAY_UNLISTED] = "unlisted",	     [RELAY_PORT] = "port not listed",
	[RELAY_UNGRANTED] = "ungranted",     [RELAY_OVER_UPLOAD] = "over its upload allowance",
	[RELAY_TOO_MANY] = "too many",	     [RELAY_BAD_REQUEST] = "bad request",
	[RELAY_NO_TLS] = "no TLS",	     [RELAY_NO_SERVER_NAME] = "no server name",
	[RELAY_BAD_TLS] = "malformed TLS",   [RELAY_OTHER_NAME] = "another server name",
	[RELAY_HUNG_UP] = "hung up",	     [RELAY_CUT] = "cut",
	[RELAY_UNRESOLVED] = "not resolved", [RELAY_BAD_ADDRESS] = "bad address",
	[RELAY_BAD_ROUTE] = "bad route",     [RELAY_UNROUTED] = "no route",
	[RELAY_FAILED] = "not connected",    [RELAY_OUT_OF_TIME] = "out of time",
	[RELAY_INTERNAL] = "internal error",
};

/* --- one that came --- */

struct arrival {
	struct compartment *compartment;
	int fd; /* -1: taken */
	const char *name;
	__u16 port;
	struct terms terms;
	char reason[FOLD_REASON];
};

/* What the kernel says; false: nothing. */
static bool find_flow(const struct outlet *outlet, const struct sockaddr_in *from,
		      struct bh_flow *ret)
{
	const struct bh_flow_key key = {
		.netns = outlet->netns,
		.address = from->sin_addr.s_addr,
		.port = ntohs(from->sin_port),
		.relay = outlet->relay_port,
	};

	return !flows_take(outlet->compartment->egressd->flows, &key, ret);
}

static void say_address(struct arrival *a, __u32 address)
{
	struct in_addr in = {.s_addr = htonl(address)};

	inet_ntop(AF_INET, &in, a->reason, sizeof(a->reason));
}

bool relay_is_full(const struct compartment *c)
{
	const struct egressd *e = c->egressd;

	if (c->nclients >= EGRESSD_CLIENTS || e->nclients + e->nproxies >= e->max_clients)
		return true;
	return c->nclients >= EGRESSD_OWN_CLIENTS &&
	       c->nclients - EGRESSD_OWN_CLIENTS + e->nshared + e->nproxies >= e->max_shared;
}

enum relay_outcome relay_judge(struct compartment *c, const char *name, __u16 port,
			       struct terms *ret, char reason[FOLD_REASON])
{
	if (!entries_find(&c->entries, name, port, ret))
		return book_find(c->book, name, NULL) ? RELAY_UNLISTED : RELAY_PORT;
	if (!grant_covers(&c->grant, name))
		return RELAY_UNGRANTED;
	if (!ret->allowance->left)
		return RELAY_OVER_UPLOAD;
	if (!relay_is_full(c))
		return RELAY_OUTCOMES;
	snprintf(reason, FOLD_REASON, "%zu connections are open, of all %zu", c->nclients,
		 c->egressd->nclients);
	return RELAY_TOO_MANY;
}

static enum relay_outcome begin_client(struct arrival *a, __u32 address)
{
	struct compartment *c = a->compartment;
	enum relay_outcome outcome;

	a->name = book_name(c->book, address) ?: "";
	if (!*a->name) {
		say_address(a, address);
		return RELAY_UNNAMED;
	}
	outcome = relay_judge(c, a->name, a->port, &a->terms, a->reason);
	if (outcome == RELAY_OUTCOMES)
		client_new(c, TAKE_FD(a->fd), a->name, a->port, &a->terms, NULL);
	return outcome;
}

static enum relay_outcome begin_proxy(struct arrival *a)
{
	enum relay_outcome outcome = proxy_new(a->compartment, a->fd, a->port, a->reason);

	a->name = BOOK_PROXY;
	if (outcome == RELAY_OUTCOMES)
		a->fd = -1;
	return outcome;
}

static enum relay_outcome begin_query(struct arrival *a)
{
	int r = tcp_query_new(a->compartment, a->fd);

	if (!r) {
		a->fd = -1;
		return RELAY_OUTCOMES;
	}
	snprintf(a->reason, sizeof(a->reason), "DNS over TCP: %s", strerror(-r));
	return r == -EBUSY ? RELAY_TOO_MANY : RELAY_INTERNAL;
}

static enum relay_outcome decide(struct outlet *outlet, struct arrival *a,
				 const struct sockaddr_in *from)
{
	struct compartment *c = outlet->compartment;
	struct bh_flow flow;

	if (!find_flow(outlet, from, &flow) || flow.serial != c->serial) {
		say_address(a, ntohl(from->sin_addr.s_addr));
		return RELAY_UNKNOWN;
	}
	a->port = flow.port;
	if (flow.port == DNS_PORT)
		return begin_query(a);
	if (c->proxy && ntohl(flow.address) == book_proxy(c->book))
		return begin_proxy(a);
	return begin_client(a, ntohl(flow.address));
}

static void take(struct outlet *outlet, int fd, const struct sockaddr_in *from)
{
	struct arrival a = {.compartment = outlet->compartment, .fd = fd, .name = ""};
	enum relay_outcome outcome = decide(outlet, &a, from);

	if (outcome != RELAY_OUTCOMES)
		report_connect(a.compartment, a.name, a.port, outcome, a.reason);
	if (a.fd >= 0) {
		client_reset_fd(a.fd);
		close(a.fd);
	}
}

/* --- the socket --- */

static int on_pause_over(sd_event_source *source, uint64_t usec _unused_, void *data)
{
	struct outlet *outlet = data;

	sd_event_source_set_enabled(source, SD_EVENT_OFF);
	sd_event_source_set_enabled(outlet->sources[OUTLET_RELAY], SD_EVENT_ON);
	return 0;
}

/* No descriptor, no memory: others' ends make room. */
static void pause_outlet(struct outlet *outlet)
{
	sd_event *event = outlet->compartment->egressd->event;
	int r;

	if (!outlet->pause) {
		r = sd_event_add_time_relative(event, &outlet->pause, CLOCK_MONOTONIC, PAUSE_US, 0,
					       on_pause_over, outlet);
	} else {
		sd_event_source_set_time(outlet->pause, clock_us() + PAUSE_US);
		r = sd_event_source_set_enabled(outlet->pause, SD_EVENT_ONESHOT);
	}
	/* Without a timer nothing would wake it up: then it is tried in each turn. */
	if (r >= 0)
		sd_event_source_set_enabled(outlet->sources[OUTLET_RELAY], SD_EVENT_OFF);
}

static bool is_short_of(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

int relay_on_socket(sd_event_source *source _unused_, int fd, uint32_t events _unused_, void *data)
{
	struct outlet *outlet = data;

	for (int i = 0; i < TURN; i++) {
		struct sockaddr_in from = {0};
		socklen_t size = sizeof(from);
		int client =
			accept4(fd, (struct sockaddr *)&from, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (client >= 0) {
			take(outlet, client, &from);
			continue;
		}
		if (is_short_of(errno)) {
			pause_outlet(outlet);
			break;
		}
		/* One that hung up already is no reason to stop. */
		if (errno != ECONNABORTED && errno != EINTR)
			break;
	}
	return 0;
}

/* --- what is open --- */

void relay_cut(struct compartment *c)
{
	while (c->clients)
		client_cut(c->clients);
}

void relay_recheck(struct compartment *c)
{
	struct client *next;

	for (struct client *client = c->clients; client; client = next) {
		const char *name = client_name(client);
		struct terms terms;

		next = client_next(client);
		if (!entries_find(&c->entries, name, client_port(client), &terms) ||
		    !grant_covers(&c->grant, name) || (client_has_asked(client) && !c->proxy))
			client_cut(client);
	}
}

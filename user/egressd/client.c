// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "client.h"

#include <errno.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include "base/clock.h"
#include "egress/hello.h"
#include "reply.h"
#include "report.h"

_Static_assert(HELLO_RAW_SIZE <= FLOW_FIRST, "what was read of a ClientHello goes first");

/* What was read to find the server's name. */
struct reading {
	struct hello hello;
	size_t n;
	__u8 raw[HELLO_RAW_SIZE];
};

/* Of one that asked by the proxy. */
struct by_proxy {
	enum ask_kind kind;
	bool answered; /* that it is connected */
	int server;    /* until a flow has it */
	char name[DESTINATION_NAME_SIZE];
	size_t n;
	__u8 *first; /* of n bytes; NULL: none */
};

struct client {
	struct compartment *compartment;
	struct client *next, *previous;
	const char *name;
	__u16 port;
	struct terms terms;
	__u64 begun_us;
	int fd; /* until a flow has it */
	sd_event_source *source, *deadline;
	struct by_proxy *by; /* NULL: the kernel turned it this way */
	struct reading *reading;
	struct reach *reach;
	int asking; /* its slot */
	struct flow *flow;
	char to[ADDRESS_TEXT_SIZE]; /* the server's */
};

void client_reset_fd(int fd)
{
	static const struct linger at_once = {.l_onoff = 1};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

struct client *client_next(const struct client *client)
{
	return client->next;
}

const char *client_name(const struct client *client)
{
	return client->name;
}

__u16 client_port(const struct client *client)
{
	return client->port;
}

bool client_has_asked(const struct client *client)
{
	return client->by;
}

/* --- its end --- */

static void drop_sources(struct client *client)
{
	client->source = sd_event_source_disable_unref(client->source);
	client->deadline = sd_event_source_disable_unref(client->deadline);
}

static void end_asking(struct client *client, bool given_up)
{
	if (client->asking < 0)
		return;
	asking_end(&client->compartment->egressd->asking, client->asking, given_up, clock_us());
	client->asking = -1;
}

static void reset(int fd)
{
	if (fd < 0)
		return;
	client_reset_fd(fd);
	close(fd);
}

static void by_proxy_free(struct by_proxy *by)
{
	if (!by)
		return;
	reset(by->server);
	free(by->first);
	free(by);
}

/* Its flow is gone, or it has none. */
static void client_free(struct client *client)
{
	struct compartment *c = client->compartment;
	struct client **from = client->previous ? &client->previous->next : &c->clients;

	*from = client->next;
	if (client->next)
		client->next->previous = client->previous;
	c->nclients--;
	c->egressd->nclients--;
	c->egressd->nshared -= c->nclients >= EGRESSD_OWN_CLIENTS;
	drop_sources(client);
	if (client->reach)
		reach_cancel(client->reach);
	end_asking(client, client->reach != NULL);
	reset(client->fd);
	by_proxy_free(client->by);
	free(client->reading);
	free(client);
}

static void refuse(struct client *client, enum relay_outcome outcome, const char *reason)
{
	report_connect(client->compartment, client->name, client->port, outcome, reason);
	if (client->by && !client->by->answered)
		reply_refuse(TAKE_FD(client->fd), client->by->kind, outcome);
	client_free(client);
}

void client_cut(struct client *client)
{
	if (client->flow)
		flow_cut(client->flow);
	else
		refuse(client, RELAY_CUT, "not listed or not granted any more");
}

/* --- bytes to and fro --- */

static void on_ended(void *data, enum flow_outcome outcome, const struct flow_counts *counts)
{
	struct client *client = data;

	client->flow = NULL;
	report_flow(client->compartment, client->name, client->port, client->to, outcome, counts,
		    (clock_us() - client->begun_us) / 1000);
	client_free(client);
}

/* What it sent already. */
static const __u8 *first_of(const struct client *client, size_t *ret)
{
	*ret = client->reading ? client->reading->n : client->by ? client->by->n : 0;
	return client->reading ? client->reading->raw : client->by ? client->by->first : NULL;
}

/* Takes the server's end. */
static void begin_flow(struct client *client, int server)
{
	const struct egressd *e = client->compartment->egressd;
	size_t n;
	const __u8 *first = first_of(client, &n);
	const struct flow_options options = {
		.idle_ms = e->idle_ms,
		.total_ms = e->total_ms,
		.upload_left = &client->terms.allowance->left,
		.first = first,
		.first_length = n,
		.ended = on_ended,
		.data = client,
	};
	int r;

	drop_sources(client);
	r = flow_new(e->event, client->fd, server, &options, &client->flow);
	if (r) {
		reset(server);
		refuse(client, r == -EDQUOT ? RELAY_OVER_UPLOAD : RELAY_INTERNAL, strerror(-r));
		return;
	}
	client->fd = -1;
	free(client->reading);
	client->reading = NULL;
	if (!client->by)
		return;
	free(client->by->first);
	client->by->first = NULL;
}

static void begin_hello(struct client *client);

/* Who asked hears of it first, and says its ClientHello after. */
static void answer(struct client *client, int server)
{
	struct by_proxy *by = client->by;

	by->server = server;
	if (reply_connected(client->fd, by->kind)) {
		refuse(client, RELAY_HUNG_UP, "before it was told");
		return;
	}
	by->answered = true;
	if (client->terms.tls)
		begin_hello(client);
	else
		begin_flow(client, TAKE_FD(by->server));
}

/* --- resolved and dialled --- */

static const enum relay_outcome reach_outcomes[REACH_OUTCOMES] = {
	[REACH_CONNECTED] = RELAY_OUTCOMES,	 [REACH_UNRESOLVED] = RELAY_UNRESOLVED,
	[REACH_BAD_ADDRESS] = RELAY_BAD_ADDRESS, [REACH_BAD_ROUTE] = RELAY_BAD_ROUTE,
	[REACH_UNROUTED] = RELAY_UNROUTED,	 [REACH_FAILED] = RELAY_FAILED,
	[REACH_OUT_OF_TIME] = RELAY_OUT_OF_TIME, [REACH_INTERNAL] = RELAY_INTERNAL,
};

static void on_reached(void *data, enum reach_outcome outcome, int fd, const char *text)
{
	struct client *client = data;

	client->reach = NULL;
	end_asking(client, outcome == REACH_OUT_OF_TIME);
	if (outcome != REACH_CONNECTED) {
		refuse(client, reach_outcomes[outcome], text);
		return;
	}
	snprintf(client->to, sizeof(client->to), "%s", text);
	if (client->by)
		answer(client, fd);
	else
		begin_flow(client, fd);
}

/* An end after something was said is half of one, which goes through; an end before is somebody who does not wait. */
static bool has_hung_up(const struct client *client, uint32_t events)
{
	bool has_said = client->by && client->by->n;
	char byte;

	return events & (EPOLLERR | EPOLLHUP) ||
	       (events & EPOLLRDHUP && !has_said &&
		recv(client->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0);
}

static int on_waiting(sd_event_source *source _unused_, int fd _unused_, uint32_t events,
		      void *data)
{
	struct client *client = data;

	if (has_hung_up(client, events))
		refuse(client, RELAY_HUNG_UP, "before it was connected");
	return 0;
}

static int ask(struct client *client)
{
	struct compartment *c = client->compartment;
	struct egressd *e = c->egressd;
	int r = asking_begin(&e->asking, c->serial, client->name, clock_us());

	if (r < 0)
		return r;
	client->asking = r;
	return reach_begin(e->reacher, client->name, client->port, e->connect_ms, on_reached,
			   client, &client->reach);
}

static void begin_reach(struct client *client)
{
	int r;

	drop_sources(client);
	/* By edges: what it says already stays where it is. */
	r = sd_event_add_io(client->compartment->egressd->event, &client->source, client->fd,
			    EPOLLIN | EPOLLRDHUP | EPOLLET, on_waiting, client);
	if (r >= 0)
		r = ask(client);
	if (r == -EBUSY)
		refuse(client, RELAY_TOO_MANY, "too many names are being resolved");
	else if (r < 0)
		refuse(client, RELAY_INTERNAL, strerror(-r));
}

/* --- its ClientHello --- */

static const enum relay_outcome hello_outcomes[HELLO_OUTCOMES] = {
	[HELLO_NO_NAME] = RELAY_NO_SERVER_NAME, [HELLO_NO_TLS] = RELAY_NO_TLS,
	[HELLO_MALFORMED] = RELAY_BAD_TLS,	[HELLO_TOO_LONG] = RELAY_BAD_TLS,
	[HELLO_MORE] = RELAY_BAD_TLS,
};

static void judge_hello(struct client *client, enum hello_outcome outcome)
{
	const char *name = client->reading->hello.name;

	if (outcome == HELLO_MORE && client->reading->n < HELLO_RAW_SIZE)
		return;
	if (outcome != HELLO_NAME)
		refuse(client, hello_outcomes[outcome], hello_outcome_names[outcome]);
	else if (strcmp(name, client->name))
		refuse(client, RELAY_OTHER_NAME, name);
	else if (client->by)
		begin_flow(client, TAKE_FD(client->by->server));
	else
		begin_reach(client);
}

static void feed(struct client *client, size_t n)
{
	struct reading *reading = client->reading;
	const __u8 *from = reading->raw + reading->n;

	reading->n += n;
	judge_hello(client, hello_feed(&reading->hello, from, n));
}

static int on_hello(sd_event_source *source _unused_, int fd, uint32_t events _unused_, void *data)
{
	struct client *client = data;
	struct reading *reading = client->reading;
	__u8 *at = reading->raw + reading->n;
	ssize_t n = recv(fd, at, sizeof(reading->raw) - reading->n, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		refuse(client, RELAY_HUNG_UP, "before its ClientHello was there");
		return 0;
	}
	feed(client, (size_t)n);
	return 0;
}

static int on_late(sd_event_source *source _unused_, uint64_t usec _unused_, void *data)
{
	refuse(data, RELAY_OUT_OF_TIME, "no ClientHello came");
	return 0;
}

static void begin_hello(struct client *client)
{
	const struct egressd *e = client->compartment->egressd;
	int r = -ENOMEM;

	drop_sources(client);
	client->reading = calloc(1, sizeof(*client->reading));
	if (client->reading)
		r = sd_event_add_io(e->event, &client->source, client->fd, EPOLLIN, on_hello,
				    client);
	if (r >= 0)
		r = sd_event_add_time_relative(e->event, &client->deadline, CLOCK_MONOTONIC,
					       e->connect_ms * 1000ull, 1000, on_late, client);
	if (r < 0) {
		refuse(client, RELAY_INTERNAL, strerror(-r));
	} else if (client->by && client->by->n) {
		memcpy(client->reading->raw, client->by->first, client->by->n);
		feed(client, client->by->n);
	}
}

/* --- its beginning --- */

static struct client *add(struct compartment *c)
{
	struct client *client = calloc(1, sizeof(*client));

	if (!client)
		return NULL;
	client->compartment = c;
	client->next = c->clients;
	if (client->next)
		client->next->previous = client;
	c->clients = client;
	c->egressd->nshared += c->nclients >= EGRESSD_OWN_CLIENTS;
	c->nclients++;
	c->egressd->nclients++;
	return client;
}

static struct by_proxy *by_proxy_new(const struct asked *asked, const char *name)
{
	struct by_proxy *by = calloc(1, sizeof(*by));

	if (!by)
		return NULL;
	by->kind = asked->kind;
	by->server = -1;
	snprintf(by->name, sizeof(by->name), "%s", name);
	if (!asked->n)
		return by;
	by->first = malloc(asked->n);
	if (!by->first) {
		free(by);
		return NULL;
	}
	memcpy(by->first, asked->first, asked->n);
	by->n = asked->n;
	return by;
}

static struct client *make(struct compartment *c, const char *name, const struct asked *asked)
{
	struct by_proxy *by = asked ? by_proxy_new(asked, name) : NULL;
	struct client *client = !asked || by ? add(c) : NULL;

	if (!client) {
		by_proxy_free(by);
		return NULL;
	}
	client->by = by;
	client->name = by ? by->name : name;
	return client;
}

void client_new(struct compartment *c, int fd, const char *name, __u16 port,
		const struct terms *terms, const struct asked *asked)
{
	struct client *client = make(c, name, asked);

	if (!client) {
		report_connect(c, name, port, RELAY_INTERNAL, strerror(ENOMEM));
		reset(fd);
		return;
	}
	client->fd = fd;
	client->port = port;
	client->terms = *terms;
	client->begun_us = clock_us();
	client->asking = -1;
	/* Who asked by the proxy says nothing before it is told that it is connected. */
	if (terms->tls && !asked)
		begin_hello(client);
	else
		begin_reach(client);
}

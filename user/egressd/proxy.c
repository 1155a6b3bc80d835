// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "proxy.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include "client.h"
#include "egress/ask.h"
#include "reply.h"
#include "report.h"

/* A request that is not whole yet. */
struct proxy {
	struct compartment *compartment;
	struct proxy *next, *previous;
	int fd;
	__u16 port; /* of the proxy */
	sd_event_source *source, *deadline;
	bool told; /* that its greeting will do */
	struct ask ask;
};

static const struct {
	__u16 port;
	enum ask_kind kind;
} ports[] = {
	{3128, ASK_HTTP},  /* squid's, which clients and people know */
	{1080, ASK_SOCKS}, /* IANA's */
};

static void take_out(struct proxy *p)
{
	struct proxy **from = p->previous ? &p->previous->next : &p->compartment->proxies;

	*from = p->next;
	if (p->next)
		p->next->previous = p->previous;
	p->compartment->nproxies--;
	p->compartment->egressd->nproxies--;
	p->source = sd_event_source_disable_unref(p->source);
	p->deadline = sd_event_source_disable_unref(p->deadline);
}

static void proxy_free(struct proxy *p)
{
	take_out(p);
	if (p->fd >= 0) {
		client_reset_fd(p->fd);
		close(p->fd);
	}
	free(p);
}

void proxy_cut(struct compartment *c)
{
	while (c->proxies)
		proxy_free(c->proxies);
}

/* --- what came of it --- */

static void report(const struct proxy *p, enum relay_outcome outcome, const char *reason)
{
	bool known = *p->ask.name;

	report_connect(p->compartment, known ? p->ask.name : BOOK_PROXY,
		       known ? p->ask.port : p->port, outcome, reason);
}

static enum relay_outcome outcome_of(enum ask_outcome outcome)
{
	return outcome == ASK_NO_NAME || outcome == ASK_ADDRESS ? RELAY_UNLISTED
								: RELAY_BAD_REQUEST;
}

static void refuse(struct proxy *p, enum relay_outcome outcome, const char *reason)
{
	report(p, outcome, reason);
	reply_bad(TAKE_FD(p->fd), &p->ask);
	proxy_free(p);
}

/* It is none of ours any more: `rest` came behind it, and is the server's. */
static void connect_it(struct proxy *p, const void *rest, size_t n)
{
	const struct asked asked = {.kind = p->ask.kind, .first = rest, .n = n};
	struct compartment *c = p->compartment;
	char reason[FOLD_REASON] = "";
	enum relay_outcome outcome;
	struct terms terms;

	take_out(p);
	outcome = relay_judge(c, p->ask.name, p->ask.port, &terms, reason);
	if (outcome == RELAY_OUTCOMES) {
		client_new(c, p->fd, p->ask.name, p->ask.port, &terms, &asked);
	} else {
		report(p, outcome, reason);
		reply_refuse(p->fd, p->ask.kind, outcome);
	}
	free(p);
}

/* --- the request --- */

/* False: it hears of it no more. */
static bool greet(struct proxy *p)
{
	if (!p->ask.greeted || p->told)
		return true;
	p->told = true;
	return !reply_greet(p->fd);
}

static void judge(struct proxy *p, const __u8 *rest, size_t n)
{
	if (!greet(p)) {
		report(p, RELAY_HUNG_UP, "in the middle of its request");
		proxy_free(p);
	} else if (p->ask.outcome == ASK_TARGET) {
		connect_it(p, rest, n);
	} else if (p->ask.outcome != ASK_MORE) {
		refuse(p, outcome_of(p->ask.outcome), p->ask.reason);
	}
}

static int on_request(sd_event_source *source _unused_, int fd, uint32_t events _unused_,
		      void *data)
{
	struct proxy *p = data;
	__u8 bytes[ASK_SIZE];
	size_t used = 0;
	ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		report(p, RELAY_HUNG_UP, "before its request was there");
		proxy_free(p);
		return 0;
	}
	ask_feed(&p->ask, bytes, (size_t)n, &used);
	judge(p, bytes + used, (size_t)n - used);
	return 0;
}

static int on_late(sd_event_source *source _unused_, uint64_t usec _unused_, void *data)
{
	refuse(data, RELAY_OUT_OF_TIME, "no request came");
	return 0;
}

/* --- its beginning --- */

static int kind_of(__u16 port, enum ask_kind *ret)
{
	for (size_t i = 0; i < sizeof(ports) / sizeof(*ports); i++)
		if (ports[i].port == port) {
			*ret = ports[i].kind;
			return 0;
		}
	return -ENOENT;
}

static void add(struct compartment *c, struct proxy *p)
{
	p->compartment = c;
	p->next = c->proxies;
	if (p->next)
		p->next->previous = p;
	c->proxies = p;
	c->nproxies++;
	c->egressd->nproxies++;
}

static int watch(struct proxy *p)
{
	const struct egressd *e = p->compartment->egressd;
	int r = sd_event_add_io(e->event, &p->source, p->fd, EPOLLIN, on_request, p);

	/* As a whole, however it drips. */
	if (r >= 0)
		r = sd_event_add_time_relative(e->event, &p->deadline, CLOCK_MONOTONIC,
					       e->connect_ms * 1000ull, 1000, on_late, p);
	return r < 0 ? r : 0;
}

enum relay_outcome proxy_new(struct compartment *c, int fd, __u16 port, char reason[FOLD_REASON])
{
	enum ask_kind kind;
	struct proxy *p;

	if (kind_of(port, &kind)) {
		snprintf(reason, FOLD_REASON, "the proxy has 3128 (CONNECT) and 1080 (SOCKS5)");
		return RELAY_PORT;
	}
	/* Requests take of what is shared: what each compartment has as its own is for connections. */
	if (c->nproxies >= EGRESSD_PROXIES || relay_is_full(c) ||
	    c->egressd->nshared + c->egressd->nproxies >= c->egressd->max_shared) {
		snprintf(reason, FOLD_REASON, "%zu requests to the proxy are not whole yet",
			 c->nproxies);
		return RELAY_TOO_MANY;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		return RELAY_INTERNAL;
	p->fd = fd;
	p->port = port;
	p->ask.kind = kind;
	add(c, p);
	if (!watch(p))
		return RELAY_OUTCOMES;
	p->fd = -1;
	proxy_free(p);
	return RELAY_INTERNAL;
}

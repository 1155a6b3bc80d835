// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "dial.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include "base/clock.h"

struct attempt {
	struct dial *dial;
	struct address to;
	int fd; /* -1: not begun, or failed */
	sd_event_source *source;
};

struct dial {
	struct attempt attempts[DIAL_ATTEMPTS];
	size_t n, begun, pending;
	__u16 port;
	sd_event *event;
	sd_event_source *timer;
	uint64_t next_us, deadline_us; /* CLOCK_MONOTONIC */
	int error;		       /* of the attempt that failed last */
	dialled_fn dialled;
	void *data;
};

/* The families in turn, each in the order in which it came. */
static void order(struct dial *dial, const struct address *to, size_t n)
{
	size_t at[2] = {0, 0}; /* of IPv6, of IPv4 */
	static const enum address_family families[2] = {ADDRESS_V6, ADDRESS_V4};
	int turn = 0;

	for (; dial->n < DIAL_ATTEMPTS && (at[0] < n || at[1] < n); turn = !turn) {
		while (at[turn] < n && to[at[turn]].family != families[turn])
			at[turn]++;
		if (at[turn] < n)
			dial->attempts[dial->n++] =
				(struct attempt){.dial = dial, .to = to[at[turn]++], .fd = -1};
	}
}

static void end_attempt(struct attempt *attempt)
{
	attempt->source = sd_event_source_disable_unref(attempt->source);
	attempt->dial->pending -= attempt->fd >= 0;
	cleanup_closep(&attempt->fd);
	attempt->fd = -1;
}

void dial_free(struct dial *dial)
{
	if (!dial)
		return;
	for (size_t i = 0; i < dial->n; i++)
		end_attempt(&dial->attempts[i]);
	sd_event_source_disable_unref(dial->timer);
	free(dial);
}

/* It is gone before who waited is told. */
static void end(struct dial *dial, int result, int fd, const struct address *to)
{
	const struct address led = to ? *to : (struct address){0};
	dialled_fn dialled = dial->dialled;
	void *data = dial->data;

	dial_free(dial);
	dialled(data, result, fd, &led);
}

static int on_answer(sd_event_source *source, int fd, uint32_t events, void *data);

static int start_connect(int fd, const struct address *to, __u16 port)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	int r;

	memcpy(&v4.sin_addr, to->bytes, sizeof(v4.sin_addr));
	memcpy(&v6.sin6_addr, to->bytes, sizeof(v6.sin6_addr));
	r = to->family == ADDRESS_V4 ? connect(fd, (struct sockaddr *)&v4, sizeof(v4))
				     : connect(fd, (struct sockaddr *)&v6, sizeof(v6));
	return r && errno != EINPROGRESS ? -errno : 0;
}

static int begin(struct attempt *attempt)
{
	struct dial *dial = attempt->dial;
	int family = attempt->to.family == ADDRESS_V4 ? AF_INET : AF_INET6;
	int r;

	attempt->fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
	if (attempt->fd < 0)
		return -errno;
	dial->pending++;
	r = start_connect(attempt->fd, &attempt->to, dial->port);
	if (!r)
		r = sd_event_add_io(dial->event, &attempt->source, attempt->fd, EPOLLOUT, on_answer,
				    attempt);
	if (r < 0)
		end_attempt(attempt);
	return r < 0 ? r : 0;
}

/* One that fails at once makes room for the next. */
static void begin_due(struct dial *dial)
{
	uint64_t now = clock_us();

	while (dial->begun < dial->n && (now >= dial->next_us || !dial->pending)) {
		int r = begin(&dial->attempts[dial->begun++]);

		if (r)
			dial->error = r;
		else
			dial->next_us = now + DIAL_APART_MS * 1000ull;
	}
}

/* When there is something to do, though nobody answers: at once where nobody can. */
static int set_timer(struct dial *dial)
{
	uint64_t at = dial->begun < dial->n && dial->next_us < dial->deadline_us
			      ? dial->next_us
			      : dial->deadline_us;
	int r = sd_event_source_set_time(dial->timer, dial->pending ? at : 0);

	return r < 0 ? r : sd_event_source_set_enabled(dial->timer, SD_EVENT_ONESHOT);
}

static void step(struct dial *dial)
{
	int r;

	begin_due(dial);
	r = dial->pending ? set_timer(dial) : dial->error;
	if (r < 0)
		end(dial, r, -1, NULL);
}

static int on_timer(sd_event_source *source _unused_, uint64_t usec _unused_, void *data)
{
	struct dial *dial = data;

	if (clock_us() >= dial->deadline_us)
		end(dial, -ETIMEDOUT, -1, NULL);
	else
		step(dial);
	return 0;
}

/* 0: it has answered. */
static int outcome(int fd, uint32_t events)
{
	socklen_t size = sizeof(int);
	int error = 0;

	if (!(events & (EPOLLERR | EPOLLHUP)))
		return 0;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) ? -errno : -error;
}

static int on_answer(sd_event_source *source _unused_, int fd, uint32_t events, void *data)
{
	struct attempt *attempt = data;
	struct dial *dial = attempt->dial;
	int r = outcome(fd, events);

	if (r) {
		end_attempt(attempt);
		dial->error = r;
		dial->next_us = 0; /* the next need not wait */
		step(dial);
		return 0;
	}
	/* It lives on, and is the dial's no more. */
	attempt->source = sd_event_source_disable_unref(attempt->source);
	dial->pending--;
	end(dial, 0, TAKE_FD(attempt->fd), &attempt->to);
	return 0;
}

int dial_new(sd_event *event, const struct address *to, size_t n, __u16 port,
	     unsigned int deadline_ms, dialled_fn dialled, void *data, struct dial **ret)
{
	_cleanup_dial_ struct dial *dial = NULL;
	int r;

	if (!n || !deadline_ms)
		return -EINVAL;
	dial = calloc(1, sizeof(*dial));
	if (!dial)
		return -ENOMEM;
	dial->event = event;
	dial->port = port;
	dial->dialled = dialled;
	dial->data = data;
	order(dial, to, n);
	dial->next_us = clock_us();
	dial->deadline_us = dial->next_us + deadline_ms * 1000ull;
	r = sd_event_add_time(event, &dial->timer, CLOCK_MONOTONIC, dial->deadline_us, 1000,
			      on_timer, dial);
	if (r < 0)
		return r;
	begin_due(dial);
	r = set_timer(dial);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(dial);
	return 0;
}

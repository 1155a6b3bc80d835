// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "dial.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include "base/clock.h"

struct attempt {
	struct address to;
	int fd; /* -1: not begun, or failed */
};

struct dial {
	struct attempt attempts[DIAL_ATTEMPTS];
	size_t n, begun, pending;
	__u16 port;
	int epoll, timer;
	uint64_t next_ms, deadline_ms; /* CLOCK_MONOTONIC */
	int error;		       /* of the attempt that failed last */
};

static uint64_t now_ms(void)
{
	return clock_us() / 1000;
}

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
			dial->attempts[dial->n++] = (struct attempt){to[at[turn]++], -1};
	}
}

static int watch(const struct dial *dial, int fd, uint32_t events, size_t index)
{
	struct epoll_event event = {.events = events, .data.u64 = index};

	return epoll_ctl(dial->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int dial_new(const struct address *to, size_t n, __u16 port, unsigned int deadline_ms,
	     struct dial **ret)
{
	_cleanup_dial_ struct dial *dial = NULL;
	int r;

	if (!n || !deadline_ms)
		return -EINVAL;
	dial = calloc(1, sizeof(*dial));
	if (!dial)
		return -ENOMEM;
	dial->port = port;
	order(dial, to, n);
	dial->next_ms = now_ms();
	dial->deadline_ms = dial->next_ms + deadline_ms;
	dial->timer = -1;
	dial->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (dial->epoll >= 0)
		dial->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (dial->timer < 0)
		return -errno;
	r = watch(dial, dial->timer, EPOLLIN, DIAL_ATTEMPTS);
	if (!r)
		*ret = TAKE_PTR(dial);
	return r;
}

static void end_attempt(struct dial *dial, struct attempt *attempt)
{
	dial->pending -= attempt->fd >= 0;
	cleanup_closep(&attempt->fd);
	attempt->fd = -1;
}

void dial_free(struct dial *dial)
{
	if (!dial)
		return;
	for (size_t i = 0; i < dial->n; i++)
		end_attempt(dial, &dial->attempts[i]);
	cleanup_closep(&dial->timer);
	cleanup_closep(&dial->epoll);
	free(dial);
}

int dial_fd(const struct dial *dial)
{
	return dial->epoll;
}

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

static int begin(struct dial *dial, size_t index)
{
	struct attempt *attempt = &dial->attempts[index];
	int family = attempt->to.family == ADDRESS_V4 ? AF_INET : AF_INET6;
	int r;

	attempt->fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
	if (attempt->fd < 0)
		return -errno;
	dial->pending++;
	r = start_connect(attempt->fd, &attempt->to, dial->port);
	if (!r)
		r = watch(dial, attempt->fd, EPOLLOUT, index);
	if (r)
		end_attempt(dial, attempt);
	return r;
}

/* One that fails at once makes room for the next. */
static void begin_due(struct dial *dial)
{
	uint64_t now = now_ms();

	while (dial->begun < dial->n && (now >= dial->next_ms || !dial->pending)) {
		int r = begin(dial, dial->begun++);

		if (r)
			dial->error = r;
		else
			dial->next_ms = now + DIAL_APART_MS;
	}
}

/* 0: it has answered. */
static int outcome(struct dial *dial, struct attempt *attempt)
{
	socklen_t size = sizeof(int);
	int error = 0;

	if (getsockopt(attempt->fd, SOL_SOCKET, SO_ERROR, &error, &size))
		error = errno;
	if (!error)
		return 0;
	dial->error = -error;
	dial->next_ms = 0; /* the next need not wait */
	end_attempt(dial, attempt);
	return -error;
}

/* The first that has answered, NULL: none has. */
static struct attempt *take_answers(struct dial *dial)
{
	struct epoll_event events[DIAL_ATTEMPTS + 1];
	int n = epoll_wait(dial->epoll, events, DIAL_ATTEMPTS + 1, 0);

	for (int i = 0; i < n; i++) {
		size_t index = events[i].data.u64;
		uint64_t ticks;

		if (index < DIAL_ATTEMPTS && !outcome(dial, &dial->attempts[index]))
			return &dial->attempts[index];
		if (index == DIAL_ATTEMPTS && read(dial->timer, &ticks, sizeof(ticks)) < 0)
			continue; /* it was set anew since */
	}
	return NULL;
}

static int set_timer(struct dial *dial)
{
	uint64_t at = dial->begun < dial->n && dial->next_ms < dial->deadline_ms
			      ? dial->next_ms
			      : dial->deadline_ms;
	struct itimerspec spec = {.it_value = {.tv_sec = (time_t)(at / 1000),
					       .tv_nsec = (long)(at % 1000) * 1000000}};

	return timerfd_settime(dial->timer, TFD_TIMER_ABSTIME, &spec, NULL) ? -errno : 0;
}

int dial_step(struct dial *dial, int *ret_fd, struct address *ret_to)
{
	struct attempt *answered = take_answers(dial);
	int r;

	if (answered) {
		if (ret_to)
			*ret_to = answered->to;
		/* It lives on, and is the dial's no more. */
		epoll_ctl(dial->epoll, EPOLL_CTL_DEL, answered->fd, NULL);
		*ret_fd = TAKE_FD(answered->fd);
		dial->pending--;
		return 0;
	}
	if (now_ms() >= dial->deadline_ms)
		return -ETIMEDOUT;
	begin_due(dial);
	if (!dial->pending)
		return dial->error;
	r = set_timer(dial);
	return r ? r : -EINPROGRESS;
}

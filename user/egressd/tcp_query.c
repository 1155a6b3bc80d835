// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* DNS over TCP (RFC 7766): a length of two bytes before each message, and queries that do not wait for answers. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include "base/clock.h"
#include "client.h"
#include "report.h"
#include "stub.h"

#define LENGTH 2
/* Of a query; a longer one ends the connection. */
#define QUERY_SIZE 2048
#define IDLE_US 30000000ull

struct tcp_query {
	struct compartment *compartment;
	struct tcp_query *next, *previous;
	int fd;
	sd_event_source *source, *idle;
	__u8 in[LENGTH + QUERY_SIZE];
	size_t nin;
	__u8 out[LENGTH + ANSWER_SIZE];
	size_t nout, sent;
	bool ended; /* by the other end: what is answered yet goes out */
};

void tcp_query_free(struct tcp_query *q)
{
	struct tcp_query **from = q->previous ? &q->previous->next : &q->compartment->tcp_queries;

	*from = q->next;
	if (q->next)
		q->next->previous = q->previous;
	q->compartment->ntcp_queries--;
	sd_event_source_disable_unref(q->source);
	sd_event_source_disable_unref(q->idle);
	cleanup_closep(&q->fd);
	free(q);
}

/* --- answered, one after another --- */

/* 0: all is written; -EAGAIN; another -errno. */
static int write_out(struct tcp_query *q)
{
	while (q->sent < q->nout) {
		ssize_t n = send(q->fd, q->out + q->sent, q->nout - q->sent,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0)
			return -errno;
		q->sent += (size_t)n;
	}
	q->nout = q->sent = 0;
	return 0;
}

/* The whole query at the beginning of `in`; 0: it is not there yet. */
static size_t query_length(const struct tcp_query *q)
{
	size_t length = q->nin < LENGTH ? 0 : (size_t)(q->in[0] << 8 | q->in[1]);

	return q->nin < LENGTH + length ? 0 : length;
}

/* Longer than any, or nothing at all. */
static bool is_bad(const struct tcp_query *q)
{
	size_t length = q->nin < LENGTH ? 1 : (size_t)(q->in[0] << 8 | q->in[1]);

	return !length || length > QUERY_SIZE;
}

static void answer_first(struct tcp_query *q, size_t length)
{
	struct answer answer = {0};

	stub_answer(q->compartment, q->in + LENGTH, length, &answer);
	memmove(q->in, q->in + LENGTH + length, q->nin - LENGTH - length);
	q->nin -= LENGTH + length;
	if (!answer.length)
		return;
	q->out[0] = (__u8)(answer.length >> 8);
	q->out[1] = (__u8)answer.length;
	memcpy(q->out + LENGTH, answer.wire, answer.length);
	q->nout = LENGTH + answer.length;
	/* Only whole queries count: bytes that drip do not prolong it. */
	sd_event_source_set_time(q->idle, clock_us() + IDLE_US);
}

/* As many as are there: those of one buffer. 0, -EAGAIN: it reads too slowly; another -errno. */
static int answer_all(struct tcp_query *q)
{
	int r = write_out(q);
	size_t length;

	while (!r && (length = query_length(q))) {
		answer_first(q, length);
		r = write_out(q);
	}
	report_gave(q->compartment);
	if (!r && is_bad(q))
		return -EMSGSIZE;
	return r;
}

/* 0, at the end too; -errno. */
static int read_in(struct tcp_query *q)
{
	ssize_t n = recv(q->fd, q->in + q->nin, sizeof(q->in) - q->nin, MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	q->nin += (size_t)n;
	q->ended = !n;
	return 0;
}

/* While an answer waits nothing is read. */
static int on_connection(sd_event_source *source, int fd _unused_, uint32_t events, void *data)
{
	struct tcp_query *q = data;
	int r = 0;

	if (events & EPOLLERR)
		r = -ECONNRESET;
	else if (events & (EPOLLIN | EPOLLHUP) && !q->nout)
		r = read_in(q);
	if (!r)
		r = answer_all(q);
	if ((r && r != -EAGAIN) || (!r && q->ended)) {
		if (r)
			client_reset_fd(q->fd);
		tcp_query_free(q);
		return 0;
	}
	sd_event_source_set_io_events(source, r ? EPOLLOUT : EPOLLIN);
	return 0;
}

static int on_idle(sd_event_source *source _unused_, uint64_t usec _unused_, void *data)
{
	tcp_query_free(data);
	return 0;
}

static void add(struct compartment *c, struct tcp_query *q)
{
	q->next = c->tcp_queries;
	if (q->next)
		q->next->previous = q;
	c->tcp_queries = q;
	c->ntcp_queries++;
}

int tcp_query_new(struct compartment *c, int fd)
{
	struct tcp_query *q;
	int r;

	if (c->ntcp_queries >= EGRESSD_TCP_QUERIES)
		return -EBUSY;
	q = calloc(1, sizeof(*q));
	if (!q)
		return -ENOMEM;
	q->compartment = c;
	q->fd = fd;
	add(c, q);
	r = sd_event_add_io(c->egressd->event, &q->source, fd, EPOLLIN, on_connection, q);
	if (r >= 0)
		r = sd_event_add_time_relative(c->egressd->event, &q->idle, CLOCK_MONOTONIC,
					       IDLE_US, 0, on_idle, q);
	if (r < 0) {
		q->fd = -1;
		tcp_query_free(q);
	}
	return r < 0 ? r : 0;
}

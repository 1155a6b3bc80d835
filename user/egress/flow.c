// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "flow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <linux/sockios.h>
#include "base/cleanup.h"
#include "base/clock.h"

/* What a pipe is made to hold when it has carried as much: 64 KiB, as it is born, move two thirds of what 1 MiB do. A
 * user may have 64 MiB in pipes (pipe(7), pipe-user-pages-soft), above which they are born with two pages: so few are
 * large at a time. Refused, it stays as it is. */
#define PIPE_LARGE 1048576
#define PIPES_LARGE 16
/* What is less goes through memory: a flow that never carries more at a time has no pipes, which are eight system calls
 * of a short connection, and pages that a user has not many of. The smallest pipe holds it. */
#define SMALL_BYTES 8192
/* No event tells that a connection's queue is empty. */
#define DRAIN_US 50000
/* What one direction carries before the loop looks at others. */
#define TURN_BYTES 1048576

const char *const flow_outcome_names[FLOW_OUTCOMES] = {
	[FLOW_ENDED] = "ended",
	[FLOW_RESET] = "reset",
	[FLOW_IDLE] = "idle",
	[FLOW_OUT_OF_TIME] = "out of time",
	[FLOW_OVER_UPLOAD] = "over its upload allowance",
	[FLOW_CUT] = "cut",
	[FLOW_INTERNAL] = "internal error",
};

struct end {
	int fd;
	sd_event_source *source;
	/* Edge-triggered: true until the system call says otherwise. */
	bool readable, writable;
	bool awaits_room; /* once it was full */
	/* Nothing comes any more but what is in the queue, and its end: an event told so. */
	bool hung_up;
	/* Reset: what had come from it before is handed over yet, as it is to who is connected directly. */
	bool failed;
};

static unsigned int large_pipes;

struct direction {
	struct end *from, *to;
	int pipe[2];	   /* -1: none yet */
	size_t size, held; /* of the pipe, and what is in it */
	bool bulk;	   /* the last turn carried much */
	bool large;	   /* one of PIPES_LARGE */
	__u64 bytes;	   /* handed over */
	__u64 *left;	   /* what may be taken yet; NULL: without end */
	bool ended, told;  /* from's end was read, and said to `to` */
};

enum { UP, DOWN, DIRECTIONS };

struct flow {
	struct end client, server;
	struct direction directions[DIRECTIONS];
	sd_event_source *timer, *turn; /* turn: made when there is more than one carries */
	__u64 idle_us;
	__u64 moved_us, ends_us; /* when last, at the latest; CLOCK_MONOTONIC */
	bool drains;		 /* what came before a reset is on its way */
	int unsent;		 /* at the last look for idleness */
	flow_ended_fn ended;
	void *data;
};

/* --- the end --- */

static void end_done(struct end *end)
{
	sd_event_source_disable_unref(end->source);
	cleanup_closep(&end->fd);
}

static void flow_free(struct flow *flow)
{
	if (!flow)
		return;
	sd_event_source_disable_unref(flow->timer);
	sd_event_source_disable_unref(flow->turn);
	for (size_t i = 0; i < DIRECTIONS; i++) {
		large_pipes -= flow->directions[i].large;
		cleanup_closep(&flow->directions[i].pipe[0]);
		cleanup_closep(&flow->directions[i].pipe[1]);
	}
	end_done(&flow->client);
	end_done(&flow->server);
	free(flow);
}
DEFINE_CLEANUP(struct flow *, flow_free)

struct flow_counts flow_counts(const struct flow *flow)
{
	return (struct flow_counts){flow->directions[UP].bytes, flow->directions[DOWN].bytes};
}

/* Bytes that the other side's kernel has not acknowledged; what close(2) with a linger of 0 throws away. */
static int unsent(const struct end *end)
{
	int bytes = 0;

	return ioctl(end->fd, SIOCOUTQ, &bytes) ? 0 : bytes;
}

/* Whoever reads must not take what came for all there was: close(2) sends RST and not FIN then. */
static void reset(const struct end *end)
{
	static const struct linger at_once = {.l_onoff = 1};

	setsockopt(end->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

static void end_flow(struct flow *flow, enum flow_outcome outcome)
{
	struct flow_counts counts = flow_counts(flow);
	flow_ended_fn ended = flow->ended;
	void *data = flow->data;

	if (outcome != FLOW_ENDED) {
		reset(&flow->client);
		reset(&flow->server);
	}
	flow_free(flow);
	ended(data, outcome, &counts);
}

void flow_cut(struct flow *flow)
{
	end_flow(flow, FLOW_CUT);
}

/* --- one direction --- */

static void enlarge(struct direction *d)
{
	int size;

	if (d->large || !d->bulk || d->bytes < PIPE_LARGE || large_pipes >= PIPES_LARGE)
		return;
	d->large = true;
	large_pipes++;
	size = fcntl(d->pipe[1], F_SETPIPE_SZ, PIPE_LARGE);
	if (size > 0)
		d->size = (size_t)size;
}

#define EVENTS (EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLET)

/* Room is waited for from the first time on that there was none: the event that it is there at first would tell nothing
 * new. */
static void note_full(struct end *end)
{
	end->writable = false;
	if (end->awaits_room)
		return;
	end->awaits_room = true;
	if (sd_event_source_set_io_events(end->source, EVENTS | EPOLLOUT) < 0)
		end->failed = true;
}

static ssize_t splice_once(int from, int to, size_t most)
{
	ssize_t n;

	do
		n = splice(from, NULL, to, NULL, most, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* Is there more than the end? 1, 0 or -errno. */
static int has_more(struct end *from)
{
	char byte;
	ssize_t n = recv(from->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return n < 0 ? -errno : n > 0;
}

/* Its allowance is used up: another byte is one too many, the end is not. */
static int take_nothing(struct direction *d)
{
	int r = has_more(d->from);

	if (r > 0)
		return -EDQUOT;
	d->ended = r == 0;
	return r;
}

static int open_pipe(struct direction *d)
{
	int size;

	if (d->pipe[0] >= 0)
		return 0;
	size = pipe2(d->pipe, O_CLOEXEC | O_NONBLOCK);
	if (!size)
		size = fcntl(d->pipe[1], F_GETPIPE_SZ);
	if (size < 0)
		return -errno;
	d->size = (size_t)size;
	return 0;
}

static size_t may_take(const struct direction *d, size_t most)
{
	return d->left && *d->left < most ? (size_t)*d->left : most;
}

static void note_taken(struct direction *d, ssize_t n)
{
	d->ended = n == 0;
	if (d->left)
		*d->left -= (__u64)n;
}

/* From the connection into the pipe. Bytes, 0 at its end, -errno. */
static ssize_t take(struct direction *d)
{
	ssize_t n;

	if (d->left && !*d->left)
		return take_nothing(d);
	n = splice_once(d->from->fd, d->pipe[1], may_take(d, d->size - d->held));
	if (n < 0)
		return n;
	/* Urgent data stops splice(2) as the end does: what is behind it would be lost. */
	if (!n && has_more(d->from) > 0)
		return -EPROTO;
	note_taken(d, n);
	d->held += (size_t)n;
	return n;
}

/* Out of the pipe into the other connection. Bytes or -errno. */
static ssize_t hand_over(struct direction *d)
{
	ssize_t n = splice_once(d->pipe[0], d->to->fd, d->held);

	if (n <= 0)
		return n ? n : -EPIPE;
	d->held -= (size_t)n;
	d->bytes += (__u64)n;
	return n;
}

/* A pipe is full when its slots are, whatever they hold, and says so as an empty connection does: only with an
 * empty pipe is it the connection's word. */
static size_t try_take(struct direction *d, int *ret_error)
{
	ssize_t n;

	if (d->ended || !d->from->readable || d->to->failed || d->held >= d->size)
		return 0;
	n = take(d);
	if (n >= 0)
		return (size_t)n;
	if (n == -EDQUOT)
		*ret_error = -EDQUOT;
	else if (n != -EAGAIN)
		d->from->failed = true;
	d->from->readable = n == -EAGAIN && d->held;
	return 0;
}

static size_t try_hand_over(struct direction *d)
{
	ssize_t n;

	if (!d->held || !d->to->writable)
		return 0;
	n = hand_over(d);
	if (n >= 0)
		return (size_t)n;
	d->to->failed = d->to->failed || n != -EAGAIN;
	note_full(d->to);
	return 0;
}

/* From the connection into memory. Bytes, 0 at its end, -errno. What is there is read to urgent data and not past it:
 * the event that tells of it comes first. */
static ssize_t take_small(struct direction *d, char small[SMALL_BYTES])
{
	ssize_t n;

	if (d->left && !*d->left)
		return take_nothing(d);
	do
		n = recv(d->from->fd, small, may_take(d, SMALL_BYTES), MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	note_taken(d, n);
	return n;
}

/* 0 or -errno: what could not be handed over has no place, either. */
static int hand_over_small(struct direction *d, const char *small, size_t n)
{
	ssize_t sent = send(d->to->fd, small, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	size_t given = sent > 0 ? (size_t)sent : 0;
	int r;

	d->to->failed = d->to->failed || (sent < 0 && errno != EAGAIN && errno != EINTR);
	d->bytes += given;
	if (given == n || d->to->failed)
		return 0;
	r = open_pipe(d);
	if (r)
		return r;
	sent = write(d->pipe[1], small + given, n - given);
	if (sent != (ssize_t)(n - given))
		return sent < 0 ? -errno : -EAGAIN;
	d->held = n - given;
	return 0;
}

static size_t carry_small(struct direction *d, int *ret_error)
{
	char small[SMALL_BYTES];
	ssize_t n;

	if (d->ended || !d->from->readable || d->to->failed || !d->to->writable)
		return 0;
	n = take_small(d, small);
	if (n > 0) {
		d->bulk = n == SMALL_BYTES;
		/* Whatever comes after that is told of by another event. */
		d->from->readable = d->bulk || d->from->hung_up || (d->left && !*d->left);
		*ret_error = hand_over_small(d, small, (size_t)n);
		return (size_t)n;
	}
	if (n == -EDQUOT)
		*ret_error = -EDQUOT;
	else if (n && n != -EAGAIN)
		d->from->failed = true;
	d->from->readable = false;
	return 0;
}

/* Much goes through the pipe, and what comes behind that. */
static size_t carry(struct direction *d, int *ret_error)
{
	size_t n;

	if (!d->held && !d->bulk)
		return carry_small(d, ret_error);
	*ret_error = open_pipe(d);
	if (*ret_error)
		return 0;
	n = try_take(d, ret_error);
	return n + try_hand_over(d);
}

static void tell_end(struct direction *d)
{
	if (!d->ended || d->held || d->told || d->from->failed)
		return;
	d->told = true;
	if (shutdown(d->to->fd, SHUT_WR))
		d->to->failed = true;
}

/* 0 or -errno. *ret_moved: something was; *ret_more: it is not done. */
static int move(struct direction *d, bool *ret_moved, bool *ret_more)
{
	size_t sum = 0, n = 1;
	int r = 0;

	while (!r && n && sum < 2 * TURN_BYTES) {
		n = carry(d, &r);
		sum += n;
	}
	*ret_moved = *ret_moved || sum;
	*ret_more = *ret_more || n;
	if (sum && sum <= SMALL_BYTES)
		d->bulk = false;
	enlarge(d);
	tell_end(d);
	return r;
}

/* --- both --- */

/* Of one that failed: what came from it and is not with the other yet. */
static bool has_rest(const struct direction *d)
{
	return d->held || (d->from->readable && !d->ended);
}

/* One end has failed, and all that came from it is with the other, or never will be. *ret_drains: it is on its way. */
static bool is_reset(const struct direction *from, bool *ret_drains)
{
	if (!from->from->failed)
		return false;
	if (from->to->failed)
		return true;
	if (has_rest(from))
		return false;
	*ret_drains = *ret_drains || unsent(from->to);
	return !unsent(from->to);
}

static void arm(sd_event_source *timer, __u64 after_us)
{
	sd_event_source_set_time(timer, clock_us() + after_us);
	sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

static int on_turn(sd_event_source *source, void *data);

static int take_turn(struct flow *flow)
{
	if (flow->turn)
		return sd_event_source_set_enabled(flow->turn, SD_EVENT_ONESHOT);
	return sd_event_add_defer(sd_event_source_get_event(flow->timer), &flow->turn, on_turn,
				  flow);
}

static int run(struct flow *flow)
{
	struct direction *up = &flow->directions[UP], *down = &flow->directions[DOWN];
	bool moved = false, more = false;
	int r = move(up, &moved, &more);

	if (!r)
		r = move(down, &moved, &more);
	if (moved)
		flow->moved_us = clock_us();
	flow->drains = false;
	if (r)
		end_flow(flow, r == -EDQUOT ? FLOW_OVER_UPLOAD : FLOW_INTERNAL);
	else if (is_reset(up, &flow->drains) || is_reset(down, &flow->drains))
		end_flow(flow, FLOW_RESET);
	else if (up->told && down->told)
		end_flow(flow, FLOW_ENDED);
	else if (more && take_turn(flow) < 0)
		end_flow(flow, FLOW_INTERNAL);
	else if (!more && flow->drains)
		arm(flow->timer, DRAIN_US);
	return 0;
}

static int on_turn(sd_event_source *source _unused_, void *data)
{
	return run(data);
}

static int on_end(sd_event_source *source _unused_, int fd, uint32_t events, void *data)
{
	struct flow *flow = data;
	struct end *end = fd == flow->client.fd ? &flow->client : &flow->server;

	/* After its end was read no system call would meet a reset any more. Urgent data has no way through a pipe. */
	end->failed = end->failed || events & (EPOLLERR | EPOLLPRI);
	end->hung_up = end->hung_up || events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR);
	end->readable = end->readable || events & (EPOLLIN | EPOLLHUP | EPOLLERR);
	end->writable = !end->failed && (end->writable || events & (EPOLLOUT | EPOLLHUP));
	return run(flow);
}

/* Who reads slowly empties a queue of megabytes without a word to us. */
static void note_drained(struct flow *flow)
{
	int now = unsent(&flow->client) + unsent(&flow->server);

	if (now != flow->unsent)
		flow->moved_us = clock_us();
	flow->unsent = now;
}

static int on_timer(sd_event_source *source, uint64_t usec _unused_, void *data)
{
	struct flow *flow = data;
	__u64 at, now = clock_us();

	note_drained(flow);
	at = flow->moved_us + flow->idle_us;
	if (now >= flow->ends_us) {
		end_flow(flow, FLOW_OUT_OF_TIME);
		return 0;
	}
	if (now >= at) {
		end_flow(flow, FLOW_IDLE);
		return 0;
	}
	arm(source, (at < flow->ends_us ? at : flow->ends_us) - now);
	return flow->drains ? run(flow) : 0;
}

/* --- the beginning --- */

static int check(const struct flow_options *options)
{
	if (!options->idle_ms || !options->total_ms || !options->ended)
		return -EINVAL;
	if (options->first_length > FLOW_FIRST)
		return -E2BIG;
	if (options->upload_left && options->first_length > *options->upload_left)
		return -EDQUOT;
	return 0;
}

/* 1: there is something to hand over. */
static int put_first(struct direction *up, const struct flow_options *options)
{
	ssize_t n;
	int r;

	if (!options->first_length)
		return 0;
	r = open_pipe(up);
	if (r)
		return r;
	n = write(up->pipe[1], options->first, options->first_length);
	if (n != (ssize_t)options->first_length)
		return n < 0 ? -errno : -EAGAIN;
	up->held = options->first_length;
	if (up->left)
		*up->left -= options->first_length;
	return 1;
}

static int watch(sd_event *event, struct flow *flow, struct end *end)
{
	int on = 1, r;

	/* Who writes decides how much a segment has. */
	setsockopt(end->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	r = sd_event_add_io(event, &end->source, end->fd, EVENTS, on_end, flow);
	return r < 0 ? r : 0;
}

static int set_timer(sd_event *event, struct flow *flow, const struct flow_options *options)
{
	__u64 now = clock_us(), least_ms = options->idle_ms < options->total_ms ? options->idle_ms
										: options->total_ms;

	flow->idle_us = (__u64)options->idle_ms * 1000;
	flow->moved_us = now;
	flow->ends_us = now + (__u64)options->total_ms * 1000;
	return sd_event_add_time(event, &flow->timer, CLOCK_MONOTONIC, now + least_ms * 1000, 1000,
				 on_timer, flow);
}

static int set_up(sd_event *event, struct flow *flow, const struct flow_options *options)
{
	int r = set_timer(event, flow, options);

	if (r >= 0)
		r = watch(event, flow, &flow->client);
	if (!r)
		r = watch(event, flow, &flow->server);
	if (!r)
		r = put_first(&flow->directions[UP], options);
	if (r > 0)
		r = take_turn(flow);
	return r < 0 ? r : 0;
}

int flow_new(sd_event *event, int client, int server, const struct flow_options *options,
	     struct flow **ret)
{
	_cleanup_(cleanup_flow_free) struct flow *flow = NULL;
	int r = check(options);

	if (r)
		return r;
	flow = calloc(1, sizeof(*flow));
	if (!flow)
		return -ENOMEM;
	*flow = (struct flow){
		/* Until a system call says otherwise. */
		.client = {.fd = client, .writable = true},
		.server = {.fd = server, .writable = true},
		.directions = {[UP] = {.from = &flow->client,
				       .to = &flow->server,
				       .pipe = {-1, -1},
				       .left = options->upload_left},
			       [DOWN] = {.from = &flow->server,
					 .to = &flow->client,
					 .pipe = {-1, -1}}},
		.ended = options->ended,
		.data = options->data,
	};
	r = set_up(event, flow, options);
	if (!r) {
		*ret = TAKE_PTR(flow);
		return 0;
	}
	flow->client.fd = flow->server.fd = -1;
	return r;
}

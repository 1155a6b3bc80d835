// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "resolve_events.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <unbound-event.h>

struct events {
	struct ub_event_base base; /* first: libunbound has its address */
	sd_event *loop;
};

struct waiter {
	struct ub_event event; /* first, too */
	sd_event *loop;
	int fd; /* -1: none */
	short bits;
	void (*called)(int fd, short bits, void *data);
	void *data;
	uint64_t timeout_us;
	sd_event_source *io, *timer; /* NULL: not waited for */
};

static struct waiter *waiter_of(struct ub_event *event)
{
	return (struct waiter *)event;
}

static int stop(struct ub_event *event)
{
	struct waiter *w = waiter_of(event);

	w->io = sd_event_source_disable_unref(w->io);
	w->timer = sd_event_source_disable_unref(w->timer);
	return 0;
}

/* The waiter may be gone when it returns. */
static void call(struct waiter *w, short bits)
{
	if (!(w->bits & UB_EV_PERSIST)) {
		stop(&w->event);
	} else if (w->timer) {
		sd_event_source_set_time_relative(w->timer, w->timeout_us);
		sd_event_source_set_enabled(w->timer, SD_EVENT_ONESHOT);
	}
	w->called(w->fd, bits, w->data);
}

static int on_io(sd_event_source *source _unused_, int fd _unused_, uint32_t events, void *data)
{
	struct waiter *w = data;
	bool failed = events & (EPOLLERR | EPOLLHUP);
	int bits = (failed || events & EPOLLIN ? UB_EV_READ : 0) |
		   (failed || events & EPOLLOUT ? UB_EV_WRITE : 0);

	call(w, (short)(bits & w->bits));
	return 0;
}

static int on_timer(sd_event_source *source _unused_, uint64_t usec _unused_, void *data)
{
	call(data, UB_EV_TIMEOUT);
	return 0;
}

/* 0 or -1, which libunbound logs. */
static int start(struct ub_event *event, struct timeval *timeout)
{
	struct waiter *w = waiter_of(event);
	uint32_t events =
		(w->bits & UB_EV_READ ? EPOLLIN : 0) | (w->bits & UB_EV_WRITE ? EPOLLOUT : 0);
	int r = 0;

	stop(event);
	if (events && w->fd >= 0)
		r = sd_event_add_io(w->loop, &w->io, w->fd, events, on_io, w);
	if (r >= 0 && timeout) {
		w->timeout_us = (uint64_t)timeout->tv_sec * 1000000 + (uint64_t)timeout->tv_usec;
		r = sd_event_add_time_relative(w->loop, &w->timer, CLOCK_MONOTONIC, w->timeout_us,
					       1000, on_timer, w);
	}
	if (r >= 0)
		return 0;
	stop(event);
	return -1;
}

static int start_timer(struct ub_event *event, struct ub_event_base *base _unused_,
		       void (*called)(int, short, void *), void *data, struct timeval *timeout)
{
	struct waiter *w = waiter_of(event);

	w->called = called;
	w->data = data;
	w->bits = UB_EV_TIMEOUT;
	return start(event, timeout);
}

static void add_bits(struct ub_event *event, short bits)
{
	stop(event);
	waiter_of(event)->bits |= bits;
}

static void del_bits(struct ub_event *event, short bits)
{
	stop(event);
	waiter_of(event)->bits &= (short)~bits;
}

static void set_fd(struct ub_event *event, int fd)
{
	stop(event);
	waiter_of(event)->fd = fd;
}

static void free_waiter(struct ub_event *event)
{
	stop(event);
	free(event);
}

/* Of signals, and of what Windows has, there is nothing here. */
static struct ub_event_vmt waiter_calls = {
	.add_bits = add_bits,
	.del_bits = del_bits,
	.set_fd = set_fd,
	.free = free_waiter,
	.add = start,
	.del = stop,
	.add_timer = start_timer,
	.del_timer = stop,
};

static struct ub_event *new_waiter(struct ub_event_base *base, int fd, short bits,
				   void (*called)(int, short, void *), void *data)
{
	struct waiter *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	*w = (struct waiter){.event = {UB_EVENT_MAGIC, &waiter_calls},
			     .loop = ((struct events *)base)->loop,
			     .fd = fd,
			     .bits = bits,
			     .called = called,
			     .data = data};
	return &w->event;
}

static struct ub_event_base_vmt calls = {.new_event = new_waiter};

struct ub_event_base *resolve_events_new(sd_event *loop)
{
	struct events *events = calloc(1, sizeof(*events));

	if (!events)
		return NULL;
	events->base = (struct ub_event_base){UB_EVENT_MAGIC, &calls};
	events->loop = sd_event_ref(loop);
	return &events->base;
}

void resolve_events_free(struct ub_event_base *base)
{
	struct events *events = (struct events *)base;

	if (!events)
		return;
	sd_event_unref(events->loop);
	free(events);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The process bulkhead-egressd: started when it is wanted, asked one thing at a time (egress/channel.h), heard, and
 * started again when it has died. Strangers talk to it: what it says is read with care, and when that makes no sense,
 * or an answer does not come in time, it is killed and counts as dead.
 *
 * Knows nothing of what is asked: nothing is kept here but one question, so nothing can pile up. What is to be asked
 * next is `next`'s to say, from the beginning again for each process.
 */
#ifndef DAEMON_RELAY_H
#define DAEMON_RELAY_H

#include <jansson.h>
#include <stdbool.h>
#include <systemd/sd-event.h>
#include "base/log.h"
#include "egress/channel.h"

struct relay;

/* A question; descriptors stay whose they are. */
struct relay_ask {
	json_t *message;
	int fds[CHANNEL_FDS];
	size_t nfds;
};

struct relay_options {
	const char *program;	/* absolute */
	const char *user;	/* that it becomes */
	const char *cgroup;	/* directory of the one that it runs in; NULL: in the caller's */
	unsigned int answer_ms; /* for each answer to come */
	/* Between its death and the next start: doubled with each, forgotten when it lived for steady_ms. */
	unsigned int pause_ms, pause_max_ms, steady_ms;

	void *data;
	/* Before each start. -errno and an error: not now. */
	int (*may_start)(void *data, struct error *error);
	/* False: nothing. Whatever it gave before was not sent unless `answered` was called since. */
	bool (*next)(void *data, struct relay_ask *ret);
	/* What became of what it gave last: 0, or -errno with the process's reason. False: that had to be done, as a
	 * revocation has; the process is killed. */
	bool (*answered)(void *data, int result, const char *why);
	/* "gave", "event", "lost". -EBADMSG: it makes no sense. */
	int (*heard)(void *data, const json_t *message);
	/* It runs no more, or will not in a moment; knows nothing that it was told. Before any other is started. */
	void (*died)(void *data, const char *why);
};

/* Not started. Options are copied, texts among them stay the caller's. */
int relay_new(sd_event *event, const struct relay_options *options, struct relay **ret);
/* Ends the process; `died` is not called. */
void relay_free(struct relay *relay);
/* Started now, or ended now. */
void relay_want(struct relay *relay, bool wanted);
/* There may be something to ask. */
void relay_poke(struct relay *relay);

/* 0: none runs. */
pid_t relay_pid(const struct relay *relay);
unsigned int relay_deaths(const struct relay *relay);
/* Until the next one is started: 0 where one runs, UINT_MAX where none is to be, or it could not be started last time. */
unsigned int relay_starts_ms(const struct relay *relay);
/* Why none runs; "" when one does, or was never to. */
const char *relay_why(const struct relay *relay);

#endif

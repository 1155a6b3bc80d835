/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The socket that leads to the agent: messages in, with their descriptors, and messages out, queued where the agent does
 * not read. Nothing waits for it.
 */
#ifndef EGRESSD_MESSAGES_H
#define EGRESSD_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <jansson.h>
#include <systemd/sd-event.h>
#include "base/cleanup.h"
#include "egress/channel.h"

/* Below 1 KiB each, but for a few: an agent that is busy for a second or two loses nothing. At the bound: what may be
 * lost is, and what must not be waits where it came from. */
#define MESSAGES_QUEUE 1024
/* Places that are left to answers: while none is, no request is read. */
#define MESSAGES_ANSWERS 64

DEFINE_CLEANUP(json_t *, json_decref)
#define _cleanup_json_ _cleanup_(cleanup_json_decref)

struct messages;

struct message {
	const char *text;
	size_t length;
	int fds[CHANNEL_FDS]; /* what the callee takes becomes -1; the rest is closed */
	size_t nfds;
	int error; /* 0, or -errno: it came in part, and without descriptors */
};

struct messages_handler {
	void (*received)(void *data, struct message *message);
	void (*room)(void *data);  /* there is some again */
	void (*ended)(void *data); /* the agent is gone */
	void *data;
};

/* The descriptor is the caller's, and outlives it. 0 or -errno. */
int messages_new(sd_event *event, int fd, const struct messages_handler *handler,
		 struct messages **ret);
void messages_free(struct messages *messages);
DEFINE_CLEANUP(struct messages *, messages_free)

/* Room for what is no answer. */
bool messages_has_room(const struct messages *messages);
/* Takes the reference, which may be NULL. 0, -ENOBUFS, -ENOMEM. */
int messages_push(struct messages *messages, json_t *json);

#endif

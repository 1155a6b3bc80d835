/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One connection to the control socket: a request comes in, an answer and perhaps records go out.
 */
#ifndef DAEMON_CLIENT_H
#define DAEMON_CLIENT_H

#include "daemon.h"
#include "peer.h"

/* A line that several queues hold. */
struct line {
	unsigned int refs;
	size_t n;
	char text[];
};
struct line *line_new(const char *text, size_t n); /* NULL when out of memory */
void line_unref(struct line *line);

/* Bounded queue of lines. */
struct queue {
	struct line *lines[CONTROL_MAX_QUEUE];
	unsigned int first, n;
	size_t sent; /* bytes of the first line that are gone */
	__u64 lost;  /* lines that found no room since the last one that did */
};
/* Takes a reference, or counts the line as lost. What was lost is said before the next line that
 * finds room. */
void queue_push(struct queue *queue, struct line *line);
/* Sends what the socket takes now: 1 when empty, 0 when not, -errno. */
int queue_send(struct queue *queue, int fd);
void queue_done(struct queue *queue);

/* A request whose answer is not to be had yet: requests_settle asks whether it is. */
struct later;

struct client {
	struct client *next;
	struct daemon *daemon;
	sd_event_source *io, *deadline;
	int fd;
	struct peer peer;
	char *in; /* CONTROL_MAX_REQUEST bytes until the request is whole */
	size_t in_n;
	bool answered, subscriber;
	bool ended; /* it sends nothing more, and may read on */
	struct queue queue;
	struct later *later; /* NULL: it waits for nothing but its queue */
};

/* Takes fd and what peer holds, also when it fails: out of memory, or the loop takes no more. */
struct client *client_new(struct daemon *d, int fd, struct peer *peer);
void client_free(struct client *client);
/* Queues a line; the loop sends it. */
void client_push(struct client *client, struct line *line);
/* The time that it has begins anew. */
void client_rearm(struct client *client);

/* --- requests.c --- */
/* Handles the request and queues the answer; also logs it when it may change something. */
void request_handle(struct client *client, const char *text, size_t n);
/* Answers those that wait and need not any more. Something changed that they may have waited for. */
void requests_settle(struct daemon *d);
/* It has waited for too long: answers. */
void request_overdue(struct client *client);
void later_free(struct later *later);

#endif

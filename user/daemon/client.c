// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "client.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include "base/cleanup.h"

static int on_io(sd_event_source *source, int fd, uint32_t events, void *data);

static int on_deadline(sd_event_source *source _unused_, uint64_t usec _unused_, void *data)
{
	struct client *client = data;

	if (client->later)
		request_overdue(client);
	else
		client_free(client);
	return 0;
}

void client_rearm(struct client *client)
{
	unsigned int ms = client->later ? CONTROL_LATER_MS : CONTROL_CLIENT_MS;

	if (client->subscriber) {
		sd_event_source_set_enabled(client->deadline, SD_EVENT_OFF);
		return;
	}
	sd_event_source_set_time(client->deadline, now_us() + ms * 1000ull);
	sd_event_source_set_enabled(client->deadline, SD_EVENT_ONESHOT);
}

struct client *client_new(struct daemon *d, int fd, struct peer *peer)
{
	struct client *client = calloc(1, sizeof(*client));

	if (!client) {
		close(fd);
		peer_done(peer);
		return NULL;
	}
	client->peer = *peer;
	client->daemon = d;
	client->fd = fd;
	client->in = malloc(CONTROL_MAX_REQUEST);
	client->next = d->clients;
	d->clients = client;
	d->nclients++;
	if (!client->in || sd_event_add_io(d->event, &client->io, fd, EPOLLIN, on_io, client) < 0 ||
	    sd_event_add_time(d->event, &client->deadline, CLOCK_MONOTONIC,
			      now_us() + CONTROL_CLIENT_MS * 1000ull, 1000, on_deadline,
			      client) < 0) {
		client_free(client);
		return NULL;
	}
	return client;
}

void client_free(struct client *client)
{
	struct client **at = &client->daemon->clients;

	while (*at != client)
		at = &(*at)->next;
	*at = client->next;
	client->daemon->nclients--;
	sd_event_source_disable_unref(client->io);
	sd_event_source_disable_unref(client->deadline);
	close(client->fd);
	queue_done(&client->queue);
	later_free(client->later);
	peer_done(&client->peer);
	free(client->in);
	free(client);
}

/* Who has said all that it will is listened to no more, and still answered. */
static void listen_for(struct client *client, uint32_t also)
{
	sd_event_source_set_io_events(client->io, (client->ended ? 0 : EPOLLIN) | also);
}

void client_push(struct client *client, struct line *line)
{
	/* Within a burst the loop does not come to write: what fails here fails there, too. */
	if (client->queue.n == CONTROL_MAX_QUEUE)
		queue_send(&client->queue, client->fd);
	queue_push(&client->queue, line);
	listen_for(client, EPOLLOUT);
}

/* What comes after the request is read away, so that its end is seen. The end of one direction: a
 * connection that is closed in both says so by EPOLLHUP. */
static int read_away(struct client *client)
{
	char bytes[512];
	ssize_t n = recv(client->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0) {
		client->ended = true;
		listen_for(client, client->queue.n ? EPOLLOUT : 0);
	}
	return 0;
}

static int read_request(struct client *client)
{
	size_t room = CONTROL_MAX_REQUEST - client->in_n;
	ssize_t n = recv(client->fd, client->in + client->in_n, room, MSG_DONTWAIT);
	char *end;

	if (n == 0)
		return -EPIPE;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	end = memchr(client->in + client->in_n, '\n', (size_t)n);
	client->in_n += (size_t)n;
	if (!end && client->in_n < CONTROL_MAX_REQUEST)
		return 0;
	/* Without an end it is too long, which the parser is told by an empty text. */
	client->answered = true;
	request_handle(client, client->in, end ? (size_t)(end - client->in) : 0);
	client_rearm(client);
	return 0;
}

/* 1: all is said and done. */
static int write_queue(struct client *client)
{
	int r = queue_send(&client->queue, client->fd);

	if (r == 1)
		listen_for(client, 0);
	return r == 1 && client->subscriber ? 0 : r;
}

static int on_io(sd_event_source *source _unused_, int fd _unused_, uint32_t events, void *data)
{
	struct client *client = data;
	int r = 0;

	if (events & EPOLLIN)
		r = client->answered ? read_away(client) : read_request(client);
	if (r == 0 && (events & EPOLLOUT))
		r = write_queue(client);
	if (r == 0 && !(events & EPOLLIN) && (events & (EPOLLHUP | EPOLLERR)))
		r = -EPIPE;
	if (r)
		client_free(client);
	return 0;
}

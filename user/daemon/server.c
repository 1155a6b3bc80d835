// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include "base/cleanup.h"
#include "client.h"

/* Said to one who gets no connection, as far as the socket takes it. */
static void turn_away(int fd, int code, const char *text)
{
	char line[256];
	int n = snprintf(line, sizeof(line), "{\"ok\":false,\"errno\":%d,\"error\":\"%s\"}\n", code,
			 text);

	send(fd, line, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static bool is_full(const struct daemon *d, const struct peer *peer)
{
	return d->nclients >= (peer->uid == 0 ? CONTROL_MAX_CLIENTS : CONTROL_MAX_CLIENTS * 3 / 4);
}

static void admit_client(struct daemon *d, int fd)
{
	struct peer peer = {.pidfd = -1};

	if (peer_read(d, fd, &peer)) {
		turn_away(fd, EACCES, "the agent cannot tell who you are");
	} else if (peer.right == RIGHT_NONE) {
		turn_away(fd, EACCES,
			  "only root, group " CONTROL_GROUP_CHANGE
			  " (everything) and group " CONTROL_GROUP_READ
			  " (status, events, doctor) may ask the agent");
	} else if (is_full(d, &peer)) {
		turn_away(fd, EBUSY, "the agent has too many connections: try again");
	} else {
		client_new(d, fd, &peer);
		return;
	}
	peer_done(&peer);
	close(fd);
}

static int on_listener(sd_event_source *source _unused_, int fd, uint32_t events _unused_,
		       void *data)
{
	int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (client >= 0)
		admit_client(data, client);
	return 0;
}

/* The lock says that no other agent lives, so a socket found there is a dead one's. */
static int listen_at(const char *path)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (fd < 0)
		return -errno;
	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	if (unlink(path) && errno != ENOENT)
		return -errno;
	/* Open to all: who may ask what is decided by peer_read, with an answer that says so. */
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || chmod(path, 0666) ||
	    listen(fd, CONTROL_MAX_CLIENTS))
		return -errno;
	return TAKE_FD(fd);
}

int server_start(struct daemon *d, struct error *error)
{
	int r;

	d->listener = listen_at(CONTROL_SOCKET);
	if (d->listener < 0)
		return error_set(error, -d->listener, "%s: %s", CONTROL_SOCKET,
				 strerror(-d->listener));
	r = sd_event_add_io(d->event, NULL, d->listener, EPOLLIN, on_listener, d);
	return r < 0 ? error_set(error, -r, "event loop: %s", strerror(-r)) : 0;
}

void server_stop(struct daemon *d)
{
	while (d->clients)
		client_free(d->clients);
	if (d->listener < 0)
		return;
	unlink(CONTROL_SOCKET);
	close(d->listener);
	d->listener = -1;
}

void server_publish(struct daemon *d, const char *text, size_t n)
{
	struct line *line = NULL;

	for (struct client *client = d->clients; client; client = client->next) {
		if (!client->subscriber)
			continue;
		if (!line)
			line = line_new(text, n);
		if (line)
			client_push(client, line);
		else
			client->queue.lost++;
	}
	line_unref(line);
}

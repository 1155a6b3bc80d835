// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "messages.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

struct messages {
	int fd;
	sd_event_source *source;
	struct messages_handler handler;
	struct text {
		char *text;
		size_t length;
	} queue[MESSAGES_QUEUE];
	size_t first, n;
	bool over; /* `ended` was called */
	char in[CHANNEL_MESSAGE + 1];
};

void messages_free(struct messages *m)
{
	if (!m)
		return;
	sd_event_source_disable_unref(m->source);
	for (; m->n; m->n--) {
		free(m->queue[m->first].text);
		m->first = (m->first + 1) % MESSAGES_QUEUE;
	}
	free(m);
}

static void end(struct messages *m)
{
	if (m->over)
		return;
	m->over = true;
	sd_event_source_set_enabled(m->source, SD_EVENT_OFF);
	m->handler.ended(m->handler.data);
}

/* --- out --- */

bool messages_has_room(const struct messages *m)
{
	return !m->over && m->n < MESSAGES_QUEUE - MESSAGES_ANSWERS;
}

static int send_one(const struct messages *m, const struct text *text)
{
	ssize_t n;

	do
		n = send(m->fd, text->text, text->length, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static void set_events(struct messages *m)
{
	uint32_t events = m->n ? EPOLLOUT : 0;

	if (m->n < MESSAGES_QUEUE)
		events |= EPOLLIN;
	sd_event_source_set_io_events(m->source, events);
}

static void flush(struct messages *m)
{
	int r = 0;

	while (m->n && !m->over) {
		r = send_one(m, &m->queue[m->first]);
		if (r == -EAGAIN || r == -ENOBUFS)
			break;
		if (r) {
			end(m);
			return;
		}
		free(m->queue[m->first].text);
		m->first = (m->first + 1) % MESSAGES_QUEUE;
		m->n--;
	}
	set_events(m);
}

int messages_push(struct messages *m, json_t *json)
{
	_cleanup_json_ json_t *owned = json;
	char *text;

	if (m->n == MESSAGES_QUEUE || m->over)
		return -ENOBUFS;
	text = owned ? json_dumps(owned, JSON_COMPACT) : NULL;
	if (!text)
		return -ENOMEM;
	m->queue[(m->first + m->n++) % MESSAGES_QUEUE] = (struct text){text, strlen(text)};
	flush(m);
	return 0;
}

/* --- in --- */

static void take_fd(struct message *message, int fd)
{
	if (message->nfds < CHANNEL_FDS) {
		message->fds[message->nfds++] = fd;
		return;
	}
	close(fd);
	message->error = -EMSGSIZE;
}

/* Where alignment leaves room for one more, one more comes. */
static void take_fds(struct msghdr *header, struct message *message)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		int fd;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			take_fd(message, fd);
		}
	}
}

static void close_fds(struct message *message)
{
	for (size_t i = 0; i < message->nfds; i++) {
		cleanup_closep(&message->fds[i]);
		message->fds[i] = -1;
	}
}

/* Bytes, 0 at the end, -errno. */
static ssize_t receive(struct messages *m, struct message *message)
{
	/* The kernel closes what has no room here. */
	union {
		char bytes[CMSG_SPACE(CHANNEL_FDS * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = {m->in, sizeof(m->in)};
	struct msghdr header = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(m->fd, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	if (n < 0)
		return -errno;
	*message = (struct message){.text = m->in, .length = (size_t)n};
	take_fds(&header, message);
	if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || (size_t)n > CHANNEL_MESSAGE)
		message->error = -EMSGSIZE;
	if (message->error) {
		close_fds(message);
		message->nfds = 0;
	}
	return n;
}

/* One message a turn: everything else is less urgent, and gets its turn where nothing is said. */
static int on_socket(sd_event_source *source _unused_, int fd _unused_, uint32_t events, void *data)
{
	struct messages *m = data;
	struct message message;
	ssize_t n;

	if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
		flush(m);
	if (!m->over && messages_has_room(m))
		m->handler.room(m->handler.data);
	if (m->over || m->n == MESSAGES_QUEUE || !(events & ~(uint32_t)EPOLLOUT))
		return 0;
	n = receive(m, &message);
	if (n > 0 || (!n && !(events & (EPOLLHUP | EPOLLRDHUP))))
		m->handler.received(m->handler.data, &message);
	else if (n != -EAGAIN && n != -EINTR && n != -ENOBUFS)
		end(m);
	if (n >= 0)
		close_fds(&message);
	if (!m->over)
		set_events(m);
	return 0;
}

int messages_new(sd_event *event, int fd, const struct messages_handler *handler,
		 struct messages **ret)
{
	_cleanup_(cleanup_messages_free) struct messages *m = calloc(1, sizeof(*m));
	/* The longest "gave" has to fit, whatever the host's default is. */
	int size = 2 * CHANNEL_MESSAGE, r;

	if (!m)
		return -ENOMEM;
	m->fd = fd;
	m->handler = *handler;
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	r = sd_event_add_io(event, &m->source, fd, EPOLLIN, on_socket, m);
	if (r >= 0)
		r = sd_event_source_set_priority(m->source, SD_EVENT_PRIORITY_IMPORTANT);
	if (r >= 0)
		*ret = TAKE_PTR(m);
	return r < 0 ? r : 0;
}

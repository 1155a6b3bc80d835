// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A relay that carries bytes and does nothing else: no name, no route, no bound, no sandbox. One thread, and a pipe each
 * way that splice(2) fills. What it cannot do on a machine no relay of that kind can.
 */
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS 64
#define PIPE_BYTES (1 << 20)

/* One connection, and what comes from it. */
struct side {
	struct side *other;
	int fd, pipe[2];
	size_t held;
	bool ended, told;
};

static int epoll;

static void watch(int fd, uint32_t events, void *data)
{
	struct epoll_event event = {.events = events, .data.ptr = data};

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		bench_die("bare: epoll_ctl: %s", strerror(errno));
}

static ssize_t move(int from, int to, size_t most)
{
	return splice(from, NULL, to, NULL, most, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
}

static void carry(struct side *side)
{
	ssize_t n = 1, m = 1;

	while (n > 0 || m > 0) {
		n = side->ended || side->held == PIPE_BYTES
			    ? -1
			    : move(side->fd, side->pipe[1], PIPE_BYTES - side->held);
		side->ended = side->ended || n == 0 || (n < 0 && errno == ECONNRESET);
		side->held += n > 0 ? (size_t)n : 0;
		m = side->held ? move(side->pipe[0], side->other->fd, side->held) : -1;
		side->held -= m > 0 ? (size_t)m : 0;
		if (m < 0 && side->held && errno != EAGAIN) {
			side->told = side->other->told = true;
			return;
		}
	}
	if (side->ended && !side->held && !side->told) {
		side->told = true;
		shutdown(side->other->fd, SHUT_WR);
	}
}

static void end(struct side *side)
{
	close(side->fd);
	close(side->pipe[0]);
	close(side->pipe[1]);
	side->fd = -1;
}

static struct side *begin(int fd)
{
	struct side *side = calloc(1, sizeof(*side));
	int on = 1;

	side->fd = fd;
	if (pipe2(side->pipe, O_CLOEXEC | O_NONBLOCK) ||
	    fcntl(side->pipe[1], F_SETPIPE_SZ, PIPE_BYTES) < 0)
		bench_die("bare: pipe: %s", strerror(errno));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return side;
}

static void take(const struct bare_port *port)
{
	const struct sockaddr_in to = {.sin_family = AF_INET,
				       .sin_port = htons(port->to_port),
				       .sin_addr.s_addr = htonl(port->to)};
	int fd = accept4(port->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct side *sides[2];

	if (fd < 0)
		return;
	sides[0] = begin(fd);
	sides[1] = begin(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (connect(sides[1]->fd, (const void *)&to, sizeof(to)) && errno != EINPROGRESS)
		bench_die("bare: connect: %s", strerror(errno));
	for (int i = 0; i < 2; i++) {
		sides[i]->other = sides[!i];
		watch(sides[i]->fd, EPOLLIN | EPOLLOUT | EPOLLET, sides[i]);
	}
}

/* In one turn both of a connection's sides may have something to say: they are freed after it. */
static void serve(const struct bare_port ports[BARE_PORTS])
{
	struct epoll_event events[EVENTS];
	struct side *gone[EVENTS * 2];
	int n = epoll_wait(epoll, events, EVENTS, -1), ngone = 0;

	for (int i = 0; i < n; i++) {
		const struct bare_port *port = events[i].data.ptr;
		struct side *side = events[i].data.ptr;

		if (port >= ports && port < ports + BARE_PORTS) {
			take(port);
			continue;
		}
		if (side->fd < 0)
			continue;
		if (events[i].events & EPOLLERR)
			side->told = side->other->told = true;
		carry(side);
		carry(side->other);
		if (!side->told || !side->other->told)
			continue;
		end(gone[ngone++] = side);
		end(gone[ngone++] = side->other);
	}
	while (ngone)
		free(gone[--ngone]);
}

pid_t bare_start(const struct bare_port ports[BARE_PORTS])
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < BARE_PORTS; i++)
		watch(ports[i].listener, EPOLLIN, (void *)&ports[i]);
	for (;;)
		serve(ports);
}

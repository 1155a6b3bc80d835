// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The server of the benchmark of the relay: a process of its own, which ends with the benchmark. */
#include "relay.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS 64

static struct peer *peer;
static int sockets[PEER_SOCKETS];

/* --- streams --- */

static void take_all(int fd, char *buffer)
{
	ssize_t n;

	while ((n = recv(fd, buffer, PEER_BUFFER, 0)) > 0)
		atomic_fetch_add(&peer->received, (unsigned long long)n);
}

static void give_all(int fd, const char *buffer)
{
	while (send(fd, buffer, PEER_BUFFER, MSG_NOSIGNAL) > 0)
		;
}

static void serve_stream(int fd, char *buffer)
{
	char direction;

	if (recv(fd, &direction, 1, 0) != 1)
		return;
	atomic_fetch_add(&peer->streams, 1);
	if (direction == PEER_UPLOAD)
		take_all(fd, buffer);
	else
		give_all(fd, buffer);
	atomic_fetch_sub(&peer->streams, 1);
}

static void *serve_streams(void *data)
{
	char *buffer = calloc(1, PEER_BUFFER);

	for (;;) {
		int fd = accept4(sockets[PEER_BULK], NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0)
			continue;
		serve_stream(fd, buffer);
		close(fd);
	}
	return data;
}

/* --- echoes --- */

static void watch(int epoll, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		bench_die("server: epoll_ctl");
}

static void accept_all(int epoll, int listener)
{
	int fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
		watch(epoll, fd);
}

static void echo(int fd)
{
	char bytes[64];
	ssize_t n = recv(fd, bytes, sizeof(bytes), 0);

	if (n > 0 && send(fd, bytes, (size_t)n, MSG_NOSIGNAL) == n)
		return;
	if (n < 0 && errno == EAGAIN)
		return;
	close(fd);
}

static void *serve_echoes(void *data)
{
	int listener = (int)(intptr_t)data, epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event events[EVENTS];

	watch(epoll, listener);
	for (;;) {
		int n = epoll_wait(epoll, events, EVENTS, -1);

		for (int i = 0; i < n; i++) {
			if (events[i].data.fd == listener)
				accept_all(epoll, listener);
			else
				echo(events[i].data.fd);
		}
	}
	return NULL;
}

/* --- the process --- */

static void start_thread(void *(*run)(void *), int fd)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, (void *)(intptr_t)fd))
		bench_die("server: no thread");
}

__attribute__((noreturn)) static void be_peer(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < PEER_STREAMS; i++)
		start_thread(serve_streams, 0);
	start_thread(serve_echoes, sockets[PEER_ECHO]);
	start_thread(serve_echoes, sockets[PEER_LOOPBACK]);
	for (;;)
		pause();
}

struct peer *peer_start(const int listeners[PEER_SOCKETS], pid_t *ret_pid)
{
	peer = mmap(NULL, sizeof(*peer), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (peer == MAP_FAILED)
		bench_die("server: no memory");
	for (int i = 0; i < PEER_SOCKETS; i++)
		sockets[i] = listeners[i];
	*ret_pid = fork();
	if (*ret_pid == 0)
		be_peer();
	for (int i = 0; i < PEER_SOCKETS; i++)
		close(listeners[i]);
	return peer;
}

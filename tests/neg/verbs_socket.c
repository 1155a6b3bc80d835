// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sockets of the network and of this host, made by the verb or held before, and pipes. */
#include "verbs_internal.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

struct address {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} u;
	socklen_t length;
};

static struct address parse_address(const char *text, const char *port)
{
	struct address a = {};

	if (inet_pton(AF_INET, text, &a.u.v4.sin_addr) == 1) {
		a.u.v4.sin_family = AF_INET;
		a.u.v4.sin_port = htons(number(port));
		a.length = sizeof(a.u.v4);
	} else if (inet_pton(AF_INET6, text, &a.u.v6.sin6_addr) == 1) {
		a.u.v6.sin6_family = AF_INET6;
		a.u.v6.sin6_port = htons(number(port));
		a.length = sizeof(a.u.v6);
	}
	return a;
}

static int connect_to(int fd, const char *host, const char *port)
{
	struct address a = parse_address(host, port);

	if (!a.length)
		return VERB_BROKEN + EINVAL;
	return result(connect(fd, &a.u.any, a.length));
}

VERB(socket)
{
	return result_fd(socket(number(argv[1]), number(argv[2]), number(argv[3])));
}

static int connect_new(char **argv, int type, int protocol)
{
	struct address a = parse_address(argv[1], argv[2]);
	int fd = socket(a.u.any.sa_family, type, protocol), r;

	if (fd < 0)
		return failed();
	r = connect_to(fd, argv[1], argv[2]);
	close(fd);
	return r;
}

VERB(tcp)
{
	return connect_new(argv, SOCK_STREAM, 0);
}

VERB(mptcp)
{
	return connect_new(argv, SOCK_STREAM, IPPROTO_MPTCP);
}

static int send_to(int fd, char **argv, int flags)
{
	struct address a = parse_address(argv[0], argv[1]);

	if (!a.length)
		return VERB_BROKEN + EINVAL;
	return result(sendto(fd, "x", 1, flags | MSG_DONTWAIT | MSG_NOSIGNAL, &a.u.any, a.length));
}

VERB(udp)
{
	struct address a = parse_address(argv[1], argv[2]);
	int fd = socket(a.u.any.sa_family, SOCK_DGRAM, 0);

	return fd < 0 ? failed() : send_to(fd, argv + 1, 0);
}

/* *-fd verbs: on a socket that was made before, by whoever. */
VERB(connect_fd)
{
	return connect_to(number(argv[1]), argv[2], argv[3]);
}

VERB(send_fd)
{
	return send_to(number(argv[1]), argv + 2, 0);
}

VERB(sendmmsg_fd)
{
	struct address a = parse_address(argv[2], argv[3]);
	struct iovec byte = {(void *)"x", 1};
	struct mmsghdr one = {.msg_hdr = {&a.u.any, a.length, &byte, 1, NULL, 0, 0}};

	return result(sendmmsg(number(argv[1]), &one, 1, MSG_DONTWAIT));
}

/* Connecting by sending: no connect hook is asked. EINPROGRESS: the SYN is on its way. */
VERB(fastopen_fd)
{
	int r = send_to(number(argv[1]), argv + 2, MSG_FASTOPEN);

	return r == EINPROGRESS ? 0 : r;
}

/* The connect option instead of the flag: goes through connect(2). */
VERB(fastopen_connect_fd)
{
	int fd = number(argv[1]), on = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof(on)) < 0)
		return broken();
	return connect_to(fd, argv[2], argv[3]);
}

VERB(disconnect_fd)
{
	struct sockaddr none = {.sa_family = AF_UNSPEC};

	return result(connect(number(argv[1]), &none, sizeof(none)));
}

static socklen_t unix_address(const char *name, struct sockaddr_un *sun)
{
	size_t length = strlen(name);

	memset(sun, 0, sizeof(*sun));
	sun->sun_family = AF_UNIX;
	if (length >= sizeof(sun->sun_path))
		length = sizeof(sun->sun_path) - 1;
	memcpy(sun->sun_path, name, length);
	if (name[0] != '@')
		return sizeof(*sun);
	sun->sun_path[0] = 0;
	return offsetof(struct sockaddr_un, sun_path) + length;
}

static int unix_connect(const char *name, int type)
{
	struct sockaddr_un sun;
	socklen_t length = unix_address(name, &sun);
	int fd = socket(AF_UNIX, type | SOCK_NONBLOCK, 0), r;

	if (fd < 0)
		return broken();
	r = result(connect(fd, (struct sockaddr *)&sun, length));
	close(fd);
	return r;
}

VERB(unix_stream)
{
	return unix_connect(argv[1], SOCK_STREAM);
}

VERB(unix_seqpacket)
{
	return unix_connect(argv[1], SOCK_SEQPACKET);
}

VERB(unix_dgram_connect)
{
	return unix_connect(argv[1], SOCK_DGRAM);
}

VERB(unix_dgram)
{
	struct sockaddr_un sun;
	socklen_t length = unix_address(argv[1], &sun);
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	if (fd < 0)
		return broken();
	return result(sendto(fd, "x", 1, MSG_DONTWAIT, (struct sockaddr *)&sun, length));
}

/* A listener of one's own, abstract or in the file system, and a connection to it. */
VERB(unix_own)
{
	struct sockaddr_un sun;
	socklen_t length = unix_address(argv[1], &sun);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), r;

	if (fd < 0)
		return broken();
	if (bind(fd, (struct sockaddr *)&sun, length) < 0 || listen(fd, 4) < 0)
		return failed();
	r = unix_connect(argv[1], SOCK_STREAM);
	close(fd);
	return r;
}

VERB(unix_pair)
{
	int ends[2];
	char byte;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0 || write(ends[0], "x", 1) != 1)
		return failed();
	return result(read(ends[1], &byte, 1));
}

/* A pipe that is held, opened again by its descriptor: what /dev/stdout is to a shell. */
VERB(pipe_reopen)
{
	char path[32];
	int ends[2];

	if (pipe(ends) < 0)
		return broken();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[1]);
	return result_fd(open(path, O_WRONLY | O_CLOEXEC));
}

const struct verb socket_verbs[] = {
	{"socket", 3, verb_socket, "FAMILY TYPE PROTOCOL"},
	{"tcp", 2, verb_tcp, "ADDRESS PORT"},
	{"mptcp", 2, verb_mptcp, "ADDRESS PORT"},
	{"udp", 2, verb_udp, "ADDRESS PORT"},
	{"connect-fd", 3, verb_connect_fd, "FD ADDRESS PORT"},
	{"send-fd", 3, verb_send_fd, "FD ADDRESS PORT"},
	{"sendmmsg-fd", 3, verb_sendmmsg_fd, "FD ADDRESS PORT"},
	{"fastopen-fd", 3, verb_fastopen_fd, "FD ADDRESS PORT"},
	{"fastopen-connect-fd", 3, verb_fastopen_connect_fd, "FD ADDRESS PORT"},
	{"disconnect-fd", 1, verb_disconnect_fd, "FD"},
	{"unix-stream", 1, verb_unix_stream, "PATH|@NAME"},
	{"unix-seqpacket", 1, verb_unix_seqpacket, "PATH|@NAME"},
	{"unix-dgram", 1, verb_unix_dgram, "PATH|@NAME"},
	{"unix-dgram-connect", 1, verb_unix_dgram_connect, "PATH|@NAME"},
	{"unix-own", 1, verb_unix_own, "PATH|@NAME"},
	{"unix-pair", 0, verb_unix_pair, ""},
	{"pipe-reopen", 0, verb_pipe_reopen, ""},
	{},
};

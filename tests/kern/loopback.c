// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* loopback: own. A member's servers are there for members, and for who is no member of anything; no other server is there
 * for members. */
#include "harness.h"
#include "board.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WAIT_MS 5000

/* A server and who comes to it. */
struct visit {
	int type;
	const char *at, *to; /* bound to; reached by. NULL `at`: listen(2) alone chooses */
	bool connects;	     /* a datagram's client, before it sends */
};

struct scene {
	struct visit visit;
	struct board *board; /* results[0]: the server's port */
};

static struct sockaddr_in6 address_of(const char *text, int port, socklen_t *ret_length)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = six.sin6_port};

	*ret_length = sizeof(six);
	if (inet_pton(AF_INET6, text, &six.sin6_addr) == 1)
		return six;
	inet_pton(AF_INET, text, &four.sin_addr);
	memcpy(&six, &four, sizeof(four));
	*ret_length = sizeof(four);
	return six;
}

static int waiting_socket(const char *address, int type)
{
	const struct timeval wait = {.tv_sec = WAIT_MS / 1000};
	int fd = socket(address && strchr(address, ':') ? AF_INET6 : AF_INET, type | SOCK_CLOEXEC,
			0);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	return fd;
}

static int port_of(int fd)
{
	struct sockaddr_in6 at = {};
	socklen_t length = sizeof(at);

	return getsockname(fd, (struct sockaddr *)&at, &length) < 0 ? 0 : ntohs(at.sin6_port);
}

/* Errno, or 0 and a socket that waits. */
static int open_server(const struct visit *visit, int *ret)
{
	socklen_t length;
	struct sockaddr_in6 at = address_of(visit->at ?: "0.0.0.0", 0, &length);
	int fd = waiting_socket(visit->at, visit->type);

	*ret = fd;
	if (fd < 0 || (visit->at && bind(fd, (struct sockaddr *)&at, length) < 0) ||
	    (visit->type == SOCK_STREAM && listen(fd, 4) < 0))
		return errno;
	return 0;
}

static int echo_stream(int fd)
{
	_cleanup_close_ int peer = accept(fd, NULL, NULL);
	char byte;

	if (peer < 0 || recv(peer, &byte, 1, 0) != 1)
		return errno;
	return send(peer, &byte, 1, MSG_NOSIGNAL) == 1 ? 0 : errno;
}

static int echo_datagram(int fd)
{
	struct sockaddr_in6 from;
	socklen_t length = sizeof(from);
	char byte;

	if (recvfrom(fd, &byte, 1, 0, (struct sockaddr *)&from, &length) != 1)
		return errno;
	return sendto(fd, &byte, 1, 0, (struct sockaddr *)&from, length) == 1 ? 0 : errno;
}

static int do_serve(void *data)
{
	struct scene *scene = data;
	_cleanup_close_ int fd = -1;
	int r = open_server(&scene->visit, &fd);

	scene->board->results[0] = r ? 0 : port_of(fd);
	scene->board->done = 1;
	if (r)
		return r;
	r = scene->visit.type == SOCK_STREAM ? echo_stream(fd) : echo_datagram(fd);
	/* Nobody came: that is for the client to say. */
	return r == EAGAIN ? 0 : r;
}

static int do_visit(void *data)
{
	struct scene *scene = data;
	const struct visit *visit = &scene->visit;
	bool connects = visit->connects || visit->type == SOCK_STREAM;
	socklen_t length;
	struct sockaddr_in6 to = address_of(visit->to, scene->board->results[0], &length);
	_cleanup_close_ int fd = waiting_socket(visit->to, visit->type);
	char byte = 'x';

	if (fd < 0 || (connects && connect(fd, (struct sockaddr *)&to, length) < 0))
		return errno;
	if (sendto(fd, &byte, 1, MSG_NOSIGNAL, connects ? NULL : (struct sockaddr *)&to,
		   connects ? 0 : length) != 1)
		return errno;
	return recv(fd, &byte, 1, 0) == 1 ? 0 : errno ?: EPIPE;
}

static struct cell *loopback_cell(struct kern *kern)
{
	const struct cell_options options = {.flags = BH_POLICY_LOOPBACK};

	return cell_new(kern, &options);
}

/* What the visitor saw. A server that nobody came to is killed with its cgroup. */
static int visit(struct cell *server, int server_fd, struct cell *visitor, int visitor_fd,
		 const struct visit *v)
{
	struct scene scene = {.visit = *v, .board = board_new()};
	pid_t serves, visits;
	int r;

	if (!scene.board)
		return -ENOMEM;
	serves = cell_spawn(server, server_fd, do_serve, &scene);
	r = board_await(&scene.board->done, 1);
	if (!r && !scene.board->results[0])
		r = cell_wait(serves);
	if (!r) {
		visits = cell_spawn(visitor, visitor_fd, do_visit, &scene);
		r = cell_wait(visits);
		cell_wait_ms(serves, r ? 100 : WAIT_MS, true);
	}
	board_free(scene.board);
	return r;
}

static const struct visit visits[] = {
	{SOCK_STREAM, "127.0.0.1", "127.0.0.1", false},
	{SOCK_STREAM, "127.0.0.1", "::ffff:127.0.0.1", false},
	{SOCK_STREAM, "127.9.8.7", "127.9.8.7", false},
	{SOCK_STREAM, "0.0.0.0", "127.0.0.1", false},
	{SOCK_STREAM, "0.0.0.0", "0.0.0.0", false},
	{SOCK_STREAM, NULL, "127.0.0.1", false},
	{SOCK_STREAM, "::1", "::1", false},
	{SOCK_STREAM, "::", "::1", false},
	{SOCK_STREAM, "::", "127.0.0.1", false},
	{SOCK_STREAM, "::", "::", false},
	{SOCK_DGRAM, "127.0.0.1", "127.0.0.1", false},
	{SOCK_DGRAM, "127.0.0.1", "127.0.0.1", true},
	{SOCK_DGRAM, "0.0.0.0", "127.0.0.1", true},
	{SOCK_DGRAM, "::1", "::1", false},
	{SOCK_DGRAM, "::1", "::1", true},
	{SOCK_DGRAM, "::", "::ffff:127.0.0.1", true},
};
#define NVISITS (sizeof(visits) / sizeof(*visits))

static int case_own(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = loopback_cell(kern);

	CHECK(cell, "no cell");
	for (size_t i = 0; i < NVISITS; i++) {
		const struct visit *v = &visits[i];
		int r = visit(cell, cell->cgroup_fd, cell, cell->cgroup_fd, v);

		cell_drain(cell);
		CHECK(r == 0, "%s at %s, by %s: %s%s", v->type == SOCK_STREAM ? "tcp" : "udp",
		      v->at ?: "no address", v->to, outcome_text(r),
		      cell->nevents ? hook_name(cell->events[cell->nevents - 1].head.hook) : "");
		/* A datagram is answered to members alone: what is sent to an outsider is refused. */
		if (v->type != SOCK_STREAM)
			continue;
		r = visit(cell, cell->cgroup_fd, cell, cell->beside_fd, v);
		CHECK(r == 0, "%s, by an outsider: %s", v->to, outcome_text(r));
	}
	CHECK(cell_tally(cell).refused == 0, "something was refused");
	return 0;
}

/* An outsider's server, and that of another compartment. */
static int case_others(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = loopback_cell(kern), *other = loopback_cell(kern);
	__u64 refused;

	CHECK(cell && other, "no cell");
	for (size_t i = 0; i < NVISITS; i++) {
		const struct visit *v = &visits[i];
		int r = visit(cell, cell->beside_fd, cell, cell->cgroup_fd, v);

		CHECK(r == EACCES, "an outsider's server at %s: %s", v->at ?: "no address",
		      outcome_text(r));
		r = visit(other, other->cgroup_fd, cell, cell->cgroup_fd, v);
		CHECK(r == EACCES, "another compartment's server at %s: %s", v->at ?: "no address",
		      outcome_text(r));
	}
	refused = cell_tally(cell).refused;
	CHECK(refused == 2 * NVISITS, "%llu refusals", refused);
	return 0;
}

/* Without the key a port that is named is not bound, and nothing listens. */
static int case_closed(struct kern *kern)
{
	const struct cell_options options = {.flags = BH_POLICY_EGRESS};
	_cleanup_cell_ struct cell *cell = cell_new(kern, &options);
	int r;

	CHECK(cell, "no cell");
	r = visit(cell, cell->cgroup_fd, cell, cell->cgroup_fd, &visits[0]);
	CHECK(r == EACCES, "loopback: none: %s", outcome_text(r));
	CHECK(cell_tally(cell).hook[BH_HOOK_SOCKET_LISTEN] == 1, "socket_listen did not count it");
	return 0;
}

/* --- a port that changes hands --- */

struct heir {
	int type;
	bool late;	     /* connected with what is sent first: TCP_FASTOPEN_CONNECT */
	struct board *board; /* results[0]: the port */
};

#define CROWD 8

/* A client of a server inside, which ends before the client's first packet is there: a datagram that is sent later, a
 * segment for which the server has no room, and which is sent again. */
static int do_bequeath(void *data)
{
	struct heir *heir = data;
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(at);
	int server = socket(AF_INET, heir->type, 0), clients[CROWD], r = 0;
	const int yes = 1;

	if (bind(server, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    getsockname(server, (struct sockaddr *)&at, &length) < 0 ||
	    (heir->type == SOCK_STREAM && listen(server, 0) < 0))
		return errno;
	for (int i = 0; i < CROWD; i++) {
		clients[i] = socket(AF_INET, heir->type | SOCK_NONBLOCK, 0);
		if (heir->late && (setsockopt(clients[i], IPPROTO_TCP, TCP_FASTOPEN_NO_COOKIE, &yes,
					      sizeof(yes)) < 0 ||
				   setsockopt(clients[i], IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &yes,
					      sizeof(yes)) < 0))
			r = errno;
		if (connect(clients[i], (struct sockaddr *)&at, sizeof(at)) < 0 &&
		    errno != EINPROGRESS)
			r = errno;
	}
	close(server);
	heir->board->results[0] = ntohs(at.sin_port);
	heir->board->done = 1;
	if (r || board_await(&heir->board->go, 1))
		return r ?: ETIMEDOUT;
	for (int i = 0; i < CROWD; i++)
		send(clients[i], "x", 1, MSG_NOSIGNAL);
	usleep(WAIT_MS * 1000 / 2);
	return 0;
}

/* What the heir saw: 0, or EAGAIN for nothing. */
static int inherit(struct cell *cell, int cgroup_fd, int type, bool late)
{
	struct heir heir = {type, late, board_new()};
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	_cleanup_close_ int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	const int yes = 1;
	pid_t pid;
	int r;

	if (!heir.board)
		return -ENOMEM;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	pid = cell_spawn(cell, cgroup_fd, do_bequeath, &heir);
	r = board_await(&heir.board->done, 1);
	at.sin_port = htons((uint16_t)heir.board->results[0]);
	if (!r && (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
		   (type == SOCK_STREAM && listen(fd, CROWD) < 0)))
		r = -errno;
	heir.board->go = 1;
	if (!r)
		r = poll(&wait, 1, WAIT_MS / 2) == 1 ? 0 : EAGAIN;
	cell_wait(pid);
	board_free(heir.board);
	return r;
}

static int case_heir(struct kern *kern)
{
	static const struct {
		int type;
		bool late;
	} kinds[] = {{SOCK_DGRAM, false}, {SOCK_STREAM, false}, {SOCK_STREAM, true}};
	_cleanup_cell_ struct cell *cell = loopback_cell(kern);
	int r;

	CHECK(cell, "no cell");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		r = inherit(cell, cell->beside_fd, kinds[i].type, kinds[i].late);
		CHECK(r == 0, "kind %zu, beside: %s", i, outcome_text(r));
		r = inherit(cell, cell->cgroup_fd, kinds[i].type, kinds[i].late);
		CHECK(r == EAGAIN, "kind %zu, inside: %s", i, outcome_text(r));
	}
	CHECK(cell_tally(cell).strayed > 0, "nothing strayed");
	return 0;
}

/* A port that is the host's, and its sharing. */
struct share {
	int type, option;
};

static int do_share(void *data)
{
	const struct share *share = data;
	const int yes = 1;
	_cleanup_close_ int fd = waiting_socket(NULL, share->type);

	return setsockopt(fd, SOL_SOCKET, share->option, &yes, sizeof(yes)) < 0 ? errno : 0;
}

static int case_share(struct kern *kern)
{
	static const struct share refused[] = {
		{SOCK_STREAM, SO_REUSEPORT},
		{SOCK_DGRAM, SO_REUSEPORT},
		{SOCK_DGRAM, SO_REUSEADDR},
	};
	struct share usual = {SOCK_STREAM, SO_REUSEADDR};
	_cleanup_cell_ struct cell *cell = loopback_cell(kern);
	__u64 counted;

	CHECK(cell, "no cell");
	CHECK(cell_call(cell, INSIDE, do_share, &usual) == 0, "SO_REUSEADDR of TCP");
	for (size_t i = 0; i < 3; i++) {
		struct share share = refused[i];

		CHECK(cell_call(cell, BESIDE, do_share, &share) == 0, "beside");
		CHECK(cell_call(cell, INSIDE, do_share, &share) == EPERM, "option %d of type %d",
		      share.option, share.type);
	}
	counted = cell_tally(cell).hook[BH_HOOK_SOCKET_SETSOCKOPT];
	CHECK(counted == 3, "socket_setsockopt counted %llu", counted);
	return 0;
}

const struct test_case loopback_cases[] = {
	{"loopback/own", case_own, CASE_ALLOWS},
	{"loopback/others", case_others, CASE_REFUSES},
	{"loopback/closed", case_closed, CASE_REFUSES},
	{"loopback/heir", case_heir, CASE_REFUSES},
	{"loopback/share", case_share, CASE_REFUSES},
	{},
};

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sockets that were made inside and are used outside: the cgroup programs follow where one was born. What can be made,
 * and what it is good for. */
#include "ends.h"
#include "board.h"

#include <errno.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct board *board;

/* While the compartment is only ARMED nothing is judged, so a socket can be born inside. */
static int sockets_wait(void *data _unused_)
{
	board->results[0] = socket(AF_INET, SOCK_DGRAM, 0);
	board->results[1] = socket(AF_INET6, SOCK_DGRAM, 0);
	board->done = 1;
	board_await(&board->go, 1);
	return 0;
}

static int take_sockets(struct cell *cell, int *ret4, int *ret6)
{
	_cleanup_close_ int pidfd = -1;
	pid_t pid;

	CHECK(cell_set_state(cell, BH_STATE_ARMED) == 0, "cannot arm");
	pid = cell_spawn(cell, cell->cgroup_fd, sockets_wait, NULL);
	CHECK(pid > 0 && board_await(&board->done, 1) == 0, "no sockets");
	pidfd = syscall(SYS_pidfd_open, pid, 0);
	*ret4 = syscall(SYS_pidfd_getfd, pidfd, board->results[0], 0);
	*ret6 = syscall(SYS_pidfd_getfd, pidfd, board->results[1], 0);
	board->go = 1;
	cell_wait(pid);
	CHECK(*ret4 >= 0 && *ret6 >= 0, "no sockets");
	CHECK(cell_set_state(cell, BH_STATE_ENFORCED) == 0, "cannot enforce");
	return 0;
}

/* What the event of an address says: family, type, protocol, port; the address behind it. */
static int check_address_event(struct cell *cell, enum bh_hook hook, const char *to)
{
	const struct bh_event_copy *e = cell_event(cell, 0, hook);
	int family = strchr(to, ':') ? AF_INET6 : AF_INET;
	unsigned char address[16];

	CHECK(e, "%s: no event", hook_name(hook));
	CHECK(e->head.reason == BH_REASON_NETWORK && e->head.kind == BH_OBJECT_SOCKET,
	      "%s: reason %s, kind %u", hook_name(hook), reason_text(e->head.reason), e->head.kind);
	CHECK(e->head.tgid == (__u32)getpid(), "%s: the event is of process %u", hook_name(hook),
	      e->head.tgid);
	CHECK(e->head.object[0] == (__u32)family && e->head.object[1] == SOCK_DGRAM &&
		      e->head.object[2] == IPPROTO_UDP && e->head.object[3] == 4660,
	      "%s: family %u, type %u, protocol %u, port %u", hook_name(hook), e->head.object[0],
	      e->head.object[1], e->head.object[2], e->head.object[3]);
	CHECK(inet_pton(family, to, address) == 1 &&
		      !memcmp(e->tail, address, family == AF_INET6 ? 16 : 4),
	      "%s: the event has another address than %s", hook_name(hook), to);
	return 0;
}

static int use_socket(struct cell *cell, enum bh_hook hook, const char *verb, int fd,
		      const char *to)
{
	char number[16];
	char *argv[] = {(char *)verb, number, (char *)to, (char *)"4660"};
	struct bh_tally before = cell_tally(cell), after;
	int r;

	snprintf(number, sizeof(number), "%d", fd);
	r = verb_run(4, argv);
	after = cell_tally(cell);
	CHECK(r == EACCES, "%s by an outsider: %s", hook_name(hook), outcome_text(r));
	CHECK(after.hook[hook] == before.hook[hook] + 1, "%s was not counted", hook_name(hook));
	cell_drain(cell);
	return check_address_event(cell, hook, to);
}

static int case_born_inside(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	_cleanup_close_ int fd4 = -1, fd6 = -1;

	CHECK(cell, "no cell");
	board = board_new();
	CHECK(board, "no memory");
	if (take_sockets(cell, &fd4, &fd6) ||
	    use_socket(cell, BH_HOOK_SENDMSG4, "send-fd", fd4, "127.0.0.9") ||
	    use_socket(cell, BH_HOOK_SENDMSG6, "send-fd", fd6, "::1") ||
	    use_socket(cell, BH_HOOK_CONNECT4, "connect-fd", fd4, "127.0.0.9") ||
	    use_socket(cell, BH_HOOK_CONNECT6, "connect-fd", fd6, "::1"))
		return -1;
	/* Mapped addresses go through the v6 programs. */
	return use_socket(cell, BH_HOOK_CONNECT6, "connect-fd", fd6, "::ffff:127.0.0.9");
}

/* --- what is made, and what for --- */

struct kind {
	int family, type, protocol;
};

static int do_make(void *data)
{
	const struct kind *kind = data;
	_cleanup_close_ int fd = socket(kind->family, kind->type, kind->protocol);

	return fd < 0 ? errno : 0;
}

#define PROTOCOL_MPTCP 262
#define PROTOCOL_SCTP 132
#define PROTOCOL_UDPLITE 136

/* What is no TCP, UDP, or asking for routes. */
static const struct kind closed_kinds[] = {
	{AF_INET, SOCK_STREAM, PROTOCOL_MPTCP},
	{AF_INET, SOCK_STREAM, PROTOCOL_SCTP},
	{AF_INET, SOCK_SEQPACKET, 0},
	{AF_INET, SOCK_DGRAM, IPPROTO_ICMP},
	{AF_INET, SOCK_DGRAM, PROTOCOL_UDPLITE},
	{AF_INET, SOCK_RAW, IPPROTO_ICMP},
	{AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6},
	{AF_INET6, SOCK_RAW, IPPROTO_RAW},
	{AF_PACKET, SOCK_RAW, 0},
	{AF_VSOCK, SOCK_STREAM, 0},
	{AF_ALG, SOCK_SEQPACKET, 0},
	{AF_BLUETOOTH, SOCK_RAW, 0},
	{AF_NETLINK, SOCK_RAW, 4 /* NETLINK_SOCK_DIAG */},
	{AF_NETLINK, SOCK_RAW, 15 /* NETLINK_KOBJECT_UEVENT */},
};
static const struct kind open_kinds[] = {
	{AF_INET, SOCK_STREAM, 0},
	{AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP},
	{AF_INET, SOCK_DGRAM, IPPROTO_UDP},
	{AF_INET6, SOCK_STREAM, IPPROTO_TCP},
	{AF_INET6, SOCK_DGRAM, 0},
	{AF_NETLINK, SOCK_RAW, 0 /* NETLINK_ROUTE */},
};

static int case_kinds(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = egress_cell(kern);
	char what[64];

	CHECK(cell, "no cell");
	for (size_t i = 0; i < sizeof(closed_kinds) / sizeof(*closed_kinds); i++) {
		snprintf(what, sizeof(what), "socket %d %d %d", closed_kinds[i].family,
			 closed_kinds[i].type, closed_kinds[i].protocol);
		if (check_refused(cell, do_make, (void *)&closed_kinds[i], BH_HOOK_SOCKET_CREATE,
				  EAFNOSUPPORT, what))
			return -1;
	}
	for (size_t i = 0; i < sizeof(open_kinds) / sizeof(*open_kinds); i++) {
		int r = cell_call(cell, INSIDE, do_make, (void *)&open_kinds[i]);

		CHECK(r == 0, "socket %d %d %d: %s", open_kinds[i].family, open_kinds[i].type,
		      open_kinds[i].protocol, outcome_text(r));
	}
	return 0;
}

struct corner {
	int family, port;
	const char *address;
};

static int do_bind(void *data)
{
	const struct corner *corner = data;
	struct peer at = peer_of(corner->address, corner->port);
	_cleanup_close_ int fd = socket(corner->family, SOCK_STREAM, 0);

	if (fd < 0)
		return VERB_BROKEN + errno;
	return bind(fd, peer_at(&at), at.length) < 0 ? errno : 0;
}

static int do_listen(void *data _unused_)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM, 0);

	return listen(fd, 1) < 0 ? errno : 0;
}

static const struct corner closed_places[] = {
	{AF_INET, 8080, "127.0.0.1"}, {AF_INET, 8080, "0.0.0.0"}, {AF_INET, 0, OUTSIDE},
	{AF_INET6, 8080, "::1"},      {AF_INET6, 8080, "::"},	  {AF_INET6, 0, "::ffff:" OUTSIDE},
	{AF_INET6, 0, "2001:db8::1"}, {AF_INET6, 0, "::7f00:1"},
};
static const struct corner open_places[] = {
	{AF_INET, 0, "127.0.0.1"}, {AF_INET, 0, "0.0.0.0"},	      {AF_INET6, 0, "::1"},
	{AF_INET6, 0, "::"},	   {AF_INET6, 0, "::ffff:127.0.0.1"},
};

static int case_bind(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = egress_cell(kern);
	int r;

	CHECK(cell, "no cell");
	for (size_t i = 0; i < sizeof(closed_places) / sizeof(*closed_places); i++)
		if (check_refused(cell, do_bind, (void *)&closed_places[i], BH_HOOK_SOCKET_BIND,
				  EACCES, closed_places[i].address))
			return -1;
	for (size_t i = 0; i < sizeof(open_places) / sizeof(*open_places); i++) {
		r = cell_call(cell, INSIDE, do_bind, (void *)&open_places[i]);
		CHECK(r == 0, "bind to %s: %s", open_places[i].address, outcome_text(r));
	}
	r = cell_call(cell, BESIDE, do_listen, NULL);
	CHECK(r == 0, "listen beside: %s", outcome_text(r));
	return check_refused(cell, do_listen, NULL, BH_HOOK_SOCKET_LISTEN, EACCES, "listen");
}

/* What makes the kernel itself talk to the network. */
struct option {
	int family, level, name, size;
};

static int do_option(void *data)
{
	const struct option *option = data;
	/* 239.1.2.3, and the first bytes of ff02::1:3 and others: what it is asked for is no matter. */
	unsigned char value[136] = {239, 1, 2, 3};
	_cleanup_close_ int fd = socket(option->family, SOCK_DGRAM, 0);

	if (fd < 0)
		return VERB_BROKEN + errno;
	return setsockopt(fd, option->level, option->name, value, (socklen_t)option->size) < 0
		       ? errno
		       : 0;
}

static const struct option closed_options[] = {
	{AF_INET, IPPROTO_IP, IP_ADD_MEMBERSHIP, sizeof(struct ip_mreqn)},
	{AF_INET, IPPROTO_IP, IP_ADD_SOURCE_MEMBERSHIP, sizeof(struct ip_mreq_source)},
	{AF_INET, IPPROTO_IP, MCAST_JOIN_GROUP, sizeof(struct group_req)},
	{AF_INET, IPPROTO_IP, MCAST_JOIN_SOURCE_GROUP, 136},
	{AF_INET, IPPROTO_IP, IP_OPTIONS, 4},
	{AF_INET6, IPPROTO_IP, IP_ADD_MEMBERSHIP, sizeof(struct ip_mreqn)},
	{AF_INET6, IPPROTO_IPV6, IPV6_JOIN_GROUP, sizeof(struct ipv6_mreq)},
	{AF_INET6, IPPROTO_IPV6, IPV6_JOIN_ANYCAST, sizeof(struct ipv6_mreq)},
	{AF_INET6, IPPROTO_IPV6, MCAST_JOIN_GROUP, sizeof(struct group_req)},
	{AF_INET6, IPPROTO_IPV6, IPV6_RTHDR, 24},
};

static int do_usual_options(void *data _unused_)
{
	const int yes = 1;
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM, 0);

	return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) < 0 ||
			       setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes)) < 0 ||
			       setsockopt(fd, IPPROTO_IP, IP_TOS, &yes, sizeof(yes)) < 0
		       ? errno
		       : 0;
}

static int case_options(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = egress_cell(kern);
	char what[64];

	CHECK(cell, "no cell");
	for (size_t i = 0; i < sizeof(closed_options) / sizeof(*closed_options); i++) {
		snprintf(what, sizeof(what), "option %d of level %d", closed_options[i].name,
			 closed_options[i].level);
		if (check_refused(cell, do_option, (void *)&closed_options[i],
				  BH_HOOK_SOCKET_SETSOCKOPT, EPERM, what))
			return -1;
	}
	CHECK(cell_call(cell, INSIDE, do_usual_options, NULL) == 0, "usual options");
	return 0;
}

const struct test_case sockets_cases[] = {
	{"sockets/born-inside", case_born_inside, CASE_REFUSES},
	{"sockets/kinds", case_kinds, CASE_REFUSES},
	{"sockets/bind", case_bind, CASE_REFUSES},
	{"sockets/options", case_options, CASE_REFUSES},
	{},
};

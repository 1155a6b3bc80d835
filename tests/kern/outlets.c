// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Where destinations are listed: what members send goes to the outlets of their network namespace, and nowhere else.
 * The outlets' ends are this program's own sockets; a network namespace of its own has a wire that is watched.
 */
#include "harness.h"
#include "board.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <netpacket/packet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WAIT_MS 3000

/* A name's address, and what is none. */
#define SYNTHETIC "198.18.0.1"
#define OUTSIDE "203.0.113.9"

struct ends {
	int relay, stub4, stub6;
	struct bh_outlet outlet;
	__u64 netns;
};

static void ends_close(struct ends *ends)
{
	close(ends->relay);
	close(ends->stub4);
	close(ends->stub6);
}
#define _cleanup_ends_ _cleanup_(ends_close)

/* --- addresses --- */

struct peer {
	struct sockaddr_storage at;
	socklen_t length;
};

static struct peer peer_of(const char *address, int port)
{
	struct peer peer = {};
	struct sockaddr_in *four = (struct sockaddr_in *)&peer.at;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&peer.at;

	if (strchr(address, ':')) {
		six->sin6_family = AF_INET6;
		six->sin6_port = htons((uint16_t)port);
		inet_pton(AF_INET6, address, &six->sin6_addr);
		peer.length = sizeof(*six);
	} else {
		four->sin_family = AF_INET;
		four->sin_port = htons((uint16_t)port);
		inet_pton(AF_INET, address, &four->sin_addr);
		peer.length = sizeof(*four);
	}
	return peer;
}

static struct sockaddr *peer_at(const struct peer *peer)
{
	return (struct sockaddr *)&peer->at;
}

/* Is it this address and port, as a socket of its family writes it? */
static bool is_peer(const struct peer *peer, const char *address, int port)
{
	char text[INET6_ADDRSTRLEN] = "";
	const struct sockaddr_in *four = (const struct sockaddr_in *)&peer->at;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&peer->at;

	if (peer->at.ss_family == AF_INET)
		inet_ntop(AF_INET, &four->sin_addr, text, sizeof(text));
	else
		inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof(text));
	return strcmp(text, address) == 0 && ntohs(four->sin_port) == port;
}

static int bound_port(int fd)
{
	struct sockaddr_in6 at = {};
	socklen_t length = sizeof(at);

	return getsockname(fd, (struct sockaddr *)&at, &length) < 0 ? 0 : ntohs(at.sin6_port);
}

/* --- the agent's ends --- */

static int end_open(int family, int type)
{
	struct peer at = peer_of(family == AF_INET ? "127.0.0.1" : "::1", 0);
	int fd = socket(family, type | SOCK_CLOEXEC, 0);

	if (fd >= 0 &&
	    (bind(fd, peer_at(&at), at.length) < 0 || (type == SOCK_STREAM && listen(fd, 16) < 0)))
		perror("an end");
	return fd;
}

static int ends_open(struct cell *cell, struct ends *ends)
{
	struct bh_compartment entry;
	socklen_t length = sizeof(ends->netns);

	ends->relay = end_open(AF_INET, SOCK_STREAM);
	ends->stub4 = end_open(AF_INET, SOCK_DGRAM);
	ends->stub6 = end_open(AF_INET6, SOCK_DGRAM);
	if (kern_compartment_get(cell->kern, cell->id, &entry) ||
	    getsockopt(ends->relay, SOL_SOCKET, SO_NETNS_COOKIE, &ends->netns, &length) < 0)
		return -1;
	ends->outlet = (struct bh_outlet){
		.serial = entry.serial,
		.synthetic = inet_addr("198.18.0.0"),
		.netmask = inet_addr("255.254.0.0"),
		.relay = (__u16)bound_port(ends->relay),
		.stub4 = (__u16)bound_port(ends->stub4),
		.stub6 = (__u16)bound_port(ends->stub6),
	};
	if (kern_outlet_mark(cell->kern, ends->relay, entry.serial) ||
	    kern_outlet_mark(cell->kern, ends->stub4, entry.serial) ||
	    kern_outlet_mark(cell->kern, ends->stub6, entry.serial))
		return -1;
	return kern_outlet_set(cell->kern, cell->id, ends->netns, &ends->outlet);
}

static struct cell *egress_cell(struct kern *kern)
{
	const struct cell_options options = {.flags = BH_POLICY_EGRESS};

	return cell_new(kern, &options);
}

/* What the relay does with a connection: finds out whose it is. */
static int take_flow(struct cell *cell, const struct ends *ends, int *ret_fd, struct bh_flow *ret)
{
	struct pollfd wait = {.fd = ends->relay, .events = POLLIN};
	struct bh_flow_key key = {.netns = ends->netns, .relay = ends->outlet.relay};
	struct sockaddr_in from = {};
	socklen_t length = sizeof(from);

	if (poll(&wait, 1, WAIT_MS) != 1)
		return -ETIMEDOUT;
	*ret_fd = accept4(ends->relay, (struct sockaddr *)&from, &length, SOCK_CLOEXEC);
	if (*ret_fd < 0)
		return -errno;
	key.address = from.sin_addr.s_addr;
	key.port = ntohs(from.sin_port);
	return bpf_map_lookup_and_delete_elem(kern_flows_fd(cell->kern), &key, ret) < 0 ? -errno
											: 0;
}

/* Answers one datagram, with what it said. */
static int answer(int fd)
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	struct peer from = {.length = sizeof(from.at)};
	char bytes[64];
	ssize_t n;

	if (poll(&wait, 1, WAIT_MS) != 1)
		return -ETIMEDOUT;
	n = recvfrom(fd, bytes, sizeof(bytes), 0, peer_at(&from), &from.length);
	return n < 0 || sendto(fd, bytes, (size_t)n, 0, peer_at(&from), from.length) != n ? -errno
											  : 0;
}

/* --- what members do; errno or 0 --- */

struct way {
	int family, type;
	const char *to, *seen; /* as its peer is called; NULL: as `to` */
	int port;
	bool connects; /* datagrams: before they are sent */
	bool fast;     /* MSG_FASTOPEN */
	int bound;     /* family that it is bound to at port 0; 0: it is not */
};

static int socket_for(const struct way *way)
{
	struct peer any = peer_of(way->bound == AF_INET6 ? "::" : "0.0.0.0", 0);
	struct timeval wait = {.tv_sec = WAIT_MS / 1000};
	int fd = socket(way->family, way->type, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	if (way->bound && bind(fd, peer_at(&any), any.length) < 0)
		return -errno;
	return fd;
}

static int connect_by(int fd, const struct way *way)
{
	struct peer to = peer_of(way->to, way->port), peer = {.length = sizeof(peer.at)};

	if (way->fast && sendto(fd, "x", 1, MSG_FASTOPEN, peer_at(&to), to.length) != 1)
		return errno;
	if (!way->fast && connect(fd, peer_at(&to), to.length) < 0)
		return errno;
	if (getpeername(fd, peer_at(&peer), &peer.length) < 0)
		return errno;
	return is_peer(&peer, way->seen ?: way->to, way->port) ? 0 : EPROTO;
}

/* What the last event says, where there is one. */
static const char *last_event(struct cell *cell)
{
	static char text[128];

	cell_drain(cell);
	text[0] = '\0';
	if (cell->nevents) {
		const struct bh_event *e = &cell->events[cell->nevents - 1].head;

		snprintf(text, sizeof(text), "; %s: %s", hook_name(e->hook),
			 reason_text(e->reason));
	}
	return text;
}

static int do_connect(void *data)
{
	_cleanup_close_ int fd = socket_for(data);

	return fd < 0 ? -fd : connect_by(fd, data);
}

static int do_ask(void *data)
{
	const struct way *way = data;
	struct peer to = peer_of(way->to, way->port), from = {.length = sizeof(from.at)};
	_cleanup_close_ int fd = socket_for(way);
	char bytes[64];
	int r = fd < 0 ? -fd : 0;

	if (!r && way->connects)
		r = connect_by(fd, way);
	if (r)
		return r;
	if (sendto(fd, "who?", 4, 0, way->connects ? NULL : peer_at(&to),
		   way->connects ? 0 : to.length) != 4)
		return errno;
	if (recvfrom(fd, bytes, sizeof(bytes), 0, peer_at(&from), &from.length) != 4)
		return errno;
	return is_peer(&from, way->seen ?: way->to, way->port) ? 0 : EPROTO;
}

/* --- cases --- */

static const struct way connects[] = {
	{AF_INET, SOCK_STREAM, SYNTHETIC, NULL, 443, false, false, 0},
	{AF_INET, SOCK_STREAM, SYNTHETIC, NULL, 443, false, false, AF_INET},
	{AF_INET, SOCK_STREAM, SYNTHETIC, NULL, 443, false, true, 0},
	{AF_INET6, SOCK_STREAM, "::ffff:" SYNTHETIC, NULL, 8443, false, false, 0},
	{AF_INET6, SOCK_STREAM, "::ffff:" SYNTHETIC, NULL, 8443, false, false, AF_INET6},
	{AF_INET, SOCK_STREAM, OUTSIDE, NULL, 53, false, false, 0},
	{AF_INET6, SOCK_STREAM, "2001:db8::53", NULL, 53, false, false, 0},
};

static int check_connect(struct cell *cell, const struct ends *ends, const struct way *way)
{
	_cleanup_close_ int fd = -1;
	struct bh_flow flow = {};
	pid_t pid = cell_spawn(cell, cell->cgroup_fd, do_connect, (void *)way);
	int took = take_flow(cell, ends, &fd, &flow), r = cell_wait(pid);

	CHECK(r == 0, "%s port %d: %s%s", way->to, way->port, outcome_text(r), last_event(cell));
	CHECK(took == 0, "%s port %d: the relay does not know it: %s", way->to, way->port,
	      strerror(-took));
	CHECK(flow.serial == ends->outlet.serial && flow.compartment == cell->id &&
		      flow.port == way->port,
	      "%s: a flow of compartment %u to port %u", way->to, flow.compartment, flow.port);
	CHECK(flow.address == (strstr(way->to, SYNTHETIC) ? inet_addr(SYNTHETIC)
			       : strchr(way->to, ':')	  ? 0
							  : inet_addr(way->to)),
	      "%s: a flow to %08x", way->to, ntohl(flow.address));
	return 0;
}

static int case_connect(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = egress_cell(kern);
	_cleanup_ends_ struct ends ends = {-1, -1, -1, {}, 0};

	CHECK(cell && ends_open(cell, &ends) == 0, "no cell");
	for (size_t i = 0; i < sizeof(connects) / sizeof(*connects); i++)
		if (check_connect(cell, &ends, &connects[i]))
			return -1;
	return 0;
}

/* --- clients at the same place --- */

struct twin {
	struct board *board;
	int port; /* 0: any */
	const char *to;
};

/* Connected from that port, until it is told to end. */
static int do_twin(void *data)
{
	struct twin *twin = data;
	struct peer at = peer_of("127.0.0.1", twin->port), to = peer_of(twin->to, 443);
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM, 0);
	const int yes = 1;
	int r = 0;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(fd, peer_at(&at), at.length) < 0 || connect(fd, peer_at(&to), to.length) < 0)
		r = errno;
	twin->board->results[0] = bound_port(fd);
	twin->board->done = 1;
	board_await(&twin->board->go, 1);
	return r;
}

static int check_twin(struct cell *cell, const struct ends *ends, const char *to)
{
	_cleanup_close_ int fd = -1;
	struct bh_flow flow = {};
	int took = take_flow(cell, ends, &fd, &flow);

	CHECK(took == 0, "compartment %u: the relay does not know it: %s", cell->id,
	      strerror(-took));
	CHECK(flow.serial == ends->outlet.serial && flow.address == inet_addr(to),
	      "compartment %u: it is taken for %u's to %08x", cell->id, flow.compartment,
	      ntohl(flow.address));
	return 0;
}

#define SYNTHETIC_OTHER "198.18.0.2"

/* Two compartments' clients with the same address and port, both on the way: each is its own relay's. */
static int case_twins(struct kern *kern)
{
	const struct cell_options options = {.flags = BH_POLICY_INET};
	_cleanup_cell_ struct cell *one = cell_new(kern, &options), *two = cell_new(kern, &options);
	_cleanup_ends_ struct ends ones = {-1, -1, -1, {}, 0}, twos = {-1, -1, -1, {}, 0};
	struct twin first = {board_new(), 0, SYNTHETIC}, second = {board_new(), 0, SYNTHETIC_OTHER};
	pid_t pids[2];
	int r;

	CHECK(one && two && first.board && second.board && ends_open(one, &ones) == 0 &&
		      ends_open(two, &twos) == 0,
	      "no cells");
	pids[0] = cell_spawn(one, one->cgroup_fd, do_twin, &first);
	r = board_await(&first.board->done, 1);
	second.port = first.board->results[0];
	pids[1] = cell_spawn(two, two->cgroup_fd, do_twin, &second);
	r = r ?: board_await(&second.board->done, 1);
	CHECK(r == 0 && second.board->results[0] == second.port, "port %d, port %d", second.port,
	      second.board->results[0]);
	r = check_twin(one, &ones, SYNTHETIC) ?: check_twin(two, &twos, SYNTHETIC_OTHER);
	first.board->go = second.board->go = 1;
	CHECK(cell_wait(pids[0]) == 0 && cell_wait(pids[1]) == 0, "not connected");
	board_free(first.board);
	board_free(second.board);
	return r;
}

static int count_flows(struct cell *cell)
{
	struct bh_flow_key key, *previous = NULL;
	int n = 0;

	while (n < BH_MAX_FLOWS &&
	       !bpf_map_get_next_key(kern_flows_fd(cell->kern), previous, &key)) {
		previous = &key;
		n++;
	}
	return n;
}

static const struct sockaddr unconnected = {.sa_family = AF_UNSPEC};

/* Connected to the relay, then to a server inside. */
static int do_again(void *data _unused_)
{
	struct peer own = peer_of("127.0.0.1", 0), relay = peer_of(SYNTHETIC, 443);
	_cleanup_close_ int server = socket(AF_INET, SOCK_STREAM, 0),
			    fd = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(server, peer_at(&own), own.length) < 0 || listen(server, 1) < 0 ||
	    getsockname(server, peer_at(&own), &own.length) < 0 ||
	    connect(fd, peer_at(&relay), relay.length) < 0 ||
	    connect(fd, &unconnected, sizeof(unconnected)) < 0)
		return errno;
	return connect(fd, peer_at(&own), own.length) < 0 ? errno : 0;
}

/* What does not go to the relay leaves no entry, which nobody would take: it would be who has the port next. */
static int case_again(struct kern *kern)
{
	const struct cell_options options = {.flags = BH_POLICY_INET};
	_cleanup_cell_ struct cell *cell = cell_new(kern, &options);
	_cleanup_ends_ struct ends ends = {-1, -1, -1, {}, 0};
	_cleanup_close_ int fd = -1;
	struct bh_flow flow = {};
	pid_t pid;
	int r;

	CHECK(cell && ends_open(cell, &ends) == 0, "no cell");
	CHECK(kern_flows_clear(kern) == 0, "flows stay");
	pid = cell_spawn(cell, cell->cgroup_fd, do_again, NULL);
	r = take_flow(cell, &ends, &fd, &flow);
	CHECK(r == 0, "the relay does not know it: %s", strerror(-r));
	r = cell_wait(pid);
	CHECK(r == 0, "a server inside: %s", outcome_text(r));
	CHECK(count_flows(cell) == 0, "%d flows are left", count_flows(cell));
	return 0;
}

/* Others' connections, which nobody takes, are no reason for this one to be lost. */
static int case_crowd(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = egress_cell(kern);
	_cleanup_ends_ struct ends ends = {-1, -1, -1, {}, 0};
	struct bh_flow_key key = {.netns = 1};
	struct bh_flow flow = {.serial = 1};
	int r;

	CHECK(cell && ends_open(cell, &ends) == 0, "no cell");
	for (key.address = 0; key.address < BH_MAX_FLOWS; key.address++)
		bpf_map_update_elem(kern_flows_fd(kern), &key, &flow, BPF_ANY);
	r = check_connect(cell, &ends, &connects[0]);
	kern_flows_clear(kern);
	return r;
}

static const struct way asks[] = {
	{AF_INET, SOCK_DGRAM, OUTSIDE, NULL, 53, false, false, 0},
	{AF_INET, SOCK_DGRAM, OUTSIDE, NULL, 53, false, false, AF_INET},
	{AF_INET, SOCK_DGRAM, OUTSIDE, NULL, 53, true, false, 0},
	{AF_INET, SOCK_DGRAM, "127.0.0.53", NULL, 53, true, false, 0},
	{AF_INET6, SOCK_DGRAM, "2001:db8::53", NULL, 53, false, false, 0},
	{AF_INET6, SOCK_DGRAM, "2001:db8::53", NULL, 53, true, false, 0},
	{AF_INET6, SOCK_DGRAM, "2001:db8::53", NULL, 53, false, false, AF_INET6},
	{AF_INET6, SOCK_DGRAM, "::1", NULL, 53, true, false, 0},
	{AF_INET6, SOCK_DGRAM, "::ffff:" OUTSIDE, NULL, 53, false, false, AF_INET6},
	{AF_INET6, SOCK_DGRAM, "::ffff:" OUTSIDE, NULL, 53, true, false, 0},
	{AF_INET6, SOCK_DGRAM, OUTSIDE, "::ffff:" OUTSIDE, 53, false, false, 0},
};

static int check_ask(struct cell *cell, const struct ends *ends, const struct way *way)
{
	bool six = strchr(way->to, ':') && strncmp(way->to, "::ffff:", 7) != 0;
	pid_t pid = cell_spawn(cell, cell->cgroup_fd, do_ask, (void *)way);
	int answered = answer(six ? ends->stub6 : ends->stub4), r = cell_wait(pid);

	CHECK(answered == 0, "%s: the stub was not asked: %s; %s%s", way->to, strerror(-answered),
	      outcome_text(r), last_event(cell));
	CHECK(r == 0, "%s%s: %s", way->to, way->connects ? ", connected" : "", outcome_text(r));
	return 0;
}

static int case_ask(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = egress_cell(kern);
	_cleanup_ends_ struct ends ends = {-1, -1, -1, {}, 0};

	CHECK(cell && ends_open(cell, &ends) == 0, "no cell");
	for (size_t i = 0; i < sizeof(asks) / sizeof(*asks); i++)
		if (check_ask(cell, &ends, &asks[i]))
			return -1;
	return 0;
}

/* --- refusals --- */

static const struct {
	struct way way;
	enum bh_hook hook;
} elsewhere[] = {
	{{AF_INET, SOCK_STREAM, OUTSIDE, NULL, 443, false, false, 0}, BH_HOOK_CONNECT4},
	{{AF_INET, SOCK_STREAM, OUTSIDE, NULL, 443, false, true, 0}, BH_HOOK_CONNECT4},
	{{AF_INET, SOCK_STREAM, "127.0.0.1", NULL, 22, false, false, 0}, BH_HOOK_CONNECT4},
	{{AF_INET, SOCK_STREAM, "0.0.0.0", NULL, 22, false, false, 0}, BH_HOOK_CONNECT4},
	{{AF_INET, SOCK_STREAM, "198.17.255.255", NULL, 443, false, false, 0}, BH_HOOK_CONNECT4},
	{{AF_INET, SOCK_STREAM, "198.20.0.0", NULL, 443, false, false, 0}, BH_HOOK_CONNECT4},
	{{AF_INET6, SOCK_STREAM, "2001:db8::9", NULL, 443, false, false, 0}, BH_HOOK_CONNECT6},
	{{AF_INET6, SOCK_STREAM, "2001:db8::9", NULL, 443, false, true, 0}, BH_HOOK_CONNECT6},
	{{AF_INET6, SOCK_STREAM, "::1", NULL, 22, false, false, 0}, BH_HOOK_CONNECT6},
	{{AF_INET6, SOCK_STREAM, "::ffff:" OUTSIDE, NULL, 443, false, false, 0}, BH_HOOK_CONNECT6},
	/* 198.18.0.1 is in the range as the last four bytes, and is no mapped address. */
	{{AF_INET6, SOCK_STREAM, "2001:db8::c612:1", NULL, 443, false, false, 0}, BH_HOOK_CONNECT6},
	{{AF_INET6, SOCK_STREAM, "::c612:1", NULL, 443, false, false, 0}, BH_HOOK_CONNECT6},
	{{AF_INET, SOCK_DGRAM, SYNTHETIC, NULL, 443, true, false, 0}, BH_HOOK_CONNECT4},
	{{AF_INET, SOCK_DGRAM, SYNTHETIC, NULL, 443, false, false, 0}, BH_HOOK_SENDMSG4},
	{{AF_INET, SOCK_DGRAM, OUTSIDE, NULL, 853, false, false, 0}, BH_HOOK_SENDMSG4},
	{{AF_INET, SOCK_DGRAM, "224.0.0.251", NULL, 5353, false, false, 0}, BH_HOOK_SENDMSG4},
	{{AF_INET, SOCK_DGRAM, "127.0.0.1", NULL, 9, false, false, 0}, BH_HOOK_SENDMSG4},
	{{AF_INET6, SOCK_DGRAM, "2001:db8::9", NULL, 443, false, false, 0}, BH_HOOK_SENDMSG6},
	{{AF_INET6, SOCK_DGRAM, "::1", NULL, 9, false, false, 0}, BH_HOOK_SENDMSG6},
	{{AF_INET6, SOCK_DGRAM, "::ffff:" OUTSIDE, NULL, 443, false, false, 0}, BH_HOOK_SENDMSG4},
	{{AF_INET6, SOCK_DGRAM, OUTSIDE, NULL, 443, true, false, 0}, BH_HOOK_CONNECT4},
};

static int check_refused(struct cell *cell, cell_fn fn, void *data, enum bh_hook hook, int error,
			 const char *what)
{
	struct bh_tally before = cell_tally(cell);
	size_t from;
	int r;

	cell_drain(cell);
	from = cell->nevents;
	r = cell_call(cell, INSIDE, fn, data);
	CHECK(r == error, "%s: %s", what, outcome_text(r));
	CHECK(cell_tally(cell).hook[hook] == before.hook[hook] + 1, "%s: %s did not count it", what,
	      hook_name(hook));
	cell_drain(cell);
	CHECK(cell_event(cell, from, hook), "%s: no event of %s", what, hook_name(hook));
	return 0;
}

static int case_elsewhere(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = egress_cell(kern);
	_cleanup_ends_ struct ends ends = {-1, -1, -1, {}, 0};

	CHECK(cell && ends_open(cell, &ends) == 0, "no cell");
	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(*elsewhere); i++) {
		const struct way *way = &elsewhere[i].way;

		if (check_refused(cell, way->type == SOCK_DGRAM ? do_ask : do_connect, (void *)way,
				  elsewhere[i].hook, EACCES, way->to))
			return -1;
	}
	return 0;
}

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

/* The relay is gone, and somebody else has its port: no way out, whatever the entry says. */
static int case_gone(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = egress_cell(kern);
	_cleanup_ends_ struct ends ends = {-1, -1, -1, {}, 0};
	_cleanup_close_ int other = -1;
	struct peer at;
	const int yes = 1;

	CHECK(cell && ends_open(cell, &ends) == 0, "no cell");
	if (check_connect(cell, &ends, &connects[0]))
		return -1;
	at = peer_of("127.0.0.1", ends.outlet.relay);
	close(ends.relay);
	ends.relay = -1;
	if (check_refused(cell, do_connect, (void *)&connects[0], BH_HOOK_CONNECT4, EACCES, "gone"))
		return -1;
	other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(other, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	CHECK(bind(other, peer_at(&at), at.length) == 0 && listen(other, 1) == 0,
	      "the relay's port is not to be had: %s", strerror(errno));
	if (check_refused(cell, do_connect, (void *)&connects[0], BH_HOOK_CONNECT4, EACCES,
			  "somebody else's"))
		return -1;
	CHECK(cell_event(cell, 0, BH_HOOK_CONNECT4)->head.reason == BH_REASON_UNSURE_OUTLET,
	      "the reason is another one");
	/* As if it had been the agent's: the same act goes through, so that the mark alone decided. */
	CHECK(kern_outlet_mark(kern, other, ends.outlet.serial) == 0, "cannot mark it");
	ends.relay = dup(other);
	return check_connect(cell, &ends, &connects[0]);
}

/* Another compartment's, or none for this network namespace. */
static int case_none(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = egress_cell(kern), *other = egress_cell(kern);
	_cleanup_ends_ struct ends ends = {-1, -1, -1, {}, 0};
	struct bh_outlet outlet;

	CHECK(cell && other && ends_open(other, &ends) == 0, "no cell");
	if (check_refused(cell, do_connect, (void *)&connects[0], BH_HOOK_CONNECT4, EACCES,
			  "without an outlet") ||
	    check_connect(other, &ends, &connects[0]))
		return -1;
	outlet = ends.outlet;
	outlet.serial--;
	CHECK(kern_outlet_set(kern, other->id, ends.netns, &outlet) == 0, "cannot set it");
	if (check_refused(other, do_connect, (void *)&connects[0], BH_HOOK_CONNECT4, EACCES,
			  "an earlier compartment's"))
		return -1;
	CHECK(kern_outlets_clear(kern, other->id) == 0, "cannot clear it");
	return check_refused(other, do_ask, (void *)&asks[0], BH_HOOK_SENDMSG4, EACCES, "cleared");
}

/* --- the wire --- */

#define WIRE_RX "/sys/class/net/bhwire1/statistics/rx_packets"

static int wire_make(void)
{
	/* The peer's name is the kernel's choice: busybox does not pass one on. */
	return system("ip link add bhwire0 type veth && ip link set veth0 name bhwire1 && "
		      "echo 1 >/proc/sys/net/ipv6/conf/bhwire0/disable_ipv6 && "
		      "echo 1 >/proc/sys/net/ipv6/conf/bhwire1/disable_ipv6 && "
		      "ip addr add 203.0.113.1/24 dev bhwire0 && ip link set bhwire0 up && "
		      "ip link set bhwire1 up && "
		      "arp -i bhwire0 -s " OUTSIDE " 02:00:00:00:00:09") == 0
		       ? 0
		       : -1;
}

static void wire_remove(int *made)
{
	if (*made && system("ip link del bhwire0") != 0)
		perror("the wire stays");
}

static long wire_packets(void)
{
	FILE *f = fopen(WIRE_RX, "re");
	long n = -1;

	if (!f || fscanf(f, "%ld", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

enum detour { BY_SOURCE_ROUTE, BY_DEVICE, BY_PKTINFO };

static size_t put_detour(enum detour detour, struct msghdr *msg, char *control)
{
	/* LSRR (RFC 791): by way of OUTSIDE. */
	static const unsigned char route[] = {131, 7, 4, 203, 0, 113, 9, 0};
	struct in_pktinfo info = {.ipi_ifindex = (int)if_nametoindex("bhwire0")};
	const void *data = detour == BY_PKTINFO ? (const void *)&info : route;
	size_t n = detour == BY_PKTINFO ? sizeof(info) : sizeof(route);
	struct cmsghdr *head;

	msg->msg_control = control;
	msg->msg_controllen = CMSG_SPACE(n);
	head = CMSG_FIRSTHDR(msg);
	head->cmsg_level = IPPROTO_IP;
	head->cmsg_type = detour == BY_PKTINFO ? IP_PKTINFO : IP_RETOPTS;
	head->cmsg_len = CMSG_LEN(n);
	memcpy(CMSG_DATA(head), data, n);
	return n;
}

/* A query that is judged by its address, and told to go elsewhere besides. What it is answered is no matter. */
static int do_detour(void *data)
{
	const enum detour detour = *(enum detour *)data;
	struct peer to = peer_of(OUTSIDE, 53);
	struct iovec bytes = {(void *)"secret", 6};
	struct msghdr msg = {
		.msg_name = &to.at, .msg_namelen = to.length, .msg_iov = &bytes, .msg_iovlen = 1};
	char control[128] __attribute__((aligned(8))) = {};
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0)
		return VERB_BROKEN + errno;
	if (detour == BY_DEVICE)
		setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "bhwire0", sizeof("bhwire0"));
	else
		put_detour(detour, &msg, control);
	return sendmsg(fd, &msg, 0) < 0 ? errno : 0;
}

static int check_detour(struct cell *cell, enum detour detour)
{
	struct bh_tally before = cell_tally(cell), after;
	long first = wire_packets(), then;
	int r;

	CHECK(cell_call(cell, BESIDE, do_detour, &detour) == 0, "detour %d: beside", detour);
	usleep(50000);
	then = wire_packets();
	CHECK(then == first + 1, "detour %d beside: %ld packets, then %ld", detour, first, then);
	r = cell_call(cell, INSIDE, do_detour, &detour);
	usleep(50000);
	after = cell_tally(cell);
	CHECK(wire_packets() == then, "detour %d: the packet is on the wire", detour);
	CHECK(after.strayed == before.strayed + 1, "detour %d: strayed %llu, then %llu; %s%s",
	      detour, before.strayed, after.strayed, outcome_text(r), last_event(cell));
	return 0;
}

static int case_wire_out(struct kern *kern)
{
	/* A source route wants CAP_NET_RAW, which no policy leaves: here the wire alone is to decide. */
	const struct cell_options options = {.flags = BH_POLICY_EGRESS, .caps = ~0ULL};
	_cleanup_cell_ struct cell *cell = cell_new(kern, &options);
	_cleanup_ends_ struct ends ends = {-1, -1, -1, {}, 0};
	_cleanup_(wire_remove) int made = 0;

	CHECK(cell && ends_open(cell, &ends) == 0, "no cell");
	CHECK(wire_make() == 0, "no wire");
	made = 1;
	if (check_detour(cell, BY_SOURCE_ROUTE) || check_detour(cell, BY_DEVICE) ||
	    check_detour(cell, BY_PKTINFO))
		return -1;
	return 0;
}

/* Never answered, as its segments are dropped. */
static int do_connect_astray(void *data _unused_)
{
	struct peer to = peer_of(SYNTHETIC, 443);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "bhwire0", sizeof("bhwire0")) < 0)
		return VERB_BROKEN + errno;
	connect(fd, peer_at(&to), to.length);
	pause();
	return 0;
}

/* Each would stay as long as it is tried: minutes, or hours (TCP_SYNCNT). */
static int case_wire_flows(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = egress_cell(kern);
	_cleanup_ends_ struct ends ends = {-1, -1, -1, {}, 0};
	_cleanup_(wire_remove) int made = 0;
	pid_t pid;
	int flows;

	CHECK(cell && ends_open(cell, &ends) == 0 && kern_flows_clear(kern) == 0, "no cell");
	CHECK(wire_make() == 0, "no wire");
	made = 1;
	CHECK(system("ip route add default via " OUTSIDE " dev bhwire0") == 0, "no route");
	pid = cell_spawn(cell, cell->cgroup_fd, do_connect_astray, NULL);
	cell_wait_ms(pid, 300, false);
	flows = count_flows(cell);
	cell_wait_ms(pid, 0, true);
	CHECK(cell_tally(cell).strayed > 0, "nothing strayed");
	CHECK(flows == 0, "%d flows", flows);
	return 0;
}

/* A datagram to 203.0.113.1 as it comes from the wire. UDP needs no checksum there. */
struct frame {
	struct ether_header ether;
	struct iphdr ip;
	struct udphdr udp;
	char bytes[4];
} __attribute__((packed));

static uint16_t checksum(const void *data, size_t n)
{
	const unsigned char *bytes = data;
	uint32_t sum = 0;

	for (size_t i = 0; i + 1 < n; i += 2)
		sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

static int wire_address(unsigned char ret[6])
{
	FILE *f = fopen("/sys/class/net/bhwire0/address", "re");
	int n = f ? fscanf(f, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &ret[0], &ret[1], &ret[2], &ret[3],
			   &ret[4], &ret[5])
		  : 0;

	if (f)
		fclose(f);
	return n == 6 ? 0 : -1;
}

static int wire_inject(int port)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET,
				 .sll_ifindex = (int)if_nametoindex("bhwire1"),
				 .sll_halen = 6};
	struct frame frame = {
		.ether.ether_type = htons(ETHERTYPE_IP),
		.ip = {.version = 4,
		       .ihl = 5,
		       .ttl = 64,
		       .protocol = IPPROTO_UDP,
		       .tot_len = htons(sizeof(frame) - sizeof(frame.ether)),
		       .saddr = inet_addr(OUTSIDE),
		       .daddr = inet_addr("203.0.113.1")},
		.udp = {.source = htons(9),
			.dest = htons((uint16_t)port),
			.len = htons(sizeof(frame.udp) + sizeof(frame.bytes))},
		.bytes = "boo",
	};
	_cleanup_close_ int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_IP));

	if (fd < 0 || wire_address(frame.ether.ether_dhost))
		return -1;
	frame.ip.check = checksum(&frame.ip, sizeof(frame.ip));
	return sendto(fd, &frame, sizeof(frame), 0, (struct sockaddr *)&at, sizeof(at)) ==
			       (ssize_t)sizeof(frame)
		       ? 0
		       : -1;
}

/* Waits on the wildcard for what nobody asked for. */
static int do_hear(void *data)
{
	struct board *board = data;
	struct timeval wait = {.tv_usec = 500000};
	struct peer any = peer_of("0.0.0.0", 0);
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM, 0);
	char bytes[8];

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	if (bind(fd, peer_at(&any), any.length) < 0)
		return VERB_BROKEN + errno;
	board->results[0] = bound_port(fd);
	board->done = 1;
	return recv(fd, bytes, sizeof(bytes), 0) < 0 ? errno : 0;
}

static int hear(struct cell *cell, int cgroup_fd)
{
	struct board *board = board_new();
	pid_t pid;
	int r = -ENOMEM;

	if (!board)
		return r;
	pid = cell_spawn(cell, cgroup_fd, do_hear, board);
	r = board_await(&board->done, 1) || wire_inject(board->results[0]) ? -EIO : 0;
	r = cell_wait(pid) ?: r;
	board_free(board);
	return r;
}

static int case_wire_in(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = egress_cell(kern);
	_cleanup_(wire_remove) int made = 0;
	int r;

	CHECK(cell, "no cell");
	CHECK(wire_make() == 0, "no wire");
	made = 1;
	r = hear(cell, cell->beside_fd);
	CHECK(r == 0, "beside: %s", outcome_text(r));
	r = hear(cell, cell->cgroup_fd);
	CHECK(r == EAGAIN, "inside: %s", outcome_text(r));
	CHECK(cell_tally(cell).strayed == 1, "strayed %llu", cell_tally(cell).strayed);
	return 0;
}

/* --- sockets that are not the compartment's by birth --- */

static int foreign;

static int do_foreign(void *data)
{
	const struct way *way = data;
	struct peer to = peer_of(way->to, way->port);

	if (way->connects)
		return connect(foreign, peer_at(&to), to.length) < 0 ? errno : 0;
	return sendto(foreign, "x", 1, way->fast ? MSG_FASTOPEN : 0, peer_at(&to), to.length) < 0
		       ? errno
		       : 0;
}

static const struct {
	struct way way;
	enum bh_hook hook;
} foreigners[] = {
	{{AF_INET, SOCK_STREAM, SYNTHETIC, NULL, 443, true, false, 0}, BH_HOOK_SOCKET_CONNECT},
	{{AF_INET, SOCK_STREAM, SYNTHETIC, NULL, 443, false, true, 0}, BH_HOOK_SOCKET_SENDMSG},
	{{AF_INET, SOCK_DGRAM, OUTSIDE, NULL, 53, true, false, 0}, BH_HOOK_SOCKET_CONNECT},
	{{AF_INET, SOCK_DGRAM, OUTSIDE, NULL, 53, false, false, 0}, BH_HOOK_SOCKET_SENDMSG},
};

/* Born outside, and inherited. */
static int case_foreign(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = egress_cell(kern);
	_cleanup_ends_ struct ends ends = {-1, -1, -1, {}, 0};
	int r;

	CHECK(cell && ends_open(cell, &ends) == 0, "no cell");
	for (size_t i = 0; i < sizeof(foreigners) / sizeof(*foreigners); i++) {
		const struct way *way = &foreigners[i].way;

		foreign = socket(way->family, way->type, 0);
		r = check_refused(cell, do_foreign, (void *)way, foreigners[i].hook, EACCES,
				  way->to);
		close(foreign);
		if (r)
			return r;
	}
	return 0;
}

static struct board *moved;

static int do_moved(void *data)
{
	/* Judged once, so that its label says so from now on. */
	close(socket_for(data));
	moved->done = 1;
	board_await(&moved->go, 1);
	return do_connect(data);
}

/* Its label stays with a member that an operator moves out; what it makes then is born where no program of the
 * compartment's is asked. */
static int case_moved(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = egress_cell(kern);
	_cleanup_ends_ struct ends ends = {-1, -1, -1, {}, 0};
	pid_t pid;
	int r;

	moved = board_new();
	CHECK(cell && moved && ends_open(cell, &ends) == 0, "no cell");
	pid = cell_spawn(cell, cell->cgroup_fd, do_moved, (void *)&connects[0]);
	r = board_await(&moved->done, 1) ?: cell_move(cell->beside, pid);
	moved->go = 1;
	CHECK(r == 0, "it is not moved: %s", strerror(-r));
	r = cell_wait(pid);
	CHECK(r == EACCES, "moved out: %s", outcome_text(r));
	cell_drain(cell);
	CHECK(cell_event(cell, 0, BH_HOOK_SOCKET_CONNECT), "no event of socket_connect");
	board_free(moved);
	return 0;
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

const struct test_case outlets_cases[] = {
	{"outlets/elsewhere", case_elsewhere, CASE_REFUSES},
	{"outlets/kinds", case_kinds, CASE_REFUSES},
	{"outlets/bind", case_bind, CASE_REFUSES},
	{"outlets/options", case_options, CASE_REFUSES},
	{"outlets/gone", case_gone, CASE_REFUSES},
	{"outlets/none", case_none, CASE_REFUSES},
	{"outlets/wire-out", case_wire_out, CASE_REFUSES},
	{"outlets/wire-in", case_wire_in, CASE_REFUSES},
	{"outlets/wire-flows", case_wire_flows, CASE_REFUSES},
	{"outlets/twins", case_twins, CASE_ALLOWS},
	{"outlets/crowd", case_crowd, CASE_ALLOWS},
	{"outlets/again", case_again, CASE_ALLOWS},
	{"outlets/foreign", case_foreign, CASE_REFUSES},
	{"outlets/moved", case_moved, CASE_REFUSES},
	{"outlets/connect", case_connect, CASE_ALLOWS},
	{"outlets/ask", case_ask, CASE_ALLOWS},
	{},
};

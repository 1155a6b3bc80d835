// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ends.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "compart/compart.h"
#include "daemon/outlet.h"

/* --- addresses --- */

struct peer peer_of(const char *address, int port)
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

struct sockaddr *peer_at(const struct peer *peer)
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

int bound_port(int fd)
{
	struct sockaddr_in6 at = {};
	socklen_t length = sizeof(at);

	return getsockname(fd, (struct sockaddr *)&at, &length) < 0 ? 0 : ntohs(at.sin6_port);
}

/* --- the agent's ends --- */

/* One for all, as there is one fence: it stands around the cgroup that was named last. */
static int fence_get(struct kern *kern, char **ret)
{
	struct error error = {};
	int r = cgroup_own_get("ends", ret, &error);

	if (!r && !harness_is_detached())
		r = kern_fence_attach(kern, *ret, &error);
	if (r)
		fprintf(stderr, "%s\n", error.text);
	return r;
}

void ends_close(struct ends *ends)
{
	close(ends->relay);
	close(ends->stub4);
	close(ends->stub6);
}

static int ends_mark(struct cell *cell, const struct ends *ends)
{
	const int fds[] = {ends->relay, ends->stub4, ends->stub6};
	int r = 0;

	for (size_t i = 0; !r && i < sizeof(fds) / sizeof(*fds); i++)
		r = kern_outlet_mark(cell->kern, fds[i], cell->id, ends->outlet.serial);
	return r;
}

int ends_open(struct cell *cell, struct ends *ends)
{
	_cleanup_close_ int netns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *fence = NULL;
	struct bh_compartment entry;
	struct error error = {};
	struct outlet outlet;

	if (fence_get(cell->kern, &fence) || kern_compartment_get(cell->kern, cell->id, &entry))
		return -1;
	if (outlet_open(netns, fence, &outlet, &error)) {
		fprintf(stderr, "an outlet: %s\n", error.text);
		return -1;
	}
	*ends = (struct ends){.relay = outlet.relay,
			      .stub4 = outlet.stub4,
			      .stub6 = outlet.stub6,
			      .netns = outlet.cookie,
			      .outlet = {
				      .serial = entry.serial,
				      .synthetic = inet_addr("198.18.0.0"),
				      .netmask = inet_addr("255.254.0.0"),
				      .relay = outlet.relay_port,
				      .stub4 = outlet.stub4_port,
				      .stub6 = outlet.stub6_port,
			      }};
	return ends_mark(cell, ends)
		       ?: kern_outlet_set(cell->kern, cell->id, ends->netns, &ends->outlet);
}

struct cell *egress_cell(struct kern *kern)
{
	const struct cell_options options = {.flags = BH_POLICY_EGRESS};

	return cell_new(kern, &options);
}

/* What the relay does with a connection: finds out whose it is. */
int take_flow(struct cell *cell, const struct ends *ends, int *ret_fd, struct bh_flow *ret)
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

int count_flows(struct cell *cell)
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

/* Answers one datagram, with what it said. */
int answer(int fd)
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

/* --- what members do --- */

int socket_for(const struct way *way)
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

int do_connect(void *data)
{
	_cleanup_close_ int fd = socket_for(data);

	return fd < 0 ? -fd : connect_by(fd, data);
}

int do_ask(void *data)
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

/* --- what is seen of it --- */

/* What the last event says, where there is one. */
const char *last_event(struct cell *cell)
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

int check_refused(struct cell *cell, cell_fn fn, void *data, enum bh_hook hook, int error,
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

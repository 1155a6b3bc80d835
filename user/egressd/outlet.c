// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include "egressd.h"
#include "relay.h"
#include "stub.h"

const char *const outlet_socket_names[OUTLET_SOCKETS] = {
	[OUTLET_RELAY] = "relay",
	[OUTLET_STUB4] = "stub4",
	[OUTLET_STUB6] = "stub6",
};

static const struct {
	int family, type;
	bool listens;
	sd_event_io_handler_t on_socket;
} kinds[OUTLET_SOCKETS] = {
	[OUTLET_RELAY] = {AF_INET, SOCK_STREAM, true, relay_on_socket},
	[OUTLET_STUB4] = {AF_INET, SOCK_DGRAM, false, stub_on_socket},
	[OUTLET_STUB6] = {AF_INET6, SOCK_DGRAM, false, stub_on_socket},
};

static bool is_option(int fd, int option, int wanted)
{
	int value = -1;
	socklen_t size = sizeof(value);

	return !getsockopt(fd, SOL_SOCKET, option, &value, &size) && value == wanted;
}

/* Nobody but the host's own programs come here. */
static bool is_loopback(int fd)
{
	struct sockaddr_storage at = {0};
	socklen_t size = sizeof(at);

	if (getsockname(fd, (struct sockaddr *)&at, &size))
		return false;
	if (at.ss_family == AF_INET)
		return ((struct sockaddr_in *)&at)->sin_addr.s_addr == htonl(INADDR_LOOPBACK) &&
		       ((struct sockaddr_in *)&at)->sin_port;
	return at.ss_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((struct sockaddr_in6 *)&at)->sin6_addr) &&
	       ((struct sockaddr_in6 *)&at)->sin6_port;
}

static __u16 port_of(int fd)
{
	struct sockaddr_in at = {0};
	socklen_t size = sizeof(at);

	return fd < 0 || getsockname(fd, (struct sockaddr *)&at, &size) ? 0 : ntohs(at.sin_port);
}

static bool is_of(int fd, __u64 netns)
{
	__u64 cookie = 0;
	socklen_t size = sizeof(cookie);

	return !getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) && cookie == netns;
}

static int check_socket(int kind, int fd, __u64 netns, struct error *error)
{
	const char *name = outlet_socket_names[kind];

	if (!is_option(fd, SO_DOMAIN, kinds[kind].family) ||
	    !is_option(fd, SO_TYPE, kinds[kind].type) ||
	    !is_option(fd, SO_ACCEPTCONN, kinds[kind].listens))
		return error_set(error, EINVAL, "%s is a socket of another kind", name);
	if (!is_loopback(fd))
		return error_set(error, EINVAL, "%s is not bound to the loopback address", name);
	if (!is_of(fd, netns))
		return error_set(error, EINVAL, "%s is of another network namespace", name);
	if (fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK))
		return error_set(error, errno, "%s: %s", name, strerror(errno));
	return 0;
}

static int check(const struct compartment *c, __u64 netns, const int fds[OUTLET_SOCKETS],
		 struct error *error)
{
	int r = 0;

	for (const struct outlet *o = c->outlets; o; o = o->next)
		if (o->netns == netns)
			return error_set(error, EEXIST, "it listens in this network namespace");
	if (c->noutlets >= EGRESSD_OUTLETS)
		return error_set(error, ENOSPC, "it listens in %u network namespaces",
				 EGRESSD_OUTLETS);
	for (int i = 0; !r && i < OUTLET_SOCKETS; i++)
		if (fds[i] >= 0)
			r = check_socket(i, fds[i], netns, error);
	return r;
}

static void drop_sources(struct outlet *outlet)
{
	for (int i = 0; i < OUTLET_SOCKETS; i++)
		outlet->sources[i] = sd_event_source_disable_unref(outlet->sources[i]);
	outlet->pause = sd_event_source_disable_unref(outlet->pause);
}

static int watch(struct outlet *outlet, const int fds[OUTLET_SOCKETS])
{
	int r = 0;

	for (int i = 0; r >= 0 && i < OUTLET_SOCKETS; i++)
		if (fds[i] >= 0)
			r = sd_event_add_io(outlet->compartment->egressd->event,
					    &outlet->sources[i], fds[i], EPOLLIN,
					    kinds[i].on_socket, outlet);
	return r < 0 ? r : 0;
}

int outlet_new(struct compartment *c, __u64 netns, int fds[OUTLET_SOCKETS], struct error *error)
{
	struct outlet *outlet;
	int r = check(c, netns, fds, error);

	if (r)
		return r;
	outlet = calloc(1, sizeof(*outlet));
	if (!outlet)
		return error_set(error, ENOMEM, "out of memory");
	*outlet = (struct outlet){.compartment = c,
				  .next = c->outlets,
				  .netns = netns,
				  .relay_port = port_of(fds[OUTLET_RELAY])};
	r = watch(outlet, fds);
	if (r) {
		drop_sources(outlet);
		free(outlet);
		return error_set(error, -r, "event loop: %s", strerror(-r));
	}
	for (int i = 0; i < OUTLET_SOCKETS; i++)
		outlet->fds[i] = TAKE_FD(fds[i]);
	c->outlets = outlet;
	c->noutlets++;
	return 0;
}

void outlet_free(struct outlet *outlet)
{
	struct outlet **from = &outlet->compartment->outlets;

	while (*from != outlet)
		from = &(*from)->next;
	*from = outlet->next;
	outlet->compartment->noutlets--;
	drop_sources(outlet);
	for (int i = 0; i < OUTLET_SOCKETS; i++)
		cleanup_closep(&outlet->fds[i]);
	free(outlet);
}

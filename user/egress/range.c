// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Every route of every table is looked at, local addresses among them: an answer for one address of the range would say
 * nothing of the others. */
#include "range.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include "base/cleanup.h"
#include "base/clock.h"

/* The kernel answers within the system call; a host with the internet's million routes takes a second. */
#define ANSWER_S 1
#define DUMP_US 5000000ull
/* Routes changed while they were listed, so that some may have been left out. */
#define TRIES 3
/* 0/0, or its halves, by which VPNs take everything without taking the default route away. */
#define DEFAULT_BITS 1
/* What mnl's dump needs: MNL_SOCKET_BUFFER_SIZE is no constant. */
#define DUMP_BYTES 32768

DEFINE_CLEANUP(struct mnl_socket *, mnl_socket_close)

struct search {
	__u32 range, mask; /* host byte order */
	char found[64];	   /* "192.0.2.0/24" */
};

static bool leads_somewhere(const struct rtmsg *route)
{
	switch (route->rtm_type) {
	case RTN_BLACKHOLE:
	case RTN_UNREACHABLE:
	case RTN_PROHIBIT:
	case RTN_THROW:
		return false;
	}
	return !(route->rtm_flags & RTM_F_CLONED);
}

static __u32 mask_of(unsigned int bits)
{
	return bits ? ~0u << (32 - bits) : 0;
}

static int take_destination(const struct nlattr *attribute, void *data)
{
	if (mnl_attr_get_type(attribute) == RTA_DST &&
	    mnl_attr_get_payload_len(attribute) == sizeof(__u32))
		*(__u32 *)data = ntohl(mnl_attr_get_u32(attribute));
	return MNL_CB_OK;
}

static int look_at(const struct nlmsghdr *message, void *data)
{
	const struct rtmsg *route = mnl_nlmsg_get_payload(message);
	struct search *search = data;
	__u32 to = 0, mask;
	struct in_addr address;
	char text[INET_ADDRSTRLEN];

	if (message->nlmsg_type != RTM_NEWROUTE ||
	    mnl_nlmsg_get_payload_len(message) < sizeof(*route) || route->rtm_family != AF_INET ||
	    route->rtm_dst_len <= DEFAULT_BITS || route->rtm_dst_len > 32 ||
	    !leads_somewhere(route))
		return MNL_CB_OK;
	mnl_attr_parse(message, sizeof(*route), take_destination, &to);
	mask = mask_of(route->rtm_dst_len) & search->mask;
	if ((to & mask) != (search->range & mask))
		return MNL_CB_OK;
	address.s_addr = htonl(to);
	inet_ntop(AF_INET, &address, text, sizeof(text));
	snprintf(search->found, sizeof(search->found), "%s/%u", text, route->rtm_dst_len);
	/* The rest of the list goes with the socket. */
	return MNL_CB_STOP;
}

static int ask(struct mnl_socket *socket, unsigned int seq)
{
	char buffer[256] = {0};
	struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
	struct rtmsg *route = mnl_nlmsg_put_extra_header(message, sizeof(*route));

	message->nlmsg_type = RTM_GETROUTE;
	message->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	message->nlmsg_seq = seq;
	route->rtm_family = AF_INET;
	return mnl_socket_sendto(socket, message, message->nlmsg_len) < 0 ? -errno : 0;
}

static int open_socket(struct mnl_socket **ret)
{
	const struct timeval patience = {.tv_sec = ANSWER_S};
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);

	if (!socket)
		return -errno;
	*ret = socket;
	if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0 ||
	    setsockopt(mnl_socket_get_fd(socket), SOL_SOCKET, SO_RCVTIMEO, &patience,
		       sizeof(patience)))
		return -errno;
	return 0;
}

/* 0: all were looked at, or one was found. -EINTR: they changed meanwhile. */
static int list(struct search *search, unsigned int seq)
{
	_cleanup_(cleanup_mnl_socket_close) struct mnl_socket *socket = NULL;
	uint64_t until = clock_us() + DUMP_US;
	char buffer[DUMP_BYTES];
	int r = open_socket(&socket);

	if (!r)
		r = ask(socket, seq);
	while (!r) {
		ssize_t n = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));

		if (n < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		if (clock_us() > until)
			return -ETIMEDOUT;
		n = mnl_cb_run(buffer, (size_t)n, seq, mnl_socket_get_portid(socket), look_at,
			       search);
		if (n == MNL_CB_STOP)
			return 0;
		r = n < 0 ? -errno : 0;
	}
	return r;
}

int range_check(const struct address_block *range, struct error *error)
{
	struct search search = {.mask = mask_of(range->length)};
	const __u8 *b = range->address.bytes;
	int r = -EINTR;

	search.range = (__u32)b[0] << 24 | (__u32)b[1] << 16 | (__u32)b[2] << 8 | b[3];
	for (unsigned int i = 1; r == -EINTR && i <= TRIES; i++)
		r = list(&search, i);
	if (*search.found)
		return error_set(
			error, EADDRINUSE,
			"a route of this host leads to %s, which is in the synthetic range "
			"or around it: name another range (synthetic:)",
			search.found);
	return r ? error_set(error, -r, "the host's routes cannot be listed: %s", strerror(-r)) : 0;
}

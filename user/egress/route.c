// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>

/* The kernel answers within the system call; only a host without memory would not. */
#define ANSWER_S 1
/* A route with all its attributes has some two hundred bytes. */
#define MESSAGE_SIZE 4096
/* Its headers, an address, a protocol and a port have 64. */
#define QUESTION_SIZE 128

struct routes {
	struct mnl_socket *socket;
	__u32 seq;
};

void routes_close(struct routes *routes)
{
	if (!routes)
		return;
	if (routes->socket)
		mnl_socket_close(routes->socket);
	free(routes);
}

int routes_open(struct routes **ret)
{
	_cleanup_routes_ struct routes *routes = calloc(1, sizeof(*routes));
	const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	const struct timeval patience = {.tv_sec = ANSWER_S};
	int fd;

	if (!routes)
		return -ENOMEM;
	routes->socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!routes->socket || mnl_socket_bind(routes->socket, 0, MNL_SOCKET_AUTOPID) < 0)
		return -errno;
	fd = mnl_socket_get_fd(routes->socket);
	/* Connected, it takes nothing but the kernel's (netlink_getsockbyportid). */
	if (connect(fd, (const struct sockaddr *)&kernel, sizeof(kernel)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)))
		return -errno;
	*ret = TAKE_PTR(routes);
	return 0;
}

/* What is asked in one message: the one way that is taken, and the whole route with all its ways. */
static const unsigned int questions[] = {0, RTM_F_FIB_MATCH};
#define NQUESTIONS (sizeof(questions) / sizeof(*questions))

static void put_question(struct nlmsghdr *message, const struct address *to, __u16 port,
			 unsigned int flags)
{
	size_t size = to->family == ADDRESS_V4 ? 4 : 16;
	struct rtmsg *route = mnl_nlmsg_put_extra_header(message, sizeof(*route));

	message->nlmsg_type = RTM_GETROUTE;
	message->nlmsg_flags = NLM_F_REQUEST;
	route->rtm_family = to->family == ADDRESS_V4 ? AF_INET : AF_INET6;
	route->rtm_dst_len = (unsigned char)(size * 8);
	route->rtm_flags = flags;
	mnl_attr_put(message, RTA_DST, size, to->bytes);
	mnl_attr_put_u8(message, RTA_IP_PROTO, IPPROTO_TCP);
	mnl_attr_put_u16(message, RTA_DPORT, htons(port));
}

static int ask(struct routes *routes, const struct address *to, __u16 port)
{
	char buffer[NQUESTIONS * QUESTION_SIZE] = {0};
	size_t length = 0;

	for (size_t i = 0; i < NQUESTIONS; i++) {
		struct nlmsghdr *message = mnl_nlmsg_put_header(buffer + length);

		put_question(message, to, port, questions[i]);
		message->nlmsg_seq = ++routes->seq;
		length += NLMSG_ALIGN(message->nlmsg_len);
	}
	return mnl_socket_sendto(routes->socket, buffer, length) < 0 ? -errno : 0;
}

/* RTA_VIA: one of the other family. */
static bool is_gateway(const struct nlattr *attribute)
{
	__u16 type = mnl_attr_get_type(attribute);

	return type == RTA_GATEWAY || type == RTA_VIA;
}

static bool hop_has_gateway(const struct rtnexthop *hop)
{
	const struct nlattr *attribute = (const void *)RTNH_DATA(hop);
	const char *end = (const char *)hop + hop->rtnh_len;

	for (; mnl_attr_ok(attribute, (int)(end - (const char *)attribute));
	     attribute = mnl_attr_next(attribute))
		if (is_gateway(attribute))
			return true;
	return false;
}

static bool all_have_gateways(const struct nlattr *multipath)
{
	const struct rtnexthop *hop = mnl_attr_get_payload(multipath);
	int left = mnl_attr_get_payload_len(multipath);

	for (; RTNH_OK(hop, left); left -= RTNH_ALIGN(hop->rtnh_len), hop = RTNH_NEXT(hop))
		if (!hop_has_gateway(hop))
			return false;
	return true;
}

struct ways {
	bool gateway, several, without; /* without: one of several has none */
};

static int note_ways(const struct nlattr *attribute, void *data)
{
	struct ways *ways = data;

	ways->gateway = ways->gateway || is_gateway(attribute);
	if (mnl_attr_get_type(attribute) != RTA_MULTIPATH)
		return MNL_CB_OK;
	ways->several = true;
	ways->without = ways->without || !all_have_gateways(attribute);
	return MNL_CB_OK;
}

/* By the route's kind. */
static const struct {
	int result;
	const char *reason;
} kinds[] = {
	[RTN_UNICAST] = {-EPERM, "on a network of this host: no gateway leads there"},
	[RTN_LOCAL] = {-EPERM, "an address of this host"},
	[RTN_BROADCAST] = {-EPERM, "a broadcast address of a network of this host"},
	[RTN_ANYCAST] = {-EPERM, "an anycast address of this host"},
	[RTN_MULTICAST] = {-EPERM, "a multicast address"},
	[RTN_BLACKHOLE] = {-ENETUNREACH, "routed nowhere"},
	[RTN_UNREACHABLE] = {-ENETUNREACH, "no route leads there"},
	[RTN_PROHIBIT] = {-ENETUNREACH, "prohibited by this host's routes"},
};
#define NKINDS (sizeof(kinds) / sizeof(*kinds))

static int refuse(unsigned int kind, const char **ret_reason)
{
	bool known = kind < NKINDS && kinds[kind].reason;

	*ret_reason = known ? kinds[kind].reason : "a route of a kind that is not known";
	return known ? kinds[kind].result : -EPERM;
}

static int judge(const struct nlmsghdr *message, const char **ret_reason)
{
	const struct rtmsg *route = mnl_nlmsg_get_payload(message);
	struct ways ways = {0};

	if (message->nlmsg_type != RTM_NEWROUTE ||
	    mnl_nlmsg_get_payload_len(message) < sizeof(*route) ||
	    mnl_attr_parse(message, sizeof(*route), note_ways, &ways) < 0) {
		*ret_reason = "the kernel's answer makes no sense";
		return -EBADMSG;
	}
	if (route->rtm_type == RTN_UNICAST && (ways.gateway || ways.several) && !ways.without)
		return 0;
	return refuse(route->rtm_type, ret_reason);
}

/* What fib_lookup returns for a route of that kind, and where there is none. */
static const struct {
	int code;
	unsigned int kind;
} errors[] = {
	{-ENETUNREACH, RTN_UNREACHABLE},
	{-EHOSTUNREACH, RTN_UNREACHABLE},
	{-EACCES, RTN_PROHIBIT},
	{-EINVAL, RTN_BLACKHOLE},
	/* IPv6 is not there at all (ipv6.disable=1). */
	{-EOPNOTSUPP, RTN_UNREACHABLE},
	{-EAFNOSUPPORT, RTN_UNREACHABLE},
};

static int judge_error(const struct nlmsghdr *message, const char **ret_reason)
{
	const struct nlmsgerr *error = mnl_nlmsg_get_payload(message);
	int code = mnl_nlmsg_get_payload_len(message) < sizeof(*error) ? 0 : error->error;

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (errors[i].code == code)
			return refuse(errors[i].kind, ret_reason);
	*ret_reason = "the kernel does not say which way";
	return code < 0 ? code : -EBADMSG;
}

/* 1: an answer to another question. */
static int judge_one(const struct nlmsghdr *message, __u32 seq, const char **ret_reason)
{
	if (message->nlmsg_seq != seq)
		return 1;
	return message->nlmsg_type == NLMSG_ERROR ? judge_error(message, ret_reason)
						  : judge(message, ret_reason);
}

static int hear(struct routes *routes, __u32 seq, const char **ret_reason)
{
	char buffer[MESSAGE_SIZE];
	int r = 1;

	while (r > 0) {
		ssize_t n = mnl_socket_recvfrom(routes->socket, buffer, sizeof(buffer));
		int left = (int)n;

		if (n < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		for (struct nlmsghdr *m = (struct nlmsghdr *)buffer; r > 0 && mnl_nlmsg_ok(m, left);
		     m = mnl_nlmsg_next(m, &left))
			r = judge_one(m, seq, ret_reason);
	}
	return r;
}

/* All of them have to say yes. What is not heard any more, as one says no, the next check passes over. */
int routes_check(struct routes *routes, const struct address *to, __u16 port,
		 const char **ret_reason)
{
	__u32 first = routes->seq + 1;
	int r;

	*ret_reason = "the kernel cannot be asked which way";
	r = ask(routes, to, port);
	for (__u32 i = 0; !r && i < NQUESTIONS; i++)
		r = hear(routes, first + i, ret_reason);
	return r;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "stub.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include "report.h"

/* Datagrams that are answered before others have their turn. */
#define TURN 64
/* A query has a name of 255 bytes and options. What is longer is cut, and malformed. */
#define QUERY_SIZE 4096

static bool covers(const void *grant, const char *name)
{
	return grant_covers(grant, name);
}

void stub_answer(struct compartment *c, const void *query, size_t length, struct answer *ret)
{
	const struct answer_view view = {
		.book = c->book,
		.granted = c->grant.given,
		.proxy = c->proxy,
		.covers = covers,
		.data = &c->grant,
	};

	/* Out of memory: nothing is sent, and it asks again. */
	if (!answer_query(&view, query, length, ret))
		report_query(c, ret);
}

static bool has_port(const struct sockaddr_storage *from)
{
	return from->ss_family == AF_INET    ? ((const struct sockaddr_in *)from)->sin_port
	       : from->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)from)->sin6_port
					     : false;
}

/* False: there is none. */
static bool answer_one(struct compartment *c, int fd)
{
	struct sockaddr_storage from = {0};
	socklen_t size = sizeof(from);
	__u8 query[QUERY_SIZE];
	struct answer answer;
	ssize_t n =
		recvfrom(fd, query, sizeof(query), MSG_DONTWAIT, (struct sockaddr *)&from, &size);

	if (n < 0)
		return errno != EAGAIN;
	/* Nobody can be answered there. */
	if (!has_port(&from))
		return true;
	stub_answer(c, query, (size_t)n, &answer);
	/* Where it does not go, it is asked for again. */
	if (answer.length)
		sendto(fd, answer.wire, answer.length, MSG_DONTWAIT | MSG_NOSIGNAL,
		       (struct sockaddr *)&from, size);
	return true;
}

int stub_on_socket(sd_event_source *source _unused_, int fd, uint32_t events _unused_, void *data)
{
	struct outlet *outlet = data;

	for (int i = 0; i < TURN && answer_one(outlet->compartment, fd); i++)
		;
	report_gave(outlet->compartment);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Answers are short, and the first of their connection: the queue of a socket has room for them. Nobody waits for one
 * that has none: its connection is reset.
 */
#include "reply.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include "client.h"

/* Of what a client sent besides, read away before the end: closed with bytes that nobody read, a connection is reset,
 * and some throw the answer away then. */
#define DRAIN_TURNS 16

enum reply {
	REPLY_NONE, /* reset */
	REPLY_BAD,
	REPLY_METHOD,
	REPLY_LATE,
	REPLY_LONG,
	REPLY_VERSION,
	REPLY_LOGIN,
	REPLY_ADDRESS,
	REPLY_FORBIDDEN,
	REPLY_UNRESOLVED,
	REPLY_UNROUTED,
	REPLY_FAILED,
	REPLY_OUT_OF_TIME,
	REPLY_BUSY,
	REPLY_INTERNAL,
	REPLIES
};

/* HTTP's status, RFC 9110 §15; SOCKS' of RFC 1928 §6, SILENT where that has no place for one. */
#define SILENT 0x100
static const struct {
	const char *status;
	int socks;
} rows[REPLIES] = {
	[REPLY_BAD] = {"400 Bad Request", 0x01},
	[REPLY_METHOD] = {"405 Method Not Allowed", 0x07},
	[REPLY_LATE] = {"408 Request Timeout", SILENT},
	[REPLY_LONG] = {"431 Request Header Fields Too Large", 0x01},
	[REPLY_VERSION] = {"505 HTTP Version Not Supported", SILENT},
	[REPLY_LOGIN] = {NULL, 0xff},
	[REPLY_ADDRESS] = {NULL, 0x08},
	[REPLY_FORBIDDEN] = {"403 Forbidden", 0x02},
	[REPLY_UNRESOLVED] = {"502 Bad Gateway", 0x04},
	[REPLY_UNROUTED] = {"502 Bad Gateway", 0x03},
	[REPLY_FAILED] = {"502 Bad Gateway", 0x05},
	[REPLY_OUT_OF_TIME] = {"504 Gateway Timeout", 0x04},
	[REPLY_BUSY] = {"503 Service Unavailable", 0x01},
	[REPLY_INTERNAL] = {"500 Internal Server Error", 0x01},
};

static const enum reply of_asks[ASK_OUTCOMES] = {
	[ASK_MORE] = REPLY_LATE,     [ASK_NO_NAME] = REPLY_FORBIDDEN, [ASK_ADDRESS] = REPLY_ADDRESS,
	[ASK_METHOD] = REPLY_METHOD, [ASK_VERSION] = REPLY_VERSION,   [ASK_LOGIN] = REPLY_LOGIN,
	[ASK_MALFORMED] = REPLY_BAD, [ASK_TOO_LONG] = REPLY_LONG,
};

static const enum reply of_outcomes[RELAY_OUTCOMES] = {
	[RELAY_UNLISTED] = REPLY_FORBIDDEN,    [RELAY_PORT] = REPLY_FORBIDDEN,
	[RELAY_UNGRANTED] = REPLY_FORBIDDEN,   [RELAY_OVER_UPLOAD] = REPLY_FORBIDDEN,
	[RELAY_CUT] = REPLY_FORBIDDEN,	       [RELAY_BAD_ADDRESS] = REPLY_FORBIDDEN,
	[RELAY_BAD_ROUTE] = REPLY_FORBIDDEN,   [RELAY_TOO_MANY] = REPLY_BUSY,
	[RELAY_UNRESOLVED] = REPLY_UNRESOLVED, [RELAY_UNROUTED] = REPLY_UNROUTED,
	[RELAY_FAILED] = REPLY_FAILED,	       [RELAY_OUT_OF_TIME] = REPLY_OUT_OF_TIME,
	[RELAY_INTERNAL] = REPLY_INTERNAL,
};

static int send_all(int fd, const void *bytes, size_t n)
{
	ssize_t sent = send(fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);

	return sent < 0 ? -errno : (size_t)sent == n ? 0 : -EAGAIN;
}

int reply_greet(int fd)
{
	return send_all(fd, "\5\0", 2);
}

/* What it is bound to nobody needs, and it would be the relay's. */
static int send_socks(int fd, int code)
{
	const __u8 bytes[] = {5, (__u8)code, 0, 1, 0, 0, 0, 0, 0, 0};

	return send_all(fd, bytes, code == 0xff ? 2 : sizeof(bytes));
}

int reply_connected(int fd, enum ask_kind kind)
{
	static const char line[] = "HTTP/1.1 200 Connection established\r\n\r\n";

	return kind == ASK_SOCKS ? send_socks(fd, 0) : send_all(fd, line, sizeof(line) - 1);
}

static int send_http(int fd, enum reply reply, const char *why)
{
	char text[512];
	int n = snprintf(text, sizeof(text),
			 "HTTP/1.1 %s\r\nConnection: close\r\nContent-Type: text/plain\r\n"
			 "%sContent-Length: %zu\r\n\r\nbulkhead: %s\n",
			 rows[reply].status, reply == REPLY_METHOD ? "Allow: CONNECT\r\n" : "",
			 sizeof("bulkhead: \n") - 1 + strlen(why), why);

	return n < (int)sizeof(text) ? send_all(fd, text, (size_t)n) : -EMSGSIZE;
}

static int send_reply(int fd, enum ask_kind kind, enum reply reply, const char *why)
{
	if (kind == ASK_HTTP)
		return rows[reply].status ? send_http(fd, reply, why) : -EINVAL;
	return reply != REPLY_NONE && rows[reply].socks != SILENT
		       ? send_socks(fd, rows[reply].socks)
		       : -EINVAL;
}

static void drain(int fd)
{
	char bytes[8192];

	for (int i = 0; i < DRAIN_TURNS && recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0; i++)
		;
}

static void end(int fd, enum ask_kind kind, enum reply reply, const char *why)
{
	if (send_reply(fd, kind, reply, why))
		client_reset_fd(fd);
	else
		drain(fd);
	close(fd);
}

void reply_refuse(int fd, enum ask_kind kind, enum relay_outcome outcome)
{
	end(fd, kind, of_outcomes[outcome], relay_outcome_names[outcome]);
}

void reply_bad(int fd, const struct ask *ask)
{
	end(fd, ask->kind, of_asks[ask->outcome], ask->reason ?: "no request came in time");
}

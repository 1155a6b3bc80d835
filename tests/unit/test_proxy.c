// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* bulkhead-egressd as a proxy: asked by CONNECT and by SOCKS, it answers as it judges, and that is as it judges what the
 * kernel turns its way. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <netinet/tcp.h>
#include "clienthello.h"
#include "egressd.h"
#include "egressd/egressd.h"

#define N_OF(array) (sizeof(array) / sizeof(*(array)))
#define CONNECT_MS 10000
#define SHORT_MS 1000
#define API "{'to': 'api.example.com:8443'}"
#define PROXY (SYNTHETIC + 0x1fffe)
enum { HTTP = 3128, SOCKS = 1080 };

static void list(struct scene *s, int serial, const char *entries, const char *proxy)
{
	must(s, "{'do': 'list', 'serial': %d, 'proxy': %s, 'entries': [%s]}", serial, proxy,
	     entries);
}

/* Opened, listed, granted, and asked for by the proxy, too. */
static struct ports with_proxy(struct scene *s, int serial, const char *entries)
{
	struct ports ports = compartment(s, serial, entries);

	list(s, serial, entries, "true");
	return ports;
}

static int dial(const struct scene *s, const struct ports *ports, __u16 port)
{
	return connect_as(s, ports, 7, PROXY, port);
}

static void say(int fd, const void *bytes, size_t n)
{
	assert_int_equal(send(fd, bytes, n, MSG_NOSIGNAL), n);
}

/* --- HTTP --- */

/* Up to the empty line; its status, 0 where it is reset instead. */
static int status_of(int fd, char head[1024])
{
	size_t n = 0;
	int status = 0;

	while (n < 1023 && (n < 4 || memcmp(head + n - 4, "\r\n\r\n", 4)))
		if (recv(fd, head + n++, 1, 0) != 1)
			return 0;
	head[n] = '\0';
	assert_int_equal(sscanf(head, "HTTP/1.1 %d ", &status), 1);
	return status;
}

/* A request for it, with this behind. */
static int ask_http(const struct scene *s, const struct ports *ports, const char *target,
		    const char *first)
{
	int fd = dial(s, ports, HTTP);
	char text[1024];
	int n = snprintf(text, sizeof(text), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n%s", target,
			 target, first);

	say(fd, text, (size_t)n);
	return fd;
}

static void expect_connected(int fd)
{
	char head[1024];

	assert_int_equal(status_of(fd, head), 200);
	/* Nothing in it is taken for the server's. */
	assert_null(strstr(head, "Content-Length"));
}

static struct talk talk_by_http(const struct scene *s, const struct ports *ports,
				const char *target)
{
	struct talk talk = {.client = ask_http(s, ports, target, "")};

	expect_connected(talk.client);
	talk.server = world_accept(s);
	carry(talk.client, talk.server, "hello");
	carry(talk.server, talk.client, "welcome");
	return talk;
}

/* --- SOCKS --- */

static size_t write_socks(const char *name, __u16 port, char *ret)
{
	size_t n = strlen(name);

	memcpy(ret, "\5\1\0\5\1\0\3", 7);
	ret[7] = (char)n;
	memcpy(ret + 8, name, n);
	ret[8 + n] = (char)(port >> 8);
	ret[9 + n] = (char)port;
	return 10 + n;
}

/* What a request is answered, 0 to 8; -1: reset. */
static int reply_of(int fd)
{
	__u8 got[12];

	if (recv(fd, got, 2, MSG_WAITALL) != 2)
		return -1;
	assert_memory_equal(got, "\5\0", 2);
	if (recv(fd, got, 10, MSG_WAITALL) != 10)
		return -1;
	assert_int_equal(got[0], 5);
	assert_memory_equal(got + 2, "\0\1\0\0\0\0\0\0", 8);
	return got[1];
}

static int ask_socks(const struct scene *s, const struct ports *ports, const char *name, __u16 port)
{
	char bytes[300];
	int fd = dial(s, ports, SOCKS);

	say(fd, bytes, write_socks(name, port, bytes));
	return fd;
}

/* --- what is connected --- */

static void test_connect(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	struct ports ports = with_proxy(&s, 7, API ", {'to': '*.cdn.example.com:8443'}");
	struct talk talk = talk_by_http(&s, &ports, "API.Example.com.:8443");
	json_t *event;
	char got[4];

	(void)state;
	assert_int_equal(shutdown(talk.client, SHUT_WR), 0);
	assert_int_equal(how_it_ends(talk.server), 0);
	carry(talk.server, talk.client, "more");
	close(talk.server);
	assert_int_equal(how_it_ends(talk.client), 0);
	close(talk.client);
	event = event_of(&s, "flow", "ended", "api.example.com");
	assert_int_equal(number(event, "port"), SERVER_PORT);
	assert_string_equal(field(event, "address"), "8.8.8.8");
	assert_int_equal(number(event, "up"), 5);
	assert_int_equal(number(event, "down"), 11);
	json_decref(event);

	/* What is sent before the answer is the server's, and half an end after it is one. */
	talk.client = ask_http(&s, &ports, "api.example.com:8443", "all");
	assert_int_equal(shutdown(talk.client, SHUT_WR), 0);
	expect_connected(talk.client);
	talk.server = world_accept(&s);
	assert_int_equal(recv(talk.server, got, 3, MSG_WAITALL), 3);
	assert_memory_equal(got, "all", 3);
	assert_int_equal(how_it_ends(talk.server), 0);
	carry(talk.server, talk.client, "answer");
	talk_end(&talk);
	event = event_of(&s, "flow", "ended", "api.example.com");
	assert_int_equal(number(event, "up"), 3);
	json_decref(event);

	/* A name that a wildcard stands for takes no address. */
	json_decref(find_said(&s, "gave", "", "", WAIT_MS));
	talk = talk_by_http(&s, &ports, "one.cdn.example.com:8443");
	talk_end(&talk);
	assert_null(find_said(&s, "gave", "", "", 100));
}

static void drip(int fd, const char *bytes, size_t n)
{
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	for (size_t i = 0; i < n; i++)
		say(fd, bytes + i, 1);
}

static void test_drips(void **state)
{
	static const char text[] = "CONNECT api.example.com:8443 HTTP/1.0\r\n\r\n";
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	struct ports ports = with_proxy(&s, 7, API);
	struct talk talk = {.client = dial(&s, &ports, HTTP)};
	char bytes[300];
	size_t n = write_socks("api.example.com", SERVER_PORT, bytes);

	(void)state;
	drip(talk.client, text, sizeof(text) - 1);
	expect_connected(talk.client);
	talk.server = world_accept(&s);
	carry(talk.client, talk.server, "hello");
	talk_end(&talk);

	talk.client = dial(&s, &ports, SOCKS);
	drip(talk.client, bytes, n);
	assert_int_equal(reply_of(talk.client), 0);
	talk.server = world_accept(&s);
	carry(talk.client, talk.server, "hello");
	carry(talk.server, talk.client, "welcome");
	talk_end(&talk);
}

/* --- what is not --- */

#define ROWS                                                                           \
	API ", {'to': 'private.example.com:8443'}, {'to': 'silent.example.com:8443'}," \
	    " {'to': 'no.example.com:8443'}, {'to': 'api.example.com:8444'}"

static const struct {
	const char *name;
	__u16 port;
	int status, reply;
	const char *outcome;
} refusals[] = {
	{"www.example.com", 8443, 403, 2, "unlisted"},
	{"8.8.8.8", 8443, 403, 2, "unlisted"},
	{"localhost", 8443, 403, 2, "unlisted"},
	{"proxy.bulkhead.internal", 3128, 403, 2, "unlisted"},
	{"api.example.com", 443, 403, 2, "port not listed"},
	{"api.example.com", 53, 403, 2, "port not listed"},
	{"private.example.com", 8443, 403, 2, "bad address"},
	{"no.example.com", 8443, 502, 4, "not resolved"},
	{"api.example.com", 8444, 502, 5, "not connected"},
	{"silent.example.com", 8443, 504, 4, "out of time"},
};

static void expect_http(struct scene *s, int fd, int status, const char *outcome, const char *name)
{
	char head[1024];

	if (status_of(fd, head) != status)
		fail_msg("%s: %s", name, head);
	/* Told, and not reset, so that nobody takes it for a fault of the network. */
	assert_int_equal(how_it_ends(fd), 0);
	close(fd);
	expect(s, "connect", outcome, name);
}

static void expect_socks(struct scene *s, int fd, int reply, const char *outcome, const char *name)
{
	int got = reply_of(fd);

	if (got != reply)
		fail_msg("%s: %d", name, got);
	assert_int_equal(how_it_ends(fd), 0);
	close(fd);
	expect(s, "connect", outcome, name);
}

/* By either way; in two lives, as the second of a kind would be folded. */
static void test_refusals(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(SHORT_MS);
	struct ports ports = with_proxy(&s, 7, ROWS);
	struct talk talk;
	char target[300];

	(void)state;
	for (size_t i = 0; i < N_OF(refusals); i++) {
		snprintf(target, sizeof(target), "%s:%u", refusals[i].name, refusals[i].port);
		expect_http(&s, ask_http(&s, &ports, target, ""), refusals[i].status,
			    refusals[i].outcome, refusals[i].name);
	}
	must(&s, "{'do': 'close', 'serial': 7}");
	ports = with_proxy(&s, 7, ROWS);
	for (size_t i = 0; i < N_OF(refusals); i++)
		expect_socks(&s, ask_socks(&s, &ports, refusals[i].name, refusals[i].port),
			     refusals[i].reply, refusals[i].outcome, refusals[i].name);
	must(&s, "{'do': 'revoke', 'serial': 7}");
	expect_http(&s, ask_http(&s, &ports, "api.example.com:8443", ""), 403, "ungranted",
		    "api.example.com");
	assert_int_equal(lookup(&ports, BOOK_PROXY).rcode, LDNS_RCODE_NXDOMAIN);
	expect(&s, "query", "ungranted", BOOK_PROXY);
	must(&s, "{'do': 'grant', 'serial': 7, 'lease': 1, 'only': ['private.example.com']}");
	expect_socks(&s, ask_socks(&s, &ports, "api.example.com", 8443), 2, "ungranted",
		     "api.example.com");
	assert_int_equal(lookup(&ports, BOOK_PROXY).address, PROXY);
	must(&s, "{'do': 'grant', 'serial': 7, 'lease': 1}");
	talk = talk_by_http(&s, &ports, "api.example.com:8443");
	talk_end(&talk);
}

static const struct {
	const char *bytes;
	size_t n;
	const char *told; /* how it begins */
	size_t ntold;	  /* 0: it is reset */
	const char *outcome, *name;
	__u16 port;
} bad[] = {
#define BYTES(text) (text), sizeof(text) - 1
	{BYTES("GET http://api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n"),
	 BYTES("HTTP/1.1 405 Method Not Allowed\r\n"), "bad request", BOOK_PROXY, HTTP},
	{BYTES("POST http://api.example.com/ HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody"),
	 BYTES("HTTP/1.1 400 Bad Request\r\n"), "bad request", BOOK_PROXY, HTTP},
	{BYTES("CONNECT api.example.com:8443 HTTP/1.1\r\nHost: www.example.com\r\n\r\n"),
	 BYTES("HTTP/1.1 400 Bad Request\r\n"), "bad request", "api.example.com", 8443},
	{BYTES("CONNECT api.example.com HTTP/1.1\r\n\r\n"), BYTES("HTTP/1.1 400 Bad Request\r\n"),
	 "bad request", BOOK_PROXY, HTTP},
	{BYTES("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), BYTES("HTTP/1.1 505 "), "bad request",
	 BOOK_PROXY, HTTP},
	{BYTES("\x16\3\1\2\0\1"), BYTES("HTTP/1.1 400 Bad Request\r\n"), "bad request", BOOK_PROXY,
	 HTTP},
	{BYTES("\5\1\0\5\1\0\1\x08\x08\x08\x08\x20\xfb"), BYTES("\5\0\5\x08\0\1"), "unlisted",
	 "8.8.8.8", 8443},
	{BYTES("\5\1\0\5\2\0\3\3a.b\x20\xfb"), BYTES("\5\0\5\7\0\1"), "bad request", BOOK_PROXY,
	 SOCKS},
	{BYTES("\5\1\0\5\3\0\1\0\0\0\0\0\0"), BYTES("\5\0\5\7\0\1"), "bad request", BOOK_PROXY,
	 SOCKS},
	{BYTES("\5\1\2"), BYTES("\5\xff"), "bad request", BOOK_PROXY, SOCKS},
	{BYTES("\4\1\x20\xfb\x08\x08\x08\x08\0"), NULL, 0, "bad request", BOOK_PROXY, SOCKS},
};

static void expect_bad(struct scene *s, const struct ports *ports, size_t i)
{
	int fd = dial(s, ports, *bad[i].bytes == 4 || *bad[i].bytes == 5 ? SOCKS : HTTP);
	char got[64];
	json_t *event;

	say(fd, bad[i].bytes, bad[i].n);
	if (bad[i].ntold) {
		assert_int_equal(recv(fd, got, bad[i].ntold, MSG_WAITALL), bad[i].ntold);
		assert_memory_equal(got, bad[i].told, bad[i].ntold);
	}
	assert_int_equal(how_it_ends(fd), bad[i].ntold ? 0 : -ECONNRESET);
	close(fd);
	event = event_of(s, "connect", bad[i].outcome, bad[i].name);
	assert_int_equal(number(event, "port"), bad[i].port);
	json_decref(event);
}

static void test_bad(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(SHORT_MS);
	_cleanup_talk_ struct talk talk = {0};
	struct ports ports;

	(void)state;
	for (size_t i = 0; i < N_OF(bad); i++) {
		ports = with_proxy(&s, 7, API);
		expect_bad(&s, &ports, i);
		must(&s, "{'do': 'close', 'serial': 7}");
	}
	assert_false(is_readable(s.server, 0));
	ports = with_proxy(&s, 7, API);
	talk = talk_by_http(&s, &ports, "api.example.com:8443");
}

/* What came behind a request that is refused is read away: who is reset may never read why. */
static void test_behind(void **state)
{
	static const char head[] = "POST http://api.example.com/ HTTP/1.1\r\n\r\n";
	static const char body[60000];
	_cleanup_scene_ struct scene s = scene_start(SHORT_MS);
	struct ports ports = with_proxy(&s, 7, API);
	int fd;

	(void)state;
	kill(s.egressd, SIGSTOP);
	fd = dial(&s, &ports, HTTP);
	say(fd, head, sizeof(head) - 1);
	say(fd, body, sizeof(body));
	kill(s.egressd, SIGCONT);
	expect_http(&s, fd, 405, "bad request", BOOK_PROXY);
}

/* Where the policy does not want it, nothing is there; where it does, two ports are. */
static void test_unwanted(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	struct ports ports = compartment(&s, 7, API);
	struct talk talk;
	int fd;

	(void)state;
	assert_int_equal(lookup(&ports, BOOK_PROXY).rcode, LDNS_RCODE_NXDOMAIN);
	expect(&s, "query", "unlisted", BOOK_PROXY);
	fd = dial(&s, &ports, HTTP);
	assert_int_equal(how_it_ends(fd), -ECONNRESET);
	close(fd);
	expect(&s, "connect", "unnamed address", "");

	list(&s, 7, API, "true");
	assert_int_equal(lookup(&ports, BOOK_PROXY).address, PROXY);
	fd = dial(&s, &ports, 8080);
	assert_int_equal(how_it_ends(fd), -ECONNRESET);
	close(fd);
	expect(&s, "connect", "port not listed", BOOK_PROXY);
	talk = talk_by_http(&s, &ports, "api.example.com:8443");
	talk_end(&talk);
	list(&s, 7, API, "false");
	assert_int_equal(lookup(&ports, BOOK_PROXY).rcode, LDNS_RCODE_NXDOMAIN);
}

/* --- cut --- */

static void test_cuts(void **state)
{
	static const char *const cuts[] = {
		"{'do': 'revoke', 'serial': 7}",
		"{'do': 'grant', 'serial': 7, 'lease': 1, 'only': ['one.cdn.example.com']}",
		"{'do': 'list', 'serial': 7, 'proxy': true, 'entries': []}",
		"{'do': 'list', 'serial': 7, 'entries': [" API "]}",
		"{'do': 'close', 'serial': 7}",
	};
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	struct ports ports = with_proxy(&s, 7, API);

	(void)state;
	for (size_t i = 0; i < N_OF(cuts); i++) {
		_cleanup_talk_ struct talk talk = {0}, direct = {0};
		bool both = i != 3;

		list(&s, 7, API, "true");
		must(&s, "{'do': 'grant', 'serial': 7, 'lease': 1}");
		talk = talk_by_http(&s, &ports, "api.example.com:8443");
		direct = talk_start(&s, &ports, 7, "api.example.com");
		list(&s, 7, API ", {'to': '*.cdn.example.com:8443'}", "true");
		carry(talk.client, talk.server, "still here");
		must(&s, "%s", cuts[i]);
		expect_cut(&talk);
		expect(&s, "flow", "cut", "api.example.com");
		/* What is not wanted any more is the proxy alone. */
		if (both)
			expect_cut(&direct);
		else
			carry(direct.client, direct.server, "still here");
	}
}

/* --- requests that are not whole --- */

static void test_slow(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(SHORT_MS);
	struct ports ports = with_proxy(&s, 7, API);
	uint64_t began = clock_us();
	int http = dial(&s, &ports, HTTP), socks = dial(&s, &ports, SOCKS), fd;
	char head[1024];

	(void)state;
	/* A byte now and then does not prolong it. */
	for (int i = 0; i < 3; i++) {
		say(http, "CON" + i, 1);
		usleep(SHORT_MS * 1000 / 4);
	}
	assert_int_equal(status_of(http, head), 408);
	assert_in_range(clock_us() - began, SHORT_MS * 1000, 5 * SHORT_MS * 1000);
	close(http);
	expect(&s, "connect", "out of time", BOOK_PROXY);
	assert_int_equal(how_it_ends(socks), -ECONNRESET);
	close(socks);
	fd = dial(&s, &ports, HTTP);
	say(fd, "CONNECT ", 8);
	close(fd);
	expect(&s, "connect", "hung up", BOOK_PROXY);
	/* Nobody waits for what ends meanwhile. */
	fd = dial(&s, &ports, HTTP);
	usleep(50000);
	list(&s, 7, API, "false");
	assert_int_equal(how_it_ends(fd), -ECONNRESET);
	close(fd);
}

/* So many and no more; who is connected goes on, and so does who comes past the proxy. */
static void test_many(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	struct ports ports = with_proxy(&s, 7, API);
	_cleanup_talk_ struct talk talk = talk_by_http(&s, &ports, "api.example.com:8443"),
				   direct = {0}, again = {0};
	int fds[EGRESSD_PROXIES + 1];

	(void)state;
	for (size_t i = 0; i < N_OF(fds); i++)
		fds[i] = dial(&s, &ports, i % 2 ? HTTP : SOCKS);
	assert_int_equal(how_it_ends(fds[EGRESSD_PROXIES]), -ECONNRESET);
	expect(&s, "connect", "too many", BOOK_PROXY);
	carry(talk.client, talk.server, "still here");
	direct = talk_start(&s, &ports, 7, "api.example.com");
	for (size_t i = 0; i < N_OF(fds); i++)
		close(fds[i]);
	json_decref(event_of(&s, "connect", "hung up", BOOK_PROXY));
	again = talk_by_http(&s, &ports, "api.example.com:8443");
}

/* --- what may be sent --- */

static void test_upload(void **state)
{
	static const char entries[] = "{'to': 'api.example.com:8443', 'max-upload': 8}";
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	struct ports ports = with_proxy(&s, 7, entries);
	struct talk talk = talk_by_http(&s, &ports, "api.example.com:8443");

	(void)state;
	talk_end(&talk);
	json_decref(find_said(&s, "event", "flow", "reset", 100)
			    ?: event_of(&s, "flow", "ended", "api.example.com"));
	/* What came with the request counts: three are left of it. */
	talk.client = ask_http(&s, &ports, "api.example.com:8443", "four");
	assert_int_equal(how_it_ends(talk.client), -ECONNRESET);
	close(talk.client);
	close(world_accept(&s));
	expect(&s, "connect", "over its upload allowance", "api.example.com");
	talk.client = ask_http(&s, &ports, "api.example.com:8443", "new");
	expect_connected(talk.client);
	talk.server = world_accept(&s);
	assert_int_equal(send(talk.client, "x", 1, MSG_NOSIGNAL), 1);
	expect_cut(&talk);
	talk_end(&talk);
	expect(&s, "flow", "over its upload allowance", "api.example.com");
	/* Another way in has no allowance of its own. */
	expect_http(&s, ask_http(&s, &ports, "api.example.com:8443", ""), 403,
		    "over its upload allowance", "api.example.com");
	assert_int_equal(how_it_ends(connect_to(&s, &ports, 7, "api.example.com", SERVER_PORT)),
			 -ECONNRESET);
}

/* With tls: true the server is dialled before a ClientHello comes, and hears nothing before it was looked at. */
static void test_tls(void **state)
{
	_cleanup_scene_ struct scene s = scene_start(SHORT_MS);
	struct ports ports = with_proxy(&s, 7, "{'to': 'api.example.com:8443', 'tls': true}");
	struct talk talk = {.client = ask_http(&s, &ports, "api.example.com:8443", "")};
	__u8 hello[512], got[512];
	char asked[300];
	size_t n = write_hello("api.example.com", hello), socks;

	(void)state;
	expect_connected(talk.client);
	talk.server = world_accept(&s);
	say(talk.client, hello, n);
	assert_int_equal(recv(talk.server, got, n, MSG_WAITALL), n);
	assert_memory_equal(got, hello, n);
	carry(talk.server, talk.client, "welcome");
	carry(talk.client, talk.server, "hello");
	talk_end(&talk);

	/* With the request, in part. */
	socks = write_socks("api.example.com", SERVER_PORT, asked);
	memcpy(asked + socks, hello, 20);
	talk.client = dial(&s, &ports, SOCKS);
	say(talk.client, asked, socks + 20);
	assert_int_equal(reply_of(talk.client), 0);
	say(talk.client, hello + 20, n - 20);
	talk.server = world_accept(&s);
	assert_int_equal(recv(talk.server, got, n, MSG_WAITALL), n);
	assert_memory_equal(got, hello, n);
	carry(talk.server, talk.client, "welcome");
	talk_end(&talk);

	n = write_hello("www.example.com", hello);
	talk.client = ask_http(&s, &ports, "api.example.com:8443", "");
	expect_connected(talk.client);
	say(talk.client, hello, n);
	talk.server = world_accept(&s);
	assert_int_equal(recv(talk.server, got, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	assert_int_equal(how_it_ends(talk.client), -ECONNRESET);
	talk_end(&talk);
	expect(&s, "connect", "another server name", "api.example.com");

	talk.client = ask_http(&s, &ports, "api.example.com:8443", "GET / HTTP/1.1\r\n\r\n");
	talk.server = world_accept(&s);
	assert_int_equal(recv(talk.server, got, 1, 0), -1);
	assert_int_equal(how_it_ends(talk.client), -ECONNRESET);
	talk_end(&talk);
	expect(&s, "connect", "no TLS", "api.example.com");

	talk.client = ask_http(&s, &ports, "api.example.com:8443", "");
	talk.server = world_accept(&s);
	expect_cut(&talk);
	talk_end(&talk);
	expect(&s, "connect", "out of time", "api.example.com");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_connect),	 cmocka_unit_test(test_drips),
		cmocka_unit_test(test_refusals), cmocka_unit_test(test_bad),
		cmocka_unit_test(test_behind),	 cmocka_unit_test(test_unwanted),
		cmocka_unit_test(test_cuts),	 cmocka_unit_test(test_slow),
		cmocka_unit_test(test_many),	 cmocka_unit_test(test_upload),
		cmocka_unit_test(test_tls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

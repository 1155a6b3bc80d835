// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * From a name to a connection: a resolver that runs, and a world behind a gateway (world.h).
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "egress/reach.h"
#include "nameserver.h"
#include "netns.h"
#include "world.h"

#define N_OF(array) (sizeof(array) / sizeof(*(array)))
#define PORT WORLD_PORT
#define LONG_MS 20000
#define SHORT_MS 700

struct scene {
	int before;
	pid_t world, server;
	sd_event *event;
	struct reacher *reacher;
};

static struct reacher *new_reacher(sd_event *event, const char *upstream)
{
	struct reach_options options = {.upstreams = &upstream, .nupstreams = 1};
	struct reacher *reacher = NULL;
	struct error error = {0};

	if (reacher_new(event, &options, &reacher, &error))
		fail_msg("%s", error.text);
	return reacher;
}

static struct scene scene_start(void)
{
	static const char *const names[] = {"--host-record=four.example.com,8.8.8.8",
					    "--host-record=six.example.com,2001:4860::8",
					    "--host-record=both.example.com,8.8.8.8,2001:4860::8",
					    "--host-record=half.example.com,8.8.8.8,2606:4700::1",
					    "--host-record=unrouted.example.com,2606:4700::1",
					    "--host-record=mixed.example.com,8.8.8.8",
					    "--host-record=mixed.example.com,10.1.2.3",
					    "--host-record=rebound.example.com,127.0.0.1",
					    "--host-record=mapped.example.com,::ffff:8.8.8.8",
					    "--host-record=own.example.com,9.9.9.2",
					    "--host-record=gateway.example.com,9.9.9.1",
					    "--host-record=near.example.com,8.8.8.8",
					    "--host-record=near.example.com,9.9.9.7",
					    "--host-record=silent.example.com,5.5.5.5",
					    "--host-record=second.example.com,5.5.5.5",
					    "--host-record=second.example.com,8.8.8.9",
					    "--local-ttl=60"};
	struct scene s = {.before = netns_enter()};

	s.world = world_start();
	s.server = nameserver_start(names, N_OF(names));
	assert_true(sd_event_new(&s.event) >= 0);
	s.reacher = new_reacher(s.event, NAMESERVER);
	return s;
}

static void scene_end(struct scene *s)
{
	reacher_free(s->reacher);
	sd_event_unref(s->event);
	nameserver_end(s->server);
	nameserver_end(s->world);
	netns_leave(&s->before);
}
#define _cleanup_scene_ __attribute__((cleanup(scene_end)))

/* --- reaching --- */

struct heard {
	unsigned int times;
	enum reach_outcome outcome;
	bool works; /* the connection takes bytes */
	char reason[400];
};

static void on_reached(void *data, enum reach_outcome outcome, int fd, const char *reason)
{
	struct heard *heard = data;

	heard->times++;
	heard->outcome = outcome;
	snprintf(heard->reason, sizeof(heard->reason), "%s", reason);
	if (outcome != REACH_CONNECTED)
		return;
	heard->works = send(fd, "a", 1, MSG_NOSIGNAL) == 1;
	close(fd);
}

static void wait_for(sd_event *event, const struct heard *heard)
{
	while (!heard->times)
		assert_true(sd_event_run(event, LONG_MS * 1000ull) > 0);
}

static const struct {
	const char *name;
	__u16 port;
	unsigned int deadline_ms;
	enum reach_outcome outcome;
	const char *reason;
} rows[] = {
	{"four.example.com", PORT, LONG_MS, REACH_CONNECTED, ""},
	{"six.example.com", PORT, LONG_MS, REACH_CONNECTED, ""},
	{"both.example.com", PORT, LONG_MS, REACH_CONNECTED, ""},
	/* What no way leads to is left out. */
	{"half.example.com", PORT, LONG_MS, REACH_CONNECTED, ""},
	{"unrouted.example.com", PORT, LONG_MS, REACH_UNROUTED,
	 "2606:4700::1: no route leads there"},
	/* The one that says nothing is not waited for. */
	{"second.example.com", PORT, LONG_MS, REACH_CONNECTED, ""},
	/* One bad address of several is enough. */
	{"mixed.example.com", PORT, LONG_MS, REACH_BAD_ADDRESS, "10.1.2.3"},
	{"rebound.example.com", PORT, LONG_MS, REACH_BAD_ADDRESS, "127.0.0.1"},
	{"mapped.example.com", PORT, LONG_MS, REACH_BAD_ADDRESS, "::ffff:8.8.8.8"},
	{"near.example.com", PORT, LONG_MS, REACH_BAD_ROUTE,
	 "9.9.9.7: on a network of this host: no gateway leads there"},
	{"own.example.com", PORT, LONG_MS, REACH_BAD_ROUTE, "9.9.9.2: an address of this host"},
	{"gateway.example.com", PORT, LONG_MS, REACH_BAD_ROUTE,
	 "9.9.9.1: on a network of this host: no gateway leads there"},
	{"four.example.com", PORT + 1, LONG_MS, REACH_FAILED, "Connection refused"},
	{"silent.example.com", PORT, SHORT_MS, REACH_OUT_OF_TIME, "no address has answered"},
	{"no.example.com", PORT, LONG_MS, REACH_UNRESOLVED, "the name has no address"},
	{"www.example.org", PORT, LONG_MS, REACH_UNRESOLVED, "no resolver says an address"},
};

static void check(size_t i, const struct heard *heard)
{
	bool works = rows[i].outcome == REACH_CONNECTED;

	if (heard->times != 1 || heard->outcome != rows[i].outcome || heard->works != works ||
	    strncmp(heard->reason, rows[i].reason, strlen(rows[i].reason)))
		fail_msg("%s: %u times, %s: %s", rows[i].name, heard->times,
			 reach_outcome_names[heard->outcome], heard->reason);
}

static void begin(struct scene *s, size_t i, struct heard *heard, struct reach **ret)
{
	assert_int_equal(reach_begin(s->reacher, rows[i].name, rows[i].port, rows[i].deadline_ms,
				     on_reached, heard, ret),
			 0);
	assert_int_equal(heard->times, 0);
}

static void test_names(void **state)
{
	_cleanup_scene_ struct scene s = scene_start();

	(void)state;
	/* Again, as it is known: neither is anybody told from within. */
	for (size_t i = 0; i < 2 * N_OF(rows); i++) {
		struct heard heard = {0};
		struct reach *reach;

		begin(&s, i % N_OF(rows), &heard, &reach);
		wait_for(s.event, &heard);
		check(i % N_OF(rows), &heard);
	}
}

/* Many of each at once, some of them given up on the way; what was given up says nothing. */
static void test_together(void **state)
{
	enum { EACH = 16, N = EACH * N_OF(rows) };
	static struct heard heard[N];
	_cleanup_scene_ struct scene s = scene_start();
	struct reach *reaches[N];

	(void)state;
	memset(heard, 0, sizeof(heard));
	for (size_t i = 0; i < N; i++)
		begin(&s, i % N_OF(rows), &heard[i], &reaches[i]);
	for (size_t i = 0; i < N_OF(rows); i++)
		reach_cancel(reaches[i]);
	for (size_t i = N_OF(rows); i < N; i++) {
		wait_for(s.event, &heard[i]);
		check(i % N_OF(rows), &heard[i]);
	}
	for (size_t i = 0; i < N_OF(rows); i++)
		assert_int_equal(heard[i].times, 0);
}

static void test_silent_resolver(void **state)
{
	_cleanup_scene_ struct scene s = scene_start();
	_cleanup_reacher_ struct reacher *reacher = new_reacher(s.event, "5.5.5.5");
	struct heard heard = {0};
	struct reach *reach;

	(void)state;
	assert_int_equal(reach_begin(reacher, "four.example.com", PORT, SHORT_MS, on_reached,
				     &heard, &reach),
			 0);
	wait_for(s.event, &heard);
	assert_int_equal(heard.outcome, REACH_OUT_OF_TIME);
	assert_string_equal(heard.reason, "no resolver has answered");
}

/* --- a resolver that says nothing for IPv6 --- */

#define DEAF_PORT 5354
#define DEAF "127.0.0.1@5354"
#define TYPE_AAAA 28

static int bound_udp(__u16 port)
{
	const struct sockaddr_in at = {.sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

/* Of the one question behind the header. */
static unsigned int type_of(const unsigned char *query, ssize_t n)
{
	ssize_t at = 12;

	while (at < n && query[at])
		at += query[at] + 1;
	return at + 2 < n ? (unsigned int)(query[at + 1] << 8 | query[at + 2]) : 0;
}

__attribute__((noreturn)) static void be_deaf(int listener)
{
	const struct sockaddr_in real = {.sin_family = AF_INET,
					 .sin_port = htons(NAMESERVER_PORT),
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	unsigned char packet[2048];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		struct sockaddr_in asker;
		socklen_t size = sizeof(asker);
		ssize_t n = recvfrom(listener, packet, sizeof(packet), 0, (struct sockaddr *)&asker,
				     &size);

		if (n <= 0 || type_of(packet, n) == TYPE_AAAA)
			continue;
		sendto(fd, packet, (size_t)n, 0, (const struct sockaddr *)&real, sizeof(real));
		n = recv(fd, packet, sizeof(packet), 0);
		if (n > 0)
			sendto(listener, packet, (size_t)n, 0, (struct sockaddr *)&asker, size);
	}
}

/* The addresses that there are do. */
static void test_half_answered(void **state)
{
	_cleanup_scene_ struct scene s = scene_start();
	_cleanup_reacher_ struct reacher *reacher = new_reacher(s.event, DEAF);
	int listener = bound_udp(DEAF_PORT);
	pid_t deaf = fork();
	struct heard heard = {0};
	struct reach *reach;

	(void)state;
	if (deaf == 0)
		be_deaf(listener);
	close(listener);
	assert_int_equal(reach_begin(reacher, "four.example.com", PORT, LONG_MS, on_reached, &heard,
				     &reach),
			 0);
	wait_for(s.event, &heard);
	nameserver_end(deaf);
	assert_int_equal(heard.outcome, REACH_CONNECTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_together),
		cmocka_unit_test(test_silent_resolver),
		cmocka_unit_test(test_half_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

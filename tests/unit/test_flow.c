// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Bytes between two TCP connections, on the loopback of a network namespace. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include "base/cleanup.h"
#include "egress/flow.h"
#include "netns.h"

#define LONG_MS 30000
#define SHORT_MS 150
#define LOOPS 200000 /* turns of the loop, each of a millisecond at most */

struct heard {
	unsigned int times;
	enum flow_outcome outcome;
	struct flow_counts counts;
};

static void on_ended(void *data, enum flow_outcome outcome, const struct flow_counts *counts)
{
	struct heard *heard = data;

	heard->times++;
	heard->outcome = outcome;
	heard->counts = *counts;
}

/* A program on either side, and what is between them. */
struct scene {
	int before;
	sd_event *event;
	int client, server;
	int middle[2]; /* the flow's, until it takes them */
	struct flow *flow;
	struct heard heard;
};

/* ret[0] connected, ret[1] accepted. Small windows, so that they are full at times. */
static void connect_pair(int ret[2])
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	_cleanup_close_ int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(at);
	int on = 1, window = 65536;

	assert_int_equal(setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &window, sizeof(window)), 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size), 0);
	ret[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(setsockopt(ret[0], SOL_SOCKET, SO_RCVBUF, &window, sizeof(window)), 0);
	assert_int_equal(connect(ret[0], (struct sockaddr *)&at, sizeof(at)), 0);
	ret[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(ret[1] >= 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(fcntl(ret[i], F_SETFL, O_NONBLOCK), 0);
		assert_int_equal(setsockopt(ret[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
	}
}

static struct scene scene_connect(void)
{
	struct scene s = {.before = netns_enter()};
	int near[2], far[2];

	signal(SIGPIPE, SIG_IGN);
	netns_set("link set lo up\n");
	connect_pair(near);
	connect_pair(far);
	s.client = near[0];
	s.middle[0] = near[1];
	s.middle[1] = far[0];
	s.server = far[1];
	assert_true(sd_event_new(&s.event) >= 0);
	return s;
}

static void scene_begin(struct scene *s, struct flow_options options)
{
	options.idle_ms = options.idle_ms ? options.idle_ms : LONG_MS;
	options.total_ms = options.total_ms ? options.total_ms : LONG_MS;
	options.ended = on_ended;
	options.data = &s->heard;
	assert_int_equal(flow_new(s->event, s->middle[0], s->middle[1], &options, &s->flow), 0);
	s->middle[0] = s->middle[1] = -1;
	assert_int_equal(s->heard.times, 0);
}

static void scene_end(struct scene *s)
{
	if (s->flow && !s->heard.times)
		flow_cut(s->flow);
	sd_event_unref(s->event);
	cleanup_closep(&s->client);
	cleanup_closep(&s->server);
	cleanup_closep(&s->middle[0]);
	cleanup_closep(&s->middle[1]);
	netns_leave(&s->before);
}
#define _cleanup_scene_ __attribute__((cleanup(scene_end)))

static void turn(struct scene *s)
{
	assert_true(sd_event_run(s->event, 1000) >= 0);
}

static void wait_ended(struct scene *s, enum flow_outcome outcome)
{
	for (int i = 0; !s->heard.times && i < LOOPS; i++)
		turn(s);
	assert_int_equal(s->heard.times, 1);
	if (s->heard.outcome != outcome)
		fail_msg("%s", flow_outcome_names[s->heard.outcome]);
}

/* --- programs on both sides --- */

/* What stands at this place of what one side says; the other says something else. */
static char letter(__u64 at, int seed)
{
	return (char)(at * 2654435761u >> 7 ^ at >> 16 ^ (__u64)seed);
}

struct talk {
	int from, to, seed;
	__u64 total, said, heard;
	size_t piece; /* of one write */
};

static void say(struct talk *t)
{
	static char buffer[1 << 16];
	__u64 n = t->total - t->said < t->piece ? t->total - t->said : t->piece;
	ssize_t sent;

	if (!n)
		return;
	for (__u64 i = 0; i < n; i++)
		buffer[i] = letter(t->said + i, t->seed);
	sent = send(t->from, buffer, (size_t)n, MSG_NOSIGNAL);
	assert_true(sent > 0 || errno == EAGAIN);
	t->said += sent > 0 ? (__u64)sent : 0;
}

static void listen_to(struct talk *t)
{
	static char buffer[1 << 16];
	ssize_t n = recv(t->to, buffer, sizeof(buffer), 0);

	assert_true(n > 0 || (n < 0 && errno == EAGAIN));
	for (ssize_t i = 0; i < n; i++)
		if (buffer[i] != letter(t->heard + (__u64)i, t->seed))
			fail_msg("another byte at %llu", (unsigned long long)t->heard + i);
	t->heard += n > 0 ? (__u64)n : 0;
}

static void hear_all(struct scene *s, struct talk *t)
{
	for (int i = 0; t->heard < t->total && i < LOOPS; i++) {
		say(t);
		turn(s);
		listen_to(t);
	}
	assert_int_equal(t->heard, t->total);
}

/* What recv(2) says once all was read: 0 or -errno. */
static int how_it_ended(struct scene *s, int fd)
{
	char byte;
	ssize_t n = -1;

	for (int i = 0; i < LOOPS; i++) {
		n = recv(fd, &byte, 1, MSG_DONTWAIT);
		if (n >= 0 || errno != EAGAIN)
			break;
		if (s->heard.times)
			usleep(1000);
		else
			turn(s);
	}
	assert_true(n <= 0);
	return n ? -errno : 0;
}

static void reset(int *fd)
{
	static const struct linger at_once = {.l_onoff = 1};

	assert_int_equal(setsockopt(*fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
	close(*fd);
	*fd = -1;
}

static size_t count_fds(void)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	return n;
}

/* --- tests --- */

static void test_both_ways(void **state)
{
	size_t fds = count_fds();
	{
		_cleanup_scene_ struct scene s = scene_connect();
		struct talk up = {s.client, s.server, 1, 64 << 20, 0, 0, 50000};
		struct talk down = {s.server, s.client, 2, 48 << 20, 0, 0, 65536};

		(void)state;
		scene_begin(&s, (struct flow_options){0});
		for (int i = 0; up.heard + down.heard < up.total + down.total && i < LOOPS; i++) {
			say(&up);
			say(&down);
			turn(&s);
			listen_to(&up);
			listen_to(&down);
		}
		assert_int_equal(shutdown(s.client, SHUT_WR), 0);
		assert_int_equal(how_it_ended(&s, s.server), 0);
		assert_int_equal(shutdown(s.server, SHUT_WR), 0);
		wait_ended(&s, FLOW_ENDED);
		assert_int_equal(how_it_ended(&s, s.client), 0);
		assert_int_equal(s.heard.counts.up, up.total);
		assert_int_equal(s.heard.counts.down, down.total);
	}
	assert_int_equal(count_fds(), fds);
}

/* A byte in each segment fills a pipe's slots long before it is full, while nobody reads. */
static void test_small(void **state)
{
	_cleanup_scene_ struct scene s = scene_connect();
	struct talk up = {s.client, s.server, 3, 20000, 0, 0, 1};

	(void)state;
	scene_begin(&s, (struct flow_options){0});
	for (int i = 0; i < 3000; i++) {
		say(&up);
		turn(&s);
	}
	hear_all(&s, &up);
}

/* Little and much in turns, around what is read at once; a pipe is made when there is much. */
static void test_sizes(void **state)
{
	static const size_t sizes[] = {1,    8191, 100, 8192,	8193, 5,     8192 * 2,
				       9000, 300,  1,	200000, 2,    65536, 8192};
	_cleanup_scene_ struct scene s = scene_connect();
	struct talk up = {s.client, s.server, 14, 0, 0, 0, 65536};
	size_t fds;

	(void)state;
	scene_begin(&s, (struct flow_options){0});
	fds = count_fds();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		up.total += sizes[i];
		hear_all(&s, &up);
		if (i < 3)
			assert_int_equal(count_fds(), fds);
	}
	assert_int_equal(count_fds(), fds + 2);
	/* Of little that nobody reads the rest has its place, too. */
	up.total += 3 << 20;
	up.piece = 1000;
	for (int i = 0; i < 2000; i++) {
		say(&up);
		turn(&s);
	}
	hear_all(&s, &up);
	assert_int_equal(shutdown(s.client, SHUT_WR), 0);
	assert_int_equal(how_it_ended(&s, s.server), 0);
}

/* Much cannot be carried: nobody takes what was for all there is. */
static void test_no_pipe(void **state)
{
	_cleanup_scene_ struct scene s = scene_connect();
	struct talk up = {s.client, s.server, 15, 8000, 0, 0, 8000};
	struct rlimit before, none;

	(void)state;
	scene_begin(&s, (struct flow_options){0});
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){0, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	hear_all(&s, &up);
	up.total = up.piece = 60000;
	say(&up);
	wait_ended(&s, FLOW_INTERNAL);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	while (recv(s.server, (char[1024]){0}, 1024, 0) > 0)
		;
	assert_int_equal(how_it_ended(&s, s.client), -ECONNRESET);
}

/* One side has said all, the other not. */
static void test_half_closed(void **state)
{
	_cleanup_scene_ struct scene s = scene_connect();
	struct talk up = {s.client, s.server, 4, 1000, 0, 0, 1000};
	struct talk down = {s.server, s.client, 5, 4 << 20, 0, 0, 30000};

	(void)state;
	scene_begin(&s, (struct flow_options){0});
	hear_all(&s, &up);
	assert_int_equal(shutdown(s.client, SHUT_WR), 0);
	assert_int_equal(how_it_ended(&s, s.server), 0);
	hear_all(&s, &down);
	assert_int_equal(s.heard.times, 0);
	close(s.server);
	s.server = -1;
	wait_ended(&s, FLOW_ENDED);
	assert_int_equal(how_it_ended(&s, s.client), 0);
}

static void test_reset(void **state)
{
	(void)state;
	for (int side = 0; side < 2; side++) {
		_cleanup_scene_ struct scene s = scene_connect();
		int *from = side ? &s.server : &s.client, to = side ? s.client : s.server;
		struct talk talk = {*from, to, 6, 100, 0, 0, 100};

		scene_begin(&s, (struct flow_options){0});
		hear_all(&s, &talk);
		reset(from);
		wait_ended(&s, FLOW_RESET);
		assert_int_equal(how_it_ended(&s, to), -ECONNRESET);
	}
}

/* What had come before the reset is not lost: servers refuse so, that close with a request unread. */
static void test_reset_behind(void **state)
{
	_cleanup_scene_ struct scene s = scene_connect();
	struct talk up = {s.client, s.server, 7, 100, 0, 0, 100};
	struct talk down = {s.server, s.client, 8, 30000, 0, 0, 30000};

	(void)state;
	scene_begin(&s, (struct flow_options){0});
	say(&up); /* and is never read */
	for (int i = 0; i < 10; i++)
		turn(&s);
	say(&down);
	assert_int_equal(down.said, down.total);
	close(s.server);
	s.server = -1;
	for (int i = 0; down.heard < down.total && i < LOOPS; i++) {
		if (!s.heard.times)
			turn(&s);
		listen_to(&down);
	}
	assert_int_equal(how_it_ended(&s, s.client), -ECONNRESET);
	wait_ended(&s, FLOW_RESET);
}

/* What the flow has handed over is in the queue to a reader who is slow: a reset throws nothing of it away. */
static void test_reset_slow(void **state)
{
	_cleanup_scene_ struct scene s = scene_connect();
	struct talk down = {s.server, s.client, 14, 400000, 0, 0, 50000};

	(void)state;
	scene_begin(&s, (struct flow_options){0});
	/* All of it is taken, which the client's window does not hold. */
	for (int i = 0; down.said < down.total && i < LOOPS; i++) {
		say(&down);
		turn(&s);
	}
	for (int i = 0; flow_counts(s.flow).down < down.total && i < LOOPS; i++)
		turn(&s);
	reset(&s.server);
	for (int i = 0; i < 100 && !s.heard.times; i++)
		turn(&s);
	for (int i = 0; down.heard < down.total && i < LOOPS; i++) {
		listen_to(&down);
		if (!s.heard.times)
			turn(&s);
	}
	assert_int_equal(down.heard, down.total);
	wait_ended(&s, FLOW_RESET);
	assert_int_equal(how_it_ended(&s, s.client), -ECONNRESET);
}

/* Urgent data has no way through a pipe, and nothing behind it may be lost in silence. */
static void test_urgent(void **state)
{
	(void)state;
	for (int ends = 0; ends < 2; ends++) {
		_cleanup_scene_ struct scene s = scene_connect();

		scene_begin(&s, (struct flow_options){0});
		assert_int_equal(send(s.client, "hello", 5, MSG_NOSIGNAL), 5);
		assert_int_equal(send(s.client, "x", 1, MSG_NOSIGNAL | MSG_OOB), 1);
		assert_int_equal(send(s.client, "world", 5, MSG_NOSIGNAL), 5);
		if (ends)
			assert_int_equal(shutdown(s.client, SHUT_WR), 0);
		wait_ended(&s, FLOW_RESET);
	}
}

/* By who had nothing to say any more. */
static void test_reset_half_closed(void **state)
{
	_cleanup_scene_ struct scene s = scene_connect();

	(void)state;
	scene_begin(&s, (struct flow_options){0});
	assert_int_equal(shutdown(s.client, SHUT_WR), 0);
	assert_int_equal(how_it_ended(&s, s.server), 0);
	reset(&s.client);
	wait_ended(&s, FLOW_RESET);
	/* It has read the end before: the reset is told to who writes. */
	assert_int_equal(send(s.server, "a", 1, MSG_NOSIGNAL), -1);
	assert_int_equal(errno, EPIPE);
}

static void test_deadlines(void **state)
{
	(void)state;
	for (int total = 0; total < 2; total++) {
		_cleanup_scene_ struct scene s = scene_connect();
		struct talk up = {s.client, s.server, 9, 1 << 30, 0, 0, 10};

		scene_begin(&s, total ? (struct flow_options){.total_ms = SHORT_MS}
				      : (struct flow_options){.idle_ms = SHORT_MS});
		/* A byte now and then is no idleness. */
		for (int i = 0; !s.heard.times && i < (total ? LOOPS : 3 * SHORT_MS); i++) {
			say(&up);
			turn(&s);
			if (!s.heard.times)
				listen_to(&up);
			usleep(1000);
		}
		assert_int_equal(s.heard.times, total);
		wait_ended(&s, total ? FLOW_OUT_OF_TIME : FLOW_IDLE);
		assert_true(up.said > 0);
	}
}

/* Who reads all the time is not idle, although in the end nothing is left to be handed over: more than twice as long as may be. */
static void test_slow_reader(void **state)
{
	_cleanup_scene_ struct scene s = scene_connect();
	struct talk down = {s.server, s.client, 15, 1000000, 0, 0, 50000};
	static char bytes[20000];
	__u64 heard = 0;

	(void)state;
	scene_begin(&s, (struct flow_options){.idle_ms = 400});
	for (int i = 0; heard < down.total && i < LOOPS; i++) {
		ssize_t n = recv(s.client, bytes, sizeof(bytes), 0);

		assert_true(n > 0 || (n < 0 && errno == EAGAIN));
		heard += n > 0 ? (__u64)n : 0;
		assert_int_equal(s.heard.times, 0);
		say(&down);
		turn(&s);
		usleep(n > 0 ? 16000 : 1000);
	}
	assert_int_equal(heard, down.total);
}

static void test_allowance(void **state)
{
	static char first[1000];
	__u64 left = 5000;

	(void)state;
	for (int i = 0; i < 1000; i++)
		first[i] = letter((__u64)i, 10);
	for (int over = 0; over < 2; over++) {
		_cleanup_scene_ struct scene s = scene_connect();
		struct talk up = {s.client, s.server, 10, 3000, 1000, 0, 500};
		struct talk down = {s.server, s.client, 11, 100000, 0, 0, 5000};

		scene_begin(&s, (struct flow_options){.upload_left = &left,
						      .first = first,
						      .first_length = sizeof(first)});
		/* Both times 3,000 bytes: the second has 2,000 left. */
		if (!over) {
			hear_all(&s, &up);
			hear_all(&s, &down);
			shutdown(s.client, SHUT_WR);
			shutdown(s.server, SHUT_WR);
			wait_ended(&s, FLOW_ENDED);
			assert_int_equal(left, 2000);
			assert_int_equal(s.heard.counts.up, 3000);
			continue;
		}
		up.total = 2000;
		hear_all(&s, &up);
		assert_int_equal(left, 0);
		hear_all(&s, &down);
		up.total++;
		say(&up);
		wait_ended(&s, FLOW_OVER_UPLOAD);
		assert_int_equal(how_it_ended(&s, s.server), -ECONNRESET);
		assert_int_equal(s.heard.counts.up, 2000);
	}
}

/* All of it used, and no byte more. */
static void test_allowance_used(void **state)
{
	_cleanup_scene_ struct scene s = scene_connect();
	struct talk up = {s.client, s.server, 12, 5000, 0, 0, 5000};
	__u64 left = 5000;

	(void)state;
	scene_begin(&s, (struct flow_options){.upload_left = &left});
	hear_all(&s, &up);
	shutdown(s.client, SHUT_WR);
	assert_int_equal(how_it_ended(&s, s.server), 0);
	shutdown(s.server, SHUT_WR);
	wait_ended(&s, FLOW_ENDED);
}

static void test_cut(void **state)
{
	_cleanup_scene_ struct scene s = scene_connect();
	struct talk up = {s.client, s.server, 13, 100, 0, 0, 100};

	(void)state;
	scene_begin(&s, (struct flow_options){0});
	hear_all(&s, &up);
	assert_int_equal(flow_counts(s.flow).up, 100);
	flow_cut(s.flow);
	wait_ended(&s, FLOW_CUT);
	assert_int_equal(how_it_ended(&s, s.client), -ECONNRESET);
	assert_int_equal(how_it_ended(&s, s.server), -ECONNRESET);
}

static void test_bad(void **state)
{
	_cleanup_scene_ struct scene s = scene_connect();
	static const char first[FLOW_FIRST + 1];
	__u64 left = 10;
	struct flow_options good = {.idle_ms = 1, .total_ms = 1, .ended = on_ended};
	struct flow_options rows[4] = {good, good, good, good};
	static const int results[4] = {-EINVAL, -EINVAL, -E2BIG, -EDQUOT};

	(void)state;
	rows[0].idle_ms = 0;
	rows[1].total_ms = 0;
	rows[2].first = rows[3].first = first;
	rows[2].first_length = sizeof(first);
	rows[3].first_length = 11;
	rows[3].upload_left = &left;
	for (size_t i = 0; i < 4; i++) {
		struct flow *flow = NULL;

		assert_int_equal(flow_new(s.event, s.middle[0], s.middle[1], &rows[i], &flow),
				 results[i]);
		assert_null(flow);
	}
	/* They are ours still. */
	assert_int_equal(send(s.middle[0], "a", 1, MSG_NOSIGNAL), 1);
	assert_int_equal(left, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_ways),    cmocka_unit_test(test_small),
		cmocka_unit_test(test_sizes),	     cmocka_unit_test(test_no_pipe),
		cmocka_unit_test(test_half_closed),  cmocka_unit_test(test_reset),
		cmocka_unit_test(test_reset_behind), cmocka_unit_test(test_reset_half_closed),
		cmocka_unit_test(test_reset_slow),   cmocka_unit_test(test_urgent),
		cmocka_unit_test(test_slow_reader),  cmocka_unit_test(test_deadlines),
		cmocka_unit_test(test_allowance),    cmocka_unit_test(test_allowance_used),
		cmocka_unit_test(test_cut),	     cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

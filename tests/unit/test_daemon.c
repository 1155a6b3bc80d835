// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The agent's parts that need no kernel: who may ask, and queues that lose exactly what they say.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "daemon/client.h"

#define READERS 100
#define ADMINS 200
#define NONE ((gid_t)-1)

struct right_case {
	uid_t uid;
	gid_t groups[3];
	gid_t readers, admins;
	enum right right;
};

static const struct right_case rights[] = {
	{0, {0, 0, 0}, READERS, ADMINS, RIGHT_CHANGE},
	{0, {0, 0, 0}, NONE, NONE, RIGHT_CHANGE},
	{1, {1, 2, 3}, READERS, ADMINS, RIGHT_NONE},
	{1, {1, READERS, 3}, READERS, ADMINS, RIGHT_READ},
	{1, {1, 2, ADMINS}, READERS, ADMINS, RIGHT_CHANGE},
	{1, {READERS, ADMINS, 3}, READERS, ADMINS, RIGHT_CHANGE},
	/* Without the groups nobody but root: not one whose group is "none", either. */
	{1, {READERS, ADMINS, NONE}, NONE, NONE, RIGHT_NONE},
	/* Group root is not root. */
	{1, {0, 0, 0}, READERS, ADMINS, RIGHT_NONE},
};

static void test_rights(void **state _unused_)
{
	for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
		const struct right_case *c = &rights[i];

		assert_int_equal(peer_right(c->uid, c->groups, 3, c->readers, c->admins), c->right);
	}
}

/* A process that ended is told from one that has its number. */
static void test_peer_lives(void **state _unused_)
{
	struct peer peer = {.pidfd = -1, .pid = getpid()};
	int fds[2];

	assert_true(peer_lives(&peer));
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	peer.pid = fork();
	if (!peer.pid) {
		char byte;

		close(fds[1]);
		_exit((int)read(fds[0], &byte, 1));
	}
	peer.pidfd = (int)syscall(SYS_pidfd_open, peer.pid, 0);
	assert_true(peer.pidfd >= 0 && peer_lives(&peer));
	close(fds[1]);
	close(fds[0]);
	waitpid(peer.pid, NULL, 0);
	peer.pid = getpid();
	assert_false(peer_lives(&peer));
	peer_done(&peer);
	assert_int_equal(peer.pidfd, -1);
}

struct pair {
	int ours, theirs;
	struct queue queue;
};

static int open_pair(void **state)
{
	struct pair *pair = calloc(1, sizeof(*pair));
	int fds[2];

	assert_non_null(pair);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	pair->ours = fds[0];
	pair->theirs = fds[1];
	*state = pair;
	return 0;
}

static int close_pair(void **state)
{
	struct pair *pair = *state;

	queue_done(&pair->queue);
	close(pair->ours);
	close(pair->theirs);
	free(pair);
	return 0;
}

static void push(struct pair *pair, unsigned int number)
{
	char text[512];
	int n = snprintf(text, sizeof(text),
			 "{\"kind\":\"violation\",\"seq\":%u,\"x\":\"%0400d\"}\n", number, 0);
	struct line *line = line_new(text, (size_t)n);

	assert_non_null(line);
	queue_push(&pair->queue, line);
	line_unref(line);
}

struct heard {
	unsigned int records, lost, last;
};

static void hear_line(struct heard *heard, const char *text)
{
	json_t *record = json_loads(text, 0, NULL);
	unsigned int seq;

	assert_non_null(record);
	if (!strcmp(json_string_value(json_object_get(record, "kind")), "lost")) {
		heard->lost += (unsigned int)json_integer_value(json_object_get(record, "count"));
		heard->last = 0;
	} else {
		seq = (unsigned int)json_integer_value(json_object_get(record, "seq"));
		/* A gap stands only where it was said that something was lost. */
		assert_true(!heard->last || seq == heard->last + 1);
		heard->last = seq;
		heard->records++;
	}
	json_decref(record);
}

/* Reads everything, letting the queue send in between. */
static void hear(struct pair *pair, struct heard *heard)
{
	_cleanup_fclose_ FILE *file = NULL;
	_cleanup_free_ char *line = NULL;
	char bytes[4096];
	size_t size = 0, n = 0;
	char *text = NULL;
	FILE *to = open_memstream(&text, &n);
	ssize_t got;

	do {
		assert_true(queue_send(&pair->queue, pair->ours) >= 0);
		got = recv(pair->theirs, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (got > 0)
			fwrite(bytes, 1, (size_t)got, to);
	} while (got > 0);
	fclose(to);
	file = fmemopen(text, n, "r");
	while (n && getline(&line, &size, file) > 0)
		hear_line(heard, line);
	free(text);
}

/* A reader that keeps up misses nothing. */
static void test_queue(void **state)
{
	struct pair *pair = *state;
	struct heard heard = {0};

	for (unsigned int i = 1; i <= 5000; i++) {
		push(pair, i);
		if (i % 500 == 0)
			hear(pair, &heard);
	}
	assert_int_equal(heard.records, 5000);
	assert_int_equal(heard.lost, 0);
	assert_int_equal(queue_send(&pair->queue, pair->ours), 1);
}

/* One that does not is told how many it missed, also when nothing comes after them. */
static void test_slow_reader(void **state)
{
	struct pair *pair = *state;
	struct heard heard = {0};

	for (unsigned int i = 1; i <= 5000; i++) {
		push(pair, i);
		if (i == 700)
			assert_true(queue_send(&pair->queue, pair->ours) >= 0);
	}
	assert_int_equal(pair->queue.n, CONTROL_MAX_QUEUE);
	hear(pair, &heard);
	assert_true(heard.lost > 0);
	assert_int_equal(heard.records + heard.lost, 5000);
	for (unsigned int i = 5001; i <= 5010; i++)
		push(pair, i);
	hear(pair, &heard);
	assert_int_equal(heard.records + heard.lost, 5010);
}

/* One that hangs up is an error, and no signal. */
static void test_gone_reader(void **state)
{
	struct pair *pair = *state;

	push(pair, 1);
	close(pair->theirs);
	pair->theirs = -1;
	assert_int_equal(queue_send(&pair->queue, pair->ours), -EPIPE);
}

/* --- a connection, from the other end --- */

struct talk {
	struct daemon daemon;
	int fd;
};

static int open_talk(void **state)
{
	struct talk *talk = calloc(1, sizeof(*talk));
	struct peer peer = {.pidfd = -1, .uid = 1, .right = RIGHT_READ};
	int fds[2];

	assert_non_null(talk);
	assert_true(sd_event_new(&talk->daemon.event) >= 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_non_null(client_new(&talk->daemon, fds[0], &peer));
	talk->fd = fds[1];
	*state = talk;
	return 0;
}

static int close_talk(void **state)
{
	struct talk *talk = *state;

	while (talk->daemon.clients)
		client_free(talk->daemon.clients);
	sd_event_unref(talk->daemon.event);
	close(talk->fd);
	free(talk);
	return 0;
}

static void run_loop(struct talk *talk)
{
	while (sd_event_run(talk->daemon.event, 0) > 0)
		continue;
}

static void say(struct talk *talk, const char *text)
{
	assert_int_equal(send(talk->fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Reads what has come: the number of lines, each one JSON object. */
static unsigned int read_answers(struct talk *talk)
{
	char bytes[65536], *save = NULL;
	ssize_t n = recv(talk->fd, bytes, sizeof(bytes) - 1, MSG_DONTWAIT);
	unsigned int lines = 0;

	bytes[n > 0 ? n : 0] = '\0';
	for (char *line = strtok_r(bytes, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		json_t *answer = json_loads(line, JSON_REJECT_DUPLICATES, NULL);

		assert_true(json_is_object(answer));
		json_decref(answer);
		lines++;
	}
	return lines;
}

/* One that shuts down its side after the request gets its answer, and then the end. */
static void test_half_closed(void **state)
{
	struct talk *talk = *state;

	say(talk, "{\"request\":\"nothing\"}\n");
	shutdown(talk->fd, SHUT_WR);
	run_loop(talk);
	assert_int_equal(read_answers(talk), 1);
	assert_null(talk->daemon.clients);
}

/* A subscriber that shuts down its side reads on; one that closes is gone. */
static void test_half_closed_subscriber(void **state)
{
	struct talk *talk = *state;

	say(talk, "{\"request\":\"events\"}\n");
	shutdown(talk->fd, SHUT_WR);
	run_loop(talk);
	server_publish(&talk->daemon, "{}\n", 3);
	run_loop(talk);
	assert_int_equal(read_answers(talk), 2);
	assert_non_null(talk->daemon.clients);
	shutdown(talk->fd, SHUT_RDWR);
	run_loop(talk);
	assert_null(talk->daemon.clients);
}

/* Whatever is said is answered by one line, and the end. */
static void test_nonsense(void **state)
{
	static const char *const texts[] = {
		"\n",
		"null\n",
		"{}\n",
		"[{\"request\":\"status\"}]\n",
		"{\"request\":7}\n",
		"{\"request\":\"status\",\"request\":\"detach\"}\n",
		"{\"request\":\"events\",\"x\":1}\n",
		"{\"request\":\"\\u0000\"}\n",
		"{\"request\":\"\xff\xfe\"}\n",
		"{\"request\":\"nothing\"}\n{\"request\":\"nothing\"}\n",
	};
	static const struct peer reader = {.pidfd = -1, .uid = 1, .right = RIGHT_READ};
	struct talk *talk = *state;
	char deep[30001];

	for (size_t i = 0; i <= sizeof(texts) / sizeof(texts[0]); i++) {
		struct peer peer = reader;
		int fds[2];

		memset(deep, '[', sizeof(deep) - 1);
		deep[sizeof(deep) - 2] = '\n';
		deep[sizeof(deep) - 1] = '\0';
		say(talk, i < sizeof(texts) / sizeof(texts[0]) ? texts[i] : deep);
		run_loop(talk);
		assert_int_equal(read_answers(talk), 1);
		assert_null(talk->daemon.clients);
		close(talk->fd);
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
		assert_non_null(client_new(&talk->daemon, fds[0], &peer));
		talk->fd = fds[1];
	}
}

/* A request without an end is refused at the bound, whatever else comes. */
static void test_endless(void **state)
{
	struct talk *talk = *state;
	char bytes[4096];

	memset(bytes, ' ', sizeof(bytes));
	for (size_t sent = 0; talk->daemon.clients && sent < 4 * CONTROL_MAX_REQUEST;) {
		ssize_t n = send(talk->fd, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT);

		sent += n > 0 ? (size_t)n : 0;
		run_loop(talk);
	}
	assert_int_equal(read_answers(talk), 1);
	assert_null(talk->daemon.clients);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rights),
		cmocka_unit_test(test_peer_lives),
		cmocka_unit_test_setup_teardown(test_queue, open_pair, close_pair),
		cmocka_unit_test_setup_teardown(test_slow_reader, open_pair, close_pair),
		cmocka_unit_test_setup_teardown(test_gone_reader, open_pair, close_pair),
		cmocka_unit_test_setup_teardown(test_half_closed, open_talk, close_talk),
		cmocka_unit_test_setup_teardown(test_half_closed_subscriber, open_talk, close_talk),
		cmocka_unit_test_setup_teardown(test_nonsense, open_talk, close_talk),
		cmocka_unit_test_setup_teardown(test_endless, open_talk, close_talk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

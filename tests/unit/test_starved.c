// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* bulkhead-egressd without memory: what it cannot do it does not do, what ran goes on, and then it works again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <cmocka.h>
#include "base/cleanup.h"
#include "egressd.h"

#define CONNECT_MS 2000
/* ASan's allocator ends the program. */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif
#define ENTRIES "{'to': 'api.example.com:8443'}, {'to': '*.cdn.example.com:8443'}"
/* More than it has memory for, less than one compartment may have. */
#define CLIENTS 480
#define RESET 20
#define ANSWERS 10
#define MORE (512 << 10)

/* What it has when one connection runs. */
static rlim_t data_bytes(void)
{
	_cleanup_scene_ struct scene s = scene_start(CONNECT_MS);
	struct ports ports = compartment(&s, 7, ENTRIES);
	_cleanup_talk_ struct talk talk = talk_start(&s, &ports, 7, "api.example.com");
	_cleanup_fclose_ FILE *file = NULL;
	char path[64], line[256];
	unsigned long kib = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)s.egressd);
	file = fopen(path, "re");
	assert_non_null(file);
	while (!kib && fgets(line, sizeof(line), file))
		sscanf(line, "VmData: %lu", &kib);
	assert_true(kib > 0);
	return kib * 1024;
}

static bool is_reset(int fd)
{
	char byte;

	return is_readable(fd, 0) && recv(fd, &byte, 1, MSG_DONTWAIT) <= 0;
}

/* Connections are made until so many were reset; returns how many were. */
static size_t crowd(struct scene *s, const struct ports *ports, __u32 address, int fds[CLIENTS],
		    int servers[CLIENTS])
{
	size_t reset = 0;

	for (size_t i = 0; i < CLIENTS; i++)
		fds[i] = servers[i] = -1;
	for (size_t i = 0; i < CLIENTS && reset < RESET; i++) {
		fds[i] = connect_as(s, ports, 7, address, SERVER_PORT);
		for (int ms = 0; ms < 4 * CONNECT_MS && servers[i] < 0 && !is_reset(fds[i]); ms++) {
			if (is_readable(s->server, 1))
				servers[i] = world_accept(s);
		}
		reset += servers[i] < 0;
	}
	return reset;
}

/* Names of a wildcard's, each of which would be kept. */
static size_t ask_many(const struct ports *ports)
{
	char name[64];
	size_t given = 0;

	for (int i = 0; i < 20000; i++) {
		_cleanup_close_ int fd = resolver_socket(AF_INET, ports->stub4);
		__u8 wire[1024];
		size_t n;

		snprintf(name, sizeof(name), "name-%d.cdn.example.com", i);
		n = write_query(name, LDNS_RR_TYPE_A, wire, sizeof(wire));
		assert_int_equal(send(fd, wire, n, 0), n);
		given += is_readable(fd, 200);
		if (given != (size_t)i + 1)
			break;
	}
	return given;
}

/* How many it told of, with those of which it could not. */
static __u64 events_of(struct scene *s, const char *what)
{
	__u64 n = 0;

	for (json_t *said; (said = hear(s, 2000)); json_array_append_new(s->heard, said))
		;
	for (size_t i = 0; i < json_array_size(s->heard); i++) {
		const json_t *said = json_array_get(s->heard, i);

		if (!strcmp(field(said, "is"), "lost"))
			n += (__u64)number(said, "count");
		else if (!strcmp(field(said, "what"), what))
			n += (__u64)(number(said, "count") ?: 1);
	}
	return n;
}

static void leave(int fds[CLIENTS], int servers[CLIENTS])
{
	for (size_t i = 0; i < CLIENTS; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		if (servers[i] >= 0)
			close(servers[i]);
	}
}

/* What waits for events has no room for as many as come, at times: then it ends, and says so; its resolver may hang then,
 * for which it has an alarm. */
static bool has_ended(struct scene *s)
{
	int status;

	if (waitpid(s->egressd, &status, WNOHANG) != s->egressd)
		return false;
	s->egressd = 0;
	assert_true(WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status) == SIGALRM);
	return true;
}

static bool is_answered(const struct ports *ports)
{
	_cleanup_close_ int fd = resolver_socket(AF_INET, ports->stub4);
	__u8 wire[1024];
	size_t n = write_query("api.example.com", LDNS_RR_TYPE_A, wire, sizeof(wire));

	return send(fd, wire, n, 0) == (ssize_t)n && is_readable(fd, 200) &&
	       recv(fd, wire, sizeof(wire), 0) > 0;
}

/* True: it runs, and what asks again is answered; false: it ended. */
static bool recovers(struct scene *s, const struct ports *ports)
{
	/* Several times: while it still closes what was left it may end. */
	for (int ms = 0, answers = 0; ms < WAIT_MS; ms += 50) {
		if (has_ended(s))
			return false;
		answers += is_answered(ports);
		if (answers == ANSWERS)
			return true;
		usleep(50000);
	}
	fail_msg("it neither answers nor ends");
	return false;
}

/* One more connection, which may be reset while what the others had is given back. True: it runs; false: it ended. */
static bool connects(struct scene *s, const struct ports *ports, __u32 address)
{
	for (int i = 0; i < WAIT_MS / 20; i++) {
		_cleanup_close_ int fd = connect_as(s, ports, 7, address, SERVER_PORT);

		for (int ms = 0; ms < WAIT_MS && !is_reset(fd); ms++) {
			if (!is_readable(s->server, 1))
				continue;
			close(world_accept(s));
			return true;
		}
		if (has_ended(s))
			return false;
		usleep(20000);
	}
	fail_msg("nobody connects, and it does not end");
	return false;
}

static void starve(rlim_t data)
{
	_cleanup_scene_ struct scene s = ((void)(egressd_data = data), scene_start(CONNECT_MS));
	_cleanup_talk_ struct talk talk = {-1, -1};
	static int fds[CLIENTS], servers[CLIENTS];
	struct ports ports;
	__u32 address;
	size_t reset, given;
	__u64 told;

	egressd_data = 0;
	ports = compartment(&s, 7, ENTRIES);
	talk = talk_start(&s, &ports, 7, "api.example.com");
	address = address_of(&ports, "api.example.com");
	reset = crowd(&s, &ports, address, fds, servers);
	given = ask_many(&ports);
	print_message("# %zu connections reset, %zu names given\n", reset, given);
	assert_int_equal(reset, RESET);
	assert_in_range(given, 0, 19999);
	carry(talk.client, talk.server, "still here");
	leave(fds, servers);
	if (!recovers(&s, &ports) || !connects(&s, &ports, address)) {
		/* Another is the agent's to start. */
		print_message("# it ended\n");
		expect_cut(&talk);
		return;
	}
	carry(talk.client, talk.server, "still here");
	assert_int_equal(address_of(&ports, "api.example.com"), address);
	must(&s, "{'do': 'close', 'serial': 7}");
	told = events_of(&s, "connect");
	if (told < reset)
		fail_msg("%llu of %zu were told of", told, reset);
}

static void test_starved(void **state)
{
	(void)state;
	if (!SANITIZED)
		starve(data_bytes() + MORE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_starved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

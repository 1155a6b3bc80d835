// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The guard of a program that dials for others, against a resolver that runs and a world behind a gateway. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include "egress/guard.h"
#include "nameserver.h"
#include "world.h"

#define N_OF(array) (sizeof(array) / sizeof(*(array)))
#define LONG_MS 20000
#define SHORT_MS 300
#define BYTES(text) (text), sizeof(text) - 1

static const char *const entries[] = {"api.example.com:443,8443", "*.cdn.example.com:443",
				      "mixed.example.com:443", "no.example.com:443",
				      "silent.example.com:443"};

static const struct {
	const char *host;
	size_t length;
	__u16 port;
	unsigned int deadline_ms;
	int result;
	const char *reason;
} rows[] = {
	{BYTES("api.example.com"), 443, LONG_MS, 0, ""},
	/* The asker's spelling. */
	{BYTES("API.Example.COM."), 443, LONG_MS, 0, ""},
	{BYTES("one.cdn.example.com"), 443, LONG_MS, 0, ""},
	{BYTES("api.example.com"), 80, LONG_MS, -EACCES,
	 "api.example.com:80: the name is listed, with other ports"},
	{BYTES("www.example.com"), 443, LONG_MS, -EACCES, "www.example.com:443: not listed"},
	{BYTES("two.one.cdn.example.com"), 443, LONG_MS, -EACCES,
	 "two.one.cdn.example.com:443: not listed"},
	{BYTES("cdn.example.com"), 443, LONG_MS, -EACCES, "cdn.example.com:443: not listed"},
	{BYTES("8.8.8.8"), 443, LONG_MS, -EINVAL, "host, byte 6: the last label is a number"},
	{BYTES("api.example.com\0.evil.com"), 443, LONG_MS, -EINVAL, "host, byte 15: a NUL"},
	{BYTES("user@api.example.com"), 443, LONG_MS, -EINVAL, "host, byte 4: no user name"},
	{BYTES(""), 443, LONG_MS, -EINVAL, "host, byte 0: no name"},
	{BYTES("api.example.com"), 443, 0, -EINVAL,
	 "api.example.com:443: no deadline, or too long a one"},
	{BYTES("api.example.com"), 443, REACH_MAX_MS, -EINVAL,
	 "api.example.com:443: no deadline, or too long a one"},
	{BYTES("mixed.example.com"), 443, LONG_MS, -EPERM,
	 "mixed.example.com:443: bad address: 10."},
	{BYTES("no.example.com"), 443, LONG_MS, -ENOENT,
	 "no.example.com:443: not resolved: the name has no address"},
	{BYTES("api.example.com"), 8443, LONG_MS, -EHOSTUNREACH,
	 "api.example.com:8443: not connected: Connection refused"},
	{BYTES("silent.example.com"), 443, SHORT_MS, -ETIMEDOUT,
	 "silent.example.com:443: out of time: no address has answered"},
};

static struct guard *new_guard(void)
{
	static const char *const upstream = NAMESERVER;
	struct destination listed[N_OF(entries)];
	struct guard_options options = {.entries = listed,
					.nentries = N_OF(entries),
					.reach = {.upstreams = &upstream, .nupstreams = 1}};
	struct destination_fault fault;
	struct error error = {0};
	struct guard *guard = NULL;

	for (size_t i = 0; i < N_OF(entries); i++)
		assert_int_equal(
			destination_parse(entries[i], strlen(entries[i]), &listed[i], &fault), 0);
	if (guard_new(&options, &guard, &error))
		fail_msg("%s", error.text);
	return guard;
}

static void check(struct guard *guard, size_t i)
{
	_cleanup_close_ int fd = -1;
	struct error error = {0};
	int r = egress_dial(guard, rows[i].host, rows[i].length, rows[i].port, rows[i].deadline_ms,
			    &fd, &error);

	if (r != rows[i].result || strncmp(error.text, rows[i].reason, strlen(rows[i].reason)))
		fail_msg("%zu: %d, %s", i, r, error.text);
	assert_int_equal(r ? fd == -1 : send(fd, "a", 1, MSG_NOSIGNAL) == 1, 1);
}

static void test_dial(void **state)
{
	static const char *const names[] = {"--host-record=api.example.com,8.8.8.8",
					    "--host-record=one.cdn.example.com,2001:4860::8",
					    "--host-record=mixed.example.com,8.8.8.8",
					    "--host-record=mixed.example.com,10.1.2.3",
					    "--host-record=silent.example.com,5.5.5.5"};
	_cleanup_netns_ int before = netns_enter();
	_cleanup_guard_ struct guard *guard = NULL;
	pid_t world = world_start(), server = nameserver_start(names, N_OF(names));

	(void)state;
	guard = new_guard();
	for (size_t i = 0; i < N_OF(rows); i++)
		check(guard, i);
	nameserver_end(server);
	nameserver_end(world);
}

static void test_bad(void **state)
{
	struct guard_options options = {0};
	struct error error = {0};
	struct guard *guard = NULL;

	(void)state;
	assert_int_equal(guard_new(&options, &guard, &error), -EINVAL);
	assert_string_equal(error.text, "0 resolvers are named: 1 to 8 must be");
	assert_null(guard);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dial),
		cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

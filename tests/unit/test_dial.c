// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Connections to one of several addresses: listeners, closed ports and silence in a network namespace. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include "egress/dial.h"
#include "netns.h"

#define N_OF(array) (sizeof(array) / sizeof(*(array)))
#define PORT 443
#define LONG_MS 20000
#define SHORT_MS 600

/* 192.0.2.9 and 2001:db8::9 never say a word: what goes to them is for a card that nobody has. */
static const char setting[] =
	"link set lo up\n"
	"addr add 198.51.100.1/32 dev lo\n"
	"addr add 2001:db8:1::1/128 dev lo nodad\n"
	"link add near type veth peer name far\n"
	"link set near up\n"
	"link set far up\n"
	"addr add 192.0.2.1/24 dev near\n"
	"addr add 2001:db8::1/64 dev near nodad\n"
	"neigh add 192.0.2.9 lladdr 02:00:00:00:00:09 dev near nud permanent\n"
	"neigh add 2001:db8::9 lladdr 02:00:00:00:00:09 dev near nud permanent\n";

static sd_event *loop;

static int listen_at(const char *text)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(PORT)};
	struct address address;
	int fd;

	assert_int_equal(address_parse(text, &address), 0);
	memcpy(&v4.sin_addr, address.bytes, 4);
	memcpy(&v6.sin6_addr, address.bytes, 16);
	fd = socket(address.family == ADDRESS_V4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC,
		    0);
	assert_true(fd >= 0);
	assert_int_equal(address.family == ADDRESS_V4
				 ? bind(fd, (struct sockaddr *)&v4, sizeof(v4))
				 : bind(fd, (struct sockaddr *)&v6, sizeof(v6)),
			 0);
	assert_int_equal(listen(fd, 8), 0);
	return fd;
}

struct heard {
	unsigned int times;
	int result, fd;
	struct address to;
};

static void on_dialled(void *data, int result, int fd, const struct address *to)
{
	struct heard *heard = data;

	*heard = (struct heard){heard->times + 1, result, fd, *to};
}

/* Where it led, "" and the reason in *ret where it did not. */
static const char *dial(const char *const *texts, size_t n, unsigned int deadline_ms, int *ret)
{
	static char where[ADDRESS_TEXT_SIZE];
	struct address to[64];
	struct heard heard = {.fd = -1};
	struct dial *dial;

	where[0] = '\0';
	assert_true(n <= N_OF(to));
	for (size_t i = 0; i < n; i++)
		assert_int_equal(address_parse(texts[i], &to[i]), 0);
	assert_int_equal(dial_new(loop, to, n, PORT, deadline_ms, on_dialled, &heard, &dial), 0);
	assert_int_equal(heard.times, 0);
	while (!heard.times)
		assert_true(sd_event_run(loop, 2 * LONG_MS * 1000ull) > 0);
	*ret = heard.result;
	if (heard.result) {
		assert_int_equal(heard.fd, -1);
		return where;
	}
	/* It is one. */
	assert_int_equal(send(heard.fd, "a", 1, MSG_NOSIGNAL), 1);
	close(heard.fd);
	address_format(&heard.to, where);
	return where;
}

#define OPEN4 "127.0.0.1"
#define OPEN6 "2001:db8:1::1"
#define CLOSED4 "198.51.100.1"
#define CLOSED6 "::1"
#define SILENT4 "192.0.2.9"
#define SILENT6 "2001:db8::9"
#define NOWHERE4 "8.8.8.8"

static const struct {
	const char *to[4];
	unsigned int deadline_ms;
	int result;
	const char *where;
} rows[] = {
	{{OPEN4}, LONG_MS, 0, OPEN4},
	{{OPEN6}, LONG_MS, 0, OPEN6},
	/* IPv6 first, wherever it stands. */
	{{OPEN4, OPEN6}, LONG_MS, 0, OPEN6},
	/* What fails makes room, and what says nothing too. */
	{{CLOSED4, OPEN4}, LONG_MS, 0, OPEN4},
	{{NOWHERE4, CLOSED6, OPEN4}, LONG_MS, 0, OPEN4},
	{{SILENT6, OPEN4}, LONG_MS, 0, OPEN4},
	{{SILENT4, SILENT6, CLOSED4, OPEN4}, LONG_MS, 0, OPEN4},
	/* One family alone. */
	{{SILENT4, OPEN4}, LONG_MS, 0, OPEN4},
	{{CLOSED4}, LONG_MS, -ECONNREFUSED, ""},
	{{CLOSED4, CLOSED6}, LONG_MS, -ECONNREFUSED, ""},
	{{NOWHERE4}, LONG_MS, -ENETUNREACH, ""},
	{{SILENT4}, SHORT_MS, -ETIMEDOUT, ""},
	{{CLOSED4, SILENT6}, SHORT_MS, -ETIMEDOUT, ""},
};

static void test_race(void **state)
{
	_cleanup_netns_ int before = netns_enter();
	_cleanup_close_ int open4 = -1, open6 = -1;

	(void)state;
	netns_set(setting);
	netns_wait_own(OPEN6);
	netns_wait_own("2001:db8::1");
	open4 = listen_at(OPEN4);
	open6 = listen_at(OPEN6);
	for (size_t i = 0; i < N_OF(rows); i++) {
		const char *where;
		size_t n = 0;
		int r;

		while (n < N_OF(rows[i].to) && rows[i].to[n])
			n++;
		where = dial(rows[i].to, n, rows[i].deadline_ms, &r);
		if (r != rows[i].result || strcmp(where, rows[i].where))
			fail_msg("%zu: %d, %s", i, r, where);
	}
}

/* Of many addresses the first ones are tried, and no more descriptors are open than that. */
static void test_many(void **state)
{
	_cleanup_netns_ int before = netns_enter();
	_cleanup_close_ int open4 = -1;
	const char *to[64];
	int r;

	(void)state;
	netns_set(setting);
	netns_wait_own(OPEN6);
	netns_wait_own("2001:db8::1");
	open4 = listen_at(OPEN4);
	for (size_t i = 0; i < N_OF(to); i++)
		to[i] = i == DIAL_ATTEMPTS ? OPEN4 : CLOSED4;
	assert_string_equal(dial(to, N_OF(to), LONG_MS, &r), "");
	assert_int_equal(r, -ECONNREFUSED);
	assert_string_equal(dial(to + 1, N_OF(to) - 1, LONG_MS, &r), OPEN4);
}

static void test_bad(void **state)
{
	struct address to = {.family = ADDRESS_V4};
	struct dial *dial;

	(void)state;
	assert_int_equal(dial_new(loop, &to, 0, PORT, LONG_MS, on_dialled, NULL, &dial), -EINVAL);
	assert_int_equal(dial_new(loop, &to, 1, PORT, 0, on_dialled, NULL, &dial), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_race),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_bad),
	};

	if (sd_event_new(&loop) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

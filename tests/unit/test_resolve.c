// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Addresses of names, from a resolver that runs (dnsmasq) in a network namespace of its own. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "egress/resolve.h"
#include "nameserver.h"
#include "netns.h"

#define N_OF(array) (sizeof(array) / sizeof(*(array)))
#define WAIT_MS 20000
#define MANY 64 /* addresses: more than an answer of UDP holds */

/* What goes to 192.0.2.9 is for a card that nobody has. */
static const char setting[] =
	"link set lo up\n"
	"link add near type veth peer name far\n"
	"link set near up\n"
	"link set far up\n"
	"addr add 192.0.2.1/24 dev near\n"
	"neigh add 192.0.2.9 lladdr 02:00:00:00:00:09 dev near nud permanent\n";

/* --- the server --- */

/* `n` addresses of a name, in the form of hosts(5). */
static void write_hosts(FILE *out, const char *name, int n)
{
	for (int i = 0; i < n; i++)
		assert_true(fprintf(out, "203.0.113.%d %s\n", i + 1, name) > 0);
}

static pid_t serve(void)
{
	char option[HOSTS_OPTION];
	const char *const options[] = {"--host-record=api.example.com,198.51.100.7,2001:db8::7",
				       "--host-record=four.example.com,198.51.100.4",
				       "--host-record=six.example.com,2001:db8::6",
				       "--host-record=held.example.com,198.51.100.5,2001:db8::5,3",
				       "--txt-record=text.example.com,words",
				       "--cname=alias.example.com,api.example.com",
				       option};
	_cleanup_fclose_ FILE *out = hosts_open(option);

	write_hosts(out, "many.example.com", MANY);
	write_hosts(out, "toomany.example.com", RESOLVE_ADDRESSES + 1);
	assert_int_equal(fflush(out), 0);
	return nameserver_start(options, N_OF(options));
}

/* --- questions --- */

static sd_event *loop;

struct heard {
	unsigned int times;
	int result;
	size_t n;
	char text[4 * ADDRESS_TEXT_SIZE]; /* sorted, the first ones */
};

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct address));
}

static void on_resolved(void *data, int result, const struct address *addresses, size_t n)
{
	struct heard *heard = data;
	struct address sorted[RESOLVE_ADDRESSES];

	heard->times++;
	heard->result = result;
	heard->n = result ? 0 : n;
	memcpy(sorted, addresses, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_bytes);
	for (size_t i = 0; !result && i < n && i < 3; i++) {
		char text[ADDRESS_TEXT_SIZE];

		address_format(&sorted[i], text);
		strcat(heard->text, text);
		strcat(heard->text, " ");
	}
}

static void wait_heard(const struct heard *heard)
{
	while (!heard->times)
		assert_true(sd_event_run(loop, WAIT_MS * 1000) > 0);
}

static struct resolver *new_resolver(const char *upstream)
{
	struct resolver *resolver;
	struct error error = {0};

	if (resolver_new(loop, &upstream, 1, &resolver, &error))
		fail_msg("%s", error.text);
	return resolver;
}

static const struct {
	const char *name;
	int result;
	size_t n;
	const char *text;
} rows[] = {
	{"api.example.com", 0, 2, "198.51.100.7 2001:db8::7 "},
	{"four.example.com", 0, 1, "198.51.100.4 "},
	{"six.example.com", 0, 1, "2001:db8::6 "},
	{"alias.example.com", 0, 2, "198.51.100.7 2001:db8::7 "},
	{"text.example.com", -ENOENT, 0, ""},
	{"no.example.com", -ENOENT, 0, ""},
	/* Cut in UDP, so asked again by TCP. */
	{"many.example.com", 0, MANY, "203.0.113.1 203.0.113.2 203.0.113.3 "},
	{"toomany.example.com", -E2BIG, 0, ""},
	/* It has no upstream to ask: REFUSED. */
	{"www.example.org", -EAGAIN, 0, ""},
};

static void test_names(void **state)
{
	_cleanup_netns_ int before = netns_enter();
	_cleanup_resolver_ struct resolver *resolver = NULL;
	pid_t server;

	(void)state;
	netns_set(setting);
	server = serve();
	resolver = new_resolver(NAMESERVER);
	for (size_t i = 0; i < N_OF(rows); i++) {
		struct heard heard = {0};
		struct question *question;

		assert_int_equal(
			resolver_ask(resolver, rows[i].name, on_resolved, &heard, &question), 0);
		wait_heard(&heard);
		if (heard.times != 1 || heard.result != rows[i].result || heard.n != rows[i].n ||
		    strcmp(heard.text, rows[i].text))
			fail_msg("%s: %d, %zu: %s", rows[i].name, heard.result, heard.n,
				 heard.text);
	}
	nameserver_end(server);
}

/* All at once, one of them given up. */
static void test_together(void **state)
{
	_cleanup_netns_ int before = netns_enter();
	_cleanup_resolver_ struct resolver *resolver = NULL;
	struct question *questions[N_OF(rows)];
	struct heard heard[N_OF(rows)] = {0};
	pid_t server;

	(void)state;
	netns_set(setting);
	server = serve();
	resolver = new_resolver(NAMESERVER);
	for (size_t i = 0; i < N_OF(rows); i++)
		assert_int_equal(resolver_ask(resolver, rows[i].name, on_resolved, &heard[i],
					      &questions[i]),
				 0);
	question_cancel(questions[0]);
	for (size_t i = 1; i < N_OF(rows); i++) {
		wait_heard(&heard[i]);
		assert_int_equal(heard[i].result, rows[i].result);
	}
	assert_int_equal(heard[0].times, 0);
	nameserver_end(server);
}

static struct heard ask(struct resolver *resolver, const char *name, int known)
{
	struct heard heard = {0};
	struct question *question;

	assert_int_equal(resolver_ask(resolver, name, on_resolved, &heard, &question), known);
	assert_int_equal(heard.times, 0);
	wait_heard(&heard);
	assert_int_equal(heard.result, 0);
	return heard;
}

/* What was said is known for as long as it holds, whoever is there to be asked. */
static void test_known(void **state)
{
	_cleanup_netns_ int before = netns_enter();
	_cleanup_resolver_ struct resolver *resolver = NULL;
	struct heard heard = {0};
	struct question *question;
	pid_t server;

	(void)state;
	netns_set(setting);
	server = serve();
	resolver = new_resolver(NAMESERVER);
	ask(resolver, "held.example.com", 0);
	nameserver_end(server);
	assert_string_equal(ask(resolver, "held.example.com", 1).text, "198.51.100.5 2001:db8::5 ");
	/* Given up between its answer and its turn. */
	assert_int_equal(resolver_ask(resolver, "held.example.com", on_resolved, &heard, &question),
			 1);
	question_cancel(question);
	sleep(5);
	server = serve();
	ask(resolver, "held.example.com", 0);
	assert_int_equal(heard.times, 0);
	nameserver_end(server);
}

#define CUTTER_PORT 5355
#define CUTTER "127.0.0.1@5355"

/* Says of every answer that it is cut, and takes no TCP. */
__attribute__((noreturn)) static void be_cutter(int fd)
{
	unsigned char packet[512];
	struct sockaddr_in asker;
	socklen_t size = sizeof(asker);
	ssize_t n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while ((n = recvfrom(fd, packet, sizeof(packet), 0, (struct sockaddr *)&asker, &size)) >
	       3) {
		packet[2] |= 0x82; /* QR, TC */
		packet[3] |= 0x80; /* RA */
		sendto(fd, packet, (size_t)n, 0, (struct sockaddr *)&asker, size);
	}
	_exit(1);
}

static pid_t start_cutter(void)
{
	const struct sockaddr_in at = {.sin_family = AF_INET,
				       .sin_port = htons(CUTTER_PORT),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	pid_t pid;

	assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	pid = fork();
	if (pid == 0)
		be_cutter(fd);
	close(fd);
	return pid;
}

/* What is behind the cut is not known: neither that there is something nor that there is nothing. */
static void test_cut(void **state)
{
	_cleanup_netns_ int before = netns_enter();
	_cleanup_resolver_ struct resolver *resolver = NULL;
	struct heard heard = {0};
	struct question *question;
	pid_t cutter;

	(void)state;
	netns_set(setting);
	cutter = start_cutter();
	resolver = new_resolver(CUTTER);
	assert_int_equal(resolver_ask(resolver, "cut.example.com", on_resolved, &heard, &question),
			 0);
	wait_heard(&heard);
	assert_int_equal(heard.result, -EAGAIN);
	nameserver_end(cutter);
}

/* An upstream that says nothing: given up, and by the end of the resolver. */
static void test_silent(void **state)
{
	_cleanup_netns_ int before = netns_enter();
	_cleanup_resolver_ struct resolver *silent = NULL;
	struct heard heard[2] = {0};
	struct question *question, *other;
	uint64_t until = clock_us() + 200000;

	(void)state;
	netns_set(setting);
	silent = new_resolver("192.0.2.9");
	assert_int_equal(resolver_ask(silent, "a.example.com", on_resolved, &heard[0], &question),
			 0);
	assert_int_equal(resolver_ask(silent, "b.example.com", on_resolved, &heard[1], &other), 0);
	while (clock_us() < until)
		assert_true(sd_event_run(loop, 10000) >= 0);
	question_cancel(question);
	assert_int_equal(heard[0].times + heard[1].times, 0);
}

static void test_upstreams(void **state)
{
	static const char *const bad[] = {"",
					  "localhost",
					  "127.0.0.1@",
					  "127.0.0.1@0",
					  "127.1",
					  "127.0.0.1@65536",
					  "127.0.0.1@5 ",
					  "::1%lo",
					  "127.0.0.1#53"};
	static const char *const good[] = {"127.0.0.1", "127.0.0.1@5353", "::1", "::1@65535"};
	struct error error = {0};
	struct resolver *resolver;

	(void)state;
	for (size_t i = 0; i < N_OF(bad); i++) {
		if (resolver_new(loop, &bad[i], 1, &resolver, &error) != -EINVAL)
			fail_msg("%s is taken", bad[i]);
		assert_true(strlen(error.text) > 0);
	}
	assert_int_equal(resolver_new(loop, NULL, 0, &resolver, &error), -EINVAL);
	assert_int_equal(resolver_new(loop, good, N_OF(good), &resolver, &error), 0);
	resolver_free(resolver);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),  cmocka_unit_test(test_together),
		cmocka_unit_test(test_known),  cmocka_unit_test(test_cut),
		cmocka_unit_test(test_silent), cmocka_unit_test(test_upstreams),
	};

	if (sd_event_new(&loop) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

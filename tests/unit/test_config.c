// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The file of egress, good and bad; spans of time; and whether the host has a use for the synthetic range. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include "base/duration.h"
#include "egress/config.h"
#include "egress/range.h"
#include "netns.h"
#include "tree.h"

static int load(const char *text, struct egress_config **ret, struct error *error)
{
	char path[] = "/tmp/bulkhead-egress-XXXXXX";
	int fd = mkstemp(path), r;
	char *at;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	r = egress_config_load(path, ret, error);
	unlink(path);
	/* The place without the file. */
	at = strstr(error->text, path);
	if (at)
		memmove(at, at + strlen(path) + 1, strlen(at + strlen(path) + 1) + 1);
	return r;
}

static void test_least(void **state _unused_)
{
	_cleanup_(cleanup_egress_config_free) struct egress_config *config = NULL;
	struct error error = {0};

	assert_int_equal(load("upstreams: [9.9.9.9]\n", &config, &error), 0);
	assert_string_equal(config->upstreams[0], "9.9.9.9");
	assert_null(config->upstreams[1]);
	assert_string_equal(config->synthetic, "198.18.0.0/15");
	assert_int_equal(config->rules.synthetic.length, 15);
	assert_null(config->nat64[0]);
	assert_int_equal(config->connect_ms, 30000);
	assert_true(config->idle_ms && config->total_ms);
}

static void test_most(void **state _unused_)
{
	_cleanup_(cleanup_egress_config_free) struct egress_config *config = NULL;
	struct error error = {0};
	int r = load("upstreams:\n"
		     "  - 9.9.9.9@5353\n"
		     "  - 2620:fe::fe@53\n"
		     "  - 127.0.0.53\n"
		     "synthetic: 10.200.0.0/16\n"
		     "nat-prefixes: [\"64:ff9b::/96\"]\n"
		     "connect: 10s\nidle: 2h\ntotal: 7d\n",
		     &config, &error);

	if (r)
		fail_msg("%s", error.text);
	assert_string_equal(config->upstreams[1], "2620:fe::fe@53");
	assert_string_equal(config->synthetic, "10.200.0.0/16");
	assert_int_equal(config->rules.nat64_count, 1);
	assert_string_equal(config->nat64[0], "64:ff9b::/96");
	assert_int_equal(config->connect_ms, 10000);
	assert_int_equal(config->idle_ms, 7200000);
	assert_int_equal(config->total_ms, 604800000);
}

/* Each says where, and what to write instead. */
static const struct {
	const char *text, *error;
} bad[] = {
	{"", "1:1: empty: write upstreams"},
	{"- a\n", "1:1: write KEY: VALUE"},
	{"synthetic: 198.18.0.0/15\n", "1:1: upstreams is missing"},
	{"upstreams: []\n", "1:12: upstreams must be a list that has something"},
	{"upstreams: 9.9.9.9\n", "1:12: upstreams must be a list"},
	{"upstreams: [[9.9.9.9]]\n", "1:13: upstreams[0] must be one word"},
	{"upstreams: [dns.example.com]\n", "1:13: \"dns.example.com\" is no resolver"},
	{"upstreams: [9.9.9.9, 9.9.9.9:53]\n", "1:22: \"9.9.9.9:53\" is no resolver"},
	{"upstreams: [9.9.9.9@0]\n", "1:13: \"9.9.9.9@0\" is no resolver"},
	{"upstreams: [9.9.9.9@053]\n", "is no resolver"},
	{"upstreams: [9.9.9.9@65536]\n", "is no resolver"},
	{"upstreams: [9.9.9.9@53x]\n", "is no resolver"},
	{"upstreams: [9.9.9.09]\n", "is no resolver"},
	{"upstreams: [198.19.1.1]\n", "1:13: 198.19.1.1 is in the synthetic range 198.18.0.0/15"},
	{"upstreams: [\"::ffff:198.19.1.1\"]\n", "is in the synthetic range"},
	{"upstreams: [9.9.9.9]\nsynthetic: 9.9.0.0/16\n", "2:12: \"9.9.0.0/16\" is public"},
	{"upstreams: [9.9.9.9]\nsynthetic: 198.18.0.0/30\n", "2:12: \"198.18.0.0/30\""},
	{"upstreams: [9.9.9.9]\nsynthetic: [a]\n", "2:12: synthetic must be one word"},
	{"upstreams: [9.9.9.9]\nnat-prefixes: [\"64:ff9b::/95\"]\n", "2:16: "},
	{"upstreams: [9.9.9.9]\nconnect: 2m\n", "2:10: connect: 2m is too long"},
	{"upstreams: [9.9.9.9]\nconnect: 30\n", "2:10: connect: \"30\" is no span of time"},
	{"upstreams: [9.9.9.9]\nidle: 0s\n", "2:7: idle: 0s"},
	{"upstreams: [9.9.9.9]\ntotal: 300d\n", "2:8: total: 300d is too long"},
	{"upstream: [9.9.9.9]\n", "1:1: unknown key upstream: write one of upstreams"},
	{"upstreams: [9.9.9.9]\nupstreams: [9.9.9.9]\n", "2:1: "},
	{"upstreams: &a [9.9.9.9]\n", "an anchor"},
	{"upstreams: [1.1.1.1, 1.1.1.1, 1.1.1.1, 1.1.1.1, 1.1.1.1, 1.1.1.1, 1.1.1.1, 1.1.1.1, "
	 "1.1.1.1]\n",
	 "more than 8 upstreams"},
	{"upstreams: [9.9.9.9\n", "2:1: "},
};

static void test_bad(void **state _unused_)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct egress_config *config = NULL;
		struct error error = {0};

		assert_int_equal(load(bad[i].text, &config, &error), -EINVAL);
		assert_null(config);
		if (strncmp(error.text, bad[i].error, strlen(bad[i].error)) != 0 &&
		    (*bad[i].error < 'A' || !strstr(error.text, bad[i].error)))
			fail_msg("%zu: \"%s\" instead of \"%s\"", i, error.text, bad[i].error);
	}
}

/* It says what to write, and where. */
static void test_none(void **state _unused_)
{
	struct egress_config *config = NULL;
	struct error error = {0};

	assert_int_equal(egress_config_load("/nonexistent/egress.yaml", &config, &error), -ENOENT);
	assert_non_null(strstr(error.text, "/nonexistent/egress.yaml, as in upstreams: [9.9.9.9]"));
}

/* --- spans of time --- */

static const struct {
	const char *text;
	int result;
	uint64_t ms;
	const char *again;
} spans[] = {
	{"30s", 0, 30000, "30s"},
	{"10m", 0, 600000, "10m"},
	{"2h", 0, 7200000, "2h"},
	{"1d", 0, 86400000, "1d"},
	{"90s", 0, 90000, "1m 30s"},
	{"365d", 0, DURATION_MAX_MS, "365d"},
	{"366d", -ERANGE, 0, NULL},
	{"99999999999999999999999s", -ERANGE, 0, NULL},
	{"18446744073709551616s", -ERANGE, 0, NULL},
	{"0s", -ERANGE, 0, NULL},
	{"", -EINVAL, 0, NULL},
	{"s", -EINVAL, 0, NULL},
	{"10", -EINVAL, 0, NULL},
	{"10M", -EINVAL, 0, NULL},
	{"10ms", -EINVAL, 0, NULL},
	{"-1s", -EINVAL, 0, NULL},
	{"+1s", -EINVAL, 0, NULL},
	{" 1s", -EINVAL, 0, NULL},
	{"1 s", -EINVAL, 0, NULL},
	{"1.5h", -EINVAL, 0, NULL},
	{"1h30m", -EINVAL, 0, NULL},
};

static void test_spans(void **state _unused_)
{
	for (size_t i = 0; i < sizeof(spans) / sizeof(*spans); i++) {
		char text[DURATION_TEXT_SIZE];
		uint64_t ms = 0;

		assert_int_equal(duration_parse(spans[i].text, &ms), spans[i].result);
		assert_int_equal(ms, spans[i].ms);
		if (!spans[i].result)
			assert_string_equal(duration_format(ms, text), spans[i].again);
	}
}

static void test_span_text(void **state _unused_)
{
	static const struct {
		uint64_t ms;
		const char *text;
	} rows[] = {
		{0, "0s"},
		{1, "1s"},
		{59001, "1m"},
		{3599000, "59m 59s"},
		{3600000, "1h"},
		{90061000, "1d 1h"},
		{86400000 + 60000, "1d"},
	};
	char text[DURATION_TEXT_SIZE];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(duration_format(rows[i].ms, text), rows[i].text);
}

/* --- the range --- */

static int check(const char *range, struct error *error)
{
	struct address_rules rules = {0};

	*error = (struct error){0};
	assert_int_equal(address_set_synthetic(&rules, range, error), 0);
	return range_check(&rules.synthetic, error);
}

static const char setting[] = "link set lo up\n"
			      "link add near type veth peer name far\n"
			      "link set near up\n"
			      "link set far up\n"
			      "addr add 203.0.113.2/24 dev near\n"
			      "route add default via 203.0.113.1\n"
			      "route add 0.0.0.0/1 via 203.0.113.1\n"
			      "route add 128.0.0.0/1 via 203.0.113.1\n"
			      "route add blackhole 198.18.0.0/15\n"
			      "route add unreachable 198.18.5.0/24\n"
			      "route add throw 198.18.6.0/24 table 77\n";

/* What leads into the range, and around it; the route that is the answer. */
static const struct {
	const char *route, *range, *found;
} routes[] = {
	{"198.18.0.0/15 dev near metric 7", "198.18.0.0/15", "198.18.0.0/15"},
	{"198.19.255.254/32 dev near", "198.18.0.0/15", "198.19.255.254/32"},
	{"198.18.77.0/24 via 203.0.113.1", "198.18.0.0/15", "198.18.77.0/24"},
	{"198.16.0.0/12 via 203.0.113.1", "198.18.0.0/15", "198.16.0.0/12"},
	{"198.18.7.0/24 dev near table 77", "198.18.0.0/15", "198.18.7.0/24"},
	{"local 198.18.0.1/32 dev lo", "198.18.0.0/15", "198.18.0.1/32"},
	{"198.20.0.0/15 dev near", "198.18.0.0/15", NULL},
	{"198.17.255.0/24 dev near", "198.18.0.0/15", NULL},
	{"10.0.0.0/8 dev near", "10.7.0.0/16", "10.0.0.0/8"},
	{"10.8.0.0/16 dev near", "10.7.0.0/16", NULL},
};

static void test_range(void **state _unused_)
{
	_cleanup_netns_ int before = netns_enter();
	struct error error;

	netns_set(setting);
	assert_int_equal(check("198.18.0.0/15", &error), 0);
	for (size_t i = 0; i < sizeof(routes) / sizeof(*routes); i++) {
		char line[128];
		int r;

		snprintf(line, sizeof(line), "route add %s\n", routes[i].route);
		netns_set(line);
		r = check(routes[i].range, &error);
		if (r != (routes[i].found ? -EADDRINUSE : 0) ||
		    (routes[i].found && !strstr(error.text, routes[i].found)))
			fail_msg("%s: %d, %s", routes[i].route, r, error.text);
		snprintf(line, sizeof(line), "route del %s\n", routes[i].route);
		netns_set(line);
	}
}

/* More routes than one answer of the kernel's has. */
static void test_many_routes(void **state _unused_)
{
	_cleanup_netns_ int before = netns_enter();
	char *lines = NULL;
	size_t size;
	FILE *to = open_memstream(&lines, &size);
	struct error error;

	fputs("link set lo up\n", to);
	for (int i = 0; i < 5000; i++)
		fprintf(to, "route add 20.%d.%d.0/24 dev lo\n", i / 250, i % 250);
	fclose(to);
	netns_set(lines);
	free(lines);
	assert_int_equal(check("198.18.0.0/15", &error), 0);
	netns_set("route add 198.18.1.0/24 dev lo\n");
	assert_int_equal(check("198.18.0.0/15", &error), -EADDRINUSE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_least), cmocka_unit_test(test_most),
		cmocka_unit_test(test_bad),   cmocka_unit_test(test_none),
		cmocka_unit_test(test_spans), cmocka_unit_test(test_span_text),
		cmocka_unit_test(test_range), cmocka_unit_test(test_many_routes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* bulkhead egress check: what is taken for a destination, and what is said of one that is listed or not, in a world
 * behind a gateway. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include "cli/egress_check.h"
#include "nameserver.h"
#include "tree.h"
#include "world.h"

#define N_OF(array) (sizeof(array) / sizeof(*(array)))
#define SECRET "hunter2"

DEFINE_CLEANUP(struct policy *, policy_free)

/* --- what is asked about --- */

static const struct {
	const char *text, *name;
	__u16 port;
} good[] = {
	{"api.example.com:443", "api.example.com", 443},
	{"API.Example.COM.:1", "api.example.com", 1},
	{"_a.b-c.example.com:65535", "_a.b-c.example.com", 65535},
	{"https://api.example.com", "api.example.com", 443},
	{"http://api.example.com", "api.example.com", 80},
	{"HTTPS://Api.example.com/", "api.example.com", 443},
	{"https://api.example.com:8443/v1?key=" SECRET "#f", "api.example.com", 8443},
	{"https://api.example.com?u=http://user@[::1]:80/", "api.example.com", 443},
	{"http://api.example.com#@evil.example.com", "api.example.com", 80},
	{"https://api.example.com/\n\x1b[31m\\@evil.example.com:1", "api.example.com", 443},
	{"https://api.example.com/https://evil.example.com", "api.example.com", 443},
};

static void test_good(void **state _unused_)
{
	for (size_t i = 0; i < N_OF(good); i++) {
		struct target target = {0};
		struct error error = {0};

		if (target_parse(good[i].text, &target, &error))
			fail_msg("%zu: %s", i, error.text);
		assert_string_equal(target.name, good[i].name);
		assert_int_equal(target.port, good[i].port);
	}
}

static const struct {
	const char *text;
	size_t byte;
	const char *reason;
} bad[] = {
	{"", 0, "no name"},
	{"api.example.com", 15, "no port: write NAME:PORT"},
	{"api.example.com:", 16, "a port is 1 to 65535"},
	{"api.example.com:0", 16, "a port is 1 to 65535"},
	{"api.example.com:0443", 16, "a port is 1 to 65535, without zeros"},
	{"api.example.com:65536", 16, "a port is 1 to 65535"},
	{"api.example.com:4294967739", 16, "a port is 1 to 65535"},
	{"api.example.com:99999999999999999999999999", 16, "a port is 1 to 65535"},
	{"api.example.com:443,80", 19, "a port is decimal digits"},
	{"api.example.com:+443", 16, "a port is decimal digits"},
	{"api.example.com: 443", 16, "a port is decimal digits"},
	{"api.example.com:443/v1?key=" SECRET, 19, "a port is decimal digits"},
	{"api.example.com/v1:443", 15, "no URL and no path"},
	{"*.example.com:443", 0, "* stands for"},
	{"localhost:443", 0, "localhost is the host itself"},
	{"metadata.google.internal:80", 16, ".internal is the site's own"},
	{"one:443", 3, "one label"},
	{"-a.example.com:443", 0, "a label neither begins"},
	/* Addresses. */
	{"8.8.8.8:443", 6, "the last label is a number"},
	{"https://127.0.0.1/", 16, "the last label is a number"},
	{"https://127.1/", 12, "the last label is a number"},
	{"http://2130706433/", 7, "the last label is a number"},
	{"http://0x7f000001/", 7, "the last label is a number"},
	{"http://0x7f.1/", 12, "the last label is a number"},
	{"http://1.2.3.4./", 13, "the last label is a number"},
	{"[::1]:443", 5, "a second colon: an IPv6 address"},
	{"https://[::1]/", 10, "a second colon: an IPv6 address"},
	{"https://[::1]:443/", 13, "a second colon: an IPv6 address"},
	{"[v1]:443", 0, "an address is no destination"},
	{"fe80::1%25eth0", 5, "a second colon: an IPv6 address"},
	/* Whose host is another one to some. */
	{"https://user@api.example.com/", 12, "no user name and no password"},
	{"https://user:" SECRET "@api.example.com/", 20, "no user name and no password"},
	{"https://api.example.com:443@evil.example.com/", 27, "no user name and no password"},
	{"user@api.example.com:443", 4, "no user name and no password"},
	{"https://api.example.com\\@evil.example.com/", 24, "no user name and no password"},
	{"https://api.example.com\\.evil.example.com/", 23, "no byte of a name"},
	{"https://api.example.com:443\\x", 27, "a port is decimal digits"},
	{"https://api.example.com%2f.evil.com/", 23, "neither zones nor percent-encoding"},
	{"https://api.exa\tmple.com/", 15, "no byte of a name"},
	{"https://api.example.com\n/", 23, "no byte of a name"},
	{"https://b\xc3\xbc"
	 "cher.example/",
	 9, "not ASCII"},
	{"https://api\xe3\x80\x82"
	 "example.com/",
	 11, "not ASCII"},
	{"https://api.example.com../", 24, "an empty label"},
	{"https://api.example.com:/", 24, "a port is 1 to 65535"},
	{"https:///api.example.com/", 8, "no name"},
	{"https://", 8, "no name"},
	/* Schemes. */
	{"ftp://api.example.com/", 0, "this scheme says no port"},
	{"wss://api.example.com/", 0, "this scheme says no port"},
	{"http+unix://api.example.com/", 0, "this scheme says no port"},
	{"://api.example.com/", 0, "this scheme says no port"},
	{" https://api.example.com/", 0, "this scheme says no port"},
	{"ht\ntps://api.example.com/", 0, "this scheme says no port"},
	{"//api.example.com/", 0, "no URL and no path"},
	{"https:/api.example.com/", 5, "one label"},
	{"https:api.example.com", 5, "one label"},
	{"mailto:a@example.com", 8, "no user name and no password"},
};

/* Each says where and why, and nothing of the text. */
static void test_bad(void **state _unused_)
{
	for (size_t i = 0; i < N_OF(bad); i++) {
		struct target target = {.port = 7};
		struct error error = {0};
		char wanted[256];

		snprintf(wanted, sizeof(wanted), "the destination, byte %zu: %s", bad[i].byte,
			 bad[i].reason);
		assert_int_equal(target_parse(bad[i].text, &target, &error), -EINVAL);
		if (strncmp(error.text, wanted, strlen(wanted)) != 0 || strstr(error.text, SECRET))
			fail_msg("%zu: \"%s\" instead of \"%s\"", i, error.text, wanted);
		assert_int_equal(target.port, 7);
	}
}

static void test_long(void **state _unused_)
{
	char text[512];
	struct target target;
	struct error error = {0};

	memset(text, 'a', sizeof(text));
	memcpy(text, "https://", 8);
	for (size_t i = 20; i < sizeof(text); i += 20)
		text[i] = '.';
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(target_parse(text, &target, &error), -EINVAL);
	assert_string_equal(error.text, "the destination, byte 261: a name has 253 bytes at most");
}

/* --- the answer --- */

#define ENTRY(to, more) "    - {to: '" to "', discloses: prompts, max-upload: 1MiB" more "}\n"
static const char policy_text[] =
	"version: 1\nname: t\nmode: %s\nnetwork:\n  egress:\n" ENTRY("*.example.com:443", "")
		ENTRY("api.example.com:443,8443", ", tls: true") ENTRY("v6.example.com:443", "")
			ENTRY("*.cdn.example.com:443", "");

static char directory[] = "/tmp/bulkhead-egress-check-XXXXXX";
static char policy_path[64], config_path[64];

static void write_policy(const char *mode)
{
	char text[1024];

	write_bytes(policy_path, text, (size_t)snprintf(text, sizeof(text), policy_text, mode));
	assert_int_equal(chmod(policy_path, 0644), 0);
}

static void write_config(const char *text)
{
	write_bytes(config_path, text, strlen(text));
	assert_int_equal(chmod(config_path, 0644), 0);
}

static int set_up(void **state _unused_)
{
	assert_non_null(mkdtemp(directory));
	snprintf(policy_path, sizeof(policy_path), "%s/p.yaml", directory);
	snprintf(config_path, sizeof(config_path), "%s/egress.yaml", directory);
	write_policy("enforce");
	return 0;
}

static int tear_down(void **state _unused_)
{
	return tree_remove(directory);
}

static json_t *ask(const char *text)
{
	const struct policy_options options = {0};
	_cleanup_(cleanup_policy_free) struct policy *policy = NULL;
	struct target target;
	struct egress_question question = {.target = &target, .config = config_path};
	struct error error = {0};
	json_t *answer = NULL;

	if (target_parse(text, &target, &error) ||
	    policy_load(policy_path, &options, &policy, &error))
		fail_msg("%s", error.text);
	question.policy = policy;
	assert_int_equal(egress_ask(&question, &answer, &error), 0);
	return answer;
}

/* What people read of it. */
static void print(const json_t *answer, char *out, size_t size)
{
	_cleanup_fclose_ FILE *file = tmpfile();
	int before = dup(STDOUT_FILENO);

	assert_non_null(file);
	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	egress_show(answer);
	fflush(stdout);
	dup2(before, STDOUT_FILENO);
	close(before);
	rewind(file);
	out[fread(out, 1, size - 1, file)] = '\0';
}

struct row {
	const char *destination, *outcome;
	int line; /* of the entry; 0: none */
	const char *text;
};

static void check(const struct row *row)
{
	_cleanup_json_ json_t *answer = ask(row->destination);
	const json_t *entry = json_object_get(answer, "entry");
	char out[4096];

	print(answer, out, sizeof(out));
	if (strcmp(text_of(answer, "outcome"), row->outcome) != 0 || !strstr(out, row->text))
		fail_msg("%s: %s: %s", row->destination, text_of(answer, "outcome"), out);
	assert_int_equal(json_integer_value(json_object_get(entry, "line")), row->line);
	assert_int_equal(egress_is_reached(answer), !strcmp(row->outcome, "reached"));
	/* The second yes is named where the first one is given. */
	assert_int_equal(!!strstr(out, "not asked: whether it is granted."), !!row->line);
	assert_string_equal(text_of(answer, "grant"), "not-asked");
}

/* Nobody is asked about what is not listed, whatever stands in the operator's file. */
static const struct row unlisted[] = {
	{"www.example.org:443", "not-listed", 0,
	 "www.example.org:443 under policy t, mode enforce\n  refused: not listed\n"},
	{"example.com:443", "not-listed", 0, "refused: not listed"},
	{"a.b.example.com:443", "not-listed", 0, "refused: not listed"},
	{"api.example.com:53", "other-ports", 0, "refused: the name is listed, with other ports"},
	{"http://api.example.com/", "other-ports", 0,
	 "  refused: the name is listed, with other ports\n"
	 "    *.example.com:443: at most 1 MiB of prompts\n"
	 "    api.example.com:443,8443: at most 1 MiB of prompts, over TLS\n"},
};

static void test_unlisted(void **state _unused_)
{
	write_config("nothing: that can be read\n");
	for (size_t i = 0; i < N_OF(unlisted); i++)
		check(&unlisted[i]);
	unlink(config_path);
}

/* What the policy says is said without the operator's file, too. */
static void test_not_configured(void **state _unused_)
{
	static const struct row rows[] = {
		{"https://api.example.com", "not-configured", 7,
		 "    api.example.com:443,8443: at most 1 MiB of prompts, over TLS\n"
		 "  nothing was dialled: egress is not configured, there is no /tmp/"},
		{"www.example.org:443", "not-listed", 0, "refused: not listed"},
	};

	for (size_t i = 0; i < N_OF(rows); i++)
		check(&rows[i]);
}

static void test_bad_config(void **state _unused_)
{
	const struct row row = {"api.example.com:443", "not-dialled", 7,
				"egress.yaml:1:1: unknown key upstream"};

	write_config("upstream: [9.9.9.9]\n");
	check(&row);
	unlink(config_path);
}

static const struct row rows[] = {
	{"https://api.example.com/v1", "reached", 7, "\n  reached at 8.8.8.8 in "},
	{"API.example.com.:443", "reached", 7,
	 "api.example.com:443 under policy t, mode enforce\n"},
	{"v6.example.com:443", "reached", 8, "\n  reached at 2001:4860::8 in "},
	{"other.example.com:443", "reached", 6,
	 "    *.example.com:443: at most 1 MiB of prompts\n"},
	{"one.cdn.example.com:443", "reached", 9,
	 " ms; the connection is closed, nothing was sent\n"},
	{"api.example.com:8443", "not-reached", 7,
	 "\n  not reached: not connected: Connection refused\n"},
	{"no.example.com:443", "not-reached", 6,
	 "\n  not reached: not resolved: the name has no address\n"},
	{"silent.example.com:443", "not-reached", 6,
	 "\n  not reached: out of time: no address has answered\n"},
	{"private.example.com:443", "refused", 6, "\n  refused: bad address: 10.1.2.3 is "},
	{"mixed.example.com:443", "refused", 6, "\n  refused: bad address: 10."},
	/* A public number of the host's own network. */
	{"near.example.com:443", "refused", 6, "\n  refused: bad route: 9.9.9.7: "},
	{"synthetic.example.com:443", "refused", 6, "\n  refused: bad address: 198.18.0.1 is "},
};

/* What a program reads, of one that was reached and of one that was not. */
static void check_json(void)
{
	_cleanup_json_ json_t *yes = ask("api.example.com:443"), *no = ask("near.example.com:443");
	const json_t *entry = json_object_get(yes, "entry");

	assert_string_equal(text_of(json_object_get(yes, "policy"), "name"), "t");
	assert_string_equal(text_of(yes, "name"), "api.example.com");
	assert_int_equal(json_integer_value(json_object_get(yes, "port")), 443);
	assert_string_equal(text_of(yes, "address"), "8.8.8.8");
	assert_true(json_is_null(json_object_get(yes, "reason")));
	assert_true(json_is_integer(json_object_get(yes, "ms")));
	assert_string_equal(text_of(entry, "to"), "api.example.com:443,8443");
	assert_string_equal(text_of(entry, "discloses"), "prompts");
	assert_string_equal(text_of(entry, "file"), policy_path);
	assert_int_equal(json_integer_value(json_object_get(entry, "max_upload")), 1 << 20);
	assert_true(json_is_true(json_object_get(entry, "tls")));
	assert_int_equal(json_array_size(json_object_get(yes, "other_ports")), 0);
	assert_true(json_is_null(json_object_get(no, "address")));
	assert_string_not_equal(text_of(no, "reason"), "");
}

/* A policy that bounds nothing is not spoken of as if it did. */
static void check_audit(void)
{
	const struct row row = {"api.example.com:443", "reached", 7,
				"mode audit reports and does not bound"};

	write_policy("audit");
	check(&row);
	write_policy("enforce");
}

/* Where the relay would not run nothing is dialled. */
static void check_range(void)
{
	const struct row row = {"api.example.com:443", "not-dialled", 7,
				"nothing was dialled: a route of this host leads to 198.18.7.0/24"};

	netns_set("route add 198.18.7.0/24 via 9.9.9.1\n");
	check(&row);
}

static void test_dialled(void **state _unused_)
{
	static const char *const names[] = {"--host-record=api.example.com,8.8.8.8",
					    "--host-record=v6.example.com,2001:4860::8",
					    "--host-record=other.example.com,8.8.8.9",
					    "--host-record=one.cdn.example.com,8.8.8.8",
					    "--host-record=private.example.com,10.1.2.3",
					    "--host-record=mixed.example.com,8.8.8.8",
					    "--host-record=mixed.example.com,10.1.2.3",
					    "--host-record=near.example.com,9.9.9.7",
					    "--host-record=synthetic.example.com,198.18.0.1",
					    "--host-record=silent.example.com,5.5.5.5"};
	_cleanup_netns_ int before = netns_enter();
	pid_t world = world_start(), server = nameserver_start(names, N_OF(names));

	write_config("upstreams: [" NAMESERVER "]\nconnect: 1s\n");
	for (size_t i = 0; i < N_OF(rows); i++)
		check(&rows[i]);
	check_json();
	check_audit();
	check_range();
	unlink(config_path);
	nameserver_end(server);
	nameserver_end(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),	       cmocka_unit_test(test_bad),
		cmocka_unit_test(test_long),	       cmocka_unit_test(test_unlisted),
		cmocka_unit_test(test_not_configured), cmocka_unit_test(test_bad_config),
		cmocka_unit_test(test_dialled),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

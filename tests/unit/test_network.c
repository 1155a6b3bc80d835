// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a policy lets be reached, and where members listen: how it arrives, its bounds, and how it is written out again. Mistakes with their
 * places are files of bad/, which test_policy loads. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "policy/policy.h"
#include "policy/rewrite.h"
#include "tree.h"

#define N_OF(array) (sizeof(array) / sizeof(*(array)))
#define HEAD "version: 1\nname: t\nmode: enforce\n"
#define EGRESS HEAD "network:\n  egress:\n"
#define ONE(to, upload) "    - {to: " to ", discloses: a, max-upload: " upload "}\n"

static int try_text(const char *text, struct policy **ret, struct error *error)
{
	const struct policy_options options = {.text = text};

	return policy_load("t.yaml", &options, ret, error);
}

static struct policy *load_text(const char *text)
{
	struct policy *policy = NULL;
	struct error error = {0};

	if (try_text(text, &policy, &error) < 0)
		fail_msg("%s in\n%s", error.text, text);
	return policy;
}

static void expect_refusal(const char *text, const char *reason)
{
	struct policy *policy = NULL;
	struct error error = {0};

	assert_int_equal(try_text(text, &policy, &error), -EINVAL);
	if (!strstr(error.text, reason))
		fail_msg("%s; expected: %s", error.text, reason);
	assert_null(policy);
}

static void test_none(void **state)
{
	struct policy *policy = load_text(HEAD "network: none\n");

	(void)state;
	assert_false(policy->loopback);
	assert_int_equal(policy->negress, 0);
	assert_null(policy->egress);
	policy_free(policy);
}

static const struct {
	const char *text;
	bool loopback;
	size_t negress;
	bool proxy;
} loopbacks[] = {
	{HEAD "network: {loopback: own}\n", true, 0, false},
	{HEAD "network: {loopback: own, proxy: false}\n", true, 0, false},
	{EGRESS ONE("a.example.com:80", "1") "  proxy: true\n", false, 1, true},
	{HEAD "network:\n  proxy: 'true'\n  egress:\n" ONE("a.example.com:80", "1"), false, 1,
	 true},
	{EGRESS ONE("a.example.com:80", "1") "  proxy: false\n", false, 1, false},
	{HEAD "network:\n  loopback: 'own'\n  egress:\n" ONE("a.example.com:80", "1"), true, 1,
	 false},
	{EGRESS ONE("a.example.com:80", "1") "  loopback: own\n", true, 1, false},
	{HEAD "network:\n  loopback: none\n  egress:\n" ONE("a.example.com:80", "1"), false, 1,
	 false},
	{EGRESS ONE("a.example.com:80", "1"), false, 1, false},
	{"version: 1\nname: t\nmode: audit\nnetwork: {loopback: own}\n", true, 0, false},
};

static void check_loopback(const struct policy *policy, size_t i)
{
	assert_int_equal(policy->loopback, loopbacks[i].loopback);
	assert_int_equal(policy->negress, loopbacks[i].negress);
	assert_int_equal(!policy->egress, !loopbacks[i].negress);
	assert_int_equal(policy->proxy, loopbacks[i].proxy);
}

/* With destinations or alone, in either order; none unless it is asked for. */
static void test_loopback(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < N_OF(loopbacks); i++) {
		struct policy *policy = load_text(loopbacks[i].text);

		check_loopback(policy, i);
		policy_free(policy);
	}
}

#define LISTEN(list) HEAD "network: {listen: [" list "]}\n"

static const struct {
	const char *text;
	const char *ports[8]; /* as they are written out */
} listens[] = {
	{LISTEN("'127.0.0.1:8080'"), {"127.0.0.1:8080"}},
	{LISTEN("10.0.0.5:443"), {"10.0.0.5:443"}},
	{LISTEN("'[::1]:3000,3001'"), {"[::1]:3000", "[::1]:3001"}},
	{LISTEN("'*:8443', '[2001:db8::1]:1', '203.0.113.1:65535'"),
	 {"*:8443", "[2001:db8::1]:1", "203.0.113.1:65535"}},
	{LISTEN("'*:80', '[::1]:81', '10.0.0.5:81', '127.0.0.1:81'"),
	 {"*:80", "[::1]:81", "10.0.0.5:81", "127.0.0.1:81"}},
	{HEAD "network:\n  listen: ['*:53']\n  loopback: own\n", {"*:53"}},
	{HEAD "network: {loopback: none, listen: ['*:80']}\n", {"*:80"}},
	{EGRESS ONE("a.example.com:80", "1") "  listen: ['[::1]:1', '[::2]:1']\n",
	 {"[::1]:1", "[::2]:1"}},
	/* On either side of what is refused. */
	{LISTEN("'198.17.255.255:1', '198.20.0.0:1', '223.255.255.255:1', '0.0.0.1:1'"),
	 {"198.17.255.255:1", "198.20.0.0:1", "223.255.255.255:1", "0.0.0.1:1"}},
	{LISTEN("'[fe7f::1]:1', '[fec0::1]:1', '[feff::1]:1', '[::fffe:a00:5]:1'"),
	 {"[fe7f::1]:1", "[fec0::1]:1", "[feff::1]:1", "[::fffe:a00:5]:1"}},
};

static void check_listen(const struct policy *policy, size_t row)
{
	char text[LISTEN_TEXT_SIZE];
	size_t i;

	for (i = 0; listens[row].ports[i]; i++) {
		assert_true(i < policy->nlisten);
		listen_format(&policy->listen[i].at, text);
		assert_string_equal(text, listens[row].ports[i]);
	}
	assert_int_equal(policy->nlisten, i);
}

static void test_listen(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < N_OF(listens); i++) {
		struct policy *policy = load_text(listens[i].text);

		check_listen(policy, i);
		policy_free(policy);
	}
}

static char *ports(unsigned int count)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	fputs(HEAD "network:\n  listen:\n", to);
	for (; count; count--)
		fprintf(to, "    - '[::1]:%u'\n", count);
	fclose(to);
	return text;
}

static void test_listen_count(void **state)
{
	_cleanup_free_ char *most = ports(BH_MAX_LISTEN), *more = ports(BH_MAX_LISTEN + 1);
	struct policy *policy = load_text(most);

	(void)state;
	assert_int_equal(policy->nlisten, BH_MAX_LISTEN);
	policy_free(policy);
	expect_refusal(more, "t.yaml:70:7: more than 64 ports: ");
}

/* In both modes: audit tells of what enforce would refuse. */
static const char all[] =
	"version: 1\nname: t\nmode: audit\n"
	"network:\n"
	"  loopback: own\n"
	"  listen: [\"*:8443\", '[::1]:3000,3001', 10.0.0.5:443]\n"
	"  egress:\n"
	"    - {to: \"api.example.com:443\", discloses: \"prompts, it's all\", max-upload: "
	"200MiB}\n"
	"    - {to: \"*.example.org:443,8443\", discloses: 'a: \"b\" # c', max-upload: 5GiB, tls: "
	"true}\n"
	"    - to: c.example.net:80\n"
	"      discloses: null\n"
	"      max-upload: 1\n"
	"      tls: false\n";

static const struct {
	const char *to, *discloses;
	__u64 max_upload;
	bool tls;
	unsigned int line, column;
} wanted[] = {
	{"api.example.com:443", "prompts, it's all", 200 << 20, false, 8, 12},
	{"*.example.org:443,8443", "a: \"b\" # c", 5ULL << 30, true, 9, 12},
	{"c.example.net:80", "null", 1, false, 10, 11},
};

static void check_all(const struct policy *policy)
{
	char to[DESTINATION_TEXT_SIZE];
	size_t i;

	assert_int_equal(policy->mode, BH_MODE_AUDIT);
	assert_true(policy->loopback);
	assert_int_equal(policy->nlisten, 4);
	assert_int_equal(policy->negress, N_OF(wanted));
	for (i = 0; i < N_OF(wanted); i++) {
		destination_format(&policy->egress[i].to, to);
		assert_string_equal(to, wanted[i].to);
		assert_string_equal(policy->egress[i].discloses, wanted[i].discloses);
		assert_int_equal(policy->egress[i].max_upload, wanted[i].max_upload);
		assert_int_equal(policy->egress[i].tls, wanted[i].tls);
	}
}

static void test_egress(void **state)
{
	struct policy *policy = load_text(all);
	size_t i;

	(void)state;
	check_all(policy);
	for (i = 0; i < N_OF(wanted); i++) {
		assert_string_equal(policy->egress[i].place.file, "t.yaml");
		assert_int_equal(policy->egress[i].place.line, wanted[i].line);
		assert_int_equal(policy->egress[i].place.column, wanted[i].column);
	}
	policy_free(policy);
}

/* What another name, another port or the wildcard says is no contradiction. */
static void test_several(void **state)
{
	struct policy *policy = load_text(
		EGRESS ONE("'a.example.com:443'", "1KiB") ONE("'*.example.com:443'", "2KiB")
			ONE("'a.example.com:80'", "3KiB") ONE("'example.com:443'", "4KiB"));

	(void)state;
	assert_int_equal(policy->negress, 4);
	assert_int_equal(policy->egress[3].max_upload, 4096);
	policy_free(policy);
}

static void test_upload_bounds(void **state)
{
	static const struct {
		const char *text;
		__u64 bytes; /* 0: refused */
	} cases[] = {
		{ONE("a.example.com:80", "9223372036854775807"), INT64_MAX},
		{ONE("a.example.com:80", "9223372036854775808"), 0},
		{ONE("a.example.com:80", "9007199254740991KiB"), 9007199254740991ULL << 10},
		{ONE("a.example.com:80", "9007199254740992KiB"), 0},
		{ONE("a.example.com:80", "8796093022207MiB"), 8796093022207ULL << 20},
		{ONE("a.example.com:80", "8796093022208MiB"), 0},
		{ONE("a.example.com:80", "8589934591GiB"), 8589934591ULL << 30},
		{ONE("a.example.com:80", "8589934592GiB"), 0},
		{ONE("a.example.com:80", "99999999999999999999999999GiB"), 0},
	};
	char text[256];
	size_t i;

	(void)state;
	for (i = 0; i < N_OF(cases); i++) {
		struct policy *policy;

		snprintf(text, sizeof(text), EGRESS "%s", cases[i].text);
		if (!cases[i].bytes) {
			expect_refusal(text, "too many: write less than 8589934592GiB");
			continue;
		}
		policy = load_text(text);
		assert_int_equal(policy->egress[0].max_upload, cases[i].bytes);
		policy_free(policy);
	}
}

static char *destinations(unsigned int count)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	fputs(EGRESS, to);
	while (count--)
		fprintf(to, ONE("n%u.example.com:443", "1"), count);
	fclose(to);
	return text;
}

static void test_count(void **state)
{
	_cleanup_free_ char *most = destinations(BH_MAX_DESTINATIONS);
	_cleanup_free_ char *more = destinations(BH_MAX_DESTINATIONS + 1);
	struct policy *policy = load_text(most);

	(void)state;
	assert_int_equal(policy->negress, BH_MAX_DESTINATIONS);
	policy_free(policy);
	expect_refusal(more, "t.yaml:262:7: more than 256 destinations: ");
}

static void test_discloses_bound(void **state)
{
	char words[BH_MAX_DISCLOSES + 1], text[512];
	struct policy *policy;

	(void)state;
	memset(words, '~', BH_MAX_DISCLOSES);
	words[BH_MAX_DISCLOSES] = '\0';
	snprintf(text, sizeof(text), EGRESS "    - {to: 'a.b:1', max-upload: 1, discloses: '%s'}\n",
		 words);
	policy = load_text(text);
	assert_string_equal(policy->egress[0].discloses, words);
	policy_free(policy);
}

/* A file of the test's own, which an include and a rewrite are read from. */
static void put_file(char *path, const char *text)
{
	int fd = mkstemps(path, 5);

	assert_true(fd >= 0);
	close(fd);
	write_bytes(path, text, strlen(text));
}

/* An include says nothing of it. */
static void test_include(void **state)
{
	char path[] = "/tmp/test_network.XXXXXX.yaml", main[] = "/tmp/test_network.XXXXXX.yaml";
	char text[256];
	struct error error = {0};
	struct policy *policy = NULL;

	(void)state;
	put_file(path, "version: 1\nnetwork:\n  egress:\n" ONE("'a.example.com:443'", "1"));
	snprintf(text, sizeof(text), HEAD "network: none\ninclude: [./%s]\n",
		 strrchr(path, '/') + 1);
	put_file(main, text);
	assert_int_equal(policy_load(main, NULL, &policy, &error), -EINVAL);
	assert_non_null(strstr(error.text, ":2:1: network belongs in the main file"));
	unlink(main);
	unlink(path);
}

static char *rewritten(const char *text)
{
	char path[] = "/tmp/test_network.XXXXXX.yaml", *again = NULL;
	struct error error = {0};
	size_t size = 0;
	FILE *to = open_memstream(&again, &size);

	assert_non_null(to);
	put_file(path, text);
	assert_int_equal(policy_rewrite(path, &(struct rewrite){0}, to, &error), 0);
	fclose(to);
	unlink(path);
	return again;
}

/* Written out again, it says the same, and so does that. */
static struct policy *load_rewritten(const char *text)
{
	_cleanup_free_ char *first = rewritten(text), *second = rewritten(first);

	assert_string_equal(first, second);
	return load_text(first);
}

static void test_rewrite(void **state)
{
	struct policy *policy = load_rewritten(all);
	size_t i;

	(void)state;
	check_all(policy);
	policy_free(policy);
	for (i = 0; i < N_OF(loopbacks); i++) {
		policy = load_rewritten(loopbacks[i].text);
		check_loopback(policy, i);
		policy_free(policy);
	}
	for (i = 0; i < N_OF(listens); i++) {
		policy = load_rewritten(listens[i].text);
		check_listen(policy, i);
		policy_free(policy);
	}
}

/* Whatever becomes of the text, it loads or is refused with a place. */
static void test_mutations(void **state)
{
	static const char bytes[] = "\n\t -:{}[]\"'*~\\,#?.\x80\xffnoZ/059";
	char mutant[sizeof(all)];
	unsigned int seed = 7, i, j;
	size_t loaded = 0;

	(void)state;
	for (i = 0; i < 5000; i++) {
		struct error error = {0};
		struct policy *policy = NULL;

		memcpy(mutant, all, sizeof(all));
		for (j = rand_r(&seed) % 4 + 1; j; j--)
			mutant[rand_r(&seed) % (sizeof(all) - 1)] =
				bytes[rand_r(&seed) % (sizeof(bytes) - 1)];
		if (try_text(mutant, &policy, &error) == 0)
			loaded++;
		else if (policy || !strstr(error.text, "t.yaml:"))
			fail_msg("no place: %s", error.text);
		policy_free(policy);
	}
	assert_in_range(loaded, 1, 4999);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),	  cmocka_unit_test(test_egress),
		cmocka_unit_test(test_several),	  cmocka_unit_test(test_upload_bounds),
		cmocka_unit_test(test_count),	  cmocka_unit_test(test_discloses_bound),
		cmocka_unit_test(test_mutations), cmocka_unit_test(test_include),
		cmocka_unit_test(test_rewrite),	  cmocka_unit_test(test_loopback),
		cmocka_unit_test(test_listen),	  cmocka_unit_test(test_listen_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

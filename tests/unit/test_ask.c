// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a proxy is asked for: by HTTP and by SOCKS, whole, byte by byte and in every two parts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include "egress/ask.h"

#define N_OF(array) (sizeof(array) / sizeof(*(array)))
#define BYTES(text) (text), sizeof(text) - 1
#define LABEL63 "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggg"
#define LONGEST                         \
	LABEL63 "." LABEL63 "." LABEL63 \
		".aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeee.example.com"

struct row {
	const char *bytes;
	size_t n;
	enum ask_outcome outcome;
	const char *name;
	__u16 port;
	size_t rest; /* bytes that are not of it */
};

/* --- HTTP --- */

#define END "\r\n\r\n"
#define TO "CONNECT api.example.com:443 HTTP/1.1"

static const struct row http[] = {
	{BYTES(TO END), ASK_TARGET, "api.example.com", 443, 0},
	{BYTES(TO END "\x16\3\1"), ASK_TARGET, "api.example.com", 443, 3},
	{BYTES(TO END END), ASK_TARGET, "api.example.com", 443, 4},
	{BYTES("CONNECT a.b:65535 HTTP/1.0" END), ASK_TARGET, "a.b", 65535, 0},
	{BYTES("CONNECT API.Example.Com.:1 HTTP/1.1" END), ASK_TARGET, "api.example.com", 1, 0},
	{BYTES("CONNECT " LONGEST ":443 HTTP/1.1" END), ASK_TARGET, LONGEST, 443, 0},
	/* As curl, git, urllib and node write it. */
	{BYTES(TO "\r\nHost: api.example.com:443\r\nUser-Agent: curl/8.14.1\r\n"
		  "Proxy-Connection: Keep-Alive" END),
	 ASK_TARGET, "api.example.com", 443, 0},
	{BYTES(TO "\r\nhost:api.example.com:443\r\nconnection:close" END), ASK_TARGET,
	 "api.example.com", 443, 0},
	{BYTES(TO "\r\nHost:\tAPI.example.com \t" END), ASK_TARGET, "api.example.com", 443, 0},
	{BYTES(TO "\r\nProxy-Authorization: Basic dTpw\r\nX:\r\nContent-Length: 0" END), ASK_TARGET,
	 "api.example.com", 443, 0},
	/* What is no name. */
	{BYTES("CONNECT 8.8.8.8:443 HTTP/1.1" END), ASK_NO_NAME, "8.8.8.8", 443, 0},
	{BYTES("CONNECT [::1]:443 HTTP/1.1" END), ASK_NO_NAME, "[::1]", 443, 0},
	{BYTES("CONNECT ::1:443 HTTP/1.1" END), ASK_NO_NAME, "::1", 443, 0},
	{BYTES("CONNECT 0x7f.1:443 HTTP/1.1" END), ASK_NO_NAME, "0x7f.1", 443, 0},
	{BYTES("CONNECT localhost:443 HTTP/1.1" END), ASK_NO_NAME, "localhost", 443, 0},
	{BYTES("CONNECT proxy.bulkhead.internal:3128 HTTP/1.1" END), ASK_NO_NAME,
	 "proxy.bulkhead.internal", 3128, 0},
	{BYTES("CONNECT u@api.example.com:443 HTTP/1.1" END), ASK_NO_NAME, "u@api.example.com", 443,
	 0},
	{BYTES("CONNECT a%2eb:443 HTTP/1.1" END), ASK_NO_NAME, "a%2eb", 443, 0},
	{BYTES("CONNECT api.example.com..:443 HTTP/1.1" END), ASK_NO_NAME, "api.example.com..", 443,
	 0},
	{BYTES("CONNECT :443 HTTP/1.1" END), ASK_NO_NAME, "", 443, 0},
	{BYTES("CONNECT a" LONGEST ":443 HTTP/1.1" END), ASK_NO_NAME, "", 443, 0},
	/* No port, or none that everybody reads alike. */
	{BYTES("CONNECT api.example.com HTTP/1.1" END), ASK_MALFORMED, "", 0, 0},
	{BYTES("CONNECT api.example.com: HTTP/1.1" END), ASK_MALFORMED, "", 0, 0},
	{BYTES("CONNECT api.example.com:0 HTTP/1.1" END), ASK_MALFORMED, "", 0, 0},
	{BYTES("CONNECT api.example.com:0443 HTTP/1.1" END), ASK_MALFORMED, "", 0, 0},
	{BYTES("CONNECT api.example.com:65536 HTTP/1.1" END), ASK_MALFORMED, "", 0, 0},
	{BYTES("CONNECT api.example.com:65979 HTTP/1.1" END), ASK_MALFORMED, "", 0, 0},
	{BYTES("CONNECT api.example.com:4294967739 HTTP/1.1" END), ASK_MALFORMED, "", 0, 0},
	{BYTES("CONNECT api.example.com:+443 HTTP/1.1" END), ASK_MALFORMED, "", 0, 0},
	{BYTES("CONNECT api.example.com:443x HTTP/1.1" END), ASK_MALFORMED, "", 0, 0},
	/* Other methods, other versions. */
	{BYTES("GET http://api.example.com/ HTTP/1.1\r\nHost: api.example.com" END), ASK_METHOD, "",
	 0, 0},
	{BYTES("connect api.example.com:443 HTTP/1.1" END), ASK_METHOD, "", 0, 0},
	{BYTES("CONNECT-UDP / HTTP/1.1" END), ASK_METHOD, "", 0, 0},
	{BYTES("PRI * HTTP/2.0" END), ASK_VERSION, "", 0, 0},
	{BYTES("CONNECT api.example.com:443 HTTP/1.2" END), ASK_VERSION, "", 0, 0},
	{BYTES("CONNECT api.example.com:443 http/1.1" END), ASK_MALFORMED, "", 0, 0},
	{BYTES("CONNECT api.example.com:443" END), ASK_MALFORMED, "", 0, 0},
	{BYTES("CONNECT api.example.com:443 HTTP/1.1 x" END), ASK_MALFORMED, "", 0, 0},
	{BYTES("CONNECT api.example.com:443 HTTP/1.10" END), ASK_MALFORMED, "", 0, 0},
	{BYTES("CONNECT  api.example.com:443 HTTP/1.1" END), ASK_MALFORMED, "", 0, 0},
	{BYTES(" CONNECT api.example.com:443 HTTP/1.1" END), ASK_MALFORMED, "", 0, 0},
	{BYTES("CONN:ECT api.example.com:443 HTTP/1.1" END), ASK_MALFORMED, "", 0, 0},
	{BYTES("\r\n" TO END), ASK_MALFORMED, "", 0, sizeof("\n" TO END) - 1},
	/* A Host that says something else. */
	{BYTES(TO "\r\nHost: www.example.com:443" END), ASK_MALFORMED, "api.example.com", 443, 0},
	{BYTES(TO "\r\nHost: api.example.com:80" END), ASK_MALFORMED, "api.example.com", 443, 0},
	{BYTES(TO "\r\nHost: api.example.com:" END), ASK_MALFORMED, "api.example.com", 443, 0},
	{BYTES(TO "\r\nHost:" END), ASK_MALFORMED, "api.example.com", 443, 0},
	{BYTES(TO "\r\nHost: api.example.com\r\nHOST: api.example.com" END), ASK_MALFORMED,
	 "api.example.com", 443, 0},
	/* A body; no fields. */
	{BYTES(TO "\r\nTransfer-Encoding: chunked" END), ASK_MALFORMED, "api.example.com", 443, 0},
	{BYTES(TO "\r\nContent-Length: 5" END "12345"), ASK_MALFORMED, "api.example.com", 443, 5},
	{BYTES(TO "\r\nContent-Length: 00" END), ASK_MALFORMED, "api.example.com", 443, 0},
	{BYTES(TO "\r\nX" END), ASK_MALFORMED, "api.example.com", 443, 0},
	{BYTES(TO "\r\n: x" END), ASK_MALFORMED, "api.example.com", 443, 0},
	{BYTES(TO "\r\nHost : api.example.com" END), ASK_MALFORMED, "api.example.com", 443, 0},
	/* Bytes that readers take in two ways: the rest is as much as is not looked at any more. */
	{BYTES(TO "\n\n"), ASK_MALFORMED, "", 0, 1},
	{BYTES(TO "\rX"), ASK_MALFORMED, "", 0, 0},
	{BYTES(TO "\r\r\n"), ASK_MALFORMED, "", 0, 1},
	{BYTES(TO "\r\nX: y\nHost: www.example.com" END), ASK_MALFORMED, "", 0,
	 sizeof("Host: www.example.com" END) - 1},
	{BYTES(TO "\r\nX: a\r\n b" END), ASK_MALFORMED, "", 0, 5},
	{BYTES(TO "\r\nX: a\r\n\tb" END), ASK_MALFORMED, "", 0, 5},
	{BYTES("CONNECT api.example.com\0.evil.org:443 HTTP/1.1" END), ASK_MALFORMED, "", 0,
	 sizeof(".evil.org:443 HTTP/1.1" END) - 1},
	{BYTES(TO "\r\nX: \x80" END), ASK_MALFORMED, "", 0, 4},
	{BYTES(TO "\r\nX: \x7f" END), ASK_MALFORMED, "", 0, 4},
	{BYTES("\x16\3\1\2\0"), ASK_MALFORMED, "", 0, 4},
	{BYTES("\5\1\0"), ASK_MALFORMED, "", 0, 2},
	{BYTES(TO), ASK_MORE, "", 0, 0},
	{BYTES(TO "\r\n\r"), ASK_MORE, "", 0, 0},
	{BYTES(""), ASK_MORE, "", 0, 0},
};

/* --- SOCKS --- */

#define HI "\5\1\0"

static const struct row socks[] = {
	{BYTES(HI "\5\1\0\3\3a.b\1\xbb"), ASK_TARGET, "a.b", 443, 0},
	{BYTES(HI "\5\1\0\3\3a.b\1\xbb\x16\3"), ASK_TARGET, "a.b", 443, 2},
	{BYTES("\5\3\2\1\0\5\1\0\3\4A.b.\0\x50"), ASK_TARGET, "a.b", 80, 0},
	{BYTES(HI "\5\1\0\3\3a.b\0\0"), ASK_TARGET, "a.b", 0, 0},
	{BYTES(HI "\5\1\0\3\xfd" LONGEST "\1\xbb"), ASK_TARGET, LONGEST, 443, 0},
	/* Addresses. */
	{BYTES(HI "\5\1\0\1\x08\x08\x08\x08\1\xbb"), ASK_ADDRESS, "8.8.8.8", 443, 0},
	{BYTES(HI "\5\1\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\1\xbb"), ASK_ADDRESS, "::1", 443, 0},
	{BYTES(HI "\5\1\0\3\7"
		  "8.8.8.8\1\xbb"),
	 ASK_NO_NAME, "8.8.8.8", 443, 0},
	{BYTES(HI "\5\1\0\3\3::1\1\xbb"), ASK_NO_NAME, "::1", 443, 0},
	{BYTES(HI "\5\1\0\2"), ASK_ADDRESS, "", 0, 0},
	{BYTES(HI "\5\1\0\0"), ASK_ADDRESS, "", 0, 0},
	/* Names that are read in two ways, or are none. */
	{BYTES(HI "\5\1\0\3\x0c"
		  "a.b\0evil.org\1\xbb"),
	 ASK_NO_NAME, "", 443, 0},
	{BYTES(HI "\5\1\0\3\4a.b\n\1\xbb"), ASK_NO_NAME, "", 443, 0},
	{BYTES(HI "\5\1\0\3\4a.b\xc3\1\xbb"), ASK_NO_NAME, "", 443, 0},
	{BYTES(HI "\5\1\0\3\0\1\xbb"), ASK_NO_NAME, "", 443, 0},
	{BYTES(HI "\5\1\0\3\xff" LONGEST "xx\1\xbb"), ASK_NO_NAME, "", 443, 0},
	/* Other commands and methods, other protocols. */
	{BYTES(HI "\5\2\0\3\3a.b\1\xbb"), ASK_METHOD, "", 0, 0},
	{BYTES(HI "\5\3\0\1\0\0\0\0\0\0"), ASK_METHOD, "", 0, 0},
	{BYTES(HI "\5\1\1\3\3a.b\1\xbb"), ASK_MALFORMED, "", 0, 0},
	{BYTES(HI "\4"), ASK_MALFORMED, "", 0, 0},
	{BYTES("\5\0"), ASK_LOGIN, "", 0, 0},
	{BYTES("\5\1\2"), ASK_LOGIN, "", 0, 0},
	{BYTES("\4\1\0\x50\0\0\0\1u\0a.b"), ASK_VERSION, "", 0, 12},
	{BYTES("CONNECT"), ASK_VERSION, "", 0, 6},
	{BYTES("\5\2\2"), ASK_MORE, "", 0, 0},
	{BYTES(HI), ASK_MORE, "", 0, 0},
	{BYTES(HI "\5\1\0\3\3a.b\1"), ASK_MORE, "", 0, 0},
	{BYTES(HI "\5\1\0\3"), ASK_MORE, "", 0, 0},
};

/* --- both --- */

static void feed(struct ask *ask, const struct row *row, size_t from, size_t to, size_t *used)
{
	size_t n;

	ask_feed(ask, row->bytes + from, to - from, &n);
	*used += n;
}

static void expect(const struct ask *ask, const struct row *row, size_t used, size_t at)
{
	bool named = row->outcome != ASK_MALFORMED && row->outcome != ASK_MORE;

	if (ask->outcome != row->outcome)
		fail_msg("%s, in two at %zu: %s", row->bytes, at, ask_outcome_names[ask->outcome]);
	assert_int_equal(used, row->n - row->rest);
	assert_true(!ask->reason == (row->outcome == ASK_MORE || row->outcome == ASK_TARGET));
	if (!named)
		return;
	if (strcmp(ask->name, row->name))
		fail_msg("%s: %s", row->bytes, ask->name);
	assert_int_equal(ask->port, row->port);
}

static void check(const struct row *row, enum ask_kind kind)
{
	static struct ask ask;
	size_t used;

	for (size_t at = 0; at <= row->n; at++) {
		ask = (struct ask){.kind = kind};
		used = 0;
		feed(&ask, row, 0, at, &used);
		feed(&ask, row, at, row->n, &used);
		expect(&ask, row, used, at);
	}
	ask = (struct ask){.kind = kind};
	used = 0;
	for (size_t at = 0; at < row->n; at++)
		feed(&ask, row, at, at + 1, &used);
	expect(&ask, row, used, row->n);
}

static void test_http(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_OF(http); i++)
		check(&http[i], ASK_HTTP);
}

static void test_socks(void **state)
{
	static struct ask ask = {.kind = ASK_SOCKS};
	size_t used;

	(void)state;
	for (size_t i = 0; i < N_OF(socks); i++)
		check(&socks[i], ASK_SOCKS);
	/* The greeting is to be answered as soon as it is there. */
	ask_feed(&ask, "\5\1", 2, &used);
	assert_false(ask.greeted);
	ask_feed(&ask, "\0", 1, &used);
	assert_true(ask.greeted);
}

/* Whatever else it is, it goes no further than its bound; a byte less is a request. */
static void test_long(void **state)
{
	static const char head[] = TO "\r\nX: ", tail[] = END "rest";
	static struct ask ask;
	static char text[ASK_SIZE + 64];
	size_t fill = ASK_SIZE - (sizeof(head) - 1) - 4, used;

	(void)state;
	for (size_t more = 0; more < 2; more++) {
		ask = (struct ask){.kind = ASK_HTTP};
		memset(text, 'y', sizeof(text));
		memcpy(text, head, sizeof(head) - 1);
		memcpy(text + sizeof(head) - 1 + fill + more, tail, sizeof(tail) - 1);
		ask_feed(&ask, text, sizeof(head) - 1 + fill + more + sizeof(tail) - 1, &used);
		assert_int_equal(ask.outcome, more ? ASK_TOO_LONG : ASK_TARGET);
		assert_int_equal(used, ASK_SIZE);
	}
	/* Without an end. */
	ask = (struct ask){.kind = ASK_HTTP};
	for (size_t i = 0; i < 2 * ASK_SIZE; i++)
		ask_feed(&ask, "y", 1, &used);
	assert_int_equal(ask.outcome, ASK_TOO_LONG);
	assert_int_equal(ask.length, ASK_SIZE);
}

/* Any byte in any place: the same of it whole and byte by byte, and a target is a name. */
static void test_mutations(void **state)
{
	static const char good[] = TO "\r\nHost: api.example.com:443\r\nX: y" END "rest";
	static const char five[] = "\5\2\0\2\5\1\0\3\x0f"
				   "api.example.com\1\xbbrest";
	static struct ask whole, bytes;
	char mutant[sizeof(good)];

	(void)state;
	for (int kind = ASK_HTTP; kind <= ASK_SOCKS; kind++) {
		const char *from = kind == ASK_HTTP ? good : five;
		size_t n = (kind == ASK_HTTP ? sizeof(good) : sizeof(five)) - 1;

		for (size_t i = 0; i < n * 256; i++) {
			struct destination_fault fault;
			char name[DESTINATION_NAME_SIZE];
			size_t used, sum = 0;

			memcpy(mutant, from, n);
			mutant[i / 256] = (char)(i % 256);
			whole = bytes = (struct ask){.kind = (enum ask_kind)kind};
			ask_feed(&whole, mutant, n, &used);
			for (size_t at = 0, one; at < n; at++, sum += one)
				ask_feed(&bytes, mutant + at, 1, &one);
			assert_int_equal(whole.outcome, bytes.outcome);
			assert_int_equal(used, sum);
			assert_string_equal(whole.name, bytes.name);
			if (whole.outcome != ASK_TARGET)
				continue;
			assert_int_equal(
				destination_name(whole.name, strlen(whole.name), name, &fault), 0);
			assert_string_equal(whole.name, name);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_http),
		cmocka_unit_test(test_socks),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_mutations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

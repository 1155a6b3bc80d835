// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The name in a TLS ClientHello. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "egress/hello.h"

#define N_OF(array) (sizeof(array) / sizeof(*(array)))
#define BYTES(text) (text), sizeof(text) - 1

struct bytes {
	__u8 at[3 * HELLO_RAW_SIZE];
	size_t n;
};

static void add(struct bytes *to, const void *bytes, size_t n)
{
	assert_true(to->n + n <= sizeof(to->at));
	memcpy(to->at + to->n, bytes, n);
	to->n += n;
}

static void add_number(struct bytes *to, size_t value, unsigned int bytes)
{
	while (bytes--) {
		__u8 byte = (__u8)(value >> 8 * bytes);

		add(to, &byte, 1);
	}
}

/* In records whose content is `size` bytes; the last has what is left. */
static void records_of(const struct bytes *message, size_t size, struct bytes *ret)
{
	ret->n = 0;
	for (size_t from = 0; from < message->n; from += size) {
		size_t n = message->n - from < size ? message->n - from : size;

		add(ret, "\x16\3\1", 3);
		add_number(ret, n, 2);
		add(ret, message->at + from, n);
	}
}

static enum hello_outcome feed(struct hello *hello, const struct bytes *raw, size_t segment)
{
	*hello = (struct hello){0};
	for (size_t from = 0; from < raw->n; from += segment)
		hello_feed(hello, raw->at + from,
			   raw->n - from < segment ? raw->n - from : segment);
	return hello->outcome;
}

/* A message with this after its compression methods, extensions with their length. */
static void message_of(const char *extensions, size_t n, struct bytes *ret)
{
	static const __u8 random[32];

	ret->n = 0;
	add(ret, "\1", 1);
	add_number(ret, 2 + sizeof(random) + 1 + 2 + 4 + 2 + n, 3);
	add(ret, "\3\3", 2);
	add(ret, random, sizeof(random));
	add(ret, "\0\0\4\x13\1\x13\2\1\0", 9);
	add(ret, extensions, n);
}

#define A_B "\0\0\0\10\0\6\0\0\3a.b" /* server_name: one, a.b */
#define OTHER "\0\x0b\0\2\1\0"	     /* ec_point_formats */

/* By what stands where extensions do. */
static const struct {
	const char *extensions;
	size_t n;
	enum hello_outcome outcome;
	const char *name;
} messages[] = {
	{BYTES("\0\x0c" A_B), HELLO_NAME, "a.b"},
	{BYTES("\0\x18" OTHER A_B OTHER), HELLO_NAME, "a.b"},
	{BYTES("\0\x0c\0\0\0\10\0\6\0\0\3A.B"), HELLO_NAME, "a.b"},
	{BYTES(""), HELLO_NO_NAME, NULL},
	{BYTES("\0\0"), HELLO_NO_NAME, NULL},
	{BYTES("\0\6" OTHER), HELLO_NO_NAME, NULL},
	/* Two names, in two lists and in one; one that is not a host's; none. */
	{BYTES("\0\x18" A_B A_B), HELLO_MALFORMED, NULL},
	{BYTES("\0\x12\0\0\0\x0e\0\x0c\0\0\3a.b\0\0\3c.d"), HELLO_MALFORMED, NULL},
	{BYTES("\0\x0c\0\0\0\10\0\6\1\0\3a.b"), HELLO_MALFORMED, NULL},
	{BYTES("\0\x09\0\0\0\5\0\3\0\0\0"), HELLO_MALFORMED, NULL},
	{BYTES("\0\6\0\0\0\2\0\0"), HELLO_MALFORMED, NULL},
	{BYTES("\0\4\0\0\0\0"), HELLO_MALFORMED, NULL},
	/* No names: a dot at the end, an address, a NUL, a byte of UTF-8, one label. */
	{BYTES("\0\x0d\0\0\0\x09\0\7\0\0\4a.b."), HELLO_MALFORMED, NULL},
	{BYTES("\0\x10\0\0\0\x0c\0\x0a\0\0\7"
	       "127.0.1"),
	 HELLO_MALFORMED, NULL},
	{BYTES("\0\x0d\0\0\0\x09\0\7\0\0\4a.b\0"), HELLO_MALFORMED, NULL},
	{BYTES("\0\x0d\0\0\0\x09\0\7\0\0\4a.b\xc3"), HELLO_MALFORMED, NULL},
	/* Lengths that do not agree: of the name, the list, the extension, all extensions. */
	{BYTES("\0\x0c\0\0\0\10\0\6\0\0\2a.b"), HELLO_MALFORMED, NULL},
	{BYTES("\0\x0c\0\0\0\10\0\6\0\0\4a.b"), HELLO_MALFORMED, NULL},
	{BYTES("\0\x0c\0\0\0\10\0\5\0\0\3a.b"), HELLO_MALFORMED, NULL},
	{BYTES("\0\x0c\0\0\0\7\0\6\0\0\3a.b"), HELLO_MALFORMED, NULL},
	{BYTES("\0\x0c\0\0\0\x09\0\6\0\0\3a.b"), HELLO_MALFORMED, NULL},
	{BYTES("\0\x0b" A_B), HELLO_MALFORMED, NULL},
	{BYTES("\0\x0d" A_B), HELLO_MALFORMED, NULL},
	{BYTES("\0\x0e" A_B "\0\x0b"), HELLO_MALFORMED, NULL},
	{BYTES("\0"), HELLO_MALFORMED, NULL},
};

static void test_messages(void **state)
{
	static struct bytes message, raw;
	static struct hello hello;

	(void)state;
	for (size_t i = 0; i < N_OF(messages); i++) {
		message_of(messages[i].extensions, messages[i].n, &message);
		records_of(&message, HELLO_SIZE, &raw);
		if (feed(&hello, &raw, raw.n) != messages[i].outcome)
			fail_msg("%zu: %s", i, hello_outcome_names[hello.outcome]);
		if (messages[i].name)
			assert_string_equal(hello.name, messages[i].name);
	}
}

/* What OpenSSL 3.0 sends of its own, to api.example.com; zeros fill it up (RFC 7685). */
static const char openssl[] =
	"\x16\3\1\2\0\1\0\1\xfc\3\3\x29\x1f\x5e\xc8\xaa\x32\x28\x2f\x4f\x31\x35\xa3\x6d\x7d\x56\3"
	"\xfb\xaf"
	"\x53\xb8\x6f\x75\x6e\x9b\x0a\xd2\x6a\xf5\x18\xe5\x4e\x16\x20\xad\x6b\xce\x04\x3b\x79\x6c"
	"\x79\x1d"
	"\xba\x3f\x39\xe8\x55\x43\xdc\xab\x29\x68\xd5\x68\x56\x69\xf9\xe6\x3e\xde\xa5\xc0\xa5\x29"
	"\x60\0"
	"\x24\x13\2\x13\3\x13\1\xc0\x2c\xc0\x30\xc0\x2b\xc0\x2f\xcc\xa9\xcc\xa8\xc0\x24\xc0\x28\xc0"
	"\x23"
	"\xc0\x27\0\x9f\0\x9e\0\x6b\0\x67\0\xff\1\0\1\x8f\0\0\0\x14\0\x12\0\0\x0f"
	"api.example."
	"com\0\x0b\0\4\3\0\1\2\0\x0a\0\x16\0\x14\0\x1d\0\x17\0\x1e\0\x19\0\x18\1\0\1\1\1\2"
	"\1\3\1\4\0\x23\0\0\0\x16\0\0\0\x17\0\0\0\x0d\0\x2a\0\x28\4\3\5\3\6\3\x08\7\x08\x08\x08\x09"
	"\x08"
	"\x0a\x08\x0b\x08\4\x08\5\x08\6\4\1\5\1\6\1\3\3\3\1\3\2\4\2\5\2\6\2\0\x2b\0\5\4\3\4\3\3\0"
	"\x2d\0\2"
	"\1\1\0\x33\0\x26\0\x24\0\x1d\0\x20\xf1\x6a\xf7\x2f\x8f\x8e\x6b\xbb\xc3\xeb\x5f\x9b\xf5\xf9"
	"\x8e"
	"\x98\xba\x0c\xad\x57\x3a\x91\x98\xbc\x45\x8c\xda\xdc\x50\x1d\x73\x39\0\x15\0\xde";

static void fill_openssl(struct bytes *raw)
{
	static const __u8 padding[0xde];

	raw->n = 0;
	add(raw, openssl, sizeof(openssl) - 1);
	add(raw, padding, sizeof(padding));
}

/* However it is cut into segments and records, and not before its last byte. */
static void test_cut(void **state)
{
	static struct bytes raw, message, cut;
	static struct hello hello;

	(void)state;
	fill_openssl(&raw);
	assert_int_equal(raw.n, 517);
	message.n = 0;
	add(&message, raw.at + 5, raw.n - 5);
	for (size_t size = 1; size <= message.n; size++) {
		records_of(&message, size, &cut);
		assert_int_equal(feed(&hello, &cut, size % 7 + 1), HELLO_NAME);
		assert_string_equal(hello.name, "api.example.com");
		cut.n--;
		assert_int_equal(feed(&hello, &cut, cut.n), HELLO_MORE);
	}
}

/* What comes behind it is not its own: early data, in records of their kind. */
static void test_behind(void **state)
{
	static struct bytes raw;
	static struct hello hello;

	(void)state;
	fill_openssl(&raw);
	add(&raw, "\x14\3\3\0\1\1\x17\3\3\0\3abc", 14);
	assert_int_equal(feed(&hello, &raw, raw.n), HELLO_NAME);
	assert_int_equal(hello_feed(&hello, "\0", 1), HELLO_NAME);
	assert_int_equal(hello.raw, 517);
}

/* What begins otherwise. It is told by the first byte that is another. */
static const struct {
	const char *raw;
	size_t n;
	enum hello_outcome outcome;
} beginnings[] = {
	{BYTES("G"), HELLO_NO_TLS},
	{BYTES("\x80\x2e\1\3\1"), HELLO_NO_TLS}, /* SSL 2 */
	{BYTES("\x16\2"), HELLO_NO_TLS},
	{BYTES("\x17\3\3\0\1a"), HELLO_NO_TLS},
	{BYTES("\x16\3\1\0\0"), HELLO_MALFORMED},
	{BYTES("\x16\3\1\x40\1"), HELLO_MALFORMED},
	{BYTES("\x16\3\1\0\4\2"), HELLO_MALFORMED}, /* a server's */
	{BYTES("\x16\3\1\0\4\1\0\0\0"), HELLO_MALFORMED},
	{BYTES("\x16\3\1\0\4\1\0\x40\0"), HELLO_TOO_LONG},
	{BYTES("\x16\3\1\0\4\1\0\x3f\xfc"), HELLO_MORE},
	{BYTES("\x16\3\1\0\2\1\0\x15"), HELLO_MALFORMED}, /* an alert within it */
	{BYTES("\x16\3\1\0\2\1\0\x16\3\1\0\0"), HELLO_MALFORMED},
	{BYTES(""), HELLO_MORE},
};

static void test_beginnings(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_OF(beginnings); i++) {
		static struct hello hello;

		hello = (struct hello){0};
		if (hello_feed(&hello, beginnings[i].raw, beginnings[i].n) != beginnings[i].outcome)
			fail_msg("%zu: %s", i, hello_outcome_names[hello.outcome]);
	}
}

/* As long as may be, in records as small as may be. */
static void test_longest(void **state)
{
	static char extensions[HELLO_SIZE];
	static struct bytes message, raw;
	static struct hello hello;
	size_t head = 4 + 2 + 32 + 9, n = HELLO_SIZE - head;

	(void)state;
	memcpy(extensions + 2, A_B, sizeof(A_B) - 1);
	extensions[0] = (char)((n - 2) >> 8);
	extensions[1] = (char)(n - 2);
	extensions[15] = 0x15; /* padding */
	extensions[16] = (char)((n - 18) >> 8);
	extensions[17] = (char)(n - 18);
	message_of(extensions, n, &message);
	assert_int_equal(message.n, HELLO_SIZE);
	records_of(&message, 5, &raw);
	assert_int_equal(feed(&hello, &raw, 1000), HELLO_TOO_LONG);
	assert_int_equal(hello.raw, HELLO_RAW_SIZE + 1);
	records_of(&message, 6, &raw);
	assert_int_equal(feed(&hello, &raw, 1000), HELLO_NAME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages), cmocka_unit_test(test_cut),
		cmocka_unit_test(test_behind),	 cmocka_unit_test(test_beginnings),
		cmocka_unit_test(test_longest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Destinations: what is an entry, what is a name that is asked for, and which entry stands for which name. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "policy/destination.h"

#define N_OF(array) (sizeof(array) / sizeof(*(array)))
#define TEXT(text) text, sizeof(text) - 1
#define LABEL_63 "a23456789012345678901234567890123456789012345678901234567890123"
/* 253 bytes. */
#define NAME_253                               \
	LABEL_63 "." LABEL_63 "." LABEL_63 "." \
		 "a234567890123456789012345678901234567890123456789012345678901"

static void test_entries(void **state)
{
	static const char *const good[] = {
		"api.example.com:443",
		"a.b:1",
		"*.example.com:443",
		"x_y.example.com:65535",
		"_dmarc.example.com:54",
		"r3---sn-x.example.com:443",
		"xn--bcher-kva.example:443",
		"1.2.3.com:80",
		"api.example.com:443,80,8080",
		"a.0y:443",
		NAME_253 ":443",
	};
	struct destination destination;
	struct destination_fault fault;
	char text[DESTINATION_TEXT_SIZE];
	size_t i;

	(void)state;
	for (i = 0; i < N_OF(good); i++) {
		if (destination_parse(good[i], strlen(good[i]), &destination, &fault) < 0)
			fail_msg("%s at %zu: %s", good[i], fault.offset, fault.reason);
		destination_format(&destination, text);
		assert_string_equal(text, good[i]);
	}
}

static const struct {
	const char *text;
	size_t length, offset;
	const char *reason;
} bad[] = {
	{TEXT(""), 0, "no name"},
	{TEXT(":443"), 0, "no name"},
	{TEXT("*"), 0, "no entry for every name"},
	{TEXT("*:443"), 0, "no entry for every name"},
	{TEXT("*.:443"), 2, "no name"},
	{TEXT("*.com:443"), 5, "one label"},
	{TEXT("*.*.example.com:443"), 2, "stands for the whole first label alone"},
	{TEXT("**.example.com:443"), 0, "stands for the whole first label alone"},
	{TEXT("a*.example.com:443"), 1, "stands for the whole first label alone"},
	{TEXT("*a.example.com:443"), 0, "stands for the whole first label alone"},
	{TEXT("api.*.com:443"), 4, "stands for the whole first label alone"},
	{TEXT("example.com"), 11, "no port"},
	{TEXT("example.com:"), 12, "no port"},
	{TEXT("example.com:443,"), 16, "no port"},
	{TEXT("example.com:,443"), 12, "no port"},
	{TEXT("example.com:0"), 12, "1 to 65535"},
	{TEXT("example.com:00443"), 12, "1 to 65535"},
	{TEXT("example.com:65536"), 12, "1 to 65535"},
	{TEXT("example.com:4294967739"), 12, "1 to 65535"},
	{TEXT("example.com:18446744073709552059"), 12, "1 to 65535"},
	{TEXT("example.com:53"), 12, "port 53 is the host's stub"},
	{TEXT("*.example.com:443,53"), 18, "port 53 is the host's stub"},
	{TEXT("example.com:443x"), 15, "decimal digits"},
	{TEXT("example.com:+443"), 12, "decimal digits"},
	{TEXT("example.com: 443"), 12, "decimal digits"},
	{TEXT("example.com:443 "), 15, "decimal digits"},
	{TEXT("example.com:443\0"), 15, "decimal digits"},
	{TEXT("example.com:https"), 12, "decimal digits"},
	{TEXT("example.com:*"), 12, "decimal digits"},
	{TEXT("example.com:80-443"), 14, "no range"},
	{TEXT("example.com:443,443"), 16, "there already"},
	{TEXT("example.com:1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"), 51, "more than 16"},
	{TEXT("https://example.com:443"), 5, "one label"},
	{TEXT("example.com/x:443"), 11, "no URL and no path"},
	{TEXT("user@example.com:443"), 4, "no user name"},
	{TEXT("example.com.:443"), 12, "an empty label"},
	{TEXT(".example.com:443"), 0, "an empty label"},
	{TEXT("example..com:443"), 8, "an empty label"},
	{TEXT("-a.example.com:443"), 0, "neither begins nor ends with -"},
	{TEXT("a-.example.com:443"), 1, "neither begins nor ends with -"},
	{TEXT("Example.com:443"), 0, "an upper-case letter"},
	{TEXT("b\xc3\xbc"
	      "cher.example:443"),
	 1, "A-labels"},
	{TEXT("exam\xe2\x84\xaa.example:443"), 4, "A-labels"}, /* Kelvin */
	{TEXT("a b.example.com:443"), 1, "a space"},
	{TEXT("evil\0.example.com:443"), 4, "a NUL"},
	{TEXT("a\n.example.com:443"), 1, "no byte of a name"},
	{TEXT("a\\.example.com:443"), 1, "no byte of a name"},
	{TEXT("a#.example.com:443"), 1, "no byte of a name"},
	{TEXT("%61.example.com:443"), 0, "percent-encoding"},
	{TEXT("1.2.3.4:443"), 6, "the last label is a number"},
	{TEXT("127.1:443"), 4, "the last label is a number"},
	{TEXT("0x7f.0x1:443"), 5, "the last label is a number"},
	{TEXT("example.0x:443"), 8, "the last label is a number"},
	{TEXT("example.1-2:443"), 8, "the last label is a number"},
	{TEXT("2130706433:443"), 0, "the last label is a number"},
	{TEXT("[::1]:443"), 0, "an address is no destination"},
	{TEXT("::1:443"), 0, "no name"},
	{TEXT("localhost:443"), 0, "the host itself"},
	{TEXT("a.localhost:443"), 2, "the host itself"},
	{TEXT("*.localhost:443"), 2, "the host itself"},
	{TEXT("*.a.localhost:443"), 4, "the host itself"},
	{TEXT("*.local:443"), 2, "mDNS"},
	{TEXT("*.internal:443"), 2, "the clouds' metadata"},
	{TEXT("*.arpa:443"), 2, "infrastructure"},
	{TEXT("*.in-addr.arpa:443"), 10, "infrastructure"},
	{TEXT("metadata:80"), 8, "one label"},
	{TEXT("instance-data:80"), 13, "one label"},
	{TEXT("instance-data.ec2.internal:80"), 18, "the clouds' metadata"},
	{TEXT("*.ec2.internal:80"), 6, "the clouds' metadata"},
	{TEXT("*.metadata.tencentyun.com:80"), 2, "credentials"},
	{TEXT("*.goog:80"), 6, "one label"},
	{TEXT("printer.local:443"), 8, "mDNS"},
	{TEXT("metadata.google.internal:80"), 16, "the clouds' metadata"},
	{TEXT("*.google.internal:80"), 9, "the clouds' metadata"},
	{TEXT("metadata.goog:80"), 0, "credentials"},
	{TEXT("*.metadata.goog:80"), 2, "credentials"},
	{TEXT("metadata.tencentyun.com:80"), 0, "credentials"},
	{TEXT("1.0.0.127.in-addr.arpa:80"), 18, "infrastructure"},
	{TEXT("x.onion:443"), 2, "not in the DNS"},
	{TEXT(LABEL_63 "4.example.com:443"), 63, "63 bytes"},
	{TEXT("a" NAME_253 ":443"), 63, "63 bytes"},
	{TEXT("a." NAME_253 ":443"), 253, "253 bytes"},
};

static void test_faults(void **state)
{
	struct destination destination = {.name = "untouched"};
	struct destination_fault fault;
	size_t i;

	(void)state;
	for (i = 0; i < N_OF(bad); i++) {
		if (destination_parse(bad[i].text, bad[i].length, &destination, &fault) != -EINVAL)
			fail_msg("%s passes", bad[i].text);
		if (fault.offset != bad[i].offset || !strstr(fault.reason, bad[i].reason))
			fail_msg("%s at %zu: %s", bad[i].text, fault.offset, fault.reason);
	}
	assert_string_equal(destination.name, "untouched");
}

/* Bytes that are asked for; NULL: refused. */
static const struct {
	const char *bytes;
	size_t length;
	const char *name;
} asked[] = {
	{TEXT("api.example.com"), "api.example.com"},
	{TEXT("API.Example.COM"), "api.example.com"},
	{TEXT("api.example.com."), "api.example.com"},
	{TEXT(NAME_253), NAME_253},
	{TEXT(NAME_253 "."), NAME_253},
	{TEXT("api.example.com.."), NULL},
	{TEXT("."), NULL},
	{TEXT(""), NULL},
	{TEXT("*.example.com"), NULL},
	{TEXT("evil\0.example.com"), NULL},
	{TEXT("api.example.com\0"), NULL},
	{TEXT("api.example.com:443"), NULL},
	{TEXT("api.example.com%lo"), NULL},
	{TEXT("::ffff:1.2.3.4%x.example.com"), NULL},
	{TEXT("\xef\xbd\x85xample.com"), NULL},
	{TEXT("example\xe3\x80\x82"
	      "com"),
	 NULL},
	{TEXT("1.2.3.4"), NULL},
	{TEXT("0"), NULL},
	{TEXT("metadata.google.internal"), NULL},
	{TEXT("METADATA.GOOG."), NULL},
	{TEXT("Instance-Data.EC2.internal."), NULL},
	{TEXT("metadata.tencentyun.com"), NULL}, /* which *.tencentyun.com would stand for */
	{TEXT("x.metadata.tencentyun.com"), NULL},
	{TEXT("lookalike-metadata.goog"), "lookalike-metadata.goog"},
	{TEXT("metadata"), NULL},
	{TEXT("a.localhost"), NULL},
	{TEXT("printer.local"), NULL},
	{TEXT("4.3.2.1.in-addr.arpa"), NULL},
	{TEXT("localhost.example.com"), "localhost.example.com"},
	{TEXT("localhost"), NULL},
	{TEXT("example"), NULL},
	{TEXT("a" NAME_253), NULL},
	{TEXT("a." NAME_253 "."), NULL},
};

static void test_names(void **state)
{
	char name[DESTINATION_NAME_SIZE];
	struct destination_fault fault;
	size_t i;
	int r;

	(void)state;
	for (i = 0; i < N_OF(asked); i++) {
		r = destination_name(asked[i].bytes, asked[i].length, name, &fault);
		assert_int_equal(r, asked[i].name ? 0 : -EINVAL);
		if (asked[i].name)
			assert_string_equal(name, asked[i].name);
	}
}

static const struct {
	const char *entry, *name;
	bool has;
} pairs[] = {
	{"api.example.com:443", "api.example.com", true},
	{"api.example.com:443", "xapi.example.com", false},
	{"api.example.com:443", "x.api.example.com", false},
	{"api.example.com:443", "example.com", false},
	{"*.example.com:443", "a.example.com", true},
	{"*.example.com:443", "_x.example.com", true},
	{"*.example.com:443", "example.com", false},
	{"*.example.com:443", "a.b.example.com", false},
	{"*.example.com:443", "evilexample.com", false},
	{"*.example.com:443", "example.com.evil.org", false},
};

static void test_has(void **state)
{
	struct destination destination;
	struct destination_fault fault;
	size_t i;

	(void)state;
	for (i = 0; i < N_OF(pairs); i++) {
		assert_int_equal(destination_parse(pairs[i].entry, strlen(pairs[i].entry),
						   &destination, &fault),
				 0);
		assert_int_equal(destination_has_name(&destination, pairs[i].name), pairs[i].has);
	}
	assert_int_equal(destination_parse(TEXT("a.b:443,8443"), &destination, &fault), 0);
	assert_true(destination_has_port(&destination, 443));
	assert_true(destination_has_port(&destination, 8443));
	assert_false(destination_has_port(&destination, 80));
	assert_false(destination_has_port(&destination, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

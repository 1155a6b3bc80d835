// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Addresses: every row of the table on both sides of both its ends, plain and within every other form. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "policy/address.h"

#define N_OF(array) (sizeof(array) / sizeof(*(array)))

static const struct address_rules no_rules;

static struct address parsed(const char *text)
{
	struct address address;

	if (address_parse(text, &address) < 0)
		fail_msg("%s is no address", text);
	return address;
}

static void expect(const struct address_rules *rules, const char *text, bool is_public)
{
	struct address address = parsed(text);
	struct address_verdict verdict;
	char why[256];

	if (address_is_public(rules, &address, &verdict) == is_public)
		return;
	address_why(&address, &verdict, why, sizeof(why));
	fail_msg("%s: %s, but is %s", text, why, is_public ? "public" : "not public");
}

/* The last address in front of a block, its first and last, and the first behind it. */
struct edges {
	const char *before, *first, *last, *behind;
	bool is_public_before, is_public_behind;
};

static const struct edges v4[] = {
	{NULL, "0.0.0.0", "0.255.255.255", "1.0.0.0", false, true},
	{"9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0", true, true},
	{"100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0", true, true},
	{"100.100.100.199", "100.100.100.200", "100.100.100.200", "100.100.100.201", false, false},
	{"126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0", true, true},
	{"168.63.129.15", "168.63.129.16", "168.63.129.16", "168.63.129.17", true, true},
	{"169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0", true, true},
	{"169.254.169.253", "169.254.169.254", "169.254.169.254", "169.254.169.255", false, false},
	{"172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0", true, true},
	{"191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0", true, true},
	{"192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0", true, true},
	{"192.31.195.255", "192.31.196.0", "192.31.196.255", "192.31.197.0", true, true},
	{"192.52.192.255", "192.52.193.0", "192.52.193.255", "192.52.194.0", true, true},
	{"192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0", true, true},
	{"192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0", true, true},
	{"192.175.47.255", "192.175.48.0", "192.175.48.255", "192.175.49.0", true, true},
	{"198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0", true, true},
	{"198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0", true, true},
	{"203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0", true, true},
	{"223.255.255.255", "224.0.0.0", "239.255.255.255", "240.0.0.0", true, false},
	{"239.255.255.255", "240.0.0.0", "255.255.255.255", NULL, false, false},
};

static const struct edges v6[] = {
	{NULL, "::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2000::", false, true},
	{"2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	 "2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::", true, true},
	{"2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
	 "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::", true, true},
	{"2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	 "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::", true, true},
	{"2620:4f:7fff:ffff:ffff:ffff:ffff:ffff",
	 "2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff", "2620:4f:8001::", true, true},
	{"3ffd:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	 "3ffe::", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff::", true, false},
	{"3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	 "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::", false, true},
	{"3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	 "4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, true, false},
};

static void expect_edges(const struct edges *rows, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		expect(&no_rules, rows[i].first, false);
		expect(&no_rules, rows[i].last, false);
		if (rows[i].before)
			expect(&no_rules, rows[i].before, rows[i].is_public_before);
		if (rows[i].behind)
			expect(&no_rules, rows[i].behind, rows[i].is_public_behind);
	}
}

static void test_edges(void **state)
{
	(void)state;
	expect_edges(v4, N_OF(v4));
	expect_edges(v6, N_OF(v6));
}

/* What the registries and the clouds name, and nobody should have to look up. */
static const struct {
	const char *address, *name;
} named[] = {
	{"169.254.170.2", "ECS credentials"},
	{"169.254.170.23", "EKS pod credentials"},
	{"192.0.0.192", "Oracle's classic metadata"},
	{"255.255.255.255", "broadcast"},
	{"::", "unspecified"},
	{"::1", "loopback"},
	{"64:ff9b::808:808", "NAT64, not configured"},
	{"64:ff9b:1::808:808", "local NAT64, not configured"},
	{"100::1", "discarded"},
	{"100:0:0:1::1", "dummy prefix"},
	{"2001:1::1", "anycasts of protocols"},
	{"2001:2::1", "benchmarks"},
	{"2001:3::1", "AMT"},
	{"2001:4:112::1", "AS112"},
	{"2001:10::1", "ORCHID"},
	{"2001:20::1", "ORCHIDv2"},
	{"2001:30::1", "drone identifiers"},
	{"5f00::1", "segment routing"},
	{"fc00::1", "private"},
	{"fd00:ec2::254", "AWS's metadata"},
	{"fd00:ec2::23", "EKS pod credentials"},
	{"fd20:ce::254", "GCP's metadata"},
	{"fd00:42::42", "Scaleway's metadata"},
	{"fe80::a9fe:a9fe", "link-local"},
	{"fec0::1", "site-local"},
	{"ff02::1", "multicast"},
};

static void test_named(void **state)
{
	struct address_verdict verdict;
	struct address address;
	size_t i;

	(void)state;
	for (i = 0; i < N_OF(named); i++) {
		address = parsed(named[i].address);
		assert_false(address_is_public(&no_rules, &address, &verdict));
		assert_string_equal(verdict.block->name, named[i].name);
		assert_true(verdict.block->source[0]);
	}
}

/* The next address up or down; false beyond the end. */
static bool step(struct address *address, int by)
{
	int i = address->family == ADDRESS_V4 ? 4 : 16;

	while (i--) {
		address->bytes[i] = (__u8)(address->bytes[i] + by);
		if (address->bytes[i] != (by > 0 ? 0 : 0xff))
			return true;
	}
	return false;
}

static struct address last_of(const struct address_block *block)
{
	struct address address = block->address;
	unsigned int bit, bits = address.family == ADDRESS_V4 ? 32 : 128;

	for (bit = block->length; bit < bits; bit++)
		address.bytes[bit / 8] |= (__u8)(0x80 >> bit % 8);
	return address;
}

static const struct address_block *row_of(const struct address *address)
{
	struct address_verdict verdict;

	(void)address_is_public(&no_rules, address, &verdict);
	return verdict.block;
}

/* Every row decides at both its ends or leaves it to a longer one within it, and nowhere beyond. */
static void test_rows(void **state)
{
	const struct address_block *blocks, *row;
	struct address first, last;
	size_t i, n;

	(void)state;
	blocks = address_blocks(&n);
	for (i = 0; i < n; i++) {
		first = blocks[i].address;
		last = last_of(&blocks[i]);
		row = row_of(&first);
		assert_true(row == &blocks[i] || row->length > blocks[i].length);
		row = row_of(&last);
		assert_true(row == &blocks[i] || row->length > blocks[i].length);
		if (step(&first, -1))
			assert_ptr_not_equal(row_of(&first), &blocks[i]);
		if (step(&last, 1))
			assert_ptr_not_equal(row_of(&last), &blocks[i]);
	}
}

/* A row within one that is refused opens nothing: the tries of kernel programs rely on the longest alone. */
static void test_no_hole(void **state)
{
	const struct address_block *blocks;
	size_t i, n, public = 0;

	(void)state;
	blocks = address_blocks(&n);
	for (i = 0; i < n; i++)
	public += blocks[i].is_public;
	assert_int_equal(public, 2);
}

/* Prefix bytes in front, where the IPv4 address goes, and whether the whole can be public with it. */
static const struct {
	const char *prefix;
	unsigned int at[4];
	__u8 invert;
	bool can_be_public;
	enum address_wrapping wrapping;
} forms[] = {
	{"::ffff:0:0", {12, 13, 14, 15}, 0, false, ADDRESS_MAPPED},
	{"::", {12, 13, 14, 15}, 0, false, ADDRESS_COMPATIBLE},
	{"::ffff:0:0:0", {12, 13, 14, 15}, 0, false, ADDRESS_TRANSLATED},
	{"2002::", {2, 3, 4, 5}, 0, false, ADDRESS_6TO4},
	{"2002::1", {2, 3, 4, 5}, 0, false, ADDRESS_6TO4},
	{"2001:0:4136:e378::", {12, 13, 14, 15}, 0xff, false, ADDRESS_TEREDO},
	{"64:ff9b::", {12, 13, 14, 15}, 0, false, ADDRESS_NAT64},
	{"64:ff9b:1::", {12, 13, 14, 15}, 0, false, ADDRESS_NAT64},
	{"fe80::5efe:0:0", {12, 13, 14, 15}, 0, false, ADDRESS_ISATAP},
	{"2a00:1:2:3:0:5efe::", {12, 13, 14, 15}, 0, true, ADDRESS_ISATAP},
	{"2a00:1:2:3:200:5efe::", {12, 13, 14, 15}, 0, true, ADDRESS_ISATAP},
};

static bool is_public_v4(const char *text)
{
	struct address address = parsed(text);
	struct address_verdict verdict;

	return address_is_public(&no_rules, &address, &verdict);
}

static void expect_wrapped(const char *inner)
{
	struct address v4_address = parsed(inner), whole;
	struct address_verdict verdict;
	bool is_public;
	size_t i, j;

	for (i = 0; i < N_OF(forms); i++) {
		whole = parsed(forms[i].prefix);
		for (j = 0; j < 4; j++)
			whole.bytes[forms[i].at[j]] = v4_address.bytes[j] ^ forms[i].invert;
		is_public = address_is_public(&no_rules, &whole, &verdict);
		/* ::0.0.0.0 and ::0.0.0.1 are addresses of their own. */
		if (verdict.block->length == 128 && forms[i].wrapping == ADDRESS_COMPATIBLE)
			continue;
		assert_int_equal(verdict.wrapping, forms[i].wrapping);
		assert_memory_equal(verdict.inner.bytes, v4_address.bytes, 4);
		assert_int_equal(is_public, forms[i].can_be_public && is_public_v4(inner));
	}
}

static void test_wrapped(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < N_OF(v4); i++) {
		expect_wrapped(v4[i].first);
		expect_wrapped(v4[i].last);
		if (v4[i].before)
			expect_wrapped(v4[i].before);
		if (v4[i].behind)
			expect_wrapped(v4[i].behind);
	}
}

/* RFC 6052 §2.4: 192.0.2.33 by each length of prefix; here 8.8.8.8 and 127.0.0.1. */
static const struct {
	const char *prefix, *open, *closed, *dirty;
} nat64[] = {
	{"2a00:db8::/32", "2a00:db8:808:808::", "2a00:db8:7f00:1::", "2a00:db8:808:808::1"},
	{"2a00:db8:100::/40",
	 "2a00:db8:108:808:8::", "2a00:db8:17f:0:1::", "2a00:db8:108:808:8:1::"},
	{"2a00:db8:122::/48",
	 "2a00:db8:122:808:8:800::", "2a00:db8:122:7f00:0:100::", "2a00:db8:122:808:108:800::"},
	{"2a00:db8:122:300::/56",
	 "2a00:db8:122:308:8:808::", "2a00:db8:122:37f:0:1::", "2a00:db8:122:308:8:808:1:0"},
	{"2a00:db8:122:344::/64", "2a00:db8:122:344:8:808:800:0", "2a00:db8:122:344:7f:0:100:0",
	 "2a00:db8:122:344:8:808:800:1"},
	{"2a00:db8:122:344::/96", "2a00:db8:122:344::808:808", "2a00:db8:122:344::7f00:1", NULL},
	{"64:ff9b::/96", "64:ff9b::808:808", "64:ff9b::7f00:1", NULL},
	{"64:ff9b:1:2::/96", "64:ff9b:1:2::808:808", "64:ff9b:1:2::a9fe:a9fe", NULL},
	{"fd12:3456::/32", "fd12:3456:808:808::", "fd12:3456:a00:1::", "fd12:3456:808:808:1::"},
};

static void test_nat64(void **state)
{
	struct error error = {0};
	size_t i;

	(void)state;
	for (i = 0; i < N_OF(nat64); i++) {
		struct address_rules rules = {0};

		if (address_add_nat64(&rules, nat64[i].prefix, &error) < 0)
			fail_msg("%s", error.text);
		expect(&rules, nat64[i].open, true);
		expect(&rules, nat64[i].closed, false);
		if (nat64[i].dirty)
			expect(&rules, nat64[i].dirty, false);
	}
}

static const struct {
	const char *prefix, *reason;
} bad_prefixes[] = {
	{"64:ff9b::", "is no prefix: write ADDRESS/LENGTH"},
	{"64:ff9b::/", "is no prefix: write ADDRESS/LENGTH"},
	{"64:ff9b::/ 96", "is no prefix: write ADDRESS/LENGTH"},
	{"64:ff9b::/96 ", "the length is 0 to 128 bits"},
	{"64:ff9b::/129", "the length is 0 to 128 bits"},
	{"64:ff9b::/18446744073709551712", "the length is 0 to 128 bits"},
	{"64:ff9b::/95", "32, 40, 48, 56, 64 or 96"},
	{"64:ff9b::1/96", "bits behind the prefix are set"},
	{"10.0.0.0/8", "no IPv6 address stands before the /"},
	{"64:ff9b::%lo/96", "no IPv6 address stands before the /"},
	{"2a00:db8:1:2:100::/96", "bits 64 to 71 are 0"},
	{"::ffff:0:0/96", "no place for a translator"},
	{"::/96", "no place for a translator"},
	{"2002::/32", "no place for a translator"},
	{"2001::/32", "no place for a translator"},
	{"fe80::/64", "no place for a translator"},
	{"ff00::/32", "no place for a translator"},
};

static void test_bad_prefixes(void **state)
{
	struct address_rules rules = {0};
	struct error error;
	size_t i;

	(void)state;
	for (i = 0; i < N_OF(bad_prefixes); i++) {
		error = (struct error){0};
		assert_int_equal(address_add_nat64(&rules, bad_prefixes[i].prefix, &error),
				 -EINVAL);
		if (!strstr(error.text, bad_prefixes[i].reason))
			fail_msg("%s", error.text);
	}
	assert_int_equal(rules.nat64_count, 0);
	for (i = 0; i < ADDRESS_MAX_NAT64; i++)
		assert_int_equal(address_add_nat64(&rules, "64:ff9b::/96", &error), 0);
	assert_int_equal(address_add_nat64(&rules, "64:ff9b::/96", &error), -EINVAL);
}

/* Our own range is never somebody else's, wherever it is. */
static void test_synthetic(void **state)
{
	struct address_rules rules = {0};
	struct address_verdict verdict;
	struct error error = {0};
	struct address address;

	(void)state;
	assert_int_equal(address_set_synthetic(&rules, "8.8.0.0/16", &error), -EINVAL);
	assert_non_null(strstr(error.text, "must stand for no real one"));
	assert_int_equal(address_set_synthetic(&rules, "10.0.0.0/25", &error), -EINVAL);
	assert_int_equal(address_set_synthetic(&rules, "10.0.0.0/7", &error), -EINVAL);
	assert_int_equal(address_set_synthetic(&rules, "fd00::/16", &error), -EINVAL);
	assert_int_equal(address_set_synthetic(&rules, "10.99.0.0/16", &error), 0);
	address = parsed("10.99.1.2");
	assert_false(address_is_public(&rules, &address, &verdict));
	assert_string_equal(verdict.block->name, "synthetic");
	address = parsed("::ffff:10.99.1.2");
	assert_false(address_is_public(&rules, &address, &verdict));
	assert_string_equal(verdict.inner_block->name, "synthetic");
}

static void test_spellings(void **state)
{
	static const char *const bad[] = {
		"",	      "0",	  "127.1",     "0177.0.0.1",   "0x7f.1",
		"2130706433", "1.2.3.4 ", " 1.2.3.4",  "1.2.3.4%lo",   "01.2.3.4",
		"1.2.3.256",  "1.2.3.4.", "::1%lo",    "[::1]",	       "::1/128",
		":::",	      "1::2::3",  "fe80::1%1", "::ffff:1.2.3", "12345::",
	};
	struct address address;
	size_t i;

	(void)state;
	for (i = 0; i < N_OF(bad); i++)
		assert_int_equal(address_parse(bad[i], &address), -EINVAL);
}

static void test_why(void **state)
{
	struct address address = parsed("2002:7f00:1::");
	struct address_verdict verdict;
	char why[256];

	(void)state;
	assert_false(address_is_public(&no_rules, &address, &verdict));
	address_why(&address, &verdict, why, sizeof(why));
	assert_string_equal(why, "2002:7f00:1:: is 6to4 (RFC 3056): 6to4 of 127.0.0.1, "
				 "loopback (RFC 1122)");
	address = parsed("10.0.0.1");
	assert_false(address_is_public(&no_rules, &address, &verdict));
	address_why(&address, &verdict, why, sizeof(why));
	assert_string_equal(why, "10.0.0.1 is private (RFC 1918)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edges),	     cmocka_unit_test(test_named),
		cmocka_unit_test(test_rows),	     cmocka_unit_test(test_no_hole),
		cmocka_unit_test(test_wrapped),	     cmocka_unit_test(test_nat64),
		cmocka_unit_test(test_bad_prefixes), cmocka_unit_test(test_synthetic),
		cmocka_unit_test(test_spellings),    cmocka_unit_test(test_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

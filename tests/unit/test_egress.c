// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The book of synthetic addresses, and what the stub answers out of it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <arpa/inet.h>
#include <ldns/ldns.h>
#include <bulkhead/limits.h>
#include "egress/answer.h"

#define N_OF(array) (sizeof(array) / sizeof(*(array)))
#define MAX_ENTRIES 16

struct listed {
	struct destination entries[MAX_ENTRIES];
	size_t n;
};

static struct listed listed(const char *const *texts, size_t n)
{
	struct destination_fault fault;
	struct listed ret = {.n = n};
	size_t i;

	assert_true(n <= MAX_ENTRIES);
	for (i = 0; i < n; i++) {
		if (destination_parse(texts[i], strlen(texts[i]), &ret.entries[i], &fault) < 0)
			fail_msg("%s: %s", texts[i], fault.reason);
	}
	return ret;
}

static struct book *book_of(const char *range, const char *const *texts, size_t n)
{
	struct listed entries = listed(texts, n);
	struct address_rules rules = {0};
	struct error error = {0};
	struct book *book;

	assert_int_equal(address_set_synthetic(&rules, range, &error), 0);
	assert_int_equal(book_new(&rules.synthetic, &book), 0);
	if (book_list(book, entries.entries, entries.n, &error) < 0)
		fail_msg("%s", error.text);
	return book;
}

static __u32 address_of(struct book *book, const char *name)
{
	__u32 address = 0;
	int r = book_find(book, name, &address);

	if (r < 0)
		fail_msg("%s: %d", name, r);
	return address;
}

static const char *const entries[] = {"api.example.com:443", "git.example.com:22,443",
				      "*.cdn.example.net:443", "git.example.com:9418"};

#define RANGE "198.18.0.0/15"
#define FIRST 0xc6120001u
#define HALF 0xc6130000u

static void test_book(void **state)
{
	_cleanup_book_ struct book *book = book_of(RANGE, entries, N_OF(entries));
	__u32 address;

	(void)state;
	assert_int_equal(address_of(book, "api.example.com"), FIRST);
	assert_int_equal(address_of(book, "git.example.com"), FIRST + 1);
	address = address_of(book, "a.cdn.example.net");
	assert_true(address >= HALF && address < HALF + 0x10000);
	assert_int_equal(address_of(book, "a.cdn.example.net"), address);
	assert_string_equal(book_name(book, address), "a.cdn.example.net");
	assert_string_equal(book_name(book, FIRST), "api.example.com");
	assert_null(book_name(book, FIRST + 2));
	assert_int_equal(book_find(book, "cdn.example.net", &address), -ENOENT);
	assert_int_equal(book_find(book, "b.a.cdn.example.net", &address), -ENOENT);
	assert_int_equal(book_find(book, "xapi.example.com", &address), -ENOENT);
	assert_true(book_has(book, "git.example.com", 22));
	assert_true(book_has(book, "git.example.com", 9418));
	assert_false(book_has(book, "git.example.com", 80));
	assert_true(book_has(book, "z.cdn.example.net", 443));
	assert_false(book_has(book, "z.cdn.example.net", 80));
	assert_false(book_has(book, "cdn.example.net", 443));
	assert_int_equal(book_count(book), 3);
}

static void test_above(void **state)
{
	static const char *const above[] = {"",	   "com",	  "example.com",
					    "net", "example.net", "cdn.example.net"};
	static const char *const beside[] = {"api.example.com", "org", "ample.com",
					     "x.example.com"};
	_cleanup_book_ struct book *book = book_of(RANGE, entries, N_OF(entries));
	_cleanup_book_ struct book *empty = book_of(RANGE, NULL, 0);
	size_t i;

	(void)state;
	for (i = 0; i < N_OF(above); i++)
		assert_true(book_is_above(book, above[i]));
	for (i = 0; i < N_OF(beside); i++)
		assert_false(book_is_above(book, beside[i]));
	assert_false(book_is_above(empty, ""));
}

/* What was given stays, whatever is listed later, and is no other name's. */
static void test_relisted(void **state)
{
	static const char *const later[] = {"new.example.com:443", "git.example.com:443",
					    "a.cdn.example.net:443"};
	_cleanup_book_ struct book *book = book_of(RANGE, entries, N_OF(entries));
	struct listed list = listed(later, N_OF(later));
	__u32 api = address_of(book, "api.example.com"), git = address_of(book, "git.example.com");
	__u32 hashed = address_of(book, "a.cdn.example.net"), address;

	(void)state;
	assert_int_equal(book_list(book, list.entries, list.n, NULL), 0);
	assert_int_equal(book_find(book, "api.example.com", &address), -ENOENT);
	assert_string_equal(book_name(book, api), "api.example.com");
	assert_false(book_has(book, "api.example.com", 443));
	assert_int_equal(address_of(book, "git.example.com"), git);
	assert_int_equal(address_of(book, "a.cdn.example.net"), hashed);
	assert_int_equal(address_of(book, "new.example.com"), git + 1);
	assert_int_equal(book_find(book, "b.cdn.example.net", &address), -ENOENT);
}

/* What an earlier process gave is taken over; two names never have one address. */
static void test_adopted(void **state)
{
	_cleanup_book_ struct book *old = book_of(RANGE, entries, N_OF(entries));
	_cleanup_book_ struct book *book = NULL;
	struct listed list = listed(entries, N_OF(entries));
	struct address_rules rules = {0};
	const char *name;
	__u32 address, hashed = address_of(old, "a.cdn.example.net");
	size_t i;

	(void)state;
	assert_int_equal(address_set_synthetic(&rules, RANGE, NULL), 0);
	assert_int_equal(book_new(&rules.synthetic, &book), 0);
	assert_int_equal(book_adopt(book, FIRST, "old.example.com"), 0);
	for (i = 0; i < book_count(old); i++) {
		book_at(old, i, &address, &name);
		if (address != FIRST)
			assert_int_equal(book_adopt(book, address, name), 0);
	}
	assert_int_equal(book_adopt(book, FIRST, "old.example.com"), 0);
	assert_int_equal(book_adopt(book, FIRST, "other.example.com"), -EEXIST);
	assert_int_equal(book_adopt(book, FIRST + 9, "old.example.com"), -EEXIST);
	assert_int_equal(book_adopt(book, 0x0a000001, "x.example.com"), -ERANGE);
	assert_int_equal(book_list(book, list.entries, list.n, NULL), 0);
	assert_int_equal(address_of(book, "a.cdn.example.net"), hashed);
	assert_int_equal(address_of(book, "git.example.com"), FIRST + 1);
	assert_int_equal(address_of(book, "api.example.com"), FIRST + 2);
}

/* At the bounds: refused, and nothing given twice. */
static void test_exhausted(void **state)
{
	static const char *const wildcard[] = {"*.example.com:443"};
	_cleanup_book_ struct book *small = book_of("10.9.8.0/24", wildcard, 1);
	_cleanup_book_ struct book *book = book_of(RANGE, wildcard, 1);
	struct destination many[128] = {0};
	struct error error = {0};
	char name[32];
	__u32 address;
	size_t i;

	(void)state;
	for (i = 0; i < BH_MAX_WILDCARD_NAMES; i++) {
		(void)snprintf(name, sizeof(name), "n%zu.example.com", i);
		assert_int_equal(book_find(book, name, &address), 0);
		assert_true(address >= HALF && (address & 0xff) && (address & 0xff) != 0xff);
		/* 128 to 253: 254 is the proxy's. */
		assert_int_equal(book_find(small, name, &address), i < 126 ? 0 : -ENOSPC);
	}
	assert_int_equal(book_find(book, "x.example.com", &address), -ENOSPC);
	assert_int_equal(book_find(book, "n0.example.com", &address), 0);
	assert_int_equal(book_count(book), BH_MAX_WILDCARD_NAMES);
	for (i = 0; i < N_OF(many); i++)
		(void)snprintf(many[i].name, sizeof(many[i].name), "w%zu.example.com", i);
	assert_int_equal(book_list(small, many, 128, &error), -ENOSPC);
	assert_non_null(strstr(error.text, "128 names need a synthetic address and 127 are left"));
	assert_int_equal(book_find(small, "n0.example.com", &address), 0);
	assert_int_equal(book_list(small, many, 127, &error), 0);
	/* The range is full: 1 to 127 and 128 to 253, each once. */
	assert_int_equal(book_count(small), 253);
	for (address = 0x0a090801; address < 0x0a0908fe; address++)
		assert_non_null(book_name(small, address));
}

/* The book's compartment, and a query's answer as a client reads it. */
struct asked {
	struct answer answer;
	ldns_pkt *packet;
};

static void asked_done(struct asked *asked)
{
	ldns_pkt_free(asked->packet);
}

#define _cleanup_asked_ _cleanup_(asked_done)

static bool with_proxy;

static struct asked ask_wire(struct book *book, bool granted, const void *wire, size_t length)
{
	struct answer_view view = {.book = book, .granted = granted, .proxy = with_proxy};
	struct asked ret = {0};

	assert_int_equal(answer_query(&view, wire, length, &ret.answer), 0);
	if (ret.answer.length)
		assert_int_equal(ldns_wire2pkt(&ret.packet, ret.answer.wire, ret.answer.length),
				 LDNS_STATUS_OK);
	return ret;
}

static struct asked ask(struct book *book, bool granted, const char *name,
			enum ldns_enum_rr_type type, bool edns)
{
	ldns_pkt *query =
		ldns_pkt_query_new(ldns_dname_new_frm_str(name), type, LDNS_RR_CLASS_IN, LDNS_RD);
	struct asked ret;
	uint8_t *wire;
	size_t length;

	ldns_pkt_set_id(query, 0xb0b0);
	if (edns)
		ldns_pkt_set_edns_udp_size(query, 4096);
	assert_int_equal(ldns_pkt2wire(&wire, query, &length), LDNS_STATUS_OK);
	ret = ask_wire(book, granted, wire, length);
	assert_int_equal(ldns_pkt_id(ret.packet), 0xb0b0);
	assert_true(ldns_pkt_qr(ret.packet) && ldns_pkt_rd(ret.packet) && ldns_pkt_ra(ret.packet));
	assert_int_equal(ldns_pkt_edns(ret.packet), edns);
	free(wire);
	ldns_pkt_free(query);
	return ret;
}

static const struct {
	const char *name;
	enum ldns_enum_rr_type type;
	bool ungranted;
	enum answer_outcome outcome;
	const char *record; /* NULL: none */
	int error;	    /* extended */
} questions[] = {
	{"api.example.com", LDNS_RR_TYPE_A, false, ANSWER_ADDRESS, "198.18.0.1", 0},
	{"API.Example.COM", LDNS_RR_TYPE_A, false, ANSWER_ADDRESS, "198.18.0.1", 0},
	{"git.example.com", LDNS_RR_TYPE_A, false, ANSWER_ADDRESS, "198.18.0.2", 0},
	{"api.example.com", LDNS_RR_TYPE_AAAA, false, ANSWER_NO_DATA, NULL, 0},
	{"api.example.com", LDNS_RR_TYPE_HTTPS, false, ANSWER_NO_DATA, NULL, 0},
	{"api.example.com", LDNS_RR_TYPE_SVCB, false, ANSWER_NO_DATA, NULL, 0},
	{"api.example.com", LDNS_RR_TYPE_TXT, false, ANSWER_NO_DATA, NULL, 0},
	{"api.example.com", LDNS_RR_TYPE_ANY, false, ANSWER_NO_DATA, NULL, 0},
	{"api.example.com", LDNS_RR_TYPE_A, true, ANSWER_UNGRANTED, NULL, 18},
	{"api.example.com", LDNS_RR_TYPE_AAAA, true, ANSWER_UNGRANTED, NULL, 18},
	{"evil.example.com", LDNS_RR_TYPE_A, false, ANSWER_UNLISTED, NULL, 15},
	{"xapi.example.com", LDNS_RR_TYPE_A, false, ANSWER_UNLISTED, NULL, 15},
	{"b.a.cdn.example.net", LDNS_RR_TYPE_A, false, ANSWER_UNLISTED, NULL, 15},
	{"api.example.com.evil.org", LDNS_RR_TYPE_TXT, false, ANSWER_UNLISTED, NULL, 15},
	{"example.com", LDNS_RR_TYPE_A, false, ANSWER_NO_DATA, NULL, 0},
	{"com", LDNS_RR_TYPE_NS, false, ANSWER_NO_DATA, NULL, 0},
	{".", LDNS_RR_TYPE_NS, false, ANSWER_NO_DATA, NULL, 0},
	{"cdn.example.net", LDNS_RR_TYPE_A, false, ANSWER_NO_DATA, NULL, 0},
	{"localhost", LDNS_RR_TYPE_A, false, ANSWER_UNLISTED, NULL, 15},
	{"metadata.google.internal", LDNS_RR_TYPE_A, false, ANSWER_UNLISTED, NULL, 15},
	{"api\\.example.com", LDNS_RR_TYPE_A, false, ANSWER_UNLISTED, NULL, 15},
	{"api.example\\000.com", LDNS_RR_TYPE_A, false, ANSWER_UNLISTED, NULL, 15},
	{"api.example.com\\000", LDNS_RR_TYPE_A, false, ANSWER_UNLISTED, NULL, 15},
	{"1.0.18.198.in-addr.arpa", LDNS_RR_TYPE_PTR, false, ANSWER_NAME, "api.example.com.", 0},
	{"1.0.18.198.IN-ADDR.arpa", LDNS_RR_TYPE_PTR, false, ANSWER_NAME, "api.example.com.", 0},
	{"9.0.18.198.in-addr.arpa", LDNS_RR_TYPE_PTR, false, ANSWER_UNLISTED, NULL, 15},
	{"8.8.8.8.in-addr.arpa", LDNS_RR_TYPE_PTR, false, ANSWER_UNLISTED, NULL, 15},
	{"01.0.18.198.in-addr.arpa", LDNS_RR_TYPE_PTR, false, ANSWER_UNLISTED, NULL, 15},
	{"x.1.0.18.198.in-addr.arpa", LDNS_RR_TYPE_PTR, false, ANSWER_UNLISTED, NULL, 15},
	{"in-addr.arpa", LDNS_RR_TYPE_PTR, false, ANSWER_UNLISTED, NULL, 15},
	{"1.0.18.198.in-addr.arpa", LDNS_RR_TYPE_A, false, ANSWER_UNLISTED, NULL, 15},
	{"api.example.com", LDNS_RR_TYPE_PTR, false, ANSWER_UNLISTED, NULL, 15},
};

static void expect_record(const ldns_pkt *packet, const char *record)
{
	ldns_rr_list *records = ldns_pkt_answer(packet);
	char *text;

	assert_int_equal(ldns_rr_list_rr_count(records), record != NULL);
	if (!record)
		return;
	assert_int_equal(ldns_rr_ttl(ldns_rr_list_rr(records, 0)), ANSWER_TTL_S);
	text = ldns_rdf2str(ldns_rr_rdf(ldns_rr_list_rr(records, 0), 0));
	assert_string_equal(text, record);
	free(text);
}

static int error_of(ldns_pkt *packet)
{
	ldns_edns_option_list *options = ldns_pkt_edns_get_option_list(packet);
	ldns_edns_option *option;

	if (!options)
		return 0;
	option = ldns_edns_option_list_get_option(options, 0);
	if (!option || ldns_edns_get_code(option) != LDNS_EDNS_EDE)
		return 0;
	return ldns_read_uint16(ldns_edns_get_data(option));
}

static void test_answers(void **state)
{
	_cleanup_book_ struct book *book = book_of(RANGE, entries, N_OF(entries));
	size_t i;
	int edns;

	(void)state;
	for (i = 0; i < 2 * N_OF(questions); i++) {
		__typeof__(&questions[0]) q = &questions[i / 2];
		_cleanup_asked_ struct asked asked = {0};

		edns = i % 2;
		asked = ask(book, !q->ungranted, q->name, q->type, edns);
		if (asked.answer.outcome != q->outcome)
			fail_msg("%s: %s", q->name, answer_outcome_names[asked.answer.outcome]);
		assert_int_equal(ldns_pkt_get_rcode(asked.packet), q->outcome < ANSWER_NO_DATA
									   ? LDNS_RCODE_NXDOMAIN
									   : LDNS_RCODE_NOERROR);
		expect_record(asked.packet, q->record);
		assert_int_equal(error_of(asked.packet), edns ? q->error : 0);
		assert_int_equal(asked.answer.type, q->type);
		/* What was asked for is known, unless a label has a dot or worse in it. */
		assert_int_equal(!*asked.answer.name,
				 *q->name == '.' || strchr(q->name, '\\') != NULL);
	}
	/* No question of another type, and none that was refused, took an address. */
	assert_int_equal(book_count(book), 2);
}

static const struct {
	const char *name;
	enum ldns_enum_rr_type type;
	bool ungranted;
	enum answer_outcome outcome;
	const char *record;
} of_proxy[] = {
	{BOOK_PROXY, LDNS_RR_TYPE_A, false, ANSWER_ADDRESS, "198.19.255.254"},
	{"Proxy.Bulkhead.INTERNAL", LDNS_RR_TYPE_A, false, ANSWER_ADDRESS, "198.19.255.254"},
	{BOOK_PROXY, LDNS_RR_TYPE_AAAA, false, ANSWER_NO_DATA, NULL},
	{BOOK_PROXY, LDNS_RR_TYPE_A, true, ANSWER_UNGRANTED, NULL},
	{BOOK_PROXY, LDNS_RR_TYPE_AAAA, true, ANSWER_UNGRANTED, NULL},
	{"bulkhead.internal", LDNS_RR_TYPE_A, false, ANSWER_NO_DATA, NULL},
	{"internal", LDNS_RR_TYPE_NS, false, ANSWER_NO_DATA, NULL},
	{"ternal", LDNS_RR_TYPE_A, false, ANSWER_UNLISTED, NULL},
	{"xproxy.bulkhead.internal", LDNS_RR_TYPE_A, false, ANSWER_UNLISTED, NULL},
	{"x.proxy.bulkhead.internal", LDNS_RR_TYPE_A, false, ANSWER_UNLISTED, NULL},
	{"proxy\\.bulkhead.internal", LDNS_RR_TYPE_A, false, ANSWER_UNLISTED, NULL},
	{"metadata.google.internal", LDNS_RR_TYPE_A, false, ANSWER_UNLISTED, NULL},
	{"254.255.19.198.in-addr.arpa", LDNS_RR_TYPE_PTR, false, ANSWER_NAME, BOOK_PROXY "."},
};

/* Where the policy says so, and else not: none of it is told then. */
static void test_proxy(void **state)
{
	_cleanup_book_ struct book *book = book_of(RANGE, entries, N_OF(entries));

	(void)state;
	for (size_t i = 0; i < 2 * N_OF(of_proxy); i++) {
		__typeof__(&of_proxy[0]) q = &of_proxy[i / 2];
		_cleanup_asked_ struct asked asked = {0};

		with_proxy = i % 2;
		asked = ask(book, !q->ungranted, q->name, q->type, true);
		if (asked.answer.outcome != (with_proxy ? q->outcome : ANSWER_UNLISTED))
			fail_msg("%s: %s", q->name, answer_outcome_names[asked.answer.outcome]);
		expect_record(asked.packet, with_proxy ? q->record : NULL);
	}
	with_proxy = false;
	assert_int_equal(book_count(book), 2);
	assert_null(book_name(book, book_proxy(book)));
	/* Nobody else gets it. */
	assert_int_equal(book_adopt(book, book_proxy(book), "a.example.com"), -EEXIST);
	assert_int_equal(book_adopt(book, book_proxy(book) - 1, "a.example.com"), 0);
}

static void test_wildcard(void **state)
{
	_cleanup_book_ struct book *book = book_of(RANGE, entries, N_OF(entries));
	_cleanup_asked_ struct asked none =
		ask(book, true, "a.cdn.example.net", LDNS_RR_TYPE_AAAA, true);
	_cleanup_asked_ struct asked refused =
		ask(book, false, "a.cdn.example.net", LDNS_RR_TYPE_A, true);
	_cleanup_asked_ struct asked asked = {0};

	(void)state;
	assert_int_equal(none.answer.outcome, ANSWER_NO_DATA);
	assert_int_equal(refused.answer.outcome, ANSWER_UNGRANTED);
	assert_int_equal(book_count(book), 2);
	asked = ask(book, true, "a.cdn.example.net", LDNS_RR_TYPE_A, true);
	assert_int_equal(asked.answer.outcome, ANSWER_ADDRESS);
	assert_string_equal(book_name(book, asked.answer.address), "a.cdn.example.net");
}

/* Packets as bytes: what comes of them, and the RCODE (-1: nothing is sent). */
#define H(flags, counts) "\xb0\xb0" flags counts
#define ONE "\0\1\0\0\0\0\0\0"
#define ONE_MORE "\0\1\0\0\0\0\0\1"
#define NAME "\3api\7example\3com\0"
#define A_IN "\0\1\0\1"
static const struct {
	const char *wire;
	size_t length;
	enum answer_outcome outcome;
	int rcode;
} packets[] = {
#define BYTES(text) text, sizeof(text) - 1
	{BYTES(""), ANSWER_DROPPED, -1},
	{BYTES("\xb0\xb0\1\0\0\1\0\0\0\0\0"), ANSWER_DROPPED, -1},
	{BYTES(H("\x81\0", ONE) NAME A_IN), ANSWER_DROPPED, -1},
	{BYTES(H("\1\0", ONE) NAME A_IN), ANSWER_ADDRESS, 0},
	{BYTES(H("\1\0", ONE)), ANSWER_MALFORMED, LDNS_RCODE_FORMERR},
	{BYTES(H("\1\0", ONE) NAME "\0\1\0"), ANSWER_MALFORMED, LDNS_RCODE_FORMERR},
	{BYTES(H("\1\0", ONE) "\3api\7exam"), ANSWER_MALFORMED, LDNS_RCODE_FORMERR},
	{BYTES(H("\1\0", ONE) "\3api\xc0\x0c" A_IN), ANSWER_MALFORMED, LDNS_RCODE_FORMERR},
	{BYTES(H("\1\0", ONE) "\xc0\x0c" A_IN), ANSWER_MALFORMED, LDNS_RCODE_FORMERR},
	{BYTES(H("\1\0", ONE) "\x40"
			      "api\0" A_IN),
	 ANSWER_MALFORMED, LDNS_RCODE_FORMERR},
	{BYTES(H("\1\0", "\0\0\0\0\0\0\0\0")), ANSWER_MALFORMED, LDNS_RCODE_FORMERR},
	{BYTES(H("\1\0", "\0\2\0\0\0\0\0\0") NAME A_IN NAME A_IN), ANSWER_MALFORMED,
	 LDNS_RCODE_FORMERR},
	{BYTES(H("\1\0", "\0\1\0\1\0\0\0\0") NAME A_IN "\xc0\x0c\0\1\0\1\0\0\0\0\0\4\1\2\3\4"),
	 ANSWER_MALFORMED, LDNS_RCODE_FORMERR},
	{BYTES(H("\1\0", ONE_MORE) NAME A_IN "\0\0\x29"), ANSWER_MALFORMED, LDNS_RCODE_FORMERR},
	{BYTES(H("\x29\0", ONE) NAME A_IN), ANSWER_UNSUPPORTED, LDNS_RCODE_NOTIMPL},
	{BYTES(H("\1\0", ONE) NAME "\0\1\0\3"), ANSWER_UNSUPPORTED, LDNS_RCODE_REFUSED},
	{BYTES(H("\1\0", ONE) NAME "\0\1\0\xff"), ANSWER_UNSUPPORTED, LDNS_RCODE_REFUSED},
	/* EDNS version 1: BADVERS is 16, of which the header has the low bits. */
	{BYTES(H("\1\0", ONE_MORE) NAME A_IN "\0\0\x29\x10\0\0\1\0\0\0\0"), ANSWER_UNSUPPORTED, 0},
};

static void test_packets(void **state)
{
	_cleanup_book_ struct book *book = book_of(RANGE, entries, N_OF(entries));
	size_t i;

	(void)state;
	for (i = 0; i < N_OF(packets); i++) {
		_cleanup_asked_ struct asked asked =
			ask_wire(book, true, packets[i].wire, packets[i].length);

		if (asked.answer.outcome != packets[i].outcome)
			fail_msg("%zu: %s", i, answer_outcome_names[asked.answer.outcome]);
		assert_int_equal(asked.packet ? (int)ldns_pkt_get_rcode(asked.packet) : -1,
				 packets[i].rcode);
		if (packets[i].outcome == ANSWER_UNSUPPORTED && packets[i].rcode == 0)
			assert_int_equal(ldns_pkt_edns_extended_rcode(asked.packet), 1);
	}
}

/* The longest name with the longest text: it has to fit. */
static void test_longest(void **state)
{
	static const char tail[] = ".example.com";
	_cleanup_book_ struct book *book = book_of(RANGE, entries, N_OF(entries));
	_cleanup_asked_ struct asked asked = {0};
	char name[254];
	size_t i;

	(void)state;
	memset(name, 'a', sizeof(name));
	for (i = 50; i < sizeof(name) - sizeof(tail); i += 50)
		name[i] = '.';
	memcpy(name + sizeof(name) - sizeof(tail), tail, sizeof(tail));
	asked = ask(book, true, name, LDNS_RR_TYPE_A, true);
	assert_int_equal(asked.answer.outcome, ANSWER_UNLISTED);
	assert_int_equal(error_of(asked.packet), 15);
	assert_string_equal(asked.answer.name, name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_book),	  cmocka_unit_test(test_above),
		cmocka_unit_test(test_relisted),  cmocka_unit_test(test_adopted),
		cmocka_unit_test(test_exhausted), cmocka_unit_test(test_answers),
		cmocka_unit_test(test_wildcard),  cmocka_unit_test(test_packets),
		cmocka_unit_test(test_longest),	  cmocka_unit_test(test_proxy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

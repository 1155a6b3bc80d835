// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The relay's fence against the judgement that the relay itself makes: the same table, read by two. */
#include "harness.h"
#include "board.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "compart/compart.h"
#include "policy/address.h"

/* The guest's loopback is all its network: what passes the fence finds no route, or nobody. */
static int dial(const struct address *to, int port, int type)
{
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
	bool is_four = to->family == ADDRESS_V4;
	_cleanup_close_ int fd = socket(is_four ? AF_INET : AF_INET6, type | SOCK_NONBLOCK, 0);

	memcpy(&four.sin_addr, to->bytes, sizeof(four.sin_addr));
	memcpy(&six.sin6_addr, to->bytes, sizeof(six.sin6_addr));
	if (connect(fd, is_four ? (struct sockaddr *)&four : (struct sockaddr *)&six,
		    is_four ? sizeof(four) : sizeof(six)) == 0)
		return 0;
	return errno;
}

static int mapped_of(const struct address *four, struct address *ret)
{
	*ret = (struct address){.family = ADDRESS_V6, .bytes = {[10] = 0xff, [11] = 0xff}};
	memcpy(&ret->bytes[12], four->bytes, 4);
	return 0;
}

struct question {
	const struct address_rules *rules;
	char *said; /* what differs, shared with the asker */
	int asked;
};

/* 1 when the two differ. */
static int differs(const struct question *q, const struct address *address)
{
	struct address_verdict verdict;
	char text[ADDRESS_TEXT_SIZE];
	bool public = address_is_public(q->rules, address, &verdict);
	int r = dial(address, 443, SOCK_STREAM);

	if ((r != EACCES) == public)
		return 0;
	address_format(address, text);
	snprintf(q->said, 128, "%s: %s by the table, %s", text, public ? "public" : "closed",
		 outcome_text(r));
	return 1;
}

/* An address of a block, and the next one behind it. */
static void edge(const struct address_block *block, bool last, struct address *ret)
{
	unsigned int bits = block->address.family == ADDRESS_V4 ? 32 : 128;

	*ret = block->address;
	for (unsigned int i = block->length; last && i < bits; i++)
		ret->bytes[i / 8] |= (__u8)(0x80 >> i % 8);
}

static void step(struct address *address, int by)
{
	int i = address->family == ADDRESS_V4 ? 3 : 15;

	for (; i >= 0; i--) {
		address->bytes[i] = (__u8)(address->bytes[i] + by);
		if (address->bytes[i] != (by > 0 ? 0 : 0xff))
			break;
	}
}

static int ask(struct question *q, const struct address *address)
{
	struct address mapped;

	q->asked++;
	if (differs(q, address))
		return 1;
	if (address->family != ADDRESS_V4)
		return 0;
	mapped_of(address, &mapped);
	/* A mapped one is no address of a name's; the kernel is asked for the one within. */
	return (dial(&mapped, 443, SOCK_STREAM) == EACCES) !=
	       (dial(address, 443, SOCK_STREAM) == EACCES);
}

static int ask_edges(struct question *q, const struct address_block *block)
{
	struct address address;

	for (int last = 0; last < 2; last++) {
		edge(block, last, &address);
		if (ask(q, &address))
			return 1;
		step(&address, last ? 1 : -1);
		if (ask(q, &address))
			return 1;
	}
	return 0;
}

static const char *const others[] = {
	"8.8.8.8",
	"2606:4700::1111",
	"2606:4700::5efe:8.8.8.8",
	"2606:4700::5efe:7f00:1",
	"2606:4700::200:5efe:a00:1",
	"64:ff9b::808:808",
	"64:ff9b::7f00:1",
	"2002:808:808::1",
	"::ffff:0:808:808",
	"2001:0:808:808::1",
};

static int do_ask(void *data)
{
	struct question *q = data;
	const struct address_block *blocks;
	struct address address;
	size_t count;

	blocks = address_blocks(&count);
	for (size_t i = 0; i < count; i++)
		if (ask_edges(q, &blocks[i]))
			return 1;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (address_parse(others[i], &address) || ask(q, &address))
			return 1;
	return 0;
}

static int check_rules(struct cell *cell, const struct address_rules *rules)
{
	struct board *shared = board_new();
	struct question q = {.rules = rules, .said = (char *)shared};
	int r;

	CHECK(shared && kern_fence_fill(cell->kern, rules, NULL, 0) == 0, "cannot fill the fence");
	r = cell_call(cell, BESIDE, do_ask, &q);
	if (r)
		r = case_fail("%s; %s", outcome_text(r), q.said);
	board_free(shared);
	return r;
}

static int do_resolvers(void *data)
{
	const struct kern_resolver *resolver = data;
	struct address other = resolver->address;

	/* UDP connects without a word. */
	if (dial(&resolver->address, resolver->port, SOCK_DGRAM) != 0 ||
	    dial(&resolver->address, resolver->port, SOCK_STREAM) == EACCES)
		return 1;
	other.bytes[3] ^= 8;
	return dial(&resolver->address, resolver->port + 1, SOCK_DGRAM) != EACCES ||
	       dial(&resolver->address, 443, SOCK_STREAM) != EACCES ||
	       dial(&other, resolver->port, SOCK_DGRAM) != EACCES;
}

static int case_fence(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	struct address_rules rules = {};
	struct kern_resolver resolver = {.port = 53};
	struct error error = {};
	__u64 before, after;

	CHECK(cell, "no cell");
	CHECK(cell_call(cell, BESIDE, do_resolvers, &resolver) == 1, "resolvers without a fence");
	CHECK(address_set_synthetic(&rules, "100.127.0.0/16", &error) == 0, "%s", error.text);
	CHECK(kern_fence_attach(kern, cell->beside, &error) == 0, "%s", error.text);
	CHECK(kern_fence_refused(kern, &before) == 0, "no count");
	if (check_rules(cell, &rules))
		return -1;
	CHECK(address_add_nat64(&rules, "64:ff9b::/96", &error) == 0, "%s", error.text);
	if (check_rules(cell, &rules))
		return -1;
	CHECK(address_parse("127.0.0.53", &resolver.address) == 0 &&
		      kern_fence_fill(kern, &rules, &resolver, 1) == 0,
	      "cannot name a resolver");
	CHECK(cell_call(cell, BESIDE, do_resolvers, &resolver) == 0, "resolvers");
	CHECK(kern_fence_refused(kern, &after) == 0 && after > before, "nothing was counted");
	CHECK(kern_fence_detach(kern) == 0, "not taken down");
	CHECK(cell_call(cell, BESIDE, do_resolvers, &resolver) == 1, "the fence stands still");
	return 0;
}

const struct test_case fence_cases[] = {
	{"fence/table", case_fence, CASE_ALLOWS},
	{},
};

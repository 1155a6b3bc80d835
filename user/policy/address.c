// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define V4_BYTES 4
#define V6_BYTES 16
/* RFC 6052 §2.2: bits 64 to 71 of an address with an IPv4 address in it are 0. */
#define NAT64_U_OCTET 8

static unsigned int bytes_of(const struct address *address)
{
	return address->family == ADDRESS_V4 ? V4_BYTES : V6_BYTES;
}

static bool is_in(const struct address_block *block, const struct address *address)
{
	unsigned int whole = block->length / 8, rest = block->length % 8;

	if (block->address.family != address->family ||
	    memcmp(block->address.bytes, address->bytes, whole))
		return false;
	return !rest || !((block->address.bytes[whole] ^ address->bytes[whole]) >> (8 - rest));
}

static void prefer_longer(const struct address_block *block, const struct address *address,
			  const struct address_block **best)
{
	if (is_in(block, address) && (!*best || block->length > (*best)->length))
		*best = block;
}

static const struct address_block *find_block(const struct address_rules *rules,
					      const struct address *address)
{
	const struct address_block *blocks, *best = NULL;
	size_t i, n;

	blocks = address_blocks(&n);
	for (i = 0; i < n; i++)
		prefer_longer(&blocks[i], address, &best);
	/* Whatever of the table stands within it: the range is this host's own. */
	if (rules->synthetic.length && is_in(&rules->synthetic, address))
		best = &rules->synthetic;
	return best;
}

/* The prefix's own row wins: an operator may name what the table has. */
static const struct address_block *find_nat64(const struct address_rules *rules,
					      const struct address *address)
{
	const struct address_block *best = NULL;
	size_t i;

	for (i = 0; i < rules->nat64_count; i++)
		prefer_longer(&rules->nat64[i], address, &best);
	return best;
}

/* The IPv4 address behind `length` bits, around the octet that is none of its own; false when what stands behind
 * it, or that octet, is not 0: nobody says what a translator does with it. */
static bool read_nat64(const struct address *address, unsigned int length, struct address *ret)
{
	unsigned int at = length / 8, n = 0;

	*ret = (struct address){.family = ADDRESS_V4};
	if (address->bytes[NAT64_U_OCTET])
		return false;
	for (; n < V4_BYTES; at++) {
		if (at != NAT64_U_OCTET)
			ret->bytes[n++] = address->bytes[at];
	}
	for (; at < V6_BYTES; at++) {
		if (address->bytes[at])
			return false;
	}
	return true;
}

/* Where an IPv4 address stands in an address that has these bits in front. */
static const struct wrapping {
	enum address_wrapping kind;
	struct address_block prefix;
	unsigned int at;
	__u8 invert;
} wrappings[] = {
	{ADDRESS_MAPPED, {{ADDRESS_V6, {[10] = 0xff, 0xff}}, .length = 96}, 12, 0},
	{ADDRESS_TRANSLATED, {{ADDRESS_V6, {[8] = 0xff, 0xff}}, .length = 96}, 12, 0},
	{ADDRESS_COMPATIBLE, {{ADDRESS_V6, {0}}, .length = 96}, 12, 0},
	{ADDRESS_NAT64, {{ADDRESS_V6, {0, 0x64, 0xff, 0x9b}}, .length = 96}, 12, 0},
	{ADDRESS_NAT64, {{ADDRESS_V6, {0, 0x64, 0xff, 0x9b, 0, 1}}, .length = 48}, 12, 0},
	{ADDRESS_6TO4, {{ADDRESS_V6, {0x20, 0x02}}, .length = 16}, 2, 0},
	{ADDRESS_TEREDO, {{ADDRESS_V6, {0x20, 0x01}}, .length = 32}, 12, 0xff},
};

static struct address read_wrapped(const struct address *address, unsigned int at, __u8 invert)
{
	struct address inner = {.family = ADDRESS_V4};
	unsigned int i;

	for (i = 0; i < V4_BYTES; i++)
		inner.bytes[i] = address->bytes[at + i] ^ invert;
	return inner;
}

/* The identifier of an interface; the universal bit says whether the IPv4 address is unique (RFC 5214 §6.1). */
static bool is_isatap(const struct address *address)
{
	const __u8 *id = address->bytes + 8;

	return (id[0] & ~2) == 0 && id[1] == 0 && id[2] == 0x5e && id[3] == 0xfe;
}

static enum address_wrapping unwrap(const struct address *address, struct address *ret)
{
	size_t i;

	if (address->family != ADDRESS_V6)
		return ADDRESS_PLAIN;
	for (i = 0; i < sizeof(wrappings) / sizeof(*wrappings); i++) {
		if (!is_in(&wrappings[i].prefix, address))
			continue;
		*ret = read_wrapped(address, wrappings[i].at, wrappings[i].invert);
		return wrappings[i].kind;
	}
	if (!is_isatap(address))
		return ADDRESS_PLAIN;
	*ret = read_wrapped(address, 12, 0);
	return ADDRESS_ISATAP;
}

/* By an operator's prefix: the IPv4 address alone decides. */
static bool judge_nat64(const struct address_rules *rules, const struct address *address,
			struct address_verdict *verdict)
{
	verdict->wrapping = ADDRESS_NAT64;
	if (!read_nat64(address, verdict->block->length, &verdict->inner))
		verdict->wrapping = ADDRESS_PLAIN;
	else
		verdict->inner_block = find_block(rules, &verdict->inner);
	return verdict->inner_block && verdict->inner_block->is_public;
}

bool address_is_public(const struct address_rules *rules, const struct address *address,
		       struct address_verdict *ret_verdict)
{
	struct address_verdict *verdict = ret_verdict;

	*verdict = (struct address_verdict){.block = find_nat64(rules, address)};
	if (verdict->block)
		return judge_nat64(rules, address, verdict);
	verdict->block = find_block(rules, address);
	/* :: and ::1 are no IPv4 addresses. */
	if (verdict->block->length < 8 * V6_BYTES)
		verdict->wrapping = unwrap(address, &verdict->inner);
	if (verdict->wrapping != ADDRESS_PLAIN)
		verdict->inner_block = find_block(rules, &verdict->inner);
	return verdict->block->is_public &&
	       (!verdict->inner_block || verdict->inner_block->is_public);
}

static const char *const wrapping_names[] = {
	[ADDRESS_MAPPED] = "mapped",	     [ADDRESS_COMPATIBLE] = "compatible",
	[ADDRESS_TRANSLATED] = "translated", [ADDRESS_6TO4] = "6to4",
	[ADDRESS_TEREDO] = "Teredo",	     [ADDRESS_ISATAP] = "ISATAP",
	[ADDRESS_NAT64] = "NAT64",
};

void address_why(const struct address *address, const struct address_verdict *verdict, char *ret,
		 size_t size)
{
	char whole[ADDRESS_TEXT_SIZE], inner[ADDRESS_TEXT_SIZE];

	address_format(address, whole);
	if (verdict->wrapping == ADDRESS_PLAIN) {
		(void)snprintf(ret, size, "%s is %s (%s)", whole, verdict->block->name,
			       verdict->block->source);
		return;
	}
	address_format(&verdict->inner, inner);
	(void)snprintf(ret, size, "%s is %s (%s): %s of %s, %s (%s)", whole, verdict->block->name,
		       verdict->block->source, wrapping_names[verdict->wrapping], inner,
		       verdict->inner_block->name, verdict->inner_block->source);
}

/* inet_pton takes what the RFCs write and no more: four decimal parts without leading zeros, or RFC 4291's
 * forms; neither zones nor spaces. */
int address_parse(const char *text, struct address *ret)
{
	struct address address = {.family = strchr(text, ':') ? ADDRESS_V6 : ADDRESS_V4};

	if (inet_pton(address.family == ADDRESS_V4 ? AF_INET : AF_INET6, text, address.bytes) != 1)
		return -EINVAL;
	*ret = address;
	return 0;
}

void address_format(const struct address *address, char ret[ADDRESS_TEXT_SIZE])
{
	(void)inet_ntop(address->family == ADDRESS_V4 ? AF_INET : AF_INET6, address->bytes, ret,
			ADDRESS_TEXT_SIZE);
}

static bool is_clear_behind(const struct address *address, unsigned int length)
{
	unsigned int bit, bits = 8 * bytes_of(address);

	for (bit = length; bit < bits; bit++) {
		if (address->bytes[bit / 8] >> (7 - bit % 8) & 1)
			return false;
	}
	return true;
}

/* "ADDRESS/LENGTH" of one family. */
static int parse_prefix(const char *text, enum address_family family, struct address_block *ret,
			struct error *error)
{
	const char *slash = strchr(text, '/');
	char address[ADDRESS_TEXT_SIZE];
	unsigned long length;
	char *end;

	if (!slash || (size_t)(slash - text) >= sizeof(address) || slash[1] < '0' || slash[1] > '9')
		return error_set(error, EINVAL, "\"%.100s\" is no prefix: write ADDRESS/LENGTH",
				 text);
	memcpy(address, text, (size_t)(slash - text));
	address[slash - text] = '\0';
	length = strtoul(slash + 1, &end, 10);
	if (address_parse(address, &ret->address) < 0 || ret->address.family != family)
		return error_set(error, EINVAL, "\"%.100s\": no IPv%d address stands before the /",
				 text, (int)family);
	if (*end || length > 8 * bytes_of(&ret->address))
		return error_set(error, EINVAL, "\"%.100s\": the length is 0 to %u bits", text,
				 8 * bytes_of(&ret->address));
	if (!is_clear_behind(&ret->address, (unsigned int)length))
		return error_set(error, EINVAL, "\"%.100s\": bits behind the prefix are set", text);
	ret->length = (unsigned int)length;
	return 0;
}

static bool is_nat64_length(unsigned int length)
{
	return length == 96 || (length >= 32 && length <= 64 && length % 8 == 0);
}

/* May a translator have it? Public space of the operator's own, private, and what the RFCs set aside. */
static bool is_nat64_place(const struct address_block *prefix)
{
	static const struct address_rules none;
	const struct address_block *block = find_block(&none, &prefix->address);

	if (block->length > prefix->length)
		return false;
	return block->is_public || block->address.bytes[1] == 0x64 ||
	       (block->address.bytes[0] == 0xfc && block->length == 7);
}

int address_add_nat64(struct address_rules *rules, const char *text, struct error *error)
{
	struct address_block prefix = {.name = "NAT64", .source = "configuration"};
	int r = parse_prefix(text, ADDRESS_V6, &prefix, error);

	if (r < 0)
		return r;
	if (!is_nat64_length(prefix.length))
		return error_set(
			error, EINVAL,
			"\"%s\": a NAT64 prefix has 32, 40, 48, 56, 64 or 96 bits (RFC 6052)",
			text);
	if (prefix.address.bytes[NAT64_U_OCTET])
		return error_set(error, EINVAL, "\"%s\": bits 64 to 71 are 0 (RFC 6052)", text);
	if (!is_nat64_place(&prefix))
		return error_set(
			error, EINVAL,
			"\"%s\" is no place for a translator: it is in 2000::/3, fc00::/7, "
			"64:ff9b::/96 or 64:ff9b:1::/48",
			text);
	if (rules->nat64_count == ADDRESS_MAX_NAT64)
		return error_set(error, EINVAL, "\"%s\": more than %d NAT64 prefixes", text,
				 ADDRESS_MAX_NAT64);
	rules->nat64[rules->nat64_count++] = prefix;
	return 0;
}

/* A /8 has more addresses than all compartments can use, a /24 fewer than one wildcard may; a range of
 * somebody else's would take that one from every provider. */
int address_set_synthetic(struct address_rules *rules, const char *text, struct error *error)
{
	static const struct address_rules none;
	struct address_block range = {.name = "synthetic", .source = "configuration"};
	int r = parse_prefix(text, ADDRESS_V4, &range, error);

	if (r < 0)
		return r;
	if (range.length < 8 || range.length > 24)
		return error_set(error, EINVAL, "\"%s\": the range has 8 to 24 bits", text);
	if (find_block(&none, &range.address)->is_public)
		return error_set(
			error, EINVAL,
			"\"%s\" is public: a synthetic address must stand for no real one; write "
			"198.18.0.0/15 or a private range that this host has no use for",
			text);
	rules->synthetic = range;
	return 0;
}

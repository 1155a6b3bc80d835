// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "listen.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "port.h"

#define FORMS "127.0.0.1:8080, [::1]:8080 or *:8080"

static int refuse(struct destination_fault *ret, size_t offset, const char *reason)
{
	*ret = (struct destination_fault){offset, reason};
	return -EINVAL;
}

/* Those whose first bits are these. */
static const struct {
	enum address_family family;
	unsigned int length;
	__u8 bytes[12];
	const char *reason;
} closed[] = {
	{ADDRESS_V4, 32, {0}, "write *, which means every address"},
	{ADDRESS_V4, 15, {198, 18}, "198.18.0.0/15 stands for names of egress"},
	{ADDRESS_V4, 4, {224}, "a group: by TCP nobody listens there"},
	{ADDRESS_V4, 4, {240}, "no host's address: by TCP nobody listens there"},
	{ADDRESS_V6, 128, {0}, "write *, which means every address"},
	{ADDRESS_V6, 96, {[10] = 0xff, 0xff}, "a mapped address: write it as IPv4"},
	{ADDRESS_V6, 10, {0xfe, 0x80}, "an address of the link needs a zone: write *"},
	{ADDRESS_V6, 8, {0xff}, "a group: by TCP nobody listens there"},
};

static bool begins_with(const struct address *address, const __u8 *bytes, unsigned int length)
{
	__u8 mask = (__u8)(0xff00 >> length % 8);

	return !memcmp(address->bytes, bytes, length / 8) &&
	       (!mask || (address->bytes[length / 8] & mask) == bytes[length / 8]);
}

static bool is_zero(const struct address *address)
{
	static const struct address zero;

	return !memcmp(address->bytes, zero.bytes, sizeof(zero.bytes));
}

static const char *why_closed(const struct address *address)
{
	const unsigned int bits = address->family == ADDRESS_V4 ? 32 : 128;
	size_t i;

	for (i = 0; i < sizeof(closed) / sizeof(*closed); i++) {
		if (closed[i].family != address->family)
			continue;
		if (closed[i].length == bits
			    ? is_zero(address)
			    : begins_with(address, closed[i].bytes, closed[i].length))
			return closed[i].reason;
	}
	return NULL;
}

/* From `at` on, `length` bytes; with brackets around it or not, as its family wants. */
static int take_address(const char *text, size_t at, size_t length, enum address_family family,
			struct listen_at *ret, struct destination_fault *fault)
{
	char word[ADDRESS_TEXT_SIZE], form[ADDRESS_TEXT_SIZE];
	struct address address = {.family = family};
	const char *why;

	if (memchr(text + at, '%', length))
		return refuse(fault, at, "no zone stands behind an address: write *");
	if (!length || length >= sizeof(word))
		return refuse(fault, at, "no address: write " FORMS);
	memcpy(word, text + at, length);
	word[length] = '\0';
	if (address_parse(word, &address) < 0 || address.family != family)
		return refuse(fault, at,
			      family == ADDRESS_V4 ? "neither an IPv4 address nor *: write " FORMS
						   : "no IPv6 address stands between [ and ]");
	why = why_closed(&address);
	if (why)
		return refuse(fault, at, why);
	address_format(&address, form);
	/* By its length, too: a NUL ends the word. */
	if (strlen(form) != length || memcmp(form, text + at, length) != 0)
		return refuse(fault, at,
			      "not in its short form, in lower case (RFC 5952): write it so");
	ret->address = address;
	return 0;
}

/* What stands before the first of several colons. */
static bool is_hexadecimal(const char *text, size_t length)
{
	size_t i;

	for (i = 0; i < length && isxdigit((unsigned char)text[i]); i++)
		;
	return i == length;
}

/* *ret_end: where the colon before the ports stands, or the text ends. */
static int take_place(const char *text, size_t length, size_t *ret_end, struct listen_at *ret,
		      struct destination_fault *fault)
{
	const char *close = memchr(text, ']', length), *colon = memchr(text, ':', length);
	size_t end = colon ? (size_t)(colon - text) : length;
	int r = 0;

	if (length && text[0] == '[') {
		if (!close)
			return refuse(fault, length, "no ] behind the address");
		end = (size_t)(close - text);
		r = take_address(text, 1, end - 1, ADDRESS_V6, ret, fault);
		end++;
	} else if (end == 1 && text[0] == '*') {
		ret->any = true;
	} else if (colon && memchr(colon + 1, ':', length - end - 1) && is_hexadecimal(text, end)) {
		return refuse(fault, 0, "brackets stand around an IPv6 address: write [::1]:8080");
	} else {
		r = take_address(text, 0, end, ADDRESS_V4, ret, fault);
	}
	*ret_end = end;
	return r;
}

static bool has_port(const struct listen_at *rows, size_t n, __u16 port)
{
	while (n--) {
		if (rows[n].port == port)
			return true;
	}
	return false;
}

int listen_parse(const char *text, size_t length, struct listen_at ret[LISTEN_PORTS], size_t *ret_n,
		 struct destination_fault *ret_fault)
{
	struct listen_at rows[LISTEN_PORTS], at = {0};
	size_t end = 0, begin, n = 0;
	int r = take_place(text, length, &end, &at, ret_fault);

	if (r < 0)
		return r;
	if (end == length || text[end] != ':')
		return refuse(ret_fault, end, PORT_ABSENT FORMS);
	do {
		begin = end + 1;
		r = port_parse(text, begin, length, PORT_ABSENT FORMS, &end, &at.port, ret_fault);
		if (r < 0)
			return r;
		if (has_port(rows, n, at.port))
			return refuse(ret_fault, begin, "this port is there already");
		if (n == LISTEN_PORTS)
			return refuse(ret_fault, begin, "more than 16 ports: write a second entry");
		rows[n++] = at;
	} while (end < length);
	memcpy(ret, rows, n * sizeof(*rows));
	*ret_n = n;
	return 0;
}

void listen_format(const struct listen_at *at, char ret[LISTEN_TEXT_SIZE])
{
	char address[ADDRESS_TEXT_SIZE] = "*";
	bool six = !at->any && at->address.family == ADDRESS_V6;

	if (!at->any)
		address_format(&at->address, address);
	(void)snprintf(ret, LISTEN_TEXT_SIZE, "%s%s%s:%u", six ? "[" : "", address, six ? "]" : "",
		       at->port);
}

bool listen_covers(const struct listen_at *all, const struct listen_at *one)
{
	if (all->port != one->port)
		return false;
	return all->any ||
	       (!one->any && all->address.family == one->address.family &&
		!memcmp(all->address.bytes, one->address.bytes, sizeof(all->address.bytes)));
}

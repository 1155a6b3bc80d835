// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "destination.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "port.h"

#define LABEL_MAX 63
#define DNS_PORT 53
#define NO_ADDRESS "an address is no destination: write the name that the provider asks for"

static int refuse(struct destination_fault *ret, size_t offset, const char *reason)
{
	*ret = (struct destination_fault){offset, reason};
	return -EINVAL;
}

/* Bytes that a name of some kind would have here, each with what to do; any other byte is no part of a name. */
static const struct {
	char byte;
	const char *reason;
} strangers[] = {
	{'*', "* stands for the whole first label alone: write *.example.com"},
	{':', "neither a port nor an address stands in a name"},
	{'/', "no URL and no path: write name:port"},
	{'@', "no user name: write name:port"},
	{'[', NO_ADDRESS},
	{']', NO_ADDRESS},
	{'%', "neither zones nor percent-encoding stand in a name"},
	{' ', "a space: write no more than name:port"},
	{'\0', "a NUL: nothing behind it would be read by some"},
};

static const char *stranger(unsigned char byte)
{
	size_t i;

	for (i = 0; i < sizeof(strangers) / sizeof(*strangers); i++) {
		if ((unsigned char)strangers[i].byte == byte)
			return strangers[i].reason;
	}
	if (byte >= 0x80)
		return "not ASCII: write the name's A-labels (xn--...)";
	if (byte >= 'A' && byte <= 'Z')
		return "an upper-case letter: write the name in lower case";
	return "no byte of a name: letters, digits, -, _ and dots are";
}

static bool is_letter(char byte)
{
	return byte >= 'a' && byte <= 'z';
}

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

/* A label from `at` on; *ret_end behind it. */
static int check_label(const char *name, size_t at, size_t length, size_t *ret_end,
		       struct destination_fault *fault)
{
	size_t end = at;

	while (end < length && (is_letter(name[end]) || is_digit(name[end]) || name[end] == '-' ||
				name[end] == '_'))
		end++;
	if (end < length && name[end] != '.')
		return refuse(fault, end, stranger((unsigned char)name[end]));
	if (end == at)
		return refuse(fault, at,
			      "an empty label: one dot between labels, none at the ends");
	if (end - at > LABEL_MAX)
		return refuse(fault, at + LABEL_MAX, "a label has 63 bytes at most");
	if (name[at] == '-' || name[end - 1] == '-')
		return refuse(fault, name[at] == '-' ? at : end - 1,
			      "a label neither begins nor ends with -");
	*ret_end = end;
	return 0;
}

/* Is it a number to those who read addresses? 0x is one without digits, too. */
static bool is_number(const char *label, size_t length)
{
	size_t i;

	if (length >= 2 && label[0] == '0' && label[1] == 'x')
		return true;
	for (i = 0; i < length && !is_letter(label[i]); i++)
		;
	return i == length;
}

/* Names that stand for the host itself, its neighbours or its cloud, whatever addresses they have. Each ends a
 * name, at a dot. */
static const struct {
	const char *tail, *reason;
} reserved[] = {
	{"localhost", "localhost is the host itself (RFC 6761)"},
	{"local", ".local is the link's (mDNS, RFC 6762)"},
	{"internal", ".internal is the site's own, and the clouds' metadata (ICANN 2024)"},
	{"arpa", ".arpa is infrastructure (RFC 3172)"},
	{"onion", ".onion is not in the DNS (RFC 7686)"},
	{"alt", ".alt is not in the DNS (RFC 9476)"},
	{"metadata.goog", "metadata.goog answers with the machine's credentials"},
	{"metadata.tencentyun.com",
	 "metadata.tencentyun.com answers with the machine's credentials"},
};

static bool ends_with(const char *name, size_t length, const char *tail)
{
	size_t n = strlen(tail);

	return length >= n && !memcmp(name + length - n, tail, n) &&
	       (length == n || name[length - n - 1] == '.');
}

/* What labels alone do not say. */
static int check_whole(const char *name, size_t length, size_t last,
		       struct destination_fault *fault)
{
	size_t i;

	if (is_number(name + last, length - last))
		return refuse(fault, last, "the last label is a number: " NO_ADDRESS);
	for (i = 0; i < sizeof(reserved) / sizeof(*reserved); i++) {
		if (ends_with(name, length, reserved[i].tail))
			return refuse(fault, length - strlen(reserved[i].tail), reserved[i].reason);
	}
	return last ? 0 : refuse(fault, length, "one label: write the whole name, with its domain");
}

/* In lower case and without a dot at the end. Offsets are of `name`. */
static int check_name(const char *name, size_t length, struct destination_fault *fault)
{
	size_t at, end = 0, last = 0;
	int r;

	if (!length)
		return refuse(fault, 0, "no name");
	for (at = 0; at <= length; at = end + 1) {
		r = check_label(name, at, length, &end, fault);
		if (r < 0)
			return r;
		last = at;
	}
	if (length >= DESTINATION_NAME_SIZE)
		return refuse(fault, DESTINATION_NAME_SIZE - 1, "a name has 253 bytes at most");
	return check_whole(name, length, last, fault);
}

static int take_name(const char *text, size_t length, struct destination *ret,
		     struct destination_fault *fault)
{
	size_t skip = length >= 2 && text[0] == '*' && text[1] == '.' ? 2 : 0;
	int r = check_name(text + skip, length - skip, fault);

	if (r < 0) {
		fault->offset += skip;
		return r;
	}
	ret->wildcard = skip;
	memcpy(ret->name, text + skip, length - skip);
	ret->name[length - skip] = '\0';
	return 0;
}

static int take_ports(const char *text, size_t at, size_t length, struct destination *ret,
		      struct destination_fault *fault)
{
	size_t end;
	__u16 port = 0;
	int r;

	for (;; at = end + 1) {
		r = port_parse(text, at, length, PORT_ABSENT "name:443", &end, &port, fault);
		if (r < 0)
			return r;
		if (port == DNS_PORT)
			return refuse(fault, at,
				      "port 53 is the host's stub, whoever is asked: leave it out");
		if (destination_has_port(ret, port))
			return refuse(fault, at, "this port is there already");
		if (ret->nports == DESTINATION_PORTS)
			return refuse(fault, at, "more than 16 ports: write a second entry");
		ret->ports[ret->nports++] = port;
		if (end == length)
			return 0;
	}
}

int destination_parse(const char *text, size_t length, struct destination *ret,
		      struct destination_fault *ret_fault)
{
	const char *colon = memchr(text, ':', length);
	size_t name = colon ? (size_t)(colon - text) : length;
	struct destination destination = {0};
	int r;

	if (name == 1 && text[0] == '*')
		return refuse(ret_fault, 0, "there is no entry for every name: name each");
	r = take_name(text, name, &destination, ret_fault);
	if (r == 0 && !colon)
		r = refuse(ret_fault, length, PORT_ABSENT "name:443");
	if (r == 0)
		r = take_ports(text, name + 1, length, &destination, ret_fault);
	if (r == 0)
		*ret = destination;
	return r;
}

void destination_format(const struct destination *destination, char ret[DESTINATION_TEXT_SIZE])
{
	size_t i;
	int n = snprintf(ret, DESTINATION_TEXT_SIZE, "%s%s", destination->wildcard ? "*." : "",
			 destination->name);

	for (i = 0; i < destination->nports; i++)
		n += snprintf(ret + n, DESTINATION_TEXT_SIZE - (size_t)n, "%c%u", i ? ',' : ':',
			      destination->ports[i]);
}

int destination_name(const void *bytes, size_t length, char ret[DESTINATION_NAME_SIZE],
		     struct destination_fault *ret_fault)
{
	char name[DESTINATION_NAME_SIZE + 1];
	const char *from = bytes;
	size_t i;
	int r;

	if (length > DESTINATION_NAME_SIZE)
		return refuse(ret_fault, DESTINATION_NAME_SIZE - 1, "a name has 253 bytes at most");
	for (i = 0; i < length; i++)
		name[i] = from[i] >= 'A' && from[i] <= 'Z' ? (char)(from[i] | 0x20) : from[i];
	if (length > 1 && name[length - 1] == '.')
		length--;
	r = check_name(name, length, ret_fault);
	if (r < 0)
		return r;
	memcpy(ret, name, length);
	ret[length] = '\0';
	return 0;
}

bool destination_has_name(const struct destination *destination, const char *name)
{
	const char *dot;

	if (!destination->wildcard)
		return !strcmp(destination->name, name);
	dot = strchr(name, '.');
	return dot && !strcmp(destination->name, dot + 1);
}

bool destination_has_port(const struct destination *destination, __u16 port)
{
	size_t i;

	for (i = 0; i < destination->nports; i++) {
		if (destination->ports[i] == port)
			return true;
	}
	return false;
}

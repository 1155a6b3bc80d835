// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "port.h"

#include <errno.h>

static int refuse(struct destination_fault *ret, size_t offset, const char *reason)
{
	*ret = (struct destination_fault){offset, reason};
	return -EINVAL;
}

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

int port_parse(const char *text, size_t at, size_t length, const char *absent, size_t *ret_end,
	       __u16 *ret, struct destination_fault *ret_fault)
{
	size_t end = at;
	__u32 port = 0;

	for (; end < length && is_digit(text[end]) && port <= 0xffff; end++)
		port = 10 * port + (__u32)(text[end] - '0');
	if (end < length && is_digit(text[end]))
		return refuse(ret_fault, at, "a port is 1 to 65535");
	if (end < length && text[end] == '-')
		return refuse(ret_fault, end, "no range of ports: name each, with commas");
	if (end < length && text[end] != ',')
		return refuse(ret_fault, end,
			      "a port is decimal digits, and a comma stands between two");
	if (end == at)
		return refuse(ret_fault, at, absent);
	if (text[at] == '0' || port > 0xffff)
		return refuse(ret_fault, at, "a port is 1 to 65535, without zeros in front");
	*ret = (__u16)port;
	*ret_end = end;
	return 0;
}

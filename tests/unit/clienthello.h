/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef UNIT_CLIENTHELLO_H
#define UNIT_CLIENTHELLO_H

#include <string.h>
#include <linux/types.h>

/* A ClientHello in one record, which asks for this server. */
static inline size_t write_hello(const char *name, __u8 *ret)
{
	size_t n = strlen(name), extension = n + 5, all = 4 + extension,
	       body = 2 + 32 + 1 + 2 + 2 + 2 + 2 + all, at;
	const __u8 head[] = {0x16,
			     3,
			     1,
			     (__u8)((body + 4) >> 8),
			     (__u8)(body + 4),
			     1,
			     0,
			     (__u8)(body >> 8),
			     (__u8)body,
			     3,
			     3};

	memcpy(ret, head, sizeof(head));
	at = sizeof(head);
	memset(ret + at, 7, 32);
	at += 32;
	memcpy(ret + at, "\0\0\2\x13\1\1\0", 7);
	at += 7;
	ret[at++] = (__u8)(all >> 8);
	ret[at++] = (__u8)all;
	memcpy(ret + at, "\0\0", 2);
	ret[at + 2] = (__u8)(extension >> 8);
	ret[at + 3] = (__u8)extension;
	ret[at + 4] = (__u8)((n + 3) >> 8);
	ret[at + 5] = (__u8)(n + 3);
	ret[at + 6] = 0;
	ret[at + 7] = (__u8)(n >> 8);
	ret[at + 8] = (__u8)n;
	memcpy(ret + at + 9, name, n);
	return at + 9 + n;
}

#endif

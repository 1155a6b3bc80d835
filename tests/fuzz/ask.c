// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Any bytes as what a proxy is asked, the first of them says how: the same is read of them whole, and byte by byte, no
 * byte behind a request is taken for one of it, and what is asked for is a name. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "egress/ask.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ask whole, bytes;
	struct destination_fault fault;
	char name[DESTINATION_NAME_SIZE];
	size_t used, one, sum = 0;

	/* SOCKS' first byte is 5, and no request of HTTP begins so. */
	whole.kind = bytes.kind = size && (data[0] == 4 || data[0] == 5) ? ASK_SOCKS : ASK_HTTP;
	whole = bytes = (struct ask){.kind = whole.kind};
	ask_feed(&whole, data, size, &used);
	for (size_t i = 0; i < size; i++, sum += one)
		ask_feed(&bytes, data + i, 1, &one);
	must(whole.outcome == bytes.outcome && used == sum && used <= size);
	must(whole.greeted == bytes.greeted && !strcmp(whole.name, bytes.name));
	must(!whole.reason == (whole.outcome == ASK_MORE || whole.outcome == ASK_TARGET));
	if (whole.outcome != ASK_TARGET)
		return 0;
	must(whole.kind == ASK_SOCKS || !memcmp(data + used - 4, "\r\n\r\n", 4));
	must(destination_name(whole.name, strlen(whole.name), name, &fault) == 0);
	must(!strcmp(whole.name, name));
	return 0;
}

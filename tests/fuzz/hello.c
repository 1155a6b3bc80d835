// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Any bytes as what a client sends first: the same is read of them whole, and byte by byte, and a name is one. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "egress/hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct hello whole, bytes;
	struct destination_fault fault;
	char name[DESTINATION_NAME_SIZE];

	whole = bytes = (struct hello){0};
	hello_feed(&whole, data, size);
	for (size_t i = 0; i < size; i++)
		hello_feed(&bytes, data + i, 1);
	must(whole.outcome == bytes.outcome && whole.raw == bytes.raw);
	must(whole.length <= sizeof(whole.message) && whole.raw <= size);
	if (whole.outcome != HELLO_NAME)
		return 0;
	must(!strcmp(whole.name, bytes.name));
	must(destination_name(whole.name, strlen(whole.name), name, &fault) == 0);
	must(!strcmp(whole.name, name));
	return 0;
}

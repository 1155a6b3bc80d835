// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Any bytes as an entry, as one to listen at, as a name that is asked for and as an address: what is accepted has one form, which is read
 * again as the same, and nothing that the grammar does not write. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "policy/address.h"
#include "policy/destination.h"
#include "policy/listen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void try_entry(const char *bytes, size_t size)
{
	struct destination destination, again;
	struct destination_fault fault = {.offset = SIZE_MAX};
	char text[DESTINATION_TEXT_SIZE];

	if (destination_parse(bytes, size, &destination, &fault) < 0) {
		must(fault.offset <= size && fault.reason);
		return;
	}
	destination_format(&destination, text);
	must(strlen(text) == size && !memcmp(text, bytes, size));
	must(destination_parse(text, strlen(text), &again, &fault) == 0);
	must(!destination_has_name(&destination, "") && !destination_has_port(&destination, 0));
	must(destination.wildcard != destination_has_name(&destination, destination.name));
}

/* A row written out is an entry of its own, and says the same; another row of the entry says something else. */
static void try_listen(const char *bytes, size_t size)
{
	struct listen_at rows[LISTEN_PORTS], again[LISTEN_PORTS];
	struct destination_fault fault = {.offset = SIZE_MAX};
	char text[LISTEN_TEXT_SIZE];
	size_t n = 0, n_again = 0, i;

	if (listen_parse(bytes, size, rows, &n, &fault) < 0) {
		must(fault.offset <= size && fault.reason);
		return;
	}
	must(n > 0 && n <= LISTEN_PORTS);
	for (i = 0; i < n; i++) {
		listen_format(&rows[i], text);
		must(n > 1 || (strlen(text) == size && !memcmp(text, bytes, size)));
		must(listen_parse(text, strlen(text), again, &n_again, &fault) == 0);
		must(n_again == 1 && listen_covers(&again[0], &rows[i]));
		must(listen_covers(&rows[i], &again[0]));
		must(i == 0 || !listen_covers(&rows[i], &rows[0]));
	}
}

static void try_name(const uint8_t *bytes, size_t size)
{
	char name[DESTINATION_NAME_SIZE], again[DESTINATION_NAME_SIZE];
	struct destination_fault fault = {.offset = SIZE_MAX};

	if (destination_name(bytes, size, name, &fault) < 0) {
		must(fault.offset <= size && fault.reason);
		return;
	}
	must(!name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.")] && strchr(name, '.'));
	must(destination_name(name, strlen(name), again, &fault) == 0 && !strcmp(name, again));
}

static void try_address(const uint8_t *bytes, size_t size)
{
	struct address address = {.family = ADDRESS_V6};
	static const struct address_rules rules;
	struct address_verdict verdict;
	char why[256];
	bool is_public;

	if (size != 4 && size != 16)
		return;
	if (size == 4)
		address.family = ADDRESS_V4;
	memcpy(address.bytes, bytes, size);
	is_public = address_is_public(&rules, &address, &verdict);
	address_why(&address, &verdict, why, sizeof(why));
	must(verdict.block && (!is_public || verdict.block->is_public));
	must(verdict.wrapping == ADDRESS_PLAIN || verdict.inner_block);
	must(size == 4 || !is_public || (bytes[0] & 0xe0) == 0x20);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_entry((const char *)data, size);
	try_listen((const char *)data, size);
	try_name(data, size);
	try_address(data, size);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Any bytes as a query: what is sent is a packet that ldns reads, with the query's number and no more than one record, and
 * an address is given to a listed name alone. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ldns/ldns.h>
#include "egress/answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static struct book *make_book(void)
{
	static const char *const texts[] = {"api.example.com:443", "*.cdn.example.net:443,80"};
	struct destination entries[sizeof(texts) / sizeof(*texts)];
	struct address_rules rules = {0};
	struct destination_fault fault;
	struct book *book;
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		must(destination_parse(texts[i], strlen(texts[i]), &entries[i], &fault) == 0);
	must(address_set_synthetic(&rules, "198.18.0.0/15", NULL) == 0);
	must(book_new(&rules.synthetic, &book) == 0);
	must(book_list(book, entries, sizeof(texts) / sizeof(*texts), NULL) == 0);
	return book;
}

static void check_reply(const struct answer *answer, const uint8_t *query)
{
	ldns_pkt *packet;

	must(ldns_wire2pkt(&packet, answer->wire, answer->length) == LDNS_STATUS_OK);
	must(!memcmp(answer->wire, query, 2) && ldns_pkt_qr(packet) && !ldns_pkt_tc(packet));
	must(ldns_pkt_ancount(packet) ==
	     (answer->outcome == ANSWER_ADDRESS || answer->outcome == ANSWER_NAME));
	ldns_pkt_free(packet);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct book *book;
	struct answer_view view;
	struct answer answer;

	if (!book)
		book = make_book();
	view = (struct answer_view){.book = book, .granted = size % 5 != 0, .proxy = size % 3 == 0};
	must(answer_query(&view, data, size, &answer) == 0);
	if (answer.length)
		check_reply(&answer, data);
	if (answer.outcome == ANSWER_ADDRESS && answer.address == book_proxy(book))
		must(view.granted && view.proxy && !strcmp(answer.name, BOOK_PROXY));
	else if (answer.outcome == ANSWER_ADDRESS)
		must(view.granted && !strcmp(book_name(book, answer.address), answer.name) &&
		     (book_has(book, answer.name, 443)));
	must(book_count(book) <= 4096 + 1);
	return 0;
}

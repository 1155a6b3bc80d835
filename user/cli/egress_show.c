// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <string.h>
#include "egress_check.h"

static void show_entry(const json_t *entry)
{
	show_terms(text_of(entry, "to"), text_of(entry, "discloses"),
		   (uint64_t)json_integer_value(json_object_get(entry, "max_upload")),
		   json_is_true(json_object_get(entry, "tls")));
}

static void show_listed(const json_t *answer)
{
	const json_t *entry = json_object_get(answer, "entry"), *other;
	size_t i;

	if (json_is_object(entry)) {
		printf("  listed at %s:%lld\n", text_of(entry, "file"),
		       (long long)json_integer_value(json_object_get(entry, "line")));
		show_entry(entry);
		return;
	}
	printf("  refused: %s\n", text_of(answer, "reason"));
	json_array_foreach (json_object_get(answer, "other_ports"), i, other)
		show_entry(other);
}

static void show_outcome(const json_t *answer)
{
	static const struct {
		const char *outcome, *words;
	} rows[] = {
		{"not-configured", "nothing was dialled"},
		{"not-dialled", "nothing was dialled"},
		{"refused", "refused"},
		{"not-reached", "not reached"},
	};
	const char *outcome = text_of(answer, "outcome"), *address = text_of(answer, "address");

	if (egress_is_reached(answer))
		printf("  reached at %s in %lld ms; the connection is closed, nothing was sent\n",
		       *address ? address : "an address that hung up at once",
		       (long long)json_integer_value(json_object_get(answer, "ms")));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strcmp(outcome, rows[i].outcome))
			printf("  %s: %s\n", rows[i].words, text_of(answer, "reason"));
}

void egress_show(const json_t *answer)
{
	const json_t *policy = json_object_get(answer, "policy");

	printf("%s:%lld under policy %s, mode %s\n", text_of(answer, "name"),
	       (long long)json_integer_value(json_object_get(answer, "port")),
	       text_of(policy, "name"), text_of(policy, "mode"));
	show_listed(answer);
	show_outcome(answer);
	if (!strcmp(text_of(policy, "mode"), "audit"))
		puts("  mode audit reports and does not bound: members connect by themselves; this "
		     "is "
		     "what mode enforce would do");
	if (json_is_object(json_object_get(answer, "entry")))
		puts("  not asked: whether it is granted. A compartment reaches it only while it "
		     "is "
		     "(bulkhead grant NAME|ID egress)");
}

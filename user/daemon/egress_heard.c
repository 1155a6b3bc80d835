// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the relay tells unasked: names that it gave addresses, and what became of queries and connections. */
#include <errno.h>
#include <string.h>
#include "audit/egress.h"
#include "egress.h"

struct way *egress_find(struct egress *e, __u64 serial)
{
	for (__u32 id = 1; id < BH_MAX_COMPARTMENTS; id++)
		if (e->ways[id] && e->ways[id]->of.serial == serial)
			return e->ways[id];
	return NULL;
}

static struct egress_of of_way(const struct way *way)
{
	return way ? (struct egress_of){way->compartment, way->name} : (struct egress_of){0};
}

void egress_tell(struct egress *e, const struct way *way, const char *what, const char *outcome,
		 const char *reason)
{
	const struct egress_of of = of_way(way);

	stream_publish(e->daemon, egress_record(&of, what, outcome, reason, now_realtime_ns()));
}

static bool is_in_range(const struct egress *e, const char *text)
{
	struct address_verdict verdict;
	struct address address;

	if (address_parse(text, &address) || address.family != ADDRESS_V4)
		return false;
	address_is_public(&e->config->rules, &address, &verdict);
	return verdict.block == &e->config->rules.synthetic;
}

static int heard_gave(struct egress *e, const json_t *message)
{
	struct way *way =
		egress_find(e, (__u64)json_integer_value(json_object_get(message, "serial")));
	const json_t *pairs = json_object_get(message, "names"), *pair;
	size_t i;

	if (!json_is_array(pairs) || json_array_size(pairs) > CHANNEL_NAMES)
		return -EBADMSG;
	json_array_foreach (pairs, i, pair) {
		const char *address = json_string_value(json_array_get(pair, 0));
		const char *name = json_string_value(json_array_get(pair, 1));

		if (!address || !name || !is_in_range(e, address))
			return -EBADMSG;
		/* One that ended meanwhile keeps nothing. Another name at the address: it breaks its own word. */
		if (way && kept_names_add(&way->names, address, name) == -EBADMSG)
			return -EBADMSG;
	}
	return 0;
}

static int heard_event(struct egress *e, const json_t *message)
{
	const struct way *way =
		egress_find(e, (__u64)json_integer_value(json_object_get(message, "serial")));
	const struct egress_of of = of_way(way);
	json_t *record = egress_event_record(&of, message, now_realtime_ns());

	if (!record)
		return -EBADMSG;
	stream_publish(e->daemon, record);
	return 0;
}

static int heard_lost(struct egress *e, const json_t *message)
{
	json_int_t count = json_integer_value(json_object_get(message, "count"));

	if (count <= 0)
		return -EBADMSG;
	/* Whose they were nobody knows: they are not of the kernel's account. */
	stream_lost(e->daemon, 0, (__u64)count);
	return 0;
}

int egress_heard(struct egress *e, const json_t *message)
{
	static const struct {
		const char *is;
		int (*heard)(struct egress *e, const json_t *message);
	} rows[] = {{"gave", heard_gave}, {"event", heard_event}, {"lost", heard_lost}};
	const char *is = json_string_value(json_object_get(message, "is")) ?: "";

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strcmp(rows[i].is, is))
			return rows[i].heard(e, message);
	return -EBADMSG;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Egress as status shows it. */
#include <string.h>
#include "audit/escape.h"
#include "egress.h"

static json_t *text_record(const char *text)
{
	_cleanup_free_ char *escaped = text ? escape_bytes(text, strlen(text)) : NULL;

	return escaped ? json_string(escaped) : json_null();
}

static json_t *destinations_record(const struct policy *policy)
{
	json_t *array = json_array();

	for (size_t i = 0; i < policy->negress; i++) {
		const struct policy_destination *d = &policy->egress[i];
		char to[DESTINATION_TEXT_SIZE];

		destination_format(&d->to, to);
		json_array_append_new(array,
				      json_pack("{s:s, s:o, s:I, s:b}", "to", to, "discloses",
						text_record(d->discloses), "max_upload",
						(json_int_t)d->max_upload, "tls", d->tls));
	}
	return array;
}

static json_t *nets_record(const struct way *way)
{
	static const char *const states[] = {[NET_FAILED] = "failed",
					     [NET_OPEN] = "starting",
					     [NET_TOLD] = "starting",
					     [NET_SET] = "open"};
	json_t *array = json_array();

	for (size_t i = 0; way && i < way->nnets; i++) {
		const struct net *net = &way->nets[i];

		if (net->state == NET_GONE)
			continue;
		json_array_append_new(
			array, json_pack("{s:I, s:s, s:o}", "netns", (json_int_t)net->ino, "state",
					 states[net->state], "why", text_record(net->why)));
	}
	return array;
}

static json_t *grant_record(const struct grant *grant)
{
	uint64_t left = grant_left_ms(grant);
	json_t *only = grant->only ? json_array() : json_null();

	for (char **name = grant->only; name && *name; name++)
		json_array_append_new(only, text_record(*name));
	if (!left) {
		json_decref(only);
		return json_null();
	}
	return json_pack("{s:o, s:o, s:I}", "left_ms",
			 left == UINT64_MAX ? json_null() : json_integer((json_int_t)left), "only",
			 only, "uid", (json_int_t)grant->uid);
}

const char *egress_why(struct daemon *d, const struct compartment *c, const struct way *way)
{
	const struct egress *e = d->egress;

	if (!e || !e->config)
		return e ? e->off : "";
	if (!egress_is_in_force(c))
		return "its policy's file was edited since it was put in force: bulkhead reload";
	if (!way)
		return "it is starting";
	if (*way->why)
		return way->why;
	if (*relay_why(e->relay))
		return relay_why(e->relay);
	for (size_t i = 0; i < way->nnets; i++)
		if (*way->nets[i].why)
			return way->nets[i].why;
	return way_is_open(way) ? "" : way->nnets ? "it is starting" : "nobody is inside";
}

json_t *egress_status(struct daemon *d, const struct compartment *c)
{
	const struct way *way = egress_way(d, c->id);

	if (!c->loaded || !c->loaded->negress)
		return json_null();
	return json_pack("{s:o, s:b, s:o, s:b, s:o, s:o}", "destinations",
			 destinations_record(c->loaded), "proxy", c->loaded->proxy, "grant",
			 way ? grant_record(&way->grant) : json_null(), "open",
			 way && way_is_open(way), "outlets", nets_record(way), "why",
			 text_record(egress_why(d, c, way)));
}

json_t *egress_relay_status(struct daemon *d)
{
	const struct egress *e = d->egress;

	if (!e || !e->config)
		return json_pack("{s:b, s:o}", "configured", 0, "why",
				 text_record(e ? e->off : ""));
	return json_pack("{s:b, s:o, s:I, s:I}", "configured", 1, "why",
			 text_record(relay_why(e->relay)), "pid", (json_int_t)relay_pid(e->relay),
			 "deaths", (json_int_t)relay_deaths(e->relay));
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "egress.h"

#include <string.h>
#include "base/cleanup.h"
#include "base/log.h"
#include "escape.h"

DEFINE_CLEANUP(json_t *, json_decref)
#define _cleanup_json_ _cleanup_(cleanup_json_decref)

/* Bytes of a text of the relay's: the longest name with what escaping may add. At the bound: no record of ours. */
#define MAX_TEXT 1024

/* What the relay says, and what it is called in the record, where "name" is the compartment's. */
static const struct {
	const char *said, *key;
	bool number;
} fields[] = {
	{"name", "destination", false},
	{"port", "port", true},
	{"type", "type", false},
	{"address", "address", false},
	{"outcome", "outcome", false},
	{"reason", "reason", false},
	{"up", "up", true},
	{"down", "down", true},
	{"ms", "ms", true},
	{"count", "count", true},
};
#define NFIELDS (sizeof(fields) / sizeof(*fields))

static json_t *text_record(const char *text)
{
	_cleanup_free_ char *escaped = escape_bytes(text, strlen(text));

	return json_string(escaped ?: "");
}

static json_t *new_record(const struct egress_of *of, const char *what, int64_t realtime_ns)
{
	char time[RECORD_TIME_SIZE];
	json_t *record = json_pack("{s:s, s:s, s:s}", "kind", "egress", "time",
				   record_time(realtime_ns, time), "what", what);

	if (record && of->compartment)
		json_object_set_new(record, "compartment", json_integer(of->compartment));
	if (record && of->compartment)
		json_object_set_new(record, "name", of->name ? text_record(of->name) : json_null());
	return record;
}

/* False: a field is of another type, or too long. */
static bool take_field(json_t *record, size_t i, const json_t *value)
{
	if (!value || json_is_null(value))
		return true;
	/* Types of queries that have no name are numbers. */
	if (json_is_integer(value) && json_integer_value(value) >= 0)
		return !json_object_set((json_t *)record, fields[i].key, (json_t *)value);
	if (fields[i].number || !json_is_string(value) || json_string_length(value) > MAX_TEXT)
		return false;
	return !json_object_set_new(record, fields[i].key, text_record(json_string_value(value)));
}

static const char *text_of(const json_t *record, const char *key)
{
	return json_string_value(json_object_get(record, key));
}

static long long number_of(const json_t *record, const char *key)
{
	return json_integer_value(json_object_get(record, key));
}

/* ": because", and how often, where it tells of several. */
static void because(const json_t *record, char *buffer, size_t size)
{
	const char *reason = text_of(record, "reason"), *outcome = text_of(record, "outcome");
	long long count = number_of(record, "count");
	char times[32] = "";

	if (count > 1)
		snprintf(times, sizeof(times), ", %lld times", count);
	if (!reason || (outcome && !strcmp(reason, outcome)))
		reason = "";
	snprintf(buffer, size, "%s%s%s", times, *reason ? ": " : "", reason);
}

static int query_message(const json_t *record, const char *to, char **ret)
{
	const json_t *type = json_object_get(record, "type");
	char number[32], why[MAX_TEXT + 40];

	snprintf(number, sizeof(number), "type %lld", number_of(record, "type"));
	because(record, why, sizeof(why));
	return asprintf(ret, "query of %s (%s) refused: %s%s", *to ? to : "what is no name",
			json_is_string(type) ? json_string_value(type) : number,
			text_of(record, "outcome"), why);
}

static int connect_message(const json_t *record, const char *to, char **ret)
{
	char why[MAX_TEXT + 40];

	because(record, why, sizeof(why));
	return asprintf(ret, "connect to %s%s%lld refused: %s%s", to, *to ? ":" : "port ",
			number_of(record, "port"), text_of(record, "outcome"), why);
}

static int flow_message(const json_t *record, const char *to, char **ret)
{
	const char *address = text_of(record, "address");

	return asprintf(ret, "%s:%lld%s%s%s %s: %lld bytes up, %lld down, %lld ms", *to ? to : "?",
			number_of(record, "port"), address ? " (" : "", address ?: "",
			address ? ")" : "", text_of(record, "outcome"), number_of(record, "up"),
			number_of(record, "down"), number_of(record, "ms"));
}

static const struct {
	const char *what;
	int (*message)(const json_t *record, const char *to, char **ret);
} kinds[] = {
	{"query", query_message},
	{"connect", connect_message},
	{"flow", flow_message},
};
#define NKINDS (sizeof(kinds) / sizeof(*kinds))

static bool add_message(json_t *record, size_t kind)
{
	const char *destination = text_of(record, "destination") ?: "";
	_cleanup_free_ char *to = *destination ? escape_word(destination) : strdup("");
	_cleanup_free_ char *message = NULL;

	if (!to || kinds[kind].message(record, to, &message) < 0) {
		message = NULL;
		return false;
	}
	return !json_object_set_new(record, "message", json_string(message));
}

static size_t find_kind(const json_t *said)
{
	const char *what = text_of(said, "what") ?: "";
	size_t kind = 0;

	while (kind < NKINDS && strcmp(kinds[kind].what, what) != 0)
		kind++;
	return kind;
}

json_t *egress_event_record(const struct egress_of *of, const json_t *said, int64_t realtime_ns)
{
	size_t kind = find_kind(said);
	json_t *record = kind < NKINDS ? new_record(of, kinds[kind].what, realtime_ns) : NULL;
	bool good = record;

	for (size_t i = 0; good && i < NFIELDS; i++)
		good = take_field(record, i, json_object_get(said, fields[i].said));
	if (good && text_of(record, "outcome") && add_message(record, kind))
		return record;
	json_decref(record);
	return NULL;
}

json_t *egress_record(const struct egress_of *of, const char *what, const char *outcome,
		      const char *reason, int64_t realtime_ns)
{
	_cleanup_json_ json_t *record = new_record(of, what, realtime_ns);
	_cleanup_free_ char *message = NULL;

	if (!record ||
	    asprintf(&message, "%s %s%s%s", what, outcome, reason ? ": " : "", reason ?: "") < 0) {
		message = NULL;
		return NULL;
	}
	json_object_set_new(record, "outcome", text_record(outcome));
	if (reason)
		json_object_set_new(record, "reason", text_record(reason));
	json_object_set_new(record, "message", text_record(message));
	return TAKE_PTR(record);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The table of requests: who may send them, which fields they have, what they do. */
#include "request.h"

#include <errno.h>
#include <string.h>
#include "audit/event.h"
#include "audit/escape.h"
#include "base/cleanup.h"
#include "compart/status.h"

DEFINE_CLEANUP(json_t *, json_decref)
#define _cleanup_json_ _cleanup_(cleanup_json_decref)

enum field_kind { FIELD_TEXT, FIELD_NUMBER, FIELD_FLAG, FIELD_TEXTS };

struct field {
	const char *name;
	enum field_kind kind;
};

#define REQUEST_MAX_FIELDS 8

struct request_row {
	const char *name;
	enum right right;
	bool from_inside; /* may come from a compartment even though it changes something */
	int (*handle)(struct request *request, struct error *error);
	struct field fields[REQUEST_MAX_FIELDS];
};

#define FIELDS_SELECT                                                         \
	{"target", FIELD_TEXT}, {"cgroup", FIELD_TEXT}, {"unit", FIELD_TEXT}, \
	{                                                                     \
		"all", FIELD_FLAG                                             \
	}

static const struct request_row rows[] = {
	{"attach",
	 RIGHT_CHANGE,
	 false,
	 request_attach,
	 {{"policy", FIELD_TEXT},
	  {"include_dir", FIELD_TEXT},
	  {"vars", FIELD_TEXTS},
	  {"cgroup", FIELD_TEXT},
	  {"unit", FIELD_TEXT},
	  {"pid", FIELD_NUMBER}}},
	/* A unit that restarts may stand in the cgroup that is attached already. */
	{"admit", RIGHT_CHANGE, true, request_admit, {{"unit", FIELD_TEXT}}},
	{"detach", RIGHT_CHANGE, false, request_detach, {FIELDS_SELECT}},
	{"reload", RIGHT_CHANGE, false, request_reload, {FIELDS_SELECT}},
	{"status", RIGHT_READ, true, request_status, {}},
	{"events", RIGHT_READ, true, request_events, {}},
	{"doctor", RIGHT_READ, true, request_doctor, {}},
};

#define NROWS (sizeof(rows) / sizeof(rows[0]))

const char *request_text(const struct request *request, const char *field)
{
	return json_string_value(json_object_get(request->body, field));
}

void request_report(struct request *request, const struct report *report)
{
	json_t *array = json_object_get(request->reply, "report");

	if (!array) {
		array = json_array();
		json_object_set_new(request->reply, "report", array);
	}
	for (size_t i = 0; i < report->n; i++) {
		_cleanup_free_ char *line =
			escape_bytes(report->lines[i], strlen(report->lines[i]));

		json_array_append_new(array, json_string(line ?: ""));
	}
}

void request_show(struct request *request, const struct compartment *c)
{
	json_t *array = json_object_get(request->reply, "compartments");

	if (!array) {
		array = json_array();
		json_object_set_new(request->reply, "compartments", array);
	}
	json_array_append_new(array, status_record(request->daemon->kern, c));
}

static bool is_kind(const json_t *value, enum field_kind kind)
{
	const json_t *item;
	size_t i;

	switch (kind) {
	case FIELD_TEXT:
		return json_is_string(value);
	case FIELD_NUMBER:
		return json_is_integer(value);
	case FIELD_FLAG:
		return json_is_boolean(value);
	case FIELD_TEXTS:
		break;
	}
	if (!json_is_array(value))
		return false;
	json_array_foreach (value, i, item)
		if (!json_is_string(item))
			return false;
	return true;
}

static const struct field *find_field(const struct request_row *row, const char *name)
{
	for (size_t i = 0; i < REQUEST_MAX_FIELDS && row->fields[i].name; i++)
		if (!strcmp(row->fields[i].name, name))
			return &row->fields[i];
	return NULL;
}

/* Every field is known and of its type: a misspelt one would be a wish not granted in silence. */
static int check_fields(const struct request_row *row, const json_t *body, struct error *error)
{
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)body, name, value) {
		const struct field *field = find_field(row, name);

		if (!strcmp(name, "request"))
			continue;
		if (!field)
			return error_set(error, EINVAL, "%s has no field \"%s\"", row->name, name);
		if (!is_kind(value, field->kind))
			return error_set(error, EINVAL, "%s: field \"%s\" is of another type",
					 row->name, name);
	}
	return 0;
}

static const struct request_row *find_row(const json_t *body, struct error *error)
{
	const char *name = json_string_value(json_object_get(body, "request"));

	for (size_t i = 0; name && i < NROWS; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	error_set(error, EINVAL, "no such request");
	return NULL;
}

/* It may have come inside, or have ended, since it connected. */
static bool is_inside(const struct client *client)
{
	return client->peer.inside || peer_is_inside(client->daemon, &client->peer);
}

static int check_right(const struct request_row *row, const struct client *client,
		       struct error *error)
{
	const struct peer *peer = &client->peer;

	if (peer->right < row->right)
		return error_set(error, EACCES,
				 "%s is for root and members of group " CONTROL_GROUP_CHANGE,
				 row->name);
	if (!row->from_inside && is_inside(client))
		return error_set(error, EACCES, "%s: not from inside a compartment", row->name);
	return 0;
}

/* What a change was about, in one text. */
static const char *target_of(const json_t *body)
{
	static const char *const fields[] = {"target", "unit", "cgroup", "policy"};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const char *text = json_string_value(json_object_get(body, fields[i]));

		if (text)
			return text;
	}
	return json_is_true(json_object_get(body, "all")) ? "all" : "";
}

/* Changes asked for are records of the same stream as refusals, refused ones too. */
static void record_change(struct client *client, const struct request_row *row, const json_t *body,
			  int result, const struct error *error)
{
	const struct peer *peer = &client->peer;
	const char *outcome = result == 0 ? "ok" : result == -EACCES ? "refused" : "failed";
	_cleanup_free_ char *target = escape_bytes(target_of(body), strlen(target_of(body)));
	_cleanup_free_ char *unit = escape_bytes(peer->unit ?: "", strlen(peer->unit ?: ""));
	_cleanup_free_ char *text = escape_bytes(error->text, strlen(error->text));
	char time[RECORD_TIME_SIZE];
	json_t *record =
		json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:s, s:s}", "kind", "control", "time",
			  record_time(now_realtime_ns(), time), "request", row->name, "target",
			  target ?: "", "uid", (json_int_t)peer->uid, "pid", (json_int_t)peer->pid,
			  "unit", unit ?: "", "outcome", outcome);

	if (record && result)
		json_object_set_new(record, "error", json_string(text ?: ""));
	stream_publish(client->daemon, record);
	log_info("%s %s by uid %u, process %d: %s%s%s", row->name, target ?: "", peer->uid,
		 peer->pid, outcome, result ? ": " : "", result ? error->text : "");
}

static int dispatch(struct request *request, struct error *error)
{
	const struct request_row *row;
	int r;

	if (!json_is_object(request->body))
		return error_set(error, EINVAL,
				 "a request is one line of at most %u bytes, a JSON object",
				 CONTROL_MAX_REQUEST);
	row = find_row(request->body, error);
	if (!row)
		return -EINVAL;
	r = check_right(row, request->client, error);
	if (r == 0)
		r = check_fields(row, request->body, error);
	if (r == 0)
		r = row->handle(request, error);
	if (row->right == RIGHT_CHANGE)
		record_change(request->client, row, request->body, r, error);
	return r;
}

static void answer(struct request *request, int result, const struct error *error)
{
	_cleanup_free_ char *json = NULL, *text = NULL, *escaped = NULL;
	struct line *line = NULL;
	int n;

	json_object_set_new(request->reply, "ok", json_boolean(result == 0));
	if (result) {
		escaped = escape_bytes(error->text, strlen(error->text));
		json_object_set_new(request->reply, "errno", json_integer(-result));
		json_object_set_new(request->reply, "error", json_string(escaped ?: ""));
	}
	json = json_dumps(request->reply, JSON_COMPACT);
	n = json ? asprintf(&text, "%s\n", json) : -1;
	if (n < 0)
		text = NULL;
	else
		line = line_new(text, (size_t)n);
	/* Out of memory: the client meets the end of the connection without an answer. */
	if (line)
		client_push(request->client, line);
	line_unref(line);
}

void request_handle(struct client *client, const char *text, size_t n)
{
	_cleanup_json_ json_t *body = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
	_cleanup_json_ json_t *reply = json_object();
	struct request request = {
		.client = client, .daemon = client->daemon, .body = body, .reply = reply};
	struct error error = {0};
	int r;

	if (!reply)
		return;
	r = dispatch(&request, &error);
	answer(&request, r, &error);
	/* Only now: nothing must come before the answer. */
	if (r == 0 && json_is_true(json_object_get(reply, "subscribed")))
		client->subscriber = true;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The table of requests: who may send them, which fields they have, what they do. */
#include "request.h"

#include <errno.h>
#include <string.h>
#include "audit/event.h"
#include "audit/escape.h"
#include "base/cleanup.h"
#include "compart/status.h"
#include "egress.h"

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
	{"grant",
	 RIGHT_CHANGE,
	 false,
	 request_grant,
	 {{"target", FIELD_TEXT},
	  {"what", FIELD_TEXT},
	  {"for_ms", FIELD_NUMBER},
	  {"only", FIELD_TEXTS}}},
	{"revoke",
	 RIGHT_CHANGE,
	 false,
	 request_revoke,
	 {{"target", FIELD_TEXT}, {"what", FIELD_TEXT}}},
	/* Answered when a compartment's outlets are there. */
	{"outlets", RIGHT_CHANGE, false, request_outlets, {{"cgroup", FIELD_TEXT}}},
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
	json_t *array = json_object_get(request->reply, "compartments"), *record;

	if (!array) {
		array = json_array();
		json_object_set_new(request->reply, "compartments", array);
	}
	record = status_record(request->daemon->kern, c);
	if (record)
		json_object_set_new(record, "egress", egress_status(request->daemon, c));
	json_array_append_new(array, record);
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

/* Of a grant: for how long, and of what alone. */
static void add_terms(json_t *record, const json_t *body)
{
	const json_t *name, *only = json_object_get(body, "only");
	json_t *list = json_is_array(only) ? json_array() : NULL;
	size_t i;

	if (json_is_integer(json_object_get(body, "for_ms")))
		json_object_set(record, "for_ms", json_object_get(body, "for_ms"));
	if (!list)
		return;
	json_array_foreach (only, i, name) {
		const char *text = json_string_value(name) ?: "";
		_cleanup_free_ char *escaped = escape_bytes(text, strlen(text));

		json_array_append_new(list, json_string(escaped ?: ""));
	}
	json_object_set_new(record, "only", list);
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
	if (record)
		add_terms(record, body);
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
	request->later.row = row;
	if (row->right == RIGHT_CHANGE && r != REQUEST_LATER)
		record_change(request->client, row, request->body, r, error);
	return r;
}

static void answer(struct client *client, json_t *reply, int result, const struct error *error)
{
	_cleanup_free_ char *json = NULL, *text = NULL, *escaped = NULL;
	struct line *line = NULL;
	int n;

	json_object_set_new(reply, "ok", json_boolean(result == 0));
	if (result) {
		escaped = escape_bytes(error->text, strlen(error->text));
		json_object_set_new(reply, "errno", json_integer(-result));
		json_object_set_new(reply, "error", json_string(escaped ?: ""));
	}
	json = json_dumps(reply, JSON_COMPACT);
	n = json ? asprintf(&text, "%s\n", json) : -1;
	if (n < 0)
		text = NULL;
	else
		line = line_new(text, (size_t)n);
	/* Out of memory: the client meets the end of the connection without an answer. */
	if (line)
		client_push(client, line);
	line_unref(line);
}

/* --- answers that wait --- */

void later_free(struct later *later)
{
	if (!later)
		return;
	json_decref(later->body);
	json_decref(later->reply);
	free(later);
}

/* False: no memory to wait. */
static bool wait_for(struct request *request)
{
	struct later *later = malloc(sizeof(*later));

	if (!later)
		return false;
	*later = request->later;
	later->body = json_incref((json_t *)request->body);
	later->reply = json_incref(request->reply);
	request->client->later = later;
	return true;
}

static void finish(struct client *client, int result, const struct error *error)
{
	struct later *later = TAKE_PTR(client->later);

	record_change(client, later->row, later->body, result, error);
	answer(client, later->reply, result, error);
	later_free(later);
	client_rearm(client);
}

void requests_settle(struct daemon *d)
{
	for (struct client *client = d->clients; client; client = client->next) {
		struct error error = {0};
		int r = client->later ? client->later->settled(d, client->later, &error)
				      : REQUEST_LATER;

		if (r != REQUEST_LATER)
			finish(client, r, &error);
	}
}

void request_overdue(struct client *client)
{
	const struct later *later = client->later;
	struct error error = {0};
	int r;

	if (later->overdue)
		r = later->overdue(client->daemon, later, &error);
	else
		r = error_set(&error, ETIMEDOUT,
			      "not done in %u s, and still under way: see bulkhead status and the "
			      "agent's log",
			      CONTROL_LATER_MS / 1000);
	finish(client, r, &error);
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
	if (r == REQUEST_LATER && wait_for(&request))
		return;
	if (r == REQUEST_LATER)
		r = error_set(&error, ENOMEM, "out of memory: whether it was done is not known");
	answer(client, reply, r, &error);
	/* Only now: nothing must come before the answer. */
	if (r == 0 && json_is_true(json_object_get(reply, "subscribed")))
		client->subscriber = true;
}

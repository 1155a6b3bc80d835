// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "verbs.h"

#include <errno.h>
#include <string.h>

/* --- fields --- */

json_int_t number_of(const struct request *request, const char *field)
{
	return json_integer_value(json_object_get(request->body, field));
}

const char *text_of(const struct request *request, const char *field)
{
	return json_string_value(json_object_get(request->body, field));
}

int check_ms(const struct request *request, const char *field, json_int_t most, struct error *error)
{
	json_int_t ms = number_of(request, field);

	return ms < 1 || ms > most ? error_set(error, EINVAL, "%s is not from 1 to %lld", field,
					       (long long)most)
				   : 0;
}

/* The answer is all of it. */
static int verb_ping(struct request *request _unused_, struct error *error _unused_)
{
	return 0;
}

/* --- the table --- */

enum kind { KIND_TEXT = 1, KIND_NUMBER, KIND_BOOLEAN, KIND_TEXTS, KIND_ARRAYS, KIND_OBJECTS };

struct field {
	const char *name;
	enum kind kind;
	bool optional;
};

#define MAX_FIELDS 8

static const struct verb {
	const char *name;
	int (*handle)(struct request *request, struct error *error);
	bool has_serial, opens, has_fds;
	struct field fields[MAX_FIELDS];
} verbs[] = {
	{"configure", verb_configure, .has_fds = true,
	 .fields = {{"upstreams", KIND_TEXTS},
		    {"synthetic", KIND_TEXT},
		    {"nat64", KIND_TEXTS, true},
		    {"connect-ms", KIND_NUMBER},
		    {"idle-ms", KIND_NUMBER},
		    {"total-ms", KIND_NUMBER}}},
	{"ping", verb_ping, .has_serial = false},
	{"open", verb_open, .has_serial = true, .opens = true, .has_fds = true,
	 .fields = {{"compartment", KIND_NUMBER}, {"name", KIND_TEXT}}},
	{"adopt", verb_adopt, .has_serial = true, .fields = {{"names", KIND_ARRAYS}}},
	{"list", verb_list, .has_serial = true,
	 .fields = {{"entries", KIND_OBJECTS}, {"proxy", KIND_BOOLEAN, true}}},
	{"listen", verb_listen, .has_serial = true, .has_fds = true,
	 .fields = {{"netns", KIND_NUMBER}, {"sockets", KIND_TEXTS}}},
	{"unlisten", verb_unlisten, .has_serial = true, .fields = {{"netns", KIND_NUMBER}}},
	{"grant", verb_grant, .has_serial = true,
	 .fields = {{"lease", KIND_NUMBER},
		    {"only", KIND_TEXTS, true},
		    {"for-ms", KIND_NUMBER, true}}},
	{"revoke", verb_revoke, .has_serial = true},
	{"close", verb_close, .has_serial = true},
};

#define NVERBS (sizeof(verbs) / sizeof(*verbs))

static bool is_array_of(const json_t *array, json_type type)
{
	const json_t *item;
	size_t i;

	if (!json_is_array(array))
		return false;
	json_array_foreach (array, i, item)
		if (json_typeof(item) != type)
			return false;
	return true;
}

static bool is_kind(const json_t *value, enum kind kind)
{
	switch (kind) {
	case KIND_TEXT:
		return json_is_string(value);
	case KIND_NUMBER:
		return json_is_integer(value);
	case KIND_BOOLEAN:
		return json_is_boolean(value);
	case KIND_TEXTS:
		return is_array_of(value, JSON_STRING);
	case KIND_ARRAYS:
		return is_array_of(value, JSON_ARRAY);
	case KIND_OBJECTS:
		return is_array_of(value, JSON_OBJECT);
	}
	return false;
}

/* Each of the verb's is there and of its kind, and there are no others. */
static int check_fields(const struct verb *verb, const json_t *body, struct error *error)
{
	size_t known = 1 + verb->has_serial;

	for (const struct field *f = verb->fields; f->name && f < verb->fields + MAX_FIELDS; f++) {
		const json_t *value = json_object_get(body, f->name);

		if (!value && f->optional)
			continue;
		if (!value)
			return error_set(error, EINVAL, "no field \"%s\"", f->name);
		if (!is_kind(value, f->kind))
			return error_set(error, EINVAL, "field \"%s\" is of another type", f->name);
		known++;
	}
	return json_object_size(body) == known
		       ? 0
		       : error_set(error, EINVAL, "it has a field that is not known");
}

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; name && i < NVERBS; i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}

static int find_compartment(const struct verb *verb, struct request *request, struct error *error)
{
	json_int_t serial = number_of(request, "serial");

	if (!verb->has_serial)
		return 0;
	if (!json_is_integer(json_object_get(request->body, "serial")) || serial < 1)
		return error_set(error, EINVAL, "no serial number");
	if (!request->egressd->reacher)
		return error_set(error, ENOTCONN, "it is not configured yet");
	request->serial = (__u64)serial;
	request->compartment = compartment_find(request->egressd, request->serial);
	return request->compartment || verb->opens
		       ? 0
		       : error_set(error, ENOENT, "no such compartment is open");
}

static int handle(const struct verb *verb, struct request *request, struct error *error)
{
	int r;

	if (!verb)
		return error_set(error, EINVAL, "no such verb");
	if (request->message->nfds && !verb->has_fds)
		return error_set(error, EINVAL, "descriptors came, and it takes none");
	r = check_fields(verb, request->body, error);
	if (!r)
		r = find_compartment(verb, request, error);
	return r ? r : verb->handle(request, error);
}

/* What cannot be answered the agent waits for: it has a deadline. */
static void answer(const struct request *request, const char *name, int r,
		   const struct error *error)
{
	json_int_t serial = number_of(request, "serial");
	json_t *reply = json_pack("{s:s, s:s, s:I}", "is", r ? "failed" : "done", "of", name,
				  "serial", serial);

	if (reply && r) {
		/* A text of the agent's may be cut within a character. */
		json_object_set_new(reply, "error",
				    json_string(*error->text ? error->text : strerror(-r))
					    ?: json_string(strerror(-r)));
		json_object_set_new(reply, "errno", json_integer(-r));
	}
	messages_push(request->egressd->messages, reply);
}

void verbs_handle(struct egressd *e, struct message *message)
{
	_cleanup_json_ json_t *body = NULL;
	struct request request = {.egressd = e, .message = message};
	const struct verb *verb = NULL;
	struct error error = {0};
	json_error_t fault;
	int r = message->error;

	if (r) {
		error_set(&error, -r, "a message is longer, or has more descriptors, than may be");
	} else {
		body = json_loadb(message->text, message->length, JSON_REJECT_DUPLICATES, &fault);
		request.body = body;
		verb = find_verb(json_string_value(json_object_get(body, "do")));
		r = json_is_object(body) ? handle(verb, &request, &error)
					 : error_set(&error, EINVAL, "no JSON object: byte %d: %s",
						     fault.position, fault.text);
	}
	answer(&request, verb ? verb->name : "", r, &error);
}

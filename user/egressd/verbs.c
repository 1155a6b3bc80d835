// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "verbs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include "egress/resolve.h"
#include "flows.h"

/* A year, and longer than any connection: what is above is no number of milliseconds but a mistake. */
#define MAX_MS (365ll * 24 * 3600 * 1000)

struct request {
	struct egressd *egressd;
	struct compartment *compartment; /* where the verb is of one that is open */
	__u64 serial;
	const json_t *body;
	struct message *message; /* whose descriptors may be taken */
};

/* --- fields --- */

static json_int_t number_of(const struct request *request, const char *field)
{
	return json_integer_value(json_object_get(request->body, field));
}

static const char *text_of(const struct request *request, const char *field)
{
	return json_string_value(json_object_get(request->body, field));
}

static int check_ms(const struct request *request, const char *field, json_int_t most,
		    struct error *error)
{
	json_int_t ms = number_of(request, field);

	return ms < 1 || ms > most ? error_set(error, EINVAL, "%s is not from 1 to %lld", field,
					       (long long)most)
				   : 0;
}

/* --- configure --- */

static int read_upstreams(const struct request *request, const struct address_rules *rules,
			  const char *ret[RESOLVE_UPSTREAMS], size_t *ret_n, struct error *error)
{
	const json_t *texts = json_object_get(request->body, "upstreams");
	size_t n = json_array_size(texts);

	if (n > RESOLVE_UPSTREAMS)
		return error_set(error, EINVAL, "%zu resolvers are named: 1 to %u must be", n,
				 RESOLVE_UPSTREAMS);
	for (size_t i = 0; i < n; i++) {
		char copy[ADDRESS_TEXT_SIZE];
		struct address_verdict verdict;
		struct address address;

		ret[i] = json_string_value(json_array_get(texts, i));
		snprintf(copy, sizeof(copy), "%.*s", (int)strcspn(ret[i], "@"), ret[i]);
		/* What is no address resolver_new says. */
		if (address_parse(copy, &address))
			continue;
		address_is_public(rules, &address, &verdict);
		if (verdict.block == &rules->synthetic)
			return error_set(error, EINVAL, "%s is a synthetic address", ret[i]);
	}
	*ret_n = n;
	return 0;
}

static int read_rules(const struct request *request, struct address_rules *ret, struct error *error)
{
	const json_t *prefix, *nat64 = json_object_get(request->body, "nat64");
	int r = address_set_synthetic(ret, text_of(request, "synthetic"), error);
	size_t i;

	json_array_foreach (nat64, i, prefix)
		if (!r)
			r = address_add_nat64(ret, json_string_value(prefix), error);
	return r;
}

static int check_times(const struct request *request, struct error *error)
{
	int r = check_ms(request, "connect-ms", REACH_MAX_MS - 1, error);

	if (!r)
		r = check_ms(request, "idle-ms", UINT32_MAX, error);
	if (!r)
		r = check_ms(request, "total-ms", UINT32_MAX, error);
	return r;
}

static int check_map(const struct message *message, struct error *error)
{
	int r;

	if (message->nfds != 1)
		return error_set(error, EINVAL, "configure comes with one descriptor");
	r = flows_check(message->fds[0]);
	return r ? error_set(error, -r, "the map of flows: %s", strerror(-r)) : 0;
}

static int verb_configure(struct request *request, struct error *error)
{
	struct egressd *e = request->egressd;
	const char *upstreams[RESOLVE_UPSTREAMS];
	struct reach_options options = {.upstreams = upstreams};
	int r = check_times(request, error);

	if (e->reacher)
		return error_set(error, EEXIST, "it is configured");
	if (!r)
		r = read_rules(request, &options.rules, error);
	if (!r)
		r = read_upstreams(request, &options.rules, upstreams, &options.nupstreams, error);
	if (!r)
		r = check_map(request->message, error);
	if (!r)
		r = reacher_new(e->event, &options, &e->reacher, error);
	if (r)
		return r;
	e->rules = options.rules;
	e->flows = TAKE_FD(request->message->fds[0]);
	e->connect_ms = (unsigned int)number_of(request, "connect-ms");
	e->idle_ms = (unsigned int)number_of(request, "idle-ms");
	e->total_ms = (unsigned int)number_of(request, "total-ms");
	return 0;
}

/* --- open, adopt, list --- */

static int verb_open(struct request *request, struct error *error)
{
	json_int_t id = number_of(request, "compartment");
	const char *name = text_of(request, "name");

	if (id < 1 || id >= BH_MAX_COMPARTMENTS)
		return error_set(error, EINVAL, "compartment is no id");
	if (!*name || strlen(name) >= BH_NAME_SIZE)
		return error_set(error, EINVAL, "name has 1 to %u bytes", BH_NAME_SIZE - 1);
	return compartment_new(request->egressd, request->serial, (__u32)id, name, error);
}

static int adopt_pair(struct compartment *c, const json_t *pair, struct error *error)
{
	const char *address = json_string_value(json_array_get(pair, 0)),
		   *text = json_string_value(json_array_get(pair, 1));
	char name[DESTINATION_NAME_SIZE];
	struct destination_fault fault;
	struct in_addr in;
	int r;

	if (!address || !text || json_array_size(pair) != 2)
		return error_set(error, EINVAL, "a name is a pair: [ADDRESS, NAME]");
	if (inet_pton(AF_INET, address, &in) != 1)
		return error_set(error, EINVAL, "a pair's address is none of IPv4");
	if (destination_name(text, strlen(text), name, &fault))
		return error_set(error, EINVAL, "the name of %s, byte %zu: %s", address,
				 fault.offset, fault.reason);
	r = book_adopt(c->book, ntohl(in.s_addr), name);
	if (!r)
		return 0;
	return error_set(error, -r, "%s of %s: %s", address, name,
			 r == -ERANGE	? "not of the synthetic range"
			 : r == -EEXIST ? "one of the two has another one"
					: strerror(-r));
}

static int verb_adopt(struct request *request, struct error *error)
{
	struct compartment *c = request->compartment;
	const json_t *pair, *names = json_object_get(request->body, "names");
	bool all_told = c->told == book_count(c->book);
	size_t i;
	int r = 0;

	if (json_array_size(names) > CHANNEL_NAMES)
		return error_set(error, EINVAL, "more than %u names", CHANNEL_NAMES);
	json_array_foreach (names, i, pair)
		if (!r)
			r = adopt_pair(c, pair, error);
	/* The agent knows these. */
	if (all_told)
		c->told = book_count(c->book);
	return r;
}

static const json_t *check_entry(const json_t *entry, struct error *error)
{
	const json_t *to = json_object_get(entry, "to"),
		     *upload = json_object_get(entry, "max-upload"),
		     *tls = json_object_get(entry, "tls");
	size_t known = 1 + (upload != NULL) + (tls != NULL);

	if (!json_is_string(to) || (upload && !json_is_integer(upload)) ||
	    json_integer_value(upload) < 0 || (tls && !json_is_boolean(tls)) ||
	    json_object_size(entry) != known) {
		error_set(error, EINVAL,
			  "an entry has \"to\" and may have \"max-upload\" and \"tls\"");
		return NULL;
	}
	return to;
}

static int read_entry(const json_t *entry, struct destination *ret_to, struct terms *ret,
		      struct error *error)
{
	const json_t *upload = json_object_get(entry, "max-upload"),
		     *to = check_entry(entry, error);
	struct destination_fault fault;

	if (!to)
		return -EINVAL;
	if (destination_parse(json_string_value(to), json_string_length(to), ret_to, &fault))
		return error_set(error, EINVAL, "%.300s, byte %zu: %s", json_string_value(to),
				 fault.offset, fault.reason);
	*ret = (struct terms){
		.tls = json_is_true(json_object_get(entry, "tls")),
		.max_upload = upload ? (__u64)json_integer_value(upload) : UINT64_MAX,
	};
	return 0;
}

static int verb_list(struct request *request, struct error *error)
{
	const json_t *entry, *array = json_object_get(request->body, "entries");
	struct entries entries;
	size_t i;
	int r;

	if (json_array_size(array) > BH_MAX_DESTINATIONS)
		return error_set(error, EINVAL, "more than %u entries", BH_MAX_DESTINATIONS);
	r = entries_make(json_array_size(array), &entries);
	if (r)
		return r;
	json_array_foreach (array, i, entry)
		if (!r)
			r = read_entry(entry, &entries.to[i], &entries.terms[i], error);
	if (!r)
		r = compartment_list(request->compartment, &entries, error);
	entries_done(&entries);
	return r;
}

/* --- listen --- */

static int socket_number(const char *word)
{
	for (int i = 0; i < OUTLET_SOCKETS; i++)
		if (!strcmp(outlet_socket_names[i], word))
			return i;
	return -1;
}

static int sort_sockets(const struct request *request, int fds[OUTLET_SOCKETS], struct error *error)
{
	const json_t *word, *words = json_object_get(request->body, "sockets");
	size_t i, n = json_array_size(words);

	if (!n || n != request->message->nfds)
		return error_set(error, EINVAL, "%zu sockets are named, and %zu descriptors came",
				 n, request->message->nfds);
	json_array_foreach (words, i, word) {
		int number = socket_number(json_string_value(word));

		if (number < 0 || fds[number] >= 0)
			return error_set(error, EINVAL,
					 "sockets are \"relay\", \"stub4\", \"stub6\", each once");
		fds[number] = request->message->fds[i];
	}
	return 0;
}

static int verb_listen(struct request *request, struct error *error)
{
	json_int_t netns = number_of(request, "netns");
	int fds[OUTLET_SOCKETS] = {-1, -1, -1}, r;

	if (netns < 1)
		return error_set(error, EINVAL, "netns is no cookie");
	r = sort_sockets(request, fds, error);
	if (!r)
		r = outlet_new(request->compartment, (__u64)netns, fds, error);
	/* They are the outlet's. */
	if (!r)
		request->message->nfds = 0;
	return r;
}

/* --- grant, revoke, close --- */

static int read_only(const json_t *names, struct grant *ret, struct error *error)
{
	const json_t *name;
	size_t i;
	int r = 0;

	if (!names)
		return 0;
	ret->n = json_array_size(names);
	if (!ret->n || ret->n > BH_MAX_DESTINATIONS)
		return error_set(error, EINVAL, "only has 1 to %u names", BH_MAX_DESTINATIONS);
	ret->only = calloc(ret->n, sizeof(*ret->only));
	if (!ret->only)
		return -ENOMEM;
	json_array_foreach (names, i, name)
		if (!r)
			r = grant_read(json_string_value(name), &ret->only[i], error);
	return r;
}

static int verb_grant(struct request *request, struct error *error)
{
	bool ends = json_object_get(request->body, "for-ms");
	struct grant grant = {.given = true};
	int r = ends ? check_ms(request, "for-ms", MAX_MS, error) : 0;

	if (!r)
		r = read_only(json_object_get(request->body, "only"), &grant, error);
	if (!r)
		r = compartment_grant(request->compartment, &grant,
				      (__u64)number_of(request, "for-ms"));
	grant_done(&grant);
	return r;
}

static int verb_revoke(struct request *request, struct error *error _unused_)
{
	compartment_revoke(request->compartment);
	return 0;
}

static int verb_close(struct request *request, struct error *error _unused_)
{
	compartment_free(request->compartment);
	return 0;
}

/* --- the table --- */

enum kind { KIND_TEXT = 1, KIND_NUMBER, KIND_TEXTS, KIND_ARRAYS, KIND_OBJECTS };

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
	{"open", verb_open, .has_serial = true, .opens = true,
	 .fields = {{"compartment", KIND_NUMBER}, {"name", KIND_TEXT}}},
	{"adopt", verb_adopt, .has_serial = true, .fields = {{"names", KIND_ARRAYS}}},
	{"list", verb_list, .has_serial = true, .fields = {{"entries", KIND_OBJECTS}}},
	{"listen", verb_listen, .has_serial = true, .has_fds = true,
	 .fields = {{"netns", KIND_NUMBER}, {"sockets", KIND_TEXTS}}},
	{"grant", verb_grant, .has_serial = true,
	 .fields = {{"only", KIND_TEXTS, true}, {"for-ms", KIND_NUMBER, true}}},
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

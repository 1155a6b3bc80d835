// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* open, adopt, list: what a compartment may ever reach. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include "verbs.h"

int verb_open(struct request *request, struct error *error)
{
	json_int_t id = number_of(request, "compartment");
	const char *name = text_of(request, "name");

	if (id < 1 || id >= BH_MAX_COMPARTMENTS)
		return error_set(error, EINVAL, "compartment is no id");
	if (!*name || strlen(name) >= BH_NAME_SIZE)
		return error_set(error, EINVAL, "name has 1 to %u bytes", BH_NAME_SIZE - 1);
	if (request->message->nfds != 1)
		return error_set(error, EINVAL, "open comes with one descriptor");
	return compartment_new(request->egressd, request->serial, request->message->fds[0], error);
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

int verb_adopt(struct request *request, struct error *error)
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

int verb_list(struct request *request, struct error *error)
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
		r = compartment_list(request->compartment, &entries,
				     json_is_true(json_object_get(request->body, "proxy")), error);
	entries_done(&entries);
	return r;
}

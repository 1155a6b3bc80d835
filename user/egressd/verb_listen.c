// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* listen, unlisten: where queries and connections come from. */
#include <errno.h>
#include <string.h>
#include "verbs.h"

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

int verb_listen(struct request *request, struct error *error)
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

int verb_unlisten(struct request *request, struct error *error)
{
	__u64 netns = (__u64)number_of(request, "netns");
	struct outlet *outlet = request->compartment->outlets;

	while (outlet && outlet->netns != netns)
		outlet = outlet->next;
	if (!outlet)
		return error_set(error, ENOENT, "it does not listen in this network namespace");
	outlet_free(outlet);
	return 0;
}

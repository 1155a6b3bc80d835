// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <string.h>
#include "egress/resolve.h"
#include "flows.h"
#include "verbs.h"

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

int verb_configure(struct request *request, struct error *error)
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
	e->asking.linger_us = options.nupstreams * ASKING_LINGER_US;
	e->flows = TAKE_FD(request->message->fds[0]);
	e->connect_ms = (unsigned int)number_of(request, "connect-ms");
	e->idle_ms = (unsigned int)number_of(request, "idle-ms");
	e->total_ms = (unsigned int)number_of(request, "total-ms");
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* grant, revoke, close: what it may reach now. */
#include <errno.h>
#include "verbs.h"

/* A year, and longer than any connection: what is above is no number of milliseconds but a mistake. */
#define MAX_MS (365ll * 24 * 3600 * 1000)

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

int verb_grant(struct request *request, struct error *error)
{
	bool ends = json_object_get(request->body, "for-ms");
	struct grant grant = {.given = true};
	int r = ends ? check_ms(request, "for-ms", MAX_MS, error) : 0;

	if (!r && number_of(request, "lease") < 0)
		r = error_set(error, EINVAL, "lease is no number of a grant");
	if (!r)
		r = read_only(json_object_get(request->body, "only"), &grant, error);
	if (!r)
		r = compartment_grant(request->compartment, &grant,
				      (__u64)number_of(request, "lease"),
				      (__u64)number_of(request, "for-ms"));
	grant_done(&grant);
	return r;
}

int verb_revoke(struct request *request, struct error *error _unused_)
{
	compartment_revoke(request->compartment);
	return 0;
}

int verb_close(struct request *request, struct error *error _unused_)
{
	compartment_free(request->compartment);
	return 0;
}

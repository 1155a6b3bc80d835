// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* grant, revoke and outlets: the operator's yes to what a policy lists, and who waits for it to be in force. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include "base/cleanup.h"
#include "base/duration.h"
#include "egress.h"
#include "request.h"

static int check_what(const struct request *request, struct error *error)
{
	const char *what = request_text(request, "what");

	return what && !strcmp(what, "egress")
		       ? 0
		       : error_set(error, EINVAL, "\"egress\" alone can be granted and revoked");
}

/* The one compartment that is meant, and its way out as of now. */
static int find(struct request *request, struct way **ret, struct error *error)
{
	struct daemon *d = request->daemon;
	struct compartment *found[BH_MAX_COMPARTMENTS];
	struct way *way;
	size_t n = 0;
	int r = registry_select(d, request->body, found, &n, error);

	if (r)
		return r;
	if (n != 1)
		return error_set(error, EINVAL, "one compartment is needed: give its name or id");
	r = egress_check(d, error);
	if (r)
		return r;
	egress_tick(d);
	way = egress_way(d, found[0]->id);
	if (!way && found[0]->loaded && found[0]->loaded->negress)
		return error_set(error, ESTALE,
				 "%s: its policy's file was edited since it was put in force: "
				 "bulkhead reload %u",
				 found[0]->name, found[0]->id);
	if (!way)
		return error_set(error, ENOENT, "%s: its policy lists no destinations (network:)",
				 found[0]->name);
	*ret = way;
	return 0;
}

static int wait_for(struct request *request, const struct way *way,
		    int (*settled)(struct daemon *d, struct later *later, struct error *error),
		    struct error *error)
{
	request->later.settled = settled;
	request->later.until_us = now_us() + CONTROL_LATER_MS * 1000ull;
	request->later.compartment = way->compartment;
	request->later.serial = way->of.serial;
	return settled(request->daemon, &request->later, error);
}

/* 0 and the way; -errno: it will not come to be. */
static int look(struct daemon *d, const struct later *later, struct way **ret, struct error *error)
{
	struct way *way = egress_way(d, later->compartment);

	if (!way || way->of.serial != later->serial)
		return error_set(error, ESRCH, "the compartment is gone");
	if (way->stalled)
		return error_set(error, EIO, "%s", way->why);
	*ret = way;
	return 0;
}

/* Does it run, or will it within so many milliseconds? */
static int check_relay(struct daemon *d, uint64_t within_ms, struct error *error)
{
	const struct relay *relay = d->egress->relay;
	unsigned int ms = relay_starts_ms(relay);

	if (!*relay_why(relay) || ms < within_ms)
		return 0;
	return ms == UINT_MAX || !within_ms
		       ? error_set(error, EIO, "the relay does not run: %s", relay_why(relay))
		       : error_set(error, EIO,
				   "the relay does not run: %s; it is started again in %u s: "
				   "try again then",
				   relay_why(relay), ms / 1000 + 1);
}

/* --- grant --- */

/* What is in its way may go: then it is in force, and who was told of a failure is to know. */
static int stands(struct daemon *d, const struct later *later, int r, struct error *error)
{
	const struct way *way = egress_way(d, later->compartment);
	struct error why = *error;

	if (!way || way->of.serial != later->serial || !way->grant.given)
		return r;
	return error_set(error, -r,
			 "%s; the grant stands, and is in force as soon as it can be: bulkhead "
			 "revoke takes it back",
			 why.text);
}

static int granted(struct daemon *d, struct later *later, struct error *error)
{
	struct way *way = NULL;
	int r = look(d, later, &way, error);

	if (!r)
		r = check_relay(d, 0, error);
	if (r)
		return stands(d, later, r, error);
	if (!way->grant.given)
		return error_set(error, ECANCELED, "%s",
				 *way->why ? way->why : "it was revoked meanwhile");
	return way->granted && way_due(way) == SAY_NOTHING ? 0 : REQUEST_LATER;
}

static int take_only(const struct request *request, const struct way *way, struct grant *grant,
		     struct error *error)
{
	const json_t *list = json_object_get(request->body, "only"), *item;
	char name[WAY_NAME_SIZE];
	size_t i;

	if (!list)
		return 0;
	if (!json_array_size(list) || json_array_size(list) > BH_MAX_DESTINATIONS)
		return error_set(error, EINVAL, "only: 1 to %d names", BH_MAX_DESTINATIONS);
	grant->only = calloc(json_array_size(list) + 1, sizeof(char *));
	if (!grant->only)
		return error_set(error, ENOMEM, "out of memory");
	json_array_foreach (list, i, item) {
		int r = way_find_name(way, json_string_value(item), name, error);

		if (r) {
			error_prefix(error, "only");
			return r;
		}
		grant->only[i] = strdup(name);
		if (!grant->only[i])
			return error_set(error, ENOMEM, "out of memory");
	}
	return 0;
}

static int take_span(const struct request *request, struct grant *grant, struct error *error)
{
	const json_t *span = json_object_get(request->body, "for_ms");
	json_int_t ms = json_integer_value(span);

	if (!span)
		return 0;
	if (ms <= 0 || (uint64_t)ms > DURATION_MAX_MS)
		return error_set(error, EINVAL, "for_ms: 1 to %llu", DURATION_MAX_MS);
	grant->until_ms = boot_ms() + (uint64_t)ms;
	return 0;
}

int request_grant(struct request *request, struct error *error)
{
	struct grant grant = {.given = true, .uid = request->client->peer.uid};
	struct way *way = NULL;
	int r = check_what(request, error);

	if (!r)
		r = find(request, &way, error);
	if (!r)
		r = take_span(request, &grant, error);
	if (!r)
		r = take_only(request, way, &grant, error);
	if (!r)
		r = egress_grant(request->daemon, way, &grant, error);
	grant_done(&grant);
	return r ? r : wait_for(request, way, granted, error);
}

/* --- revoke --- */

/* A relay that died has cut everything. */
static int revoked(struct daemon *d, struct later *later, struct error *error _unused_)
{
	struct way *way = egress_way(d, later->compartment);

	return way && way->of.serial == later->serial && way->granted ? REQUEST_LATER : 0;
}

int request_revoke(struct request *request, struct error *error)
{
	struct way *way = NULL;
	int r = check_what(request, error);

	if (!r)
		r = find(request, &way, error);
	if (r)
		return r;
	json_object_set_new(request->reply, "was_granted", json_boolean(way->grant.given));
	egress_revoke(request->daemon, way);
	return wait_for(request, way, revoked, error);
}

/* --- outlets --- */

/* A relay that died is waited for: the next one opens it again. */
static int opened(struct daemon *d, struct later *later, struct error *error)
{
	uint64_t now = now_us(), left = later->until_us > now ? later->until_us - now : 0;
	struct way *way = NULL;
	int r = look(d, later, &way, error);

	if (r || way_is_open(way))
		return r;
	r = check_relay(d, left / 1000, error);
	if (r)
		return r;
	for (size_t i = 0; i < way->nnets; i++)
		if (*way->nets[i].why)
			return error_set(error, EIO, "%s", way->nets[i].why);
	return REQUEST_LATER;
}

static int not_opened(struct daemon *d, const struct later *later, struct error *error)
{
	const struct compartment *c = d->entries[later->compartment].record;
	const char *why = c ? egress_why(d, c, egress_way(d, later->compartment)) : "it is gone";

	return error_set(error, ETIMEDOUT,
			 "%s: not there after %u s: %s: see bulkhead status and the agent's log",
			 c ? c->name : "", CONTROL_LATER_MS / 1000, *why ? why : "it is starting");
}

/* What cannot be opened keeps no unit from its start: nothing leaves it, and status says why. */
static int opened_or_not(struct daemon *d, struct later *later, struct error *error _unused_)
{
	struct error why = {0};
	int r = opened(d, later, &why);

	if (r < 0)
		log_warning("a unit starts without its way out: %s", why.text);
	return r == REQUEST_LATER ? r : 0;
}

static int never_opened(struct daemon *d, const struct later *later, struct error *error _unused_)
{
	struct error why = {0};

	not_opened(d, later, &why);
	log_warning("a unit starts without its way out: %s", why.text);
	return 0;
}

int request_await_outlets(struct request *request, const struct compartment *c, struct error *error)
{
	struct way *way;

	if (!c->loaded || !c->loaded->negress)
		return 0;
	/* Who asks stands where the unit will, in its network namespace. */
	egress_tick(request->daemon);
	way = egress_way(request->daemon, c->id);
	request->later.overdue = never_opened;
	return way ? wait_for(request, way, opened_or_not, error) : 0;
}

int request_outlets(struct request *request, struct error *error)
{
	struct way *way = NULL;
	int r = find(request, &way, error);

	request->later.overdue = not_opened;
	return r ? r : wait_for(request, way, opened, error);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "egress_check.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include "base/clock.h"
#include "egress/config.h"
#include "egress/guard.h"
#include "egress/range.h"

/* A person waits; the relay gives up after the file's `connect`, if that is less. */
#define DEADLINE_MS 10000

/* What became of it. Texts as in the answer; reasons are whole sentences. */
struct result {
	const char *outcome;
	char reason[ERROR_TEXT_SIZE];
	char address[ADDRESS_TEXT_SIZE];
	json_int_t ms;
};

static void conclude(struct result *result, const char *outcome, const char *reason)
{
	result->outcome = outcome;
	snprintf(result->reason, sizeof(result->reason), "%s", reason);
}

/* --- what the policy says --- */

/* Of a wildcard and an entry that has the name itself, that one decides. */
static const struct policy_destination *find_entry(const struct policy *policy,
						   const struct target *target)
{
	const struct policy_destination *found = NULL;

	for (size_t i = 0; i < policy->negress; i++) {
		const struct policy_destination *entry = &policy->egress[i];

		if (destination_has_name(&entry->to, target->name) &&
		    destination_has_port(&entry->to, target->port) &&
		    (!found || found->to.wildcard))
			found = entry;
	}
	return found;
}

static json_t *entry_json(const struct policy_destination *entry)
{
	char to[DESTINATION_TEXT_SIZE];

	if (!entry)
		return json_null();
	destination_format(&entry->to, to);
	return json_pack("{s:s, s:s, s:I, s:b, s:o, s:I, s:I}", "to", to, "discloses",
			 entry->discloses, "max_upload", (json_int_t)entry->max_upload, "tls",
			 entry->tls, "file", text_json(entry->place.file), "line",
			 (json_int_t)entry->place.line, "column", (json_int_t)entry->place.column);
}

/* Entries that have the name, none of which has the port. */
static json_t *others_json(const struct policy *policy, const struct target *target)
{
	json_t *others = json_array();

	for (size_t i = 0; i < policy->negress; i++)
		if (destination_has_name(&policy->egress[i].to, target->name))
			json_array_append_new(others, entry_json(&policy->egress[i]));
	return others;
}

/* --- dialled as the relay dials --- */

static int make_guard(const struct policy *policy, const struct egress_config *config,
		      struct guard **ret, struct error *error)
{
	_cleanup_free_ struct destination *entries = calloc(policy->negress + 1, sizeof(*entries));
	struct guard_options options = {
		.entries = entries,
		.nentries = policy->negress,
		.reach = {.upstreams = (const char *const *)config->upstreams,
			  .rules = config->rules},
	};

	if (!entries)
		return error_set(error, ENOMEM, "out of memory");
	for (size_t i = 0; i < policy->negress; i++)
		entries[i] = policy->egress[i].to;
	while (config->upstreams[options.reach.nupstreams])
		options.reach.nupstreams++;
	return guard_new(&options, ret, error);
}

/* "": who answered has hung up already. */
static void find_peer(int fd, char ret[ADDRESS_TEXT_SIZE])
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} peer;
	socklen_t length = sizeof(peer);
	struct address address = {.family = ADDRESS_V4};

	*ret = '\0';
	if (getpeername(fd, &peer.any, &length))
		return;
	if (peer.any.sa_family == AF_INET6) {
		address.family = ADDRESS_V6;
		memcpy(address.bytes, &peer.v6.sin6_addr, sizeof(peer.v6.sin6_addr));
	} else {
		memcpy(address.bytes, &peer.v4.sin_addr, sizeof(peer.v4.sin_addr));
	}
	address_format(&address, ret);
}

/* The guard puts name and port in front, which the answer has already. */
static const char *without_target(const char *reason, const struct target *target)
{
	char prefix[DESTINATION_NAME_SIZE + 16];
	int n = snprintf(prefix, sizeof(prefix), "%s:%u: ", target->name, target->port);

	return strncmp(reason, prefix, (size_t)n) ? reason : reason + n;
}

static void dial(struct guard *guard, const struct target *target, unsigned int deadline_ms,
		 struct result *result)
{
	_cleanup_close_ int fd = -1;
	struct error why = {0};
	uint64_t since = clock_us();
	int r = egress_dial(guard, target->name, strlen(target->name), target->port, deadline_ms,
			    &fd, &why);

	result->ms = (json_int_t)((clock_us() - since) / 1000);
	if (r) {
		conclude(result, r == -EPERM ? "refused" : "not-reached",
			 without_target(why.text, target));
		return;
	}
	conclude(result, "reached", "");
	find_peer(fd, result->address);
}

/* What keeps the relay from running keeps this from dialling. */
static void attempt(const struct egress_question *question, struct result *result)
{
	_cleanup_(cleanup_egress_config_free) struct egress_config *config = NULL;
	_cleanup_guard_ struct guard *guard = NULL;
	struct error why = {0};
	int r = egress_config_load(question->config, &config, &why);

	if (r == -ENOENT) {
		error_set(&why, ENOENT,
			  "egress is not configured, there is no %s: see bulkheadd(8)",
			  question->config);
		conclude(result, "not-configured", why.text);
		return;
	}
	if (!r)
		r = range_check(&config->rules.synthetic, &why);
	if (!r)
		r = make_guard(question->policy, config, &guard, &why);
	if (r)
		conclude(result, "not-dialled", why.text);
	else
		dial(guard, question->target,
		     config->connect_ms < DEADLINE_MS ? config->connect_ms : DEADLINE_MS, result);
}

/* --- the answer --- */

static json_t *text_or_null(const char *text)
{
	return *text ? text_json(text) : json_null();
}

bool egress_is_reached(const json_t *answer)
{
	return !strcmp(text_of(answer, "outcome"), "reached");
}

int egress_ask(const struct egress_question *question, json_t **ret, struct error *error)
{
	const struct policy *policy = question->policy;
	const struct target *target = question->target;
	const struct policy_destination *entry = find_entry(policy, target);
	json_t *others = entry ? json_array() : others_json(policy, target);
	struct result result = {.ms = -1};

	if (entry)
		attempt(question, &result);
	else if (json_array_size(others))
		conclude(&result, "other-ports", "the name is listed, with other ports");
	else
		conclude(&result, "not-listed", "not listed");
	*ret = json_pack("{s:o, s:s, s:i, s:o, s:o, s:s, s:o, s:o, s:o, s:s}", "policy",
			 policy_json(policy), "name", target->name, "port", (int)target->port,
			 "entry", entry_json(entry), "other_ports", others, "outcome",
			 result.outcome, "reason", text_or_null(result.reason), "address",
			 text_or_null(result.address), "ms",
			 result.ms < 0 ? json_null() : json_integer(result.ms), "grant",
			 "not-asked");
	return *ret ? 0 : error_set(error, ENOMEM, "out of memory");
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "way.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

/* --- the object --- */

struct way *way_new(const struct compartment *c, const struct kept_of *of, const char *directory)
{
	_cleanup_(cleanup_way_free) struct way *way = calloc(1, sizeof(*way));

	if (!way)
		return NULL;
	way->of = *of;
	way->compartment = c->id;
	way->names.fd = way->spent = -1;
	way->name = strdup(c->name);
	way->cgroup = strdup(c->cgroup);
	if (!way->name || !way->cgroup || kept_names_open(directory, of, &way->names))
		return NULL;
	grant_load(directory, of, &way->grant);
	way->to_adopt = way->names.n;
	return TAKE_PTR(way);
}

void way_free(struct way *way)
{
	if (!way)
		return;
	for (size_t i = 0; i < way->nnets; i++)
		if (way->nets[i].state != NET_FAILED)
			outlet_close(&way->nets[i].outlet);
	kept_names_done(&way->names);
	cleanup_closep(&way->spent);
	grant_done(&way->grant);
	json_decref(way->entries);
	free(way->name);
	free(way->cgroup);
	free(way);
}

bool way_count(struct way *way, const char *directory)
{
	char why[WAY_WHY_SIZE];
	bool news;

	if (way->spent >= 0)
		return true;
	way->spent = kept_spent_open(directory, &way->of);
	if (way->spent >= 0)
		return true;
	snprintf(why, sizeof(why), "%.128s/%llu.spent, where uploads are counted: %s", directory,
		 (unsigned long long)way->of.serial, strerror(-way->spent));
	news = strcmp(why, way->why) != 0;
	memcpy(way->why, why, sizeof(way->why));
	way->stalled = true;
	return !news;
}

/* --- what is listed --- */

static json_t *entry_of(const struct policy_destination *d)
{
	char text[DESTINATION_TEXT_SIZE];
	json_t *entry;

	destination_format(&d->to, text);
	entry = json_pack("{s:s, s:b}", "to", text, "tls", d->tls);
	/* Left out: without end. */
	if (entry && d->max_upload &&
	    json_object_set_new(entry, "max-upload", json_integer((json_int_t)d->max_upload))) {
		json_decref(entry);
		return NULL;
	}
	return entry;
}

json_t *way_entries(const struct policy *policy)
{
	json_t *entries = json_array();

	for (size_t i = 0; entries && i < policy->negress; i++) {
		if (!json_array_append_new(entries, entry_of(&policy->egress[i])))
			continue;
		json_decref(entries);
		return NULL;
	}
	return entries;
}

void way_list(struct way *way, json_t *entries, bool proxy)
{
	if (way->entries && way->proxy == proxy && json_equal(way->entries, entries)) {
		json_decref(entries);
		return;
	}
	json_decref(way->entries);
	way->entries = entries;
	way->proxy = proxy;
	way->listed = false;
	way->version++;
}

void way_grant(struct way *way, struct grant *grant)
{
	grant_done(&way->grant);
	way->grant = *grant;
	*grant = (struct grant){0};
	way->regrant = true;
	way->version++;
}

static bool is_listed(const struct way *way, const char *name, bool wildcard)
{
	struct destination_fault fault;
	struct destination to;
	const json_t *entry;
	size_t i;

	json_array_foreach (way->entries, i, entry) {
		const char *text = json_string_value(json_object_get(entry, "to"));

		if (!text || destination_parse(text, strlen(text), &to, &fault))
			continue;
		if (wildcard ? to.wildcard && !strcmp(to.name, name)
			     : destination_has_name(&to, name))
			return true;
	}
	return false;
}

int way_find_name(const struct way *way, const char *text, char ret[WAY_NAME_SIZE],
		  struct error *error)
{
	bool wildcard = !strncmp(text, "*.", 2);
	const char *name = wildcard ? text + 2 : text;
	char canonical[DESTINATION_NAME_SIZE];
	struct destination_fault fault;

	if (destination_name(name, strlen(name), canonical, &fault))
		return error_set(error, EINVAL, "\"%s\" is no name: %s", text, fault.reason);
	if (!is_listed(way, canonical, wildcard))
		return error_set(error, ENOENT, "%s: its policy does not list it", text);
	snprintf(ret, WAY_NAME_SIZE, "%s%s", wildcard ? "*." : "", canonical);
	return 0;
}

/* --- what is due --- */

static size_t next_net(const struct way *way, enum net_state state)
{
	size_t i = 0;

	while (i < way->nnets && way->nets[i].state != state)
		i++;
	return i;
}

enum saying way_due(const struct way *way)
{
	if (!way->opened)
		return way->ended || way->stalled || way->spent < 0 ? SAY_NOTHING : SAY_OPEN;
	if (way->ended)
		return SAY_CLOSE;
	if (way->granted && !way->grant.given)
		return SAY_REVOKE;
	if (way->stalled)
		return SAY_NOTHING;
	if (way->adopted < way->to_adopt)
		return SAY_ADOPT;
	if (!way->listed)
		return SAY_LIST;
	if (next_net(way, NET_GONE) < way->nnets)
		return SAY_UNLISTEN;
	if (next_net(way, NET_OPEN) < way->nnets)
		return SAY_LISTEN;
	return way->grant.given && (!way->granted || way->regrant) ? SAY_GRANT : SAY_NOTHING;
}

bool way_is_urgent(const struct way *way)
{
	enum saying due = way_due(way);

	return due == SAY_CLOSE || due == SAY_REVOKE;
}

static json_t *serial_of(const struct way *way)
{
	return json_integer((json_int_t)way->of.serial);
}

static json_t *say_open(const struct way *way)
{
	return json_pack("{s:s, s:o, s:I, s:s}", "do", "open", "serial", serial_of(way),
			 "compartment", (json_int_t)way->compartment, "name", way->name);
}

static size_t adopt_end(const struct way *way)
{
	return way->to_adopt - way->adopted > CHANNEL_NAMES ? way->adopted + CHANNEL_NAMES
							    : way->to_adopt;
}

static json_t *say_adopt(const struct way *way)
{
	json_t *pairs = json_array();

	for (size_t i = way->adopted; i < adopt_end(way); i++) {
		struct in_addr address = {.s_addr = htonl(way->names.names[i].address)};
		char text[INET_ADDRSTRLEN];

		inet_ntop(AF_INET, &address, text, sizeof(text));
		json_array_append_new(pairs, json_pack("[s, s]", text, way->names.names[i].name));
	}
	return json_pack("{s:s, s:o, s:o}", "do", "adopt", "serial", serial_of(way), "names",
			 pairs);
}

static json_t *say_list(const struct way *way)
{
	return json_pack("{s:s, s:o, s:O, s:b}", "do", "list", "serial", serial_of(way), "entries",
			 way->entries, "proxy", way->proxy);
}

static json_t *say_listen(const struct way *way)
{
	const struct outlet *outlet = &way->nets[next_net(way, NET_OPEN)].outlet;
	json_t *sockets = json_pack("[s, s]", "relay", "stub4");

	if (outlet->stub6 >= 0)
		json_array_append_new(sockets, json_string("stub6"));
	return json_pack("{s:s, s:o, s:I, s:o}", "do", "listen", "serial", serial_of(way), "netns",
			 (json_int_t)outlet->cookie, "sockets", sockets);
}

static json_t *say_unlisten(const struct way *way)
{
	const struct outlet *outlet = &way->nets[next_net(way, NET_GONE)].outlet;

	return json_pack("{s:s, s:o, s:I}", "do", "unlisten", "serial", serial_of(way), "netns",
			 (json_int_t)outlet->cookie);
}

static json_t *say_grant(const struct way *way)
{
	json_t *message = json_pack("{s:s, s:o, s:I}", "do", "grant", "serial", serial_of(way),
				    "lease", (json_int_t)way->grant.lease);
	json_t *only = way->grant.only ? json_array() : NULL;
	uint64_t left = grant_left_ms(&way->grant);

	for (char **name = way->grant.only; only && name && *name; name++)
		json_array_append_new(only, json_string(*name));
	if (only)
		json_object_set_new(message, "only", only);
	/* One that is over by now is for a moment; the agent's own clock ends it as well. */
	if (left != UINT64_MAX)
		json_object_set_new(message, "for-ms", json_integer(left ? (json_int_t)left : 1));
	return message;
}

static json_t *say_revoke(const struct way *way)
{
	return json_pack("{s:s, s:o}", "do", "revoke", "serial", serial_of(way));
}

static json_t *say_close(const struct way *way)
{
	return json_pack("{s:s, s:o}", "do", "close", "serial", serial_of(way));
}

static const struct {
	const char *word;
	json_t *(*say)(const struct way *way);
} sayings[] = {
	[SAY_OPEN] = {"open", say_open},
	[SAY_ADOPT] = {"adopt", say_adopt},
	[SAY_LIST] = {"list", say_list},
	[SAY_LISTEN] = {"listen", say_listen},
	[SAY_UNLISTEN] = {"unlisten", say_unlisten},
	[SAY_GRANT] = {"grant", say_grant},
	[SAY_REVOKE] = {"revoke", say_revoke},
	[SAY_CLOSE] = {"close", say_close},
};

bool way_say(const struct way *way, struct way_question *ret, struct relay_ask *ret_ask)
{
	struct way_question question = {.saying = way_due(way), .version = way->version};
	struct relay_ask ask = {.message = sayings[question.saying].say(way)};
	const struct outlet *outlet;

	if (question.saying == SAY_UNLISTEN)
		question.netns = way->nets[next_net(way, NET_GONE)].outlet.cookie;
	if (question.saying == SAY_OPEN)
		ask.fds[ask.nfds++] = way->spent;
	if (question.saying == SAY_LISTEN) {
		outlet = &way->nets[next_net(way, NET_OPEN)].outlet;
		question.netns = outlet->cookie;
		ask.fds[ask.nfds++] = outlet->relay;
		ask.fds[ask.nfds++] = outlet->stub4;
		if (outlet->stub6 >= 0)
			ask.fds[ask.nfds++] = outlet->stub6;
	}
	*ret = question;
	*ret_ask = ask;
	return ask.message;
}

/* --- what became of it --- */

struct net *way_net(struct way *way, __u64 cookie)
{
	for (size_t i = 0; i < way->nnets; i++)
		if (way->nets[i].state != NET_FAILED && way->nets[i].outlet.cookie == cookie)
			return &way->nets[i];
	return NULL;
}

void net_fail(struct net *net, const char *why)
{
	if (net->state != NET_FAILED)
		outlet_close(&net->outlet);
	net->state = NET_FAILED;
	snprintf(net->why, sizeof(net->why), "%s", why);
}

void net_leave(struct net *net)
{
	outlet_close(&net->outlet);
	net->state = NET_GONE;
	net->why[0] = '\0';
}

void way_said(struct way *way, const struct way_question *question)
{
	bool present = question->version == way->version;
	struct net *net;

	way->why[0] = '\0';
	switch (question->saying) {
	case SAY_OPEN:
		way->opened = true;
		break;
	case SAY_ADOPT:
		way->adopted = adopt_end(way);
		break;
	case SAY_LIST:
		way->listed = present;
		way->had_list = true;
		break;
	case SAY_LISTEN:
		net = way_net(way, question->netns);
		/* It may have been left meanwhile. */
		if (net && net->state == NET_OPEN)
			net->state = NET_TOLD;
		break;
	case SAY_UNLISTEN:
		net = way_net(way, question->netns);
		if (net)
			net_fail(net, "");
		break;
	case SAY_GRANT:
		way->granted = true;
		way->regrant = !present;
		break;
	case SAY_REVOKE:
		way->granted = false;
		break;
	case SAY_CLOSE:
		way_forgotten(way);
		break;
	case SAY_NOTHING:
		break;
	}
}

void way_refused(struct way *way, const struct way_question *question, int code, const char *why)
{
	struct net *net = way_net(way, question->netns);

	snprintf(way->why, sizeof(way->why), "the relay refuses to %s: %s (%s)",
		 sayings[question->saying].word, why, strerror(-code));
	/* They get other addresses, which those that are kept would contradict. */
	if (question->saying == SAY_ADOPT) {
		kept_names_cut(&way->names, &way->of, way->adopted);
		way->to_adopt = way->adopted;
	} else if (question->saying == SAY_UNLISTEN && net)
		net_fail(net, "");
	else if (question->saying == SAY_LISTEN && net)
		net_fail(net, way->why);
	else
		way->stalled = true;
}

void way_forgotten(struct way *way)
{
	way->opened = way->listed = way->had_list = way->granted = way->stalled = false;
	way->regrant = false;
	way->adopted = 0;
	way->to_adopt = way->names.n;
	way->why[0] = '\0';
	for (size_t i = 0; i < way->nnets; i++)
		if (way->nets[i].state == NET_GONE) {
			net_fail(&way->nets[i], "");
		} else if (way->nets[i].state != NET_FAILED) {
			way->nets[i].state = NET_OPEN;
			way->nets[i].why[0] = '\0';
		}
}

bool way_is_open(const struct way *way)
{
	bool any = false;

	for (size_t i = 0; i < way->nnets; i++)
		any = any || way->nets[i].state == NET_SET;
	return any && way_due(way) == SAY_NOTHING && !way->stalled;
}

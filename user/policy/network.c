// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* network: none, or loopback, ports that members listen at, and what may be reached, what is sent there, how much of it,
 * and by a proxy or not. */
#include "load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <bulkhead/limits.h>
#include "quantity.h"

/* One of the list. */
struct listed {
	const struct unit *unit;
	const struct text_destination *text;
	unsigned int i;
};

static int fault(struct destination_fault *ret, size_t offset, const char *reason)
{
	*ret = (struct destination_fault){offset, reason};
	return -EINVAL;
}

static const struct outline_entry *find_key(const struct listed *listed, const char *key)
{
	return outline_find(&listed->unit->outline, "network.egress[%u].%s", listed->i, key);
}

static int fault_in(struct loader *loader, const struct outline_entry *entry, const char *key,
		    const struct destination_fault *found)
{
	const struct place place = outline_byte(entry, found->offset);

	return error_at(loader->error, &place, "%s at byte %zu: %s", key, found->offset + 1,
			found->reason);
}

static int fault_at(struct loader *loader, const struct listed *listed, const char *key,
		    const struct destination_fault *found)
{
	return fault_in(loader, find_key(listed, key), key, found);
}

static int check_keys(struct loader *loader, const struct listed *listed)
{
	static const struct {
		const char *key, *advice;
	} required[] = {
		{"to", "write what may be reached, as in to: \"api.example.com:443\""},
		{"discloses", "write what is sent there, as in discloses: \"prompts\""},
		{"max-upload", "write how much may be sent there, as in max-upload: 200MiB"},
	};
	const struct outline_entry *entry =
		outline_find(&listed->unit->outline, "network.egress[%u]", listed->i);
	size_t i;

	for (i = 0; i < sizeof(required) / sizeof(*required); i++) {
		if (!find_key(listed, required[i].key))
			return error_at(loader->error, &entry->place, "no %s: %s", required[i].key,
					required[i].advice);
	}
	return 0;
}

/* A name that is given twice would be disclosed in two ways, and bounded twice. */
static int check_new(struct loader *loader, const struct policy_destination *destination)
{
	const struct policy *policy = loader->policy;
	const struct destination *to = &destination->to, *other;
	size_t i, port;

	for (i = 0; i < policy->negress; i++) {
		other = &policy->egress[i].to;
		if (other->wildcard != to->wildcard || strcmp(other->name, to->name) != 0)
			continue;
		for (port = 0; port < to->nports; port++) {
			if (destination_has_port(other, to->ports[port]))
				return error_at(loader->error, &destination->place,
						"%s%s:%u is in line %u already: write it once",
						to->wildcard ? "*." : "", to->name, to->ports[port],
						policy->egress[i].place.line);
		}
	}
	return 0;
}

static int take_to(struct loader *loader, const struct listed *listed,
		   struct policy_destination *ret)
{
	const char *text = listed->text->to;
	struct destination_fault found;

	ret->place = find_key(listed, "to")->place;
	if (destination_parse(text, strlen(text), &ret->to, &found) < 0)
		return fault_at(loader, listed, "to", &found);
	return check_new(loader, ret);
}

/* People read it where what it says decides, so that nothing in it may hide or change what stands beside it. */
static int check_disclosed(const char *text, struct destination_fault *ret)
{
	size_t i;

	if (!text[strspn(text, " ")])
		return fault(ret, 0, "empty: write what is sent there");
	for (i = 0; text[i]; i++) {
		if (text[i] < ' ' || text[i] > '~')
			return fault(ret, i, "not printable ASCII: write plain words");
		if (i == BH_MAX_DISCLOSES)
			return fault(ret, i, "longer than 160 bytes: write the kinds of things");
	}
	return 0;
}
_Static_assert(BH_MAX_DISCLOSES == 160, "as the reason says");

static int take_discloses(struct loader *loader, const struct listed *listed,
			  struct policy_destination *ret)
{
	struct destination_fault found;

	if (check_disclosed(listed->text->discloses, &found) < 0)
		return fault_at(loader, listed, "discloses", &found);
	ret->discloses = strdup(listed->text->discloses);
	if (!ret->discloses)
		return error_set(loader->error, ENOMEM, "no memory to load the policy");
	return 0;
}

static int take_max_upload(struct loader *loader, const struct listed *listed,
			   struct policy_destination *ret)
{
	struct destination_fault found;

	if (quantity_bytes(listed->text->max_upload, &ret->max_upload, &found.reason,
			   &found.offset) < 0)
		return fault_at(loader, listed, "max-upload", &found);
	return 0;
}

static int take_tls(struct loader *loader, const struct listed *listed,
		    struct policy_destination *ret)
{
	const struct outline_entry *entry = find_key(listed, "tls");
	int value = false, r = 0;

	if (entry)
		r = settings_choose(loader, &entry->place, "tls", listed->text->tls, settings_truth,
				    &value);
	ret->tls = value;
	return r;
}

/* What is to be freed comes last. */
static int take_destination(struct loader *loader, const struct listed *listed,
			    struct policy_destination *ret)
{
	int r = check_keys(loader, listed);

	if (r == 0)
		r = take_to(loader, listed, ret);
	if (r == 0)
		r = take_max_upload(loader, listed, ret);
	if (r == 0)
		r = take_tls(loader, listed, ret);
	return r < 0 ? r : take_discloses(loader, listed, ret);
}

static int take_egress(struct loader *loader, const struct unit *unit,
		       const struct text_network *network)
{
	struct listed listed = {.unit = unit};
	struct policy *policy = loader->policy;
	int r = 0;

	if (network->egress_count > BH_MAX_DESTINATIONS)
		return error_at(loader->error,
				&outline_find(&unit->outline, "network.egress[%d]",
					      BH_MAX_DESTINATIONS)
					 ->place,
				"more than %d destinations: write *.name for names of one kind",
				BH_MAX_DESTINATIONS);
	policy->egress = calloc(network->egress_count, sizeof(*policy->egress));
	if (!policy->egress)
		return error_set(loader->error, ENOMEM, "no memory to load the policy");
	for (; r == 0 && listed.i < network->egress_count; listed.i++) {
		listed.text = &network->egress[listed.i];
		r = take_destination(loader, &listed, &policy->egress[listed.i]);
		if (r == 0)
			policy->negress++;
	}
	return r;
}

/* --- where members listen --- */

static int add_port(struct loader *loader, const struct place *place, const struct listen_at *at)
{
	struct policy *policy = loader->policy;
	char text[LISTEN_TEXT_SIZE];
	size_t i;

	for (i = 0; i < policy->nlisten; i++) {
		const struct policy_port *other = &policy->listen[i];

		listen_format(at, text);
		if (listen_covers(&other->at, at))
			return error_at(loader->error, place,
					"line %u lets members listen at %s already: write it once",
					other->place.line, text);
		listen_format(&other->at, text);
		if (listen_covers(at, &other->at))
			return error_at(loader->error, place,
					"%s in line %u says no more than this: leave it out", text,
					other->place.line);
	}
	if (policy->nlisten == BH_MAX_LISTEN)
		return error_at(loader->error, place,
				"more than %d ports: write *:PORT for one at every address",
				BH_MAX_LISTEN);
	policy->listen[policy->nlisten++] = (struct policy_port){*at, *place};
	return 0;
}

static int take_listen(struct loader *loader, const struct unit *unit,
		       const struct text_network *network)
{
	struct policy *policy = loader->policy;
	struct listen_at rows[LISTEN_PORTS];
	struct destination_fault found;
	unsigned int i;
	size_t n = 0, row;
	int r = 0;

	policy->listen = calloc(BH_MAX_LISTEN, sizeof(*policy->listen));
	if (!policy->listen)
		return error_set(loader->error, ENOMEM, "no memory to load the policy");
	for (i = 0; r == 0 && i < network->listen_count; i++) {
		const struct outline_entry *entry =
			outline_find(&unit->outline, "network.listen[%u]", i);
		const char *text = network->listen[i];

		if (listen_parse(text, strlen(text), rows, &n, &found) < 0)
			return fault_in(loader, entry, "listen", &found);
		for (row = 0; r == 0 && row < n; row++)
			r = add_port(loader, &entry->place, &rows[row]);
	}
	return r;
}

/* `none` is what leaving it out says; alone it would be a second way to write that there is no network. */
static int take_loopback(struct loader *loader, const struct unit *unit,
			 const struct text_network *network)
{
	static const struct choice words[] = {
		{"own", true, NULL},
		{"none", false, NULL},
		{NULL, 0, NULL},
	};
	const struct outline_entry *entry = outline_find(&unit->outline, "network.loopback");
	int own = false, r;

	if (!entry)
		return 0;
	r = settings_choose(loader, &entry->place, "loopback", network->loopback, words, &own);
	if (r < 0)
		return r;
	if (!own && !network->egress_count && !network->listen_count)
		return error_at(
			loader->error, &entry->place,
			"loopback: none, and neither egress nor listen: write network: none");
	loader->policy->loopback = own;
	return 0;
}

/* Without destinations it would be a door that leads nowhere. */
static int take_proxy(struct loader *loader, const struct unit *unit,
		      const struct text_network *network)
{
	const struct outline_entry *entry = outline_find(&unit->outline, "network.proxy");
	int value = false, r;

	if (!entry)
		return 0;
	r = settings_choose(loader, &entry->place, "proxy", network->proxy, settings_truth, &value);
	if (r < 0)
		return r;
	if (value && !network->egress_count)
		return error_at(loader->error, &entry->place,
				"proxy: true, and no egress: it leads to what egress lists alone");
	loader->policy->proxy = value;
	return 0;
}

static int take_open(struct loader *loader, const struct unit *unit,
		     const struct text_network *network)
{
	int r = take_loopback(loader, unit, network);

	if (r == 0)
		r = take_proxy(loader, unit, network);
	if (r == 0 && network->listen_count)
		r = take_listen(loader, unit, network);
	return r < 0 || !network->egress_count ? r : take_egress(loader, unit, network);
}

int network_take(struct loader *loader, const struct unit *unit)
{
	const struct outline_entry *entry = outline_find(&unit->outline, "network");
	const char *word = unit->text->closed;

	if (!word)
		return take_open(loader, unit, unit->text->network);
	if (!strcmp(word, "none"))
		return 0;
	return error_at(loader->error, &entry->place,
			"network: \"%s\" is no value of it: write " OUTLINE_NETWORK_FORM, word);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "daemon.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include "base/cleanup.h"
#include "compart/policies.h"
#include "egress.h"

/* Looking for a record that is not there costs, and an event storm asks for each event. */
#define REGISTRY_RETRY_US 1000000ull

void registry_drop(struct daemon *d, __u32 id)
{
	struct entry *entry = &d->entries[id];

	view_forget(&entry->view);
	compartment_free(entry->record);
	*entry = (struct entry){0};
	loss_forget(d->loss, id);
	egress_soon(d);
}

/* Names rules in events. The text may have changed since it was enforced: then only names are
 * missing, so a failure is not an error. */
static void load_policy(struct compartment *record)
{
	struct policy_options options = {
		.vars = (const char *const *)record->vars,
		.include_dir = record->include_dir && *record->include_dir ? record->include_dir
									   : policies_dir(),
	};
	struct error error = {0};

	if (record->loaded || !record->policy || !*record->policy)
		return;
	if (policy_load(record->policy, &options, &record->loaded, &error))
		log_warning("compartment %s: rules cannot be named in events: %s", record->name,
			    error.text);
}

/* The account of its events begins with the first that comes: some may have been handed over to an
 * earlier agent, or come before the record. */
static void begin_account(struct daemon *d, __u32 id)
{
	struct bh_tally tally = {0};

	loss_forget(d->loss, id);
	if (kern_tally(d->kern, id, &tally) == 0)
		d->entries[id].lost_before = tally.lost;
}

void registry_put(struct daemon *d, struct compartment *record)
{
	struct entry *entry = &d->entries[record->id];
	struct compartment *old = entry->record;

	if (!old || old->cgroup_id != record->cgroup_id) {
		registry_drop(d, record->id);
		begin_account(d, record->id);
	} else if (old->generation != record->generation) {
		entry->old_generation = old->generation;
	}
	view_forget(&entry->view);
	if (entry->record != record)
		compartment_free(entry->record);
	entry->record = record;
	entry->edited = false;
	load_policy(record);
	mountwatch_add(d, entry);
	egress_soon(d);
}

int registry_reload(struct daemon *d, struct compartment *c, struct error *error)
{
	struct entry *entry = &d->entries[c->id];
	__u32 old = c->generation;
	int r = compartment_reload(d->kern, c, error);

	if (r < 0)
		return r;
	if (c->generation != old)
		entry->old_generation = old;
	entry->edited = false;
	view_forget(&entry->view);
	load_policy(c);
	egress_soon(d);
	return 0;
}

void registry_read(struct daemon *d, __u32 id)
{
	struct entry *entry = &d->entries[id];
	struct compartment *record = NULL;

	entry->record_us = now_us();
	if (compartment_load(id, &record, NULL) == 0)
		registry_put(d, record);
}

static bool is_due(uint64_t last_us)
{
	return !last_us || now_us() - last_us >= REGISTRY_RETRY_US;
}

struct entry *registry_find(struct daemon *d, __u32 id, __u32 generation)
{
	struct entry *entry;

	if (!id || id >= BH_MAX_COMPARTMENTS)
		return NULL;
	entry = &d->entries[id];
	/* Another generation: reloaded, or the id is someone else's now. */
	if ((!entry->record || entry->record->generation != generation) && is_due(entry->record_us))
		registry_read(d, id);
	return entry;
}

void registry_refresh(struct daemon *d)
{
	/* What ended is remembered until its last events were read. */
	bool told = d->ring && stream_drain(d);
	struct bh_compartment now;

	for (__u32 id = 1; id < BH_MAX_COMPARTMENTS; id++) {
		struct entry *entry = &d->entries[id];

		if (kern_compartment_get(d->kern, id, &now)) {
			if (entry->record && told) {
				stream_repeats(d, id);
				registry_drop(d, id);
			}
		} else if (!entry->record || entry->record->generation != now.generation) {
			registry_read(d, id);
		}
	}
}

/* Members see best; of those that are gone the agent's own mounts tell most. */
const char *registry_translate(struct daemon *d, struct entry *entry, __u32 sbid, const char *path,
			       size_t length)
{
	const char *text;

	if (!entry || !entry->record || !sbid)
		return NULL;
	text = view_translate(d, &entry->view, entry->record->cgroup, sbid, path, length);
	return text ? text : view_translate(d, &d->view, NULL, sbid, path, length);
}

static bool is_unit_of(const char *instance, const char *unit)
{
	size_t n = strlen(unit);
	const char *at = strchr(unit, '@');

	/* As people write services: without the suffix. */
	if (!strncmp(instance, unit, n) && (!instance[n] || !strcmp(instance + n, ".service")))
		return true;
	/* NAME@ and NAME@.service stand for all its instances. */
	return at && (!at[1] || at[1] == '.') && !strncmp(instance, unit, (size_t)(at + 1 - unit));
}

/* One that is released but for the labels of its last tasks is nobody's to change. */
static bool is_live(struct daemon *d, const struct compartment *c)
{
	struct bh_compartment now;

	return c && kern_compartment_get(d->kern, c->id, &now) == 0 &&
	       now.state != BH_STATE_RELEASED;
}

static bool is_wanted(const struct compartment *c, const json_t *request)
{
	const char *target = json_string_value(json_object_get(request, "target"));
	const char *cgroup = json_string_value(json_object_get(request, "cgroup"));
	const char *unit = json_string_value(json_object_get(request, "unit"));
	char id[16];

	snprintf(id, sizeof(id), "%u", c->id);
	if (target)
		return !strcmp(c->name, target) || !strcmp(id, target);
	if (cgroup)
		return !strcmp(c->cgroup, cgroup);
	if (unit)
		return *c->unit && is_unit_of(c->unit, unit);
	return json_is_true(json_object_get(request, "all"));
}

/* Nothing was found: by what was it looked for? */
static int say_none(const json_t *request, struct error *error)
{
	const char *target = json_string_value(json_object_get(request, "target"));
	const char *cgroup = json_string_value(json_object_get(request, "cgroup"));
	const char *unit = json_string_value(json_object_get(request, "unit"));

	if (unit)
		return error_set(
			error, ENOENT,
			"%s: nothing of this unit is attached: bulkhead status lists what is",
			unit);
	if (cgroup)
		return error_set(error, ENOENT,
				 "%s: nothing is attached there: bulkhead status lists what is%s",
				 cgroup,
				 *cgroup == '/' ? ""
						: "; a cgroup is named by its directory, as in "
						  "/sys/fs/cgroup/system.slice/mcp.service");
	return error_set(
		error, ENOENT,
		"%s: no such compartment: see bulkhead status (a name is the policy's own)",
		target ?: "");
}

int registry_select(struct daemon *d, const json_t *request, struct compartment **ret,
		    size_t *ret_n, struct error *error)
{
	const char *target = json_string_value(json_object_get(request, "target"));
	size_t n = 0;

	registry_refresh(d);
	for (__u32 id = 1; id < BH_MAX_COMPARTMENTS; id++) {
		struct compartment *c = d->entries[id].record;

		if (is_live(d, c) && is_wanted(c, request))
			ret[n++] = c;
	}
	if (!n && !json_is_true(json_object_get(request, "all")))
		return say_none(request, error);
	if (target && n > 1)
		return error_set(error, ENOTUNIQ,
				 "%zu compartments are called %s: give the id (bulkhead status)", n,
				 target);
	*ret_n = n;
	return 0;
}

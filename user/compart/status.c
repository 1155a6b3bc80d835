// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "status.h"

#include <string.h>
#include "audit/escape.h"
#include "audit/names.h"
#include "base/cleanup.h"

static json_t *text_record(const char *text)
{
	_cleanup_free_ char *escaped = escape_bytes(text ?: "", strlen(text ?: ""));

	return json_string(escaped ?: "");
}

static json_t *vars_record(char **vars)
{
	json_t *array = json_array();

	for (char **v = vars; v && *v; v++)
		json_array_append_new(array, text_record(*v));
	return array;
}

/* Of those that refused or noted something. */
static json_t *hooks_record(const struct bh_tally *tally)
{
	json_t *hooks = json_object();

	for (int hook = 0; hook < BH_HOOK_COUNT; hook++) {
		const struct bh_fates *f = &tally->fates[hook];

		if (tally->hook[hook])
			json_object_set_new(hooks, hook_name(hook),
					    json_pack("{s:I, s:I, s:I, s:I, s:I}", "all",
						      (json_int_t)tally->hook[hook], "reported",
						      (json_int_t)f->reported, "quiet",
						      (json_int_t)f->quiet, "folded",
						      (json_int_t)f->folded, "lost",
						      (json_int_t)f->lost));
	}
	return hooks;
}

static json_t *tally_record(struct kern *kern, __u32 id)
{
	struct bh_tally tally = {0};

	kern_tally(kern, id, &tally);
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "refused",
			 (json_int_t)tally.refused, "noted", (json_int_t)tally.noted, "reported",
			 (json_int_t)tally.reported, "quiet", (json_int_t)tally.quiet, "folded",
			 (json_int_t)tally.folded, "lost", (json_int_t)tally.lost, "unsure",
			 (json_int_t)tally.unsure, "strayed", (json_int_t)tally.strayed,
			 "strangers", (json_int_t)tally.strangers, "hooks", hooks_record(&tally));
}

/* Open files that live, and in words what they are. */
static json_t *revoked_record(struct kern *kern, const struct compartment *c, __u64 serial)
{
	json_t *array = json_array();
	__u32 n = 0;

	if (serial)
		kern_revoked(kern, serial, &n);
	for (char **line = c->revoked; line && *line; line++)
		json_array_append_new(array, json_string(*line));
	return json_pack("{s:I, s:o}", "open", (json_int_t)n, "held", array);
}

static size_t count_processes(const char *cgroup)
{
	_cleanup_free_ pid_t *pids = NULL;
	size_t n = 0;

	return cgroup_pids(cgroup, &pids, &n) ? 0 : n;
}

/* The path may lead to another cgroup by now: that of the unit's next start. */
static bool is_standing(const struct compartment *c)
{
	__u64 id;

	return c->cgroup && kern_cgroup_id(c->cgroup, &id) == 0 && id == c->cgroup_id;
}

static const char *state_text(const struct bh_compartment *entry, bool there, bool stands)
{
	if (!there)
		return "gone";
	if (!stands && (entry->state == BH_STATE_ENFORCED || entry->state == BH_STATE_TRIPPED))
		return "ended"; /* enforced on tasks that were moved out in time, if there are any
				 */
	return compartment_state_name(entry->state);
}

json_t *status_record(struct kern *kern, const struct compartment *c)
{
	struct bh_compartment entry = {0};
	bool there = kern_compartment_get(kern, c->id, &entry) == 0;
	bool stands = is_standing(c);

	return json_pack(
		"{s:I, s:o, s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:O?}",
		"id", (json_int_t)c->id, "name", text_record(c->name), "state",
		state_text(&entry, there, stands), "mode", mode_name(entry.mode), "generation",
		(json_int_t)entry.generation, "policy", text_record(c->policy), "vars",
		vars_record(c->vars), "include_dir", text_record(c->include_dir), "digest",
		text_record(c->digest), "cgroup", text_record(c->cgroup), "unit",
		text_record(c->unit), "processes",
		(json_int_t)(stands ? count_processes(c->cgroup) : 0), "tally",
		tally_record(kern, c->id), "revoked",
		revoked_record(kern, c, there ? entry.serial : 0), "shell_authority", c->authority);
}

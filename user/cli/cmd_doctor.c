// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* bulkhead doctor: root examines the host itself, others ask the agent. */
#include <errno.h>
#include <string.h>
#include "cli.h"
#include "compart/doctor.h"

/* To examine a host leaves nothing on it, unless someone attached meanwhile. What was in force
 * before is another question than what was proved. */
static void take_out(struct kern *kern, json_t *programs)
{
	struct error why = {0};
	int r = kern_lock(kern, 1000, &why);

	if (r == 0) {
		r = kern_unload(kern, &why);
		kern_unlock(kern);
	}
	json_object_set_new(programs, "loaded_before", json_false());
	json_object_set_new(programs, "left", json_boolean(r != 0));
	json_object_set_new(programs, "error", json_string(why.text));
}

static int examine_here(json_t **ret, struct error *error)
{
	bool was_loaded = kern_is_loaded(NULL) > 0;
	struct error why = {0};
	struct kern *kern = NULL;
	int r = kern_open(&kern, &why);

	*ret = doctor_examine(kern, why.text, r == -EOPNOTSUPP || r == -EPERM);
	if (kern && !was_loaded)
		take_out(kern, json_object_get(*ret, "programs"));
	if (kern)
		kern_close(kern);
	return *ret ? 0 : error_set(error, ENOMEM, "out of memory");
}

static int examine(json_t **ret, struct error *error)
{
	_cleanup_json_ json_t *reply = NULL;
	struct error why = {0};

	if (geteuid() == 0)
		return examine_here(ret, error);
	if (agent_call(json_pack("{s:s}", "request", "doctor"), &reply, &why) == 0) {
		*ret = json_incref(json_object_get(reply, "doctor"));
	} else {
		error_prefix(&why, "needs root, or group bulkhead and a running agent");
		*ret = doctor_examine(NULL, why.text, false);
	}
	return *ret ? 0 : error_set(error, EPROTO, "the agent's answer makes no sense");
}

static void show_needs(const json_t *report)
{
	static const char *const titles[] = {"NEED", "STATE", "WHAT TO DO"};
	_cleanup_(cleanup_table_free) struct table *table = table_new(3, titles);
	const json_t *need;
	size_t i;

	if (!table)
		return;
	json_array_foreach (json_object_get(report, "needs"), i, need) {
		const char *cells[] = {text_of(need, "need"), text_of(need, "state"),
				       text_of(need, "remedy")};

		table_row(table, cells);
	}
	table_print(table, stdout);
}

static void show_hooks(const json_t *report)
{
	static const char *const titles[] = {"HOOK", "STATE", "HOW PROVED", "WHAT TO DO"};
	_cleanup_(cleanup_table_free) struct table *table = table_new(4, titles);
	const json_t *hook;
	size_t i;

	if (!table)
		return;
	json_array_foreach (json_object_get(report, "hooks"), i, hook) {
		const char *state = text_of(hook, "state");
		const char *cells[] = {text_of(hook, "hook"),
				       strcmp(state, "absent") ? state : "not on this kernel",
				       text_of(hook, "how"), text_of(hook, "remedy")};

		table_row(table, cells);
	}
	table_print(table, stdout);
}

struct verdict_row {
	const char *name, *text;
	int status;
};

static const struct verdict_row verdicts[] = {
	{"proved", "Every hook this kernel has is enforced and was proved.", 0},
	{"missing", "Something is missing: do not rely on what is not \"enforced\" above.", 1},
	{"unknown",
	 "It cannot be told from here what is enforced: that needs the privileges above, or "
	 "group bulkhead and a running agent.",
	 1},
	{"unable", "This host cannot enforce.", 3},
};

static const struct verdict_row *verdict_of(const json_t *report)
{
	for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++)
		if (!strcmp(verdicts[i].name, text_of(report, "verdict")))
			return &verdicts[i];
	return &verdicts[1];
}

/* "enforced" is what was proved just now: that need not have been in force before. */
static void show_before(const json_t *programs)
{
	if (json_is_true(json_object_get(programs, "loaded_before")))
		return;
	if (json_is_true(json_object_get(programs, "left")))
		printf("The programs were not loaded before: they were loaded to be proved, and "
		       "are "
		       "left loaded (%s).\n",
		       text_of(programs, "error"));
	else
		puts("The programs were not loaded before: they were loaded to be proved and taken "
		     "out again, so nothing is in force now.");
}

static void show(const json_t *report)
{
	const json_t *programs = json_object_get(report, "programs");
	const char *canary = text_of(report, "canary");

	printf("kernel %s, active security modules: %s\n\n", text_of(report, "kernel"),
	       *text_of(report, "lsm") ? text_of(report, "lsm") : "unknown");
	show_needs(report);
	if (!json_is_true(json_object_get(programs, "loaded")))
		printf("\nprograms %s: %s\n",
		       json_is_null(json_object_get(programs, "loaded")) ? "cannot be asked"
									 : "are not loaded",
		       text_of(programs, "error"));
	if (*canary)
		printf("\n%s\n", canary);
	putchar('\n');
	show_hooks(report);
	putchar('\n');
	show_vectors(json_object_get(report, "vectors"), stdout);
	printf("\n%s\n", verdict_of(report)->text);
	if (json_is_true(json_object_get(programs, "loaded")))
		show_before(programs);
}

int cmd_doctor(const struct arguments *arguments, struct error *error)
{
	_cleanup_json_ json_t *report = NULL;
	int r = examine(&report, error);

	if (r)
		return r;
	if (arguments->json)
		r = show_json(report);
	else
		show(report);
	return r ? r : verdict_of(report)->status;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* bulkhead env: what a command of `bulkhead run` would find in its environment, and why. No root, no agent. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "audit/escape.h"
#include "cli.h"
#include "compart/policies.h"
#include "launch/environment.h"

DEFINE_CLEANUP(struct policy *, policy_free)

static const char *const sources[] = {
	[ENVIRONMENT_MADE] = "made",
	[ENVIRONMENT_PASSED] = "passed",
	[ENVIRONMENT_SET] = "set",
	[ENVIRONMENT_LEFT] = "left out",
};

static int show_entry(const struct environment_entry *entry)
{
	_cleanup_free_ char *text = escape_line(entry->text);

	if (!text)
		return -ENOMEM;
	if (entry->source == ENVIRONMENT_LEFT)
		printf("  %-8s  %s: %s\n", sources[entry->source], text, entry->why);
	else
		printf("  %-8s  %s\n", sources[entry->source], text);
	return 0;
}

/* Of what is left out the name alone: its value may be what it is left out for. */
static json_t *entry_json(const struct environment_entry *entry)
{
	size_t length = strcspn(entry->text, "=");
	json_t *object = json_pack("{s:s%, s:s}", "name", entry->text, length, "source",
				   sources[entry->source]);

	if (object && entry->source == ENVIRONMENT_LEFT)
		json_object_set_new(object, "why", json_string(entry->why));
	else if (object)
		json_object_set_new(object, "value", json_string(entry->text + length + 1));
	return object;
}

static int show_all_json(const struct environment *environment)
{
	_cleanup_json_ json_t *list = json_array();

	for (size_t i = 0; i < environment->n; i++)
		if (json_array_append_new(list, entry_json(&environment->entries[i])))
			return -ENOMEM;
	return show_json(list);
}

static int show_all(const struct environment *environment)
{
	int r = 0;

	/* What it gets first. */
	for (int left = 0; left < 2; left++)
		for (size_t i = 0; r == 0 && i < environment->n; i++)
			if ((environment->entries[i].source == ENVIRONMENT_LEFT) == left)
				r = show_entry(&environment->entries[i]);
	return r;
}

int cmd_env(const struct arguments *arguments, struct error *error)
{
	const struct policy_options options = {.include_dir = policies_dir(),
					       .vars = arguments->vars};
	_cleanup_(cleanup_policy_free) struct policy *policy = NULL;
	_cleanup_(environment_done) struct environment environment = {0};
	int r = policy_load(arguments->words[0], &options, &policy, error);

	if (r < 0)
		return r;
	r = environment_build(policy, environ, &environment);
	if (r == 0)
		r = arguments->json ? show_all_json(&environment) : show_all(&environment);
	return r < 0 ? error_set(error, ENOMEM, "out of memory") : r;
}

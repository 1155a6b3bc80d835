// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* environment: what of the caller's a command gets, and what it gets beside. */
#include "load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <bulkhead/limits.h>
#include "base/cleanup.h"
#include "glob.h"
#include "secret.h"

static const struct choice private_words[] = {{"private", true, NULL}, {NULL, 0, NULL}};

static int no_memory(struct loader *loader)
{
	return error_set(loader->error, ENOMEM, "no memory to load the policy");
}

static const struct place *place_of(const struct unit *unit, const char *key, unsigned int i)
{
	return &outline_find(&unit->outline, "environment.%s[%u]", key, i)->place;
}

/* Not to be had by any key: whoever writes it is told, instead of missing it later. */
static int check_name(struct loader *loader, const struct place *place, const char *name)
{
	const char *why = secret_name(name);

	return why ? error_at(loader->error, place, "%s is never passed: %s", name, why) : 0;
}

/* NAME, or PREFIX*: of what begins so, without what is never passed. */
static int take_pass(struct loader *loader, const struct unit *unit, unsigned int i)
{
	struct policy_environment *environment = &loader->policy->environment;
	const struct place *place = place_of(unit, "pass", i);
	const char *name = unit->text->environment->pass[i];
	size_t length = strcspn(name, "*");
	int r;

	if (!secret_is_name(name, length) || (name[length] && name[length + 1]))
		return error_at(loader->error, place,
				"\"%s\": write the name of a variable, or how it begins and a *, "
				"as in LC_*",
				name);
	r = name[length] ? 0 : check_name(loader, place, name);
	if (r < 0)
		return r;
	environment->pass[i] = strdup(name);
	return environment->pass[i] ? 0 : no_memory(loader);
}

/* NAME=VALUE, with ${VARIABLE} in the value. */
static int take_set(struct loader *loader, const struct unit *unit, unsigned int i)
{
	struct policy_environment *environment = &loader->policy->environment;
	const struct place *place = place_of(unit, "set", i);
	const char *text = unit->text->environment->set[i], *found;
	_cleanup_free_ char *expanded = NULL, *name = NULL;
	size_t length = strcspn(text, "=");
	int r;

	if (text[length] != '=' || !secret_is_name(text, length))
		return error_at(loader->error, place, "\"%s\": write NAME=VALUE", text);
	name = strndup(text, length);
	if (!name)
		return no_memory(loader);
	r = secret_may_be_set(name) ? 0 : check_name(loader, place, name);
	if (r < 0)
		return r;
	r = vars_expand(&loader->vars, text, &expanded, loader->error);
	if (r < 0) {
		error_prefix(loader->error, "%s:%u:%u", place->file, place->line, place->column);
		return r;
	}
	environment->set[i] = malloc(strlen(expanded) + 1);
	if (!environment->set[i])
		return no_memory(loader);
	/* A variable's value is a name as in a glob. */
	glob_unescape(expanded, strlen(expanded), environment->set[i]);
	found = secret_value(environment->set[i]);
	return found ? error_at(loader->error, place,
				"%s has %s in it: a policy is no place for it, and nothing "
				"confined gets one",
				name, found)
		     : 0;
}

/* HOME and TMPDIR are what the policy's rules call so. */
static int take_variable(struct loader *loader, const char *name, char **ret)
{
	const char *value = vars_value(&loader->vars, name);

	if (!value || *value != '/')
		return 0;
	*ret = malloc(strlen(value) + 1);
	if (!*ret)
		return no_memory(loader);
	glob_unescape(value, strlen(value), *ret);
	return 0;
}

/* Where there is no run, rules stand for a directory that nobody has. */
static int take_private(struct loader *loader, const struct unit *unit, const char *word,
			const char *key, const char *variable, const char *directory, bool *ret)
{
	char path[sizeof("environment.") + 16], text[BH_NAME_SIZE + 64];
	const struct outline_entry *entry;
	int value = false, r;

	snprintf(path, sizeof(path), "environment.%s", key);
	entry = outline_find(&unit->outline, "%s", path);
	if (!entry)
		return 0;
	r = settings_choose(loader, &entry->place, path, word, private_words, &value);
	if (r < 0)
		return r;
	*ret = true;
	for (unsigned int i = 0; i < unit->text->vars_count; i++)
		if (!strncmp(unit->text->vars[i], variable, strlen(variable)) &&
		    unit->text->vars[i][strlen(variable)] == '=')
			return error_at(loader->error, &entry->place,
					"%s is made for each run: leave %s out of vars", key,
					variable);
	if (vars_value(&loader->vars, variable))
		return 0; /* a run's own */
	snprintf(text, sizeof(text), "%s=" POLICY_PRIVATE_ROOT "/%s/%s", variable,
		 loader->policy->name, directory);
	return vars_set(&loader->vars, text, false, loader->error);
}

static int take_directories(struct loader *loader, const struct unit *unit,
			    const struct text_environment *given)
{
	struct policy_environment *environment = &loader->policy->environment;
	int r = 0;

	if (given)
		r = take_private(loader, unit, given->home, "home", "HOME", "home",
				 &environment->private_home);
	if (r == 0 && given)
		r = take_private(loader, unit, given->tmpdir, "tmpdir", "TMPDIR", "tmp",
				 &environment->private_tmpdir);
	if (r == 0)
		r = take_variable(loader, "HOME", &environment->home);
	return r == 0 ? take_variable(loader, "TMPDIR", &environment->tmpdir) : r;
}

int environment_take(struct loader *loader, const struct unit *unit)
{
	const struct text_environment *given = unit->text->environment;
	struct policy_environment *environment = &loader->policy->environment;
	int r = take_directories(loader, unit, given);

	if (r < 0 || !given)
		return r;
	if (given->pass_count > BH_MAX_ENVIRONMENT || given->set_count > BH_MAX_ENVIRONMENT)
		return error_at(loader->error, &outline_find(&unit->outline, "environment")->place,
				"more than %d entries", BH_MAX_ENVIRONMENT);
	environment->npass = given->pass_count;
	environment->nset = given->set_count;
	environment->pass = calloc(given->pass_count + 1, sizeof(char *));
	environment->set = calloc(given->set_count + 1, sizeof(char *));
	if (!environment->pass || !environment->set)
		return no_memory(loader);
	for (unsigned int i = 0; r == 0 && i < given->pass_count; i++)
		r = take_pass(loader, unit, i);
	for (unsigned int i = 0; r == 0 && i < given->set_count; i++)
		r = take_set(loader, unit, i);
	return r;
}

void environment_free(struct policy_environment *environment)
{
	for (size_t i = 0; environment->pass && i < environment->npass; i++)
		free(environment->pass[i]);
	for (size_t i = 0; environment->set && i < environment->nset; i++)
		free(environment->set[i]);
	free(environment->pass);
	free(environment->set);
	free(environment->home);
	free(environment->tmpdir);
}

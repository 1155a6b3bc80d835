// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "environment.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "policy/secret.h"

/* A shorter value is met by chance: "1", "true". */
#define SECRET_LEAST 8
#define TERM_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-._"
#define TERM_MAX 32

static const char path_made[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
static const char not_listed[] = "the policy does not pass it";

struct build {
	const struct policy *policy;
	char *const *caller;
	struct environment *into;
	size_t size;
};

static size_t name_length(const char *text)
{
	return strcspn(text, "=");
}

static bool is_same_name(const char *a, const char *b)
{
	size_t length = name_length(a);

	return name_length(b) == length && !strncmp(a, b, length);
}

/* In the place of what has the name, if any has. Takes the text. */
static int put(struct build *build, char *text, enum environment_source source, const char *why)
{
	struct environment *into = build->into;
	struct environment_entry *entry = NULL;

	if (!text)
		return -ENOMEM;
	for (size_t i = 0; i < into->n && !entry; i++)
		if (is_same_name(into->entries[i].text, text))
			entry = &into->entries[i];
	/* What is made or set is there, whatever the caller has under its name. */
	if (entry && source == ENVIRONMENT_LEFT) {
		free(text);
		return 0;
	}
	if (!entry && into->n == build->size) {
		size_t bigger = build->size ? build->size * 2 : 64;
		struct environment_entry *more = reallocarray(into->entries, bigger, sizeof(*more));

		if (!more) {
			free(text);
			return -ENOMEM;
		}
		into->entries = more;
		build->size = bigger;
	}
	if (!entry) {
		entry = &into->entries[into->n++];
		entry->text = NULL;
	}
	free(entry->text);
	*entry = (struct environment_entry){text, source, why};
	return 0;
}

static char *assignment(const char *name, const char *value)
{
	char *text;

	return asprintf(&text, "%s=%s", name, value) < 0 ? NULL : text;
}

static const char *caller_value(const struct build *build, const char *name)
{
	for (char *const *text = build->caller; *text; text++)
		if (is_same_name(*text, name) && (*text)[name_length(*text)] == '=')
			return *text + name_length(*text) + 1;
	return NULL;
}

/* A program draws by it: a plain word, or none. */
static const char *terminal(const struct build *build)
{
	const char *term = caller_value(build, "TERM");
	size_t length = term ? strlen(term) : 0;

	if (!length || length > TERM_MAX || term[strspn(term, TERM_BYTES)])
		return "dumb";
	return term;
}

static int make(struct build *build)
{
	const struct policy_environment *environment = &build->policy->environment;
	const struct passwd *user = getpwuid(geteuid());
	const char *name = user ? user->pw_name : "root";
	const struct {
		const char *name, *value;
	} made[] = {
		{"HOME", environment->home ?: "/"},
		{"LANG", "C.UTF-8"},
		{"LOGNAME", name},
		{"PATH", path_made},
		{"SHELL", "/bin/sh"},
		{"TERM", terminal(build)},
		{"TMPDIR", environment->tmpdir ?: "/tmp"},
		{"TZ", "UTC"},
		{"USER", name},
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(made) / sizeof(*made); i++)
		r = put(build, assignment(made[i].name, made[i].value), ENVIRONMENT_MADE, NULL);
	return r;
}

static bool is_listed(const struct policy_environment *environment, const char *text)
{
	size_t length = name_length(text);

	for (size_t i = 0; i < environment->npass; i++) {
		const char *listed = environment->pass[i];
		size_t head = strcspn(listed, "*");

		if (listed[head] ? !strncmp(listed, text, head)
				 : head == length && !strncmp(listed, text, head))
			return true;
	}
	return false;
}

/* A name of a file tells nothing; a key may begin as one does. */
static bool is_held(const char *value)
{
	return strlen(value) >= SECRET_LEAST && (*value != '/' || access(value, F_OK));
}

/* What the caller holds as a credential, by whatever other name. */
static bool has_held_secret(const struct build *build, const char *value)
{
	for (char *const *text = build->caller; *text; text++) {
		_cleanup_free_ char *name = strndup(*text, name_length(*text));
		const char *held = *text + name_length(*text);

		if (*held != '=' || !is_held(held + 1))
			continue;
		/* Not to know is to have it. */
		if (!name || (secret_is_credential(name) && strstr(value, held + 1)))
			return true;
	}
	return false;
}

/* Why a listed variable of the caller's is left out all the same; NULL: it is not. */
static const char *why_left(const struct build *build, const char *name, const char *value)
{
	const char *why = secret_name(name);

	if (!why)
		why = secret_value(value);
	if (!why && has_held_secret(build, value))
		why = "has a credential of the caller's in it";
	return why;
}

static int take_one(struct build *build, const char *text)
{
	size_t length = name_length(text);
	_cleanup_free_ char *name = strndup(text, length);
	const char *why;

	/* No name at all is nobody's variable. */
	if (!text[length] || !secret_is_name(text, length))
		return 0;
	if (!name)
		return -ENOMEM;
	why = why_left(build, name, text + length + 1);
	if (!why && !is_listed(&build->policy->environment, text))
		why = not_listed;
	return why ? put(build, TAKE_PTR(name), ENVIRONMENT_LEFT, why)
		   : put(build, strdup(text), ENVIRONMENT_PASSED, NULL);
}

static int by_text(const void *a, const void *b)
{
	const struct environment_entry *x = a, *y = b;

	return strcmp(x->text, y->text);
}

static int list_strings(struct environment *environment)
{
	size_t n = 0;

	if (environment->n)
		qsort(environment->entries, environment->n, sizeof(*environment->entries), by_text);
	environment->strings = calloc(environment->n + 1, sizeof(char *));
	if (!environment->strings)
		return -ENOMEM;
	for (size_t i = 0; i < environment->n; i++)
		if (environment->entries[i].source != ENVIRONMENT_LEFT)
			environment->strings[n++] = environment->entries[i].text;
	return 0;
}

int environment_build(const struct policy *policy, char *const *caller, struct environment *ret)
{
	struct build build = {policy, caller, ret, 0};
	int r;

	*ret = (struct environment){0};
	r = make(&build);
	for (char *const *text = caller; r == 0 && *text; text++)
		r = take_one(&build, *text);
	for (size_t i = 0; r == 0 && i < policy->environment.nset; i++)
		r = put(&build, strdup(policy->environment.set[i]), ENVIRONMENT_SET, NULL);
	return r == 0 ? list_strings(ret) : r;
}

void environment_done(struct environment *environment)
{
	for (size_t i = 0; i < environment->n; i++)
		free(environment->entries[i].text);
	free(environment->entries);
	free(environment->strings);
	*environment = (struct environment){0};
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "vars.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <bulkhead/limits.h>
#include "glob.h"
#include "grow.h"

#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
#define NAME_LETTERS UPPER DIGITS "_"
#define WORD_LETTERS NAME_LETTERS "abcdefghijklmnopqrstuvwxyz.-"

void vars_done(struct vars *vars)
{
	size_t i;

	for (i = 0; i < vars->n; i++) {
		free(vars->items[i].name);
		free(vars->items[i].value);
	}
	free(vars->items);
	memset(vars, 0, sizeof(*vars));
}

static struct var *find(const struct vars *vars, const char *name, size_t length)
{
	size_t i;

	for (i = 0; i < vars->n; i++) {
		if (strlen(vars->items[i].name) == length &&
		    !memcmp(vars->items[i].name, name, length))
			return &vars->items[i];
	}
	return NULL;
}

static bool is_name(const char *name, size_t length)
{
	return length && strspn(name, NAME_LETTERS) >= length && !strchr(DIGITS, name[0]);
}

static bool is_word(const char *value)
{
	return value[0] && !value[strspn(value, WORD_LETTERS)] && strcmp(value, ".") &&
	       strcmp(value, "..");
}

/* A variable within a variable. */
static bool has_reference(const char *value)
{
	while (*value && *value != '$')
		value += glob_element_size(value);
	return *value;
}

static int check_value(const char *name, const char *value, struct error *error)
{
	const char *reason;
	size_t offset;

	if (value[0] != '/')
		return is_word(value) ? 0
				      : error_set(error, EINVAL,
						  "variable %s: \"%s\" is neither an absolute path "
						  "nor a plain word",
						  name, value);
	if (!strcmp(value, "/"))
		return error_set(error, EINVAL, "variable %s: / is too much for a variable", name);
	if (glob_check(value, &offset, &reason) < 0)
		return error_set(error, EINVAL, "variable %s: \"%.200s\" at byte %zu: %s", name,
				 value, offset + 1, reason);
	if (value[glob_head(value)] || has_reference(value))
		return error_set(error, EINVAL,
				 "variable %s: no wildcard and no ${} in a value: write them where "
				 "it is used, or \\* for the byte",
				 name);
	return 0;
}

/* A value is one name wherever it is put, within braces too: what could mean more is escaped. */
static int normalise(const char *value, char **ret)
{
	size_t length = strlen(value);
	_cleanup_free_ char *name = malloc(length + 1);
	char *result = malloc(2 * length + 1);

	if (!name || !result) {
		free(result);
		return -ENOMEM;
	}
	glob_unescape(value, length, name);
	glob_escape(name, result);
	*ret = result;
	return 0;
}

static int add(struct vars *vars, char *name, const char *value, bool fixed, struct error *error)
{
	_cleanup_free_ char *copy = NULL;

	if (normalise(value, &copy) < 0 || grow(&vars->items, &vars->size, vars->n + 1) < 0)
		return error_set(error, ENOMEM, "no memory for variables");
	vars->items[vars->n++] = (struct var){name, TAKE_PTR(copy), fixed, !fixed};
	return 0;
}

int vars_set(struct vars *vars, const char *assignment, bool fixed, struct error *error)
{
	const char *equals = strchr(assignment, '=');
	_cleanup_free_ char *name = NULL;
	struct var *old;
	int r;

	if (!equals || !is_name(assignment, (size_t)(equals - assignment)))
		return error_set(error, EINVAL,
				 "variable \"%s\": write NAME=value, NAME of A-Z, 0-9 and _",
				 assignment);
	name = strndup(assignment, (size_t)(equals - assignment));
	if (!name)
		return error_set(error, ENOMEM, "no memory for variables");
	r = check_value(name, equals + 1, error);
	if (r < 0)
		return r;
	old = find(vars, name, strlen(name));
	if (old && old->fixed == fixed)
		return error_set(error, EINVAL, "variable %s is set twice", name);
	if (old) {
		old->used = true;
		return 0;
	}
	r = add(vars, name, equals + 1, fixed, error);
	if (r == 0)
		(void)TAKE_PTR(name);
	return r;
}

struct text_buffer {
	char *text;
	size_t n, size;
};

/* At the bound, which no glob that is good reaches: a text that names a variable a hundred thousand
 * times would take all memory before it was found too long. */
static int append(struct text_buffer *buffer, const char *text, size_t length)
{
	if (buffer->n + length > BH_MAX_GLOB)
		return -E2BIG;
	if (grow(&buffer->text, &buffer->size, buffer->n + length + 1) < 0)
		return -ENOMEM;
	memcpy(buffer->text + buffer->n, text, length);
	buffer->n += length;
	buffer->text[buffer->n] = '\0';
	return 0;
}

/* The variable at *text, which stands on its '$' and moves behind it. */
static int take_reference(struct vars *vars, const char **text, struct var **ret,
			  struct error *error)
{
	const char *name = *text + 2, *end;

	if ((*text)[1] != '{')
		return error_set(error, EINVAL, "$ begins a variable: write ${NAME}");
	end = strchr(name, '}');
	if (!end || !is_name(name, (size_t)(end - name)))
		return error_set(error, EINVAL, "write ${NAME}, NAME of A-Z, 0-9 and _");
	*ret = find(vars, name, (size_t)(end - name));
	if (!*ret)
		return error_set(error, EINVAL,
				 "variable %.*s is not set: write vars: [\"%.*s=/path\"] in the "
				 "main file",
				 (int)(end - name), name, (int)(end - name), name);
	(*ret)->used = true;
	*text = end + 1;
	return 0;
}

int vars_expand(struct vars *vars, const char *text, char **ret, struct error *error)
{
	struct text_buffer buffer = {0};
	_cleanup_free_ char *result = NULL;
	struct var *var = NULL;
	int r = append(&buffer, "", 0);

	while (r == 0 && *text) {
		size_t plain = strcspn(text, "$\\");

		/* A backslash takes the byte behind it out of this game: it is the glob's. */
		if (text[plain] == '\\')
			plain += text[plain + 1] ? 2 : 1;
		r = append(&buffer, text, plain);
		text += plain;
		if (r < 0 || *text != '$')
			continue;
		r = take_reference(vars, &text, &var, error);
		if (r == 0)
			r = append(&buffer, var->value, strlen(var->value));
	}
	result = buffer.text;
	if (r == -E2BIG)
		return error_set(error, EINVAL,
				 "longer than a glob may be (%d bytes), variables written out",
				 BH_MAX_GLOB);
	if (r == -ENOMEM)
		return error_set(error, ENOMEM, "no memory for variables");
	if (r < 0)
		return r;
	*ret = TAKE_PTR(result);
	return 0;
}

const char *vars_value(struct vars *vars, const char *name)
{
	struct var *var = find(vars, name, strlen(name));

	if (var)
		var->used = true;
	return var ? var->value : NULL;
}

const char *vars_unused(const struct vars *vars)
{
	size_t i;

	for (i = 0; i < vars->n; i++) {
		if (!vars->items[i].used)
			return vars->items[i].name;
	}
	return NULL;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"

/* Words compared are names of ours or close to one; a longer one is near to nothing. */
#define NEAR_MAX 24
/* More changes than this and it was not meant. */
#define NEAR_CHANGES 3

static size_t least(size_t a, size_t b, size_t c)
{
	size_t ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* Changes of one letter that make b of a. */
static size_t distance(const char *a, const char *b)
{
	size_t row[NEAR_MAX + 1], na = strlen(a), nb = strlen(b);

	if (na > NEAR_MAX || nb > NEAR_MAX)
		return NEAR_MAX;
	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t above = row[j];

			row[j] =
				least(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[nb];
}

struct nearest {
	const char *name;
	size_t changes;
};

static void consider(struct nearest *nearest, const char *wanted, const char *name)
{
	size_t changes = distance(wanted, name), length = strlen(wanted);

	/* More than half of its letters, and it is another word: "foo" does not mean run. */
	if (changes > length / 2)
		changes = NEAR_MAX;
	/* "det" means detach, however many letters are missing. */
	if (length && !strncmp(wanted, name, length))
		changes = 1;
	if (changes <= NEAR_CHANGES && (!nearest->name || changes < nearest->changes))
		*nearest = (struct nearest){name, changes};
}

const struct command *command_find(const char *name, struct error *error)
{
	struct nearest nearest = {0};

	for (const struct command *c = commands; c->name; c++) {
		if (!strcmp(c->name, name))
			return c;
		if (!c->hidden)
			consider(&nearest, name, c->name);
	}
	if (nearest.name)
		error_set(error, EINVAL, "no command \"%s\": did you mean \"%s\"?", name,
			  nearest.name);
	else
		error_set(error, EINVAL, "no command \"%s\": see bulkhead help", name);
	return NULL;
}

static const struct option_row *find_option(const struct command *command, const char *name,
					    size_t n, struct error *error)
{
	_cleanup_free_ char *wanted = strndup(name, n);
	struct nearest nearest = {0};

	for (size_t i = 0; wanted && i < COMMAND_MAX_OPTIONS && command->options[i]; i++) {
		if (!strcmp(command->options[i]->name, wanted))
			return command->options[i];
		consider(&nearest, wanted, command->options[i]->name);
	}
	if (nearest.name)
		error_set(error, EINVAL, "%s has no option --%.*s: did you mean --%s?",
			  command->name, (int)n, name, nearest.name);
	else
		error_set(error, EINVAL, "%s has no option --%.*s: see bulkhead help %s",
			  command->name, (int)n, name, command->name);
	return NULL;
}

static void set_option(const struct option_row *option, struct arguments *arguments,
		       const char *value)
{
	char *at = (char *)arguments + option->offset;
	const char **list;

	switch (option->kind) {
	case OPTION_FLAG:
		*(bool *)at = true;
		break;
	case OPTION_TEXT:
		*(const char **)at = value;
		break;
	case OPTION_LIST:
		list = *(const char ***)at;
		list[(*(size_t *)(at + sizeof(list)))++] = value;
		break;
	}
}

/* "--name", "--name=value" or "--name value"; moves *argv to the last word it took. */
static int parse_option(const struct command *command, char ***argv, struct arguments *arguments,
			struct error *error)
{
	const char *name = **argv + 2, *value = strchr(name, '=');
	size_t n = value ? (size_t)(value - name) : strlen(name);
	const struct option_row *option;

	if (!strcmp(name, "help")) {
		arguments->help = true;
		return 0;
	}
	option = find_option(command, name, n, error);
	if (!option)
		return -EINVAL;
	if (!option->value && value)
		return error_set(error, EINVAL, "--%s takes no value", option->name);
	if (option->value && value)
		value++;
	else if (option->value) {
		value = (*argv)[1];
		if (!value)
			return error_set(error, EINVAL, "--%s needs a value: --%s %s", option->name,
					 option->name, option->value);
		(*argv)++;
	}
	set_option(option, arguments, value);
	return 0;
}

static int check_words(const struct command *command, const struct arguments *a,
		       struct error *error)
{
	if (a->help)
		return 0;
	if (a->nwords < command->min_words)
		return error_set(error, EINVAL, "%s needs %s: see bulkhead help %s", command->name,
				 command->words, command->name);
	if (a->nwords > command->max_words && command->takes_command && !a->command)
		return error_set(error, EINVAL, "%s: write \"--\" before the command: -- %s ...",
				 command->name, a->words[command->max_words]);
	if (a->nwords > command->max_words)
		return error_set(error, EINVAL,
				 "%s: \"%s\" is one word too many: see bulkhead help %s",
				 command->name, a->words[command->max_words], command->name);
	if (command->takes_command && (!a->command || !*a->command))
		return error_set(error, EINVAL,
				 "%s needs \"--\" and a command: see bulkhead help %s",
				 command->name, command->name);
	if (!command->takes_command && a->command && *a->command)
		return error_set(error, EINVAL, "%s takes no command: see bulkhead help %s",
				 command->name, command->name);
	return command->check ? command->check(a, error) : 0;
}

/* "a, b and c" of the ways, or of those that were given. */
static void list_ways(const struct way *ways, size_t n, bool given, char *text, size_t size)
{
	size_t at = 0, left = 0;

	for (size_t i = 0; i < n; i++)
		left += !given || ways[i].value;
	text[0] = '\0';
	for (size_t i = 0; i < n && at < size; i++) {
		if (given && !ways[i].value)
			continue;
		left--;
		at += (size_t)snprintf(text + at, size - at, "%s%s", ways[i].name,
				       left > 1	   ? ", "
				       : left == 1 ? " and "
						   : "");
	}
}

int arguments_check_one(const char *what, const struct way *ways, size_t n, struct error *error)
{
	char all[128], some[128];
	size_t given = 0;

	for (size_t i = 0; i < n; i++)
		given += !!ways[i].value;
	if (given == 1)
		return 0;
	list_ways(ways, n, false, all, sizeof(all));
	list_ways(ways, n, true, some, sizeof(some));
	if (given)
		return error_set(error, EINVAL, "say %s once: %s were given, write one of %s", what,
				 some, all);
	return error_set(error, EINVAL, "say %s: write one of %s", what, all);
}

static size_t count(char **argv)
{
	size_t n = 0;

	while (argv[n])
		n++;
	return n;
}

int arguments_parse(const struct command *command, char **argv, struct arguments *ret,
		    struct error *error)
{
	size_t n = count(argv) + 1;
	struct arguments a = {
		.vars = calloc(n, sizeof(char *)),
		.only = calloc(n, sizeof(char *)),
		.words = calloc(n, sizeof(char *)),
	};
	int r = a.vars && a.only && a.words ? 0 : error_set(error, ENOMEM, "out of memory");

	for (; r == 0 && *argv; argv++) {
		if (!strcmp(*argv, "--")) {
			a.command = argv + 1;
			break;
		}
		if (!strcmp(*argv, "-h"))
			a.help = true;
		else if (!strncmp(*argv, "--", 2))
			r = parse_option(command, &argv, &a, error);
		else if (**argv == '-' && (*argv)[1])
			r = error_set(error, EINVAL, "options have two dashes and a name: \"%s\"",
				      *argv);
		else
			a.words[a.nwords++] = *argv;
	}
	if (r == 0)
		r = check_words(command, &a, error);
	if (r) {
		arguments_done(&a);
		return r;
	}
	*ret = a;
	return 0;
}

void arguments_done(struct arguments *arguments)
{
	free(arguments->vars);
	free(arguments->only);
	free(arguments->words);
	*arguments = (struct arguments){0};
}

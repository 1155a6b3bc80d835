// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The command line: what is understood, what is refused and which words that is said in. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "cli/options.h"

#define MAX_WORDS 10

static int parse(const char *const *words, struct arguments *ret, struct error *error)
{
	const struct command *command = command_find(words[0], error);

	return command ? arguments_parse(command, (char **)words + 1, ret, error) : -EINVAL;
}

/* Both forms of an option with a value, lists in order, words between options. */
static void test_options(void **state _unused_)
{
	static const char *const words[] = {"attach",	     "--var", "A=1",	     "p.yaml",
					    "--cgroup=/c=d", "--var", "B=two three", NULL};
	struct arguments a = {0};

	assert_int_equal(parse(words, &a, NULL), 0);
	assert_int_equal(a.nwords, 1);
	assert_string_equal(a.words[0], "p.yaml");
	assert_null(a.words[1]);
	assert_string_equal(a.cgroup, "/c=d");
	assert_int_equal(a.nvars, 2);
	assert_string_equal(a.vars[0], "A=1");
	assert_string_equal(a.vars[1], "B=two three");
	assert_null(a.vars[2]);
	assert_null(a.unit);
	assert_false(a.json);
	arguments_done(&a);
}

/* What follows "--" is the command's, options too. */
static void test_command(void **state _unused_)
{
	static const char *const words[] = {"run", "p.yaml", "--", "ls", "--var", "--", "x", NULL};
	struct arguments a = {0};

	assert_int_equal(parse(words, &a, NULL), 0);
	assert_int_equal(a.nwords, 1);
	assert_int_equal(a.nvars, 0);
	assert_string_equal(a.command[0], "ls");
	assert_string_equal(a.command[1], "--var");
	assert_string_equal(a.command[2], "--");
	assert_null(a.command[4]);
	arguments_done(&a);
}

/* Help is given without the words a command needs. */
static void test_help_option(void **state _unused_)
{
	static const char *const words[] = {"attach", "--help", NULL};
	struct arguments a = {0};

	assert_int_equal(parse(words, &a, NULL), 0);
	assert_true(a.help);
	arguments_done(&a);
}

struct refusal {
	const char *words[MAX_WORDS];
	const char *text;
};

static const struct refusal refusals[] = {
	{{"atach"}, "no command \"atach\": did you mean \"attach\"?"},
	{{"det"}, "no command \"det\": did you mean \"detach\"?"},
	{{"statsu"}, "no command \"statsu\": did you mean \"status\"?"},
	{{"frobnicate"}, "no command \"frobnicate\": see bulkhead help"},
	{{"admi"}, "no command \"admi\": see bulkhead help"}, /* hidden ones are not named */
	{{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
	 "no command \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\": see "
	 "bulkhead help"},
	{{"attach", "p", "--cgruop", "x"}, "attach has no option --cgruop: did you mean --cgroup?"},
	{{"status", "--frobnicate"}, "status has no option --frobnicate: see bulkhead help status"},
	{{"attach", "p", "--unit"}, "--unit needs a value: --unit NAME"},
	{{"status", "--json=yes"}, "--json takes no value"},
	{{"status", "-j"}, "options have two dashes and a name: \"-j\""},
	{{"attach", "--unit", "x"}, "attach needs POLICY: see bulkhead help attach"},
	{{"attach", "a", "b"}, "attach: \"b\" is one word too many: see bulkhead help attach"},
	{{"run", "p"}, "run needs \"--\" and a command: see bulkhead help run"},
	{{"run", "p", "--"}, "run needs \"--\" and a command: see bulkhead help run"},
	{{"status", "--", "x"}, "status takes no command: see bulkhead help status"},
};

static void test_refusals(void **state _unused_)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct arguments a = {0};
		struct error error = {0};

		assert_int_equal(parse(refusals[i].words, &a, &error), -EINVAL);
		assert_string_equal(error.text, refusals[i].text);
	}
}

/* The name nearest to a command's own is that command. */
static void test_find(void **state _unused_)
{
	for (const struct command *c = commands; c->name; c++)
		assert_ptr_equal(command_find(c->name, NULL), c);
}

static char *text_of(void (*print)(const struct command *command, FILE *to),
		     const struct command *command)
{
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);

	if (print)
		print(command, to);
	else
		help_all(to);
	fclose(to);
	return text;
}

/* Help names every option of a command, and every command that is not hidden. */
static void test_help(void **state _unused_)
{
	_cleanup_free_ char *all = text_of(NULL, NULL);

	for (const struct command *c = commands; c->name; c++) {
		_cleanup_free_ char *help = text_of(help_command, c);

		assert_int_equal(!strstr(all, c->name), c->hidden);
		assert_non_null(c->run);
		for (size_t i = 0; i < COMMAND_MAX_OPTIONS && c->options[i]; i++)
			assert_non_null(strstr(help, c->options[i]->name));
	}
}

static char *read_page(void)
{
	const char *path = getenv("BULKHEAD_MAN") ?: "man/bulkhead.8";
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	char *text = calloc(1, 1 << 16);

	assert_non_null(file);
	assert_non_null(text);
	assert_true(fread(text, 1, (1 << 16) - 1, file) > 0);
	return text;
}

/* The manual page knows them all, too. */
static void test_page(void **state _unused_)
{
	_cleanup_free_ char *page = read_page();
	char wanted[64];

	for (const struct command *c = commands; c->name; c++) {
		snprintf(wanted, sizeof(wanted), "\n.B %s", c->name);
		assert_non_null(strstr(page, wanted));
		for (size_t i = 0; i < COMMAND_MAX_OPTIONS && c->options[i]; i++) {
			snprintf(wanted, sizeof(wanted), "\\-\\-%s", c->options[i]->name);
			assert_non_null(strstr(page, wanted));
		}
	}
}

/* A log line is one line, and nothing a terminal obeys, whatever names are in it. */
static void test_log(void **state _unused_)
{
	int fds[2], saved = dup(STDERR_FILENO);
	char text[128] = "";
	ssize_t n;

	assert_int_equal(pipe(fds), 0);
	dup2(fds[1], STDERR_FILENO);
	log_error("%s", "a\n<0>b\x1b[31m\xc2\x9b\x7f \xc3\xa9 \xc2\xa0");
	dup2(saved, STDERR_FILENO);
	n = read(fds[0], text, sizeof(text) - 1);
	close(saved);
	close(fds[0]);
	close(fds[1]);
	assert_true(n > 0);
	assert_string_equal(text, "bulkhead: a?<0>b?[31m??? \xc3\xa9 \xc2\xa0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options),	    cmocka_unit_test(test_command),
		cmocka_unit_test(test_help_option), cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_find),	    cmocka_unit_test(test_help),
		cmocka_unit_test(test_page),	    cmocka_unit_test(test_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

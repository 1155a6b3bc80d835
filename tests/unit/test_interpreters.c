// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Shell authority: which names are those of programs that run what they are given, and which of them a policy lets
 * run. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "compart/status.h"
#include "policy/authority.h"
#include "tree.h"

#define N_OF(array) (sizeof(array) / sizeof(*(array)))
#define HEAD "version: 1\nname: t\nmode: enforce\nnetwork: none\n"

/* The policy, and a root for its links. */
static char dir[] = "/tmp/test_interpreters.XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[2][PATH_MAX];
	static unsigned int turn;

	turn = (turn + 1) % N_OF(path);
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
	return path[turn];
}

static int set_up(void **state)
{
	(void)state;
	umask(022);
	if (!mkdtemp(dir) || mkdir(in_dir("root"), 0755) || mkdir(in_dir("root/bin"), 0755))
		return -1;
	return symlink("dash", in_dir("root/bin/sh")) ||
	       symlink("../alternatives/awk", in_dir("root/bin/awk")) ||
	       symlink("../opt/x/tool", in_dir("root/bin/bash"));
}

static int tear_down(void **state)
{
	(void)state;
	return tree_remove(dir);
}

static struct policy *load(const char *text, bool follow)
{
	char root[PATH_MAX];
	const struct policy_options options = {.root = root, .text = text};
	struct policy *policy = NULL;
	struct error error = {0};

	strcpy(root, in_dir(follow ? "root" : "root/bin/none"));
	mkdir(in_dir("root/bin/none"), 0755);
	if (policy_load("t.yaml", &options, &policy, &error) < 0)
		fail_msg("%s in\n%s", error.text, text);
	return policy;
}

/* "LINE PATH KIND WHAT;" of each. */
static void render(const struct policy *policy, char *text, size_t size)
{
	struct authorities found = {0};
	size_t length = 0;

	assert_int_equal(authorities_find(policy, &found), 0);
	text[0] = '\0';
	for (size_t i = 0; i < found.n && length < size; i++) {
		const struct authority *a = &found.items[i];

		length += (size_t)snprintf(text + length, size - length, "%u %s %s%s %s;",
					   a->rule->place.line, a->path,
					   interpreter_kind_text(a->kind), a->is_pattern ? "*" : "",
					   a->what);
	}
	authorities_done(&found);
}

/* --- names --- */

/* What kind a name is of: as it stands, the first row that has it. */
static void test_names(void **state)
{
	static const struct {
		const char *name, *kind; /* NULL: no interpreter */
	} cases[] = {
		{"sh", "shell"},
		{"bash", "shell"},
		{"dash", "shell"},
		{"busybox", "shell"},
		{"busybox.static", "shell"},
		{"ksh93", "shell"},
		{"python3", "language"},
		{"python3.11", "language"},
		{"python", "language"},
		{"perl5.36.0", "language"},
		{"perl5.36-x86_64-linux-gnu", "language"},
		{"ruby3.1", "language"},
		{"node", "language"},
		{"mawk", "language"},
		{"lua5.4", "language"},
		{"tclsh8.6", "language"},
		{"php8.2", "language"},
		{"guile-3.0", "language"},
		{"java", "language"},
		{"expect", "language"},
		{"m4", "language"},
		{"env", "runner"},
		{"find", "runner"},
		{"xargs", "runner"},
		{"git", "runner"},
		{"vim.basic", "runner"},
		{"g++-12", "runner"},
		{"gcc", "runner"},
		{"tar", "runner"},
		{"ld-linux-x86-64.so.2", "runner"},
		/* No more than a beginning or an end in common. */
		{"bas", NULL},
		{"bashful", NULL},
		{"rebash", NULL},
		{"pythonic", NULL},
		{"python3.11-config", NULL},
		{"nodes", NULL},
		{"Sh", NULL},
		{"", NULL},
		{"dd", NULL},
		{"cat", NULL},
		{"github-mcp-server", NULL},
		{"tool.sh", NULL},
	};

	(void)state;
	for (size_t i = 0; i < N_OF(cases); i++) {
		const char *kind = NULL;

		for (size_t j = 0; !kind && j < ninterpreters; j++)
			if (interpreter_meets(&interpreters[j], cases[i].name))
				kind = interpreter_kind_text(interpreters[j].kind);
		if (!kind != !cases[i].kind || (kind && strcmp(kind, cases[i].kind) != 0))
			fail_msg("%s: %s", cases[i].name, kind ?: "none");
	}
}

/* Whether a glob and a row have a name in common. */
static void test_globs(void **state)
{
	static const struct interpreter bash = {"bash", SUFFIX_NONE, INTERPRETER_SHELL, "", 1};
	static const struct interpreter python = {"python", SUFFIX_VERSION, INTERPRETER_LANGUAGE,
						  "", 1};
	static const struct interpreter perl = {"perl", SUFFIX_MACHINE, INTERPRETER_LANGUAGE, "",
						1};
	static const struct {
		const struct interpreter *row;
		const char *glob;
		bool meets;
	} cases[] = {
		{&bash, "*", 1},
		{&bash, "**", 1},
		{&bash, "b*h", 1},
		{&bash, "*sh", 1},
		{&bash, "b*a*s*h*", 1},
		{&bash, "????", 1},
		{&bash, "???", 0},
		{&bash, "?????", 0},
		{&bash, "[a-c]ash", 1},
		{&bash, "[!b]ash", 0},
		{&bash, "\\x62ash", 1},
		{&bash, "ba[s]h", 1},
		{&bash, "*h?", 0},
		{&bash, "b*s", 0},
		{&bash, "*.py", 0},
		{&python, "python3*", 1},
		{&python, "python3.[0-9]*", 1},
		{&python, "py*", 1},
		{&python, "*11", 1},
		{&python, "*x", 0},
		{&python, "python?*", 1},
		{&python, "python[a-z]*", 0},
		{&python, "python*[a-z]", 0},
		{&python, "pytho*[a-z]", 1}, /* python itself */
		{&python, "pytho", 0},
		{&perl, "perl*-linux-gnu", 1},
		{&perl, "perl5[.]*", 1},
		{&perl, "*.js", 0},
		{&perl, "perldo*", 0},
	};

	(void)state;
	for (size_t i = 0; i < N_OF(cases); i++)
		if (interpreter_meets(cases[i].row, cases[i].glob) != cases[i].meets)
			fail_msg("%s: %s", cases[i].row->name, cases[i].glob);
}

/* Rows are what the matcher takes them for, and none is there twice. */
static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ninterpreters; i++) {
		const struct interpreter *row = &interpreters[i];

		assert_in_range(strlen(row->name), 1, 60);
		assert_in_range(strlen(row->how), 1, AUTHORITY_WHAT_SIZE - 1);
		for (const char *c = row->name; *c; c++)
			if (!isalnum(*c) && !strchr("+-._", *c))
				fail_msg("%s", row->name);
		assert_true(row->rights & BH_PERM_EXEC);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(interpreters[j].name, row->name);
	}
}

/* --- rules --- */

static void test_rules(void **state)
{
	static const struct {
		const char *rules, *found;
	} cases[] = {
		{"exec: [{on: [/usr/bin/bash, /usr/bin/id]}]\n", "5 /usr/bin/bash shell shell;"},
		{"exec: [{on: [/usr/bin/id, /usr/local/bin/github-mcp-server]}]\n", ""},
		{"files: [{allow: [read, map-exec], on: [/usr/bin/bash, \"/usr/**\"]}]\n", ""},
		{"exec:\n  - on:\n    - /usr/bin/python3.11\n    - /usr/bin/env\n",
		 "7 /usr/bin/python3.11 language python;"
		 "8 /usr/bin/env runner runs what it is given;"},
		/* To be what a script names is enough, but for the loader of programs. */
		{"files: [{allow: [read, interp], on: [/usr/bin/perl, "
		 "\"/usr/lib*/ld-linux*.so*\"]}]\n",
		 "5 /usr/bin/perl language perl;"},
		{"exec: [{on: [/lib64/ld-linux-x86-64.so.2]}]\n",
		 "5 /lib64/ld-linux-x86-64.so.2 runner runs what it is given;"},
		/* Wildcards and braces: what they can come to stand for. */
		{"exec: [{on: [\"/usr/bin/python3*\"]}]\n",
		 "5 /usr/bin/python3* language* python;"},
		{"exec: [{on: [\"/usr/bin/{dash,id,lua*}\"]}]\n",
		 "5 /usr/bin/dash shell shell;5 /usr/bin/lua* language* lua, luajit;"},
		{"exec: [{on: [\"/usr/bin/*\"]}]\n", "5 /usr/bin/* shell* any program;"},
		{"exec: [{on: [\"/opt/x/**\"]}]\n", "5 /opt/x/** shell* any program;"},
		{"exec: [{on: [\"/opt/*/bash\"]}]\n", "5 /opt/*/bash shell* shell;"},
		{"exec: [{on: [\"/usr/bin/*.txt\"]}]\n", ""},
		{"exec: [{on: [\"/usr/bin/*.js\"]}]\n",
		 "5 /usr/bin/*.js runner* npm-cli.js, npx-cli.js;"},
		{"exec: [{on: [\"/usr/bin/z*\"]}]\n", "5 /usr/bin/z* shell* zsh, zip;"},
		{"exec: [{on: [\"/usr/bin/[b]ash\"]}]\n", "5 /usr/bin/bash shell shell;"},
		/* What a deny takes away whole is gone, what it takes in part is not. */
		{"exec: [{on: [/usr/bin/bash, /usr/bin/dash]}]\n"
		 "files: [{deny: [exec], on: [\"/usr/bin/b*\"]}]\n",
		 "5 /usr/bin/dash shell shell;"},
		{"exec: [{on: [/usr/bin/bash]}]\nfiles: [{deny: [interp], on: [/usr/bin/bash]}]\n",
		 "5 /usr/bin/bash shell shell;"},
		{"exec: [{on: [/usr/bin/bash]}]\nfiles: [{tripwire: [exec], on: [\"/**/bash\"]}]\n",
		 ""},
		{"exec: [{on: [/usr/bin/bash]}]\nfiles: [{quiet: [exec], on: [/usr/bin/dash]}]\n",
		 "5 /usr/bin/bash shell shell;"},
		{"exec: [{on: [\"/usr/bin/z*\"]}]\nfiles: [{deny: [exec], on: [/usr/bin/zip]}]\n",
		 "5 /usr/bin/z* shell* shell;"},
		{"exec: [{on: [\"/usr/bin/zi*\"]}]\nfiles: [{deny: [exec], on: [/usr/bin/zip]}]\n",
		 ""},
		{"exec: [{on: [\"/usr/bin/py*\"]}]\n"
		 "files: [{deny: [exec], on: [\"/usr/bin/python3*\"]}]\n",
		 "5 /usr/bin/py* language* python, pypy;"},
		{"exec: [{on: [\"/usr/bin/py*\"]}]\n"
		 "files: [{deny: [exec], on: [\"/usr/bin/python*\"]}]\n",
		 "5 /usr/bin/py* language* python;"
		 /* pypy */},
		{"exec: [{on: [\"/usr/bin/python3*\"]}]\n"
		 "files: [{deny: [exec], on: [\"/usr/bin/**\"]}]\n",
		 ""},
		/* D itself may be called so. */
		{"exec: [{on: [\"/opt/bash/**\"]}]\nfiles: [{deny: [exec], on: "
		 "[\"/opt/bash/*/**\"]}]\n",
		 "5 /opt/bash/** shell* any program;"},
	};
	char text[2048];

	(void)state;
	for (size_t i = 0; i < N_OF(cases); i++) {
		char policy_text[1024];
		struct policy *policy;

		snprintf(policy_text, sizeof(policy_text), HEAD "%s", cases[i].rules);
		policy = load(policy_text, false);
		render(policy, text, sizeof(text));
		if (strcmp(text, cases[i].found) != 0)
			fail_msg("%s found %s", cases[i].rules, text);
		policy_free(policy);
	}
}

/* A program is judged by its own name and by the one that the policy has. */
static void test_links(void **state)
{
	struct policy *policy;
	char text[1024];

	(void)state;
	if (geteuid())
		skip(); /* links are followed that are root's */
	policy = load(HEAD "exec:\n  - on: [/bin/sh, /bin/dash]\n  - on: [/bin/awk]\n"
			   "  - on: [/bin/bash]\n  - on: [/opt/x/tool]\n",
		      true);
	render(policy, text, sizeof(text));
	assert_string_equal(text, "6 /bin/dash shell shell;7 /alternatives/awk language awk;"
				  "8 /bin/bash shell shell;");
	policy_free(policy);
	policy =
		load(HEAD "exec: [{on: [/bin/bash]}]\nfiles: [{deny: [exec], on: [/opt/x/tool]}]\n",
		     true);
	render(policy, text, sizeof(text));
	assert_string_equal(text, "");
	policy_free(policy);
}

/* What may have been written inside does not run, unless its rule says so. */
static void test_written_inside(void **state)
{
	static const struct {
		const char *files, *key, *found;
	} cases[] = {
		{"read", "", "6 /w/x/das* shell* shell;6 /w/** shell* any program;"},
		{"read, write", "", "6 /w/** shell* any program;"},
		{"read, write", ", written-inside: true",
		 "6 /w/x/das* shell* shell;6 /w/** shell* any program;"},
	};
	char policy_text[512], text[1024];
	struct policy *policy;

	(void)state;
	for (size_t i = 0; i < N_OF(cases); i++) {
		snprintf(policy_text, sizeof(policy_text),
			 HEAD "files: [{allow: [%s], on: [\"/w/*/dash\"]}]\n"
			      "exec: [{on: [\"/w/x/das*\"]%s}, {on: [\"/w/**\"]}]\n",
			 cases[i].files, cases[i].key);
		policy = load(policy_text, false);
		render(policy, text, sizeof(text));
		assert_string_equal(text, cases[i].found);
		policy_free(policy);
	}
}

/* --- the record --- */

/* Each path once, shells first, and never more than the bound: what is left out is counted. */
static void test_record(void **state)
{
	static char policy_text[1 << 16];
	size_t length =
		(size_t)sprintf(policy_text, HEAD "exec:\n  - on: [/bin/env, /bin/perl]\n"
						  "  - on: [/bin/sh]\nfiles:\n"
						  "  - {allow: [interp], on: [/bin/env]}\n");
	struct policy *policy = load(policy_text, false);
	json_t *record = authority_record(policy), *programs = json_object_get(record, "programs");
	static const char *const paths[] = {"/bin/sh", "/bin/perl", "/bin/env"};
	const json_t *one;
	size_t i;

	(void)state;
	assert_int_equal(json_array_size(programs), N_OF(paths));
	json_array_foreach (programs, i, one)
		assert_string_equal(json_string_value(json_object_get(one, "path")), paths[i]);
	one = json_array_get(programs, 1);
	assert_string_equal(json_string_value(json_object_get(one, "kind")), "language");
	assert_string_equal(json_string_value(json_object_get(one, "what")), "perl");
	assert_string_equal(json_string_value(json_object_get(one, "file")), "t.yaml");
	assert_int_equal(json_integer_value(json_object_get(one, "line")), 6);
	assert_true(json_is_false(json_object_get(one, "pattern")));
	assert_int_equal(json_integer_value(json_object_get(record, "more")), 0);
	json_decref(record);
	policy_free(policy);

	length = (size_t)sprintf(policy_text, HEAD "exec:\n");
	for (i = 0; i < 200; i++)
		length += (size_t)sprintf(policy_text + length, "  - on: [/opt/%zu/env]\n", i);
	sprintf(policy_text + length, "  - on: [/bin/sh]\n");
	policy = load(policy_text, false);
	record = authority_record(policy);
	programs = json_object_get(record, "programs");
	assert_string_equal(json_string_value(json_object_get(json_array_get(programs, 0), "path")),
			    "/bin/sh");
	assert_in_range(json_array_size(programs), 30, 100);
	assert_int_equal(json_array_size(programs) +
				 (size_t)json_integer_value(json_object_get(record, "more")),
			 201);
	json_decref(record);
	policy_free(policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),  cmocka_unit_test(test_globs),
		cmocka_unit_test(test_rows),   cmocka_unit_test(test_rules),
		cmocka_unit_test(test_links),  cmocka_unit_test(test_written_inside),
		cmocka_unit_test(test_record),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

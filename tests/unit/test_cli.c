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
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/explain.h"
#include "kern/kern.h"

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

static void test_grant_options(void **state _unused_)
{
	static const char *const words[] = {"grant",
					    "x",
					    "egress",
					    "--only",
					    "a.example.com",
					    "--for",
					    "10m",
					    "--only=*.b.example.com",
					    NULL};
	struct arguments a = {0};

	assert_int_equal(parse(words, &a, NULL), 0);
	assert_int_equal(a.nwords, 2);
	assert_string_equal(a.span, "10m");
	assert_int_equal(a.nonly, 2);
	assert_string_equal(a.only[1], "*.b.example.com");
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
	{{"foo"}, "no command \"foo\": see bulkhead help"},
	{{"-v"}, "no command \"-v\": see bulkhead help"},
	{{""}, "no command \"\": see bulkhead help"},
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
	{{"attach", "p"}, "say what to attach to: write one of --cgroup, --unit and --pid"},
	{{"attach", "p", "--unit", "u", "--pid", "1"},
	 "say what to attach to once: --unit and --pid were given, write one of --cgroup, --unit "
	 "and --pid"},
	{{"attach", "p", "--cgroup=c", "--unit=u", "--pid=1"},
	 "say what to attach to once: --cgroup, --unit and --pid were given, write one of "
	 "--cgroup, --unit and --pid"},
	{{"attach", "p", "--pid", "abc"}, "--pid: \"abc\" is no process id"},
	{{"attach", "p", "--pid", "0"}, "--pid: \"0\" is no process id"},
	{{"attach", "p", "--pid", "4294967297"}, "--pid: \"4294967297\" is no process id"},
	{{"detach"}, "say what to detach: write one of NAME or ID, --cgroup and --unit"},
	{{"detach", "x", "--unit", "u"},
	 "say what to detach once: NAME or ID and --unit were given, write one of NAME or ID, "
	 "--cgroup and --unit"},
	{{"reload", "x", "--all"}, "reload: \"x\" and --all were given: write one of them"},
	{{"grant", "x"}, "grant needs NAME|ID egress: see bulkhead help grant"},
	{{"grant", "x", "network"},
	 "grant: \"network\" is nothing that is granted: write grant x egress"},
	{{"grant", "x", "egress", "--for", "10"},
	 "--for 10: write a number and s, m, h or d, as in 30s, 10m, 2h, 1d"},
	{{"grant", "x", "egress", "--for=0s"}, "--for 0s: write 1s to 365d"},
	{{"revoke", "x"}, "revoke needs NAME|ID egress: see bulkhead help revoke"},
	{{"revoke", "x", "all"},
	 "revoke: \"all\" is nothing that is granted: write revoke x egress"},
	{{"revoke", "x", "egress", "--for", "1s"},
	 "revoke has no option --for: see bulkhead help revoke"},
	{{"egress", "check", "p"},
	 "egress needs check POLICY DESTINATION: see bulkhead help egress"},
	{{"egress", "show", "p", "a.example.com:443"},
	 "egress: \"show\" is nothing that it does: write egress check POLICY DESTINATION"},
	{{"egress", "check", "p", "https://u:secret@a.example.com/"},
	 "the destination, byte 16: no user name and no password: write the name alone"},
	{{"egress", "check", "p", "a.example.com:443", "b"},
	 "egress: \"b\" is one word too many: see bulkhead help egress"},
	{{"admit"}, "admit needs --unit NAME"},
	{{"run", "p"}, "run needs \"--\" and a command: see bulkhead help run"},
	{{"run", "p", "true"}, "run: write \"--\" before the command: -- true ..."},
	{{"run", "p", "q", "--", "true"}, "run: \"q\" is one word too many: see bulkhead help run"},
	{{"run", "p", "--"}, "run needs \"--\" and a command: see bulkhead help run"},
	{{"explain", "p", "--pth", "/x"}, "explain has no option --pth: did you mean --path?"},
	{{"explain", "p", "q"}, "explain: \"q\" is one word too many: see bulkhead help explain"},
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

static char *printed(void (*print)(const struct command *command, FILE *to),
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
	_cleanup_free_ char *all = printed(NULL, NULL);

	for (const struct command *c = commands; c->name; c++) {
		_cleanup_free_ char *help = printed(help_command, c);

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

/* What cannot be seen is neither there nor absent. */
static void test_there(void **state _unused_)
{
	struct error error = {0};

	assert_int_equal(kern_is_there("/", &error), 1);
	assert_int_equal(kern_is_there("/none/of/it", &error), 0);
	assert_string_equal(error.text, "");
	assert_int_equal(kern_is_there("/dev/null/x", &error), -ENOTDIR);
	assert_non_null(strstr(error.text, "it cannot be seen whether /dev/null/x is there"));
}

/* --- explain --- */

static char policy_path[] = "/tmp/test_cli.XXXXXX";
static const char policy_text[] =
	"version: 1\nname: t\nmode: enforce\nnetwork: none\nvars: [W=/n]\n"
	"files:\n"
	"  - {allow: [read, write], on: [\"${W}/**\", \"/o/*/w\"]}\n"
	"  - {deny: [write], on: [\"${W}/secret/**\"]}\n"
	"  - {quiet: [read], on: [/q]}\n"
	"  - {tripwire: [read], on: [/bait]}\n"
	"exec:\n"
	"  - {on: [/n/node], jit: true, written-inside: true}\n"
	"  - {on: [\"/o/**\"]}\n";

static int write_policy(void **state _unused_)
{
	int fd = mkstemp(policy_path);

	if (fd < 0 || fchmod(fd, 0644) || write(fd, policy_text, sizeof(policy_text) - 1) < 0)
		return -1;
	return close(fd);
}

static int remove_policy(void **state _unused_)
{
	return unlink(policy_path);
}

/* Exit status of a command of the table, and what it printed. */
static int run_words(const char *const *words, char *out, size_t size, struct error *error)
{
	const struct command *command = command_find(words[0], error);
	_cleanup_fclose_ FILE *file = tmpfile();
	int before = dup(STDOUT_FILENO), status;
	struct arguments a = {0};
	size_t n;

	assert_int_equal(arguments_parse(command, (char **)(uintptr_t)words + 1, &a, error), 0);
	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	status = command->run(&a, error);
	fflush(stdout);
	dup2(before, STDOUT_FILENO);
	close(before);
	arguments_done(&a);
	rewind(file);
	n = fread(out, 1, size - 1, file);
	out[n] = '\0';
	return status;
}

struct explanation {
	const char *words[MAX_WORDS];
	int status;
	const char *text; /* of the output, or of the error */
};

#define EXPLAIN(...)                                \
	{                                           \
		"explain", policy_path, __VA_ARGS__ \
	}

static const struct explanation explanations[] = {
	{EXPLAIN("--path", "/n/x", "--op", "read"), 0, "allowed: read /n/x under policy t\n  read"},
	{EXPLAIN("--path", "/n/x", "--op", "read,write"), 0, "\n  write       allowed by /n/** ("},
	{EXPLAIN("--path", "/n/x", "--op", "read"), 0, ":7:33)\n"},
	{EXPLAIN("--path", "/n/secret/x", "--op", "write"), 1, "refused by /n/secret/** ("},
	{EXPLAIN("--path", "/n/secret/x", "--op", "write"), 1, ":8:26)\n"},
	{EXPLAIN("--path", "/other", "--op", "read"), 1, "no rule of the policy allows it\n"},
	{EXPLAIN("--path", "/q", "--op", "read"), 1, "refused quietly: read /q"},
	{EXPLAIN("--path", "/q", "--op", "read"), 1, "allows it, kept quiet by /q ("},
	{EXPLAIN("--path", "/bait", "--op", "read"), 1, "refused by the tripwire /bait ("},
	{EXPLAIN("--path", "/bait", "--op", "read"), 1, ":10:29), which ends the compartment\n"},
	{EXPLAIN("--path", "/n/node", "--op", "exec"), 0,
	 "note: as a program it may have writable"},
	{EXPLAIN("--path", "/o/x", "--op", "exec"), 0, "\n  exec        allowed by /o/** ("},
	{EXPLAIN("--path", "/o/x/w", "--op", "exec"), 1,
	 "\n  exec        refused: it may have been written inside, and written-inside: true is "
	 "not on "
	 "/o/** ("},
	{EXPLAIN("--path", "/o/x/w", "--op", "map-exec"), 1, ":13:11)\n"},
	{EXPLAIN("--path", "/o/x/w", "--op", "exec", "--json"), 1,
	 "\"reason\": \"written-inside\""},
	{EXPLAIN("--path", "/o/x/w", "--op", "read,write"), 0, "allowed: read,write /o/x/w"},
	{EXPLAIN("--path", "/proc/1/maps", "--op", "read"), 1, "refused: proc: none opens no"},
	{EXPLAIN("--path", "/m/x", "--op", "read", "--var", "W=/m"), 0, "allowed by /m/** ("},
	{EXPLAIN("--path", "/n/x", "--op", "read", "--json"), 0, "\"verdict\": \"allowed\""},
	{EXPLAIN("--path", "/a\n\\b", "--op", "read"), 1, "read /a\\x0a\\x5cb under"},
	/* What cannot be asked is no refusal. */
	{EXPLAIN("--path", "n/x", "--op", "read"), 2, "\"n/x\" is not absolute"},
	{EXPLAIN("--path", "@x", "--op", "read"), 2, "@x is an abstract socket"},
	{EXPLAIN("--path", "/n/x", "--op", "reed"), 2, "no right is called \"reed\""},
	{EXPLAIN("--path", "/n/x", "--op", "read", "--var", "X=/m"), 2, "variable X was set"},
	{EXPLAIN("--path", "/n/x"), 2, "write POLICY --path PATH --op RIGHTS, or --event SEQ"},
	{EXPLAIN("--path", "/n/x", "--op", "read", "--compartment", "c"), 2, "whose --event it is"},
	{EXPLAIN("--event", "1", "--op", "read"), 2, "an event brings its own path"},
	{{"explain", "--event", "1", "--var", "W=/m"}, 2, "--var is for a POLICY that is named"},
	{{"explain", "--event", "x"}, 2, "\"x\" is no number of an event"},
	{{"explain", "--path", "/n/x", "--op", "read"}, 2, "write POLICY --path"},
	{{"explain", "/none.yaml", "--path", "/n", "--op", "read"}, 2, "/none.yaml: No such file"},
};

static void test_explain(void **state _unused_)
{
	static char out[1 << 14];

	for (size_t i = 0; i < sizeof(explanations) / sizeof(explanations[0]); i++) {
		const struct explanation *e = &explanations[i];
		struct error error = {0};
		int status = run_words(e->words, out, sizeof(out), &error);

		if (status != e->status || !strstr(status == 2 ? error.text : out, e->text))
			fail_msg("row %zu: status %d: %s%s", i, status, out, error.text);
	}
}

/* --- egress check --- */

/* What is not listed is refused without asking anybody; test_egress_check has the rest. */
static void test_egress_check(void **state _unused_)
{
	static const struct explanation rows[] = {
		{{"egress", "check", policy_path, "https://a.example.com/?secret"},
		 1,
		 "a.example.com:443 under policy t, mode enforce\n  refused: not listed\n"},
		{{"egress", "check", policy_path, "a.example.com:80", "--json", "--var", "W=/m"},
		 1,
		 "\"outcome\": \"not-listed\""},
		{{"egress", "check", policy_path, "a.example.com:80", "--var", "X=/m"},
		 -EINVAL,
		 "variable X was set"},
		{{"egress", "check", "/none.yaml", "a.example.com:80"},
		 -ENOENT,
		 "/none.yaml: No such file"},
	};
	static char out[1 << 14];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct error error = {0};
		int status = run_words(rows[i].words, out, sizeof(out), &error);

		if (status != rows[i].status ||
		    !strstr(status < 0 ? error.text : out, rows[i].text))
			fail_msg("row %zu: status %d: %s%s", i, status, out, error.text);
		assert_null(strstr(out, "secret"));
	}
}

/* --- check and status: shell authority --- */

/* What check prints of a policy with these lines; *path is where it stood. */
static void check_text(const char *lines, char path[32], char *out, size_t size)
{
	const char *const words[] = {"check", path, NULL};
	struct error error = {0};
	int fd;

	strcpy(path, "/tmp/test_cli_check.XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0 && fchmod(fd, 0644) == 0);
	assert_true(dprintf(fd, "version: 1\nname: t\n%s", lines) > 0);
	close(fd);
	assert_int_equal(run_words(words, out, size, &error), 0);
	unlink(path);
}

/* Printed where it is, and where there is none that is said. */
static void test_check_authority(void **state _unused_)
{
	static const struct {
		const char *exec, *text; /* %1$s: the file */
	} cases[] = {
		{"[/n/tool]", "KiB\n  no interpreter may be run: no shell authority\n"},
		{"[/n/bash, /n/env, \"/n/python3*\"]",
		 "KiB\n  shell authority: these run what they are given\n"
		 "    %s:6: /n/bash (shell), /n/env (runs what it is given),"},
		{"[\"/n/**\"]", "    %s:6: /n/** (any program)\n"},
	};
	char text[512], out[4096], path[32], wanted[512];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "mode: enforce\nnetwork: none\nexec:\n  - on: %s\n",
			 cases[i].exec);
		check_text(text, path, out, sizeof(out));
		snprintf(wanted, sizeof(wanted), cases[i].text, path);
		if (!strstr(out, wanted))
			fail_msg("row %zu: %s", i, out);
	}
}

/* Every destination, with what is sent there and how much of it; and whether members listen. */
static void test_check_network(void **state _unused_)
{
#define EGRESS "egress: [{to: 'a.example.com:443,80', discloses: 'x, y', max-upload: "
#define LISTEN "members may, and whoever reaches them may connect to\n"
#define LOOPBACK "  loopback: members may listen there, and connect to each other\n"
	static const struct {
		const char *mode, *network, *text;
	} cases[] = {
		{"enforce", "none", "no shell authority\n  network: none\n"},
		{"enforce", "{" EGRESS "200MiB}]}",
		 "  egress: these may be reached, and be sent\n"
		 "    a.example.com:443,80: at most 200 MiB of x, y\n"},
		{"enforce", "{" EGRESS "1025, tls: true}]}",
		 "a.example.com:443,80: at most 1025 bytes of x, y, over TLS\n"},
		{"enforce", "{" EGRESS "3072GiB}]}", ": at most 3072 GiB of x, y\n"},
		{"enforce", "{" EGRESS "1048576}]}", ": at most 1 MiB of x, y\n"},
		{"audit", "{" EGRESS "1536KiB}]}",
		 "  egress, which mode audit reports and does not bound:\n"
		 "    a.example.com:443,80: at most 1536 KiB of x, y\n"},
		{"enforce", "{loopback: none, " EGRESS "1KiB}]}",
		 "no shell authority\n  egress: these may be reached, and be sent\n"},
		{"enforce", "{loopback: own, " EGRESS "1KiB}]}",
		 LOOPBACK "  egress: these may be reached, and be sent\n"},
		{"enforce", "{loopback: own}", LOOPBACK},
		{"enforce", "{proxy: true, " EGRESS "1KiB}]}",
		 "at most 1 KiB of x, y\n  proxy: by proxy.bulkhead.internal, too, port 3128 "
		 "(CONNECT) or 1080 (SOCKS5)\n"},
		{"audit", "{loopback: own}", LOOPBACK},
		{"enforce", "{listen: ['[::1]:3000,3001', '*:80']}",
		 "no shell authority\n  listen: " LISTEN "    [::1]:3000 [::1]:3001 *:80\n"},
		{"enforce", "{loopback: own, listen: ['10.0.0.5:80']}",
		 LOOPBACK "  listen: " LISTEN "    10.0.0.5:80\n"},
		{"audit", "{listen: ['10.0.0.5:80']}",
		 "  listen, which mode audit reports and does not bound:\n    10.0.0.5:80\n"},
	};
#undef EGRESS
#undef LOOPBACK
#undef LISTEN
	char text[512], out[4096], path[32];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "mode: %s\nnetwork: %s\n", cases[i].mode,
			 cases[i].network);
		check_text(text, path, out, sizeof(out));
		if (!strstr(out, cases[i].text))
			fail_msg("row %zu: %s", i, out);
	}
}

/* What people are shown of {"compartments": [...]} with one that has this. */
static void shown(const char *key, const char *value, char *out, size_t size)
{
	_cleanup_fclose_ FILE *file = tmpfile();
	int before = dup(STDOUT_FILENO);
	json_t *array = json_pack("[{s:i, s:s, s:s, s:o}]", "id", 3, "name", "reader", "state",
				  "enforced", key, json_loads(value, JSON_DECODE_ANY, NULL));

	assert_non_null(array);
	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	show_compartments(array);
	fflush(stdout);
	dup2(before, STDOUT_FILENO);
	close(before);
	json_decref(array);
	rewind(file);
	out[fread(out, 1, size - 1, file)] = '\0';
}

static void test_status_authority(void **state _unused_)
{
#define ONE(path) "{\"path\": \"" path "\", \"what\": \"shell\"}"
	static const struct {
		const char *authority, *text;
	} cases[] = {
		{"{\"programs\": [], \"more\": 0}",
		 "\nreader (3): no interpreter may be run: no shell authority\n"},
		{"{\"programs\": [" ONE("/a") "], \"more\": 0}",
		 "\nreader (3): shell authority: /a (shell)\n"},
		{"{\"programs\": [" ONE("/a") "," ONE("/b") "], \"more\": 7}",
		 "\nreader (3): shell authority: /a (shell), /b (shell), and 7 more\n"},
		{"{\"programs\": [" ONE("/a") "," ONE("/b") "," ONE("/c") "," ONE("/d") "," ONE(
			 "/e") "," ONE("/f") "," ONE("/g") "], \"more\": 2}",
		 "/f (shell), and 3 more\n"},
		{"{\"programs\": [], \"more\": 2}", "\nreader (3): shell authority: 2 more\n"},
	};
	char out[4096];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		shown("shell_authority", cases[i].authority, out, sizeof(out));
		if (!strstr(out, cases[i].text))
			fail_msg("row %zu: %s", i, out);
	}
	/* Of what an older agent attached nothing is claimed. */
	shown("shell_authority", "null", out, sizeof(out));
	assert_null(strstr(out, "authority"));
}

/* What may leave, by whose word and how long, and what is in the way. */
static void test_status_egress(void **state _unused_)
{
#define TO(name) "{\"to\": \"" name "\"}"
#define OPEN "\"outlets\": [{\"netns\": 5, \"state\": \"open\"}]"
	static const struct {
		const char *egress, *text;
	} cases[] = {
		{"{\"destinations\": [" TO("a.b:1") "], \"grant\": null, " OPEN "}",
		 "\nreader (3) egress: a.b:1: not granted (bulkhead grant 3 egress); outlets in 1 "
		 "of 1 "
		 "network namespace\n"},
		{"{\"destinations\": [" TO("a.b:1") "], \"grant\": {\"left_ms\": null, \"only\": "
						    "null, \"uid\": 0}, " OPEN "}",
		 ": granted by uid 0; outlets"},
		{"{\"destinations\": [" TO("a.b:1") "], \"grant\": {\"left_ms\": 90000, \"only\": "
						    "[\"x.y\", \"*.z.y\"], \"uid\": 7}, " OPEN "}",
		 ": granted to x.y, *.z.y for another 1m 30s by uid 7; outlets"},
		{"{\"destinations\": [" TO("a:1") "," TO("b:1") "," TO("c:1") "," TO("d:1") "," TO(
			 "e:1") "," TO("f:1") "," TO("g:1") "], \"outlets\": [], \"why\": \"no\"}",
		 "f:1, and 1 more: not granted (bulkhead grant 3 egress); outlets in 0 of 0 "
		 "network "
		 "namespaces: no\n"},
	};
	char out[4096];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		shown("egress", cases[i].egress, out, sizeof(out));
		if (!strstr(out, cases[i].text))
			fail_msg("row %zu: %s", i, out);
	}
	shown("egress", "null", out, sizeof(out));
	assert_null(strstr(out, "egress"));
	shown("tally", "{\"strayed\": 2}", out, sizeof(out));
	assert_non_null(strstr(out, "\nreader (3) network: 2 packets that led elsewhere"));
	shown("tally", "{\"strangers\": 1}", out, sizeof(out));
	assert_non_null(strstr(out, "\nreader (3) network: 1 packet that others sent to its stub"));
	shown("tally", "{\"strayed\": 0}", out, sizeof(out));
	assert_null(strstr(out, "packet"));
}

/* The keys that programs rely on. */
static void test_explain_json(void **state _unused_)
{
	static const char *const words[] =
		EXPLAIN("--path", "/n/secret/x", "--op", "write", "--json", NULL);
	static const char *const keys[] = {"policy",  "path",	    "resolved",	  "rights",
					   "verdict", "quiet",	    "reason",	  "reason_text",
					   "rule",    "quiet_rule", "audit_rule", "name",
					   "each",    "links",	    "place",	  "notes"};
	static char out[1 << 14];
	struct error error = {0};
	_cleanup_json_ json_t *answer = NULL;
	const json_t *rule;

	assert_int_equal(run_words(words, out, sizeof(out), &error), 1);
	answer = json_loads(out, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(answer);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		assert_non_null(json_object_get(answer, keys[i]));
	assert_string_equal(text_of(answer, "reason"), "denied");
	rule = json_object_get(answer, "rule");
	assert_string_equal(text_of(rule, "file"), policy_path);
	assert_int_equal(json_integer_value(json_object_get(rule, "line")), 8);
	assert_int_equal(json_integer_value(json_object_get(rule, "column")), 26);
}

#define EVENT(seq, id, name, generation)                                                  \
	"{\"kind\":\"violation\",\"seq\":" #seq ",\"compartment\":" #id ",\"name\":" name \
	",\"generation\":" #generation "}\n"

static const char events_before[] = EVENT(1, 1, "\"web\"", 3) EVENT(2, 1, "\"web\"", 3);
static const char events_now[] = "half a line\n" EVENT(7, 10, "\"mcp\"", 20)
	EVENT(7, 11, "\"mcp\"", 21) EVENT(7, 12, "\"mcp\"", 22) EVENT(8, 20, "\"mcp\"", 30) EVENT(
		8, 21, "\"mcp\"", 31) "{\"kind\":\"control\",\"seq\":2}\n" EVENT(2, 5, "null", 4)
		EVENT(3, 1, "\"web\"", 4) EVENT(3, 2, "\"db\"", 5) EVENT(1, 1, "\"web\"", 6);

/* The newest of its number; of whom, when several have it; canaries are nobody's. */
static void test_event_find(void **state _unused_)
{
	static const struct {
		const char *seq, *compartment, *error;
		int generation;
	} cases[] = {
		{"1", NULL, NULL, 6},
		{"2", NULL, NULL, 3},
		{"2", "5", NULL, 4},
		{"3", "web", NULL, 4},
		{"3", "2", NULL, 5},
		{"3", NULL, "--compartment, name or id: web (1), db (2)", 0},
		/* Of several starts what runs now, else the last; of several that run none. */
		{"7", "mcp", NULL, 21},
		{"7", NULL, NULL, 21},
		{"7", "10", NULL, 20},
		{"8", "mcp", "2 compartments have an event 8: say whose", 0},
		{"8", "21", NULL, 31},
		{"4", NULL, "no event 4 in /run/bulkhead/events.jsonl", 0},
		{"1", "db", "no event 1 of db in ", 0},
		{"0", NULL, "\"0\" is no number of an event", 0},
		{"1x", NULL, "\"1x\" is no number of an event", 0},
	};
	_cleanup_json_ json_t *list = json_pack(
		"[{s:i,s:s,s:s}, {s:i,s:s,s:s}, {s:i,s:s,s:s}, {s:i,s:s,s:s}, {s:i,s:s,s:s}]", "id",
		10, "name", "other", "state", "enforced", "id", 11, "name", "mcp", "state",
		"enforced", "id", 12, "name", "mcp", "state", "ended", "id", 20, "name", "mcp",
		"state", "enforced", "id", 21, "name", "mcp", "state", "enforced");
	_cleanup_json_ json_t *last = NULL;
	struct error none = {0};
	char before[] = "/tmp/test_cli.XXXXXX", now[] = "/tmp/test_cli.XXXXXX";
	const char *const files[] = {"/nonexistent/events", before, now, NULL};
	int a = mkstemp(before), b = mkstemp(now);

	assert_int_equal(write(a, events_before, sizeof(events_before) - 1),
			 sizeof(events_before) - 1);
	assert_int_equal(write(b, events_now, sizeof(events_now) - 1), sizeof(events_now) - 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_json_ json_t *record = NULL;
		struct error error = {0};
		int r = event_find(files, cases[i].seq, cases[i].compartment, list, &record,
				   &error);

		if (cases[i].error) {
			assert_true(r < 0);
			assert_non_null(strstr(error.text, cases[i].error));
			continue;
		}
		assert_int_equal(r, 0);
		assert_int_equal(json_integer_value(json_object_get(record, "generation")),
				 cases[i].generation);
	}
	assert_int_equal(event_find(files, "7", "mcp", NULL, &last, &none), 0);
	assert_int_equal(json_integer_value(json_object_get(last, "generation")), 22);
	close(a);
	close(b);
	unlink(before);
	unlink(now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options),	      cmocka_unit_test(test_grant_options),
		cmocka_unit_test(test_command),	      cmocka_unit_test(test_there),
		cmocka_unit_test(test_help_option),   cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_find),	      cmocka_unit_test(test_help),
		cmocka_unit_test(test_page),	      cmocka_unit_test(test_explain),
		cmocka_unit_test(test_explain_json),  cmocka_unit_test(test_check_authority),
		cmocka_unit_test(test_check_network), cmocka_unit_test(test_status_authority),
		cmocka_unit_test(test_status_egress), cmocka_unit_test(test_event_find),
		cmocka_unit_test(test_egress_check),  cmocka_unit_test(test_log),
	};

	return cmocka_run_group_tests(tests, write_policy, remove_policy);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a command finds in its environment: made, passed, set; and what no policy can pass. All secrets are made up. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "launch/environment.h"
#include "policy/rewrite.h"
#include "policy/secret.h"

#define N_OF(array) (sizeof(array) / sizeof(*(array)))
#define HEAD "version: 1\nname: t\nmode: enforce\nnetwork: none\n"
#define HELD "k3pt-as-a-secret"

static int try_text(const char *text, struct policy **ret, struct error *error)
{
	const struct policy_options options = {.text = text};

	return policy_load("t.yaml", &options, ret, error);
}

static struct policy *load_text(const char *text)
{
	struct policy *policy = NULL;
	struct error error = {0};

	if (try_text(text, &policy, &error) < 0)
		fail_msg("%s in\n%s", error.text, text);
	return policy;
}

static const struct environment_entry *find(const struct environment *environment, const char *name)
{
	for (size_t i = 0; i < environment->n; i++) {
		const char *text = environment->entries[i].text;

		if (!strncmp(text, name, strlen(name)) &&
		    (text[strlen(name)] == '=' || !text[strlen(name)]))
			return &environment->entries[i];
	}
	return NULL;
}

static const char *passed(const struct environment *environment, const char *name)
{
	for (char **text = environment->strings; *text; text++)
		if (!strncmp(*text, name, strlen(name)) && (*text)[strlen(name)] == '=')
			return *text + strlen(name) + 1;
	return NULL;
}

static void expect(const struct environment *environment, const char *name, const char *value)
{
	const char *found = passed(environment, name);

	if (!found || strcmp(found, value))
		fail_msg("%s is %s, not %s", name, found ? found : "not there", value);
}

/* A policy that says nothing: nothing of the caller's. */
static void test_made(void **state)
{
	char *const caller[] = {"HOME=/root", "PATH=/evil", "TERM=xterm-256color",
				"LANG=de_DE", "A=1",	    "TMPDIR=/evil",
				NULL};
	struct policy *policy = load_text(HEAD);
	struct environment environment;

	(void)state;
	assert_int_equal(environment_build(policy, caller, &environment), 0);
	expect(&environment, "HOME", "/");
	expect(&environment, "PATH",
	       "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	expect(&environment, "LANG", "C.UTF-8");
	expect(&environment, "TMPDIR", "/tmp");
	expect(&environment, "TZ", "UTC");
	expect(&environment, "SHELL", "/bin/sh");
	expect(&environment, "TERM", "xterm-256color");
	assert_null(passed(&environment, "A"));
	assert_string_equal(find(&environment, "A")->why, "the policy does not pass it");
	environment_done(&environment);
	policy_free(policy);
}

static void test_terminal(void **state)
{
	static const char *const bad[] = {"TERM=", "TERM=../x", "TERM=x y", "TERM=\x1b[2J",
					  "TERM=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
	struct policy *policy = load_text(HEAD);
	struct environment environment;

	(void)state;
	for (size_t i = 0; i < N_OF(bad); i++) {
		char *const caller[] = {(char *)bad[i], NULL};

		assert_int_equal(environment_build(policy, caller, &environment), 0);
		expect(&environment, "TERM", "dumb");
		environment_done(&environment);
	}
	policy_free(policy);
}

/* Its own HOME and TMPDIR are those that its rules speak of. */
static void test_variables(void **state)
{
	char *const caller[] = {NULL};
	struct policy *policy = load_text(
		HEAD "vars: [HOME=/srv/home, 'TMPDIR=/srv/t\\*p', W=/srv/w]\n"
		     "environment: {set: ['WORK=${W}/x', TZ=Europe/Berlin, EMPTY=, 'Q=a=b c']}\n"
		     "files: [{allow: [read], on: ['${HOME}/**', '${TMPDIR}/**']}]\n");
	struct environment environment;

	(void)state;
	assert_int_equal(environment_build(policy, caller, &environment), 0);
	expect(&environment, "HOME", "/srv/home");
	expect(&environment, "TMPDIR", "/srv/t*p");
	expect(&environment, "WORK", "/srv/w/x");
	expect(&environment, "TZ", "Europe/Berlin");
	expect(&environment, "EMPTY", "");
	expect(&environment, "Q", "a=b c");
	environment_done(&environment);
	policy_free(policy);
}

static void test_passed(void **state)
{
	char *const caller[] = {"A=1", "LC_ALL=C", "LC_TIME=C", "LCX=1",	"B=2", "A=3",
				"=x",  "1A=x",	   "BARE",	"PATH=/listed", NULL};
	struct policy *policy =
		load_text(HEAD "environment: {pass: [A, LC_*, PATH], set: [B=of-policy]}\n");
	struct environment environment;

	(void)state;
	assert_int_equal(environment_build(policy, caller, &environment), 0);
	expect(&environment, "LC_ALL", "C");
	expect(&environment, "LC_TIME", "C");
	expect(&environment, "B", "of-policy");
	expect(&environment, "A", "3");
	expect(&environment, "PATH", "/listed");
	assert_null(passed(&environment, "LCX"));
	assert_null(passed(&environment, "1A"));
	assert_null(passed(&environment, "BARE"));
	for (char **one = environment.strings; *one; one++)
		for (char **other = one + 1; *other; other++)
			assert_int_not_equal(strncmp(*one, *other, strcspn(*one, "=") + 1), 0);
	environment_done(&environment);
	policy_free(policy);
}

/* Listed by how they begin, and left out all the same. */
static const char *const never[] = {
	"X_SECRET=a",
	"X_TOKEN=a",
	"X_PASSWORD=a",
	"X_API_KEY=a",
	"X_APIKEY=a",
	"x_token=a",
	"X_A=" HELD,
	"X_A=prefix" HELD "suffix",
	"X_A=sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAA",
	"X_A=Bearer ghp_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
	"X_A=github_pat_AAAAAAAAAAAAAAAAAAAAAA",
	"X_A=AKIAAAAAAAAAAAAAAAAA",
	"X_A=https://user:pass@example.com/",
	"X_A=eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxIn0.x",
	"X_A=-----BEGIN OPENSSH PRIVATE KEY-----",
	"X_A=xoxb-1234567890-abc",
};

static void test_never(void **state)
{
	struct policy *policy = load_text(HEAD "environment: {pass: [X_*, x_*, LD_*, S*]}\n");
	struct environment environment;

	(void)state;
	for (size_t i = 0; i < N_OF(never); i++) {
		char *const caller[] = {"GITHUB_TOKEN=" HELD, (char *)never[i], "X_GOOD=fine",
					NULL};
		_cleanup_free_ char *name = strndup(never[i], strcspn(never[i], "="));

		assert_int_equal(environment_build(policy, caller, &environment), 0);
		if (passed(&environment, name))
			fail_msg("%s is passed", never[i]);
		assert_non_null(find(&environment, name)->why);
		expect(&environment, "X_GOOD", "fine");
		for (char **text = environment.strings; *text; text++)
			assert_null(strstr(*text, HELD));
		environment_done(&environment);
	}
	policy_free(policy);
}

/* Names, as they are written in the field. */
static const char *const refused_names[] = {
	"LD_PRELOAD",
	"LD_LIBRARY_PATH",
	"LD_AUDIT",
	"GLIBC_TUNABLES",
	"GCONV_PATH",
	"BASH_ENV",
	"ENV",
	"SHELLOPTS",
	"PS4",
	"BASH_FUNC_ls%%",
	"PYTHONPATH",
	"PYTHONSTARTUP",
	"PYTHONHOME",
	"PERL5LIB",
	"PERL5OPT",
	"RUBYOPT",
	"NODE_OPTIONS",
	"NODE_PATH",
	"JAVA_TOOL_OPTIONS",
	"_JAVA_OPTIONS",
	"JDK_JAVA_OPTIONS",
	"CLASSPATH",
	"GIT_SSH_COMMAND",
	"GIT_EXEC_PATH",
	"GIT_CONFIG_COUNT",
	"GIT_ASKPASS",
	"GIT_PAGER",
	"GIT_COMMON_DIR",
	"PAGER",
	"EDITOR",
	"LESSOPEN",
	"OPENSSL_CONF",
	"OPENSSL_MODULES",
	"npm_config_node_options",
	"ANTHROPIC_API_KEY",
	"OPENAI_API_KEY",
	"GITHUB_TOKEN",
	"GH_TOKEN",
	"NPM_TOKEN",
	"AWS_SECRET_ACCESS_KEY",
	"AWS_SESSION_TOKEN",
	"AZURE_CLIENT_SECRET",
	"GOOGLE_APPLICATION_CREDENTIALS",
	"DATABASE_URL",
	"PGPASSWORD",
	"PGPASSFILE",
	"MYSQL_PWD",
	"SENTRY_DSN",
	"HF_TOKEN",
	"SLACK_BOT_TOKEN",
	"STRIPE_SECRET_KEY",
	"KUBECONFIG",
	"SSH_AUTH_SOCK",
	"DBUS_SESSION_BUS_ADDRESS",
	"XDG_RUNTIME_DIR",
	"DOCKER_HOST",
	"NOTIFY_SOCKET",
	"LISTEN_FDS",
	"JOURNAL_STREAM",
	"DISPLAY",
	"XAUTHORITY",
	"TMUX",
	"https_proxy",
	"HTTPS_PROXY",
	"BULKHEAD_POLICIES",
};
static const char *const free_names[] = {
	"LANG",
	"LC_ALL",
	"TZ",
	"TERM",
	"COLORTERM",
	"HOME",
	"PATH",
	"EDITION",
	"WORKSPACE",
	"GIT_AUTHOR_NAME",
	"GIT_COMMITTER_EMAIL",
	"NO_COLOR",
	"CI",
	"SSL_CERT_FILE",
	"NODE_EXTRA_CA_CERTS",
	"OLDPWD",
	"LOAD",
	"ENVIRONMENT",
	"NODE_ENV",
	"TOKENIZERS_PARALLELISM",
};

static void test_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_OF(refused_names); i++)
		if (!secret_name(refused_names[i]))
			fail_msg("%s may be passed", refused_names[i]);
	for (size_t i = 0; i < N_OF(free_names); i++)
		if (secret_name(free_names[i]))
			fail_msg("%s: %s", free_names[i], secret_name(free_names[i]));
}

static void test_values(void **state)
{
	static const char *const plain[] = {"",
					    "task-ant-sk-",
					    "sk-short",
					    "risk-ant-AAAAAAAAAAAAAAAAAAAAAAAAAAAA",
					    "https://example.com:8443/a@b",
					    "/usr/lib/ssl/cert.pem",
					    "en_US.UTF-8",
					    "AKIAshort",
					    "user@host:path"};

	(void)state;
	for (size_t i = 0; i < N_OF(plain); i++)
		if (secret_value(plain[i]))
			fail_msg("%s: %s", plain[i], secret_value(plain[i]));
}

/* A file's name is no secret, though a credential's variable names it. */
static void test_paths(void **state)
{
	char *const caller[] = {"A_TOKEN=/etc/passwd", "CA=/etc/passwd", "B_TOKEN=/no/such/secret",
				"CB=/no/such/secret", NULL};
	struct policy *policy = load_text(HEAD "environment: {pass: [CA, CB]}\n");
	struct environment environment;

	(void)state;
	assert_int_equal(environment_build(policy, caller, &environment), 0);
	expect(&environment, "CA", "/etc/passwd");
	assert_null(passed(&environment, "CB"));
	environment_done(&environment);
	policy_free(policy);
}

/* Where nothing runs, rules stand for a place that is nobody's; a run has its own. */
static void test_private(void **state)
{
#define PRIVATE_TEXT                                           \
	HEAD "environment: {home: private, tmpdir: private}\n" \
	     "files: [{allow: [read], on: ['${HOME}/**', '${TMPDIR}/x']}]\n"
	const char *const vars[] = {"HOME=/run/h", "TMPDIR=/run/t", NULL};
	const struct policy_options options = {.text = PRIVATE_TEXT, .vars = vars};
	struct policy *policy = load_text(PRIVATE_TEXT);
	struct error error = {0};

	(void)state;
	assert_true(policy->environment.private_home && policy->environment.private_tmpdir);
	assert_string_equal(policy->environment.home, "/run/bulkhead-run/t/home");
	assert_string_equal(policy->environment.tmpdir, "/run/bulkhead-run/t/tmp");
	assert_string_equal(policy->rules[0].glob, "/run/bulkhead-run/t/home/**");
	policy_free(policy);
	assert_int_equal(policy_load("t.yaml", &options, &policy, &error), 0);
	assert_string_equal(policy->environment.home, "/run/h");
	assert_string_equal(policy->rules[1].glob, "/run/t/x");
	policy_free(policy);
}

static const struct {
	const char *environment, *error;
} bad[] = {
	{"{home: /root}", "5:21: environment.home: \"/root\" is no value of it: write private"},
	{"{tmpdir: [private]}", "environment.tmpdir must be one word"},
	{"{home: private}\nvars: [HOME=/srv/x]",
	 "5:21: home is made for each run: leave HOME out of vars"},
	{"{pass: [GITHUB_TOKEN]}", "5:22: GITHUB_TOKEN is never passed: a credential, by its name"},
	{"{pass: [A, LD_PRELOAD]}", "5:25: LD_PRELOAD is never passed: changes what code runs"},
	{"{pass: [SSH_AUTH_SOCK]}", "SSH_AUTH_SOCK is never passed: leads to a daemon"},
	{"{pass: ['*']}", "\"*\": write the name of a variable"},
	{"{pass: ['A*B']}", "write the name of a variable"},
	{"{pass: [A=1]}", "write the name of a variable"},
	{"{pass: ['1A']}", "write the name of a variable"},
	{"{pass: ['']}", "write the name of a variable"},
	{"{set: [A]}", "\"A\": write NAME=VALUE"},
	{"{set: ['=x']}", "write NAME=VALUE"},
	{"{set: ['A B=x']}", "write NAME=VALUE"},
	{"{set: [API_KEY=x]}", "API_KEY is never passed"},
	{"{set: [NODE_OPTIONS=--require=/x]}", "NODE_OPTIONS is never passed"},
	{"{set: ['A=${NONE}']}", "5:21: variable NONE is not set"},
	{"{set: ['A=ghp_AAAAAAAAAAAAAAAAAAAAAAAA']}", "5:21: A has a GitHub token in it"},
	{"{keep: [A]}", "unknown key keep: write one of home, tmpdir, pass, set"},
	{"none", "environment must be a mapping"},
	{"{pass: []}", "environment.pass is empty"},
};

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_OF(bad); i++) {
		struct policy *policy = NULL;
		struct error error = {0};
		char text[512];

		snprintf(text, sizeof(text), HEAD "environment: %s\n", bad[i].environment);
		if (try_text(text, &policy, &error) == 0)
			fail_msg("%s is taken", bad[i].environment);
		if (!strstr(error.text, bad[i].error))
			fail_msg("%s: %s; expected: %s", bad[i].environment, error.text,
				 bad[i].error);
	}
}

static void test_rewrite(void **state)
{
	char path[] = "/tmp/test_environment.XXXXXX", *again = NULL;
	_cleanup_close_ int fd = mkstemp(path);
	struct error error = {0};
	size_t n;
	FILE *to = open_memstream(&again, &n);

	(void)state;
	assert_true(fd >= 0 && to);
	assert_true(dprintf(fd, "%s", HEAD "environment: {set: ['A=1'], pass: [B, C_*]}\n") > 0);
	assert_int_equal(policy_rewrite(path, &(struct rewrite){0}, to, &error), 0);
	fclose(to);
	unlink(path);
	policy_free(load_text(again));
	assert_non_null(strstr(again, "environment:\n  pass: ["));
	free(again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_made),	  cmocka_unit_test(test_terminal),
		cmocka_unit_test(test_variables), cmocka_unit_test(test_passed),
		cmocka_unit_test(test_never),	  cmocka_unit_test(test_names),
		cmocka_unit_test(test_values),	  cmocka_unit_test(test_paths),
		cmocka_unit_test(test_private),	  cmocka_unit_test(test_bad),
		cmocka_unit_test(test_rewrite),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

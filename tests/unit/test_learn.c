// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Proposals: what a run used and little else, never a credential, and nothing that was not told. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <jansson.h>
#include "audit/escape.h"
#include "base/cleanup.h"
#include "learn/anew.h"
#include "learn/files.h"
#include "learn/learn.h"

#define N_OF(array) (sizeof(array) / sizeof(*(array)))

/* A directory of its own, with a policy, includes and files; events in memory. */
struct bench {
	char directory[64];
	char *lines;
	size_t size;
	FILE *to;
	json_int_t seq;
	struct learned learned;
	struct error error;
};

static char *at(const struct bench *bench, const char *name)
{
	static char paths[8][512];
	static unsigned int next;
	char *path = paths[next++ % N_OF(paths)];

	snprintf(path, sizeof(paths[0]), "%s/%s", bench->directory, name);
	return path;
}

static void put_file(const struct bench *bench, const char *name, const char *text)
{
	FILE *file = fopen(at(bench, name), "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	assert_int_equal(chmod(at(bench, name), 0644), 0);
}

static void put_directory(const struct bench *bench, const char *name)
{
	assert_int_equal(mkdir(at(bench, name), 0755), 0);
}

#define POLICY "version: 1\nname: job\nmode: audit\nnetwork: none\n"

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	strcpy(bench->directory, "/tmp/bulkhead-learn-XXXXXX");
	assert_non_null(mkdtemp(bench->directory));
	assert_int_equal(chmod(bench->directory, 0755), 0);
	put_directory(bench, "policies");
	put_directory(bench, "policies/base");
	put_directory(bench, "policies/deny");
	put_directory(bench, "d");
	put_file(bench, "policies/deny/credentials.yaml",
		 "version: 1\nfiles:\n"
		 "  - {deny: [read, write, create], on: ['/**/.ssh/id_*', '/**/.netrc']}\n");
	put_file(bench, "job.yaml", POLICY);
	bench->to = open_memstream(&bench->lines, &bench->size);
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", bench->directory);
	assert_int_equal(system(command), 0);
	fclose(bench->to);
	free(bench->lines);
	free(bench->learned.text);
	free(bench);
	return 0;
}

struct sample {
	const char *hook, *perms, *path;
	const char *reason; /* NULL: no-rule */
	const char *exe;    /* NULL: /bin/job */
	const char *name;   /* NULL: job */
	const char *kind;   /* NULL: path */
	const char *words;  /* of the message; NULL: rights and path */
	json_int_t id, tid, exec_seq, seq, superblock;
	const char *verdict;
	bool gone; /* the program, before its file was read */
};

static json_t *rights(const char *words)
{
	_cleanup_free_ char *copy = strdup(words);
	char *rest = copy, *word;
	json_t *array = json_array();

	while (*words && (word = strsep(&rest, ",")))
		json_array_append_new(array, json_string(word));
	return array;
}

static void tell(struct bench *bench, struct sample s)
{
	_cleanup_free_ char *path = s.path ? escape_bytes(s.path, strlen(s.path)) : NULL;
	_cleanup_free_ char *message = NULL, *line = NULL;
	const char *kind = s.kind ? s.kind : s.path ? "path" : "none";
	json_int_t tid = s.tid ? s.tid : 500;
	json_t *object = json_pack("{s:s, s:s?}", "kind", kind, "path", path), *record;

	if (!s.path)
		json_object_del(object, "path");
	if (s.superblock)
		json_object_set_new(object, "superblock", json_integer(s.superblock));
	assert_true(asprintf(&message, "%s %s would be refused (EACCES): why",
			     s.words ? s.words : s.perms, path ? path : s.hook) > 0);
	record = json_pack("{s:s, s:I, s:s, s:I, s:s, s:s, s:s, s:o, s:o, s:{s:I, s:I, s:s, s:s?, "
			   "s:I}, s:s}",
			   "kind", "violation", "compartment", s.id ? s.id : 3, "name",
			   s.name ? s.name : "job", "seq", s.seq ? s.seq : ++bench->seq, "hook",
			   s.hook, "reason", s.reason ? s.reason : "no-rule", "verdict",
			   s.verdict ? s.verdict : "audit", "perms", rights(s.perms), "object",
			   object, "subject", "tgid", tid, "tid", tid, "comm", "job", "exe",
			   s.gone ? NULL : (s.exe ? s.exe : "/bin/job"), "exec_seq",
			   s.exec_seq ? s.exec_seq : 1, "message", message);
	assert_non_null(record);
	line = json_dumps(record, JSON_COMPACT);
	fprintf(bench->to, "%s\n", line);
	json_decref(record);
}

static void did(struct bench *bench, const char *hook, const char *perms, const char *path)
{
	tell(bench, (struct sample){.hook = hook, .perms = perms, .path = path});
}

static void opened(struct bench *bench, const char *path)
{
	tell(bench, (struct sample){.hook = "file_open", .perms = "read", .path = path});
}

static void made(struct bench *bench, const char *path)
{
	tell(bench, (struct sample){.hook = "path_mknod", .perms = "create", .path = path});
	tell(bench, (struct sample){.hook = "file_open", .perms = "write", .path = path});
}

static int propose_for(struct bench *bench, const char *compartment)
{
	const struct policy_options options = {.include_dir = at(bench, "policies")};
	const struct learn_request request = {
		.policy = at(bench, "job.yaml"), .options = &options, .compartment = compartment};
	_cleanup_(events_done) struct events events = {0};
	_cleanup_fclose_ FILE *from = NULL;
	int r;

	fflush(bench->to);
	from = bench->size ? fmemopen(bench->lines, bench->size, "r") : fopen("/dev/null", "r");
	r = events_read(from, "run.json", &events, &bench->error);
	free(bench->learned.text);
	bench->learned = (struct learned){0};
	return r ? r : learn(&request, &events, &bench->learned, &bench->error);
}

static void propose(struct bench *bench)
{
	int r = propose_for(bench, NULL);

	if (r)
		fail_msg("%s", bench->error.text);
}

static void expect(const struct bench *bench, const char *text)
{
	if (!strstr(bench->learned.text, text))
		fail_msg("no \"%s\" in\n%s", text, bench->learned.text);
}

static void expect_not(const struct bench *bench, const char *text)
{
	if (strstr(bench->learned.text, text))
		fail_msg("\"%s\" is in\n%s", text, bench->learned.text);
}

/* "  - {allow: [read], on: [/tmp/.../d/x]}": a rule of files about a name of the bench. */
static char *rule(const struct bench *bench, const char *words, const char *name, const char *quote)
{
	static char text[600];

	snprintf(text, sizeof(text), "  - {allow: [%s], on: [%s%s%s]}\n", words, quote,
		 at(bench, name), quote);
	return text;
}

/* --- what is read --- */

struct bad {
	const char *line, *says;
};

static const struct bad bad_lines[] = {
	{"", "run.json: no violation in it: either nothing ran"},
	{"hello", "run.json:1: not JSON ("},
	{"{\"kind\":\"violation\",", "run.json:1: not JSON ("},
	{"[1]", "run.json:1: no record of this version's events"},
	{"{}", "run.json:1: no record of this version's events"},
	{"{\"kind\":\"violation\"}", "run.json:1: no record of this version's events"},
	{"{\"kind\":\"lost\",\"count\":-1}", "run.json:1: no record of this version's events"},
	{"{\"kind\":\"control\",\"request\":\"attach\"}", "run.json: no violation in it"},
	{"\n\n{\"kind\":7}", "run.json:3: no record of this version's events"},
};

static void test_bad_lines(void **state)
{
	struct bench *bench = *state;

	for (size_t i = 0; i < N_OF(bad_lines); i++) {
		rewind(bench->to);
		fprintf(bench->to, "%s\n", bad_lines[i].line);
		assert_true(propose_for(bench, NULL) < 0);
		assert_memory_equal(bench->error.text, bad_lines[i].says,
				    strlen(bad_lines[i].says));
		assert_null(bench->learned.text);
	}
}

/* Words of another version are not passed over: what they mean is not known. */
static void test_unknown_words(void **state)
{
	static const struct sample samples[] = {
		{.hook = "file_shred", .perms = "read", .path = "/x"},
		{.hook = "file_open", .perms = "rumble", .path = "/x"},
		{.hook = "file_open", .perms = "read", .path = "/x", .reason = "whim"},
	};
	struct bench *bench = *state;

	for (size_t i = 0; i < N_OF(samples); i++) {
		rewind(bench->to);
		tell(bench, samples[i]);
		assert_int_equal(propose_for(bench, NULL), -EBADMSG);
		assert_non_null(strstr(bench->error.text, "run.json:1: no record"));
	}
}

static void test_whose_events(void **state)
{
	struct bench *bench = *state;

	tell(bench, (struct sample){"file_open", "read", "/x", .name = "web", .id = 5, .seq = 1});
	assert_int_equal(propose_for(bench, NULL), -ENOENT);
	assert_string_equal(bench->error.text,
			    "no event of compartment job: these are of web (5): give the policy "
			    "that it ran under, or say --compartment");
	tell(bench, (struct sample){"file_open", "read", "/one", .id = 3, .seq = 1});
	tell(bench, (struct sample){"file_open", "read", "/two", .id = 4, .seq = 1});
	assert_int_equal(propose_for(bench, NULL), -ENOTUNIQ);
	assert_non_null(
		strstr(bench->error.text, "2 compartments are called job: job (3), job (4)"));
	assert_int_equal(propose_for(bench, "4"), 0);
	expect(bench, "on: [/two]");
	expect_not(bench, "/one");
	assert_int_equal(propose_for(bench, "job"), 0);
	expect(bench, "on: [/one]");
	expect(bench, "on: [/two]");
	assert_int_equal(propose_for(bench, "7"), -ENOENT);
}

/* --- what is missing --- */

/* Numbers in another order are all there; a hole in them is told, and keeps the mode. */
static void test_gaps(void **state)
{
	static const json_int_t numbers[] = {2, 1, 4, 3, 9};
	struct bench *bench = *state;

	for (size_t i = 0; i < N_OF(numbers); i++) {
		bool whole = i + 1 < N_OF(numbers);

		tell(bench, (struct sample){"file_open", "read", "/x", .seq = numbers[i]});
		if (i == 3 || !whole)
			propose(bench);
		if (i == 3) {
			assert_false(bench->learned.lacking);
			expect(bench, "# Complete: none of its events was lost.\n");
			expect(bench, "\nmode: enforce\n");
		}
	}
	assert_true(bench->learned.lacking);
	assert_int_equal(bench->learned.lost, 4);
	expect(bench, "4 of its events were lost");
	expect(bench, "\nmode: audit\n");
}

static void test_losses_told(void **state)
{
	struct bench *bench = *state;

	opened(bench, "/x");
	fputs("{\"kind\":\"lost\",\"count\":5,\"compartment\":3}\n", bench->to);
	fputs("{\"kind\":\"lost\",\"count\":8,\"compartment\":4}\n", bench->to);
	propose(bench);
	assert_int_equal(bench->learned.lost, 5);
	fputs("{\"kind\":\"lost\",\"count\":2}\n", bench->to);
	propose(bench);
	assert_int_equal(bench->learned.lost, 7);
	expect(bench, "2 records were lost on their way");
}

/* The same number again is another run of it: the last one counts. */
static void test_last_run(void **state)
{
	struct bench *bench = *state;

	tell(bench, (struct sample){"file_open", "read", "/old", .seq = 1});
	tell(bench, (struct sample){"file_open", "read", "/older", .seq = 2});
	tell(bench, (struct sample){"file_open", "read", "/new", .seq = 1});
	propose(bench);
	expect(bench, "on: [/new]");
	expect_not(bench, "/old");
	expect(bench, "2 events of earlier runs are left out");
	assert_false(bench->learned.lacking);
}

/* What was refused instead of told did not go on as it would have. */
static void test_enforced(void **state)
{
	struct bench *bench = *state;

	tell(bench, (struct sample){"file_open", "read", "/x", .verdict = "refused"});
	propose(bench);
	assert_true(bench->learned.lacking);
	expect(bench, "1 of its events were refusals");
}

/* A place without a name is told of, never guessed. */
static void test_unmapped(void **state)
{
	struct bench *bench = *state;

	opened(bench, "/x");
	tell(bench, (struct sample){"file_open", "read", "/etc/passwd", .superblock = 9});
	propose(bench);
	assert_true(bench->learned.lacking);
	expect(bench, "# NOT PROPOSED. On a filesystem that no member's mounts show");
	expect_not(bench, "on: [/etc/passwd]");
}

/* --- names --- */

struct name {
	const char *name;
	uint32_t pid;
	const char *glob;      /* NULL: stays */
	const char *gone_glob; /* of one that is gone: NULL: the same */
};

static const struct name names[] = {
	{"report.HdXGSkzw", 0, NULL, "report.\?\?\?\?\?\?\?\?"},
	{"report.txt", 0, NULL, NULL},
	{"Report2024", 0, NULL, NULL},
	{"README", 0, NULL, NULL},
	{"CamelCaseName", 0, NULL, "\?\?\?\?\?\?\?\?\?\?\?\?\?"},
	{"my_file_2.txt", 0, NULL, NULL},
	{"lock", 4711, NULL, NULL},
	{"v4711", 0, NULL, NULL},
	{"lock.4711", 4711, "lock.[0-9]*", NULL},
	{"job4711x", 4711, "job[0-9]*x", NULL},
	{"job47110", 4711, NULL, NULL},
	{"tmp.Ab3dE9xQzK", 0, "tmp.\?\?\?\?\?\?\?\?\?\?", NULL},
	{"tmp.abcdef", 0, "tmp.\?\?\?\?\?\?", NULL},
	{"tmpab3xy_q1", 0, "tmp\?\?\?\?\?\?\?\?", NULL},
	{"sedqwerty", 0, "sed\?\?\?\?\?\?", NULL},
	{"x[Ab3dE9xQ].txt", 0, "x\\[\?\?\?\?\?\?\?\?\\].txt", NULL},
	{"log-1769860984", 0, "log-\?\?\?\?\?\?\?\?\?\?", NULL},
	{"a-3f2a9c81-1b2c-4d3e-8f00-0123456789ab", 0,
	 "a-\?\?\?\?\?\?\?\?-\?\?\?\?-\?\?\?\?-\?\?\?\?-\?\?\?\?\?\?\?\?\?\?\?\?", NULL},
};

static void check_name(const char *name, struct anew_hint hint, const char *wanted)
{
	_cleanup_free_ char *glob = NULL;

	assert_int_equal(anew_name(name, &hint, &glob), 0);
	if (!wanted != !glob || (glob && strcmp(glob, wanted) != 0))
		fail_msg("%s: %s, not %s", name, glob ? glob : "stays", wanted ? wanted : "stays");
}

static void test_anew_names(void **state _unused_)
{
	for (size_t i = 0; i < N_OF(names); i++) {
		const char *gone = names[i].gone_glob ? names[i].gone_glob : names[i].glob;

		check_name(names[i].name, (struct anew_hint){names[i].pid, false}, names[i].glob);
		check_name(names[i].name, (struct anew_hint){names[i].pid, true}, gone);
	}
}

/* Only what the run made is taken for new each time; a library of such a name is that library. */
static void test_anew_is_made(void **state)
{
	struct bench *bench = *state;

	opened(bench, at(bench, "d/lib.Ab3dE9xQzK.so"));
	made(bench, at(bench, "d/tmp.Xb3dE9xQz1"));
	made(bench, at(bench, "d/tmp.Yb3dE9xQz2"));
	propose(bench);
	expect(bench, rule(bench, "read", "d/lib.Ab3dE9xQzK.so", ""));
	expect(bench, rule(bench, "write, create", "d/tmp.\?\?\?\?\?\?\?\?\?\?", "'"));
	expect(bench, "# made anew each run: ");
}

/* A directory made anew is one in the names below it, too. */
static void test_anew_directory(void **state)
{
	struct bench *bench = *state;

	did(bench, "path_mkdir", "create", at(bench, "d/tmp.Xb3dE9xQz1"));
	made(bench, at(bench, "d/tmp.Xb3dE9xQz1/part"));
	propose(bench);
	expect(bench, rule(bench, "write, create", "d/tmp.\?\?\?\?\?\?\?\?\?\?/part", "'"));
}

/* A pattern that would open ten times what was used is none. */
static void test_pattern_bound(void **state)
{
	struct bench *bench = *state;

	made(bench, at(bench, "d/tmp.abcdef"));
	for (int i = 0; i < 11; i++) {
		char name[32];

		propose(bench);
		expect(bench, "d/tmp.\?\?\?\?\?\?'");
		assert_false(bench->learned.lacking);
		snprintf(name, sizeof(name), "d/tmp.other%x", i);
		put_file(bench, name, "");
	}
	propose(bench);
	expect(bench, rule(bench, "write, create", "d/tmp.abcdef", ""));
	expect(bench, "a pattern would allow more than ten times the files used");
	assert_true(bench->learned.lacking);
}

/* Names that YAML, globs and terminals read in another way come through as they are. */
static void test_hostile_names(void **state)
{
	static const char *const hostile[] = {
		"/x/it's",
		"/x/$HOME ${A}",
		"/x/a*b?[c]{d,e}",
		"/x/\\x41",
		"/x/new\nline: [x]",
		"/x/\xff\xfe",
		"/x/# no comment",
		"/x/\xe2\x80\xae",
		"/x/: -",
		"/x/~",
	};
	struct bench *bench = *state;

	/* That each is allowed is proved in learn itself. */
	for (size_t i = 0; i < N_OF(hostile); i++)
		opened(bench, hostile[i]);
	propose(bench);
	assert_int_equal(bench->learned.rows, N_OF(hostile));
	expect(bench, "on: ['/x/it''s']");
	expect(bench, "'/x/\\$HOME \\$\\{A\\}'");
	expect(bench, "\\xff\\xfe");
	expect_not(bench, "\nline");
}

/* Events are text of a file: whatever they hold, a comment of the proposal ends where it began. */
static void test_hostile_records(void **state)
{
	struct bench *bench = *state;

	tell(bench, (struct sample){.hook = "file_open",
				    .perms = "read",
				    .path = "/x",
				    .id = 9,
				    .name = "a\nfiles: [x]",
				    .exe = "/bin/a\nexec: [x]"});
	tell(bench, (struct sample){.hook = "capable",
				    .perms = "",
				    .id = 9,
				    .name = "a\nfiles: [x]",
				    .reason = "closed",
				    .words = "use\nunix: [x]"});
	assert_int_equal(propose_for(bench, "9"), 0);
	expect(bench, "# NOT PROPOSED. Closed to every compartment");
	expect_not(bench, "\nfiles: [x]");
	expect_not(bench, "\nexec: [x]");
	expect_not(bench, "\nunix: [x]");
}

/* A rule about a link is not led away by it. */
static void test_links(void **state)
{
	struct bench *bench = *state;

	put_file(bench, "d/target", "");
	assert_int_equal(symlink("target", at(bench, "d/current")), 0);
	did(bench, "path_symlink", "create", at(bench, "d/current"));
	did(bench, "path_unlink", "delete", at(bench, "d/current"));
	propose(bench);
	expect(bench, rule(bench, "create, delete", "d/[c]urrent", "'"));
}

/* --- credentials --- */

static void test_credentials(void **state)
{
	struct bench *bench = *state;

	put_directory(bench, "d/.ssh");
	put_file(bench, "d/.ssh/id_rsa", "");
	for (int i = 0; i < 5; i++) {
		char name[32];

		snprintf(name, sizeof(name), "d/.ssh/pub%d", i);
		put_file(bench, name, "");
		opened(bench, at(bench, name));
	}
	opened(bench, at(bench, "d/.ssh/id_rsa"));
	made(bench, at(bench, "d/.ssh/id_new"));
	made(bench, at(bench, "d/.netrc"));
	propose(bench);
	assert_int_equal(bench->learned.refused, 3);
	assert_int_equal(bench->learned.rows, 5);
	expect(bench, "# NOT PROPOSED. A credential by deny/credentials: the workload used it; "
		      "decide yourself:\n");
	expect(bench, "/d/.ssh/id_rsa  (once by /bin/job)\n");
	expect(bench, "  - deny/credentials\n");
	expect_not(bench, ".ssh/id_rsa]");
	expect_not(bench, "/**");
}

static void test_no_list_no_proposal(void **state)
{
	struct bench *bench = *state;

	opened(bench, "/x");
	put_file(bench, "policies/deny/credentials.yaml",
		 "version: 1\nfiles:\n  - {quiet: [read], on: [/x]}\n");
	assert_int_equal(propose_for(bench, NULL), -EINVAL);
	assert_non_null(strstr(bench->error.text, "denies nothing"));
	assert_int_equal(unlink(at(bench, "policies/deny/credentials.yaml")), 0);
	assert_int_equal(propose_for(bench, NULL), -ENOENT);
	assert_non_null(strstr(bench->error.text, "nothing is proposed without deny/credentials"));
}

/* --- directories --- */

static void fill(struct bench *bench, const char *directory, int n)
{
	char name[64];

	put_directory(bench, directory);
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s/f%d", directory, i);
		put_file(bench, name, "");
		opened(bench, at(bench, name));
	}
}

/* A directory of which everything was read is one glob; one more file there, and it is names. */
static void test_tree_read(void **state)
{
	struct bench *bench = *state;

	fill(bench, "d/all", 6);
	fill(bench, "d/few", 3);
	propose(bench);
	expect(bench, rule(bench, "read", "d/**", "'"));
	assert_int_equal(bench->learned.rows, 1);
	assert_int_equal(bench->learned.allowed, 9);
	put_file(bench, "d/few/stranger", "");
	propose(bench);
	expect(bench, rule(bench, "read", "d/all/**", "'"));
	expect(bench, rule(bench, "read", "d/few/f2", ""));
	expect_not(bench, "stranger");
	assert_int_equal(bench->learned.rows, 4);
	assert_int_equal(bench->learned.allowed, 9);
}

/* What is read beside what is made does not become writable. */
static void test_tree_mixed(void **state)
{
	struct bench *bench = *state;

	fill(bench, "d/in", 1);
	for (int i = 0; i < 5; i++) {
		char name[32];

		snprintf(name, sizeof(name), "d/in/out%d", i);
		made(bench, at(bench, name));
	}
	propose(bench);
	expect_not(bench, "/**");
	expect(bench, rule(bench, "read", "d/in/f0", ""));
	expect(bench, rule(bench, "write, create", "d/in/out4", ""));
}

static void test_tree_made(void **state)
{
	struct bench *bench = *state;

	did(bench, "path_mkdir", "create", at(bench, "d/work"));
	for (int i = 0; i < 4; i++) {
		char name[32];

		snprintf(name, sizeof(name), "d/work/out%d", i);
		made(bench, at(bench, name));
		did(bench, "path_unlink", "delete", at(bench, name));
	}
	put_directory(bench, "d/work");
	propose(bench);
	expect(bench, rule(bench, "write, create, delete", "d/work/**", "'"));
}

/* Never a root of the host, even an empty one. */
static void test_tree_roots(void **state)
{
	static const char *const paths[] = {"/srv/x%d", "/home/someone/x%d", "/var/lib/x%d",
					    "/x%d"};
	struct bench *bench = *state;
	char name[64];

	for (size_t i = 0; i < N_OF(paths); i++)
		for (int j = 0; j < 6; j++) {
			snprintf(name, sizeof(name), paths[i], j);
			opened(bench, name);
		}
	propose(bench);
	expect_not(bench, "**");
	assert_int_equal(bench->learned.rows, 6 * N_OF(paths));
}

/* --- includes --- */

static void test_includes(void **state)
{
	struct bench *bench = *state;
	char text[1024];

	fill(bench, "d/lib", 2);
	snprintf(text, sizeof(text),
		 "version: 1\nfiles:\n  - {allow: [read], on: ['%s/d/lib/*']}\n", bench->directory);
	put_file(bench, "policies/base/lib.yaml", text);
	for (int i = 0; i < 18; i++) {
		snprintf(text, sizeof(text), "d/lib/more%d", i);
		put_file(bench, text, "");
	}
	propose(bench);
	expect(bench, "  - base/lib\n");
	assert_int_equal(bench->learned.rows, 0);
	assert_int_equal(bench->learned.allowed, 20);
	put_file(bench, "d/lib/one-more", "");
	propose(bench);
	expect_not(bench, "  - base/lib\n");
	expect(bench, "# base/lib would cover 2 of the names used");
	assert_int_equal(bench->learned.allowed, 2);
}

/* An audit run has to begin with whatever is held; what it ends as need not. */
static void test_existing(void **state)
{
	struct bench *bench = *state;

	put_file(
		bench, "job.yaml",
		"version: 1\nname: job\nmode: audit\nexisting: {default: report}\nnetwork: none\n");
	opened(bench, "/c");
	propose(bench);
	expect(bench, "# What processes hold when it is attached is reported, not refused");
	expect(bench, "mode: enforce\nexisting: {default: report}\n");
}

/* What the policy allows is not proposed again, what it says stays, what it denies is told. */
static void test_base_policy(void **state)
{
	struct bench *bench = *state;

	put_file(
		bench, "job.yaml",
		"version: 1\nname: job\nvars: [\"A=/a\"]\nmode: audit\nexisting: {default: refuse, "
		"keep: [stdio]}\nproc: self\nfiles:\n  - {allow: [read], on: [\"${A}/**\"]}\n"
		"  - {deny: [write], on: [/etc/x]}\n  - {audit: [read], on: [\"${A}/log\"]}\n"
		"  - {tripwire: [read], on: [/bait]}\n  - {audit: [read], on: [/watched]}\nexec:\n "
		" - {on: [/bin/job], jit: "
		"true, written-inside: true}\nunix:\n"
		"  connect: [\"@a\"]\n  quiet: [/run/q]\nnetwork: none\ntests:\n"
		"  - {refused: {read: /b}, allowed: {read: /a/b}}\n");
	opened(bench, "/a/known");
	opened(bench, "/c");
	tell(bench, (struct sample){"file_open", "write", "/etc/x", .reason = "denied"});
	/* Allowed and audited; a tripwire; what an audit rule speaks of and none allows. */
	tell(bench, (struct sample){"file_open", "read", "/a/log", .reason = "audited"});
	tell(bench, (struct sample){"file_open", "read", "/bait", .reason = "tripwire"});
	opened(bench, "/watched");
	propose(bench);
	expect_not(bench, "undecided");
	expect_not(bench, "is reported, not refused");
	expect_not(bench, "/a/log");
	expect(bench, "on: [/watched]");
	expect_not(bench, "known");
	expect(bench, "vars: ['A=/a']\nmode: enforce\nexisting: {default: refuse, keep: [stdio]}\n"
		      "proc: self\nfiles:\n  - {allow: [read], on: ['${A}/**']}\n");
	expect(bench,
	       "  - {audit: [read], on: ['${A}/log']}\n  - {tripwire: [read], on: [/bait]}\n");
	expect(bench, "  - {on: [/bin/job], jit: true, written-inside: true}\n");
	expect(bench, "unix:\n  connect:\n    - '@a'\n  quiet: [/run/q]\n");
	expect(bench, "tests:\n  - allowed: {read: /a/b}\n  - refused: {read: /b}\n");
	expect(bench, "# NOT PROPOSED. Denied by a rule of the policy, which stays:\n#   read "
		      "/bait  (once by "
		      "/bin/job)\n#   write /etc/x");
	opened(bench, "/b");
	assert_int_equal(propose_for(bench, NULL), -EINVAL);
	assert_non_null(
		strstr(bench->error.text, "what the run needs cannot be added to the policy: "));
	assert_non_null(strstr(bench->error.text, "test failed: read /b is allowed"));
}

/* --- programs and the rest --- */

static void ran(struct bench *bench, const char *path, json_int_t exec_seq)
{
	tell(bench, (struct sample){"file_open", "exec", path, .exec_seq = exec_seq});
	tell(bench, (struct sample){"bprm_check_security", "exec", path, .exec_seq = exec_seq});
}

/* The loader and a script's interpreter run others; a program runs itself. */
static void test_programs(void **state)
{
	struct bench *bench = *state;

	put_file(bench, "d/script", "#!/opt/j/interp\n");
	ran(bench, at(bench, "d/script"), 1);
	ran(bench, "/opt/j/interp", 1);
	tell(bench, (struct sample){"file_open", "exec", "/opt/j/ld.so", .exec_seq = 1});
	tell(bench, (struct sample){"mmap_file", "map-exec", "/opt/j/ld.so", .exec_seq = 2});
	ran(bench, "/opt/j/prog", 2);
	ran(bench, "/opt/j/other", 3);
	ran(bench, "/opt/j/interp2", 3); /* after what is no script: a program */
	propose(bench);
	expect(bench, "exec:\n");
	expect(bench, "  - {on: [/opt/j/other]}\n");
	expect(bench, "  - {on: [/opt/j/prog]}\n");
	expect(bench, "  - {on: [/opt/j/interp2]}\n");
	expect(bench, "  - {allow: [interp], on: [/opt/j/interp]}\n");
	expect(bench, "  - {allow: [interp, map-exec], on: [/opt/j/ld.so]}\n");
	expect_not(bench, "on: [/opt/j/interp]}\n  - {on");
}

static void test_jit(void **state)
{
	struct bench *bench = *state;

	ran(bench, "/opt/j/node", 1);
	tell(bench,
	     (struct sample){"mmap_file", "jit", NULL, .reason = "jit", .exe = "/opt/j/node"});
	propose(bench);
	expect(bench, "  - {on: [/opt/j/node], jit: true}\n");
	assert_false(bench->learned.lacking);
	tell(bench, (struct sample){"mmap_file", "jit", NULL, .reason = "jit", .gone = true});
	propose(bench);
	expect(bench, "Needs jit: true on a program that was gone");
	assert_true(bench->learned.lacking);
}

static void test_sockets(void **state)
{
	struct bench *bench = *state;

	did(bench, "unix_stream_connect", "connect", "/run/db.sock");
	tell(bench, (struct sample){"unix_may_send", "connect", "@bus", .kind = "unix"});
	propose(bench);
	expect(bench, "unix:\n  connect:\n");
	expect(bench, "    - /run/db.sock\n");
	expect(bench, "    - '@bus'\n");
}

/* The own /proc/PID is a key of the policy; another's is nobody's to allow. */
static void test_proc(void **state)
{
	struct bench *bench = *state;

	tell(bench, (struct sample){"file_open", "read", "/proc/500/maps", .reason = "proc-other"});
	tell(bench, (struct sample){"file_open", "read", "/proc/50/maps", .reason = "proc-other"});
	did(bench, "file_open", "read", "/proc/500/task/501/comm");
	propose(bench);
	expect(bench, "\nproc: self\n");
	expect(bench, "on: [/proc/self/maps]");
	expect(bench, "on: ['/proc/self/task/*/comm']");
	expect(bench, "# NOT PROPOSED. /proc of another process: no rule opens it, and "
		      "proc: compartment only a member's:\n"
		      "#   read /proc/50/maps");
}

/* What no rule can allow is told with what the policy's keys say of it. */
static void test_closed(void **state)
{
	struct bench *bench = *state;

	opened(bench, "/x");
	tell(bench, (struct sample){"socket_create", "", NULL, .reason = "network"});
	tell(bench, (struct sample){"capable", "", NULL, .reason = "closed"});
	tell(bench, (struct sample){"ptrace_access_check", "", NULL, .reason = "outsider"});
	tell(bench, (struct sample){"cgroup_attach_task", "", NULL, .reason = "moved"});
	propose(bench);
	assert_false(bench->learned.lacking);
	expect(bench, "# NOT PROPOSED. Network: decide yourself what may be reached, under "
		      "network: egress, loopback and listen; stays refused:");
	expect(bench, "# NOT PROPOSED. Closed to every compartment");
	expect(bench, "# NOT PROPOSED. Reaches a process outside");
	expect_not(bench, "cgroup_attach_task");
}

/* --- renames --- */

static void renamed(struct bench *bench, const char *old, const char *new)
{
	did(bench, "path_rename", "delete", old);
	did(bench, "path_rename", "create", new);
}

/* The old name gets what is done under the new one, through two renames; the next run replaces. */
static void test_renames(void **state)
{
	struct bench *bench = *state;

	made(bench, at(bench, "d/tmp.abcdef"));
	renamed(bench, at(bench, "d/tmp.abcdef"), at(bench, "d/half"));
	renamed(bench, at(bench, "d/half"), at(bench, "d/whole"));
	opened(bench, at(bench, "d/whole"));
	propose(bench);
	expect(bench, rule(bench, "read, create, delete", "d/whole", ""));
	expect(bench, rule(bench, "read, create, delete", "d/half", ""));
	expect(bench, rule(bench, "read, write, create, delete", "d/tmp.\?\?\?\?\?\?", "'"));
	assert_false(bench->learned.lacking);
}

/* What was built and then run, or loaded, under its first name or a later one: the proposal lets it run, and says
 * that it may have been written inside; of what stood there it does not. */
static void test_built(void **state)
{
	struct bench *bench = *state;

	made(bench, "/w/x/a.out");
	ran(bench, "/w/x/a.out", 1);
	made(bench, "/w/y/lib.so");
	tell(bench,
	     (struct sample){.hook = "mmap_file", .perms = "map-exec", .path = "/w/y/lib.so"});
	made(bench, "/w/z/half");
	renamed(bench, "/w/z/half", "/w/z/tool");
	tell(bench, (struct sample){"file_open", "exec", "/w/z/tool", .reason = "written-inside"});
	ran(bench, "/opt/j/stood", 2);
	propose(bench);
	expect(bench, "  - {on: [/w/x/a.out], written-inside: true}\n");
	expect(bench, "  - {on: [/w/y/lib.so], written-inside: true}\n");
	expect(bench, "  - {on: [/w/z/tool], written-inside: true}\n");
	expect(bench, "  - {on: [/w/z/half], written-inside: true}\n");
	expect(bench, "on: [/opt/j/stood]}\n");
	assert_false(bench->learned.lacking);
}

/* A link's other name was one that is gone, as all that the run took away, or that the file has now. */
static void test_hard_links(void **state)
{
	struct bench *bench = *state;
	const char *tmp = at(bench, "d/tmp_x"), *new = at(bench, "d/new"), *other;

	made(bench, tmp);
	did(bench, "path_link", "create,link", new);
	did(bench, "path_unlink", "delete", tmp);
	put_file(bench, "d/new", "");
	for (int i = 0; i < 4; i++) {
		char name[16];

		snprintf(name, sizeof(name), "d/f%d", i);
		made(bench, at(bench, name));
	}
	propose(bench);
	expect(bench, rule(bench, "write, create, delete, link", "d/**", "'"));
	assert_false(bench->learned.lacking);
	put_file(bench, "d/stranger", ""); /* no tree, so the names differ in rights */
	propose(bench);
	assert_true(bench->learned.lacking);
	assert_int_equal(unlink(at(bench, "d/stranger")), 0);
	other = at(bench, "job.other");
	assert_int_equal(link(at(bench, "d/new"), other), 0);
	propose(bench);
	assert_true(bench->learned.lacking);
	expect(bench, "# NOT PROPOSED. Made by a link or rename: the other name is not told");
}

/* The policy allows it already, but for other names that it may have: asked for by the whole name, with all
 * that is given there. */
static void test_old_links(void **state)
{
	struct bench *bench = *state;
	_cleanup_free_ char *policy = NULL;

	assert_true(asprintf(&policy, POLICY "files:\n  - {allow: [read, write], on: [%s]}\n",
			     at(bench, "d/**")) > 0);
	put_file(bench, "job.yaml", policy);
	tell(bench, (struct sample){.hook = "file_open",
				    .perms = "read",
				    .path = at(bench, "d/old"),
				    .reason = "old-link"});
	tell(bench, (struct sample){.hook = "file_open",
				    .perms = "read",
				    .path = at(bench, "d/key"),
				    .reason = "pinned"});
	propose(bench);
	expect(bench, rule(bench, "read, write", "d/old", ""));
	expect(bench, "a rule with \"hardlinks: allow\"");
	expect(bench, "Denied by a rule of the policy, which stays");
	expect_not(bench, "d/key]");
	assert_false(bench->learned.lacking);
}

/* Of a rename whose other end was allowed one name is all that is told. */
static void test_half_told(void **state)
{
	struct bench *bench = *state;

	did(bench, "path_rename", "create", at(bench, "d/new"));
	propose(bench);
	assert_true(bench->learned.lacking);
	expect(bench, "# NOT PROPOSED. Made by a link or rename: the other name is not told");
}

/* The same uses told in another order are the same proposal, byte by byte. */
static void test_order(void **state)
{
	static const char *const paths[] = {"/b", "/a", "/d/.netrc", "/c", "/e/.netrc"};
	struct bench *bench = *state;
	_cleanup_free_ char *first = NULL;

	for (size_t i = 0; i < N_OF(paths); i++)
		opened(bench, paths[i]);
	propose(bench);
	first = strdup(bench->learned.text);
	rewind(bench->to);
	bench->seq = 0;
	for (size_t i = N_OF(paths); i--;)
		opened(bench, paths[i]);
	propose(bench);
	assert_string_equal(first, bench->learned.text);
}

/* Counted as a rule would allow it: files, not directories, and no more than asked for. */
static void test_files(void **state)
{
	struct bench *bench = *state;
	char glob[256];

	fill(bench, "d/a", 3);
	fill(bench, "d/a/b", 2);
	snprintf(glob, sizeof(glob), "%s/d/**", bench->directory);
	assert_int_equal(files_matching(glob, 100), 5);
	assert_int_equal(files_matching(glob, 3), 4);
	snprintf(glob, sizeof(glob), "%s/d/*/f*", bench->directory);
	assert_int_equal(files_matching(glob, 100), 3);
	snprintf(glob, sizeof(glob), "%s/d/a/{f0,b/f1,none}", bench->directory);
	assert_int_equal(files_matching(glob, 100), 2);
	assert_int_equal(files_matching(at(bench, "d/a"), 100), 0);
	assert_int_equal(files_matching(at(bench, "none/**"), 100), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_bad_lines),
		CASE(test_unknown_words),
		CASE(test_whose_events),
		CASE(test_gaps),
		CASE(test_losses_told),
		CASE(test_last_run),
		CASE(test_enforced),
		CASE(test_unmapped),
		CASE(test_anew_names),
		CASE(test_anew_is_made),
		CASE(test_anew_directory),
		CASE(test_pattern_bound),
		CASE(test_hostile_names),
		CASE(test_hostile_records),
		CASE(test_links),
		CASE(test_credentials),
		CASE(test_no_list_no_proposal),
		CASE(test_tree_read),
		CASE(test_tree_mixed),
		CASE(test_tree_made),
		CASE(test_tree_roots),
		CASE(test_includes),
		CASE(test_existing),
		CASE(test_base_policy),
		CASE(test_programs),
		CASE(test_jit),
		CASE(test_sockets),
		CASE(test_proc),
		CASE(test_closed),
		CASE(test_renames),
		CASE(test_built),
		CASE(test_half_told),
		CASE(test_hard_links),
		CASE(test_old_links),
		CASE(test_order),
		CASE(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

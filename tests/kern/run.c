// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* bulkhead run: deadlines that nothing outlives, limits that hold, and the report of both. */
#include "scene.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdint.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include "compart/compart.h"

#define OWN_ROOT "/sys/fs/cgroup/bulkhead"
#define POLICY "/run/limits.yaml"
#define REPORT "/run/report.json"
#define MAX_WORDS 40

/* Beyond a deadline, on a busy host: the command's set-up before it, and its taking down. */
#define SLACK_MS 40000

struct act {
	struct scene scene;
	const char *argv[MAX_WORDS];
	char text[512];
	char to[64]; /* where the report goes */
	json_t *report;
};

static void act_done(struct act *a)
{
	json_decref(a->report);
	scene_done(&a->scene);
}
#define _cleanup_act_ _cleanup_(act_done)

/* The usual policy and a line more. */
static int write_policy(const char *from, const char *line)
{
	_cleanup_fclose_ FILE *in = fopen(from, "re"), *out = fopen(POLICY, "we");
	char text[4096];
	size_t n;

	if (!in || !out)
		return -1;
	n = fread(text, 1, sizeof(text), in);
	return fwrite(text, 1, n, out) == n && fprintf(out, "%s\n", line) > 0 ? 0 : -1;
}

static int act_init(struct act *a, const char *limits)
{
	if (scene_init(&a->scene, "plain"))
		return -1;
	CHECK(write_policy(a->scene.policy, limits) == 0, "no policy");
	strcpy(a->to, REPORT);
	return 0;
}

/* Its words: run's, those of the probe's verb, up to a NULL each. */
static void act_words(struct act *a, const char *deadline, const char *const verb[])
{
	const char *const head[] = {"bulkhead",	  "run",      POLICY, "--var",
				    a->scene.var, "--report", a->to,  NULL};
	size_t n = 0;

	for (size_t i = 0; head[i]; i++)
		a->argv[n++] = head[i];
	if (deadline) {
		a->argv[n++] = "--deadline";
		a->argv[n++] = deadline;
	}
	a->argv[n++] = "--";
	a->argv[n++] = a->scene.probe;
	for (size_t i = 0; verb[i] && n < MAX_WORDS - 1; i++)
		a->argv[n++] = verb[i];
	a->argv[n] = NULL;
}

static void act_read(struct act *a)
{
	json_decref(a->report);
	a->report = json_load_file(a->to, 0, NULL);
}

/* Its status. */
static int act_run(struct act *a, const char *deadline, const char *const verb[])
{
	int r;

	unlink(REPORT);
	act_words(a, deadline, verb);
	a->text[0] = 0;
	r = program_print(a->argv, a->text, sizeof(a->text));
	act_read(a);
	return r;
}

static const char *reason(const struct act *a)
{
	const char *text = json_string_value(json_object_get(a->report, "reason"));

	return text ? text : "(no report)";
}

static long long told(const struct act *a, const char *object, const char *key)
{
	const json_t *value = json_object_get(json_object_get(a->report, object), key);

	return json_is_integer(value) ? json_integer_value(value) : -1;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The cgroup of a run that is going on, or was; it has the policy's name in front. */
static bool find_cgroup(char path[PATH_MAX])
{
	_cleanup_closedir_ DIR *dir = opendir(OWN_ROOT);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "neg-plain-", 10))
			continue;
		snprintf(path, PATH_MAX, OWN_ROOT "/%.200s", entry->d_name);
		return true;
	}
	return false;
}

/* Until what runs in it is more than the one who waits to be let go. */
static bool await_members(char path[PATH_MAX], size_t wanted)
{
	_cleanup_free_ pid_t *pids = NULL;
	size_t n = 0;

	for (uint64_t end = now_ms() + READY_MS; now_ms() < end; usleep(50 * 1000)) {
		free(TAKE_PTR(pids));
		if (find_cgroup(path) && cgroup_pids(path, &pids, &n) == 0 && n >= wanted)
			return true;
	}
	return false;
}

static bool await_empty(const char *path, uint64_t ms)
{
	_cleanup_free_ char *events = NULL;

	for (uint64_t end = now_ms() + ms; now_ms() < end; usleep(50 * 1000)) {
		free(TAKE_PTR(events));
		if (cgroup_file_read(path, "cgroup.events", 256, &events) ||
		    strstr(events, "populated 0"))
			return true;
	}
	return false;
}

static const char *const ways[] = {"plainly", "deaf",	"own-session", "orphan",
				   "stopped", "traced", "storm"};
#define NWAYS (sizeof(ways) / sizeof(*ways))

/* With the other's scene. */
static pid_t begin_way(struct act *one, const struct act *of, const char *way)
{
	const char *const verb[] = {"live", way, NULL};

	one->scene = of->scene;
	snprintf(one->to, sizeof(one->to), "/run/report-%s.json", way);
	unlink(one->to);
	act_words(one, "3s", verb);
	return program_start(one->argv, -1);
}

static int ended_by_deadline(struct act *one, const char *way, int status)
{
	act_read(one);
	CHECK(status == 124, "%s: status %d", way, status);
	CHECK(!strcmp(reason(one), "deadline"), "%s: the reason is %s", way, reason(one));
	CHECK(told(one, "usage", "wall_ms") >= 2500 && told(one, "usage", "wall_ms") < SLACK_MS,
	      "%s: it took %lld ms", way, told(one, "usage", "wall_ms"));
	CHECK(told(one, "limits", "wall_ms") == 3000, "%s: a deadline of %lld ms", way,
	      told(one, "limits", "wall_ms"));
	return 0;
}

/* Whatever it does, nothing of it is there after its deadline. */
static int case_deadline(struct kern *kern _unused_)
{
	_cleanup_act_ struct act a = {};
	static struct act acts[NWAYS];
	pid_t pids[NWAYS];
	char path[PATH_MAX];
	int r = act_init(&a, "limits: {processes: 256}");

	if (r)
		return r;
	for (size_t i = 0; i < NWAYS; i++)
		pids[i] = begin_way(&acts[i], &a, ways[i]);
	for (size_t i = 0; i < NWAYS; i++) {
		int status = cell_wait_ms(pids[i], SLACK_MS, true);

		if (r == 0)
			r = ended_by_deadline(&acts[i], ways[i], status);
		json_decref(acts[i].report);
		acts[i].report = NULL;
	}
	if (r)
		return r;
	CHECK(!find_cgroup(path), "%s is left", path);
	return 0;
}

/* Asked to end, it ends; what does not listen, a tenth of its time later. */
static int case_cancelled(struct kern *kern _unused_)
{
	const char *const verb[] = {"live", "deaf", NULL};
	_cleanup_act_ struct act a = {};
	char path[PATH_MAX];
	pid_t pid;
	int r;

	if (act_init(&a, "limits: {wall: 30s}"))
		return -1;
	unlink(REPORT);
	act_words(&a, NULL, verb);
	pid = program_start(a.argv, -1);
	CHECK(pid > 0 && await_members(path, 1), "it does not run");
	usleep(2000 * 1000); /* it is deaf by then */
	kill(pid, SIGTERM);
	r = cell_wait_ms(pid, SLACK_MS, true);
	act_read(&a);
	CHECK(r == 128 + SIGKILL && !strcmp(reason(&a), "cancelled"), "status %d: %s", r,
	      reason(&a));
	CHECK(told(&a, "usage", "wall_ms") < 20000, "it took %lld ms",
	      told(&a, "usage", "wall_ms"));
	CHECK(!find_cgroup(path), "%s is left", path);
	return 0;
}

/* Who supervises is killed: the watchdog has the deadline, too, and the next run takes away what is left. */
static int case_supervisor_dies(struct kern *kern _unused_)
{
	const char *const verb[] = {"live", "own-session", NULL}, *const next[] = {"read",
										   FIXTURE_OPEN,
										   NULL};
	_cleanup_act_ struct act a = {};
	char path[PATH_MAX], other[PATH_MAX];
	pid_t pid;

	if (act_init(&a, "limits: {wall: 8s}"))
		return -1;
	act_words(&a, NULL, verb);
	pid = program_start(a.argv, -1);
	CHECK(pid > 0 && await_members(path, 2), "it does not run");
	kill(pid, SIGKILL);
	cell_wait(pid);
	usleep(500 * 1000);
	CHECK(!await_empty(path, 500), "it ended with who supervised it, before its deadline");
	CHECK(await_empty(path, SLACK_MS), "it is there after its deadline");
	CHECK(act_run(&a, NULL, next) == 0 && !strncmp(a.text, "ALLOWED", 7), "the next one: %s",
	      a.text);
	CHECK(!find_cgroup(other), "%s is left", other);
	return 0;
}

static int case_leaves_behind(struct kern *kern _unused_)
{
	const char *const verb[] = {"leave-behind", NULL};
	_cleanup_act_ struct act a = {};
	char path[PATH_MAX];
	int r;

	if (act_init(&a, "limits: {wall: 60s}"))
		return -1;
	r = act_run(&a, NULL, verb);
	CHECK(r == 0 && !strncmp(a.text, "ALLOWED", 7), "status %d: %s", r, a.text);
	CHECK(!strcmp(reason(&a), "exit"), "the reason is %s", reason(&a));
	CHECK(!find_cgroup(path), "%s is left", path);
	return 0;
}

static int case_memory(struct kern *kern _unused_)
{
	const char *const verb[] = {"hog", NULL};
	_cleanup_act_ struct act a = {};
	int r;

	if (act_init(&a, "limits: {wall: 120s, memory: 32MiB}"))
		return -1;
	r = act_run(&a, NULL, verb);
	CHECK(r == 128 + SIGKILL, "status %d: %s", r, a.text);
	CHECK(!strcmp(reason(&a), "memory") && told(&a, "usage", "memory_kills") >= 1,
	      "the reason is %s, %lld killed", reason(&a), told(&a, "usage", "memory_kills"));
	CHECK(told(&a, "usage", "memory_peak_bytes") <= 32 << 20, "it had %lld",
	      told(&a, "usage", "memory_peak_bytes"));
	return 0;
}

/* The same act under a limit and under a larger one. */
static int limited(const char *limits, const char *const verb[], const char *says, int status,
		   const char *why)
{
	_cleanup_act_ struct act a = {};
	int r;

	if (act_init(&a, limits))
		return -1;
	r = act_run(&a, NULL, verb);
	CHECK(r == status && !strncmp(a.text, says, strlen(says)), "%s: status %d: %s", limits, r,
	      a.text);
	CHECK(!strcmp(reason(&a), why), "%s: the reason is %s", limits, reason(&a));
	return 0;
}

static int case_processes(struct kern *kern _unused_)
{
	const char *const verb[] = {"fork-many", "64", NULL};
	int r = limited("limits: {wall: 60s, processes: 128}", verb, "ALLOWED", 0, "exit");

	return r ? r : limited("limits: {wall: 60s, processes: 32}", verb, "OTHER 11", 0, "exit");
}

static int case_open_files(struct kern *kern _unused_)
{
	const char *const verb[] = {"open-many", "64", NULL};
	int r = limited("limits: {wall: 60s, open-files: 128}", verb, "ALLOWED", 0, "exit");

	return r ? r : limited("limits: {wall: 60s, open-files: 32}", verb, "OTHER 24", 0, "exit");
}

static int case_file_size(struct kern *kern _unused_)
{
	const char *const verb[] = {"grow", FIXTURE_WORK "/grows", "131072", NULL};
	int r = limited("limits: {wall: 60s, file-size: 128KiB}", verb, "ALLOWED", 0, "exit");

	return r ? r
		 : limited("limits: {wall: 60s, file-size: 64KiB}", verb, "", 128 + SIGXFSZ,
			   "file-size");
}

static int says_file(const char *path, const char *file, const char *wanted)
{
	_cleanup_free_ char *text = NULL;

	CHECK(cgroup_file_read(path, file, 256, &text) == 0, "no %s", file);
	CHECK(!strcmp(text, wanted), "%s is %s", file, text);
	return 0;
}

/* The kernel has what the policy says, before the command runs. */
static int case_controllers(struct kern *kern _unused_)
{
	const char *const verb[] = {"live", "plainly", NULL};
	_cleanup_act_ struct act a = {};
	char path[PATH_MAX];
	pid_t pid;
	int r;

	if (act_init(&a,
		     "limits: {wall: 60s, cpu: 150%, processes: 64, memory: 64MiB, swap: 1MiB}"))
		return -1;
	act_words(&a, NULL, verb);
	pid = program_start(a.argv, -1);
	CHECK(pid > 0 && await_members(path, 1), "it does not run");
	r = says_file(path, "cpu.max", "150000 100000\n");
	if (r == 0)
		r = says_file(path, "pids.max", "64\n");
	if (r == 0)
		r = says_file(path, "memory.max", "67108864\n");
	if (r == 0 && access("/proc/swaps", F_OK) == 0)
		r = says_file(path, "memory.swap.max", "1048576\n");
	kill(pid, SIGTERM);
	cell_wait_ms(pid, SLACK_MS, true);
	return r;
}

static int refused(struct act *a, const char *deadline, const char *says)
{
	char command[2048];
	const char *const argv[] = {"sh", "-c", command, NULL};
	int r;

	snprintf(command, sizeof(command),
		 "exec bulkhead run " POLICY
		 " --var %.200s --deadline %s -- %.200s read " FIXTURE_OPEN " 2>&1",
		 a->scene.var, deadline, a->scene.probe);
	r = program_print(argv, a->text, sizeof(a->text));
	CHECK(r == 125 && strstr(a->text, says), "--deadline %s: status %d: %s", deadline, r,
	      a->text);
	return 0;
}

/* Less than the policy's may be asked for; more, or what is no time, runs nothing. */
static int case_asked_too_much(struct kern *kern _unused_)
{
	const char *const verb[] = {"read", FIXTURE_OPEN, NULL};
	_cleanup_act_ struct act a = {};
	int r;

	if (act_init(&a, "limits: {wall: 60s}"))
		return -1;
	r = refused(&a, "61s", "wall, is 1m");
	if (r == 0)
		r = refused(&a, "0s", "1s to 365d");
	if (r == 0)
		r = refused(&a, "-1s", "a number and s, m, h or d");
	if (r == 0)
		r = refused(&a, "99999999999999999999s", "1s to 365d");
	if (r)
		return r;
	r = act_run(&a, "60s", verb);
	CHECK(r == 0 && !strncmp(a.text, "ALLOWED", 7), "all of it: status %d: %s", r, a.text);
	return 0;
}

struct variable {
	const char *name, *value, *says;
};

static const struct variable variables[] = {
	{"GITHUB_TOKEN", "kept-as-a-secret", "OTHER 2"},
	{"NODE_OPTIONS", "--require=/none.js", "OTHER 2"},
	{"OTHER", "1", "OTHER 2"},
	{"LISTED", "1", "ALLOWED"},
	{"LISTED_COPY", "has kept-as-a-secret in it", "OTHER 2"},
};
#define NVARIABLES (sizeof(variables) / sizeof(*variables))

/* A line of the probe's each, in order. */
static int look_for_all(struct act *a)
{
	const char *verb[4 * NVARIABLES + 1], *line;
	size_t n = 0;

	for (size_t i = 0; i < NVARIABLES; i++) {
		if (i)
			verb[n++] = "--";
		verb[n++] = "variable";
		verb[n++] = variables[i].name;
		verb[n++] = variables[i].value;
	}
	verb[n] = NULL;
	act_run(a, NULL, verb);
	line = a->text;
	for (size_t i = 0; i < NVARIABLES; i++) {
		CHECK(!strncmp(line, variables[i].says, strlen(variables[i].says)), "%s: %s",
		      variables[i].name, a->text);
		line += strcspn(line, "\n") + 1;
	}
	return 0;
}

/* What the policy lists of the caller's, and no credential by any name. */
static int case_environment(struct kern *kern _unused_)
{
	const char *const privileges[] = {"no-new-privileges", NULL};
	_cleanup_act_ struct act a = {};
	int r = act_init(&a, "environment: {pass: [LISTED*]}");

	for (size_t i = 0; i < NVARIABLES; i++)
		setenv(variables[i].name, variables[i].value, 1);
	if (r == 0)
		r = look_for_all(&a);
	for (size_t i = 0; i < NVARIABLES; i++)
		unsetenv(variables[i].name);
	if (r)
		return r;
	act_run(&a, NULL, privileges);
	CHECK(!strncmp(a.text, "ALLOWED", 7), "new privileges: %s", a.text);
	return 0;
}

#define PRIVATE "/run/bulkhead-run"
#define LEFT PRIVATE "/neg-plain-1-00000000"

static const char private_policy[] =
	"version: 1\nname: neg-plain\nvars: [\"PROBE=/lab/probe\"]\nmode: enforce\n"
	"existing: {default: refuse, keep: [stdio]}\nnetwork: none\n"
	"environment: {home: private, tmpdir: private}\n"
	"files:\n  - {allow: [write, create], on: [\"${HOME}/**\", \"${TMPDIR}/**\"]}\n"
	"exec:\n  - {on: [\"${PROBE}\"]}\n";

static bool has_entries(const char *path)
{
	_cleanup_closedir_ DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			return true;
	return false;
}

/* A HOME and a TMPDIR for the time of the run; what a killed run left goes with the next. */
static int case_private(struct kern *kern _unused_)
{
	const char *const verb[] = {"make-at-home", NULL};
	_cleanup_act_ struct act a = {};
	FILE *out;
	int r;

	if (scene_init(&a.scene, "plain"))
		return -1;
	strcpy(a.to, REPORT);
	out = fopen(POLICY, "we");
	CHECK(out && fputs(private_policy, out) >= 0 && !fclose(out), "no policy");
	r = act_run(&a, NULL, verb);
	CHECK(r == 0 && !strncmp(a.text, "ALLOWED", 7), "status %d: %s", r, a.text);
	CHECK(access(PRIVATE, F_OK) == 0 && !has_entries(PRIVATE), "something is left");
	CHECK(mkdir(LEFT, 0700) == 0 && mkdir(LEFT "/home", 0700) == 0 &&
		      mkdir(LEFT "/home/d", 0) == 0 && symlink(FIXTURE, LEFT "/home/l") == 0,
	      "no fixture");
	r = act_run(&a, NULL, verb);
	CHECK(r == 0 && !has_entries(PRIVATE), "what was left is there (status %d)", r);
	CHECK(access(FIXTURE_OPEN, R_OK) == 0, "a link was followed");
	return 0;
}

const struct test_case run_cases[] = {
	{"run/deadline", case_deadline, CASE_ALLOWS},
	{"run/cancelled", case_cancelled, CASE_ALLOWS},
	{"run/supervisor-dies", case_supervisor_dies, CASE_ALLOWS},
	{"run/leaves-behind", case_leaves_behind, CASE_ALLOWS},
	{"run/memory", case_memory, CASE_ALLOWS},
	{"run/processes", case_processes, CASE_ALLOWS},
	{"run/open-files", case_open_files, CASE_ALLOWS},
	{"run/file-size", case_file_size, CASE_ALLOWS},
	{"run/controllers", case_controllers, CASE_ALLOWS},
	{"run/private", case_private, CASE_ALLOWS},
	{"run/environment", case_environment, CASE_ALLOWS},
	{"run/asked-too-much", case_asked_too_much, CASE_ALLOWS},
	{},
};

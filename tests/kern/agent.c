// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The programs as people use them: a provider that runs already, the agent that comes, dies and
 * comes again, and a command in a compartment of its own. The provider says with a letter a
 * millisecond whether it could open what it must not.
 */
#include "scene.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include "compart/compart.h"

/* --- its letters --- */

struct heard {
	unsigned int opened, refused, other;
	unsigned int threads; /* bits: who spoke */
};

/* What is in the pipe already was said before now. */
static void forget_letters(struct scene *s)
{
	struct pollfd p = {.fd = s->letters, .events = POLLIN};
	char letters[4096];

	while (poll(&p, 1, 0) > 0 && read(s->letters, letters, sizeof(letters)) > 0)
		continue;
	/* One letter of each thread may have been on its way. */
	for (int i = 0; i < 8; i++)
		if (poll(&p, 1, 1000) <= 0 || read(s->letters, letters, 1) != 1)
			break;
}

static struct heard hear(struct scene *s, unsigned int n)
{
	struct pollfd p = {.fd = s->letters, .events = POLLIN};
	struct heard heard = {};
	char letter;

	while (n-- > 0 && poll(&p, 1, HARNESS_DEADLINE_MS) > 0 &&
	       read(s->letters, &letter, 1) == 1) {
		if (letter == '?')
			heard.other++;
		else if (isupper(letter))
			heard.opened++;
		else
			heard.refused++;
		if (isalpha(letter))
			heard.threads |= 1u << (tolower(letter) - 'a');
	}
	return heard;
}

/* All of the next n attempts are refused. */
static int hear_refused(struct scene *s, unsigned int n, const char *when)
{
	struct heard heard = hear(s, n);

	CHECK(heard.opened == 0, "%s: opened %u times of %u", when, heard.opened, n);
	CHECK(heard.other == 0 && heard.refused == n, "%s: %u refused, %u failed otherwise", when,
	      heard.refused, heard.other);
	return 0;
}

/* Everything it said since the last time, while something went on beside it. */
static int drain_refused(struct scene *s, const char *when)
{
	struct pollfd p = {.fd = s->letters, .events = POLLIN};
	struct heard heard;

	while (poll(&p, 1, 0) > 0) {
		heard = hear(s, 1);
		CHECK(heard.opened == 0, "%s: opened once", when);
	}
	return 0;
}

static int began_open(struct scene *s)
{
	struct heard heard = hear(s, 20);

	CHECK(heard.opened == 20, "control: %u of 20 opens before the policy", heard.opened);
	return 0;
}

/* --- cases --- */

static int case_older_process(struct kern *kern _unused_)
{
	_cleanup_scene_ struct scene s = {};
	struct heard heard;

	if (scene_init(&s, "report") || scene_provider(&s, "poll", "1") || began_open(&s) ||
	    agent_start(&s))
		return -1;
	CHECK(scene_attach(&s) == 0, "attach failed");
	forget_letters(&s);
	if (hear_refused(&s, 100, "attached"))
		return -1;
	CHECK(scene_detach(&s) == 0, "detach failed");
	forget_letters(&s);
	heard = hear(&s, 20);
	CHECK(heard.opened == 20, "detached: %u of 20 opens", heard.opened);
	return 0;
}

static int case_older_threads(struct kern *kern _unused_)
{
	_cleanup_scene_ struct scene s = {};
	struct heard heard;

	if (scene_init(&s, "report") || scene_provider(&s, "poll", "8") || began_open(&s) ||
	    agent_start(&s))
		return -1;
	CHECK(scene_attach(&s) == 0, "attach failed");
	forget_letters(&s);
	heard = hear(&s, 400);
	CHECK(heard.opened == 0 && heard.refused == 400, "%u opens of 400", heard.opened);
	CHECK(heard.threads == 0xff, "threads that spoke: %#x of 0xff", heard.threads);
	CHECK(scene_detach(&s) == 0, "detach failed");
	return 0;
}

static int reload(void)
{
	const char *const argv[] = {"bulkhead", "reload", "--all", NULL};

	return program_run(argv);
}

/* Killed, started again, reloaded, stopped: not one instant without enforcement. */
static int case_agent_dies(struct kern *kern _unused_)
{
	_cleanup_scene_ struct scene s = {};
	int i;

	if (scene_init(&s, "report") || scene_provider(&s, "poll", "1") || began_open(&s) ||
	    agent_start(&s))
		return -1;
	CHECK(scene_attach(&s) == 0, "attach failed");
	forget_letters(&s);
	if (hear_refused(&s, 50, "attached"))
		return -1;
	agent_end(&s, SIGKILL);
	if (hear_refused(&s, 200, "the agent killed") || agent_start(&s) ||
	    drain_refused(&s, "the agent starting again") ||
	    hear_refused(&s, 50, "the agent started again"))
		return -1;
	for (i = 0; i < 3; i++)
		CHECK(reload() == 0, "reload failed");
	if (drain_refused(&s, "reloading") || hear_refused(&s, 50, "reloaded"))
		return -1;
	CHECK(agent_end(&s, SIGTERM) == 0, "bulkheadd did not stop well");
	if (hear_refused(&s, 50, "the agent stopped") || agent_start(&s))
		return -1;
	CHECK(scene_detach(&s) == 0, "the agent that came later cannot detach");
	return 0;
}

static int mount_secret(void)
{
	int fd;

	CHECK(mount("none", FIXTURE "/secret", "tmpfs", 0, NULL) == 0, "no mount");
	fd = open(FIXTURE_SECRET, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	CHECK(fd >= 0, "%s: %s", FIXTURE_SECRET, strerror(errno));
	close(fd);
	return 0;
}

/* What the agent does about a filesystem that the view does not know, it does with the text that is
 * in force: one that was edited while none ran waits for the reload, which then brings both. */
static int check_edited(struct scene *s)
{
	struct heard heard;

	forget_letters(s);
	if (hear_refused(s, 2500, "edited, not reloaded"))
		return -1;
	CHECK(reload() == 0, "reload failed");
	forget_letters(s);
	heard = hear(s, 20);
	CHECK(heard.opened == 20, "control, reloaded: %u of 20 opens", heard.opened);
	CHECK(scene_detach(s) == 0, "detach failed");
	return 0;
}

static int case_edited_while_away(struct kern *kern _unused_)
{
	_cleanup_scene_ struct scene s = {};
	int r;

	if (scene_init(&s, "plain") || scene_policy(&s, "") || scene_provider(&s, "poll", "1") ||
	    began_open(&s) || agent_start(&s))
		return -1;
	CHECK(scene_attach(&s) == 0, "attach failed");
	agent_end(&s, SIGKILL);
	if (scene_policy(&s, "  - {allow: [read], on: [" FIXTURE_SECRET "]}\n") || agent_start(&s))
		return -1;
	r = mount_secret() || check_edited(&s) ? -1 : 0;
	umount2(FIXTURE "/secret", MNT_DETACH);
	return r;
}

/* A refused attach leaves everything as it was. */
static int refused_attach(struct scene *s, const char *why)
{
	struct heard heard;

	CHECK(scene_attach(s) != 0, "attached in spite of %s", why);
	forget_letters(s);
	heard = hear(s, 30);
	CHECK(heard.opened == 30, "after the refused attach: %u of 30 opens", heard.opened);
	CHECK(scene_detach(s) != 0, "a compartment was left");
	return 0;
}

static int case_held_descriptor(struct kern *kern _unused_)
{
	_cleanup_scene_ struct scene s = {};

	if (scene_init(&s, "plain") || scene_provider(&s, "poll-holding", "1") || began_open(&s) ||
	    agent_start(&s))
		return -1;
	return refused_attach(&s, "a descriptor on what the policy forbids");
}

static int count_revoked(struct kern *kern, const char *when)
{
	enum kern_hook_state state;
	__u32 n = 0, link;

	CHECK(kern_revoked(kern, 0, &n) == 0 && n >= 1, "%s: %u open files are revoked", when, n);
	CHECK(kern_hook_state(kern, BH_HOOK_FILE_PERMISSION, &state, &link) == 0 &&
		      state == KERN_HOOK_ATTACHED,
	      "%s: nothing is re-checked", when);
	return 0;
}

/* Taken from it, and by whatever agent it stays so until the compartment is released. */
static int case_revoked_descriptor(struct kern *kern)
{
	static const char *const status[] = {"bulkhead", "status", NULL};
	_cleanup_scene_ struct scene s = {};
	enum kern_hook_state state;
	char text[4096];
	__u32 link;

	if (scene_init(&s, "revoke") || scene_provider(&s, "poll-holding", "1") || began_open(&s) ||
	    agent_start(&s))
		return -1;
	CHECK(scene_attach(&s) == 0, "attach failed");
	if (count_revoked(kern, "attached"))
		return -1;
	CHECK(program_print(status, text, sizeof(text)) == 0 && strstr(text, "may not use ") &&
		      strstr(text, FIXTURE_SECRET),
	      "status: %s", text);
	agent_end(&s, SIGKILL);
	if (count_revoked(kern, "the agent killed") || agent_start(&s) ||
	    count_revoked(kern, "the agent started again"))
		return -1;
	CHECK(program_print(status, text, sizeof(text)) == 0 && strstr(text, FIXTURE_SECRET),
	      "status of the new agent: %s", text);
	CHECK(scene_detach(&s) == 0, "detach failed");
	CHECK(kern_hook_state(kern, BH_HOOK_FILE_PERMISSION, &state, &link) == 0 &&
		      state == KERN_HOOK_IDLE,
	      "detached, and still re-checked");
	return 0;
}

static int status_says(const char *when, const char *words)
{
	static const char *const status[] = {"bulkhead", "status", NULL};
	char text[4096];

	CHECK(program_print(status, text, sizeof(text)) == 0 && strstr(text, words),
	      "status, %s: %s", when, text);
	return 0;
}

/* Shell authority is told of the text in force: not of one that was edited, by whatever agent. */
static int case_authority(struct kern *kern _unused_)
{
	static const char *const json[] = {"bulkhead", "status", "--json", NULL};
	_cleanup_scene_ struct scene s = {};
	char text[1 << 14];

	if (scene_init(&s, "plain") || scene_policy(&s, "") || scene_provider(&s, "poll", "1") ||
	    began_open(&s) || agent_start(&s))
		return -1;
	CHECK(scene_attach(&s) == 0, "attach failed");
	if (status_says("attached", ": no interpreter may be run: no shell authority\n"))
		return -1;
	agent_end(&s, SIGKILL);
	if (scene_policy(&s, "  - {allow: [read, interp], on: [/usr/bin/dash]}\n") ||
	    agent_start(&s) || status_says("edited", ": no interpreter may be run"))
		return -1;
	CHECK(reload() == 0, "reload failed");
	if (status_says("reloaded", ": shell authority: /usr/bin/dash (shell)\n"))
		return -1;
	CHECK(program_print(json, text, sizeof(text)) == 0 &&
		      strstr(text, "\"path\": \"/usr/bin/dash\"") &&
		      strstr(text, "\"kind\": \"shell\"") &&
		      strstr(text, "\"file\": \"/run/edited.yaml\""),
	      "status --json: %s", text);
	CHECK(scene_detach(&s) == 0, "detach failed");
	return 0;
}

/* A process that never freezes: attach ends in time, names it, and thaws the others. */
static int case_stuck(struct kern *kern _unused_)
{
	_cleanup_scene_ struct scene s = {};
	const char *const argv[] = {s.probe, "stuck", NULL};
	struct timespec from, to;
	int ends[2], r;
	pid_t pid;
	char byte;

	if (scene_init(&s, "plain") || scene_provider(&s, "poll", "1") || began_open(&s) ||
	    agent_start(&s))
		return -1;
	CHECK(pipe2(ends, O_CLOEXEC) == 0, "no pipe");
	pid = program_start(argv, ends[1]);
	CHECK(pid > 0 && cell_move(s.cgroup, pid) == 0 && read(ends[0], &byte, 1) == 1,
	      "no stuck process");
	close(ends[0]);
	close(ends[1]);
	clock_gettime(CLOCK_MONOTONIC, &from);
	r = refused_attach(&s, "a process that does not freeze");
	clock_gettime(CLOCK_MONOTONIC, &to);
	kill(pid, SIGKILL);
	cell_wait(pid);
	if (r)
		return r;
	CHECK(to.tv_sec - from.tv_sec < 30, "it took %ld s", (long)(to.tv_sec - from.tv_sec));
	return 0;
}

/* Whoever attaches does not lock itself in. */
static int case_caller(struct kern *kern _unused_)
{
	_cleanup_scene_ struct scene s = {};

	if (scene_init(&s, "plain") || agent_start(&s))
		return -1;
	free(s.cgroup);
	s.cgroup = strdup("/sys/fs/cgroup");
	CHECK(scene_attach(&s) != 0, "attached the root of all cgroups");
	free(s.cgroup);
	s.cgroup = NULL;
	return 0;
}

static int run_inside(struct scene *s, const char *policy, const char *file, char *line,
		      size_t size)
{
	const char *const argv[] = {"bulkhead", "run",	  policy, "--var", s->var, "--",
				    s->probe,	"--deny", "13",	  "read",  file,   NULL};

	return program_print(argv, line, size);
}

/* Without an agent. */
static int case_run(struct kern *kern _unused_)
{
	_cleanup_scene_ struct scene s = {};
	char line[128];
	int r;

	if (scene_init(&s, "plain"))
		return -1;
	r = run_inside(&s, s.policy, FIXTURE_SECRET, line, sizeof(line));
	CHECK(r == 0 && !strncmp(line, "DENIED 13", 9), "status %d: %.100s", r, line);
	r = run_inside(&s, s.policy, FIXTURE_OPEN, line, sizeof(line));
	CHECK(r == 0 && !strncmp(line, "ALLOWED", 7), "status %d: %.100s", r, line);
	return 0;
}

/* A policy that cannot be had: nothing runs instead. */
static int case_run_without(struct kern *kern _unused_)
{
	_cleanup_scene_ struct scene s = {};
	char line[128];
	int r;

	if (scene_init(&s, "plain"))
		return -1;
	r = run_inside(&s, "/no/such/policy.yaml", FIXTURE_SECRET, line, sizeof(line));
	CHECK(r == 125 && !line[0], "status %d: %.100s", r, line);
	return 0;
}

/* As many at once as this host has processors, and then some. */
/* No place for another subtree: nothing runs, and what is there already goes on. */
static int case_full(struct kern *kern)
{
	const __u64 none = 1ULL << 62; /* no cgroup has such an id */
	_cleanup_scene_ struct scene s = {};
	const char *argv[] = {
		"sh",
		"-c",
		"exec bulkhead run \"$0\" --var \"$1\" -- \"$2\" read " FIXTURE_OPEN " 2>&1",
		NULL,
		NULL,
		NULL,
		NULL};
	char line[512];
	__u64 n;
	int r = 0, status;

	if (scene_init(&s, "plain"))
		return -1;
	argv[3] = s.policy;
	argv[4] = s.var;
	argv[5] = s.probe;
	for (n = 0; r == 0 && n <= BH_MAX_CGROUPS; n += r == 0)
		r = kern_cgroup_set(kern, none + n, BH_MAX_COMPARTMENTS, 0);
	status = program_print(argv, line, sizeof(line));
	while (n--)
		kern_cgroup_unset(kern, none + n);
	CHECK(r == -E2BIG, "the map never filled");
	CHECK(status == 125 && strstr(line, "detach"), "status %d: %s", status, line);
	status = run_inside(&s, s.policy, FIXTURE_OPEN, line, sizeof(line));
	CHECK(status == 0 && !strncmp(line, "ALLOWED", 7), "after it: status %d: %s", status, line);
	return 0;
}

static int case_run_many(struct kern *kern)
{
	_cleanup_scene_ struct scene s = {};
	const char *const argv[] = {"bulkhead", "run",	  s.policy, "--var", s.var,	     "--",
				    s.probe,	"--deny", "13",	    "read",  FIXTURE_SECRET, NULL};
	struct bh_compartment entry;
	pid_t pids[4];
	__u32 id;
	int i;

	if (scene_init(&s, "plain"))
		return -1;
	for (i = 0; i < 4; i++)
		pids[i] = program_start(argv, -1);
	for (i = 0; i < 4; i++)
		CHECK(cell_wait_ms(pids[i], READY_MS, true) == 0, "one of four failed");
	for (id = 1; id < BH_MAX_COMPARTMENTS; id++)
		CHECK(kern_compartment_get(kern, id, &entry) < 0, "compartment %u is left", id);
	return 0;
}

/* --- explain --- */

/* The record comes a little after the refusal: until then the status is 2. */
static int explain(const char *const argv[], char *text, size_t size)
{
	int r = 2;

	for (int i = 0; r == 2 && i < 50; i++) {
		r = program_print(argv, text, size);
		if (r == 2)
			usleep(200 * 1000);
	}
	return r;
}

/* An event of what runs: by its compartment's own policy and its members' mounts. When the policy is
 * another one by then, that is said. */
static int case_explain(struct kern *kern _unused_)
{
	static const char *const argv[] = {"bulkhead",	    "explain",	  "--event", "1",
					   "--compartment", "neg-report", NULL};
	_cleanup_scene_ struct scene s = {};
	char text[8192];
	int r;

	if (scene_init(&s, "report") || scene_provider(&s, "poll", "1") || began_open(&s) ||
	    agent_start(&s))
		return -1;
	CHECK(scene_attach(&s) == 0, "attach failed");
	r = explain(argv, text, sizeof(text));
	CHECK(r == 1, "status %d: %s", r, text);
	CHECK(strstr(text, "refused: read " FIXTURE_SECRET " under policy neg-report\n"), "%s",
	      text);
	CHECK(strstr(text, "read        refused: no rule of the policy allows it\n"), "%s", text);
	CHECK(strstr(text, "stands at   " FIXTURE_SECRET " on that filesystem\n"), "%s", text);
	CHECK(!strstr(text, "loaded anew"), "%s", text);
	CHECK(reload() == 0, "reload failed");
	r = explain(argv, text, sizeof(text));
	CHECK(r == 1 && strstr(text, "the policy was loaded anew since"), "status %d: %s", r, text);
	CHECK(scene_detach(&s) == 0, "detach failed");
	return 0;
}

/* An event of what has ended (the first was its move inside), explained with a policy that is named: the rule with its place. */
static int case_explain_named(struct kern *kern _unused_)
{
	_cleanup_scene_ struct scene s = {};
	char text[8192], wanted[PATH_MAX + 64];
	int r;

	if (scene_init(&s, "denied") || agent_start(&s))
		return -1;
	r = run_inside(&s, s.policy, FIXTURE_SECRET, text, sizeof(text));
	CHECK(r == 0 && !strncmp(text, "DENIED 13", 9), "status %d: %.100s", r, text);
	{
		const char *const argv[] = {"bulkhead",	  "explain", s.policy, "--var",
					    s.var,	  "--event", "2",      "--compartment",
					    "neg-denied", NULL};

		r = explain(argv, text, sizeof(text));
	}
	snprintf(wanted, sizeof(wanted), "refused by /srv/cell/secret/** (%s:11:25)\n", s.policy);
	CHECK(r == 1 && strstr(text, wanted), "status %d: %s", r, text);
	return 0;
}

const struct test_case agent_cases[] = {
	{"agent/run", case_run, CASE_REFUSES},
	{"agent/run-without-policy", case_run_without, CASE_ALLOWS},
	{"agent/full", case_full, CASE_ALLOWS},
	{"agent/run-many", case_run_many, CASE_ALLOWS},
	{"agent/older-process", case_older_process, CASE_REFUSES},
	{"agent/older-threads", case_older_threads, CASE_REFUSES},
	{"agent/agent-dies", case_agent_dies, CASE_REFUSES},
	{"agent/explain", case_explain, CASE_REFUSES},
	{"agent/explain-named", case_explain_named, CASE_REFUSES},
	{"agent/edited-while-away", case_edited_while_away, CASE_REFUSES},
	{"agent/held-descriptor", case_held_descriptor, CASE_ALLOWS},
	{"agent/revoked-descriptor", case_revoked_descriptor, CASE_REFUSES},
	{"agent/authority", case_authority, CASE_ALLOWS},
	{"agent/stuck", case_stuck, CASE_ALLOWS},
	{"agent/caller", case_caller, CASE_ALLOWS},
	{},
};

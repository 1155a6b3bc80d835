// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The programs as people use them: a provider that runs already, the agent that comes, dies and
 * comes again, and a command in a compartment of its own. The provider says with a letter a
 * millisecond whether it could open what it must not.
 */
#include "harness.h"

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

#define READY_MS 60000

struct scene {
	char policy[PATH_MAX], var[PATH_MAX], probe[PATH_MAX / 2];
	char *cgroup;
	pid_t agent, provider;
	int notify, letters;
};

static void scene_done(struct scene *s)
{
	if (s->agent > 0) {
		kill(s->agent, SIGTERM);
		cell_wait(s->agent);
	}
	if (s->cgroup) {
		cgroup_kill(s->cgroup, HARNESS_DEADLINE_MS, NULL);
		cgroup_remove(s->cgroup);
	}
	if (s->provider > 0)
		cell_wait(s->provider);
	cleanup_closep(&s->notify);
	cleanup_closep(&s->letters);
	free(s->cgroup);
}
#define _cleanup_scene_ _cleanup_(scene_done)

static int scene_init(struct scene *s, const char *policy)
{
	char own[PATH_MAX / 2];
	struct error error = {};
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

	s->notify = s->letters = -1;
	CHECK(n > 0, "no /proc/self/exe");
	own[n] = 0;
	dirname(own);
	snprintf(s->probe, sizeof(s->probe), "%.1900s/probe", own);
	snprintf(s->policy, sizeof(s->policy), "%s/policies/%s.yaml", own, policy);
	snprintf(s->var, sizeof(s->var), "PROBE=%s", s->probe);
	CHECK(access(s->probe, X_OK) == 0 && access(s->policy, R_OK) == 0,
	      "no probe and policies/ beside this program");
	CHECK(fixture_make() == 0, "no fixture");
	CHECK(cgroup_own_create("test-agent", &s->cgroup, &error) == 0, "%.200s", error.text);
	return 0;
}

/* --- programs --- */

static void child_outputs(int out)
{
	int null = open("/dev/null", O_RDWR);

	dup2(null, STDIN_FILENO);
	dup2(out >= 0 ? out : null, STDOUT_FILENO);
	close_range(3, ~0u, 0);
}

/* Runs a program of the PATH; its standard output into `out` (its caller's is full of results). */
static pid_t start(const char *const argv[], int out)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		child_outputs(out);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	return pid;
}

static int run(const char *const argv[])
{
	return cell_wait_ms(start(argv, -1), READY_MS, true);
}

static int notify_socket(char *name, size_t size)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int n;

	n = snprintf(name, size, "@bulkhead-test-notify-%d", getpid());
	memcpy(sun.sun_path + 1, name + 1, n - 1);
	if (bind(fd, (struct sockaddr *)&sun, offsetof(struct sockaddr_un, sun_path) + n) < 0)
		return -errno;
	return TAKE_FD(fd);
}

/* What it tells its service manager: 0 on READY=1. */
static int wait_ready(struct scene *s)
{
	struct pollfd p = {.fd = s->notify, .events = POLLIN};
	char text[2048];
	ssize_t n;

	while (poll(&p, 1, READY_MS) > 0) {
		n = read(s->notify, text, sizeof(text) - 1);
		text[n > 0 ? n : 0] = 0;
		if (strstr(text, "READY=1"))
			return 0;
		if (strstr(text, "ERRNO="))
			break;
	}
	return -1;
}

static int agent_start(struct scene *s)
{
	const char *const argv[] = {"bulkheadd", NULL};
	char name[64];

	s->notify = notify_socket(name, sizeof(name));
	CHECK(s->notify >= 0, "no notify socket");
	setenv("NOTIFY_SOCKET", name, 1);
	s->agent = start(argv, -1);
	unsetenv("NOTIFY_SOCKET");
	CHECK(s->agent > 0 && wait_ready(s) == 0, "bulkheadd did not become ready");
	close(s->notify);
	s->notify = -1;
	return 0;
}

static int agent_end(struct scene *s, int signal)
{
	int r;

	kill(s->agent, signal);
	r = cell_wait(s->agent);
	s->agent = 0;
	return r;
}

static int attach(struct scene *s)
{
	const char *const argv[] = {"bulkhead", "attach", s->policy, "--cgroup",
				    s->cgroup,	"--var",  s->var,    NULL};

	return run(argv);
}

static int detach(struct scene *s)
{
	const char *const argv[] = {"bulkhead", "detach", "--cgroup", s->cgroup, NULL};

	return run(argv);
}

static int provider_start(struct scene *s, const char *verb, const char *threads)
{
	const char *const argv[] = {s->probe, verb, FIXTURE_SECRET, threads, NULL};
	int ends[2];

	CHECK(pipe2(ends, O_CLOEXEC) == 0, "no pipe");
	s->provider = start(argv, ends[1]);
	close(ends[1]);
	s->letters = ends[0];
	CHECK(s->provider > 0 && cell_move(s->cgroup, s->provider) == 0, "no provider");
	return 0;
}

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

	if (scene_init(&s, "report") || provider_start(&s, "poll", "1") || began_open(&s) ||
	    agent_start(&s))
		return -1;
	CHECK(attach(&s) == 0, "attach failed");
	forget_letters(&s);
	if (hear_refused(&s, 100, "attached"))
		return -1;
	CHECK(detach(&s) == 0, "detach failed");
	forget_letters(&s);
	heard = hear(&s, 20);
	CHECK(heard.opened == 20, "detached: %u of 20 opens", heard.opened);
	return 0;
}

static int case_older_threads(struct kern *kern _unused_)
{
	_cleanup_scene_ struct scene s = {};
	struct heard heard;

	if (scene_init(&s, "report") || provider_start(&s, "poll", "8") || began_open(&s) ||
	    agent_start(&s))
		return -1;
	CHECK(attach(&s) == 0, "attach failed");
	forget_letters(&s);
	heard = hear(&s, 400);
	CHECK(heard.opened == 0 && heard.refused == 400, "%u opens of 400", heard.opened);
	CHECK(heard.threads == 0xff, "threads that spoke: %#x of 0xff", heard.threads);
	CHECK(detach(&s) == 0, "detach failed");
	return 0;
}

static int reload(void)
{
	const char *const argv[] = {"bulkhead", "reload", "--all", NULL};

	return run(argv);
}

/* Killed, started again, reloaded, stopped: not one instant without enforcement. */
static int case_agent_dies(struct kern *kern _unused_)
{
	_cleanup_scene_ struct scene s = {};
	int i;

	if (scene_init(&s, "report") || provider_start(&s, "poll", "1") || began_open(&s) ||
	    agent_start(&s))
		return -1;
	CHECK(attach(&s) == 0, "attach failed");
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
	CHECK(detach(&s) == 0, "the agent that came later cannot detach");
	return 0;
}

/* The scene's policy, as a file of its own; `rule` is a line more among those of files. */
static int write_policy(struct scene *s, const char *rule)
{
	FILE *out;
	int r;

	snprintf(s->policy, sizeof(s->policy), "/run/edited.yaml");
	out = fopen(s->policy, "w");
	CHECK(out, "%s: %s", s->policy, strerror(errno));
	r = fprintf(out,
		    "version: 1\nname: edited\nvars: [\"PROBE=/lab/probe\"]\nmode: enforce\n"
		    "existing: {default: report, keep: [stdio]}\nfiles:\n"
		    "  - {allow: [read], on: [\"" FIXTURE "/open/**\"]}\n%s"
		    "exec:\n  - {on: [\"${PROBE}\"]}\nnetwork: none\n",
		    rule);
	CHECK(!fclose(out) && r > 0, "%s is not written", s->policy);
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
	CHECK(detach(s) == 0, "detach failed");
	return 0;
}

static int case_edited_while_away(struct kern *kern _unused_)
{
	_cleanup_scene_ struct scene s = {};
	int r;

	if (scene_init(&s, "plain") || write_policy(&s, "") || provider_start(&s, "poll", "1") ||
	    began_open(&s) || agent_start(&s))
		return -1;
	CHECK(attach(&s) == 0, "attach failed");
	agent_end(&s, SIGKILL);
	if (write_policy(&s, "  - {allow: [read], on: [" FIXTURE_SECRET "]}\n") || agent_start(&s))
		return -1;
	r = mount_secret() || check_edited(&s) ? -1 : 0;
	umount2(FIXTURE "/secret", MNT_DETACH);
	return r;
}

/* A refused attach leaves everything as it was. */
static int refused_attach(struct scene *s, const char *why)
{
	struct heard heard;

	CHECK(attach(s) != 0, "attached in spite of %s", why);
	forget_letters(s);
	heard = hear(s, 30);
	CHECK(heard.opened == 30, "after the refused attach: %u of 30 opens", heard.opened);
	CHECK(detach(s) != 0, "a compartment was left");
	return 0;
}

static int case_held_descriptor(struct kern *kern _unused_)
{
	_cleanup_scene_ struct scene s = {};

	if (scene_init(&s, "plain") || provider_start(&s, "poll-holding", "1") || began_open(&s) ||
	    agent_start(&s))
		return -1;
	return refused_attach(&s, "a descriptor on what the policy forbids");
}

/* What a program printed, and its status. */
static int run_printing(const char *const argv[], char *text, size_t size)
{
	int ends[2], r;
	ssize_t n;

	CHECK(pipe2(ends, O_CLOEXEC) == 0, "no pipe");
	r = cell_wait_ms(start(argv, ends[1]), READY_MS, true);
	close(ends[1]);
	n = read(ends[0], text, size - 1);
	close(ends[0]);
	text[n > 0 ? n : 0] = 0;
	return r;
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

	if (scene_init(&s, "revoke") || provider_start(&s, "poll-holding", "1") || began_open(&s) ||
	    agent_start(&s))
		return -1;
	CHECK(attach(&s) == 0, "attach failed");
	if (count_revoked(kern, "attached"))
		return -1;
	CHECK(run_printing(status, text, sizeof(text)) == 0 && strstr(text, "may not use ") &&
		      strstr(text, FIXTURE_SECRET),
	      "status: %s", text);
	agent_end(&s, SIGKILL);
	if (count_revoked(kern, "the agent killed") || agent_start(&s) ||
	    count_revoked(kern, "the agent started again"))
		return -1;
	CHECK(run_printing(status, text, sizeof(text)) == 0 && strstr(text, FIXTURE_SECRET),
	      "status of the new agent: %s", text);
	CHECK(detach(&s) == 0, "detach failed");
	CHECK(kern_hook_state(kern, BH_HOOK_FILE_PERMISSION, &state, &link) == 0 &&
		      state == KERN_HOOK_IDLE,
	      "detached, and still re-checked");
	return 0;
}

static int status_says(const char *when, const char *words)
{
	static const char *const status[] = {"bulkhead", "status", NULL};
	char text[4096];

	CHECK(run_printing(status, text, sizeof(text)) == 0 && strstr(text, words),
	      "status, %s: %s", when, text);
	return 0;
}

/* Shell authority is told of the text in force: not of one that was edited, by whatever agent. */
static int case_authority(struct kern *kern _unused_)
{
	static const char *const json[] = {"bulkhead", "status", "--json", NULL};
	_cleanup_scene_ struct scene s = {};
	char text[1 << 14];

	if (scene_init(&s, "plain") || write_policy(&s, "") || provider_start(&s, "poll", "1") ||
	    began_open(&s) || agent_start(&s))
		return -1;
	CHECK(attach(&s) == 0, "attach failed");
	if (status_says("attached", ": no interpreter may be run: no shell authority\n"))
		return -1;
	agent_end(&s, SIGKILL);
	if (write_policy(&s, "  - {allow: [read, interp], on: [/usr/bin/dash]}\n") ||
	    agent_start(&s) || status_says("edited", ": no interpreter may be run"))
		return -1;
	CHECK(reload() == 0, "reload failed");
	if (status_says("reloaded", ": shell authority: /usr/bin/dash (shell)\n"))
		return -1;
	CHECK(run_printing(json, text, sizeof(text)) == 0 &&
		      strstr(text, "\"path\": \"/usr/bin/dash\"") &&
		      strstr(text, "\"kind\": \"shell\"") &&
		      strstr(text, "\"file\": \"/run/edited.yaml\""),
	      "status --json: %s", text);
	CHECK(detach(&s) == 0, "detach failed");
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

	if (scene_init(&s, "plain") || provider_start(&s, "poll", "1") || began_open(&s) ||
	    agent_start(&s))
		return -1;
	CHECK(pipe2(ends, O_CLOEXEC) == 0, "no pipe");
	pid = start(argv, ends[1]);
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
	CHECK(attach(&s) != 0, "attached the root of all cgroups");
	free(s.cgroup);
	s.cgroup = NULL;
	return 0;
}

static int run_inside(struct scene *s, const char *policy, const char *file, char *line,
		      size_t size)
{
	const char *const argv[] = {"bulkhead", "run",	  policy, "--var", s->var, "--",
				    s->probe,	"--deny", "13",	  "read",  file,   NULL};

	return run_printing(argv, line, size);
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
	status = run_printing(argv, line, sizeof(line));
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
		pids[i] = start(argv, -1);
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
		r = run_printing(argv, text, size);
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

	if (scene_init(&s, "report") || provider_start(&s, "poll", "1") || began_open(&s) ||
	    agent_start(&s))
		return -1;
	CHECK(attach(&s) == 0, "attach failed");
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
	CHECK(detach(&s) == 0, "detach failed");
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

/* --- mounts that came after the policy --- */

#define NEW FIXTURE "/open/new"	    /* a filesystem that the view does not know */
#define BOUND FIXTURE "/open/bound" /* FIXTURE_WORK, which no rule lets read */
#define LEARN_MS 15000
#define LEARN_STEP_MS 10
#define RENEW_MS 1000 /* what renewals of a view are apart, at least */

__attribute__((noreturn)) static int stays(void *data _unused_)
{
	close_range(3, ~0u, 0);
	for (;;)
		pause();
}

static int opens(void *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? errno : 0;
}

static int open_in(const char *cgroup, const char *path)
{
	_cleanup_close_ int fd = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pid_t pid = fd < 0 ? -1 : cell_spawn(NULL, fd, opens, (void *)path);

	return pid < 0 ? VERB_BROKEN + errno : cell_wait(pid);
}

static int put(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	CHECK(fd >= 0, "%s: %s", path, strerror(errno));
	close(fd);
	return 0;
}

static int mount_new(void)
{
	CHECK(mount("none", NEW, "tmpfs", 0, NULL) == 0, "tmpfs: %s", strerror(errno));
	CHECK(mount(FIXTURE_WORK, BOUND, NULL, MS_BIND, NULL) == 0, "bind: %s", strerror(errno));
	return put(NEW "/file") || put(NEW "/denied") || put(BOUND "/denied") ? -1 : 0;
}

static int entry_of(struct kern *kern, const char *cgroup, __u32 *ret_id,
		    struct bh_compartment *ret)
{
	__u64 number;

	CHECK(kern_cgroup_id(cgroup, &number) == 0 && kern_cgroup_get(kern, number, ret_id) == 0 &&
		      kern_compartment_get(kern, *ret_id, ret) == 0,
	      "no compartment");
	return 0;
}

static int unsure_of(struct kern *kern, __u32 id, __u64 *ret)
{
	struct bh_tally tally;

	CHECK(kern_tally(kern, id, &tally) == 0, "no tally");
	*ret = tally.unsure;
	return 0;
}

/* Refused at first, the bind by the place that it stands for. How often it was undecided until it opened. */
static int wait_learnt(struct scene *s, struct kern *kern, __u32 id, __u64 *ret_unsure)
{
	__u64 refused = 0;
	int r = open_in(s->cgroup, BOUND "/file"), ms;

	CHECK(r == EACCES, "bound, not learnt: %s", outcome_text(r));
	if (unsure_of(kern, id, ret_unsure))
		return -1;
	CHECK(*ret_unsure == 0, "undecided before anything was asked for");
	for (ms = 0; ms < LEARN_MS; ms += LEARN_STEP_MS, refused++) {
		r = open_in(s->cgroup, NEW "/file");
		if (r == 0)
			break;
		CHECK(r == EACCES, "mounted, not learnt: %s", outcome_text(r));
		usleep(LEARN_STEP_MS * 1000);
	}
	CHECK(r == 0, "mounted, not learnt in %d ms", LEARN_MS);
	if (unsure_of(kern, id, ret_unsure))
		return -1;
	CHECK(refused > 0 && *ret_unsure == refused, "%llu refusals, %llu undecided",
	      (unsigned long long)refused, (unsigned long long)*ret_unsure);
	return 0;
}

/* What is denied there is denied by the new names as well, and of what the bind stands for. */
static int check_judged(struct scene *s)
{
	static const struct {
		const char *path;
		int result;
	} rows[] = {
		{BOUND "/file", 0},	   {NEW "/denied", EACCES},
		{BOUND "/denied", EACCES}, {FIXTURE_WORK "/denied", EACCES},
		{FIXTURE_WORK "/file", 0}, {FIXTURE_SECRET, EACCES},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int r = open_in(s->cgroup, rows[i].path);

		CHECK(r == rows[i].result, "%s, learnt: %s", rows[i].path, outcome_text(r));
	}
	return 0;
}

/* Of this compartment alone: other cases' events are more than a pipe holds. They come a little later. */
static int check_told(void)
{
	static const char *const events[] = {
		"sh", "-c", "bulkhead events | grep ' edited ' | tail -n 100", NULL};
	static char text[1 << 16];

	for (int i = 0; i < 25; i++) {
		CHECK(run_printing(events, text, sizeof(text)) == 0, "no events");
		if (strstr(text, "a filesystem the policy's view does not know") &&
		    strstr(text, NEW "/denied"))
			return 0;
		usleep(200 * 1000);
	}
	return case_fail("events: %.400s", text);
}

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

/* Many refusals make few renewals. */
static int check_learnt(struct scene *s, struct kern *kern)
{
	struct bh_compartment before, after;
	__u64 unsure = 0, later = 0;
	long long began = now_ms();
	__u32 id;

	if (entry_of(kern, s->cgroup, &id, &before) || wait_learnt(s, kern, id, &unsure) ||
	    check_judged(s) || unsure_of(kern, id, &later) ||
	    entry_of(kern, s->cgroup, &id, &after))
		return -1;
	CHECK(later == unsure, "undecided although it is learnt");
	CHECK(after.generation > before.generation &&
		      after.generation - before.generation <= 2 + (now_ms() - began) / RENEW_MS,
	      "%u renewals in %lld ms, of %llu refusals", after.generation - before.generation,
	      now_ms() - began, (unsigned long long)unsure);
	return check_told();
}

static int learn_mounts(struct scene *s, struct kern *kern)
{
	int r;

	CHECK(mkdir(NEW, 0755) == 0 && mkdir(BOUND, 0755) == 0, "no places");
	CHECK(attach(s) == 0, "attach failed");
	r = open_in(s->cgroup, FIXTURE_OPEN);
	CHECK(r == 0, "control: %s", outcome_text(r));
	r = mount_new();
	if (r == 0)
		r = check_learnt(s, kern);
	CHECK(detach(s) == 0, "detach failed");
	if (r)
		return r;
	/* The control of what is denied, and of the cgroup: nothing else refuses it. */
	r = open_in(s->cgroup, NEW "/denied");
	CHECK(r == 0, "control, detached: %s", outcome_text(r));
	return 0;
}

/* What the host mounts is refused until the agent has seen it, and then judged by the rules there. */
static int case_learnt_mounts(struct kern *kern)
{
	_cleanup_scene_ struct scene s = {};
	int r;

	if (scene_init(&s, "plain") ||
	    write_policy(&s, "  - {deny: [read], on: [\"" FIXTURE "/open/**/denied\"]}\n"))
		return -1;
	s.provider = cell_spawn(NULL, -1, stays, NULL);
	CHECK(s.provider > 0 && cell_move(s.cgroup, s.provider) == 0, "no provider");
	if (agent_start(&s))
		return -1;
	r = learn_mounts(&s, kern);
	umount2(NEW, MNT_DETACH);
	umount2(BOUND, MNT_DETACH);
	return r;
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
	{"agent/learnt-mounts", case_learnt_mounts, CASE_REFUSES},
	{"agent/held-descriptor", case_held_descriptor, CASE_ALLOWS},
	{"agent/revoked-descriptor", case_revoked_descriptor, CASE_REFUSES},
	{"agent/authority", case_authority, CASE_ALLOWS},
	{"agent/stuck", case_stuck, CASE_ALLOWS},
	{"agent/caller", case_caller, CASE_ALLOWS},
	{},
};

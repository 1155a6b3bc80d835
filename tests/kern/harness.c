// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <linux/bpf.h>
#include <linux/sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "compart/compart.h"
#include "compart/pins.h"

static const struct rule usual_rules[] = {
	{.effect = RULE_ALLOW, .perms = BH_PERM_READ, .glob = (char *)FIXTURE "/open/**"},
	{.effect = RULE_ALLOW,
	 .perms = BH_PERM_READ | BH_PERM_WRITE | BH_PERM_APPEND | BH_PERM_CREATE | BH_PERM_DELETE |
		  BH_PERM_ATTRIBUTES | BH_PERM_LINK,
	 .glob = (char *)FIXTURE "/work/**"},
	{.effect = RULE_ALLOW, .perms = BH_PERM_INTERP | BH_PERM_READ, .glob = (char *)"/usr/**"},
	{.effect = RULE_QUIET, .perms = BH_PERM_READ, .glob = (char *)FIXTURE "/quiet/**"},
};

unsigned int harness_rounds = 10000;

static bool detached; /* harness_detach was called */

int harness_hurry(bool yes)
{
	_cleanup_close_ int fd = open("/sys/kernel/rcu_expedited", O_WRONLY | O_CLOEXEC);

	return fd < 0 || write(fd, yes ? "1" : "0", 1) < 0 ? -errno : 0;
}

/* --- fixture --- */

static int remove_entry(const char *path, const struct stat *st _unused_, int flag _unused_,
			struct FTW *ftw _unused_)
{
	return remove(path);
}

static int put_file(const char *path, const char *text, mode_t mode)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	if (fd < 0 || write(fd, text, strlen(text)) < 0 || fchmod(fd, mode) < 0)
		return -errno;
	return 0;
}

int fixture_make(void)
{
	static const char *const dirs[] = {"/srv",
					   FIXTURE,
					   FIXTURE "/open",
					   FIXTURE "/work",
					   FIXTURE "/secret",
					   FIXTURE "/secret/sub",
					   FIXTURE "/work/sub",
					   FIXTURE "/quiet"};
	static const struct {
		const char *path, *text;
		mode_t mode;
	} files[] = {
		{FIXTURE_SECRET, "synthetic secret\n", 0600},
		{FIXTURE_OPEN, "open\n", 0644},
		{FIXTURE "/open/script", "#!/usr/bin/env sh\nexit 0\n", 0755},
		{FIXTURE "/work/file", "work\n", 0644},
		{FIXTURE "/work/script", "#!/usr/bin/sh\nexit 0\n", 0755},
		{FIXTURE "/quiet/file", "quiet\n", 0644},
	};
	size_t i;

	nftw(FIXTURE, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	for (i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (mkdir(dirs[i], 0755) < 0 && errno != EEXIST)
			return -errno;
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (put_file(files[i].path, files[i].text, files[i].mode) < 0)
			return -errno;
	if (symlink("../secret/key", FIXTURE "/open/link") < 0)
		return -errno;
	return 0;
}

/* --- the maps' memory --- */

#define MAPS_PARENT "/sys/fs/cgroup"
#define MAPS_CGROUP MAPS_PARENT "/kern-tests-maps"

static int put_text(const char *path, const char *text)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

int harness_open(struct kern **ret, struct error *error)
{
	_cleanup_free_ char *home = NULL;
	int r;

	if (put_text(MAPS_PARENT "/cgroup.subtree_control", "+memory") < 0 ||
	    (mkdir(MAPS_CGROUP, 0755) < 0 && errno != EEXIST) ||
	    cgroup_of_pid(getpid(), &home) < 0 || cell_move(MAPS_CGROUP, getpid()) < 0)
		return error_set(error, EIO, MAPS_CGROUP ": cannot be entered: %m");
	r = kern_open(ret, error);
	/* Cases count their events one by one; those of folding switch it on. */
	if (r == 0)
		kern_fold_switch(*ret, 0);
	if (cell_move(home, getpid()) < 0)
		return error_set(error, EIO, "%s: cannot be entered again", home);
	return r;
}

int harness_limit_maps(const char *limit)
{
	return put_text(MAPS_CGROUP "/memory.max", limit);
}

/* --- cells --- */

static int on_event(const struct bh_event *event, size_t size, void *data)
{
	struct cell *cell = data;
	struct bh_event_copy *copy;
	size_t tail = size - sizeof(*event);

	if (event->compartment != cell->id)
		return 0;
	if (cell->nevents == cell->events_size) {
		size_t room = cell->events_size ? 2 * cell->events_size : 64;
		void *bigger = realloc(cell->events, room * sizeof(*cell->events));

		if (!bigger)
			return -ENOMEM;
		cell->events = bigger;
		cell->events_size = room;
	}
	copy = &cell->events[cell->nevents++];
	memset(copy, 0, sizeof(*copy));
	memcpy(&copy->head, event, sizeof(copy->head));
	memcpy(copy->tail, event->tail, tail < sizeof(copy->tail) ? tail : sizeof(copy->tail) - 1);
	return 0;
}

static int complain(struct error *error, const char *what, int r)
{
	fprintf(stderr, "harness: %s: %s %s\n", what, strerror(-r), error ? error->text : "");
	return r;
}

static const struct cell_options usual_options;

/* As the agent does: with sandboxes, what members mount as procfs is judged as /proc. */
static int compile(const struct rule *rules, size_t n, const struct mounts *mounts, bool nested,
		   struct automaton *ret, struct error *error)
{
	_cleanup_free_ struct mount_view *views = calloc(mounts->n + 1, sizeof(*views));

	if (!views)
		return -ENOMEM;
	memcpy(views, mounts->views, mounts->n * sizeof(*views));
	views[mounts->n] =
		(struct mount_view){.sbid = BH_SBID_OWN_PROC, .root = "/", .point = "/proc"};
	return automaton_compile(rules, n, views, mounts->n + nested, ret, error);
}

int cell_policy(struct cell *cell, const struct cell_options *options)
{
	const struct cell_options *o = options ? options : &usual_options;
	const struct rule *rules = o->rules ? o->rules : usual_rules;
	size_t n = o->rules ? o->nrules : sizeof(usual_rules) / sizeof(usual_rules[0]);
	const pid_t self = getpid();
	struct automaton automaton = {};
	struct mounts mounts = {};
	struct error error = {};
	int r;

	r = mounts_read(cell->kern, &self, 1, &mounts, &error);
	if (r < 0)
		return complain(&error, "mounts", r);
	r = compile(rules, n, &mounts, o->flags & BH_POLICY_NESTED, &automaton, &error);
	automaton.head.caps = o->caps;
	automaton.head.flags = o->flags;
	if (r == 0)
		r = kern_policy_install(cell->kern, &automaton, &cell->generation, &error);
	if (r == 0)
		r = pins_take(cell->kern, rules, n, &mounts, cell->generation, &error);
	if (r == 0 && o->nports)
		r = kern_ports_set(cell->kern, cell->generation, o->ports, o->nports);
	automaton_done(&automaton);
	mounts_done(&mounts);
	return r < 0 ? complain(&error, "install", r) : 0;
}

static int cell_cgroups(struct cell *cell)
{
	static unsigned int serial;
	struct error error = {};
	char name[48];
	int r;

	snprintf(name, sizeof(name), "test-%d-%u", getpid(), ++serial);
	r = cgroup_own_create(name, &cell->cgroup, &error);
	if (r < 0)
		return complain(&error, "cgroup", r);
	snprintf(name, sizeof(name), "test-%d-%u-out", getpid(), serial);
	r = cgroup_own_create(name, &cell->beside, &error);
	if (r < 0)
		return complain(&error, "cgroup", r);
	cell->cgroup_fd = open(cell->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cell->beside_fd = open(cell->beside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return kern_cgroup_id(cell->cgroup, &cell->cgroup_id);
}

static int cell_enforce(struct cell *cell, const struct cell_options *o)
{
	struct bh_compartment entry;
	struct error error = {};
	int r;

	r = kern_compartment_new(cell->kern, &cell->id);
	if (r == 0)
		r = kern_compartment_get(cell->kern, cell->id, &entry);
	if (r < 0)
		return complain(NULL, "compartment", r);
	entry.state = BH_STATE_ENFORCED;
	entry.generation = cell->generation;
	entry.mode = o->mode;
	entry.tally = cell->id;
	r = kern_compartment_set(cell->kern, cell->id, &entry);
	if (r == 0)
		r = kern_cgroup_set(cell->kern, cell->cgroup_id, cell->id, 0);
	if (r == 0 && !detached)
		r = kern_egress_attach(cell->kern, cell->cgroup, cell->cgroup_id, cell->id, &error);
	return r < 0 ? complain(&error, "enforce", r) : 0;
}

struct cell *cell_new(struct kern *kern, const struct cell_options *options)
{
	struct cell *cell = calloc(1, sizeof(*cell));
	const struct cell_options *o = options ? options : &usual_options;
	int r;

	if (!cell)
		return NULL;
	cell->kern = kern;
	cell->owned = true;
	cell->cgroup_fd = cell->beside_fd = -1;
	r = fixture_make();
	if (r < 0)
		complain(NULL, "fixture", r);
	if (r == 0)
		r = cell_cgroups(cell);
	if (r == 0)
		r = cell_policy(cell, o);
	if (r == 0)
		r = cell_enforce(cell, o);
	if (r == 0)
		r = kern_ring_open(kern, on_event, cell, &cell->ring);
	if (r < 0) {
		cell_free(cell);
		return NULL;
	}
	cell_drain(cell);
	return cell;
}

struct cell *cell_adopt(struct kern *kern, __u32 id, const char *cgroup, const char *name)
{
	char beside[64];
	struct cell *cell = calloc(1, sizeof(*cell));
	struct error error = {};

	if (!cell)
		return NULL;
	snprintf(beside, sizeof(beside), "%s-out", name);
	cell->kern = kern;
	cell->id = id;
	cell->cgroup = strdup(cgroup);
	cell->beside_fd = -1;
	cell->cgroup_fd = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (kern_cgroup_id(cgroup, &cell->cgroup_id) < 0 ||
	    cgroup_own_create(beside, &cell->beside, &error) < 0 ||
	    kern_ring_open(kern, on_event, cell, &cell->ring) < 0) {
		complain(&error, "adopt", -errno);
		cell_free(cell);
		return NULL;
	}
	cell->beside_fd = open(cell->beside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return cell;
}

static void drop_cgroup(char *path)
{
	if (!path)
		return;
	cgroup_kill(path, HARNESS_DEADLINE_MS, NULL);
	cgroup_remove(path);
	free(path);
}

void cell_free(struct cell *cell)
{
	if (!cell)
		return;
	if (cell->owned) {
		if (cell->cgroup)
			cgroup_kill(cell->cgroup, HARNESS_DEADLINE_MS, NULL);
		if (cell->cgroup_id) {
			kern_egress_detach(cell->kern, cell->cgroup_id);
			kern_cgroup_unset(cell->kern, cell->cgroup_id);
		}
		drop_cgroup(cell->cgroup);
		if (cell->id)
			kern_compartment_free(cell->kern, cell->id);
		if (cell->generation)
			kern_policy_remove(cell->kern, cell->generation);
	} else {
		free(cell->cgroup);
	}
	drop_cgroup(cell->beside);
	cleanup_closep(&cell->cgroup_fd);
	cleanup_closep(&cell->beside_fd);
	if (cell->ring)
		kern_ring_close(cell->ring);
	free(cell->events);
	free(cell);
}

/* --- processes --- */

pid_t cell_spawn(struct cell *cell _unused_, int cgroup_fd, cell_fn fn, void *data)
{
	struct clone_args args = {.flags = cgroup_fd >= 0 ? CLONE_INTO_CGROUP : 0,
				  .exit_signal = SIGCHLD,
				  .cgroup = cgroup_fd >= 0 ? cgroup_fd : 0};
	pid_t pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		_exit(fn(data));
	return pid;
}

static int wait_input(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int r;

	do
		r = poll(&p, 1, ms);
	while (r < 0 && errno == EINTR);
	return r;
}

int cell_wait(pid_t pid)
{
	return cell_wait_ms(pid, HARNESS_DEADLINE_MS, true);
}

int cell_wait_ms(pid_t pid, int ms, bool end)
{
	_cleanup_close_ int pidfd = syscall(SYS_pidfd_open, pid, 0);
	int status;

	if (pidfd < 0 || wait_input(pidfd, ms) <= 0) {
		if (end) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
		}
		return VERB_BROKEN + ETIMEDOUT;
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : VERB_BROKEN + ECHILD;
}

struct call {
	cell_fn fn;
	void *data;
	int out;
};

/* glibc caches no pid, but a child must not run what belongs to the parent: _exit alone. */
static int run_call(void *data)
{
	struct call *call = data;
	int r = call->fn(call->data);

	return write(call->out, &r, sizeof(r)) != sizeof(r);
}

int cell_call(struct cell *cell, enum where where, cell_fn fn, void *data)
{
	_cleanup_close_ int in = -1;
	struct call call = {fn, data, -1};
	int ends[2], r = VERB_BROKEN + ECHILD;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return VERB_BROKEN + errno;
	in = ends[0];
	call.out = ends[1];
	pid = cell_spawn(cell, where == INSIDE ? cell->cgroup_fd : cell->beside_fd, run_call,
			 &call);
	close(ends[1]);
	if (pid < 0)
		return VERB_BROKEN + errno;
	if (wait_input(in, HARNESS_DEADLINE_MS) <= 0) {
		cgroup_kill(where == INSIDE ? cell->cgroup : cell->beside, HARNESS_DEADLINE_MS,
			    NULL);
		r = VERB_BROKEN + ETIMEDOUT;
	} else if (read(in, &r, sizeof(r)) != sizeof(r)) {
		r = VERB_BROKEN + ECHILD;
	}
	cell_wait(pid);
	return r;
}

struct words {
	int argc;
	char **argv;
};

static int run_words(void *data)
{
	struct words *words = data;

	return verb_run(words->argc, words->argv);
}

int cell_verbv(struct cell *cell, enum where where, int argc, char **argv)
{
	struct words words = {argc, argv};

	return cell_call(cell, where, run_words, &words);
}

int cell_verb(struct cell *cell, enum where where, ...)
{
	char *argv[16];
	int argc = 0;
	va_list ap;

	va_start(ap, where);
	while (argc < 16 && (argv[argc] = va_arg(ap, char *)))
		argc++;
	va_end(ap);
	return cell_verbv(cell, where, argc, argv);
}

int cell_move(const char *cgroup, pid_t pid)
{
	char path[512];
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 || dprintf(fd, "%d", pid) < 0 ? -errno : 0;
}

int cell_settle(struct cell *cell)
{
	struct bh_task_query query = {
		.cgroup_id = cell->cgroup_id, .compartment = cell->id, .label = true};
	_cleanup_free_ struct bh_task *tasks = NULL;
	__u32 amount = kern_ask_read(cell->kern);
	struct error error = {};
	size_t n;
	int r;

	r = kern_tasks(cell->kern, &query, &tasks, &n, &error);
	if (r < 0)
		return complain(&error, "tasks", r);
	return amount ? kern_ask_lower(cell->kern, amount) : 0;
}

int cell_set_state(struct cell *cell, enum bh_state state)
{
	struct bh_compartment entry;
	int r = kern_compartment_get(cell->kern, cell->id, &entry);

	entry.state = state;
	return r < 0 ? r : kern_compartment_set(cell->kern, cell->id, &entry);
}

/* --- counters and events --- */

void cell_drain(struct cell *cell)
{
	if (cell->ring)
		while (kern_ring_consume(cell->ring) > 0)
			continue;
}

const struct bh_event_copy *cell_event(struct cell *cell, size_t from, enum bh_hook hook)
{
	size_t i;

	for (i = cell->nevents; i > from; i--)
		if (cell->events[i - 1].head.hook == hook)
			return &cell->events[i - 1];
	return NULL;
}

struct bh_tally cell_tally(struct cell *cell)
{
	struct bh_tally tally = {};

	if (cell->kern)
		kern_tally(cell->kern, cell->id, &tally);
	return tally;
}

/* --- cases --- */

static char why[256];
static unsigned int passed, failures, skipped;

static void say_why(const char *format, va_list ap)
{
	vsnprintf(why, sizeof(why), format, ap);
}

int case_fail(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	say_why(format, ap);
	va_end(ap);
	return -1;
}

int case_skip(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	say_why(format, ap);
	va_end(ap);
	return 1;
}

static char **selected;
static int nselected;
static bool left_out;

void case_select(int n, char **names, bool all_but)
{
	nselected = n;
	selected = names;
	left_out = all_but;
}

bool case_wanted(const char *name)
{
	int i;

	for (i = 0; i < nselected; i++)
		if (!strncmp(name, selected[i], strlen(selected[i])))
			return !left_out;
	return left_out || nselected == 0;
}

/* What took less is no news. */
#define TELL_MS 500

static struct timespec case_begun;

void case_begin(void)
{
	clock_gettime(CLOCK_MONOTONIC, &case_begun);
}

static void tell_time(const char *name)
{
	struct timespec now;
	long ms;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ms = (now.tv_sec - case_begun.tv_sec) * 1000 + (now.tv_nsec - case_begun.tv_nsec) / 1000000;
	if (ms >= TELL_MS)
		printf("# %s took %ld.%ld s\n", name, ms / 1000, ms % 1000 / 100);
}

void case_report(const char *name, int r, bool mutate)
{
	if (r > 0) {
		skipped++;
		printf("skip %s %s\n", name, why);
	} else if ((r == 0) == mutate) {
		failures++;
		printf("not ok %s %s\n", name,
		       mutate ? "passes although no program is attached" : why);
	} else {
		passed++;
		printf("ok %s%s%s\n", name, mutate ? " # fails as it should: " : "",
		       mutate ? why : "");
	}
	tell_time(name);
	fflush(stdout);
}

int case_end(const char *suite)
{
	printf("end %s %u %u %u\n", suite, passed, failures, skipped);
	return failures != 0;
}

const char *outcome_text(int r)
{
	static char text[2][64];
	static int turn;
	char *t = text[turn++ & 1];

	if (r == 0)
		snprintf(t, sizeof(text[0]), "went through");
	else if (r >= VERB_BROKEN)
		snprintf(t, sizeof(text[0]), "could not be tried: %s", strerror(r - VERB_BROKEN));
	else
		snprintf(t, sizeof(text[0]), "%s", strerrorname_np(r) ? strerrorname_np(r) : "?");
	return t;
}

/* --- mutation --- */

static int bpf(int command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* Numbers of the programs behind links that are taken away. */
static __u32 taken[2 * BH_HOOK_COUNT];
static size_t ntaken;

/* Not of a pin that is none of a link. */
static __u32 program_of_link(const char *path)
{
	struct bpf_link_info info = {};
	union bpf_attr attr = {.pathname = (unsigned long)path};
	_cleanup_close_ int fd = bpf(BPF_OBJ_GET, &attr);

	attr = (union bpf_attr){
		.info = {.bpf_fd = fd, .info_len = sizeof(info), .info = (unsigned long)&info}};
	return fd >= 0 && bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) == 0 ? info.prog_id : 0;
}

static int take_link(const char *path, const struct stat *st _unused_, int flag,
		     struct FTW *ftw _unused_)
{
	if (flag == FTW_F && ntaken < sizeof(taken) / sizeof(taken[0]))
		taken[ntaken++] = program_of_link(path);
	return remove(path);
}

static bool program_lives(__u32 id)
{
	union bpf_attr attr = {.prog_id = id};
	_cleanup_close_ int fd = bpf(BPF_PROG_GET_FD_BY_ID, &attr);

	return fd >= 0;
}

static int remove_pin(const char *path, const struct stat *st _unused_, int flag,
		      struct FTW *ftw _unused_)
{
	return flag == FTW_F ? remove(path) : 0;
}

/*
 * Nobody holds links but their pins. The kernel takes the programs out of the hooks one after
 * another, later, and frees each when nothing can run it any more: seconds under emulation.
 */
int harness_detach(struct kern *kern _unused_)
{
	int r, ms = 0;
	size_t i;

	r = nftw(KERN_PIN_DIR "/links", take_link, 16, FTW_DEPTH | FTW_PHYS);
	nftw(KERN_PIN_DIR "/recheck-links", take_link, 16, FTW_DEPTH | FTW_PHYS);
	nftw(KERN_PIN_DIR "/egress", remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	/* What is attached when it is needed finds nothing to attach. */
	mkdir(KERN_PIN_DIR "/rechecks/revoked", 0700);
	mkdir(KERN_PIN_DIR "/rechecks/append", 0700);
	nftw(KERN_PIN_DIR "/rechecks", remove_pin, 16, FTW_PHYS);
	for (i = 0; i < ntaken; i++)
		for (; taken[i] && program_lives(taken[i]) && ms < 60000; ms++)
			usleep(1000);
	detached = true;
	return r < 0 || ms >= 60000 ? -EBUSY : 0;
}

bool harness_is_detached(void)
{
	return detached;
}

void harness_remove(void)
{
	nftw(KERN_PIN_DIR, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

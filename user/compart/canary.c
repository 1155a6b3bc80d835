// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Proof that hooks refuse on this kernel, now: programs load and attach where they never run (no
 * "bpf" among the active LSMs), so only a refused system call that was also counted proves a hook.
 *
 * A child is put into a scratch compartment (own cgroup, id, policy and directory) and makes one
 * attempt a hook. The way in is the outsider's usual one, a move into an armed subtree. Takes no
 * lock: the caller holds kern_lock, or is alone. Leaves nothing behind, on any path.
 */
#include "canary.h"
#include "compart.h"
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "audit/names.h"
#include "base/cleanup.h"

/* The whole run. Milliseconds natively, some tenths of a second under emulation. */
/* Milliseconds natively; seconds under emulation on a busy host. The subtree is frozen meanwhile.
 */
#define CANARY_DEADLINE_MS 20000

struct canary {
	struct kern *kern;
	struct canary_stage stage;
	struct canary_result *results;
	struct bh_tally before, after;
	char *cgroup_path;
	__u64 cgroup_id;
	__u32 compartment, generation;
	__u64 serial;
	bool armed; /* cgroup entry and egress programs exist */
	pid_t child;
	int go;	     /* end of file starts the child */
	int records; /* what it reports */
	int release; /* end of file lets its grandchild go */
	struct timespec deadline;
	struct error *error;
};

static int ms_left(const struct canary *c)
{
	struct timespec now;
	long long ms;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ms = (c->deadline.tv_sec - now.tv_sec) * 1000LL +
	     (c->deadline.tv_nsec - now.tv_nsec) / 1000000;
	return ms > 0 ? (int)ms : 0;
}

static int fail(struct canary *c, int code, const char *what)
{
	return error_set(c->error, code, "canary: %s: %s", what, strerror(code));
}

static struct canary_result *result_of(struct canary *c, enum bh_hook hook)
{
	return &c->results[hook];
}

static void note(struct canary_result *result, const char *text)
{
	snprintf(result->note, sizeof(result->note), "%s", text);
}

/* --- the stage: what attempts work on --- */

#define CANARY_NAME_SIZE 8

static const char *const stage_names[] = {"secret", "open", "held", "log", "fresh", "sub"};

static void stage_remove_dir(const char *dir)
{
	_cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t i;

	if (fd < 0)
		return;
	for (i = 0; i < sizeof(stage_names) / sizeof(stage_names[0]); i++)
		if (unlinkat(fd, stage_names[i], 0) < 0)
			unlinkat(fd, stage_names[i], AT_REMOVEDIR);
	rmdir(dir);
}

static void stage_close(struct canary_stage *s)
{
	int *const fds[] = {&s->secret_fd,    &s->open_fd,	 &s->inet,     &s->born4,
			    &s->born6,	      &s->listener,	 &s->receiver, &s->cgroup,
			    &s->results,      &s->release,	 &s->held,     &s->held_pair[0],
			    &s->held_pair[1], &s->held_listener, &s->log_fd};
	size_t i;

	for (i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		cleanup_closep(fds[i]);
	if (s->dir[0])
		stage_remove_dir(s->dir);
}

static int make_file(const char *path, int flags)
{
	return open(path, flags | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

/* Room was checked: the longest name has CANARY_NAME_SIZE bytes with its slash and NUL. */
static void name_in(const struct canary_stage *s, const char *name, char *ret)
{
	stpcpy(stpcpy(stpcpy(ret, s->dir), "/"), name);
}

static int stage_make_files(struct canary *c)
{
	struct canary_stage *s = &c->stage;
	char template[] = KERN_RUN_DIR "/canary.XXXXXX", held[CANARY_PATH_SIZE];
	char real[PATH_MAX];

	if (mkdir(KERN_RUN_DIR, 0755) < 0 && errno != EEXIST)
		return fail(c, errno, "cannot create " KERN_RUN_DIR);
	if (!mkdtemp(template))
		return fail(c, errno, "cannot create a directory in " KERN_RUN_DIR);
	/* Rules speak of places, not of symlinks: /run may be one. */
	if (!realpath(template, real) || strlen(real) >= CANARY_PATH_SIZE - CANARY_NAME_SIZE) {
		rmdir(template);
		return fail(c, ENAMETOOLONG, KERN_RUN_DIR " stands too deep");
	}
	strcpy(s->dir, real);
	name_in(s, "secret", s->secret);
	name_in(s, "open", s->open);
	name_in(s, "log", s->log);
	name_in(s, "fresh", s->fresh);
	name_in(s, "sub", s->sub);
	s->secret_fd = make_file(s->secret, O_RDWR);
	s->open_fd = make_file(s->open, O_RDWR);
	name_in(s, "held", held);
	s->held = make_file(held, O_RDWR);
	s->log_fd = make_file(s->log, O_WRONLY | O_APPEND);
	/* Not a file of our own: /run is often mounted noexec, and then no hook is asked. */
	if (s->secret_fd < 0 || s->open_fd < 0 || s->held < 0 || s->log_fd < 0 ||
	    mkdir(s->sub, 0700) < 0 || !realpath("/bin/sh", s->program))
		return fail(c, errno, "cannot prepare scratch files");
	return 0;
}

/* A unix socket under an abstract name that the kernel chooses. */
static int make_unix(int type, struct canary_address *ret)
{
	_cleanup_close_ int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	ret->sun.sun_family = AF_UNIX;
	ret->length = sizeof(ret->sun);
	if (fd < 0 || bind(fd, (struct sockaddr *)&ret->sun, sizeof(ret->sun.sun_family)) < 0 ||
	    getsockname(fd, (struct sockaddr *)&ret->sun, &ret->length) < 0 ||
	    (type == SOCK_STREAM && listen(fd, 1) < 0))
		return -errno;
	return TAKE_FD(fd);
}

static int stage_make_sockets(struct canary *c)
{
	struct canary_stage *s = &c->stage;
	struct canary_address unused = {};

	s->listener = make_unix(SOCK_STREAM, &s->stream);
	s->receiver = make_unix(SOCK_DGRAM, &s->dgram);
	s->inet = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	s->held_listener = make_unix(SOCK_STREAM, &unused);
	if (s->listener < 0 || s->receiver < 0 || s->inet < 0 || s->held_listener < 0 ||
	    fcntl(s->held_listener, F_SETFL, O_NONBLOCK) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s->held_pair) < 0)
		return fail(c, errno, "cannot prepare scratch sockets");
	return 0;
}

/*
 * Sockets born in the cgroup. Their maker is cloned into it and shares our descriptors, so they are
 * ours when it is gone; it has no time to do anything else.
 */
static int stage_bear_sockets(struct canary *c)
{
	struct clone_args args = {.flags = CLONE_INTO_CGROUP | CLONE_FILES,
				  .exit_signal = SIGCHLD,
				  .cgroup = c->stage.cgroup};
	int *born;
	long pid;

	born = mmap(NULL, 2 * sizeof(*born), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		    0);
	if (born == MAP_FAILED)
		return fail(c, errno, "no memory");
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0) {
		born[0] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		born[1] = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		_exit(0);
	}
	if (pid > 0 && waitpid(pid, NULL, 0) == pid) {
		c->stage.born4 = born[0];
		c->stage.born6 = born[1];
	}
	munmap(born, 2 * sizeof(*born));
	if (c->stage.born4 < 0)
		return fail(c, pid < 0 ? errno : EIO, "cannot make sockets in the scratch cgroup");
	return 0;
}

static int stage_make_cgroup(struct canary *c)
{
	char name[sizeof("canary-") + 16];
	int r;

	snprintf(name, sizeof(name), "canary-%s", strrchr(c->stage.dir, '.') + 1);
	r = cgroup_own_create(name, &c->cgroup_path, c->error);
	if (r < 0)
		return r;
	r = kern_cgroup_id(c->cgroup_path, &c->cgroup_id);
	if (r < 0)
		return fail(c, -r, "cannot read the scratch cgroup's id");
	c->stage.cgroup = open(c->cgroup_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->stage.cgroup < 0)
		return fail(c, errno, "cannot open the scratch cgroup");
	return 0;
}

static int stage_make(struct canary *c)
{
	int r;

	c->stage.outsider = getpid();
	r = stage_make_files(c);
	if (r == 0)
		r = stage_make_sockets(c);
	if (r == 0)
		r = stage_make_cgroup(c);
	if (r == 0)
		r = stage_bear_sockets(c);
	return r;
}

/* --- the scratch compartment --- */

/* Nothing but reading one file, appending to one and opening one program; every capability but one, so that the hooks
 * behind capable are reached. */
static int install_policy(struct canary *c)
{
	const struct rule rules[] = {
		{.effect = RULE_ALLOW, .perms = BH_PERM_READ, .glob = c->stage.open},
		{.effect = RULE_ALLOW, .perms = BH_PERM_INTERP, .glob = c->stage.program},
		{.effect = RULE_ALLOW, .perms = BH_PERM_APPEND, .glob = c->stage.log},
	};
	/* The last needs a re-check, which is proved while it is attached, and not attached for this. */
	const size_t n = 2 + result_of(c, BH_HOOK_FILE_APPEND)->tried;
	const pid_t self = getpid();
	struct automaton automaton = {};
	struct mounts mounts = {};
	int r;

	r = mounts_read(c->kern, &self, 1, &mounts, c->error);
	if (r < 0)
		return r;
	r = automaton_compile(rules, n, mounts.views, mounts.n, &automaton, c->error);
	mounts_done(&mounts);
	if (r < 0)
		return r;
	automaton.head.caps = ~(1ULL << CAP_SYS_RESOURCE);
	r = kern_policy_install(c->kern, &automaton, &c->generation, c->error);
	automaton_done(&automaton);
	return r;
}

static int enforce(struct canary *c)
{
	struct bh_compartment entry;
	int r;

	r = kern_compartment_new(c->kern, &c->compartment);
	if (r < 0)
		return fail(c, -r, "no compartment id");
	r = kern_compartment_get(c->kern, c->compartment, &entry);
	if (r < 0)
		return fail(c, -r, "no compartment entry");
	c->serial = entry.serial;
	entry.generation = c->generation;
	entry.mode = BH_MODE_ENFORCE;
	entry.state = BH_STATE_ENFORCED;
	entry.tally = c->compartment;
	r = kern_compartment_set(c->kern, c->compartment, &entry);
	if (r < 0)
		return fail(c, -r, "cannot write the scratch compartment");
	c->armed = true;
	r = kern_cgroup_set(c->kern, c->cgroup_id, c->compartment, 0);
	if (r < 0)
		return cgroup_not_armed("the canary's scratch cgroup", r, c->error);
	return kern_egress_attach(c->kern, c->cgroup_path, c->cgroup_id, c->compartment, c->error);
}

/* While re-checks are attached, they are proved by what is revoked for the scratch compartment. */
static int hold(struct canary *c)
{
	const struct canary_stage *s = &c->stage;
	const int fds[] = {s->held, s->held_pair[0], s->held_listener};
	struct kern_held held[sizeof(fds) / sizeof(fds[0])];
	size_t i;

	if (!result_of(c, BH_HOOK_FILE_PERMISSION)->tried)
		return 0;
	for (i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		held[i] = (struct kern_held){.pid = getpid(), .tid = getpid(), .fd = fds[i]};
	return kern_revoke(c->kern, c->serial, held, i, c->error);
}

/* Files that nobody holds any more are forgotten, or their addresses would be refused of others. */
static int let_go(struct canary *c)
{
	__u32 n = 0;
	int r = kern_revoked(c->kern, c->serial, &n);

	if (!r && n)
		r = error_set(c->error, EPROTO,
			      "canary: %u open files were not forgotten when they were closed", n);
	kern_revoke_end(c->kern, c->serial);
	return r;
}

/* --- the child --- */

static void child_main(struct canary *c) __attribute__((noreturn));
static void child_main(struct canary *c)
{
	const struct canary_attempt *a;
	char byte;
	int error;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_DFL);
	/* End of file means that the caller gave up: nothing is tried out of the compartment. */
	if (read(c->go, &byte, 1) != 1)
		_exit(1);
	canary_report(&c->stage, BH_HOOK_NONE, canary_control(&c->stage));
	for (a = canary_attempts; a->hook != BH_HOOK_NONE; a++) {
		if (a->actor != CANARY_INSIDER || !c->results[a->hook].tried)
			continue;
		error = a->try(&c->stage);
		/* For TASK_ALLOC the grandchild reports; its maker only when there is none. */
		if (a->hook != BH_HOOK_TASK_ALLOC || error)
			canary_report(&c->stage, a->hook, error);
	}
	_exit(0);
}

/* Ends of pipes: what the child must not keep is closed in it, or no end of file ever comes. */
static int start_child(struct canary *c)
{
	int go[2] = {-1, -1}, records[2] = {-1, -1}, release[2] = {-1, -1};
	int r = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go) < 0 ||
	    pipe2(records, O_CLOEXEC) < 0 || pipe2(release, O_CLOEXEC) < 0)
		r = fail(c, errno, "no pipes");
	c->stage.results = records[1];
	c->stage.release = release[0];
	if (r == 0)
		c->child = fork();
	if (r == 0 && c->child < 0)
		r = fail(c, errno, "cannot fork");
	if (r == 0 && c->child == 0) {
		close(go[1]);
		close(records[0]);
		close(release[1]);
		c->go = go[0];
		child_main(c);
	}
	cleanup_closep(&go[0]);
	cleanup_closep(&c->stage.results);
	cleanup_closep(&c->stage.release);
	c->stage.results = c->stage.release = -1;
	c->go = go[1];
	c->records = records[0];
	c->release = release[1];
	return r;
}

static bool bears_label(struct canary *c, pid_t pid, int *ret)
{
	struct bh_task_query query = {.cgroup_id = c->cgroup_id, .compartment = c->compartment};
	_cleanup_free_ struct bh_task *tasks = NULL;
	size_t n = 0, i;

	*ret = kern_tasks(c->kern, &query, &tasks, &n, c->error);
	for (i = 0; *ret == 0 && i < n; i++)
		if (tasks[i].tid == (__u32)pid)
			return tasks[i].compartment == c->compartment;
	return false;
}

/*
 * The way in: a move by an outsider into the armed subtree. The kernel labels the leader and raises
 * `ask` by one for the threads it cannot label; the child has none, so it is lowered again at once.
 */
static int move_child(struct canary *c)
{
	struct canary_result *result = result_of(c, BH_HOOK_CGROUP_MOVE);
	_cleanup_close_ int procs = openat(c->stage.cgroup, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	__u32 ask = kern_ask_read(c->kern);
	int r;

	if (procs < 0 || dprintf(procs, "%d", c->child) < 0)
		return fail(c, errno, "cannot move the child into the scratch cgroup");
	result->refused = bears_label(c, c->child, &r);
	result->error = result->refused ? hook_errno(BH_HOOK_CGROUP_MOVE) : 0;
	if (kern_ask_read(c->kern) > ask && kern_ask_lower(c->kern, 1) < 0)
		return fail(c, EIO, "cannot lower ask");
	return r;
}

/* --- hearing and judging --- */

/* Which hooks are tried: those that this kernel has, and what the host can be asked for at all. */
static int choose(struct canary *c)
{
	const struct canary_attempt *a;
	enum kern_hook_state state;
	__u32 link_id;
	int r;

	for (a = canary_attempts; a->hook != BH_HOOK_NONE; a++) {
		r = kern_hook_state(c->kern, a->hook, &state, &link_id);
		if (r < 0)
			return fail(c, -r, hook_name(a->hook));
		if (state == KERN_HOOK_ABSENT)
			note(result_of(c, a->hook), "this kernel has no such hook");
		else if (state == KERN_HOOK_IDLE)
			note(result_of(c, a->hook), "nothing needs it");
		else if (c->stage.born6 < 0 &&
			 (a->hook == BH_HOOK_CONNECT6 || a->hook == BH_HOOK_SENDMSG6))
			note(result_of(c, a->hook), "this host has no IPv6");
		else
			result_of(c, a->hook)->tried = true;
	}
	result_of(c, BH_HOOK_NONE)->tried = true;
	return 0;
}

static int hear_one(struct canary *c, const struct canary_record *record, unsigned int *missing)
{
	struct canary_result *result;
	int r = 0;

	if (record->hook >= BH_HOOK_COUNT)
		return fail(c, EPROTO, "a record that makes no sense");
	result = result_of(c, record->hook);
	result->error = record->error;
	result->refused = record->error == hook_errno(record->hook);
	if (record->hook == BH_HOOK_TASK_ALLOC) {
		result->refused = record->error == hook_errno(BH_HOOK_FILE_OPEN) &&
				  bears_label(c, record->pid, &r);
		/* Looked at: the grandchild goes, and its maker goes on. */
		cleanup_closep(&c->release);
		c->release = -1;
	}
	(*missing)--;
	return r;
}

static int hear_child(struct canary *c, unsigned int missing)
{
	struct pollfd poll_records = {.fd = c->records, .events = POLLIN};
	struct canary_record record;
	ssize_t n;
	int r;

	while (missing > 0) {
		n = poll(&poll_records, 1, ms_left(c));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return error_set(c->error, ETIMEDOUT,
					 "canary: no answer from the scratch compartment in %d ms",
					 CANARY_DEADLINE_MS);
		n = read(c->records, &record, sizeof(record));
		if (n == 0)
			break; /* what is missing is judged as not refused */
		if (n != sizeof(record))
			return fail(c, EPROTO, "a torn record");
		r = hear_one(c, &record, &missing);
		if (r < 0)
			return r;
	}
	return 0;
}

static int make_attempts(struct canary *c)
{
	const struct canary_attempt *a;
	unsigned int insiders = 1; /* the control */
	struct canary_result *result;

	for (a = canary_attempts; a->hook != BH_HOOK_NONE; a++) {
		result = result_of(c, a->hook);
		insiders += a->actor == CANARY_INSIDER && result->tried;
		if (a->actor != CANARY_OUTSIDER || !result->tried)
			continue;
		result->error = a->try(&c->stage);
		result->refused = result->error == hook_errno(a->hook);
	}
	if (send(c->go, "", 1, MSG_NOSIGNAL) != 1)
		return fail(c, errno, "cannot start the child");
	return hear_child(c, insiders);
}

static void explain(struct canary_result *result)
{
	if (result->note[0] || !result->tried || (result->refused && result->counted))
		return;
	if (result->refused)
		note(result, "refused, but not by our program: its counter did not move");
	else if (result->error)
		snprintf(result->note, sizeof(result->note), "another errno: %s",
			 strerror(result->error));
	else
		note(result, "went through");
}

/* User namespaces that the host has switched off are refused before any hook is asked. */
static void excuse_userns(struct canary *c)
{
	struct canary_result *result = result_of(c, BH_HOOK_USERNS);

	if (result->tried && result->error == ENOSPC) {
		result->tried = false;
		note(result, "user.max_user_namespaces is 0: the kernel makes none");
	}
}

static int judge(struct canary *c)
{
	unsigned int bad = 0, first = 0, hook;
	struct canary_result *result;
	__u64 moved;

	excuse_userns(c);
	for (hook = BH_HOOK_NONE + 1; hook < BH_HOOK_COUNT; hook++) {
		result = result_of(c, hook);
		/* A child that inherits is no refusal of its own: its open is counted. */
		moved = hook == BH_HOOK_TASK_ALLOC ? c->after.hook[BH_HOOK_FILE_OPEN] -
							     c->before.hook[BH_HOOK_FILE_OPEN] - 1
						   : c->after.hook[hook] - c->before.hook[hook];
		result->counted = result->tried && moved > 0 && moved < (1ULL << 32);
		explain(result);
		if (!result->tried || (result->refused && result->counted))
			continue;
		if (!bad++)
			first = hook;
	}
	if (bad)
		return error_set(c->error, EPROTO,
				 "canary: %u of the hooks did not refuse, first %s: %s", bad,
				 hook_name(first), result_of(c, first)->note);
	if (c->results[BH_HOOK_NONE].error)
		return error_set(c->error, EPROTO,
				 "canary: what the scratch policy allows was refused: %s",
				 strerror(c->results[BH_HOOK_NONE].error));
	if (c->after.unsure != c->before.unsure)
		return error_set(c->error, EPROTO, "canary: %llu of the refusals were undecided",
				 (unsigned long long)(c->after.unsure - c->before.unsure));
	return 0;
}

static int run(struct canary *c)
{
	int r;

	r = stage_make(c);
	if (r == 0)
		r = choose(c);
	if (r == 0)
		r = install_policy(c);
	/* Before anything is armed: an armed subtree would judge the child's own beginnings. */
	if (r == 0)
		r = start_child(c);
	if (r == 0)
		r = enforce(c);
	if (r == 0)
		r = hold(c);
	if (r == 0)
		r = kern_tally(c->kern, c->compartment, &c->before);
	if (r == 0)
		r = move_child(c);
	if (r == 0)
		r = make_attempts(c);
	if (r == 0)
		r = kern_tally(c->kern, c->compartment, &c->after);
	return r == 0 ? judge(c) : r;
}

/* --- cleaning up --- */

static void reap_child(struct canary *c)
{
	struct pollfd end = {.fd = c->records, .events = POLLIN};
	char record[sizeof(struct canary_record)];

	/* End of file on the records: child and grandchild are gone of themselves. */
	while (c->records >= 0 && poll(&end, 1, ms_left(c)) > 0 &&
	       read(c->records, record, sizeof(record)) > 0)
		continue;
	kill(c->child, SIGKILL);
	if (c->cgroup_path)
		cgroup_kill(c->cgroup_path, CANARY_DEADLINE_MS, NULL);
	waitpid(c->child, NULL, 0);
}

static int clean_up(struct canary *c, int r)
{
	cleanup_closep(&c->go);
	cleanup_closep(&c->release);
	if (c->child > 0)
		reap_child(c);
	cleanup_closep(&c->records);
	if (c->armed) {
		kern_egress_detach(c->kern, c->cgroup_id);
		kern_cgroup_unset(c->kern, c->cgroup_id);
	}
	stage_close(&c->stage);
	if (c->serial) {
		int left = let_go(c);

		r = r ? r : left;
	}
	if (c->cgroup_path)
		cgroup_remove(c->cgroup_path);
	if (c->compartment)
		kern_compartment_free(c->kern, c->compartment);
	if (c->generation)
		kern_policy_remove(c->kern, c->generation);
	free(c->cgroup_path);
	return r;
}

int canary_run(struct kern *kern, struct canary_result *results, struct error *error)
{
	struct canary c = {.kern = kern, .results = results, .error = error};
	struct canary_stage *s = &c.stage;

	c.go = c.records = c.release = -1;
	s->secret_fd = s->open_fd = s->inet = s->born4 = s->born6 = -1;
	s->log_fd = s->held = s->held_pair[0] = s->held_pair[1] = s->held_listener = -1;
	s->listener = s->receiver = s->cgroup = s->results = s->release = -1;
	memset(results, 0, BH_HOOK_COUNT * sizeof(*results));
	clock_gettime(CLOCK_MONOTONIC, &c.deadline);
	c.deadline.tv_sec += CANARY_DEADLINE_MS / 1000;
	return clean_up(&c, run(&c));
}

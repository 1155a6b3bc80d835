// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* /proc/PID: whose is judged as /proc/self (proc: self, proc: compartment), and whose is nobody's. */
#include "harness.h"
#include "board.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "compart/compart.h"

#define MNT FIXTURE "/work/mnt"

static struct rule rules[] = {
	{.effect = RULE_ALLOW, .perms = BH_PERM_READ, .glob = (char *)"/proc/self/**"},
	{.effect = RULE_DENY, .perms = BH_PERM_READ, .glob = (char *)"/proc/self/limits"},
	{.effect = RULE_ALLOW,
	 .perms = BH_PERM_WRITE | BH_PERM_APPEND,
	 .glob = (char *)"/proc/self/{uid_map,gid_map,setgroups}"},
};
static const struct cell_options own = {.rules = rules, .nrules = 3, .flags = BH_POLICY_PROC_SELF};
static const struct cell_options peers = {
	.rules = rules, .nrules = 3, .flags = BH_POLICY_PROC_SELF | BH_POLICY_PROC_PEERS};

/* --- processes to be looked at --- */

__attribute__((noreturn)) static int waits(void *data _unused_)
{
	for (;;)
		pause();
}

/* Who was cloned into a cgroup bears its label from the first thing on that is judged. */
__attribute__((noreturn)) static int stays(void *data)
{
	struct board *board = data;

	close(open(FIXTURE_OPEN, O_RDONLY | O_CLOEXEC));
	board->done = 1;
	waits(NULL);
}

static pid_t spawn(struct cell *cell, int cgroup_fd)
{
	struct board *board = board_new();
	pid_t pid = board ? cell_spawn(cell, cgroup_fd, stays, board) : -1;

	if (pid > 0 && board_await(&board->done, 1) < 0)
		pid = -1;
	if (board)
		board_free(board);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	cell_wait(pid);
}

static int look(struct cell *cell, enum where where, const char *verb, pid_t pid, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return cell_verb(cell, where, verb, path, NULL);
}

/* A refusal by us, for this reason, told and counted. */
static int check_refused(struct cell *cell, const char *verb, pid_t pid, const char *name)
{
	const struct bh_event_copy *e;
	__u64 before, after;
	size_t from;
	int r;

	cell_drain(cell);
	from = cell->nevents;
	before = cell_tally(cell).hook[BH_HOOK_FILE_OPEN];
	r = look(cell, BESIDE, verb, pid, name);
	CHECK(r == 0, "control, %s: %s", name, outcome_text(r));
	r = look(cell, INSIDE, verb, pid, name);
	CHECK(r == EACCES, "%s: %s", name, outcome_text(r));
	cell_drain(cell);
	after = cell_tally(cell).hook[BH_HOOK_FILE_OPEN];
	e = cell_event(cell, from, BH_HOOK_FILE_OPEN);
	CHECK(after == before + 1, "%s: the counter moved by %llu", name,
	      (unsigned long long)(after - before));
	CHECK(e && e->head.reason == BH_REASON_PROC_OTHER, "%s: %s", name,
	      e ? reason_text(e->head.reason) : "no event");
	return 0;
}

static int check_open(struct cell *cell, const char *verb, pid_t pid, const char *name)
{
	int r = look(cell, INSIDE, verb, pid, name);

	cell_drain(cell);
	CHECK(r == 0, "%s: %s (%s)", name, outcome_text(r),
	      cell->nevents ? reason_text(cell->events[cell->nevents - 1].head.reason) : "-");
	return 0;
}

static int check(struct cell *cell, bool open, pid_t pid)
{
	static const char *const looks[][2] = {{"read", "status"}, {"read", "cmdline"},
					       {"read", "stat"},   {"read", "environ"},
					       {"read", "maps"},   {"list", "fd"},
					       {"list", "task"},   {"list", "map_files"},
					       {"read", "mounts"}};
	size_t i;

	for (i = 0; i < sizeof(looks) / sizeof(looks[0]); i++)
		if (open ? check_open(cell, looks[i][0], pid, looks[i][1])
			 : check_refused(cell, looks[i][0], pid, looks[i][1]))
			return -1;
	return 0;
}

/* --- who is one --- */

static int with_peer(struct kern *kern, const struct cell_options *options, bool open)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, options);
	_cleanup_cell_ struct cell *another = cell_new(kern, options);
	pid_t peer, outsider, foreign;
	int r;

	CHECK(cell && another, "no cells");
	peer = spawn(cell, cell->cgroup_fd);
	outsider = spawn(cell, cell->beside_fd);
	foreign = spawn(another, another->cgroup_fd);
	CHECK(peer > 0 && outsider > 0 && foreign > 0, "no processes");
	r = check(cell, open, peer);
	if (r == 0)
		r = check(cell, false, outsider);
	if (r == 0)
		r = check(cell, false, foreign);
	if (r == 0)
		r = check_refused(cell, "read", 1, "environ");
	/* Rules go on being asked: what they deny of /proc/self they deny of a peer's. */
	if (r == 0 && look(cell, INSIDE, "read", peer, "limits") != EACCES)
		r = case_fail("what a rule denies was read");
	end(peer);
	end(outsider);
	end(foreign);
	return r;
}

static int case_self(struct kern *kern)
{
	return with_peer(kern, &own, false);
}

static int case_compartment(struct kern *kern)
{
	return with_peer(kern, &peers, true);
}

/* Nothing can be mounted on these since 6.12, as on a name that is about to go; they are no file's older links, which
 * rules of a pattern take from. */
static int case_descriptors(struct kern *kern)
{
	static struct rule patterns[] = {
		{.effect = RULE_ALLOW, .perms = BH_PERM_READ, .glob = (char *)"/proc/self/**"},
		{.effect = RULE_DENY, .perms = BH_PERM_READ, .glob = (char *)"/**/*.env"},
	};
	const struct cell_options options = {
		.rules = patterns, .nrules = 2, .flags = BH_POLICY_PROC_SELF};
	_cleanup_cell_ struct cell *cell = cell_new(kern, &options);
	int r;

	CHECK(cell, "no cell");
	for (int i = 0; i < 3; i++) {
		r = cell_verb(cell, INSIDE, "read", "/proc/self/fdinfo/0", NULL);
		CHECK(r == 0, "fdinfo: %s", outcome_text(r));
	}
	return 0;
}

static int case_below(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, &peers);
	_cleanup_close_ int fd = -1;
	char path[512];
	pid_t peer;
	int r;

	CHECK(cell, "no cell");
	snprintf(path, sizeof(path), "%s/below", cell->cgroup);
	CHECK(mkdir(path, 0755) == 0, "mkdir: %s", strerror(errno));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	peer = spawn(cell, fd);
	CHECK(peer > 0, "no process");
	r = check(cell, true, peer);
	end(peer);
	rmdir(path);
	return r;
}

/* The cgroup tells, and not the label, which sticks. */
static int case_moved(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, &peers);
	pid_t peer, outsider;
	int r;

	CHECK(cell, "no cell");
	peer = spawn(cell, cell->cgroup_fd);
	outsider = spawn(cell, cell->beside_fd);
	CHECK(peer > 0 && outsider > 0, "no processes");
	r = check_open(cell, "read", peer, "status");
	if (r == 0)
		r = check_refused(cell, "read", outsider, "status");
	CHECK(cell_move(cell->beside, peer) == 0 && cell_move(cell->cgroup, outsider) == 0 &&
		      cell_settle(cell) == 0,
	      "cannot move");
	if (r == 0)
		r = check_refused(cell, "read", peer, "status");
	if (r == 0)
		r = check_open(cell, "read", outsider, "status");
	end(peer);
	end(outsider);
	return r;
}

static int ends_at_once(void *data _unused_)
{
	return 0;
}

/* What is left of a peer until somebody waits for it is looked at as the peer was. */
static int case_zombie(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, &peers);
	siginfo_t info;
	pid_t peer;
	int r;

	CHECK(cell, "no cell");
	peer = cell_spawn(cell, cell->cgroup_fd, ends_at_once, NULL);
	CHECK(peer > 0 && waitid(P_PID, (id_t)peer, &info, WEXITED | WNOWAIT) == 0, "no process");
	r = check_open(cell, "read", peer, "status");
	cell_wait(peer);
	return r;
}

/* --- numbers that are given again --- */

static int reads_below(void *data)
{
	int fd = openat(*(int *)data, "status", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? errno : 0;
}

static pid_t spawn_as(int cgroup_fd, pid_t pid)
{
	struct clone_args args = {.flags = CLONE_INTO_CGROUP,
				  .exit_signal = SIGCHLD,
				  .set_tid = (__u64)&pid,
				  .set_tid_size = 1,
				  .cgroup = (__u64)cgroup_fd};
	pid_t child = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (child == 0)
		waits(NULL);
	return child;
}

static int case_recycled(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, &peers);
	_cleanup_close_ int fd = -1;
	char path[64];
	pid_t peer;
	int r;

	CHECK(cell, "no cell");
	peer = spawn(cell, cell->cgroup_fd);
	snprintf(path, sizeof(path), "/proc/%d", peer);
	fd = open(path, O_PATH | O_DIRECTORY);
	CHECK(peer > 0 && fd >= 0, "no process");
	r = cell_call(cell, INSIDE, reads_below, &fd);
	CHECK(r == 0, "a peer's, by its directory: %s", outcome_text(r));
	end(peer);
	CHECK(spawn_as(cell->beside_fd, peer) == peer, "the number is not given again");
	r = check_refused(cell, "read", peer, "status");
	if (r == 0) {
		r = cell_call(cell, INSIDE, reads_below, &fd);
		r = r == ENOENT || r == ESRCH || r == EACCES
			    ? 0
			    : case_fail("by the old directory: %s", outcome_text(r));
	}
	end(peer);
	return r;
}

/* --- threads --- */

__attribute__((noreturn)) static void *thread_waits(void *data)
{
	struct board *board = data;

	board->results[0] = (int)syscall(SYS_gettid);
	board->done = 1;
	waits(NULL);
}

static int has_thread(void *data)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, thread_waits, data))
		return EAGAIN;
	waits(NULL);
}

static pid_t spawn_with_thread(struct cell *cell, int cgroup_fd, struct board *board)
{
	pid_t pid = cell_spawn(cell, cgroup_fd, has_thread, board);

	return pid > 0 && board_await(&board->done, 1) == 0 ? pid : -1;
}

static int case_thread(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, &peers);
	struct board *board = board_new();
	char name[64];
	pid_t peer;
	int r;

	CHECK(cell && board, "no cell");
	peer = spawn_with_thread(cell, cell->cgroup_fd, board);
	CHECK(peer > 0, "no thread");
	snprintf(name, sizeof(name), "task/%d/status", board->results[0]);
	r = check_open(cell, "read", peer, name);
	if (r == 0)
		r = check_open(cell, "read", board->results[0], "status");
	end(peer);
	board_free(board);
	return r;
}

static int put(const char *directory, const char *file, const char *text)
{
	char path[512];
	int fd, r;

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	r = fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return r;
}

static int make_threaded(const char *path)
{
	return mkdir(path, 0755) < 0 ? -errno : put(path, "cgroup.type", "threaded");
}

/* A process of which the leader alone stands inside: its other thread is no peer. */
static int check_threads(struct cell *cell, const char *in, const char *out)
{
	struct board *board = board_new();
	char number[16], name[64];
	int r = -ENOMEM;
	pid_t peer;

	CHECK(board, "no memory");
	peer = spawn_with_thread(cell, cell->beside_fd, board);
	CHECK(peer > 0, "no thread");
	snprintf(number, sizeof(number), "%d", peer);
	r = put(in, "cgroup.threads", number);
	snprintf(number, sizeof(number), "%d", board->results[0]);
	if (r == 0)
		r = put(out, "cgroup.threads", number);
	CHECK(r == 0 && cell_settle(cell) == 0, "cannot move threads: %s", strerror(-r));
	snprintf(name, sizeof(name), "task/%d/status", board->results[0]);
	r = check_open(cell, "read", peer, "status");
	if (r == 0)
		r = check_refused(cell, "read", peer, name);
	if (r == 0)
		r = check_refused(cell, "read", board->results[0], "status");
	end(peer);
	board_free(board);
	return r;
}

static int case_threaded(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, &peers);
	char in[512], out[512];
	__u64 id = 0;
	int r;

	CHECK(cell, "no cell");
	snprintf(in, sizeof(in), "%s/in", cell->beside);
	snprintf(out, sizeof(out), "%s/out", cell->beside);
	r = make_threaded(in);
	if (r == 0)
		r = make_threaded(out);
	if (r == 0)
		r = kern_cgroup_id(in, &id);
	if (r == 0)
		r = kern_cgroup_set(kern, id, cell->id, 0);
	CHECK(r == 0, "no threaded cgroups: %s", strerror(-r));
	r = check_threads(cell, in, out);
	kern_cgroup_unset(kern, id);
	rmdir(in);
	rmdir(out);
	return r;
}

/* --- the service manager's child --- */

/* A thread of the kernel that lets itself be moved: forked without exec, and never by a program. */
static pid_t move_kernel_thread(struct cell *cell)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t found = -1, pid;
	char link[64], target[8];

	while (proc && found < 0 && (entry = readdir(proc))) {
		pid = atoi(entry->d_name);
		snprintf(link, sizeof(link), "/proc/%d/exe", pid);
		if (pid > 2 && readlink(link, target, sizeof(target)) < 0 &&
		    cell_move(cell->cgroup, pid) == 0)
			found = pid;
	}
	if (proc)
		closedir(proc);
	return found;
}

static int case_starting(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, &peers);
	pid_t forked, early;
	int r;

	CHECK(cell, "no cell");
	forked = spawn(cell, cell->cgroup_fd);
	early = move_kernel_thread(cell);
	CHECK(forked > 0 && early > 0 && cell_settle(cell) == 0, "no processes");
	r = check_open(cell, "read", early, "status");
	CHECK(kern_cgroup_set(kern, cell->cgroup_id, cell->id, BH_CGROUP_STARTING) == 0,
	      "cannot start");
	if (r == 0)
		r = check_refused(cell, "read", early, "status");
	/* What members fork is no manager's child, though it execs nothing. */
	if (r == 0)
		r = check_open(cell, "read", forked, "status");
	end(forked);
	CHECK(cell_move("/sys/fs/cgroup", early) == 0, "cannot move back");
	return r;
}

/* --- sandboxes inside --- */

static int check_sandbox(struct kern *kern, __u32 flags, int inside)
{
	struct cell_options options = peers;
	_cleanup_cell_ struct cell *cell = NULL;
	char host[64];
	int r;

	options.flags = BH_POLICY_NESTED | flags;
	cell = cell_new(kern, &options);
	CHECK(cell && mkdir(MNT, 0755) == 0, "no cell");
#define SANDBOX "nested", "with-pids", "forked", "with-mount", "proc", MNT, "forked"
	r = cell_verb(cell, BESIDE, SANDBOX, "read", MNT "/1/status", NULL);
	CHECK(r == 0, "control: %s", outcome_text(r));
	r = cell_verb(cell, INSIDE, SANDBOX, "read", MNT "/1/status", NULL);
	CHECK(r == inside, "the first process: %s", outcome_text(r));
	r = cell_verb(cell, INSIDE, SANDBOX, "read", MNT "/self/status", NULL);
	CHECK(r == 0, "the own one: %s", outcome_text(r));
	/* 1 is another one by the host's procfs. */
	r = cell_verb(cell, INSIDE, SANDBOX, "read", "/proc/1/status", NULL);
	CHECK(r == EACCES, "the host's first process: %s", outcome_text(r));
	snprintf(host, sizeof(host), "/proc/%d/status", getpid());
	r = cell_verb(cell, INSIDE, SANDBOX, "read", host, NULL);
	CHECK(r == EACCES, "one outside: %s", outcome_text(r));
	return 0;
}

static int case_sandbox(struct kern *kern)
{
	if (check_sandbox(kern, BH_POLICY_PROC_SELF, EACCES))
		return -1;
	return check_sandbox(kern, BH_POLICY_PROC_SELF | BH_POLICY_PROC_PEERS, 0);
}

const struct test_case proc_cases[] = {
	{"proc/self", case_self, CASE_REFUSES},
	{"proc/compartment", case_compartment, CASE_REFUSES},
	{"proc/descriptors", case_descriptors, CASE_ALLOWS},
	{"proc/below", case_below, CASE_ALLOWS},
	{"proc/moved", case_moved, CASE_REFUSES},
	{"proc/zombie", case_zombie, CASE_ALLOWS},
	{"proc/recycled", case_recycled, CASE_REFUSES},
	{"proc/thread", case_thread, CASE_ALLOWS},
	{"proc/threaded", case_threaded, CASE_REFUSES},
	{"proc/starting", case_starting, CASE_REFUSES},
	{"proc/sandbox", case_sandbox, CASE_REFUSES},
	{},
};

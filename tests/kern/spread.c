// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Who is inside: children, threads, those who are moved, and those who leave. */
#include "harness.h"
#include "board.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "compart/compart.h"

#define CHECK_REFUSED(r, what) CHECK((r) == EACCES, what ": %s", outcome_text(r))

static struct board *board;

static int read_secret(void *data _unused_)
{
	char *argv[] = {(char *)"read", (char *)FIXTURE_SECRET, NULL};

	return verb_run(2, argv);
}

static int case_cloned_in(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	int r;

	CHECK(cell, "no cell");
	r = cell_verb(cell, BESIDE, "read", FIXTURE_SECRET, NULL);
	CHECK(r == 0, "control: %s", outcome_text(r));
	r = cell_verb(cell, INSIDE, "read", FIXTURE_SECRET, NULL);
	CHECK_REFUSED(r, "a child of an outsider, cloned into the cgroup");
	r = cell_verb(cell, INSIDE, "read", FIXTURE_OPEN, NULL);
	CHECK(r == 0, "what the policy allows: %s", outcome_text(r));
	return 0;
}

static int case_child_cgroup(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	_cleanup_close_ int fd = -1;
	char path[512];
	int r, i;
	pid_t pid;

	CHECK(cell, "no cell");
	snprintf(path, sizeof(path), "%s", cell->cgroup);
	for (i = 0; i < 6; i++) {
		strcat(path, "/deeper");
		CHECK(mkdir(path, 0755) == 0, "mkdir %s: %s", path, strerror(errno));
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pid = cell_spawn(cell, fd, read_secret, NULL);
	CHECK(pid > 0, "cannot spawn");
	r = cell_wait(pid);
	for (i = 0; i < 6; i++) {
		rmdir(path);
		*strrchr(path, '/') = 0;
	}
	CHECK_REFUSED(r, "six cgroups below the root");
	return 0;
}

static int case_double_fork(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	int r;

	CHECK(cell, "no cell");
	r = cell_verb(cell, BESIDE, "child", "read", FIXTURE_SECRET, NULL);
	CHECK(r == 0, "control: %s", outcome_text(r));
	r = cell_verb(cell, INSIDE, "child", "read", FIXTURE_SECRET, NULL);
	CHECK_REFUSED(r, "double fork and setsid");
	return 0;
}

static int vfork_and_read(void *data)
{
	volatile int r = VERB_BROKEN;
	pid_t pid = vfork();

	if (pid == 0) {
		r = read_secret(data);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return r;
}

static int case_vfork(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	int r;

	CHECK(cell, "no cell");
	r = cell_call(cell, INSIDE, vfork_and_read, NULL);
	CHECK_REFUSED(r, "a vfork child");
	return 0;
}

static void *thread_reads(void *data)
{
	*(int *)data = read_secret(NULL);
	return NULL;
}

static int thread_and_read(void *data _unused_)
{
	int r = VERB_BROKEN;
	pthread_t thread;

	if (pthread_create(&thread, NULL, thread_reads, &r))
		return VERB_BROKEN + EAGAIN;
	pthread_join(thread, NULL);
	return r;
}

static int case_thread(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	int r;

	CHECK(cell, "no cell");
	r = cell_call(cell, INSIDE, thread_and_read, NULL);
	CHECK_REFUSED(r, "a thread made inside");
	return 0;
}

static int fork_storm(void *data _unused_)
{
	int i, status;
	pid_t pid;

	for (i = 0; i < 300; i++) {
		pid = fork();
		if (pid < 0)
			return VERB_BROKEN + errno;
		if (pid == 0)
			_exit(read_secret(NULL) != EACCES);
		if (waitpid(pid, &status, 0) != pid || status)
			return 0;
	}
	return EACCES;
}

static int case_fork_storm(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	int r;

	CHECK(cell, "no cell");
	r = cell_call(cell, INSIDE, fork_storm, NULL);
	CHECK_REFUSED(r, "one child of 300");
	return 0;
}

#define NTHREADS 8

static void *thread_waits_and_reads(void *data)
{
	long i = (long)data;

	__sync_fetch_and_add(&board->done, 1);
	board_await(&board->go, 1);
	board->results[i] = read_secret(NULL);
	return NULL;
}

static int threads_wait_and_read(void *data _unused_)
{
	pthread_t threads[NTHREADS];
	long i;

	for (i = 0; i < NTHREADS; i++)
		if (pthread_create(&threads[i], NULL, thread_waits_and_reads, (void *)i))
			return 1;
	for (i = 0; i < NTHREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static int move_eight_threads(struct cell *cell, bool settle)
{
	pid_t pid;
	int i, r;

	board = board_new();
	CHECK(board, "no memory");
	pid = cell_spawn(cell, cell->beside_fd, threads_wait_and_read, NULL);
	CHECK(pid > 0 && board_await(&board->done, NTHREADS) == 0, "the threads did not start");
	r = cell_move(cell->cgroup, pid);
	CHECK(r == 0, "cannot move: %s", strerror(-r));
	if (settle)
		CHECK(cell_settle(cell) == 0, "cannot settle");
	if (settle)
		CHECK(kern_ask_read(cell->kern) == 0, "ask is still up");
	board->go = 1;
	CHECK(cell_wait(pid) == 0, "the threads did not end");
	for (i = 0; i < NTHREADS; i++)
		CHECK(board->results[i] == EACCES, "thread %d of 8: %s", i,
		      outcome_text(board->results[i]));
	board_free(board);
	return 0;
}

/* Right after the move, when only the leader has its label. */
static int case_eight_threads(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);

	CHECK(cell, "no cell");
	return move_eight_threads(cell, false);
}

/* After the agent labelled them and lowered ask. */
static int case_eight_threads_settled(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);

	CHECK(cell, "no cell");
	cell_settle(cell);
	return move_eight_threads(cell, true);
}

static int wait_and_read(void *data)
{
	int rounds = *(int *)data, i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (i = 0; i < rounds; i++) {
		board->done = i + 1;
		if (board_await(&board->go, i + 1) < 0)
			return 1;
		board->results[i] = read_secret(NULL);
	}
	board->done = rounds + 1;
	return 0;
}

static int check_moved_event(struct cell *cell, size_t from, const char *to)
{
	const struct bh_event_copy *e;
	__u64 id;

	cell_drain(cell);
	e = cell_event(cell, from, BH_HOOK_CGROUP_MOVE);
	CHECK(e, "no event of the move");
	CHECK(kern_cgroup_id(to, &id) == 0, "no cgroup id");
	CHECK(e->head.object[0] == (__u32)id && e->head.object[1] == id >> 32,
	      "the event names another cgroup");
	CHECK(e->head.bits & BH_EVENT_AUDIT, "the event says that the move was refused");
	return 0;
}

static int move_in_and_out(struct cell *cell, pid_t pid)
{
	size_t from;

	CHECK(board_await(&board->done, 1) == 0, "the process did not start");
	CHECK(cell_move(cell->cgroup, pid) == 0, "cannot move in");
	if (check_moved_event(cell, 0, cell->cgroup))
		return -1;
	board->go = 1;
	CHECK(board_await(&board->done, 2) == 0, "no answer inside");
	CHECK(board->results[0] == EACCES, "after the move in: %s",
	      outcome_text(board->results[0]));
	CHECK(cell_settle(cell) == 0 && kern_ask_read(cell->kern) == 0, "cannot settle");
	from = cell->nevents;
	CHECK(cell_move(cell->beside, pid) == 0, "cannot move out");
	if (check_moved_event(cell, from, cell->beside))
		return -1;
	board->go = 2;
	CHECK(board_await(&board->done, 3) == 0, "no answer outside");
	CHECK(board->results[1] == EACCES, "after the move out: %s",
	      outcome_text(board->results[1]));
	return 0;
}

/* A label sticks. */
static int case_moved_out(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	int rounds = 2, r;
	pid_t pid;

	CHECK(cell, "no cell");
	cell_settle(cell);
	board = board_new();
	CHECK(board, "no memory");
	pid = cell_spawn(cell, cell->beside_fd, wait_and_read, &rounds);
	r = move_in_and_out(cell, pid);
	if (r)
		kill(pid, SIGKILL);
	cell_wait(pid);
	board_free(board);
	return r;
}

/* Neither an outsider's cgroup nor its children's may be changed by a move within the subtree. */
static int case_moved_within(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	struct bh_tally before, after;
	int rounds = 1, r;
	char path[512];
	pid_t pid;

	CHECK(cell, "no cell");
	board = board_new();
	snprintf(path, sizeof(path), "%s/within", cell->cgroup);
	CHECK(board && mkdir(path, 0755) == 0, "no child cgroup");
	pid = cell_spawn(cell, cell->cgroup_fd, wait_and_read, &rounds);
	CHECK(pid > 0 && board_await(&board->done, 1) == 0, "the process did not start");
	CHECK(cell_settle(cell) == 0, "cannot settle");
	before = cell_tally(cell);
	r = cell_move(path, pid);
	after = cell_tally(cell);
	board->go = 1;
	cell_wait(pid);
	rmdir(path);
	CHECK(r == 0, "cannot move");
	CHECK(board->results[0] == EACCES, "after the move: %s", outcome_text(board->results[0]));
	CHECK(before.refused == after.refused, "a move within the subtree was an event");
	board_free(board);
	return 0;
}

/* ask was lowered: only labels tell, and outsiders are outsiders. */
static int case_settled(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	int r;

	CHECK(cell, "no cell");
	CHECK(cell_settle(cell) == 0, "cannot settle");
	CHECK(kern_ask_read(kern) == 0, "ask is up");
	r = cell_verb(cell, BESIDE, "read", FIXTURE_SECRET, NULL);
	CHECK(r == 0, "an outsider: %s", outcome_text(r));
	r = cell_verb(cell, INSIDE, "child", "read", FIXTURE_SECRET, NULL);
	CHECK_REFUSED(r, "a grandchild");
	return 0;
}

/* --- exec --- */

static int own_dir(char *ret, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", ret, size - 1);

	if (n < 0)
		return -errno;
	ret[n] = 0;
	*strrchr(ret, '/') = 0;
	return 0;
}

static int exec_probe(void *data)
{
	char *argv[] = {data, (char *)"read", (char *)FIXTURE_SECRET, NULL};
	char *envp[] = {NULL};

	close(STDOUT_FILENO); /* the event is the answer */
	execve(data, argv, envp);
	return 100;
}

static int case_exec(struct kern *kern)
{
	char dir[400], probe[440];
	struct rule rules[] = {
		{.effect = RULE_ALLOW,
		 .perms = BH_PERM_EXEC | BH_PERM_MAP_EXEC | BH_PERM_READ,
		 .glob = probe},
	};
	const struct cell_options options = {.rules = rules, .nrules = 1};
	_cleanup_cell_ struct cell *cell = NULL;
	const struct bh_event_copy *e;
	pid_t pid;

	CHECK(own_dir(dir, sizeof(dir)) == 0, "no /proc/self/exe");
	snprintf(probe, sizeof(probe), "%s/probe", dir);
	CHECK(access(probe, X_OK) == 0, "no %s", probe);
	cell = cell_new(kern, &options);
	CHECK(cell, "no cell");
	pid = cell_spawn(cell, cell->cgroup_fd, exec_probe, probe);
	CHECK(pid > 0 && cell_wait(pid) != 100, "the probe did not run");
	cell_drain(cell);
	e = cell_event(cell, 0, BH_HOOK_FILE_OPEN);
	CHECK(e && e->head.tgid == (__u32)pid, "the program after exec was not refused");
	CHECK(e->head.exec_seq == 1, "exec_seq is %llu", (unsigned long long)e->head.exec_seq);
	return 0;
}

/* --- the service manager's child, asked before it is told of --- */

struct manager {
	struct board *board;
	int cgroup_fd;
	bool leaves; /* its child becomes that of process 1 */
};

/* Cloned into the subtree by an outsider: unlabelled, as one in the middle of its move. */
static int makes_child(void *data)
{
	struct manager *m = data;
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (__u64)m->cgroup_fd};
	long pid = syscall(SYS_clone3, &args, sizeof(args));
	int ms;

	if (pid != 0) {
		if (pid > 0 && !m->leaves)
			waitpid((pid_t)pid, NULL, 0);
		return pid < 0 ? errno : 0;
	}
	for (ms = 0; m->leaves && getppid() != 1 && ms < HARNESS_DEADLINE_MS; ms++)
		usleep(1000);
	m->board->results[0] = read_secret(NULL);
	m->board->done = 1;
	_exit(0);
}

static int read_as_child(struct cell *cell, bool leaves, int *ret)
{
	struct manager m = {board_new(), cell->cgroup_fd, leaves};
	int r;

	CHECK(m.board, "no memory");
	r = cell_call(cell, BESIDE, makes_child, &m);
	CHECK(r == 0 && board_await(&m.board->done, 1) == 0, "no child: %s", outcome_text(r));
	*ret = m.board->results[0];
	board_free(m.board);
	return 0;
}

static int case_manager_asked(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	int r;

	CHECK(cell, "no cell");
	if (read_as_child(cell, true, &r))
		return -1;
	CHECK(r == EACCES, "process 1's child, when no unit starts: %s", outcome_text(r));
	CHECK(kern_cgroup_set(kern, cell->cgroup_id, cell->id, BH_CGROUP_STARTING) == 0,
	      "cannot start");
	if (read_as_child(cell, false, &r))
		return -1;
	CHECK(r == EACCES, "another's child: %s", outcome_text(r));
	if (read_as_child(cell, true, &r))
		return -1;
	CHECK(r == 0, "the manager's child, before its exec: %s", outcome_text(r));
	return 0;
}

/* --- cgroups below each other --- */

#define NLEVELS 300

/* Goes down `levels` cgroups from `fd` and stands there: the innermost, or -1. */
static int cgroup_below(int fd, int levels)
{
	int at = dup(fd), next;

	while (at >= 0 && levels--) {
		next = mkdirat(at, "c", 0755) < 0 ? -1 : openat(at, "c", O_RDONLY | O_DIRECTORY);
		close(at);
		at = next;
	}
	return at;
}

static int move_to(int cgroup_fd, pid_t pid)
{
	_cleanup_close_ int fd = openat(cgroup_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);

	return fd < 0 || dprintf(fd, "%d", pid) < 0 ? -errno : 0;
}

/* Moved, or born there: what it then got when it read what no rule allows. */
static int read_deep(struct cell *cell, int cgroup_fd, bool born, int *ret)
{
	int rounds = 1;
	pid_t pid;

	board = board_new();
	CHECK(board, "no memory");
	pid = cell_spawn(cell, born ? cgroup_fd : -1, wait_and_read, &rounds);
	CHECK(pid > 0 && board_await(&board->done, 1) == 0, "the process did not start");
	CHECK(born || move_to(cgroup_fd, pid) == 0, "cannot move");
	board->go = 1;
	CHECK(cell_wait(pid) == 0, "the process did not end");
	*ret = board->results[0];
	board_free(board);
	return 0;
}

/* Far below the compartment, and as far below where nobody is confined, while all are asked. */
static int case_deep(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	_cleanup_close_ int inside = -1, beside = -1;
	int r, born;

	CHECK(cell, "no cell");
	inside = cgroup_below(cell->cgroup_fd, NLEVELS);
	beside = cgroup_below(cell->beside_fd, NLEVELS);
	CHECK(inside >= 0 && beside >= 0, "no cgroups: %s", strerror(errno));
	for (born = 0; born < 2; born++) {
		if (read_deep(cell, inside, born, &r))
			return -1;
		CHECK(r == EACCES, "%s %d cgroups below: %s", born ? "born" : "moved", NLEVELS,
		      outcome_text(r));
		CHECK(kern_ask_read(kern) > 0, "nobody is asked");
		if (read_deep(cell, beside, born, &r))
			return -1;
		CHECK(r == 0, "an outsider, %s: %s", born ? "born" : "moved", outcome_text(r));
	}
	return 0;
}

/* --- peers --- */

static int case_peers(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	int rounds = 1, r;
	char text[16];
	pid_t pid;

	CHECK(cell, "no cell");
	board = board_new();
	CHECK(board, "no memory");
	r = cell_verb(cell, INSIDE, "kill-child", NULL);
	CHECK(r == 0, "a signal to one's own child: %s", outcome_text(r));
	pid = cell_spawn(cell, cell->cgroup_fd, wait_and_read, &rounds);
	CHECK(pid > 0 && board_await(&board->done, 1) == 0, "the process did not start");
	snprintf(text, sizeof(text), "%d", pid);
	/* Its label is made at its first hook: being asked for by a peer is none. */
	cell_settle(cell);
	r = cell_verb(cell, INSIDE, "robust-list", text, NULL);
	CHECK(r == 0, "looking at a peer: %s", outcome_text(r));
	r = cell_verb(cell, INSIDE, "kill", text, "9", NULL);
	CHECK(r == 0, "a signal to a peer: %s", outcome_text(r));
	waitpid(pid, NULL, 0);
	board_free(board);
	return 0;
}

static int case_released(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	int r;

	CHECK(cell, "no cell");
	CHECK(cell_set_state(cell, BH_STATE_RELEASED) == 0, "cannot release");
	r = cell_verb(cell, INSIDE, "read", FIXTURE_SECRET, NULL);
	CHECK(r == 0, "a released task: %s", outcome_text(r));
	r = cell_verb(cell, INSIDE, "socket", "2", "1", "0", NULL);
	CHECK(r == 0, "a released task's socket: %s", outcome_text(r));
	return 0;
}

const struct test_case spread_cases[] = {
	{"spread/cloned-in", case_cloned_in, CASE_REFUSES},
	{"spread/child-cgroup", case_child_cgroup, CASE_REFUSES},
	{"spread/double-fork", case_double_fork, CASE_REFUSES},
	{"spread/vfork", case_vfork, CASE_REFUSES},
	{"spread/thread", case_thread, CASE_REFUSES},
	{"spread/fork-storm", case_fork_storm, CASE_REFUSES},
	{"spread/eight-threads", case_eight_threads, CASE_REFUSES},
	{"spread/eight-threads-settled", case_eight_threads_settled, CASE_REFUSES},
	{"spread/moved-out", case_moved_out, CASE_REFUSES},
	{"spread/moved-within", case_moved_within, CASE_REFUSES},
	{"spread/settled", case_settled, CASE_REFUSES},
	{"spread/manager-asked", case_manager_asked, CASE_REFUSES},
	{"spread/deep", case_deep, CASE_REFUSES},
	{"spread/exec", case_exec, CASE_REFUSES},
	{"spread/peers", case_peers, CASE_ALLOWS},
	{"spread/released", case_released, CASE_ALLOWS},
	{},
};

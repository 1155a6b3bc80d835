// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Ways out of a compartment by a sandbox inside it that were open once. */
#include "harness.h"
#include "board.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "compart/compart.h"

#define MNT FIXTURE "/work/mnt"
#define LOW FIXTURE "/work/low"
#define UP FIXTURE "/work/up"

static struct rule rules[] = {
	{.effect = RULE_ALLOW,
	 .perms = BH_PERM_READ | BH_PERM_WRITE | BH_PERM_APPEND | BH_PERM_CREATE | BH_PERM_DELETE,
	 .glob = (char *)FIXTURE "/work/**"},
	{.effect = RULE_ALLOW, .perms = BH_PERM_READ, .glob = (char *)FIXTURE "/open/**"},
	{.effect = RULE_ALLOW,
	 .perms = BH_PERM_WRITE | BH_PERM_APPEND,
	 .glob = (char *)"/proc/self/{uid_map,gid_map,setgroups}"},
};
static const struct cell_options with_sandbox = {
	.rules = rules, .nrules = 3, .flags = BH_POLICY_NESTED | BH_POLICY_PROC_SELF};

/* --- going over into a sandbox while the mount tables are read --- */

#define RACERS 100
#define ROUNDS 10

/* A sandbox in which the secret has the name of what may be read. */
static int sandbox_with_secret(void *data)
{
	struct board *board = data;
	char *words[] = {(char *)"nested", (char *)"with-bind", (char *)FIXTURE "/secret",
			 (char *)FIXTURE "/open", (char *)"stay"};

	board->results[0] = getpid();
	return verb_run(5, words);
}

/* One call takes a peer over. */
static int goes_over(void *data)
{
	struct board *board = data;
	int sandbox = (int)syscall(SYS_pidfd_open, board->results[0], 0), me;

	me = __sync_add_and_fetch(&board->done, 1);
	/* Asleep: so many that look again and again would leave the harness no time to start the others. */
	while (!board->go)
		syscall(SYS_futex, &board->go, FUTEX_WAIT, 0, NULL, NULL, 0);
	usleep((unsigned int)(me * board->go / RACERS));
	/* ESRCH: the tables were read before its turn, and all is being ended. */
	if (sandbox < 0 || (setns(sandbox, CLONE_NEWUSER | CLONE_NEWNS) < 0 && errno != ESRCH))
		board->results[1] = errno;
	pause();
	return 0;
}

static bool names_secret(const struct mounts *mounts)
{
	size_t i;

	for (i = 0; i < mounts->n; i++)
		if (!strcmp(mounts->views[i].root, FIXTURE "/secret"))
			return true;
	return false;
}

/* 1 when the view has a name of the sandbox's; spread_us: over what time they go. */
static int race_once(struct cell *cell, int spread_us)
{
	struct board *board = board_new();
	pid_t pids[RACERS + 1];
	struct mounts mounts = {};
	struct error error = {};
	int i, r;

	CHECK(board, "no memory");
	pids[RACERS] = cell_spawn(cell, cell->cgroup_fd, sandbox_with_secret, board);
	CHECK(pids[RACERS] > 0 && board_await(&board->results[0], 1) == 0, "no sandbox");
	usleep(50000);
	for (i = 0; i < RACERS; i++)
		pids[i] = cell_spawn(cell, cell->cgroup_fd, goes_over, board);
	CHECK(board_await(&board->done, RACERS) == 0, "the racers did not start");
	board->go = spread_us;
	syscall(SYS_futex, &board->go, FUTEX_WAKE, RACERS, NULL, NULL, 0);
	r = mounts_read(cell->kern, pids, RACERS, &mounts, &error);
	CHECK(r == 0 || r == -EXDEV, "%.200s", error.text);
	r = names_secret(&mounts);
	mounts_done(&mounts);
	CHECK(cgroup_kill(cell->cgroup, HARNESS_DEADLINE_MS, &error) == 0, "%.200s", error.text);
	for (i = 0; i <= RACERS; i++)
		cell_wait(pids[i]);
	CHECK(board->results[1] == 0, "setns: %s", strerror(board->results[1]));
	board_free(board);
	return r;
}

static int case_view_race(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, &with_sandbox);
	int i, r = 0;

	CHECK(cell, "no cell");
	for (i = 0; r == 0 && i < ROUNDS; i++)
		r = race_once(cell, 10000 * (i + 1));
	CHECK(r <= 0, "in round %d the view has a name that a sandbox made", i);
	return r;
}

/* --- overlayfs by the new mount API --- */

static int set_option(int fs, const char *key, const char *value)
{
	return syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, key, value, 0) < 0 ? errno : 0;
}

/* Its work directory is where no rule lets files be made. */
static int mount_overlay(void *data _unused_)
{
	static const char *const options[][2] = {
		{"lowerdir", LOW}, {"upperdir", UP}, {"workdir", FIXTURE "/secret"}};
	int fs = (int)syscall(SYS_fsopen, "overlay", FSOPEN_CLOEXEC), r = 0;
	size_t i;

	if (fs < 0)
		return errno;
	for (i = 0; r == 0 && i < 3; i++)
		r = set_option(fs, options[i][0], options[i][1]);
	if (r == 0 && syscall(SYS_fsconfig, fs, FSCONFIG_SET_FLAG, "userxattr", NULL, 0) < 0)
		r = errno;
	if (r == 0 && syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		r = errno;
	return r;
}

static int overlay_in_sandbox(void *data _unused_)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return VERB_BROKEN + errno;
	return mount_overlay(NULL);
}

static int case_overlay(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, &with_sandbox);
	struct stat st;
	int r;

	CHECK(cell, "no cell");
	CHECK(mkdir(LOW, 0755) == 0 && mkdir(UP, 0755) == 0, "no directories");
	r = cell_call(cell, INSIDE, overlay_in_sandbox, NULL);
	CHECK(r == EPERM, "inside: %s", outcome_text(r));
	CHECK(stat(FIXTURE "/secret/work", &st) < 0 && errno == ENOENT, "its directory was made");
	cell_drain(cell);
	CHECK(cell_event(cell, 0, BH_HOOK_SB_MOUNT), "no event");
	/* By who may: whatever becomes of the mount, the directory is made. */
	r = cell_call(cell, BESIDE, mount_overlay, NULL);
	CHECK(stat(FIXTURE "/secret/work", &st) == 0, "control: %s, and no directory",
	      outcome_text(r));
	return 0;
}

/* --- what is mounted before anything is enforced --- */

static int mounts_early(void *data)
{
	struct board *board = data;
	int fd;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", FIXTURE "/secret", "tmpfs", 0, NULL) < 0)
		return errno;
	board->done = 1;
	board_await(&board->go, 1);
	fd = open(FIXTURE "/secret/new", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	board->results[0] = fd < 0 ? errno : 0;
	return 0;
}

/* As a service manager's child does for the unit that it becomes: rules go on holding there. */
static int case_early_mount(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, &with_sandbox);
	struct board *board = board_new();
	pid_t pid;

	CHECK(cell && board, "no cell");
	CHECK(cell_set_state(cell, BH_STATE_ARMED) == 0, "cannot arm");
	pid = cell_spawn(cell, cell->cgroup_fd, mounts_early, board);
	CHECK(pid > 0 && board_await(&board->done, 1) == 0, "no mount");
	CHECK(cell_set_state(cell, BH_STATE_ENFORCED) == 0, "cannot enforce");
	board->go = 1;
	CHECK(cell_wait(pid) == 0, "the process did not end");
	CHECK(board->results[0] == EACCES, "a file on it: %s", outcome_text(board->results[0]));
	board_free(board);
	return 0;
}

const struct test_case escape_cases[] = {
	{"escape/view-race", case_view_race, CASE_ALLOWS},
	{"escape/overlay", case_overlay, CASE_REFUSES},
	{"escape/early-mount", case_early_mount, CASE_REFUSES},
	{},
};

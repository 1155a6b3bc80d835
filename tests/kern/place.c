// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Where files stand: long and deep paths, mounts, special filesystems, names that move. */
#include "harness.h"
#include "board.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include "compart/compart.h"

#define ALLOW(perms_, glob_)                                                     \
	{                                                                        \
		.effect = RULE_ALLOW, .perms = (perms_), .glob = (char *)(glob_) \
	}
#define DENY(perms_, glob_)                                                     \
	{                                                                       \
		.effect = RULE_DENY, .perms = (perms_), .glob = (char *)(glob_) \
	}

static int read_both(struct cell *cell, const char *path, int inside)
{
	int r = cell_verb(cell, BESIDE, "read", path, NULL);

	CHECK(r == 0, "control, %.80s: %s", path, outcome_text(r));
	r = cell_verb(cell, INSIDE, "read", path, NULL);
	CHECK(r == inside, "%.80s: %s", path, outcome_text(r));
	return 0;
}

static int last_reason(struct cell *cell, enum bh_hook hook)
{
	const struct bh_event_copy *e;

	cell_drain(cell);
	e = cell_event(cell, 0, hook);
	return e ? e->head.reason : -1;
}

/* --- chains deeper than any path that can be written --- */

struct chain {
	const char *top, *name;
	int levels;
};

static int chain_down(const struct chain *c, bool make)
{
	int i;

	if (chdir(c->top) < 0)
		return -errno;
	for (i = 0; i < c->levels; i++)
		if ((make && mkdir(c->name, 0755) < 0) || chdir(c->name) < 0)
			return -errno;
	return 0;
}

static int chain_make(const struct chain *c)
{
	int r = chain_down(c, true), fd;

	if (r < 0)
		return r;
	fd = open("file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, "x", 1) != 1)
		return -errno;
	close(fd);
	return chdir("/") ? -errno : 0;
}

static void chain_remove(const struct chain *c)
{
	int i;

	if (chain_down(c, false) < 0)
		return;
	unlink("file");
	for (i = 0; i < c->levels; i++)
		if (chdir("..") < 0 || rmdir(c->name) < 0)
			break;
	if (chdir("/"))
		return;
}

static int chain_read(void *data)
{
	char *argv[] = {(char *)"read", (char *)"file", NULL};

	return chain_down(data, false) < 0 ? VERB_BROKEN + errno : verb_run(2, argv);
}

static int check_chain(struct kern *kern, struct chain *c, int inside)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	int made, beside, r;

	CHECK(cell, "no cell");
	made = chain_make(c);
	beside = cell_call(cell, BESIDE, chain_read, c);
	r = cell_call(cell, INSIDE, chain_read, c);
	chain_remove(c);
	CHECK(made == 0, "cannot make it: %s", strerror(-made));
	CHECK(beside == 0, "control: %s", outcome_text(beside));
	CHECK(r == inside, "%d levels: %s", c->levels, outcome_text(r));
	if (inside)
		CHECK(last_reason(cell, BH_HOOK_FILE_OPEN) == BH_REASON_UNSURE_PATH,
		      "another reason than the path's size");
	return 0;
}

static int case_deep_allowed(struct kern *kern)
{
	struct chain c = {FIXTURE "/work", "d", 1500};

	return check_chain(kern, &c, 0);
}

static int case_deep_refused(struct kern *kern)
{
	struct chain c = {FIXTURE "/work", "d", 2100};

	return check_chain(kern, &c, EACCES);
}

static int check_long(struct kern *kern, int levels, int inside)
{
	char name[BH_MAX_NAME + 1];
	struct chain c = {FIXTURE "/work", name, levels};

	memset(name, 'n', BH_MAX_NAME);
	name[BH_MAX_NAME] = 0;
	return check_chain(kern, &c, inside);
}

static int case_long_allowed(struct kern *kern)
{
	return check_long(kern, 15, 0);
}

static int case_long_refused(struct kern *kern)
{
	return check_long(kern, 17, EACCES);
}

/* --- mounts --- */

static int case_new_mount(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	int r, fd;

	CHECK(cell, "no cell");
	CHECK(mkdir(FIXTURE "/open/mnt", 0755) == 0, "mkdir");
	CHECK(mount("none", FIXTURE "/open/mnt", "tmpfs", 0, NULL) == 0, "mount: %s",
	      strerror(errno));
	fd = open(FIXTURE "/open/mnt/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	r = write(fd, "x", 1);
	close(fd);
	r = r == 1 ? read_both(cell, FIXTURE "/open/mnt/file", EACCES) : -1;
	umount2(FIXTURE "/open/mnt", MNT_DETACH);
	if (r)
		return r;
	CHECK(last_reason(cell, BH_HOOK_FILE_OPEN) == BH_REASON_UNSURE_SB,
	      "another reason than the unknown filesystem");
	return 0;
}

/* Mounted over an allowed place after the policy was compiled: it stands where it stood. */
static int case_bind_after(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	int r;

	CHECK(cell, "no cell");
	CHECK(mkdir(FIXTURE "/open/bind", 0755) == 0, "mkdir");
	CHECK(mount(FIXTURE "/secret", FIXTURE "/open/bind", NULL, MS_BIND, NULL) == 0, "bind: %s",
	      strerror(errno));
	r = read_both(cell, FIXTURE "/open/bind/key", EACCES);
	umount2(FIXTURE "/open/bind", MNT_DETACH);
	return r;
}

/* A bind mount that stood when the policy was compiled; apart from the fixture, which is made anew.
 */
#define BOUND "/srv/bound"
#define SEEN "/srv/seen"

static int make_bind(void)
{
	int fd;

	if ((mkdir("/srv", 0755) < 0 && errno != EEXIST) || mkdir(BOUND, 0755) < 0 ||
	    mkdir(SEEN, 0755) < 0)
		return -errno;
	fd = open(BOUND "/key", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, "x", 1) != 1 || close(fd) < 0)
		return -errno;
	return mount(BOUND, SEEN, NULL, MS_BIND, NULL) < 0 ? -errno : 0;
}

static int with_bind(struct kern *kern, const struct cell_options *options, int inside)
{
	_cleanup_cell_ struct cell *cell = NULL;
	int made = make_bind(), r = -1;

	cell = made == 0 ? cell_new(kern, options) : NULL;
	if (cell)
		r = read_both(cell, SEEN "/key", inside);
	umount2(SEEN, MNT_DETACH);
	unlink(BOUND "/key");
	rmdir(BOUND);
	rmdir(SEEN);
	CHECK(made == 0, "cannot bind: %s", strerror(-made));
	CHECK(cell, "no cell");
	return r;
}

/* One of a file's names is allowed and none is denied. */
static int case_bind_before(struct kern *kern)
{
	struct rule rules[] = {ALLOW(BH_PERM_READ, SEEN "/**")};
	const struct cell_options options = {.rules = rules, .nrules = 1};

	return with_bind(kern, &options, 0);
}

/* One of its names is denied: the other does not help. */
static int case_bind_denied(struct kern *kern)
{
	struct rule rules[] = {ALLOW(BH_PERM_READ, SEEN "/**"), DENY(BH_PERM_READ, BOUND "/**")};
	const struct cell_options options = {.rules = rules, .nrules = 2};

	return with_bind(kern, &options, EACCES);
}

static int case_deny_wins(struct kern *kern)
{
	struct rule rules[] = {ALLOW(BH_PERM_READ, FIXTURE "/**"), DENY(BH_PERM_READ, "/**/key")};
	const struct cell_options options = {.rules = rules, .nrules = 2};
	_cleanup_cell_ struct cell *cell = cell_new(kern, &options);

	CHECK(cell, "no cell");
	return read_both(cell, FIXTURE_OPEN, 0) || read_both(cell, FIXTURE_SECRET, EACCES) ? -1 : 0;
}

/* --- a table of many pages --- */

#define MANY 2000
#define MANY_PATH_SIZE 64

/* Names that have little in common, so that each takes states of its own. */
static void many_path(unsigned int i, char path[MANY_PATH_SIZE])
{
	unsigned int x = i * 2654435761u;

	snprintf(path, MANY_PATH_SIZE, FIXTURE "/open/%08x%08x%08x", x, x * 40503u,
		 x ^ 0x9e3779b9u);
}

/* Every other name is listed; what stands before and behind it in the table is not its business. */
static int many_read(struct cell *cell)
{
	char path[MANY_PATH_SIZE];
	unsigned int i;
	int fd;

	for (i = 0; i < MANY; i += i < 20 ? 1 : 331) {
		many_path(i, path);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		CHECK(fd >= 0, "%s: %s", path, strerror(errno));
		close(fd);
		if (read_both(cell, path, i % 2 ? EACCES : 0))
			return -1;
	}
	return 0;
}

static int case_many_pages(struct kern *kern)
{
	_cleanup_free_ char(*paths)[MANY_PATH_SIZE] = calloc(MANY, sizeof(*paths));
	_cleanup_free_ struct rule *rules = calloc(MANY / 2, sizeof(*rules));
	const struct cell_options options = {.rules = rules, .nrules = MANY / 2};
	_cleanup_cell_ struct cell *cell = NULL;
	struct automaton automaton = {};
	struct error error = {};
	unsigned int i;

	CHECK(paths && rules, "out of memory");
	for (i = 0; i < MANY / 2; i++) {
		many_path(2 * i, paths[i]);
		rules[i] = (struct rule)ALLOW(BH_PERM_READ, paths[i]);
	}
	CHECK(automaton_compile(rules, MANY / 2, NULL, 0, &automaton, &error) == 0, "%.200s",
	      error.text);
	i = automaton.head.nwords / BH_PAGE_WORDS;
	automaton_done(&automaton);
	CHECK(i >= 16, "only %u pages", i);
	cell = cell_new(kern, &options);
	CHECK(cell, "no cell");
	return many_read(cell);
}

/* A file put in the place of a refused one is refused; one that moves to an open place is not. */
static int case_replaced(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);

	CHECK(cell, "no cell");
	CHECK(rename(FIXTURE_OPEN, FIXTURE_SECRET) == 0, "rename");
	if (read_both(cell, FIXTURE_SECRET, EACCES))
		return -1;
	CHECK(rename(FIXTURE_SECRET, FIXTURE_OPEN) == 0, "rename");
	return read_both(cell, FIXTURE_OPEN, 0);
}

/* A parent directory renamed by an outsider. */
static int case_parent_renamed(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);

	CHECK(cell, "no cell");
	CHECK(rename(FIXTURE "/open", FIXTURE "/was-open") == 0, "rename");
	return read_both(cell, FIXTURE "/was-open/file", EACCES);
}

/* A directory moves where its contents have the same rights, and nowhere else. */
static int case_move_directory(struct kern *kern)
{
	struct rule rules[] = {
		ALLOW(BH_PERM_READ | BH_PERM_CREATE | BH_PERM_DELETE, FIXTURE "/work/**"),
		ALLOW(BH_PERM_READ | BH_PERM_WRITE | BH_PERM_CREATE | BH_PERM_DELETE,
		      FIXTURE "/secret/**"),
	};
	const struct cell_options options = {.rules = rules, .nrules = 2};
	_cleanup_cell_ struct cell *cell = cell_new(kern, &options);
	int r;

	CHECK(cell, "no cell");
	r = cell_verb(cell, INSIDE, "rename", FIXTURE "/work/sub", FIXTURE "/work/sub2", NULL);
	CHECK(r == 0, "among equals: %s", outcome_text(r));
	r = cell_verb(cell, INSIDE, "rename", FIXTURE "/work/sub2", FIXTURE "/secret/sub2", NULL);
	CHECK(r == EACCES, "to more rights: %s", outcome_text(r));
	CHECK(last_reason(cell, BH_HOOK_PATH_RENAME) == BH_REASON_RIGHTS, "another reason");
	r = cell_verb(cell, INSIDE, "rename", FIXTURE "/work/file", FIXTURE "/secret/file", NULL);
	CHECK(r == EACCES, "a file to more rights: %s", outcome_text(r));
	r = cell_verb(cell, INSIDE, "rename", FIXTURE_SECRET, FIXTURE "/work/key", NULL);
	CHECK(r == 0, "a file to fewer rights: %s", outcome_text(r));
	return 0;
}

/* A directory whose name another rule's name begins with moves as any other; one to a name that may be
 * listed, from one that may not, does not. */
static int case_move_alike(struct kern *kern)
{
	struct rule rules[] = {
		ALLOW(BH_PERM_WRITE | BH_PERM_CREATE | BH_PERM_DELETE, FIXTURE "/work/**"),
		ALLOW(BH_PERM_READ, FIXTURE "/work/*/**"),
		ALLOW(BH_PERM_READ, FIXTURE "/work/listed"),
		DENY(BH_PERM_READ, "/**/server.key"),
		DENY(BH_PERM_READ, FIXTURE "/work/dir/unlisted"),
	};
	static const struct {
		const char *from, *to;
		int r;
	} moves[] = {
		{FIXTURE "/work/sub", FIXTURE "/work/server", 0},
		{FIXTURE "/work/server", FIXTURE "/work/backend", 0},
		{FIXTURE "/work/backend", FIXTURE "/work/listed", 0},
		{FIXTURE "/work/listed", FIXTURE "/work/dir/unlisted", 0},
		{FIXTURE "/work/dir/unlisted", FIXTURE "/work/dir/server", EACCES},
	};
	const struct cell_options options = {.rules = rules, .nrules = 5};
	_cleanup_cell_ struct cell *cell = cell_new(kern, &options);
	size_t i;
	int r;

	CHECK(cell, "no cell");
	CHECK(mkdir(FIXTURE "/work/dir", 0755) == 0, "mkdir");
	for (i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		r = cell_verb(cell, INSIDE, "rename", moves[i].from, moves[i].to, NULL);
		CHECK(r == moves[i].r, "%s to %s: %s", moves[i].from, moves[i].to, outcome_text(r));
	}
	CHECK(last_reason(cell, BH_HOOK_PATH_RENAME) == BH_REASON_RIGHTS, "another reason");
	return 0;
}

/* --- names that a provider made before it was confined --- */

/* A mount namespace of its own, with the secret at the place of what may be read: as root; in a user
 * namespace; as root, and then in a user namespace; and there in another root directory, which nobody
 * needs a mount for. */
enum maker { MADE_BY_ROOT, MADE_BY_ITS_USERS, MADE_BEFORE_ITS_USERS, MADE_BEFORE_ITS_ROOT };

__attribute__((noreturn)) static int bind_before(void *data)
{
	struct board *board = data;
	int flags = board->go == MADE_BY_ITS_USERS ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS;

	board->results[0] = unshare(flags) < 0 ? errno : 0;
	if (!board->results[0] &&
	    (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	     mount(FIXTURE "/secret", FIXTURE "/open", NULL, MS_BIND, NULL) < 0))
		board->results[0] = errno;
	if (board->go >= MADE_BEFORE_ITS_USERS && unshare(CLONE_NEWUSER) < 0)
		board->results[0] = errno;
	if (board->go == MADE_BEFORE_ITS_ROOT && chroot("/srv") < 0)
		board->results[0] = errno;
	board->done = 1;
	for (;;)
		pause();
}

/* Does its view give the secret another name? 1, 0 or -1. */
static int is_named(struct kern *kern, pid_t pid)
{
	struct mounts mounts = {};
	struct error error = {};
	bool named = false;
	size_t i;

	const pid_t pids[] = {getpid(), pid};

	CHECK(mounts_read(kern, pids, 2, &mounts, &error) == 0, "%.200s", error.text);
	for (i = 0; i < mounts.n; i++)
		named |= !strcmp(mounts.views[i].root, FIXTURE "/secret");
	mounts_done(&mounts);
	return named;
}

static int check_maker(struct kern *kern, struct cell *cell, enum maker maker)
{
	bool counts = maker == MADE_BY_ROOT || maker == MADE_BEFORE_ITS_USERS;
	struct board *board = board_new();
	struct mounts mounts = {};
	struct error error = {};
	int named, alone;
	pid_t pid;

	CHECK(board, "no memory");
	board->go = maker;
	pid = cell_spawn(cell, cell->beside_fd, bind_before, board);
	CHECK(pid > 0 && board_await(&board->done, 1) == 0, "no process");
	CHECK(board->results[0] == 0, "cannot mount: %s", strerror(board->results[0]));
	named = is_named(kern, pid);
	/* What does not count gives way to nobody's, not even the host's. */
	alone = mounts_read(kern, &pid, 1, &mounts, &error);
	mounts_done(&mounts);
	kill(pid, SIGKILL);
	cell_wait(pid);
	board_free(board);
	CHECK(named == counts, "mounts %d: %s", maker, named ? "named" : "not named");
	CHECK(alone == (maker == MADE_BY_ITS_USERS ? -EXDEV : 0), "mounts %d, alone: %s", maker,
	      strerror(-alone));
	return 0;
}

static int case_foreign_mounts(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	enum maker maker;

	CHECK(cell, "no cell");
	for (maker = MADE_BY_ROOT; maker <= MADE_BEFORE_ITS_ROOT; maker++)
		if (check_maker(kern, cell, maker))
			return -1;
	return 0;
}

/* --- special filesystems --- */

static int case_proc(struct kern *kern)
{
	struct rule rules[] = {ALLOW(BH_PERM_READ, "/proc/**")};
	const struct cell_options options = {
		.rules = rules, .nrules = 1, .flags = BH_POLICY_PROC_SELF};
	_cleanup_cell_ struct cell *cell = cell_new(kern, &options);
	char other[64];
	int r;

	CHECK(cell, "no cell");
	if (read_both(cell, "/proc/self/status", 0) || read_both(cell, "/proc/meminfo", 0))
		return -1;
	snprintf(other, sizeof(other), "/proc/%d/status", getpid());
	if (read_both(cell, other, EACCES))
		return -1;
	CHECK(last_reason(cell, BH_HOOK_FILE_OPEN) == BH_REASON_PROC_OTHER, "another reason");
	r = cell_verb(cell, INSIDE, "child", "read", "/proc/1/environ", NULL);
	CHECK(r == EACCES, "/proc/1/environ: %s", outcome_text(r));
	return 0;
}

static int case_proc_none(struct kern *kern)
{
	struct rule rules[] = {ALLOW(BH_PERM_READ, "/proc/**")};
	const struct cell_options options = {.rules = rules, .nrules = 1};
	_cleanup_cell_ struct cell *cell = cell_new(kern, &options);

	CHECK(cell, "no cell");
	return read_both(cell, "/proc/self/status", EACCES);
}

/* Whatever the policy says: cgroupfs is never written, bpffs never opened. */
/* --- ioctls --- */

/* What is allowed any other. The file may not know them: to be asked is one step further. */
static int case_closed_ioctls(struct kern *kern)
{
	static const char *const closed[] = {
		"0x40087602", "0x40047602", "0x40086604", /* version numbers */
		"0x50009401", "0x5000940e", "0x5000940f", /* btrfs: copy, make, remove */
		"0x50009417", "0x50009418", "0x5000943f",
	};
	static const struct rule rules[] = {
		ALLOW(BH_PERM_READ | BH_PERM_WRITE | BH_PERM_IOCTL, FIXTURE "/work/**")};
	const struct cell_options options = {.rules = rules, .nrules = 1};
	_cleanup_cell_ struct cell *cell = cell_new(kern, &options);
	_cleanup_close_ int fd = -1;
	char number[16];
	int r;

	CHECK(cell, "no cell");
	fd = open(FIXTURE "/work/file", O_RDWR);
	CHECK(fd >= 0, "no file");
	snprintf(number, sizeof(number), "%d", fd);
	r = cell_verb(cell, INSIDE, "ioctl", number, "0x40087603", NULL);
	CHECK(r == 0, "another: %s", outcome_text(r));
	for (size_t i = 0; i < sizeof(closed) / sizeof(*closed); i++) {
		__u64 before = cell_tally(cell).hook[BH_HOOK_FILE_IOCTL];

		r = cell_verb(cell, BESIDE, "ioctl", number, closed[i], NULL);
		CHECK(r == 0, "control, %s: %s", closed[i], outcome_text(r));
		r = cell_verb(cell, INSIDE, "ioctl", number, closed[i], NULL);
		CHECK(r == EPERM, "%s: %s", closed[i], outcome_text(r));
		CHECK(cell_tally(cell).hook[BH_HOOK_FILE_IOCTL] == before + 1, "%s: not counted",
		      closed[i]);
		CHECK(last_reason(cell, BH_HOOK_FILE_IOCTL) == BH_REASON_CLOSED, "%s: %d",
		      closed[i], last_reason(cell, BH_HOOK_FILE_IOCTL));
	}
	return 0;
}

static int case_closed_filesystems(struct kern *kern)
{
	struct rule rules[] = {ALLOW(BH_PERM_ALL & ~BH_PERM_JIT, "/sys/fs/**")};
	const struct cell_options options = {.rules = rules, .nrules = 1};
	_cleanup_cell_ struct cell *cell = cell_new(kern, &options);
	char procs[512];
	int r;

	CHECK(cell, "no cell");
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", cell->beside);
	r = cell_verb(cell, INSIDE, "read", procs, NULL);
	CHECK(r == 0, "reading cgroupfs: %s", outcome_text(r));
	r = cell_verb(cell, BESIDE, "cgroup-join", procs, NULL);
	CHECK(r == 0, "control: %s", outcome_text(r));
	r = cell_verb(cell, INSIDE, "cgroup-join", procs, NULL);
	CHECK(r == EACCES, "writing cgroupfs: %s", outcome_text(r));
	snprintf(procs, sizeof(procs), "%s/inner", cell->cgroup);
	r = cell_verb(cell, INSIDE, "mkdir", procs, NULL);
	CHECK(r == EACCES, "making a cgroup: %s", outcome_text(r));
	r = cell_verb(cell, BESIDE, "list", KERN_PIN_DIR, NULL);
	CHECK(r == 0, "control, pins: %s", outcome_text(r));
	r = cell_verb(cell, INSIDE, "list", KERN_PIN_DIR, NULL);
	CHECK(r == EACCES, "listing pins: %s", outcome_text(r));
	r = cell_verb(cell, INSIDE, "mkdir", "/sys/fs/bpf/inner", NULL);
	CHECK(r == EACCES, "making a bpffs directory: %s", outcome_text(r));
	return 0;
}

/* What is refused inside is refused by that hook, counted once and told once, as about that file. */
static int check_closed(struct cell *cell, const char *verb, const char *path, enum bh_hook hook)
{
	struct bh_tally before = cell_tally(cell), after;
	const struct bh_event_copy *e;
	size_t from;
	int r = cell_verb(cell, BESIDE, verb, path, NULL);

	CHECK(r == 0, "control, %s %s: %s", verb, path, outcome_text(r));
	cell_drain(cell);
	from = cell->nevents;
	r = cell_verb(cell, INSIDE, verb, path, NULL);
	CHECK(r == hook_errno(hook), "%s %s: %s", verb, path, outcome_text(r));
	after = cell_tally(cell);
	CHECK(after.hook[hook] == before.hook[hook] + 1, "%s %s: the counter says %llu", verb, path,
	      (unsigned long long)(after.hook[hook] - before.hook[hook]));
	cell_drain(cell);
	e = cell_event(cell, from, hook);
	CHECK(e && e->head.object[1] == BH_SB_DEBUG, "%s %s: no event of it", verb, path);
	return 0;
}

/* The kernel's insides, by a rule for all there is and by one that names the file. */
static int case_debug_filesystems(struct kern *kern)
{
	struct rule rules[] = {ALLOW(BH_PERM_ALL & ~BH_PERM_JIT, "/**"),
			       ALLOW(BH_PERM_READ, "/sys/kernel/security/lsm")};
	const struct cell_options options = {.rules = rules, .nrules = 2};
	_cleanup_cell_ struct cell *cell = cell_new(kern, &options);
	static const struct {
		const char *verb, *path;
		enum bh_hook hook;
	} acts[] = {
		{"list", "/sys/kernel/debug", BH_HOOK_FILE_OPEN},
		{"list", "/sys/kernel/tracing", BH_HOOK_FILE_OPEN},
		{"read", "/sys/kernel/tracing/trace", BH_HOOK_FILE_OPEN},
		{"write", "/sys/kernel/tracing/trace_marker", BH_HOOK_FILE_OPEN},
		{"mkdir-rmdir", "/sys/kernel/tracing/instances/inner", BH_HOOK_PATH_MKDIR},
		{"list", "/sys/kernel/security", BH_HOOK_FILE_OPEN},
		{"read", "/sys/kernel/security/lsm", BH_HOOK_FILE_OPEN},
	};
	int r = 0;

	CHECK(cell, "no cell");
	for (size_t i = 0; r == 0 && i < sizeof(acts) / sizeof(acts[0]); i++)
		r = check_closed(cell, acts[i].verb, acts[i].path, acts[i].hook);
	if (r)
		return r;
	r = cell_verb(cell, INSIDE, "read", "/sys/kernel/uevent_seqnum", NULL);
	CHECK(r == 0, "the rest of /sys: %s", outcome_text(r));
	return 0;
}

/* What profilers in runtimes look for, as base/cgroup-own has it: no event. */
static int case_debug_quiet(struct kern *kern)
{
	struct rule rules[] = {{.effect = RULE_QUIET,
				.perms = BH_PERM_READ,
				.glob = (char *)"/sys/kernel/{debug,tracing}/**"}};
	const struct cell_options options = {.rules = rules, .nrules = 1};
	_cleanup_cell_ struct cell *cell = cell_new(kern, &options);
	struct bh_tally tally;
	int r;

	CHECK(cell, "no cell");
	r = cell_verb(cell, BESIDE, "read", "/sys/kernel/tracing/trace", NULL);
	CHECK(r == 0, "control: %s", outcome_text(r));
	r = cell_verb(cell, INSIDE, "read", "/sys/kernel/tracing/trace", NULL);
	CHECK(r == EACCES, "%s", outcome_text(r));
	tally = cell_tally(cell);
	CHECK(tally.hook[BH_HOOK_FILE_OPEN] == 1 && tally.quiet == 1, "not counted as quiet");
	cell_drain(cell);
	CHECK(!cell_event(cell, 0, BH_HOOK_FILE_OPEN), "an event of what is quiet");
	return 0;
}

/* What a working program does all day. */
static int case_allowed(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	static const struct {
		const char *words[4];
	} acts[] = {
		{{"read", FIXTURE_OPEN}},
		{{"list", FIXTURE "/open"}},
		{{"read", FIXTURE "/work/file"}},
		{{"write", FIXTURE "/work/file"}},
		{{"append", FIXTURE "/work/file"}},
		{{"open-trunc", FIXTURE "/work/file"}},
		{{"create", FIXTURE "/work/new"}},
		{{"link", FIXTURE "/work/new", FIXTURE "/work/new2"}},
		{{"rename", FIXTURE "/work/new2", FIXTURE "/work/new3"}},
		{{"exchange", FIXTURE "/work/new", FIXTURE "/work/new3"}},
		{{"chmod", FIXTURE "/work/new"}},
		{{"truncate", FIXTURE "/work/new"}},
		{{"unlink", FIXTURE "/work/new"}},
		{{"mkdir", FIXTURE "/work/dir"}},
		{{"rename", FIXTURE "/work/dir", FIXTURE "/work/dir2"}},
		{{"rmdir", FIXTURE "/work/dir2"}},
		{{"mkfifo", FIXTURE "/work/fifo"}},
		{{"symlink", "file", FIXTURE "/work/symlink"}},
		{{"read", FIXTURE "/work/symlink"}},
		{{"tmpfile", FIXTURE "/work"}},
		{{"unix-pair"}},
		{{"unix-own", "@bulkhead-test-own"}},
		{{"unix-own", FIXTURE "/work/socket"}},
		{{"fork"}},
		{{"kill-child"}},
	};
	struct bh_tally tally;
	size_t i;
	int n, r;

	CHECK(cell, "no cell");
	for (i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		for (n = 0; n < 4 && acts[i].words[n];)
			n++;
		r = cell_verbv(cell, INSIDE, n, (char **)acts[i].words);
		CHECK(r == 0, "%s %s: %s", acts[i].words[0], n > 1 ? acts[i].words[1] : "",
		      outcome_text(r));
	}
	tally = cell_tally(cell);
	CHECK(tally.refused == tally.quiet, "%llu refusals although all went through",
	      (unsigned long long)tally.refused);
	return 0;
}

const struct test_case place_cases[] = {
	{"place/move-alike", case_move_alike, CASE_REFUSES},
	{"place/foreign-mounts", case_foreign_mounts, CASE_ALLOWS},
	{"place/deep-allowed", case_deep_allowed, CASE_ALLOWS},
	{"place/deep-refused", case_deep_refused, CASE_REFUSES},
	{"place/long-allowed", case_long_allowed, CASE_ALLOWS},
	{"place/long-refused", case_long_refused, CASE_REFUSES},
	{"place/new-mount", case_new_mount, CASE_REFUSES},
	{"place/bind-after", case_bind_after, CASE_REFUSES},
	{"place/bind-before", case_bind_before, CASE_ALLOWS},
	{"place/bind-denied", case_bind_denied, CASE_REFUSES},
	{"place/deny-wins", case_deny_wins, CASE_REFUSES},
	{"place/many-pages", case_many_pages, CASE_REFUSES},
	{"place/replaced", case_replaced, CASE_REFUSES},
	{"place/parent-renamed", case_parent_renamed, CASE_REFUSES},
	{"place/move-directory", case_move_directory, CASE_REFUSES},
	{"place/proc", case_proc, CASE_REFUSES},
	{"place/proc-none", case_proc_none, CASE_REFUSES},
	{"place/closed-ioctls", case_closed_ioctls, CASE_REFUSES},
	{"place/closed-filesystems", case_closed_filesystems, CASE_REFUSES},
	{"place/debug-filesystems", case_debug_filesystems, CASE_REFUSES},
	{"place/debug-quiet", case_debug_quiet, CASE_REFUSES},
	{"place/allowed", case_allowed, CASE_ALLOWS},
	{},
};

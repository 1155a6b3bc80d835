// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One act a hook: beside the compartment it goes through and no counter moves; inside it is refused
 * with the hook's errno, the hook's own counter moves by one, and one event says what it was about.
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

/* Descriptors that attempts find open: made outside, before. */
enum { FD_SECRET = 200, FD_UDP };

#define STREAM "@bulkhead-test-stream"
#define DGRAM "@bulkhead-test-dgram"

struct hook_row {
	const char *name;
	enum bh_hook hook;
	const char *words; /* PID: the harness's own; BESIDE: the sibling cgroup */
	enum bh_object_kind kind;
	enum bh_reason reason;
	const char *tail; /* what the event's path ends with */
};

#define ROW(name, hook, words, kind, reason, tail)                                      \
	{                                                                               \
		name, BH_HOOK_##hook, words, BH_OBJECT_##kind, BH_REASON_##reason, tail \
	}
#define PLACE(name, hook, words, tail) ROW(name, hook, words, PATH, NO_RULE, tail)
#define CLOSED(name, hook, words) ROW(name, hook, words, NUMBER, CLOSED, NULL)

static const struct hook_row rows[] = {
	PLACE("read", FILE_OPEN, "read " FIXTURE_SECRET, "/secret/key"),
	PLACE("read-symlink", FILE_OPEN, "read " FIXTURE "/open/link", "/secret/key"),
	PLACE("write", FILE_OPEN, "write " FIXTURE_OPEN, "/open/file"),
	PLACE("list", FILE_OPEN, "list " FIXTURE "/secret", "/secret"),
	PLACE("tmpfile", FILE_OPEN, "tmpfile " FIXTURE "/secret", NULL),
	PLACE("exec", BPRM_CHECK, "exec /usr/bin/true", NULL),
	PLACE("mmap-exec", MMAP_FILE, "mmap-exec " FIXTURE_OPEN, "/open/file"),
	ROW("mmap-anon", MMAP_FILE, "mmap-anon", NONE, JIT, NULL),
	ROW("mprotect", FILE_MPROTECT, "mprotect", NONE, JIT, NULL),
	PLACE("unlink", PATH_UNLINK, "unlink " FIXTURE_SECRET, "/secret/key"),
	PLACE("rmdir", PATH_RMDIR, "rmdir " FIXTURE "/secret/sub", "/secret/sub"),
	PLACE("mkdir", PATH_MKDIR, "mkdir " FIXTURE "/secret/new", "/secret/new"),
	PLACE("mkfifo", PATH_MKNOD, "mkfifo " FIXTURE "/secret/new", "/secret/new"),
	PLACE("create", PATH_MKNOD, "create " FIXTURE "/open/new", "/open/new"),
	PLACE("symlink", PATH_SYMLINK, "symlink key " FIXTURE "/secret/new", "/secret/new"),
	ROW("link", PATH_LINK, "link " FIXTURE_SECRET " " FIXTURE "/work/new", PATH, RIGHTS,
	    "/work/new"),
	PLACE("link-target", PATH_LINK, "link " FIXTURE_OPEN " " FIXTURE "/secret/new",
	      "/secret/new"),
	PLACE("rename-out", PATH_RENAME, "rename " FIXTURE_SECRET " " FIXTURE "/work/new",
	      "/secret/key"),
	PLACE("rename-over", PATH_RENAME, "rename " FIXTURE "/work/file " FIXTURE_SECRET,
	      "/secret/key"),
	PLACE("exchange", PATH_RENAME, "exchange " FIXTURE "/work/file " FIXTURE_SECRET,
	      "/secret/key"),
	PLACE("rename-dir", PATH_RENAME, "rename " FIXTURE "/secret " FIXTURE "/work/new",
	      "/secret"),
	PLACE("watch", PATH_NOTIFY, "watch " FIXTURE "/secret", "/secret"),
	PLACE("fanotify", PATH_NOTIFY, "fanotify " FIXTURE "/secret", "/secret"),
	CLOSED("whiteout", PATH_RENAME, "whiteout " FIXTURE "/work/file " FIXTURE "/work/new"),
	PLACE("truncate", INODE_SETATTR, "truncate " FIXTURE_SECRET, "/secret/key"),
	PLACE("ftruncate", INODE_SETATTR, "ftruncate 200", "/secret/key"),
	PLACE("chmod", INODE_SETATTR, "chmod " FIXTURE_SECRET, "/secret/key"),
	PLACE("fchmod", INODE_SETATTR, "fchmod 200", "/secret/key"),
	PLACE("chown", INODE_SETATTR, "chown " FIXTURE_SECRET, "/secret/key"),
	PLACE("utimes", INODE_SETATTR, "utimes " FIXTURE_SECRET, "/secret/key"),
	PLACE("getxattr", INODE_GETXATTR, "getxattr " FIXTURE_SECRET, "/secret/key"),
	PLACE("setxattr", INODE_SETXATTR, "setxattr " FIXTURE_SECRET, "/secret/key"),
	PLACE("removexattr", INODE_REMOVEXATTR, "removexattr " FIXTURE_SECRET, "/secret/key"),
	PLACE("set-acl", INODE_SET_ACL, "set-acl " FIXTURE_SECRET, "/secret/key"),
	PLACE("remove-acl", INODE_REMOVE_ACL, "remove-acl " FIXTURE_SECRET, "/secret/key"),
	PLACE("file-setattr", INODE_FILE_SETATTR, "file-setattr " FIXTURE_SECRET, "/secret/key"),
	PLACE("ioctl", FILE_IOCTL, "ioctl 200 0x1234", "/secret/key"),
	ROW("socket-inet", SOCKET_CREATE, "socket 2 1 0", SOCKET, NETWORK, NULL),
	ROW("socket-inet6", SOCKET_CREATE, "socket 10 2 0", SOCKET, NETWORK, NULL),
	ROW("socket-netlink", SOCKET_CREATE, "socket 16 3 0", SOCKET, NETWORK, NULL),
	ROW("connect", SOCKET_CONNECT, "connect-fd 201 127.0.0.9 4660", SOCKET, NETWORK,
	    "\x7f\x00\x00\x09"),
	ROW("sendto", SOCKET_SENDMSG, "send-fd 201 127.0.0.9 4660", SOCKET, NETWORK,
	    "\x7f\x00\x00\x09"),
	PLACE("unix-stream", UNIX_CONNECT, "unix-stream " STREAM, STREAM),
	PLACE("unix-dgram", UNIX_SEND, "unix-dgram " DGRAM, DGRAM),
	CLOSED("clone-into", CLONE_INTO_CGROUP, "clone-into BESIDE"),
	ROW("ptrace", PTRACE, "robust-list PID", TASK, OUTSIDER, NULL),
	ROW("kill", TASK_KILL, "kill PID 0", TASK, OUTSIDER, NULL),
	CLOSED("bpf", BPF, "bpf"),
	CLOSED("unshare-user", USERNS, "unshare 0x10000000"),
	CLOSED("mount", SB_MOUNT, "mount-tmpfs " FIXTURE "/work/sub"),
	CLOSED("move-mount", MOVE_MOUNT, "fsmount " FIXTURE "/work/sub"),
	CLOSED("settime", CAPABLE, "settime"),
	CLOSED("perf", PERF_EVENT, "perf"),
	PLACE("append-off", FILE_FCNTL, "append-off 200", "/secret/key"),
	CLOSED("set-owner", FILE_FCNTL, "set-owner 201 PID"),
	CLOSED("set-owner-ioctl", FILE_IOCTL, "set-owner-ioctl 201 PID"),
	CLOSED("type", FILE_IOCTL, "type 200"),
	CLOSED("type-high", FILE_IOCTL, "type 200 0x8000"),
	CLOSED("console", FILE_IOCTL, "console 200"),
	CLOSED("console-high", FILE_IOCTL, "console 200 1"),
	PLACE("map-gain", FILE_MPROTECT, "map-gain-write 200", "/secret/key"),
	ROW("io-uring", ANON_INODE, "io-uring", NAME, CLOSED, "[io_uring]"),
	ROW("userfaultfd", ANON_INODE, "userfaultfd", NAME, CLOSED, "[userfaultfd]"),
};

static int take_fd(int fd, int as)
{
	if (fd < 0 || dup2(fd, as) < 0)
		return -errno;
	return fd == as ? 0 : close(fd);
}

static int make_unix(const char *name, int type)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	size_t length = strlen(name);
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	memcpy(sun.sun_path + 1, name + 1, length - 1);
	if (bind(fd, (struct sockaddr *)&sun, offsetof(struct sockaddr_un, sun_path) + length) < 0)
		return -errno;
	if (type == SOCK_STREAM && listen(fd, 128) < 0)
		return -errno;
	return fd;
}

/* Files and descriptors as they were before the last attempt. */
static int prepare(void)
{
	int r = fixture_make();

	if (r == 0)
		r = take_fd(open(FIXTURE_SECRET, O_RDWR), FD_SECRET);
	if (r == 0)
		r = take_fd(socket(AF_INET, SOCK_DGRAM, 0), FD_UDP);
	return r;
}

static int attempt(struct cell *cell, enum where where, const struct hook_row *row)
{
	char words[256], pid[16], *argv[8] = {}, *rest = words;
	int argc = 0, r;

	snprintf(words, sizeof(words), "%s", row->words);
	snprintf(pid, sizeof(pid), "%d", getpid());
	while (argc < 8 && (argv[argc] = strsep(&rest, " "))) {
		if (!strcmp(argv[argc], "PID"))
			argv[argc] = pid;
		else if (!strcmp(argv[argc], "BESIDE"))
			argv[argc] = cell->beside;
		argc++;
	}
	r = prepare();
	if (r < 0)
		return VERB_BROKEN - r;
	r = cell_verbv(cell, where, argc, argv);
	/* What a control mounted must not hide the next one's files. */
	umount2(FIXTURE "/work/sub", MNT_DETACH);
	return r;
}

static int check_event(struct cell *cell, const struct hook_row *row)
{
	const struct bh_event_copy *e = cell_event(cell, 0, row->hook);
	size_t have, want = row->tail ? strlen(row->tail) : 0;

	CHECK(e, "no event");
	CHECK(e->head.abi == BH_ABI && e->head.generation == cell->generation,
	      "the event is of another generation");
	CHECK(e->head.error == hook_errno(row->hook), "the event says errno %d", e->head.error);
	CHECK(e->head.kind == row->kind, "the event's object is of kind %u", e->head.kind);
	CHECK(e->head.reason == row->reason, "the event's reason: %s", reason_text(e->head.reason));
	CHECK(e->head.tgid && e->head.start_ns && e->head.comm[0], "the event names no process");
	if (row->kind == BH_OBJECT_TASK)
		CHECK(e->head.object[0] == (__u32)getpid(), "the event names another target");
	if (row->kind == BH_OBJECT_SOCKET && row->tail) {
		CHECK(e->head.object[3] == 4660, "the event says port %u", e->head.object[3]);
		CHECK(!memcmp(e->tail, row->tail, 4), "the event says another address");
		return 0;
	}
	have = strlen(e->tail);
	CHECK(have >= want && (!want || !strcmp(e->tail + have - want, row->tail)),
	      "the event is about %.120s", e->tail);
	return 0;
}

static int check_row(struct cell *cell, const struct hook_row *row);

/* Where the kernel does not have the hook, the same attempt is refused in another. */
static int check_stand_in(struct cell *cell, const struct hook_row *row)
{
	struct hook_row other = *row;

	switch (row->hook) {
	case BH_HOOK_INODE_SET_ACL:
		other.hook = BH_HOOK_INODE_SETXATTR;
		break;
	case BH_HOOK_INODE_REMOVE_ACL:
		other.hook = BH_HOOK_INODE_REMOVEXATTR;
		break;
	case BH_HOOK_INODE_FILE_SETATTR:
		/* Nor the system call. */
		other.hook = BH_HOOK_FILE_IOCTL;
		other.words = "set-flags 200";
		break;
	default:
		return case_fail("the kernel does not have the hook");
	}
	return check_row(cell, &other);
}

static int check_row(struct cell *cell, const struct hook_row *row)
{
	struct bh_tally before, beside, after;
	enum kern_hook_state state;
	__u32 link;
	int r;

	if (kern_hook_state(cell->kern, row->hook, &state, &link) < 0)
		return case_fail("the hook's state cannot be read");
	if (state == KERN_HOOK_ABSENT)
		return check_stand_in(cell, row);
	before = cell_tally(cell);
	r = attempt(cell, BESIDE, row);
	CHECK(r == 0, "control beside the compartment: %s", outcome_text(r));
	beside = cell_tally(cell);
	CHECK(!memcmp(&before, &beside, sizeof(before)), "a sibling cgroup moved the counters");
	cell_drain(cell);
	cell->nevents = 0;
	r = attempt(cell, INSIDE, row);
	CHECK(r == hook_errno(row->hook), "inside: %s", outcome_text(r));
	after = cell_tally(cell);
	CHECK(after.hook[row->hook] == before.hook[row->hook] + 1,
	      "the hook's counter moved by %lld",
	      (long long)(after.hook[row->hook] - before.hook[row->hook]));
	CHECK(after.refused + after.noted ==
		      after.reported + after.quiet + after.folded + after.lost,
	      "the tally does not add up");
	CHECK(after.unsure == before.unsure, "refused because it could not be decided");
	cell_drain(cell);
	return check_event(cell, row);
}

void hook_cases(struct kern *kern, bool mutate)
{
	const struct cell_options options = {
		/* Kept, so that the hooks behind capable are reached. */
		.caps = ~(1ULL << CAP_SYS_TIME),
	};
	_cleanup_cell_ struct cell *cell = NULL;
	int stream, dgram;
	char name[64];
	size_t i;

	stream = make_unix(STREAM, SOCK_STREAM);
	dgram = make_unix(DGRAM, SOCK_DGRAM);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(name, sizeof(name), "hook/%s", rows[i].name);
		if (!case_wanted(name))
			continue;
		case_begin();
		if (!cell)
			cell = cell_new(kern, &options);
		case_report(name, cell ? check_row(cell, &rows[i]) : case_fail("no cell"), mutate);
	}
	close(stream);
	close(dgram);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Descriptors that are open when the policy comes. One member holds them, and does what it is told: before
 * the policy, where each act must go through, and under it.
 */
#include "held.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <linux/io_uring.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define POLICY "/run/held.yaml"
#define GONE FIXTURE "/open/gone"
#define LISTED "@bulkhead-test-held"

/* --- acts: positive errno, or 0 --- */

static int errno_of(long r)
{
	return r < 0 ? errno : 0;
}

/* Nothing to be had at the moment is as good as something. */
static int errno_of_now(long r)
{
	return r < 0 && errno != EAGAIN ? errno : 0;
}

static int act_read(int fd)
{
	char byte;

	return errno_of(pread(fd, &byte, 1, 0));
}

static int act_write(int fd)
{
	return errno_of(pwrite(fd, "x", 1, 0));
}

static int act_list(int fd)
{
	char buffer[1024];

	lseek(fd, 0, SEEK_SET);
	return errno_of(syscall(SYS_getdents64, fd, buffer, sizeof(buffer)));
}

static int act_map(int fd)
{
	void *map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

	if (map == MAP_FAILED)
		return errno;
	munmap(map, 4096);
	return 0;
}

static int act_lock(int fd)
{
	int r = errno_of(flock(fd, LOCK_SH | LOCK_NB));

	flock(fd, LOCK_UN);
	return r;
}

/* What is free of any file that may be used. */
static int act_ioctl(int fd)
{
	int n;

	return errno_of(ioctl(fd, FIONREAD, &n));
}

static int act_sendfile(int fd)
{
	off_t at = 0;

	return errno_of(sendfile(PIPE_OUT, fd, &at, 1));
}

static int act_splice(int fd)
{
	loff_t at = 0;

	return errno_of(splice(fd, &at, PIPE_OUT, NULL, 1, 0));
}

static int act_copy(int fd)
{
	loff_t from = 0, to = 1;

	return errno_of(copy_file_range(fd, &from, fd, &to, 1, 0));
}

static int act_allocate(int fd)
{
	return errno_of(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 4096));
}

static int act_dup(int fd)
{
	int copy = dup(fd), r = copy < 0 ? errno : act_read(copy);

	close(copy);
	return r;
}

static int act_fork(int fd)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(act_read(fd));
	return pid < 0 ? errno : cell_wait(pid);
}

static int act_receive(int fd)
{
	char byte;

	return errno_of_now(recv(fd, &byte, 1, MSG_DONTWAIT));
}

/* As linux/tcp.h has it: glibc's is older, and ends before the buffer. */
struct zerocopy {
	__u64 address;
	__u32 length, skip, inq;
	__s32 error;
	__u64 buffer;
	__s32 buffer_length;
	__u32 flags;
};

/* Receives by getsockopt(2). */
static int act_receive_option(int fd)
{
	char bytes[64];
	struct zerocopy z = {.buffer = (__u64)(uintptr_t)bytes, .buffer_length = sizeof(bytes)};
	socklen_t n = sizeof(z);

	if (getsockopt(fd, IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, &z, &n) < 0)
		return errno;
	return z.buffer_length > 0 ? 0 : ENODATA;
}

static int act_read_socket(int fd)
{
	char byte;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	return errno_of_now(read(fd, &byte, 1));
}

static int act_send(int fd)
{
	return errno_of_now(send(fd, "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL));
}

static int act_send_to(int fd)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(9),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	return errno_of(sendto(fd, "", 0, MSG_DONTWAIT, (struct sockaddr *)&to, sizeof(to)));
}

static int act_accept(int fd)
{
	int connection;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	if (connection >= 0)
		close(connection);
	return errno_of_now(connection);
}

static int act_signal(int fd)
{
	return errno_of(syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0));
}

union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

int send_fd(int socket, int fd)
{
	union control control = {};
	char byte = 'f';
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};

	control.head = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
					.cmsg_type = SCM_RIGHTS,
					.cmsg_len = CMSG_LEN(sizeof(int))};
	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	return errno_of(sendmsg(socket, &msg, MSG_NOSIGNAL));
}

int take_fd(int socket)
{
	union control control = {};
	char byte;
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	int fd = -1;

	if (recvmsg(socket, &msg, MSG_CMSG_CLOEXEC) == 1 &&
	    msg.msg_controllen >= CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
	return fd;
}

/* Takes what lies there for it: EBADF when no descriptor came along. */
static int act_take(int fd)
{
	int taken = take_fd(fd);

	if (taken < 0)
		return EBADF;
	close(taken);
	return 0;
}

/* Over a pair of its own to a child, which is a member as well. */
static int act_pass(int fd)
{
	int pair[2], r;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return errno;
	r = send_fd(pair[0], fd);
	pid = fork();
	if (pid == 0)
		_exit(act_take(pair[1]));
	close(pair[0]);
	close(pair[1]);
	return r || pid < 0 ? EIO : cell_wait(pid);
}

static int act_give(int fd)
{
	return send_fd(MINE, fd);
}

/* Its own, by the system call that takes those of others. */
static int act_getfd(int fd)
{
	_cleanup_close_ int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	int copy = (int)syscall(SYS_pidfd_getfd, self, fd, 0);

	if (copy >= 0)
		close(copy);
	return errno_of(copy);
}

const struct held_act held_acts[] = {
	{"read", act_read, SECRET, BH_HOOK_FILE_PERMISSION, EACCES, "/secret/key"},
	{"write", act_write, SECRET, BH_HOOK_FILE_PERMISSION, EACCES, "/secret/key"},
	{"list", act_list, DIRECTORY, BH_HOOK_FILE_PERMISSION, EACCES, "/secret"},
	{"deleted", act_read, DELETED, BH_HOOK_FILE_PERMISSION, EACCES, "/open/gone"},
	{"map", act_map, SECRET, BH_HOOK_MMAP_HELD, EACCES, "/secret/key"},
	{"lock", act_lock, SECRET, BH_HOOK_FILE_LOCK, EACCES, "/secret/key"},
	{"ioctl", act_ioctl, SECRET, BH_HOOK_FILE_IOCTL, EPERM, "/secret/key"},
	{"sendfile", act_sendfile, SECRET, BH_HOOK_FILE_PERMISSION, EACCES, "/secret/key"},
	{"splice", act_splice, SECRET, BH_HOOK_FILE_PERMISSION, EACCES, "/secret/key"},
	{"copy", act_copy, SECRET, BH_HOOK_FILE_PERMISSION, EACCES, "/secret/key"},
	{"allocate", act_allocate, SECRET, BH_HOOK_FILE_PERMISSION, EACCES, "/secret/key"},
	{"dup", act_dup, SECRET, BH_HOOK_FILE_PERMISSION, EACCES, "/secret/key"},
	{"fork", act_fork, SECRET, BH_HOOK_FILE_PERMISSION, EACCES, "/secret/key"},
	{"udp-receive", act_receive, UDP, BH_HOOK_SOCKET_RECVMSG, EACCES, NULL},
	{"udp-send", act_send_to, UDP, BH_HOOK_SOCKET_SENDMSG, EACCES, NULL},
	{"tcp-receive", act_receive, TCP, BH_HOOK_SOCKET_RECVMSG, EACCES, NULL},
	{"tcp-read", act_read_socket, TCP, BH_HOOK_FILE_PERMISSION, EACCES, NULL},
	{"tcp-send", act_send, TCP, BH_HOOK_SOCKET_SENDMSG, EACCES, NULL},
	{"accept", act_accept, LISTENER, BH_HOOK_SOCKET_ACCEPT, EACCES, NULL},
	{"unix-send", act_send, NAMED, BH_HOOK_SOCKET_SENDMSG, EACCES, NULL},
	{"unix-receive", act_receive, NAMED, BH_HOOK_SOCKET_RECVMSG, EACCES, NULL},
	{"pidfd", act_signal, PIDFD, BH_HOOK_TASK_KILL, EPERM, NULL},
	{"pass", act_pass, SECRET, BH_HOOK_FILE_RECEIVE, EBADF, "/secret/key"},
	{"pass-deleted", act_pass, DELETED, BH_HOOK_FILE_RECEIVE, EBADF, "/open/gone"},
	{"getfd", act_getfd, SECRET, BH_HOOK_FILE_RECEIVE, EACCES, "/secret/key"},
	{"open-read", act_read, OPEN, BH_HOOK_NONE, 0, NULL},
	{"open-map", act_map, OPEN, BH_HOOK_NONE, 0, NULL},
	{"open-lock", act_lock, OPEN, BH_HOOK_NONE, 0, NULL},
	{"open-pass", act_pass, OPEN, BH_HOOK_NONE, 0, NULL},
	{"open-getfd", act_getfd, OPEN, BH_HOOK_NONE, 0, NULL},
	{"pipe-pass", act_pass, PIPE_OUT, BH_HOOK_NONE, 0, NULL},
	/* No hook is asked: nothing is left. */
	{"tcp-receive-option", act_receive_option, TCP, BH_HOOK_NONE, ENODATA, NULL},
	{"give", act_give, SECRET, BH_HOOK_NONE, 0, NULL},
	{},
};
#define NROWS ((int)(sizeof(held_acts) / sizeof(held_acts[0])) - 1)

/* --- the stage --- */

static int put(int fd, int as)
{
	if (fd < 0 || dup2(fd, as) < 0)
		return -errno;
	close(fd);
	return 0;
}

static socklen_t listed(struct sockaddr_un *sun)
{
	*sun = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(sun->sun_path + 1, LISTED + 1, strlen(LISTED) - 1);
	return offsetof(struct sockaddr_un, sun_path) + strlen(LISTED);
}

/* A connection to a name, both ends. */
static int connect_named(int as, int peer_as)
{
	_cleanup_close_ int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr_un sun;
	socklen_t n = listed(&sun);

	if (bind(listener, (struct sockaddr *)&sun, n) < 0 || listen(listener, 1) < 0 ||
	    connect(fd, (struct sockaddr *)&sun, n) < 0)
		return -errno;
	return put(accept(listener, NULL, NULL), peer_as) ?: put(fd, as);
}

static int listen_inet(struct sockaddr_in *ret)
{
	socklen_t n = sizeof(*ret);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	*ret = (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (bind(fd, (struct sockaddr *)ret, n) < 0 || listen(fd, 4) < 0 ||
	    getsockname(fd, (struct sockaddr *)ret, &n) < 0)
		return -errno;
	return fd;
}

static int connect_inet(void)
{
	struct sockaddr_in at;
	int listener = listen_inet(&at), fd = socket(AF_INET, SOCK_STREAM, 0);

	if (listener < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		return -errno;
	return put(accept(listener, NULL, NULL), TCP_PEER) ?: put(fd, TCP)
						  ?: put(listener, LISTENER);
}

static int make_descriptors(void)
{
	int pair[2], ends[2], r;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 || pipe(ends) < 0)
		return -errno;
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	r = put(pair[0], OURS) ?: put(pair[1], MINE);
	r = r ?: put(ends[0], PIPE_IN) ?: put(ends[1], PIPE_OUT);
	r = r ?: put(open(FIXTURE_SECRET, O_RDWR), SECRET);
	r = r ?: mkfifo(FIXTURE "/secret/fifo", 0600) < 0 ? -errno : 0;
	r = r ?: put(open(FIXTURE "/secret", O_RDONLY | O_DIRECTORY), DIRECTORY);
	r = r ?: put(open(GONE, O_RDWR | O_CREAT, 0600), DELETED);
	r = r ?: put(open(FIXTURE_OPEN, O_RDONLY), OPEN);
	r = r ?: put(socket(AF_INET, SOCK_DGRAM, 0), UDP);
	r = r ?: put((int)syscall(SYS_pidfd_open, getpid(), 0), PIDFD);
	if (r == 0 && (write(DELETED, "gone", 4) != 4 || unlink(GONE) < 0))
		r = -errno;
	r = r ?: connect_inet();
	return r ?: connect_named(NAMED, NAMED_PEER);
}

/* Does row after row as it is told. */
static int member_main(void *data)
{
	struct board *board = data;
	int row;

	close_range(3, FIRST_FD - 1, 0);
	close_range(LAST_MEMBER_FD, ~0u, 0);
	for (;;) {
		board->done++;
		if (board_await(&board->go, board->done) < 0)
			return 0;
		row = board->results[0];
		board->results[1] =
			row < NROWS ? held_acts[row].act(held_acts[row].fd) : act_take(MINE);
	}
}

/* Takes what lies in its pair when there is no such row. */
int stage_does_nth(struct stage *s, int row)
{
	s->board->results[0] = row;
	s->board->go = ++s->acts;
	return board_await(&s->board->done, s->acts + 1) < 0 ? VERB_BROKEN + ETIMEDOUT
							     : s->board->results[1];
}

static int row_of(const char *act)
{
	int i;

	for (i = 0; i < NROWS && strcmp(held_acts[i].name, act) != 0;)
		i++;
	return i;
}

int stage_does(struct stage *s, const char *act)
{
	return stage_does_nth(s, row_of(act));
}

int stage_takes(struct stage *s)
{
	return stage_does_nth(s, NROWS);
}

static int write_policy(const char *mode, const char *existing)
{
	FILE *out = fopen(POLICY, "we");
	int r;

	CHECK(out, POLICY ": %s", strerror(errno));
	r = fprintf(out,
		    "version: 1\nname: held\nmode: %s\nexisting: %s\nfiles:\n"
		    "  - {allow: [read, write], on: [\"" FIXTURE "/open/**\"]}\nnetwork: none\n",
		    mode, existing);
	CHECK(!fclose(out) && r > 0, POLICY " is not written");
	return 0;
}

void stage_done(struct stage *s)
{
	struct error error = {};

	if (s->compartment)
		compartment_detach(s->kern, s->compartment, &error);
	cell_free(s->cell);
	if (s->cgroup) {
		cgroup_kill(s->cgroup, HARNESS_DEADLINE_MS, NULL);
		cgroup_remove(s->cgroup);
	}
	if (s->member > 0)
		cell_wait(s->member);
	compartment_free(s->compartment);
	report_done(&s->report);
	board_free(s->board);
	free(s->cgroup);
	close_range(FIRST_FD, LAST_FD, 0);
	unlink(POLICY);
}

int stage_init(struct stage *s, struct kern *kern, const char *existing)
{
	struct error error = {};
	int r;

	s->kern = kern;
	s->board = board_new();
	CHECK(s->board && fixture_make() == 0, "no fixture");
	CHECK(cgroup_own_create("test-held", &s->cgroup, &error) == 0, "%.200s", error.text);
	r = make_descriptors();
	CHECK(r == 0, "no descriptors: %s", strerror(-r));
	s->member = cell_spawn(NULL, -1, s->main ?: member_main, s->board);
	CHECK(s->member > 0 && board_await(&s->board->done, 1) == 0, "no member");
	CHECK(cell_move(s->cgroup, s->member) == 0, "the member cannot be moved");
	return write_policy("enforce", existing);
}

int stage_attach(struct stage *s, struct error *error)
{
	struct attach_request request = {.policy = POLICY, .cgroup = s->cgroup, .caller = getpid()};

	return compartment_attach(s->kern, &request, &s->compartment, &s->report, error);
}

static bool report_says(const struct stage *s, const char *text)
{
	for (size_t i = 0; i < s->report.n; i++)
		if (strstr(s->report.lines[i], text))
			return true;
	return false;
}

int count_links(void)
{
	_cleanup_closedir_ DIR *dir = opendir(KERN_PIN_DIR "/recheck-links/revoked");
	struct dirent *e;
	int n = 0;

	while (dir && (e = readdir(dir)))
		n += e->d_name[0] != '.';
	return n;
}

int check_idle(struct kern *kern, const char *when)
{
	enum kern_hook_state state = KERN_HOOK_LOST;
	__u32 link, revoked = 1;

	CHECK(kern_revoked(kern, 0, &revoked) == 0 && !revoked, "%s: %u open files are revoked",
	      when, revoked);
	CHECK(count_links() == 0, "%s: %d re-checks are attached", when, count_links());
	CHECK(kern_hook_state(kern, BH_HOOK_FILE_PERMISSION, &state, &link) == 0 &&
		      state == KERN_HOOK_IDLE,
	      "%s: the hook's state is %d", when, state);
	return 0;
}

/* --- the rows --- */

static int check_event(struct stage *s, const struct held_act *row)
{
	const struct bh_event_copy *e = cell_event(s->cell, 0, row->hook);
	size_t have, want = row->tail ? strlen(row->tail) : 0;

	CHECK(e, "%s: no event", row->name);
	CHECK(e->head.error == hook_errno(row->hook), "%s: the event says errno %d", row->name,
	      e->head.error);
	if (row->fd == PIDFD)
		return 0;
	CHECK(e->head.reason == BH_REASON_REVOKED, "%s: the event's reason: %s", row->name,
	      reason_text(e->head.reason));
	CHECK(e->head.object[4] == (__u32)row->fd + 1, "%s: the event says descriptor %d",
	      row->name, (int)e->head.object[4] - 1);
	CHECK(e->head.kind == (row->tail ? BH_OBJECT_PATH : BH_OBJECT_SOCKET),
	      "%s: the event's object is of kind %u", row->name, e->head.kind);
	have = strlen(e->tail);
	CHECK(have >= want && (!want || !strcmp(e->tail + have - want, row->tail)),
	      "%s: the event is about %.120s", row->name, e->tail);
	return 0;
}

int stage_check_nth(struct stage *s, int i)
{
	const struct held_act *row = &held_acts[i];
	struct bh_tally before = cell_tally(s->cell), after;
	int r;

	cell_drain(s->cell);
	s->cell->nevents = 0;
	r = stage_does_nth(s, i);
	CHECK(r == row->error, "%s: %s", row->name, outcome_text(r));
	after = cell_tally(s->cell);
	CHECK(after.unsure == before.unsure, "%s: refused because it could not be decided",
	      row->name);
	if (row->hook == BH_HOOK_NONE) {
		CHECK(after.refused == before.refused, "%s: something was refused", row->name);
		return 0;
	}
	CHECK(after.hook[row->hook] == before.hook[row->hook] + 1,
	      "%s: the hook's counter moved by %lld", row->name,
	      (long long)(after.hook[row->hook] - before.hook[row->hook]));
	cell_drain(s->cell);
	return check_event(s, row);
}

int stage_check(struct stage *s, const char *act)
{
	return stage_check_nth(s, row_of(act));
}

/* Files are open to outsiders as before; connections are dead for all who hold them. */
static int check_outside(void)
{
	static const int dead[] = {TCP, TCP_PEER, NAMED, NAMED_PEER, UDP};
	struct pollfd p = {};

	CHECK(act_read(SECRET) == 0 && act_write(SECRET) == 0 && act_map(SECRET) == 0 &&
		      act_lock(SECRET) == 0 && act_list(DIRECTORY) == 0 && act_read(DELETED) == 0,
	      "an outsider cannot use the file");
	for (size_t i = 0; i < sizeof(dead) / sizeof(dead[0]); i++) {
		p = (struct pollfd){.fd = dead[i], .events = POLLRDHUP};
		CHECK(poll(&p, 1, 1000) == 1 && p.revents & (POLLHUP | POLLRDHUP),
		      "descriptor %d is not shut down: %#x", dead[i], p.revents);
	}
	return 0;
}

int stage_enforce(struct stage *s)
{
	struct error error = {};

	CHECK(stage_attach(s, &error) == 0, "attach: %.230s", error.text);
	s->cell = cell_adopt(s->kern, s->compartment->id, s->cgroup, "test-held");
	CHECK(s->cell, "no cell");
	return 0;
}

static int case_rows(struct kern *kern)
{
	_cleanup_stage_ struct stage s = {};
	int i, r;

	if (check_idle(kern, "before") || stage_init(&s, kern, REVOKE))
		return -1;
	CHECK(send(TCP_PEER, "control", 7, MSG_NOSIGNAL) == 7, "no peer");
	for (i = 0; i < NROWS; i++) {
		r = stage_does_nth(&s, i);
		CHECK(r == 0, "control: %s before the policy: %s", held_acts[i].name,
		      outcome_text(r));
	}
	CHECK(send(TCP_PEER, "unread", 6, MSG_NOSIGNAL) == 6, "no peer");
	if (stage_enforce(&s))
		return -1;
	for (i = 0; i < NROWS; i++)
		if (stage_check_nth(&s, i))
			return -1;
	return check_outside();
}

static int case_reported(struct kern *kern)
{
	_cleanup_stage_ struct stage s = {};
	__u32 n = 0;

	if (stage_init(&s, kern, REVOKE) || stage_enforce(&s))
		return -1;
	CHECK(report_says(&s, "revoked: pid ") &&
		      report_says(&s, "fd 200: read,write " FIXTURE_SECRET ": no rule allows it"),
	      "the report does not name what was revoked: %s", s.report.n ? s.report.lines[0] : "");
	CHECK(s.compartment->revoked && s.compartment->revoked[0], "nor does the record");
	/* Eight of nine kinds; a pipe, a pair and what a rule allows are none. */
	CHECK(kern_revoked(kern, 0, &n) == 0 && n == 8, "%u open files are revoked", n);
	return 0;
}

/* --- how it ends --- */

static int case_detach(struct kern *kern)
{
	_cleanup_stage_ struct stage s = {};
	struct error error = {};
	int r;

	if (stage_init(&s, kern, REVOKE) || stage_enforce(&s) || stage_check(&s, "read"))
		return -1;
	CHECK(compartment_detach(kern, s.compartment, &error) == 0, "%.200s", error.text);
	compartment_free(TAKE_PTR(s.compartment));
	r = stage_does(&s, "read");
	CHECK(r == 0, "read after the detach: %s", outcome_text(r));
	return check_idle(kern, "detached");
}

/* The last that held them is gone, and nobody pays any more, while the compartment stands. */
static int case_closed(struct kern *kern)
{
	_cleanup_stage_ struct stage s = {};
	struct error error = {};

	if (stage_init(&s, kern, REVOKE) || stage_enforce(&s))
		return -1;
	CHECK(count_links() > 0, "nothing is attached");
	CHECK(cgroup_kill(s.cgroup, HARNESS_DEADLINE_MS, &error) == 0, "%.200s", error.text);
	cell_wait(s.member);
	s.member = 0;
	CHECK(compartments_sweep(kern, &error) >= 0, "%.200s", error.text);
	CHECK(count_links() > 0, "taken away although the harness holds the files");
	close_range(FIRST_FD, LAST_FD, 0);
	CHECK(compartments_sweep(kern, &error) >= 0, "%.200s", error.text);
	return check_idle(kern, "closed");
}

/* --- agents that come and go --- */

static int reopen(const char *when)
{
	struct error error = {};
	struct kern *other = NULL;
	int r = kern_open(&other, &error);

	if (r == 0)
		kern_close(other);
	case_fail("%s: %.200s", when, error.text);
	return r;
}

static int case_adopted(struct kern *kern)
{
	_cleanup_stage_ struct stage s = {};

	if (stage_init(&s, kern, REVOKE) || stage_enforce(&s))
		return -1;
	if (reopen("an agent that starts again"))
		return -1;
	if (stage_check(&s, "read") || stage_check(&s, "map"))
		return -1;
	/* One that lost a link, of a hook with a row and without one, is not adopted. */
	CHECK(rename(KERN_PIN_DIR "/recheck-links/revoked/file_free_security",
		     KERN_PIN_DIR "/kept") == 0,
	      "no such pin");
	CHECK(reopen("") == -ESTALE, "adopted without file_free_security");
	CHECK(rename(KERN_PIN_DIR "/kept",
		     KERN_PIN_DIR "/recheck-links/revoked/file_free_security") == 0,
	      "no way back");
	CHECK(rename(KERN_PIN_DIR "/recheck-links/revoked/file_permission", KERN_PIN_DIR "/kept") ==
		      0,
	      "no such pin");
	CHECK(reopen("") == -ESTALE, "adopted without file_permission");
	CHECK(rename(KERN_PIN_DIR "/kept", KERN_PIN_DIR "/recheck-links/revoked/file_permission") ==
		      0,
	      "no way back");
	return reopen("whole again");
}

/* One that died between attaching and the first entry. */
static int case_crash(struct kern *kern)
{
	struct error error = {};

	CHECK(kern_rechecks_attach(kern, KERN_RECHECK_REVOKED, &error) == 0, "%.200s", error.text);
	CHECK(count_links() > 0, "nothing is attached");
	if (reopen("attached, and nothing revoked"))
		return -1;
	CHECK(compartments_sweep(kern, &error) >= 0, "%.200s", error.text);
	return check_idle(kern, "swept");
}

/* --- what cannot be revoked --- */

static int hold_namespace(void *data)
{
	struct board *board = data;
	int fd = open("/proc/self/ns/net", O_RDONLY);

	dup2(fd, LISTENER);
	return member_main(board);
}

/* Nothing of it happened: the connection lives. */
static int case_irrevocable(struct kern *kern)
{
	_cleanup_stage_ struct stage s = {};
	struct error error = {};
	char byte;
	pid_t pid;

	if (stage_init(&s, kern, REVOKE))
		return -1;
	s.board->done = 0;
	pid = cell_spawn(NULL, -1, hold_namespace, board_new());
	usleep(100000);
	CHECK(pid > 0 && cell_move(s.cgroup, pid) == 0, "no second member");
	s.board->done = 1;
	CHECK(stage_attach(&s, &error) == -EPERM, "attached with a namespace to enter");
	CHECK(strstr(error.text, "fd 205: net:[") && strstr(error.text, "it cannot be revoked"),
	      "%.230s", error.text);
	CHECK(stage_does(&s, "read") == 0, "a file was taken");
	CHECK(send(TCP_PEER, "x", 1, MSG_NOSIGNAL) == 1 && recv(TCP, &byte, 1, 0) == 1,
	      "a connection was taken");
	cgroup_kill(s.cgroup, HARNESS_DEADLINE_MS, &error);
	cell_wait(pid);
	return check_idle(kern, "refused");
}

/* Between it and a pipe bytes move unasked. */
static int hold_fifo(void *data)
{
	int fd = open(FIXTURE "/secret/fifo", O_RDWR | O_CLOEXEC);

	dup2(fd, LISTENER);
	return member_main(data);
}

/* It has no descriptor, and needs none. */
static int hold_ring(void *data)
{
	struct io_uring_params params = {};
	int fd = (int)syscall(SYS_io_uring_setup, 4, &params);
	struct io_uring_rsrc_update update = {.offset = ~0u, .data = (__u64)fd};

	if (syscall(SYS_io_uring_register, fd, IORING_REGISTER_RING_FDS, &update, 1) != 1)
		return -1;
	close(fd);
	close(PIDFD);
	return member_main(data);
}

static int refuses_to_attach(struct kern *kern, cell_fn main, const char *existing,
			     const char *what, const char *why)
{
	_cleanup_stage_ struct stage s = {.main = main};
	struct error error = {};

	if (stage_init(&s, kern, existing))
		return -1;
	CHECK(stage_attach(&s, &error) == -EPERM, "attached with %s", what);
	CHECK(strstr(error.text, what) && strstr(error.text, why), "%.230s", error.text);
	return check_idle(kern, "refused");
}

static int case_fifo(struct kern *kern)
{
	return refuses_to_attach(kern, hold_fifo, REVOKE,
				 "fd 205: read,write " FIXTURE "/secret/fifo",
				 "it cannot be revoked");
}

static int case_ring(struct kern *kern)
{
	return refuses_to_attach(kern, hold_ring, "{default: report, others: refuse}",
				 "a registered io_uring", "no hook judges");
}

static int case_refuse_default(struct kern *kern)
{
	_cleanup_stage_ struct stage s = {};
	struct error error = {};

	if (stage_init(&s, kern, "{default: report, files: refuse, keep: [stdio]}"))
		return -1;
	CHECK(stage_attach(&s, &error) == -EPERM, "attached with files: refuse");
	CHECK(strstr(error.text, "fd 200"), "%.230s", error.text);
	return check_idle(kern, "refused");
}

/* Files alone: sockets are reported, and go on. */
static int case_by_kind(struct kern *kern)
{
	_cleanup_stage_ struct stage s = {};
	int r;

	if (stage_init(&s, kern, "{default: report, files: revoke, keep: [stdio]}") ||
	    stage_enforce(&s) || stage_check(&s, "read"))
		return -1;
	r = stage_does(&s, "tcp-send");
	CHECK(r == 0, "sending on a connection that is reported: %s", outcome_text(r));
	return 0;
}

static int hold_as_stdio(void *data)
{
	dup2(SECRET, STDIN_FILENO);
	dup2(TCP, STDOUT_FILENO);
	return member_main(data);
}

/* What is kept is so by any number, and its connection lives. */
static int case_kept(struct kern *kern)
{
	_cleanup_stage_ struct stage s = {.main = hold_as_stdio};
	char byte;
	int r;

	if (stage_init(&s, kern, REVOKE) || stage_enforce(&s))
		return -1;
	CHECK(report_says(&s, "fd 200: not revoked"), "the report does not say so");
	r = stage_does(&s, "read");
	CHECK(r == 0, "reading by the other number: %s", outcome_text(r));
	CHECK(send(TCP_PEER, "x", 1, MSG_NOSIGNAL) == 1 && recv(TCP, &byte, 1, 0) == 1,
	      "the connection was shut down");
	r = stage_does(&s, "list");
	CHECK(r == EACCES, "listing what is not kept: %s", outcome_text(r));
	return 0;
}

/* Told and let through; nothing is shut down. */
static int case_audit(struct kern *kern)
{
	_cleanup_stage_ struct stage s = {};
	const struct bh_event_copy *e;
	char byte;
	int r;

	if (stage_init(&s, kern, REVOKE) || write_policy("audit", REVOKE) || stage_enforce(&s))
		return -1;
	cell_drain(s.cell);
	s.cell->nevents = 0;
	r = stage_does(&s, "read");
	CHECK(r == 0, "read: %s", outcome_text(r));
	cell_drain(s.cell);
	e = cell_event(s.cell, 0, BH_HOOK_FILE_PERMISSION);
	CHECK(e && e->head.bits & BH_EVENT_AUDIT && e->head.reason == BH_REASON_REVOKED,
	      "it was not told");
	CHECK(send(TCP_PEER, "x", 1, MSG_NOSIGNAL) == 1 && recv(TCP, &byte, 1, 0) == 1,
	      "a connection was shut down");
	CHECK(write_policy("enforce", REVOKE) == 0, "no policy");
	{
		struct error error = {};

		CHECK(compartment_reload(kern, s.compartment, &error) == 0, "%.200s", error.text);
	}
	r = stage_does(&s, "read");
	CHECK(r == EACCES, "read, enforced by a reload: %s", outcome_text(r));
	return 0;
}

/* Two compartments that inherited one file: each its own. */
static int case_shared(struct kern *kern)
{
	_cleanup_stage_ struct stage one = {}, two = {};
	struct error error = {};
	int fd, r;

	if (stage_init(&one, kern, REVOKE))
		return -1;
	two.kern = kern;
	two.board = board_new();
	CHECK(two.board && cgroup_own_create("test-held-2", &two.cgroup, &error) == 0, "no cgroup");
	two.member = cell_spawn(NULL, -1, member_main, two.board);
	CHECK(two.member > 0 && board_await(&two.board->done, 1) == 0, "no member");
	CHECK(cell_move(two.cgroup, two.member) == 0, "not moved");
	if (stage_enforce(&one))
		return -1;
	fd = stage_does(&two, "read");
	CHECK(fd == 0, "one that has no policy yet: %s", outcome_text(fd));
	CHECK(stage_attach(&two, &error) == 0, "%.200s", error.text);
	CHECK(stage_does(&two, "read") == EACCES && stage_does(&one, "read") == EACCES,
	      "one can read it");
	CHECK(compartment_detach(kern, one.compartment, &error) == 0, "%.200s", error.text);
	compartment_free(TAKE_PTR(one.compartment));
	r = stage_does(&one, "read");
	CHECK(r == 0, "detached: %s", outcome_text(r));
	r = stage_does(&two, "read");
	CHECK(r == EACCES, "the other, still attached: %s", outcome_text(r));
	return 0;
}

const struct test_case held_cases[] = {
	{"held/fifo", case_fifo, CASE_ALLOWS},
	{"held/ring", case_ring, CASE_ALLOWS},
	{"held/rows", case_rows, CASE_REFUSES},
	{"held/report", case_reported, CASE_REFUSES},
	{"held/detach", case_detach, CASE_REFUSES},
	{"held/closed", case_closed, CASE_REFUSES},
	{"held/adopted", case_adopted, CASE_REFUSES},
	{"held/crash", case_crash, CASE_ALLOWS},
	{"held/irrevocable", case_irrevocable, CASE_ALLOWS},
	{"held/refuse", case_refuse_default, CASE_ALLOWS},
	{"held/by-kind", case_by_kind, CASE_REFUSES},
	{"held/kept", case_kept, CASE_REFUSES},
	{"held/audit", case_audit, CASE_REFUSES},
	{"held/shared", case_shared, CASE_REFUSES},
	{},
};

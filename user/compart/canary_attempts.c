// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The canary's attempts. Each answers with the positive errno it met, 0 when it went through. */
#include "canary.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include "base/cleanup.h"

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

#define CANARY_PAGE 4096

static int errno_of(long r)
{
	return r < 0 ? errno : 0;
}

static int errno_of_fd(long fd)
{
	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int errno_of_map(void *map)
{
	if (map == MAP_FAILED)
		return errno;
	munmap(map, CANARY_PAGE);
	return 0;
}

int canary_report(const struct canary_stage *stage, enum bh_hook hook, int error)
{
	struct canary_record record = {.hook = hook, .error = error, .pid = getpid()};

	return write(stage->results, &record, sizeof(record)) == sizeof(record) ? 0 : -EIO;
}

int canary_control(const struct canary_stage *s)
{
	return errno_of_fd(open(s->open, O_RDONLY | O_CLOEXEC));
}

static int try_file_open(const struct canary_stage *s)
{
	return errno_of_fd(open(s->secret, O_RDONLY | O_CLOEXEC));
}

/* The errno of an exec comes back by a pipe that a successful exec closes. */
static int exec_and_wait(const char *program, int pipe_out, int pipe_in)
{
	char *const argv[] = {(char *)"sh", (char *)"-c", (char *)":", NULL};
	char *const envp[] = {NULL};
	int error = 0;
	pid_t pid;

	pid = fork();
	if (pid < 0)
		return errno;
	if (pid == 0) {
		execve(program, argv, envp);
		error = errno;
		_exit(write(pipe_out, &error, sizeof(error)) != sizeof(error));
	}
	close(pipe_out);
	if (read(pipe_in, &error, sizeof(error)) != sizeof(error))
		error = 0;
	waitpid(pid, NULL, 0);
	return error;
}

/* The program may be opened (interp) and not executed, so file_open passes and bprm decides. */
static int try_bprm_check(const struct canary_stage *s)
{
	_cleanup_close_ int in = -1;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return errno;
	in = ends[0];
	return exec_and_wait(s->program, ends[1], ends[0]);
}

static int try_mmap_file(const struct canary_stage *s)
{
	return errno_of_map(
		mmap(NULL, CANARY_PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, s->open_fd, 0));
}

static int try_file_mprotect(const struct canary_stage *s _unused_)
{
	void *page =
		mmap(NULL, CANARY_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int error;

	if (page == MAP_FAILED)
		return errno;
	error = errno_of(mprotect(page, CANARY_PAGE, PROT_READ | PROT_EXEC));
	munmap(page, CANARY_PAGE);
	return error;
}

/* What went through is undone, so that one open hook does not make others look open or closed. */
static int try_path_unlink(const struct canary_stage *s)
{
	int error = errno_of(unlink(s->secret));

	if (!error)
		errno_of_fd(open(s->secret, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
	return error;
}

static int try_path_rmdir(const struct canary_stage *s)
{
	int error = errno_of(rmdir(s->sub));

	if (!error)
		mkdir(s->sub, 0700);
	return error;
}

static int undo(const struct canary_stage *s, int error)
{
	if (!error && unlink(s->fresh) < 0)
		rmdir(s->fresh);
	return error;
}

static int try_path_mkdir(const struct canary_stage *s)
{
	return undo(s, errno_of(mkdir(s->fresh, 0700)));
}

static int try_path_mknod(const struct canary_stage *s)
{
	return undo(s, errno_of(mknod(s->fresh, S_IFREG | 0600, 0)));
}

static int try_path_symlink(const struct canary_stage *s)
{
	return undo(s, errno_of(symlink("nowhere", s->fresh)));
}

static int try_path_link(const struct canary_stage *s)
{
	return undo(s, errno_of(link(s->secret, s->fresh)));
}

static int try_path_rename(const struct canary_stage *s)
{
	int error = errno_of(rename(s->secret, s->fresh));

	return error ? error : errno_of(rename(s->fresh, s->secret));
}

static int try_path_notify(const struct canary_stage *s)
{
	_cleanup_close_ int fd = inotify_init1(IN_CLOEXEC);

	return fd < 0 ? -errno : errno_of(inotify_add_watch(fd, s->secret, IN_OPEN));
}

static int try_inode_setattr(const struct canary_stage *s)
{
	return errno_of(futimens(s->secret_fd, NULL));
}

static int try_inode_getxattr(const struct canary_stage *s)
{
	return errno_of((int)getxattr(s->secret, "user.bulkhead", NULL, 0));
}

static int try_inode_setxattr(const struct canary_stage *s)
{
	return errno_of(setxattr(s->secret, "user.bulkhead", "", 0, 0));
}

static int try_inode_removexattr(const struct canary_stage *s)
{
	return errno_of(removexattr(s->secret, "user.bulkhead"));
}

#define CANARY_ACL "system.posix_acl_access"

/* What the mode 0600 says: version 2 (linux/posix_acl_xattr.h), then tag, rights and id of owner,
 * group and others. */
static int try_inode_set_acl(const struct canary_stage *s)
{
	static const struct {
		__u32 version;
		struct {
			__u16 tag, rights;
			__u32 id;
		} entries[3];
	} acl = {2, {{0x01, 6, -1u}, {0x04, 0, -1u}, {0x20, 0, -1u}}};

	return errno_of(setxattr(s->secret, CANARY_ACL, &acl, sizeof(acl), 0));
}

static int try_inode_remove_acl(const struct canary_stage *s)
{
	return errno_of(removexattr(s->secret, CANARY_ACL));
}

#ifndef SYS_file_setattr
#define SYS_file_setattr 469 /* the same on every architecture, since 6.17 */
#endif

/* No flags, which the file has anyway. */
static int try_inode_file_setattr(const struct canary_stage *s)
{
	__u64 attr[3] = {0}; /* struct file_attr, first version */

	return errno_of(syscall(SYS_file_setattr, AT_FDCWD, s->secret, attr, sizeof(attr), 0));
}

static int try_socket_create(const struct canary_stage *s _unused_)
{
	return errno_of_fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}

/* UDP: connecting sends nothing. Port 9 is "discard". */
static struct sockaddr_in discard4(void)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons(9),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static struct sockaddr_in6 discard6(void)
{
	return (struct sockaddr_in6){
		.sin6_family = AF_INET6, .sin6_port = htons(9), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
}

static int connect4(int fd)
{
	struct sockaddr_in to = discard4();

	return errno_of(connect(fd, (struct sockaddr *)&to, sizeof(to)));
}

static int send4(int fd)
{
	struct sockaddr_in to = discard4();

	return errno_of(sendto(fd, "", 0, MSG_DONTWAIT, (struct sockaddr *)&to, sizeof(to)));
}

static int try_socket_connect(const struct canary_stage *s)
{
	return connect4(s->inet);
}

static int try_socket_sendmsg(const struct canary_stage *s)
{
	return send4(s->inet);
}

static int try_socket_bind(const struct canary_stage *s)
{
	struct sockaddr_in at = discard4();

	return errno_of(bind(s->inet, (struct sockaddr *)&at, sizeof(at)));
}

/* UDP does not listen: it is asked first. */
static int try_socket_listen(const struct canary_stage *s)
{
	return errno_of(listen(s->inet, 1));
}

static int try_socket_setsockopt(const struct canary_stage *s)
{
	struct ip_mreqn none = {}; /* no group */

	return errno_of(setsockopt(s->inet, IPPROTO_IP, IP_ADD_MEMBERSHIP, &none, sizeof(none)));
}

static int try_connect4(const struct canary_stage *s)
{
	return connect4(s->born4);
}

static int try_sendmsg4(const struct canary_stage *s)
{
	return send4(s->born4);
}

static int try_connect6(const struct canary_stage *s)
{
	struct sockaddr_in6 to = discard6();

	return errno_of(connect(s->born6, (struct sockaddr *)&to, sizeof(to)));
}

static int try_sendmsg6(const struct canary_stage *s)
{
	struct sockaddr_in6 to = discard6();

	return errno_of(sendto(s->born6, "", 0, MSG_DONTWAIT, (struct sockaddr *)&to, sizeof(to)));
}

static int try_unix_connect(const struct canary_stage *s)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno;
	return errno_of(connect(fd, (const struct sockaddr *)&s->stream.sun, s->stream.length));
}

static int try_unix_send(const struct canary_stage *s)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno;
	return errno_of(sendto(fd, "", 0, MSG_DONTWAIT, (const struct sockaddr *)&s->dgram.sun,
			       s->dgram.length));
}

/* Inheritance: a child that was never enrolled is refused. It stays until the caller has looked for
 * its label, so it reports itself. */
static int try_task_alloc(const struct canary_stage *s)
{
	char byte;
	pid_t pid;

	pid = fork();
	if (pid < 0)
		return errno;
	if (pid == 0) {
		canary_report(s, BH_HOOK_TASK_ALLOC, try_file_open(s));
		_exit(read(s->release, &byte, 1) > 0);
	}
	waitpid(pid, NULL, 0);
	return 0;
}

static int try_clone_into_cgroup(const struct canary_stage *s)
{
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = s->cgroup};
	long pid;

	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0)
		return errno;
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	return 0;
}

/* PTRACE_MODE_READ, which no setting of Yama refuses before us, and nothing is read but an address.
 */
static int try_ptrace(const struct canary_stage *s)
{
	size_t length;
	void *head;

	return errno_of(syscall(SYS_get_robust_list, s->outsider, &head, &length));
}

static int try_task_kill(const struct canary_stage *s)
{
	return errno_of(kill(s->outsider, 0));
}

static int try_bpf(const struct canary_stage *s _unused_)
{
	union bpf_attr attr = {};

	return errno_of(syscall(SYS_bpf, BPF_PROG_GET_NEXT_ID, &attr, sizeof(attr)));
}

static int try_userns(const struct canary_stage *s _unused_)
{
	return errno_of(unshare(CLONE_NEWUSER));
}

/* A type that no kernel has: the hook is asked before the type is looked up. */
static int try_sb_mount(const struct canary_stage *s)
{
	return errno_of(mount("none", s->sub, "bulkhead-canary", 0, NULL));
}

/* Not a mount point: the kernel refuses with EINVAL right after the hook. */
static int try_move_mount(const struct canary_stage *s)
{
	return errno_of(syscall(SYS_move_mount, AT_FDCWD, s->sub, AT_FDCWD, s->dir, 0));
}

/* CAP_SYS_RESOURCE, the one capability the scratch policy drops, to raise what was just lowered. */
static int try_capable(const struct canary_stage *s _unused_)
{
	struct rlimit none = {0, 0}, some = {0, CANARY_PAGE};

	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return errno;
	return errno_of(setrlimit(RLIMIT_CORE, &some));
}

static int try_perf_event(const struct canary_stage *s _unused_)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_DUMMY,
				       .exclude_kernel = 1,
				       .disabled = 1};

	return errno_of_fd(syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

static int try_anon_inode(const struct canary_stage *s _unused_)
{
	return errno_of_fd(syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY));
}

/* To itself: nothing that goes through reaches anybody else. */
static int try_file_fcntl(const struct canary_stage *s)
{
	return errno_of(fcntl(s->open_fd, F_SETOWN, getpid()));
}

static int try_file_ioctl(const struct canary_stage *s)
{
	int self = getpid();

	return errno_of(ioctl(s->open_fd, FIOSETOWN, &self));
}

/* Its own descriptor, which the kernel lets everybody take. */
static int try_file_receive(const struct canary_stage *s)
{
	_cleanup_close_ int self = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (self < 0)
		return errno;
	return errno_of_fd(syscall(SYS_pidfd_getfd, self, s->secret_fd, 0));
}

static int try_file_permission(const struct canary_stage *s)
{
	char byte;

	return errno_of(pread(s->held, &byte, 1, 0));
}

static int try_file_lock(const struct canary_stage *s)
{
	return errno_of(flock(s->held, LOCK_SH | LOCK_NB));
}

static int try_mmap_held(const struct canary_stage *s)
{
	return errno_of_map(mmap(NULL, CANARY_PAGE, PROT_READ, MAP_PRIVATE, s->held, 0));
}

static int try_socket_recvmsg(const struct canary_stage *s)
{
	char byte;

	return errno_of(recv(s->held_pair[0], &byte, 1, MSG_DONTWAIT));
}

static int try_socket_accept(const struct canary_stage *s)
{
	return errno_of_fd(accept4(s->held_listener, NULL, NULL, SOCK_CLOEXEC));
}

/* Takes room that the file has none of, and leaves its length. */
static int try_file_append(const struct canary_stage *s)
{
	return errno_of(fallocate(s->log_fd, FALLOC_FL_KEEP_SIZE, 0, CANARY_PAGE));
}

const struct canary_attempt canary_attempts[] = {
	{BH_HOOK_CGROUP_MOVE, CANARY_MOVE, NULL},
	{BH_HOOK_SENDMSG4, CANARY_OUTSIDER, try_sendmsg4},
	{BH_HOOK_CONNECT4, CANARY_OUTSIDER, try_connect4},
	{BH_HOOK_SENDMSG6, CANARY_OUTSIDER, try_sendmsg6},
	{BH_HOOK_CONNECT6, CANARY_OUTSIDER, try_connect6},
	{BH_HOOK_FILE_OPEN, CANARY_INSIDER, try_file_open},
	{BH_HOOK_BPRM_CHECK, CANARY_INSIDER, try_bprm_check},
	{BH_HOOK_MMAP_FILE, CANARY_INSIDER, try_mmap_file},
	{BH_HOOK_FILE_MPROTECT, CANARY_INSIDER, try_file_mprotect},
	{BH_HOOK_PATH_UNLINK, CANARY_INSIDER, try_path_unlink},
	{BH_HOOK_PATH_RMDIR, CANARY_INSIDER, try_path_rmdir},
	{BH_HOOK_PATH_MKDIR, CANARY_INSIDER, try_path_mkdir},
	{BH_HOOK_PATH_MKNOD, CANARY_INSIDER, try_path_mknod},
	{BH_HOOK_PATH_SYMLINK, CANARY_INSIDER, try_path_symlink},
	{BH_HOOK_PATH_LINK, CANARY_INSIDER, try_path_link},
	{BH_HOOK_PATH_RENAME, CANARY_INSIDER, try_path_rename},
	{BH_HOOK_PATH_NOTIFY, CANARY_INSIDER, try_path_notify},
	{BH_HOOK_INODE_SETATTR, CANARY_INSIDER, try_inode_setattr},
	{BH_HOOK_INODE_SETXATTR, CANARY_INSIDER, try_inode_setxattr},
	{BH_HOOK_INODE_GETXATTR, CANARY_INSIDER, try_inode_getxattr},
	{BH_HOOK_INODE_REMOVEXATTR, CANARY_INSIDER, try_inode_removexattr},
	{BH_HOOK_INODE_SET_ACL, CANARY_INSIDER, try_inode_set_acl},
	{BH_HOOK_INODE_REMOVE_ACL, CANARY_INSIDER, try_inode_remove_acl},
	{BH_HOOK_INODE_FILE_SETATTR, CANARY_INSIDER, try_inode_file_setattr},
	{BH_HOOK_SOCKET_CREATE, CANARY_INSIDER, try_socket_create},
	{BH_HOOK_SOCKET_CONNECT, CANARY_INSIDER, try_socket_connect},
	{BH_HOOK_SOCKET_SENDMSG, CANARY_INSIDER, try_socket_sendmsg},
	{BH_HOOK_SOCKET_BIND, CANARY_INSIDER, try_socket_bind},
	{BH_HOOK_SOCKET_LISTEN, CANARY_INSIDER, try_socket_listen},
	{BH_HOOK_SOCKET_SETSOCKOPT, CANARY_INSIDER, try_socket_setsockopt},
	{BH_HOOK_UNIX_CONNECT, CANARY_INSIDER, try_unix_connect},
	{BH_HOOK_UNIX_SEND, CANARY_INSIDER, try_unix_send},
	{BH_HOOK_CLONE_INTO_CGROUP, CANARY_INSIDER, try_clone_into_cgroup},
	{BH_HOOK_PTRACE, CANARY_INSIDER, try_ptrace},
	{BH_HOOK_TASK_KILL, CANARY_INSIDER, try_task_kill},
	{BH_HOOK_BPF, CANARY_INSIDER, try_bpf},
	{BH_HOOK_SB_MOUNT, CANARY_INSIDER, try_sb_mount},
	{BH_HOOK_MOVE_MOUNT, CANARY_INSIDER, try_move_mount},
	{BH_HOOK_CAPABLE, CANARY_INSIDER, try_capable},
	{BH_HOOK_PERF_EVENT, CANARY_INSIDER, try_perf_event},
	{BH_HOOK_ANON_INODE, CANARY_INSIDER, try_anon_inode},
	{BH_HOOK_FILE_FCNTL, CANARY_INSIDER, try_file_fcntl},
	{BH_HOOK_FILE_IOCTL, CANARY_INSIDER, try_file_ioctl},
	{BH_HOOK_FILE_RECEIVE, CANARY_INSIDER, try_file_receive},
	{BH_HOOK_FILE_PERMISSION, CANARY_INSIDER, try_file_permission},
	{BH_HOOK_FILE_LOCK, CANARY_INSIDER, try_file_lock},
	{BH_HOOK_MMAP_HELD, CANARY_INSIDER, try_mmap_held},
	{BH_HOOK_SOCKET_RECVMSG, CANARY_INSIDER, try_socket_recvmsg},
	{BH_HOOK_SOCKET_ACCEPT, CANARY_INSIDER, try_socket_accept},
	{BH_HOOK_FILE_APPEND, CANARY_INSIDER, try_file_append},
	/* Its grandchild lives until the caller has looked at it. */
	{BH_HOOK_TASK_ALLOC, CANARY_INSIDER, try_task_alloc},
	/* Last: who gets a user namespace loses its capabilities outside. */
	{BH_HOOK_USERNS, CANARY_INSIDER, try_userns},
	{BH_HOOK_NONE, CANARY_INSIDER, NULL},
};

/* A hook that is added to the table must be added here. */
_Static_assert(sizeof(canary_attempts) / sizeof(canary_attempts[0]) == BH_HOOK_COUNT,
	       "one attempt a hook");

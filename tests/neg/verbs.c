// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "verbs.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/openat2.h>
#include "base/cleanup.h"

#ifndef RENAME_EXCHANGE
#define RENAME_NOREPLACE 1
#define RENAME_EXCHANGE 2
#define RENAME_WHITEOUT 4
#endif

#define PAGE 4096
#define VERB(name) static int verb_##name(int argc _unused_, char **argv _unused_)

const char verb_landmark[16] = "bulkhead-probe";

static int failed(void)
{
	return errno ? errno : EIO;
}

static int broken(void)
{
	return VERB_BROKEN + failed();
}

static int result(long r)
{
	return r < 0 ? failed() : 0;
}

static int result_fd(long fd)
{
	if (fd < 0)
		return failed();
	close(fd);
	return 0;
}

/* Reached the kernel's own check of its arguments: whoever may not, does not get that far. */
static int result_past(long r, int harmless)
{
	return r < 0 && errno != harmless ? failed() : 0;
}

static int number(const char *text)
{
	return (int)strtol(text, NULL, 0);
}

/* --- files --- */

static int read_fd(int fd)
{
	char byte;
	int r;

	if (fd < 0)
		return failed();
	r = result(read(fd, &byte, 1));
	close(fd);
	return r;
}

VERB(read)
{
	return read_fd(open(argv[1], O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

VERB(read_at)
{
	int dir = open(argv[1], O_PATH | O_DIRECTORY);

	return dir < 0 ? broken() : read_fd(openat(dir, argv[2], O_RDONLY));
}

VERB(read_fd)
{
	return read_fd(dup(number(argv[1])));
}

VERB(openat2)
{
	struct open_how how = {.flags = O_RDONLY, .resolve = RESOLVE_NO_MAGICLINKS};

	return read_fd(syscall(SYS_openat2, AT_FDCWD, argv[1], &how, sizeof(how)));
}

VERB(write)
{
	return result_fd(open(argv[1], O_WRONLY | O_CLOEXEC));
}

VERB(append)
{
	return result_fd(open(argv[1], O_WRONLY | O_APPEND | O_CLOEXEC));
}

VERB(open_trunc)
{
	return result_fd(open(argv[1], O_WRONLY | O_TRUNC | O_CLOEXEC));
}

/* Access mode 3: neither reading nor writing, ioctl alone. */
VERB(open_ioctl)
{
	return result_fd(open(argv[1], O_ACCMODE | O_CLOEXEC));
}

VERB(create)
{
	return result_fd(open(argv[1], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
}

VERB(tmpfile)
{
	return result_fd(open(argv[1], O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
}

/* O_TMPFILE in one directory, given a name in another. */
VERB(tmpfile_link)
{
	char self[32];
	int fd = open(argv[1], O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	if (fd < 0)
		return broken();
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return result(linkat(AT_FDCWD, self, AT_FDCWD, argv[2], AT_SYMLINK_FOLLOW));
}

VERB(opath_read)
{
	char self[32];
	int fd = open(argv[1], O_PATH | O_CLOEXEC);

	if (fd < 0)
		return broken();
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return read_fd(open(self, O_RDONLY));
}

VERB(handle_read)
{
	union {
		struct file_handle head;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} handle = {.head.handle_bytes = MAX_HANDLE_SZ};
	int mount_id;

	if (name_to_handle_at(AT_FDCWD, argv[1], &handle.head, &mount_id, 0) < 0 ||
	    chdir(argv[2]) < 0)
		return broken();
	return read_fd(open_by_handle_at(AT_FDCWD, &handle.head, O_RDONLY));
}

VERB(list)
{
	return result_fd(open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

VERB(link)
{
	return result(link(argv[1], argv[2]));
}

static int rename_with(char **argv, unsigned int flags)
{
	return result(syscall(SYS_renameat2, AT_FDCWD, argv[1], AT_FDCWD, argv[2], flags));
}

VERB(rename)
{
	return rename_with(argv, 0);
}

VERB(exchange)
{
	return rename_with(argv, RENAME_EXCHANGE);
}

VERB(whiteout)
{
	return rename_with(argv, RENAME_WHITEOUT);
}

/* Moves what may be moved, then reads it at the new place. */
VERB(rename_read)
{
	if (rename(argv[1], argv[2]) < 0)
		return failed();
	return read_fd(open(argv[3], O_RDONLY));
}

VERB(truncate)
{
	return result(truncate(argv[1], 0));
}

VERB(ftruncate)
{
	return result(ftruncate(number(argv[1]), 0));
}

VERB(unlink)
{
	return result(unlink(argv[1]));
}

VERB(rmdir)
{
	return result(rmdir(argv[1]));
}

VERB(mkdir)
{
	return result(mkdir(argv[1], 0700));
}

/* Makes nothing that stays: for places that are not the fixture's. */
VERB(mkdir_rmdir)
{
	int r = result(mkdir(argv[1], 0700));

	if (r == 0)
		rmdir(argv[1]);
	return r;
}

VERB(create_unlink)
{
	int r = verb_create(argc, argv);

	if (r == 0)
		unlink(argv[1]);
	return r;
}

VERB(mkfifo)
{
	return result(mknod(argv[1], S_IFIFO | 0600, 0));
}

/* Memory, 1:1: the device node that gives everything away. */
VERB(mknod_dev)
{
	return result(mknod(argv[1], S_IFCHR | 0600, (1 << 8) | 1));
}

VERB(symlink)
{
	return result(symlink(argv[1], argv[2]));
}

VERB(chmod)
{
	return result(chmod(argv[1], 0777));
}

VERB(fchmod)
{
	return result(fchmod(number(argv[1]), 0777));
}

VERB(chown)
{
	return result(chown(argv[1], geteuid(), getegid()));
}

/* O_APPEND put on and taken off again: the second is a right to write. */
VERB(append_off)
{
	if (fcntl(number(argv[1]), F_SETFL, O_APPEND))
		return broken();
	return result(fcntl(number(argv[1]), F_SETFL, 0));
}

static int shared_mapping(int fd, int prot)
{
	void *p = mmap(NULL, PAGE, prot, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return failed();
	munmap(p, PAGE);
	return 0;
}

VERB(append_mmap)
{
	if (fcntl(number(argv[1]), F_SETFL, O_APPEND))
		return broken();
	return shared_mapping(number(argv[1]), PROT_READ | PROT_WRITE);
}

/* A mapping that was made with few rights gets more. */
static int gain(int fd, int before, int after)
{
	void *p = mmap(NULL, PAGE, before, MAP_SHARED, fd, 0);
	int r;

	if (p == MAP_FAILED)
		return broken();
	r = result(mprotect(p, PAGE, after));
	munmap(p, PAGE);
	return r;
}

/* Nobody's file: made, sized and used as every runtime does. */
VERB(memory_file)
{
	_cleanup_close_ int fd = (int)syscall(SYS_memfd_create, "neg", 0);

	if (fd < 0 || ftruncate(fd, PAGE))
		return failed();
	return gain(fd, PROT_NONE, PROT_READ | PROT_WRITE);
}

VERB(map_gain_read)
{
	return gain(number(argv[1]), PROT_NONE, PROT_READ);
}

VERB(map_gain_write)
{
	return gain(number(argv[1]), PROT_READ, PROT_READ | PROT_WRITE);
}

/* --- running code --- */

/* The errno of an exec comes back by a pipe that a successful exec closes. A status that is not 0
 * is a program that did not come to life: its loader was refused, say. */
static int run(int dir, const char *program, char **argv, int flags)
{
	char *const envp[] = {NULL};
	int ends[2], error = 0, status = 0;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return broken();
	pid = fork();
	if (pid < 0)
		return failed();
	if (pid == 0) {
		syscall(SYS_execveat, dir, program, argv, envp, flags);
		error = errno;
		_exit(write(ends[1], &error, sizeof(error)) != sizeof(error));
	}
	close(ends[1]);
	if (read(ends[0], &error, sizeof(error)) != sizeof(error))
		error = 0;
	close(ends[0]);
	waitpid(pid, &status, 0);
	if (error)
		return error;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : VERB_BROKEN + ECHILD;
}

VERB(exec)
{
	return run(AT_FDCWD, argv[1], argv + 1, 0);
}

/* exec-as NAME FILE: the same file under another argv[0]. */
VERB(exec_as)
{
	char *words[] = {argv[1], NULL};

	return run(AT_FDCWD, argv[2], words, 0);
}

static int copy_to(int to, const char *from)
{
	char buffer[16384];
	ssize_t n;
	int fd = open(from, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return broken();
	while ((n = read(fd, buffer, sizeof(buffer))) > 0)
		if (write(to, buffer, n) != n)
			return broken();
	close(fd);
	return 0;
}

static int make_memfd(const char *from, int *ret_fd)
{
	*ret_fd = memfd_create("bulkhead-probe", MFD_CLOEXEC);
	return *ret_fd < 0 ? broken() : copy_to(*ret_fd, from);
}

/* A program that is there answers this verb and is well. */
#define WELL ((char *)"unix-pair")

VERB(exec_memfd)
{
	char *words[] = {argv[1], WELL, NULL};
	int fd, r = make_memfd(argv[1], &fd);

	return r ? r : run(fd, "", words, AT_EMPTY_PATH);
}

/* A copy is a new file: what may be run is a name, not its bytes. */
VERB(exec_copy)
{
	char *words[] = {argv[2], WELL, NULL};
	int fd = open(argv[2], O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
	int r = fd < 0 ? broken() : copy_to(fd, argv[1]);

	if (fd >= 0)
		close(fd);
	return r ? r : run(AT_FDCWD, argv[2], words, 0);
}

static int map_fd(int fd, int prot, int flags)
{
	void *map = mmap(NULL, PAGE, prot, flags, fd, 0);

	if (map == MAP_FAILED)
		return failed();
	munmap(map, PAGE);
	return 0;
}

VERB(mmap_exec)
{
	int fd = open(argv[1], O_RDONLY | O_CLOEXEC);

	return fd < 0 ? broken() : map_fd(fd, PROT_READ | PROT_EXEC, MAP_PRIVATE);
}

VERB(mmap_memfd)
{
	int fd, r = make_memfd(argv[1], &fd);

	return r ? r : map_fd(fd, PROT_READ | PROT_EXEC, MAP_PRIVATE);
}

VERB(mmap_anon)
{
	return map_fd(-1, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS);
}

static int protect(int fd, int flags, bool touch, int pkey)
{
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (page == MAP_FAILED)
		return broken();
	if (touch)
		page[0] = 1;
	if (pkey)
		return result(syscall(SYS_pkey_mprotect, page, PAGE, PROT_READ | PROT_EXEC, -1));
	return result(mprotect(page, PAGE, PROT_READ | PROT_EXEC));
}

VERB(mprotect)
{
	return protect(-1, MAP_PRIVATE | MAP_ANONYMOUS, true, 0);
}

VERB(pkey_mprotect)
{
	return protect(-1, MAP_PRIVATE | MAP_ANONYMOUS, true, 1);
}

/* Pages of a file that may be mapped executable, changed before they are. */
VERB(mprotect_file)
{
	int fd = open(argv[1], O_RDONLY | O_CLOEXEC);

	return fd < 0 ? broken() : protect(fd, MAP_PRIVATE, true, 0);
}

/* --- sockets --- */

struct address {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} u;
	socklen_t length;
};

static struct address parse_address(const char *text, const char *port)
{
	struct address a = {};

	if (inet_pton(AF_INET, text, &a.u.v4.sin_addr) == 1) {
		a.u.v4.sin_family = AF_INET;
		a.u.v4.sin_port = htons(number(port));
		a.length = sizeof(a.u.v4);
	} else if (inet_pton(AF_INET6, text, &a.u.v6.sin6_addr) == 1) {
		a.u.v6.sin6_family = AF_INET6;
		a.u.v6.sin6_port = htons(number(port));
		a.length = sizeof(a.u.v6);
	}
	return a;
}

static int connect_to(int fd, const char *host, const char *port)
{
	struct address a = parse_address(host, port);

	if (!a.length)
		return VERB_BROKEN + EINVAL;
	return result(connect(fd, &a.u.any, a.length));
}

VERB(socket)
{
	return result_fd(socket(number(argv[1]), number(argv[2]), number(argv[3])));
}

static int connect_new(char **argv, int type, int protocol)
{
	struct address a = parse_address(argv[1], argv[2]);
	int fd = socket(a.u.any.sa_family, type, protocol), r;

	if (fd < 0)
		return failed();
	r = connect_to(fd, argv[1], argv[2]);
	close(fd);
	return r;
}

VERB(tcp)
{
	return connect_new(argv, SOCK_STREAM, 0);
}

VERB(mptcp)
{
	return connect_new(argv, SOCK_STREAM, IPPROTO_MPTCP);
}

static int send_to(int fd, char **argv, int flags)
{
	struct address a = parse_address(argv[0], argv[1]);

	if (!a.length)
		return VERB_BROKEN + EINVAL;
	return result(sendto(fd, "x", 1, flags | MSG_DONTWAIT | MSG_NOSIGNAL, &a.u.any, a.length));
}

VERB(udp)
{
	struct address a = parse_address(argv[1], argv[2]);
	int fd = socket(a.u.any.sa_family, SOCK_DGRAM, 0);

	return fd < 0 ? failed() : send_to(fd, argv + 1, 0);
}

/* *-fd verbs: on a socket that was made before, by whoever. */
VERB(connect_fd)
{
	return connect_to(number(argv[1]), argv[2], argv[3]);
}

VERB(send_fd)
{
	return send_to(number(argv[1]), argv + 2, 0);
}

VERB(sendmmsg_fd)
{
	struct address a = parse_address(argv[2], argv[3]);
	struct iovec byte = {(void *)"x", 1};
	struct mmsghdr one = {.msg_hdr = {&a.u.any, a.length, &byte, 1, NULL, 0, 0}};

	return result(sendmmsg(number(argv[1]), &one, 1, MSG_DONTWAIT));
}

/* Connecting by sending: no connect hook is asked. EINPROGRESS: the SYN is on its way. */
VERB(fastopen_fd)
{
	int r = send_to(number(argv[1]), argv + 2, MSG_FASTOPEN);

	return r == EINPROGRESS ? 0 : r;
}

/* The connect option instead of the flag: goes through connect(2). */
VERB(fastopen_connect_fd)
{
	int fd = number(argv[1]), on = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof(on)) < 0)
		return broken();
	return connect_to(fd, argv[2], argv[3]);
}

VERB(disconnect_fd)
{
	struct sockaddr none = {.sa_family = AF_UNSPEC};

	return result(connect(number(argv[1]), &none, sizeof(none)));
}

static socklen_t unix_address(const char *name, struct sockaddr_un *sun)
{
	size_t length = strlen(name);

	memset(sun, 0, sizeof(*sun));
	sun->sun_family = AF_UNIX;
	if (length >= sizeof(sun->sun_path))
		length = sizeof(sun->sun_path) - 1;
	memcpy(sun->sun_path, name, length);
	if (name[0] != '@')
		return sizeof(*sun);
	sun->sun_path[0] = 0;
	return offsetof(struct sockaddr_un, sun_path) + length;
}

static int unix_connect(const char *name, int type)
{
	struct sockaddr_un sun;
	socklen_t length = unix_address(name, &sun);
	int fd = socket(AF_UNIX, type | SOCK_NONBLOCK, 0), r;

	if (fd < 0)
		return broken();
	r = result(connect(fd, (struct sockaddr *)&sun, length));
	close(fd);
	return r;
}

VERB(unix_stream)
{
	return unix_connect(argv[1], SOCK_STREAM);
}

VERB(unix_seqpacket)
{
	return unix_connect(argv[1], SOCK_SEQPACKET);
}

VERB(unix_dgram_connect)
{
	return unix_connect(argv[1], SOCK_DGRAM);
}

VERB(unix_dgram)
{
	struct sockaddr_un sun;
	socklen_t length = unix_address(argv[1], &sun);
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	if (fd < 0)
		return broken();
	return result(sendto(fd, "x", 1, MSG_DONTWAIT, (struct sockaddr *)&sun, length));
}

/* A listener of one's own, abstract or in the file system, and a connection to it. */
VERB(unix_own)
{
	struct sockaddr_un sun;
	socklen_t length = unix_address(argv[1], &sun);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), r;

	if (fd < 0)
		return broken();
	if (bind(fd, (struct sockaddr *)&sun, length) < 0 || listen(fd, 4) < 0)
		return failed();
	r = unix_connect(argv[1], SOCK_STREAM);
	close(fd);
	return r;
}

VERB(unix_pair)
{
	int ends[2];
	char byte;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0 || write(ends[0], "x", 1) != 1)
		return failed();
	return result(read(ends[1], &byte, 1));
}

/* A pipe that is held, opened again by its descriptor: what /dev/stdout is to a shell. */
VERB(pipe_reopen)
{
	char path[32];
	int ends[2];

	if (pipe(ends) < 0)
		return broken();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[1]);
	return result_fd(open(path, O_WRONLY | O_CLOEXEC));
}

/* --- other processes --- */

VERB(ptrace)
{
	pid_t pid = number(argv[1]);
	int r = result(ptrace(PTRACE_SEIZE, pid, 0, 0));

	if (r == 0) {
		ptrace(PTRACE_INTERRUPT, pid, 0, 0);
		waitpid(pid, NULL, __WALL);
		ptrace(PTRACE_DETACH, pid, 0, 0);
	}
	return r;
}

/* The target is a process of this very program, linked at a fixed address. */
static int move_memory(char **argv, int number_of_call, const char *address)
{
	char buffer[sizeof(verb_landmark)] = {};
	struct iovec here = {buffer, sizeof(buffer)}, there = {(void *)address, sizeof(buffer)};

	return result(syscall(number_of_call, (long)number(argv[1]), &here, 1L, &there, 1L, 0L));
}

VERB(vm_read)
{
	return move_memory(argv, SYS_process_vm_readv, verb_landmark);
}

static char scratch_memory[sizeof(verb_landmark)];

VERB(vm_write)
{
	return move_memory(argv, SYS_process_vm_writev, scratch_memory);
}

VERB(pidfd_getfd)
{
	int pidfd = syscall(SYS_pidfd_open, number(argv[1]), 0);

	return pidfd < 0 ? broken()
			 : result_fd(syscall(SYS_pidfd_getfd, pidfd, number(argv[2]), 0));
}

VERB(robust_list)
{
	size_t length;
	void *head;

	return result(syscall(SYS_get_robust_list, number(argv[1]), &head, &length));
}

VERB(kill)
{
	return result(kill(number(argv[1]), number(argv[2])));
}

/* --- signals by descriptor, and typing for others --- */

VERB(set_owner)
{
	return result(fcntl(number(argv[1]), F_SETOWN, number(argv[2])));
}

VERB(set_owner_ex)
{
	struct f_owner_ex owner = {F_OWNER_PID, number(argv[2])};

	return result(fcntl(number(argv[1]), F_SETOWN_EX, &owner));
}

VERB(set_owner_ioctl)
{
	int owner = number(argv[2]);

	return result(ioctl(number(argv[1]), FIOSETOWN, &owner));
}

/* As a 32-bit program would ask. */
VERB(set_owner_ioctl32)
{
	long r = -ENOSYS;

#ifdef __x86_64__
	int *low = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT,
			-1, 0);

	if (low == MAP_FAILED)
		return broken();
	*low = number(argv[2]);
	asm volatile("int $0x80"
		     : "=a"(r)
		     : "a"(54L), "b"((long)number(argv[1])), "c"((long)FIOSETOWN), "d"(low)
		     : "memory", "r8", "r9", "r10", "r11");
#endif
	errno = r < 0 ? (int)-r : 0;
	return r < 0 ? failed() : 0;
}

VERB(type)
{
	/* No terminal: one step further than the hook. */
	return result_past(ioctl(number(argv[1]), TIOCSTI, "#"), ENOTTY);
}

VERB(tgkill)
{
	return result(syscall(SYS_tgkill, number(argv[1]), number(argv[1]), number(argv[2])));
}

VERB(sigqueue)
{
	union sigval value = {.sival_int = 0};

	return result(sigqueue(number(argv[1]), number(argv[2]), value));
}

VERB(pidfd_kill)
{
	int pidfd = syscall(SYS_pidfd_open, number(argv[1]), 0);

	if (pidfd < 0)
		return broken();
	return result(syscall(SYS_pidfd_send_signal, pidfd, number(argv[2]), NULL, 0));
}

/* pidfds of one's own: opened, polled, signalled through. */
VERB(pidfd_self)
{
	int pidfd = syscall(SYS_pidfd_open, getpid(), 0);

	return pidfd < 0 ? failed() : result(syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0));
}

/* A child of one's own is no outsider. */
VERB(kill_child)
{
	pid_t pid = fork();
	int r;

	if (pid < 0)
		return failed();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	r = result(kill(pid, SIGKILL));
	if (r)
		return r; /* it goes with the compartment */
	waitpid(pid, NULL, 0);
	return 0;
}

/* --- namespaces and mounts --- */

VERB(unshare)
{
	return result(unshare(number(argv[1])));
}

VERB(clone_user)
{
	struct clone_args args = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return result(pid);
}

VERB(setns)
{
	int pidfd = syscall(SYS_pidfd_open, number(argv[1]), 0);

	return pidfd < 0 ? broken() : result(setns(pidfd, CLONE_NEWUTS));
}

VERB(setns_file)
{
	int fd = open(argv[1], O_RDONLY | O_CLOEXEC);

	return fd < 0 ? failed() : result(setns(fd, 0));
}

VERB(mount_tmpfs)
{
	return result(mount("none", argv[1], "tmpfs", 0, NULL));
}

VERB(bind)
{
	return result(mount(argv[1], argv[2], NULL, MS_BIND, NULL));
}

VERB(remount)
{
	return result(mount(NULL, argv[1], NULL, MS_REMOUNT | MS_BIND, NULL));
}

VERB(propagation)
{
	return result(mount(NULL, argv[1], NULL, MS_PRIVATE, NULL));
}

VERB(umount)
{
	return result(umount2(argv[1], MNT_DETACH));
}

VERB(fsopen)
{
	return result_fd(syscall(SYS_fsopen, "tmpfs", 1));
}

VERB(fsmount)
{
	int fs = syscall(SYS_fsopen, "tmpfs", 1), mnt;

	if (fs < 0)
		return failed();
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return failed();
	mnt = syscall(SYS_fsmount, fs, 1, 0);
	if (mnt < 0)
		return failed();
	return result(syscall(SYS_move_mount, mnt, "", AT_FDCWD, argv[1], MOVE_MOUNT_F_EMPTY_PATH));
}

VERB(open_tree)
{
	return result_fd(syscall(SYS_open_tree, AT_FDCWD, argv[1], OPEN_TREE_CLONE));
}

/* A cloned tree gives its files other paths; they stand where they stood. */
VERB(open_tree_read)
{
	int tree = syscall(SYS_open_tree, AT_FDCWD, argv[1], OPEN_TREE_CLONE);

	return tree < 0 ? failed() : read_fd(openat(tree, argv[2], O_RDONLY));
}

VERB(mount_setattr)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_NODIRATIME};

	return result(syscall(SYS_mount_setattr, AT_FDCWD, argv[1], 0, &attr, sizeof(attr)));
}

VERB(pivot_root)
{
	int r = result_past(syscall(SYS_pivot_root, argv[1], argv[1]), EINVAL);

	return r == EBUSY ? 0 : r;
}

VERB(chroot)
{
	return result(chroot(argv[1]));
}

/* --- cgroups --- */

VERB(cgroup_join)
{
	int fd = open(argv[1], O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return failed();
	return result(dprintf(fd, "%d", getpid()));
}

VERB(clone_into)
{
	int fd = open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (unsigned int)fd};
	long pid;

	if (fd < 0)
		return broken();
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return result(pid);
}

/* --- the rest of the kernel --- */

VERB(bpf)
{
	union bpf_attr attr = {};

	return result_past(syscall(SYS_bpf, BPF_PROG_GET_NEXT_ID, &attr, sizeof(attr)), ENOENT);
}

VERB(bpf_map)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};

	return result_fd(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)));
}

/* The pinned maps by their path. */
VERB(bpf_get)
{
	union bpf_attr attr = {.pathname = (unsigned long)argv[1]};

	return result_fd(syscall(SYS_bpf, BPF_OBJ_GET, &attr, sizeof(attr)));
}

VERB(perf)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_CPU_CLOCK};

	return result_fd(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
}

VERB(io_uring)
{
	struct io_uring_params params = {};

	return result_fd(syscall(SYS_io_uring_setup, 1, &params));
}

VERB(userfaultfd)
{
	return result_fd(syscall(SYS_userfaultfd, O_CLOEXEC | (argc > 1 ? number(argv[1]) : 0)));
}

VERB(sethostname)
{
	char name[65];

	if (gethostname(name, sizeof(name)) < 0)
		return broken();
	return result(sethostname(name, strlen(name)));
}

VERB(settime)
{
	struct timeval now;

	if (gettimeofday(&now, NULL) < 0)
		return broken();
	return result(settimeofday(&now, NULL));
}

VERB(kexec)
{
	return result(syscall(SYS_kexec_load, 0, 0, NULL, 0));
}

VERB(kexec_file)
{
	return result_past(syscall(SYS_kexec_file_load, -1, -1, 0, NULL, 0), EBADF);
}

VERB(init_module)
{
	return result_past(syscall(SYS_init_module, "", 0, ""), ENOEXEC);
}

VERB(finit_module)
{
	return result_past(syscall(SYS_finit_module, -1, "", 0), EBADF);
}

VERB(delete_module)
{
	return result_past(syscall(SYS_delete_module, "no_such_module", 0), ENOENT);
}

VERB(swapon)
{
	return result_past(syscall(SYS_swapon, argv[1], 0), EINVAL);
}

VERB(acct)
{
	return result(syscall(SYS_acct, NULL));
}

VERB(reboot)
{
	return result(reboot(RB_DISABLE_CAD));
}

VERB(syslog)
{
	return result(syscall(SYS_syslog, 8, NULL, 7)); /* console log level */
}

VERB(iopl)
{
	return result(syscall(SYS_iopl, 3));
}

VERB(nice)
{
	struct sched_param param = {.sched_priority = 1};

	return result(sched_setscheduler(0, SCHED_FIFO, &param));
}

VERB(fork)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return result(pid);
}

/* What verb_run answers in a child, which may be gone without an answer. */
static int answer_of(pid_t pid, int in)
{
	int r;

	if (pid < 0)
		return failed();
	if (read(in, &r, sizeof(r)) != sizeof(r))
		r = VERB_BROKEN + ECHILD;
	close(in);
	waitpid(pid, NULL, 0);
	return r;
}

static void answer(int out, int argc, char **argv)
{
	int r = verb_run(argc - 1, argv + 1);

	_exit(write(out, &r, sizeof(r)) != sizeof(r));
}

/* forked VERB...: what a child makes of it. */
VERB(forked)
{
	int ends[2];
	pid_t pid;

	if (pipe(ends) < 0)
		return broken();
	pid = fork();
	if (pid == 0)
		answer(ends[1], argc, argv);
	close(ends[1]);
	return answer_of(pid, ends[0]);
}

/* child VERB...: an orphan's answer, in a session of its own, twice removed. */
VERB(child)
{
	int ends[2];
	pid_t pid;

	if (pipe(ends) < 0)
		return broken();
	pid = fork();
	if (pid == 0) {
		setsid();
		if (fork() == 0)
			answer(ends[1], argc, argv);
		_exit(0);
	}
	close(ends[1]);
	return answer_of(pid, ends[0]);
}

VERB(root)
{
	if (setresgid(number(argv[1]), number(argv[1]), number(argv[1])) < 0 ||
	    setresuid(number(argv[1]), number(argv[1]), number(argv[1])) < 0)
		return broken();
	return verb_run(argc - 2, argv + 2);
}

/*
 * poll FILE THREADS: what a provider does that runs when the policy comes. Each thread tries the
 * file once a millisecond, by a child every 16th time, and writes one letter: its own, a capital
 * one when the file could be opened, '?' for another errno than EACCES.
 */
static const char *polled;

static char poll_once(int i, bool forked)
{
	char *argv[] = {(char *)"forked", (char *)"read", (char *)polled};
	int r = forked ? verb_forked(3, argv) : verb_run(2, argv + 1);

	if (r && r != EACCES)
		return '?';
	return (r ? 'a' : 'A') + i;
}

static void *poll_loop(void *data)
{
	int i = (int)(long)data, n;
	char letter;

	for (n = 0;; n++) {
		letter = poll_once(i, n % 16 == 15);
		if (write(STDOUT_FILENO, &letter, 1) != 1)
			return NULL;
		usleep(1000);
	}
}

VERB(poll)
{
	int n = number(argv[2]), i;
	pthread_t thread;

	polled = argv[1];
	for (i = 1; i < n; i++)
		if (pthread_create(&thread, NULL, poll_loop, (void *)(long)i))
			return broken();
	poll_loop(NULL);
	return 0;
}

/* poll-holding FILE: the same by one thread that has the file open already, before the policy. */
VERB(poll_holding)
{
	char *words[] = {argv[0], argv[1], (char *)"1"};

	if (open(argv[1], O_RDWR) < 0)
		return broken();
	return verb_poll(3, words);
}

/* Waits for ever in the kernel for a page that nobody brings. */
VERB(stuck)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.range.len = PAGE, .mode = UFFDIO_REGISTER_MODE_MISSING};
	int uffd = syscall(SYS_userfaultfd, 0), ends[2];
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	range.range.start = (unsigned long)page;
	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api) < 0 ||
	    ioctl(uffd, UFFDIO_REGISTER, &range) < 0 || pipe(ends) < 0 ||
	    write(ends[1], "x", 1) != 1 || write(STDOUT_FILENO, "s", 1) != 1)
		return broken();
	return result(read(ends[0], page, 1));
}

const struct verb verbs[] = {
	{"read", 1, verb_read, "FILE"},
	{"read-at", 2, verb_read_at, "DIRECTORY NAME"},
	{"read-fd", 1, verb_read_fd, "FD"},
	{"openat2", 1, verb_openat2, "FILE"},
	{"write", 1, verb_write, "FILE"},
	{"append", 1, verb_append, "FILE"},
	{"open-trunc", 1, verb_open_trunc, "FILE"},
	{"open-ioctl", 1, verb_open_ioctl, "FILE"},
	{"create", 1, verb_create, "FILE"},
	{"tmpfile", 1, verb_tmpfile, "DIRECTORY"},
	{"tmpfile-link", 2, verb_tmpfile_link, "DIRECTORY NAME"},
	{"opath-read", 1, verb_opath_read, "FILE"},
	{"handle-read", 2, verb_handle_read, "FILE DIRECTORY-ON-THE-SAME-FILESYSTEM"},
	{"list", 1, verb_list, "DIRECTORY"},
	{"link", 2, verb_link, "OLD NEW"},
	{"rename", 2, verb_rename, "OLD NEW"},
	{"exchange", 2, verb_exchange, "ONE OTHER"},
	{"whiteout", 2, verb_whiteout, "OLD NEW"},
	{"rename-read", 3, verb_rename_read, "OLD NEW FILE"},
	{"truncate", 1, verb_truncate, "FILE"},
	{"ftruncate", 1, verb_ftruncate, "FD"},
	{"append-off", 1, verb_append_off, "FD"},
	{"append-mmap", 1, verb_append_mmap, "FD"},
	{"memory-file", 0, verb_memory_file, ""},
	{"map-gain-read", 1, verb_map_gain_read, "FD"},
	{"map-gain-write", 1, verb_map_gain_write, "FD"},
	{"unlink", 1, verb_unlink, "FILE"},
	{"rmdir", 1, verb_rmdir, "DIRECTORY"},
	{"mkdir", 1, verb_mkdir, "DIRECTORY"},
	{"mkdir-rmdir", 1, verb_mkdir_rmdir, "DIRECTORY"},
	{"create-unlink", 1, verb_create_unlink, "FILE"},
	{"mkfifo", 1, verb_mkfifo, "FILE"},
	{"mknod-dev", 1, verb_mknod_dev, "FILE"},
	{"symlink", 2, verb_symlink, "TARGET NEW"},
	{"chmod", 1, verb_chmod, "FILE"},
	{"fchmod", 1, verb_fchmod, "FD"},
	{"chown", 1, verb_chown, "FILE"},
	{"exec", 1, verb_exec, "PROGRAM [ARG]..."},
	{"exec-as", 2, verb_exec_as, "NAME PROGRAM"},
	{"exec-memfd", 1, verb_exec_memfd, "PROGRAM"},
	{"exec-copy", 2, verb_exec_copy, "PROGRAM NEW"},
	{"mmap-exec", 1, verb_mmap_exec, "FILE"},
	{"mmap-memfd", 1, verb_mmap_memfd, "FILE"},
	{"mmap-anon", 0, verb_mmap_anon, ""},
	{"mprotect", 0, verb_mprotect, ""},
	{"pkey-mprotect", 0, verb_pkey_mprotect, ""},
	{"mprotect-file", 1, verb_mprotect_file, "FILE"},
	{"socket", 3, verb_socket, "FAMILY TYPE PROTOCOL"},
	{"tcp", 2, verb_tcp, "ADDRESS PORT"},
	{"mptcp", 2, verb_mptcp, "ADDRESS PORT"},
	{"udp", 2, verb_udp, "ADDRESS PORT"},
	{"connect-fd", 3, verb_connect_fd, "FD ADDRESS PORT"},
	{"send-fd", 3, verb_send_fd, "FD ADDRESS PORT"},
	{"sendmmsg-fd", 3, verb_sendmmsg_fd, "FD ADDRESS PORT"},
	{"fastopen-fd", 3, verb_fastopen_fd, "FD ADDRESS PORT"},
	{"fastopen-connect-fd", 3, verb_fastopen_connect_fd, "FD ADDRESS PORT"},
	{"disconnect-fd", 1, verb_disconnect_fd, "FD"},
	{"unix-stream", 1, verb_unix_stream, "PATH|@NAME"},
	{"unix-seqpacket", 1, verb_unix_seqpacket, "PATH|@NAME"},
	{"unix-dgram", 1, verb_unix_dgram, "PATH|@NAME"},
	{"unix-dgram-connect", 1, verb_unix_dgram_connect, "PATH|@NAME"},
	{"unix-own", 1, verb_unix_own, "PATH|@NAME"},
	{"unix-pair", 0, verb_unix_pair, ""},
	{"pipe-reopen", 0, verb_pipe_reopen, ""},
	{"ptrace", 1, verb_ptrace, "PID"},
	{"vm-read", 1, verb_vm_read, "PID"},
	{"vm-write", 1, verb_vm_write, "PID"},
	{"pidfd-getfd", 2, verb_pidfd_getfd, "PID FD"},
	{"robust-list", 1, verb_robust_list, "PID"},
	{"kill", 2, verb_kill, "PID SIGNAL"},
	{"set-owner", 2, verb_set_owner, "FD PID"},
	{"set-owner-ex", 2, verb_set_owner_ex, "FD PID"},
	{"set-owner-ioctl", 2, verb_set_owner_ioctl, "FD PID"},
	{"set-owner-ioctl32", 2, verb_set_owner_ioctl32, "FD PID"},
	{"type", 1, verb_type, "FD"},
	{"tgkill", 2, verb_tgkill, "PID SIGNAL"},
	{"sigqueue", 2, verb_sigqueue, "PID SIGNAL"},
	{"pidfd-kill", 2, verb_pidfd_kill, "PID SIGNAL"},
	{"pidfd-self", 0, verb_pidfd_self, ""},
	{"kill-child", 0, verb_kill_child, ""},
	{"unshare", 1, verb_unshare, "FLAGS"},
	{"clone-user", 0, verb_clone_user, ""},
	{"setns", 1, verb_setns, "PID"},
	{"setns-file", 1, verb_setns_file, "FILE"},
	{"mount-tmpfs", 1, verb_mount_tmpfs, "DIRECTORY"},
	{"bind", 2, verb_bind, "FROM TO"},
	{"remount", 1, verb_remount, "MOUNT"},
	{"propagation", 1, verb_propagation, "MOUNT"},
	{"umount", 1, verb_umount, "MOUNT"},
	{"fsopen", 0, verb_fsopen, ""},
	{"fsmount", 1, verb_fsmount, "DIRECTORY"},
	{"open-tree", 1, verb_open_tree, "DIRECTORY"},
	{"open-tree-read", 2, verb_open_tree_read, "DIRECTORY NAME"},
	{"mount-setattr", 1, verb_mount_setattr, "MOUNT"},
	{"pivot-root", 1, verb_pivot_root, "DIRECTORY"},
	{"chroot", 1, verb_chroot, "DIRECTORY"},
	{"cgroup-join", 1, verb_cgroup_join, "CGROUP.PROCS"},
	{"clone-into", 1, verb_clone_into, "CGROUP"},
	{"bpf", 0, verb_bpf, ""},
	{"bpf-map", 0, verb_bpf_map, ""},
	{"bpf-get", 1, verb_bpf_get, "PIN"},
	{"perf", 0, verb_perf, ""},
	{"io-uring", 0, verb_io_uring, ""},
	{"userfaultfd", 0, verb_userfaultfd, "[FLAGS]"},
	{"sethostname", 0, verb_sethostname, ""},
	{"settime", 0, verb_settime, ""},
	{"kexec", 0, verb_kexec, ""},
	{"kexec-file", 0, verb_kexec_file, ""},
	{"init-module", 0, verb_init_module, ""},
	{"finit-module", 0, verb_finit_module, ""},
	{"delete-module", 0, verb_delete_module, ""},
	{"swapon", 1, verb_swapon, "FILE"},
	{"acct", 0, verb_acct, ""},
	{"reboot", 0, verb_reboot, ""},
	{"syslog", 0, verb_syslog, ""},
	{"iopl", 0, verb_iopl, ""},
	{"realtime", 0, verb_nice, ""},
	{"fork", 0, verb_fork, ""},
	{"poll", 2, verb_poll, "FILE THREADS"},
	{"poll-holding", 1, verb_poll_holding, "FILE"},
	{"stuck", 0, verb_stuck, ""},
	{"forked", 1, verb_forked, "VERB..."},
	{"child", 1, verb_child, "VERB..."},
	{"as", 2, verb_root, "UID VERB..."},
	{},
};

const struct verb *verb_find(const char *name)
{
	const struct verb *v;

	for (v = verbs; v->name; v++)
		if (!strcmp(v->name, name))
			return v;
	return NULL;
}

int verb_run(int argc, char **argv)
{
	const struct verb *v = argc > 0 ? verb_find(argv[0]) : NULL;

	if (!v || argc <= v->nargs)
		return VERB_BROKEN + EINVAL;
	errno = 0;
	return v->fn(argc, argv);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Other processes: looking into them, signals to them, typing for them. */
#include "verbs_internal.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

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

/* No terminal, or no virtual one: one step further than the hook. As the system call has it, whose command is
 * 32 bits of the register: filters that compare all 64 were passed by the others. */
static int ioctl_past(char **argv, unsigned long command, void *arg)
{
	unsigned long high = argv[2] ? strtoul(argv[2], NULL, 0) << 32 : 0;

	return result_past(syscall(SYS_ioctl, (long)number(argv[1]), high | command, arg), ENOTTY);
}

VERB(type)
{
	char text[] = "#";

	return ioctl_past(argv, TIOCSTI, text);
}

/* Of all that a virtual console does for who asks the state of its shift keys: it changes nothing. */
VERB(console)
{
	char subcode = 6;

	return ioctl_past(argv, TIOCLINUX, &subcode);
}

/* Whom the kernel kills first when memory runs out. */
VERB(oom_adjust)
{
	_cleanup_close_ int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	return fd < 0 ? broken() : result(write(fd, argv[1], strlen(argv[1])));
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

const struct verb process_verbs[] = {
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
	{"type", 1, verb_type, "FD [HIGH-BITS]"},
	{"console", 1, verb_console, "FD [HIGH-BITS]"},
	{"oom-adjust", 1, verb_oom_adjust, "NUMBER"},
	{"tgkill", 2, verb_tgkill, "PID SIGNAL"},
	{"sigqueue", 2, verb_sigqueue, "PID SIGNAL"},
	{"pidfd-kill", 2, verb_pidfd_kill, "PID SIGNAL"},
	{"pidfd-self", 0, verb_pidfd_self, ""},
	{"kill-child", 0, verb_kill_child, ""},
	{},
};

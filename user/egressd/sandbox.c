// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sandbox.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/sockios.h>
#include <jansson.h>
#include <systemd/sd-id128.h>
#include "base/cleanup.h"
#include "egressd.h"

/* Sanitizers read files to report a fault, and look for leaks in a process that their child can trace: with them nothing
 * is refused. */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

/* --- privilege --- */

static int failed(struct error *error, const char *what)
{
	return error_set(error, errno, "%s: %s", what, strerror(errno));
}

static int set_limits(struct error *error)
{
	struct rlimit core = {0, 0}, files = {EGRESSD_FILES, EGRESSD_FILES};

	if (setrlimit(RLIMIT_CORE, &core))
		return failed(error, "RLIMIT_CORE");
	if (!setrlimit(RLIMIT_NOFILE, &files))
		return 0;
	/* Not ours to raise: as many as there may be. The relay waits where it has none. */
	if (getrlimit(RLIMIT_NOFILE, &files))
		return failed(error, "RLIMIT_NOFILE");
	files.rlim_cur = files.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &files) ? failed(error, "RLIMIT_NOFILE") : 0;
}

/* Who may not has nothing to be bounded: no_new_privs does it besides. */
static int drop_bounds(struct error *error)
{
	for (unsigned long cap = 0; cap < 64; cap++) {
		if (!prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
			continue;
		if (errno == EINVAL || errno == EPERM)
			return 0;
		return failed(error, "bounding set");
	}
	return 0;
}

static int become(const char *user, struct error *error)
{
	const struct passwd *entry;

	errno = 0;
	entry = getpwnam(user);
	if (!entry)
		return error_set(error, errno ?: ENOENT, "user %.100s: %s", user,
				 errno ? strerror(errno) : "there is none");
	if (setgroups(0, NULL) || setresgid(entry->pw_gid, entry->pw_gid, entry->pw_gid) ||
	    setresuid(entry->pw_uid, entry->pw_uid, entry->pw_uid))
		return failed(error, user);
	return 0;
}

static int clear_capabilities(struct error *error)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
		return failed(error, "ambient capabilities");
	return syscall(SYS_capset, &header, none) ? failed(error, "capabilities") : 0;
}

int sandbox_lower(const char *user, struct error *error)
{
	int r = set_limits(error);

	if (!r)
		r = drop_bounds(error);
	if (!r && user)
		r = become(user, error);
	if (!r && !geteuid())
		r = error_set(error, EPERM, "it does not run as root: name a --user");
	if (!r)
		r = clear_capabilities(error);
	if (r)
		return r;
	umask(077);
	if (chdir("/"))
		return failed(error, "chdir /");
	/* What changes the user takes the last two back: they come after. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, SANITIZED, 0, 0, 0) ||
	    prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0))
		return failed(error, "prctl");
	return 0;
}

/* --- system calls --- */

static const int allowed[] = {
	/* memory, time */
	SCMP_SYS(brk),
	SCMP_SYS(clock_getres),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(exit_group),
	SCMP_SYS(futex),
	SCMP_SYS(getegid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getpid),
	SCMP_SYS(getrandom),
	SCMP_SYS(gettid),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(getuid),
	SCMP_SYS(madvise),
	SCMP_SYS(mremap),
	SCMP_SYS(munmap),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(sched_yield),
	/* The C library's qsort asks how much memory there is. */
	SCMP_SYS(sysinfo),
	SCMP_SYS(uname),
	SCMP_SYS(time),
	SCMP_SYS(alarm),
	SCMP_SYS(setitimer),
	/* the loop */
	SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(epoll_pwait2),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(eventfd2),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(pselect6),
	SCMP_SYS(select),
	SCMP_SYS(signalfd4),
	SCMP_SYS(timerfd_create),
	SCMP_SYS(timerfd_settime),
	/* descriptors */
	SCMP_SYS(close),
	SCMP_SYS(fcntl),
	SCMP_SYS(fstat),
	SCMP_SYS(pipe2),
	SCMP_SYS(read),
	SCMP_SYS(readv),
	SCMP_SYS(splice),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	/* sockets */
	SCMP_SYS(accept4),
	SCMP_SYS(bind),
	SCMP_SYS(connect),
	SCMP_SYS(getpeername),
	SCMP_SYS(getsockname),
	SCMP_SYS(getsockopt),
	SCMP_SYS(recvfrom),
	SCMP_SYS(recvmsg),
	SCMP_SYS(sendmsg),
	SCMP_SYS(sendto),
	SCMP_SYS(setsockopt),
	SCMP_SYS(shutdown),
};

#define MASKED(argument, mask, value) SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, mask, value)
#define EQUAL(argument, value) SCMP_CMP(argument, SCMP_CMP_EQ, value)

/* By their arguments. */
static const struct {
	int call;
	struct scmp_arg_cmp compare[2];
	unsigned int n;
} allowed_as[] = {
	{SCMP_SYS(bpf), {EQUAL(0, BPF_MAP_LOOKUP_AND_DELETE_ELEM)}, 1},
	{SCMP_SYS(socket), {EQUAL(0, AF_INET)}, 1},
	{SCMP_SYS(socket), {EQUAL(0, AF_INET6)}, 1},
	/* What waits in a connection's queue. */
	{SCMP_SYS(ioctl), {EQUAL(1, SIOCOUTQ)}, 1},
	/* No new code. */
	{SCMP_SYS(mmap), {MASKED(2, PROT_EXEC, 0)}, 1},
	{SCMP_SYS(mprotect), {MASKED(2, PROT_EXEC, 0)}, 1},
	/* Limits are asked for and not set. */
	{SCMP_SYS(prlimit64), {EQUAL(0, 0), EQUAL(2, 0)}, 2},
	/* The routes. */
	{SCMP_SYS(socket), {EQUAL(0, AF_NETLINK)}, 1},
};

/* What they would read a file for later. */
static void prepare_libraries(void)
{
	sd_id128_t boot;

	/* A seed for the order of fields. */
	json_object_seed(0);
	/* sd-event spreads timers by it. */
	(void)sd_id128_get_boot(&boot);
}

/* What libraries try and do without. */
static const struct {
	int call, code;
} refused[] = {
	/* Nothing is opened, or looked for. */
	{SCMP_SYS(access), EACCES},
	{SCMP_SYS(faccessat), EACCES},
	{SCMP_SYS(faccessat2), EACCES},
	{SCMP_SYS(newfstatat), EACCES},
	/* What it says at its end goes to a pipe, as far as dprintf has to know. */
	{SCMP_SYS(lseek), ESPIPE},
	{SCMP_SYS(open), EACCES},
	{SCMP_SYS(openat), EACCES},
	{SCMP_SYS(readlink), EACCES},
	{SCMP_SYS(readlinkat), EACCES},
	{SCMP_SYS(stat), EACCES},
	{SCMP_SYS(statx), EACCES},
	/* Memory that has names is no better. */
	{SCMP_SYS(prctl), EINVAL},
};

static int add_rules(scmp_filter_ctx filter)
{
	int r = 0;

	for (size_t i = 0; !r && i < sizeof(allowed) / sizeof(*allowed); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
	for (size_t i = 0; !r && i < sizeof(allowed_as) / sizeof(*allowed_as); i++)
		r = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, allowed_as[i].call,
					   allowed_as[i].n, allowed_as[i].compare);
	for (size_t i = 0; !r && i < sizeof(refused) / sizeof(*refused); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint16_t)refused[i].code),
				     refused[i].call, 0);
	return r;
}

int sandbox_filter(struct error *error)
{
	scmp_filter_ctx filter = seccomp_init(SANITIZED ? SCMP_ACT_ALLOW : SCMP_ACT_KILL_PROCESS);
	int r = filter ? 0 : -ENOMEM;

	prepare_libraries();
	/* A tree instead of a list: most calls are towards its end. */
	if (!r)
		r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (!r && !SANITIZED)
		r = add_rules(filter);
	if (!r)
		r = seccomp_load(filter);
	seccomp_release(filter);
	return r ? error_set(error, -r, "seccomp: %s", strerror(-r)) : 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Descriptors that are open already. Sockets are looked at through pidfd_getfd(2): who the peer is,
 * whatever network namespace either lives in; nothing is read from them.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <linux/kcmp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

struct held {
	pid_t pid, tid;
	int fd;
	char link[64];	     /* /proc/PID/task/TID/fd/N */
	char text[PATH_MAX]; /* what it points to */
	unsigned int flags;  /* of open(2) */
	unsigned int mount;
	pid_t pidfd_of; /* a pidfd's process; 0: it is no pidfd, -1: a dead one */
};

#define FREE NULL

/* Anonymous inodes by name: why they are refused, or FREE. What is not here is refused. */
static const struct {
	const char *name, *reason;
} anonymous[] = {
	{"[eventpoll]", FREE},
	{"[eventfd]", FREE},
	{"[timerfd]", FREE},
	{"[signalfd]", FREE},
	{"[inotify]", FREE},
	{"inotify", FREE},
	{"[landlock-ruleset]", FREE},
	{"landlock-ruleset", FREE},
	{"[io_uring]", "it does I/O that no hook judges"},
	{"[userfaultfd]", "its holder decides when others run"},
	{"[perf_event]", "it observes the kernel or other processes"},
	{"[fanotify]", "it is given files of everybody"},
	{"bpf", "it is part of the kernel's programs"},
	{"kvm", "a virtual machine is not confined"},
	{"[fscontext]", "it mounts"},
	{"seccomp notify", "it answers system calls of others"},
};

static bool keeps(const struct inventory *inv, const struct held *h, unsigned int what)
{
	return inv->policy->keep & what && (what != KEEP_STDIO || h->fd <= 2);
}

/* What gives power over others or the kernel is no input or output: not kept as such. Nor revoked:
 * what it does, it does without being read or written, or others wait for what it says. */
static void refuse_power(struct inventory *inv, const struct held *h, const char *why)
{
	inventory_refuse(inv, EXISTING_OTHERS, h->pid, "fd %d: %s: %s", h->fd, h->text, why);
}

static struct revoked_fd as_revoked(const struct held *h, bool is_socket)
{
	return (struct revoked_fd){
		.pid = h->pid, .tid = h->tid, .fd = h->fd, .is_socket = is_socket};
}

/* What moves between two pipes, by splice(2), tee(2) or vmsplice(2), moves without a question: one that has
 * a name would be revoked in name alone. Asks nobody who serves a filesystem, and may be frozen. */
static bool may_be_fifo(const struct held *h)
{
	struct statx st;

	return statx(AT_FDCWD, h->link, AT_STATX_DONT_SYNC, STATX_TYPE, &st) < 0 ||
	       S_ISFIFO(st.stx_mode);
}

/* A refusal, unless it is one of the three descriptors that a policy may keep: any file or socket.
 */
static void refuse(struct inventory *inv, const struct held *h, enum existing_kind kind,
		   const char *what, const char *why)
{
	struct revoked_fd held = as_revoked(h, kind == EXISTING_SOCKETS);

	if (keeps(inv, h, KEEP_STDIO)) {
		inventory_keep_fd(inv, &held);
		inventory_note(inv, h->pid, "fd %d: kept (stdio): %s%s", h->fd, what, h->text);
		return;
	}
	if (kind == EXISTING_FILES && may_be_fifo(h))
		inventory_refuse(inv, kind, h->pid, "fd %d: %s%s: %s", h->fd, what, h->text, why);
	else
		inventory_refuse_fd(inv, kind, &held, "fd %d: %s%s: %s", h->fd, what, h->text, why);
}

static void judge_anonymous(struct inventory *inv, const struct held *h)
{
	const char *name = h->text + strlen("anon_inode:");

	for (size_t i = 0; i < sizeof(anonymous) / sizeof(*anonymous); i++) {
		if (strncmp(name, anonymous[i].name, strlen(anonymous[i].name)))
			continue;
		if (anonymous[i].reason)
			refuse_power(inv, h, anonymous[i].reason);
		return;
	}
	refuse_power(inv, h, "of a kind this version does not know");
}

static void judge_pidfd(struct inventory *inv, const struct held *h)
{
	struct revoked_fd held = as_revoked(h, false);

	/* Revoked or not, each use of it is judged by that process. */
	if (h->pidfd_of > 0 && !inventory_is_member(inv, h->pidfd_of))
		inventory_refuse_fd(inv, EXISTING_OTHERS, &held,
				    "fd %d: %s: the process it stands for is outside", h->fd,
				    h->text);
}

static void judge_namespace(struct inventory *inv, const struct held *h)
{
	refuse_power(inv, h, "a namespace to enter");
}

/* --- sockets --- */

/* A thread with a table of its own has no pidfd on 6.1. */
int descriptor_borrow(pid_t pid, pid_t tid, int number)
{
	_cleanup_close_ int pidfd = -1;
	int fd;

	if (tid != pid)
		return -EOPNOTSUPP;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return -errno;
	fd = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);
	return fd < 0 ? -errno : fd;
}

static int socket_option(int fd, int option)
{
	socklen_t n = sizeof(int);
	int value = -1;

	return getsockopt(fd, SOL_SOCKET, option, &value, &n) ? -1 : value;
}

/* Peers that a service manager gave: judged by name, and by who made a stream. */
static const struct {
	const char *path;
	unsigned int keep;
} managers[] = {
	{"/run/systemd/journal/stdout", KEEP_JOURNAL},
	{"/run/systemd/journal/socket", KEEP_JOURNAL},
	{"/run/systemd/journal/dev-log", KEEP_JOURNAL},
	{"/dev/log", KEEP_JOURNAL},
	{"/run/systemd/notify", KEEP_NOTIFY},
};

static bool peer_is_kept(const struct inventory *inv, int fd, const char *peer)
{
	struct ucred cred = {};
	socklen_t n = sizeof(cred);

	/* A stream's peer must be root's: the name is whatever its maker bound. */
	if (socket_option(fd, SO_TYPE) != SOCK_DGRAM &&
	    (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) || cred.uid))
		return false;
	for (size_t i = 0; i < sizeof(managers) / sizeof(*managers); i++)
		if (!strcmp(peer, managers[i].path))
			return inv->policy->keep & managers[i].keep;
	return false;
}

/* "/path", "@abstract", or "" for a peer without a name. -ENOTCONN. */
static int peer_name(int fd, char *buffer, size_t size)
{
	struct sockaddr_un address = {};
	socklen_t n = sizeof(address);
	size_t length;

	if (getpeername(fd, (struct sockaddr *)&address, &n))
		return -errno;
	length = n > offsetof(struct sockaddr_un, sun_path)
			 ? n - offsetof(struct sockaddr_un, sun_path)
			 : 0;
	if (length > sizeof(address.sun_path))
		length = sizeof(address.sun_path);
	if (!length)
		snprintf(buffer, size, "%s", "");
	else if (!*address.sun_path)
		snprintf(buffer, size, "@%.*s", (int)length - 1, address.sun_path + 1);
	else
		snprintf(buffer, size, "%.*s", (int)length, address.sun_path);
	return 0;
}

static void judge_unix(struct inventory *inv, const struct held *h, int fd)
{
	char peer[sizeof(((struct sockaddr_un *)0)->sun_path) + 2], why[192];
	struct revoked_fd held = as_revoked(h, true);

	/* Not connected, listening, or one end of a pair: what it does next, hooks see. */
	if (peer_name(fd, peer, sizeof(peer)) || !*peer)
		return;
	if (peer_is_kept(inv, fd, peer)) {
		inventory_keep_fd(inv, &held);
		inventory_note(inv, h->pid, "fd %d: kept: unix socket to %s", h->fd, peer);
		return;
	}
	snprintf(why, sizeof(why), "no rule allows to connect to %s", peer);
	if (!inventory_allows(inv, peer, BH_PERM_CONNECT))
		refuse(inv, h, EXISTING_SOCKETS, "unix ", why);
}

static const char *family_name(int family)
{
	static const struct {
		int family;
		const char *name;
	} names[] = {{AF_INET, "IPv4 "},     {AF_INET6, "IPv6 "},	  {AF_NETLINK, "netlink "},
		     {AF_PACKET, "packet "}, {AF_VSOCK, "vsock "},	  {AF_ALG, "crypto "},
		     {AF_XDP, "XDP "},	     {AF_BLUETOOTH, "Bluetooth "}};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].family == family)
			return names[i].name;
	return "";
}

static void judge_socket(struct inventory *inv, const struct held *h)
{
	_cleanup_close_ int fd = descriptor_borrow(h->pid, h->tid, h->fd);
	int family = fd < 0 ? -1 : socket_option(fd, SO_DOMAIN);

	if (family == AF_UNIX)
		judge_unix(inv, h, fd);
	else if (family < 0)
		refuse(inv, h, EXISTING_SOCKETS, "", "it cannot be looked at");
	else
		refuse(inv, h, EXISTING_SOCKETS, family_name(family),
		       "the policy opens no way there");
}

/* --- files --- */

/* As the kernel judges an open (bpf/file.bpf.c). */
static __u32 perms_of(unsigned int flags)
{
	static const __u32 by_mode[] = {BH_PERM_READ, BH_PERM_WRITE, BH_PERM_READ | BH_PERM_WRITE,
					BH_PERM_IOCTL};
	__u32 perms = by_mode[flags & O_ACCMODE];

	if (flags & O_APPEND && perms & BH_PERM_WRITE)
		perms = (perms & ~BH_PERM_WRITE) | BH_PERM_APPEND;
	return perms;
}

static void judge_file(struct inventory *inv, const struct held *h)
{
	static const char deleted[] = " (deleted)";
	size_t n = strlen(h->text);
	__u32 perms = perms_of(h->flags);
	char what[128];

	/* Grants nothing: what is opened through it is judged then. */
	if (h->flags & O_PATH)
		return;
	/* Memory like any other: only running it matters, and that is judged as a mapping. */
	if (!strncmp(h->text, "/memfd:", strlen("/memfd:")) && link_is_nameless(h->link))
		return;
	perms_to_text(perms, what, sizeof(what) - 1);
	strcat(what, " ");
	if (n >= sizeof(deleted) && !strcmp(h->text + n - (sizeof(deleted) - 1), deleted))
		refuse(inv, h, EXISTING_FILES, what, "no rule can name a file that was deleted");
	else if (!inventory_sees(inv, h->mount))
		refuse(inv, h, EXISTING_FILES, what,
		       "it was opened on a mount that is gone or of others");
	else if (!inventory_allows(inv, h->text, perms))
		refuse(inv, h, EXISTING_FILES, what, "no rule allows it");
}

/* By how the link's text begins; without a judge: free. What is not here is refused. */
static const struct {
	const char *head;
	void (*judge)(struct inventory *inv, const struct held *h);
} kinds[] = {
	{"/", judge_file},
	{"pipe:[", NULL},
	{"socket:[", judge_socket},
	{"anon_inode:[pidfd]", judge_pidfd},
	{"pidfd:[", judge_pidfd},
	{"anon_inode:", judge_anonymous},
	{"mnt:[", judge_namespace},
	{"net:[", judge_namespace},
	{"user:[", judge_namespace},
	{"pid:[", judge_namespace},
	{"ipc:[", judge_namespace},
	{"uts:[", judge_namespace},
	{"cgroup:[", judge_namespace},
	{"time:[", judge_namespace},
};

static void judge(struct inventory *inv, const struct held *h)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strncmp(h->text, kinds[i].head, strlen(kinds[i].head)))
			continue;
		if (kinds[i].judge)
			kinds[i].judge(inv, h);
		return;
	}
	refuse_power(inv, h, "of a kind this version does not know");
}

/* --- the tables --- */

static int read_held(struct held *h)
{
	char path[96], info[1024], *line;
	ssize_t n;
	int r;

	snprintf(h->link, sizeof(h->link), "/proc/%d/task/%d/fd/%d", (int)h->pid, (int)h->tid,
		 h->fd);
	n = readlink(h->link, h->text, sizeof(h->text) - 1);
	if (n < 0)
		return -errno;
	h->text[n] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/task/%d/fdinfo/%d", (int)h->pid, (int)h->tid, h->fd);
	/* What counts comes first, and behind it an epoll instance lists all it watches, a file all
	 * its locks, without bound. */
	r = text_head(path, info, sizeof(info));
	if (r)
		return r;
	line = strstr(info, "flags:");
	if (!line || sscanf(line, "flags: %o", &h->flags) != 1)
		return -EINVAL;
	if (fdinfo_mount(info, &h->mount))
		return -EINVAL;
	line = strstr(info, "\nPid:");
	if (line && sscanf(line, "\nPid: %d", &h->pidfd_of) != 1)
		return -EINVAL;
	return 0;
}

static int judge_table(struct inventory *inv, pid_t pid, pid_t tid, struct error *error)
{
	_cleanup_free_ struct held *h = calloc(1, sizeof(*h));
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *entry;
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/fd", (int)pid, (int)tid);
	dir = opendir(path);
	if (!h || !dir)
		return h ? -errno : error_set(error, ENOMEM, "out of memory");
	while ((entry = readdir(dir))) {
		if (*entry->d_name == '.')
			continue;
		*h = (struct held){.pid = pid, .tid = tid, .fd = atoi(entry->d_name)};
		r = read_held(h);
		if (r == -ENOENT)
			continue; /* killed meanwhile */
		if (r)
			return error_set(error, -r, "%s/%s: %s", path, entry->d_name, strerror(-r));
		judge(inv, h);
		if (clock_ms() > inv->deadline_ms)
			return error_set(error, ETIMEDOUT, "%s: not judged in %u ms", path,
					 BH_INVENTORY_MS);
	}
	return 0;
}

/* Does this thread share the table of its leader? Cannot tell: no. */
static bool shares_table(pid_t pid, pid_t tid)
{
	return pid == tid || syscall(SYS_kcmp, pid, tid, KCMP_FILES, 0, 0) == 0;
}

int inventory_descriptors(struct inventory *inv, pid_t pid, struct error *error)
{
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *entry;
	char path[64];
	pid_t tid;
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!r && (entry = readdir(dir))) {
		tid = atoi(entry->d_name);
		if (tid <= 0 || (tid != pid && shares_table(pid, tid)))
			continue;
		r = judge_table(inv, pid, tid, error);
		if (r == -ENOENT || r == -ESRCH)
			r = 0;
	}
	return r;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Mount tables of members: the text of every distinct one, each after a line "PID" of one that sees it.
 *
 * They give files names, so nobody who is to be confined may have made them. Whoever makes a user
 * namespace may mount in its mount namespaces and change its root directory at will. So a mount
 * namespace that such a user namespace owns counts for nothing: files that are mounted only there stay
 * undecided. Of who is in one, in mounts that are not its own (PrivateUsers= of a unit), the mount
 * namespace is asked and not the process.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Distinct (mount namespace, root directory) pairs of one compartment. */
#define MAX_NAMESPACES 256

struct namespace_key {
	dev_t ns_dev, root_dev;
	ino_t ns_ino, root_ino;
};

struct tables {
	struct namespace_key keys[MAX_NAMESPACES];
	size_t nkeys;
	bool foreign; /* there was somebody whose mounts do not count */
	char *text;
	size_t n;
};

/* --- whose they are --- */

/* What /proc/PID/NAME leads to. A process that exits meanwhile has no view any more: -ESRCH. */
static int stat_of(pid_t pid, const char *name, struct stat *ret)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	if (stat(path, ret))
		return errno == ENOENT || errno == EACCES ? -ESRCH : -errno;
	return 0;
}

int process_has_own_users(pid_t pid)
{
	struct stat ours, its;
	int r = stat_of(getpid(), "ns/user", &ours);

	if (!r)
		r = stat_of(pid, "ns/user", &its);
	return r ? r : ours.st_ino != its.st_ino;
}

static int open_mounts(pid_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 && (errno == ENOENT || errno == EACCES) ? -ESRCH : fd < 0 ? -errno : fd;
}

static int are_foreign(int mounts)
{
	_cleanup_close_ int owner = ioctl(mounts, NS_GET_USERNS);
	struct stat ours, its;
	int r = stat_of(getpid(), "ns/user", &ours);

	/* EPERM: of a user namespace that is not below ours. */
	if (owner < 0)
		return errno == EPERM ? 1 : -errno;
	if (!r && fstat(owner, &its))
		r = -errno;
	return r ? r : ours.st_ino != its.st_ino;
}

int process_is_foreign(pid_t pid)
{
	_cleanup_close_ int mounts = open_mounts(pid);

	return mounts < 0 ? mounts : are_foreign(mounts);
}

/* --- as a process sees them --- */

static int read_key(pid_t pid, struct namespace_key *ret)
{
	struct stat ns, root;
	int r = stat_of(pid, "ns/mnt", &ns);

	if (!r)
		r = stat_of(pid, "root", &root);
	if (r)
		return r;
	*ret = (struct namespace_key){ns.st_dev, root.st_dev, ns.st_ino, root.st_ino};
	return 0;
}

static int read_seen(pid_t pid, char **ret, size_t *ret_n)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	return text_read(path, BH_MAX_MOUNT_BYTES, ret, ret_n);
}

/* Asked again when the table was read: a member that runs can go over into a sandbox meanwhile, and
 * never comes back out of a user namespace. 1: it is as it was. */
static int is_still(pid_t pid, const struct namespace_key *key)
{
	struct namespace_key now = {};
	int r = process_has_own_users(pid);

	if (!r)
		r = process_is_foreign(pid);
	if (!r)
		r = read_key(pid, &now);
	return r < 0 ? r : r == 0 && !memcmp(&now, key, sizeof(now));
}

/* --- as a mount namespace has them --- */

struct visit {
	int proc, mounts; /* descriptors */
	int table;	  /* or -errno */
};

/* In a process of its own, which shares descriptors and memory with ours: it is one thread, and has a
 * root directory that setns(2) may change to the namespace's. */
static int visit(void *data)
{
	struct visit *v = data;

	v->table = setns(v->mounts, CLONE_NEWNS)
			   ? -1
			   : openat(v->proc, "self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (v->table < 0)
		v->table = -errno;
	return 0;
}

#define VISIT_STACK 65536 /* two system calls */

static int open_visited(int mounts)
{
	static char stack[VISIT_STACK] __attribute__((aligned(16))); /* one at a time: vfork */
	_cleanup_close_ int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct visit v = {.proc = proc, .mounts = mounts, .table = -EIO};
	pid_t pid;

	if (proc < 0)
		return -errno;
	pid = clone(visit, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD,
		    &v);
	if (pid < 0)
		return -errno;
	waitpid(pid, NULL, 0);
	return v.table;
}

static int read_whole(int mounts, char **ret, size_t *ret_n)
{
	_cleanup_close_ int table = open_visited(mounts);

	return table < 0 ? table : text_read_fd(table, BH_MAX_MOUNT_BYTES, ret, ret_n);
}

/* --- all of them --- */

static bool key_is_new(const struct tables *tables, const struct namespace_key *key)
{
	for (size_t i = 0; i < tables->nkeys; i++)
		if (!memcmp(&tables->keys[i], key, sizeof(*key)))
			return false;
	return true;
}

static int append(struct tables *tables, pid_t pid, const char *table, size_t n)
{
	char head[32];
	int head_n = snprintf(head, sizeof(head), "%d\n", (int)pid);
	char *bigger;

	if (tables->n + n + head_n > BH_MAX_MOUNT_BYTES)
		return -E2BIG;
	bigger = realloc(tables->text, tables->n + head_n + n + 1);
	if (!bigger)
		return -ENOMEM;
	tables->text = bigger;
	memcpy(bigger + tables->n, head, head_n);
	memcpy(bigger + tables->n + head_n, table, n);
	tables->n += head_n + n;
	bigger[tables->n] = '\0';
	return 0;
}

/* 1: it was read, 0: it does not count. */
static int read_one(struct tables *tables, pid_t pid, int mounts, struct namespace_key *key,
		    char **ret, size_t *ret_n)
{
	int lent = process_has_own_users(pid), r;

	if (lent < 0)
		return lent;
	r = read_key(pid, key);
	if (lent)
		key->root_dev = key->root_ino = 0; /* whatever it is: the namespace's is taken */
	if (r || !key_is_new(tables, key))
		return r;
	if (tables->nkeys == MAX_NAMESPACES)
		return -E2BIG;
	r = lent ? read_whole(mounts, ret, ret_n) : read_seen(pid, ret, ret_n);
	if (r)
		return r == -EFBIG ? -E2BIG : r;
	r = lent ? 1 : is_still(pid, key);
	tables->foreign |= r == 0;
	return r;
}

static int read_table(struct tables *tables, pid_t pid)
{
	_cleanup_close_ int mounts = open_mounts(pid);
	_cleanup_free_ char *table = NULL;
	struct namespace_key key = {};
	int r = mounts < 0 ? mounts : are_foreign(mounts);
	size_t n = 0;

	tables->foreign |= r > 0;
	if (r == 0)
		r = read_one(tables, pid, mounts, &key, &table, &n);
	/* A zombie has a namespace link and no table. */
	if (r == -ENOENT || r == -ESRCH || r == -EINVAL)
		return 0;
	if (r <= 0 || !table)
		return r < 0 ? r : 0;
	tables->keys[tables->nkeys++] = key;
	return append(tables, pid, table, n);
}

int mounts_tables(const pid_t *pids, size_t npids, char **ret)
{
	struct tables tables = {};
	int r = 0;

	for (size_t i = 0; !r && i < npids; i++)
		r = read_table(&tables, pids[i]);
	/* Our own view is not that of members who are all in sandboxes: it can lack a deny's name. */
	if (!r && !tables.n && tables.foreign)
		r = -EXDEV;
	if (!r && !tables.n)
		r = read_table(&tables, getpid());
	if (!r && !tables.n)
		r = -ESRCH;
	if (r) {
		free(tables.text);
		return r;
	}
	*ret = tables.text;
	return 0;
}

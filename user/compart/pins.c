// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Each name is walked to, as members see it, from a root of theirs: first open every directory on the way,
 * then tell the kernel their names, then look whether they are still the same ones. What changes afterwards
 * the kernel programs notice (bpf/names.bpf.c).
 */
#include "pins.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "internal.h"
#include "policy/links.h"

/* Components of a name that is pinned: deeper ones are not, and their denies count as patterns. */
#define MAX_STEPS 64

struct pinning {
	struct kern *kern;
	const struct mounts *mounts;
	__u32 generation;
	struct error *error;
	pid_t pid;	   /* whose root is walked from */
	const char *table; /* its mounts, in mounts->tables */
	enum bh_loose loose;
};

/* --- filesystems --- */

/* Where the look-up of a name asks nobody who may not answer: members are frozen, and may be the ones who
 * serve a filesystem. */
static const char *const prompt_types[] = {"ext2",     "ext3",	   "ext4",  "xfs",	"btrfs",
					   "f2fs",     "bcachefs", "zfs",   "tmpfs",	"ramfs",
					   "devtmpfs", "overlay",  "erofs", "squashfs", "iso9660",
					   "vfat",     "rootfs"};
/* Where no file has two names. */
static const char *const linkless_types[] = {"proc",	 "sysfs",      "cgroup",    "cgroup2",
					     "bpf",	 "devpts",     "mqueue",    "debugfs",
					     "tracefs",	 "securityfs", "configfs",  "pstore",
					     "efivarfs", "hugetlbfs",  "selinuxfs", "fusectl"};

#define IS_ONE_OF(type, list) is_one_of(type, list, sizeof(list) / sizeof(*(list)))
static bool is_one_of(const char *type, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(type, list[i]))
			return true;
	return false;
}

enum ground { GROUND_GOOD, GROUND_LINKLESS, GROUND_BAD };

/* What a name stands on, by the mounts that are on its way. */
static enum ground ground_of(const char *table, const char *path)
{
	enum ground ground = GROUND_BAD;
	size_t deepest = 0, length;

	/* Up to the next table, which begins with a number alone. */
	for (const char *at = table; at[strcspn(at, " \n")] == ' ';) {
		char line[PATH_MAX * 2];
		struct mountinfo m = {};
		size_t n = strcspn(at, "\n");

		snprintf(line, sizeof(line), "%.*s", (int)n, at);
		at += n + (at[n] == '\n');
		if (n >= sizeof(line) || mountinfo_parse(line, &m))
			return GROUND_BAD;
		length = strlen(m.point);
		if (!path_covers(m.point, path) || length < deepest)
			continue;
		deepest = length;
		if (IS_ONE_OF(m.type, linkless_types))
			ground = GROUND_LINKLESS;
		else if (!IS_ONE_OF(m.type, prompt_types))
			return GROUND_BAD;
		else
			ground = GROUND_GOOD;
	}
	return ground;
}

/* --- the way to a name --- */

struct way {
	char path[PATH_MAX];	      /* in pieces, each with a NUL */
	const char *names[MAX_STEPS]; /* names[i] in the directory fds[i] */
	int fds[MAX_STEPS + 1];
	size_t n;     /* names */
	size_t there; /* descriptors: n + 1 when all of it exists */
};

static void way_done(struct way *way)
{
	for (size_t i = 0; i < way->there; i++)
		close(way->fds[i]);
}

static int way_split(struct way *way, const char *path)
{
	char *save = NULL;

	if (strlen(path) >= sizeof(way->path))
		return -ENAMETOOLONG;
	strcpy(way->path, path);
	for (char *name = strtok_r(way->path, "/", &save); name;
	     name = strtok_r(NULL, "/", &save)) {
		if (way->n == MAX_STEPS || strlen(name) > BH_MAX_NAME)
			return -ENAMETOOLONG;
		way->names[way->n++] = name;
	}
	return way->n ? 0 : -EINVAL;
}

/* What a link stands for is named by another rule. */
static int open_name(int directory, const char *name)
{
	struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
			       .resolve = RESOLVE_NO_SYMLINKS};

	return (int)syscall(SYS_openat2, directory, name, &how, sizeof(how));
}

static bool is_directory(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

/* As far as it exists. */
static int way_open(struct way *way, pid_t pid)
{
	char root[64];
	int fd;

	snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
	fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) /* it has gone: what it saw, others may see */
		return errno == ENOENT || errno == ESRCH ? -ESTALE : -errno;
	way->fds[way->there++] = fd;
	for (size_t i = 0; i < way->n && is_directory(way->fds[i]); i++) {
		fd = open_name(way->fds[i], way->names[i]);
		if (fd < 0)
			return errno == ENOENT || errno == ELOOP || errno == ENOTDIR ? 0 : -errno;
		way->fds[way->there++] = fd;
	}
	return 0;
}

static bool is_same(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* --- pinning --- */

/* Names of all that exists, and of the first that does not. */
static int tell_names(struct pinning *p, const struct way *way, const struct bh_inode *inodes,
		      __u32 perms, __u32 *ret_pin)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < way->n && i < way->there; i++) {
		if (!is_directory(way->fds[i]))
			break;
		r = kern_pin_name(p->kern, p->generation, &inodes[i], way->names[i],
				  i + 1 == way->n ? perms : 0, ret_pin);
	}
	return r;
}

/* A way that changed while it was looked at is another one. */
static int check_way(struct pinning *p, const struct way *way)
{
	_cleanup_(way_done) struct way now = {.n = way->n};
	int r;

	memcpy(now.names, way->names, sizeof(now.names));
	r = way_open(&now, p->pid);
	if (r < 0)
		return r;
	for (size_t i = 0; i < way->there; i++)
		if (now.there != way->there || !is_same(way->fds[i], now.fds[i]))
			return -ESTALE;
	return 0;
}

static bool is_file(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

static int pin_path(struct pinning *p, const struct denial *denial)
{
	_cleanup_(way_done) struct way way = {};
	struct bh_inode inodes[MAX_STEPS + 1];
	__u32 pin = 0;
	int r = way_split(&way, denial->path);

	if (r == 0)
		r = way_open(&way, p->pid);
	if (r == 0)
		r = kern_inodes(p->kern, way.fds, way.there, inodes, p->error);
	if (r == 0)
		r = tell_names(p, &way, inodes, denial->perms, &pin);
	if (r == 0)
		r = check_way(p, &way);
	if (r == 0 && way.there == way.n + 1 && is_file(way.fds[way.n]))
		r = kern_pin(p->kern, &inodes[way.n], pin);
	return r;
}

static int pin_denial(const struct denial *denial, void *context)
{
	struct pinning *p = context;
	enum ground ground;
	int r;

	if (!denial->is_name || !strcmp(denial->path, "/"))
		return 0;
	ground = ground_of(p->table, denial->path);
	if (ground == GROUND_LINKLESS)
		return 0;
	r = ground == GROUND_GOOD ? pin_path(p, denial) : -EOPNOTSUPP;
	if (r == -ENOMEM)
		return r;
	if (r == -ESTALE && p->loose == BH_PINNED)
		p->loose = BH_LOOSE;
	else if (r < 0)
		p->loose = BH_UNPINNABLE;
	return 0;
}

/* Each table stands behind a line with the number of a process that sees it. */
static int pin_tables(struct pinning *p, const struct rule *rules, size_t nrules)
{
	int r = 0;

	for (const char *at = p->mounts->tables; r == 0 && at && *at;) {
		size_t n = strcspn(at, "\n");
		bool is_pid = !memchr(at, ' ', n);

		if (is_pid)
			p->pid = atoi(at);
		at += n + (at[n] == '\n');
		if (!is_pid)
			continue;
		p->table = at;
		r = policy_denials(rules, nrules, pin_denial, p);
	}
	return r;
}

int pins_take(struct kern *kern, const struct rule *rules, size_t nrules,
	      const struct mounts *mounts, __u32 generation, struct error *error)
{
	struct error why = {0};
	struct pinning p = {
		.kern = kern, .mounts = mounts, .generation = generation, .error = &why};
	int r = pin_tables(&p, rules, nrules);

	if (r == 0 && p.loose)
		r = kern_policy_loosen(kern, generation, p.loose);
	return r < 0 ? error_set(error, -r, "files that are denied by name cannot be pinned: %s",
				 strerror(-r))
		     : 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Where a path leads for somebody else: the nearest thing that exists on its way is opened below
 * that process's root directory, and the mount it stands on is looked up in its table.
 */
#include "locate.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include "internal.h"

int mounts_of_cgroup(const char *cgroup, struct mounts *ret, struct error *error)
{
	_cleanup_free_ pid_t *pids = NULL;
	size_t n = 0;
	int r;

	if (!*cgroup_root() || !path_covers(cgroup_root(), cgroup))
		return error_set(error, EINVAL, "%s is no cgroup: write a directory below %s",
				 cgroup, *cgroup_root() ? cgroup_root() : "/sys/fs/cgroup");
	r = cgroup_pids(cgroup, &pids, &n);
	if (r)
		return error_set(error, -r, "%s: cannot list its processes: %s", cgroup,
				 strerror(-r));
	if (!n)
		return error_set(
			error, ESRCH,
			"%s: no process is in it, so nobody sees anything: name one that runs",
			cgroup);
	return mounts_read(NULL, pids, n, ret, error);
}

pid_t mounts_member(const struct mounts *mounts, size_t *ret_tables)
{
	const char *line = mounts->tables ?: "";
	size_t n = 0;

	/* Each table comes after a line with nothing but the process's number. */
	for (const char *p = line; *p; p += *p == '\n') {
		size_t length = strcspn(p, "\n");

		n += !memchr(p, ' ', length);
		p += length;
	}
	if (ret_tables)
		*ret_tables = n;
	return (pid_t)atoi(line);
}

/* --- the mount --- */

static int open_root(pid_t pid, struct error *error)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	return error_set(error, errno == ENOENT ? ESRCH : errno, "%s: %s", path, strerror(errno));
}

/* No link is followed: those of procfs would lead to where this process sees them. */
static int open_plain(int root, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS,
	};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

/* The path's end, or what stands nearest above it. */
static int open_nearest(int root, const char *path, bool *ret_exists)
{
	_cleanup_free_ char *shorter = strdup(path);
	char *slash;
	int fd;

	if (!shorter)
		return -ENOMEM;
	*ret_exists = true;
	while ((fd = open_plain(root, *shorter ? shorter : "/")) < 0) {
		slash = strrchr(shorter, '/');
		if (!slash || !*shorter)
			return -errno;
		*ret_exists = false;
		*slash = '\0';
	}
	return fd;
}

/* The line of this mount; takes the text apart in place. */
static int find_mount(char *tables, unsigned int id, struct mountinfo *ret)
{
	char *save = NULL;

	for (char *line = strtok_r(tables, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (strchr(line, ' ') && mountinfo_parse(line, ret) == 0 && ret->id == id)
			return 0;
	return -ENOENT;
}

/* --- the place --- */

static char *join(const char *top, const char *rest)
{
	char *path = NULL;

	if (!strcmp(top, "/"))
		top = *rest ? "" : "/";
	return asprintf(&path, "%s%s", top, rest) < 0 ? NULL : path;
}

/* What of `path` is below `top`, both absolute; NULL when nothing. */
static const char *rest_below(const char *path, const char *top)
{
	if (!path_covers(top, path))
		return NULL;
	/* Of the root itself nothing is left. */
	if (!strcmp(path, "/"))
		return "";
	return path + (strcmp(top, "/") ? strlen(top) : 0);
}

static int take_mount(struct location *location, const struct mountinfo *m, const char *path)
{
	const char *rest = rest_below(path, m->point);

	if (!rest || !mountinfo_has_path(m))
		return -EXDEV;
	location->sbid = m->device;
	location->class = kern_superblock_class(m->type);
	location->type = strdup(m->type);
	location->point = strdup(m->point);
	location->root = strdup(m->root);
	location->place = join(m->root, rest);
	if (!location->type || !location->point || !location->root || !location->place)
		return -ENOMEM;
	return 0;
}

static int push_name(const struct mount_view *view, const char *place, char ***names, size_t *n)
{
	const char *rest = rest_below(place, view->root);
	_cleanup_free_ char *name = rest ? join(view->point, rest) : NULL;

	if (!rest)
		return 0;
	if (!name)
		return -ENOMEM;
	/* Different namespaces may agree on a name. */
	for (size_t i = 0; i < *n; i++)
		if (!strcmp((*names)[i], name))
			return 0;
	return strings_push(names, n, name);
}

int mounts_names(const struct mounts *mounts, __u32 sbid, const char *place, char ***ret,
		 size_t *ret_n)
{
	_cleanup_strings_ char **names = strings_copy(NULL);
	size_t n = 0;
	int r = names ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < mounts->n; i++)
		if (mounts->views[i].sbid == sbid)
			r = push_name(&mounts->views[i], place, &names, &n);
	if (r)
		return r;
	*ret = TAKE_PTR(names);
	*ret_n = n;
	return 0;
}

static void put_first(char **names, size_t n, const char *path)
{
	for (size_t i = 1; i < n; i++) {
		char *name = names[i];

		if (strcmp(name, path))
			continue;
		names[i] = names[0];
		names[0] = name;
	}
}

/* A filesystem that is not in the view leaves the path its only name. */
static int take_names(struct location *location, const struct mounts *mounts, const char *path)
{
	int r = mounts_names(mounts, location->sbid, location->place, &location->names,
			     &location->nnames);

	if (!r && !location->nnames)
		r = strings_push(&location->names, &location->nnames, path);
	if (!r)
		put_first(location->names, location->nnames, path);
	return r;
}

/* --- processes --- */

/* Of "/PID" or "/PID/...": how many bytes "/PID" has, else 0. */
static size_t process_length(const struct location *location)
{
	size_t digits = strspn(location->place + 1, "0123456789");

	if (location->class != BH_SB_PROC || !digits ||
	    (location->place[1 + digits] && location->place[1 + digits] != '/'))
		return 0;
	return 1 + digits;
}

bool location_is_member(const struct mounts *mounts, const struct location *location,
			const char *cgroup)
{
	_cleanup_close_ int root = open_root(mounts_member(mounts, NULL), NULL), fd = -1;
	_cleanup_free_ char *path = NULL, *standing = NULL;
	char name[64];
	struct statfs fs;

	if (!process_length(location) || root < 0 || strcmp(location->root, "/") != 0 ||
	    asprintf(&path, "%s%.*s/cgroup", location->point, (int)process_length(location),
		     location->place) < 0)
		return false;
	fd = open_plain(root, path);
	/* The members have what is on the way in hand. */
	if (fd < 0 || fstatfs(fd, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC)
		return false;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return cgroup_of_file(name, &standing) == 0 && path_covers(cgroup, standing);
}

static int put_self(char **path, size_t below, size_t length)
{
	char *text = NULL;

	if (asprintf(&text, "%.*s/self%s", (int)below, *path, *path + below + length) < 0)
		return -ENOMEM;
	free(*path);
	*path = text;
	return 0;
}

int location_as_self(struct location *location)
{
	size_t length = process_length(location), place = strlen(location->place);
	int r = 0;

	for (size_t i = 0; length && r == 0 && i < location->nnames; i++) {
		size_t n = strlen(location->names[i]);

		/* What is seen of procfs by another mount may begin further down. */
		if (n >= place && !strcmp(location->names[i] + n - place, location->place))
			r = put_self(&location->names[i], n - place, length);
	}
	return length && r == 0 ? put_self(&location->place, 0, length) : r;
}

void location_done(struct location *location)
{
	free(location->type);
	free(location->point);
	free(location->root);
	free(location->place);
	strings_free(location->names);
	*location = (struct location){};
}

static int find(const struct mounts *mounts, int root, const char *path, struct location *location)
{
	_cleanup_free_ char *tables = strdup(mounts->tables);
	_cleanup_close_ int fd = open_nearest(root, path, &location->exists);
	struct mountinfo m = {};
	unsigned int id = 0;
	int r = tables ? fd : -ENOMEM;

	if (r >= 0)
		r = fd_mount(fd, &id);
	if (!r)
		r = find_mount(tables, id, &m);
	if (!r)
		r = take_mount(location, &m, path);
	return r ? r : take_names(location, mounts, path);
}

int location_find(const struct mounts *mounts, const char *path, struct location *ret,
		  struct error *error)
{
	_cleanup_(location_done) struct location location = {};
	pid_t pid = mounts_member(mounts, NULL);
	_cleanup_close_ int root = open_root(pid, error);
	int r;

	if (root < 0)
		return root;
	r = find(mounts, root, path, &location);
	if (r)
		return error_set(error, -r,
				 "%s: cannot tell on which mount it stands for process %d: %s",
				 path, (int)pid,
				 r == -EXDEV ? "its directory was deleted, or is mounted elsewhere"
					     : strerror(-r));
	*ret = location;
	location = (struct location){};
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The view: which superblocks members of a compartment see, and where. Their mount tables, once for
 * each mount namespace and root directory, each mount opened to learn its superblock.
 *
 * A view gives files names, so nobody who is to be confined may have made it. Whoever makes a user
 * namespace may mount in it, and change the root directory, at will: what is seen from there is left
 * out, and files that are mounted only there stay undecided.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

/* Descriptors open at a time: well below the usual limit of 1024. */
#define BATCH 256
/* Distinct (mount namespace, root directory) pairs of one compartment. */
#define MAX_NAMESPACES 256

/* --- tables: the text of every distinct table, each after a line "PID" of one that sees it --- */

struct namespace_key {
	dev_t ns_dev, root_dev;
	ino_t ns_ino, root_ino;
};

struct tables {
	struct namespace_key keys[MAX_NAMESPACES];
	size_t nkeys;
	bool foreign; /* there was somebody whose view does not count */
	char *text;
	size_t n;
};

/* What /proc/PID/NAME leads to. A process that exits meanwhile has no view any more: -ESRCH. */
static int stat_of(pid_t pid, const char *name, struct stat *ret)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	if (stat(path, ret))
		return errno == ENOENT || errno == EACCES ? -ESRCH : -errno;
	return 0;
}

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

int process_is_foreign(pid_t pid)
{
	_cleanup_close_ int mounts = -1, owner = -1;
	struct stat own, user;
	char path[64];
	int r = stat_of(getpid(), "ns/user", &own);

	if (!r)
		r = stat_of(pid, "ns/user", &user);
	if (r || own.st_ino != user.st_ino)
		return r ? r : 1;
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	mounts = open(path, O_RDONLY | O_CLOEXEC);
	if (mounts < 0)
		return errno == ENOENT || errno == EACCES ? -ESRCH : -errno;
	owner = ioctl(mounts, NS_GET_USERNS);
	/* EPERM: of a user namespace that is not below ours. */
	if (owner < 0)
		return errno == EPERM ? 1 : -errno;
	return fstat(owner, &user) ? -errno : user.st_ino != own.st_ino;
}

static bool key_is_new(const struct tables *tables, const struct namespace_key *key)
{
	for (size_t i = 0; i < tables->nkeys; i++) {
		const struct namespace_key *k = &tables->keys[i];

		if (k->ns_dev == key->ns_dev && k->ns_ino == key->ns_ino &&
		    k->root_dev == key->root_dev && k->root_ino == key->root_ino)
			return false;
	}
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

/* Asked again when the table was read: a member that runs can go over into a sandbox meanwhile, and
 * never comes back out of a user namespace. 1: it is as it was. */
static int is_still(pid_t pid, const struct namespace_key *key)
{
	struct namespace_key now = {};
	int r = process_is_foreign(pid);

	if (r)
		return r > 0 ? 0 : r;
	r = read_key(pid, &now);
	return r ? r : !memcmp(&now, key, sizeof(now));
}

static int read_table(struct tables *tables, pid_t pid)
{
	_cleanup_free_ char *table = NULL;
	struct namespace_key key = {};
	char path[64];
	size_t n = 0;
	int r = process_is_foreign(pid);

	tables->foreign |= r > 0;
	if (!r)
		r = read_key(pid, &key);
	if (r || !key_is_new(tables, &key))
		return r == -ESRCH || r > 0 ? 0 : r;
	if (tables->nkeys == MAX_NAMESPACES)
		return -E2BIG;
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	r = text_read(path, BH_MAX_MOUNT_BYTES, &table, &n);
	/* A zombie has a namespace link and no table. */
	if (r == -ENOENT || r == -ESRCH || r == -EINVAL)
		return 0;
	if (r)
		return r == -EFBIG ? -E2BIG : r;
	r = is_still(pid, &key);
	if (r <= 0)
		return r == -ESRCH ? 0 : r;
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

int mounts_changed(const struct mounts *mounts, const pid_t *pids, size_t npids)
{
	_cleanup_free_ char *text = NULL;
	int r = mounts_tables(pids, npids, &text);

	if (r)
		return r;
	return !mounts->tables || strcmp(mounts->tables, text) != 0;
}

/* --- from a table to mounts with superblocks --- */

struct batch {
	struct kern *kern;
	struct mounts *mounts;
	size_t size; /* room in mounts->views */
	int fds[BATCH];
	struct mountinfo at[BATCH];
	size_t n;
};

static void view_done(struct mount_view *view)
{
	free((char *)view->root);
	free((char *)view->point);
}

static int push_view(struct batch *b, __u32 sbid, const struct mountinfo *m)
{
	size_t bigger = b->size ? b->size * 2 : 64;
	struct mount_view view = {.sbid = sbid};
	struct mount_view *p;

	if (b->mounts->n >= BH_MAX_MOUNTS)
		return -E2BIG;
	if (b->mounts->n == b->size) {
		p = reallocarray(b->mounts->views, bigger, sizeof(*p));
		if (!p)
			return -ENOMEM;
		b->mounts->views = p;
		b->size = bigger;
	}
	view.root = strdup(m->root);
	view.point = strdup(m->point);
	if (!view.root || !view.point) {
		view_done(&view);
		return -ENOMEM;
	}
	b->mounts->views[b->mounts->n++] = view;
	return 0;
}

static int flush(struct batch *b, struct error *error)
{
	struct bh_superblock sbs[BATCH] = {};
	int r = b->n && b->kern ? kern_superblocks(b->kern, b->fds, b->n, sbs, error) : 0;

	for (size_t i = 0; i < b->n; i++) {
		if (!b->kern)
			sbs[i].sbid = b->at[i].device;
		/* One the kernel could not name stays undecided: files there are refused. */
		if (!r && sbs[i].sbid) {
			r = push_view(b, sbs[i].sbid, &b->at[i]);
			if (r)
				error_set(error, -r, "mounts: %s", strerror(-r));
		}
		close(b->fds[i]);
	}
	b->n = 0;
	return r;
}

int fd_mount(int fd, unsigned int *ret)
{
	_cleanup_free_ char *text = NULL;
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	r = text_read(path, 4096, &text, NULL);
	return r ? r : fdinfo_mount(text, ret);
}

/* The mount point as its namespace sees it, or -1: covered by a later mount, gone, unreadable. */
static int open_point(pid_t pid, const struct mountinfo *m)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	unsigned int id = 0;

	if ((size_t)snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, m->point) >=
	    sizeof(path))
		return -1;
	fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fd_mount(fd, &id) || id != m->id)
		return -1;
	return TAKE_FD(fd);
}

static int add_line(struct batch *b, pid_t pid, char *line, struct error *error)
{
	struct mountinfo m = {};
	int fd;

	if (mountinfo_parse(line, &m))
		return error_set(error, EINVAL, "/proc/%d/mountinfo: a line that makes no sense",
				 (int)pid);
	if (!mountinfo_has_path(&m))
		return 0;
	fd = open_point(pid, &m);
	if (fd < 0)
		return 0;
	b->fds[b->n] = fd;
	b->at[b->n++] = m;
	return b->n == BATCH ? flush(b, error) : 0;
}

/* Takes the text apart in place. */
static int add_tables(struct batch *b, char *text, struct error *error)
{
	char *save = NULL;
	pid_t pid = 0;
	int r = 0, last;

	for (char *line = strtok_r(text, "\n", &save); !r && line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (strchr(line, ' '))
			r = add_line(b, pid, line, error);
		else
			pid = atoi(line);
	}
	last = flush(b, r ? NULL : error);
	return r ? r : last;
}

static int by_place(const void *a, const void *b)
{
	const struct mount_view *x = a, *y = b;
	int r;

	if (x->sbid != y->sbid)
		return x->sbid < y->sbid ? -1 : 1;
	r = strcmp(x->root, y->root);
	return r ? r : strcmp(x->point, y->point);
}

/* What several namespaces see alike counts once. */
static void unite(struct mounts *mounts)
{
	size_t kept = 0;

	if (!mounts->n)
		return;
	qsort(mounts->views, mounts->n, sizeof(*mounts->views), by_place);
	for (size_t i = 1; i < mounts->n; i++) {
		if (by_place(&mounts->views[kept], &mounts->views[i]) == 0)
			view_done(&mounts->views[i]);
		else
			mounts->views[++kept] = mounts->views[i];
	}
	mounts->n = kept + 1;
}

void mounts_done(struct mounts *mounts)
{
	for (size_t i = 0; i < mounts->n; i++)
		view_done(&mounts->views[i]);
	free(mounts->views);
	free(mounts->tables);
	*mounts = (struct mounts){};
}

int mounts_read(struct kern *kern, const pid_t *pids, size_t npids, struct mounts *ret,
		struct error *error)
{
	_cleanup_free_ struct batch *b = calloc(1, sizeof(*b));
	_cleanup_(mounts_done) struct mounts mounts = {};
	_cleanup_free_ char *text = NULL;
	int r;

	if (!b)
		return error_set(error, ENOMEM, "out of memory");
	r = mounts_tables(pids, npids, &mounts.tables);
	if (r)
		return error_set(error, -r, "mount tables of the subtree: %s%s", strerror(-r),
				 r == -E2BIG   ? " (too many mounts or mount namespaces)"
				 : r == -EXDEV ? " (all its processes are in user namespaces of "
						 "their own, whose mounts name nothing)"
					       : "");
	text = strdup(mounts.tables);
	if (!text)
		return error_set(error, ENOMEM, "out of memory");
	b->kern = kern;
	b->mounts = &mounts;
	r = add_tables(b, text, error);
	if (r)
		return r;
	unite(&mounts);
	*ret = mounts;
	mounts = (struct mounts){};
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The view: which superblocks members of a compartment see, and where. Of their mount tables each mount
 * is opened, to learn its superblock.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

/* Descriptors open at a time. Each keeps its mount busy, so who unmounts it waits for no more than these; and
 * the kernel is asked once for all of them. */
#define BATCH 16

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

int mounts_changed(const struct mounts *mounts, const pid_t *pids, size_t npids)
{
	_cleanup_free_ char *text = NULL;
	int r = mounts_tables(pids, npids, &text);

	if (r)
		return r;
	return !mounts->tables || strcmp(mounts->tables, text) != 0;
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

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <bulkhead/limits.h>
#include "base/cleanup.h"
#include "glob.h"

/* Links at their longest in front of a path at its longest. */
#define ROOM (2 * PATH_MAX + 2)

struct walk {
	const struct resolver *resolver;
	struct error *error;
	char done[ROOM]; /* resolved: "" or "/a/b" */
	char todo[ROOM]; /* what is left: "" or "/c/d" */
	unsigned int links;
};

static int too_long(struct walk *walk)
{
	return error_set(walk->error, EINVAL, "longer than a path can be once links are followed");
}

/* Moves the first component of `todo`, `length` bytes with its slash, to the end of `done`. */
static int keep(struct walk *walk, size_t length)
{
	size_t at = strlen(walk->done);

	if (at + length >= sizeof(walk->done))
		return too_long(walk);
	memcpy(walk->done + at, walk->todo, length);
	walk->done[at + length] = '\0';
	memmove(walk->todo, walk->todo + length, strlen(walk->todo + length) + 1);
	return 0;
}

static int keep_rest(struct walk *walk)
{
	return keep(walk, strlen(walk->todo));
}

/* Puts a link's target in place of the component that was just moved to `done`. */
static int substitute(struct walk *walk, const char *target)
{
	_cleanup_free_ char *rest = strdup(walk->todo);
	const char *slash = target[0] == '/' ? "" : "/";

	if (!rest)
		return error_set(walk->error, ENOMEM, "no memory to follow a link");
	if (++walk->links > BH_MAX_SYMLINKS)
		return error_set(walk->error, EINVAL,
				 "more than %d symbolic links: write the place they lead to",
				 BH_MAX_SYMLINKS);
	if (target[0] == '/')
		walk->done[0] = '\0';
	else
		*strrchr(walk->done, '/') = '\0';
	if (snprintf(walk->todo, sizeof(walk->todo), "%s%s%s", slash, target, rest) >=
	    (int)sizeof(walk->todo))
		return too_long(walk);
	return 0;
}

static int follow(struct walk *walk)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(walk->resolver->root, walk->done + 1, target, sizeof(target) - 1);

	if (n < 0)
		return error_set(walk->error, errno, "%s: %s", walk->done, strerror(errno));
	target[n] = '\0';
	if (walk->resolver->on_link)
		walk->resolver->on_link(walk->done, target, walk->resolver->data);
	return substitute(walk, target);
}

static bool is_absent(int error)
{
	/* Without privilege a check cannot look everywhere; the agent, which enforces, can. */
	return error == ENOENT || error == ENOTDIR || (error == EACCES && geteuid());
}

/* Who may write to a directory puts another file in the place of the one that was looked at. */
static int check_directory(struct walk *walk, const struct stat *st)
{
	if (st->st_uid != walk->resolver->owner)
		return error_set(walk->error, EINVAL,
				 "%s is a directory of uid %u, who could put another file there: "
				 "move the file to one of root's",
				 walk->done, st->st_uid);
	if (st->st_mode & (S_IWGRP | S_IWOTH) && !(st->st_mode & S_ISVTX))
		return error_set(walk->error, EINVAL,
				 "%s: others than root could put another file there: chmod go-w %s",
				 walk->done, walk->done);
	return 0;
}

/* Looks at the component that was just moved to `done`. */
static int look(struct walk *walk)
{
	struct stat st;

	if (fstatat(walk->resolver->root, walk->done + 1, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (is_absent(errno))
			return keep_rest(walk);
		return error_set(walk->error, errno, "%s: %s", walk->done, strerror(errno));
	}
	if (S_ISDIR(st.st_mode) && walk->resolver->guarded)
		return check_directory(walk, &st);
	if (!S_ISLNK(st.st_mode) ||
	    (walk->resolver->keep_last && !walk->todo[strspn(walk->todo, "/")]))
		return 0;
	if (st.st_uid != walk->resolver->owner)
		return error_set(walk->error, EINVAL,
				 "%s is a symbolic link of uid %u, who could change it: write the "
				 "place it leads to",
				 walk->done, st.st_uid);
	return follow(walk);
}

/* Drops "/", "/." and "/..", which only links bring in. */
static bool drop_dots(struct walk *walk, size_t length)
{
	char *last = strrchr(walk->done, '/');
	bool up = length == 3 && !memcmp(walk->todo, "/..", 3);

	if (!up && length != 1 && !(length == 2 && walk->todo[1] == '.'))
		return false;
	if (up && last)
		*last = '\0';
	memmove(walk->todo, walk->todo + length, strlen(walk->todo + length) + 1);
	return true;
}

static int step(struct walk *walk)
{
	size_t length = 1 + strcspn(walk->todo + 1, "/");
	int r;

	if (!walk->resolver->guarded && !strcmp(walk->done, "/proc"))
		return keep_rest(walk);
	if (drop_dots(walk, length))
		return 0;
	r = keep(walk, length);
	return r < 0 ? r : look(walk);
}

/* Follows the links of a path; *ret_links: how many. */
static int resolve(const struct resolver *resolver, const char *path, char **ret_path,
		   unsigned int *ret_links, struct error *error)
{
	_cleanup_free_ struct walk *walk = calloc(1, sizeof(*walk));
	char *result;
	int r = 0;

	if (!walk)
		return error_set(error, ENOMEM, "no memory to follow links");
	walk->resolver = resolver;
	walk->error = error;
	if (strlen(path) >= sizeof(walk->todo))
		return too_long(walk);
	strcpy(path[0] == '/' ? walk->todo : walk->done, path);
	while (r == 0 && walk->todo[0])
		r = step(walk);
	if (r < 0)
		return r;
	result = strdup(walk->done[0] ? walk->done : "/");
	if (!result)
		return error_set(error, ENOMEM, "no memory to follow links");
	*ret_path = result;
	*ret_links = walk->links;
	return 0;
}

int resolve_path(const struct resolver *resolver, const char *path, char **ret_path,
		 struct error *error)
{
	unsigned int links;

	return resolve(resolver, path, ret_path, &links, error);
}

/* Bytes of the components in front of the first wildcard. */
static size_t literal_length(const char *glob)
{
	size_t length = glob_head(glob);

	if (glob[0] != '/')
		return 0;
	while (glob[length] && glob[length] != '/')
		length--;
	return length;
}

int resolve_glob(const struct resolver *resolver, const char *glob, char **ret_glob,
		 struct error *error)
{
	size_t length = literal_length(glob);
	_cleanup_free_ char *head = malloc(length + 1), *resolved = NULL, *result = NULL;
	unsigned int links = 0;
	int r = 0;

	if (!head)
		return error_set(error, ENOMEM, "no memory to follow links");
	glob_unescape(glob, length, head);
	if (length)
		r = resolve(resolver, head, &resolved, &links, error);
	if (r < 0)
		return r;
	/* What no link changes stays as it is written. */
	result = links ? malloc(2 * strlen(resolved) + strlen(glob) + 1) : strdup(glob);
	if (!result)
		return error_set(error, ENOMEM, "no memory to follow links");
	if (links) {
		glob_escape(strcmp(resolved, "/") || !glob[length] ? resolved : "", result);
		strcat(result, glob + length);
	}
	*ret_glob = TAKE_PTR(result);
	return 0;
}

int resolve_guarded(const char *path, char **ret_path, struct error *error)
{
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct resolver resolver = {.root = root, .owner = 0, .guarded = true};
	_cleanup_free_ char *here = NULL, *whole = NULL;
	int r;

	if (root < 0)
		return error_set(error, errno, "/: %s", strerror(errno));
	if (path[0] != '/' && !(here = getcwd(NULL, 0)))
		return error_set(error, errno, "%s: %s", path, strerror(errno));
	if (asprintf(&whole, "%s%s%s", here ? here : "", here ? "/" : "", path) < 0) {
		whole = NULL;
		return error_set(error, ENOMEM, "no memory to follow links");
	}
	r = resolve_path(&resolver, whole, ret_path, error);
	if (r < 0)
		error_prefix(error, "%s", path);
	return r;
}

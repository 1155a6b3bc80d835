// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which subtrees can be enrolled. Every refusal has a text of its own that says what to do. */
#include "enrol.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define MOVE_IT \
	"attach its unit (--unit) or its process (--pid), which gives it a subtree of its own"

static int resolve(const char *path, char **ret, struct error *error)
{
	_cleanup_free_ char *real = realpath(path, NULL);
	struct statfs fs;
	struct stat st;

	if (!real || stat(real, &st) || statfs(real, &fs))
		return error_set(error, errno, "%s: %m: give the path of a running cgroup", path);
	if (!S_ISDIR(st.st_mode) || fs.f_type != CGROUP2_SUPER_MAGIC)
		return error_set(error, ENOTDIR, "%s: not a cgroup v2 directory", path);
	if (!path_covers(cgroup_root(), real))
		return error_set(error, EINVAL, "%s: not below %s, where this host's cgroups are",
				 path, cgroup_root());
	if (!strcmp(real, cgroup_root()))
		return error_set(error, EPERM, "%s is the root of all cgroups: " MOVE_IT, path);
	*ret = TAKE_PTR(real);
	return 0;
}

/* Processes that must not come under a policy by accident. */
static int check_holder(const char *path, pid_t pid, const char *who, struct error *error)
{
	_cleanup_free_ char *cgroup = NULL;
	int r = cgroup_of_pid(pid, &cgroup);

	/* In a cgroup that this mount does not show, so not below this path. */
	if (r == -ENOENT || r == -EXDEV || r == -ESRCH)
		return 0;
	if (r)
		return error_set(error, -r, "%s (pid %d): cannot tell its cgroup: %s", who,
				 (int)pid, strerror(-r));
	if (path_covers(path, cgroup))
		return error_set(error, EPERM, "%s holds %s (pid %d): " MOVE_IT, path, who,
				 (int)pid);
	return 0;
}

static int check_holders(const struct attach_request *request, const char *path,
			 struct error *error)
{
	const struct {
		pid_t pid;
		const char *who;
	} holders[] = {
		{1, "the init process"},
		{getpid(), "this agent"},
		/* The helper of a unit's start stands inside, leaves before the unit's own program
		 * comes, and is not enrolled. */
		{request->starting ? 0 : request->caller, "the caller"},
	};

	for (size_t i = 0; i < sizeof(holders) / sizeof(*holders); i++) {
		int r = holders[i].pid ? check_holder(path, holders[i].pid, holders[i].who, error)
				       : 0;

		if (r)
			return r;
	}
	return 0;
}

static int check_type(const char *cgroup, struct error *error)
{
	_cleanup_free_ char *type = NULL;
	char path[PATH_MAX];
	int r;

	if (snprintf(path, sizeof(path), "%s/cgroup.type", cgroup) >= (int)sizeof(path))
		return error_set(error, ENAMETOOLONG, "%s: nested too deeply", cgroup);
	r = text_read(path, 64, &type, NULL);
	if (r == -ENOENT || r == -ENODEV)
		return 0; /* gone meanwhile */
	if (r)
		return error_set(error, -r, "%s: %s", path, strerror(-r));
	type[strcspn(type, "\n")] = '\0';
	if (strcmp(type, "domain") != 0)
		return error_set(error, EOPNOTSUPP,
				 "%s is \"%s\": threads of one process in several cgroups cannot "
				 "be confined together; take its threads back (cgroup.type domain)",
				 cgroup, type);
	return 0;
}

static int check_directory(const char *cgroup, struct error *error)
{
	if (path_is_session(cgroup))
		return error_set(error, EPERM, "%s is a login session: " MOVE_IT, cgroup);
	return check_type(cgroup, error);
}

int subtree_check(const struct attach_request *request, char **ret_path, struct error *error)
{
	_cleanup_strings_ char **list = NULL;
	_cleanup_free_ char *path = NULL;
	size_t n = 0;
	int r;

	if (!*cgroup_root())
		return error_set(error, ENOENT,
				 "no cgroup v2 hierarchy is mounted: mount one at /sys/fs/cgroup");
	r = resolve(request->cgroup, &path, error);
	if (!r)
		r = check_holders(request, path, error);
	if (r)
		return r;
	r = cgroup_subtree(path, &list, &n);
	if (r)
		return error_set(error, -r, "%s: cannot list it: %s", path, strerror(-r));
	for (size_t i = 0; !r && i < n; i++)
		r = check_directory(list[i], error);
	if (r)
		return r;
	if (!request->starting && cgroup_is_frozen(path) == 1)
		return error_set(error, EBUSY,
				 "%s was frozen by somebody else: thaw it first (systemctl thaw, "
				 "or 0 into its cgroup.freeze)",
				 path);
	*ret_path = TAKE_PTR(path);
	return 0;
}

/* --- overlap with live compartments --- */

static __u32 compartment_at(struct kern *kern, const char *cgroup)
{
	__u32 compartment = 0;
	__u64 id;

	if (kern_cgroup_id(cgroup, &id) || kern_cgroup_get(kern, id, &compartment))
		return 0;
	return compartment;
}

static int refuse_overlap(const char *path, const char *other, __u32 compartment,
			  struct error *error)
{
	return error_set(error, EEXIST,
			 "%s %s compartment %u (%s): a process has one policy; detach that one "
			 "first (bulkhead detach %u)",
			 path, path_covers(path, other) ? "holds" : "is inside", compartment, other,
			 compartment);
}

static int check_ancestors(struct kern *kern, const char *path, struct error *error)
{
	_cleanup_free_ char *above = strdup(path);
	__u32 compartment;
	char *slash;

	if (!above)
		return error_set(error, ENOMEM, "out of memory");
	while ((slash = strrchr(above, '/')) && strlen(above) > strlen(cgroup_root())) {
		*slash = '\0';
		compartment = compartment_at(kern, above);
		if (compartment)
			return refuse_overlap(path, above, compartment, error);
	}
	return 0;
}

int subtree_check_overlap(struct kern *kern, const char *path, __u32 *ret_same, struct error *error)
{
	_cleanup_strings_ char **list = NULL;
	__u32 compartment;
	size_t n = 0;
	int r = check_ancestors(kern, path, error);

	if (r)
		return r;
	r = cgroup_subtree(path, &list, &n);
	if (r)
		return error_set(error, -r, "%s: cannot list it: %s", path, strerror(-r));
	for (size_t i = 1; i < n; i++) {
		compartment = compartment_at(kern, list[i]);
		if (compartment)
			return refuse_overlap(path, list[i], compartment, error);
	}
	*ret_same = compartment_at(kern, path);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Namespaces, mounts, and cgroups. */
#include "verbs_internal.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>

VERB(unshare)
{
	return result(unshare(number(argv[1])));
}

VERB(clone_user)
{
	struct clone_args args = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return result(pid);
}

VERB(setns)
{
	int pidfd = syscall(SYS_pidfd_open, number(argv[1]), 0);

	return pidfd < 0 ? broken() : result(setns(pidfd, CLONE_NEWUTS));
}

VERB(setns_file)
{
	int fd = open(argv[1], O_RDONLY | O_CLOEXEC);

	return fd < 0 ? failed() : result(setns(fd, 0));
}

VERB(mount_tmpfs)
{
	return result(mount("none", argv[1], "tmpfs", 0, NULL));
}

VERB(bind)
{
	return result(mount(argv[1], argv[2], NULL, MS_BIND, NULL));
}

VERB(remount)
{
	return result(mount(NULL, argv[1], NULL, MS_REMOUNT | MS_BIND, NULL));
}

VERB(propagation)
{
	return result(mount(NULL, argv[1], NULL, MS_PRIVATE, NULL));
}

VERB(umount)
{
	return result(umount2(argv[1], MNT_DETACH));
}

VERB(fsopen)
{
	return result_fd(syscall(SYS_fsopen, "tmpfs", 1));
}

VERB(fsmount)
{
	int fs = syscall(SYS_fsopen, "tmpfs", 1), mnt;

	if (fs < 0)
		return failed();
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return failed();
	mnt = syscall(SYS_fsmount, fs, 1, 0);
	if (mnt < 0)
		return failed();
	return result(syscall(SYS_move_mount, mnt, "", AT_FDCWD, argv[1], MOVE_MOUNT_F_EMPTY_PATH));
}

VERB(open_tree)
{
	return result_fd(syscall(SYS_open_tree, AT_FDCWD, argv[1], OPEN_TREE_CLONE));
}

/* A cloned tree gives its files other paths; they stand where they stood. */
VERB(open_tree_read)
{
	int tree = syscall(SYS_open_tree, AT_FDCWD, argv[1], OPEN_TREE_CLONE);

	return tree < 0 ? failed() : read_fd(openat(tree, argv[2], O_RDONLY));
}

VERB(mount_setattr)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_NODIRATIME};

	return result(syscall(SYS_mount_setattr, AT_FDCWD, argv[1], 0, &attr, sizeof(attr)));
}

VERB(pivot_root)
{
	int r = result_past(syscall(SYS_pivot_root, argv[1], argv[1]), EINVAL);

	return r == EBUSY ? 0 : r;
}

VERB(chroot)
{
	return result(chroot(argv[1]));
}

/* --- sandboxes --- */

static int put_line(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), r;

	if (fd < 0)
		return failed();
	r = write(fd, text, strlen(text)) < 0 ? failed() : 0;
	close(fd);
	return r;
}

/* nested VERB...: as root of a user namespace with mounts of its own. */
VERB(nested)
{
	char uids[32], gids[32];
	int r;

	snprintf(uids, sizeof(uids), "0 %u 1", geteuid());
	snprintf(gids, sizeof(gids), "0 %u 1", getegid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return failed();
	r = put_line("/proc/self/setgroups", "deny");
	if (r == 0)
		r = put_line("/proc/self/uid_map", uids);
	if (r == 0)
		r = put_line("/proc/self/gid_map", gids);
	if (r == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		r = failed();
	return r ? r : verb_run(argc - 1, argv + 1);
}

/* with-net VERB...: in a network of its own. */
VERB(with_net)
{
	return unshare(CLONE_NEWNET) < 0 ? failed() : verb_run(argc - 1, argv + 1);
}

/* with-pids VERB...: whose children are processes 1, 2, ... */
VERB(with_pids)
{
	return unshare(CLONE_NEWPID) < 0 ? failed() : verb_run(argc - 1, argv + 1);
}

/* with-bind FROM TO VERB...: with one place seen at another. */
VERB(with_bind)
{
	if (mount(argv[1], argv[2], NULL, MS_BIND, NULL) < 0)
		return failed();
	return verb_run(argc - 3, argv + 3);
}

/* with-mount TYPE DIRECTORY VERB... */
VERB(with_mount)
{
	/* As programs mount it: else nobody may open its ptmx. */
	const char *options = strcmp(argv[1], "devpts") ? NULL : "ptmxmode=0666";

	if (mount("none", argv[2], argv[1], 0, options) < 0)
		return failed();
	return verb_run(argc - 3, argv + 3);
}

__attribute__((noreturn)) VERB(stay)
{
	for (;;)
		pause();
}

/* many-mounts N DIRECTORY VERB...: N filesystems, each over the last. */
VERB(many_mounts)
{
	int i;

	for (i = 0; i < number(argv[1]); i++)
		if (mount("none", argv[2], "tmpfs", 0, NULL) < 0)
			return failed();
	return verb_run(argc - 3, argv + 3);
}

/* --- cgroups --- */

VERB(cgroup_join)
{
	int fd = open(argv[1], O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return failed();
	return result(dprintf(fd, "%d", getpid()));
}

VERB(clone_into)
{
	int fd = open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (unsigned int)fd};
	long pid;

	if (fd < 0)
		return broken();
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return result(pid);
}

const struct verb namespace_verbs[] = {
	{"unshare", 1, verb_unshare, "FLAGS"},
	{"clone-user", 0, verb_clone_user, ""},
	{"setns", 1, verb_setns, "PID"},
	{"setns-file", 1, verb_setns_file, "FILE"},
	{"mount-tmpfs", 1, verb_mount_tmpfs, "DIRECTORY"},
	{"bind", 2, verb_bind, "FROM TO"},
	{"remount", 1, verb_remount, "MOUNT"},
	{"propagation", 1, verb_propagation, "MOUNT"},
	{"umount", 1, verb_umount, "MOUNT"},
	{"fsopen", 0, verb_fsopen, ""},
	{"fsmount", 1, verb_fsmount, "DIRECTORY"},
	{"open-tree", 1, verb_open_tree, "DIRECTORY"},
	{"open-tree-read", 2, verb_open_tree_read, "DIRECTORY NAME"},
	{"mount-setattr", 1, verb_mount_setattr, "MOUNT"},
	{"pivot-root", 1, verb_pivot_root, "DIRECTORY"},
	{"chroot", 1, verb_chroot, "DIRECTORY"},
	{"nested", 1, verb_nested, "VERB..."},
	{"stay", 0, verb_stay, ""},
	{"with-net", 1, verb_with_net, "VERB..."},
	{"with-pids", 1, verb_with_pids, "VERB..."},
	{"with-bind", 3, verb_with_bind, "FROM TO VERB..."},
	{"with-mount", 3, verb_with_mount, "TYPE DIRECTORY VERB..."},
	{"many-mounts", 3, verb_many_mounts, "N DIRECTORY VERB..."},
	{"cgroup-join", 1, verb_cgroup_join, "CGROUP.PROCS"},
	{"clone-into", 1, verb_clone_into, "CGROUP"},
	{},
};

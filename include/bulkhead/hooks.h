/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The one table of hooks. Kernel programs, counters, errno, canary, doctor and tests all expand
 * it, so a hook cannot exist in one of them and be missing in another.
 *
 * Columns: NAME, text, errno of a refusal (positive), plane.
 * errno is designed: EACCES for files, exec, unix and connect because execvp(3) goes on through
 * PATH on EACCES and stops on EPERM; ENOSYS where callers have a fall-back for an old kernel.
 * "text" is the kernel's own hook name (the part after bpf_lsm_ for LSM hooks), which is also what
 * the loader looks up in BTF to know whether this kernel has the hook. Three are no names of the kernel's:
 * clone_into_cgroup stands in task_alloc, mmap_held in mmap_file, file_append in file_permission.
 */
#ifndef BULKHEAD_HOOKS_H
#define BULKHEAD_HOOKS_H

#define BH_EPERM 1
#define BH_EAGAIN 11
#define BH_EACCES 13
#define BH_ENOSYS 38
#define BH_EAFNOSUPPORT 97

#define BH_HOOKS(X)                                                  \
	X(NONE, "none", 0, NONE)                                     \
	X(FILE_OPEN, "file_open", BH_EACCES, FILE)                   \
	X(BPRM_CHECK, "bprm_check_security", BH_EACCES, EXEC)        \
	X(MMAP_FILE, "mmap_file", BH_EACCES, EXEC)                   \
	X(FILE_MPROTECT, "file_mprotect", BH_EACCES, EXEC)           \
	X(PATH_UNLINK, "path_unlink", BH_EACCES, FILE)               \
	X(PATH_RMDIR, "path_rmdir", BH_EACCES, FILE)                 \
	X(PATH_MKDIR, "path_mkdir", BH_EACCES, FILE)                 \
	X(PATH_MKNOD, "path_mknod", BH_EACCES, FILE)                 \
	X(PATH_SYMLINK, "path_symlink", BH_EACCES, FILE)             \
	X(PATH_LINK, "path_link", BH_EACCES, FILE)                   \
	X(PATH_RENAME, "path_rename", BH_EACCES, FILE)               \
	X(PATH_NOTIFY, "path_notify", BH_EACCES, FILE)               \
	X(INODE_SETATTR, "inode_setattr", BH_EACCES, FILE)           \
	X(INODE_GETXATTR, "inode_getxattr", BH_EACCES, FILE)         \
	X(INODE_SETXATTR, "inode_setxattr", BH_EACCES, FILE)         \
	X(INODE_REMOVEXATTR, "inode_removexattr", BH_EACCES, FILE)   \
	X(INODE_SET_ACL, "inode_set_acl", BH_EACCES, FILE)           \
	X(INODE_REMOVE_ACL, "inode_remove_acl", BH_EACCES, FILE)     \
	X(INODE_FILE_SETATTR, "inode_file_setattr", BH_EACCES, FILE) \
	X(SOCKET_CREATE, "socket_create", BH_EAFNOSUPPORT, NET)      \
	X(SOCKET_CONNECT, "socket_connect", BH_EACCES, NET)          \
	X(SOCKET_SENDMSG, "socket_sendmsg", BH_EACCES, NET)          \
	X(UNIX_CONNECT, "unix_stream_connect", BH_EACCES, UNIX)      \
	X(UNIX_SEND, "unix_may_send", BH_EACCES, UNIX)               \
	X(CONNECT4, "connect4", BH_EACCES, NET)                      \
	X(CONNECT6, "connect6", BH_EACCES, NET)                      \
	X(SENDMSG4, "sendmsg4", BH_EACCES, NET)                      \
	X(SENDMSG6, "sendmsg6", BH_EACCES, NET)                      \
	X(TASK_ALLOC, "task_alloc", BH_EAGAIN, TASK)                 \
	X(CLONE_INTO_CGROUP, "clone_into_cgroup", BH_EPERM, TASK)    \
	X(CGROUP_MOVE, "cgroup_attach_task", BH_EPERM, TASK)         \
	X(PTRACE, "ptrace_access_check", BH_EPERM, TASK)             \
	X(TASK_KILL, "task_kill", BH_EPERM, TASK)                    \
	X(BPF, "bpf", BH_ENOSYS, KERNEL)                             \
	X(USERNS, "userns_create", BH_EPERM, KERNEL)                 \
	X(SB_MOUNT, "sb_mount", BH_EPERM, KERNEL)                    \
	X(MOVE_MOUNT, "move_mount", BH_EPERM, KERNEL)                \
	X(CAPABLE, "capable", BH_EPERM, KERNEL)                      \
	X(PERF_EVENT, "perf_event_open", BH_ENOSYS, KERNEL)          \
	X(ANON_INODE, "inode_init_security_anon", BH_ENOSYS, KERNEL) \
	X(FILE_FCNTL, "file_fcntl", BH_EPERM, FILE)                  \
	X(FILE_IOCTL, "file_ioctl", BH_EPERM, FILE)                  \
	X(FILE_RECEIVE, "file_receive", BH_EACCES, FILE)             \
	X(FILE_PERMISSION, "file_permission", BH_EACCES, FILE)       \
	X(FILE_LOCK, "file_lock", BH_EACCES, FILE)                   \
	X(MMAP_HELD, "mmap_held", BH_EACCES, FILE)                   \
	X(SOCKET_RECVMSG, "socket_recvmsg", BH_EACCES, NET)          \
	X(SOCKET_ACCEPT, "socket_accept", BH_EACCES, NET)            \
	X(FILE_APPEND, "file_append", BH_EPERM, FILE)                \
	X(SOCKET_BIND, "socket_bind", BH_EACCES, NET)                \
	X(SOCKET_LISTEN, "socket_listen", BH_EACCES, NET)            \
	X(SOCKET_SETSOCKOPT, "socket_setsockopt", BH_EPERM, NET)

#define BH_HOOK_ENUM_(name, text, err, plane) BH_HOOK_##name,
enum bh_hook { BH_HOOKS(BH_HOOK_ENUM_) BH_HOOK_COUNT };
#undef BH_HOOK_ENUM_

enum bh_plane {
	BH_PLANE_NONE,
	BH_PLANE_FILE,
	BH_PLANE_EXEC,
	BH_PLANE_NET,
	BH_PLANE_UNIX,
	BH_PLANE_TASK,
	BH_PLANE_KERNEL,
};

/*
 * Why a refusal happened. UNSURE reasons are "could not be decided": refused and counted apart.
 * Columns: NAME, text fit to hand to the program that was refused.
 */
#define BH_REASONS(X)                                                                    \
	X(NONE, "no reason")                                                             \
	X(NO_RULE, "no rule of the policy allows it")                                    \
	X(CLOSED, "closed to every compartment")                                         \
	X(NETWORK, "the policy opens no way there")                                      \
	X(JIT, "writable and executable memory needs jit: true on the program")          \
	X(RIGHTS, "the new name would have rights that the old one has not")             \
	X(OUTSIDER, "the target is outside the compartment")                             \
	X(PROC_OTHER, "/proc of another process; under proc: none, of any")              \
	X(MOVED, "a task was moved across the compartment's edge")                       \
	X(AUDITED, "an audit rule lets it through and reports it")                       \
	X(TRIPWIRE, "it is a tripwire: the compartment is killed")                       \
	X(TRIPPED, "a tripwire was touched: the compartment is killed")                  \
	X(OLD_LINK, "an older hard link, which may be a file that the policy denies by " \
		    "pattern: allow it by its whole name, or by a rule with hardlinks: " \
		    "allow")                                                             \
	X(PINNED, "by another name it is a file that the policy denies")                 \
	X(REVOKED, "it was open before the policy, which does not allow it")             \
	X(UNSURE, "could not be decided (first of the undecided reasons)")               \
	X(UNSURE_LABEL, "undecided: no label could be read or made for the task")        \
	X(UNSURE_ENTRY, "undecided: the compartment's entry is missing")                 \
	X(UNSURE_DEPTH, "undecided: the cgroup is nested too deeply")                    \
	X(UNSURE_SLOT, "undecided: no scratch slot was free")                            \
	X(UNSURE_RACE, "undecided: the path kept changing")                              \
	X(UNSURE_PATH, "undecided: the path is too deep or too long")                    \
	X(UNSURE_DETACHED, "undecided: the file stands nowhere on its filesystem")       \
	X(UNSURE_SB, "undecided: a filesystem the policy's view does not know")          \
	X(UNSURE_TABLE, "undecided: the policy's table is missing")                      \
	X(UNSURE_OUTLET, "undecided: the relay is not there")

#define BH_REASON_ENUM_(name, text) BH_REASON_##name,
enum bh_reason { BH_REASONS(BH_REASON_ENUM_) BH_REASON_COUNT };
#undef BH_REASON_ENUM_

#endif

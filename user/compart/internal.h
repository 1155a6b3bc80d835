/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of this layer share. */
#ifndef COMPART_INTERNAL_H
#define COMPART_INTERNAL_H

#include <stdint.h>
#include "base/cleanup.h"
#include "compart.h"

/* --- text.c: small files and lists of strings. 0 or -errno --- */

/* Whole file, NUL-terminated (procfs knows no sizes). -EFBIG past max. */
int text_read(const char *path, size_t max, char **ret, size_t *ret_n);
int text_read_fd(int fd, size_t max, char **ret, size_t *ret_n);
/* What one read(2) gives of it, NUL-terminated, cut at size. */
int text_head(const char *path, char *buffer, size_t size);
/* One write(2), as kernel attributes want it. */
int text_write(const char *path, const char *text);
/* Written beside and renamed, so that a reader sees all of it or the one before. Makes the
 * directories above. */
int text_replace(const char *path, const char *text, mode_t mode);
/* A copy of text ("" for NULL) in place of what *member points to, which is freed. -ENOMEM. */
int text_set(char **member, const char *text);
char **strings_copy(const char *const *list); /* NULL-terminated; NULL list gives an empty one */
void strings_free(char **list);
int strings_push(char ***list, size_t *n, const char *text); /* keeps the list NULL-terminated */
struct process_stat {
	pid_t parent;
	unsigned long long start; /* in clock ticks since boot: with the id it names a process */
};

/* -ESRCH when it is gone, or ended and not waited for: such a one runs nothing and holds nothing. */
int process_stat(pid_t pid, struct process_stat *ret);
/* Start time alone. */
int process_start(pid_t pid, __u64 *ret);
bool process_is(pid_t pid, __u64 start);
void process_comm(pid_t pid, char *buffer, size_t size);
uint64_t clock_ms(void); /* CLOCK_MONOTONIC */

/* --- record.c --- */
/* -E2BIG for a text that is larger than what is read again: BH_MAX_RECORD_BYTES. */
int record_fits(const char *text, const char *path, struct error *error);

/* --- names.c: pure --- */
/* Is `path` equal to `top` or below it? By whole components. */
bool path_covers(const char *top, const char *path);
bool paths_overlap(const char *a, const char *b);
/* A login session: session-N.scope and what is below it, or a user manager user@UID.service itself
 * (services below it are services). */
bool path_is_session(const char *cgroup);
#define UNIT_NAME_SIZE 256
/* Checks characters, length and suffix, appends ".service" to a name without suffix. -EINVAL. */
int unit_name_normalise(const char *name, char ret[UNIT_NAME_SIZE]);
bool unit_is_template(const char *name);
/* "x@.service" of "x@y.service"; -ENOENT for a name that is no instance. */
int unit_template_of(const char *name, char ret[UNIT_NAME_SIZE]);

/* --- mountinfo.c: pure --- */
struct mountinfo {
	unsigned int id;
	__u32 device;		   /* of its superblock, which no other living one has; never 0 */
	char *root, *point, *type; /* into the line, unescaped */
};
/* Takes a line of /proc/PID/mountinfo apart, in place. -EINVAL. */
int mountinfo_parse(char *line, struct mountinfo *ret);
/* Can this mount be in a view? Not autofs (to look would mount it), not a root that is no path. */
bool mountinfo_has_path(const struct mountinfo *m);
/* The number after "mnt_id:" in the text of a file fdinfo/N. -EINVAL. */
int fdinfo_mount(const char *fdinfo, unsigned int *ret);
/* Undoes the kernel's \ooo escapes in place: in mount tables, where a backslash is escaped too. */
void octal_unescape(char *text);

/* --- maps.c: pure --- */
enum mapping_bit {
	MAPPING_READ = 1 << 0,
	MAPPING_WRITE = 1 << 1,
	MAPPING_EXEC = 1 << 2,
	MAPPING_SHARED = 1 << 3,
};
enum mapping_kind {
	MAPPING_KERNEL,	  /* the kernel's own code and data: [vdso] */
	MAPPING_NAMELESS, /* anonymous memory, named by prctl or [heap] and [stack] too */
	MAPPING_MEMORY,	  /* memfd, shared anonymous memory, SysV: no file on any filesystem */
	MAPPING_DELETED,
	MAPPING_FILE,
	MAPPING_OBJECT, /* an io_uring, a perf buffer, a socket: what has no name and is no memory
			 */
};
struct mapping {
	__u64 start, end, inode;
	unsigned int dev_major, dev_minor;
	unsigned int bits;
	enum mapping_kind kind;
	char *path; /* into the line; "" for anonymous memory */
};
/* Takes a line of /proc/PID/maps apart, in place. -EINVAL. */
int mapping_parse(char *line, struct mapping *ret);

/* --- tables.c --- */
/* Is it in a user namespace that is not ours? 1, 0 or -errno (-ESRCH: it has gone). */
int process_has_own_users(pid_t pid);
/* Are its mounts those of such a user namespace? The same. */
int process_is_foreign(pid_t pid);
/* The text of every distinct mount table of these processes (of ours, when none has one), each after
 * a line "PID". -ESRCH, -E2BIG, -EXDEV: all are foreign. */
int mounts_tables(const pid_t *pids, size_t npids, char **ret);
/* --- view.c --- */
/* The mount a descriptor of ours stands on. */
int fd_mount(int fd, unsigned int *ret);

/* --- revoke.c: what an inventory gave up, taken away --- */
/* The subtree is frozen, and its compartment not enforced yet. */
int revoke_held(struct kern *kern, __u64 serial, struct revocations *revoked, struct report *report,
		struct error *error);
/* Shuts the sockets among them down for all who hold them. What cannot be is told: its uses are refused
 * all the same. */
void revoke_connections(const struct revocations *revoked, struct report *report);

/* --- compartment.c --- */
/* With nested-sandbox what a user namespace has is its maker's, so none may be older than the policy.
 * 0, or -EPERM and an error that names the process. */
int check_nested(const struct policy *policy, const pid_t *pids, size_t npids, struct error *error);

/* --- cgroup.c --- */
/* Mount point of cgroup v2, found once; "" when there is none. */
const char *cgroup_root(void);
const char *cgroup_own_root(void);
/* The path leads to nothing, or to another cgroup by now. */
bool cgroup_is_gone(const struct compartment *c);
/* Why kern_cgroup_set failed, and what to do: the code of error_set. */
int cgroup_not_armed(const char *path, int r, struct error *error);
/* A directory and all below it, parents before children. */
int cgroup_subtree(const char *path, char ***ret, size_t *ret_n);
int cgroup_is_frozen(const char *path); /* what was asked by cgroup.freeze: 1, 0 or -errno */
int cgroup_is_populated(const char *path);
/* Names the threads that keep a subtree from freezing. */
void cgroup_describe_unfrozen(const char *path, char *buffer, size_t size);

/* --- inventory.c, inventory_fd.c, inventory_map.c, inventory_name.c, inventory_trace.c --- */
#define INVENTORY_MEMO 512
struct inventory {
	const struct policy *policy;
	const pid_t *pids;
	size_t npids;
	unsigned int *mounts; /* ids, sorted, of what members and we see */
	size_t nmounts;
	struct report *report;
	struct revocations *revoked; /* NULL: what would be revoked is refused */
	bool failed;		     /* for want of memory */
	size_t refused;		     /* things refused */
	size_t unlisted;	     /* of these, what the report has no line for */
	char first[256];	     /* the first of them */
	uint64_t deadline_ms;
	char comm[32]; /* of the process looked at */
	struct memo {
		char *path;
		__u32 perms;
		bool allowed;
	} memo[INVENTORY_MEMO]; /* hundreds of processes map the same libraries */
};
/* policy_explain, remembered. */
bool inventory_allows(struct inventory *inv, const char *path, __u32 perms);
/* What the policy does not allow, by what it says of that kind: refused or reported. */
void inventory_refuse(struct inventory *inv, enum existing_kind kind, pid_t pid, const char *format,
		      ...) __attribute__((format(printf, 4, 5)));
/* One that the policy keeps. */
void inventory_keep_fd(struct inventory *inv, const struct revoked_fd *held);
/* The same of a descriptor that can be revoked, if it may. */
void inventory_refuse_fd(struct inventory *inv, enum existing_kind kind,
			 const struct revoked_fd *held, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void inventory_note(struct inventory *inv, pid_t pid, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Names of open files are told by the kernel, and made up by who owns a mount: inventory_name.c. */
int inventory_names_open(struct inventory *inv, struct error *error);
/* Is the name of a file on this mount, or behind this link of /proc, to be believed? Cannot tell: no.
 */
bool inventory_sees(const struct inventory *inv, unsigned int mount);
bool inventory_sees_link(const struct inventory *inv, const char *link);
/* Has the file behind this link no name on any filesystem? Cannot tell: no. */
bool link_is_nameless(const char *link);
bool inventory_is_member(const struct inventory *inv, pid_t pid);
int inventory_descriptors(struct inventory *inv, pid_t pid, struct error *error);
int inventory_mappings(struct inventory *inv, pid_t pid, struct error *error);
int inventory_tracees(struct inventory *inv, struct error *error);
/* The holder's own descriptor, duplicated, or -errno. */
int descriptor_borrow(pid_t pid, pid_t tid, int number);
/* May the program of this process have writable and executable memory? */
bool process_may_jit(const struct policy *policy, pid_t pid);

DEFINE_CLEANUP(char **, strings_free)
DEFINE_CLEANUP(struct compartment *, compartment_free)
#define _cleanup_strings_ _cleanup_(cleanup_strings_free)
#define _cleanup_compartment_ _cleanup_(cleanup_compartment_free)

#endif

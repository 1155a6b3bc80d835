/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compartments: a cgroup subtree, its policy, and the way in and out. Knows no daemon and no
 * command line; used by bulkheadd (attach, detach, reload) and by `bulkhead run` alike.
 *
 * State that must survive the agent stands in the kernel's pinned maps; what people want to know
 * besides (names, paths) in KERN_RUN_DIR/compartments/ID.json, written whole and renamed.
 */
#ifndef COMPART_COMPART_H
#define COMPART_COMPART_H

#include <jansson.h>
#include <sys/types.h>
#include "base/log.h"
#include "kern/kern.h"
#include "policy/policy.h"

/* What people know of a compartment. All strings owned; "" when unknown. */
struct compartment {
	__u32 id;
	__u32 generation;
	__u64 cgroup_id;
	char *name;	   /* the policy's name */
	char *policy;	   /* policy file, absolute */
	char *cgroup;	   /* absolute path of the subtree's root */
	char *unit;	   /* systemd unit, or "" */
	char **vars;	   /* "NAME=value" overrides, NULL-terminated */
	char *include_dir; /* "": the built-in one */
	char *digest;	   /* of the text in force, hexadecimal; "" when an older agent attached */
	char *view;	   /* mounts_digest of what it was compiled for; the same */
	/* Shell authority of the text in force: {"programs": [...], "more"}; NULL when an older agent attached. */
	json_t *authority;
	char **revoked; /* what it may not use any more of what it held, in words; NULL-terminated */
	bool starting;	/* attached at a unit's start: what joins is judged from its first exec */
	pid_t owner;	/* on whose behalf: an empty cgroup of ours goes when it is dead */
	__u64 owner_start;     /* its start time, since process ids are used again */
	struct policy *loaded; /* what is enforced, for explaining events; NULL until loaded */
};

struct compartment *compartment_new(void);
void compartment_free(struct compartment *c);
/* KERN_RUN_DIR/compartments/ID.json. compartment_load does not load the policy. */
int compartment_save(const struct compartment *c, struct error *error);
int compartment_load(__u32 id, struct compartment **ret, struct error *error);
int compartment_forget(__u32 id);

/* One line for each thing found at enrolment that needs a person's eye (a held descriptor, ...). */
struct report {
	char **lines;
	size_t n;
};
int report_add(struct report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void report_done(struct report *report);

struct attach_request {
	const char *policy; /* file */
	const char *const *vars;
	const char *include_dir;
	const char *cgroup; /* absolute path below the cgroup v2 root */
	const char *unit;   /* recorded only */
	pid_t caller;	    /* never enrolled: refused when it stands in the subtree; 0: nobody */
	/* A unit's ExecCondition, which is the caller and stands in the subtree: nobody there now is
	 * enrolled; what joins next stays unjudged until its first exec. When the subtree is
	 * attached already with this policy it is reloaded. */
	bool starting;
	/* Why nobody would serve the destinations that a policy lists; NULL: somebody does. One that lists some is
	 * refused with this text. */
	const char *no_egress;
};

/*
 * Enrolment, a transaction: checks the subtree, compiles, arms, freezes (BH_FREEZE_MS), labels
 * every thread, inventories what they hold, judges it by `existing:`, proves by canary, enforces,
 * thaws. On failure the subtree is as before: nothing half-enforced. Holds kern_lock itself.
 */
int compartment_attach(struct kern *kern, const struct attach_request *request,
		       struct compartment **ret, struct report *report, struct error *error);
/* Marks RELEASED, removes cgroup entry and links; frees the id when no label is left. What is tripped
 * is killed first: -ETIMEDOUT when it does not go. All of detach, reload, sweep and settle hold kern_lock
 * themselves. */
int compartment_detach(struct kern *kern, struct compartment *c, struct error *error);
/* A tripwire was touched: nothing in it does anything any more, and it is to be killed. */
bool compartment_is_tripped(struct kern *kern, __u32 id);
/* Kills everything in the subtree, and who bears the label elsewhere. -ETIMEDOUT when something is
 * left in the subtree after deadline_ms: 0 only kills. */
int compartment_kill(struct kern *kern, const struct compartment *c, unsigned int deadline_ms,
		     struct error *error);
/* Recompiles policy and view beside the old generation, one write switches. */
int compartment_reload(struct kern *kern, struct compartment *c, struct error *error);
/* Do its members see other mounts than what is in force was compiled for? 1; 0 (or it is released); -errno: -ESRCH:
 * nobody is inside that has run anything, -EAGAIN: it is not enforced yet, -EXDEV: all are in sandboxes. `idly`: not
 * where its cgroup is empty; a member that was moved out of it is left. */
int compartment_view_changed(struct kern *kern, const struct compartment *c, bool idly,
			     struct error *error);
/* Frees ids of compartments whose cgroup is gone and whose last label died, undoes attaches whose
 * agent died half way, removes empty cgroups of dead owners; returns the number of ids freed. */
int compartments_sweep(struct kern *kern, struct error *error);
/* After moves into subtrees: freezes and labels every live subtree, lowers `ask`. -EAGAIN when a
 * subtree could not be: `ask` stays up, so enforcement holds at a higher price; try again. */
int compartments_settle(struct kern *kern, struct error *error);

/* --- view.c: mount tables -> mounts with superblocks (ret freed by mounts_done) --- */
struct mounts {
	struct mount_view *views;
	size_t n;
	char *tables; /* the text they were made from */
};
/* pids: members, or none for this process's own namespace. The caller holds kern_lock. Without a
 * kern nothing is asked of the kernel programs and nothing numbered for them: a superblock's number
 * is its device then, good for an explanation. */
int mounts_read(struct kern *kern, const pid_t *pids, size_t npids, struct mounts *ret,
		struct error *error);
/* 1 when the tables of these members read differently now, 0, or -errno. Opens no mount point. */
int mounts_changed(const struct mounts *mounts, const pid_t *pids, size_t npids);
void mounts_done(struct mounts *mounts);
#define MOUNTS_DIGEST_SIZE 65
/* Hexadecimal SHA-256 of what is mounted where by these tables (device, root, point, in their order), whatever number
 * they have, with whatever options. Opens no mount point, which would keep it busy. A device number that is another
 * filesystem's by now is told by who meets it: undecided. -EINVAL, -ENOMEM. */
int mounts_digest(const char *tables, char buffer[MOUNTS_DIGEST_SIZE]);
/* Path as people write it of `path` on superblock sbid; -ENOENT. Buffer gets a NUL. */
int mounts_translate(const struct mounts *mounts, __u32 sbid, const char *path, size_t length,
		     char *buffer, size_t size);

/* --- inventory.c: what the frozen processes already hold, judged by the policy --- */
struct revoked_fd {
	pid_t pid, tid; /* whose table */
	int fd;
	bool is_socket;
	bool keep; /* the policy keeps it: it is not revoked by another number either */
};
struct revocations {
	struct revoked_fd *items; /* by process, as inventory_judge looked at them; kept ones too */
	size_t n;
	char **lines; /* what the first BH_MAX_RECORD_LINES are; NULL-terminated, or NULL */
	size_t nlines;
};
void revocations_done(struct revocations *revocations);
/* Whose. `tasks`: what the kernel says of their threads, which /proc does not. */
struct inventory_of {
	const pid_t *pids;
	size_t npids;
	const struct bh_task *tasks;
	size_t ntasks;
};
/* -EPERM and error when something is refused under existing: refuse, or cannot be revoked; lines in
 * report. */
int inventory_judge(const struct policy *policy, const struct inventory_of *of,
		    struct report *report, struct revocations *revoked, struct error *error);

/* --- canary.c: every hook refused, by syscall result and counter, from inside a scratch
 * compartment --- */
struct canary_result {
	bool tried, refused, counted;
	int error; /* errno seen, 0: went through */
	char note[96];
};
/* results[BH_HOOK_COUNT]; 0 when every attached hook refused with its errno and counted. */
int canary_run(struct kern *kern, struct canary_result *results, struct error *error);

/* --- cgroup.c --- */
int cgroup_own_create(const char *name, char **ret_path,
		      struct error *error); /* below our own root */
/* The same; one that is there does. */
int cgroup_own_get(const char *name, char **ret_path, struct error *error);
int cgroup_remove(const char *path);
/* A file of a cgroup's directory, of at most `max` bytes, as a text of its own: 0 or -errno. */
int cgroup_file_read(const char *cgroup, const char *name, size_t max, char **ret);
int cgroup_file_write(const char *cgroup, const char *name, const char *text);
int cgroup_freeze(const char *path, bool freeze, unsigned int deadline_ms, struct error *error);
int cgroup_kill(const char *path, unsigned int deadline_ms, struct error *error);
/* Thread group leaders, sorted, child cgroups too. -E2BIG past BH_MAX_SUBTREE_*. */
int cgroup_pids(const char *path, pid_t **ret, size_t *ret_n);
int cgroup_of_pid(pid_t pid, char **ret_path);
/* The same of a file /proc/PID/cgroup, by whatever name it is had. */
int cgroup_of_file(const char *name, char **ret_path);

/* --- unit.c: systemd over sd-bus; binding.c --- */
int unit_cgroups(const char *unit, char ***ret_cgroups, char ***ret_names, struct error *error);
/* All of it or nothing: a unit that was bound is bound to what it was when this fails. *ret_before
 * (malloc'ed, or NULL) is for unit_bind_undo, which brings that back later. */
int unit_bind(const char *unit, const char *policy, const char *const *vars, char **ret_before,
	      struct error *error);
void unit_bind_undo(const char *unit, const char *before);
int unit_unbind(const char *unit, struct error *error);
/* Whose binding takes this unit's starts: its own name or its template's (malloc'ed); -ENOENT. */
int unit_bound_as(const char *unit, char **ret);
/* What unit_bind recorded for this unit, or for its template; -ENOENT. */
int unit_binding(const char *unit, char **ret_policy, char ***ret_vars, struct error *error);
/* Moves pid and all its descendants into a scope of their own. Refused, before anything moves, when
 * `caller` (0: nobody) or this process is among them. */
int unit_scope(pid_t pid, pid_t caller, const char *name, char **ret_cgroup, struct error *error);

#endif

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

#include <sys/types.h>
#include "base/log.h"
#include "kern/kern.h"
#include "policy/policy.h"

/* What people know of a compartment. All strings owned; "" when unknown. */
struct compartment {
	__u32 id;
	__u32 generation;
	__u64 cgroup_id;
	char *name; /* the policy's name */
	char *policy; /* policy file, absolute */
	char *cgroup; /* absolute path of the subtree's root */
	char *unit; /* systemd unit, or "" */
	char **vars; /* "NAME=value" overrides, NULL-terminated */
	struct policy *loaded; /* what is enforced, for explaining events; NULL until loaded */
};

struct compartment *compartment_new(void);
void compartment_free(struct compartment *c);
/* KERN_RUN_DIR/compartments/ID.json. */
int compartment_save(const struct compartment *c, struct error *error);
int compartment_load(__u32 id, struct compartment **ret, struct error *error);
int compartment_forget(__u32 id);

/* One line for each thing found at enrolment that needs a person's eye (a held descriptor, ...). */
struct report {
	char **lines;
	size_t n;
};
int report_add(struct report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
void report_done(struct report *report);

struct attach_request {
	const char *policy; /* file */
	const char *const *vars;
	const char *include_dir;
	const char *cgroup; /* absolute path below the cgroup v2 root */
	const char *unit; /* recorded only */
	pid_t caller; /* never enrolled: refused when it stands in the subtree; 0: nobody */
	bool starting; /* a unit's ExecStartPre: what joins next stays unjudged until its first exec */
};

/*
 * Enrolment, a transaction: checks the subtree, compiles, arms, freezes (BH_FREEZE_MS), labels every
 * thread, inventories what they hold, judges it by `existing:`, proves by canary, enforces, thaws.
 * On failure the subtree is as before: nothing half-enforced. Holds kern_lock itself.
 */
int compartment_attach(struct kern *kern, const struct attach_request *request,
		       struct compartment **ret, struct report *report, struct error *error);
/* Marks RELEASED, removes cgroup entry and links; frees the id when no label is left. */
int compartment_detach(struct kern *kern, struct compartment *c, struct error *error);
/* Recompiles policy and view beside the old generation, one write switches. */
int compartment_reload(struct kern *kern, struct compartment *c, struct error *error);
/* Frees ids of compartments whose cgroup is gone and whose last label died; returns the number. */
int compartments_sweep(struct kern *kern, struct error *error);
/* After moves into subtrees: freezes and labels every live subtree, lowers `ask`. */
int compartments_settle(struct kern *kern, struct error *error);

/* --- view.c: mount tables -> mounts with superblocks (ret freed by mounts_done) --- */
struct mounts {
	struct mount_view *views;
	size_t n;
};
int mounts_read(struct kern *kern, const pid_t *pids, size_t npids, struct mounts *ret,
		struct error *error);
void mounts_done(struct mounts *mounts);
/* Path as people write it of `path` on superblock sbid; -ENOENT. Buffer gets a NUL. */
int mounts_translate(const struct mounts *mounts, __u32 sbid, const char *path, size_t length,
		     char *buffer, size_t size);

/* --- inventory.c: what the frozen processes already hold, judged by the policy --- */
/* -EPERM and error when something is refused under existing: refuse; lines in report. */
int inventory_judge(const struct policy *policy, const pid_t *pids, size_t npids, struct report *report,
		    struct error *error);

/* --- canary.c: every hook refused, by syscall result and counter, from inside a scratch compartment --- */
struct canary_result {
	bool tried, refused, counted;
	int error; /* errno seen, 0: went through */
	char note[96];
};
/* results[BH_HOOK_COUNT]; 0 when every attached hook refused with its errno and counted. */
int canary_run(struct kern *kern, struct canary_result *results, struct error *error);

/* --- cgroup.c --- */
int cgroup_own_create(const char *name, char **ret_path, struct error *error); /* below our own root */
int cgroup_remove(const char *path);
int cgroup_freeze(const char *path, bool freeze, unsigned int deadline_ms, struct error *error);
int cgroup_kill(const char *path, unsigned int deadline_ms, struct error *error);
int cgroup_pids(const char *path, pid_t **ret, size_t *ret_n); /* thread group leaders, child cgroups too */
int cgroup_of_pid(pid_t pid, char **ret_path);

/* --- unit.c: systemd over sd-bus --- */
int unit_cgroups(const char *unit, char ***ret_cgroups, char ***ret_names, struct error *error);
int unit_bind(const char *unit, const char *policy, const char *const *vars, struct error *error);
int unit_unbind(const char *unit, struct error *error);
int unit_scope(pid_t pid, const char *name, char **ret_cgroup, struct error *error);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What enrolment shares with the rest of a compartment's life. Everything here is called with
 * kern_lock held. */
#ifndef COMPART_ENROL_H
#define COMPART_ENROL_H

#include "internal.h"

/* For _cleanup_unlock_: *ret is the lock's owner. */
int lock_changes(struct kern *kern, struct kern **ret, struct error *error);

/* Compiles for a view and installs a generation that nobody uses yet. */
int policy_compile(const struct policy *policy, const struct mounts *mounts, struct kern *kern,
		   __u32 *ret_generation, struct error *error);
/* Writes an entry and reads it back. */
int entry_write(struct kern *kern, __u32 id, const struct bh_compartment *entry,
		struct error *error);
/* Marks the processes whose programs may have writable and executable memory. */
int jit_mark(struct kern *kern, __u32 id, const struct policy *policy, const pid_t *pids,
	     size_t npids, struct error *error);
/* Out, by id: RELEASED, cgroup and egress gone, id freed when no label is left. cgroup_id 0: none.
 */
int compartment_release(struct kern *kern, __u32 id, __u64 cgroup_id, struct error *error);
int compartment_reload_locked(struct kern *kern, struct compartment *c, struct error *error);
int compartments_sweep_locked(struct kern *kern, struct error *error);

/* subtree.c: may this subtree be enrolled? Fills *ret_path with its real path. */
int subtree_check(const struct attach_request *request, char **ret_path, struct error *error);
/* Does it overlap a compartment? *ret_same is the id of one with the very same root, 0 else. */
int subtree_check_overlap(struct kern *kern, const char *path, __u32 *ret_same,
			  struct error *error);

DEFINE_CLEANUP(struct kern *, kern_unlock)
DEFINE_CLEANUP(struct policy *, policy_free)
#define _cleanup_unlock_ _cleanup_(cleanup_kern_unlock)
#define _cleanup_policy_ _cleanup_(cleanup_policy_free)

#endif

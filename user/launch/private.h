/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A command's own HOME and TMPDIR: directories that are there for its time alone, in memory that its cgroup is charged
 * for. They bear the name of its cgroup, by which what a killed run left is told.
 */
#ifndef LAUNCH_PRIVATE_H
#define LAUNCH_PRIVATE_H

#include "base/log.h"
#include "policy/policy.h"

/* "HOME=..." and "TMPDIR=...", those of them that are private, for the policy's variables: NULL-terminated, in one piece
 * with what they point to, to be freed. 0 or -ENOMEM. */
int private_variables(const char *name, const struct policy_environment *environment, char ***ret);
/* Makes them. 0 or -errno and error. */
int private_make(const char *name, const struct policy_environment *environment,
		 struct error *error);
/* With all that is in them; what is not there is well. Nothing runs in them any more. 0 or -errno and error. */
int private_remove(const char *name, struct error *error);
/* Those whose cgroup, of that name below `cgroups`, is gone. */
void private_sweep(const char *cgroups);

#endif

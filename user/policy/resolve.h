/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The literal head of a glob, with the symbolic links on its way followed: a kernel program sees
 * where a file stands, never the link that led there. Internal to the policy layer.
 */
#ifndef POLICY_RESOLVE_H
#define POLICY_RESOLVE_H

#include <stdbool.h>
#include <sys/types.h>
#include "policy.h"

struct resolver {
	int root;    /* descriptor of the directory that "/" means */
	uid_t owner; /* whose links are followed: root's */
	/* Nobody else can lead the path elsewhere: each directory on the way is the owner's, too,
	 * and nobody else's to write to. */
	bool guarded;
	bool keep_last;		/* a link at the very end stays */
	policy_link_fn on_link; /* told of every link followed; NULL: nobody */
	void *data;
};

/*
 * *ret_glob: the glob with its head resolved (malloc'ed), equal to `glob` when no link is on the
 * way. The head ends before the first component with a wildcard or brace. Names that do not exist
 * stay as written. Below /proc nothing is followed: its links depend on who looks. -EINVAL with a
 * reason: a link that someone else owns, too many links; or another errno.
 */
int resolve_glob(const struct resolver *resolver, const char *glob, char **ret_glob,
		 struct error *error);
/* The same for a path, whose bytes mean themselves. */
int resolve_path(const struct resolver *resolver, const char *path, char **ret_path,
		 struct error *error);
/* The place of a file that decides what root's programs do, guarded. A path from where we stand. */
int resolve_guarded(const char *path, char **ret_path, struct error *error);

#endif

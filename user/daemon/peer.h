/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who is at the other end of a connection, as the kernel says. */
#ifndef DAEMON_PEER_H
#define DAEMON_PEER_H

#include <sys/types.h>
#include "daemon.h"

enum right { RIGHT_NONE, RIGHT_READ, RIGHT_CHANGE };

struct peer {
	pid_t pid;
	int pidfd; /* of it; -1: the kernel gives none */
	uid_t uid;
	gid_t gid;
	enum right right;
	bool inside; /* it stood in a compartment when it connected: never more than RIGHT_READ */
	char *unit;  /* systemd unit, NULL when it has none */
};

/* What uid and groups give, as of when it connected. */
int peer_read(const struct daemon *d, int fd, struct peer *ret);
/* Pure: what the ids give. Group (gid_t)-1 stands for one that does not exist. */
enum right peer_right(uid_t uid, const gid_t *groups, size_t ngroups, gid_t readers, gid_t admins);
/* Does the process that connected live? Its number may be another's else. True where the kernel
 * gives no pidfd (before 6.5). */
bool peer_lives(const struct peer *peer);
/* Does it stand in a compartment now? */
bool peer_is_inside(const struct daemon *d, const struct peer *peer);
void peer_done(struct peer *peer);

#endif

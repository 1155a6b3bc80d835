// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "peer.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-login.h>
#include "base/cleanup.h"

/* NGROUPS_MAX is 65,536; a peer with more than this many has no right by those past the bound. */
#define PEER_MAX_GROUPS 1024

enum right peer_right(uid_t uid, const gid_t *groups, size_t ngroups, gid_t readers, gid_t admins)
{
	enum right right = RIGHT_NONE;

	if (uid == 0)
		return RIGHT_CHANGE;
	for (size_t i = 0; i < ngroups; i++) {
		if (groups[i] == (gid_t)-1)
			continue;
		if (groups[i] == admins)
			return RIGHT_CHANGE;
		if (groups[i] == readers)
			right = RIGHT_READ;
	}
	return right;
}

/* Debian 12's headers are older. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* A confined root must not talk the agent into opening its own compartment. Asked of the kernel, as
 * others attach too. Cannot tell means inside. */
static bool stands_inside(const struct daemon *d, pid_t pid)
{
	_cleanup_free_ char *cgroup = NULL;
	__u32 compartment;
	__u64 id;
	char *slash;

	if (cgroup_of_pid(pid, &cgroup))
		return true;
	for (; (slash = strrchr(cgroup, '/')) && slash > cgroup; *slash = '\0') {
		if (kern_cgroup_id(cgroup, &id))
			continue; /* above the hierarchy's root there are none */
		if (kern_cgroup_get(d->kern, id, &compartment) == 0)
			return true;
	}
	return false;
}

bool peer_lives(const struct peer *peer)
{
	struct pollfd p = {.fd = peer->pidfd, .events = POLLIN};

	return peer->pidfd < 0 || poll(&p, 1, 0) == 0;
}

/* In this order: a number that was still its own afterwards was its own before. */
bool peer_is_inside(const struct daemon *d, const struct peer *peer)
{
	return stands_inside(d, peer->pid) || !peer_lives(peer);
}

static int read_pidfd(int fd, int *ret)
{
	socklen_t n = sizeof(*ret);

	*ret = -1;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, ret, &n) == 0)
		return 0;
	*ret = -1;
	return errno == ENOPROTOOPT ? 0 : -errno;
}

int peer_read(const struct daemon *d, int fd, struct peer *ret)
{
	gid_t groups[PEER_MAX_GROUPS + 1];
	socklen_t size = PEER_MAX_GROUPS * sizeof(gid_t), n = sizeof(struct ucred);
	struct peer peer = {.pidfd = -1};
	struct ucred cred;
	bool gone;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n))
		return -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size))
		size = 0;
	groups[size / sizeof(gid_t)] = cred.gid;
	peer.pid = cred.pid;
	peer.uid = cred.uid;
	peer.gid = cred.gid;
	peer.right = peer_right(cred.uid, groups, size / sizeof(gid_t) + 1, d->group, d->admins);
	/* One that is gone already has no pidfd. */
	gone = read_pidfd(fd, &peer.pidfd) < 0;
	peer.inside = gone || peer_is_inside(d, &peer);
	/* Without systemd there is no unit to name. */
	if (sd_peer_get_unit(fd, &peer.unit) < 0)
		peer.unit = NULL;
	*ret = peer;
	return 0;
}

void peer_done(struct peer *peer)
{
	free(peer->unit);
	peer->unit = NULL;
	if (peer->pidfd >= 0)
		close(peer->pidfd);
	peer->pidfd = -1;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The network namespaces that members stand in, and outlets there. */
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include "egress.h"

static struct net *find_net(struct way *way, const struct stat *st)
{
	for (size_t i = 0; i < way->nnets; i++)
		if (way->nets[i].ino == st->st_ino && way->nets[i].dev == st->st_dev)
			return &way->nets[i];
	return NULL;
}

/* Of a member's own sandbox (nested-sandbox: true), which has no network because its maker wants none. By whom the
 * namespace belongs to; cannot tell: it is one. */
static bool is_sandbox(int netns)
{
	_cleanup_close_ int owner = ioctl(netns, NS_GET_USERNS);
	struct stat theirs, ours;

	return owner < 0 || fstat(owner, &theirs) || stat("/proc/self/ns/user", &ours) ||
	       theirs.st_ino != ours.st_ino;
}

/* Its number may be another's by now. */
static bool is_inside(const struct way *way, pid_t pid)
{
	_cleanup_free_ char *cgroup = NULL;
	size_t n = strlen(way->cgroup);

	return cgroup_of_pid(pid, &cgroup) == 0 && !strncmp(cgroup, way->cgroup, n) &&
	       (cgroup[n] == '\0' || cgroup[n] == '/');
}

static int mark(struct egress *e, const struct way *way, const struct outlet *outlet,
		struct error *error)
{
	const int fds[] = {outlet->relay, outlet->stub4, outlet->stub6};
	int r = 0;

	for (size_t i = 0; !r && i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0)
			r = kern_outlet_mark(e->daemon->kern, fds[i], way->compartment,
					     way->of.serial);
	return r ? error_set(error, -r, "its sockets cannot be marked: %s", strerror(-r)) : 0;
}

/* 0; -ESRCH: the process is another's; -EPERM: there is to be none. */
static int open_net(struct egress *e, const struct way *way, pid_t pid, bool nested,
		    struct net *net, struct error *error)
{
	char path[32];
	_cleanup_close_ int fd = -1;
	struct outlet outlet;
	struct stat st;
	int r;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || st.st_ino != net->ino || !is_inside(way, pid))
		return -ESRCH;
	if (nested && is_sandbox(fd))
		return -EPERM;
	r = outlet_open(fd, e->fence, &outlet, error);
	if (r)
		return r;
	r = mark(e, way, &outlet, error);
	if (r) {
		outlet_close(&outlet);
		return r;
	}
	net->outlet = outlet;
	net->state = NET_OPEN;
	net->why[0] = '\0';
	return 0;
}

/* What cannot be is tried again at the next round, and said when the reason is another one. */
static void try_net(struct egress *e, struct way *way, pid_t pid, bool nested, struct net *net)
{
	struct error error = {0};
	int r = open_net(e, way, pid, nested, net, &error);

	if (!r)
		return;
	if (r == -ESRCH || r == -EPERM) {
		net->seen = false;
		return;
	}
	if (strncmp(net->why, error.text, sizeof(net->why) - 1) != 0)
		log_warning("compartment %s: no way out in the network namespace of process %d: %s",
			    way->name, pid, error.text);
	net_fail(net, error.text);
}

static void crowd(struct egress *e, struct way *way)
{
	if (!way->crowded)
		log_warning("compartment %s: its processes stand in more than %d network "
			    "namespaces: in further ones there is no way out",
			    way->name, WAY_MAX_NETS);
	way->crowded = true;
	egress_tell(e, way, "outlets", "exhausted", NULL);
}

static void note_member(struct egress *e, struct way *way, pid_t pid, bool nested)
{
	struct net *net;
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	if (stat(path, &st))
		return;
	net = find_net(way, &st);
	if (net && (net->seen || net->state != NET_FAILED)) {
		net->seen = true;
		return;
	}
	if (!net && way->nnets == WAY_MAX_NETS) {
		if (!way->crowded)
			crowd(e, way);
		return;
	}
	if (!net) {
		net = &way->nets[way->nnets++];
		*net = (struct net){.dev = st.st_dev, .ino = st.st_ino};
	}
	net->seen = true;
	try_net(e, way, pid, nested, net);
}

/* The host's stays by itself. */
static bool is_own(const struct net *net)
{
	struct stat st;

	return !stat("/proc/self/ns/net", &st) && st.st_ino == net->ino && st.st_dev == net->dev;
}

static bool has_sockets(const struct net *net)
{
	return net->state != NET_FAILED && net->state != NET_GONE;
}

/* Nobody has been there for long, or others need the room. */
static void leave_unseen(struct egress *e, struct way *way, struct net *net)
{
	uint64_t now = now_us();

	net->unseen_us = net->seen ? 0 : net->unseen_us ?: now;
	if (net->seen || !has_sockets(net) ||
	    (!way->crowded && (now - net->unseen_us < WAY_UNSEEN_US || is_own(net))))
		return;
	kern_outlet_unset(e->daemon->kern, way->compartment, net->outlet.cookie);
	net_leave(net);
}

/* True: there is room again. Namespaces without sockets are known by a number alone, which may be another's tomorrow;
 * those with some live as long as it. */
static bool drop_unseen(struct egress *e, struct way *way)
{
	size_t n = 0, before = way->nnets;

	for (size_t i = 0; i < way->nnets; i++) {
		struct net *net = &way->nets[i];

		leave_unseen(e, way, net);
		if (net->seen || net->state != NET_FAILED)
			way->nets[n++] = *net;
	}
	way->nnets = n;
	if (n == before)
		return false;
	way->crowded = false;
	return true;
}

void egress_scan(struct egress *e, struct way *way, bool nested)
{
	_cleanup_free_ pid_t *pids = NULL;
	size_t n = 0;
	bool crowded;

	if (cgroup_pids(way->cgroup, &pids, &n))
		return;
	for (size_t i = 0; i < way->nnets; i++)
		way->nets[i].seen = false;
	for (size_t i = 0; i < n; i++)
		note_member(e, way, pids[i], nested);
	crowded = way->crowded;
	if (!drop_unseen(e, way) || !crowded)
		return;
	for (size_t i = 0; i < n; i++)
		note_member(e, way, pids[i], nested);
}

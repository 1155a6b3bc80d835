// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What members held when the policy came and may not use any more: the kernel refuses each use of the
 * open file (user/kern/revoke.c). A connection could still be heard by the other side, which waits for
 * an answer: it is shut down as well.
 */
#include "internal.h"

#include <errno.h>
#include <limits.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* By one number kept, by another not: it is one open file, and stays. */
static void tell_kept(const struct revoked_fd *item, struct report *report)
{
	if (report && report->n < BH_MAX_REPORT_LINES)
		report_add(report,
			   "pid %d fd %d: not revoked: it is one that is kept, by another number",
			   (int)item->pid, item->fd);
}

int revoke_held(struct kern *kern, __u64 serial, struct revocations *revoked, struct report *report,
		struct error *error)
{
	_cleanup_free_ struct kern_held *held = calloc(revoked->n + 1, sizeof(*held));
	size_t i, n = 0;
	int r;

	if (!held)
		return error_set(error, ENOMEM, "out of memory");
	for (i = 0; i < revoked->n; i++) {
		const struct revoked_fd *item = &revoked->items[i];

		held[i] = (struct kern_held){
			.pid = item->pid, .tid = item->tid, .fd = item->fd, .keep = item->keep};
		n += !item->keep;
	}
	if (!n)
		return 0;
	r = kern_rechecks_attach(kern, KERN_RECHECK_REVOKED, error);
	if (!r)
		r = kern_revoke(kern, serial, held, revoked->n, error);
	for (i = 0; !r && i < revoked->n; i++) {
		if (!revoked->items[i].keep && held[i].file && !held[i].revoked)
			tell_kept(&revoked->items[i], report);
		revoked->items[i].keep = !held[i].revoked;
	}
	return r;
}

/* What had come and was not read yet: getsockopt(TCP_ZEROCOPY_RECEIVE) hands it out, and asks no hook of those
 * who receive. After a shutdown nothing comes. */
static int empty(int fd)
{
	int protocol = 0, left = 0;
	socklen_t n = sizeof(protocol);

	if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &n) < 0)
		return -errno;
	if (protocol != IPPROTO_TCP)
		return 0;
	recv(fd, NULL, INT_MAX, MSG_DONTWAIT | MSG_TRUNC);
	/* EINVAL: it listens, and has no data. */
	if (ioctl(fd, SIOCINQ, &left) < 0 && errno != EINVAL)
		return -errno;
	return left ? -EIO : 0;
}

/* Both ways, and read back: that alone is a hang-up to poll(2), of every family that can be shut down. */
static int shut_down(const struct revoked_fd *held)
{
	_cleanup_close_ int fd = descriptor_borrow(held->pid, held->tid, held->fd);
	struct pollfd p = {.fd = fd};
	int r;

	if (fd < 0)
		return fd;
	/* ENOTCONN: of a socket that was not connected, and is shut down now. */
	if (shutdown(fd, SHUT_RDWR) < 0 && errno != ENOTCONN)
		return -errno;
	r = empty(fd);
	if (r < 0)
		return r;
	return poll(&p, 1, 0) == 1 && p.revents & POLLHUP ? 0 : -EIO;
}

void revoke_connections(const struct revocations *revoked, struct report *report)
{
	for (size_t i = 0; i < revoked->n; i++) {
		const struct revoked_fd *held = &revoked->items[i];
		int r = held->is_socket && !held->keep ? shut_down(held) : 0;

		if (r && r != -ESRCH && r != -EBADF && report && report->n < BH_MAX_REPORT_LINES)
			report_add(report,
				   "pid %d fd %d: the socket is not shut down (%s); what the "
				   "compartment does with it is refused",
				   (int)held->pid, held->fd, strerror(-r));
	}
}

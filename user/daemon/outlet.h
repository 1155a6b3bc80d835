/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sockets in another network namespace: where a compartment's queries and connections there are led to. */
#ifndef DAEMON_OUTLET_H
#define DAEMON_OUTLET_H

#include <linux/types.h>
#include "base/log.h"

struct outlet {
	__u64 cookie;	  /* of the network namespace */
	int relay;	  /* TCP, listens at 127.0.0.1; -1: none */
	int stub4, stub6; /* UDP, at 127.0.0.1 and ::1; stub6 -1 where there is no IPv6 */
	__u16 relay_port, stub4_port, stub6_port; /* the kernel's choice; 0: none */
};

/* Made by a process that is in that namespace and in that cgroup (NULL: the caller's), whose programs judge what comes to
 * them and goes; it is gone when this returns. -ENETDOWN: the loopback interface is down there, and that is its owner's
 * to change; -ETIMEDOUT; another -errno. */
int outlet_open(int netns_fd, const char *cgroup, struct outlet *ret, struct error *error);
void outlet_close(struct outlet *outlet);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Behind a gateway another network namespace, the world, in which public addresses are somebody's and port 443 of each
 * is open. Nothing leaves the two. */
#ifndef UNIT_WORLD_H
#define UNIT_WORLD_H

#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include "netns.h"

#define WORLD_PORT 443

/* Public-numbered is also the host's own network: 9.9.9.0/24, where 9.9.9.7 could listen. There is no way to IPv6
 * but for 2001:4860::/32. Packets to 5.5.5.5 are lost. */
static const char world_here[] = "link set lo up\n"
				 "link set near up\n"
				 "addr add 9.9.9.2/24 dev near\n"
				 "addr add 2001:db8::2/64 dev near nodad\n"
				 "route add default via 9.9.9.1\n"
				 "route add 2001:4860::/32 via 2001:db8::1\n";
static const char world_there[] = "link set lo up\n"
				  "link set far up\n"
				  "addr add 9.9.9.1/24 dev far\n"
				  "addr add 2001:db8::1/64 dev far nodad\n"
				  "addr add 8.8.8.8/32 dev lo\n"
				  "addr add 8.8.8.9/32 dev lo\n"
				  "addr add 2001:4860::8/128 dev lo nodad\n"
				  "route add blackhole 5.5.5.5\n";

static inline void world_listen_everywhere(void)
{
	const struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(WORLD_PORT)};
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (const struct sockaddr *)&any, sizeof(any)), 0);
	assert_int_equal(listen(fd, 512), 0);
}

static inline void world_tell(int fd)
{
	assert_int_equal(write(fd, "a", 1), 1);
}

static inline void world_hear(int fd)
{
	char letter;

	assert_int_equal(read(fd, &letter, 1), 1);
}

__attribute__((noreturn)) static inline void world_be(int fd)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWNET))
		_exit(1);
	world_tell(fd);
	world_hear(fd);
	netns_set(world_there);
	netns_wait_own("2001:4860::8");
	world_listen_everywhere();
	world_tell(fd);
	for (;;)
		pause();
}

static inline void world_link(pid_t world)
{
	char line[96];

	snprintf(line, sizeof(line), "link add near type veth peer name far netns %d\n",
		 (int)world);
	netns_set(line);
}

/* Its process, which the caller ends; the caller is on this side of the gateway. */
static inline pid_t world_start(void)
{
	int ends[2];
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	pid = fork();
	if (pid == 0)
		world_be(ends[1]);
	close(ends[1]);
	world_hear(ends[0]);
	world_link(pid);
	netns_set(world_here);
	netns_wait_own("2001:db8::2");
	world_tell(ends[0]);
	world_hear(ends[0]);
	close(ends[0]);
	return pid;
}

#endif

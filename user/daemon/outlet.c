// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "outlet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/sched.h>
#include "base/cleanup.h"

/* Nothing that it does waits for anybody but the kernel, which may have a module to load. */
#define OUTLET_S 5
/* For the kernel to end it. */
#define OUTLET_END_MS 1000
#define OUTLET_FDS 3
/* Connections that wait for the relay to take them; the namespace's somaxconn may say less. */
#define OUTLET_BACKLOG 512

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

/* What the maker of the sockets says, with their descriptors: those that there are, in the order of their names. */
struct said {
	struct outlet outlet;
	int result;
	char why[ERROR_TEXT_SIZE];
};

void outlet_close(struct outlet *outlet)
{
	int *fds[] = {&outlet->relay, &outlet->stub4, &outlet->stub6};

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
	outlet->relay_port = outlet->stub4_port = outlet->stub6_port = 0;
}

static int open_at(const struct sockaddr *address, socklen_t size, int type, int *ret_fd)
{
	_cleanup_close_ int fd = socket(address->sa_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, address, size) ||
	    (type == SOCK_STREAM && listen(fd, OUTLET_BACKLOG)))
		return -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* The port stands at the same place in both families' addresses. */
static int read_port(int fd, __u16 *ret)
{
	struct sockaddr_in6 address = {0};
	socklen_t size = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &size))
		return -errno;
	*ret = ntohs(address.sin6_port);
	return 0;
}

static int check_loopback(int fd)
{
	struct ifreq request = {.ifr_name = "lo"};

	if (ioctl(fd, SIOCGIFFLAGS, &request))
		return -errno;
	return request.ifr_flags & IFF_UP ? 0 : -ENETDOWN;
}

static int read_cookie(int fd, __u64 *ret)
{
	socklen_t size = sizeof(*ret);

	return getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, ret, &size) ? -errno : 0;
}

static int open_v4(struct outlet *outlet)
{
	const struct sockaddr_in own = {.sin_family = AF_INET,
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct sockaddr *address = (const struct sockaddr *)&own;
	int r = open_at(address, sizeof(own), SOCK_DGRAM, &outlet->stub4);

	if (!r)
		r = check_loopback(outlet->stub4);
	if (!r)
		r = read_cookie(outlet->stub4, &outlet->cookie);
	if (!r)
		r = open_at(address, sizeof(own), SOCK_STREAM, &outlet->relay);
	if (!r)
		r = read_port(outlet->stub4, &outlet->stub4_port);
	return r ? r : read_port(outlet->relay, &outlet->relay_port);
}

/* Without IPv6 nobody there asks by it. */
static int open_v6(struct outlet *outlet)
{
	const struct sockaddr_in6 own = {.sin6_family = AF_INET6,
					 .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int r = open_at((const struct sockaddr *)&own, sizeof(own), SOCK_DGRAM, &outlet->stub6);

	if (r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL || r == -EPROTONOSUPPORT)
		return 0;
	return r ? r : read_port(outlet->stub6, &outlet->stub6_port);
}

/* --- the maker: a process, as sockets belong to the cgroup that theirs stands in --- */

static void make(int netns, struct said *said)
{
	struct error error = {0};
	int r = setns(netns, CLONE_NEWNET) ? -errno : 0;

	if (r) {
		error_set(&error, -r, "it cannot be entered: %s", strerror(-r));
	} else {
		r = open_v4(&said->outlet);
		if (!r)
			r = open_v6(&said->outlet);
		if (r == -ENETDOWN)
			error_set(&error, -r, "its loopback interface is down: ip link set lo up");
		else if (r)
			error_set(&error, -r, "sockets cannot be made there: %s", strerror(-r));
	}
	said->result = r;
	memcpy(said->why, error.text, sizeof(said->why));
}

union control {
	char bytes[CMSG_SPACE(OUTLET_FDS * sizeof(int))];
	struct cmsghdr align;
};

static void child_main(int netns, int channel) __attribute__((noreturn));
static void child_main(int netns, int channel)
{
	struct said said = {.outlet = {.relay = -1, .stub4 = -1, .stub6 = -1}};
	struct iovec iov = {.iov_base = &said, .iov_len = sizeof(said)};
	union control control = {0};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *header;
	size_t n;

	make(netns, &said);
	n = said.outlet.stub6 < 0 ? OUTLET_FDS - 1 : OUTLET_FDS;
	if (!said.result) {
		const int fds[OUTLET_FDS] = {said.outlet.relay, said.outlet.stub4,
					     said.outlet.stub6};

		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(n * sizeof(int));
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(header), fds, n * sizeof(int));
	}
	_exit(sendmsg(channel, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(said) ? 0 : 1);
}

/* -1 and errno. */
static pid_t spawn(const char *cgroup, int netns, int channel, int *ret_pidfd)
{
	_cleanup_close_ int directory =
		cgroup ? open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	struct clone_args args = {.flags = CLONE_PIDFD | (cgroup ? CLONE_INTO_CGROUP : 0),
				  .pidfd = (uintptr_t)ret_pidfd,
				  .exit_signal = SIGCHLD,
				  .cgroup = cgroup ? (__u64)directory : 0};
	pid_t pid;

	if (cgroup && directory < 0)
		return -1;
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		child_main(netns, channel);
	return pid;
}

/* --- its asker --- */

static void take_fds(struct msghdr *message, struct outlet *outlet)
{
	int *fds[OUTLET_FDS] = {&outlet->relay, &outlet->stub4, &outlet->stub6};
	struct cmsghdr *header = CMSG_FIRSTHDR(message);
	size_t n = header && header->cmsg_type == SCM_RIGHTS
			   ? (header->cmsg_len - CMSG_LEN(0)) / sizeof(int)
			   : 0;

	for (size_t i = 0; i < OUTLET_FDS; i++) {
		*fds[i] = -1;
		if (i < n)
			memcpy(fds[i], CMSG_DATA(header) + i * sizeof(int), sizeof(int));
	}
}

static int hear(int channel, struct outlet *ret, struct error *error)
{
	struct pollfd wait = {.fd = channel, .events = POLLIN};
	struct said said = {0};
	struct iovec iov = {.iov_base = &said, .iov_len = sizeof(said)};
	union control control = {0};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	ssize_t n;

	if (poll(&wait, 1, OUTLET_S * 1000) != 1)
		return error_set(error, ETIMEDOUT, "the kernel makes no sockets there in %d s",
				 OUTLET_S);
	n = recvmsg(channel, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return error_set(error, errno, "%s", strerror(errno));
	take_fds(&message, &said.outlet);
	if (n == (ssize_t)sizeof(said) && !said.result && said.outlet.stub4 >= 0) {
		*ret = said.outlet;
		return 0;
	}
	outlet_close(&said.outlet);
	if (n != (ssize_t)sizeof(said) || !said.result)
		return error_set(error, EIO, "who makes its sockets ended");
	return error_set(error, -said.result, "%s", said.why);
}

/* One that the kernel does not let end is left alone. */
static void end(int pidfd)
{
	struct pollfd wait = {.fd = pidfd, .events = POLLIN};
	siginfo_t info;

	pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
	if (poll(&wait, 1, OUTLET_END_MS) == 1)
		waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG);
}

int outlet_open(int netns_fd, const char *cgroup, struct outlet *ret, struct error *error)
{
	_cleanup_close_ int ours = -1, theirs = -1, pidfd = -1;
	int fds[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return error_set(error, errno, "a socket pair: %s", strerror(errno));
	ours = fds[0];
	theirs = fds[1];
	if (spawn(cgroup, netns_fd, theirs, &pidfd) < 0)
		return error_set(error, errno, "no process to make its sockets: %s",
				 strerror(errno));
	/* Its end is to be seen. */
	cleanup_closep(&theirs);
	theirs = -1;
	r = hear(ours, ret, error);
	end(pidfd);
	return r;
}

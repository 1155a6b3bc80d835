// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "outlet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include "base/cleanup.h"

/* Nothing that it does waits for anybody but the kernel, which may have a module to load. */
#define OUTLET_S 5
/* Connections that wait for the relay to take them; the namespace's somaxconn may say less. */
#define OUTLET_BACKLOG 512

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

/* Its thread's and the caller's: whoever leaves last gives it back. */
struct job {
	atomic_int owners;
	int netns;
	struct outlet outlet;
	int result;
	struct error error;
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

static void leave(struct job *job)
{
	if (atomic_fetch_sub(&job->owners, 1) > 1)
		return;
	if (job->netns >= 0)
		close(job->netns);
	outlet_close(&job->outlet);
	free(job);
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

static void *work(void *data)
{
	struct job *job = data;
	int r = setns(job->netns, CLONE_NEWNET) ? -errno : 0;

	if (r) {
		error_set(&job->error, -r, "it cannot be entered: %s", strerror(-r));
	} else {
		r = open_v4(&job->outlet);
		if (!r)
			r = open_v6(&job->outlet);
		if (r == -ENETDOWN)
			error_set(&job->error, -r,
				  "its loopback interface is down: ip link set lo up");
		else if (r)
			error_set(&job->error, -r, "sockets cannot be made there: %s",
				  strerror(-r));
	}
	job->result = r;
	leave(job);
	return NULL;
}

static int run(struct job *job, struct outlet *ret, struct error *error)
{
	struct timespec until;
	pthread_t thread;
	int r;

	job->owners = 2;
	r = pthread_create(&thread, NULL, work, job);
	if (r) {
		job->owners = 1;
		return error_set(error, r, "no thread: %s", strerror(r));
	}
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += OUTLET_S;
	if (pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until)) {
		pthread_detach(thread);
		return error_set(error, ETIMEDOUT, "the kernel makes no sockets there in %d s",
				 OUTLET_S);
	}
	if (job->result)
		return error_set(error, -job->result, "%s", job->error.text);
	*ret = job->outlet;
	job->outlet = (struct outlet){.relay = -1, .stub4 = -1, .stub6 = -1};
	return 0;
}

int outlet_open(int netns_fd, struct outlet *ret, struct error *error)
{
	struct job *job = calloc(1, sizeof(*job));
	int r;

	if (!job)
		return error_set(error, ENOMEM, "out of memory");
	*job = (struct job){.outlet = {.relay = -1, .stub4 = -1, .stub6 = -1}};
	job->owners = 1;
	job->netns = fcntl(netns_fd, F_DUPFD_CLOEXEC, 0);
	r = job->netns < 0 ? error_set(error, errno, "%s", strerror(errno)) : run(job, ret, error);
	leave(job);
	return r;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "away.h"
#include "ends.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

/* The wire is made there and its other end given to process 1, because busybox names the peer as it likes and moves by
 * process alone. Without duplicate address detection an address is good at once. */
static const char there[] =
	"ip link set lo up && ip link add type veth && ip link set veth0 name bhaway1 && "
	"ip link set veth1 name bhaway0 && ip link set bhaway0 netns 1 && "
	"echo 0 >/proc/sys/net/ipv6/conf/bhaway1/accept_dad && "
	"ip addr add " AWAY4 "/24 dev bhaway1 && ip addr add " AWAY6 "/64 dev bhaway1 && "
	"ip link set bhaway1 up";
static const char here[] = "echo 0 >/proc/sys/net/ipv6/conf/bhaway0/accept_dad && "
			   "ip addr add " HERE4 "/24 dev bhaway0 && "
			   "ip addr add " HERE6 "/64 dev bhaway0 && ip link set bhaway0 up";

static int open_socket(int family)
{
	const struct timeval wait = {.tv_usec = PATIENCE_MS * 1000};
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	return fd;
}

static int open_listener(void)
{
	struct peer at = peer_of("::", AWAY_PORT);
	int fd = open_socket(AF_INET6);

	if (bind(fd, peer_at(&at), at.length) < 0 || listen(fd, 16) < 0)
		perror("a listener away");
	return fd;
}

int away_open(struct away *away)
{
	int r = -1;

	away->home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (away->home < 0 || unshare(CLONE_NEWNET) < 0)
		return -1;
	away->netns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (system(there) == 0) {
		away->made = true;
		away->listener = open_listener();
		away->tap = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_ALL));
		r = away->listener < 0 || away->tap < 0 ? -1 : 0;
	}
	if (setns(away->home, CLONE_NEWNET) < 0)
		abort();
	return r == 0 && system(here) == 0 ? 0 : -1;
}

void away_close(struct away *away)
{
	if (away->made && system("ip link del bhaway0") != 0)
		perror("the wire stays");
	close(away->tap);
	close(away->listener);
	close(away->netns);
	close(away->home);
}

int away_socket(const struct away *away, int family)
{
	int fd;

	if (away && setns(away->netns, CLONE_NEWNET) < 0)
		return -errno;
	fd = open_socket(family);
	if (away && setns(away->home, CLONE_NEWNET) < 0)
		abort();
	return fd;
}

/* Is it TCP to AWAY_PORT? From the network's header on. */
static bool is_ours(const unsigned char *packet, ssize_t n, const struct sockaddr_ll *from)
{
	size_t at = packet[0] >> 4 == 6 ? 40 : 4 * (packet[0] & 0xfu);
	unsigned char protocol = packet[0] >> 4 == 6 ? packet[6] : packet[9];

	return from->sll_pkttype == PACKET_HOST && n >= (ssize_t)at + 4 &&
	       protocol == IPPROTO_TCP && packet[at + 2] << 8 == (AWAY_PORT & 0xff00) &&
	       packet[at + 3] == (AWAY_PORT & 0xff);
}

int away_count(const struct away *away)
{
	struct pollfd wait = {.fd = away->tap, .events = POLLIN};
	int n = 0;

	while (poll(&wait, 1, 100) == 1) {
		struct sockaddr_ll from = {};
		socklen_t length = sizeof(from);
		unsigned char packet[256] = {};
		ssize_t size = recvfrom(away->tap, packet, sizeof(packet), 0,
					(struct sockaddr *)&from, &length);

		n += size > 0 && is_ours(packet, size, &from);
	}
	return n;
}

int away_accept(const struct away *away)
{
	int fd = accept4(away->listener, NULL, NULL, SOCK_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Whatever an address says, packets of members' sockets go and come by loopback alone: beside it stands a wire that is
 * watched. */
#include "ends.h"
#include "board.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <netpacket/packet.h>
#include <string.h>
#include <unistd.h>

#define WIRE_RX "/sys/class/net/bhwire1/statistics/rx_packets"

static int wire_make(void)
{
	/* The peer's name is the kernel's choice: busybox does not pass one on. */
	return system("ip link add bhwire0 type veth && ip link set veth0 name bhwire1 && "
		      "echo 1 >/proc/sys/net/ipv6/conf/bhwire0/disable_ipv6 && "
		      "echo 1 >/proc/sys/net/ipv6/conf/bhwire1/disable_ipv6 && "
		      "ip addr add 203.0.113.1/24 dev bhwire0 && ip link set bhwire0 up && "
		      "ip link set bhwire1 up && "
		      "arp -i bhwire0 -s " OUTSIDE " 02:00:00:00:00:09") == 0
		       ? 0
		       : -1;
}

static void wire_remove(int *made)
{
	if (*made && system("ip link del bhwire0") != 0)
		perror("the wire stays");
}

static long wire_packets(void)
{
	FILE *f = fopen(WIRE_RX, "re");
	long n = -1;

	if (!f || fscanf(f, "%ld", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

enum detour { BY_SOURCE_ROUTE, BY_DEVICE, BY_PKTINFO };

static size_t put_detour(enum detour detour, struct msghdr *msg, char *control)
{
	/* LSRR (RFC 791): by way of OUTSIDE. */
	static const unsigned char route[] = {131, 7, 4, 203, 0, 113, 9, 0};
	struct in_pktinfo info = {.ipi_ifindex = (int)if_nametoindex("bhwire0")};
	const void *data = detour == BY_PKTINFO ? (const void *)&info : route;
	size_t n = detour == BY_PKTINFO ? sizeof(info) : sizeof(route);
	struct cmsghdr *head;

	msg->msg_control = control;
	msg->msg_controllen = CMSG_SPACE(n);
	head = CMSG_FIRSTHDR(msg);
	head->cmsg_level = IPPROTO_IP;
	head->cmsg_type = detour == BY_PKTINFO ? IP_PKTINFO : IP_RETOPTS;
	head->cmsg_len = CMSG_LEN(n);
	memcpy(CMSG_DATA(head), data, n);
	return n;
}

/* A query that is judged by its address, and told to go elsewhere besides. What it is answered is no matter. */
static int do_detour(void *data)
{
	const enum detour detour = *(enum detour *)data;
	struct peer to = peer_of(OUTSIDE, 53);
	struct iovec bytes = {(void *)"secret", 6};
	struct msghdr msg = {
		.msg_name = &to.at, .msg_namelen = to.length, .msg_iov = &bytes, .msg_iovlen = 1};
	char control[128] __attribute__((aligned(8))) = {};
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0)
		return VERB_BROKEN + errno;
	if (detour == BY_DEVICE)
		setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "bhwire0", sizeof("bhwire0"));
	else
		put_detour(detour, &msg, control);
	return sendmsg(fd, &msg, 0) < 0 ? errno : 0;
}

static int check_detour(struct cell *cell, enum detour detour)
{
	struct bh_tally before = cell_tally(cell), after;
	long first = wire_packets(), then;
	int r;

	CHECK(cell_call(cell, BESIDE, do_detour, &detour) == 0, "detour %d: beside", detour);
	usleep(50000);
	then = wire_packets();
	CHECK(then == first + 1, "detour %d beside: %ld packets, then %ld", detour, first, then);
	r = cell_call(cell, INSIDE, do_detour, &detour);
	usleep(50000);
	after = cell_tally(cell);
	CHECK(wire_packets() == then, "detour %d: the packet is on the wire", detour);
	CHECK(after.strayed == before.strayed + 1, "detour %d: strayed %llu, then %llu; %s%s",
	      detour, before.strayed, after.strayed, outcome_text(r), last_event(cell));
	return 0;
}

static int case_wire_out(struct kern *kern)
{
	/* A source route wants CAP_NET_RAW, which no policy leaves: here the wire alone is to decide. */
	const struct cell_options options = {.flags = BH_POLICY_EGRESS, .caps = ~0ULL};
	_cleanup_cell_ struct cell *cell = cell_new(kern, &options);
	_cleanup_ends_ struct ends ends = ENDS_NONE;
	_cleanup_(wire_remove) int made = 0;

	CHECK(cell && ends_open(cell, &ends) == 0, "no cell");
	CHECK(wire_make() == 0, "no wire");
	made = 1;
	if (check_detour(cell, BY_SOURCE_ROUTE) || check_detour(cell, BY_DEVICE) ||
	    check_detour(cell, BY_PKTINFO))
		return -1;
	return 0;
}

/* Never answered, as its segments are dropped. */
static int do_connect_astray(void *data _unused_)
{
	struct peer to = peer_of(SYNTHETIC, 443);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "bhwire0", sizeof("bhwire0")) < 0)
		return VERB_BROKEN + errno;
	connect(fd, peer_at(&to), to.length);
	pause();
	return 0;
}

/* Each would stay as long as it is tried: minutes, or hours (TCP_SYNCNT). */
static int case_wire_flows(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = egress_cell(kern);
	_cleanup_ends_ struct ends ends = ENDS_NONE;
	_cleanup_(wire_remove) int made = 0;
	pid_t pid;
	int flows;

	CHECK(cell && ends_open(cell, &ends) == 0 && kern_flows_clear(kern) == 0, "no cell");
	CHECK(wire_make() == 0, "no wire");
	made = 1;
	CHECK(system("ip route add default via " OUTSIDE " dev bhwire0") == 0, "no route");
	pid = cell_spawn(cell, cell->cgroup_fd, do_connect_astray, NULL);
	cell_wait_ms(pid, 300, false);
	flows = count_flows(cell);
	cell_wait_ms(pid, 0, true);
	CHECK(cell_tally(cell).strayed > 0, "nothing strayed");
	CHECK(flows == 0, "%d flows", flows);
	return 0;
}

/* A datagram to 203.0.113.1 as it comes from the wire. UDP needs no checksum there. */
struct frame {
	struct ether_header ether;
	struct iphdr ip;
	struct udphdr udp;
	char bytes[4];
} __attribute__((packed));

static uint16_t checksum(const void *data, size_t n)
{
	const unsigned char *bytes = data;
	uint32_t sum = 0;

	for (size_t i = 0; i + 1 < n; i += 2)
		sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

static int wire_address(unsigned char ret[6])
{
	FILE *f = fopen("/sys/class/net/bhwire0/address", "re");
	int n = f ? fscanf(f, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &ret[0], &ret[1], &ret[2], &ret[3],
			   &ret[4], &ret[5])
		  : 0;

	if (f)
		fclose(f);
	return n == 6 ? 0 : -1;
}

static int wire_inject(int port)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET,
				 .sll_ifindex = (int)if_nametoindex("bhwire1"),
				 .sll_halen = 6};
	struct frame frame = {
		.ether.ether_type = htons(ETHERTYPE_IP),
		.ip = {.version = 4,
		       .ihl = 5,
		       .ttl = 64,
		       .protocol = IPPROTO_UDP,
		       .tot_len = htons(sizeof(frame) - sizeof(frame.ether)),
		       .saddr = inet_addr(OUTSIDE),
		       .daddr = inet_addr("203.0.113.1")},
		.udp = {.source = htons(9),
			.dest = htons((uint16_t)port),
			.len = htons(sizeof(frame.udp) + sizeof(frame.bytes))},
		.bytes = "boo",
	};
	_cleanup_close_ int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_IP));

	if (fd < 0 || wire_address(frame.ether.ether_dhost))
		return -1;
	frame.ip.check = checksum(&frame.ip, sizeof(frame.ip));
	return sendto(fd, &frame, sizeof(frame), 0, (struct sockaddr *)&at, sizeof(at)) ==
			       (ssize_t)sizeof(frame)
		       ? 0
		       : -1;
}

/* Waits on the wildcard for what nobody asked for. */
static int do_hear(void *data)
{
	struct board *board = data;
	struct timeval wait = {.tv_usec = 500000};
	struct peer any = peer_of("0.0.0.0", 0);
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM, 0);
	char bytes[8];

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	if (bind(fd, peer_at(&any), any.length) < 0)
		return VERB_BROKEN + errno;
	board->results[0] = bound_port(fd);
	board->done = 1;
	return recv(fd, bytes, sizeof(bytes), 0) < 0 ? errno : 0;
}

static int hear(struct cell *cell, int cgroup_fd)
{
	struct board *board = board_new();
	pid_t pid;
	int r = -ENOMEM;

	if (!board)
		return r;
	pid = cell_spawn(cell, cgroup_fd, do_hear, board);
	r = board_await(&board->done, 1) || wire_inject(board->results[0]) ? -EIO : 0;
	r = cell_wait(pid) ?: r;
	board_free(board);
	return r;
}

static int case_wire_in(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = egress_cell(kern);
	_cleanup_(wire_remove) int made = 0;
	int r;

	CHECK(cell, "no cell");
	CHECK(wire_make() == 0, "no wire");
	made = 1;
	r = hear(cell, cell->beside_fd);
	CHECK(r == 0, "beside: %s", outcome_text(r));
	r = hear(cell, cell->cgroup_fd);
	CHECK(r == EAGAIN, "inside: %s", outcome_text(r));
	CHECK(cell_tally(cell).strayed == 1, "strayed %llu", cell_tally(cell).strayed);
	return 0;
}

const struct test_case wire_cases[] = {
	{"wire/out", case_wire_out, CASE_REFUSES},
	{"wire/in", case_wire_in, CASE_REFUSES},
	{"wire/flows", case_wire_flows, CASE_REFUSES},
	{},
};

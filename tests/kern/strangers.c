// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Outlets hear the members of their compartment alone, and answer nobody else. */
#include "ends.h"
#include "board.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Loopback delivers at once; for what must not come. */
#define SILENCE_MS 300

static bool comes(int fd)
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};

	return poll(&wait, 1, SILENCE_MS) != 0;
}

/* --- datagrams --- */

struct call {
	const char *to;
	int port;
};

static int do_call(void *data)
{
	const struct call *call = data;
	struct peer to = peer_of(call->to, call->port);
	_cleanup_close_ int fd = socket(to.at.ss_family, SOCK_DGRAM, 0);

	return sendto(fd, "who?", 4, 0, peer_at(&to), to.length) == 4 ? 0 : errno;
}

static int check_silence(struct cell *cell, const struct call *call, int stub)
{
	__u64 before = cell_tally(cell).strangers;

	CHECK(cell_call(cell, BESIDE, do_call, (void *)call) == 0, "%s: not sent", call->to);
	CHECK(!comes(stub), "%s: the stub hears a stranger", call->to);
	CHECK(cell_tally(cell).strangers == before + 1, "%s: %llu strangers, then %llu", call->to,
	      before, cell_tally(cell).strangers);
	return 0;
}

static int check_ask(struct cell *cell, const char *to, bool connects, int stub)
{
	struct way way = {
		strchr(to, ':') ? AF_INET6 : AF_INET, SOCK_DGRAM, to, NULL, 53, connects, false, 0};
	pid_t pid = cell_spawn(cell, cell->cgroup_fd, do_ask, &way);
	int answered = answer(stub), r = cell_wait(pid);

	CHECK(answered == 0 && r == 0, "%s: a member: %s, %s", to, strerror(-answered),
	      outcome_text(r));
	return 0;
}

static int check_asks(struct cell *cell)
{
	_cleanup_ends_ struct ends ends = ENDS_NONE;
	struct call four = {"127.0.0.1", 0}, six = {"::1", 0};

	CHECK(ends_open(cell, &ends) == 0, "no ends");
	four.port = ends.outlet.stub4;
	six.port = ends.outlet.stub6;
	for (int connects = 0; connects < 2; connects++)
		if (check_ask(cell, OUTSIDE, connects, ends.stub4) ||
		    check_ask(cell, "2001:db8::53", connects, ends.stub6))
			return -1;
	CHECK(cell_tally(cell).strangers == 0, "members are strangers");
	return check_silence(cell, &four, ends.stub4) ?: check_silence(cell, &six, ends.stub6);
}

static int case_ask(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = egress_cell(kern);

	CHECK(cell, "no cell");
	return check_asks(cell);
}

static int lo_up(void)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM, 0);

	return ioctl(fd, SIOCSIFFLAGS, &request);
}

static int case_netns(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = egress_cell(kern);
	_cleanup_close_ int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	int r;

	CHECK(cell && home >= 0, "no cell");
	CHECK(unshare(CLONE_NEWNET) == 0 && lo_up() == 0, "no namespace");
	r = check_asks(cell);
	CHECK(setns(home, CLONE_NEWNET) == 0, "not back");
	return r;
}

/* A member who is connected to its stub, and waits. */
static int do_hold(void *data)
{
	struct board *board = data;
	struct peer to = peer_of(OUTSIDE, 53);
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (connect(fd, peer_at(&to), to.length) < 0)
		return errno;
	board->results[0] = bound_port(fd);
	board->done = 1;
	board_await(&board->go, 1);
	return 0;
}

/* In a member's name: of all addresses of the loopback anybody may take any for the source. */
static int send_forged(int port, int stub)
{
	struct peer own = peer_of("127.0.0.2", port), to = peer_of("127.0.0.1", stub);
	struct in_pktinfo info = {.ipi_spec_dst.s_addr = htonl(INADDR_LOOPBACK)};
	struct iovec bytes = {(void *)"forged", 6};
	char control[CMSG_SPACE(sizeof(info))] __attribute__((aligned(8))) = {};
	struct msghdr msg = {.msg_name = &to.at,
			     .msg_namelen = to.length,
			     .msg_iov = &bytes,
			     .msg_iovlen = 1,
			     .msg_control = control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM, 0);

	head->cmsg_level = IPPROTO_IP;
	head->cmsg_type = IP_PKTINFO;
	head->cmsg_len = CMSG_LEN(sizeof(info));
	memcpy(CMSG_DATA(head), &info, sizeof(info));
	return bind(fd, peer_at(&own), own.length) < 0 || sendmsg(fd, &msg, 0) != 6 ? -errno : 0;
}

static int case_forged(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = egress_cell(kern);
	_cleanup_ends_ struct ends ends = ENDS_NONE;
	struct board *board = board_new();
	pid_t pid;
	int r;

	CHECK(cell && board && ends_open(cell, &ends) == 0, "no cell");
	if (check_ask(cell, OUTSIDE, true, ends.stub4))
		return -1;
	pid = cell_spawn(cell, cell->cgroup_fd, do_hold, board);
	r = board_await(&board->done, 1) ?: send_forged(board->results[0], ends.outlet.stub4);
	board->go = 1;
	CHECK(cell_wait(pid) == 0 && r == 0, "not sent: %s", strerror(-r));
	board_free(board);
	CHECK(!comes(ends.stub4), "it is taken for a member's");
	CHECK(cell_tally(cell).strangers == 1, "%llu strangers", cell_tally(cell).strangers);
	return 0;
}

/* --- connections --- */

static int do_knock(void *data)
{
	struct peer to = peer_of("127.0.0.1", *(int *)data);
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	struct pollfd wait = {.fd = fd, .events = POLLOUT};

	if (connect(fd, peer_at(&to), to.length) == 0 || errno != EINPROGRESS)
		return errno;
	return poll(&wait, 1, SILENCE_MS) == 0 ? ETIMEDOUT : 0;
}

static int case_connect(struct kern *kern)
{
	static const struct way way = {AF_INET, SOCK_STREAM, SYNTHETIC, NULL, 443, false, false, 0};
	_cleanup_cell_ struct cell *cell = egress_cell(kern);
	_cleanup_ends_ struct ends ends = ENDS_NONE;
	_cleanup_close_ int taken = -1;
	struct bh_flow flow;
	int port, r, took;
	pid_t pid;

	CHECK(cell && ends_open(cell, &ends) == 0, "no cell");
	port = ends.outlet.relay;
	pid = cell_spawn(cell, cell->cgroup_fd, do_connect, (void *)&way);
	took = take_flow(cell, &ends, &taken, &flow);
	r = cell_wait(pid);
	CHECK(took == 0 && r == 0, "a member: %s, %s", strerror(-took), outcome_text(r));
	CHECK(cell_tally(cell).strangers == 0, "a member is a stranger");
	r = cell_call(cell, BESIDE, do_knock, &port);
	CHECK(r == ETIMEDOUT, "a stranger: %s", outcome_text(r));
	CHECK(!comes(ends.relay), "a stranger is in the relay's queue");
	CHECK(cell_tally(cell).strangers > 0, "no stranger was counted");
	return 0;
}

/* --- answers --- */

static int say_to(int stub, const char *address, int port)
{
	struct peer to = peer_of(address, port);

	return sendto(stub, "boo", 3, 0, peer_at(&to), to.length) == 3 ? 0 : errno;
}

static int check_answers(const struct ends *ends, const char *address, int stub)
{
	struct peer at = peer_of(address, 0);
	_cleanup_close_ int other = socket(at.at.ss_family, SOCK_DGRAM, 0);
	int port, r;

	CHECK(bind(other, peer_at(&at), at.length) == 0, "%s: not bound", address);
	port = bound_port(other);
	r = say_to(stub, address, port);
	CHECK(r == EACCES, "%s: to a stranger: %s", address, outcome_text(r));
	at = peer_of(address, port);
	r = connect(stub, peer_at(&at), at.length) < 0 ? errno : 0;
	CHECK(r == EACCES, "%s: connected to a stranger: %s", address, outcome_text(r));
	CHECK(!comes(other), "%s: a stranger hears the stub", address);
	r = say_to(stub, address, ends->outlet.stub4);
	CHECK(ends->stub4 != stub || r == EACCES, "%s: to an outlet: %s", address, outcome_text(r));
	close(other);
	other = -1;
	r = say_to(stub, address, port);
	CHECK(r == 0 || r == ECONNREFUSED, "%s: to nobody: %s", address, outcome_text(r));
	return 0;
}

/* Members hear them, as check_ask shows. */
static int case_answers(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = egress_cell(kern);
	_cleanup_ends_ struct ends ends = ENDS_NONE;
	__u64 before, after;
	int r;

	CHECK(cell && ends_open(cell, &ends) == 0, "no cell");
	if (check_ask(cell, OUTSIDE, false, ends.stub4) ||
	    check_ask(cell, "2001:db8::53", false, ends.stub6))
		return -1;
	CHECK(kern_fence_refused(kern, &before) == 0, "no count");
	if (check_answers(&ends, "127.0.0.1", ends.stub4) ||
	    check_answers(&ends, "::1", ends.stub6))
		return -1;
	r = say_to(ends.stub4, "8.8.8.8", 53);
	CHECK(r == EACCES, "to the world: %s", outcome_text(r));
	CHECK(kern_fence_refused(kern, &after) == 0 && after == before + 6,
	      "%llu refused, then %llu", before, after);
	return 0;
}

const struct test_case strangers_cases[] = {
	{"strangers/ask", case_ask, CASE_REFUSES},
	{"strangers/netns", case_netns, CASE_REFUSES},
	{"strangers/forged", case_forged, CASE_REFUSES},
	{"strangers/connect", case_connect, CASE_REFUSES},
	{"strangers/answers", case_answers, CASE_REFUSES},
	{},
};

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sockets that were made inside and are used outside: the cgroup programs follow where one was born. */
#include "harness.h"
#include "board.h"

#include <errno.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct board *board;

/* While the compartment is only ARMED nothing is judged, so a socket can be born inside. */
static int sockets_wait(void *data _unused_)
{
	board->results[0] = socket(AF_INET, SOCK_DGRAM, 0);
	board->results[1] = socket(AF_INET6, SOCK_DGRAM, 0);
	board->done = 1;
	board_await(&board->go, 1);
	return 0;
}

static int take_sockets(struct cell *cell, int *ret4, int *ret6)
{
	_cleanup_close_ int pidfd = -1;
	pid_t pid;

	CHECK(cell_set_state(cell, BH_STATE_ARMED) == 0, "cannot arm");
	pid = cell_spawn(cell, cell->cgroup_fd, sockets_wait, NULL);
	CHECK(pid > 0 && board_await(&board->done, 1) == 0, "no sockets");
	pidfd = syscall(SYS_pidfd_open, pid, 0);
	*ret4 = syscall(SYS_pidfd_getfd, pidfd, board->results[0], 0);
	*ret6 = syscall(SYS_pidfd_getfd, pidfd, board->results[1], 0);
	board->go = 1;
	cell_wait(pid);
	CHECK(*ret4 >= 0 && *ret6 >= 0, "no sockets");
	CHECK(cell_set_state(cell, BH_STATE_ENFORCED) == 0, "cannot enforce");
	return 0;
}

/* What the event of an address says: family, type, protocol, port; the address behind it. */
static int check_address_event(struct cell *cell, enum bh_hook hook, const char *to)
{
	const struct bh_event_copy *e = cell_event(cell, 0, hook);
	int family = strchr(to, ':') ? AF_INET6 : AF_INET;
	unsigned char address[16];

	CHECK(e, "%s: no event", hook_name(hook));
	CHECK(e->head.reason == BH_REASON_NETWORK && e->head.kind == BH_OBJECT_SOCKET,
	      "%s: reason %s, kind %u", hook_name(hook), reason_text(e->head.reason), e->head.kind);
	CHECK(e->head.tgid == (__u32)getpid(), "%s: the event is of process %u", hook_name(hook),
	      e->head.tgid);
	CHECK(e->head.object[0] == (__u32)family && e->head.object[1] == SOCK_DGRAM &&
		      e->head.object[2] == IPPROTO_UDP && e->head.object[3] == 4660,
	      "%s: family %u, type %u, protocol %u, port %u", hook_name(hook), e->head.object[0],
	      e->head.object[1], e->head.object[2], e->head.object[3]);
	CHECK(inet_pton(family, to, address) == 1 &&
		      !memcmp(e->tail, address, family == AF_INET6 ? 16 : 4),
	      "%s: the event has another address than %s", hook_name(hook), to);
	return 0;
}

static int use_socket(struct cell *cell, enum bh_hook hook, const char *verb, int fd,
		      const char *to)
{
	char number[16];
	char *argv[] = {(char *)verb, number, (char *)to, (char *)"4660"};
	struct bh_tally before = cell_tally(cell), after;
	int r;

	snprintf(number, sizeof(number), "%d", fd);
	r = verb_run(4, argv);
	after = cell_tally(cell);
	CHECK(r == EACCES, "%s by an outsider: %s", hook_name(hook), outcome_text(r));
	CHECK(after.hook[hook] == before.hook[hook] + 1, "%s was not counted", hook_name(hook));
	cell_drain(cell);
	return check_address_event(cell, hook, to);
}

static int case_born_inside(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	_cleanup_close_ int fd4 = -1, fd6 = -1;

	CHECK(cell, "no cell");
	board = board_new();
	CHECK(board, "no memory");
	if (take_sockets(cell, &fd4, &fd6) ||
	    use_socket(cell, BH_HOOK_SENDMSG4, "send-fd", fd4, "127.0.0.9") ||
	    use_socket(cell, BH_HOOK_SENDMSG6, "send-fd", fd6, "::1") ||
	    use_socket(cell, BH_HOOK_CONNECT4, "connect-fd", fd4, "127.0.0.9") ||
	    use_socket(cell, BH_HOOK_CONNECT6, "connect-fd", fd6, "::1"))
		return -1;
	/* Mapped addresses go through the v6 programs. */
	return use_socket(cell, BH_HOOK_CONNECT6, "connect-fd", fd6, "::ffff:127.0.0.9");
}

const struct test_case sockets_cases[] = {
	{"sockets/born-inside", case_born_inside, CASE_REFUSES},
	{},
};

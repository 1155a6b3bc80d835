// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Where destinations are listed: what members send goes to the outlets of their network namespace, and nowhere else. */
#include "ends.h"
#include "board.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

/* --- the way out --- */

static const struct way connects[] = {
	{AF_INET, SOCK_STREAM, SYNTHETIC, NULL, 443, false, false, 0},
	{AF_INET, SOCK_STREAM, SYNTHETIC, NULL, 443, false, false, AF_INET},
	{AF_INET, SOCK_STREAM, SYNTHETIC, NULL, 443, false, true, 0},
	{AF_INET6, SOCK_STREAM, "::ffff:" SYNTHETIC, NULL, 8443, false, false, 0},
	{AF_INET6, SOCK_STREAM, "::ffff:" SYNTHETIC, NULL, 8443, false, false, AF_INET6},
	{AF_INET, SOCK_STREAM, OUTSIDE, NULL, 53, false, false, 0},
	{AF_INET6, SOCK_STREAM, "2001:db8::53", NULL, 53, false, false, 0},
};

static int check_connect(struct cell *cell, const struct ends *ends, const struct way *way)
{
	_cleanup_close_ int fd = -1;
	struct bh_flow flow = {};
	pid_t pid = cell_spawn(cell, cell->cgroup_fd, do_connect, (void *)way);
	int took = take_flow(cell, ends, &fd, &flow), r = cell_wait(pid);

	CHECK(r == 0, "%s port %d: %s%s", way->to, way->port, outcome_text(r), last_event(cell));
	CHECK(took == 0, "%s port %d: the relay does not know it: %s", way->to, way->port,
	      strerror(-took));
	CHECK(flow.serial == ends->outlet.serial && flow.compartment == cell->id &&
		      flow.port == way->port,
	      "%s: a flow of compartment %u to port %u", way->to, flow.compartment, flow.port);
	CHECK(flow.address == (strstr(way->to, SYNTHETIC) ? inet_addr(SYNTHETIC)
			       : strchr(way->to, ':')	  ? 0
							  : inet_addr(way->to)),
	      "%s: a flow to %08x", way->to, ntohl(flow.address));
	return 0;
}

static int case_connect(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = egress_cell(kern);
	_cleanup_ends_ struct ends ends = ENDS_NONE;

	CHECK(cell && ends_open(cell, &ends) == 0, "no cell");
	for (size_t i = 0; i < sizeof(connects) / sizeof(*connects); i++)
		if (check_connect(cell, &ends, &connects[i]))
			return -1;
	return 0;
}

/* --- clients at the same place --- */

struct twin {
	struct board *board;
	int port; /* 0: any */
	const char *to;
};

/* Connected from that port, until it is told to end. */
static int do_twin(void *data)
{
	struct twin *twin = data;
	struct peer at = peer_of("127.0.0.1", twin->port), to = peer_of(twin->to, 443);
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM, 0);
	const int yes = 1;
	int r = 0;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(fd, peer_at(&at), at.length) < 0 || connect(fd, peer_at(&to), to.length) < 0)
		r = errno;
	twin->board->results[0] = bound_port(fd);
	twin->board->done = 1;
	board_await(&twin->board->go, 1);
	return r;
}

static int check_twin(struct cell *cell, const struct ends *ends, const char *to)
{
	_cleanup_close_ int fd = -1;
	struct bh_flow flow = {};
	int took = take_flow(cell, ends, &fd, &flow);

	CHECK(took == 0, "compartment %u: the relay does not know it: %s", cell->id,
	      strerror(-took));
	CHECK(flow.serial == ends->outlet.serial && flow.address == inet_addr(to),
	      "compartment %u: it is taken for %u's to %08x", cell->id, flow.compartment,
	      ntohl(flow.address));
	return 0;
}

#define SYNTHETIC_OTHER "198.18.0.2"

/* Two compartments' clients with the same address and port, both on the way: each is its own relay's. */
static int case_twins(struct kern *kern)
{
	const struct cell_options options = {.flags = BH_POLICY_INET};
	_cleanup_cell_ struct cell *one = cell_new(kern, &options), *two = cell_new(kern, &options);
	_cleanup_ends_ struct ends ones = ENDS_NONE, twos = ENDS_NONE;
	struct twin first = {board_new(), 0, SYNTHETIC}, second = {board_new(), 0, SYNTHETIC_OTHER};
	pid_t pids[2];
	int r;

	CHECK(one && two && first.board && second.board && ends_open(one, &ones) == 0 &&
		      ends_open(two, &twos) == 0,
	      "no cells");
	pids[0] = cell_spawn(one, one->cgroup_fd, do_twin, &first);
	r = board_await(&first.board->done, 1);
	second.port = first.board->results[0];
	pids[1] = cell_spawn(two, two->cgroup_fd, do_twin, &second);
	r = r ?: board_await(&second.board->done, 1);
	CHECK(r == 0 && second.board->results[0] == second.port, "port %d, port %d", second.port,
	      second.board->results[0]);
	r = check_twin(one, &ones, SYNTHETIC) ?: check_twin(two, &twos, SYNTHETIC_OTHER);
	first.board->go = second.board->go = 1;
	CHECK(cell_wait(pids[0]) == 0 && cell_wait(pids[1]) == 0, "not connected");
	board_free(first.board);
	board_free(second.board);
	return r;
}

static const struct sockaddr unconnected = {.sa_family = AF_UNSPEC};

/* Connected to the relay, then to a server inside. */
static int do_again(void *data _unused_)
{
	struct peer own = peer_of("127.0.0.1", 0), relay = peer_of(SYNTHETIC, 443);
	_cleanup_close_ int server = socket(AF_INET, SOCK_STREAM, 0),
			    fd = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(server, peer_at(&own), own.length) < 0 || listen(server, 1) < 0 ||
	    getsockname(server, peer_at(&own), &own.length) < 0 ||
	    connect(fd, peer_at(&relay), relay.length) < 0 ||
	    connect(fd, &unconnected, sizeof(unconnected)) < 0)
		return errno;
	return connect(fd, peer_at(&own), own.length) < 0 ? errno : 0;
}

/* What does not go to the relay leaves no entry, which nobody would take: it would be who has the port next. */
static int case_again(struct kern *kern)
{
	const struct cell_options options = {.flags = BH_POLICY_INET};
	_cleanup_cell_ struct cell *cell = cell_new(kern, &options);
	_cleanup_ends_ struct ends ends = ENDS_NONE;
	_cleanup_close_ int fd = -1;
	struct bh_flow flow = {};
	pid_t pid;
	int r;

	CHECK(cell && ends_open(cell, &ends) == 0, "no cell");
	CHECK(kern_flows_clear(kern) == 0, "flows stay");
	pid = cell_spawn(cell, cell->cgroup_fd, do_again, NULL);
	r = take_flow(cell, &ends, &fd, &flow);
	CHECK(r == 0, "the relay does not know it: %s", strerror(-r));
	r = cell_wait(pid);
	CHECK(r == 0, "a server inside: %s", outcome_text(r));
	CHECK(count_flows(cell) == 0, "%d flows are left", count_flows(cell));
	return 0;
}

/* Others' connections, which nobody takes, are no reason for this one to be lost. */
static int case_crowd(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = egress_cell(kern);
	_cleanup_ends_ struct ends ends = ENDS_NONE;
	struct bh_flow_key key = {.netns = 1};
	struct bh_flow flow = {.serial = 1};
	int r;

	CHECK(cell && ends_open(cell, &ends) == 0, "no cell");
	for (key.address = 0; key.address < BH_MAX_FLOWS; key.address++)
		bpf_map_update_elem(kern_flows_fd(kern), &key, &flow, BPF_ANY);
	r = check_connect(cell, &ends, &connects[0]);
	kern_flows_clear(kern);
	return r;
}

static const struct way asks[] = {
	{AF_INET, SOCK_DGRAM, OUTSIDE, NULL, 53, false, false, 0},
	{AF_INET, SOCK_DGRAM, OUTSIDE, NULL, 53, false, false, AF_INET},
	{AF_INET, SOCK_DGRAM, OUTSIDE, NULL, 53, true, false, 0},
	{AF_INET, SOCK_DGRAM, "127.0.0.53", NULL, 53, true, false, 0},
	{AF_INET6, SOCK_DGRAM, "2001:db8::53", NULL, 53, false, false, 0},
	{AF_INET6, SOCK_DGRAM, "2001:db8::53", NULL, 53, true, false, 0},
	{AF_INET6, SOCK_DGRAM, "2001:db8::53", NULL, 53, false, false, AF_INET6},
	{AF_INET6, SOCK_DGRAM, "::1", NULL, 53, true, false, 0},
	{AF_INET6, SOCK_DGRAM, "::ffff:" OUTSIDE, NULL, 53, false, false, AF_INET6},
	{AF_INET6, SOCK_DGRAM, "::ffff:" OUTSIDE, NULL, 53, true, false, 0},
	{AF_INET6, SOCK_DGRAM, OUTSIDE, "::ffff:" OUTSIDE, 53, false, false, 0},
};

static int check_ask(struct cell *cell, const struct ends *ends, const struct way *way)
{
	bool six = strchr(way->to, ':') && strncmp(way->to, "::ffff:", 7) != 0;
	pid_t pid = cell_spawn(cell, cell->cgroup_fd, do_ask, (void *)way);
	int answered = answer(six ? ends->stub6 : ends->stub4), r = cell_wait(pid);

	CHECK(answered == 0, "%s: the stub was not asked: %s; %s%s", way->to, strerror(-answered),
	      outcome_text(r), last_event(cell));
	CHECK(r == 0, "%s%s: %s", way->to, way->connects ? ", connected" : "", outcome_text(r));
	return 0;
}

static int case_ask(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = egress_cell(kern);
	_cleanup_ends_ struct ends ends = ENDS_NONE;

	CHECK(cell && ends_open(cell, &ends) == 0, "no cell");
	for (size_t i = 0; i < sizeof(asks) / sizeof(*asks); i++)
		if (check_ask(cell, &ends, &asks[i]))
			return -1;
	return 0;
}

/* --- refusals --- */

static const struct {
	struct way way;
	enum bh_hook hook;
} elsewhere[] = {
	{{AF_INET, SOCK_STREAM, OUTSIDE, NULL, 443, false, false, 0}, BH_HOOK_CONNECT4},
	{{AF_INET, SOCK_STREAM, OUTSIDE, NULL, 443, false, true, 0}, BH_HOOK_CONNECT4},
	{{AF_INET, SOCK_STREAM, "127.0.0.1", NULL, 22, false, false, 0}, BH_HOOK_CONNECT4},
	{{AF_INET, SOCK_STREAM, "0.0.0.0", NULL, 22, false, false, 0}, BH_HOOK_CONNECT4},
	{{AF_INET, SOCK_STREAM, "198.17.255.255", NULL, 443, false, false, 0}, BH_HOOK_CONNECT4},
	{{AF_INET, SOCK_STREAM, "198.20.0.0", NULL, 443, false, false, 0}, BH_HOOK_CONNECT4},
	{{AF_INET6, SOCK_STREAM, "2001:db8::9", NULL, 443, false, false, 0}, BH_HOOK_CONNECT6},
	{{AF_INET6, SOCK_STREAM, "2001:db8::9", NULL, 443, false, true, 0}, BH_HOOK_CONNECT6},
	{{AF_INET6, SOCK_STREAM, "::1", NULL, 22, false, false, 0}, BH_HOOK_CONNECT6},
	{{AF_INET6, SOCK_STREAM, "::ffff:" OUTSIDE, NULL, 443, false, false, 0}, BH_HOOK_CONNECT6},
	/* 198.18.0.1 is in the range as the last four bytes, and is no mapped address. */
	{{AF_INET6, SOCK_STREAM, "2001:db8::c612:1", NULL, 443, false, false, 0}, BH_HOOK_CONNECT6},
	{{AF_INET6, SOCK_STREAM, "::c612:1", NULL, 443, false, false, 0}, BH_HOOK_CONNECT6},
	{{AF_INET, SOCK_DGRAM, SYNTHETIC, NULL, 443, true, false, 0}, BH_HOOK_CONNECT4},
	{{AF_INET, SOCK_DGRAM, SYNTHETIC, NULL, 443, false, false, 0}, BH_HOOK_SENDMSG4},
	{{AF_INET, SOCK_DGRAM, OUTSIDE, NULL, 853, false, false, 0}, BH_HOOK_SENDMSG4},
	{{AF_INET, SOCK_DGRAM, "224.0.0.251", NULL, 5353, false, false, 0}, BH_HOOK_SENDMSG4},
	{{AF_INET, SOCK_DGRAM, "127.0.0.1", NULL, 9, false, false, 0}, BH_HOOK_SENDMSG4},
	{{AF_INET6, SOCK_DGRAM, "2001:db8::9", NULL, 443, false, false, 0}, BH_HOOK_SENDMSG6},
	{{AF_INET6, SOCK_DGRAM, "::1", NULL, 9, false, false, 0}, BH_HOOK_SENDMSG6},
	{{AF_INET6, SOCK_DGRAM, "::ffff:" OUTSIDE, NULL, 443, false, false, 0}, BH_HOOK_SENDMSG4},
	{{AF_INET6, SOCK_DGRAM, OUTSIDE, NULL, 443, true, false, 0}, BH_HOOK_CONNECT4},
};

static int case_elsewhere(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = egress_cell(kern);
	_cleanup_ends_ struct ends ends = ENDS_NONE;

	CHECK(cell && ends_open(cell, &ends) == 0, "no cell");
	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(*elsewhere); i++) {
		const struct way *way = &elsewhere[i].way;

		if (check_refused(cell, way->type == SOCK_DGRAM ? do_ask : do_connect, (void *)way,
				  elsewhere[i].hook, EACCES, way->to))
			return -1;
	}
	return 0;
}

/* The relay is gone, and somebody else has its port: no way out, whatever the entry says. */
static int case_gone(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = egress_cell(kern);
	_cleanup_ends_ struct ends ends = ENDS_NONE;
	_cleanup_close_ int other = -1;
	struct peer at;
	const int yes = 1;

	CHECK(cell && ends_open(cell, &ends) == 0, "no cell");
	if (check_connect(cell, &ends, &connects[0]))
		return -1;
	at = peer_of("127.0.0.1", ends.outlet.relay);
	close(ends.relay);
	ends.relay = -1;
	if (check_refused(cell, do_connect, (void *)&connects[0], BH_HOOK_CONNECT4, EACCES, "gone"))
		return -1;
	other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(other, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	CHECK(bind(other, peer_at(&at), at.length) == 0 && listen(other, 1) == 0,
	      "the relay's port is not to be had: %s", strerror(errno));
	if (check_refused(cell, do_connect, (void *)&connects[0], BH_HOOK_CONNECT4, EACCES,
			  "somebody else's"))
		return -1;
	CHECK(cell_event(cell, 0, BH_HOOK_CONNECT4)->head.reason == BH_REASON_UNSURE_OUTLET,
	      "the reason is another one");
	/* As if it had been the agent's: the same act goes through, so that the mark alone decided. */
	CHECK(kern_outlet_mark(kern, other, cell->id, ends.outlet.serial) == 0, "cannot mark it");
	ends.relay = dup(other);
	return check_connect(cell, &ends, &connects[0]);
}

/* Another compartment's, or none for this network namespace. */
static int case_none(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = egress_cell(kern), *other = egress_cell(kern);
	_cleanup_ends_ struct ends ends = ENDS_NONE;
	struct bh_outlet outlet;

	CHECK(cell && other && ends_open(other, &ends) == 0, "no cell");
	if (check_refused(cell, do_connect, (void *)&connects[0], BH_HOOK_CONNECT4, EACCES,
			  "without an outlet") ||
	    check_connect(other, &ends, &connects[0]))
		return -1;
	outlet = ends.outlet;
	outlet.serial--;
	CHECK(kern_outlet_set(kern, other->id, ends.netns, &outlet) == 0, "cannot set it");
	if (check_refused(other, do_connect, (void *)&connects[0], BH_HOOK_CONNECT4, EACCES,
			  "an earlier compartment's"))
		return -1;
	CHECK(kern_outlets_clear(kern, other->id) == 0, "cannot clear it");
	return check_refused(other, do_ask, (void *)&asks[0], BH_HOOK_SENDMSG4, EACCES, "cleared");
}

/* --- sockets that are not the compartment's by birth --- */

static int foreign;

static int do_foreign(void *data)
{
	const struct way *way = data;
	struct peer to = peer_of(way->to, way->port);

	if (way->connects)
		return connect(foreign, peer_at(&to), to.length) < 0 ? errno : 0;
	return sendto(foreign, "x", 1, way->fast ? MSG_FASTOPEN : 0, peer_at(&to), to.length) < 0
		       ? errno
		       : 0;
}

static const struct {
	struct way way;
	enum bh_hook hook;
} foreigners[] = {
	{{AF_INET, SOCK_STREAM, SYNTHETIC, NULL, 443, true, false, 0}, BH_HOOK_SOCKET_CONNECT},
	{{AF_INET, SOCK_STREAM, SYNTHETIC, NULL, 443, false, true, 0}, BH_HOOK_SOCKET_SENDMSG},
	{{AF_INET, SOCK_DGRAM, OUTSIDE, NULL, 53, true, false, 0}, BH_HOOK_SOCKET_CONNECT},
	{{AF_INET, SOCK_DGRAM, OUTSIDE, NULL, 53, false, false, 0}, BH_HOOK_SOCKET_SENDMSG},
};

/* Born outside, and inherited. */
static int case_foreign(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = egress_cell(kern);
	_cleanup_ends_ struct ends ends = ENDS_NONE;
	int r;

	CHECK(cell && ends_open(cell, &ends) == 0, "no cell");
	for (size_t i = 0; i < sizeof(foreigners) / sizeof(*foreigners); i++) {
		const struct way *way = &foreigners[i].way;

		foreign = socket(way->family, way->type, 0);
		r = check_refused(cell, do_foreign, (void *)way, foreigners[i].hook, EACCES,
				  way->to);
		close(foreign);
		if (r)
			return r;
	}
	return 0;
}

static struct board *moved;

static int do_moved(void *data)
{
	/* Judged once, so that its label says so from now on. */
	close(socket_for(data));
	moved->done = 1;
	board_await(&moved->go, 1);
	return do_connect(data);
}

/* Its label stays with a member that an operator moves out; what it makes then is born where no program of the
 * compartment's is asked. */
static int case_moved(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = egress_cell(kern);
	_cleanup_ends_ struct ends ends = ENDS_NONE;
	pid_t pid;
	int r;

	moved = board_new();
	CHECK(cell && moved && ends_open(cell, &ends) == 0, "no cell");
	pid = cell_spawn(cell, cell->cgroup_fd, do_moved, (void *)&connects[0]);
	r = board_await(&moved->done, 1) ?: cell_move(cell->beside, pid);
	moved->go = 1;
	CHECK(r == 0, "it is not moved: %s", strerror(-r));
	r = cell_wait(pid);
	CHECK(r == EACCES, "moved out: %s", outcome_text(r));
	cell_drain(cell);
	CHECK(cell_event(cell, 0, BH_HOOK_SOCKET_CONNECT), "no event of socket_connect");
	board_free(moved);
	return 0;
}

const struct test_case outlets_cases[] = {
	{"outlets/elsewhere", case_elsewhere, CASE_REFUSES},
	{"outlets/gone", case_gone, CASE_REFUSES},
	{"outlets/none", case_none, CASE_REFUSES},
	{"outlets/foreign", case_foreign, CASE_REFUSES},
	{"outlets/moved", case_moved, CASE_REFUSES},
	{"outlets/connect", case_connect, CASE_REFUSES},
	{"outlets/ask", case_ask, CASE_REFUSES},
	{"outlets/twins", case_twins, CASE_REFUSES},
	{"outlets/again", case_again, CASE_REFUSES},
	{"outlets/crowd", case_crowd, CASE_ALLOWS},
	{},
};

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* listen: ports that a policy names are open to who reaches them, and to nobody else is anything sent from there. */
#include "away.h"
#include "board.h"
#include "ends.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netpacket/packet.h>
#include <string.h>
#include <unistd.h>

#define NAMED 8443
#define OTHER 8444
#define N_OF(array) (sizeof(array) / sizeof(*(array)))

/* "*": at every address. */
static struct bh_port port_at(const char *address, int port)
{
	struct bh_port ret = {.port = (__u16)port};

	if (strchr(address, ':')) {
		inet_pton(AF_INET6, address, ret.address);
	} else if (strcmp(address, "*") != 0) {
		ret.address[2] = htonl(0xffff);
		inet_pton(AF_INET, address, &ret.address[3]);
	}
	return ret;
}

static struct cell *listen_cell(struct kern *kern, __u32 flags, const char *address)
{
	const struct bh_port port = port_at(address, NAMED);
	const struct cell_options options = {
		.flags = BH_POLICY_LISTEN | flags, .ports = &port, .nports = 1};

	return cell_new(kern, &options);
}

/* --- a server, and who comes to it --- */

struct server {
	const char *at;
	int port;
	struct board *board; /* results[0]: why it does not listen */
};

static int open_server(const char *address, int port, int *ret)
{
	const int yes = 1;
	struct peer at = peer_of(address, port);
	int fd = socket(at.at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*ret = fd;
	if (fd < 0)
		return errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	return bind(fd, peer_at(&at), at.length) < 0 || listen(fd, 8) < 0 ? errno : 0;
}

static void echo(int fd)
{
	char byte;

	while (recv(fd, &byte, 1, 0) == 1 && send(fd, &byte, 1, MSG_NOSIGNAL) == 1)
		continue;
	_exit(0);
}

/* Each connection in a process of its own; ends with its cgroup, or killed. */
static int do_serve(void *data)
{
	struct server *server = data;
	int fd, r = open_server(server->at, server->port, &fd);

	server->board->results[0] = r;
	server->board->done = 1;
	while (!r) {
		int peer = accept(fd, NULL, NULL);

		if (peer < 0)
			return errno;
		if (fork() == 0)
			echo(peer);
		close(peer);
	}
	return r;
}

/* Errno, or 0 and a process that is to be ended by serve_end. */
static int serve(struct cell *cell, enum where where, const char *at, int port, pid_t *ret)
{
	struct server server = {at, port, board_new()};
	int r;

	if (!server.board)
		return ENOMEM;
	*ret = cell_spawn(cell, where == INSIDE ? cell->cgroup_fd : cell->beside_fd, do_serve,
			  &server);
	r = -board_await(&server.board->done, 1);
	if (!r)
		r = server.board->results[0];
	if (r)
		cell_wait(*ret);
	board_free(server.board);
	return r;
}

static void serve_end(pid_t pid)
{
	cell_wait_ms(pid, 0, true);
}

static int talk(int fd)
{
	char byte = 'x';

	if (send(fd, &byte, 1, MSG_NOSIGNAL) != 1)
		return errno;
	return recv(fd, &byte, 1, 0) == 1 ? 0 : errno ?: EPIPE;
}

/* From away, or from here where that is NULL: errno, EAGAIN for silence. */
static int visit_keep(const struct away *away, const char *to, int port, int *ret_fd)
{
	struct peer at = peer_of(to, port);

	*ret_fd = away_socket(away, at.at.ss_family);
	if (*ret_fd < 0)
		return -*ret_fd;
	if (connect(*ret_fd, peer_at(&at), at.length) < 0)
		return errno == EINPROGRESS ? EAGAIN : errno;
	return talk(*ret_fd);
}

static int visit(const struct away *away, const char *to, int port)
{
	_cleanup_close_ int fd = -1;

	return visit_keep(away, to, port, &fd);
}

static const struct {
	const char *named, *at, *to;
	bool here; /* by who is on this host alone */
} opened[] = {
	{HERE4, HERE4, HERE4, false},
	{HERE4, "::ffff:" HERE4, HERE4, false},
	{HERE6, HERE6, HERE6, false},
	{"*", HERE4, HERE4, false},
	{"*", "0.0.0.0", HERE4, false},
	{"*", "::", HERE4, false},
	{"*", "::", HERE6, false},
	{"*", "::ffff:0.0.0.0", HERE4, false},
	{"*", "::", "127.0.0.1", true},
	{"*", "127.0.0.1", "127.0.0.1", true},
	{"127.0.0.1", "127.0.0.1", "127.0.0.1", true},
	{"127.9.8.7", "127.9.8.7", "127.9.8.7", true},
	{"::1", "::1", "::1", true},
};

static int check_open(struct kern *kern, const struct away *away, size_t i, __u32 flags)
{
	_cleanup_cell_ struct cell *cell = listen_cell(kern, flags, opened[i].named);
	pid_t pid;
	int r;

	CHECK(cell, "no cell");
	r = serve(cell, INSIDE, opened[i].at, NAMED, &pid);
	CHECK(r == 0, "at %s, %s being named: %s%s", opened[i].at, opened[i].named, outcome_text(r),
	      last_event(cell));
	r = visit(NULL, opened[i].to, NAMED);
	CHECK(r == 0, "at %s, to %s, from here: %s", opened[i].at, opened[i].to, outcome_text(r));
	for (int n = 0; !opened[i].here && n < 3; n++) {
		r = visit(away, opened[i].to, NAMED);
		CHECK(r == 0, "at %s, to %s, from away: %s", opened[i].at, opened[i].to,
		      outcome_text(r));
	}
	serve_end(pid);
	CHECK(cell_tally(cell).refused == 0 && cell_tally(cell).strayed == 0,
	      "at %s: refused %llu, strayed %llu", opened[i].at, cell_tally(cell).refused,
	      cell_tally(cell).strayed);
	return 0;
}

/* Alone, and beside what members have at loopback. */
static int case_open(struct kern *kern)
{
	_cleanup_away_ struct away away = AWAY_NONE;

	CHECK(away_open(&away) == 0, "nothing away");
	for (size_t i = 0; i < N_OF(opened); i++)
		if (check_open(kern, &away, i, 0) || check_open(kern, &away, i, BH_POLICY_LOOPBACK))
			return -1;
	return 0;
}

/* --- what is not named --- */

struct corner {
	int family, type;
	const char *address;
	int port;
};

static int do_bind(void *data)
{
	const struct corner *corner = data;
	struct peer at = peer_of(corner->address, corner->port);
	_cleanup_close_ int fd = socket(corner->family, corner->type, 0);

	if (fd < 0)
		return VERB_BROKEN + errno;
	return bind(fd, peer_at(&at), at.length) < 0 ? errno : 0;
}

/* At no port, at one that the kernel chooses: no name says so. */
static int do_listen(void *data)
{
	const bool *binds = data;
	struct peer at = peer_of("0.0.0.0", 0);
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || (*binds && bind(fd, peer_at(&at), at.length) < 0))
		return VERB_BROKEN + errno;
	return listen(fd, 1) < 0 ? errno : 0;
}

static const struct corner unnamed[] = {
	{AF_INET, SOCK_STREAM, HERE4, OTHER},
	{AF_INET, SOCK_STREAM, HERE4, 0},
	{AF_INET, SOCK_STREAM, "127.0.0.1", NAMED},
	{AF_INET, SOCK_STREAM, "0.0.0.0", NAMED},
	{AF_INET6, SOCK_STREAM, "::", NAMED},
	{AF_INET6, SOCK_STREAM, HERE6, NAMED},
	{AF_INET6, SOCK_STREAM, "::ffff:" HERE4, OTHER},
	{AF_INET6, SOCK_STREAM, "::ffff:0.0.0.0", NAMED},
	{AF_INET, SOCK_DGRAM, HERE4, NAMED},
	{AF_INET6, SOCK_DGRAM, "::ffff:" HERE4, NAMED},
};

static int case_unnamed(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = listen_cell(kern, 0, HERE4);
	_cleanup_away_ struct away away = AWAY_NONE;
	bool binds[] = {false, true};

	CHECK(cell && away_open(&away) == 0, "no cell, or nothing away");
	for (size_t i = 0; i < N_OF(unnamed); i++) {
		int r = cell_call(cell, BESIDE, do_bind, (void *)&unnamed[i]);

		CHECK(r == 0, "%s beside: %s", unnamed[i].address, outcome_text(r));
		if (check_refused(cell, do_bind, (void *)&unnamed[i], BH_HOOK_SOCKET_BIND, EACCES,
				  unnamed[i].address))
			return -1;
	}
	for (size_t i = 0; i < 2; i++) {
		CHECK(cell_call(cell, BESIDE, do_listen, &binds[i]) == 0, "listen beside");
		if (check_refused(cell, do_listen, &binds[i], BH_HOOK_SOCKET_LISTEN, EACCES,
				  "listen"))
			return -1;
	}
	return 0;
}

/* What members have at loopback is there alone, though it was bound to the wildcard and another port is named. */
static int case_loopback(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = listen_cell(kern, BH_POLICY_LOOPBACK, "*");
	_cleanup_away_ struct away away = AWAY_NONE;
	pid_t named, other;
	int r;

	CHECK(cell && away_open(&away) == 0, "no cell, or nothing away");
	CHECK(serve(cell, INSIDE, "::", NAMED, &named) == 0 &&
		      serve(cell, INSIDE, "::", OTHER, &other) == 0,
	      "no servers%s", last_event(cell));
	r = visit(&away, HERE4, NAMED);
	CHECK(r == 0, "named, from away: %s", outcome_text(r));
	r = visit(NULL, "127.0.0.1", OTHER);
	CHECK(r == 0, "at loopback: %s", outcome_text(r));
	CHECK(cell_tally(cell).strayed == 0, "strayed");
	r = visit(&away, HERE4, OTHER);
	CHECK(r == EAGAIN, "from away: %s", outcome_text(r));
	r = visit(&away, HERE6, OTHER);
	CHECK(r == EAGAIN, "from away by IPv6: %s", outcome_text(r));
	CHECK(cell_tally(cell).strayed >= 2, "strayed %llu", cell_tally(cell).strayed);
	serve_end(named);
	serve_end(other);
	return 0;
}

/* --- a reload --- */

static int cell_put(struct cell *cell, __u32 generation, enum bh_mode mode)
{
	struct bh_compartment entry;
	int r = kern_compartment_get(cell->kern, cell->id, &entry);

	entry.generation = generation;
	entry.mode = mode;
	return r < 0 ? r : kern_compartment_set(cell->kern, cell->id, &entry);
}

/* The generation before stays the caller's. */
static int reload(struct cell *cell, const char *address, __u32 *ret_before)
{
	const struct bh_port port = port_at(address, NAMED);
	const struct cell_options options = {
		.flags = BH_POLICY_LISTEN, .ports = &port, .nports = 1};

	*ret_before = cell->generation;
	if (cell_policy(cell, &options) < 0)
		return -1;
	return cell_put(cell, cell->generation, BH_MODE_ENFORCE);
}

static int check_reload(struct kern *kern, const struct away *away, const char *at)
{
	_cleanup_cell_ struct cell *cell = listen_cell(kern, 0, at);
	_cleanup_close_ int fd = -1;
	__u32 before, without;
	pid_t pid;
	int r;

	CHECK(cell && serve(cell, INSIDE, at, NAMED, &pid) == 0, "no server");
	r = visit_keep(away, at, NAMED, &fd);
	CHECK(r == 0, "%s: %s", at, outcome_text(r));
	CHECK(reload(cell, "192.0.2.1", &before) == 0, "no reload");
	kern_policy_remove(kern, before);
	r = talk(fd);
	CHECK(r == EAGAIN, "%s, after the reload: %s", at, outcome_text(r));
	r = visit(away, at, NAMED);
	CHECK(r == EAGAIN, "%s, anew after the reload: %s", at, outcome_text(r));
	CHECK(cell_tally(cell).strayed >= 2, "strayed %llu", cell_tally(cell).strayed);
	CHECK(reload(cell, at, &without) == 0, "no second reload");
	kern_policy_remove(kern, without);
	r = visit(away, at, NAMED);
	CHECK(r == 0, "%s, named again: %s", at, outcome_text(r));
	serve_end(pid);
	return 0;
}

static int case_reload(struct kern *kern)
{
	_cleanup_away_ struct away away = AWAY_NONE;

	CHECK(away_open(&away) == 0, "nothing away");
	if (check_reload(kern, &away, HERE4) || check_reload(kern, &away, HERE6))
		return -1;
	return check_reload(kern, NULL, "127.0.0.1");
}

/* Who listened before the compartment was, at what no policy names, goes on: its socket was born elsewhere. A new one is
 * judged. */
static int case_older(struct kern *kern)
{
	const struct corner anew = {AF_INET, SOCK_STREAM, HERE4, NAMED};
	_cleanup_cell_ struct cell *cell = listen_cell(kern, 0, "192.0.2.1");
	_cleanup_away_ struct away away = AWAY_NONE;
	_cleanup_close_ int fd = -1;
	pid_t pid;
	int r;

	CHECK(cell && away_open(&away) == 0, "no cell, or nothing away");
	CHECK(serve(cell, BESIDE, HERE4, OTHER, &pid) == 0, "no server");
	CHECK(cell_move(cell->cgroup, pid) == 0 && cell_settle(cell) == 0, "it cannot be moved");
	r = visit_keep(&away, HERE4, OTHER, &fd);
	CHECK(r == 0, "from away: %s", outcome_text(r));
	r = talk(fd);
	CHECK(r == 0, "again: %s", outcome_text(r));
	CHECK(cell_tally(cell).strayed == 0, "strayed");
	serve_end(pid);
	return check_refused(cell, do_bind, (void *)&anew, BH_HOOK_SOCKET_BIND, EACCES, "anew");
}

/* --- ways out --- */

/* From a port that is named. */
struct attempt {
	const char *name, *from, *to;
	bool listens, accepts, undoes; /* before it connects */
	enum { BY_CONNECT, BY_FASTOPEN, BY_LATE_FASTOPEN } by;
	int error; /* that a member sees */
	struct board *
		board; /* done: it waits for a visitor, or says how it ended; go: it sends once more */
};

/* Nothing is left of it when it ends: the next one has the same ends. */
static int bind_anew(int fd, const struct attempt *a)
{
	const struct linger none = {.l_onoff = 1};
	const int yes = 1;
	struct peer at = peer_of(a->from, NAMED);

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	return bind(fd, peer_at(&at), at.length) < 0 ? VERB_BROKEN + errno : 0;
}

static int undo(int fd)
{
	const struct sockaddr nothing = {.sa_family = AF_UNSPEC};

	return connect(fd, &nothing, sizeof(nothing)) < 0 ? errno : 0;
}

/* The listener goes, or its port could not be bound again. */
static int take_visitor(const struct attempt *a, int *fd)
{
	int peer;

	a->board->done = 1;
	peer = accept(*fd, NULL, NULL);
	if (peer < 0)
		return VERB_BROKEN + errno;
	close(*fd);
	*fd = peer;
	return 0;
}

static int prepare(const struct attempt *a, int *fd)
{
	int r = bind_anew(*fd, a);

	if (!r && a->listens && listen(*fd, 4) < 0)
		r = errno;
	if (!r && a->accepts)
		r = take_visitor(a, fd);
	if (!r && a->undoes)
		r = undo(*fd);
	return !r && a->accepts ? bind_anew(*fd, a) : r;
}

static int go_out(const struct attempt *a, int fd)
{
	const int yes = 1;
	struct peer to = peer_of(a->to, AWAY_PORT);

	if (a->by == BY_FASTOPEN)
		return sendto(fd, "1", 1, MSG_FASTOPEN | MSG_NOSIGNAL, peer_at(&to), to.length) == 1
			       ? 0
			       : errno;
	if (a->by == BY_LATE_FASTOPEN &&
	    (setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_NO_COOKIE, &yes, sizeof(yes)) < 0 ||
	     setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &yes, sizeof(yes)) < 0))
		return VERB_BROKEN + errno;
	if (connect(fd, peer_at(&to), to.length) < 0)
		return errno;
	return send(fd, "1", 1, MSG_NOSIGNAL) == 1 ? 0 : errno;
}

static int do_attempt(void *data)
{
	const struct attempt *a = data;
	int fd = socket(strchr(a->from, ':') ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
	int r = fd < 0 ? VERB_BROKEN + errno : prepare(a, &fd);

	if (!r)
		r = go_out(a, fd);
	a->board->results[0] = r;
	a->board->done = 2;
	if (!r && !board_await(&a->board->go, 1))
		send(fd, "2", 1, MSG_NOSIGNAL);
	return r;
}

static const struct attempt attempts[] = {
	{.name = "connect", .from = HERE4, .to = AWAY4, .error = EACCES},
	{.name = "connect by IPv6", .from = HERE6, .to = AWAY6, .error = EACCES},
	{.name = "connect to mapped",
	 .from = "::ffff:" HERE4,
	 .to = "::ffff:" AWAY4,
	 .error = EACCES},
	{.name = "fastopen", .from = HERE4, .to = AWAY4, .by = BY_FASTOPEN, .error = EACCES},
	{.name = "fastopen, late",
	 .from = HERE4,
	 .to = AWAY4,
	 .by = BY_LATE_FASTOPEN,
	 .error = EACCES},
	{.name = "listen, connect", .from = HERE4, .to = AWAY4, .listens = true, .error = EISCONN},
	{.name = "listen, undo, connect",
	 .from = HERE4,
	 .to = AWAY4,
	 .listens = true,
	 .undoes = true,
	 .error = EACCES},
	{.name = "listen, undo, fastopen",
	 .from = HERE4,
	 .to = AWAY4,
	 .listens = true,
	 .undoes = true,
	 .by = BY_FASTOPEN,
	 .error = EACCES},
	{.name = "accept, undo, connect",
	 .from = HERE4,
	 .to = AWAY4,
	 .listens = true,
	 .accepts = true,
	 .undoes = true,
	 .error = EACCES},
	{.name = "accept, undo, connect by IPv6",
	 .from = HERE6,
	 .to = AWAY6,
	 .listens = true,
	 .accepts = true,
	 .undoes = true,
	 .error = EACCES},
	{.name = "accept, undo, fastopen",
	 .from = HERE4,
	 .to = AWAY4,
	 .listens = true,
	 .accepts = true,
	 .undoes = true,
	 .by = BY_FASTOPEN,
	 .error = EACCES},
};

/* Begins it: its process, and what it came to. */
static int attempt(struct cell *cell, int cgroup_fd, const struct away *away, struct attempt *a,
		   pid_t *ret)
{
	_cleanup_close_ int visitor = -1;
	const char *to = strncmp(a->from, "::ffff:", 7) ? a->from : a->from + 7;
	struct peer at = peer_of(to, NAMED);

	a->board->go = a->board->done = 0;
	*ret = cell_spawn(cell, cgroup_fd, do_attempt, a);
	if (board_await(&a->board->done, 1))
		return VERB_BROKEN + ETIMEDOUT;
	if (a->accepts) {
		/* Cut as soon as it is there, which may be before connect(2) returns. */
		visitor = away_socket(away, at.at.ss_family);
		if (connect(visitor, peer_at(&at), at.length) < 0 && errno != ECONNRESET)
			return VERB_BROKEN + errno;
	}
	return board_await(&a->board->done, 2) ? VERB_BROKEN + ETIMEDOUT : a->board->results[0];
}

static int check_beside(struct cell *cell, const struct away *away, struct attempt *a)
{
	_cleanup_close_ int fd = -1;
	pid_t pid;
	int r = attempt(cell, cell->beside_fd, away, a, &pid);

	CHECK(r == (a->error == EISCONN ? EISCONN : 0), "%s, beside: %s", a->name, outcome_text(r));
	if (r == 0)
		fd = away_accept(away);
	cell_wait_ms(pid, 0, true);
	CHECK(r || (fd >= 0 && away_count(away) > 0), "%s, beside: nothing came", a->name);
	return 0;
}

static enum bh_hook hook_of(const struct attempt *a)
{
	return strchr(a->to, ':') ? BH_HOOK_CONNECT6 : BH_HOOK_CONNECT4;
}

static int check_inside(struct cell *cell, const struct away *away, struct attempt *a)
{
	__u64 refused = a->error == EACCES, before = cell_tally(cell).hook[hook_of(a)];
	size_t from = cell->nevents;
	pid_t pid;
	int r = attempt(cell, cell->cgroup_fd, away, a, &pid);

	cell_wait_ms(pid, 0, true);
	CHECK(r == a->error, "%s: %s", a->name, outcome_text(r));
	CHECK(away_count(away) == 0, "%s: segments came", a->name);
	CHECK(cell_tally(cell).hook[hook_of(a)] == before + refused, "%s: not counted", a->name);
	cell_drain(cell);
	CHECK(!refused || cell_event(cell, from, hook_of(a)), "%s: no event", a->name);
	return 0;
}

static int case_out(struct kern *kern)
{
	const struct bh_port ports[] = {port_at(HERE4, NAMED), port_at(HERE6, NAMED)};
	const struct cell_options options = {
		.flags = BH_POLICY_LISTEN, .ports = ports, .nports = 2};
	_cleanup_cell_ struct cell *cell = cell_new(kern, &options);
	_cleanup_away_ struct away away = AWAY_NONE;
	struct attempt a;
	int r = 0;

	CHECK(cell && away_open(&away) == 0, "no cell, or nothing away");
	a.board = board_new();
	for (size_t i = 0; r == 0 && i < N_OF(attempts); i++) {
		struct board *board = a.board;

		a = attempts[i];
		a.board = board;
		away_count(&away);
		r = check_beside(cell, &away, &a);
		away_count(&away);
		if (r == 0)
			r = check_inside(cell, &away, &a);
	}
	board_free(a.board);
	return r;
}

/* A connection that a member began while nothing was refused. From a port that is named, and of a socket that listened, or
 * came: it goes no further. */
static int check_begun(struct cell *cell, const struct away *away, struct attempt *a)
{
	_cleanup_close_ int fd = -1;
	__u64 strayed;
	char byte = 0;
	pid_t pid;
	int r;

	CHECK(cell_put(cell, cell->generation, BH_MODE_AUDIT) == 0, "no audit");
	r = attempt(cell, cell->cgroup_fd, away, a, &pid);
	CHECK(r == 0, "%s, audited: %s", a->name, outcome_text(r));
	fd = away_accept(away);
	CHECK(fd >= 0 && recv(fd, &byte, 1, 0) == 1 && byte == '1', "%s, audited: nothing came",
	      a->name);
	away_count(away);
	strayed = cell_tally(cell).strayed;
	CHECK(cell_put(cell, cell->generation, BH_MODE_ENFORCE) == 0, "not enforced");
	a->board->go = 1;
	r = recv(fd, &byte, 1, 0) == 1 ? 0 : errno;
	cell_wait_ms(pid, 0, true);
	CHECK(r == EAGAIN, "%s: %s", a->name, outcome_text(r));
	CHECK(away_count(away) == 0, "%s: segments came", a->name);
	CHECK(cell_tally(cell).strayed > strayed, "%s: nothing strayed", a->name);
	return 0;
}

static int case_begun(struct kern *kern)
{
	const struct bh_port ports[] = {port_at(HERE4, NAMED), port_at(HERE6, NAMED)};
	const struct cell_options options = {
		.flags = BH_POLICY_LISTEN, .ports = ports, .nports = 2};
	_cleanup_cell_ struct cell *cell = cell_new(kern, &options);
	_cleanup_away_ struct away away = AWAY_NONE;
	struct board *board = board_new();
	int r = 0;

	CHECK(cell && board && away_open(&away) == 0, "no cell, or nothing away");
	for (size_t i = 0; r == 0 && i < N_OF(attempts); i++) {
		struct attempt a = attempts[i];

		a.board = board;
		if (a.error == EACCES)
			r = check_begun(cell, &away, &a);
	}
	board_free(board);
	return r;
}

/* --- a connection of loopback, by another device --- */

/* All that is sent by it: what this host tells of groups is none of ours. */
static int dummy_tap(void)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET,
				 .sll_protocol = htons(ETH_P_ALL),
				 .sll_ifindex = (int)if_nametoindex("bhdum")};
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ? -1 : fd;
}

static int count_tcp(int tap)
{
	unsigned char packet[64] = {};
	int n = 0;

	while (recv(tap, packet, sizeof(packet), MSG_DONTWAIT) > 0)
		n += packet[0] >> 4 == 4 && packet[9] == IPPROTO_TCP;
	return n;
}

static void dummy_remove(int *made)
{
	if (*made && system("ip link del bhdum") != 0)
		perror("the device stays");
}

/* Takes one who came from this very host, and binds the connection to the device. Nothing is sent again when it ends. */
static int do_divert(void *data)
{
	const struct linger none = {.l_onoff = 1};
	struct board *board = data;
	int fd, peer, r = open_server(HERE4, NAMED, &fd);
	char byte;

	board->done = 1;
	if (r)
		return r;
	peer = accept(fd, NULL, NULL);
	if (peer < 0 || recv(peer, &byte, 1, 0) != 1 || send(peer, &byte, 1, 0) != 1)
		return VERB_BROKEN + errno;
	if (board_await(&board->go, 1) ||
	    setsockopt(peer, SOL_SOCKET, SO_LINGER, &none, sizeof(none)) < 0 ||
	    setsockopt(peer, SOL_SOCKET, SO_BINDTODEVICE, "bhdum", sizeof("bhdum")) < 0)
		return VERB_BROKEN + errno;
	send(peer, "secret", 6, MSG_NOSIGNAL);
	usleep(PATIENCE_MS * 1000);
	return 0;
}

/* Segments that went out by the device; -1. */
static int divert(struct cell *cell, int cgroup_fd)
{
	_cleanup_close_ int fd = -1, tap = dummy_tap();
	struct board *board = board_new();
	pid_t pid;
	int r;

	if (!board || tap < 0)
		return -1;
	pid = cell_spawn(cell, cgroup_fd, do_divert, board);
	r = board_await(&board->done, 1) ?: visit_keep(NULL, HERE4, NAMED, &fd);
	board->go = 1;
	r = cell_wait(pid) ?: r;
	board_free(board);
	return r ? -1 : count_tcp(tap);
}

static int case_device(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = listen_cell(kern, 0, HERE4);
	_cleanup_away_ struct away away = AWAY_NONE;
	_cleanup_(dummy_remove) int made = 0;
	int n;

	CHECK(cell && away_open(&away) == 0, "no cell, or nothing away");
	CHECK(system("ip link add bhdum type dummy && "
		     "echo 1 >/proc/sys/net/ipv6/conf/bhdum/disable_ipv6 && "
		     "ip addr add 192.0.2.1/24 dev bhdum && ip link set bhdum up && "
		     "ip route add default via 192.0.2.2 dev bhdum") == 0,
	      "no device");
	made = 1;
	n = divert(cell, cell->beside_fd);
	CHECK(n > 0, "beside: %d segments", n);
	n = divert(cell, cell->cgroup_fd);
	CHECK(n == 0, "inside: %d segments", n);
	CHECK(cell_tally(cell).strayed > 0, "nothing strayed");
	return 0;
}

/* --- the map --- */

static int count_ports(void)
{
	_cleanup_close_ int map = bpf_obj_get(KERN_PIN_DIR "/maps/bh_ports");
	struct bh_port key, *previous = NULL;
	int n = 0;

	while (n <= BH_MAX_PORTS && bpf_map_get_next_key(map, previous, &key) == 0) {
		previous = &key;
		n++;
	}
	return map < 0 ? -1 : n;
}

/* They go with their generation alone, and a full map is an error, not a port less. */
static int case_room(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = listen_cell(kern, 0, HERE4);
	_cleanup_cell_ struct cell *other = NULL;
	struct bh_port port = port_at("*", 1);
	__u32 before = 0;
	int n = 0, r = 0;

	CHECK(cell && count_ports() == 1, "%d ports", count_ports());
	CHECK(reload(cell, "*", &before) == 0 && count_ports() == 2, "%d ports, then",
	      count_ports());
	for (; r == 0 && n <= BH_MAX_PORTS; n++) {
		port.address[0] = htonl((__u32)n);
		r = kern_ports_set(kern, before, &port, 1);
	}
	CHECK(r == -ENOSPC && n == BH_MAX_PORTS - 1, "%s after %d", strerror(-r), n);
	other = listen_cell(kern, 0, HERE6);
	CHECK(!other, "a cell without its port");
	kern_policy_remove(kern, before);
	CHECK(count_ports() == 1, "%d ports in the end", count_ports());
	return 0;
}

const struct test_case listen_cases[] = {
	{"listen/open", case_open, CASE_ALLOWS},
	{"listen/unnamed", case_unnamed, CASE_REFUSES},
	{"listen/loopback", case_loopback, CASE_REFUSES},
	{"listen/reload", case_reload, CASE_REFUSES},
	{"listen/older", case_older, CASE_REFUSES},
	{"listen/out", case_out, CASE_REFUSES},
	{"listen/begun", case_begun, CASE_REFUSES},
	{"listen/device", case_device, CASE_REFUSES},
	{"listen/room", case_room, CASE_ALLOWS},
	{},
};

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Descriptors that come to a member from elsewhere when the policy is in force, by SCM_RIGHTS. */
#include "held.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <linux/perf_event.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int make_perf(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_DUMMY,
				       .exclude_kernel = 1,
				       .disabled = 1};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static int make_secret(void)
{
	return open(FIXTURE_SECRET, O_RDONLY);
}

static int make_open(void)
{
	return open(FIXTURE_OPEN, O_RDONLY);
}

static int make_append(void)
{
	return open(FIXTURE "/work/file", O_WRONLY | O_APPEND);
}

static int make_path(void)
{
	return open(FIXTURE_SECRET, O_PATH);
}

static int make_namespace(void)
{
	return open("/proc/self/ns/net", O_RDONLY);
}

static int make_proc(void)
{
	return open("/proc/self/status", O_RDONLY);
}

static int make_memory(void)
{
	return memfd_create("memory", MFD_CLOEXEC);
}

static int make_event(void)
{
	return eventfd(0, EFD_CLOEXEC);
}

static int make_pipe(void)
{
	return dup(PIPE_IN);
}

static int make_pidfd(void)
{
	return (int)syscall(SYS_pidfd_open, getpid(), 0);
}

static int make_udp(void)
{
	return socket(AF_INET, SOCK_DGRAM, 0);
}

static int make_netlink(void)
{
	return socket(AF_NETLINK, SOCK_RAW, 0);
}

static int make_pair(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return -errno;
	close(pair[1]);
	return pair[0];
}

static int make_named(void)
{
	return dup(NAMED);
}

static int make_held(void)
{
	return dup(SECRET);
}

/* From outside; what has a reason is refused with it. */
static const struct given {
	const char *name;
	int (*make)(void);
	enum bh_reason reason;
	enum bh_object_kind kind;
} given[] = {
	{"secret", make_secret, BH_REASON_NO_RULE, BH_OBJECT_PATH},
	{"append", make_append, BH_REASON_NO_RULE, BH_OBJECT_PATH},
	{"process", make_proc, BH_REASON_PROC_OTHER, BH_OBJECT_PATH},
	{"namespace", make_namespace, BH_REASON_CLOSED, BH_OBJECT_NAME},
	{"perf", make_perf, BH_REASON_CLOSED, BH_OBJECT_NAME},
	{"udp", make_udp, BH_REASON_NETWORK, BH_OBJECT_SOCKET},
	{"netlink", make_netlink, BH_REASON_NETWORK, BH_OBJECT_SOCKET},
	{"named", make_named, BH_REASON_NO_RULE, BH_OBJECT_PATH},
	{"open", make_open, BH_REASON_NONE, BH_OBJECT_NONE},
	{"path", make_path, BH_REASON_NONE, BH_OBJECT_NONE},
	{"memory", make_memory, BH_REASON_NONE, BH_OBJECT_NONE},
	{"event", make_event, BH_REASON_NONE, BH_OBJECT_NONE},
	{"pipe", make_pipe, BH_REASON_NONE, BH_OBJECT_NONE},
	{"pidfd", make_pidfd, BH_REASON_NONE, BH_OBJECT_NONE},
	{"pair", make_pair, BH_REASON_NONE, BH_OBJECT_NONE},
};
#define NGIVEN ((int)(sizeof(given) / sizeof(given[0])))

static int give(struct stage *s, const struct given *g)
{
	_cleanup_close_ int fd = g->make();

	CHECK(fd >= 0, "%s: %s", g->name, strerror(errno));
	CHECK(send_fd(OURS, fd) == 0, "%s: cannot be sent", g->name);
	return stage_takes(s);
}

static int check_given(struct stage *s, const struct given *g)
{
	struct bh_tally before = cell_tally(s->cell), after;
	const struct bh_event_copy *e;
	int r;

	cell_drain(s->cell);
	s->cell->nevents = 0;
	r = give(s, g);
	after = cell_tally(s->cell);
	CHECK(r == (g->reason ? EBADF : 0), "%s: %s", g->name, outcome_text(r));
	CHECK(after.hook[BH_HOOK_FILE_RECEIVE] ==
		      before.hook[BH_HOOK_FILE_RECEIVE] + (g->reason != BH_REASON_NONE),
	      "%s: the counter is wrong", g->name);
	CHECK(after.unsure == before.unsure, "%s: it could not be decided", g->name);
	cell_drain(s->cell);
	e = cell_event(s->cell, 0, BH_HOOK_FILE_RECEIVE);
	CHECK(!e == !g->reason, "%s: events", g->name);
	CHECK(!e || (e->head.reason == g->reason && e->head.kind == g->kind &&
		     e->head.error == EACCES),
	      "%s: the event says %s, kind %u", g->name, reason_text(e->head.reason), e->head.kind);
	return 0;
}

/* No re-check is needed for it, and none attached. */
static int case_received(struct kern *kern)
{
	_cleanup_stage_ struct stage s = {};
	int i, r;

	if (stage_init(&s, kern, "{default: report, keep: [stdio]}"))
		return -1;
	for (i = 0; i < NGIVEN; i++) {
		r = give(&s, &given[i]);
		CHECK(r == 0, "control: %s before the policy: %s", given[i].name, outcome_text(r));
	}
	if (stage_enforce(&s) || check_idle(kern, "reporting"))
		return -1;
	for (i = 0; i < NGIVEN; i++)
		if (check_given(&s, &given[i]))
			return -1;
	return 0;
}

/* To an outsider it is what it was; back from there, it is not taken. */
static int case_to_outsider(struct kern *kern)
{
	static const struct given back = {"back", make_held, BH_REASON_REVOKED, BH_OBJECT_PATH};
	_cleanup_stage_ struct stage s = {};
	_cleanup_close_ int taken = -1;
	char byte;

	if (stage_init(&s, kern, REVOKE) || stage_enforce(&s))
		return -1;
	if (stage_check(&s, "give"))
		return -1;
	taken = take_fd(OURS);
	CHECK(taken >= 0 && pread(taken, &byte, 1, 0) == 1, "an outsider cannot use it");
	return check_given(&s, &back);
}

const struct test_case received_cases[] = {
	{"received/given", case_received, CASE_REFUSES},
	{"received/back", case_to_outsider, CASE_REFUSES},
	{},
};

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Audit rules and tripwires: what is let through and told, and what ends the compartment. */
#include "harness.h"
#include "board.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include "compart/compart.h"

#define BAIT FIXTURE "/secret/key"
#define KILLED (VERB_BROKEN + ECHILD)

#define USUAL                                                                              \
	{.effect = RULE_ALLOW, .perms = BH_PERM_READ, .glob = (char *)FIXTURE "/open/**"}, \
	{                                                                                  \
		.effect = RULE_TRIPWIRE, .perms = BH_PERM_READ | BH_PERM_DELETE,           \
		.glob = (char *)FIXTURE "/secret/**"                                       \
	}

static struct rule rules[] = {USUAL};
static const struct cell_options with_bait = {.rules = rules, .nrules = 2};

static __u32 state_of(struct cell *cell)
{
	struct bh_compartment entry = {};

	kern_compartment_get(cell->kern, cell->id, &entry);
	return entry.state;
}

/* Reads what may be read until it is told to read the bait, and then what may be read again. */
__attribute__((noreturn)) static int reads_on(void *data)
{
	struct board *board = data;
	int fd;

	board->done = 1;
	while (!board->go)
		usleep(1000);
	for (;;) {
		fd = open(FIXTURE_OPEN, O_RDONLY | O_CLOEXEC);
		board->results[0] += fd >= 0;
		close(fd);
	}
}

static int check_event(struct cell *cell, const struct bh_tally *before)
{
	struct bh_tally after = cell_tally(cell);
	const struct bh_event_copy *e;
	size_t i = 0;

	CHECK(after.tripped == 1 && after.refused > before->refused, "not counted");
	cell_drain(cell);
	/* A case that moves somebody out hears of it first. */
	while (i < cell->nevents && cell->events[i].head.hook == BH_HOOK_CGROUP_MOVE)
		i++;
	CHECK(i < cell->nevents, "no event");
	e = &cell->events[i];
	CHECK(e->head.hook == BH_HOOK_FILE_OPEN && e->head.reason == BH_REASON_TRIPWIRE &&
		      e->head.bits == BH_EVENT_TRIPWIRE && e->head.error == EACCES,
	      "the first event: hook %s, reason %s, bits %x, error %d", hook_name(e->head.hook),
	      reason_text(e->head.reason), e->head.bits, e->head.error);
	return 0;
}

static int trip(struct cell *cell)
{
	struct bh_tally before = cell_tally(cell);
	int r = cell_verb(cell, BESIDE, "read", BAIT, NULL);

	CHECK(r == 0, "control: %s", outcome_text(r));
	r = cell_verb(cell, INSIDE, "read", FIXTURE_OPEN, NULL);
	CHECK(r == 0, "before: %s", outcome_text(r));
	r = cell_verb(cell, INSIDE, "read", BAIT, NULL);
	CHECK(r == KILLED, "who touched it: %s", outcome_text(r));
	CHECK(state_of(cell) == BH_STATE_TRIPPED, "state %u", state_of(cell));
	return check_event(cell, &before);
}

/* Who touches it dies, and every other member at its next hook. */
static int case_tripwire(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, &with_bait);
	struct board *board = board_new();
	pid_t member;
	int r;

	CHECK(cell && board, "no cell");
	member = cell_spawn(cell, cell->cgroup_fd, reads_on, board);
	CHECK(member > 0 && board_await(&board->done, 1) == 0, "the member did not start");
	if (trip(cell))
		return -1;
	board->go = 1;
	r = cell_wait(member);
	CHECK(r == KILLED && board->results[0] == 0, "another member: %s after %d reads",
	      outcome_text(r), board->results[0]);
	r = cell_verb(cell, INSIDE, "fork", NULL);
	CHECK(r == KILLED, "one who came later: %s", outcome_text(r));
	r = cell_verb(cell, BESIDE, "read", BAIT, NULL);
	CHECK(r == 0, "an outsider: %s", outcome_text(r));
	board_free(board);
	return 0;
}

/* An entry that was read before the tripwire was touched is written after. */
static int case_state_kept(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, &with_bait);
	struct bh_compartment entry;
	int r;

	CHECK(cell, "no cell");
	CHECK(kern_compartment_get(kern, cell->id, &entry) == 0, "no entry");
	if (trip(cell))
		return -1;
	CHECK(entry.state == BH_STATE_ENFORCED, "state %u", entry.state);
	CHECK(kern_compartment_set(kern, cell->id, &entry) == 0, "cannot write");
	CHECK(state_of(cell) == BH_STATE_TRIPPED, "state %u", state_of(cell));
	r = cell_verb(cell, INSIDE, "read", FIXTURE_OPEN, NULL);
	CHECK(r == KILLED, "a member: %s", outcome_text(r));
	return 0;
}

__attribute__((noreturn)) static int sleeps(void *data _unused_)
{
	for (;;)
		pause();
}

/* Who sleeps through it, inside and moved out, is killed by user space. */
static int case_sleepers(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, &with_bait);
	struct compartment c = {};
	struct error error = {};
	pid_t inside, outside, outsider;
	int r;

	CHECK(cell, "no cell");
	c = (struct compartment){
		.id = cell->id, .cgroup_id = cell->cgroup_id, .cgroup = cell->cgroup};
	inside = cell_spawn(cell, cell->cgroup_fd, sleeps, NULL);
	outside = cell_spawn(cell, cell->cgroup_fd, sleeps, NULL);
	outsider = cell_spawn(cell, cell->beside_fd, sleeps, NULL);
	CHECK(inside > 0 && outside > 0 && outsider > 0, "no processes");
	CHECK(cell_settle(cell) == 0 && cell_move(cell->beside, outside) == 0, "cannot move out");
	CHECK(!compartment_is_tripped(kern, cell->id), "tripped from the start");
	if (trip(cell))
		return -1;
	CHECK(compartment_is_tripped(kern, cell->id), "not tripped");
	r = compartment_kill(kern, &c, HARNESS_DEADLINE_MS, &error);
	CHECK(r == 0, "%.200s", error.text);
	CHECK(cell_wait(inside) == KILLED && cell_wait(outside) == KILLED, "they live");
	CHECK(kill(outsider, 0) == 0 && waitpid(outsider, NULL, WNOHANG) == 0,
	      "an outsider was killed");
	kill(outsider, SIGKILL);
	cell_wait(outsider);
	return 0;
}

/* Audit mode refuses nothing and kills nobody. */
static int case_tripwire_audited(struct kern *kern)
{
	const struct cell_options options = {.rules = rules, .nrules = 2, .mode = BH_MODE_AUDIT};
	_cleanup_cell_ struct cell *cell = cell_new(kern, &options);
	const struct bh_event_copy *e;
	int r;

	CHECK(cell, "no cell");
	r = cell_verb(cell, INSIDE, "read", BAIT, NULL);
	CHECK(r == 0, "%s", outcome_text(r));
	cell_drain(cell);
	e = cell_event(cell, 0, BH_HOOK_FILE_OPEN);
	CHECK(e && e->head.bits == (BH_EVENT_TRIPWIRE | BH_EVENT_AUDIT), "no event that says so");
	CHECK(state_of(cell) == BH_STATE_ENFORCED && cell_tally(cell).tripped == 0, "tripped");
	return 0;
}

/* By an audit rule: let through, told, and no refusal. What no rule allows it does not open. */
static int case_audit_rule(struct kern *kern)
{
	static struct rule audit[] = {
		{.effect = RULE_ALLOW,
		 .perms = BH_PERM_READ | BH_PERM_CREATE | BH_PERM_DELETE,
		 .glob = (char *)FIXTURE "/{open,work}/**"},
		{.effect = RULE_AUDIT,
		 .perms = BH_PERM_READ | BH_PERM_WRITE,
		 .glob = (char *)FIXTURE "/{open,secret}/**"},
	};
	const struct cell_options options = {.rules = audit, .nrules = 2};
	_cleanup_cell_ struct cell *cell = cell_new(kern, &options);
	const struct bh_event_copy *e;
	struct bh_tally before, after;
	int r;

	CHECK(cell, "no cell");
	before = cell_tally(cell);
	r = cell_verb(cell, INSIDE, "read", FIXTURE_OPEN, NULL);
	CHECK(r == 0, "an audited read: %s", outcome_text(r));
	after = cell_tally(cell);
	CHECK(after.refused == before.refused && after.noted == before.noted + 1,
	      "counted as %llu refusals and %llu notes",
	      (unsigned long long)(after.refused - before.refused),
	      (unsigned long long)(after.noted - before.noted));
	cell_drain(cell);
	e = cell_event(cell, 0, BH_HOOK_FILE_OPEN);
	CHECK(e && e->head.reason == BH_REASON_AUDITED && e->head.bits == BH_EVENT_AUDIT &&
		      e->head.perms == BH_PERM_READ && strstr(e->tail, "open/file"),
	      "no event of it");
	r = cell_verb(cell, INSIDE, "write", FIXTURE_OPEN, NULL);
	CHECK(r == EACCES, "an audited write that nothing allows: %s", outcome_text(r));
	r = cell_verb(cell, INSIDE, "read", FIXTURE_SECRET, NULL);
	CHECK(r == EACCES, "an audited read that nothing allows: %s", outcome_text(r));
	/* Audited rights are rights: a name may be given up for one that has no more. */
	r = cell_verb(cell, INSIDE, "rename", FIXTURE "/open/script", FIXTURE "/work/moved", NULL);
	CHECK(r == 0, "rename between an audited and another place: %s", outcome_text(r));
	return 0;
}

const struct test_case watch_cases[] = {
	{"watch/tripwire", case_tripwire, CASE_REFUSES},
	{"watch/state-kept", case_state_kept, CASE_REFUSES},
	{"watch/sleepers", case_sleepers, CASE_REFUSES},
	{"watch/tripwire-audited", case_tripwire_audited, CASE_REFUSES},
	{"watch/audit-rule", case_audit_rule, CASE_REFUSES},
	{},
};

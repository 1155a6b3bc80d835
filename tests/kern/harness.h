/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compartments for tests, made by the kern layer's own calls, and processes inside and beside them.
 * A refusal proves nothing alone: each is looked for in the system call, the counters and the ring,
 * and the same act in a sibling cgroup must go through and move no counter.
 */
#ifndef TESTS_HARNESS_H
#define TESTS_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "base/cleanup.h"
#include "audit/names.h"
#include "kern/kern.h"
#include "neg/verbs.h"

/* Files of the tests; made anew by fixture_make. Absolute, no symlinks. */
#define FIXTURE "/srv/cell"
#define FIXTURE_SECRET FIXTURE "/secret/key" /* no rule names it */
#define FIXTURE_OPEN FIXTURE "/open/file"    /* may be read */
#define FIXTURE_WORK FIXTURE "/work"	     /* everything may be done but running */

/* Deadline of one process; everything that hangs is killed with its cgroup. */
#define HARNESS_DEADLINE_MS 20000

/* How often a race is run, 10,000 times unless the command line says otherwise. */
extern unsigned int harness_rounds;

struct cell {
	struct kern *kern;
	__u32 id, generation;
	__u64 cgroup_id;
	char *cgroup, *beside; /* the subtree, and a sibling that is none of its */
	int cgroup_fd, beside_fd;
	struct kern_ring *ring;
	struct bh_event_copy *events; /* of this compartment, in order */
	size_t nevents, events_size;
	bool owned; /* made by cell_new: cell_free unmakes it */
};

struct bh_event_copy {
	struct bh_event head;
	char tail[256]; /* with a NUL, cut */
};

struct cell_options {
	const struct rule *rules; /* NULL: the usual ones */
	size_t nrules;
	__u64 caps;
	enum bh_mode mode;
	__u32 flags;		     /* BH_POLICY_* */
	const struct bh_port *ports; /* with BH_POLICY_LISTEN */
	size_t nports;
};

int fixture_make(void);

/*
 * kern_open from within a cgroup of its own: to that the kernel charges what the maps take, later too
 * (bpf_map_save_memcg).
 */
int harness_open(struct kern **ret, struct error *error);
/* What they may take from now on: "max", or "0" for nothing more. 0 or -errno. */
int harness_limit_maps(const char *limit);

/*
 * Each generation that goes waits for who decides by it, which takes jiffies; in short and none the less when the
 * kernel hurries. 0 or -errno.
 */
int harness_hurry(bool yes);

/* NULL after a line on stderr. */
struct cell *cell_new(struct kern *kern, const struct cell_options *options);
/* Around a compartment that was attached by other means; its cgroup stays the caller's. `name` is
 * for the sibling cgroup. */
struct cell *cell_adopt(struct kern *kern, __u32 id, const char *cgroup, const char *name);
void cell_free(struct cell *cell);
/* Compiles and installs a generation, cell->generation from then on; the entry is the caller's. 0 or
 * -errno after a line on stderr. */
int cell_policy(struct cell *cell, const struct cell_options *options);
DEFINE_CLEANUP(struct cell *, cell_free)
#define _cleanup_cell_ _cleanup_(cleanup_cell_free)

/* Who makes an attempt. */
enum where { BESIDE, INSIDE };

typedef int (*cell_fn)(void *data);

/*
 * Runs fn in a child that is cloned into the cgroup and answers with what fn answered; VERB_BROKEN
 * + ETIMEDOUT (everything in the cgroup killed) or + ECHILD when the child died.
 */
int cell_call(struct cell *cell, enum where where, cell_fn fn, void *data);
/* The same with a verb: cell_verb(cell, INSIDE, "read", FIXTURE_SECRET, NULL). */
int cell_verb(struct cell *cell, enum where where, ...) __attribute__((sentinel));
int cell_verbv(struct cell *cell, enum where where, int argc, char **argv);

/* A child of the harness that runs fn now and stays where it is (the harness's own cgroup) or is
 * born in `where`; stops by itself at the end of fn. */
pid_t cell_spawn(struct cell *cell, int cgroup_fd, cell_fn fn, void *data);
/* Moves every thread of pid. 0 or -errno. */
int cell_move(const char *cgroup, pid_t pid);
/* Labels every thread of the subtree and lowers `ask`, as the agent does after a move. */
int cell_settle(struct cell *cell);
/* As enrolment does. 0 or -errno. */
int cell_set_state(struct cell *cell, enum bh_state state);
/* Exit status of a child, or VERB_BROKEN + something; waits no longer than the deadline. */
int cell_wait(pid_t pid);
/* Not longer than ms; then it is killed, or with !end left alone to be waited for again. */
int cell_wait_ms(pid_t pid, int ms, bool end);

/* Reads the ring; events of other compartments are dropped. */
void cell_drain(struct cell *cell);
/* The latest event of a hook among events[from..]; NULL. */
const struct bh_event_copy *cell_event(struct cell *cell, size_t from, enum bh_hook hook);
struct bh_tally cell_tally(struct cell *cell);

/* --- cases --- */

enum case_kind {
	CASE_REFUSES, /* must fail when no program is attached */
	CASE_ALLOWS,  /* proves that something goes on: left out of the mutation run */
};

/* 0 passed, 1 skipped, -1 failed; the text by case_fail and case_skip. */
struct test_case {
	const char *name;
	int (*fn)(struct kern *kern);
	enum case_kind kind;
};

int case_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
int case_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define CHECK(condition, ...)                          \
	do {                                           \
		if (!(condition))                      \
			return case_fail(__VA_ARGS__); \
	} while (0)

/* What names begin with, for case_wanted, or all but these; none: all. */
void case_select(int n, char **names, bool all_but);
bool case_wanted(const char *name);

/* From here on the time is the next reported case's. */
void case_begin(void);
/* Prints "ok", "not ok" or "skip" for one case and counts it, and how long it took. With `mutate`, a case that
 * passes is the failure. */
void case_report(const char *name, int r, bool mutate);
/* Exit status of the program: 0 when nothing failed. Prints the totals. */
int case_end(const char *suite);

/* For messages: "EACCES (13)" and such. */
const char *outcome_text(int r);

/*
 * Takes all links away and leaves the maps: what a host looks like whose programs do not run. 0 or
 * -errno.
 */
int harness_detach(struct kern *kern);
/* After it: takes the rest away too, so that the next program starts with a whole set. */
void harness_remove(void);
bool harness_is_detached(void);

extern const struct test_case prove_cases[], spread_cases[], sockets_cases[], place_cases[],
	proc_cases[], written_cases[], links_cases[], held_cases[], overlay_cases[],
	credentials_cases[], watch_cases[], nested_cases[], escape_cases[], loss_cases[],
	table_cases[], race_cases[], swap_cases[], agent_cases[], learnt_cases[], cache_cases[],
	append_cases[], received_cases[], recheck_cases[], views_cases[], outlets_cases[],
	loopback_cases[], wire_cases[], fence_cases[], run_cases[], fold_cases[], listen_cases[],
	strangers_cases[];
/* One case a row of the table of hooks; calls case_report itself. */
void hook_cases(struct kern *kern, bool mutate);

#endif

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What cannot be told, decided or reported is refused and counted. */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* A path whose event is nearly as large as one can be, so that few of them fill the ring. */
#define LONG_LEVELS 14
#define LONG_SIZE (sizeof(FIXTURE_SECRET) + LONG_LEVELS * 256 + 1)

static int make_long(char *path)
{
	char name[BH_MAX_NAME + 1];
	int i;

	memset(name, 'n', BH_MAX_NAME);
	name[BH_MAX_NAME] = 0;
	strcpy(path, FIXTURE "/secret");
	for (i = 0; i < LONG_LEVELS; i++) {
		strcat(strcat(path, "/"), name);
		if (mkdir(path, 0755) < 0)
			return -errno;
	}
	return 0;
}

struct many {
	const char *path;
	unsigned int n;
};

/* EACCES when every open was refused with it. */
static int open_many(void *data)
{
	struct many *many = data;
	unsigned int i;
	int fd;

	for (i = 0; i < many->n; i++) {
		fd = open(many->path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0 || errno != EACCES)
			return fd >= 0 ? 0 : errno;
	}
	return EACCES;
}

static int check_ring(struct cell *cell, const struct bh_tally *before, unsigned int n)
{
	struct bh_tally after = cell_tally(cell);
	size_t i;

	CHECK(after.refused - before->refused == n, "%llu refusals counted of %u",
	      (unsigned long long)(after.refused - before->refused), n);
	CHECK(after.lost > before->lost, "the ring never filled");
	CHECK(after.refused + after.noted ==
		      after.reported + after.quiet + after.folded + after.lost,
	      "the tally does not add up");
	cell_drain(cell);
	CHECK(cell->nevents == after.reported, "%zu events of %llu reported", cell->nevents,
	      (unsigned long long)after.reported);
	for (i = 0; i < cell->nevents; i++)
		CHECK(cell->events[i].head.seq == i + 1, "event %zu has number %llu", i,
		      (unsigned long long)cell->events[i].head.seq);
	return 0;
}

static int case_full_ring(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	char path[LONG_SIZE];
	struct many many = {path, 3000};
	struct bh_tally before;
	int r;

	CHECK(cell, "no cell");
	CHECK(make_long(path) == 0, "no long path");
	before = cell_tally(cell);
	r = cell_call(cell, INSIDE, open_many, &many);
	CHECK(r == EACCES, "with nobody reading: %s", outcome_text(r));
	return check_ring(cell, &before, many.n);
}

/* Refused as undecided: errno, the counter of its own, and the reason in the event. */
static int check_unsure(struct cell *cell, enum bh_reason reason, const char *path)
{
	struct bh_tally before = cell_tally(cell), after;
	const struct bh_event_copy *e;
	int r;

	r = cell_verb(cell, INSIDE, "read", path, NULL);
	CHECK(r == EACCES, "%s", outcome_text(r));
	after = cell_tally(cell);
	CHECK(after.unsure > before.unsure, "not counted as undecided");
	cell_drain(cell);
	e = cell_event(cell, 0, BH_HOOK_FILE_OPEN);
	CHECK(e && (reason == BH_REASON_UNSURE ? e->head.reason > reason
					       : e->head.reason == reason),
	      "the event's reason: %s", e ? reason_text(e->head.reason) : "no event");
	return 0;
}

static int case_no_generation(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	int r;

	CHECK(cell, "no cell");
	r = cell_verb(cell, INSIDE, "read", FIXTURE_OPEN, NULL);
	CHECK(r == 0, "control: %s", outcome_text(r));
	CHECK(kern_policy_remove(kern, cell->generation) == 0, "cannot remove the generation");
	cell->generation = 0;
	return check_unsure(cell, BH_REASON_UNSURE, FIXTURE_OPEN);
}

/* A table that ends before the policy says it does: the walk leaves it and stops dead. */
static int case_short_table(struct kern *kern)
{
	static struct rule rules[] = {
		{.effect = RULE_ALLOW, .perms = BH_PERM_READ, .glob = (char *)FIXTURE "/open/**"}};
	const struct cell_options options = {.rules = rules, .nrules = 1};
	_cleanup_cell_ struct cell *cell = cell_new(kern, &options);
	struct bh_compartment entry;
	__u32 words[4] = {1000000, 1000000, 0, 0}, generation;
	struct automaton_start start;
	struct automaton bad = {.head = {.nclasses = 2, .nwords = 4},
				.words = words,
				.starts = &start,
				.nstarts = 1};
	struct bh_superblock sb;
	struct error error = {};
	int fd, r;

	CHECK(cell, "no cell");
	fd = open(FIXTURE_OPEN, O_PATH | O_CLOEXEC);
	r = kern_superblocks(kern, &fd, 1, &sb, &error);
	close(fd);
	CHECK(r == 0, "superblock: %s", error.text);
	start = (struct automaton_start){.sbid = sb.sbid};
	r = kern_policy_install(kern, &bad, &generation, &error);
	if (r < 0)
		return case_skip("the loader refuses such a table: %s", error.text);
	CHECK(kern_compartment_get(kern, cell->id, &entry) == 0, "no entry");
	entry.generation = generation;
	CHECK(kern_compartment_set(kern, cell->id, &entry) == 0, "cannot switch");
	r = check_unsure(cell, BH_REASON_UNSURE_TABLE, FIXTURE_OPEN);
	entry.generation = cell->generation;
	kern_compartment_set(kern, cell->id, &entry);
	kern_policy_remove(kern, generation);
	return r;
}

/* 0 or the errno of fork. */
static int fork_once(void *data _unused_)
{
	pid_t pid = fork();

	if (pid < 0)
		return errno;
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	return 0;
}

/* A child that could not be labelled is not born: errno, counter, event. */
static int check_unborn(struct cell *cell, const struct bh_tally *before, enum bh_reason reason)
{
	struct bh_tally after = cell_tally(cell);
	const struct bh_event_copy *e;

	CHECK(after.hook[BH_HOOK_TASK_ALLOC] > before->hook[BH_HOOK_TASK_ALLOC] &&
		      after.unsure > before->unsure,
	      "not counted as undecided");
	cell_drain(cell);
	e = cell_event(cell, 0, BH_HOOK_TASK_ALLOC);
	CHECK(e && e->head.reason == reason, "the event's reason: %s",
	      e ? reason_text(e->head.reason) : "no event");
	return 0;
}

static int case_closed(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	struct bh_compartment entry;
	struct bh_tally before;
	int r;

	CHECK(cell, "no cell");
	r = cell_call(cell, INSIDE, fork_once, NULL);
	CHECK(r == 0, "control, fork: %s", outcome_text(r));
	CHECK(kern_compartment_get(kern, cell->id, &entry) == 0, "no entry");
	entry.state = BH_STATE_CLOSED;
	CHECK(kern_compartment_set(kern, cell->id, &entry) == 0, "cannot close");
	if (check_unsure(cell, BH_REASON_UNSURE_ENTRY, FIXTURE_OPEN))
		return -1;
	before = cell_tally(cell);
	r = cell_call(cell, INSIDE, fork_once, NULL);
	CHECK(r == EAGAIN, "fork: %s", outcome_text(r));
	return check_unborn(cell, &before, BH_REASON_UNSURE_ENTRY);
}

/* More than the kernel keeps in store for a CPU (bpf_mem_alloc: 96 and some). */
#define NCHILDREN 400

/* What became of each child: no memory for its label, or it is there and refused. */
struct births {
	volatile int go; /* there is no more memory */
	volatile int unborn, refused, free, broken;
};

static void be_born(struct births *births)
{
	char *argv[] = {(char *)"read", (char *)FIXTURE_SECRET, NULL};

	if (verb_run(2, argv) == EACCES)
		__sync_fetch_and_add(&births->refused, 1);
	else
		__sync_fetch_and_add(&births->free, 1);
	for (;;)
		pause();
}

/* They live on, and their labels with them: the cgroup ends with the cell. */
static int fork_many(void *data)
{
	struct births *births = data;
	int i, ms;

	while (!births->go)
		usleep(1000);
	for (i = 0; i < NCHILDREN; i++) {
		pid_t pid = fork();

		if (pid == 0)
			be_born(births);
		if (pid < 0 && errno == EAGAIN)
			births->unborn++;
		else if (pid < 0)
			births->broken = errno;
	}
	for (ms = 0; births->refused + births->free + births->unborn < NCHILDREN && ms < 10000;
	     ms++)
		usleep(1000);
	return 0;
}

/* The maker has its own label before the memory goes. */
static int births_without_memory(struct cell *cell, struct births *births)
{
	pid_t maker = cell_spawn(cell, cell->cgroup_fd, fork_many, births);
	int r = maker < 0 ? -ECHILD : cell_settle(cell);

	if (r == 0)
		r = harness_limit_maps("0");
	births->go = 1;
	if (maker > 0 && cell_wait(maker) != 0)
		r = -ECHILD;
	harness_limit_maps("max");
	return r;
}

static int check_births(struct cell *cell, struct births *births)
{
	struct bh_tally before = cell_tally(cell);
	int r = births_without_memory(cell, births), ms;

	CHECK(r == 0 && !births->broken, "%s, fork: %s", strerror(-r), strerror(births->broken));
	CHECK(births->free == 0 && births->unborn + births->refused == NCHILDREN,
	      "of %d children %d could not be made, %d were refused, %d not", NCHILDREN,
	      births->unborn, births->refused, births->free);
	if (births->unborn == 0) {
		printf("# this kernel gives memory for labels past the limit\n");
		return 0;
	}
	/* The kernel fills its store again when it has been found empty. */
	for (r = -1, ms = 0; r && ms < 5000; ms++, usleep(1000))
		r = cell_call(cell, INSIDE, fork_once, NULL);
	CHECK(r == 0, "fork, with memory again: %s", outcome_text(r));
	return check_unborn(cell, &before, BH_REASON_UNSURE_LABEL);
}

/* No memory for a label: no child, rather than one without. */
static int case_no_label(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	struct births *births = mmap(NULL, sizeof(*births), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int r;

	CHECK(cell, "no cell");
	CHECK(births != MAP_FAILED, "no memory");
	r = check_births(cell, births);
	munmap(births, sizeof(*births));
	return r;
}

/* A subtree whose compartment does not exist: counted under "no compartment known". */
static int case_no_entry(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	struct bh_tally before, after;
	int r;

	CHECK(cell, "no cell");
	if (kern_cgroup_set(kern, cell->cgroup_id, BH_MAX_COMPARTMENTS, 0) < 0)
		return case_skip("the loader refuses such a compartment");
	kern_tally(kern, 0, &before);
	r = cell_verb(cell, INSIDE, "read", FIXTURE_OPEN, NULL);
	kern_tally(kern, 0, &after);
	CHECK(r == EACCES, "%s", outcome_text(r));
	CHECK(after.unsure > before.unsure, "not counted");
	return 0;
}

static int case_audit(struct kern *kern)
{
	const struct cell_options options = {.mode = BH_MODE_AUDIT};
	_cleanup_cell_ struct cell *cell = cell_new(kern, &options);
	const struct bh_event_copy *e;
	struct bh_tally tally;
	int r;

	CHECK(cell, "no cell");
	r = cell_verb(cell, INSIDE, "read", FIXTURE_SECRET, NULL);
	CHECK(r == 0, "audit mode refused: %s", outcome_text(r));
	r = cell_verb(cell, INSIDE, "socket", "2", "1", "0", NULL);
	CHECK(r == 0, "audit mode refused a socket: %s", outcome_text(r));
	tally = cell_tally(cell);
	CHECK(tally.hook[BH_HOOK_FILE_OPEN] >= 1 && tally.hook[BH_HOOK_SOCKET_CREATE] == 1,
	      "not counted");
	cell_drain(cell);
	e = cell_event(cell, 0, BH_HOOK_FILE_OPEN);
	CHECK(e && e->head.bits & BH_EVENT_AUDIT, "no event that says audit");
	return 0;
}

static int case_quiet(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	struct bh_tally before, after;
	int r;

	CHECK(cell, "no cell");
	before = cell_tally(cell);
	r = cell_verb(cell, INSIDE, "read", FIXTURE "/quiet/file", NULL);
	CHECK(r == EACCES, "%s", outcome_text(r));
	after = cell_tally(cell);
	CHECK(after.quiet == before.quiet + 1, "not counted as quiet");
	cell_drain(cell);
	CHECK(!cell_event(cell, 0, BH_HOOK_FILE_OPEN), "an event although the rule is quiet");
	r = cell_verb(cell, INSIDE, "write", FIXTURE "/quiet/file", NULL);
	cell_drain(cell);
	CHECK(r == EACCES && cell_event(cell, 0, BH_HOOK_FILE_OPEN),
	      "another right than the quiet one made no event");
	return 0;
}

const struct test_case loss_cases[] = {
	{"loss/full-ring", case_full_ring, CASE_REFUSES},
	{"loss/no-generation", case_no_generation, CASE_REFUSES},
	{"loss/short-table", case_short_table, CASE_REFUSES},
	{"loss/closed", case_closed, CASE_REFUSES},
	{"loss/no-label", case_no_label, CASE_REFUSES},
	{"loss/no-entry", case_no_entry, CASE_REFUSES},
	{"loss/audit", case_audit, CASE_REFUSES},
	{"loss/quiet", case_quiet, CASE_REFUSES},
	{},
};

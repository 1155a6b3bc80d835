// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Deciders that are preempted, and renames beside what they decide (what they decide is renamed in
 * swap.c). The rates under emulation are higher than on hardware; the finding is that nothing leaks.
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

static int pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

/* A decider must not see another one's scratch memory when one preempts the other. */
#define RACE_OPENS (10 * harness_rounds) /* a thread */

struct opener {
	const char *path;
	int cpu;
	int expect; /* errno, 0: must open */
	int wrong;  /* first outcome that was another */
	unsigned int n, bad;
};

static void *open_loop(void *data)
{
	struct opener *o = data;
	unsigned int i;
	int fd, r;

	pin(o->cpu);
	for (i = 0; i < o->n; i++) {
		fd = open(o->path, O_RDONLY | O_CLOEXEC);
		r = fd < 0 ? errno : 0;
		if (fd >= 0)
			close(fd);
		if (r == o->expect)
			continue;
		if (!o->bad++)
			o->wrong = r;
		if (o->bad > 100)
			break;
	}
	return NULL;
}

/* Exit code: 0 fine, 1 a forbidden file was opened, 2 an allowed one refused, 3 something else. */
static int open_both(void *data _unused_)
{
	struct opener good = {.path = FIXTURE "/open/file", .n = RACE_OPENS};
	struct opener bad = {.path = FIXTURE_SECRET, .expect = EACCES, .n = RACE_OPENS};
	pthread_t one, other;

	if (pthread_create(&one, NULL, open_loop, &good) ||
	    pthread_create(&other, NULL, open_loop, &bad))
		return 3;
	pthread_join(one, NULL);
	pthread_join(other, NULL);
	if (bad.bad)
		return bad.wrong == 0 ? 1 : 3;
	return good.bad ? 2 : 0;
}

/* No deadline of the harness: under emulation this takes most of a minute. */
static int wait_long(pid_t pid)
{
	int i, r = VERB_BROKEN + ETIMEDOUT, tries = 15 + harness_rounds / 5000;

	for (i = 0; i < tries && r == VERB_BROKEN + ETIMEDOUT; i++) {
		if (kill(pid, 0) < 0)
			return VERB_BROKEN + ESRCH;
		r = cell_wait_ms(pid, HARNESS_DEADLINE_MS, i == tries - 1);
	}
	return r;
}

static int case_preemption(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	struct bh_tally tally;
	pid_t pid;
	int r;

	CHECK(cell, "no cell");
	pid = cell_spawn(cell, cell->cgroup_fd, open_both, NULL);
	CHECK(pid > 0, "cannot spawn");
	r = wait_long(pid);
	CHECK(r != 1, "a forbidden file was opened");
	CHECK(r != 2, "an allowed file was refused");
	CHECK(r == 0, "the openers failed (%d)", r);
	tally = cell_tally(cell);
	CHECK(tally.hook[BH_HOOK_FILE_OPEN] >= RACE_OPENS, "%llu refusals counted",
	      (unsigned long long)tally.hook[BH_HOOK_FILE_OPEN]);
	CHECK(tally.unsure == 0, "%llu could not be decided", (unsigned long long)tally.unsure);
	return 0;
}

/* --- unrelated renames never disturb a good open --- */

static int rename_loop(void *data _unused_)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin(1);
	for (;;) {
		if (rename(FIXTURE "/storm-a", FIXTURE "/storm-b") < 0 ||
		    rename(FIXTURE "/storm-b", FIXTURE "/storm-a") < 0)
			return 1;
	}
}

static int make_depth(char *path, size_t size, int depth)
{
	size_t n = snprintf(path, size, FIXTURE "/open");
	int fd;

	for (; depth > 4; depth--) {
		n += snprintf(path + n, size - n, "/d%d", depth);
		if (mkdir(path, 0755) < 0)
			return -errno;
	}
	snprintf(path + n, size - n, "/file");
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	return fd < 0 ? -errno : close(fd);
}

static int open_good(void *data)
{
	struct opener *o = data;

	open_loop(o);
	return o->bad ? (o->wrong ? o->wrong : 1) : 0;
}

static int storm(struct kern *kern, int depth)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	char path[512];
	struct opener o = {.path = path, .n = 2 * harness_rounds};
	struct bh_tally tally;
	pid_t renamer, pid;
	int r;

	CHECK(cell, "no cell");
	CHECK(make_depth(path, sizeof(path), depth) == 0, "no file at depth %d", depth);
	CHECK(mkdir(FIXTURE "/storm-a", 0755) == 0, "mkdir");
	renamer = cell_spawn(cell, cell->beside_fd, rename_loop, NULL);
	pid = cell_spawn(cell, cell->cgroup_fd, open_good, &o);
	CHECK(renamer > 0 && pid > 0, "cannot spawn");
	r = wait_long(pid);
	CHECK(kill(renamer, 0) == 0, "the renamer ended early");
	kill(renamer, SIGKILL);
	cell_wait(renamer);
	CHECK(r == 0, "a good open at depth %d: %s", depth, outcome_text(r));
	tally = cell_tally(cell);
	CHECK(tally.refused == tally.quiet, "%llu refusals", (unsigned long long)tally.refused);
	return 0;
}

static int case_storm_6(struct kern *kern)
{
	return storm(kern, 6);
}

static int case_storm_17(struct kern *kern)
{
	return storm(kern, 17);
}

const struct test_case race_cases[] = {
	{"race/preemption", case_preemption, CASE_REFUSES},
	{"race/storm-depth-6", case_storm_6, CASE_ALLOWS},
	{"race/storm-depth-17", case_storm_17, CASE_ALLOWS},
	{},
};

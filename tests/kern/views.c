// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Several mount namespaces in one compartment: the same file has the same verdict, whatever it is called there.
 * Members make their mounts, and pivot, before the policy comes; then each opens what its rows say.
 */
#include "harness.h"
#include "board.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include "compart/compart.h"

#define POLICY "/run/views.yaml"
#define DATA "/data" /* a name that stands in mounts of members alone, and in rules */
#define STORE FIXTURE "/work/store"
#define ROOT FIXTURE "/work/root" /* of the member that pivots */

enum who { AT_HOME, BOUND, PIVOTED, NMEMBERS };

/* What opens before the policy, each of them, and what comes of it then. */
static const struct opening {
	enum who who;
	const char *path;
	int result;
} openings[] = {
	{AT_HOME, STORE "/note", 0},
	{AT_HOME, STORE "/kept/key", EACCES},
	{AT_HOME, FIXTURE "/work/other", EACCES},
	{BOUND, DATA "/note", 0},
	{BOUND, DATA "/kept/key", EACCES},
	{BOUND, STORE "/note", 0},
	{BOUND, STORE "/kept/key", EACCES},
	{BOUND, FIXTURE "/work/other", EACCES},
	{PIVOTED, DATA "/note", 0},
	{PIVOTED, DATA "/kept/key", EACCES},
	{PIVOTED, "/also/note", 0},
	{PIVOTED, "/also/kept/key", EACCES},
	{PIVOTED, "/here", EACCES},
};
#define NOPENINGS ((int)(sizeof(openings) / sizeof(*openings)))

/* --- members --- */

static int bind_to(const char *from, const char *to)
{
	return mount(from, to, NULL, MS_BIND, NULL) < 0 ? errno : 0;
}

static int own_mounts(void)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return errno;
	return 0;
}

/* Of the old root nothing is left to it but what is bound. */
static int pivot(void)
{
	int r = own_mounts();

	r = r ?: bind_to(ROOT, ROOT);
	r = r ?: bind_to(STORE, ROOT DATA);
	r = r ?: bind_to(STORE, ROOT "/also");
	if (r)
		return r;
	if (chdir(ROOT) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
	    umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return errno;
	return access(FIXTURE, F_OK) == 0 ? EEXIST : 0;
}

static int set_up(enum who who)
{
	int r;

	if (who == AT_HOME)
		return 0;
	if (who == PIVOTED)
		return pivot();
	r = own_mounts();
	return r ?: bind_to(STORE, DATA);
}

struct member {
	enum who who;
	pid_t pid;
	int rounds;
	struct board *board;
};

static void open_all(const struct member *m)
{
	int i, fd;

	for (i = 0; i < NOPENINGS; i++) {
		if (openings[i].who != m->who)
			continue;
		fd = open(openings[i].path, O_RDONLY | O_CLOEXEC);
		m->board->results[i] = fd < 0 ? errno : 0;
		close(fd);
	}
}

/* Round after round as it is told; 15 is what there are no openings for. */
static int member_main(void *data)
{
	const struct member *m = data;

	_Static_assert(NOPENINGS < 15, "a board has room for them, and one result more");
	close_range(3, ~0u, 0);
	m->board->results[15] = set_up(m->who);
	for (;;) {
		m->board->done++;
		if (board_await(&m->board->go, m->board->done) < 0)
			return 0;
		open_all(m);
	}
}

static int member_opens(struct member *m)
{
	m->board->go = ++m->rounds;
	CHECK(board_await(&m->board->done, m->rounds + 1) == 0, "member %d does not answer",
	      m->who);
	return 0;
}

static int member_start(struct member *m, enum who who, const char *cgroup)
{
	m->who = who;
	m->board = board_new();
	CHECK(m->board, "no memory");
	m->pid = cell_spawn(NULL, -1, member_main, m);
	CHECK(m->pid > 0 && board_await(&m->board->done, 1) == 0, "no member %d", who);
	CHECK(m->board->results[15] == 0, "member %d: its mounts: %s", who,
	      strerror(m->board->results[15]));
	CHECK(cell_move(cgroup, m->pid) == 0, "member %d cannot be moved", who);
	return 0;
}

/* --- the compartment --- */

struct view {
	struct kern *kern;
	struct member members[NMEMBERS];
	struct compartment *compartment;
	struct report report;
	struct cell *cell;
	char *cgroup;
};

static void view_done(struct view *v)
{
	struct error error = {};
	int i;

	if (v->compartment)
		compartment_detach(v->kern, v->compartment, &error);
	cell_free(v->cell);
	if (v->cgroup) {
		cgroup_kill(v->cgroup, HARNESS_DEADLINE_MS, NULL);
		cgroup_remove(v->cgroup);
	}
	for (i = 0; i < NMEMBERS; i++) {
		if (v->members[i].pid > 0)
			cell_wait(v->members[i].pid);
		board_free(v->members[i].board);
	}
	compartment_free(v->compartment);
	report_done(&v->report);
	free(v->cgroup);
	unlink(POLICY);
	rmdir(DATA);
}
#define _cleanup_view_ _cleanup_(view_done)

static int put_file(const char *path, const char *text)
{
	FILE *out = fopen(path, "we");

	CHECK(out, "%s: %s", path, strerror(errno));
	fputs(text, out);
	CHECK(fclose(out) == 0, "%s is not written", path);
	return 0;
}

static int put_files(void)
{
	static const char *const dirs[] = {DATA, STORE,	    STORE "/kept",
					   ROOT, ROOT DATA, ROOT "/also"};
	static const char *const files[] = {STORE "/note", STORE "/kept/key", FIXTURE "/work/other",
					    ROOT "/here"};
	size_t i;

	for (i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		CHECK(mkdir(dirs[i], 0755) == 0, "%s: %s", dirs[i], strerror(errno));
	for (i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (put_file(files[i], "x"))
			return -1;
	return put_file(POLICY, "version: 1\nname: views\nmode: enforce\n"
				"existing: {default: report, keep: [stdio]}\nfiles:\n"
				"  - {allow: [read], on: [\"" DATA "/**\"]}\n"
				"  - {deny: [read], on: [\"" DATA "/kept/**\"]}\nnetwork: none\n");
}

static int view_init(struct view *v, struct kern *kern)
{
	struct error error = {};
	int i;

	v->kern = kern;
	CHECK(fixture_make() == 0, "no fixture");
	CHECK(cgroup_own_create("test-views", &v->cgroup, &error) == 0, "%.200s", error.text);
	if (put_files())
		return -1;
	for (i = 0; i < NMEMBERS; i++)
		if (member_start(&v->members[i], i, v->cgroup))
			return -1;
	return 0;
}

static int view_attach(struct view *v)
{
	struct attach_request request = {.policy = POLICY, .cgroup = v->cgroup, .caller = getpid()};
	struct error error = {};

	CHECK(compartment_attach(v->kern, &request, &v->compartment, &v->report, &error) == 0,
	      "%.200s", error.text);
	v->cell = cell_adopt(v->kern, v->compartment->id, v->cgroup, "test-views");
	CHECK(v->cell, "no cell");
	cell_drain(v->cell);
	return 0;
}

static int check_free(struct view *v)
{
	int i;

	for (i = 0; i < NMEMBERS; i++)
		if (member_opens(&v->members[i]))
			return -1;
	for (i = 0; i < NOPENINGS; i++) {
		int r = v->members[openings[i].who].board->results[i];

		CHECK(r == 0, "control, member %d, %s: %s", openings[i].who, openings[i].path,
		      strerror(r));
	}
	return 0;
}

/* The n-th event, counted from `from`: of this opening, by its name's end. */
static int check_event(const struct view *v, size_t from, const struct opening *o)
{
	const struct bh_event_copy *e;

	CHECK(from < v->cell->nevents, "no event of %s", o->path);
	e = &v->cell->events[from];
	CHECK(e->head.hook == BH_HOOK_FILE_OPEN && e->head.error == EACCES &&
		      e->head.reason == BH_REASON_NO_RULE && strstr(e->tail, strrchr(o->path, '/')),
	      "the event of %s: hook %s, reason %s, error %d, %.200s", o->path,
	      hook_name(e->head.hook), reason_text(e->head.reason), e->head.error, e->tail);
	return 0;
}

static int check_member(struct view *v, struct member *m)
{
	struct bh_tally before = cell_tally(v->cell), after;
	size_t n = v->cell->nevents, from = n;
	int i, r;

	if (member_opens(m))
		return -1;
	cell_drain(v->cell);
	for (i = 0; i < NOPENINGS; i++) {
		const struct opening *o = &openings[i];

		if (o->who != m->who)
			continue;
		r = m->board->results[i];
		CHECK(r == o->result, "member %d, %s: %s", o->who, o->path, outcome_text(r));
		if (o->result && check_event(v, n++, o))
			return -1;
	}
	after = cell_tally(v->cell);
	CHECK(after.refused - before.refused == n - from &&
		      after.hook[BH_HOOK_FILE_OPEN] - before.hook[BH_HOOK_FILE_OPEN] == n - from &&
		      after.unsure == before.unsure && v->cell->nevents == n,
	      "member %d: %zu refusals, %llu counted, %zu told", m->who, n - from,
	      (unsigned long long)(after.refused - before.refused), v->cell->nevents - from);
	return 0;
}

/* At home, where no name of the rules is to be seen; with a bind of its own; with a root of its own, made of
 * binds by pivot_root. Twice: what is known by then is known alike. */
static int case_namespaces(struct kern *kern)
{
	_cleanup_view_ struct view v = {};
	int i;

	if (view_init(&v, kern) || check_free(&v) || view_attach(&v))
		return -1;
	for (i = 0; i < 2 * NMEMBERS; i++)
		if (check_member(&v, &v.members[i % NMEMBERS]))
			return -1;
	return 0;
}

const struct test_case views_cases[] = {
	{"views/namespaces", case_namespaces, CASE_REFUSES},
	{},
};

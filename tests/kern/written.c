// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What may have been written inside does not run, by whatever name or descriptor, unless a rule says so. */
#include "harness.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUN (BH_PERM_READ | BH_PERM_EXEC | BH_PERM_MAP_EXEC)
#define CHANGE (BH_PERM_READ | BH_PERM_WRITE | BH_PERM_APPEND | BH_PERM_CREATE | BH_PERM_DELETE)
#define WORK FIXTURE "/work"
#define OPEN FIXTURE "/open"
#define TOOLS FIXTURE "/tools"

static char probe[512];

/* Where the probe is, and what may be done with it. */
static int find_probe(void)
{
	ssize_t n = readlink("/proc/self/exe", probe, sizeof(probe) - sizeof("/probe"));

	CHECK(n > 0, "no /proc/self/exe");
	probe[n] = 0;
	strcpy(strrchr(probe, '/'), "/probe");
	CHECK(access(probe, X_OK) == 0, "no %s", probe);
	return 0;
}

static struct cell *new_cell(struct kern *kern, __u32 work, __u32 tools, enum bh_mode mode)
{
	struct rule rules[] = {
		{.effect = RULE_ALLOW, .perms = RUN, .glob = probe},
		{.effect = RULE_ALLOW, .perms = RUN, .glob = (char *)OPEN "/**"},
		{.effect = RULE_ALLOW, .perms = work, .glob = (char *)WORK "/**"},
		{.effect = RULE_ALLOW, .perms = tools, .glob = (char *)TOOLS "/**"},
		{.effect = RULE_ALLOW, .perms = BH_PERM_READ, .glob = (char *)"/proc/self/**"},
	};
	const struct cell_options options = {
		.rules = rules, .nrules = 5, .mode = mode, .flags = BH_POLICY_PROC_SELF};
	struct cell *cell = find_probe() ? NULL : cell_new(kern, &options);

	if (cell)
		mkdir(TOOLS, 0755);
	return cell;
}

/* Ways to run what was just written, or load it. */
struct way {
	const char *verb, *from, *to;
	enum bh_hook hook;
};

static const struct way ways[] = {
	{"exec-copy", probe, WORK "/copy", BH_HOOK_FILE_OPEN},
	{"exec-deleted", probe, WORK "/gone", BH_HOOK_FILE_OPEN},
	{"exec-tmpfile", probe, WORK, BH_HOOK_FILE_OPEN},
	{"mmap-exec", WORK "/file", NULL, BH_HOOK_MMAP_FILE},
};

static int try(struct cell *cell, enum where where, const struct way *way)
{
	return way->to ? cell_verb(cell, where, way->verb, way->from, way->to, NULL)
		       : cell_verb(cell, where, way->verb, way->from, NULL);
}

/* Outside it runs; inside our errno, the hook's counter and the event. */
static int check_refused(struct cell *cell, const struct way *way)
{
	const struct bh_event_copy *e;
	__u64 before;
	size_t from;
	int r = try(cell, BESIDE, way);

	CHECK(r == 0, "control, %s: %s", way->verb, outcome_text(r));
	unlink(WORK "/copy");
	cell_drain(cell);
	from = cell->nevents;
	before = cell_tally(cell).hook[way->hook];
	r = try(cell, INSIDE, way);
	unlink(WORK "/copy");
	CHECK(r == EACCES, "%s: %s", way->verb, outcome_text(r));
	cell_drain(cell);
	e = cell_event(cell, from, way->hook);
	CHECK(cell_tally(cell).hook[way->hook] == before + 1, "%s: the counter stands still",
	      way->verb);
	CHECK(e && e->head.reason == BH_REASON_NO_RULE && e->head.perms & RUN & ~BH_PERM_READ,
	      "%s: %s", way->verb, e ? reason_text(e->head.reason) : "no event");
	return 0;
}

static int case_refused(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = new_cell(kern, CHANGE | RUN, RUN, BH_MODE_ENFORCE);
	size_t i;

	CHECK(cell, "no cell");
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (check_refused(cell, &ways[i]))
			return -1;
	return 0;
}

/* Each right to change is enough, and what changes no content is not. */
static int case_rights(struct kern *kern)
{
	static const struct {
		__u32 perms;
		int r;
	} rows[] = {
		{BH_PERM_WRITE, EACCES}, {BH_PERM_APPEND, EACCES}, {BH_PERM_CREATE, EACCES},
		{BH_PERM_DELETE, 0},	 {BH_PERM_ATTRIBUTES, 0},  {BH_PERM_LINK, 0},
	};
	size_t i;
	int r;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_cell_ struct cell *cell =
			new_cell(kern, CHANGE, RUN | rows[i].perms, BH_MODE_ENFORCE);

		CHECK(cell, "no cell");
		r = cell_verb(cell, BESIDE, "exec-copy", probe, TOOLS "/tool", NULL);
		CHECK(r == 0, "control: %s", outcome_text(r));
		r = cell_verb(cell, INSIDE, "exec", TOOLS "/tool", "unix-pair", NULL);
		CHECK(r == rows[i].r, "with %#x: %s", rows[i].perms, outcome_text(r));
	}
	return 0;
}

static int case_allowed(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell =
		new_cell(kern, CHANGE | RUN | BH_RULE_WRITTEN_INSIDE, RUN, BH_MODE_ENFORCE);
	size_t i;
	int r;

	CHECK(cell, "no cell");
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		r = try(cell, INSIDE, &ways[i]);
		CHECK(r == 0, "%s: %s", ways[i].verb, outcome_text(r));
	}
	/* Memory that no name leads to stands on a filesystem of the kernel's own, and no rule speaks of it. */
	r = cell_verb(cell, BESIDE, "exec-memfd", probe, NULL);
	CHECK(r == 0, "control, memfd: %s", outcome_text(r));
	r = cell_verb(cell, INSIDE, "exec-memfd", probe, NULL);
	CHECK(r == EACCES, "memfd: %s", outcome_text(r));
	return 0;
}

/* The same file, from where nobody inside can have written it. */
static int case_read_only(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = new_cell(kern, CHANGE | RUN, RUN, BH_MODE_ENFORCE);
	int r;

	CHECK(cell, "no cell");
	r = cell_verb(cell, BESIDE, "exec-copy", probe, WORK "/tool", NULL);
	CHECK(r == 0, "control: %s", outcome_text(r));
	r = cell_verb(cell, INSIDE, "exec", WORK "/tool", "unix-pair", NULL);
	CHECK(r == EACCES, "where it can be written: %s", outcome_text(r));
	CHECK(rename(WORK "/tool", OPEN "/tool") == 0, "rename: %s", strerror(errno));
	r = cell_verb(cell, INSIDE, "exec", OPEN "/tool", "unix-pair", NULL);
	CHECK(r == 0, "where it cannot: %s", outcome_text(r));
	r = cell_verb(cell, INSIDE, "mmap-exec", OPEN "/tool", NULL);
	CHECK(r == 0, "mapped where it cannot: %s", outcome_text(r));
	return 0;
}

/* To where it would run it is neither renamed nor linked. */
static int case_moved(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell =
		new_cell(kern, CHANGE | BH_PERM_LINK,
			 CHANGE | RUN | BH_PERM_LINK | BH_RULE_WRITTEN_INSIDE, BH_MODE_ENFORCE);
	static const char *const verbs[] = {"rename", "link"};
	const struct bh_event_copy *e;
	size_t i;
	int r;

	CHECK(cell, "no cell");
	r = cell_verb(cell, BESIDE, "exec-copy", probe, WORK "/tool", NULL);
	CHECK(r == 0, "control: %s", outcome_text(r));
	for (i = 0; i < 2; i++) {
		r = cell_verb(cell, INSIDE, verbs[i], WORK "/tool", TOOLS "/tool", NULL);
		CHECK(r == EACCES, "%s: %s", verbs[i], outcome_text(r));
		cell_drain(cell);
		e = cell_event(cell, 0, i ? BH_HOOK_PATH_LINK : BH_HOOK_PATH_RENAME);
		CHECK(e && e->head.reason == BH_REASON_RIGHTS, "%s: another reason", verbs[i]);
	}
	r = cell_verb(cell, INSIDE, "exec-copy", probe, TOOLS "/made", NULL);
	CHECK(r == 0, "made there: %s", outcome_text(r));
	return 0;
}

static int case_audit(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = new_cell(kern, CHANGE | RUN, RUN, BH_MODE_AUDIT);
	const struct bh_event_copy *e;
	int r;

	CHECK(cell, "no cell");
	r = cell_verb(cell, INSIDE, "exec-copy", probe, WORK "/copy", NULL);
	CHECK(r == 0, "in audit mode: %s", outcome_text(r));
	cell_drain(cell);
	e = cell_event(cell, 0, BH_HOOK_BPRM_CHECK);
	CHECK(e && e->head.bits & BH_EVENT_AUDIT && e->head.perms == BH_PERM_EXEC, "not told of");
	return 0;
}

const struct test_case written_cases[] = {
	{"written/refused", case_refused, CASE_REFUSES},
	{"written/rights", case_rights, CASE_REFUSES},
	{"written/allowed", case_allowed, CASE_REFUSES},
	{"written/read-only", case_read_only, CASE_REFUSES},
	{"written/moved", case_moved, CASE_REFUSES},
	{"written/audit", case_audit, CASE_REFUSES},
	{},
};

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Judging: what an attempt must come to outside and inside, and what must be seen of a refusal. */
#include "run.h"

#include <errno.h>
#include <string.h>

static bool is_outcome(const char *line, const char *outcome)
{
	size_t n = strlen(outcome);

	return !strncmp(line, outcome, n) && line[n] == ' ';
}

/* "EPERM,ENOSYS" as numbers for the probe; -1: a name that is none of ours. */
static int error_numbers(const char *names, char *ret, size_t size)
{
	static const int errors[] = {EPERM, EACCES, ENOSYS, EAFNOSUPPORT};
	char copy[64], *rest = copy, *name;
	size_t n = 0, i;

	ret[0] = 0;
	if (!strcmp(names, "-"))
		return 0;
	snprintf(copy, sizeof(copy), "%s", names);
	while ((name = strsep(&rest, ","))) {
		for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
			if (!strcmp(name, errno_name(errors[i])))
				break;
		if (i == sizeof(errors) / sizeof(errors[0]))
			return -1;
		n += snprintf(ret + n, size - n, "%s%d", n ? "," : "", errors[i]);
	}
	return 0;
}

/* Which of the named hooks moved its counter; 0: none, -1: a name that is no hook's. */
static int moved_hook(const char *hooks, const struct bh_tally *before,
		      const struct bh_tally *after)
{
	char copy[128], *rest = copy, *name;
	unsigned int hook;

	snprintf(copy, sizeof(copy), "%s", hooks);
	copy[strcspn(copy, " ")] = 0; /* "quiet" */
	while ((name = strsep(&rest, ","))) {
		for (hook = 1; hook < BH_HOOK_COUNT; hook++)
			if (!strcmp(name, hook_name(hook)))
				break;
		if (hook == BH_HOOK_COUNT)
			return -1;
		if (after->hook[hook] > before->hook[hook])
			return hook;
	}
	return 0;
}

static int check_denied(struct cell *cell, const struct row *row, const struct bh_tally *before)
{
	const struct bh_event_copy *e;
	struct bh_tally after = cell_tally(cell);
	int hook = moved_hook(row->hooks, before, &after);

	CHECK(hook >= 0, "%s: no such hook", row->hooks);
	CHECK(hook > 0, "denied, but no counter of %s moved", row->hooks);
	CHECK(after.refused + after.noted ==
		      after.reported + after.quiet + after.folded + after.lost,
	      "the tally does not add up");
	cell_drain(cell);
	e = cell_event(cell, 0, hook);
	if (strstr(row->hooks, " quiet")) {
		CHECK(!e, "an event of what is quiet");
		return 0;
	}
	CHECK(e, "no event from %s", hook_name(hook));
	CHECK(e->head.error == hook_errno(hook) && e->head.compartment == cell->id,
	      "the event says errno %d", e->head.error);
	return 0;
}

/* For messages: the latest event, whatever it is about. */
static const char *last_event(struct cell *cell)
{
	static char text[256];
	const struct bh_event_copy *e;

	cell_drain(cell);
	if (!cell->nevents)
		return "none";
	e = &cell->events[cell->nevents - 1];
	snprintf(text, sizeof(text), "%s: %s: %.100s", hook_name(e->head.hook),
		 reason_text(e->head.reason), e->tail);
	return text;
}

int check_row(struct runner *run, struct cell *cell, const struct row *row)
{
	struct bh_tally before;
	char line[4096], deny[64];

	CHECK(error_numbers(row->error, deny, sizeof(deny)) == 0, "%s: no errno of ours",
	      row->error);
	CHECK(run_row(run, run->lent, BESIDE, row, deny, line, sizeof(line)) == 0,
	      "unknown variable");
	CHECK(is_outcome(line, "ALLOWED"), "control outside: %.150s", line);
	cell_drain(cell);
	cell->nevents = 0;
	before = cell_tally(cell);
	CHECK(run_row(run, cell, INSIDE, row, deny, line, sizeof(line)) == 0, "unknown variable");
	CHECK(is_outcome(line, row->outcome), "inside: %.150s; last event: %s", line,
	      last_event(cell));
	if (deny[0] && !run->mutate)
		return check_denied(cell, row, &before);
	return 0;
}

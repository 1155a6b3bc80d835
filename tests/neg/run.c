// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * neg-tests [--mutate] CASES [NAME...]: makes every attempt of the file CASES outside and inside,
 * see there. The compartments are attached as an operator's are, from the policy files beside
 * CASES.
 *
 * With --mutate all programs are detached after the attaching: what is still DENIED then was not
 * our refusal, and is reported as a failure.
 */
#include "run.h"

#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "compart/compart.h"

#define INCLUDES "/usr/share/bulkhead/policies"

/* --- compartments --- */

static int attach(struct runner *run, struct policy_cell *p)
{
	char policy[PATH_MAX], var[PATH_MAX];
	const char *vars[] = {var, NULL};
	struct attach_request request = {
		.policy = policy, .include_dir = INCLUDES, .vars = vars, .caller = getpid()};
	struct report report = {};
	struct error error = {};
	char name[64];
	int r;

	snprintf(policy, sizeof(policy), "%s/policies/%s.yaml", run->dir, p->name);
	snprintf(var, sizeof(var), "PROBE=%s", run->probe);
	snprintf(name, sizeof(name), "neg-%s", p->name);
	r = cgroup_own_create(name, &p->cgroup, &error);
	request.cgroup = p->cgroup;
	if (r == 0)
		r = compartment_attach(run->kern, &request, &p->compartment, &report, &error);
	report_done(&report);
	if (r < 0) {
		fprintf(stderr, "neg-tests: %s: %s\n", p->name, error.text);
		return r;
	}
	p->cell = cell_adopt(run->kern, p->compartment->id, p->cgroup, name);
	return p->cell ? 0 : -1;
}

static int attach_all(struct runner *run)
{
	static const char *const names[] = {"plain", "denied", "append", "one"};
	size_t i;
	int r;

	if (fixture_make() < 0 || make_scripts(run))
		return -1;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(run->cells[i].name, sizeof(run->cells[i].name), "%s", names[i]);
		run->ncells++;
		r = attach(run, &run->cells[i]);
		if (r)
			return r;
	}
	run->lent = run->cells[0].cell;
	return 0;
}

static void detach_all(struct runner *run)
{
	struct policy_cell *p;
	struct error error;
	size_t i;

	for (i = 0; i < run->ncells; i++) {
		p = &run->cells[i];
		cell_free(p->cell);
		if (p->cgroup)
			cgroup_kill(p->cgroup, HARNESS_DEADLINE_MS, NULL);
		if (p->compartment && compartment_detach(run->kern, p->compartment, &error) < 0)
			fprintf(stderr, "neg-tests: detach: %s\n", error.text);
		compartment_free(p->compartment);
		if (p->cgroup)
			cgroup_remove(p->cgroup);
		free(p->cgroup);
	}
}

static struct cell *find_cell(struct runner *run, const char *policy)
{
	size_t i;

	for (i = 0; i < run->ncells; i++)
		if (!strcmp(run->cells[i].name, policy))
			return run->cells[i].cell;
	return NULL;
}

/* --- the file --- */

static char *trim(char *text)
{
	char *end;

	while (*text == ' ' || *text == '\t')
		text++;
	end = text + strlen(text);
	while (end > text && strchr(" \t\n", end[-1]))
		*--end = 0;
	return text;
}

/* 1: a row, 0: nothing on the line, -1: not a row. */
static int parse_row(char *line, struct row *ret)
{
	char **fields[] = {&ret->name,	  &ret->policy, &ret->words,
			   &ret->outcome, &ret->hooks,	&ret->error};
	size_t i;
	char *field;

	line = trim(line);
	if (!*line || *line == '#')
		return 0;
	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		field = strsep(&line, "|");
		if (!field)
			return -1;
		*fields[i] = trim(field);
	}
	return line ? -1 : 1;
}

static void report_row(struct runner *run, const struct row *row)
{
	struct cell *cell = find_cell(run, row->policy);
	char name[64];
	int r;

	if (run->mutate && strcmp(row->outcome, "DENIED"))
		return;
	snprintf(name, sizeof(name), "neg/%s", row->name);
	case_begin();
	r = cell ? check_row(run, cell, row) : case_fail("no policy %s", row->policy);
	case_report(name, r, run->mutate);
}

static bool wanted(const char *name, int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++)
		if (!strcmp(name, argv[i]))
			return true;
	return argc == 0;
}

static int run_file(struct runner *run, const char *path, int argc, char **argv)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	struct row row;
	int r;

	if (!file)
		return -errno;
	while (getline(&line, &size, file) > 0) {
		r = parse_row(line, &row);
		if (r < 0) {
			fprintf(stderr, "neg-tests: %s: not a row: %s\n", path, line);
			return -EINVAL;
		}
		if (r > 0 && wanted(row.name, argc, argv))
			report_row(run, &row);
	}
	return 0;
}

static int set_paths(struct runner *run, const char *cases)
{
	char path[PATH_MAX], own[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

	if (n < 0 || !realpath(cases, path))
		return -1;
	own[n] = 0;
	snprintf(run->dir, sizeof(run->dir), "%s", dirname(path));
	n = snprintf(run->probe, sizeof(run->probe), "%s/probe", dirname(own));
	return n < (ssize_t)sizeof(run->probe) && access(run->probe, X_OK) == 0 ? 0 : -1;
}

static int run_all(struct runner *run, const char *cases, int argc, char **argv)
{
	int r = attach_all(run);

	if (r == 0 && run->mutate)
		r = harness_detach(run->kern);
	if (r == 0) {
		run->victim = cell_spawn(run->lent, run->lent->beside_fd, run_victim, run->probe);
		r = make_listeners(run);
	}
	if (r == 0)
		r = run_file(run, cases, argc, argv);
	if (run->victim > 0)
		kill(run->victim, SIGKILL);
	detach_all(run);
	return r;
}

int main(int argc, char **argv)
{
	struct error error = {};
	struct runner run = {};
	int r;

	argc--;
	argv++;
	if (argc > 0 && !strcmp(argv[0], "--mutate")) {
		run.mutate = true;
		argc--;
		argv++;
	}
	signal(SIGPIPE, SIG_IGN);
	if (argc < 1 || set_paths(&run, argv[0]) < 0) {
		fprintf(stderr,
			"usage: neg-tests [--mutate] CASES [NAME]..., with probe beside it\n");
		return 2;
	}
	if (kern_open(&run.kern, &error) < 0) {
		fprintf(stderr, "neg-tests: %s\n", error.text);
		return 1;
	}
	/* Each row's event is looked for. */
	kern_fold_switch(run.kern, 0);
	r = run_all(&run, argv[0], argc - 1, argv + 1);
	kern_close(run.kern);
	if (run.mutate)
		harness_remove();
	return case_end(run.mutate ? "neg-mutate" : "neg") || r < 0;
}

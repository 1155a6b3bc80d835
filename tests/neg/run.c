// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * neg-tests [--mutate] CASES [NAME...]: makes every attempt of the file CASES outside and inside,
 * see there. The compartments are attached as an operator's are, from the policy files beside
 * CASES.
 *
 * With --mutate all programs are detached after the attaching: what is still DENIED then was not
 * our refusal, and is reported as a failure.
 */
#include "kern/harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <linux/sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include "compart/compart.h"

enum { FD_SECRET = 200, FD_UDP, FD_TCP, FD_UDP6, FD_TCP6, FD_WAIT = 210 };
#define MAX_WORDS 32
#define MAX_LISTENERS 16

struct policy_cell {
	char name[32];
	struct compartment *compartment;
	char *cgroup;
	struct cell *cell;
};

struct runner {
	struct kern *kern;
	char dir[PATH_MAX / 2]; /* of the cases and policies */
	char probe[PATH_MAX / 2];
	struct policy_cell cells[4];
	size_t ncells;
	struct cell *lent; /* whose sibling cgroup stands for "outside" */
	pid_t victim;
	int port;
	int listeners[MAX_LISTENERS];
	size_t nlisteners;
	bool mutate;
};

struct row {
	char *name, *policy, *words, *outcome, *hooks, *error;
};

/* --- what attempts meet outside --- */

static int keep_listener(struct runner *run, int fd)
{
	if (fd < 0 || run->nlisteners == MAX_LISTENERS)
		return -1;
	run->listeners[run->nlisteners++] = fd;
	return 0;
}

static int listen_unix(struct runner *run, const char *name, int type)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	size_t length = strlen(name);
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	memcpy(sun.sun_path, name, length);
	if (name[0] == '@')
		sun.sun_path[0] = 0;
	if (bind(fd, (struct sockaddr *)&sun, offsetof(struct sockaddr_un, sun_path) + length) <
		    0 ||
	    (type != SOCK_DGRAM && listen(fd, 128) < 0))
		return -1;
	return keep_listener(run, fd);
}

/* Both families, mapped addresses and all local ones, so that every spelling has its control. */
static int listen_tcp(struct runner *run)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6};
	socklen_t size = sizeof(any);
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), off = 0;

	if (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0 ||
	    bind(fd, (struct sockaddr *)&any, sizeof(any)) < 0 || listen(fd, 512) < 0 ||
	    getsockname(fd, (struct sockaddr *)&any, &size) < 0)
		return -1;
	run->port = ntohs(any.sin6_port);
	return keep_listener(run, fd);
}

static int make_listeners(struct runner *run)
{
	if (listen_tcp(run) || listen_unix(run, "@bulkhead-neg-stream", SOCK_STREAM) ||
	    listen_unix(run, "@bulkhead-neg-listed", SOCK_STREAM) ||
	    listen_unix(run, "@bulkhead-neg-listed-not", SOCK_STREAM) ||
	    listen_unix(run, "@bulkhead-neg-seqpacket", SOCK_SEQPACKET))
		return -1;
	return listen_unix(run, "@bulkhead-neg-dgram", SOCK_DGRAM);
}

static int write_file(const char *path, const char *text, mode_t mode)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	return fd < 0 || write(fd, text, strlen(text)) < 0 || fchmod(fd, mode) < 0 ? -errno : 0;
}

static int make_scripts(struct runner *run)
{
	char text[PATH_MAX];

	/* The kernel adds the script's path: the verb takes no notice of it. */
	snprintf(text, sizeof(text), "#!%s unix-pair\n", run->probe);
	mkdir("/srv/quiet", 0755);
	if (write_file(FIXTURE "/open/run", text, 0755) ||
	    write_file(FIXTURE "/work/run", text, 0755) ||
	    write_file(FIXTURE "/work/.env", "X=1\n", 0644) ||
	    write_file("/srv/quiet/file", "x\n", 0644))
		return -1;
	return symlink(FIXTURE_SECRET, FIXTURE "/work/link");
}

static int take_fd(int fd, int as)
{
	if (fd < 0 || dup2(fd, as) < 0)
		return -1;
	return fd == as ? 0 : close(fd);
}

static int make_descriptors(void)
{
	return take_fd(open(FIXTURE_SECRET, O_RDWR), FD_SECRET) ||
	       take_fd(socket(AF_INET, SOCK_DGRAM, 0), FD_UDP) ||
	       take_fd(socket(AF_INET, SOCK_STREAM, 0), FD_TCP) ||
	       take_fd(socket(AF_INET6, SOCK_DGRAM, 0), FD_UDP6) ||
	       take_fd(socket(AF_INET6, SOCK_STREAM, 0), FD_TCP6);
}

static void close_listeners_from(struct runner *run, size_t from)
{
	while (run->nlisteners > from)
		close(run->listeners[--run->nlisteners]);
}

static int prepare(struct runner *run, size_t *ret_listeners)
{
	*ret_listeners = run->nlisteners;
	umount2(FIXTURE "/work/sub", MNT_DETACH);
	if (fixture_make() < 0 || make_scripts(run) || make_descriptors())
		return -1;
	return listen_unix(run, FIXTURE "/secret/socket", SOCK_STREAM) ||
	       listen_unix(run, FIXTURE "/open/socket", SOCK_STREAM) ||
	       listen_unix(run, FIXTURE "/secret/dgram", SOCK_DGRAM);
}

static int run_victim(void *data)
{
	char *argv[] = {data, (char *)"pause", NULL}, *envp[] = {NULL};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execve(data, argv, envp);
	return 1;
}

/* --- one attempt --- */

struct attempt {
	char *argv[MAX_WORDS + 4];
	int out;
};

static int run_probe(void *data)
{
	struct attempt *attempt = data;
	char *envp[] = {NULL};

	dup2(attempt->out, STDOUT_FILENO);
	execve(attempt->argv[0], attempt->argv, envp);
	return dprintf(STDOUT_FILENO, "BROKEN %d execve\n", errno) < 0;
}

static int expand(struct runner *run, struct cell *cell, const char *word, char *ret, size_t size)
{
	const struct {
		const char *name;
		const char *text;
		int number;
	} vars[] = {{"$S", FIXTURE, 0},
		    {"$PROBE", run->probe, 0},
		    {"$VICTIM", NULL, run->victim},
		    {"$PORT", NULL, run->port},
		    {"$BESIDE", cell->beside, 0}};
	const char *dollar = strchr(word, '$');
	size_t i, n;

	if (!dollar)
		return snprintf(ret, size, "%s", word);
	for (i = 0; i < sizeof(vars) / sizeof(vars[0]); i++) {
		n = strlen(vars[i].name);
		if (strncmp(dollar, vars[i].name, n) || (dollar[n] && dollar[n] != '/'))
			continue;
		if (vars[i].text)
			return snprintf(ret, size, "%.*s%s%s", (int)(dollar - word), word,
					vars[i].text, dollar + n);
		return snprintf(ret, size, "%.*s%d%s", (int)(dollar - word), word, vars[i].number,
				dollar + n);
	}
	return -1;
}

static int wait_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, HARNESS_DEADLINE_MS) > 0 ? 0 : -1;
}

/* "--wait": the process says that it is ready, is moved where it belongs, and goes on. */
static void let_in(struct cell *cell, enum where where, pid_t pid, int fd)
{
	char byte = 0;

	if (wait_readable(fd) || read(fd, &byte, 1) != 1)
		return; /* it ended: its line says why */
	if (where == INSIDE && cell_move(cell->cgroup, pid) < 0) {
		kill(pid, SIGKILL);
		return;
	}
	send(fd, &byte, 1, MSG_NOSIGNAL);
}

/* The last line's outcome in `line`, "BROKEN 0" when there is none. */
static void read_outcome(int fd, char *line, size_t size)
{
	size_t n = 0;
	ssize_t got;
	char *last;

	while (n < size - 1 && wait_readable(fd) == 0) {
		got = read(fd, line + n, size - 1 - n);
		if (got <= 0)
			break;
		n += got;
	}
	line[n] = 0;
	while (n > 0 && line[n - 1] == '\n')
		line[--n] = 0;
	last = strrchr(line, '\n');
	if (last)
		memmove(line, last + 1, strlen(last));
	if (!line[0])
		snprintf(line, size, "BROKEN 0 no-answer");
}

static void attempt_once(struct cell *cell, enum where where, struct attempt *attempt, bool waits,
			 char *line, size_t size)
{
	int ends[2], pair[2] = {-1, -1}, home;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0 ||
	    (waits && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0))
		return;
	if (waits)
		dup2(pair[1], FD_WAIT);
	attempt->out = ends[1];
	home = where == INSIDE && !waits ? cell->cgroup_fd : cell->beside_fd;
	pid = cell_spawn(cell, home, run_probe, attempt);
	close(ends[1]);
	if (waits) {
		close(pair[1]);
		close(FD_WAIT);
		let_in(cell, where, pid, pair[0]);
	}
	read_outcome(ends[0], line, size);
	close(ends[0]);
	cleanup_closep(&pair[0]);
	cell_wait(pid);
}

/* "OUTCOME ERRNO VERB" of the probe, run once with the row's words. */
static int run_row(struct runner *run, struct cell *cell, enum where where, const struct row *row,
		   const char *deny, char *line, size_t size)
{
	static char words[MAX_WORDS][PATH_MAX / 4];
	struct attempt attempt = {.argv = {run->probe}};
	char copy[1024], *rest = copy, *word;
	bool waits = strstr(row->words, "--wait");
	size_t listeners;
	int n = 1;

	attempt.argv[n++] = (char *)"--deny";
	attempt.argv[n++] = (char *)deny;
	snprintf(copy, sizeof(copy), "%s", row->words);
	while ((word = strsep(&rest, " ")) && n < MAX_WORDS) {
		if (expand(run, cell, word, words[n], sizeof(words[n])) < 0)
			return -1;
		attempt.argv[n] = words[n];
		n++;
	}
	if (prepare(run, &listeners) == 0)
		attempt_once(cell, where, &attempt, waits, line, size);
	else
		snprintf(line, size, "BROKEN %d prepare", errno);
	close_listeners_from(run, listeners);
	umount2(FIXTURE "/work/sub", MNT_DETACH);
	return 0;
}

/* --- judging --- */

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
	CHECK(after.refused + after.noted == after.reported + after.quiet + after.lost,
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

static int check_row(struct runner *run, struct cell *cell, const struct row *row)
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

/* --- compartments --- */

static int attach(struct runner *run, struct policy_cell *p)
{
	char policy[PATH_MAX], var[PATH_MAX];
	const char *vars[] = {var, NULL};
	struct attach_request request = {.policy = policy, .vars = vars, .caller = getpid()};
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
	static const char *const names[] = {"plain", "denied"};
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
	r = run_all(&run, argv[0], argc - 1, argv + 1);
	kern_close(run.kern);
	if (run.mutate)
		harness_remove();
	return case_end(run.mutate ? "neg-mutate" : "neg") || r < 0;
}

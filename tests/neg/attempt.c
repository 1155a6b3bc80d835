// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One attempt: the probe, run with a row's words beside the compartment or in it. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>

#define FD_WAIT 210 /* "--wait" in the cases */
#define MAX_WORDS 32

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

int run_row(struct runner *run, struct cell *cell, enum where where, const struct row *row,
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

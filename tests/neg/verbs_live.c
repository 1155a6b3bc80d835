// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What lives on, each in its own way, and what takes as much as it can have: for deadlines and limits. */
#include "verbs_internal.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define MANY 1000 /* of a storm; a limit of processes ends it sooner */
#define HOG_STEP (4 << 20)

static void stay(void) __attribute__((noreturn));
static void stay(void)
{
	for (;;)
		pause();
}

/* A child that does `fn` and stays; its parent goes on. */
static pid_t child_that(void (*fn)(void))
{
	pid_t pid = fork();

	if (pid)
		return pid;
	if (fn)
		fn();
	stay();
}

static void ignore_signals(void)
{
	for (int i = 1; i < SIGRTMAX; i++)
		signal(i, SIG_IGN);
}

static void own_session(void)
{
	setsid();
	ignore_signals();
}

static void forks_twice(void)
{
	if (child_that(own_session))
		_exit(0);
}

static void stops(void)
{
	raise(SIGSTOP);
}

static void is_traced(void)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
}

static void storms(void)
{
	for (int i = 0; i < MANY; i++)
		child_that(ignore_signals);
}

static const struct way {
	const char *name;
	void (*in_child)(void), (*self)(void);
} ways[] = {
	{"plainly", NULL, NULL},
	{"deaf", NULL, ignore_signals},
	{"own-session", own_session, NULL},
	{"orphan", forks_twice, NULL},
	{"stopped", stops, NULL},
	{"traced", is_traced, NULL},
	{"storm", NULL, storms},
};

/* Never comes back but for what it does not know. */
VERB(live)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		if (strcmp(ways[i].name, argv[1]))
			continue;
		if (ways[i].in_child && child_that(ways[i].in_child) < 0)
			return broken();
		if (ways[i].self)
			ways[i].self();
		stay();
	}
	errno = EINVAL;
	return broken();
}

/* The same in a child, and ends itself. */
VERB(leave_behind)
{
	return child_that(own_session) < 0 ? broken() : 0;
}

/* Of memory; the limit kills it. */
VERB(hog)
{
	for (;;) {
		char *p = mmap(NULL, HOG_STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);

		if (p == MAP_FAILED)
			return failed();
		memset(p, 1, HOG_STEP);
	}
}

/* As many children as argv[1] says: EAGAIN is the limit's. */
VERB(fork_many)
{
	for (int i = 0; i < number(argv[1]); i++) {
		if (child_that(NULL) < 0)
			return failed();
	}
	return 0;
}

/* argv[2] bytes into a file: SIGXFSZ is the limit's. */
VERB(grow)
{
	_cleanup_close_ int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	char block[4096] = {};

	if (fd < 0)
		return broken();
	for (long left = number(argv[2]); left > 0; left -= sizeof(block)) {
		if (write(fd, block, sizeof(block)) < 0)
			return failed();
	}
	return 0;
}

/* Descriptors up to argv[1] of them. */
VERB(open_many)
{
	for (int i = 0; i < number(argv[1]); i++) {
		if (dup(STDIN_FILENO) < 0)
			return failed();
	}
	return 0;
}

/* A variable that it was started with. */
VERB(variable)
{
	const char *value = getenv(argv[1]);

	if (!value || (argc > 2 && strcmp(value, argv[2]))) {
		errno = ENOENT;
		return failed();
	}
	return 0;
}

static int make_in(const char *variable)
{
	const char *directory = getenv(variable);
	char path[512];

	snprintf(path, sizeof(path), "%s/made", directory ? directory : "");
	return result_fd(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

/* A file in its HOME, and one in its TMPDIR. */
VERB(make_at_home)
{
	int r = make_in("HOME");

	return r ? r : make_in("TMPDIR");
}

/* No program gives it more than it has. */
VERB(no_new_privileges)
{
	errno = EPERM;
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : failed();
}

const struct verb live_verbs[] = {
	{"live", 1, verb_live, "WAY"},
	{"leave-behind", 0, verb_leave_behind, ""},
	{"hog", 0, verb_hog, ""},
	{"fork-many", 1, verb_fork_many, "NUMBER"},
	{"grow", 2, verb_grow, "FILE BYTES"},
	{"variable", 1, verb_variable, "NAME [VALUE]"},
	{"make-at-home", 0, verb_make_at_home, ""},
	{"no-new-privileges", 0, verb_no_new_privileges, ""},
	{"open-many", 1, verb_open_many, "NUMBER"},
	{},
};

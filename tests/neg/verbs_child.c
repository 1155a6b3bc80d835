// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Children, and verbs tried by others: by a child, as another user, again and again, for ever. */
#include "verbs_internal.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

VERB(fork)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return result(pid);
}

/* What verb_run answers in a child, which may be gone without an answer. */
static int answer_of(pid_t pid, int in)
{
	int r;

	if (pid < 0)
		return failed();
	if (read(in, &r, sizeof(r)) != sizeof(r))
		r = VERB_BROKEN + ECHILD;
	close(in);
	waitpid(pid, NULL, 0);
	return r;
}

static void answer(int out, int argc, char **argv)
{
	int r = verb_run(argc - 1, argv + 1);

	_exit(write(out, &r, sizeof(r)) != sizeof(r));
}

/* forked VERB...: what a child makes of it. */
VERB(forked)
{
	int ends[2];
	pid_t pid;

	if (pipe(ends) < 0)
		return broken();
	pid = fork();
	if (pid == 0)
		answer(ends[1], argc, argv);
	close(ends[1]);
	return answer_of(pid, ends[0]);
}

/* child VERB...: an orphan's answer, in a session of its own, twice removed. */
VERB(child)
{
	int ends[2];
	pid_t pid;

	if (pipe(ends) < 0)
		return broken();
	pid = fork();
	if (pid == 0) {
		setsid();
		if (fork() == 0)
			answer(ends[1], argc, argv);
		_exit(0);
	}
	close(ends[1]);
	return answer_of(pid, ends[0]);
}

VERB(root)
{
	if (setresgid(number(argv[1]), number(argv[1]), number(argv[1])) < 0 ||
	    setresuid(number(argv[1]), number(argv[1]), number(argv[1])) < 0)
		return broken();
	return verb_run(argc - 2, argv + 2);
}

/*
 * poll FILE THREADS: what a provider does that runs when the policy comes. Each thread tries the
 * file once a millisecond, by a child every 16th time, and writes one letter: its own, a capital
 * one when the file could be opened, '?' for another errno than EACCES.
 */
static const char *polled;

static char poll_once(int i, bool forked)
{
	char *argv[] = {(char *)"forked", (char *)"read", (char *)polled};
	int r = forked ? verb_forked(3, argv) : verb_run(2, argv + 1);

	if (r && r != EACCES)
		return '?';
	return (r ? 'a' : 'A') + i;
}

static void *poll_loop(void *data)
{
	int i = (int)(long)data, n;
	char letter;

	for (n = 0;; n++) {
		letter = poll_once(i, n % 16 == 15);
		if (write(STDOUT_FILENO, &letter, 1) != 1)
			return NULL;
		usleep(1000);
	}
}

VERB(poll)
{
	int n = number(argv[2]), i;
	pthread_t thread;

	polled = argv[1];
	for (i = 1; i < n; i++)
		if (pthread_create(&thread, NULL, poll_loop, (void *)(long)i))
			return broken();
	poll_loop(NULL);
	return 0;
}

/* poll-holding FILE: the same by one thread that has the file open already, before the policy. */
VERB(poll_holding)
{
	char *words[] = {argv[0], argv[1], (char *)"1"};

	if (open(argv[1], O_RDWR) < 0)
		return broken();
	return verb_poll(3, words);
}

/* Waits for ever in the kernel for a page that nobody brings. */
VERB(stuck)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.range.len = PAGE, .mode = UFFDIO_REGISTER_MODE_MISSING};
	int uffd = syscall(SYS_userfaultfd, 0), ends[2];
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	range.range.start = (unsigned long)page;
	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api) < 0 ||
	    ioctl(uffd, UFFDIO_REGISTER, &range) < 0 || pipe(ends) < 0 ||
	    write(ends[1], "x", 1) != 1 || write(STDOUT_FILENO, "s", 1) != 1)
		return broken();
	return result(read(ends[0], page, 1));
}

const struct verb child_verbs[] = {
	{"fork", 0, verb_fork, ""},
	{"poll", 2, verb_poll, "FILE THREADS"},
	{"poll-holding", 1, verb_poll_holding, "FILE"},
	{"stuck", 0, verb_stuck, ""},
	{"forked", 1, verb_forked, "VERB..."},
	{"child", 1, verb_child, "VERB..."},
	{"as", 2, verb_root, "UID VERB..."},
	{},
};

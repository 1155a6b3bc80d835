// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * probe [--deny ERRNO[,ERRNO]...] [--before VERB...]... [--wait FD] VERB... [-- VERB...]...
 *
 * Makes attempts and prints one line each, "OUTCOME ERRNO VERB":
 *   ALLOWED  it went through
 *   DENIED   refused with an errno of --deny (a refusal of ours)
 *   OTHER    refused with another errno
 *   BROKEN   could not be tried
 * --before VERB... ends with "--"; its attempt is made first and must be ALLOWED: what the process
 * did before it was confined. --wait FD then writes one byte to FD and reads one from it: in
 * between the caller confines the process. A negative ERRNO and VERB "pause" waits to be looked at.
 * The exit status is 0 when every line could be printed: the outcomes are the result.
 */
#include "verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *deny = "";

static int is_denial(int error)
{
	char *end = (char *)deny;

	while (*end) {
		if (strtol(end, &end, 10) == error)
			return 1;
		end += strcspn(end, ",");
		end += *end == ',';
	}
	return 0;
}

static const char *outcome_of(int r)
{
	if (r >= VERB_BROKEN)
		return "BROKEN";
	if (r == 0)
		return "ALLOWED";
	return is_denial(r) ? "DENIED" : "OTHER";
}

/* One write, no stdio: its buffers may want memory and devices that are not there. */
static int print(const char *verb, int r)
{
	char line[128];
	int n = snprintf(line, sizeof(line), "%s %d %.80s\n", outcome_of(r),
			 r >= VERB_BROKEN ? r - VERB_BROKEN : r, verb);

	return write(STDOUT_FILENO, line, n) == n ? 0 : -1;
}

/* Number of words up to "--" or the end. */
static int words(int argc, char **argv)
{
	int n = 0;

	while (n < argc && strcmp(argv[n], "--"))
		n++;
	return n;
}

static int hand_over(int fd)
{
	char byte = 0;

	return write(fd, &byte, 1) == 1 && read(fd, &byte, 1) == 1 ? 0 : -1;
}

static int attempt_all(int argc, char **argv)
{
	int n, r = 0;

	while (argc > 0 && r == 0) {
		n = words(argc, argv);
		if (n == 1 && !strcmp(argv[0], "pause"))
			pause();
		/* "fork" and "child" leave children that must not print a buffer twice: there is
		 * none. */
		if (n > 0)
			r = print(argv[0], verb_run(n, argv));
		n += n < argc;
		argc -= n;
		argv += n;
	}
	return r;
}

static int usage(void)
{
	const struct verb *const *family, *v;

	fprintf(stderr, "usage: probe [--deny ERRNO] [--before VERB... --] [--wait FD] VERB... [-- "
			"VERB...]...\n");
	for (family = verb_families; *family; family++)
		for (v = *family; v->name; v++)
			fprintf(stderr, "  %-20s %s\n", v->name, v->usage);
	return 2;
}

int main(int argc, char **argv)
{
	int n, r;

	argc--;
	argv++;
	while (argc > 1 && !strncmp(argv[0], "--", 2)) {
		n = 1;
		if (!strcmp(argv[0], "--deny")) {
			deny = argv[1];
		} else if (!strcmp(argv[0], "--wait")) {
			if (hand_over(atoi(argv[1])) < 0)
				return 1;
		} else if (!strcmp(argv[0], "--before")) {
			n = words(argc - 1, argv + 1);
			r = verb_run(n, argv + 1);
			if (r) {
				print(argv[1], r < VERB_BROKEN ? VERB_BROKEN + r : r);
				return 0;
			}
			n += n < argc - 1;
		} else {
			return usage();
		}
		argc -= n + 1;
		argv += n + 1;
	}
	if (argc < 1)
		return usage();
	return attempt_all(argc, argv) ? 1 : 0;
}

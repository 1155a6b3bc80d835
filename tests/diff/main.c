// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * differential [--cases N] [--policy I] [--workers N] [--break NAME]: the naive reference, the
 * automaton in user space and the kernel's own code, over the same random policies, views and paths.
 * BULKHEAD_SEED=N draws other cases; --policy compares one policy alone, by the number that a
 * difference was reported with; --break damages one of the three on purpose: it must end with a
 * difference, or the comparison is worth nothing. `--break list` names the ways.
 *
 * Exits 0 when all agree, 1 on a difference and 2 where this kernel does not load the programs for
 * us, so that nothing was compared.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include "base/cleanup.h"
#include "compare.h"

#define CASES 1000000
#define QUESTIONS 180 /* of each policy */
#define MAX_WORKERS 64
#define EXIT_REFUSED 2

DEFINE_CLEANUP(struct kernel *, kernel_close)

struct request {
	unsigned int first, policies, workers;
	const struct damage *damage;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Every so many policies, beginning with its own. */
static int work(const struct request *request, unsigned int worker, struct count *count)
{
	_cleanup_(cleanup_kernel_close) struct kernel *kernel = NULL;
	struct comparison comparison = {.seed = draw_seed_given(),
					.questions = QUESTIONS,
					.damage = request->damage,
					.count = count};
	unsigned int i;
	int r = kernel_open(&kernel);

	comparison.kernel = kernel;
	for (i = worker; i < request->policies && r == 0; i += request->workers)
		r = compare_policy(&comparison, request->first + i);
	return r;
}

/* Processes, each with maps of its own: installing waits for grace periods of the kernel's, and those
 * of several pass together. */
static int work_all(const struct request *request, struct count *counts)
{
	unsigned int i;
	int status, r = 0;
	pid_t pid;

	for (i = 0; i < request->workers; i++) {
		pid = fork();
		if (pid < 0)
			return -errno;
		if (pid == 0) {
			status = work(request, i, &counts[i]) < 0;
			fflush(NULL);
			_exit(status);
		}
	}
	while (wait(&status) > 0) {
		if (status)
			r = -ECHILD;
	}
	return r;
}

/* Cases that are all alike prove nothing: some of every sort, near misses and not misses. */
static bool is_spread(const struct count *count)
{
	return count->spoken > count->cases / 4 && count->spoken < count->cases / 4 * 3 &&
	       count->unknown && count->silent && count->tripped && count->audited &&
	       count->linked && count->longest && count->paged;
}

static int report(const struct request *request, const struct count *count, double seconds)
{
	printf("%u policies of seed %llu, %u with tables of several pages; %.1f s\n",
	       count->policies, (unsigned long long)draw_seed_given(), count->paged, seconds);
	printf("rules name the file in %u, refused quietly %u, tripped %u, audited %u, with other "
	       "names %u, on an unknown superblock %u, of 4,000 bytes or more %u\n",
	       count->spoken, count->silent, count->tripped, count->audited, count->linked,
	       count->unknown, count->longest);
	printf("%u differential cases, %u differ\n", count->cases, count->differ);
	if (count->policies != request->policies) {
		fputs("differential: not all policies were compared\n", stderr);
		return EXIT_FAILURE;
	}
	if (count->cases >= CASES / 10 && !is_spread(count)) {
		fputs("differential: the cases are too much alike\n", stderr);
		return EXIT_FAILURE;
	}
	return count->differ ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int run(const struct request *request)
{
	struct kernel *kernel = NULL;
	struct count *counts, sum = {0};
	double start = now();
	unsigned int i;
	int r = kernel_open(&kernel);

	kernel_close(kernel);
	if (r < 0) {
		fprintf(stderr,
			"differential: this kernel does not load the programs: %s (run it as root, "
			"or in the lab)\n",
			strerror(-r));
		return EXIT_REFUSED;
	}
	counts = mmap(NULL, MAX_WORKERS * sizeof(*counts), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counts == MAP_FAILED)
		return EXIT_FAILURE;
	r = work_all(request, counts);
	for (i = 0; i < request->workers; i++)
		count_add(&sum, &counts[i]);
	r = report(request, &sum, now() - start) || r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
	munmap(counts, MAX_WORKERS * sizeof(*counts));
	return r;
}

static int parse(int argc, char **argv, struct request *ret)
{
	static const struct option options[] = {{"cases", required_argument, NULL, 'c'},
						{"policy", required_argument, NULL, 'p'},
						{"workers", required_argument, NULL, 'w'},
						{"break", required_argument, NULL, 'b'},
						{}};
	const struct damage *damage;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		unsigned int number = optarg ? (unsigned int)strtoul(optarg, NULL, 0) : 0;

		if (option == 'c')
			ret->policies = (number + QUESTIONS - 1) / QUESTIONS;
		else if (option == 'p')
			ret->first = number, ret->policies = 1;
		else if (option == 'w')
			ret->workers = number;
		else if (option == 'b' && (damage = damage_find(optarg)))
			ret->damage = damage;
		else
			return -EINVAL;
	}
	return ret->workers && ret->workers <= MAX_WORKERS && optind == argc ? 0 : -EINVAL;
}

int main(int argc, char **argv)
{
	struct request request = {.policies = (CASES + QUESTIONS - 1) / QUESTIONS, .workers = 8};
	const struct damage *damage;

	if (argc == 3 && !strcmp(argv[1], "--break") && !strcmp(argv[2], "list")) {
		for (damage = damages; damage->name; damage++)
			puts(damage->name);
		return EXIT_SUCCESS;
	}
	if (parse(argc, argv, &request) < 0) {
		fputs("usage: differential [--cases N] [--policy I] [--workers N] [--break NAME]\n",
		      stderr);
		return EXIT_FAILURE;
	}
	return run(&request);
}

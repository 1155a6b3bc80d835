// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a large policy costs: rules sampled from this machine's /usr, as an inventory of an image
 * would write them, read from a policy file and compiled for a view of a few mounts. Prints rules,
 * states, words and CPU seconds. ./rules [NUMBER [SEED]]; ./rules NUMBER SEED FILE writes them as an include
 * into FILE, for tests/bench/run-place, and compiles nothing.
 */
#include <errno.h>
#include <ftw.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "policy/glob.h"
#include "policy/policy.h"

#define MAX_PATHS (4u << 20)

/* What is below /usr: directories in front of the files. */
struct paths {
	char **items;
	size_t n;
};

static struct paths files, directories;
static unsigned long long random_state = 1;

static size_t draw(size_t below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (size_t)(random_state >> 33) % below;
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int collect(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	struct paths *paths = type == FTW_D ? &directories : &files;

	(void)st;
	(void)ftw;
	if (type != FTW_D && type != FTW_F)
		return 0;
	if (paths->n == MAX_PATHS)
		return 1;
	paths->items[paths->n] = malloc(2 * strlen(path) + 1);
	if (!paths->items[paths->n])
		return -1;
	glob_escape(path, paths->items[paths->n++]);
	return 0;
}

/* A single-quoted word of YAML. */
static void write_word(FILE *out, const char *text)
{
	fputc('\'', out);
	for (; *text; text++)
		fprintf(out, *text == '\'' ? "''" : "%c", *text);
	fputs("'\n", out);
}

/* Of each ten: six files, two trees, two kinds of file in a directory. */
static void choose_glob(char *glob, size_t size, size_t turn)
{
	const char *path = files.items[draw(files.n)], *dot = strrchr(path, '.');
	const char *slash = strrchr(path, '/');

	if (turn % 10 < 2)
		snprintf(glob, size, "%s/**", directories.items[draw(directories.n)]);
	else if (turn % 10 < 4 && dot > slash + 1)
		snprintf(glob, size, "%.*s/*%s", (int)(slash - path), path, dot);
	else
		snprintf(glob, size, "%s", path);
}

static void choose_name(char *glob, size_t size, size_t turn)
{
	(void)turn;
	snprintf(glob, size, "/**%s", strrchr(files.items[draw(files.n)], '/'));
}

typedef void (*choose_fn)(char *glob, size_t size, size_t turn);

static int compare_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* n globs that were not written yet: a rule that says nothing new is refused. */
static void write_clause(FILE *out, const char *rights, choose_fn choose, size_t n)
{
	static void *written;
	char glob[BH_MAX_GLOB];

	fprintf(out, "  - %s\n    on:\n", rights);
	for (size_t i = 0; i < n;) {
		choose(glob, sizeof(glob), i);
		if (tfind(glob, &written, compare_text))
			continue;
		tsearch(strdup(glob), &written, compare_text);
		fputs("      - ", out);
		write_word(out, glob);
		i++;
	}
}

#define HEAD_OF_POLICY "version: 1\nname: bench\nmode: enforce\nnetwork: none\n"
#define HEAD_OF_INCLUDE "version: 1\n"

static void write_rules(FILE *out, const char *head, size_t n)
{
	fprintf(out, "%sfiles:\n", head);
	write_clause(out, "allow: [read]", choose_glob, n - 2 * (n / 10) - 2 * (n / 100));
	write_clause(out, "allow: [read, map-exec]", choose_glob, n / 10);
	write_clause(out, "allow: [read, write, create, delete]", choose_glob, n / 10);
	write_clause(out, "deny: [write, create]", choose_glob, n / 100);
	write_clause(out, "deny: [write, link]", choose_name, n / 100);
}

/* Rows stand in pages, none across an edge. */
static unsigned int count_states(const struct automaton *automaton)
{
	unsigned int row = automaton->head.nclasses + BH_ROW_EXTRA;

	return automaton->head.nwords / BH_PAGE_WORDS * (BH_PAGE_WORDS / row) +
	       automaton->head.nwords % BH_PAGE_WORDS / row;
}

static int report(const char *path)
{
	static const struct mount_view mounts[] = {
		{1, "/", "/"},	  {2, "/", "/proc"},	      {3, "/", "/sys"},
		{4, "/", "/dev"}, {5, "/data", "/usr/local"}, {1, "/srv/share", "/usr/share/local"},
	};
	double begin = cpu_seconds(), loaded, compiled;
	struct automaton automaton;
	struct error error = {0};
	struct policy *policy;

	if (policy_load(path, NULL, &policy, &error) < 0) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	loaded = cpu_seconds();
	if (automaton_compile(policy->rules, policy->nrules, mounts,
			      sizeof(mounts) / sizeof(*mounts), &automaton, &error) < 0) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	compiled = cpu_seconds();
	printf("%zu rules, %u classes, %u states, %u words: read in %.2f s, compiled in %.2f s of "
	       "CPU\n",
	       policy->nrules, automaton.head.nclasses, count_states(&automaton),
	       automaton.head.nwords, loaded - begin, compiled - loaded);
	automaton_done(&automaton);
	policy_free(policy);
	return 0;
}

static int write_include(const char *path, size_t n)
{
	FILE *out = fopen(path, "we");

	if (!out)
		return perror(path), 1;
	write_rules(out, HEAD_OF_INCLUDE, n);
	return fclose(out) ? 1 : 0;
}

int main(int argc, char **argv)
{
	size_t nrules = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000;
	char path[] = "/tmp/rules.XXXXXX.yaml";
	FILE *out;
	int fd, r;

	random_state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	files.items = calloc(MAX_PATHS, sizeof(char *));
	directories.items = calloc(MAX_PATHS, sizeof(char *));
	if (!files.items || !directories.items || nftw("/usr", collect, 64, FTW_PHYS) || !files.n)
		return perror("/usr"), 1;
	if (argc > 3)
		return write_include(argv[3], nrules);
	fd = mkstemps(path, strlen(".yaml"));
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out)
		return perror(path), 1;
	write_rules(out, HEAD_OF_POLICY, nrules);
	r = fclose(out) ? 1 : report(path);
	unlink(path);
	return r;
}

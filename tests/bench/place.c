// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a place costs: open+close of a file by the number of components and bytes of its path.
 *
 *   place make       makes the files
 *   place first      opens each of OPENS files that stand beside each other, once
 *   place anew       from now on no verdict that is known is used; with "place kept" it is again
 *   place            prints "place COMPONENTS BYTES NANOSECONDS" for each
 *   place series     first, without; then says "waiting" and, when a line comes in, without once more: all of it
 *                    by one policy, whose ten thousand rules take long to compile under emulation
 *
 * Under `scripts/lab --icount` guest nanoseconds are instructions. tests/bench/run-place runs it
 * outside and inside a compartment and prints the difference.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "kern/kern.h"

#define TOP "/bench" /* a directory of the root filesystem, so that paths are as long as written */
#define BATCHES 11
#define OPENS 1000

/* As the budget names them; the last component is the file, of five bytes at least. */
static const struct {
	unsigned int components, bytes;
} places[] = {{4, 24}, {8, 70}, {17, 197}};

#define NPLACES (sizeof(places) / sizeof(*places))

/* TOP, then names that share out what is left of `bytes`. */
static void path_of(size_t i, char *path, size_t size)
{
	unsigned int left = places[i].components - 1;
	size_t n = (size_t)snprintf(path, size, "%s", TOP);

	for (; left > 0; left--) {
		size_t bytes = (places[i].bytes - n) / left;

		path[n] = '/';
		memset(path + n + 1, 'a' + (char)(left % 26), bytes - 1);
		n += bytes;
	}
	path[n] = '\0';
}

/* One of OPENS files beside that one, with a name as long. */
static void beside(char *path, int i)
{
	char *name = strrchr(path, '/') + 1;
	int length = (int)strlen(name);
	char digits[16];

	snprintf(digits, sizeof(digits), "%04d", i);
	memcpy(name + length - 4, digits, 4);
}

static int make(const char *path)
{
	char part[512];
	int fd;

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		if (mkdir(part, 0755) < 0 && errno != EEXIST)
			return -errno;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* Median over batches of one open+close; negative when the file does not open. */
static double measure(const char *path)
{
	double batch[BATCHES];

	for (int i = 0; i < BATCHES; i++) {
		double start = now_ns();

		for (int j = 0; j < OPENS; j++) {
			int fd = open(path, O_RDONLY | O_CLOEXEC);

			if (fd < 0)
				return -1;
			close(fd);
		}
		batch[i] = (now_ns() - start) / OPENS;
	}
	return median(batch, BATCHES);
}

/* Mean over files that nobody of ours opened before; their dentries are in memory. */
static double measure_first(char *path)
{
	struct stat st;
	double start;

	for (int i = 0; i < OPENS; i++) {
		beside(path, i);
		if (stat(path, &st) < 0)
			return -1;
	}
	start = now_ns();
	for (int i = 0; i < OPENS; i++) {
		int fd;

		beside(path, i);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return -1;
		close(fd);
	}
	return (now_ns() - start) / OPENS;
}

static int make_all(char *path)
{
	int r = make(path);

	for (int i = 0; i < OPENS && r == 0; i++) {
		beside(path, i);
		r = make(path);
	}
	return r;
}

static int switch_cache(bool on)
{
	struct error error = {};
	struct kern *kern;

	if (kern_open(&kern, &error) < 0) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	kern_cache_switch(kern, on);
	kern_close(kern);
	return 0;
}

static double measure_second(char *path)
{
	measure(path);
	return measure(path);
}

/* Each place by `fn`; lines are out when it is done. */
static int print_all(const char *name, double (*fn)(char *path))
{
	char path[512];

	for (size_t i = 0; i < NPLACES; i++) {
		double cost;

		path_of(i, path, sizeof(path));
		cost = fn(path);
		if (cost < 0) {
			fprintf(stderr, "%s: %s\n", path, strerror(errno));
			return 1;
		}
		printf("%s %u %u %.1f\n", name, places[i].components, places[i].bytes, cost);
	}
	return fflush(stdout) ? 1 : 0;
}

static int make_places(void)
{
	char path[512];

	for (size_t i = 0; i < NPLACES; i++) {
		path_of(i, path, sizeof(path));
		if (make_all(path) < 0)
			return 1;
	}
	return 0;
}

static int series(void)
{
	char line[8];

	if (print_all("first", measure_first) || print_all("known", measure_second))
		return 1;
	printf("waiting\n");
	if (fflush(stdout) || !fgets(line, sizeof(line), stdin))
		return 1;
	return print_all("anew", measure_second);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "make"))
		return make_places();
	if (!strcmp(what, "anew") || !strcmp(what, "kept"))
		return switch_cache(!strcmp(what, "kept"));
	if (!strcmp(what, "series"))
		return series();
	return print_all("place", strcmp(what, "first") ? measure_second : measure_first);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What an outsider pays: open+close of a file four directories deep, by a process in no
 * compartment, in one run: nothing attached; one empty program on file_open (the floor); the whole
 * set attached. Under `scripts/lab --icount` guest nanoseconds are instructions, so the figures
 * repeat. Also prints the verified instructions of every program and how long the set took to load.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "clock.h"
#include "empty.h"
#include "kern/kern.h"

#define FILE_AT "/tmp/d1/d2/d3/f"
#define BATCHES 11
#define OPENS 2000
#define SETTLE_S 6 /* asynchronous work after boot inflates the first figures */

/* Median over batches, in nanoseconds an open+close. */
static double measure(void)
{
	double batch[BATCHES];

	for (int i = 0; i < BATCHES; i++) {
		double start = now_ns();

		for (int j = 0; j < OPENS; j++)
			close(open(FILE_AT, O_RDONLY | O_CLOEXEC));
		batch[i] = (now_ns() - start) / OPENS;
	}
	return median(batch, BATCHES);
}

static void print_programs(void)
{
	__u32 id = 0;

	while (bpf_prog_get_next_id(id, &id) == 0) {
		_cleanup_close_ int fd = bpf_prog_get_fd_by_id(id);
		struct bpf_prog_info info = {};
		__u32 size = sizeof(info);

		if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 &&
		    strncmp(info.name, "bh_", 3) == 0)
			printf("verified %-16s %6u\n", info.name, info.verified_insns);
	}
}

/* They are loaded when they are needed first, and are not here. */
static int load_rechecks(struct kern *kern, struct error *error)
{
	double start = now_ns();
	int set, r = 0;

	for (set = 0; r == 0 && set < KERN_RECHECK_COUNT; set++)
		r = kern_rechecks_load(kern, set, error);
	printf("load     %.2f s, re-checks\n", (now_ns() - start) / 1e9);
	return r;
}

static int make_file(void)
{
	mkdir("/tmp/d1", 0755);
	mkdir("/tmp/d1/d2", 0755);
	mkdir("/tmp/d1/d2/d3", 0755);
	return open(FILE_AT, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
}

int main(void)
{
	double base, empty, attached, start;
	struct error error = {};
	struct kern *kern;
	int fd = make_file();

	if (fd < 0)
		return 1;
	close(fd);
	sleep(SETTLE_S);
	measure();
	base = measure();
	fd = attach_empty("bpf_lsm_file_open");
	if (fd < 0) {
		fprintf(stderr, "the empty program does not attach: %s\n", strerror(-fd));
		return 1;
	}
	empty = measure();
	close(fd);
	start = now_ns();
	if (kern_open(&kern, &error) < 0) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	printf("load     %.2f s\n", (now_ns() - start) / 1e9);
	sleep(SETTLE_S);
	attached = measure();
	if (load_rechecks(kern, &error) < 0) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	print_programs();
	printf("open+close base %.1f empty %.1f bulkhead %.1f: empty +%.1f, bulkhead +%.1f, ratio "
	       "%.3f\n",
	       base, empty, attached, empty - base, attached - base,
	       (attached - base) / (empty - base));
	kern_close(kern);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What an outsider pays while some compartment has revoked descriptors, or a policy that gives append without
 * write: read(2) and write(2) of one byte, and open+close of a file, by a process in no compartment: nothing
 * attached; one empty program on file_permission (the floor of the reading); the set; the set and its re-checks.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "empty.h"
#include "kern/kern.h"

#define FILE_AT "/tmp/byte"
#define BATCHES 11
#define TURNS 2000
#define SETTLE_S 6 /* asynchronous work after boot inflates the first figures */

static int file;

static void read_once(void)
{
	char byte;

	if (pread(file, &byte, 1, 0) != 1)
		_exit(1);
}

static void write_once(void)
{
	if (pwrite(file, "x", 1, 0) != 1)
		_exit(1);
}

static void open_once(void)
{
	close(open(FILE_AT, O_RDONLY | O_CLOEXEC));
}

/* Median over batches, in nanoseconds a turn. */
static double measure(void (*once)(void))
{
	double batch[BATCHES];

	for (int i = 0; i < BATCHES; i++) {
		double start = now_ns();

		for (int j = 0; j < TURNS; j++)
			once();
		batch[i] = (now_ns() - start) / TURNS;
	}
	return median(batch, BATCHES);
}

static struct kern *load(struct error *error)
{
	struct kern *kern = NULL;

	return kern_open(&kern, error) < 0 ? NULL : kern;
}

int main(void)
{
	double base, empty, idle, attached, open_idle, open_attached, write_idle, write_attached;
	struct error error = {};
	struct kern *kern;
	int fd;

	file = open(FILE_AT, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (file < 0 || write(file, "x", 1) != 1)
		return 1;
	sleep(SETTLE_S);
	measure(read_once);
	base = measure(read_once);
	fd = attach_empty("bpf_lsm_file_permission");
	if (fd < 0) {
		fprintf(stderr, "the empty program does not attach: %s\n", strerror(-fd));
		return 1;
	}
	empty = measure(read_once);
	close(fd);
	kern = load(&error);
	if (!kern) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	sleep(SETTLE_S);
	idle = measure(read_once);
	open_idle = measure(open_once);
	write_idle = measure(write_once);
	if (kern_rechecks_attach(kern, KERN_RECHECK_REVOKED, &error) < 0) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	sleep(SETTLE_S);
	attached = measure(read_once);
	open_attached = measure(open_once);
	kern_rechecks_settle(kern);
	if (kern_rechecks_attach(kern, KERN_RECHECK_APPEND, &error) < 0) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	sleep(SETTLE_S);
	write_attached = measure(write_once);
	printf("read 1 byte base %.1f: empty +%.1f, bulkhead +%.1f, with re-checks +%.1f, ratio "
	       "%.3f\n",
	       base, empty - base, idle - base, attached - base,
	       (attached - base) / (empty - base));
	printf("open+close %.1f, with re-checks +%.1f\n", open_idle, open_attached - open_idle);
	printf("write 1 byte %.1f, with the re-check of appending +%.1f\n", write_idle,
	       write_attached - write_idle);
	kern_rechecks_settle(kern);
	kern_close(kern);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Verdicts that are known must not outlive what they were found from. One process inside opens what it is
 * told; the names move outside, as whoever is not confined may move them. Each round looks at what may be
 * read, so that its verdict is known, and then for it by a name that has no such right.
 */
#include "harness.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "compart/compart.h"

#define ROUNDS 1000
/* Each of these waits for several grace periods. */
#define MOUNT_ROUNDS (ROUNDS / 4)
#define OPEN FIXTURE "/open/"
#define SECRET FIXTURE "/secret/"

/* --- one who opens, inside --- */

struct reader {
	struct cell *cell;
	int socket;
	pid_t pid;
};

struct request {
	char path[96];
};

static int read_file(const char *path)
{
	char byte;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int r = 0;

	if (fd < 0)
		return errno;
	if (read(fd, &byte, 1) < 0 && errno != EISDIR)
		r = errno;
	close(fd);
	return r;
}

static int serve(void *data)
{
	const int *pair = data;
	int fd = pair[1], r;
	struct request request;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(pair[0]); /* who held both would not see the end */
	while (read(fd, &request, sizeof(request)) == sizeof(request)) {
		r = read_file(request.path);
		if (write(fd, &r, sizeof(r)) != sizeof(r))
			break;
	}
	return 0;
}

static int reader_start(struct reader *reader, struct cell *cell)
{
	const struct timeval deadline = {.tv_sec = HARNESS_DEADLINE_MS / 1000};
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof(deadline));
	reader->cell = cell;
	reader->socket = pair[0];
	reader->pid = cell_spawn(cell, cell->cgroup_fd, serve, pair);
	close(pair[1]);
	return reader->pid > 0 ? 0 : -errno;
}

/* errno of an open inside, 0 for none; -1: no answer. */
static int opens(struct reader *reader, const char *path)
{
	struct request request = {};
	int r;

	snprintf(request.path, sizeof(request.path), "%s", path);
	if (write(reader->socket, &request, sizeof(request)) != sizeof(request) ||
	    read(reader->socket, &r, sizeof(r)) != sizeof(r))
		return -1;
	return r;
}

static void reader_stop(struct reader *reader)
{
	if (reader->pid <= 0)
		return;
	close(reader->socket);
	cell_wait(reader->pid);
}

static int make(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* --- rounds: 0, or what went wrong --- */

#define WANT(condition)                    \
	do {                               \
		if (!(condition))          \
			return #condition; \
	} while (0)

/* Found anew, found again and kept, known. */
static bool is_known(struct reader *reader, const char *path)
{
	int r = 0;

	for (int i = 0; i < 3 && r == 0; i++)
		r = opens(reader, path);
	return r == 0;
}

#define WANT_KNOWN(path) WANT(make(path) == 0 && is_known(reader, path))

static const char *round_alias(struct reader *reader)
{
	WANT_KNOWN(OPEN "x");
	WANT(link(OPEN "x", SECRET "x") == 0);
	WANT(opens(reader, OPEN "x") == 0);
	WANT(opens(reader, SECRET "x") == EACCES);
	WANT(unlink(OPEN "x") == 0);
	WANT(opens(reader, SECRET "x") == EACCES);
	WANT(unlink(SECRET "x") == 0);
	return NULL;
}

static const char *round_renamed(struct reader *reader)
{
	WANT_KNOWN(OPEN "x");
	WANT(rename(OPEN "x", SECRET "x") == 0);
	WANT(opens(reader, SECRET "x") == EACCES);
	WANT(rename(SECRET "x", OPEN "y") == 0);
	WANT(opens(reader, OPEN "y") == 0);
	WANT(unlink(OPEN "y") == 0);
	return NULL;
}

/* What is replaced loses its name, and may have another. */
static const char *round_replaced(struct reader *reader)
{
	WANT_KNOWN(OPEN "x");
	WANT(link(OPEN "x", SECRET "x") == 0);
	WANT(make(OPEN "y") == 0 && rename(OPEN "y", OPEN "x") == 0);
	WANT(opens(reader, SECRET "x") == EACCES);
	WANT(opens(reader, OPEN "x") == 0);
	WANT(unlink(OPEN "x") == 0 && unlink(SECRET "x") == 0);
	return NULL;
}

/* The address of a directory's entry is given to the next one. */
static const char *round_reused(struct reader *reader)
{
	WANT(mkdir(OPEN "d", 0755) == 0);
	WANT_KNOWN(OPEN "d/f");
	WANT(rename(OPEN "d/f", SECRET "f") == 0);
	WANT(rmdir(OPEN "d") == 0 && mkdir(SECRET "d", 0755) == 0);
	WANT(rename(SECRET "f", SECRET "d/f") == 0);
	WANT(opens(reader, SECRET "d/f") == EACCES);
	WANT(unlink(SECRET "d/f") == 0 && rmdir(SECRET "d") == 0);
	return NULL;
}

/* So is an inode's, and its number. */
static const char *round_recycled(struct reader *reader)
{
	WANT_KNOWN(OPEN "x");
	WANT(unlink(OPEN "x") == 0 && make(SECRET "x") == 0);
	WANT(opens(reader, SECRET "x") == EACCES);
	WANT(unlink(SECRET "x") == 0);
	return NULL;
}

/* So is a directory's, whose state was known, and used for its second file. */
static const char *round_directory(struct reader *reader)
{
	WANT(mkdir(OPEN "d", 0755) == 0 && make(OPEN "d/e") == 0 && make(OPEN "d/f") == 0);
	WANT(opens(reader, OPEN "d/e") == 0 && opens(reader, OPEN "d/f") == 0);
	WANT(unlink(OPEN "d/e") == 0 && unlink(OPEN "d/f") == 0 && rmdir(OPEN "d") == 0);
	WANT(mkdir(SECRET "d", 0755) == 0 && make(SECRET "d/f") == 0);
	WANT(opens(reader, SECRET "d/f") == EACCES);
	WANT(unlink(SECRET "d/f") == 0 && rmdir(SECRET "d") == 0);
	return NULL;
}

/* Who opens a filesystem's root goes up no step: nothing is found out of any directory, and not of the one that
 * was asked for before. */
static const char *round_root(struct reader *reader)
{
	WANT(opens(reader, FIXTURE_SECRET) == EACCES);
	WANT(opens(reader, "/") == 0);
	WANT(opens(reader, FIXTURE_SECRET) == EACCES);
	return NULL;
}

static const char *round_above(struct reader *reader)
{
	WANT(mkdir(OPEN "d", 0755) == 0 && mkdir(OPEN "d/e", 0755) == 0);
	WANT_KNOWN(OPEN "d/e/f");
	WANT(opens(reader, OPEN "d/e") == 0);
	WANT(rename(OPEN "d", SECRET "d") == 0);
	WANT(opens(reader, SECRET "d/e/f") == EACCES);
	WANT(opens(reader, SECRET "d/e") == EACCES);
	WANT(rename(SECRET "d", OPEN "d") == 0);
	WANT(opens(reader, OPEN "d/e/f") == 0);
	WANT(unlink(OPEN "d/e/f") == 0 && rmdir(OPEN "d/e") == 0 && rmdir(OPEN "d") == 0);
	return NULL;
}

static int exchange(const char *one, const char *other)
{
	return (int)syscall(SYS_renameat2, AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE);
}

static const char *round_exchanged(struct reader *reader)
{
	WANT_KNOWN(OPEN "x");
	WANT(make(SECRET "x") == 0 && opens(reader, SECRET "x") == EACCES);
	WANT(exchange(OPEN "x", SECRET "x") == 0);
	WANT(opens(reader, SECRET "x") == EACCES && opens(reader, OPEN "x") == 0);
	WANT(mkdir(OPEN "d", 0755) == 0 && mkdir(SECRET "d", 0755) == 0);
	WANT_KNOWN(OPEN "d/f");
	WANT(make(SECRET "d/f") == 0 && exchange(OPEN "d", SECRET "d") == 0);
	WANT(opens(reader, SECRET "d/f") == EACCES && opens(reader, OPEN "d/f") == 0);
	WANT(unlink(OPEN "d/f") == 0 && unlink(SECRET "d/f") == 0);
	WANT(rmdir(OPEN "d") == 0 && rmdir(SECRET "d") == 0);
	WANT(unlink(OPEN "x") == 0 && unlink(SECRET "x") == 0);
	return NULL;
}

static int rounds(struct kern *kern, const struct cell_options *options,
		  const char *(*fn)(struct reader *))
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, options);
	struct reader reader = {};
	const char *wrong = NULL;
	struct bh_tally tally;
	int i;

	CHECK(cell && reader_start(&reader, cell) == 0, "no reader");
	for (i = 0; i < ROUNDS && !wrong; i++)
		wrong = fn(&reader);
	reader_stop(&reader);
	CHECK(!wrong, "round %d: not %s (%s)", i, wrong, strerror(errno));
	tally = cell_tally(cell);
	CHECK(tally.hook[BH_HOOK_FILE_OPEN] >= ROUNDS, "%llu refusals counted",
	      (unsigned long long)tally.hook[BH_HOOK_FILE_OPEN]);
	CHECK(tally.unsure == 0, "%llu could not be decided", (unsigned long long)tally.unsure);
	cell_drain(cell);
	CHECK(cell_event(cell, 0, BH_HOOK_FILE_OPEN), "no event");
	return 0;
}

#define CASE_OF(name)                                    \
	static int case_##name(struct kern *kern)        \
	{                                                \
		return rounds(kern, NULL, round_##name); \
	}
CASE_OF(alias)
CASE_OF(renamed)
CASE_OF(replaced)
CASE_OF(reused)
CASE_OF(recycled)
CASE_OF(directory)
CASE_OF(above)
CASE_OF(exchanged)

static int case_root(struct kern *kern)
{
	static struct rule but_one[] = {
		{.effect = RULE_ALLOW, .perms = BH_PERM_READ, .glob = (char *)"/**"},
		{.effect = RULE_DENY, .perms = BH_PERM_READ, .glob = (char *)FIXTURE "/secret/**"},
	};
	const struct cell_options options = {.rules = but_one, .nrules = 2};

	return rounds(kern, &options, round_root);
}

/* --- generations and mounts --- */

static int set_generation(struct cell *cell, __u32 generation)
{
	struct bh_compartment entry;
	int r = kern_compartment_get(cell->kern, cell->id, &entry);

	if (r < 0)
		return r;
	entry.generation = generation;
	return kern_compartment_set(cell->kern, cell->id, &entry);
}

/* By the newest view; the generation before goes. */
static int renew(struct cell *cell)
{
	__u32 before = cell->generation;
	int r = cell_policy(cell, NULL);

	if (r == 0)
		r = set_generation(cell, cell->generation);
	return r == 0 ? kern_policy_remove(cell->kern, before) : r;
}

/* A filesystem that moves, and another one that comes to stand where it stood, at its address perhaps. */
static const char *round_mounted(struct reader *reader)
{
	WANT(mount("cell", OPEN "m", "tmpfs", 0, "size=64k") == 0);
	WANT(make(OPEN "m/f") == 0);
	WANT(renew(reader->cell) == 0);
	WANT(opens(reader, OPEN "m/f") == 0 && opens(reader, OPEN "m/f") == 0);
	WANT(mount(NULL, OPEN "m", NULL, MS_REMOUNT | MS_RDONLY, "size=128k") == 0);
	WANT(opens(reader, OPEN "m/f") == 0);
	WANT(mount(OPEN "m", SECRET "m", NULL, MS_BIND, NULL) == 0 && umount(OPEN "m") == 0);
	WANT(renew(reader->cell) == 0);
	WANT(opens(reader, SECRET "m/f") == EACCES);
	WANT(umount(SECRET "m") == 0);
	/* Nobody's view has it: undecided. */
	WANT(mount("cell", OPEN "m", "tmpfs", 0, "size=64k") == 0);
	WANT(make(OPEN "m/f") == 0 && opens(reader, OPEN "m/f") == EACCES);
	WANT(umount(OPEN "m") == 0);
	return NULL;
}

static int case_mounted(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	struct reader reader = {};
	const char *wrong = NULL;
	int i;

	CHECK(cell && reader_start(&reader, cell) == 0, "no reader");
	mkdir(OPEN "m", 0755);
	mkdir(SECRET "m", 0755);
	mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
	CHECK(harness_hurry(true) == 0, "no short grace periods");
	for (i = 0; i < MOUNT_ROUNDS && !wrong; i++)
		wrong = round_mounted(&reader);
	harness_hurry(false);
	reader_stop(&reader);
	umount(OPEN "m");
	umount(SECRET "m");
	CHECK(!wrong, "round %d: not %s (%s)", i, wrong, strerror(errno));
	CHECK(cell_tally(cell).unsure == MOUNT_ROUNDS, "%llu could not be decided",
	      (unsigned long long)cell_tally(cell).unsure);
	return 0;
}

/* Who opens all the time, beside the one who is asked. */
static int open_always(void *data _unused_)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		read_file(FIXTURE_OPEN);
	return 0;
}

/* Two generations that say otherwise, under load: from the switch on the new one alone counts. */
static int case_generation(struct kern *kern)
{
	static struct rule closed[] = {
		{.effect = RULE_ALLOW, .perms = BH_PERM_READ, .glob = (char *)FIXTURE "/work/**"}};
	const struct cell_options shut = {.rules = closed, .nrules = 1};
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	struct reader reader = {};
	int i, want, r = 0;
	__u32 two[2];
	pid_t load;

	CHECK(cell && reader_start(&reader, cell) == 0, "no reader");
	two[0] = cell->generation;
	CHECK(cell_policy(cell, &shut) == 0, "no other generation");
	two[1] = cell->generation;
	load = cell_spawn(cell, cell->cgroup_fd, open_always, NULL);
	CHECK(load > 0, "no load");
	for (i = 0; i < ROUNDS && r >= 0; i++) {
		want = i % 2 ? EACCES : 0;
		r = set_generation(cell, two[i % 2]);
		if (r == 0 && opens(&reader, FIXTURE_OPEN) != want)
			r = -EBADMSG;
	}
	kill(load, SIGKILL);
	cell_wait(load);
	reader_stop(&reader);
	set_generation(cell, two[1]);
	kern_policy_remove(kern, two[0]);
	CHECK(r == 0, "round %d: %s after the switch", i,
	      i % 2 ? "refused what is allowed" : "opened what is refused");
	return 0;
}

/* --- that anything is known at all --- */

/*
 * A generation whose table is gone decides nothing anew: what opens then was known. Not so the same file
 * with a second name, one that has never been asked for, and all of them when the cache is off.
 */
static int case_known(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	struct reader reader = {};
	bool known, linked, fresh, off, two, was = kern_cache_is_on(kern);

	CHECK(cell && reader_start(&reader, cell) == 0, "no reader");
	CHECK(make(OPEN "x") == 0 && make(OPEN "y") == 0 && make(OPEN "z") == 0, "no files");
	CHECK(link(OPEN "y", OPEN "y2") == 0, "no link");
	kern_cache_switch(kern, true);
	known = is_known(&reader, OPEN "x") && is_known(&reader, OPEN "y");
	CHECK(known && kern_policy_remove(kern, cell->generation) == 0, "cannot remove");
	cell->generation = 0;
	known = opens(&reader, OPEN "x") == 0;
	two = opens(&reader, OPEN "y") == 0;
	fresh = opens(&reader, OPEN "z") == 0;
	link(OPEN "x", OPEN "x2");
	linked = opens(&reader, OPEN "x") == 0;
	unlink(OPEN "x2");
	kern_cache_switch(kern, false);
	off = opens(&reader, OPEN "x") == 0;
	kern_cache_switch(kern, was);
	reader_stop(&reader);
	CHECK(known, "nothing is known");
	CHECK(!two && !linked, "of a file with two names something is known");
	CHECK(!fresh, "a file that was never opened is known");
	CHECK(!off, "the switch does nothing");
	return 0;
}

/* Where a generation's files begin on a filesystem: whoever goes up to its root needs that. */
static int forget_start(struct kern *kern, __u32 generation, const char *on)
{
	_cleanup_close_ int dir = open(on, O_PATH | O_CLOEXEC), map = -1;
	struct bh_start_key key = {.generation = generation};
	struct bh_superblock sb;

	map = bpf_obj_get(KERN_PIN_DIR "/maps/bh_starts");
	if (dir < 0 || map < 0 || kern_superblocks(kern, &dir, 1, &sb, NULL) < 0)
		return -1;
	key.sbid = sb.sbid;
	return bpf_map_delete_elem(map, &key);
}

/*
 * What opens then was found by its directory's state. Not so a file of two names, what stands in another
 * directory, what is denied, and all of them when a directory moved or the cache is off.
 */
static int case_near(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, NULL);
	struct reader reader = {};
	bool near, two, other, off, moved, was = kern_cache_is_on(kern);

	CHECK(cell && reader_start(&reader, cell) == 0, "no reader");
	CHECK(mkdir(OPEN "d", 0755) == 0 && mkdir(OPEN "o", 0755) == 0, "no directories");
	CHECK(make(OPEN "d/x") == 0 && make(OPEN "d/y") == 0 && make(OPEN "d/z") == 0 &&
		      make(OPEN "o/x") == 0 && link(OPEN "d/z", OPEN "d/z2") == 0,
	      "no files");
	kern_cache_switch(kern, true);
	near = opens(&reader, OPEN "d/x") == 0;
	CHECK(near && forget_start(kern, cell->generation, OPEN) == 0,
	      "the start cannot be removed");
	near = opens(&reader, OPEN "d/y") == 0;
	two = opens(&reader, OPEN "d/z") == 0;
	other = opens(&reader, OPEN "o/x") == 0;
	kern_cache_switch(kern, false);
	off = opens(&reader, OPEN "d/y") == 0;
	kern_cache_switch(kern, true);
	near = near && opens(&reader, OPEN "d/y") == 0;
	rename(OPEN "o", OPEN "p");
	moved = opens(&reader, OPEN "d/y") == 0;
	kern_cache_switch(kern, was);
	reader_stop(&reader);
	CHECK(near, "no directory is known");
	CHECK(!two && !other, "a file of two names, or of another directory, is found by it");
	CHECK(!off && !moved, "it is known when it must not be");
	return 0;
}

const struct test_case cache_cases[] = {
	{"cache/alias", case_alias, CASE_REFUSES},
	{"cache/renamed", case_renamed, CASE_REFUSES},
	{"cache/replaced", case_replaced, CASE_REFUSES},
	{"cache/reused", case_reused, CASE_REFUSES},
	{"cache/recycled", case_recycled, CASE_REFUSES},
	{"cache/directory", case_directory, CASE_REFUSES},
	{"cache/root", case_root, CASE_REFUSES},
	{"cache/above", case_above, CASE_REFUSES},
	{"cache/exchanged", case_exchanged, CASE_REFUSES},
	{"cache/mounted", case_mounted, CASE_REFUSES},
	{"cache/generation", case_generation, CASE_REFUSES},
	{"cache/known", case_known, CASE_REFUSES},
	{"cache/near", case_near, CASE_REFUSES},
	{},
};

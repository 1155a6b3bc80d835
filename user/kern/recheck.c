// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Re-checks: programs on hooks that each reading and writing on the host passes. They are loaded when they are
 * needed first (load.c), and stay so; attached while something needs them: before the first thing that does is
 * written, until after the last one went. Without them it would be a refusal in name alone.
 */
#include "internal.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

/* --- which there are --- */

static int any_revoked(struct kern *kern)
{
	__u32 n = 0;
	int r = kern_revoked(kern, 0, &n);

	return r < 0 ? r : n != 0;
}

static int any_appends(struct kern *kern)
{
	return kern_policies_say(kern, BH_POLICY_APPEND);
}

static const struct set {
	const char *directory; /* of its pins, below KERN_RECHECKS and KERN_RECHECK_LINKS */
	const char *prefix;    /* of its programs' names */
	int (*is_needed)(struct kern *kern); /* 1, 0 or -errno */
} sets[KERN_RECHECK_COUNT] = {
	[KERN_RECHECK_REVOKED] = {"revoked", "bh_re_", any_revoked},
	[KERN_RECHECK_APPEND] = {"append", "bh_append", any_appends},
};

int kern_recheck_of_program(const char *program)
{
	for (int i = 0; i < KERN_RECHECK_COUNT; i++)
		if (strncmp(program, sets[i].prefix, strlen(sets[i].prefix)) == 0)
			return i;
	return -ENOENT;
}

int kern_recheck_is_needed(struct kern *kern, enum kern_recheck set)
{
	return sets[set].is_needed(kern);
}

const struct kern_recheck_row *kern_recheck_of(enum bh_hook hook)
{
	static const struct kern_recheck_row rows[] = {
		{BH_HOOK_FILE_PERMISSION, KERN_RECHECK_REVOKED, "file_permission"},
		{BH_HOOK_FILE_LOCK, KERN_RECHECK_REVOKED, "file_lock"},
		{BH_HOOK_MMAP_HELD, KERN_RECHECK_REVOKED, "mmap_file"},
		{BH_HOOK_SOCKET_RECVMSG, KERN_RECHECK_REVOKED, "socket_recvmsg"},
		{BH_HOOK_SOCKET_ACCEPT, KERN_RECHECK_REVOKED, "socket_accept"},
		{BH_HOOK_FILE_APPEND, KERN_RECHECK_APPEND, "file_permission"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].hook == hook)
			return &rows[i];
	return NULL;
}

int kern_recheck_set(enum bh_hook hook)
{
	const struct kern_recheck_row *row = kern_recheck_of(hook);

	return row ? (int)row->set : -ENOENT;
}

void kern_recheck_path(char *buffer, size_t size, const char *pins, enum kern_recheck set,
		       const char *name)
{
	char directory[64];

	snprintf(directory, sizeof(directory), "%s/%s", pins, sets[set].directory);
	kern_pin_path(buffer, size, directory, name);
}

/* --- attaching --- */

/* A link whose last pin went is taken off later, by a worker: until then its program is attached, and is not
 * twice (EBUSY). */
static int open_link(int prog)
{
	const struct timespec pause = {.tv_nsec = 5000000};
	int link = bpf_raw_tracepoint_open(NULL, prog), ms;

	for (ms = 0; link < 0 && errno == EBUSY && ms < BH_UNLINK_MS; ms += 5) {
		nanosleep(&pause, NULL);
		link = bpf_raw_tracepoint_open(NULL, prog);
	}
	return link < 0 ? -errno : link;
}

static int attach_one(enum kern_recheck set, const char *name)
{
	_cleanup_close_ int prog = -1, link = -1;
	char path[PATH_MAX];

	kern_recheck_path(path, sizeof(path), KERN_RECHECK_LINKS, set, name);
	link = bpf_obj_get(path);
	if (link >= 0)
		return 0;
	if (errno != ENOENT)
		return -errno;
	kern_recheck_path(path, sizeof(path), KERN_RECHECKS, set, name);
	prog = bpf_obj_get(path);
	if (prog < 0)
		return -errno;
	link = open_link(prog);
	if (link < 0)
		return link;
	kern_recheck_path(path, sizeof(path), KERN_RECHECK_LINKS, set, name);
	return bpf_obj_pin(link, path) < 0 ? -errno : 0;
}

static int make_directory(const char *path, struct error *error)
{
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return error_set(error, errno, "cannot make %s: %s", path, strerror(errno));
	return 0;
}

int kern_rechecks_attach(struct kern *kern, enum kern_recheck set, struct error *error)
{
	_cleanup_closedir_ DIR *dir = NULL;
	char path[PATH_MAX];
	struct dirent *e;
	int r = kern_rechecks_load(kern, set, error);

	if (r < 0)
		return r;
	kern_pin_path(path, sizeof(path), KERN_RECHECK_LINKS, NULL);
	r = make_directory(path, error);
	kern_recheck_path(path, sizeof(path), KERN_RECHECK_LINKS, set, NULL);
	if (r == 0)
		r = make_directory(path, error);
	if (r < 0)
		return r;
	kern_recheck_path(path, sizeof(path), KERN_RECHECKS, set, NULL);
	dir = opendir(path);
	if (!dir)
		return error_set(error, errno, "cannot list %s: %s", path, strerror(errno));
	while (r == 0 && (e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		r = attach_one(set, e->d_name);
		if (r < 0)
			error_set(error, -r, "cannot attach the re-check to %s: %s", e->d_name,
				  strerror(-r));
	}
	return r;
}

/* Asks what may take long last. */
static int settle(struct kern *kern, enum kern_recheck set)
{
	char path[PATH_MAX];
	int r;

	kern_recheck_path(path, sizeof(path), KERN_RECHECK_LINKS, set, NULL);
	if (access(path, F_OK) < 0)
		return errno == ENOENT ? 0 : -errno;
	r = sets[set].is_needed(kern);
	if (r)
		return r < 0 ? r : 0;
	return kern_pins_remove(path);
}

int kern_rechecks_settle(struct kern *kern)
{
	int r = 0, failed = 0;

	for (int set = 0; set < KERN_RECHECK_COUNT; set++) {
		r = settle(kern, set);
		failed = r < 0 ? r : failed;
	}
	return failed;
}

static int check_one(struct kern *kern, enum kern_recheck set, struct error *error)
{
	__u32 programs = 0, links = 0;
	char pins[64];
	int needed = sets[set].is_needed(kern), r;

	snprintf(pins, sizeof(pins), "%s/%s", KERN_RECHECKS, sets[set].directory);
	r = needed < 0 ? needed : kern_pins_count(pins, &programs);
	snprintf(pins, sizeof(pins), "%s/%s", KERN_RECHECK_LINKS, sets[set].directory);
	if (r == 0)
		r = kern_pins_count(pins, &links);
	if (r < 0)
		return error_set(error, -r, "cannot count the re-checks: %s", strerror(-r));
	if (needed && (!programs || links != programs))
		return error_set(error, ESTALE,
				 "the set pinned in %s has %u re-checks (%s) attached of %u: take "
				 "it down with `bulkhead stop --release`",
				 KERN_PIN_DIR, links, sets[set].directory, programs);
	return 0;
}

int kern_rechecks_check(struct kern *kern, struct error *error)
{
	int r = 0;

	for (int set = 0; r == 0 && set < KERN_RECHECK_COUNT; set++)
		r = check_one(kern, set, error);
	return r;
}

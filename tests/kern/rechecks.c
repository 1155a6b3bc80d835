// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Re-checks, one by one: what each is there for, and what becomes of an attach when they do not load. */
#include "held.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- one re-check at a time --- */

/* Each program, and what only it refuses. */
static const struct carrier {
	const char *name; /* of its pin */
	enum bh_hook hook;
} carriers[] = {
	{"file_permission", BH_HOOK_FILE_PERMISSION},
	{"mmap_file", BH_HOOK_MMAP_HELD},
	{"file_lock", BH_HOOK_FILE_LOCK},
	{"socket_recvmsg", BH_HOOK_SOCKET_RECVMSG},
	{"socket_accept", BH_HOOK_SOCKET_ACCEPT},
};

static bool is_refused(struct stage *s, int i)
{
	__u64 before = cell_tally(s->cell).hook[held_acts[i].hook];
	int r = stage_does_nth(s, i);

	return r == held_acts[i].error && cell_tally(s->cell).hook[held_acts[i].hook] == before + 1;
}

static int first_row(enum bh_hook hook)
{
	int i;

	for (i = 0; held_acts[i].hook != hook;)
		i++;
	return i;
}

/* The kernel takes a program out of its hook some time after its link's last pin went. */
static int await_gone(struct stage *s, const struct carrier *c)
{
	int row = first_row(c->hook), ms;

	for (ms = 0; ms < HARNESS_DEADLINE_MS && is_refused(s, row); ms += 20)
		usleep(20000);
	CHECK(ms < HARNESS_DEADLINE_MS, "%s: refused without its program", c->name);
	return 0;
}

/* Without it its rows go through, as far as it goes, and no others. */
static int check_without(struct stage *s, const struct carrier *c)
{
	char link[256];
	int i;

	snprintf(link, sizeof(link), KERN_PIN_DIR "/recheck-links/revoked/%s", c->name);
	CHECK(unlink(link) == 0, "%s: no such pin", c->name);
	if (await_gone(s, c))
		return -1;
	for (i = 0; held_acts[i].name; i++) {
		if (held_acts[i].hook == c->hook)
			CHECK(!is_refused(s, i), "%s is refused without %s", held_acts[i].name,
			      c->name);
		else if (stage_check_nth(s, i))
			return -1;
	}
	return 0;
}

/* Every program is there for something: what it refuses, nothing else does. */
static int case_singly(struct kern *kern)
{
	_cleanup_stage_ struct stage s = {};
	struct error error = {};
	size_t c;

	if (stage_init(&s, kern, REVOKE) || stage_enforce(&s))
		return -1;
	CHECK(count_links() == (int)(sizeof(carriers) / sizeof(carriers[0])) + 1,
	      "%d re-checks, of which not all are tried here", count_links());
	for (c = 0; c < sizeof(carriers) / sizeof(carriers[0]); c++) {
		if (check_without(&s, &carriers[c]))
			return -1;
		CHECK(kern_rechecks_attach(kern, KERN_RECHECK_REVOKED, &error) == 0, "%.200s",
		      error.text);
		if (stage_check_nth(&s, first_row(carriers[c].hook)))
			return -1;
	}
	return 0;
}

/* An entry for a file of the harness's, which is closed: it is left when nothing takes it away any more. */
static int await_left(struct stage *s)
{
	__u32 before = 0, after = 0, tries;
	struct bh_compartment entry;
	struct error error = {};

	CHECK(kern_compartment_get(s->kern, s->compartment->id, &entry) == 0, "no entry");
	for (tries = 0; tries < 100 && after <= before; tries++) {
		struct kern_held held = {.pid = getpid(),
					 .tid = getpid(),
					 .fd = open(FIXTURE_OPEN, O_RDONLY | O_CLOEXEC)};

		CHECK(held.fd >= 0 && kern_revoked(s->kern, 0, &before) == 0 &&
			      kern_revoke(s->kern, entry.serial, &held, 1, &error) == 0,
		      "a file cannot be revoked: %.200s", error.text);
		close(held.fd);
		usleep(200000);
		CHECK(kern_revoked(s->kern, 0, &after) == 0, "cannot be counted");
	}
	CHECK(after == before + 1, "what is closed is forgotten without its program");
	return 0;
}

/* The one that refuses nothing: without it an open file that was closed is still thought open. */
static int case_singly_free(struct kern *kern)
{
	_cleanup_stage_ struct stage s = {};
	struct error error = {};
	__u32 n = 0;
	int ms;

	if (stage_init(&s, kern, REVOKE) || stage_enforce(&s))
		return -1;
	CHECK(unlink(KERN_PIN_DIR "/recheck-links/revoked/file_free_security") == 0, "no such pin");
	if (await_left(&s))
		return -1;
	CHECK(cgroup_kill(s.cgroup, HARNESS_DEADLINE_MS, &error) == 0, "%.200s", error.text);
	cell_wait(s.member);
	s.member = 0;
	close_range(FIRST_FD, LAST_FD, 0);
	for (ms = 0; ms < 3000; ms += 100) {
		CHECK(kern_revoked(kern, 0, &n) == 0 && n == 9, "%u open files of 9 are left", n);
		usleep(100000);
	}
	return 0;
}

/* --- re-checks that do not load --- */

/* In place of the directory that they are put together in. */
static int block_loading(bool block)
{
	const char *pin = KERN_PIN_DIR "/progs/bh_iter_file", *new = KERN_PIN_DIR "/rechecks-new";

	return block ? rename(pin, new) : rename(new, pin);
}

static void forget_loaded(void)
{
	char path[256];
	size_t c;

	for (c = 0; c < sizeof(carriers) / sizeof(carriers[0]); c++) {
		snprintf(path, sizeof(path), KERN_PIN_DIR "/rechecks/revoked/%s", carriers[c].name);
		unlink(path);
	}
	unlink(KERN_PIN_DIR "/rechecks/revoked/file_free_security");
	rmdir(KERN_PIN_DIR "/rechecks/revoked");
}

/* The attach fails and leaves nothing; it goes when they do. */
static int case_unloadable(struct kern *kern)
{
	_cleanup_stage_ struct stage s = {};
	struct error error = {};
	int r;

	if (stage_init(&s, kern, REVOKE))
		return -1;
	forget_loaded();
	CHECK(block_loading(true) == 0, "cannot be kept from loading");
	r = stage_attach(&s, &error);
	CHECK(block_loading(false) == 0, "nor let again");
	CHECK(r < 0 && strstr(error.text, "re-checks"), "attached without: %.200s", error.text);
	r = stage_does(&s, "read");
	CHECK(r == 0, "read after an attach that failed: %s", outcome_text(r));
	if (check_idle(kern, "not attached"))
		return -1;
	CHECK(access(KERN_PIN_DIR "/rechecks/revoked", F_OK) < 0, "half of it was left");
	return stage_enforce(&s) || stage_check(&s, "read") ? -1 : 0;
}

/* What was taken away a moment ago is still being taken off. */
static int case_again(struct kern *kern)
{
	struct error error = {};
	int i, r = 0;

	for (i = 0; i < 10 && r == 0; i++) {
		r = kern_rechecks_attach(kern, KERN_RECHECK_REVOKED, &error);
		if (r == 0)
			r = kern_rechecks_settle(kern);
	}
	CHECK(r == 0, "time %d: %s", i, r < 0 && *error.text ? error.text : strerror(-r));
	return check_idle(kern, "settled");
}

const struct test_case recheck_cases[] = {
	{"recheck/singly", case_singly, CASE_REFUSES},
	{"recheck/free", case_singly_free, CASE_REFUSES},
	{"recheck/unloadable", case_unloadable, CASE_REFUSES},
	{"recheck/again", case_again, CASE_ALLOWS},
	{},
};

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sandboxes inside the compartment (nested-sandbox: true): what they may, and that nothing gets out. */
#include "harness.h"

#include <errno.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define MNT FIXTURE "/work/mnt"
#define SANDBOX "nested"

#define MAPS_RULE                                                              \
	{                                                                      \
		.effect = RULE_ALLOW, .perms = BH_PERM_WRITE | BH_PERM_APPEND, \
		.glob = (char *)"/proc/self/{uid_map,gid_map,setgroups}"       \
	}

static struct rule rules[] = {
	{.effect = RULE_ALLOW, .perms = BH_PERM_READ, .glob = (char *)FIXTURE "/open/**"},
	{.effect = RULE_ALLOW, .perms = BH_PERM_READ, .glob = (char *)"/proc/self/**"},
	{.effect = RULE_ALLOW,
	 .perms = BH_PERM_READ | BH_PERM_WRITE | BH_PERM_APPEND | BH_PERM_CREATE | BH_PERM_DELETE,
	 .glob = (char *)FIXTURE "/work/**"},
	MAPS_RULE,
};
static const struct cell_options with_sandbox = {
	.rules = rules, .nrules = 4, .flags = BH_POLICY_NESTED | BH_POLICY_PROC_SELF};

/* What is tried inside. Outside all of it works, but where `outside` says otherwise. */
struct attempt {
	const char *words[8];
	int inside, outside;
};

static int try(struct cell *cell, enum where where, const char *const *words)
{
	char *argv[9];
	int argc = 0;

	for (; argc < 8 && words[argc]; argc++)
		argv[argc] = (char *)words[argc];
	argv[argc] = NULL;
	return cell_verbv(cell, where, argc, argv);
}

static const char *join(const char *const *words, char *text, size_t size)
{
	size_t n = 0, i;

	text[0] = 0;
	for (i = 0; i < 8 && words[i] && n < size; i++)
		n += (size_t)snprintf(text + n, size - n, "%s%s", n ? " " : "", words[i]);
	return text;
}

/* Why the last event was. */
static const char *last_reason(const struct cell *cell)
{
	return cell->nevents ? reason_text(cell->events[cell->nevents - 1].head.reason)
			     : "no event";
}

static int check_all(struct kern *kern, const struct cell_options *options,
		     const struct attempt *attempts, size_t n)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, options);
	char text[512];
	size_t i;
	int r;

	CHECK(cell, "no cell");
	CHECK(mkdir(MNT, 0755) == 0, "no directory");
	for (i = 0; i < n; i++) {
		const struct attempt *a = &attempts[i];

		r = try(cell, BESIDE, a->words);
		CHECK(r == a->outside, "control, %s: %s", join(a->words, text, sizeof(text)),
		      outcome_text(r));
		r = try(cell, INSIDE, a->words);
		cell_drain(cell);
		CHECK(r == a->inside, "%s: %s (%s)", join(a->words, text, sizeof(text)),
		      outcome_text(r), last_reason(cell));
	}
	return 0;
}
#define CHECK_ALL(kern, options, attempts) \
	check_all(kern, options, attempts, sizeof(attempts) / sizeof(*attempts))

static int case_closed(struct kern *kern)
{
	static const struct attempt attempts[] = {
		{{SANDBOX, "read", FIXTURE_OPEN}, EPERM, 0},
	};
	struct cell_options without = with_sandbox;

	without.flags &= ~(__u32)BH_POLICY_NESTED;
	return CHECK_ALL(kern, &without, attempts);
}

static int case_allowed(struct kern *kern)
{
	static const struct attempt attempts[] = {
		{{SANDBOX, "read", FIXTURE_OPEN}, 0, 0},
		{{SANDBOX, "with-bind", FIXTURE "/open", MNT, "read", MNT "/file"}, 0, 0},
		{{SANDBOX, "with-mount", "tmpfs", MNT, "create", MNT "/new"}, 0, 0},
		{{SANDBOX, "with-mount", "tmpfs", MNT, "mkdir", MNT "/new"}, 0, 0},
		{{SANDBOX, "with-mount", "mqueue", MNT, "create", MNT "/new"}, EPERM, EPERM},
		{{SANDBOX, "with-mount", "devpts", MNT, "write", MNT "/ptmx"}, 0, 0},
		{{SANDBOX, "with-net", "socket", "16", "3", "0"}, 0, 0},
		{{SANDBOX, "chroot", FIXTURE "/open"}, 0, 0},
	};

	return CHECK_ALL(kern, &with_sandbox, attempts);
}

/* By whatever name, a file is judged where it stands; what is made inside cannot be run. */
static int case_files(struct kern *kern)
{
	static const struct attempt attempts[] = {
		{{SANDBOX, "read", FIXTURE_SECRET}, EACCES, 0},
		{{SANDBOX, "with-bind", FIXTURE "/secret", FIXTURE "/open", "read",
		  FIXTURE "/open/key"},
		 EACCES,
		 0},
		{{SANDBOX, "with-bind", FIXTURE "/secret", FIXTURE "/work", "write",
		  FIXTURE "/work/key"},
		 EACCES,
		 0},
		{{SANDBOX, "with-mount", "tmpfs", FIXTURE "/secret", "create",
		  FIXTURE "/secret/key"},
		 0,
		 0},
		{{SANDBOX, "with-mount", "tmpfs", MNT, "exec-copy", FIXTURE "/open/script",
		  MNT "/run"},
		 EACCES,
		 0},
		{{SANDBOX, "open-tree-read", FIXTURE "/secret", "key"}, EACCES, 0},
	};

	return CHECK_ALL(kern, &with_sandbox, attempts);
}

/* Other filesystems, other ways to mount, and what belongs to the host. */
static int case_refused(struct kern *kern)
{
	static const struct attempt attempts[] = {
		{{SANDBOX, "with-mount", "ramfs", MNT, "create", MNT "/new"}, EPERM, 0},
		{{SANDBOX, "fsmount", MNT}, EPERM, 0},
		{{SANDBOX, "socket", "16", "3", "0"}, EAFNOSUPPORT, 0},
		{{SANDBOX, "with-net", "socket", "16", "3", "12"}, EAFNOSUPPORT, 0},
		{{SANDBOX, "with-net", "socket", "2", "1", "0"}, EAFNOSUPPORT, 0},
		{{SANDBOX, "io-uring"}, ENOSYS, 0},
		/* The control has no right to these there, either. */
		{{SANDBOX, "sethostname"}, EPERM, EPERM},
		{{SANDBOX, "syslog"}, EPERM, EPERM},
		{{"mount-tmpfs", MNT}, EPERM, 0},
		{{"unshare", "0x20000"}, EPERM, 0},
		{{"unshare", "0x40000000"}, EPERM, 0},
	};
	int r = CHECK_ALL(kern, &with_sandbox, attempts);

	umount2(MNT, MNT_DETACH); /* the control's */
	return r;
}

/* By a handle, which is no name: since 6.11 who may mount opens directories so, below what is mounted in a mount
 * namespace of its own. Nobody inside has the capability that it takes there, too. */
static int case_handle(struct kern *kern)
{
	static const char *const directory[8] = {SANDBOX,	"with-bind",   FIXTURE, MNT,
						 "handle-list", MNT "/secret", MNT};
	static const char *const file[8] = {SANDBOX, "handle-read", FIXTURE_SECRET, FIXTURE};
	_cleanup_cell_ struct cell *cell = cell_new(kern, &with_sandbox);
	__u64 before;
	int may, r;

	CHECK(cell, "no cell");
	CHECK(mkdir(MNT, 0755) == 0, "no directory");
	r = try(cell, INSIDE, file);
	CHECK(r == EPERM && try(cell, BESIDE, file) == EPERM, "a file: %s", outcome_text(r));
	may = try(cell, BESIDE, directory);
	CHECK(may == 0 || may == EPERM, "control: %s", outcome_text(may));
	printf("# nested/handle: %s\n", may ? "nothing by handle" : "directories by handle");
	before = cell_tally(cell).hook[BH_HOOK_CAPABLE];
	r = try(cell, INSIDE, directory);
	CHECK(r == EPERM, "a directory: %s", outcome_text(r));
	CHECK(may || cell_tally(cell).hook[BH_HOOK_CAPABLE] > before, "not by us");
	return 0;
}

/* What one compartment mounted is nobody else's bound: the 1,025th filesystem holds no files, the
 * count goes when they go. */
static int case_bound(struct kern *kern)
{
	_cleanup_cell_ struct cell *cell = cell_new(kern, &with_sandbox);
	char most[16], more[16];
	const char *few[] = {SANDBOX, "many-mounts", most, MNT, "create", MNT "/new", NULL, NULL};
	const char *many[] = {SANDBOX, "many-mounts", more, MNT, "create", MNT "/new", NULL, NULL};
	int r, ms;

	CHECK(cell, "no cell");
	CHECK(mkdir(MNT, 0755) == 0, "no directory");
	snprintf(most, sizeof(most), "%d", BH_MAX_OWN);
	snprintf(more, sizeof(more), "%d", BH_MAX_OWN + 1);
	r = try(cell, INSIDE, few);
	CHECK(r == 0, "at the bound: %s", outcome_text(r));
	/* Namespaces die after their last task, by a worker. */
	for (ms = 0; cell_tally(cell).own && ms < HARNESS_DEADLINE_MS; ms++)
		usleep(1000);
	CHECK(cell_tally(cell).own == 0, "%llu are counted for ever",
	      (unsigned long long)cell_tally(cell).own);
	r = try(cell, BESIDE, many);
	CHECK(r == 0, "control, past the bound: %s", outcome_text(r));
	r = try(cell, INSIDE, many);
	CHECK(r == EACCES, "past the bound: %s", outcome_text(r));
	return 0;
}

const struct test_case nested_cases[] = {
	{"nested/closed", case_closed, CASE_REFUSES},
	{"nested/allowed", case_allowed, CASE_ALLOWS},
	{"nested/files", case_files, CASE_REFUSES},
	{"nested/refused", case_refused, CASE_REFUSES},
	{"nested/handle", case_handle, CASE_ALLOWS},
	{"nested/bound", case_bound, CASE_REFUSES},
	{},
};

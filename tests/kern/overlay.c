// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* overlayfs: judged by the place that members see, and not again where it keeps the file. */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define LAYERS "/srv/layers"
#define OVER "/srv/over"
#define ABOVE OVER "/work/above"

static int make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, "x", 1) != 1)
		return -errno;
	return close(fd) < 0 ? -errno : 0;
}

/* Files that only the layer below has, and files that were written to since. */
static int make_overlay(void)
{
	static const char *const directories[] = {"/srv", OVER, LAYERS};
	static const char *const inner[] = {LAYERS "/lower", LAYERS "/upper", LAYERS "/work",
					    LAYERS "/lower/work", LAYERS "/lower/open"};
	size_t i;

	for (i = 0; i < sizeof(directories) / sizeof(*directories); i++)
		if (mkdir(directories[i], 0755) < 0 && errno != EEXIST)
			return -errno;
	if (mount("layers", LAYERS, "tmpfs", 0, NULL) < 0)
		return -errno;
	for (i = 0; i < sizeof(inner) / sizeof(*inner); i++)
		if (mkdir(inner[i], 0755) < 0)
			return -errno;
	if (make_file(LAYERS "/lower/work/below") || make_file(LAYERS "/lower/open/below"))
		return -EIO;
	if (mount("over", OVER, "overlay", 0,
		  "lowerdir=" LAYERS "/lower,upperdir=" LAYERS "/upper,workdir=" LAYERS
		  "/work") < 0)
		return -errno;
	return make_file(OVER "/work/above") || make_file(OVER "/open/above") ? -EIO : 0;
}

static void unmake_overlay(void)
{
	umount2(OVER, MNT_DETACH);
	umount2(LAYERS, MNT_DETACH);
	rmdir(OVER);
	rmdir(LAYERS);
}

/* What is done to a file, beside the compartment and inside. */
struct attempt {
	const char *verb, *path;
	int inside;
};

static int check_attempts(struct cell *cell, const struct attempt *attempts, size_t n)
{
	size_t i;
	int r;

	for (i = 0; i < n; i++) {
		const struct attempt *a = &attempts[i];

		r = cell_verb(cell, BESIDE, a->verb, a->path, NULL);
		CHECK(r == 0, "control, %s %s: %s", a->verb, a->path, outcome_text(r));
		r = cell_verb(cell, INSIDE, a->verb, a->path, NULL);
		CHECK(r == a->inside, "%s %s: %s", a->verb, a->path, outcome_text(r));
	}
	return 0;
}

static int check_mappings(struct cell *cell);

static int with_overlay(struct kern *kern, const struct attempt *attempts, size_t n)
{
	static struct rule rules[] = {
		{.effect = RULE_ALLOW,
		 .perms = BH_PERM_READ | BH_PERM_WRITE | BH_PERM_CREATE | BH_PERM_DELETE |
			  BH_PERM_ATTRIBUTES,
		 .glob = (char *)OVER "/work/**"},
		{.effect = RULE_ALLOW, .perms = BH_PERM_READ, .glob = (char *)OVER "/open/**"},
		/* So that what is appended to is re-checked. */
		{.effect = RULE_ALLOW, .perms = BH_PERM_APPEND, .glob = (char *)OVER "/log"}};
	const struct cell_options options = {.rules = rules, .nrules = 3};
	int made = make_overlay(), r = -1;
	struct cell *cell = made == 0 ? cell_new(kern, &options) : NULL;

	if (cell)
		r = attempts ? check_attempts(cell, attempts, n) : check_mappings(cell);
	cell_free(cell);
	unmake_overlay();
	CHECK(made == 0, "cannot mount: %s", strerror(-made));
	CHECK(cell, "no cell");
	return r;
}

static int case_allowed(struct kern *kern)
{
	static const struct attempt attempts[] = {
		{"read", OVER "/open/below", 0},
		{"read", OVER "/open/above", 0},
		{"write", ABOVE, 0},
		{"truncate", ABOVE, 0},
		{"open-read-trunc", ABOVE, 0},
		{"append-punch", ABOVE, 0},
		{"chmod", ABOVE, 0},
		{"utimes", ABOVE, 0},
		{"setxattr", ABOVE, 0},
		{"removexattr", ABOVE, 0},
		{"set-acl", ABOVE, 0},
		{"remove-acl", ABOVE, 0},
	};

	return with_overlay(kern, attempts, sizeof(attempts) / sizeof(*attempts));
}

/* The file below has none of these yet: each is copied up first. */
static int case_copied_up(struct kern *kern)
{
	static const struct attempt attempts[] = {{"chmod", OVER "/work/below", 0}};

	return with_overlay(kern, attempts, sizeof(attempts) / sizeof(*attempts));
}

static int case_refused(struct kern *kern)
{
	static const struct attempt attempts[] = {
		{"write", OVER "/open/above", EACCES},
		{"truncate", OVER "/open/above", EACCES},
		{"open-read-trunc", OVER "/open/above", EACCES},
		{"chmod", OVER "/open/above", EACCES},
		{"utimes", OVER "/open/above", EACCES},
		{"setxattr", OVER "/open/above", EACCES},
		{"set-acl", OVER "/open/above", EACCES},
		/* The layers by their own names, which no rule has. */
		{"read", LAYERS "/upper/work/above", EACCES},
		{"read", LAYERS "/lower/open/below", EACCES},
		{"chmod", LAYERS "/upper/work/above", EACCES},
		{"utimes", LAYERS "/upper/work/above", EACCES},
	};

	return with_overlay(kern, attempts, sizeof(attempts) / sizeof(*attempts));
}

/* --- mappings that gain a right: what is mapped is the layer's own file --- */

struct gain {
	const char *path;
	int mode, flags, before, after, inside;
};

static int gain(void *data)
{
	const struct gain *g = data;
	int fd = open(g->path, g->mode | O_CLOEXEC), r = 0;
	void *map = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, g->before, g->flags, fd, 0);

	if (map == MAP_FAILED)
		return VERB_BROKEN + errno;
	if (mprotect(map, 4096, g->after) < 0)
		r = errno;
	munmap(map, 4096);
	close(fd);
	return r;
}

static int check_mappings(struct cell *cell)
{
	static const struct gain gains[] = {
		{OVER "/open/below", O_RDONLY, MAP_PRIVATE, PROT_NONE, PROT_READ, 0},
		{ABOVE, O_RDONLY, MAP_PRIVATE, PROT_NONE, PROT_READ, 0},
		{ABOVE, O_RDWR, MAP_SHARED, PROT_READ, PROT_READ | PROT_WRITE, 0},
		{ABOVE, O_RDONLY, MAP_PRIVATE, PROT_READ, PROT_READ | PROT_EXEC, EACCES},
	};
	const struct bh_event_copy *e;
	int r;

	for (size_t i = 0; i < sizeof(gains) / sizeof(*gains); i++) {
		r = cell_call(cell, BESIDE, gain, (void *)&gains[i]);
		CHECK(r == 0, "control, %zu: %s", i, outcome_text(r));
		r = cell_call(cell, INSIDE, gain, (void *)&gains[i]);
		CHECK(r == gains[i].inside, "%zu: %s", i, outcome_text(r));
	}
	cell_drain(cell);
	e = cell_event(cell, 0, BH_HOOK_FILE_MPROTECT);
	CHECK(e && !strcmp(e->tail, "/work/above"), "the event is about %.100s",
	      e ? e->tail : "nothing");
	return 0;
}

static int case_mapped(struct kern *kern)
{
	return with_overlay(kern, NULL, 0);
}

const struct test_case overlay_cases[] = {
	{"overlay/allowed", case_allowed, CASE_ALLOWS},
	{"overlay/copied-up", case_copied_up, CASE_ALLOWS},
	{"overlay/mapped", case_mapped, CASE_REFUSES},
	{"overlay/refused", case_refused, CASE_REFUSES},
	{},
};
